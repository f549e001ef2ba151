// Sizes that only the run knows: equal symbols need nothing, others are checked.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// Sizes of two names may be equal, or one of them 1; it is checked once.
!n = tensor<?x4xf32, #lumen.dims<["n", "4"]>>
!m = tensor<?x1xf32, #lumen.dims<["m", "1"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: !n {onnx.name = "a"}, %b: !n {onnx.name = "b"}, %c: !m {onnx.name = "c"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[A:.*]] = lumen.binary <add> %arg0, %arg1 : tensor<?x4xf32, #lumen.dims<["n", "4"]>>
    // CHECK-NEXT: lumen.check <broadcast> "n", "m", "dimensions that are broadcast together"
    // CHECK-NEXT: %[[L:.*]] = lumen.broadcast %[[A]] [0, 1] : {{.*}} -> tensor<?x4xf32, #lumen.dims<["broadcast(m, n)", "4"]>>
    // CHECK-NEXT: %[[R:.*]] = lumen.broadcast %arg2 [0, 1] : {{.*}} -> tensor<?x4xf32, #lumen.dims<["broadcast(m, n)", "4"]>>
    // CHECK-NEXT: lumen.binary <mul> %[[L]], %[[R]]
    // CHECK-NEXT: return
    %0 = onnx.node "Add"(%a, %b) {} : (!n, !n) -> tensor<*xf32>
    %1 = onnx.node "Mul"(%0, %c) {} : (tensor<*xf32>, !m) -> tensor<*xf32>
    onnx.return %1 : tensor<*xf32>
  }
}

// -----

// Inner dimensions are equal; a constant says the most of both.
!a = tensor<?x?xf32, #lumen.dims<["n", "k"]>>
!b = tensor<8x?xf32, #lumen.dims<["8", "m"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: !a {onnx.name = "a"}, %b: !b {onnx.name = "b"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: lumen.check <equal> "k", "8", "inner dimensions are {0} and {1}, expected equal ones"
    // CHECK-NEXT: %[[A:.*]] = lumen.cast %arg0 : {{.*}} -> tensor<?x8xf32, #lumen.dims<["n", "8"]>>
    // CHECK-NEXT: lumen.contract %[[A]], %arg1 : {{.*}} -> tensor<?x?xf32, #lumen.dims<["n", "m"]>>
    %0 = onnx.node "MatMul"(%a, %b) {} : (!a, !b) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// What -1 stands for is a quotient, and checked where it may not be whole.
!x = tensor<?x?x64xf32, #lumen.dims<["batch", "seq", "64"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: !x {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "z"}) {
    // CHECK-NEXT: lumen.reshape %arg0 : {{.*}} -> tensor<?x?x4x16xf32, #lumen.dims<["batch", "seq", "4", "16"]>>
    // CHECK-NEXT: lumen.check <equal> "48*batch*seq + 48*floordiv(batch*seq, 3)", "64*batch*seq", "the number of elements is {1}, expected a multiple of 48"
    // CHECK-NEXT: lumen.reshape %arg0 : {{.*}} -> tensor<?x48xf32, #lumen.dims<["batch*seq + floordiv(batch*seq, 3)", "48"]>>
    %heads = onnx.constant dense<[0, -1, 4, 16]> : tensor<4xi64>
    %0 = onnx.node "Reshape"(%x, %heads) {} : (!x, tensor<4xi64>) -> tensor<*xf32>
    %odd = onnx.constant dense<[-1, 48]> : tensor<2xi64>
    %1 = onnx.node "Reshape"(%x, %odd) {} : (!x, tensor<2xi64>) -> tensor<*xf32>
    onnx.return %0, %1 : tensor<*xf32>, tensor<*xf32>
  }
}

// -----

// A shape that the run gives becomes symbols, with 0 and -1 resolved there.
!x = tensor<?x64xf32, #lumen.dims<["n", "64"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: !x {onnx.name = "x"}, %s: tensor<2xi64> {onnx.name = "s"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.symbol "reshape$0" = %{{.*}} : tensor<i64>
    // CHECK: lumen.symbol "reshape$1" = %{{.*}} : tensor<i64>
    // CHECK-NEXT: lumen.check <equal> "reshape$0*reshape$1", "64*n", "the shape, whose only -1 takes what is left, has {0} elements, expected {1}"
    // CHECK-NEXT: lumen.reshape %arg0 : {{.*}} -> tensor<?x?xf32, #lumen.dims<["reshape$0", "reshape$1"]>>
    %0 = onnx.node "Reshape"(%x, %s) {} : (!x, tensor<2xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Bounds of slices are clamped by the expressions; what only the run knows is
// clamped there, and at most the dimension.
!x = tensor<?x8xf32, #lumen.dims<["n", "8"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: !x {onnx.name = "x"}, %e: tensor<1xi64> {onnx.name = "e"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "z"}, tensor<*xf32> {onnx.name = "w"}, tensor<*xf32> {onnx.name = "v"}, tensor<*xf32> {onnx.name = "u"}) {
    // CHECK: lumen.slice %arg0 ["min(2, n)", 0] [1, 1] : {{.*}} -> tensor<?x8xf32, #lumen.dims<["max(0, n - 2)", "8"]>>
    // CHECK: lumen.slice %arg0 [0, 0] [1, 1] : {{.*}} -> tensor<?x8xf32, #lumen.dims<["max(0, n - 1)", "8"]>>
    // CHECK: lumen.symbol "slice$0" = %{{.*}} at_most "n" : tensor<i64>
    // CHECK: lumen.slice %arg0 [0, 0] [1, 1] : {{.*}} -> tensor<?x8xf32, #lumen.dims<["slice$0", "8"]>>
    // CHECK: lumen.slice %arg0 ["max(0, n - 1)", 0] [-1, 1] : {{.*}} -> tensor<?x8xf32, #lumen.dims<["n", "8"]>>
    // CHECK: lumen.slice %arg0 ["max(0, n - 1)", 0] [1, 1] : {{.*}} -> tensor<?x8xf32, #lumen.dims<["min(1, n)", "8"]>>
    %zero = onnx.constant dense<0> : tensor<1xi64>
    %two = onnx.constant dense<2> : tensor<1xi64>
    %last = onnx.constant dense<-1> : tensor<1xi64>
    %end = onnx.constant dense<9223372036854775807> : tensor<1xi64>
    %begin = onnx.constant dense<-9223372036854775808> : tensor<1xi64>
    %0 = onnx.node "Slice"(%x, %two, %end, %zero) {} : (!x, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
    %1 = onnx.node "Slice"(%x, %zero, %last, %zero) {} : (!x, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
    %2 = onnx.node "Slice"(%x, %zero, %e, %zero) {} : (!x, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
    %3 = onnx.node "Slice"(%x, %last, %begin, %zero, %last) {} : (!x, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
    %4 = onnx.node "Slice"(%x, %last, %end, %zero) {} : (!x, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
    onnx.return %0, %1, %2, %3, %4 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
  }
}

// -----

// As exporters write it: Shape, Gather, Unsqueeze, Concat, Where(Equal -1), Expand;
// a range of a size is its index.
!x = tensor<?x1x?xf32, #lumen.dims<["batch", "1", "seq"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: !x {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xi64> {onnx.name = "z"}) {
    // CHECK-NEXT: lumen.broadcast %arg0 [0, 1, 2] : {{.*}} -> tensor<?x4x?xf32, #lumen.dims<["batch", "4", "seq"]>>
    // CHECK-NEXT: lumen.iota {axis = 0 : i64} : tensor<?xi64, #lumen.dims<["seq"]>>
    // CHECK-NEXT: return
    %zero = onnx.constant dense<0> : tensor<i64>
    %two = onnx.constant dense<2> : tensor<i64>
    %one = onnx.constant dense<1> : tensor<i64>
    %four = onnx.constant dense<[4]> : tensor<1xi64>
    %axis = onnx.constant dense<[0]> : tensor<1xi64>
    %rank = onnx.constant dense<[3]> : tensor<1xi64>
    %minus = onnx.constant dense<-1> : tensor<i64>
    %shape = onnx.node "Shape"(%x) {} : (!x) -> tensor<*xi64>
    %b = onnx.node "Gather"(%shape, %zero) {axis = 0 : i64} : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
    %s = onnx.node "Gather"(%shape, %two) {axis = 0 : i64} : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
    %bu = onnx.node "Unsqueeze"(%b, %axis) {} : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
    %su = onnx.node "Unsqueeze"(%s, %axis) {} : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
    %t = onnx.node "Concat"(%bu, %four, %su) {axis = 0 : i64} : (tensor<*xi64>, tensor<1xi64>, tensor<*xi64>) -> tensor<*xi64>
    %fill = onnx.node "ConstantOfShape"(%rank) {value = dense<1> : tensor<1xi64>} : (tensor<1xi64>) -> tensor<*xi64>
    %neg = onnx.node "Mul"(%fill, %minus) {} : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
    %eq = onnx.node "Equal"(%t, %neg) {} : (tensor<*xi64>, tensor<*xi64>) -> tensor<*xi1>
    %w = onnx.node "Where"(%eq, %fill, %t) {} : (tensor<*xi1>, tensor<*xi64>, tensor<*xi64>) -> tensor<*xi64>
    %y = onnx.node "Expand"(%x, %w) {} : (!x, tensor<*xi64>) -> tensor<*xf32>
    %r = onnx.node "Range"(%zero, %s, %one) {} : (tensor<i64>, tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
    onnx.return %y, %r : tensor<*xf32>, tensor<*xi64>
  }
}

// -----

// Scaling passes through floats; a filled shape is a repeated scalar.
!x = tensor<?xf32, #lumen.dims<["n"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: !x {onnx.name = "x"}) -> (tensor<*xi64> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "z"}) {
    // CHECK-DAG: %[[S:.*]] = lumen.sizes ["floordiv(n, 2)"] : tensor<1xi64>
    // CHECK-DAG: %[[C:.*]] = lumen.constant dense<2.500000e-01> : tensor<f32>
    // CHECK-DAG: %[[Z:.*]] = lumen.broadcast %[[C]] [] : tensor<f32> -> tensor<?xf32, #lumen.dims<["floordiv(n, 2)"]>>
    // CHECK: return %[[S]], %[[Z]]
    %half = onnx.constant dense<0.5> : tensor<1xf32>
    %shape = onnx.node "Shape"(%x) {} : (!x) -> tensor<*xi64>
    %real = onnx.node "Cast"(%shape) {to = 1 : i64} : (tensor<*xi64>) -> tensor<*xf32>
    %scaled = onnx.node "Mul"(%real, %half) {} : (tensor<*xf32>, tensor<1xf32>) -> tensor<*xf32>
    %floor = onnx.node "Floor"(%scaled) {} : (tensor<*xf32>) -> tensor<*xf32>
    %y = onnx.node "Cast"(%floor) {to = 7 : i64} : (tensor<*xf32>) -> tensor<*xi64>
    %z = onnx.node "ConstantOfShape"(%y) {value = dense<0.25> : tensor<1xf32>} : (tensor<*xi64>) -> tensor<*xf32>
    onnx.return %y, %z : tensor<*xi64>, tensor<*xf32>
  }
}

// -----

// Windows have floordiv places; the pads of SAME are data where the size decides.
!x = tensor<?x3x?x32xf32, #lumen.dims<["batch", "3", "h", "32"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: !x {onnx.name = "x"}, %w: tensor<8x3x3x3xf32> {onnx.name = "w"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "z"}, tensor<*xf32> {onnx.name = "q"}) {
    // CHECK: lumen.check <lessequal> "1", "floordiv(h + 1, 2)", "a window of {{[0-9]+}} has {1} places along dimension {{[23]}} of size h, expected at least {0}"
    // CHECK: lumen.conv {{.*}} pad_high = array<i64: 1, 1>, pad_low = array<i64: 1, 1>{{.*}} -> tensor<?x?x16x8xf32, #lumen.dims<["batch", "floordiv(h + 1, 2)", "16", "8"]>>
    // CHECK: lumen.pad <constant> {{.*}} [0, "2*floordiv(h + 1, 2) - h", 0, 0] [0, 1, 0, 0]
    // CHECK: lumen.conv {{.*}} pad_high = array<i64: 0, 1>, pad_low = array<i64: 0, 0>
    // CHECK: lumen.window <max> {{.*}} -> tensor<?x?x16x3xf32, #lumen.dims<["batch", "floordiv(h + 1, 2)", "16", "3"]>>
    %0 = onnx.node "Conv"(%x, %w) {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>} : (!x, tensor<8x3x3x3xf32>) -> tensor<*xf32>
    %1 = onnx.node "Conv"(%x, %w) {strides = array<i64: 2, 2>, auto_pad = "SAME_UPPER"} : (!x, tensor<8x3x3x3xf32>) -> tensor<*xf32>
    %2 = onnx.node "MaxPool"(%x) {strides = array<i64: 2, 2>, kernel_shape = array<i64: 2, 2>, ceil_mode = 1 : i64} : (!x) -> tensor<*xf32>
    onnx.return %0, %1, %2 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
  }
}

// -----

// An element that a size was taken from is its symbol from then on, and a table is
// longer than what is looked up in it.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}, lumen.bounds = {n = 512 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<?x4xf32, #lumen.dims<["n", "4"]>> {onnx.name = "x"}, %t: tensor<64x4xf32> {onnx.name = "t"}, %k: tensor<i64> {onnx.name = "k"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xi64> {onnx.name = "z"}) {
    // CHECK-NEXT: lumen.check <lessequal> "n", "512"
    // CHECK: lumen.check <lessequal> "n", "64", "the number of rows that are looked up in a table"
    // CHECK: lumen.cast %{{.*}} : tensor<?x4xf32, #lumen.dims<["min(64, n)", "4"]>> -> tensor<?x4xf32, #lumen.dims<["n", "4"]>>
    // CHECK: lumen.symbol "constantofshape$0" = %arg2 : tensor<i64>
    // CHECK-NEXT: %[[S:.*]] = lumen.sizes ["constantofshape$0 + 1"] : tensor<1xi64>
    // CHECK-NEXT: return %{{.*}}, %[[S]]
    %zero = onnx.constant dense<0> : tensor<1xi64>
    %one = onnx.constant dense<1> : tensor<i64>
    %first = onnx.constant dense<0> : tensor<i64>
    %shape = onnx.node "Shape"(%x) {end = 1 : i64} : (tensor<?x4xf32, #lumen.dims<["n", "4"]>>) -> tensor<*xi64>
    %rows = onnx.node "Slice"(%t, %zero, %shape, %zero) {} : (tensor<64x4xf32>, tensor<1xi64>, tensor<*xi64>, tensor<1xi64>) -> tensor<*xf32>
    %y = onnx.node "Add"(%x, %rows) {} : (tensor<?x4xf32, #lumen.dims<["n", "4"]>>, tensor<*xf32>) -> tensor<*xf32>
    %list = onnx.node "Unsqueeze"(%k, %zero) {} : (tensor<i64>, tensor<1xi64>) -> tensor<*xi64>
    %filled = onnx.node "ConstantOfShape"(%list) {} : (tensor<*xi64>) -> tensor<*xf32>
    %count = onnx.node "Shape"(%filled) {} : (tensor<*xf32>) -> tensor<*xi64>
    %z = onnx.node "Add"(%count, %one) {} : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
    onnx.return %y, %z : tensor<*xf32>, tensor<*xi64>
  }
}

// -----

// One size from the run, the other one inferred.
!x = tensor<?x64xf32, #lumen.dims<["n", "64"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: !x {onnx.name = "x"}, %k: tensor<1xi64> {onnx.name = "k"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.symbol "reshape$0" = %{{.*}} : tensor<i64>
    // CHECK-NEXT: lumen.check <equal> "floordiv(64*n, reshape$0)*reshape$0", "64*n", "the shape, whose only -1 takes what is left, has {0} elements, expected {1}"
    // CHECK-NEXT: lumen.reshape %arg0 : {{.*}} -> tensor<?x?xf32, #lumen.dims<["reshape$0", "floordiv(64*n, reshape$0)"]>>
    %rest = onnx.constant dense<-1> : tensor<1xi64>
    %s = onnx.node "Concat"(%k, %rest) {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<*xi64>
    %0 = onnx.node "Reshape"(%x, %s) {} : (!x, tensor<*xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Parts, joins and repetitions have sums and products for sizes.
!x = tensor<?x4xf32, #lumen.dims<["n", "4"]>>
!y = tensor<?x?xf32, #lumen.dims<["m", "k"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: !x {onnx.name = "x"}, %y: !y {onnx.name = "y"}, %r: tensor<2xi64> {onnx.name = "r"}) -> (tensor<*xf32> {onnx.name = "a"}, tensor<*xf32> {onnx.name = "b"}, tensor<*xf32> {onnx.name = "c"}) {
    // CHECK: lumen.check <equal> "k", "4", "dimension {{[0-9]}} of input 1"
    // CHECK: %[[Y:.*]] = lumen.cast %arg1 : {{.*}} -> tensor<?x4xf32, #lumen.dims<["m", "4"]>>
    // CHECK: %[[C:.*]] = lumen.concat %arg0, %[[Y]] {axis = 0 : i64} : {{.*}} -> tensor<?x4xf32, #lumen.dims<["m + n", "4"]>>
    // CHECK: lumen.check <equal> "2*floordiv(m + n, 2)", "m + n", "dimension {{[0-9]}} is {1}, expected a multiple of 2"
    // CHECK: lumen.slice %[[C]] ["floordiv(m + n, 2)", 0] [1, 1]
    // CHECK: lumen.symbol "tile$0"
    // CHECK: lumen.symbol "tile$1"
    // CHECK: lumen.broadcast %arg0 [1, 3] : {{.*}} -> tensor<?x?x?x4xf32, #lumen.dims<["tile$0", "n", "tile$1", "4"]>>
    // CHECK: lumen.reshape {{.*}} -> tensor<?x?xf32, #lumen.dims<["n*tile$0", "4*tile$1"]>>
    %0 = onnx.node "Concat"(%x, %y) {axis = 0 : i64} : (!x, !y) -> tensor<*xf32>
    %1:2 = onnx.node "Split"(%0) {axis = 0 : i64} : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>)
    %2 = onnx.node "Tile"(%x, %r) {} : (!x, tensor<2xi64>) -> tensor<*xf32>
    onnx.return %0, %1#1, %2 : tensor<*xf32>, tensor<*xf32>, tensor<*xf32>
  }
}

// -----

// A pad up to a multiple is never negative; what may be negative is a crop and a pad.
!x = tensor<?xf32, #lumen.dims<["n"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: !x {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "a"}, tensor<*xf32> {onnx.name = "b"}) {
    // CHECK: lumen.pad <constant> %arg0, %{{.*}} [0] ["-8*floordiv(7*n, 8) + 7*n"]
    // CHECK: %[[S:.*]] = lumen.slice %arg0 [0] [1] : {{.*}} -> tensor<?xf32, #lumen.dims<["-max(0, n - 16) + n"]>>
    // CHECK: lumen.pad <constant> %[[S]], %{{.*}} [0] ["max(-n + 16, 0)"]
    // CHECK-NEXT: lumen.cast {{.*}} -> tensor<16xf32>
    %zero = onnx.constant dense<0> : tensor<1xi64>
    %eight = onnx.constant dense<8> : tensor<1xi64>
    %sixteen = onnx.constant dense<16> : tensor<1xi64>
    %n = onnx.node "Shape"(%x) {} : (!x) -> tensor<*xi64>
    %negated = onnx.node "Neg"(%n) {} : (tensor<*xi64>) -> tensor<*xi64>
    %rest = onnx.node "Mod"(%negated, %eight) {} : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
    %pads = onnx.node "Concat"(%zero, %rest) {axis = 0 : i64} : (tensor<1xi64>, tensor<*xi64>) -> tensor<*xi64>
    %0 = onnx.node "Pad"(%x, %pads) {} : (!x, tensor<*xi64>) -> tensor<*xf32>
    %lack = onnx.node "Sub"(%sixteen, %n) {} : (tensor<1xi64>, tensor<*xi64>) -> tensor<*xi64>
    %other = onnx.node "Concat"(%zero, %lack) {axis = 0 : i64} : (tensor<1xi64>, tensor<*xi64>) -> tensor<*xi64>
    %1 = onnx.node "Pad"(%x, %other) {} : (!x, tensor<*xi64>) -> tensor<*xf32>
    onnx.return %0, %1 : tensor<*xf32>, tensor<*xf32>
  }
}
