// Operations are grouped into kernels with one root each.
// RUN: lumen-opt %s --form-kernels --split-input-file | FileCheck %s

// Bias and activation become the epilogue of the contraction; the broadcast is
// recomputed inside.
// CHECK-LABEL: dispatch.kernel @contract_0
// CHECK-SAME:  (%[[A:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<8x16xf32>, %[[B:.*]]: tensor<16xf32>)
// CHECK-NEXT:  %[[C:.*]] = lumen.contract %[[A]], %[[W]]
// CHECK-NEXT:  %[[BB:.*]] = lumen.broadcast %[[B]] [1]
// CHECK-NEXT:  %[[S:.*]] = lumen.binary <add> %[[C]], %[[BB]]
// CHECK-NEXT:  %[[R:.*]] = lumen.unary <relu> %[[S]]
// CHECK-NEXT:  dispatch.yield %[[R]]
// CHECK:       func.func @main
// CHECK-NEXT:  %[[Y:.*]] = dispatch.launch @contract_0(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NEXT:  return %[[Y]]
func.func @main(%a: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %0 = lumen.contract %a, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %1 = lumen.broadcast %b [1] : tensor<16xf32> -> tensor<4x16xf32>
  %2 = lumen.binary <add> %0, %1 : tensor<4x16xf32>
  %3 = lumen.unary <relu> %2 : tensor<4x16xf32> -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// -----

// A value with two readers leaves its kernel; what is computed from it joins the
// kernel that reads the result.
// CHECK-LABEL: dispatch.kernel @contract_0
// CHECK-NEXT:  lumen.contract
// CHECK-NEXT:  dispatch.yield
// CHECK:       dispatch.kernel @contract_1
// CHECK-NEXT:  lumen.unary <exp>
// CHECK-NEXT:  lumen.contract
// CHECK-NEXT:  lumen.binary <add>
func.func @main(%a: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = lumen.contract %a, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %1 = lumen.unary <exp> %0 : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = lumen.contract %0, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %3 = lumen.binary <add> %1, %2 : tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// A reduction takes its producers; a convolution or contraction does not.
// CHECK-LABEL: dispatch.kernel @reduce_0
// CHECK:       lumen.binary <mul>
// CHECK:       lumen.reduce <sum>
// CHECK:       dispatch.kernel @map_0
// CHECK:       lumen.unary <relu>
// CHECK:       dispatch.kernel @contract_0
// CHECK-NEXT:  lumen.contract
func.func @main(%a: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  %0 = lumen.binary <mul> %a, %a : tensor<4x8xf32>
  %1 = lumen.reduce <sum> %0 [1] : tensor<4x8xf32> -> tensor<4xf32>
  %2 = lumen.unary <relu> %a : tensor<4x8xf32> -> tensor<4x8xf32>
  %3 = lumen.contract %2, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  return %1, %3 : tensor<4xf32>, tensor<4x8xf32>
}

// -----

// Splats live inside kernels; other constants, and splats that a contraction
// streams, are arguments. Views stay in the schedule.
// CHECK-LABEL: dispatch.kernel @contract_0(%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<8x2xf32>, %{{.*}}: tensor<4x2xf32>)
// CHECK:       lumen.contract
// CHECK:       lumen.constant dense<2.000000e+00>
// CHECK:       lumen.binary <mul>
// CHECK:       lumen.binary <add>
// CHECK:       func.func @main
// CHECK:       dispatch.launch @contract_0
// CHECK-NEXT:  lumen.reshape
func.func @main(%a: tensor<4x8xf32>) -> tensor<8xf32> {
  %w = lumen.constant dense<1.0> : tensor<8x2xf32>
  %c = lumen.constant dense<2.0> : tensor<4x2xf32>
  %d = lumen.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>
  %0 = lumen.contract %a, %w : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  %1 = lumen.binary <mul> %0, %c : tensor<4x2xf32>
  %2 = lumen.binary <add> %1, %d : tensor<4x2xf32>
  %3 = lumen.reshape %2 : tensor<4x2xf32> -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
