// RUN: lumen-opt %s --fuse-normalization --canonicalize --split-input-file | FileCheck %s

// Softmax with the maximum subtracted, clamped as some exporters do.
// CHECK-LABEL: @softmax
// CHECK-NEXT: %[[S:.*]] = lumen.softmax %{{.*}} {axis = 1 : i64}
// CHECK-NEXT: return %[[S]]
func.func @softmax(%x: tensor<2x10xf32>) -> tensor<2x10xf32> {
  %c = lumen.constant dense<0xFF800000> : tensor<2xf32>
  %0 = lumen.reduce <max> %x [1] : tensor<2x10xf32> -> tensor<2xf32>
  %1 = lumen.binary <max> %c, %0 : tensor<2xf32>
  %2 = lumen.reshape %1 : tensor<2xf32> -> tensor<2x1xf32>
  %3 = lumen.broadcast %2 [0, 1] : tensor<2x1xf32> -> tensor<2x10xf32>
  %4 = lumen.binary <sub> %x, %3 : tensor<2x10xf32>
  %5 = lumen.unary <exp> %4 : tensor<2x10xf32> -> tensor<2x10xf32>
  %6 = lumen.reduce <sum> %5 [1] : tensor<2x10xf32> -> tensor<2xf32>
  %7 = lumen.broadcast %6 [0] : tensor<2xf32> -> tensor<2x10xf32>
  %8 = lumen.binary <div> %5, %7 : tensor<2x10xf32>
  return %8 : tensor<2x10xf32>
}

// -----

// A sum over other elements than those of the row is no softmax: the square
// shape would hide it.
// CHECK-LABEL: @not_softmax
// CHECK-NOT: lumen.softmax
func.func @not_softmax(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = lumen.unary <exp> %x : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = lumen.reduce <sum> %0 [0] : tensor<4x4xf32> -> tensor<4xf32>
  %2 = lumen.broadcast %1 [0] : tensor<4xf32> -> tensor<4x4xf32>
  %3 = lumen.binary <div> %0, %2 : tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// Layer normalisation with the variance as mean(x^2) - mean(x)^2, clamped at zero,
// and the scale applied to the deviation.
// CHECK-LABEL: @layer
// CHECK-SAME: %[[X:.*]]: tensor<2x8xf32>, %[[S:.*]]: tensor<2x8xf32>
// CHECK-NEXT: %[[N:.*]] = lumen.norm <layer> %[[X]] {axis = 1 : i64, epsilon = {{.*}} : f64}
// CHECK-NEXT: %[[R:.*]] = lumen.binary <mul> %[[N]], %[[S]]
// CHECK-NEXT: return %[[R]]
func.func @layer(%x: tensor<2x8xf32>, %scale: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %n = lumen.constant dense<0.125> : tensor<2xf32>
  %zero = lumen.constant dense<0.0> : tensor<2xf32>
  %eps = lumen.constant dense<0.00001> : tensor<2x1xf32>
  %0 = lumen.reduce <sum> %x [1] : tensor<2x8xf32> -> tensor<2xf32>
  %1 = lumen.binary <mul> %x, %x : tensor<2x8xf32>
  %2 = lumen.reduce <sum> %1 [1] : tensor<2x8xf32> -> tensor<2xf32>
  %3 = lumen.binary <mul> %2, %n : tensor<2xf32>
  %4 = lumen.binary <mul> %0, %n : tensor<2xf32>
  %5 = lumen.binary <mul> %4, %4 : tensor<2xf32>
  %6 = lumen.binary <sub> %3, %5 : tensor<2xf32>
  %7 = lumen.binary <max> %zero, %6 : tensor<2xf32>
  %8 = lumen.reshape %7 : tensor<2xf32> -> tensor<2x1xf32>
  %9 = lumen.binary <add> %8, %eps : tensor<2x1xf32>
  %10 = lumen.unary <sqrt> %9 : tensor<2x1xf32> -> tensor<2x1xf32>
  %11 = lumen.unary <reciprocal> %10 : tensor<2x1xf32> -> tensor<2x1xf32>
  %12 = lumen.broadcast %11 [0, 1] : tensor<2x1xf32> -> tensor<2x8xf32>
  %13 = lumen.binary <mul> %12, %scale : tensor<2x8xf32>
  %14 = lumen.broadcast %4 [0] : tensor<2xf32> -> tensor<2x8xf32>
  %15 = lumen.binary <sub> %x, %14 : tensor<2x8xf32>
  %16 = lumen.binary <mul> %15, %13 : tensor<2x8xf32>
  return %16 : tensor<2x8xf32>
}

// -----

// Layer normalisation with the variance of the centred tensor, and a division.
// CHECK-LABEL: @centered
// CHECK-NEXT: %[[N:.*]] = lumen.norm <layer>
// CHECK-NEXT: return %[[N]]
func.func @centered(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %n = lumen.constant dense<8.0> : tensor<2xf32>
  %two = lumen.constant dense<2.0> : tensor<2x8xf32>
  %eps = lumen.constant dense<0.00001> : tensor<2xf32>
  %0 = lumen.reduce <sum> %x [1] : tensor<2x8xf32> -> tensor<2xf32>
  %1 = lumen.binary <div> %0, %n : tensor<2xf32>
  %2 = lumen.broadcast %1 [0] : tensor<2xf32> -> tensor<2x8xf32>
  %3 = lumen.binary <sub> %x, %2 : tensor<2x8xf32>
  %4 = lumen.binary <pow> %3, %two : tensor<2x8xf32>
  %5 = lumen.reduce <sum> %4 [1] : tensor<2x8xf32> -> tensor<2xf32>
  %6 = lumen.binary <div> %5, %n : tensor<2xf32>
  %7 = lumen.binary <add> %6, %eps : tensor<2xf32>
  %8 = lumen.unary <sqrt> %7 : tensor<2xf32> -> tensor<2xf32>
  %9 = lumen.broadcast %8 [0] : tensor<2xf32> -> tensor<2x8xf32>
  %10 = lumen.binary <div> %3, %9 : tensor<2x8xf32>
  return %10 : tensor<2x8xf32>
}

// -----

// Root mean square.
// CHECK-LABEL: @rms
// CHECK-NEXT: %[[N:.*]] = lumen.norm <rms>
// CHECK-NEXT: return %[[N]]
func.func @rms(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %n = lumen.constant dense<0.125> : tensor<2xf32>
  %eps = lumen.constant dense<0.00001> : tensor<2xf32>
  %0 = lumen.binary <mul> %x, %x : tensor<2x8xf32>
  %1 = lumen.reduce <sum> %0 [1] : tensor<2x8xf32> -> tensor<2xf32>
  %2 = lumen.binary <mul> %1, %n : tensor<2xf32>
  %3 = lumen.binary <add> %2, %eps : tensor<2xf32>
  %4 = lumen.unary <rsqrt> %3 : tensor<2xf32> -> tensor<2xf32>
  %5 = lumen.broadcast %4 [0] : tensor<2xf32> -> tensor<2x8xf32>
  %6 = lumen.binary <mul> %x, %5 : tensor<2x8xf32>
  return %6 : tensor<2x8xf32>
}

// -----

// The reciprocal root as a power.
// CHECK-LABEL: @rms_power
// CHECK-NEXT: %[[N:.*]] = lumen.norm <rms> %{{.*}} {axis = 1 : i64
// CHECK-NEXT: return %[[N]]
func.func @rms_power(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %two = lumen.constant dense<2.0> : tensor<2x8xf32>
  %eight = lumen.constant dense<8.0> : tensor<2x1xf32>
  %epsilon = lumen.constant dense<1.0e-6> : tensor<2x1xf32>
  %root = lumen.constant dense<-0.5> : tensor<2x1xf32>
  %0 = lumen.binary <pow> %x, %two : tensor<2x8xf32>
  %1 = lumen.reduce <sum> %0 [1] : tensor<2x8xf32> -> tensor<2xf32>
  %2 = lumen.reshape %1 : tensor<2xf32> -> tensor<2x1xf32>
  %3 = lumen.binary <div> %2, %eight : tensor<2x1xf32>
  %4 = lumen.binary <add> %3, %epsilon : tensor<2x1xf32>
  %5 = lumen.binary <pow> %4, %root : tensor<2x1xf32>
  %6 = lumen.broadcast %5 [0, 1] : tensor<2x1xf32> -> tensor<2x8xf32>
  %7 = lumen.binary <mul> %x, %6 : tensor<2x8xf32>
  return %7 : tensor<2x8xf32>
}
