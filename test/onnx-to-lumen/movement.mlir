// Operators that move elements, in the spellings of several versions.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// Bounds count from the end, are clamped, and may run backwards.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: lumen.slice %arg0 [1, 7] [1, -2] : tensor<4x8xf32> -> tensor<3x4xf32>
    %starts = onnx.constant dense<[-1, 1]> : tensor<2xi64>
    %ends = onnx.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
    %axes = onnx.constant dense<[1, 0]> : tensor<2xi64>
    %steps = onnx.constant dense<[-2, 1]> : tensor<2xi64>
    %0 = onnx.node "Slice"(%x, %starts, %ends, %axes, %steps) {} : (tensor<4x8xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

module attributes {onnx.opsets = {ai.onnx = 9 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<4x8xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "z"}) {
    // CHECK-DAG: %[[A:.*]] = lumen.slice %arg0 [0, 2] [1, 1] : tensor<4x8xf32> -> tensor<4x3xf32>
    // CHECK-DAG: %[[S:.*]] = lumen.slice %arg0 [3, 0] [1, 1] : tensor<4x8xf32> -> tensor<1x8xf32>
    %0 = onnx.node "Slice"(%x) {starts = array<i64: 2>, ends = array<i64: 5>, axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<*xf32>
    %1:2 = onnx.node "Split"(%x) {split = array<i64: 3, 1>} : (tensor<4x8xf32>) -> (tensor<*xf32>, tensor<*xf32>)
    onnx.return %0, %1#1 : tensor<*xf32>, tensor<*xf32>
  }
}

// -----

// The last of num_outputs parts takes what is left.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<7xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: lumen.slice %arg0 [6] [1] : tensor<7xf32> -> tensor<1xf32>
    %0:3 = onnx.node "Split"(%x) {num_outputs = 3 : i64} : (tensor<7xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
    onnx.return %0#2 : tensor<*xf32>
  }
}

// -----

// Repeating is broadcasting between reshapes.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[B:.*]] = lumen.broadcast %arg0 [1, 3] : tensor<2x3xf32> -> tensor<2x2x4x3xf32>
    // CHECK-NEXT: lumen.reshape %[[B]] : tensor<2x2x4x3xf32> -> tensor<4x12xf32>
    %repeats = onnx.constant dense<[2, 4]> : tensor<2xi64>
    %0 = onnx.node "Tile"(%x, %repeats) {} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Only the listed dimensions are padded.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.pad <reflect> %arg0, %{{.*}} [0, 2] [0, 1] : tensor<2x3xf32>, tensor<f32> -> tensor<2x6xf32>
    %none = onnx.absent
    %pads = onnx.constant dense<[2, 1]> : tensor<2xi64>
    %axes = onnx.constant dense<-1> : tensor<1xi64>
    %0 = onnx.node "Pad"(%x, %pads, %none, %axes) {mode = "reflect"} : (tensor<2x3xf32>, tensor<2xi64>, none, tensor<1xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// A dimension without pads is not repeated, whatever its size; no index is computed.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<?x3xf32, #lumen.dims<["n", "3"]>> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NOT: lumen.gather
    // CHECK: lumen.pad <reflect> %arg0, %{{.*}} [0, 2] [0, 1] : tensor<?x3xf32, #lumen.dims<["n", "3"]>>
    // CHECK-NOT: lumen.gather
    %pads = onnx.constant dense<[0, 2, 0, 1]> : tensor<4xi64>
    %0 = onnx.node "Pad"(%x, %pads) {mode = "reflect"} : (tensor<?x3xf32, #lumen.dims<["n", "3"]>>, tensor<4xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Dropout passes its input, and its mask is all true.
module attributes {onnx.opsets = {ai.onnx = 12 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xi1> {onnx.name = "z"}) {
    // CHECK-NEXT: %[[M:.*]] = lumen.constant dense<true> : tensor<2xi1>
    // CHECK-NEXT: return %arg0, %[[M]]
    %0:2 = onnx.node "Dropout"(%x) {} : (tensor<2xf32>) -> (tensor<*xf32>, tensor<*xi1>)
    onnx.return %0#0, %0#1 : tensor<*xf32>, tensor<*xi1>
  }
}

// -----

// One known index is a slice.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x128x8xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[S:.*]] = lumen.slice %arg0 [0, 127, 0] [1, 1, 1] : tensor<1x128x8xf32> -> tensor<1x1x8xf32>
    // CHECK-NEXT: lumen.reshape %[[S]] : tensor<1x1x8xf32> -> tensor<1x8xf32>
    %last = onnx.constant dense<-1> : tensor<i64>
    %0 = onnx.node "Gather"(%x, %last) {axis = 1 : i64} : (tensor<1x128x8xf32>, tensor<i64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Unsigned 64-bit numbers are moved as such, though positions of strings have that type.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x3xui64> {onnx.name = "x"}) -> (tensor<*xui64> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[T:.*]] = lumen.transpose %arg0 [1, 0] : tensor<2x3xui64> -> tensor<3x2xui64>
    // CHECK-NEXT: return %[[T]]
    %0 = onnx.node "Transpose"(%x) {} : (tensor<2x3xui64>) -> tensor<*xui64>
    onnx.return %0 : tensor<*xui64>
  }
}
