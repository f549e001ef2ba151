// Operations with loops of their own are read as they were printed.
// RUN: lumen-opt %s | lumen-opt | FileCheck %s

// CHECK-LABEL: func.func @indexing
func.func @indexing(%x: tensor<8x4xf32>, %u: tensor<2x4xf32>, %i: tensor<2xi64>, %j: tensor<8x3xi32>) {
  // CHECK: lumen.pick %arg0(%arg3) [0, -1] : tensor<8x4xf32>, (tensor<8x3xi32>) -> tensor<8x3xf32>
  %0 = lumen.pick %x(%j) [0, -1] : tensor<8x4xf32>, (tensor<8x3xi32>) -> tensor<8x3xf32>
  // CHECK: lumen.scatter <add> %arg0, %arg1(%arg2) [-1, 1] : tensor<8x4xf32>, tensor<2x4xf32>, (tensor<2xi64>) -> tensor<8x4xf32>
  %1 = lumen.scatter <add> %x, %u(%i) [-1, 1] : tensor<8x4xf32>, tensor<2x4xf32>, (tensor<2xi64>) -> tensor<8x4xf32>
  return
}

// CHECK-LABEL: func.func @orders
func.func @orders(%x: tensor<8x4xf32>, %m: tensor<64xi1>) {
  // CHECK: lumen.sort %arg0 {axis = 1 : i64, descending} : tensor<8x4xf32> -> tensor<8x2xf32>, tensor<8x2xi64>
  %0:2 = lumen.sort %x {axis = 1 : i64, descending} : tensor<8x4xf32> -> tensor<8x2xf32>, tensor<8x2xi64>
  // CHECK: lumen.accumulate <add> %arg0 {axis = 0 : i64, exclusive} : tensor<8x4xf32>
  %1 = lumen.accumulate <add> %x {axis = 0 : i64, exclusive} : tensor<8x4xf32>
  // CHECK: lumen.nonzero %arg1 : tensor<64xi1> -> tensor<64xi64>, tensor<i64>
  %2:2 = lumen.nonzero %m : tensor<64xi1> -> tensor<64xi64>, tensor<i64>
  // CHECK: lumen.unique %arg0 sorted : tensor<8x4xf32> -> tensor<8xi64>, tensor<8xi64>, tensor<8xi64>, tensor<8xi64>, tensor<i64>
  %3:5 = lumen.unique %x sorted : tensor<8x4xf32> -> tensor<8xi64>, tensor<8xi64>, tensor<8xi64>, tensor<8xi64>, tensor<i64>
  return
}

// CHECK-LABEL: func.func @nms
func.func @nms(%b: tensor<1x9x4xf32>, %s: tensor<1x2x9xf32>, %m: tensor<i64>, %t: tensor<f32>) {
  // CHECK: lumen.nms %arg0, %arg1, %arg2, %arg3, %arg3 : tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<f32>, tensor<f32> -> tensor<18x3xi64>, tensor<9xi64>, tensor<i64>
  %0:3 = lumen.nms %b, %s, %m, %t, %t : tensor<1x9x4xf32>, tensor<1x2x9xf32>, tensor<i64>, tensor<f32>, tensor<f32> -> tensor<18x3xi64>, tensor<9xi64>, tensor<i64>
  return
}

// CHECK-LABEL: func.func @trees
func.func @trees(%x: tensor<8x4xf32>, %t: tensor<3xf32>, %k: tensor<3x2xi32>, %l: tensor<4xi32>, %r: tensor<1xi32>, %w: tensor<2x1xf32>, %v: tensor<5xf32>, %g: tensor<5xi32>) {
  // CHECK: lumen.trees <sum> %arg0, %arg1, %arg2, %arg3, %arg4, %arg5 : tensor<8x4xf32>, tensor<3xf32>, tensor<3x2xi32>, tensor<4xi32>, tensor<1xi32>, tensor<2x1xf32> -> tensor<1x8x1xf32>
  %0 = lumen.trees <sum> %x, %t, %k, %l, %r, %w : tensor<8x4xf32>, tensor<3xf32>, tensor<3x2xi32>, tensor<4xi32>, tensor<1xi32>, tensor<2x1xf32> -> tensor<1x8x1xf32>
  // CHECK: lumen.trees <max> {{.*}} targets %arg7 strict nan : {{.*}}, tensor<5xi32> -> tensor<2x8x3xf32>
  %1 = lumen.trees <max> %x, %t, %k, %l, %r, %v targets %g strict nan : tensor<8x4xf32>, tensor<3xf32>, tensor<3x2xi32>, tensor<4xi32>, tensor<1xi32>, tensor<5xf32>, tensor<5xi32> -> tensor<2x8x3xf32>
  return
}

// CHECK-LABEL: func.func @recurrence
func.func @recurrence(%x: tensor<9x2x8xf32>, %r: tensor<1x8x64xf32>, %h: tensor<2x8xf32>, %l: tensor<2xi32>) {
  // CHECK: lumen.recurrence %arg0 params(%arg1) states(%arg2) lengths %arg3 reverse : tensor<9x2x8xf32>, (tensor<1x8x64xf32>), (tensor<2x8xf32>), tensor<2xi32> -> tensor<9x2x8xf32>, tensor<2x8xf32> {
  // CHECK: lumen.yield %{{.*}} sizes [] : tensor<8xf32>
  %0:2 = lumen.recurrence %x params(%r) states(%h) lengths %l reverse : tensor<9x2x8xf32>, (tensor<1x8x64xf32>), (tensor<2x8xf32>), tensor<2xi32> -> tensor<9x2x8xf32>, tensor<2x8xf32> {
  ^bb0(%a: tensor<8xf32>, %p: tensor<1x8x64xf32>, %s: tensor<8xf32>):
    %1 = lumen.reshape %s : tensor<8xf32> -> tensor<1x8xf32>
    %2 = lumen.contract %1, %p packed : tensor<1x8xf32>, tensor<1x8x64xf32> -> tensor<1x8xf32>
    %3 = lumen.reshape %2 : tensor<1x8xf32> -> tensor<8xf32>
    %4 = lumen.binary <add> %a, %3 : tensor<8xf32>
    lumen.yield %4 sizes [] : tensor<8xf32>
  }
  return
}
