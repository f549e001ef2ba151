// RUN: lumen-opt %s --fold-constants --split-input-file | FileCheck %s

// Elementwise operations, rearrangements and joins are evaluated.
// CHECK-LABEL: @evaluate
// CHECK: %[[C:.*]] = lumen.constant dense<{{\[\[}}-1.000000e+00, -3.000000e+00], [-2.000000e+00, -4.000000e+00], [-1.000000e+00, -3.000000e+00]]>
// CHECK: return %[[C]]
func.func @evaluate() -> tensor<3x2xf32> {
  %0 = lumen.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = lumen.unary <neg> %0 : tensor<2x2xf32> -> tensor<2x2xf32>
  %2 = lumen.transpose %1 [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %3 = lumen.slice %2 [0, 0] [1, 1] : tensor<2x2xf32> -> tensor<1x2xf32>
  %4 = lumen.concat %2, %3 {axis = 0 : i64} : tensor<2x2xf32>, tensor<1x2xf32> -> tensor<3x2xf32>
  return %4 : tensor<3x2xf32>
}

// -----

// A repetition is not expanded: the operation comes first.
// CHECK-LABEL: @repeated
// CHECK: %[[C:.*]] = lumen.constant dense<[3.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK: lumen.broadcast %[[C]] [1] : tensor<2xf32> -> tensor<1000x2xf32>
func.func @repeated() -> tensor<1000x2xf32> {
  %0 = lumen.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = lumen.broadcast %0 [1] : tensor<2xf32> -> tensor<1000x2xf32>
  %2 = lumen.constant dense<3.0> : tensor<1000x2xf32>
  %3 = lumen.binary <mul> %1, %2 : tensor<1000x2xf32>
  return %3 : tensor<1000x2xf32>
}

// -----

// Rearranging a weight is left to pack-weights.
// CHECK-LABEL: @weight
// CHECK: lumen.transpose
func.func @weight(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %0 = lumen.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = lumen.transpose %0 [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %2 = lumen.contract %x, %1 : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

// A shape that only the run knows keeps a reshape of a constant.
// CHECK-LABEL: @open
// CHECK: lumen.reshape %{{.*}} : tensor<4xf32> -> tensor<?x?xf32
func.func @open(%x: tensor<?x?xf32, #lumen.dims<["n", "m"]>>) -> tensor<?x?xf32, #lumen.dims<["n", "m"]>> {
  %0 = lumen.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = lumen.reshape %0 : tensor<4xf32> -> tensor<?x?xf32, #lumen.dims<["n", "m"]>>
  return %1 : tensor<?x?xf32, #lumen.dims<["n", "m"]>>
}

// -----

// The sums of a constant of integers are a constant, whatever its size; floats are left.
// CHECK-LABEL: @sums
// CHECK: lumen.constant dense<10000> : tensor<2xi32>
// CHECK: lumen.reduce <sum>
// CHECK-NOT: lumen.reduce
func.func @sums() -> (tensor<2xi32>, tensor<2xf32>) {
  %0 = lumen.constant dense<2> : tensor<5000x2xi32>
  %1 = lumen.constant dense<2.0> : tensor<5000x2xf32>
  %2 = lumen.reduce <sum> %0 [0] : tensor<5000x2xi32> -> tensor<2xi32>
  %3 = lumen.reduce <sum> %1 [0] : tensor<5000x2xf32> -> tensor<2xf32>
  return %2, %3 : tensor<2xi32>, tensor<2xf32>
}
