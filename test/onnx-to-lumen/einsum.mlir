// Sums of products are products of matrices where something is summed.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<2x3x4x5xf32> {onnx.name = "a"}, %b: tensor<2x3x6x5xf32> {onnx.name = "b"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[B:.*]] = lumen.transpose %arg1 [0, 1, 3, 2]
    // CHECK: lumen.contract %arg0, %[[B]] : tensor<2x3x4x5xf32>, tensor<2x3x5x6xf32> -> tensor<2x3x4x6xf32>
    %0 = onnx.node "Einsum"(%a, %b) {equation = "bhid,bhjd->bhij"} : (tensor<2x3x4x5xf32>, tensor<2x3x6x5xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// A name that occurs twice in a term is a diagonal.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<4x4xf32> {onnx.name = "a"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[D:.*]] = lumen.pick %arg0() [0, 0] : tensor<4x4xf32>, () -> tensor<4xf32>
    // CHECK: lumen.reduce <sum> %[[D]] [0]
    %0 = onnx.node "Einsum"(%a) {equation = "ii->"} : (tensor<4x4xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
