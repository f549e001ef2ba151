// RUN: lumen-opt %s --split-input-file --lumen-gpu-build | FileCheck %s

// All of a short row is ordered in shared memory, by workgroups of which each has a row.

// CHECK-LABEL: gpu.module @sort
// CHECK-SAME: lumen.grid = "3"
// CHECK-SAME: lumen.units_per_workgroup = 1
// CHECK: workgroup(%{{.*}} : memref<128xf32, {{.*}}>, %{{.*}} : memref<128xi32, {{.*}}>)
dispatch.kernel @sort(%x: tensor<3x100xf32>) -> (tensor<3x5xf32>, tensor<3x5xi64>) {
  %0, %1 = lumen.sort %x {axis = 1 : i64} : tensor<3x100xf32> -> tensor<3x5xf32>, tensor<3x5xi64>
  dispatch.yield %0, %1 : tensor<3x5xf32>, tensor<3x5xi64>
}

// -----

// Of a row of which too much is wanted, each thread ranks an element.

// CHECK-LABEL: gpu.module @rank
// CHECK-SAME: lumen.grid = "120"
// CHECK: workgroup(%{{.*}} : memref<2048xf32, {{[^>]*>}}>)
// CHECK-NOT: scf.while
dispatch.kernel @rank(%x: tensor<3x5000xf32>) -> (tensor<3x5000xf32>, tensor<3x5000xi64>) {
  %0, %1 = lumen.sort %x {axis = 1 : i64} : tensor<3x5000xf32> -> tensor<3x5000xf32>, tensor<3x5000xi64>
  dispatch.yield %0, %1 : tensor<3x5000xf32>, tensor<3x5000xi64>
}

// -----

// A row of the batch for each workgroup; the state and the product are shared.

// CHECK-LABEL: gpu.module @cell
// CHECK-SAME: lumen.grid = "2"
// CHECK-SAME: lumen.scratch = 0
// CHECK-SAME: lumen.units_per_workgroup = 1
// CHECK: workgroup(%{{.*}} : memref<8xf32, {{.*}}>, %{{.*}} : memref<64xf32, {{.*}}>)
// CHECK: math.fma
// CHECK: gpu.barrier
// CHECK: math.tanh
// CHECK: gpu.barrier
dispatch.kernel @cell(%x: tensor<9x2x8xf32>, %r: tensor<1x8x64xf32>, %h0: tensor<2x8xf32>) -> (tensor<9x2x8xf32>, tensor<2x8xf32>) {
  %y, %h = lumen.recurrence %x params(%r) states(%h0)
      : tensor<9x2x8xf32>, (tensor<1x8x64xf32>), (tensor<2x8xf32>)
      -> tensor<9x2x8xf32>, tensor<2x8xf32> {
  ^bb0(%a: tensor<8xf32>, %p: tensor<1x8x64xf32>, %b: tensor<8xf32>):
    %0 = lumen.reshape %b : tensor<8xf32> -> tensor<1x8xf32>
    %1 = lumen.contract %0, %p packed : tensor<1x8xf32>, tensor<1x8x64xf32> -> tensor<1x8xf32>
    %2 = lumen.reshape %1 : tensor<1x8xf32> -> tensor<8xf32>
    %3 = lumen.binary <add> %a, %2 : tensor<8xf32>
    %4 = lumen.unary <tanh> %3 : tensor<8xf32> -> tensor<8xf32>
    lumen.yield %4 sizes [] : tensor<8xf32>
  }
  dispatch.yield %y, %h : tensor<9x2x8xf32>, tensor<2x8xf32>
}

// -----

// Each thread owns an element of the result and looks for updates of it.

// CHECK-LABEL: gpu.module @scatter
// CHECK-SAME: lumen.grid = "40"
// CHECK-SAME: lumen.units_per_workgroup = 64
dispatch.kernel @scatter(%x: tensor<8x5xf32>, %u: tensor<3x5xf32>, %i: tensor<3xi64>) -> tensor<8x5xf32> {
  %0 = lumen.scatter <add> %x, %u (%i) [-1, 1] : tensor<8x5xf32>, tensor<3x5xf32>, (tensor<3xi64>) -> tensor<8x5xf32>
  dispatch.yield %0 : tensor<8x5xf32>
}
