// Equal kernels share one definition, and unused ones vanish.
// RUN: lumen-opt %s --deduplicate-kernels | FileCheck %s

// CHECK:     dispatch.kernel @a
// CHECK-NOT: dispatch.kernel @b
// CHECK:     dispatch.kernel @other_strides
// CHECK-NOT: dispatch.kernel @unused
dispatch.kernel @a(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = lumen.unary <exp> %x : tensor<4x8xf32> -> tensor<4x8xf32>
  dispatch.yield %0 : tensor<4x8xf32>
}
dispatch.kernel @b(%y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = lumen.unary <exp> %y : tensor<4x8xf32> -> tensor<4x8xf32>
  dispatch.yield %0 : tensor<4x8xf32>
}
dispatch.kernel @other_strides(%x: tensor<4x8xf32> {dispatch.strides = #lumen.dims<["16", "1"]>}) -> tensor<4x8xf32> {
  %0 = lumen.unary <exp> %x : tensor<4x8xf32> -> tensor<4x8xf32>
  dispatch.yield %0 : tensor<4x8xf32>
}
dispatch.kernel @unused(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = lumen.unary <log> %x : tensor<4x8xf32> -> tensor<4x8xf32>
  dispatch.yield %0 : tensor<4x8xf32>
}

// CHECK:      %[[A:.*]] = dispatch.launch @a(%arg0)
// CHECK-NEXT: %[[B:.*]] = dispatch.launch @a(%[[A]])
// CHECK-NEXT: dispatch.launch @other_strides(%[[B]])
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = dispatch.launch @a(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dispatch.launch @b(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = dispatch.launch @other_strides(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
