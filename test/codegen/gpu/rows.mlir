// RUN: lumen-opt %s --split-input-file --lumen-gpu-build | FileCheck %s

// Long rows are combined by a workgroup, in a tree in shared memory.

// CHECK-LABEL: gpu.module @long
// CHECK-SAME: lumen.grid = "8"
// CHECK-SAME: lumen.units_per_workgroup = 1
// CHECK: workgroup(%[[S:.*]] : memref<64xf32, #gpu.address_space<workgroup>>)
// CHECK-COUNT-8: gpu.barrier
dispatch.kernel @long(%x: tensor<8x1000xf32>) -> tensor<8xf32> {
  %0 = lumen.reduce <sum> %x [1] : tensor<8x1000xf32> -> tensor<8xf32>
  dispatch.yield %0 : tensor<8xf32>
}

// -----

// Rows that lie across each other have a thread each.

// CHECK-LABEL: gpu.module @across
// CHECK-SAME: lumen.grid = "1000"
// CHECK-SAME: lumen.units_per_workgroup = 64
// CHECK-NOT: gpu.barrier
dispatch.kernel @across(%x: tensor<8x1000xf32>) -> tensor<1000xf32> {
  %0 = lumen.reduce <sum> %x [0] : tensor<8x1000xf32> -> tensor<1000xf32>
  dispatch.yield %0 : tensor<1000xf32>
}

// -----

// Softmax walks its row three times.

// CHECK-LABEL: gpu.module @softmax
// CHECK: math.exp
// CHECK: math.exp
// CHECK: memref.store
dispatch.kernel @softmax(%x: tensor<8x1000xf32>) -> tensor<8x1000xf32> {
  %0 = lumen.softmax %x {axis = 1 : i64} : tensor<8x1000xf32>
  dispatch.yield %0 : tensor<8x1000xf32>
}
