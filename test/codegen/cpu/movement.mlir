// RUN: lumen-opt %s --split-input-file --lumen-cpu-build | FileCheck %s

// A transpose moves square tiles through registers: whole rows are read and
// written, four rounds of exchanges lie between.

// CHECK-LABEL: func.func @"transpose.x86-64-v4"
// CHECK-SAME: lumen.grid = 4
// CHECK-COUNT-16: vector.load
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store
// CHECK-NOT: vector.gather
dispatch.kernel @transpose(%x: tensor<32x64xf32>) -> tensor<64x32xf32> {
  %0 = lumen.transpose %x [1, 0] : tensor<32x64xf32> -> tensor<64x32xf32>
  dispatch.yield %0 : tensor<64x32xf32>
}

// -----

// Padding outside of the vector dimension is a scalar condition on the row.

// CHECK-LABEL: func.func @"pad.x86-64-v4"
// CHECK: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : index
// CHECK: %[[V:.*]] = vector.load
// CHECK: arith.select %[[IN]], %[[V]], %{{.*}} : vector<16xf32>
dispatch.kernel @pad(%x: tensor<4x32xf32>, %v: tensor<f32>) -> tensor<6x32xf32> {
  %0 = lumen.pad <constant> %x, %v [1, 0] [1, 0] : tensor<4x32xf32>, tensor<f32> -> tensor<6x32xf32>
  dispatch.yield %0 : tensor<6x32xf32>
}

// -----

// A row is picked by a scalar index, which counts from the end when negative
// and never leaves the operand.

// CHECK-LABEL: func.func @"gather.x86-64-v4"
// CHECK: memref.load %{{.*}} : memref<?xi32>
// CHECK: arith.cmpi slt
// CHECK: arith.select
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: vector.load
// CHECK: vector.store
dispatch.kernel @gather(%x: tensor<257x64xf32>, %i: tensor<5xi32>) -> tensor<5x64xf32> {
  %0 = lumen.gather %x, %i {axis = 0 : i64} : tensor<257x64xf32>, tensor<5xi32> -> tensor<5x64xf32>
  dispatch.yield %0 : tensor<5x64xf32>
}

// -----

// Reshapes at the border of a contiguous kernel leave nothing behind: a channel
// shuffle is one transpose. Its short rows are interleaved in registers and
// stored whole.

// CHECK-LABEL: func.func @"shuffle.x86-64-v4"
// CHECK-COUNT-3: vector.load
// CHECK-NOT: vector.scatter
// CHECK-COUNT-2: vector.shuffle
// CHECK: vector.store
// CHECK-NOT: arith.remui {{.*}} : vector
// CHECK: return
dispatch.kernel @shuffle(%x: tensor<1x4x48xf32>) -> tensor<1x4x48xf32> {
  %0 = lumen.reshape %x : tensor<1x4x48xf32> -> tensor<1x4x3x16xf32>
  %1 = lumen.transpose %0 [0, 1, 3, 2] : tensor<1x4x3x16xf32> -> tensor<1x4x16x3xf32>
  %2 = lumen.reshape %1 : tensor<1x4x16x3xf32> -> tensor<1x4x48xf32>
  dispatch.yield %2 : tensor<1x4x48xf32>
}
