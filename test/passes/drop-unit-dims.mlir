// RUN: lumen-opt %s --drop-unit-dims --split-input-file | FileCheck %s

// A 1-D convolution that an exporter spelled as a 2-D one.
// CHECK-LABEL: @sequence
// CHECK-SAME: %[[X:.*]]: tensor<1x9x4xf32>
// CHECK: %[[F:.*]] = lumen.reshape %{{.*}} : tensor<5x1x4x8xf32> -> tensor<5x4x8xf32>
// CHECK: %[[Y:.*]] = lumen.conv %[[X]], %[[F]] {{.*}}window = array<i64: 5>
// CHECK-NEXT: return %[[Y]] : tensor<1x5x8xf32>
func.func @sequence(%x: tensor<1x9x4xf32>, %w: tensor<5x1x4x8xf32>) -> tensor<1x5x8xf32> {
  %0 = lumen.reshape %x : tensor<1x9x4xf32> -> tensor<1x9x1x4xf32>
  %1 = lumen.conv %0, %w {window = array<i64: 5, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x9x1x4xf32>, tensor<5x1x4x8xf32> -> tensor<1x5x1x8xf32>
  %2 = lumen.reshape %1 : tensor<1x5x1x8xf32> -> tensor<1x5x8xf32>
  return %2 : tensor<1x5x8xf32>
}

// -----

// A reshape that would stay is not introduced.
// CHECK-LABEL: @used
// CHECK: lumen.conv {{.*}}window = array<i64: 5, 1>
func.func @used(%x: tensor<1x9x4xf32>, %w: tensor<5x1x4x8xf32>) -> tensor<1x5x1x8xf32> {
  %0 = lumen.reshape %x : tensor<1x9x4xf32> -> tensor<1x9x1x4xf32>
  %1 = lumen.conv %0, %w {window = array<i64: 5, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x9x1x4xf32>, tensor<5x1x4x8xf32> -> tensor<1x5x1x8xf32>
  return %1 : tensor<1x5x1x8xf32>
}
