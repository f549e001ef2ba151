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

// -----

// Integers are interpolated as floats, and fractions are cut off once, at the end.
module attributes {onnx.opsets = {ai.onnx = 19 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x8x2x2xui8> {onnx.name = "x"}) -> (tensor<*xui8> {onnx.name = "y"}) {
    // CHECK: lumen.convert %arg0 : tensor<1x8x2x2xui8> -> tensor<1x8x2x2xf32>
    // CHECK-NOT: ui8>
    // CHECK: lumen.convert %{{.*}} : tensor<1x4x4x8xf32> -> tensor<1x4x4x8xui8>
    %none = onnx.absent
    %scales = onnx.constant dense<[1.0, 1.0, 2.0, 2.0]> : tensor<4xf32>
    %0 = onnx.node "Resize"(%x, %none, %scales) {mode = "linear"} : (tensor<1x8x2x2xui8>, none, tensor<4xf32>) -> tensor<*xui8>
    onnx.return %0 : tensor<*xui8>
  }
}

// -----

// Means of wide bands are a product with a matrix; what lies outside counts as the border does.
module attributes {onnx.opsets = {ai.onnx = 19 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x3x12x8xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %none = onnx.absent
    %sizes = onnx.constant dense<[1, 3, 4, 8]> : tensor<4xi64>
    // CHECK: lumen.pad <edge> {{.*}} -> tensor<1x20x8x3xf32>
    // CHECK: lumen.contract {{.*}} : tensor<1x4x20xf32>, tensor<1x20x24xf32> -> tensor<1x4x24xf32>
    %0 = onnx.node "Resize"(%x, %none, %none, %sizes) {mode = "linear", antialias = 1 : i64} : (tensor<1x3x12x8xf32>, none, none, tensor<4xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
