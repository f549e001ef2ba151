// RUN: lumen-opt --lumen-cpu-build=level=x86-64-v4 %s | FileCheck %s
// RUN: lumen-opt --lumen-cpu-build=level=x86-64-v3 %s | FileCheck %s --check-prefix=V3

// An output row of 14 is tiled evenly; only the tiles at its ends may read the
// zeros that stand for the border. A heavy epilogue is a loop of the kernel.

dispatch.kernel @k(%x: tensor<1x14x14x32xf32>, %w: tensor<1x1x288x64xf32>) -> tensor<1x14x14x64xf32> {
  %0 = lumen.conv %x, %w {window = array<i64: 3, 3>, strides = array<i64: 1, 1>,
    dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>,
    groups = 1 : i64, packed} : tensor<1x14x14x32xf32>, tensor<1x1x288x64xf32> -> tensor<1x14x14x64xf32>
  %1 = lumen.unary <sigmoid> %0 : tensor<1x14x14x64xf32> -> tensor<1x14x14x64xf32>
  dispatch.yield %1 : tensor<1x14x14x64xf32>
}

// CHECK-LABEL: func.func @"k.x86-64-v4"
// CHECK: call @tile_f32_5x4x16_2b_raw
// CHECK: math.exp
// CHECK: call @tile_f32_5x4x16_1_raw
// CHECK: call @tile_f32_4x4x16_2b_raw

// V3-LABEL: func.func @"k.x86-64-v3"
// V3: call @tile_f32_5x2x8_2b_raw
