// Reductions are combinations of sum, max, min and product.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// Axes are an input since version 13; reduced dimensions stay unless keepdims is 0.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x3x4xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "z"}) {
    // CHECK-DAG: %[[R:.*]] = lumen.reduce <sum> %arg0 [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
    // CHECK-DAG: %[[K:.*]] = lumen.reshape %[[R]] : tensor<3xf32> -> tensor<1x3x1xf32>
    // CHECK-DAG: %[[Z:.*]] = lumen.reduce <max> %arg0 [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>
    // CHECK: return %[[K]], %[[Z]]
    %axes = onnx.constant dense<[-1, 0]> : tensor<2xi64>
    %0 = onnx.node "ReduceSum"(%x, %axes) {} : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<*xf32>
    %1 = onnx.node "ReduceMax"(%x) {axes = array<i64: 2>, keepdims = 0 : i64} : (tensor<2x3x4xf32>) -> tensor<*xf32>
    onnx.return %0, %1 : tensor<*xf32>, tensor<*xf32>
  }
}

// -----

module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "z"}) {
    // CHECK-DAG: %[[S:.*]] = lumen.reduce <sum> %arg0 [0, 1] : tensor<2x3xf32> -> tensor<f32>
    // CHECK-DAG: %[[SIX:.*]] = lumen.constant dense<6.000000e+00> : tensor<f32>
    // CHECK-DAG: %[[M:.*]] = lumen.binary <div> %[[S]], %[[SIX]] : tensor<f32>
    // CHECK: return %[[M]], %arg0
    %0 = onnx.node "ReduceMean"(%x) {keepdims = 0 : i64} : (tensor<2x3xf32>) -> tensor<*xf32>
    %1 = onnx.node "ReduceMean"(%x) {noop_with_empty_axes = 1 : i64} : (tensor<2x3xf32>) -> tensor<*xf32>
    onnx.return %0, %1 : tensor<*xf32>, tensor<*xf32>
  }
}

// -----

// The index of the maximum is the least index that holds it, or NaN.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<*xi64> {onnx.name = "y"}) {
    // CHECK: lumen.reduce <max> %arg0 [1]
    // CHECK: %[[BEST:.*]] = lumen.compare <eq> %arg0
    // CHECK: %[[NAN:.*]] = lumen.unary <isnan> %arg0
    // CHECK: %[[THERE:.*]] = lumen.binary <or> %[[BEST]], %[[NAN]]
    // CHECK: %[[I:.*]] = lumen.select %[[THERE]]
    // CHECK: lumen.reduce <min> %[[I]] [1] : tensor<2x3xi64> -> tensor<2xi64>
    %0 = onnx.node "ArgMax"(%x) {axis = 1 : i64, keepdims = 0 : i64} : (tensor<2x3xf32>) -> tensor<*xi64>
    onnx.return %0 : tensor<*xi64>
  }
}
