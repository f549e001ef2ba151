// RUN: not lumen-opt %s --split-input-file --lumen-gpu-build 2>&1 | FileCheck %s

// Kernels of GPUs count in 32 bits, at the bytes of a large table too: the host runs it.

// CHECK: error: counts to 3000000000, which is too far for a kernel of a GPU
dispatch.kernel @far(%x: tensor<3000000000xi8>, %i: tensor<2xi32>) -> tensor<2xi8> {
  %0 = lumen.gather %x, %i {axis = 0 : i64} : tensor<3000000000xi8>, tensor<2xi32> -> tensor<2xi8>
  dispatch.yield %0 : tensor<2xi8>
}

// -----

// What is only counted inside of the kernel counts too.

// CHECK: error: counts to 2500000000
dispatch.kernel @inside(%x: tensor<50000xf32>) -> tensor<f32> {
  %0 = lumen.broadcast %x [1] : tensor<50000xf32> -> tensor<50000x50000xf32>
  %1 = lumen.reduce <sum> %0 [0, 1] : tensor<50000x50000xf32> -> tensor<f32>
  dispatch.yield %1 : tensor<f32>
}
