// RUN: lumen-opt --lumen-cpu-build=level=x86-64-v4 %s | FileCheck %s

// A light epilogue is part of the micro-kernel, which kernels of other sizes
// share: rows of both are split into tiles of 6 and 5.

dispatch.kernel @a(%a: tensor<56x64xf32>, %b: tensor<2x64x64xf32>, %c: tensor<128xf32>) -> tensor<56x128xf32> {
  %0 = lumen.contract %a, %b packed : tensor<56x64xf32>, tensor<2x64x64xf32> -> tensor<56x128xf32>
  %1 = lumen.broadcast %c [1] : tensor<128xf32> -> tensor<56x128xf32>
  %2 = lumen.binary <add> %0, %1 : tensor<56x128xf32>
  %3 = lumen.unary <relu> %2 : tensor<56x128xf32> -> tensor<56x128xf32>
  dispatch.yield %3 : tensor<56x128xf32>
}

dispatch.kernel @b(%a: tensor<28x32xf32>, %b: tensor<1x32x64xf32>, %c: tensor<64xf32>) -> tensor<28x64xf32> {
  %0 = lumen.contract %a, %b packed : tensor<28x32xf32>, tensor<1x32x64xf32> -> tensor<28x64xf32>
  %1 = lumen.broadcast %c [1] : tensor<64xf32> -> tensor<28x64xf32>
  %2 = lumen.binary <add> %0, %1 : tensor<28x64xf32>
  %3 = lumen.unary <relu> %2 : tensor<28x64xf32> -> tensor<28x64xf32>
  dispatch.yield %3 : tensor<28x64xf32>
}

// CHECK-LABEL: func.func @"a.x86-64-v4"
// CHECK: call @[[SIX:tile_f32_6x4x16_0_[0-9a-f]+]](
// CHECK: call @[[FIVE:tile_f32_5x4x16_0_[0-9a-f]+]](
// CHECK: func.func private @[[SIX]]
// CHECK-COUNT-24: vector.fma
// CHECK-NOT: vector.fma
// CHECK: func.func private @[[FIVE]]
// CHECK-LABEL: func.func @"b.x86-64-v4"
// CHECK: call @[[SIX]](
// CHECK: call @[[FIVE]](
