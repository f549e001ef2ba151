// RUN: lumen-opt %s --split-input-file --lumen-cpu-build | FileCheck %s

// Along the rows: four sums in flight, combined in a tree of halves.

// CHECK-LABEL: func.func @"inner.x86-64-v4"
// CHECK: scf.for {{.*}} iter_args(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: arith.addf {{.*}} : vector<16xf32>
// CHECK: vector.shuffle {{.*}}[0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: memref.store
dispatch.kernel @inner(%x: tensor<8x128xf32>) -> tensor<8xf32> {
  %0 = lumen.reduce <sum> %x [1] : tensor<8x128xf32> -> tensor<8xf32>
  dispatch.yield %0 : tensor<8xf32>
}

// -----

// Along the columns: each lane is a sum of its own, and the epilogue is a vector.

// CHECK-LABEL: func.func @"outer.x86-64-v4"
// CHECK: scf.for {{.*}} iter_args
// CHECK-NOT: vector.shuffle
// CHECK: arith.mulf {{.*}} : vector<16xf32>
// CHECK: vector.store
dispatch.kernel @outer(%x: tensor<1x7x7x64xf32>) -> tensor<1x64xf32> {
  %0 = lumen.reduce <sum> %x [1, 2] : tensor<1x7x7x64xf32> -> tensor<1x64xf32>
  %1 = lumen.constant dense<0.02> : tensor<1x64xf32>
  %2 = lumen.binary <mul> %0, %1 : tensor<1x64xf32>
  dispatch.yield %2 : tensor<1x64xf32>
}

// -----

// A softmax reads its operand once and keeps the row in scratch.

// CHECK-LABEL: func.func @"softmax.x86-64-v4"
// CHECK-SAME: lumen.scratch = 256
// CHECK: vector.load
// CHECK: vector.store
// CHECK: math.exp
// CHECK: arith.divf {{.*}} : f32
// CHECK: arith.mulf
dispatch.kernel @softmax(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %0 = lumen.softmax %x {axis = 1 : i64} : tensor<4x64xf32>
  dispatch.yield %0 : tensor<4x64xf32>
}

// -----

// Windows visit only the taps that lie inside: the loops have computed bounds.

// CHECK-LABEL: func.func @"pool.x86-64-v4"
// CHECK: %[[LOW:.*]] = arith.maxsi
// CHECK: %[[HIGH:.*]] = arith.minsi
// CHECK: scf.for {{.*}} iter_args(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) ->
// CHECK: scf.for
// CHECK-COUNT-4: arith.maximumf
dispatch.kernel @pool(%x: tensor<1x8x8x64xf32>) -> tensor<1x4x4x64xf32> {
  %0 = lumen.window <max> %x {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>,
    dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 1, 1, 0>,
    pad_high = array<i64: 0, 1, 1, 0>} : tensor<1x8x8x64xf32> -> tensor<1x4x4x64xf32>
  dispatch.yield %0 : tensor<1x4x4x64xf32>
}
