// Reshape, slice and concat become views, or copies where they cannot.
// RUN: lumen-opt %s --form-kernels --place-views --split-input-file | FileCheck %s

// Both producers write their part of the joined tensor in place.
// CHECK-LABEL: dispatch.kernel @map_0
// CHECK-SAME: -> (tensor<2x4xf32> {dispatch.strides = #lumen.dims<["12", "1"]>})
// CHECK:     dispatch.kernel @map_1
// CHECK-SAME: -> (tensor<2x8xf32> {dispatch.strides = #lumen.dims<["12", "1"]>})
// CHECK-NOT: dispatch.kernel @copy
func.func @main(%a: tensor<2x4xf32>, %b: tensor<2x8xf32>) -> tensor<2x12xf32> {
  %0 = lumen.unary <exp> %a : tensor<2x4xf32> -> tensor<2x4xf32>
  %1 = lumen.unary <exp> %b : tensor<2x8xf32> -> tensor<2x8xf32>
  %2 = lumen.concat %0, %1 {axis = 1 : i64} : tensor<2x4xf32>, tensor<2x8xf32> -> tensor<2x12xf32>
  return %2 : tensor<2x12xf32>
}

// -----

// A concat inside a concat is written into the outer one directly.
// CHECK-LABEL: dispatch.kernel @map_0
// CHECK-SAME: {dispatch.strides = #lumen.dims<["8", "1"]>}
// CHECK:     dispatch.kernel @map_1
// CHECK-SAME: {dispatch.strides = #lumen.dims<["8", "1"]>}
// CHECK:     dispatch.kernel @map_2
// CHECK-SAME: (%{{.*}}: tensor<2x4xf32> {dispatch.strides = #lumen.dims<["8", "1"]>}) -> (tensor<2x4xf32> {dispatch.strides = #lumen.dims<["8", "1"]>})
// CHECK-NOT: dispatch.kernel @copy
// CHECK: func.func @main
func.func @main(%a: tensor<2x2xf32>) -> tensor<2x8xf32> {
  %0 = lumen.unary <exp> %a : tensor<2x2xf32> -> tensor<2x2xf32>
  %1 = lumen.unary <log> %a : tensor<2x2xf32> -> tensor<2x2xf32>
  %2 = lumen.concat %0, %1 {axis = 1 : i64} : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x4xf32>
  %3 = lumen.unary <tanh> %2 : tensor<2x4xf32> -> tensor<2x4xf32>
  %4 = lumen.concat %2, %3 {axis = 1 : i64} : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// -----

// An input of the model, a value that is joined twice, and a reshape that no
// strides can say are copied.
// CHECK-LABEL: func.func @main(%arg0: tensor<2x4xf32>) -> tensor<3x4xf32>
// CHECK: dispatch.launch @copy_{{[0-9]+}}(%arg0)
// CHECK: lumen.concat
func.func @main(%a: tensor<2x4xf32>) -> tensor<3x4xf32> {
  %0 = lumen.unary <exp> %a : tensor<2x4xf32> -> tensor<2x4xf32>
  %1 = lumen.concat %0, %a, %0 {axis = 1 : i64} : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x12xf32>
  %2 = lumen.slice %1 [0, 0] [1, 1] : tensor<2x12xf32> -> tensor<2x6xf32>
  // CHECK: %[[SLICE:.*]] = lumen.slice
  // CHECK: %[[COPY:.*]] = dispatch.launch @copy_{{[0-9]+}}(%[[SLICE]])
  // CHECK: lumen.reshape %[[COPY]]
  %3 = lumen.reshape %2 : tensor<2x6xf32> -> tensor<3x4xf32>
  // CHECK: %[[OUT:.*]] = dispatch.launch @map_{{[0-9]+}}
  // CHECK: return %[[OUT]]
  %4 = lumen.unary <neg> %3 : tensor<3x4xf32> -> tensor<3x4xf32>
  return %4 : tensor<3x4xf32>
}

// -----

// What is returned fills a buffer of the caller: arguments, constants and parts
// of other values are copied there.
// CHECK-LABEL: func.func @main(%arg0: tensor<4xf32>)
// CHECK: %[[A:.*]] = dispatch.launch @copy_{{[0-9]+}}(%arg0)
// CHECK: %[[C:.*]] = dispatch.launch @copy_{{[0-9]+}}(%{{.*}})
// CHECK: return %[[A]], %[[C]]
func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
  %c = lumen.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %a, %c : tensor<4xf32>, tensor<2xf32>
}
