// RUN: lumen-opt %s --split-input-file --lumen-gpu-build | FileCheck %s

// Tiles of 32 x 32 pass through shared memory, 32 steps of depth at a time, as vectors of
// neighbouring rows or columns; a unit is a tile, and its workgroup of 64 threads has 16 sums
// each. Where the operands begin at a multiple of a vector, squares of the left one are read
// along the depth and turned, and lines of the right one are read as they are; else elements
// are, one by one.

// CHECK-LABEL: gpu.module @tiled
// CHECK-SAME: lumen.grid = "12"
// CHECK-SAME: lumen.units_per_workgroup = 1
// CHECK: memref<?xvector<4xf32>> {lumen.binding = 0 : i32}, %{{.*}}: memref<?xvector<4xf32>> {lumen.binding = 1 : i32}
// CHECK-SAME: workgroup(%[[A:.*]] : memref<288xvector<4xf32>, #gpu.address_space<workgroup>>, %[[B:.*]] : memref<288xvector<4xf32>, #gpu.address_space<workgroup>>)
// CHECK: %[[LEFT:.*]] = arith.cmpi eq
// CHECK: %[[RIGHT:.*]] = arith.cmpi eq
// CHECK: scf.if %[[LEFT]]
// CHECK-COUNT-4: memref.load %{{.*}} : memref<?xvector<4xf32>>
// CHECK-COUNT-4: memref.store %{{.*}}, %[[A]]
// CHECK: else
// CHECK-COUNT-4: memref.load %{{.*}} : memref<?xf32>
// CHECK: memref.store %{{.*}}, %[[A]]
// CHECK: scf.if %[[RIGHT]]
// CHECK: memref.load %{{.*}} : memref<?xvector<4xf32>>
// CHECK: memref.store %{{.*}}, %[[B]]
// CHECK: gpu.barrier
// CHECK-COUNT-16: math.fma {{.*}} : vector<4xf32>
// CHECK: gpu.barrier
// CHECK-COUNT-16: memref.store {{.*}} : memref<?xf32>
dispatch.kernel @tiled(%a: tensor<100x64xf32>, %b: tensor<2x64x64xf32>) -> tensor<100x72xf32> {
  %0 = lumen.contract %a, %b packed : tensor<100x64xf32>, tensor<2x64x64xf32> -> tensor<100x72xf32>
  dispatch.yield %0 : tensor<100x72xf32>
}

// -----

// Tiles of few rows would be padding: a thread for each element.

// CHECK-LABEL: gpu.module @row
// CHECK-SAME: lumen.grid = "72"
// CHECK-NOT: gpu.barrier
// CHECK: math.fma
dispatch.kernel @row(%a: tensor<1x64xf32>, %b: tensor<2x64x64xf32>) -> tensor<1x72xf32> {
  %0 = lumen.contract %a, %b packed : tensor<1x64xf32>, tensor<2x64x64xf32> -> tensor<1x72xf32>
  dispatch.yield %0 : tensor<1x72xf32>
}

// -----

// A convolution is the same product: rows are positions, and padding is 0.

// CHECK-LABEL: gpu.module @image
// CHECK-SAME: lumen.grid = "2"
// CHECK: scf.if
// CHECK: gpu.barrier
dispatch.kernel @image(%x: tensor<1x8x8x4xf32>, %w: tensor<1x1x36x64xf32>) -> tensor<1x8x8x16xf32> {
  %0 = lumen.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, packed, pad_high = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, strides = array<i64: 1, 1>, window = array<i64: 3, 3>} : tensor<1x8x8x4xf32>, tensor<1x1x36x64xf32> -> tensor<1x8x8x16xf32>
  dispatch.yield %0 : tensor<1x8x8x16xf32>
}
