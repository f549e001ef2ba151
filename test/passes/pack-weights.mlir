// RUN: lumen-opt %s --pack-weights --split-input-file --mlir-print-elementsattrs-with-hex-if-larger=-1 \
// RUN:   | FileCheck %s

// Columns of a product lie in panels of 64, the rest is zero; the transpose is read through.
// CHECK-LABEL: @contract
// CHECK: %[[W:.*]] = lumen.constant dense<{{\[\[\[}}1.000000e+00, 2.000000e+00, 3.000000e+00, 0.000000e+00,{{.*}}[4.000000e+00, 5.000000e+00, 6.000000e+00, 0.000000e+00,{{.*}}> : tensor<1x2x64xf32>
// CHECK: lumen.contract %{{.*}}, %[[W]] packed
func.func @contract(%x: tensor<5x2xf32>) -> tensor<5x3xf32> {
  %0 = lumen.constant dense<[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]> : tensor<3x2xf32>
  %1 = lumen.contract %x, %0 transpose_rhs : tensor<5x2xf32>, tensor<3x2xf32> -> tensor<5x3xf32>
  return %1 : tensor<5x3xf32>
}

// -----

// A convolution's rows are taps and input channels, here from a filter in the model's order.
// CHECK-LABEL: @conv
// CHECK: lumen.constant dense<{{\[\[\[\[}}1.000000e+00, 5.000000e+00, 0.0{{.*}}[3.000000e+00, 7.000000e+00, 0.0{{.*}}[2.000000e+00, 6.000000e+00, 0.0{{.*}}[4.000000e+00, 8.000000e+00, 0.0{{.*}}> : tensor<1x1x4x64xf32>
// CHECK: lumen.conv {{.*}}packed
func.func @conv(%x: tensor<1x9x2xf32>) -> tensor<1x8x2xf32> {
  %0 = lumen.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> : tensor<2x2x2xf32>
  %1 = lumen.transpose %0 [2, 1, 0] : tensor<2x2x2xf32> -> tensor<2x2x2xf32>
  %2 = lumen.conv %x, %1 {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>,
    pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x9x2xf32>, tensor<2x2x2xf32> -> tensor<1x8x2xf32>
  return %2 : tensor<1x8x2xf32>
}

// -----

// Groups are packed one by one, a depthwise filter by taps.
// CHECK-LABEL: @grouped
// CHECK-DAG: lumen.constant {{.*}} : tensor<2x1x2x64xf32>
// CHECK-DAG: lumen.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]]> : tensor<1x4xf32>
func.func @grouped(%x: tensor<1x9x4xf32>) -> tensor<1x9x4xf32> {
  %w = lumen.constant dense<[[[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 7.0, 8.0]]]> : tensor<1x2x4xf32>
  %0 = lumen.conv %x, %w {window = array<i64: 1>, strides = array<i64: 1>, dilations = array<i64: 1>,
    pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 2 : i64} : tensor<1x9x4xf32>, tensor<1x2x4xf32> -> tensor<1x9x4xf32>
  %d = lumen.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf32>
  %1 = lumen.conv %0, %d {window = array<i64: 1>, strides = array<i64: 1>, dilations = array<i64: 1>,
    pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 4 : i64} : tensor<1x9x4xf32>, tensor<1x1x4xf32> -> tensor<1x9x4xf32>
  return %1 : tensor<1x9x4xf32>
}

// -----

// A splat without padding stays one; with padding it cannot.
// CHECK-LABEL: @splat
// CHECK-DAG: lumen.constant dense<2.000000e+00> : tensor<2x3x64xf32>
// CHECK-DAG: lumen.constant #lumen.blob{{.*}} : tensor<1x128x64xf32>
func.func @splat(%x: tensor<5x3xf32>) -> tensor<5x63xf32> {
  %a = lumen.constant dense<2.0> : tensor<3x128xf32>
  %b = lumen.constant dense<3.0> : tensor<128x63xf32>
  %0 = lumen.contract %x, %a : tensor<5x3xf32>, tensor<3x128xf32> -> tensor<5x128xf32>
  %1 = lumen.contract %0, %b : tensor<5x128xf32>, tensor<128x63xf32> -> tensor<5x63xf32>
  return %1 : tensor<5x63xf32>
}

// -----

// Operands that are computed, batched or neither f32 nor bytes are left as they are.
// CHECK-LABEL: @left
// CHECK-NOT: packed
func.func @left(%x: tensor<5x3xf32>, %y: tensor<3x4xf32>, %z: tensor<5x3xi32>) -> (tensor<5x4xf32>, tensor<5x1xi32>) {
  %c = lumen.constant dense<[[1], [2], [3]]> : tensor<3x1xi32>
  %0 = lumen.contract %x, %y : tensor<5x3xf32>, tensor<3x4xf32> -> tensor<5x4xf32>
  %1 = lumen.contract %z, %c : tensor<5x3xi32>, tensor<3x1xi32> -> tensor<5x1xi32>
  return %0, %1 : tensor<5x4xf32>, tensor<5x1xi32>
}

// -----

// Four rows of bytes lie together, behind the last one zeros; what fits into bytes is packed
// as bytes, and anything else of 16 bits by pairs of rows.
// CHECK-LABEL: @bytes
// CHECK-DAG: dense<{{\[\[\[\[}}1, 3, 5, 7], [2, 4, 6, 8], [0, 0, 0, 0], {{.*}}, {{\[\[}}9, 0, 0, 0], [255, 0, 0, 0], {{.*}} : tensor<1x2x64x4xui8>
// CHECK-DAG: dense<{{\[\[\[\[}}1, 3, 5, 7], [2, 4, 6, 8], [0, 0, 0, 0], {{.*}}, {{\[\[}}9, 0, 0, 0], [-128, 0, 0, 0], {{.*}} : tensor<1x2x64x4xi8>
// CHECK-DAG: dense<{{\[\[\[\[\[}}1, 5], [2, 6], [0, 0], {{.*}}, {{\[\[}}3, 7], [4, 8], [0, 0], {{.*}}, {{\[\[\[}}9, 0], [-129, 0], {{.*}} : tensor<1x2x2x64x2xi16>
func.func @bytes(%x: tensor<3x5xi8>) -> (tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>) {
  %a = lumen.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8], [9, 255]]> : tensor<5x2xui8>
  %b = lumen.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8], [9, -128]]> : tensor<5x2xi16>
  %c = lumen.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8], [9, -129]]> : tensor<5x2xi16>
  %0 = lumen.contract %x, %a : tensor<3x5xi8>, tensor<5x2xui8> -> tensor<3x2xi32>
  %1 = lumen.contract %x, %b : tensor<3x5xi8>, tensor<5x2xi16> -> tensor<3x2xi32>
  %2 = lumen.contract %x, %c : tensor<3x5xi8>, tensor<5x2xi16> -> tensor<3x2xi32>
  return %0, %1, %2 : tensor<3x2xi32>, tensor<3x2xi32>, tensor<3x2xi32>
}

// -----

// The channels of each tap lie in groups of their own.
// CHECK-LABEL: @image
// CHECK: dense<{{\[\[\[\[\[}}7, 7, 7, 0], [7, 7, 7, 0], [0, 0, 0, 0], {{.*}} : tensor<1x1x9x64x4xi8>
// CHECK: lumen.conv {{.*}}packed
func.func @image(%x: tensor<1x8x8x3xui8>, %w: tensor<2x3x3x3xi8>) -> tensor<1x6x6x2xi32> {
  %0 = lumen.constant dense<7> : tensor<2x3x3x3xi8>
  %1 = lumen.transpose %0 [2, 3, 1, 0] : tensor<2x3x3x3xi8> -> tensor<3x3x3x2xi8>
  %2 = lumen.conv %x, %1 {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x8x8x3xui8>, tensor<3x3x3x2xi8> -> tensor<1x6x6x2xi32>
  return %2 : tensor<1x6x6x2xi32>
}
