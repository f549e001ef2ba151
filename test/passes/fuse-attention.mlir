// RUN: lumen-opt %s --fuse-attention --canonicalize --split-input-file | FileCheck %s

// Keys that come transposed are read as they are, factors become the scale, and the mask is not
// repeated for the heads.
// CHECK-LABEL: @masked
// CHECK: lumen.attention %arg0 [0, 1, 2, 3], %arg1 [0, 1, 3, 2], %arg2 [0, 1, 2, 3] mask(%arg3 : tensor<2x1x1x5xf32>) to [0, 1, 2, 3] {scale = 2.500000e-01 : f64}
// CHECK-NEXT: return
func.func @masked(%q: tensor<2x3x9x8xf32>, %k: tensor<2x3x8x5xf32>, %v: tensor<2x3x5x6xf32>, %m: tensor<2x1x1x5xf32>) -> tensor<2x3x9x6xf32> {
  %c = lumen.constant dense<4.0> : tensor<2x3x9x5xf32>
  %0 = lumen.contract %q, %k : tensor<2x3x9x8xf32>, tensor<2x3x8x5xf32> -> tensor<2x3x9x5xf32>
  %1 = lumen.binary <div> %0, %c : tensor<2x3x9x5xf32>
  %2 = lumen.broadcast %m [0, 1, 2, 3] : tensor<2x1x1x5xf32> -> tensor<2x3x9x5xf32>
  %3 = lumen.binary <add> %2, %1 : tensor<2x3x9x5xf32>
  %4 = lumen.softmax %3 {axis = 3 : i64} : tensor<2x3x9x5xf32>
  %5 = lumen.contract %4, %v : tensor<2x3x9x5xf32>, tensor<2x3x5x6xf32> -> tensor<2x3x9x6xf32>
  return %5 : tensor<2x3x9x6xf32>
}

// -----

// A condition becomes a mask; zeros for rows of NaN are what attention gives anyway.
// CHECK-LABEL: @hidden
// CHECK-DAG: %[[ZERO:.*]] = lumen.constant dense<0.000000e+00> : tensor<1x1x9x5xf32>
// CHECK-DAG: %[[LOW:.*]] = lumen.constant dense<0xFF800000> : tensor<1x1x9x5xf32>
// CHECK: %[[MASK:.*]] = lumen.select %arg3, %[[ZERO]], %[[LOW]]
// CHECK: lumen.attention %arg0 [0, 1, 2, 3], %arg1 [0, 1, 2, 3], %arg2 [0, 1, 2, 3] mask(%[[MASK]] : tensor<1x1x9x5xf32>)
// CHECK-NEXT: return
func.func @hidden(%q: tensor<2x3x9x8xf32>, %k: tensor<2x3x5x8xf32>, %v: tensor<2x3x5x6xf32>, %m: tensor<1x1x9x5xi1>) -> tensor<2x3x9x6xf32> {
  %low = lumen.constant dense<0xFF800000> : tensor<2x3x9x5xf32>
  %zero = lumen.constant dense<0.0> : tensor<2x3x9x5xf32>
  %0 = lumen.contract %q, %k transpose_rhs : tensor<2x3x9x8xf32>, tensor<2x3x5x8xf32> -> tensor<2x3x9x5xf32>
  %1 = lumen.broadcast %m [0, 1, 2, 3] : tensor<1x1x9x5xi1> -> tensor<2x3x9x5xi1>
  %2 = lumen.select %1, %0, %low : tensor<2x3x9x5xi1>, tensor<2x3x9x5xf32>
  %3 = lumen.softmax %2 {axis = 3 : i64} : tensor<2x3x9x5xf32>
  %4 = lumen.unary <isnan> %3 : tensor<2x3x9x5xf32> -> tensor<2x3x9x5xi1>
  %5 = lumen.select %4, %zero, %3 : tensor<2x3x9x5xi1>, tensor<2x3x9x5xf32>
  %6 = lumen.contract %5, %v : tensor<2x3x9x5xf32>, tensor<2x3x5x6xf32> -> tensor<2x3x9x6xf32>
  return %6 : tensor<2x3x9x6xf32>
}

// -----

// Probabilities that something else reads stay.
// CHECK-LABEL: @read
// CHECK-NOT: lumen.attention
func.func @read(%q: tensor<2x3x9x8xf32>, %k: tensor<2x3x8x5xf32>, %v: tensor<2x3x5x6xf32>) -> (tensor<2x3x9x6xf32>, tensor<2x3x9x5xf32>) {
  %0 = lumen.contract %q, %k : tensor<2x3x9x8xf32>, tensor<2x3x8x5xf32> -> tensor<2x3x9x5xf32>
  %1 = lumen.softmax %0 {axis = 3 : i64} : tensor<2x3x9x5xf32>
  %2 = lumen.contract %1, %v : tensor<2x3x9x5xf32>, tensor<2x3x5x6xf32> -> tensor<2x3x9x6xf32>
  return %2, %1 : tensor<2x3x9x6xf32>, tensor<2x3x9x5xf32>
}

// -----

// One row, or as many as only the run knows, is faster as two products.

// CHECK-LABEL: @step
// CHECK-NOT: lumen.attention
func.func @step(%q: tensor<2x3x1x8xf32>, %k: tensor<2x3x8x5xf32>, %v: tensor<2x3x5x6xf32>) -> tensor<2x3x1x6xf32> {
  %0 = lumen.contract %q, %k : tensor<2x3x1x8xf32>, tensor<2x3x8x5xf32> -> tensor<2x3x1x5xf32>
  %1 = lumen.softmax %0 {axis = 3 : i64} : tensor<2x3x1x5xf32>
  %2 = lumen.contract %1, %v : tensor<2x3x1x5xf32>, tensor<2x3x5x6xf32> -> tensor<2x3x1x6xf32>
  return %2 : tensor<2x3x1x6xf32>
}
