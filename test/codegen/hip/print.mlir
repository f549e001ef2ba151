// RUN: lumen-opt %s --lumen-gpu-build --lumen-hip-print | FileCheck %s --check-prefixes=CHECK,CHIP
// RUN: lumen-opt %s --lumen-gpu-build "--lumen-hip-print=level=gfx11-generic" | FileCheck %s --check-prefixes=CHECK,FAMILY

// A chip, or a generation of them, which wants a newer form of code objects. The launch brings
// the kernel's arguments and nothing else, and the machine rounds each operation as IEEE 754
// says, denormal numbers included.

// CHIP: .amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
// CHIP: .amdhsa_code_object_version 5
// FAMILY: .amdgcn_target "amdgcn-amd-amdhsa--gfx11-generic"
// FAMILY: .amdhsa_code_object_version 6
// CHECK: scale:
// CHECK-NOT: fma
// CHECK: v_mul_f32
// CHECK-NOT: fma
// CHECK: v_add_f32
// CHECK: global_store
// CHECK: .amdhsa_kernarg_size 32
// CHECK: .amdhsa_float_denorm_mode_32 3
// CHECK: amdhsa.kernels:
// CHECK-NOT: hidden
// CHECK: .max_flat_workgroup_size: 64
// CHECK: .reqd_workgroup_size:
// CHECK-NEXT: - 64
// CHECK: .sgpr_spill_count: 0
// CHECK: .vgpr_spill_count: 0
dispatch.kernel @scale(%x: tensor<64x4xf32>, %y: tensor<4xf32>) -> tensor<64x4xf32> {
  %0 = lumen.broadcast %y [1] : tensor<4xf32> -> tensor<64x4xf32>
  %1 = lumen.binary <mul> %x, %0 : tensor<64x4xf32>
  %2 = lumen.binary <add> %1, %0 : tensor<64x4xf32>
  dispatch.yield %2 : tensor<64x4xf32>
}
