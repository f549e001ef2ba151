// RUN: lumen-opt %s --fold-affine --split-input-file | FileCheck %s

// Batch normalisation behind a convolution: scaled weights and one offset.
// CHECK-LABEL: @batchnorm
// CHECK-DAG: %[[W:.*]] = lumen.constant dense<{{\[\[\[\[}}2.000000e+00, 3.000000e+00]]]]> : tensor<1x1x1x2xf32>
// CHECK-DAG: %[[C:.*]] = lumen.constant dense<[2.500000e+00, 6.250000e+00]> : tensor<2xf32>
// CHECK-DAG: %[[B:.*]] = lumen.broadcast %[[C]] [3]
// CHECK-DAG: %[[Y:.*]] = lumen.conv %{{.*}}, %[[W]]
// CHECK: %[[Z:.*]] = lumen.binary <add> %[[Y]], %[[B]]
// CHECK-NEXT: return %[[Z]]
func.func @batchnorm(%x: tensor<1x4x4x1xf32>) -> tensor<1x4x4x2xf32> {
  %w = lumen.constant dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>
  %bias = lumen.constant dense<[1.0, 4.0]> : tensor<2xf32>
  %scale = lumen.constant dense<[2.0, 1.5]> : tensor<2xf32>
  %offset = lumen.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %b = lumen.broadcast %bias [3] : tensor<2xf32> -> tensor<1x4x4x2xf32>
  %s = lumen.broadcast %scale [3] : tensor<2xf32> -> tensor<1x4x4x2xf32>
  %o = lumen.broadcast %offset [3] : tensor<2xf32> -> tensor<1x4x4x2xf32>
  %0 = lumen.conv %x, %w {window = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x4x4x1xf32>, tensor<1x1x1x2xf32> -> tensor<1x4x4x2xf32>
  %1 = lumen.binary <add> %0, %b : tensor<1x4x4x2xf32>
  %2 = lumen.binary <mul> %1, %s : tensor<1x4x4x2xf32>
  %3 = lumen.binary <add> %2, %o : tensor<1x4x4x2xf32>
  return %3 : tensor<1x4x4x2xf32>
}

// -----

// A value with another use is computed once and stays.
// CHECK-LABEL: @used_twice
// CHECK: lumen.contract
// CHECK-NEXT: lumen.binary <mul>
func.func @used_twice(%x: tensor<3x1xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = lumen.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %s = lumen.constant dense<3.0> : tensor<3x2xf32>
  %0 = lumen.contract %x, %w : tensor<3x1xf32>, tensor<1x2xf32> -> tensor<3x2xf32>
  %1 = lumen.binary <mul> %0, %s : tensor<3x2xf32>
  return %0, %1 : tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// A factor per column of a product, whose matrix is transposed.
// CHECK-LABEL: @contract
// CHECK: %[[W:.*]] = lumen.constant dense<{{\[\[}}3.000000e+00], [8.000000e+00]]> : tensor<2x1xf32>
// CHECK: %[[Y:.*]] = lumen.contract %{{.*}}, %[[W]] transpose_rhs
// CHECK-NEXT: return %[[Y]]
func.func @contract(%x: tensor<3x1xf32>) -> tensor<3x2xf32> {
  %w = lumen.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %c = lumen.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %s = lumen.broadcast %c [1] : tensor<2xf32> -> tensor<3x2xf32>
  %0 = lumen.contract %x, %w transpose_rhs : tensor<3x1xf32>, tensor<2x1xf32> -> tensor<3x2xf32>
  %1 = lumen.binary <mul> %0, %s : tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// -----

// A factor that differs between rows is no factor of the weights.
// CHECK-LABEL: @per_row
// CHECK: lumen.contract
// CHECK-NEXT: lumen.binary <mul>
func.func @per_row(%x: tensor<2x1xf32>) -> tensor<2x2xf32> {
  %w = lumen.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %c = lumen.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %s = lumen.broadcast %c [0] : tensor<2xf32> -> tensor<2x2xf32>
  %0 = lumen.contract %x, %w : tensor<2x1xf32>, tensor<1x2xf32> -> tensor<2x2xf32>
  %1 = lumen.binary <mul> %0, %s : tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// -----

// Chains of constants become one; subtraction and division join them.
// CHECK-LABEL: @chains
// CHECK-DAG: %[[C:.*]] = lumen.constant dense<-1.000000e+00> : tensor<4xf32>
// CHECK-DAG: %[[D:.*]] = lumen.constant dense<1.500000e+00> : tensor<4xf32>
// CHECK: %[[A:.*]] = lumen.binary <add> %{{.*}}, %[[C]]
// CHECK-NEXT: %[[R:.*]] = lumen.unary <relu> %[[A]]
// CHECK-NEXT: %[[M:.*]] = lumen.binary <mul> %[[R]], %[[D]]
// CHECK-NEXT: return %[[M]]
func.func @chains(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c2 = lumen.constant dense<2.0> : tensor<4xf32>
  %c3 = lumen.constant dense<3.0> : tensor<4xf32>
  %0 = lumen.binary <add> %x, %c2 : tensor<4xf32>
  %1 = lumen.binary <sub> %0, %c3 : tensor<4xf32>
  %2 = lumen.unary <relu> %1 : tensor<4xf32> -> tensor<4xf32>
  %3 = lumen.binary <mul> %2, %c3 : tensor<4xf32>
  %4 = lumen.binary <div> %3, %c2 : tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// Division by zero stays a division.
// CHECK-LABEL: @by_zero
// CHECK: lumen.binary <div>
func.func @by_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = lumen.constant dense<0.0> : tensor<4xf32>
  %0 = lumen.binary <div> %x, %c : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Adding a large number and taking it away again rounds to integers: it stays.
// CHECK-LABEL: func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32>
// CHECK: lumen.binary <add>
// CHECK: lumen.binary <add>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = lumen.constant dense<12582912.0> : tensor<4xf32>
  %0 = lumen.binary <add> %x, %c : tensor<4xf32>
  %1 = lumen.binary <sub> %0, %c : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A quotient alone is not turned into a product, which rounds twice; by a power of
// two it is, which is exact.
// CHECK-LABEL: func.func @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// CHECK: lumen.binary <div>
// CHECK: lumen.binary <mul>
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = lumen.constant dense<49.0> : tensor<4xf32>
  %d = lumen.constant dense<8.0> : tensor<4xf32>
  %0 = lumen.binary <div> %x, %c : tensor<4xf32>
  %1 = lumen.binary <div> %x, %d : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Scaled dot products are spelled with a factor for each operand: that of a cache of keys goes
// behind the product, where it costs no pass. That of what a kernel computes stays.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[Q:.*]]: tensor<4x8xf32>, %[[PAST:.*]]: tensor<5x8xf32>, %[[NEW:.*]]: tensor<1x8xf32>
// CHECK: %[[E:.*]] = lumen.unary <exp> %[[Q]]
// CHECK: %[[SCALED:.*]] = lumen.binary <mul> %[[E]]
// CHECK: %[[K:.*]] = lumen.concat %[[PAST]], %[[NEW]]
// CHECK: %[[T:.*]] = lumen.transpose %[[K]]
// CHECK: %[[S:.*]] = lumen.contract %[[SCALED]], %[[T]]
// CHECK: lumen.binary <mul> %[[S]]
func.func @main(%q: tensor<4x8xf32>, %past: tensor<5x8xf32>, %new: tensor<1x8xf32>) -> tensor<4x6xf32> {
  %c = lumen.constant dense<0.6> : tensor<4x8xf32>
  %d = lumen.constant dense<0.6> : tensor<6x8xf32>
  %e = lumen.unary <exp> %q : tensor<4x8xf32> -> tensor<4x8xf32>
  %0 = lumen.binary <mul> %e, %c : tensor<4x8xf32>
  %k = lumen.concat %past, %new {axis = 0 : i64} : tensor<5x8xf32>, tensor<1x8xf32> -> tensor<6x8xf32>
  %1 = lumen.binary <mul> %k, %d : tensor<6x8xf32>
  %2 = lumen.transpose %1 [1, 0] : tensor<6x8xf32> -> tensor<8x6xf32>
  %3 = lumen.contract %0, %2 : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  return %3 : tensor<4x6xf32>
}
