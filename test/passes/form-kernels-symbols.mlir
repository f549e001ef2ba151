// Kernels have symbols of their own; a launch gives their values.
// RUN: lumen-opt %s --form-kernels --deduplicate-kernels --verify-dispatch --split-input-file | FileCheck %s

// Two layers over different symbols share a kernel.
// CHECK-LABEL: dispatch.kernel @contract_0
// CHECK-SAME:  (%{{.*}}: tensor<?x8xf32, #lumen.dims<["s0", "8"]>>, %{{.*}}: tensor<8x8xf32>, %{{.*}}: tensor<8xf32>)
// CHECK-SAME:  attributes {dispatch.sizes = ["s0"]}
// CHECK:       lumen.contract {{.*}} -> tensor<?x8xf32, #lumen.dims<["s0", "8"]>>
// CHECK:       lumen.broadcast {{.*}} -> tensor<?x8xf32, #lumen.dims<["s0", "8"]>>
// CHECK-NOT:   dispatch.kernel
// CHECK:       func.func @main
// CHECK:       dispatch.launch @contract_0(%arg0, %arg2, %arg3) {sizes = #lumen.dims<["batch"]>}
// CHECK:       dispatch.launch @contract_0(%arg1, %arg2, %arg3) {sizes = #lumen.dims<["rows"]>}
func.func @main(%a: tensor<?x8xf32, #lumen.dims<["batch", "8"]>>, %c: tensor<?x8xf32, #lumen.dims<["rows", "8"]>>,
                %w: tensor<8x8xf32>, %b: tensor<8xf32>)
    -> (tensor<?x8xf32, #lumen.dims<["batch", "8"]>>, tensor<?x8xf32, #lumen.dims<["rows", "8"]>>) {
  %0 = lumen.contract %a, %w : tensor<?x8xf32, #lumen.dims<["batch", "8"]>>, tensor<8x8xf32> -> tensor<?x8xf32, #lumen.dims<["batch", "8"]>>
  %1 = lumen.broadcast %b [1] : tensor<8xf32> -> tensor<?x8xf32, #lumen.dims<["batch", "8"]>>
  %2 = lumen.binary <add> %0, %1 : tensor<?x8xf32, #lumen.dims<["batch", "8"]>>
  %3 = lumen.contract %c, %w : tensor<?x8xf32, #lumen.dims<["rows", "8"]>>, tensor<8x8xf32> -> tensor<?x8xf32, #lumen.dims<["rows", "8"]>>
  %4 = lumen.broadcast %b [1] : tensor<8xf32> -> tensor<?x8xf32, #lumen.dims<["rows", "8"]>>
  %5 = lumen.binary <add> %3, %4 : tensor<?x8xf32, #lumen.dims<["rows", "8"]>>
  return %2, %5 : tensor<?x8xf32, #lumen.dims<["batch", "8"]>>, tensor<?x8xf32, #lumen.dims<["rows", "8"]>>
}

// -----

// What a kernel sees as a whole only is one symbol; a known divisor stays visible.
// CHECK-LABEL: dispatch.kernel @map_0
// CHECK-SAME:  tensor<?x?xf32, #lumen.dims<["s0", "2*s1"]>>
// CHECK-SAME:  dispatch.sizes = ["s0", "s1"]
// CHECK:       dispatch.launch @map_0({{.*}}) {sizes = #lumen.dims<["past + seq", "batch*heads"]>}
func.func @main(%a: tensor<?x?xf32, #lumen.dims<["past + seq", "2*batch*heads"]>>) -> tensor<?x?xf32, #lumen.dims<["past + seq", "2*batch*heads"]>> {
  %0 = lumen.unary <exp> %a : tensor<?x?xf32, #lumen.dims<["past + seq", "2*batch*heads"]>> -> tensor<?x?xf32, #lumen.dims<["past + seq", "2*batch*heads"]>>
  return %0 : tensor<?x?xf32, #lumen.dims<["past + seq", "2*batch*heads"]>>
}

// -----

// Related sizes stay related, and expressions of attributes are the kernel's too.
// CHECK-LABEL: dispatch.kernel @pad_0
// CHECK-SAME:  tensor<?xf32, #lumen.dims<["s0"]>>
// CHECK-SAME:  -> tensor<?xf32, #lumen.dims<["s0 + s1"]>>
// CHECK-SAME:  dispatch.sizes = ["s0", "s1"]
// CHECK:       lumen.pad <constant> {{.*}} [0] ["s1"]
// CHECK:       dispatch.launch @pad_0({{.*}}) {sizes = #lumen.dims<["n", "m"]>}
func.func @main(%a: tensor<?xf32, #lumen.dims<["n"]>>, %b: tensor<?xf32, #lumen.dims<["m"]>>) -> tensor<?xf32, #lumen.dims<["m + n"]>> {
  %z = lumen.constant dense<0.0> : tensor<f32>
  %0 = lumen.pad <constant> %a, %z [0] ["m"] : tensor<?xf32, #lumen.dims<["n"]>>, tensor<f32> -> tensor<?xf32, #lumen.dims<["m + n"]>>
  return %0 : tensor<?xf32, #lumen.dims<["m + n"]>>
}

// -----

// A chain of windows names its innermost size once.
// CHECK-LABEL: dispatch.kernel @window_0
// CHECK-SAME:  tensor<?xf32, #lumen.dims<["s0"]>>
// CHECK-SAME:  -> tensor<?xf32, #lumen.dims<["floordiv(s0 + 1, 2)"]>>
// CHECK-NOT:   @window_1
// CHECK:       dispatch.launch @window_0({{.*}}) {sizes = #lumen.dims<["h"]>}
// CHECK:       dispatch.launch @window_0({{.*}}) {sizes = #lumen.dims<["floordiv(h + 1, 2)"]>}
func.func @main(%a: tensor<?xf32, #lumen.dims<["h"]>>) -> tensor<?xf32, #lumen.dims<["floordiv(floordiv(h + 1, 2) + 1, 2)"]>> {
  %0 = lumen.window <max> %a {window = array<i64: 1>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>}
    : tensor<?xf32, #lumen.dims<["h"]>> -> tensor<?xf32, #lumen.dims<["floordiv(h + 1, 2)"]>>
  %1 = lumen.window <max> %0 {window = array<i64: 1>, strides = array<i64: 2>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>}
    : tensor<?xf32, #lumen.dims<["floordiv(h + 1, 2)"]>> -> tensor<?xf32, #lumen.dims<["floordiv(floordiv(h + 1, 2) + 1, 2)"]>>
  return %1 : tensor<?xf32, #lumen.dims<["floordiv(floordiv(h + 1, 2) + 1, 2)"]>>
}

// -----

// A cast inside a group says that sizes are equal, so the kernel has one of them.
// One of an argument is a view.
// CHECK-LABEL: dispatch.kernel @map_0
// CHECK-SAME:  (%{{.*}}: tensor<?xf32, #lumen.dims<["s0"]>>, %{{.*}}: tensor<?xf32, #lumen.dims<["s0"]>>) -> tensor<?xf32, #lumen.dims<["s0"]>>
// CHECK-NOT:   lumen.cast
// CHECK:       func.func @main
// CHECK:       %[[B:.*]] = lumen.cast %arg1
// CHECK:       dispatch.launch @map_0(%arg0, %[[B]]) {sizes = #lumen.dims<["n"]>}
func.func @main(%a: tensor<?xf32, #lumen.dims<["n"]>>, %b: tensor<?xf32, #lumen.dims<["k"]>>, %c: tensor<?xf32, #lumen.dims<["m"]>>) -> tensor<?xf32, #lumen.dims<["2*m"]>> {
  %0 = lumen.unary <exp> %a : tensor<?xf32, #lumen.dims<["n"]>> -> tensor<?xf32, #lumen.dims<["n"]>>
  %1 = lumen.cast %0 : tensor<?xf32, #lumen.dims<["n"]>> -> tensor<?xf32, #lumen.dims<["2*m"]>>
  %2 = lumen.cast %b : tensor<?xf32, #lumen.dims<["k"]>> -> tensor<?xf32, #lumen.dims<["2*m"]>>
  %3 = lumen.binary <add> %1, %2 : tensor<?xf32, #lumen.dims<["2*m"]>>
  return %3 : tensor<?xf32, #lumen.dims<["2*m"]>>
}

// -----

// Sizes as data are computed where they are used: inside a kernel, and in memory in
// front of what needs them there.
// CHECK-LABEL: dispatch.kernel @map_0(
// CHECK-SAME:  dispatch.sizes = ["s0"]
// CHECK:       %[[S:.*]] = lumen.sizes ["s0", "3*s0"]
// CHECK:       lumen.binary <add> %{{.*}}, %[[S]]
// CHECK:       dispatch.kernel @map_1(
// CHECK:       lumen.sizes ["s0"]
// CHECK:       lumen.convert
// CHECK:       func.func @main
// CHECK:       %[[S:.*]] = dispatch.launch @map_0({{.*}}) {sizes = #lumen.dims<["seq"]>}
// CHECK-NEXT:  lumen.symbol "n"
// CHECK:       %[[N:.*]] = dispatch.launch @map_1() {sizes = #lumen.dims<["n"]>}
// CHECK-NEXT:  return %[[S]], %[[N]]
func.func @main(%a: tensor<2xi64>, %b: tensor<?xf32, #lumen.dims<["seq"]>>, %c: tensor<i64>) -> (tensor<2xi64>, tensor<1xi64>) {
  %n = lumen.sizes ["n"] : tensor<1xi64>
  %s = lumen.sizes ["seq", "3*seq"] : tensor<2xi64>
  %0 = lumen.binary <add> %a, %s : tensor<2xi64>
  lumen.symbol "n" = %c : tensor<i64>
  return %0, %n : tensor<2xi64>, tensor<1xi64>
}

// -----

// Groups stay inside their block; values of outer blocks are arguments.
// CHECK-LABEL: dispatch.kernel @map_0
// CHECK:       lumen.unary <exp>
// CHECK-NEXT:  dispatch.yield
// CHECK:       dispatch.kernel @map_1
// CHECK:       lumen.unary <log>
// CHECK-NEXT:  lumen.binary <add>
// CHECK-NEXT:  dispatch.yield
// CHECK:       func.func @main
// CHECK:       %[[E:.*]] = dispatch.launch @map_0(%arg1)
// CHECK:       lumen.if %arg0 symbols []
// CHECK:         %[[R:.*]] = dispatch.launch @map_1(%arg1, %[[E]]) {sizes = #lumen.dims<["n"]>}
// CHECK-NEXT:    lumen.yield %[[R]]
// CHECK:       else
// CHECK-NEXT:    lumen.yield %arg1
func.func @main(%p: tensor<i1>, %a: tensor<?xf32, #lumen.dims<["n"]>>) -> tensor<?xf32, #lumen.dims<["n"]>> {
  %0 = lumen.unary <exp> %a : tensor<?xf32, #lumen.dims<["n"]>> -> tensor<?xf32, #lumen.dims<["n"]>>
  %1 = lumen.if %p symbols [] : tensor<i1> -> tensor<?xf32, #lumen.dims<["n"]>> {
    %2 = lumen.unary <log> %a : tensor<?xf32, #lumen.dims<["n"]>> -> tensor<?xf32, #lumen.dims<["n"]>>
    %3 = lumen.binary <add> %2, %0 : tensor<?xf32, #lumen.dims<["n"]>>
    lumen.yield %3 sizes [] : tensor<?xf32, #lumen.dims<["n"]>>
  } else {
    lumen.yield %a sizes [] : tensor<?xf32, #lumen.dims<["n"]>>
  }
  return %1 : tensor<?xf32, #lumen.dims<["n"]>>
}

// -----

// The number of a trip is a symbol like others; it is made memory in each trip.
// CHECK-LABEL: dispatch.kernel @map_0(%{{.*}}: tensor<i64>) -> tensor<i64>
// CHECK:       lumen.sizes ["s0"]
// CHECK:       dispatch.kernel @map_1() -> tensor<i64>
// CHECK:       func.func @main
// CHECK:       lumen.loop(%{{.*}}) trips "5" induction "i"
// CHECK-NEXT:  ^bb0(%[[X:.*]]: tensor<i64>):
// CHECK-NEXT:    %[[Y:.*]] = dispatch.launch @map_0(%[[X]]) {sizes = #lumen.dims<["i"]>}
// CHECK-NEXT:    %[[I:.*]] = dispatch.launch @map_1() {sizes = #lumen.dims<["i"]>}
// CHECK-NEXT:    lumen.yield %[[Y]], %[[I]]
func.func @main() -> (tensor<i64>, tensor<5xi64>) {
  %i = lumen.sizes ["i"] : tensor<i64>
  %z = lumen.constant dense<0> : tensor<i64>
  %r, %all = lumen.loop (%z) trips "5" induction "i" symbols [] init_sizes [] : (tensor<i64>) -> (tensor<i64>, tensor<5xi64>) {
  ^bb0(%x: tensor<i64>):
    %y = lumen.binary <add> %x, %i : tensor<i64>
    lumen.yield %y, %i sizes [] : tensor<i64>, tensor<i64>
  }
  return %r, %all : tensor<i64>, tensor<5xi64>
}
