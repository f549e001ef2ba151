// Storages whose sizes only the run knows.
// RUN: lumen-opt %s --place-views --plan-buffers --verify-no-tensors --split-input-file | FileCheck %s

!k = tensor<?x16xf32, #lumen.dims<["s0", "16"]>>
!x = tensor<?x?x16xf32, #lumen.dims<["batch", "seq", "16"]>>
!flat = tensor<?x16xf32, #lumen.dims<["batch*seq", "16"]>>

// One storage per slot, with the times between which it is live; the runtime packs
// them. Equal expressions are equal sizes, so an elementwise kernel works in place.
// CHECK-NOT: lumen.arena_size
// CHECK: func.func @main
// CHECK-SAME: lumen.result_bounds = {{\[\[}}"batch*seq", "16"]]
// CHECK: %[[X:.*]] = dispatch.storage <input>[0] size "64*batch*seq"
// CHECK: %[[A:.*]] = dispatch.storage <arena>[0] size "64*batch*seq" {first = 0 : i64, last = 2 : i64}
// CHECK: %[[B:.*]] = dispatch.storage <arena>[0] size "64*batch*seq" {first = 2 : i64, last = 3 : i64}
// CHECK: %[[Y:.*]] = dispatch.storage <output>[0] size "64*batch*seq"
// CHECK: %[[A0:.*]] = dispatch.buffer %[[A]] offset 0
// CHECK: dispatch.launch @softmax(%{{.*}}) outs(%[[A0]]) {sizes = #lumen.dims<["batch*seq"]>}
// CHECK: %[[A1:.*]] = dispatch.buffer %[[A]] offset 0
// CHECK: dispatch.launch @exp(%[[A0]]) outs(%[[A1]])
dispatch.kernel @exp(%x: !k) -> !k attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.unary <exp> %x : !k -> !k
  dispatch.yield %0 : !k
}
dispatch.kernel @softmax(%x: !k) -> !k attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.softmax %x {axis = 1 : i64} : !k
  dispatch.yield %0 : !k
}
func.func @main(%x: !x) -> !flat {
  %r = lumen.reshape %x : !x -> !flat
  %0 = dispatch.launch @softmax(%r) {sizes = #lumen.dims<["batch*seq"]>} : (!flat) -> !flat
  %1 = dispatch.launch @exp(%0) {sizes = #lumen.dims<["batch*seq"]>} : (!flat) -> !flat
  %2 = dispatch.launch @softmax(%1) {sizes = #lumen.dims<["batch*seq"]>} : (!flat) -> !flat
  %3 = dispatch.launch @softmax(%2) {sizes = #lumen.dims<["batch*seq"]>} : (!flat) -> !flat
  return %3 : !flat
}

// -----

!k = tensor<?xf32, #lumen.dims<["s0"]>>
!a = tensor<?xf32, #lumen.dims<["n"]>>
!b = tensor<?xf32, #lumen.dims<["m"]>>

// Sizes that may differ are not in place, though the kernel would allow it.
// CHECK: dispatch.storage <arena>[0] size "4*n" {first = 0 : i64, last = 1 : i64}
// CHECK: dispatch.storage <arena>[0] size "4*m" {first = 1 : i64, last = 2 : i64}
dispatch.kernel @exp(%x: !k) -> !k attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.unary <exp> %x : !k -> !k
  dispatch.yield %0 : !k
}
func.func @main(%x: !a, %y: !b) -> !b {
  %0 = dispatch.launch @exp(%x) {sizes = #lumen.dims<["n"]>} : (!a) -> !a
  %c = lumen.cast %0 : !a -> !b
  %1 = dispatch.launch @exp(%c) {sizes = #lumen.dims<["m"]>} : (!b) -> !b
  %2 = dispatch.launch @exp(%1) {sizes = #lumen.dims<["m"]>} : (!b) -> !b
  return %2 : !b
}

// -----

!k = tensor<?xf32, #lumen.dims<["s0"]>>
!x = tensor<?x?xf32, #lumen.dims<["h", "w"]>>
!flat = tensor<?xf32, #lumen.dims<["h*w"]>>
!n = tensor<?xf32, #lumen.dims<["found"]>>
!m = tensor<?xf32, #lumen.dims<["free"]>>

// A size that is read from memory is planned at its bound; without one, memory comes
// from the heap between the writer and the last reader. An output without a bound is
// the context's.
// CHECK: lumen.result_bounds = {{\[\[}}"h*w"], [unit]]
// CHECK: %[[BOUNDED:.*]] = dispatch.storage <arena>[0] size "4*h*w"
// CHECK: %[[HEAP:.*]] = dispatch.storage <heap>[0] size "4*free"
// CHECK: %[[OWNED:.*]] = dispatch.storage <output>[1] size "4*free"
// CHECK: dispatch.launch @pick
// CHECK: dispatch.bind "found" = %{{.*}} : i64
// CHECK: lumen.check <lessequal> "found", "h*w", "a computed size"
// CHECK: dispatch.launch @exp(%{{.*}}) outs(%{{.*}}) {sizes = #lumen.dims<["found"]>}
// CHECK: dispatch.bind "free" = %{{.*}} : i64
// CHECK: dispatch.alloc %[[HEAP]]
// CHECK: dispatch.launch @fill
// CHECK: dispatch.alloc %[[OWNED]]
// CHECK: dispatch.launch @sum
// CHECK: dispatch.free %[[HEAP]]
dispatch.kernel @pick(%x: !k) -> (!k, tensor<i64>) attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.unary <exp> %x : !k -> !k
  %1 = lumen.constant dense<1> : tensor<i64>
  dispatch.yield %0, %1 : !k, tensor<i64>
}
dispatch.kernel @exp(%x: !k) -> !k attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.unary <exp> %x : !k -> !k
  dispatch.yield %0 : !k
}
dispatch.kernel @fill() -> !k attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.constant dense<1.0> : tensor<f32>
  %1 = lumen.broadcast %0 [] : tensor<f32> -> !k
  dispatch.yield %1 : !k
}
dispatch.kernel @sum(%x: !k, %y: !k) -> !k attributes {dispatch.sizes = ["s0"]} {
  %0 = lumen.binary <add> %x, %y : !k
  %1 = lumen.softmax %0 {axis = 0 : i64} : !k
  dispatch.yield %1 : !k
}
func.func @main(%x: !x, %free: tensor<i64>) -> (!n, !m) {
  %r = lumen.reshape %x : !x -> !flat
  %0, %count = dispatch.launch @pick(%r) {sizes = #lumen.dims<["h*w"]>} : (!flat) -> (!flat, tensor<i64>)
  lumen.symbol "found" = %count at_most "h*w" : tensor<i64>
  %1 = lumen.slice %0 [0] [1] : !flat -> !n
  %2 = dispatch.launch @exp(%1) {sizes = #lumen.dims<["found"]>} : (!n) -> !n
  lumen.symbol "free" = %free : tensor<i64>
  %3 = dispatch.launch @fill() {sizes = #lumen.dims<["free"]>} : () -> !m
  %4 = dispatch.launch @sum(%3, %3) {sizes = #lumen.dims<["free"]>} : (!m, !m) -> !m
  return %2, %4 : !n, !m
}
