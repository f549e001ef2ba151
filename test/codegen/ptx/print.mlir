// RUN: lumen-opt %s --lumen-gpu-build --lumen-ptx-print | FileCheck %s --check-prefixes=CHECK,OLD
// RUN: lumen-opt %s --lumen-gpu-build "--lumen-ptx-print=level=sm_90a" | FileCheck %s --check-prefixes=CHECK,NEW

// The oldest version that knows the level, which old drivers read. Operands come through the
// read-only cache, unless the result may lie over them, and the machine rounds each operation
// as IEEE 754 says.

// OLD: .version 6.3
// OLD: .target sm_75
// NEW: .version 8.0
// NEW: .target sm_90a
// CHECK: .visible .entry scale(
// CHECK: .param .u64 .ptr .global .align 16 scale_param_0
// CHECK: .reqntid 64, 1, 1
// CHECK: ld.global.nc
// CHECK-NOT: fma
// CHECK: mul.rn.f32
// CHECK-NOT: fma
// CHECK: add.rn.f32
// CHECK: st.global
dispatch.kernel @scale(%x: tensor<64x4xf32>, %y: tensor<4xf32>) -> tensor<64x4xf32> {
  %0 = lumen.broadcast %y [1] : tensor<4xf32> -> tensor<64x4xf32>
  %1 = lumen.binary <mul> %x, %0 : tensor<64x4xf32>
  %2 = lumen.binary <add> %1, %0 : tensor<64x4xf32>
  dispatch.yield %2 : tensor<64x4xf32>
}
