// The bodies of functions take the place of their calls.
// RUN: lumen-opt %s -split-input-file -inline-onnx-functions | FileCheck %s
// RUN: lumen-opt %s -split-input-file -inline-onnx-functions -mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// A function calls another; parameters come from the call, or else from defaults.
// CHECK-LABEL: lumen.name = "nested"
// CHECK-NOT: func.func private
// CHECK: func.func @main(%[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = onnx.node "Elu"(%[[X]]) version(12) {alpha = 2.000000e+00 : f32}
// CHECK-NEXT: %[[B:.*]] = onnx.node "LeakyRelu"(%[[A]]) version(12) {alpha = 5.000000e-01 : f32}
// CHECK-NEXT: %[[C:.*]] = onnx.node "Add"(%[[B]], %[[X]]) {}
// CHECK-NEXT: onnx.return %[[C]]
// CHECK-NOT: func.func private
// LOC: "Elu 'e' in Inner 'i' in Outer 'o'"
module attributes {lumen.name = "nested", onnx.opsets = {ai.onnx = 17 : i64, my = 1 : i64}} {
  func.func private @"my::Inner"(%x: !onnx.unknown) -> !onnx.unknown attributes {
      onnx.parameters = ["alpha", "unused"], onnx.defaults = {beta = 0.5 : f32}, onnx.opsets = {ai.onnx = 12 : i64}} {
    %0 = onnx.node "Elu"(%x) {alpha = #onnx.ref<"alpha">} : (!onnx.unknown) -> !onnx.unknown loc("Elu 'e'")
    %1 = onnx.node "LeakyRelu"(%0) {alpha = #onnx.ref<"beta">, gone = #onnx.ref<"unused">} : (!onnx.unknown) -> !onnx.unknown
    onnx.return %1 : !onnx.unknown
  }
  func.func private @"my::Outer"(%x: !onnx.unknown) -> !onnx.unknown attributes {
      onnx.parameters = ["a"], onnx.defaults = {}, onnx.opsets = {ai.onnx = 17 : i64}} {
    %0 = onnx.call @"my::Inner"(%x) {alpha = #onnx.ref<"a">} : (!onnx.unknown) -> !onnx.unknown loc("Inner 'i'")
    %1 = onnx.node "Add"(%0, %x) {} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    onnx.return %1 : !onnx.unknown
  }
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = onnx.call @"my::Outer"(%x) {a = 2.0 : f32} : (tensor<4xf32>) -> !onnx.unknown loc("Outer 'o'")
    onnx.return %0 : !onnx.unknown
  }
}

// -----

// Inputs that the call leaves out are absent; calls in bodies are seen too.
// CHECK-LABEL: lumen.name = "absent"
// CHECK: onnx.node "If"
// CHECK-NEXT: %[[NONE:.*]] = onnx.absent
// CHECK-NEXT: %[[R:.*]] = onnx.node "Clip"(%{{.*}}, %[[NONE]])
// CHECK-NEXT: onnx.return %[[R]]
module attributes {lumen.name = "absent", onnx.opsets = {ai.onnx = 17 : i64}} {
  func.func private @"my::Clip"(%x: !onnx.unknown, %low: !onnx.unknown) -> !onnx.unknown {
    %0 = onnx.node "Clip"(%x, %low) {} : (!onnx.unknown, !onnx.unknown) -> !onnx.unknown
    onnx.return %0 : !onnx.unknown
  }
  func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> !onnx.unknown {
    %0 = onnx.node "If"(%c) {} : (tensor<i1>) -> !onnx.unknown bodies ["then_branch"] {
      %1 = onnx.call @"my::Clip"(%x) {} : (tensor<4xf32>) -> !onnx.unknown
      onnx.return %1 : !onnx.unknown
    }
    onnx.return %0 : !onnx.unknown
  }
}
