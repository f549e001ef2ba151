// The dispatch dialect prints what it parses.
// RUN: lumen-opt %s | lumen-opt | FileCheck %s

// CHECK-LABEL: dispatch.kernel @relu_0
// CHECK-SAME:  %[[X:.*]]: tensor<1x8xf32> {dispatch.strides = #lumen.dims<["16", "1"]>}) -> tensor<1x8xf32>
// CHECK:       %[[Y:.*]] = lumen.unary <relu> %[[X]]
// CHECK:       dispatch.yield %[[Y]] : tensor<1x8xf32>
dispatch.kernel @relu_0(%x: tensor<1x8xf32> {dispatch.strides = #lumen.dims<["16", "1"]>}) -> tensor<1x8xf32> {
  %0 = lumen.unary <relu> %x : tensor<1x8xf32> -> tensor<1x8xf32>
  dispatch.yield %0 : tensor<1x8xf32>
}

// CHECK-LABEL: @tensors
// CHECK: dispatch.launch @relu_0(%{{.*}}) : (tensor<1x8xf32>) -> tensor<1x8xf32>
func.func @tensors(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %0 = dispatch.launch @relu_0(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// CHECK-LABEL: @buffers
// CHECK: %[[IN:.*]] = dispatch.buffer <input>[0] offset 0 size 64 : !dispatch.buffer
// CHECK: %[[OUT:.*]] = dispatch.buffer <arena>[0] offset 128 size 32 {first = 0 : i64, last = 1 : i64}
// CHECK: dispatch.launch @relu_0(%[[IN]]) outs(%[[OUT]]) {affinity = #dispatch.affinity<host>}
func.func @buffers() {
  %0 = dispatch.buffer <input>[0] offset 0 size 64 : !dispatch.buffer
  %1 = dispatch.buffer <arena>[0] offset 128 size 32 {first = 0 : i64, last = 1 : i64} : !dispatch.buffer
  dispatch.launch @relu_0(%0) outs(%1) {affinity = #dispatch.affinity<host>} : (!dispatch.buffer, !dispatch.buffer) -> ()
  return
}
