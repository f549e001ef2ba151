// Identities vanish and small constants are computed.
// RUN: lumen-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @identities
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg0, %arg0, %arg0, %arg0, %arg0
func.func @identities(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %zero = lumen.constant dense<0.0> : tensor<2x3xf32>
  %one = lumen.constant dense<1.0> : tensor<2x3xf32>
  %v = lumen.constant dense<0.0> : tensor<f32>
  %0 = lumen.binary <add> %x, %zero : tensor<2x3xf32>
  %1 = lumen.binary <mul> %one, %x : tensor<2x3xf32>
  %2 = lumen.transpose %x [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = lumen.slice %x [0, 0] [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = lumen.concat %x {axis = 0 : i64} : tensor<2x3xf32> -> tensor<2x3xf32>
  %5 = lumen.pad <constant> %x, %v [0, 0] [0, 0] : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %6 = lumen.convert %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %a = lumen.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %7 = lumen.reshape %a : tensor<6xf32> -> tensor<2x3xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// A walk against the order of elements is not the identity.
// CHECK-LABEL: func.func @reversed
// CHECK-NEXT: lumen.slice
func.func @reversed(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = lumen.slice %x [2] [-1] : tensor<3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Signed division truncates, mod takes the divisor's sign, unsigned numbers wrap.
// CHECK-LABEL: func.func @integers
// CHECK-DAG: lumen.constant dense<[-3, 3]> : tensor<2xi64>
// CHECK-DAG: lumen.constant dense<1> : tensor<2xi64>
// CHECK-DAG: lumen.constant dense<[-1, 1]> : tensor<2xi64>
// CHECK-DAG: lumen.constant dense<[44, 255]> : tensor<2xui8>
func.func @integers() -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xui8>) {
  %a = lumen.constant dense<[-7, 7]> : tensor<2xi64>
  %b = lumen.constant dense<2> : tensor<2xi64>
  %0 = lumen.binary <div> %a, %b : tensor<2xi64>
  %1 = lumen.binary <mod> %a, %b : tensor<2xi64>
  %2 = lumen.binary <rem> %a, %b : tensor<2xi64>
  %u = lumen.constant dense<[200, 0]> : tensor<2xui8>
  %v = lumen.constant dense<[100, 255]> : tensor<2xui8>
  %3 = lumen.binary <add> %u, %v : tensor<2xui8>
  return %0, %1, %2, %3 : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xui8>
}

// What traps is left to the device.
// CHECK-LABEL: func.func @undefined
// CHECK: lumen.binary <div>
func.func @undefined() -> tensor<2xi64> {
  %a = lumen.constant dense<[1, 2]> : tensor<2xi64>
  %b = lumen.constant dense<[1, 0]> : tensor<2xi64>
  %0 = lumen.binary <div> %a, %b : tensor<2xi64>
  return %0 : tensor<2xi64>
}

// Conversion saturates, narrow floats round to nearest even.
// CHECK-LABEL: func.func @conversions
// CHECK-DAG: lumen.constant dense<[127, -128, 0, -1]> : tensor<4xi8>
// CHECK-DAG: lumen.constant dense<[1.000260e+30, -3.000000e+02, 0x7FC0, -1.898440e+00]> : tensor<4xbf16>
func.func @conversions() -> (tensor<4xi8>, tensor<4xbf16>) {
  %x = lumen.constant dense<[1.0e30, -300.0, 0x7FC00000, -1.9]> : tensor<4xf32>
  %0 = lumen.convert %x : tensor<4xf32> -> tensor<4xi8>
  %1 = lumen.convert %x : tensor<4xf32> -> tensor<4xbf16>
  return %0, %1 : tensor<4xi8>, tensor<4xbf16>
}

// CHECK-LABEL: func.func @movement
// CHECK-DAG: %[[T:.*]] = lumen.constant dense<{{\[\[}}1, 4], [2, 5], [3, 6]]> : tensor<3x2xi64>
// CHECK-DAG: %[[S:.*]] = lumen.constant dense<{{\[\[}}6, 4], [3, 1]]> : tensor<2x2xi64>
// CHECK-DAG: %[[C:.*]] = lumen.constant dense<{{\[\[}}1, 2, 3, 1, 2, 3], [4, 5, 6, 4, 5, 6]]> : tensor<2x6xi64>
// CHECK-DAG: %[[G:.*]] = lumen.constant dense<{{\[\[}}3, 1], [6, 4]]> : tensor<2x2xi64>
// CHECK-DAG: %[[R:.*]] = lumen.constant dense<[6, 15]> : tensor<2xi64>
// CHECK: return %[[T]], %[[S]], %[[C]], %[[G]], %[[R]]
func.func @movement() -> (tensor<3x2xi64>, tensor<2x2xi64>, tensor<2x6xi64>, tensor<2x2xi64>, tensor<2xi64>) {
  %x = lumen.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = lumen.constant dense<[-1, 0]> : tensor<2xi64>
  %0 = lumen.transpose %x [1, 0] : tensor<2x3xi64> -> tensor<3x2xi64>
  %1 = lumen.slice %x [1, 2] [-1, -2] : tensor<2x3xi64> -> tensor<2x2xi64>
  %2 = lumen.concat %x, %x {axis = 1 : i64} : tensor<2x3xi64>, tensor<2x3xi64> -> tensor<2x6xi64>
  %3 = lumen.gather %x, %i {axis = 1 : i64} : tensor<2x3xi64>, tensor<2xi64> -> tensor<2x2xi64>
  %4 = lumen.reduce <sum> %x [1] : tensor<2x3xi64> -> tensor<2xi64>
  return %0, %1, %2, %3, %4 : tensor<3x2xi64>, tensor<2x2xi64>, tensor<2x6xi64>, tensor<2x2xi64>, tensor<2xi64>
}

// Splats fold at any size; repeated parameters stay small.
// CHECK-LABEL: func.func @broadcasts
// CHECK-DAG: %[[S:.*]] = lumen.constant dense<4.000000e+00> : tensor<1024x1024xf32>
// CHECK-DAG: %[[P:.*]] = lumen.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: %[[B:.*]] = lumen.broadcast %[[P]] [1] : tensor<2xf32> -> tensor<3x2xf32>
// CHECK: return %[[S]], %[[B]]
func.func @broadcasts() -> (tensor<1024x1024xf32>, tensor<3x2xf32>) {
  %two = lumen.constant dense<2.0> : tensor<f32>
  %0 = lumen.broadcast %two [] : tensor<f32> -> tensor<1024x1024xf32>
  %1 = lumen.binary <mul> %0, %0 : tensor<1024x1024xf32>
  %p = lumen.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %2 = lumen.broadcast %p [1] : tensor<2xf32> -> tensor<3x2xf32>
  return %1, %2 : tensor<1024x1024xf32>, tensor<3x2xf32>
}

// Data outside the IR takes another shape, or is cut, without being read.
// CHECK-LABEL: func.func @blobs
// CHECK-DAG: lumen.constant #lumen.blob<0, 16, 4194304> : tensor<1x1048576xf32>
// CHECK-DAG: lumen.constant #lumen.blob<0, 8208, 4096> : tensor<1x1024xf32>
func.func @blobs() -> (tensor<1x1048576xf32>, tensor<1x1024xf32>) {
  %w = lumen.constant #lumen.blob<0, 16, 4194304> : tensor<1024x1024xf32>
  %0 = lumen.reshape %w : tensor<1024x1024xf32> -> tensor<1x1048576xf32>
  %1 = lumen.slice %w [2, 0] [1, 1] : tensor<1024x1024xf32> -> tensor<1x1024xf32>
  return %0, %1 : tensor<1x1048576xf32>, tensor<1x1024xf32>
}
