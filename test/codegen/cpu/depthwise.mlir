// RUN: lumen-opt --lumen-cpu-build=level=x86-64-v4 %s | FileCheck %s

// Seven outputs of a row have three taps each, of which the two at the ends do
// not meet the input: 7 * 3 - 2 multiply-adds.

dispatch.kernel @k(%x: tensor<1x7x7x32xf32>, %w: tensor<9x32xf32>) -> tensor<1x7x7x32xf32> {
  %0 = lumen.conv %x, %w {window = array<i64: 3, 3>, strides = array<i64: 1, 1>,
    dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>,
    groups = 32 : i64, packed} : tensor<1x7x7x32xf32>, tensor<9x32xf32> -> tensor<1x7x7x32xf32>
  dispatch.yield %0 : tensor<1x7x7x32xf32>
}

// CHECK: func.func private @depthwise_f32_7x16_3s1d1_1_8
// CHECK-COUNT-19: vector.fma
// CHECK-NOT: vector.fma
