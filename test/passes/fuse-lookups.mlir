// RUN: lumen-opt %s --fuse-lookups --split-input-file | FileCheck %s

// A product with a one-hot matrix picks rows; an index outside gives zeros.
// CHECK-LABEL: @one_hot
// CHECK-SAME: %[[I:.*]]: tensor<1x2048xi32>
// CHECK: %[[G:.*]] = lumen.gather %{{.*}}, %[[I]] {axis = 0 : i64}
// CHECK: %[[L:.*]] = lumen.compare <ge> %[[I]]
// CHECK: %[[H:.*]] = lumen.compare <lt> %[[I]]
// CHECK: %[[M:.*]] = lumen.binary <and> %[[L]], %[[H]]
// CHECK: %[[B:.*]] = lumen.broadcast %[[M]] [0, 1]
// CHECK: lumen.select %[[B]], %[[G]]
func.func @one_hot(%i: tensor<1x2048xi32>) -> tensor<1x2048x2xf32> {
  %w = lumen.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %n = lumen.constant dense<[[[0, 1, 2]]]> : tensor<1x1x3xi32>
  %0 = lumen.broadcast %i [0, 1] : tensor<1x2048xi32> -> tensor<1x2048x3xi32>
  %1 = lumen.broadcast %n [0, 1, 2] : tensor<1x1x3xi32> -> tensor<1x2048x3xi32>
  %2 = lumen.compare <eq> %0, %1 : tensor<1x2048x3xi32> -> tensor<1x2048x3xi1>
  %3 = lumen.convert %2 : tensor<1x2048x3xi1> -> tensor<1x2048x3xf32>
  %4 = lumen.contract %3, %w : tensor<1x2048x3xf32>, tensor<3x2xf32> -> tensor<1x2048x2xf32>
  return %4 : tensor<1x2048x2xf32>
}

// -----

// Rows that are not finite turn every product into NaN, so nothing changes.
// CHECK-LABEL: @infinite
// CHECK: lumen.contract
func.func @infinite(%i: tensor<4xi32>) -> tensor<4x2xf32> {
  %w = lumen.constant dense<[[1.0, 2.0], [0x7F800000, 4.0]]> : tensor<2x2xf32>
  %n = lumen.constant dense<[0, 1]> : tensor<2xi32>
  %0 = lumen.broadcast %i [0] : tensor<4xi32> -> tensor<4x2xi32>
  %1 = lumen.broadcast %n [1] : tensor<2xi32> -> tensor<4x2xi32>
  %2 = lumen.compare <eq> %0, %1 : tensor<4x2xi32> -> tensor<4x2xi1>
  %3 = lumen.convert %2 : tensor<4x2xi1> -> tensor<4x2xf32>
  %4 = lumen.contract %3, %w : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  return %4 : tensor<4x2xf32>
}
