// RUN: lumen-opt %s --split-input-file --lumen-gpu-build --lumen-ptx-lower | FileCheck %s

// Arguments are pointers, in the order of the bindings: operands and results, parameters.
// What may lie over something else is not called distinct.

// CHECK-LABEL: module @add
// CHECK: llvm.func @add
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.readonly},
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly},
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr<1> {llvm.align = 16 : i64},
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly})
// CHECK-SAME: nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: nvvm.read.ptx.sreg.tid.x
// CHECK: llvm.fadd
dispatch.kernel @add(%x: tensor<64x4xf32>, %y: tensor<4xf32>) -> tensor<64x4xf32> {
  %0 = lumen.broadcast %y [1] : tensor<4xf32> -> tensor<64x4xf32>
  %1 = lumen.binary <add> %x, %0 : tensor<64x4xf32>
  dispatch.yield %1 : tensor<64x4xf32>
}

// -----

// Workgroup memory is a variable; numbers of elements have 32 bits. Registers are for tiles: no
// more than 512 threads need to be there at a time.

// CHECK-LABEL: module @total
// CHECK: llvm.mlir.global internal @total_shared0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x f32>
// CHECK: llvm.func @total
// CHECK-SAME: nvvm.minctasm = 6 : i32
// CHECK: llvm.getelementptr inbounds %{{.*}}[%{{.*}}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
// CHECK: nvvm.barrier
dispatch.kernel @total(%x: tensor<1000xf32>) -> tensor<f32> {
  %0 = lumen.reduce <sum> %x [0] : tensor<1000xf32> -> tensor<f32>
  dispatch.yield %0 : tensor<f32>
}

// -----

// Functions without an instruction are computed, in f64; no vendor's library is called.

// CHECK-LABEL: module @wave
// CHECK: llvm.func @wave
// CHECK-NOT: llvm.call
// CHECK: llvm.fpext %{{.*}} : f32 to f64
// CHECK: llvm.fptrunc %{{.*}} : f64 to f32
// CHECK-NOT: llvm.call
// CHECK: llvm.return
dispatch.kernel @wave(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = lumen.unary <sin> %x : tensor<64xf32> -> tensor<64xf32>
  dispatch.yield %0 : tensor<64xf32>
}

// -----

// A fault is told in the last argument, by the thread that comes first.

// CHECK-LABEL: module @pick
// CHECK: llvm.func @pick
// CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} monotonic : !llvm.ptr<1>, i32
dispatch.kernel @pick(%x: tensor<8xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
  %0 = lumen.gather %x, %i {axis = 0 : i64} : tensor<8xf32>, tensor<4xi64> -> tensor<4xf32>
  dispatch.yield %0 : tensor<4xf32>
}
