// Transforms become products with short matrices, and factors between them.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx -verify-diagnostics --mlir-elide-elementsattrs-if-larger=8 | FileCheck %s

// A short one is a single product, which makes no more columns than are asked for.
module attributes {onnx.opsets = {ai.onnx = 20 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<3x8x1xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.contract {{.*}} : tensor<3x8xf32>, tensor<8x10xf32> -> tensor<3x10xf32>
    // CHECK-NOT: lumen.contract
    %n = onnx.absent
    %0 = onnx.node "DFT"(%x, %n, %n) {onesided = 1 : i64} : (tensor<3x8x1xf32>, none, none) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// 1000 = 25 * 40; twiddle factors lie between the products.
module attributes {onnx.opsets = {ai.onnx = 20 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1000x2xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.contract {{.*}} : tensor<40x50xf32>, tensor<50x50xf32> -> tensor<40x50xf32>
    // CHECK: lumen.binary <mul> {{.*}} : tensor<1x40x25x2xf32>
    // CHECK: lumen.contract {{.*}} : tensor<25x80xf32>, tensor<80x80xf32> -> tensor<25x80xf32>
    %0 = onnx.node "DFT"(%x) {} : (tensor<1000x2xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// A large prime is a convolution: transforms of 2048 = 32 * 64 there and back.
module attributes {onnx.opsets = {ai.onnx = 20 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1009x2xf64> {onnx.name = "x"}) -> (tensor<*xf64> {onnx.name = "y"}) {
    // CHECK: lumen.pad {{.*}} -> tensor<1x2048x2xf64>
    // CHECK-COUNT-4: lumen.contract
    // CHECK-NOT: lumen.contract
    %0 = onnx.node "DFT"(%x) {} : (tensor<1009x2xf64>) -> tensor<*xf64>
    onnx.return %0 : tensor<*xf64>
  }
}

// -----

// The matrix of a length that only the run knows is made of integers modulo that length, which
// is bounded.
module attributes {onnx.opsets = {ai.onnx = 20 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<?x1xf32, #lumen.dims<["n", "1"]>> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.check <lessequal> "n", "16384"
    // CHECK: lumen.binary <rem>
    // CHECK: lumen.contract
    %0 = onnx.node "DFT"(%x) {} : (tensor<?x1xf32, #lumen.dims<["n", "1"]>>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

module attributes {onnx.opsets = {ai.onnx = 20 : i64}} {
  func.func @main(%x: tensor<3x8x2xf32> {onnx.name = "x"}, %r: tensor<3x8xf32> {onnx.name = "r"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %zero = onnx.constant dense<0> : tensor<i64>
    %two = onnx.constant dense<2> : tensor<i64>
    %long = onnx.constant dense<9> : tensor<i64>
    %n = onnx.absent
    // expected-error @below {{attribute 'onesided' is 1 for complex numbers, expected real ones}}
    %0 = onnx.node "DFT"(%x) {onesided = 1 : i64} : (tensor<3x8x2xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'inverse' is 2, expected 0 or 1}}
    %1 = onnx.node "DFT"(%x) {inverse = 2 : i64} : (tensor<3x8x2xf32>) -> tensor<*xf32>
    // expected-error @below {{dft_length is 0, expected at least 1}}
    %2 = onnx.node "DFT"(%x, %zero) {} : (tensor<3x8x2xf32>, tensor<i64>) -> tensor<*xf32>
    // expected-error @below {{axis 2 is the last dimension, which holds the parts of numbers}}
    %3 = onnx.node "DFT"(%x, %n, %two) {} : (tensor<3x8x2xf32>, none, tensor<i64>) -> tensor<*xf32>
    // expected-error @below {{input has shape 3x8, expected a last dimension of 1 (real) or 2 (complex)}}
    %4 = onnx.node "DFT"(%r) {} : (tensor<3x8xf32>) -> tensor<*xf32>
    // expected-error @below {{frames of 9 do not fit into a signal of 8}}
    %5 = onnx.node "STFT"(%x, %two, %n, %long) {onesided = 0 : i64} : (tensor<3x8x2xf32>, tensor<i64>, none, tensor<i64>) -> tensor<*xf32>
    %huge = onnx.constant dense<1099511627776> : tensor<i64>
    // expected-error @below {{transform has length 1099511627776; at most 16777216 is supported}}
    %6 = onnx.node "DFT"(%x, %huge) {} : (tensor<3x8x2xf32>, tensor<i64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
