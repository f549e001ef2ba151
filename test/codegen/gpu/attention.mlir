// RUN: lumen-opt %s --split-input-file --lumen-gpu-build | FileCheck %s

// A workgroup takes 32 of the 40 queries of a head; keys and values share memory, and no line of
// the 300 scores of a query is anywhere.

// CHECK-LABEL: gpu.module @plain
// CHECK-SAME: lumen.grid = "4"
// CHECK-SAME: lumen.scratch = 0
// CHECK-SAME: lumen.units_per_workgroup = 1
// CHECK: workgroup(%{{.*}} : memref<2080xf32, {{.*}}>, %{{.*}} : memref<1040xf32, {{.*}}>, %{{.*}} : memref<544xf32, {{.*}}>, %{{.*}} : memref<256xf32, {{.*}}>)
// CHECK: math.fma
// CHECK: gpu.barrier
// CHECK: math.exp
// CHECK: math.fma
dispatch.kernel @plain(%q: tensor<1x40x2x64xf32>, %k: tensor<1x300x2x64xf32>) -> tensor<1x40x2x64xf32> {
  %0 = lumen.attention %q [0, 2, 1, 3], %k [0, 2, 1, 3], %k [0, 2, 1, 3] to [0, 2, 1, 3] {scale = 0.125 : f64} : tensor<1x40x2x64xf32>, tensor<1x300x2x64xf32>, tensor<1x300x2x64xf32> -> tensor<1x40x2x64xf32>
  dispatch.yield %0 : tensor<1x40x2x64xf32>
}

// -----

// The queries of the four heads that share keys are one tile of four rows, and 16 threads stand
// along the keys.

// CHECK-LABEL: gpu.module @word
// CHECK-SAME: lumen.grid = "2"
// CHECK: workgroup(%{{.*}} : memref<260xf32, {{.*}}>, %{{.*}} : memref<{{.*}}xf32, {{.*}}>, %{{.*}} : memref<132xf32, {{.*}}>, %{{.*}} : memref<64xf32, {{.*}}>)
dispatch.kernel @word(%q: tensor<1x8x1x64xf32>, %k: tensor<1x2x300x64xf32>) -> tensor<1x8x1x64xf32> {
  %0 = lumen.attention %q [0, 1, 2, 3], %k [0, 1, 2, 3], %k [0, 1, 2, 3] to [0, 1, 2, 3] {scale = 0.125 : f64} : tensor<1x8x1x64xf32>, tensor<1x2x300x64xf32>, tensor<1x2x300x64xf32> -> tensor<1x8x1x64xf32>
  dispatch.yield %0 : tensor<1x8x1x64xf32>
}

// -----

// Of values whose length only the run knows, each thread computes a row of its own.

// CHECK-LABEL: gpu.module @unknown
// CHECK-SAME: lumen.units_per_workgroup = 64
// CHECK-NOT: gpu.barrier
!q = tensor<1x2x40x?xf32, #lumen.dims<["1", "2", "40", "n"]>>
dispatch.kernel @unknown(%q: !q) -> !q attributes {dispatch.sizes = ["n"]} {
  %0 = lumen.attention %q [0, 1, 2, 3], %q [0, 1, 2, 3], %q [0, 1, 2, 3] to [0, 1, 2, 3] {scale = 0.125 : f64} : !q, !q, !q -> !q
  dispatch.yield %0 : !q
}
