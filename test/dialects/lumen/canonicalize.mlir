// Chains of movements become one operation.
// RUN: lumen-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @transposes
// CHECK-NEXT: lumen.transpose %arg0 [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = lumen.transpose %x [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  %1 = lumen.transpose %0 [2, 1, 0] : tensor<3x2x4xf32> -> tensor<4x2x3xf32>
  return %1 : tensor<4x2x3xf32>
}

// Moving dimensions of 1 moves no element.
// CHECK-LABEL: func.func @units
// CHECK-NEXT: lumen.reshape %arg0 : tensor<1x8x1x4xf32> -> tensor<8x4x1x1xf32>
func.func @units(%x: tensor<1x8x1x4xf32>) -> tensor<8x4x1x1xf32> {
  %0 = lumen.transpose %x [1, 3, 0, 2] : tensor<1x8x1x4xf32> -> tensor<8x4x1x1xf32>
  return %0 : tensor<8x4x1x1xf32>
}

// CHECK-LABEL: func.func @broadcasts
// CHECK-NEXT: lumen.broadcast %arg0 [2] : tensor<4xf32> -> tensor<2x3x4x5xf32>
func.func @broadcasts(%x: tensor<4xf32>) -> tensor<2x3x4x5xf32> {
  %0 = lumen.reshape %x : tensor<4xf32> -> tensor<1x4x1xf32>
  %1 = lumen.broadcast %0 [0, 1, 2] : tensor<1x4x1xf32> -> tensor<3x4x5xf32>
  %2 = lumen.broadcast %1 [1, 2, 3] : tensor<3x4x5xf32> -> tensor<2x3x4x5xf32>
  return %2 : tensor<2x3x4x5xf32>
}

// A concat that others read stays whole.
// CHECK-LABEL: func.func @concats
// CHECK-NEXT: lumen.concat %arg0, %arg1, %arg0 {axis = 0 : i64}
// CHECK-NEXT: %[[SHARED:.*]] = lumen.concat %arg0, %arg0 {axis = 0 : i64}
// CHECK-NEXT: lumen.concat %[[SHARED]], %arg1 {axis = 0 : i64}
func.func @concats(%a: tensor<2xf32>, %b: tensor<3xf32>) -> (tensor<7xf32>, tensor<4xf32>, tensor<7xf32>) {
  %0 = lumen.concat %a, %b {axis = 0 : i64} : tensor<2xf32>, tensor<3xf32> -> tensor<5xf32>
  %1 = lumen.concat %0, %a {axis = 0 : i64} : tensor<5xf32>, tensor<2xf32> -> tensor<7xf32>
  %2 = lumen.concat %a, %a {axis = 0 : i64} : tensor<2xf32>, tensor<2xf32> -> tensor<4xf32>
  %3 = lumen.concat %2, %b {axis = 0 : i64} : tensor<4xf32>, tensor<3xf32> -> tensor<7xf32>
  return %1, %2, %3 : tensor<7xf32>, tensor<4xf32>, tensor<7xf32>
}

// Attention reads heads where they lie, also transposed keys, and writes them where they go.
// CHECK-LABEL: @attention
// CHECK-NEXT: %[[Y:.*]] = lumen.attention %arg0 [0, 2, 1, 3], %arg1 [0, 1, 3, 2], %arg2 [0, 2, 1, 3] to [0, 2, 1, 3]
// CHECK-NEXT: return %[[Y]]
func.func @attention(%q: tensor<1x7x2x8xf32>, %k: tensor<1x2x8x9xf32>, %v: tensor<1x9x2x4xf32>) -> tensor<1x7x2x4xf32> {
  %0 = lumen.transpose %q [0, 2, 1, 3] : tensor<1x7x2x8xf32> -> tensor<1x2x7x8xf32>
  %1 = lumen.transpose %k [0, 1, 3, 2] : tensor<1x2x8x9xf32> -> tensor<1x2x9x8xf32>
  %2 = lumen.transpose %v [0, 2, 1, 3] : tensor<1x9x2x4xf32> -> tensor<1x2x9x4xf32>
  %3 = lumen.attention %0 [0, 1, 2, 3], %1 [0, 1, 2, 3], %2 [0, 1, 2, 3] to [0, 1, 2, 3] {scale = 1.0 : f64} : tensor<1x2x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x4xf32> -> tensor<1x2x7x4xf32>
  %4 = lumen.transpose %3 [0, 2, 1, 3] : tensor<1x2x7x4xf32> -> tensor<1x7x2x4xf32>
  return %4 : tensor<1x7x2x4xf32>
}
