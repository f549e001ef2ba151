// RUN: lumen-opt %s --propagate-transposes --split-input-file | FileCheck %s

// Transposes around elementwise operations cancel; the residual has the same layout.
// CHECK-LABEL: @residual
// CHECK-SAME: %[[X:.*]]: tensor<1x8x8x16xf32>, %[[Y:.*]]: tensor<1x8x8x16xf32>
// CHECK: %[[S:.*]] = lumen.binary <add> %[[X]], %[[Y]]
// CHECK-NEXT: %[[R:.*]] = lumen.unary <relu> %[[S]]
// CHECK-NEXT: return %[[R]]
func.func @residual(%x: tensor<1x8x8x16xf32>, %y: tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32> {
  %0 = lumen.transpose %x [0, 3, 1, 2] : tensor<1x8x8x16xf32> -> tensor<1x16x8x8xf32>
  %1 = lumen.transpose %y [0, 3, 1, 2] : tensor<1x8x8x16xf32> -> tensor<1x16x8x8xf32>
  %2 = lumen.binary <add> %0, %1 : tensor<1x16x8x8xf32>
  %3 = lumen.unary <relu> %2 : tensor<1x16x8x8xf32> -> tensor<1x16x8x8xf32>
  %4 = lumen.transpose %3 [0, 2, 3, 1] : tensor<1x16x8x8xf32> -> tensor<1x8x8x16xf32>
  return %4 : tensor<1x8x8x16xf32>
}

// -----

// A constant per channel is repeated in the other layout.
// CHECK-LABEL: @bias
// CHECK: %[[B:.*]] = lumen.broadcast %{{.*}} [3] : tensor<16xf32> -> tensor<1x8x8x16xf32>
// CHECK: %[[S:.*]] = lumen.binary <add> %{{.*}}, %[[B]] : tensor<1x8x8x16xf32>
// CHECK-NEXT: return %[[S]]
func.func @bias(%x: tensor<1x8x8x16xf32>, %c: tensor<16xf32>) -> tensor<1x8x8x16xf32> {
  %0 = lumen.transpose %x [0, 3, 1, 2] : tensor<1x8x8x16xf32> -> tensor<1x16x8x8xf32>
  %1 = lumen.broadcast %c [1] : tensor<16xf32> -> tensor<1x16x8x8xf32>
  %2 = lumen.binary <add> %0, %1 : tensor<1x16x8x8xf32>
  %3 = lumen.transpose %2 [0, 2, 3, 1] : tensor<1x16x8x8xf32> -> tensor<1x8x8x16xf32>
  return %3 : tensor<1x8x8x16xf32>
}

// -----

// Axes of concat, softmax, windows, pads, slices and reductions are renamed.
// CHECK-LABEL: @axes
// CHECK-NOT: lumen.transpose
// CHECK: lumen.concat {{.*}} {axis = 3 : i64}
// CHECK: lumen.window <max> {{.*}}pad_low = array<i64: 0, 1, 2, 0>{{.*}}strides = array<i64: 1, 2, 3, 1>, window = array<i64: 1, 3, 5, 1>
// CHECK: lumen.pad <constant> {{.*}} [0, 1, 2, 0] [0, 0, 0, 0]
// CHECK: lumen.slice {{.*}} [0, 1, 2, 16] [1, 1, 1, 1]
// CHECK: lumen.softmax {{.*}} {axis = 3 : i64}
// CHECK: lumen.reduce <sum> {{.*}} [1, 2]
func.func @axes(%x: tensor<1x8x9x16xf32>, %v: tensor<f32>) -> tensor<1x16xf32> {
  %0 = lumen.transpose %x [0, 3, 1, 2] : tensor<1x8x9x16xf32> -> tensor<1x16x8x9xf32>
  %1 = lumen.concat %0, %0 {axis = 1 : i64} : tensor<1x16x8x9xf32>, tensor<1x16x8x9xf32> -> tensor<1x32x8x9xf32>
  %2 = lumen.window <max> %1 {window = array<i64: 1, 1, 3, 5>, strides = array<i64: 1, 1, 2, 3>,
    dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 1, 2>,
    pad_high = array<i64: 0, 0, 1, 2>} : tensor<1x32x8x9xf32> -> tensor<1x32x4x3xf32>
  %3 = lumen.pad <constant> %2, %v [0, 0, 1, 2] [0, 0, 0, 0] : tensor<1x32x4x3xf32>, tensor<f32> -> tensor<1x32x5x5xf32>
  %4 = lumen.slice %3 [0, 16, 1, 2] [1, 1, 1, 1] : tensor<1x32x5x5xf32> -> tensor<1x16x4x3xf32>
  %5 = lumen.softmax %4 {axis = 1 : i64} : tensor<1x16x4x3xf32>
  %6 = lumen.reduce <sum> %5 [2, 3] : tensor<1x16x4x3xf32> -> tensor<1x16xf32>
  return %6 : tensor<1x16xf32>
}

// -----

// A channel shuffle swaps the last two dimensions, and nothing else moves.
// CHECK-LABEL: @shuffle
// CHECK-NEXT: %[[A:.*]] = lumen.reshape %{{.*}} : tensor<1x8x8x12xf32> -> tensor<1x8x8x3x4xf32>
// CHECK-NEXT: %[[B:.*]] = lumen.transpose %[[A]] [0, 1, 2, 4, 3]
// CHECK-NEXT: %[[C:.*]] = lumen.reshape %[[B]] : tensor<1x8x8x4x3xf32> -> tensor<1x8x8x12xf32>
// CHECK-NEXT: return %[[C]]
func.func @shuffle(%x: tensor<1x8x8x12xf32>) -> tensor<1x8x8x12xf32> {
  %0 = lumen.transpose %x [0, 3, 1, 2] : tensor<1x8x8x12xf32> -> tensor<1x12x8x8xf32>
  %1 = lumen.reshape %0 : tensor<1x12x8x8xf32> -> tensor<1x3x4x8x8xf32>
  %2 = lumen.transpose %1 [0, 2, 1, 3, 4] : tensor<1x3x4x8x8xf32> -> tensor<1x4x3x8x8xf32>
  %3 = lumen.reshape %2 : tensor<1x4x3x8x8xf32> -> tensor<1x12x8x8xf32>
  %4 = lumen.transpose %3 [0, 2, 3, 1] : tensor<1x12x8x8xf32> -> tensor<1x8x8x12xf32>
  return %4 : tensor<1x8x8x12xf32>
}

// -----

// In front of a fully connected layer the rows of its matrix move, not the image.
// CHECK-LABEL: @flatten
// CHECK-DAG: %[[W:.*]] = lumen.constant
// CHECK-DAG: %[[X:.*]] = lumen.reshape %{{.*}} : tensor<2x2x3x4xf32> -> tensor<2x24xf32>
// CHECK: lumen.contract %[[X]], %{{.*}} : tensor<2x24xf32>, tensor<24x2xf32>
func.func @flatten(%x: tensor<2x2x3x4xf32>) -> tensor<2x2xf32> {
  %w = lumen.constant dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 9.0], [10.0, 11.0],
    [12.0, 13.0], [14.0, 15.0], [16.0, 17.0], [18.0, 19.0], [20.0, 21.0], [22.0, 23.0], [24.0, 25.0],
    [26.0, 27.0], [28.0, 29.0], [30.0, 31.0], [32.0, 33.0], [34.0, 35.0], [36.0, 37.0], [38.0, 39.0],
    [40.0, 41.0], [42.0, 43.0], [44.0, 45.0], [46.0, 47.0]]> : tensor<24x2xf32>
  %0 = lumen.transpose %x [0, 3, 1, 2] : tensor<2x2x3x4xf32> -> tensor<2x4x2x3xf32>
  %1 = lumen.reshape %0 : tensor<2x4x2x3xf32> -> tensor<2x24xf32>
  %2 = lumen.contract %1, %w : tensor<2x24xf32>, tensor<24x2xf32> -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

// Flattening one pixel is a reshape.
// CHECK-LABEL: @pixel
// CHECK-NEXT: %[[R:.*]] = lumen.reshape %{{.*}} : tensor<2x1x1x64xf32> -> tensor<2x64xf32>
// CHECK-NEXT: return %[[R]]
func.func @pixel(%x: tensor<2x1x1x64xf32>) -> tensor<2x64xf32> {
  %0 = lumen.transpose %x [0, 3, 1, 2] : tensor<2x1x1x64xf32> -> tensor<2x64x1x1xf32>
  %1 = lumen.reshape %0 : tensor<2x64x1x1xf32> -> tensor<2x64xf32>
  return %1 : tensor<2x64xf32>
}

// -----

// To a cache that is returned, what is new is moved, not the cache to it and back.
// CHECK-LABEL: @cache
// CHECK-SAME: %[[PAST:.*]]: tensor<1x4x8x32xf32>, %[[NEW:.*]]: tensor<1x8x4x32xf32>
// CHECK-NEXT: %[[T:.*]] = lumen.transpose %[[NEW]] [0, 2, 1, 3]
// CHECK-NEXT: %[[C:.*]] = lumen.concat %[[PAST]], %[[T]] {axis = 2 : i64}
// CHECK-NEXT: return %[[C]]
func.func @cache(%past: tensor<1x4x8x32xf32>, %new: tensor<1x8x4x32xf32>) -> tensor<1x4x16x32xf32> {
  %0 = lumen.transpose %new [0, 2, 1, 3] : tensor<1x8x4x32xf32> -> tensor<1x4x8x32xf32>
  %1 = lumen.concat %past, %0 {axis = 2 : i64} : tensor<1x4x8x32xf32>, tensor<1x4x8x32xf32> -> tensor<1x4x16x32xf32>
  return %1 : tensor<1x4x16x32xf32>
}

// -----

// A value that leaves the function keeps its layout: one transpose, at the border.
// CHECK-LABEL: @border
// CHECK: %[[R:.*]] = lumen.unary <relu> %{{.*}} : tensor<1x8x8x16xf32>
// CHECK-NEXT: %[[T:.*]] = lumen.transpose %[[R]] [0, 3, 1, 2]
// CHECK-NEXT: return %[[T]], %[[R]]
func.func @border(%x: tensor<1x8x8x16xf32>) -> (tensor<1x16x8x8xf32>, tensor<1x8x8x16xf32>) {
  %0 = lumen.transpose %x [0, 3, 1, 2] : tensor<1x8x8x16xf32> -> tensor<1x16x8x8xf32>
  %1 = lumen.unary <relu> %0 : tensor<1x16x8x8xf32> -> tensor<1x16x8x8xf32>
  %2 = lumen.transpose %1 [0, 2, 3, 1] : tensor<1x16x8x8xf32> -> tensor<1x8x8x16xf32>
  return %1, %2 : tensor<1x16x8x8xf32>, tensor<1x8x8x16xf32>
}

// -----

// Swapping the last two dimensions of a right operand is a flag.
// CHECK-LABEL: @attention
// CHECK: %[[K:.*]] = lumen.transpose %{{.*}} [0, 2, 1, 3] : tensor<1x7x4x8xf32> -> tensor<1x4x7x8xf32>
// CHECK: lumen.contract %{{.*}}, %[[K]] transpose_rhs
func.func @attention(%q: tensor<1x4x7x8xf32>, %k: tensor<1x7x4x8xf32>) -> tensor<1x4x7x7xf32> {
  %0 = lumen.transpose %k [0, 2, 3, 1] : tensor<1x7x4x8xf32> -> tensor<1x4x8x7xf32>
  %1 = lumen.contract %q, %0 : tensor<1x4x7x8xf32>, tensor<1x4x8x7xf32> -> tensor<1x4x7x7xf32>
  return %1 : tensor<1x4x7x7xf32>
}

// -----

// Preparing an input follows its transpose, so that both are one kernel.
// CHECK-LABEL: @preprocessing
// CHECK-SAME: %[[X:.*]]: tensor<1x3x8x8xui8>
// CHECK: %[[T:.*]] = lumen.transpose %[[X]] [0, 2, 3, 1] : tensor<1x3x8x8xui8> -> tensor<1x8x8x3xui8>
// CHECK-NEXT: %[[F:.*]] = lumen.convert %[[T]]
// CHECK: lumen.broadcast %{{.*}} [3] : tensor<3xf32> -> tensor<1x8x8x3xf32>
// CHECK: lumen.binary <sub> %[[F]]
// CHECK: lumen.conv
func.func @preprocessing(%x: tensor<1x3x8x8xui8>, %mean: tensor<3xf32>, %w: tensor<1x1x3x4xf32>) -> tensor<1x8x8x4xf32> {
  %0 = lumen.convert %x : tensor<1x3x8x8xui8> -> tensor<1x3x8x8xf32>
  %1 = lumen.broadcast %mean [1] : tensor<3xf32> -> tensor<1x3x8x8xf32>
  %2 = lumen.binary <sub> %0, %1 : tensor<1x3x8x8xf32>
  %3 = lumen.transpose %2 [0, 2, 3, 1] : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>
  %4 = lumen.conv %3, %w {window = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x8x8x3xf32>, tensor<1x1x3x4xf32> -> tensor<1x8x8x4xf32>
  return %4 : tensor<1x8x8x4xf32>
}
