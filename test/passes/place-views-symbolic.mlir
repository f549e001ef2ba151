// Views of tensors whose sizes only the run knows.
// RUN: lumen-opt %s --place-views --split-input-file | FileCheck %s

!x = tensor<?x4xf32, #lumen.dims<["s0", "4"]>>
!past = tensor<?x4xf32, #lumen.dims<["past", "4"]>>
!new = tensor<?x4xf32, #lumen.dims<["seq", "4"]>>
!all = tensor<?x4xf32, #lumen.dims<["past + seq", "4"]>>

// Along the first dimension both parts of a concat are contiguous, so kernels need
// no strides; an argument of the schedule is copied, with a symbol per size.
// CHECK: dispatch.kernel @copy_0(%{{.*}}: tensor<?x4xf32, #lumen.dims<["s0", "4"]>>) -> tensor<?x4xf32, #lumen.dims<["s0", "4"]>> attributes {dispatch.sizes = ["s0"]}
// CHECK-LABEL: func.func @main
// CHECK: %[[PAST:.*]] = dispatch.launch @copy_0(%arg0) {sizes = #lumen.dims<["past"]>}
// CHECK: lumen.concat %[[PAST]], %
dispatch.kernel @exp(%x: !x) -> !x attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.unary <exp> %x : !x -> !x
  dispatch.yield %0 : !x
}
func.func @main(%past: !past, %x: !new) -> !all {
  %0 = dispatch.launch @exp(%x) {sizes = #lumen.dims<["seq"]>} : (!new) -> !new
  %1 = lumen.concat %past, %0 {axis = 0 : i64} : !past, !new -> !all
  return %1 : !all
}

// -----

!k = tensor<4x?xf32, #lumen.dims<["4", "s0"]>>
!past = tensor<4x?xf32, #lumen.dims<["4", "past"]>>
!new = tensor<4x?xf32, #lumen.dims<["4", "seq"]>>
!all = tensor<4x?xf32, #lumen.dims<["4", "past + seq"]>>

// Along another one rows are as long as both together. The kernel gets a symbol for
// what its own do not say.
// CHECK-LABEL: dispatch.kernel @exp
// CHECK-SAME: -> (tensor<4x?xf32, #lumen.dims<["4", "s0"]>> {dispatch.strides = #lumen.dims<["s0 + s1", "1"]>}) attributes {dispatch.sizes = ["s0", "s1"]}
// CHECK: func.func @main
// CHECK: dispatch.launch @exp(%arg1) {sizes = #lumen.dims<["seq", "past"]>}
dispatch.kernel @exp(%x: !k) -> !k attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.unary <exp> %x : !k -> !k
  dispatch.yield %0 : !k
}
func.func @main(%past: !past, %x: !new) -> !all {
  %0 = dispatch.launch @exp(%x) {sizes = #lumen.dims<["seq"]>} : (!new) -> !new
  %1 = lumen.concat %past, %0 {axis = 1 : i64} : !past, !new -> !all
  return %1 : !all
}

// -----

!k = tensor<?x2xf32, #lumen.dims<["s0", "2"]>>
!x = tensor<?x?x8xf32, #lumen.dims<["batch", "seq", "8"]>>
!flat = tensor<?x8xf32, #lumen.dims<["batch*seq", "8"]>>
!part = tensor<?x2xf32, #lumen.dims<["batch*seq", "2"]>>
!named = tensor<?x2xf32, #lumen.dims<["n", "2"]>>

// Reshapes that join dimensions, slices of columns and casts cost nothing.
// CHECK-LABEL: dispatch.kernel @exp
// CHECK-SAME: (%{{.*}}: tensor<?x2xf32, #lumen.dims<["s0", "2"]>> {dispatch.strides = #lumen.dims<["8", "1"]>})
// CHECK-NOT: dispatch.kernel @copy
dispatch.kernel @exp(%x: !k) -> !k attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.unary <exp> %x : !k -> !k
  dispatch.yield %0 : !k
}
func.func @main(%x: !x) -> !named {
  %0 = lumen.reshape %x : !x -> !flat
  %1 = lumen.slice %0 ["0", 6] [1, 1] : !flat -> !part
  %2 = lumen.cast %1 : !part -> !named
  %3 = dispatch.launch @exp(%2) {sizes = #lumen.dims<["n"]>} : (!named) -> !named
  return %3 : !named
}

// -----

!k = tensor<?xf32, #lumen.dims<["s0"]>>
!x = tensor<?xf32, #lumen.dims<["bound"]>>
!n = tensor<?xf32, #lumen.dims<["n"]>>

// A result whose size the run finds is the begin of a tensor of its upper bound. The
// caller's buffer has room for the bound, so nothing is copied.
// CHECK-NOT: dispatch.kernel @copy
dispatch.kernel @pick(%x: !k) -> (!k, tensor<i64>) attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.unary <exp> %x : !k -> !k
  %1 = lumen.constant dense<1> : tensor<i64>
  dispatch.yield %0, %1 : !k, tensor<i64>
}
func.func @main(%x: !x) -> !n {
  %0, %count = dispatch.launch @pick(%x) {sizes = #lumen.dims<["bound"]>} : (!x) -> (!x, tensor<i64>)
  lumen.symbol "n" = %count at_most "bound" : tensor<i64>
  %1 = lumen.slice %0 [0] [1] : !x -> !n
  return %1 : !n
}

// -----

!k = tensor<?xf32, #lumen.dims<["s0"]>>
!x = tensor<?xf32, #lumen.dims<["n"]>>
!k0 = tensor<?xf32, #lumen.dims<["k"]>>
!all = tensor<?xf32, #lumen.dims<["k + n"]>>

// A part of a concat that is made before the run knows where it lies is copied there.
// CHECK: func.func @main
// CHECK: %[[EARLY:.*]] = dispatch.launch @exp(%arg0)
// CHECK: lumen.symbol "k"
// CHECK: %[[LATE:.*]] = dispatch.launch @exp
// CHECK: %[[COPY:.*]] = dispatch.launch @copy_0(%[[EARLY]])
// CHECK: lumen.concat %[[LATE]], %[[COPY]]
dispatch.kernel @exp(%x: !k) -> !k attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.unary <exp> %x : !k -> !k
  dispatch.yield %0 : !k
}
func.func @main(%x: !x, %count: tensor<i64>) -> !all {
  %early = dispatch.launch @exp(%x) {sizes = #lumen.dims<["n"]>} : (!x) -> !x
  lumen.symbol "k" = %count at_most "n" : tensor<i64>
  %0 = lumen.slice %x [0] [1] : !x -> !k0
  %late = dispatch.launch @exp(%0) {sizes = #lumen.dims<["k"]>} : (!k0) -> !k0
  %1 = lumen.concat %late, %early {axis = 0 : i64} : !k0, !x -> !all
  return %1 : !all
}
