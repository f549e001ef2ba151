// Every operation, type and attribute of the dialect is read as it was printed.
// RUN: lumen-opt %s | lumen-opt | FileCheck %s

// CHECK: module attributes {{{.*}}onnx.opsets = {ai.onnx = 17 : i64, ai.onnx.ml = 3 : i64}}
module attributes {lumen.name = "m", onnx.opsets = {ai.onnx = 17 : i64, ai.onnx.ml = 3 : i64}} {
  // CHECK: func.func private @"my::Scale"(%[[X:.*]]: !onnx.unknown) -> !onnx.unknown attributes {onnx.defaults = {beta = 1 : i64}, onnx.parameters = ["alpha"]}
  func.func private @"my::Scale"(%x: !onnx.unknown) -> !onnx.unknown attributes {onnx.parameters = ["alpha"], onnx.defaults = {beta = 1 : i64}} {
    // CHECK: %[[Y:.*]] = onnx.node "Mul"(%[[X]], %[[X]]) domain("foo") {a = #onnx.ref<"alpha">} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    %0 = onnx.node "Mul"(%x, %x) domain("foo") {a = #onnx.ref<"alpha">} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    // CHECK: onnx.return %[[Y]] : !onnx.unknown
    onnx.return %0 : !onnx.unknown
  }

  // CHECK: func.func private @types(!onnx.seq<tensor<*x!onnx.string>>, !onnx.optional<tensor<4xui8>>, !onnx.map<i64, tensor<*xf32>>, !onnx.opaque<"d", "n">)
  func.func private @types(!onnx.seq<tensor<*x!onnx.string>>, !onnx.optional<tensor<4xui8>>, !onnx.map<i64, tensor<*xf32>>, !onnx.opaque<"d", "n">)

  // CHECK-LABEL: func.func @main
  // CHECK-SAME: tensor<?x8xf32, #lumen.dims<["n", "8"]>> {onnx.name = "data"}
  // CHECK-SAME: -> (tensor<*xf32> {onnx.name = "y"})
  func.func @main(%x: tensor<?x8xf32, #lumen.dims<["n", "8"]>> {onnx.name = "data"},
                  %c: tensor<i1> {onnx.name = "c"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[NONE:.*]] = onnx.absent
    %none = onnx.absent
    // CHECK: onnx.constant dense<["a", "b"]> : tensor<2x!onnx.string>
    %w = onnx.constant dense<["a", "b"]> : tensor<2x!onnx.string>
    // CHECK: %[[B:.*]] = onnx.constant #lumen.blob<0, 4096, 37632> : tensor<64x3x7x7xf32>
    %b = onnx.constant #lumen.blob<0, 4096, 37632> : tensor<64x3x7x7xf32>
    // CHECK: onnx.sparse_constant <dense<1.000000e+00> : tensor<1xf32>, dense<3> : tensor<1xi64> : tensor<2x4xf32>> : <tensor<2x4xf32>>
    %s = onnx.sparse_constant <dense<1.0> : tensor<1xf32>, dense<3> : tensor<1xi64> : tensor<2x4xf32>> : !onnx.sparse<tensor<2x4xf32>>
    // CHECK: %[[CONV:.*]]:2 = onnx.node "Conv"(%{{.*}}, %[[NONE]], %[[B]]) {group = 1 : i64, pads = array<i64: 1, 1>}
    // CHECK-SAME: -> (!onnx.unknown, none)
    %1, %u = onnx.node "Conv"(%x, %none, %b) {pads = array<i64: 1, 1>, group = 1 : i64} : (tensor<?x8xf32, #lumen.dims<["n", "8"]>>, none, tensor<64x3x7x7xf32>) -> (!onnx.unknown, none)
    // CHECK: onnx.node "If"(%{{.*}}) {} : (tensor<i1>) -> !onnx.unknown bodies ["else_branch", "then_branch"] {
    // CHECK-NEXT: onnx.return %[[CONV]]#0 : !onnx.unknown
    // CHECK-NEXT: }, {
    %2 = onnx.node "If"(%c) {} : (tensor<i1>) -> !onnx.unknown bodies ["else_branch", "then_branch"] {
      onnx.return %1 : !onnx.unknown
    }, {
      onnx.return %x : tensor<?x8xf32, #lumen.dims<["n", "8"]>>
    }
    // CHECK: onnx.call @"my::Scale"(%{{.*}}) {alpha = 1.000000e+00 : f32} : (!onnx.unknown) -> !onnx.unknown
    %3 = onnx.call @"my::Scale"(%2) {alpha = 1.0 : f32} : (!onnx.unknown) -> !onnx.unknown
    onnx.return %3 : !onnx.unknown
  }
}
