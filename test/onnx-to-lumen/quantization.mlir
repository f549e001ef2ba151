// Quantised operators multiply integers as they are.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// A zero point on the left takes the sums of the columns; one on the right is subtracted.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<2x8xui8> {onnx.name = "a"}, %b: tensor<8x4xi8> {onnx.name = "b"}, %az: tensor<ui8> {onnx.name = "az"}, %bz: tensor<4xi8> {onnx.name = "bz"}) -> (tensor<*xi32> {onnx.name = "y"}) {
    // CHECK: %[[Z:.*]] = lumen.convert %arg3 : tensor<4xi8> -> tensor<4xi16>
    // CHECK: %[[ZS:.*]] = lumen.broadcast %[[Z]] [1]
    // CHECK: %[[W:.*]] = lumen.convert %arg1 : tensor<8x4xi8> -> tensor<8x4xi16>
    // CHECK: %[[B:.*]] = lumen.binary <sub> %[[W]], %[[ZS]] : tensor<8x4xi16>
    // CHECK: %[[P:.*]] = lumen.contract %arg0, %[[B]] : tensor<2x8xui8>, tensor<8x4xi16> -> tensor<2x4xi32>
    // CHECK: %[[SUM:.*]] = lumen.reduce <sum> %{{.*}} [0] : tensor<8x4xi32> -> tensor<4xi32>
    // CHECK: lumen.binary <sub> %[[P]], %{{.*}} : tensor<2x4xi32>
    %0 = onnx.node "MatMulInteger"(%a, %b, %az, %bz) {} : (tensor<2x8xui8>, tensor<8x4xi8>, tensor<ui8>, tensor<4xi8>) -> tensor<*xi32>
    onnx.return %0 : tensor<*xi32>
  }
}

// -----

// Where the right operand is a vector, the rows that the left zero points belong to are last.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<3x2x8xui8> {onnx.name = "a"}, %b: tensor<8xui8> {onnx.name = "b"}, %az: tensor<2xui8> {onnx.name = "az"}) -> (tensor<*xi32> {onnx.name = "y"}) {
    // CHECK: %[[Z:.*]] = lumen.convert %arg2 : tensor<2xui8> -> tensor<2xi32>
    // CHECK: lumen.broadcast %[[Z]] [1] : tensor<2xi32> -> tensor<3x2xi32>
    %0 = onnx.node "MatMulInteger"(%a, %b, %az) {} : (tensor<3x2x8xui8>, tensor<8xui8>, tensor<2xui8>) -> tensor<*xi32>
    onnx.return %0 : tensor<*xi32>
  }
}

// -----

// One factor stands for the three scales, so that the sums are rounded once.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<2x8xui8> {onnx.name = "a"}) -> (tensor<*xui8> {onnx.name = "y"}) {
    %b = onnx.constant dense<3> : tensor<8x4xi8>
    %s = onnx.constant dense<0.5> : tensor<f32>
    %t = onnx.constant dense<2.0> : tensor<f32>
    %zero = onnx.constant dense<0> : tensor<ui8>
    %bz = onnx.constant dense<0> : tensor<i8>
    %yz = onnx.constant dense<7> : tensor<ui8>
    // CHECK: %[[P:.*]] = lumen.contract %arg0, %{{.*}} -> tensor<2x4xi32>
    // CHECK: %[[R:.*]] = lumen.convert %[[P]] : tensor<2x4xi32> -> tensor<2x4xf32>
    // CHECK: %[[F:.*]] = lumen.constant dense<1.250000e-01> : tensor<2x4xf32>
    // CHECK: %[[M:.*]] = lumen.binary <mul> %[[R]], %[[F]]
    // CHECK: %[[N:.*]] = lumen.unary <roundeven> %[[M]]
    // CHECK: %[[Z:.*]] = lumen.constant dense<7.000000e+00>
    // CHECK: %[[A:.*]] = lumen.binary <add> %[[N]], %[[Z]]
    // CHECK: lumen.convert %[[A]] : tensor<2x4xf32> -> tensor<2x4xui8>
    %0 = onnx.node "QLinearMatMul"(%a, %s, %zero, %b, %s, %bz, %t, %yz) {} : (tensor<2x8xui8>, tensor<f32>, tensor<ui8>, tensor<8x4xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>) -> tensor<*xui8>
    onnx.return %0 : tensor<*xui8>
  }
}

// -----

// The padding of an image stands for 0: it is the zero point.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x3x8x8xui8> {onnx.name = "x"}, %w: tensor<4x3x3x3xi8> {onnx.name = "w"}, %xz: tensor<ui8> {onnx.name = "xz"}) -> (tensor<*xi32> {onnx.name = "y"}) {
    // CHECK: %[[X:.*]] = lumen.pad <constant> %{{.*}}, %arg2 [0, 1, 1, 0] [0, 1, 1, 0] : tensor<1x8x8x3xui8>
    // CHECK: lumen.conv %[[X]], %{{.*}} pad_high = array<i64: 0, 0>, pad_low = array<i64: 0, 0>
    // CHECK-SAME: -> tensor<1x8x8x4xi32>
    %0 = onnx.node "ConvInteger"(%x, %w, %xz) {pads = array<i64: 1, 1, 1, 1>} : (tensor<1x3x8x8xui8>, tensor<4x3x3x3xi8>, tensor<ui8>) -> tensor<*xi32>
    onnx.return %0 : tensor<*xi32>
  }
}

// -----

// A scale for each block of an axis is repeated along it; the last block may be short.
module attributes {onnx.opsets = {ai.onnx = 21 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<5x4xi8> {onnx.name = "x"}, %s: tensor<2x4xf32> {onnx.name = "s"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[R:.*]] = lumen.broadcast %arg1 [0, 2] : tensor<2x4xf32> -> tensor<2x3x4xf32>
    // CHECK: %[[T:.*]] = lumen.reshape %[[R]] : tensor<2x3x4xf32> -> tensor<6x4xf32>
    // CHECK: %[[S:.*]] = lumen.slice %[[T]] [0, 0] [1, 1] : tensor<6x4xf32> -> tensor<5x4xf32>
    // CHECK: lumen.binary <mul> %{{.*}}, %[[S]]
    %0 = onnx.node "DequantizeLinear"(%x, %s) {axis = 0 : i64, block_size = 3 : i64} : (tensor<5x4xi8>, tensor<2x4xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// A product of dequantised numbers is one of their integers, also behind a transpose; the bias
// has the scale of the sums and joins them; the scale of the result is divided into theirs.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<8x2xui8> {onnx.name = "x"}) -> (tensor<*xui8> {onnx.name = "y"}) {
    %w = onnx.constant dense<3> : tensor<4x8xi8>
    %b = onnx.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %half = onnx.constant dense<0.5> : tensor<f32>
    %quarter = onnx.constant dense<0.25> : tensor<f32>
    %zero = onnx.constant dense<9> : tensor<ui8>
    %0 = onnx.node "DequantizeLinear"(%x, %half) {} : (tensor<8x2xui8>, tensor<f32>) -> tensor<*xf32>
    %1 = onnx.node "Transpose"(%0) {perm = array<i64: 1, 0>} : (tensor<*xf32>) -> tensor<*xf32>
    %2 = onnx.node "DequantizeLinear"(%w, %half) {} : (tensor<4x8xi8>, tensor<f32>) -> tensor<*xf32>
    %3 = onnx.node "DequantizeLinear"(%b, %quarter) {} : (tensor<4xi32>, tensor<f32>) -> tensor<*xf32>
    // CHECK: %[[P:.*]] = lumen.contract %{{.*}}, %{{.*}} : tensor<2x8xui8>, tensor<8x4xi8> -> tensor<2x4xi32>
    // CHECK: %[[S:.*]] = lumen.binary <add> %[[P]], %{{.*}} : tensor<2x4xi32>
    // CHECK: %[[R:.*]] = lumen.convert %[[S]] : tensor<2x4xi32> -> tensor<2x4xf32>
    %4 = onnx.node "Gemm"(%1, %2, %3) {transB = 1 : i64} : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %5 = onnx.node "Relu"(%4) {} : (tensor<*xf32>) -> tensor<*xf32>
    // CHECK: %[[F:.*]] = lumen.constant dense<5.000000e-01> : tensor<2x4xf32>
    // CHECK: %[[M:.*]] = lumen.binary <mul> %[[R]], %[[F]]
    // CHECK: %[[A:.*]] = lumen.unary <relu> %[[M]]
    // CHECK: lumen.unary <roundeven> %[[A]]
    %6 = onnx.node "QuantizeLinear"(%5, %half, %zero) {} : (tensor<*xf32>, tensor<f32>, tensor<ui8>) -> tensor<*xui8>
    onnx.return %6 : tensor<*xui8>
  }
}

// -----

// Signed bytes of a zero point are made of unsigned ones, which their product takes; what the
// zero point adds to a column, and a bias for each column, are subtracted at once.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x8xf32> {onnx.name = "x"}, %w: tensor<8x4xi8> {onnx.name = "w"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %b = onnx.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
    %half = onnx.constant dense<0.5> : tensor<f32>
    %scales = onnx.constant dense<[0.5, 1.0, 2.0, 4.0]> : tensor<4xf32>
    %products = onnx.constant dense<[0.25, 0.5, 1.0, 2.0]> : tensor<4xf32>
    %zero = onnx.constant dense<-100> : tensor<i8>
    // CHECK: %[[Z:.*]] = lumen.constant dense<2.800000e+01> : tensor<2x8xf32>
    // CHECK: %[[A:.*]] = lumen.binary <add> %{{.*}}, %[[Z]] : tensor<2x8xf32>
    // CHECK: %[[Q:.*]] = lumen.convert %[[A]] : tensor<2x8xf32> -> tensor<2x8xui8>
    %0 = onnx.node "QuantizeLinear"(%x, %half, %zero) {} : (tensor<2x8xf32>, tensor<f32>, tensor<i8>) -> tensor<*xi8>
    %1 = onnx.node "DequantizeLinear"(%0, %half, %zero) {} : (tensor<*xi8>, tensor<f32>, tensor<i8>) -> tensor<*xf32>
    %2 = onnx.node "DequantizeLinear"(%w, %scales) {axis = 1 : i64} : (tensor<8x4xi8>, tensor<4xf32>) -> tensor<*xf32>
    %3 = onnx.node "DequantizeLinear"(%b, %products) {axis = 0 : i64} : (tensor<4xi32>, tensor<4xf32>) -> tensor<*xf32>
    // CHECK: %[[P:.*]] = lumen.contract %[[Q]], %{{.*}} : tensor<2x8xui8>, tensor<8x4xi8> -> tensor<2x4xi32>
    // CHECK: %[[S:.*]] = lumen.binary <sub> %[[P]], %{{.*}} : tensor<2x4xi32>
    // CHECK: lumen.convert %[[S]] : tensor<2x4xi32> -> tensor<2x4xf32>
    %4 = onnx.node "Gemm"(%1, %2, %3) {} : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.return %4 : tensor<*xf32>
  }
}
