// Images are resized one dimension at a time, channels last.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// Coordinates of known sizes fold to tables.
module attributes {onnx.opsets = {ai.onnx = 10 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x8x2x2xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.constant dense<[0, 0, 1, 1]> : tensor<4xi64>
    // CHECK: lumen.gather %{{.*}}, %{{.*}} {axis = 1 : i64} : tensor<1x2x2x8xf32>, tensor<4xi64> -> tensor<1x4x2x8xf32>
    // CHECK: lumen.gather %{{.*}}, %{{.*}} {axis = 2 : i64} : tensor<1x4x2x8xf32>, tensor<4xi64> -> tensor<1x4x4x8xf32>
    %scales = onnx.constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
    %0 = onnx.node "Resize"(%x, %scales) {mode = "nearest"} : (tensor<1x8x2x2xf32>, tensor<4xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
