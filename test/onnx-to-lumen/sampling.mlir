// Images are sampled as rows of channels, and taken apart and put together by index.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx -verify-diagnostics | FileCheck %s

// The four neighbours of each tap are picked, and all taps multiplied with the weight at once.
module attributes {onnx.opsets = {ai.onnx = 19 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x4x9x9xf32> {onnx.name = "x"}, %w: tensor<5x4x3x3xf32> {onnx.name = "w"}, %o: tensor<1x18x7x7xf32> {onnx.name = "o"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-COUNT-4: lumen.pick {{.*}} -> tensor<1x7x7x9x4xf32>
    // CHECK: lumen.contract {{.*}} : tensor<49x36xf32>, tensor<36x5xf32> -> tensor<49x5xf32>
    %0 = onnx.node "DeformConv"(%x, %w, %o) {} : (tensor<1x4x9x9xf32>, tensor<5x4x3x3xf32>, tensor<1x18x7x7xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Blocks are added up in the padded image.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x18x72xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %image = onnx.constant dense<[8, 8]> : tensor<2xi64>
    %block = onnx.constant dense<[3, 3]> : tensor<2xi64>
    // CHECK: lumen.scatter <add> {{.*}} [4, 5, -1, -1] : tensor<2x2x10x11xf32>
    // CHECK: lumen.slice {{.*}} -> tensor<2x2x8x8xf32>
    %0 = onnx.node "Col2Im"(%x, %image, %block) {pads = array<i64: 1, 1, 1, 2>} : (tensor<2x18x72xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

module attributes {onnx.opsets = {ai.onnx = 28 : i64}} {
  func.func @main(%x: tensor<1x4x9x9xf32> {onnx.name = "x"}, %w: tensor<5x4x3x3xf32> {onnx.name = "w"}, %o: tensor<1x16x7x7xf32> {onnx.name = "o"}, %i: tensor<1x4x9xi64> {onnx.name = "i"}, %s: tensor<2x9x3xf32> {onnx.name = "s"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %three = onnx.constant dense<[3, 3, 3]> : tensor<3xi64>
    %two = onnx.constant dense<[3, 3]> : tensor<2xi64>
    // expected-error @below {{offset has shape 1x16x7x7, expected 1x18x7x7}}
    %0 = onnx.node "DeformConv"(%x, %w, %o) {} : (tensor<1x4x9x9xf32>, tensor<5x4x3x3xf32>, tensor<1x16x7x7xf32>) -> tensor<*xf32>
    // expected-error @below {{attributes 'group' and 'offset_group' are 1 and 3, expected divisors of 4 input and 5 output channels}}
    %1 = onnx.node "DeformConv"(%x, %w, %o) {offset_group = 3 : i64} : (tensor<1x4x9x9xf32>, tensor<5x4x3x3xf32>, tensor<1x16x7x7xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'group' is 4611686018427387904, expected 1 to 2147483647}}
    %10 = onnx.node "DeformConv"(%x, %w, %o) {group = 4611686018427387904 : i64} : (tensor<1x4x9x9xf32>, tensor<5x4x3x3xf32>, tensor<1x16x7x7xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'group' is 4611686018427387904, expected 1 to 2147483647}}
    %11 = onnx.node "Conv"(%x, %w) {group = 4611686018427387904 : i64} : (tensor<1x4x9x9xf32>, tensor<5x4x3x3xf32>) -> tensor<*xf32>
    // expected-error @below {{indices have shape 1x4x9, expected 1x4x9x9}}
    %2 = onnx.node "MaxUnpool"(%x, %i) {kernel_shape = array<i64: 2, 2>} : (tensor<1x4x9x9xf32>, tensor<1x4x9xi64>) -> tensor<*xf32>
    // expected-error @below {{theta has shape 2x9x3, which does not fit the size 3x3x3}}
    %3 = onnx.node "AffineGrid"(%s, %three) {} : (tensor<2x9x3xf32>, tensor<3xi64>) -> tensor<*xf32>
    // expected-error @below {{input has 3 blocks, expected 1}}
    %4 = onnx.node "Col2Im"(%s, %two, %two) {} : (tensor<2x9x3xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
    // expected-error @below {{shape has 2 entries, expected 3}}
    %5 = onnx.node "CenterCropPad"(%s, %two) {} : (tensor<2x9x3xf32>, tensor<2xi64>) -> tensor<*xf32>
    // expected-error @below {{attribute 'mode' is 'ring', expected linear or circular}}
    %6 = onnx.node "TensorScatter"(%s, %s) {mode = "ring"} : (tensor<2x9x3xf32>, tensor<2x9x3xf32>) -> tensor<*xf32>
    // expected-error @below {{axis 0 is the batch, expected another dimension}}
    %7 = onnx.node "TensorScatter"(%s, %s) {axis = 0 : i64} : (tensor<2x9x3xf32>, tensor<2x9x3xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'activation' is 'relu', expected none, silu or swish}}
    %8 = onnx.node "CausalConvWithState"(%s, %s) {activation = "relu"} : (tensor<2x9x3xf32>, tensor<2x9x3xf32>) -> tensor<*xf32>
    %rois = onnx.constant dense<0.5> : tensor<3x4xf32>
    // expected-error @below {{result of shape 3x4294967294x4294967294x4 is too large}}
    %9 = onnx.node "RoiAlign"(%x, %rois, %three) {output_height = 2147483647 : i64, output_width = 2147483647 : i64, sampling_ratio = 2 : i64} : (tensor<1x4x9x9xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Each region says how many samples it has, so that it is a trip of its own.
module attributes {onnx.opsets = {ai.onnx = 16 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x3x9x9xf32> {onnx.name = "x"}, %r: tensor<5x4xf32> {onnx.name = "r"}, %i: tensor<5xi64> {onnx.name = "i"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.loop() trips "5"
    // CHECK-COUNT-2: lumen.symbol
    // CHECK-COUNT-4: lumen.pick
    // CHECK: lumen.reduce <max> {{.*}} [2, 4]
    %0 = onnx.node "RoiAlign"(%x, %r, %i) {mode = "max", output_height = 2 : i64, output_width = 2 : i64} : (tensor<2x3x9x9xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Places are f32 where the image is narrower, as bfloat16 does not count beyond 256, and sizes
// that the run gives may turn out to fit.
module attributes {onnx.opsets = {ai.onnx = 22 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<?x1x9x900xbf16, #lumen.dims<["n", "1", "9", "900"]>> {onnx.name = "x"}, %g: tensor<?x5x5x?xbf16, #lumen.dims<["m", "5", "5", "k"]>> {onnx.name = "g"}) -> (tensor<*xbf16> {onnx.name = "y"}) {
    // CHECK-DAG: lumen.check <equal> "m", "n"
    // CHECK-DAG: lumen.check <equal> "k", "2"
    // CHECK: lumen.unary <floor> {{.*}}xf32
    // CHECK: lumen.pick {{.*}}xbf16
    %0 = onnx.node "GridSample"(%x, %g) {} : (tensor<?x1x9x900xbf16, #lumen.dims<["n", "1", "9", "900"]>>, tensor<?x5x5x?xbf16, #lumen.dims<["m", "5", "5", "k"]>>) -> tensor<*xbf16>
    onnx.return %0 : tensor<*xbf16>
  }
}

// -----

module attributes {onnx.opsets = {ai.onnx = 22 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x3x9x900xbf16> {onnx.name = "x"}, %w: tensor<5x3x1x1xbf16> {onnx.name = "w"}, %o: tensor<1x2x9x900xbf16> {onnx.name = "o"}, %r: tensor<4x5xbf16> {onnx.name = "r"}, %b: tensor<4x4xbf16> {onnx.name = "b"}, %i: tensor<4xi64> {onnx.name = "i"}) -> (tensor<*xbf16> {onnx.name = "a"}, tensor<*xbf16> {onnx.name = "d"}, tensor<*xbf16> {onnx.name = "e"}) {
    // CHECK-NOT: lumen.iota {{.*}}bf16
    // CHECK: return
    %0 = onnx.node "DeformConv"(%x, %w, %o) {} : (tensor<1x3x9x900xbf16>, tensor<5x3x1x1xbf16>, tensor<1x2x9x900xbf16>) -> tensor<*xbf16>
    %1 = onnx.node "MaxRoiPool"(%x, %r) {pooled_shape = array<i64: 2, 2>} : (tensor<1x3x9x900xbf16>, tensor<4x5xbf16>) -> tensor<*xbf16>
    %2 = onnx.node "RoiAlign"(%x, %b, %i) {sampling_ratio = 2 : i64} : (tensor<1x3x9x900xbf16>, tensor<4x4xbf16>, tensor<4xi64>) -> tensor<*xbf16>
    onnx.return %0, %1, %2 : tensor<*xbf16>, tensor<*xbf16>, tensor<*xbf16>
  }
}
