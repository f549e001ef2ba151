// RUN: lumen-opt %s --fuse-rotations --canonicalize --split-input-file | FileCheck %s

// Each half of the turned tensor is an expression of both halves of the input, and the angles
// that all heads share are sliced before they are repeated.
// CHECK-LABEL: @rotary
// CHECK-SAME: %[[X:.*]]: tensor<1x4x5x8xf32>, %[[C:.*]]: tensor<1x1x5x8xf32>, %[[S:.*]]: tensor<1x4x5x8xf32>
// CHECK-DAG: %[[A:.*]] = lumen.slice %[[X]] [0, 0, 0, 0]
// CHECK-DAG: %[[B:.*]] = lumen.slice %[[X]] [0, 0, 0, 4]
// CHECK-DAG: %[[C1:.*]] = lumen.slice %[[C]] [0, 0, 0, 0] {{.*}} -> tensor<1x1x5x4xf32>
// CHECK-DAG: %[[R1:.*]] = lumen.broadcast %[[C1]]
// CHECK-DAG: %[[S1:.*]] = lumen.slice %[[S]] [0, 0, 0, 0]
// CHECK-DAG: %[[AC:.*]] = lumen.binary <mul> %[[A]], %[[R1]]
// CHECK-DAG: %[[BS:.*]] = lumen.binary <mul> %[[B]], %[[S1]]
// CHECK: %[[LOW:.*]] = lumen.binary <sub> %[[AC]], %[[BS]]
// CHECK: %[[HIGH:.*]] = lumen.binary <add>
// CHECK: %[[Y:.*]] = lumen.concat %[[LOW]], %[[HIGH]] {axis = 3 : i64}
// CHECK: return %[[Y]]
func.func @rotary(%x: tensor<1x4x5x8xf32>, %c: tensor<1x1x5x8xf32>, %sin: tensor<1x4x5x8xf32>) -> tensor<1x4x5x8xf32> {
  %low = lumen.slice %x [0, 0, 0, 0] [1, 1, 1, 1] : tensor<1x4x5x8xf32> -> tensor<1x4x5x4xf32>
  %high = lumen.slice %x [0, 0, 0, 4] [1, 1, 1, 1] : tensor<1x4x5x8xf32> -> tensor<1x4x5x4xf32>
  %neg = lumen.unary <neg> %high : tensor<1x4x5x4xf32> -> tensor<1x4x5x4xf32>
  %turned = lumen.concat %neg, %low {axis = 3 : i64} : tensor<1x4x5x4xf32>, tensor<1x4x5x4xf32> -> tensor<1x4x5x8xf32>
  %cos = lumen.broadcast %c [0, 1, 2, 3] : tensor<1x1x5x8xf32> -> tensor<1x4x5x8xf32>
  %0 = lumen.binary <mul> %x, %cos : tensor<1x4x5x8xf32>
  %1 = lumen.binary <mul> %turned, %sin : tensor<1x4x5x8xf32>
  %2 = lumen.binary <add> %0, %1 : tensor<1x4x5x8xf32>
  return %2 : tensor<1x4x5x8xf32>
}

// -----

// The halves the other way round are no rotation.
// CHECK-LABEL: @swapped
// CHECK: lumen.concat
// CHECK-NOT: lumen.binary <sub>
// CHECK: lumen.binary <add>
// CHECK-NEXT: return
func.func @swapped(%x: tensor<5x8xf32>, %cos: tensor<5x8xf32>, %sin: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %low = lumen.slice %x [0, 0] [1, 1] : tensor<5x8xf32> -> tensor<5x4xf32>
  %high = lumen.slice %x [0, 4] [1, 1] : tensor<5x8xf32> -> tensor<5x4xf32>
  %neg = lumen.unary <neg> %low : tensor<5x4xf32> -> tensor<5x4xf32>
  %turned = lumen.concat %neg, %high {axis = 1 : i64} : tensor<5x4xf32>, tensor<5x4xf32> -> tensor<5x8xf32>
  %0 = lumen.binary <mul> %x, %cos : tensor<5x8xf32>
  %1 = lumen.binary <mul> %turned, %sin : tensor<5x8xf32>
  %2 = lumen.binary <add> %0, %1 : tensor<5x8xf32>
  return %2 : tensor<5x8xf32>
}
