// What the data select has the size of a symbol, at most that of its bound.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<3x5xf32> {onnx.name = "x"}, %c: tensor<3xi1> {onnx.name = "c"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[PLACES:.*]], %[[COUNT:.*]] = lumen.nonzero %arg1 : tensor<3xi1> -> tensor<3xi64>, tensor<i64>
    // CHECK-NEXT: lumen.symbol "[[N:.*]]" = %[[COUNT]] at_most "3"
    // CHECK-NEXT: %[[S:.*]] = lumen.slice %[[PLACES]] [0] [1]
    // CHECK-NEXT: lumen.gather %arg0, %[[S]] {axis = 0 : i64}
    %0 = onnx.node "Compress"(%x, %c) {axis = 0 : i64} : (tensor<3x5xf32>, tensor<3xi1>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// A constant limit bounds what is selected.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%b: tensor<2x9x4xf32> {onnx.name = "b"}, %s: tensor<2x3x9xf32> {onnx.name = "s"}) -> (tensor<*xi64> {onnx.name = "y"}) {
    // CHECK: %[[SELECTED:.*]], %{{.*}}, %[[COUNT:.*]] = lumen.nms
    // CHECK-SAME: -> tensor<30x3xi64>, tensor<9xi64>, tensor<i64>
    // CHECK-NEXT: lumen.symbol "{{.*}}" = %[[COUNT]] at_most "30"
    %max = onnx.constant dense<5> : tensor<1xi64>
    %0 = onnx.node "NonMaxSuppression"(%b, %s, %max) {} : (tensor<2x9x4xf32>, tensor<2x3x9xf32>, tensor<1xi64>) -> tensor<*xi64>
    onnx.return %0 : tensor<*xi64>
  }
}
