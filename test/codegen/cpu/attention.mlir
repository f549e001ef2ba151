// RUN: lumen-opt --lumen-cpu-build=level=x86-64-v4 %s | FileCheck %s

// Scores are keys by queries, from keys that are read in place; 40 queries of a head are one
// block of 64 columns. The sums of the second product go on from block to block.
// CHECK-LABEL: func.func @"plain.x86-64-v4"
// CHECK-SAME: lumen.grid = 2 : i64
// CHECK-NOT: vector.gather
// CHECK: call @[[KEYS:tile_f32_6x4x16_0r_raw]](
// CHECK: math.exp
// CHECK: call @[[VALUES:tile_f32_[0-9]+x4x16_0ars_raw]](
// CHECK: func.func private @[[KEYS]]
dispatch.kernel @plain(%q: tensor<1x40x2x64xf32>, %k: tensor<1x300x2x64xf32>) -> tensor<1x40x2x64xf32> {
  %0 = lumen.attention %q [0, 2, 1, 3], %k [0, 2, 1, 3], %k [0, 2, 1, 3] to [0, 2, 1, 3] {scale = 0.125 : f64} : tensor<1x40x2x64xf32>, tensor<1x300x2x64xf32>, tensor<1x300x2x64xf32> -> tensor<1x40x2x64xf32>
  dispatch.yield %0 : tensor<1x40x2x64xf32>
}

// The one query of each of four heads that share keys is a lane of one vector, and the mask of
// all of them is a scalar.
// CHECK-LABEL: func.func @"word.x86-64-v4"
// CHECK-SAME: lumen.grid = 2 : i64
// CHECK: call @tile_f32_{{(upto)?}}14x1x16_0r_raw(
// CHECK: memref.load
// CHECK: arith.cmpi slt
// CHECK: math.exp
dispatch.kernel @word(%q: tensor<1x8x1x64xf32>, %k: tensor<1x2x300x64xf32>, %m: tensor<1x1x1x300xf32>, %p: tensor<i32>) -> tensor<1x8x1x64xf32> {
  %0 = lumen.attention %q [0, 1, 2, 3], %k [0, 1, 2, 3], %k [0, 1, 2, 3] mask(%m : tensor<1x1x1x300xf32>) first(%p : tensor<i32>) to [0, 1, 2, 3] {scale = 0.125 : f64} : tensor<1x8x1x64xf32>, tensor<1x2x300x64xf32>, tensor<1x2x300x64xf32> -> tensor<1x8x1x64xf32>
  dispatch.yield %0 : tensor<1x8x1x64xf32>
}

// Numbers for each query and key are transposed in registers.
// CHECK-LABEL: func.func @"masked.x86-64-v4"
// CHECK-NOT: vector.gather
// CHECK: vector.shuffle
// CHECK: math.exp
dispatch.kernel @masked(%q: tensor<1x2x40x64xf32>, %k: tensor<1x2x300x64xf32>, %m: tensor<1x1x40x300xf32>) -> tensor<1x2x40x64xf32> {
  %0 = lumen.attention %q [0, 1, 2, 3], %k [0, 1, 2, 3], %k [0, 1, 2, 3] mask(%m : tensor<1x1x40x300xf32>) to [0, 1, 2, 3] {scale = 0.125 : f64} : tensor<1x2x40x64xf32>, tensor<1x2x300x64xf32>, tensor<1x2x300x64xf32> -> tensor<1x2x40x64xf32>
  dispatch.yield %0 : tensor<1x2x40x64xf32>
}
