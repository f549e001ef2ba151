// What decides a shape folds while the graph is walked and leaves nothing behind.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// Shape, Slice, Concat, Reshape.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x3x4xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[R:.*]] = lumen.reshape %arg0 : tensor<2x3x4xf32> -> tensor<2x12xf32>
    // CHECK-NEXT: return %[[R]]
    %zero = onnx.constant dense<0> : tensor<1xi64>
    %one = onnx.constant dense<1> : tensor<1xi64>
    %rest = onnx.constant dense<-1> : tensor<1xi64>
    %shape = onnx.node "Shape"(%x) {} : (tensor<2x3x4xf32>) -> tensor<*xi64>
    %batch = onnx.node "Slice"(%shape, %zero, %one, %zero) {} : (tensor<*xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xi64>
    %target = onnx.node "Concat"(%batch, %rest) {axis = 0 : i64} : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
    %y = onnx.node "Reshape"(%x, %target) {} : (tensor<2x3x4xf32>, tensor<*xi64>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}

// -----

// Gather, arithmetic, conversions, Range and Expand.
module attributes {onnx.opsets = {ai.onnx = 15 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x5xf32> {onnx.name = "x"}) -> (tensor<*xi64> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "z"}) {
    // CHECK-DAG: %[[RANGE:.*]] = lumen.constant dense<[0, 2, 4, 6, 8]> : tensor<5xi64>
    // CHECK-DAG: %[[Z:.*]] = lumen.broadcast %arg0 [1, 2] : tensor<2x5xf32> -> tensor<10x2x5xf32>
    // CHECK: return %[[RANGE]], %[[Z]]
    %zero = onnx.constant dense<0> : tensor<i64>
    %last = onnx.constant dense<-1> : tensor<i64>
    %two = onnx.constant dense<2> : tensor<i64>
    %ones = onnx.constant dense<1> : tensor<2xi64>
    %axis = onnx.constant dense<0> : tensor<1xi64>
    %shape = onnx.node "Shape"(%x) {} : (tensor<2x5xf32>) -> tensor<*xi64>
    %count = onnx.node "Gather"(%shape, %last) {axis = 0 : i64} : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
    %real = onnx.node "Cast"(%count) {to = 1 : i64} : (tensor<*xi64>) -> tensor<*xf32>
    %back = onnx.node "Cast"(%real) {to = 7 : i64} : (tensor<*xf32>) -> tensor<*xi64>
    %limit = onnx.node "Mul"(%back, %two) {} : (tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
    %y = onnx.node "Range"(%zero, %limit, %two) {} : (tensor<i64>, tensor<*xi64>, tensor<i64>) -> tensor<*xi64>
    %list = onnx.node "Unsqueeze"(%limit, %axis) {} : (tensor<*xi64>, tensor<1xi64>) -> tensor<*xi64>
    %target = onnx.node "Concat"(%list, %ones) {axis = 0 : i64} : (tensor<*xi64>, tensor<2xi64>) -> tensor<*xi64>
    %z = onnx.node "Expand"(%x, %target) {} : (tensor<2x5xf32>, tensor<*xi64>) -> tensor<*xf32>
    onnx.return %y, %z : tensor<*xi64>, tensor<*xf32>
  }
}

// -----

// A filled shape is a splat of any size.
module attributes {onnx.opsets = {ai.onnx = 9 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main() -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[C:.*]] = lumen.constant dense<2.500000e-01> : tensor<512x512x3x3xf32>
    // CHECK-NEXT: return %[[C]]
    %shape = onnx.constant dense<[512, 512, 3, 3]> : tensor<4xi64>
    %y = onnx.node "ConstantOfShape"(%shape) {value = dense<0.25> : tensor<1xf32>} : (tensor<4xi64>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}
