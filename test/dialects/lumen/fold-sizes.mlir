// Sizes fold as constants do, as long as expressions can say the result.
// RUN: lumen-opt %s -canonicalize | FileCheck %s

// Elements move as they do in constants, also through a table.
// CHECK-LABEL: func @move
func.func @move() -> (tensor<2xi64>, tensor<i64>, tensor<4xi64>) {
  // CHECK-DAG: %[[A:.*]] = lumen.sizes ["m", "n"] : tensor<2xi64>
  // CHECK-DAG: %[[B:.*]] = lumen.sizes ["m"] : tensor<i64>
  // CHECK-DAG: %[[C:.*]] = lumen.sizes [0, "m", 3, "n"] : tensor<4xi64>
  // CHECK: return %[[A]], %[[B]], %[[C]]
  %s = lumen.sizes ["n", 3, "m", 0] : tensor<4xi64>
  %i = lumen.constant dense<[2, 0]> : tensor<2xi64>
  %0 = lumen.gather %s, %i {axis = 0 : i64} : tensor<4xi64>, tensor<2xi64> -> tensor<2xi64>
  %1 = lumen.slice %s [2] [1] : tensor<4xi64> -> tensor<1xi64>
  %2 = lumen.reshape %1 : tensor<1xi64> -> tensor<i64>
  %table = lumen.reshape %s : tensor<4xi64> -> tensor<2x2xi64>
  %reversed = lumen.slice %table [1, 1] [-1, -1] : tensor<2x2xi64> -> tensor<2x2xi64>
  %3 = lumen.reshape %reversed : tensor<2x2xi64> -> tensor<4xi64>
  return %0, %2, %3 : tensor<2xi64>, tensor<i64>, tensor<4xi64>
}

// Arithmetic is exact: a division is a floor where nothing is negative, and through
// floats what a multiple of a power of two scales.
// CHECK-LABEL: func @compute
func.func @compute() -> (tensor<2xi64>, tensor<i64>, tensor<2xi32>) {
  // CHECK-DAG: %[[A:.*]] = lumen.sizes ["floordiv(n, 2)", "m"] : tensor<2xi64>
  // CHECK-DAG: %[[B:.*]] = lumen.sizes ["2*m*n"] : tensor<i64>
  // CHECK-DAG: %[[C:.*]] = lumen.sizes ["floordiv(n + 1, 2) + n", "3*m"] : tensor<2xi32>
  // CHECK: return %[[A]], %[[B]], %[[C]]
  %s = lumen.sizes ["n", "2*m"] : tensor<2xi64>
  %two = lumen.constant dense<2> : tensor<2xi64>
  %0 = lumen.binary <div> %s, %two : tensor<2xi64>
  %1 = lumen.reduce <prod> %s [0] : tensor<2xi64> -> tensor<i64>
  %scale = lumen.constant dense<1.5> : tensor<2xf32>
  %real = lumen.convert %s : tensor<2xi64> -> tensor<2xf32>
  %scaled = lumen.binary <mul> %real, %scale : tensor<2xf32>
  %ceil = lumen.unary <ceil> %scaled : tensor<2xf32> -> tensor<2xf32>
  %2 = lumen.convert %ceil : tensor<2xf32> -> tensor<2xi32>
  return %0, %1, %2 : tensor<2xi64>, tensor<i64>, tensor<2xi32>
}

// Sizes are never negative, which decides some comparisons; others are left.
// CHECK-LABEL: func @compare
func.func @compare() -> (tensor<2xi1>, tensor<2xi64>, tensor<i1>) {
  // CHECK-DAG: %[[A:.*]] = lumen.constant dense<[false, true]> : tensor<2xi1>
  // CHECK-DAG: %[[B:.*]] = lumen.sizes ["n", 7] : tensor<2xi64>
  // CHECK-DAG: %[[C:.*]] = lumen.compare <eq>
  // CHECK: return %[[A]], %[[B]], %[[C]]
  %s = lumen.sizes ["n", -1] : tensor<2xi64>
  %minus = lumen.constant dense<-1> : tensor<2xi64>
  %seven = lumen.constant dense<7> : tensor<2xi64>
  %0 = lumen.compare <eq> %s, %minus : tensor<2xi64> -> tensor<2xi1>
  %1 = lumen.select %0, %seven, %s : tensor<2xi1>, tensor<2xi64>
  %n = lumen.sizes ["n"] : tensor<i64>
  %m = lumen.sizes ["m"] : tensor<i64>
  %2 = lumen.compare <eq> %n, %m : tensor<i64> -> tensor<i1>
  return %0, %1, %2 : tensor<2xi1>, tensor<2xi64>, tensor<i1>
}

// Of a dynamic size, a repeated scalar is the identity as a splat is.
// CHECK-LABEL: func @identity
func.func @identity(%x: tensor<?xf32, #lumen.dims<["n"]>>) -> tensor<?xf32, #lumen.dims<["n"]>> {
  // CHECK-NEXT: return %arg0
  %one = lumen.constant dense<1.0> : tensor<f32>
  %ones = lumen.broadcast %one [] : tensor<f32> -> tensor<?xf32, #lumen.dims<["n"]>>
  %0 = lumen.binary <mul> %x, %ones : tensor<?xf32, #lumen.dims<["n"]>>
  return %0 : tensor<?xf32, #lumen.dims<["n"]>>
}
