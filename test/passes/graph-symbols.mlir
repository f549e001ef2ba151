// The passes of the graph do for symbolic sizes what they do for numbers.
// RUN: split-file %s %t
// RUN: lumen-opt %t/norm.mlir --fuse-normalization | FileCheck %t/norm.mlir
// RUN: lumen-opt %t/transpose.mlir --propagate-transposes --canonicalize | FileCheck %t/transpose.mlir
// RUN: lumen-opt %t/sink.mlir --sink-reshapes --canonicalize | FileCheck %t/sink.mlir
// RUN: lumen-opt %t/affine.mlir --fold-affine --fold-constants --canonicalize | FileCheck %t/affine.mlir
// RUN: lumen-opt %t/lookup.mlir --fuse-lookups | FileCheck %t/lookup.mlir
// RUN: lumen-opt %t/units.mlir --drop-unit-dims | FileCheck %t/units.mlir
// RUN: lumen-opt %t/powers.mlir --expand-powers | FileCheck %t/powers.mlir
// RUN: lumen-opt %t/pack.mlir --pack-weights | FileCheck %t/pack.mlir
// RUN: lumen-opt %t/reshape.mlir --canonicalize | FileCheck %t/reshape.mlir

//--- norm.mlir
// The mean of a run-time number of elements divides by that number.
// CHECK-LABEL: @layer
// CHECK:       lumen.norm <layer> %arg0 {axis = 1 : i64
// CHECK-NEXT:  return
func.func @layer(%x: tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>) -> tensor<?x?xf32, #lumen.dims<["batch", "seq"]>> {
  %n = lumen.sizes ["seq"] : tensor<i64>
  %nf = lumen.convert %n : tensor<i64> -> tensor<f32>
  %nb = lumen.broadcast %nf [] : tensor<f32> -> tensor<?xf32, #lumen.dims<["batch"]>>
  %e = lumen.constant dense<1.0e-5> : tensor<f32>
  %eb = lumen.broadcast %e [] : tensor<f32> -> tensor<?xf32, #lumen.dims<["batch"]>>
  %s = lumen.reduce <sum> %x [1] : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>> -> tensor<?xf32, #lumen.dims<["batch"]>>
  %m = lumen.binary <div> %s, %nb : tensor<?xf32, #lumen.dims<["batch"]>>
  %mb = lumen.broadcast %m [0] : tensor<?xf32, #lumen.dims<["batch"]>> -> tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  %c = lumen.binary <sub> %x, %mb : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  %q = lumen.binary <mul> %c, %c : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  %qs = lumen.reduce <sum> %q [1] : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>> -> tensor<?xf32, #lumen.dims<["batch"]>>
  %v = lumen.binary <div> %qs, %nb : tensor<?xf32, #lumen.dims<["batch"]>>
  %ve = lumen.binary <add> %v, %eb : tensor<?xf32, #lumen.dims<["batch"]>>
  %r = lumen.unary <rsqrt> %ve : tensor<?xf32, #lumen.dims<["batch"]>> -> tensor<?xf32, #lumen.dims<["batch"]>>
  %rb = lumen.broadcast %r [0] : tensor<?xf32, #lumen.dims<["batch"]>> -> tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  %y = lumen.binary <mul> %c, %rb : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  return %y : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
}

// A mean that divides by another number is none.
// CHECK-LABEL: @no_mean
// CHECK-NOT:   lumen.norm
func.func @no_mean(%x: tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>) -> tensor<?x?xf32, #lumen.dims<["batch", "seq"]>> {
  %n = lumen.sizes ["batch"] : tensor<i64>
  %nf = lumen.convert %n : tensor<i64> -> tensor<f32>
  %nb = lumen.broadcast %nf [] : tensor<f32> -> tensor<?xf32, #lumen.dims<["batch"]>>
  %q = lumen.binary <mul> %x, %x : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  %qs = lumen.reduce <sum> %q [1] : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>> -> tensor<?xf32, #lumen.dims<["batch"]>>
  %v = lumen.binary <div> %qs, %nb : tensor<?xf32, #lumen.dims<["batch"]>>
  %e = lumen.constant dense<1.0e-5> : tensor<f32>
  %eb = lumen.broadcast %e [] : tensor<f32> -> tensor<?xf32, #lumen.dims<["batch"]>>
  %ve = lumen.binary <add> %v, %eb : tensor<?xf32, #lumen.dims<["batch"]>>
  %r = lumen.unary <rsqrt> %ve : tensor<?xf32, #lumen.dims<["batch"]>> -> tensor<?xf32, #lumen.dims<["batch"]>>
  %rb = lumen.broadcast %r [0] : tensor<?xf32, #lumen.dims<["batch"]>> -> tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  %y = lumen.binary <mul> %x, %rb : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  return %y : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
}

// CHECK-LABEL: @softmax
// CHECK:       lumen.softmax %arg0 {axis = 1 : i64}
func.func @softmax(%x: tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>) -> tensor<?x?xf32, #lumen.dims<["batch", "seq"]>> {
  %m = lumen.reduce <max> %x [1] : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>> -> tensor<?xf32, #lumen.dims<["batch"]>>
  %m1 = lumen.reshape %m : tensor<?xf32, #lumen.dims<["batch"]>> -> tensor<?x1xf32, #lumen.dims<["batch", "1"]>>
  %mb = lumen.broadcast %m1 [0, 1] : tensor<?x1xf32, #lumen.dims<["batch", "1"]>> -> tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  %d = lumen.binary <sub> %x, %mb : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  %e = lumen.unary <exp> %d : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>> -> tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  %s = lumen.reduce <sum> %e [1] : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>> -> tensor<?xf32, #lumen.dims<["batch"]>>
  %sb = lumen.broadcast %s [0] : tensor<?xf32, #lumen.dims<["batch"]>> -> tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  %y = lumen.binary <div> %e, %sb : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
  return %y : tensor<?x?xf32, #lumen.dims<["batch", "seq"]>>
}

//--- transpose.mlir
// A permutation passes a reshape that splits batch*seq, and goes on inside a branch.
// CHECK-LABEL: @main
// CHECK-NOT:   lumen.transpose
// CHECK:       %[[R:.*]] = lumen.reshape %arg0 : {{.*}} -> tensor<?x?x8xf32, #lumen.dims<["batch", "seq", "8"]>>
// CHECK:       lumen.if
// CHECK-NEXT:    lumen.unary <exp> %[[R]]
// CHECK-NOT:   lumen.transpose
func.func @main(%x: tensor<?x8xf32, #lumen.dims<["batch*seq", "8"]>>, %c: tensor<i1>) -> tensor<?x?x8xf32, #lumen.dims<["batch", "seq", "8"]>> {
  %0 = lumen.transpose %x [1, 0] : tensor<?x8xf32, #lumen.dims<["batch*seq", "8"]>> -> tensor<8x?xf32, #lumen.dims<["8", "batch*seq"]>>
  %1 = lumen.reshape %0 : tensor<8x?xf32, #lumen.dims<["8", "batch*seq"]>> -> tensor<8x?x?xf32, #lumen.dims<["8", "batch", "seq"]>>
  %2 = lumen.if %c symbols [] : tensor<i1> -> tensor<?x?x8xf32, #lumen.dims<["batch", "seq", "8"]>> {
    %3 = lumen.unary <exp> %1 : tensor<8x?x?xf32, #lumen.dims<["8", "batch", "seq"]>> -> tensor<8x?x?xf32, #lumen.dims<["8", "batch", "seq"]>>
    %4 = lumen.transpose %3 [1, 2, 0] : tensor<8x?x?xf32, #lumen.dims<["8", "batch", "seq"]>> -> tensor<?x?x8xf32, #lumen.dims<["batch", "seq", "8"]>>
    lumen.yield %4 sizes [] : tensor<?x?x8xf32, #lumen.dims<["batch", "seq", "8"]>>
  } else {
    %5 = lumen.transpose %1 [1, 2, 0] : tensor<8x?x?xf32, #lumen.dims<["8", "batch", "seq"]>> -> tensor<?x?x8xf32, #lumen.dims<["batch", "seq", "8"]>>
    lumen.yield %5 sizes [] : tensor<?x?x8xf32, #lumen.dims<["batch", "seq", "8"]>>
  }
  return %2 : tensor<?x?x8xf32, #lumen.dims<["batch", "seq", "8"]>>
}

//--- sink.mlir
// Bias and factor go before the reshape of a contraction's rows.
// CHECK-LABEL: @main
// CHECK:       %[[C:.*]] = lumen.contract
// CHECK:       lumen.binary <add> %[[C]], %{{.*}} : tensor<?x16xf32, #lumen.dims<["batch*seq", "16"]>>
// CHECK:       lumen.binary <mul> {{.*}} : tensor<?x16xf32, #lumen.dims<["batch*seq", "16"]>>
// CHECK-NEXT:  lumen.reshape
// CHECK-NEXT:  return
func.func @main(%x: tensor<?x8xf32, #lumen.dims<["batch*seq", "8"]>>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<?x?x16xf32, #lumen.dims<["batch", "seq", "16"]>> {
  %0 = lumen.contract %x, %w : tensor<?x8xf32, #lumen.dims<["batch*seq", "8"]>>, tensor<8x16xf32> -> tensor<?x16xf32, #lumen.dims<["batch*seq", "16"]>>
  %1 = lumen.reshape %0 : tensor<?x16xf32, #lumen.dims<["batch*seq", "16"]>> -> tensor<?x?x16xf32, #lumen.dims<["batch", "seq", "16"]>>
  %2 = lumen.broadcast %b [2] : tensor<16xf32> -> tensor<?x?x16xf32, #lumen.dims<["batch", "seq", "16"]>>
  %3 = lumen.binary <add> %1, %2 : tensor<?x?x16xf32, #lumen.dims<["batch", "seq", "16"]>>
  %c = lumen.constant dense<2.0> : tensor<f32>
  %4 = lumen.broadcast %c [] : tensor<f32> -> tensor<?x?x16xf32, #lumen.dims<["batch", "seq", "16"]>>
  %5 = lumen.binary <mul> %3, %4 : tensor<?x?x16xf32, #lumen.dims<["batch", "seq", "16"]>>
  return %5 : tensor<?x?x16xf32, #lumen.dims<["batch", "seq", "16"]>>
}

//--- affine.mlir
// Factors per channel are constants whatever the batch is.
// CHECK-LABEL: @main
// CHECK-DAG:   %[[W:.*]] = lumen.constant dense<{{\[\[}}2.000000e+00, 3.000000e+00]]>
// CHECK-DAG:   %[[B:.*]] = lumen.constant dense<[1.000000e+01, 1.500000e+01]>
// CHECK-DAG:   lumen.contract %arg0, %[[W]]
// CHECK-DAG:   lumen.broadcast %[[B]] [1]
// CHECK:       lumen.binary <add>
// CHECK-NEXT:  return
func.func @main(%x: tensor<?x1xf32, #lumen.dims<["batch", "1"]>>) -> tensor<?x2xf32, #lumen.dims<["batch", "2"]>> {
  %w = lumen.constant dense<1.0> : tensor<1x2xf32>
  %s = lumen.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %o = lumen.constant dense<5.0> : tensor<f32>
  %0 = lumen.contract %x, %w : tensor<?x1xf32, #lumen.dims<["batch", "1"]>>, tensor<1x2xf32> -> tensor<?x2xf32, #lumen.dims<["batch", "2"]>>
  %ob = lumen.broadcast %o [] : tensor<f32> -> tensor<?x2xf32, #lumen.dims<["batch", "2"]>>
  %1 = lumen.binary <add> %0, %ob : tensor<?x2xf32, #lumen.dims<["batch", "2"]>>
  %sb = lumen.broadcast %s [1] : tensor<2xf32> -> tensor<?x2xf32, #lumen.dims<["batch", "2"]>>
  %2 = lumen.binary <mul> %1, %sb : tensor<?x2xf32, #lumen.dims<["batch", "2"]>>
  return %2 : tensor<?x2xf32, #lumen.dims<["batch", "2"]>>
}

//--- lookup.mlir
// CHECK-LABEL: @main
// CHECK:       %[[R:.*]] = lumen.gather %{{.*}}, %arg0 {axis = 0 : i64} : tensor<3x2xf32>, tensor<?xi64, #lumen.dims<["seq"]>>
// CHECK:       lumen.select %{{.*}}, %[[R]]
func.func @main(%i: tensor<?xi64, #lumen.dims<["seq"]>>) -> tensor<?x2xf32, #lumen.dims<["seq", "2"]>> {
  %w = lumen.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %n = lumen.iota {axis = 1 : i64} : tensor<?x3xi64, #lumen.dims<["seq", "3"]>>
  %b = lumen.broadcast %i [0] : tensor<?xi64, #lumen.dims<["seq"]>> -> tensor<?x3xi64, #lumen.dims<["seq", "3"]>>
  %e = lumen.compare <eq> %b, %n : tensor<?x3xi64, #lumen.dims<["seq", "3"]>> -> tensor<?x3xi1, #lumen.dims<["seq", "3"]>>
  %f = lumen.convert %e : tensor<?x3xi1, #lumen.dims<["seq", "3"]>> -> tensor<?x3xf32, #lumen.dims<["seq", "3"]>>
  %0 = lumen.contract %f, %w : tensor<?x3xf32, #lumen.dims<["seq", "3"]>>, tensor<3x2xf32> -> tensor<?x2xf32, #lumen.dims<["seq", "2"]>>
  return %0 : tensor<?x2xf32, #lumen.dims<["seq", "2"]>>
}

//--- units.mlir
// CHECK-LABEL: @main
// CHECK-NOT:   lumen.reshape %arg0
// CHECK:       lumen.conv %arg0, {{.*}} : tensor<?x?x4xf32, #lumen.dims<["batch", "n", "4"]>>, tensor<3x4x8xf32> -> tensor<?x?x8xf32, #lumen.dims<["batch", "n - 2", "8"]>>
// CHECK-NEXT:  return
func.func @main(%x: tensor<?x?x4xf32, #lumen.dims<["batch", "n", "4"]>>, %w: tensor<1x3x4x8xf32>) -> tensor<?x?x8xf32, #lumen.dims<["batch", "n - 2", "8"]>> {
  %0 = lumen.reshape %x : tensor<?x?x4xf32, #lumen.dims<["batch", "n", "4"]>> -> tensor<?x1x?x4xf32, #lumen.dims<["batch", "1", "n", "4"]>>
  %1 = lumen.conv %0, %w {window = array<i64: 1, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64}
    : tensor<?x1x?x4xf32, #lumen.dims<["batch", "1", "n", "4"]>>, tensor<1x3x4x8xf32> -> tensor<?x1x?x8xf32, #lumen.dims<["batch", "1", "n - 2", "8"]>>
  %2 = lumen.reshape %1 : tensor<?x1x?x8xf32, #lumen.dims<["batch", "1", "n - 2", "8"]>> -> tensor<?x?x8xf32, #lumen.dims<["batch", "n - 2", "8"]>>
  return %2 : tensor<?x?x8xf32, #lumen.dims<["batch", "n - 2", "8"]>>
}

//--- powers.mlir
// CHECK-LABEL: @main
// CHECK:       lumen.binary <mul> %arg0, %arg0
func.func @main(%x: tensor<?xf32, #lumen.dims<["n"]>>) -> tensor<?xf32, #lumen.dims<["n"]>> {
  %c = lumen.constant dense<2.0> : tensor<f32>
  %b = lumen.broadcast %c [] : tensor<f32> -> tensor<?xf32, #lumen.dims<["n"]>>
  %0 = lumen.binary <pow> %x, %b : tensor<?xf32, #lumen.dims<["n"]>>
  return %0 : tensor<?xf32, #lumen.dims<["n"]>>
}

//--- pack.mlir
// A weight that branches share is packed once, where it stands.
// CHECK-LABEL: @main
// CHECK:       %[[W:.*]] = lumen.constant dense<1.000000e+00> : tensor<1x8x64xf32>
// CHECK-NOT:   lumen.constant
// CHECK:       lumen.contract %arg0, %[[W]] packed
// CHECK:       lumen.contract %arg1, %[[W]] packed
func.func @main(%x: tensor<?x8xf32, #lumen.dims<["n", "8"]>>, %y: tensor<?x8xf32, #lumen.dims<["n", "8"]>>, %c: tensor<i1>) -> tensor<?x64xf32, #lumen.dims<["n", "64"]>> {
  %w = lumen.constant dense<1.0> : tensor<8x64xf32>
  %0 = lumen.if %c symbols [] : tensor<i1> -> tensor<?x64xf32, #lumen.dims<["n", "64"]>> {
    %1 = lumen.contract %x, %w : tensor<?x8xf32, #lumen.dims<["n", "8"]>>, tensor<8x64xf32> -> tensor<?x64xf32, #lumen.dims<["n", "64"]>>
    lumen.yield %1 sizes [] : tensor<?x64xf32, #lumen.dims<["n", "64"]>>
  } else {
    %2 = lumen.contract %y, %w : tensor<?x8xf32, #lumen.dims<["n", "8"]>>, tensor<8x64xf32> -> tensor<?x64xf32, #lumen.dims<["n", "64"]>>
    lumen.yield %2 sizes [] : tensor<?x64xf32, #lumen.dims<["n", "64"]>>
  }
  return %0 : tensor<?x64xf32, #lumen.dims<["n", "64"]>>
}

//--- reshape.mlir
// CHECK-LABEL: @main
// CHECK-NEXT:  %[[U:.*]] = lumen.reshape %arg0 : {{.*}} -> tensor<?x1x?xf32, #lumen.dims<["n", "1", "m"]>>
// CHECK-NEXT:  return %arg0, %[[U]]
func.func @main(%x: tensor<?x?xf32, #lumen.dims<["n", "m"]>>) -> (tensor<?x?xf32, #lumen.dims<["n", "m"]>>, tensor<?x1x?xf32, #lumen.dims<["n", "1", "m"]>>) {
  %0 = lumen.reshape %x : tensor<?x?xf32, #lumen.dims<["n", "m"]>> -> tensor<?xf32, #lumen.dims<["m*n"]>>
  %1 = lumen.reshape %0 : tensor<?xf32, #lumen.dims<["m*n"]>> -> tensor<?x?xf32, #lumen.dims<["n", "m"]>>
  %2 = lumen.reshape %1 : tensor<?x?xf32, #lumen.dims<["n", "m"]>> -> tensor<1x?x?xf32, #lumen.dims<["1", "n", "m"]>>
  %3 = lumen.transpose %2 [1, 0, 2] : tensor<1x?x?xf32, #lumen.dims<["1", "n", "m"]>> -> tensor<?x1x?xf32, #lumen.dims<["n", "1", "m"]>>
  return %1, %3 : tensor<?x?xf32, #lumen.dims<["n", "m"]>>, tensor<?x1x?xf32, #lumen.dims<["n", "1", "m"]>>
}
