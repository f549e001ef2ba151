// RUN: lumen-opt --lumen-cpu-build=level=x86-64-v4+vnni %s | FileCheck %s
// RUN: lumen-opt --lumen-cpu-build=level=x86-64-v4 %s | FileCheck %s --check-prefix=PAIRS

// Bytes are multiplied four at a time where there is an instruction for it, else in
// pairs, of the same packed operand.

dispatch.kernel @unsigned(%a: tensor<6x64xui8>, %b: tensor<1x16x64x4xi8>) -> tensor<6x64xi32> {
  %0 = lumen.contract %a, %b packed : tensor<6x64xui8>, tensor<1x16x64x4xi8> -> tensor<6x64xi32>
  dispatch.yield %0 : tensor<6x64xi32>
}

// CHECK: func.func private @tile_ui8_i8_6x4x16
// CHECK-COUNT-24: vpdpbusd.512
// CHECK-NOT: vpdpbusd
// PAIRS-NOT: vpdpbusd
// PAIRS: pmaddw.d.512

// Of signs on both sides, the left ones are flipped; a row of sums holds the difference.

dispatch.kernel @signed(%a: tensor<5x64xi8>, %b: tensor<1x16x64x4xi8>) -> tensor<5x64xi32> {
  %0 = lumen.contract %a, %b packed : tensor<5x64xi8>, tensor<1x16x64x4xi8> -> tensor<5x64xi32>
  dispatch.yield %0 : tensor<5x64xi32>
}

// CHECK: func.func private @tile_i8_i8_5x4x16
// CHECK-COUNT-5: arith.xori
// CHECK-NOT: arith.xori
// CHECK-COUNT-20: arith.subi {{.*}} vector<16xi32>
