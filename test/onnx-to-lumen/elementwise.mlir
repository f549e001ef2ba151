// Elementwise operators become scalar functions of ours with explicit broadcasts.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// One row, one operation.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main(%arg0: tensor<2x3xf32> {onnx.name = "x"})
  func.func @main(%x: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[EXP:.*]] = lumen.unary <exp> %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
    %0 = onnx.node "Exp"(%x) {} : (tensor<2x3xf32>) -> tensor<*xf32>
    // CHECK-NEXT: return %[[EXP]] : tensor<2x3xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Shapes are joined as in NumPy; an operand of the result's shape stays.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<4x1xf32> {onnx.name = "a"}, %b: tensor<3xf32> {onnx.name = "b"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[A:.*]] = lumen.broadcast %arg0 [0, 1] : tensor<4x1xf32> -> tensor<4x3xf32>
    // CHECK-NEXT: %[[B:.*]] = lumen.broadcast %arg1 [1] : tensor<3xf32> -> tensor<4x3xf32>
    // CHECK-NEXT: %[[C:.*]] = lumen.compare <lt> %[[A]], %[[B]] : tensor<4x3xf32> -> tensor<4x3xi1>
    %0 = onnx.node "Less"(%a, %b) {} : (tensor<4x1xf32>, tensor<3xf32>) -> !onnx.unknown
    // CHECK: lumen.select %[[C]], %{{.*}}, %{{.*}} : tensor<4x3xi1>, tensor<4x3xf32>
    %1 = onnx.node "Where"(%0, %a, %b) {} : (!onnx.unknown, tensor<4x1xf32>, tensor<3xf32>) -> tensor<*xf32>
    onnx.return %1 : tensor<*xf32>
  }
}

// -----

// Operators of any number of inputs are chains.
module attributes {onnx.opsets = {ai.onnx = 8 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<3xf32> {onnx.name = "a"}, %b: tensor<3xf32> {onnx.name = "b"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-DAG: %[[THREE:.*]] = lumen.constant dense<3.000000e+00> : tensor<3xf32>
    // CHECK-DAG: %[[S:.*]] = lumen.binary <add> %arg0, %arg1 : tensor<3xf32>
    // CHECK-DAG: %[[T:.*]] = lumen.binary <add> %[[S]], %arg0 : tensor<3xf32>
    // CHECK: lumen.binary <div> %[[T]], %[[THREE]] : tensor<3xf32>
    %0 = onnx.node "Mean"(%a, %b, %a) {} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Bounds of Clip were attributes before version 11.
module attributes {onnx.opsets = {ai.onnx = 7 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<3xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[SIX:.*]] = lumen.constant dense<6.000000e+00> : tensor<3xf32>
    // CHECK-NEXT: lumen.binary <min> %arg0, %[[SIX]] : tensor<3xf32>
    %0 = onnx.node "Clip"(%x) {max = 6.0 : f32} : (tensor<3xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<3xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %none = onnx.absent
    %six = onnx.constant dense<6.0> : tensor<f32>
    // CHECK: %[[SIX:.*]] = lumen.constant dense<6.000000e+00> : tensor<3xf32>
    // CHECK-NEXT: lumen.binary <min> %arg0, %[[SIX]] : tensor<3xf32>
    %0 = onnx.node "Clip"(%x, %none, %six) {} : (tensor<3xf32>, none, tensor<f32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Unsigned integers and types of a cast.
module attributes {onnx.opsets = {ai.onnx = 19 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<3xui8> {onnx.name = "x"}) -> (tensor<*xf16> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[S:.*]] = lumen.binary <shiftright> %arg0, %arg0 : tensor<3xui8>
    %0 = onnx.node "BitShift"(%x, %x) {direction = "RIGHT"} : (tensor<3xui8>, tensor<3xui8>) -> tensor<*xui8>
    // CHECK-NEXT: lumen.convert %[[S]] : tensor<3xui8> -> tensor<3xf16>
    %1 = onnx.node "Cast"(%0) {to = 10 : i64, saturate = 1 : i64} : (tensor<*xui8>) -> tensor<*xf16>
    onnx.return %1 : tensor<*xf16>
  }
}

// -----

// ONNX Runtime's activations add a bias along the last dimension first.
module attributes {onnx.opsets = {ai.onnx = 17 : i64, com.microsoft = 1 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x8xf32> {onnx.name = "x"}, %b: tensor<8xf32> {onnx.name = "b"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[B:.*]] = lumen.broadcast %arg1 [1] : tensor<8xf32> -> tensor<2x8xf32>
    // CHECK: lumen.binary <add> %arg0, %[[B]]
    // CHECK: lumen.unary <tanh>
    %0 = onnx.node "FastGelu"(%x, %b) domain("com.microsoft") {} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Bits of integers are integers; those of floats are copied.
module attributes {onnx.opsets = {ai.onnx = 26 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<4xi32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[U:.*]] = lumen.convert %arg0 : tensor<4xi32> -> tensor<4xui32>
    // CHECK: lumen.call "bit_cast"(%[[U]]) : (tensor<4xui32>) -> tensor<4xf32>
    %0 = onnx.node "BitCast"(%x) {to = 12 : i64} : (tensor<4xi32>) -> tensor<*xui32>
    %1 = onnx.node "BitCast"(%0) {to = 1 : i64} : (tensor<*xui32>) -> tensor<*xf32>
    onnx.return %1 : tensor<*xf32>
  }
}

// -----

// A single integer that only the run knows is checked before it divides; a constant is not.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%n: tensor<i64> {onnx.name = "n"}, %by: tensor<1xi64> {onnx.name = "by"}) -> (tensor<*xi64> {onnx.name = "y"}) {
    // CHECK: %[[IS_SOME:.*]] = lumen.compare <ne>
    // CHECK: %[[NUMBER:.*]] = lumen.convert %[[IS_SOME]]
    // CHECK: lumen.symbol "[[SOME:.*]]" = %[[NUMBER]] at_most "1"
    // CHECK: lumen.check <lessequal> "1", "[[SOME]]", "the size of a divisor"
    // CHECK: lumen.binary <div>
    // CHECK-NOT: lumen.check
    %two = onnx.constant dense<2> : tensor<i64>
    %0 = onnx.node "Div"(%n, %by) {} : (tensor<i64>, tensor<1xi64>) -> tensor<*xi64>
    %1 = onnx.node "Div"(%0, %two) {} : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
    onnx.return %1 : tensor<*xi64>
  }
}

// -----

// A function that several of ours make up.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<3xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[ABS:.*]] = lumen.unary <abs> %arg0
    // CHECK: %[[SUM:.*]] = lumen.binary <add> %[[ABS]], %{{.*}}
    // CHECK: lumen.binary <div> %arg0, %[[SUM]]
    %0 = onnx.node "Softsign"(%x) {} : (tensor<3xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
