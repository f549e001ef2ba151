// RUN: not lumen-opt %s --lumen-gpu-build --lumen-ptx-lower 2>&1 | FileCheck %s

// Devices have no exponential of doubles: the host computes it.

// CHECK: error: exp of f64 has no instruction
dispatch.kernel @k(%x: tensor<64xf64>) -> tensor<64xf64> {
  %0 = lumen.unary <exp> %x : tensor<64xf64> -> tensor<64xf64>
  dispatch.yield %0 : tensor<64xf64>
}
