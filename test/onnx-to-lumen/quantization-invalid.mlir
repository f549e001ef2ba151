// A mistake in a quantised operator is reported at its node, with both values.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-diagnostics

module attributes {onnx.opsets = {ai.onnx = 21 : i64, com.microsoft = 1 : i64}} {
  func.func @main(%x: tensor<3x8xf32> {onnx.name = "x"}, %s: tensor<f32> {onnx.name = "s"}, %t: tensor<5xf32> {onnx.name = "t"}, %z: tensor<ui8> {onnx.name = "z"}, %a: tensor<3x8xui8> {onnx.name = "a"}, %b: tensor<8x4xi16> {onnx.name = "b"}, %c: tensor<8x4xi8> {onnx.name = "c"}, %q: tensor<i8> {onnx.name = "q"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // expected-error @below {{scale has shape 5, expected a scalar or one entry for each of 8 along axis 1}}
    %0 = onnx.node "QuantizeLinear"(%x, %t) {} : (tensor<3x8xf32>, tensor<5xf32>) -> tensor<*xui8>
    // expected-error @below {{axis 2 lies outside the rank 2}}
    %1 = onnx.node "QuantizeLinear"(%x, %s) {axis = 2 : i64} : (tensor<3x8xf32>, tensor<f32>) -> tensor<*xui8>
    // expected-error @below {{attribute 'output_dtype' is i8, but the zero point has element type ui8}}
    %2 = onnx.node "QuantizeLinear"(%x, %s, %z) {output_dtype = 3 : i64} : (tensor<3x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<*xui8>
    // expected-error @below {{attribute 'block_size' is -1, expected at least 0}}
    %3 = onnx.node "QuantizeLinear"(%x, %s) {block_size = -1 : i64} : (tensor<3x8xf32>, tensor<f32>) -> tensor<*xui8>
    // expected-error @below {{scale has shape 5, expected 3x4 for blocks of 2}}
    %4 = onnx.node "DequantizeLinear"(%a, %t) {block_size = 2 : i64} : (tensor<3x8xui8>, tensor<5xf32>) -> tensor<*xf32>
    // expected-error @below {{inputs have element types 'i8' and 'ui8', expected the same}}
    %5 = onnx.node "DequantizeLinear"(%c, %s, %z) {} : (tensor<8x4xi8>, tensor<f32>, tensor<ui8>) -> tensor<*xf32>
    // expected-error @below {{input 1 has element type 'i16', expected ui8 or i8}}
    %6 = onnx.node "MatMulInteger"(%a, %b) {} : (tensor<3x8xui8>, tensor<8x4xi16>) -> tensor<*xi32>
    // expected-error @below {{inputs of shapes 8x4 and 8x4 have inner dimensions 4 and 8, expected equal ones}}
    %7 = onnx.node "MatMulInteger"(%c, %c) {} : (tensor<8x4xi8>, tensor<8x4xi8>) -> tensor<*xi32>
    // expected-error @below {{scale of the result has shape 5, expected a scalar}}
    %8 = onnx.node "QLinearMatMul"(%a, %s, %z, %c, %s, %q, %t, %z) {} : (tensor<3x8xui8>, tensor<f32>, tensor<ui8>, tensor<8x4xi8>, tensor<f32>, tensor<i8>, tensor<5xf32>, tensor<ui8>) -> tensor<*xui8>
    // expected-error @below {{has 4 inputs, expected 2 and 3 for each tensor}}
    %9 = onnx.node "QLinearConcat"(%s, %z, %a, %s) domain("com.microsoft") {axis = 0 : i64} : (tensor<f32>, tensor<ui8>, tensor<3x8xui8>, tensor<f32>) -> tensor<*xui8>
    // expected-error @below {{input has shape 3x8, expected at least three dimensions}}
    %10 = onnx.node "QLinearGlobalAveragePool"(%a, %s, %z, %s, %z) domain("com.microsoft") {channels_last = 1 : i64} : (tensor<3x8xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<*xui8>
    // expected-error @below {{input has shape scalar, expected at least three dimensions}}
    %11 = onnx.node "QLinearGlobalAveragePool"(%z, %s, %z, %s, %z) domain("com.microsoft") {channels_last = 1 : i64} : (tensor<ui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<*xui8>
    // expected-error @below {{attribute 'opset' is 2, expected a version of Softmax}}
    %12 = onnx.node "QLinearSoftmax"(%a, %s, %z, %s, %z) domain("com.microsoft") {opset = 2 : i64} : (tensor<3x8xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<*xui8>
    // expected-error @below {{attribute 'bits' is 3, expected 2, 4 or 8}}
    %13 = onnx.node "MatMulNBits"(%x, %a, %t) domain("com.microsoft") {K = 8 : i64, N = 4 : i64, bits = 3 : i64, block_size = 16 : i64} : (tensor<3x8xf32>, tensor<3x8xui8>, tensor<5xf32>) -> tensor<*xf32>
    // expected-error @below {{weight has shape 3x8, expected 4x1x8}}
    %14 = onnx.node "MatMulNBits"(%x, %a, %t) domain("com.microsoft") {K = 8 : i64, N = 4 : i64, bits = 4 : i64, block_size = 16 : i64} : (tensor<3x8xf32>, tensor<3x8xui8>, tensor<5xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'block_size' is 12, expected a power of 2 from 8 on}}
    %15 = onnx.node "MatMulNBits"(%x, %a, %t) domain("com.microsoft") {K = 8 : i64, N = 4 : i64, block_size = 12 : i64} : (tensor<3x8xf32>, tensor<3x8xui8>, tensor<5xf32>) -> tensor<*xf32>
    onnx.return %x : tensor<3x8xf32>
  }
}
