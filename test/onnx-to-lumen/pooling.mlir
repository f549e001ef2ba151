// Poolings become windows over channels-last tensors.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// In ceil_mode the last window reaches beyond the padding.
module attributes {onnx.opsets = {ai.onnx = 10 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x4x8x8xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.window <max>
    // CHECK-SAME: pad_high = array<i64: 0, 1, 1, 0>, pad_low = array<i64: 0, 0, 0, 0>
    // CHECK-SAME: strides = array<i64: 1, 2, 2, 1>, window = array<i64: 1, 3, 3, 1>
    // CHECK-SAME: tensor<1x8x8x4xf32> -> tensor<1x4x4x4xf32>
    %0 = onnx.node "MaxPool"(%x) {ceil_mode = 1 : i64, kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Where a stride leaves a rest, the padding shrinks to what windows reach.
module attributes {onnx.opsets = {ai.onnx = 7 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x4x8x8xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.window <average>
    // CHECK-SAME: count_include_pad
    // CHECK-SAME: pad_high = array<i64: 0, 0, 0, 0>, pad_low = array<i64: 0, 1, 1, 0>
    // CHECK-SAME: -> tensor<1x4x4x4xf32>
    %0 = onnx.node "AveragePool"(%x) {count_include_pad = 1 : i64, kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>} : (tensor<1x4x8x8xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Padding that only ceil_mode adds does not count, so the divisor varies.
module attributes {onnx.opsets = {ai.onnx = 10 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x4x6xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-DAG: %[[S:.*]] = lumen.window <sum>
    // CHECK-DAG: %[[N:.*]] = lumen.constant dense<[3.000000e+00, 3.000000e+00, 2.000000e+00]> : tensor<3xf32>
    // CHECK: %[[B:.*]] = lumen.broadcast %[[N]] [1]
    // CHECK: lumen.binary <div> %[[S]], %[[B]] : tensor<1x3x4xf32>
    %0 = onnx.node "AveragePool"(%x) {ceil_mode = 1 : i64, count_include_pad = 1 : i64, kernel_shape = array<i64: 3>, strides = array<i64: 2>} : (tensor<1x4x6xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Global forms are reductions.
module attributes {onnx.opsets = {ai.onnx = 7 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x4x6x5xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[R:.*]] = lumen.reduce <max> %arg0 [2, 3] : tensor<1x4x6x5xf32> -> tensor<1x4xf32>
    // CHECK: lumen.reshape %[[R]] : tensor<1x4xf32> -> tensor<1x4x1x1xf32>
    %0 = onnx.node "GlobalMaxPool"(%x) {} : (tensor<1x4x6x5xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// LRN is a window over channels.
module attributes {onnx.opsets = {ai.onnx = 7 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x8x2x2xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[X:.*]] = lumen.transpose %arg0 [0, 2, 3, 1]
    // CHECK: %[[Q:.*]] = lumen.binary <mul> %[[X]], %[[X]]
    // CHECK: lumen.window <sum> %[[Q]]
    // CHECK-SAME: pad_high = array<i64: 0, 0, 0, 2>, pad_low = array<i64: 0, 0, 0, 1>
    // CHECK-SAME: window = array<i64: 1, 1, 1, 4>
    // CHECK: lumen.binary <pow>
    // CHECK: lumen.binary <div> %[[X]]
    %0 = onnx.node "LRN"(%x) {size = 4 : i64} : (tensor<1x8x2x2xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
