// Norms become whole operations of ours, scale and bias elementwise ones.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// The statistics of a batch norm fold into two numbers per channel.
module attributes {onnx.opsets = {ai.onnx = 9 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x2x3x3xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-DAG: %[[SCALE:.*]] = lumen.constant dense<[5.000000e-01, 2.000000e+00]> : tensor<2xf32>
    // CHECK-DAG: %[[BIAS:.*]] = lumen.constant dense<[-1.500000e+00, -3.000000e+00]> : tensor<2xf32>
    // CHECK: %[[S:.*]] = lumen.broadcast %[[SCALE]] [1]
    // CHECK: %[[M:.*]] = lumen.binary <mul> %arg0, %[[S]]
    // CHECK: %[[B:.*]] = lumen.broadcast %[[BIAS]] [1]
    // CHECK: lumen.binary <add> %[[M]], %[[B]]
    %scale = onnx.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %bias = onnx.constant dense<[-1.0, 1.0]> : tensor<2xf32>
    %mean = onnx.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %var = onnx.constant dense<[4.0, 1.0]> : tensor<2xf32>
    %0 = onnx.node "BatchNormalization"(%x, %scale, %bias, %mean, %var) {epsilon = 0.0 : f32, momentum = 0.9 : f32} : (tensor<1x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Before version 13 softmax runs over all dimensions from the axis on.
module attributes {onnx.opsets = {ai.onnx = 11 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x3x4xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[F:.*]] = lumen.reshape %arg0 : tensor<2x3x4xf32> -> tensor<2x12xf32>
    // CHECK: %[[S:.*]] = lumen.softmax %[[F]] {axis = 1 : i64}
    // CHECK: lumen.reshape %[[S]] : tensor<2x12xf32> -> tensor<2x3x4xf32>
    %0 = onnx.node "Softmax"(%x) {} : (tensor<2x3x4xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x3x4xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.softmax %arg0 {axis = 2 : i64, log} : tensor<2x3x4xf32>
    %0 = onnx.node "LogSoftmax"(%x) {} : (tensor<2x3x4xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// A group norm is a layer norm of grouped channels; narrow floats compute in f32.
module attributes {onnx.opsets = {ai.onnx = 21 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x4x5xf16> {onnx.name = "x"}, %s: tensor<4xf16> {onnx.name = "s"}, %b: tensor<4xf16> {onnx.name = "b"}) -> (tensor<*xf16> {onnx.name = "y"}) {
    // CHECK: %[[W:.*]] = lumen.convert %arg0 : tensor<1x4x5xf16> -> tensor<1x4x5xf32>
    // CHECK: %[[G:.*]] = lumen.reshape %[[W]] : tensor<1x4x5xf32> -> tensor<1x2x10xf32>
    // CHECK: %[[N:.*]] = lumen.norm <layer> %[[G]] {axis = 2 : i64
    // CHECK: lumen.convert %[[N]] : tensor<1x2x10xf32> -> tensor<1x2x10xf16>
    // CHECK: lumen.broadcast %arg1 [1] : tensor<4xf16> -> tensor<1x4x5xf16>
    %0 = onnx.node "GroupNormalization"(%x, %s, %b) {num_groups = 2 : i64} : (tensor<1x4x5xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<*xf16>
    onnx.return %0 : tensor<*xf16>
  }
}

// -----

// The sum that a skip norm gives besides is the one that it normalises.
module attributes {onnx.opsets = {ai.onnx = 17 : i64, com.microsoft = 1 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x3x8xf32> {onnx.name = "x"}, %skip: tensor<1x3x8xf32> {onnx.name = "skip"}, %s: tensor<8xf32> {onnx.name = "s"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "sum"}) {
    // CHECK: %[[R:.*]] = lumen.broadcast %arg1
    // CHECK: %[[SUM:.*]] = lumen.binary <add> %arg0, %[[R]]
    // CHECK: %[[N:.*]] = lumen.norm <rms> %[[SUM]] {axis = 2 : i64
    // CHECK: %[[Y:.*]] = lumen.binary <mul> %[[N]]
    // CHECK: return %[[Y]], %[[SUM]]
    %none = onnx.absent
    %0:4 = onnx.node "SkipSimplifiedLayerNormalization"(%x, %skip, %s) domain("com.microsoft") {epsilon = 1.0e-5 : f32} : (tensor<2x3x8xf32>, tensor<1x3x8xf32>, tensor<8xf32>) -> (tensor<*xf32>, none, none, tensor<*xf32>)
    onnx.return %0#0, %0#3 : tensor<*xf32>, tensor<*xf32>
  }
}

// -----

// Statistics of another type are computed with in a type that holds both.
module attributes {onnx.opsets = {ai.onnx = 15 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x8xf16> {onnx.name = "x"}, %s: tensor<8xf32> {onnx.name = "s"}) -> (tensor<*xf16> {onnx.name = "y"}) {
    // CHECK: %[[X:.*]] = lumen.convert %arg0 : tensor<2x8xf16> -> tensor<2x8xf32>
    // CHECK: lumen.convert %{{.*}} : tensor<2x8xf32> -> tensor<2x8xf16>
    %0 = onnx.node "BatchNormalization"(%x, %s, %s, %s, %s) {} : (tensor<2x8xf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<*xf16>
    onnx.return %0 : tensor<*xf16>
  }
}

// -----

// An RMS norm gives elements of the scale's type.
module attributes {onnx.opsets = {ai.onnx = 23 : i64}} {
  // CHECK-LABEL: func.func @main
  // CHECK-SAME: -> (tensor<2x8xf32>
  func.func @main(%x: tensor<2x8xf16> {onnx.name = "x"}, %s: tensor<8xf32> {onnx.name = "s"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.norm <rms> %{{.*}} : tensor<2x8xf32>
    // CHECK-NOT: lumen.convert
    %0 = onnx.node "RMSNormalization"(%x, %s) {} : (tensor<2x8xf16>, tensor<8xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Scale and bias in f32, as half-precision models have them, become numbers of the image's type.
module attributes {onnx.opsets = {ai.onnx = 17 : i64, com.microsoft = 1 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x2x4xf16> {onnx.name = "x"}, %s: tensor<4xf32> {onnx.name = "s"}, %b: tensor<4xf32> {onnx.name = "b"}) -> (tensor<*xf16> {onnx.name = "y"}) {
    // CHECK-DAG: lumen.convert %arg1 : tensor<4xf32> -> tensor<4xf16>
    // CHECK-DAG: lumen.convert %arg2 : tensor<4xf32> -> tensor<4xf16>
    %0 = onnx.node "GroupNorm"(%x, %s, %b) domain("com.microsoft") {groups = 2 : i64} : (tensor<1x2x4xf16>, tensor<4xf32>, tensor<4xf32>) -> tensor<*xf16>
    onnx.return %0 : tensor<*xf16>
  }
}
