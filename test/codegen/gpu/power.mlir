// RUN: lumen-opt %s --lumen-gpu-build --lumen-gpu-simplify | FileCheck %s --check-prefix=DOUBLES
// RUN: lumen-opt %s --lumen-gpu-build --lumen-gpu-simplify=doubles=false | FileCheck %s --check-prefix=SINGLE

// A power is computed in f64 where a device has it, and is the device's own function
// elsewhere.

// DOUBLES-NOT: math.powf
// DOUBLES: arith.mulf {{.*}} : f64
// SINGLE-NOT: f64
// SINGLE: math.powf {{.*}} : f32
// SINGLE-NOT: f64
dispatch.kernel @power(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %0 = lumen.binary <pow> %x, %y : tensor<64xf32>
  dispatch.yield %0 : tensor<64xf32>
}
