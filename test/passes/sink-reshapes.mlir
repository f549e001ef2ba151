// RUN: lumen-opt %s --sink-reshapes --split-input-file | FileCheck %s

// Splats and vectors along the last dimension follow the operation.
// CHECK-LABEL: @chain
// CHECK-SAME: %{{.*}}: tensor<4x8xf32>, %[[V:.*]]: tensor<8xf32>
// CHECK: %[[R:.*]] = lumen.softmax
// CHECK: %[[B:.*]] = lumen.broadcast %[[V]] [1] : tensor<8xf32> -> tensor<4x8xf32>
// CHECK: %[[A:.*]] = lumen.binary <add> %[[R]], %[[B]] : tensor<4x8xf32>
// CHECK: %[[M:.*]] = lumen.binary <mul> %[[A]], %{{.*}} : tensor<4x8xf32>
// CHECK: %[[S:.*]] = lumen.binary <sub> %[[A]], %[[M]] : tensor<4x8xf32>
// CHECK: %[[O:.*]] = lumen.reshape %[[S]] : tensor<4x8xf32> -> tensor<2x2x8xf32>
// CHECK: return %[[O]]
func.func @chain(%x: tensor<4x8xf32>, %v: tensor<8xf32>) -> tensor<2x2x8xf32> {
  %c = lumen.constant dense<2.0> : tensor<2x2x8xf32>
  %0 = lumen.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  %1 = lumen.reshape %0 : tensor<4x8xf32> -> tensor<2x2x8xf32>
  %2 = lumen.broadcast %v [2] : tensor<8xf32> -> tensor<2x2x8xf32>
  %3 = lumen.binary <add> %1, %2 : tensor<2x2x8xf32>
  %4 = lumen.binary <mul> %3, %c : tensor<2x2x8xf32>
  %5 = lumen.binary <sub> %3, %4 : tensor<2x2x8xf32>
  return %5 : tensor<2x2x8xf32>
}

// -----

// Behind an input there is no kernel to join.
// CHECK-LABEL: @input
// CHECK-NEXT: lumen.reshape
// CHECK-NEXT: lumen.unary
func.func @input(%x: tensor<4x8xf32>) -> tensor<2x2x8xf32> {
  %0 = lumen.reshape %x : tensor<4x8xf32> -> tensor<2x2x8xf32>
  %1 = lumen.unary <relu> %0 : tensor<2x2x8xf32> -> tensor<2x2x8xf32>
  return %1 : tensor<2x2x8xf32>
}

// -----

// Another tensor would need a reshape of its own.
// CHECK-LABEL: @other
// CHECK: lumen.binary <add> {{.*}} : tensor<2x2x8xf32>
func.func @other(%x: tensor<4x8xf32>, %y: tensor<2x2x8xf32>) -> tensor<2x2x8xf32> {
  %0 = lumen.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  %1 = lumen.reshape %0 : tensor<4x8xf32> -> tensor<2x2x8xf32>
  %2 = lumen.binary <add> %1, %y : tensor<2x2x8xf32>
  return %2 : tensor<2x2x8xf32>
}

// -----

// A square that only a reduction reads is computed by the reduction's kernel.
// CHECK-LABEL: @square
// CHECK: lumen.binary <mul> {{.*}} : tensor<2x2x8xf32>
// CHECK-NEXT: lumen.reduce
func.func @square(%x: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %0 = lumen.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  %1 = lumen.reshape %0 : tensor<4x8xf32> -> tensor<2x2x8xf32>
  %2 = lumen.binary <mul> %1, %1 : tensor<2x2x8xf32>
  %3 = lumen.reduce <sum> %2 [1] : tensor<2x2x8xf32> -> tensor<2x8xf32>
  return %3 : tensor<2x8xf32>
}

// -----

// An empty splat has no element to look at.
// CHECK-LABEL: @empty
// CHECK: lumen.binary <mul> {{.*}} : tensor<1x0xf32>
func.func @empty(%x: tensor<1x0x5xf32>) -> tensor<1x0x1xf32> {
  %c = lumen.constant dense<2.0> : tensor<1x0x1xf32>
  %0 = lumen.reduce <sum> %x [2] : tensor<1x0x5xf32> -> tensor<1x0xf32>
  %1 = lumen.reshape %0 : tensor<1x0xf32> -> tensor<1x0x1xf32>
  %2 = lumen.binary <mul> %1, %c : tensor<1x0x1xf32>
  return %2 : tensor<1x0x1xf32>
}
