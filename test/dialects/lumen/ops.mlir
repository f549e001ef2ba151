// Every operation is read as it was printed.
// RUN: lumen-opt %s | lumen-opt | FileCheck %s

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<8xf32>, %c: tensor<8xi1>) {
  // CHECK: lumen.constant dense<1.000000e+00> : tensor<4xf32>
  %0 = lumen.constant dense<1.0> : tensor<4xf32>
  // CHECK: lumen.constant #lumen.blob<3, 0, 64> : tensor<4x4xf32>
  %1 = lumen.constant #lumen.blob<3, 0, 64> : tensor<4x4xf32>
  // CHECK: lumen.unary <roundeven> %arg0 : tensor<8xf32> -> tensor<8xf32>
  %2 = lumen.unary <roundeven> %x : tensor<8xf32> -> tensor<8xf32>
  // CHECK: lumen.unary <isnan> %arg0 : tensor<8xf32> -> tensor<8xi1>
  %3 = lumen.unary <isnan> %x : tensor<8xf32> -> tensor<8xi1>
  // CHECK: lumen.binary <add> %arg0, %arg0 : tensor<8xf32>
  %4 = lumen.binary <add> %x, %x : tensor<8xf32>
  // CHECK: lumen.compare <ge> %arg0, %arg0 : tensor<8xf32> -> tensor<8xi1>
  %5 = lumen.compare <ge> %x, %x : tensor<8xf32> -> tensor<8xi1>
  // CHECK: lumen.select %arg1, %arg0, %arg0 : tensor<8xi1>, tensor<8xf32>
  %6 = lumen.select %c, %x, %x : tensor<8xi1>, tensor<8xf32>
  // CHECK: lumen.convert %arg0 : tensor<8xf32> -> tensor<8xui8>
  %7 = lumen.convert %x : tensor<8xf32> -> tensor<8xui8>
  // CHECK: lumen.broadcast %arg0 [1] : tensor<8xf32> -> tensor<2x8x3xf32>
  %8 = lumen.broadcast %x [1] : tensor<8xf32> -> tensor<2x8x3xf32>
  // CHECK: lumen.iota {axis = 1 : i64} : tensor<4x8xi64>
  %9 = lumen.iota {axis = 1 : i64} : tensor<4x8xi64>
  return
}

// CHECK-LABEL: func.func @roots
func.func @roots(%x: tensor<1x8x8x64xf32>, %w: tensor<3x3x32x96xf32>, %p: tensor<2x64x64xf32>, %m: tensor<4x64xf32>) {
  // CHECK: lumen.conv %arg0, %arg1 {{.*}}groups = 2 : i64{{.*}} -> tensor<1x6x6x96xf32>
  %0 = lumen.conv %x, %w {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 2 : i64} : tensor<1x8x8x64xf32>, tensor<3x3x32x96xf32> -> tensor<1x6x6x96xf32>
  // CHECK: lumen.contract %arg3, %arg2 packed : tensor<4x64xf32>, tensor<2x64x64xf32> -> tensor<4x100xf32>
  %1 = lumen.contract %m, %p packed : tensor<4x64xf32>, tensor<2x64x64xf32> -> tensor<4x100xf32>
  // CHECK: lumen.contract %arg3, %arg3 transpose_rhs : tensor<4x64xf32>, tensor<4x64xf32> -> tensor<4x4xf32>
  %2 = lumen.contract %m, %m transpose_rhs : tensor<4x64xf32>, tensor<4x64xf32> -> tensor<4x4xf32>
  // CHECK: lumen.window <max> %arg3 {{.*}} -> tensor<3x32xf32>
  %3 = lumen.window <max> %m {window = array<i64: 2, 2>, strides = array<i64: 1, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<4x64xf32> -> tensor<3x32xf32>
  // CHECK: lumen.reduce <prod> %arg3 [1] : tensor<4x64xf32> -> tensor<4xf32>
  %4 = lumen.reduce <prod> %m [1] : tensor<4x64xf32> -> tensor<4xf32>
  // CHECK: lumen.softmax %arg3 {axis = 1 : i64, log} : tensor<4x64xf32>
  %5 = lumen.softmax %m {axis = 1 : i64, log} : tensor<4x64xf32>
  // CHECK: lumen.norm <rms> %arg3 {axis = 1 : i64, epsilon = 1.000000e-05 : f64} : tensor<4x64xf32>
  %6 = lumen.norm <rms> %m {axis = 1 : i64, epsilon = 1.0e-5 : f64} : tensor<4x64xf32>
  return
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<4x8xf32>, %v: tensor<f32>, %i: tensor<5xi32>, %d: tensor<?x8xf32, #lumen.dims<["3*n + 1", "8"]>>) {
  // CHECK: lumen.transpose %arg0 [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %0 = lumen.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK: lumen.reshape %arg0 : tensor<4x8xf32> -> tensor<32xf32>
  %1 = lumen.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK: lumen.slice %arg0 [3, 0] [-1, 2] : tensor<4x8xf32> -> tensor<4x4xf32>
  %2 = lumen.slice %x [3, 0] [-1, 2] : tensor<4x8xf32> -> tensor<4x4xf32>
  // CHECK: lumen.concat %arg0, %arg0 {axis = 1 : i64} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
  %3 = lumen.concat %x, %x {axis = 1 : i64} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
  // CHECK: lumen.pad <edge> %arg0, %arg1 [1, 0] [0, -2] : tensor<4x8xf32>, tensor<f32> -> tensor<5x6xf32>
  %4 = lumen.pad <edge> %x, %v [1, 0] [0, -2] : tensor<4x8xf32>, tensor<f32> -> tensor<5x6xf32>
  // CHECK: lumen.gather %arg0, %arg2 {axis = 1 : i64} : tensor<4x8xf32>, tensor<5xi32> -> tensor<4x5xf32>
  %5 = lumen.gather %x, %i {axis = 1 : i64} : tensor<4x8xf32>, tensor<5xi32> -> tensor<4x5xf32>
  // CHECK: lumen.unary <relu> %arg3 : tensor<?x8xf32, #lumen.dims<["3*n + 1", "8"]>>
  %6 = lumen.unary <relu> %d : tensor<?x8xf32, #lumen.dims<["3*n + 1", "8"]>> -> tensor<?x8xf32, #lumen.dims<["3*n + 1", "8"]>>
  return
}

// CHECK-LABEL: @calls
func.func @calls(%s: !lumen.seq<tensor<?x4xf32>>, %i: tensor<i64>, %o: !lumen.optional<tensor<*xf32>>, %t: tensor<?x!lumen.string, #lumen.dims<["n"]>>) {
  // CHECK: %{{.*}}:2 = lumen.call "sequence_at"(%arg0, %arg1) symbols ["m", ""] : (!lumen.seq<tensor<?x4xf32>>, tensor<i64>) -> (tensor<?x4xf32, #lumen.dims<["m", "4"]>>, tensor<2xi64>)
  %0, %extents = lumen.call "sequence_at"(%s, %i) symbols ["m", ""] : (!lumen.seq<tensor<?x4xf32>>, tensor<i64>) -> (tensor<?x4xf32, #lumen.dims<["m", "4"]>>, tensor<2xi64>)
  // CHECK: lumen.call "optional_has_element"(%arg2) : (!lumen.optional<tensor<*xf32>>) -> tensor<i1>
  %1 = lumen.call "optional_has_element"(%o) : (!lumen.optional<tensor<*xf32>>) -> tensor<i1>
  // CHECK: lumen.call "regex_full_match"(%arg3) ["a.*"] : (tensor<?x!lumen.string, #lumen.dims<["n"]>>) -> tensor<?xi1, #lumen.dims<["n"]>>
  %2 = lumen.call "regex_full_match"(%t) ["a.*"] : (tensor<?x!lumen.string, #lumen.dims<["n"]>>) -> tensor<?xi1, #lumen.dims<["n"]>>
  return
}

// Heads lie behind the rows of the query and the result, before those of the keys.
// CHECK-LABEL: @attention
func.func @attention(%q: tensor<1x7x12x64xf32>, %k: tensor<1x4x9x64xf32>, %v: tensor<1x4x9x32xf32>, %m: tensor<1x1x7x9xf32>, %p: tensor<1xi32>) -> tensor<1x7x12x32xf32> {
  // CHECK: lumen.attention %arg0 [0, 2, 1, 3], %arg1 [0, 1, 2, 3], %arg2 [0, 1, 2, 3] mask(%arg3 : tensor<1x1x7x9xf32>) first(%arg4 : tensor<1xi32>) to [0, 2, 1, 3] {scale = 1.250000e-01 : f64, softcap = 2.000000e+00 : f64}
  %0 = lumen.attention %q [0, 2, 1, 3], %k [0, 1, 2, 3], %v [0, 1, 2, 3] mask(%m : tensor<1x1x7x9xf32>) first(%p : tensor<1xi32>) to [0, 2, 1, 3] {scale = 0.125 : f64, softcap = 2.0 : f64} : tensor<1x7x12x64xf32>, tensor<1x4x9x64xf32>, tensor<1x4x9x32xf32> -> tensor<1x7x12x32xf32>
  return %0 : tensor<1x7x12x32xf32>
}
