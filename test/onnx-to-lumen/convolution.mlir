// Convolutions become channels-last, with transposes around them.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

module attributes {onnx.opsets = {ai.onnx = 11 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x4x8x9xf32> {onnx.name = "x"}, %w: tensor<6x2x3x1xf32> {onnx.name = "w"}, %b: tensor<6xf32> {onnx.name = "b"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-DAG: %[[X:.*]] = lumen.transpose %arg0 [0, 2, 3, 1] : tensor<1x4x8x9xf32> -> tensor<1x8x9x4xf32>
    // CHECK-DAG: %[[W:.*]] = lumen.transpose %arg1 [2, 3, 1, 0] : tensor<6x2x3x1xf32> -> tensor<3x1x2x6xf32>
    // CHECK: %[[C:.*]] = lumen.conv %[[X]], %[[W]]
    // CHECK-SAME: dilations = array<i64: 2, 1>, groups = 2 : i64, pad_high = array<i64: 2, 0>, pad_low = array<i64: 1, 0>
    // CHECK-SAME: strides = array<i64: 1, 2>, window = array<i64: 3, 1>
    // CHECK-SAME: -> tensor<1x7x5x6xf32>
    // CHECK: %[[B:.*]] = lumen.broadcast %arg2 [3] : tensor<6xf32> -> tensor<1x7x5x6xf32>
    // CHECK: %[[S:.*]] = lumen.binary <add> %[[C]], %[[B]]
    // CHECK: lumen.transpose %[[S]] [0, 3, 1, 2] : tensor<1x7x5x6xf32> -> tensor<1x6x7x5xf32>
    %0 = onnx.node "Conv"(%x, %w, %b) {group = 2 : i64, dilations = array<i64: 2, 1>, strides = array<i64: 1, 2>, pads = array<i64: 1, 0, 2, 0>, kernel_shape = array<i64: 3, 1>} : (tensor<1x4x8x9xf32>, tensor<6x2x3x1xf32>, tensor<6xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// SAME_LOWER puts the odd element first; one and three dimensions are the same code.
module attributes {onnx.opsets = {ai.onnx = 11 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x4x8xf32> {onnx.name = "x"}, %w: tensor<4x4x4xf32> {onnx.name = "w"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.conv
    // CHECK-SAME: pad_high = array<i64: 1>, pad_low = array<i64: 2>
    // CHECK-SAME: tensor<1x8x4xf32>, tensor<4x4x4xf32> -> tensor<1x8x4xf32>
    %0 = onnx.node "Conv"(%x, %w) {auto_pad = "SAME_LOWER"} : (tensor<1x4x8xf32>, tensor<4x4x4xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Channels that only the run knows: a product of what a window sees and filters.
!w = tensor<?x?x3xf32, #lumen.dims<["o", "c", "3"]>>
module attributes {onnx.opsets = {ai.onnx = 11 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x4x8xf32> {onnx.name = "x"}, %w: !w {onnx.name = "w"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.check <equal> "4", "2*c", "the number of input channels"
    // CHECK: lumen.check <equal> {{.*}}, "the number of output channels is {1}, expected a multiple of 2"
    // CHECK: lumen.gather {{.*}} {axis = 1 : i64} : {{.*}}tensor<6x3xi64>
    // CHECK: lumen.contract {{.*}} transpose_rhs : tensor<2x2x6x?xf32
    %0 = onnx.node "Conv"(%x, %w) {group = 2 : i64} : (tensor<2x4x8xf32>, !w) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// A transposed convolution is a plain one over an input with zeros between its
// elements and a filter turned around.
module attributes {onnx.opsets = {ai.onnx = 11 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x2x3xf32> {onnx.name = "x"}, %w: tensor<2x4x3xf32> {onnx.name = "w"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.pad <constant> %{{.*}} [0, 0, 0, 0] [0, 0, 1, 0] : tensor<1x3x1x2xf32>, tensor<f32> -> tensor<1x3x2x2xf32>
    // CHECK: %[[X:.*]] = lumen.slice %{{.*}} [0, 0, 0] [1, 1, 1] : tensor<1x6x2xf32> -> tensor<1x5x2xf32>
    // CHECK: %[[W:.*]] = lumen.slice %{{.*}} [2, 0, 0] [-1, 1, 1] : tensor<3x2x4xf32> -> tensor<3x2x4xf32>
    // CHECK: lumen.conv %[[X]], %[[W]]
    // CHECK-SAME: pad_high = array<i64: 2>, pad_low = array<i64: 1>, strides = array<i64: 1>
    // CHECK-SAME: -> tensor<1x6x4xf32>
    %0 = onnx.node "ConvTranspose"(%x, %w) {strides = array<i64: 2>, pads = array<i64: 1, 1>, output_padding = array<i64: 1>} : (tensor<1x2x3xf32>, tensor<2x4x3xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Channels are where ours has them; an addend comes before the activation.
module attributes {onnx.opsets = {ai.onnx = 17 : i64, com.microsoft = 1 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x5x5x3xf32> {onnx.name = "x"}, %w: tensor<4x3x1x1xf32> {onnx.name = "w"}, %z: tensor<1x4x5x5xf32> {onnx.name = "z"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "r"}) {
    // CHECK: %[[Y:.*]] = lumen.conv %arg0,
    %0 = onnx.node "NhwcConv"(%x, %w) domain("com.microsoft") {} : (tensor<1x5x5x3xf32>, tensor<4x3x1x1xf32>) -> tensor<*xf32>
    // CHECK: %[[C:.*]] = lumen.conv
    // CHECK: %[[Z:.*]] = lumen.transpose %arg2 [0, 2, 3, 1]
    // CHECK: %[[SUM:.*]] = lumen.binary <add> %[[C]], %[[Z]]
    // CHECK: lumen.unary <relu> %[[SUM]]
    %t = onnx.node "Transpose"(%x) {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x5x5x3xf32>) -> tensor<*xf32>
    %none = onnx.absent
    %1 = onnx.node "FusedConv"(%t, %w, %none, %z) domain("com.microsoft") {activation = "Relu"} : (tensor<*xf32>, tensor<4x3x1x1xf32>, none, tensor<1x4x5x5xf32>) -> tensor<*xf32>
    onnx.return %0, %1 : tensor<*xf32>, tensor<*xf32>
  }
}
