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
// CHECK: %[[X:.*]] = dispatch.storage <input>[0] size 64
// CHECK: %[[ARENA:.*]] = dispatch.storage <arena>[0] size 256
// CHECK: %[[SLOT:.*]] = dispatch.storage <arena>[0] size "4*n" {first = 0 : i64, last = 1 : i64}
// CHECK: %[[IN:.*]] = dispatch.buffer %[[X]] offset 0 size 64
// CHECK: %[[OUT:.*]] = dispatch.buffer %[[ARENA]] offset 128 size 32 {first = 0 : i64, last = 1 : i64}
// CHECK: dispatch.buffer %[[SLOT]] offset "4*i" size 4
// CHECK: dispatch.launch @relu_0(%[[IN]]) outs(%[[OUT]]) {affinity = #dispatch.affinity<host>}
func.func @buffers() {
  %x = dispatch.storage <input>[0] size 64
  %arena = dispatch.storage <arena>[0] size 256
  %slot = dispatch.storage <arena>[0] size "4*n" {first = 0 : i64, last = 1 : i64}
  %0 = dispatch.buffer %x offset 0 size 64
  %1 = dispatch.buffer %arena offset 128 size 32 {first = 0 : i64, last = 1 : i64}
  %2 = dispatch.buffer %slot offset "4*i" size 4
  dispatch.launch @relu_0(%0) outs(%1) {affinity = #dispatch.affinity<host>} : (!dispatch.buffer, !dispatch.buffer) -> ()
  return
}

// CHECK-LABEL: @steps
// CHECK: dispatch.alloc %[[A:.*]]
// CHECK: dispatch.bind "n" = %{{.*}} : i64
// CHECK: dispatch.branch "flag" symbols ["m"] {
// CHECK:   dispatch.move %{{.*}} to %[[A]]
// CHECK:   dispatch.end sizes [4]
// CHECK: } else {
// CHECK:   dispatch.end sizes ["n"]
// CHECK: }
// CHECK: dispatch.repeat trips "n" while "go" induction "i" symbols ["s"] init_sizes ["n + 1"] {
// CHECK:   dispatch.append %{{.*}} to %[[A]]
// CHECK:   dispatch.swap %[[A]], %{{.*}}
// CHECK:   dispatch.end sizes ["s + 1"]
// CHECK: }
// CHECK: dispatch.free %[[A]]
func.func @steps() {
  %a = dispatch.storage <heap>[0] size "4*n"
  %b = dispatch.storage <heap>[0] size "4*n"
  %0 = dispatch.buffer %b offset 0 size 8
  dispatch.alloc %a
  dispatch.bind "n" = %0 : i64
  dispatch.branch "flag" symbols ["m"] {
    dispatch.move %b to %a
    dispatch.end sizes [4]
  } else {
    dispatch.end sizes ["n"]
  }
  dispatch.repeat trips "n" while "go" induction "i" symbols ["s"] init_sizes ["n + 1"] {
    dispatch.append %0 to %a
    dispatch.swap %a, %b
    dispatch.end sizes ["s + 1"]
  }
  dispatch.free %a
  return
}
