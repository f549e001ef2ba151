// RUN: lumen-opt %s --lumen-gpu-build --lumen-hip-lower | FileCheck %s

// Workgroup memory is a variable of its own space; the threads of a workgroup wait for each
// other, and know their number.

// CHECK: llvm.mlir.global internal @total_shared0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x f32>
// CHECK: llvm.func @total
// CHECK-SAME: rocdl.flat_work_group_size = "64,64", rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 64, 1, 1>
// CHECK: rocdl.workgroup.id.x
// CHECK: rocdl.workitem.id.x
// CHECK: rocdl.barrier
dispatch.kernel @total(%x: tensor<1000xf32>) -> tensor<f32> {
  %0 = lumen.reduce <sum> %x [0] : tensor<1000xf32> -> tensor<f32>
  dispatch.yield %0 : tensor<f32>
}
