// Branches of an If that differ in rank, as exporters write torch.squeeze: what is
// behind the If tells which of them a run must take.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx -verify-diagnostics | FileCheck %s

// The rest fits one branch alone, whose nodes become part of what is around them.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%c: tensor<i1> {onnx.name = "c"}, %x: tensor<2x6x1xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.symbol "condition$0" = %{{.*}} at_most "1"
    // CHECK: lumen.check <equal> "condition$0", "1", "the condition is {0}, which asks for the else branch, and that one does not fit the model"
    // CHECK: %[[SQUEEZED:.*]] = lumen.reshape %arg1 : tensor<2x6x1xf32> -> tensor<2x6xf32>
    // CHECK: lumen.contract
    // CHECK-NOT: lumen.if
    %w = onnx.constant dense<2.0> : tensor<6x4xf32>
    %axis = onnx.constant dense<2> : tensor<1xi64>
    %0 = onnx.node "If"(%c) {} : (tensor<i1>) -> !onnx.unknown bodies ["else_branch", "then_branch"] {
      %same = onnx.node "Identity"(%x) {} : (tensor<2x6x1xf32>) -> !onnx.unknown
      onnx.return %same : !onnx.unknown
    }, {
      %squeezed = onnx.node "Squeeze"(%x, %axis) {} : (tensor<2x6x1xf32>, tensor<1xi64>) -> !onnx.unknown
      onnx.return %squeezed : !onnx.unknown
    }
    %y = onnx.node "Gemm"(%0, %w) {} : (!onnx.unknown, tensor<6x4xf32>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}

// -----

// The rest fits both, and is converted behind each.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%c: tensor<i1> {onnx.name = "c"}, %x: tensor<2x6x1xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[Y:.*]] = lumen.if
    // CHECK: lumen.reduce
    // CHECK: lumen.yield
    // CHECK: lumen.reduce
    // CHECK: lumen.yield
    // CHECK: return %[[Y]] : tensor<f32>
    %axis = onnx.constant dense<2> : tensor<1xi64>
    %0 = onnx.node "If"(%c) {} : (tensor<i1>) -> !onnx.unknown bodies ["else_branch", "then_branch"] {
      %same = onnx.node "Identity"(%x) {} : (tensor<2x6x1xf32>) -> !onnx.unknown
      onnx.return %same : !onnx.unknown
    }, {
      %squeezed = onnx.node "Squeeze"(%x, %axis) {} : (tensor<2x6x1xf32>, tensor<1xi64>) -> !onnx.unknown
      onnx.return %squeezed : !onnx.unknown
    }
    %1 = onnx.node "Relu"(%0) {} : (!onnx.unknown) -> !onnx.unknown
    %y = onnx.node "ReduceSum"(%1) {keepdims = 0 : i64} : (!onnx.unknown) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}

// -----

// A branch that fits nothing by itself ends a run that takes it.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%c: tensor<i1> {onnx.name = "c"}, %x: tensor<2x6xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.check <equal> "condition$0", "0"
    // CHECK: lumen.unary <relu> %arg1
    %axis = onnx.constant dense<2> : tensor<1xi64>
    // expected-warning @below {{a run that takes the then branch will fail, for it cannot be converted}}
    %0 = onnx.node "If"(%c) {} : (tensor<i1>) -> tensor<*xf32> bodies ["else_branch", "then_branch"] {
      %same = onnx.node "Relu"(%x) {} : (tensor<2x6xf32>) -> !onnx.unknown
      onnx.return %same : !onnx.unknown
    }, {
      // expected-note @below {{axis 2 lies outside the rank 2}}
      %squeezed = onnx.node "Squeeze"(%x, %axis) {} : (tensor<2x6xf32>, tensor<1xi64>) -> !onnx.unknown
      onnx.return %squeezed : !onnx.unknown
    }
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Neither: both mistakes are told.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  func.func @main(%c: tensor<i1> {onnx.name = "c"}, %x: tensor<2x6x1xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %w = onnx.constant dense<2.0> : tensor<5x4xf32>
    %axis = onnx.constant dense<2> : tensor<1xi64>
    %0 = onnx.node "If"(%c) {} : (tensor<i1>) -> !onnx.unknown bodies ["else_branch", "then_branch"] {
      %same = onnx.node "Identity"(%x) {} : (tensor<2x6x1xf32>) -> !onnx.unknown
      onnx.return %same : !onnx.unknown
    }, {
      %squeezed = onnx.node "Squeeze"(%x, %axis) {} : (tensor<2x6x1xf32>, tensor<1xi64>) -> !onnx.unknown
      onnx.return %squeezed : !onnx.unknown
    }
    // expected-error @below {{inputs of shapes 2x6 and 5x4 have inner dimensions 6 and 5, expected equal ones}}
    // expected-error @below {{inputs have shapes 2x6x1 and 5x4, expected two dimensions}}
    %y = onnx.node "Gemm"(%0, %w) {} : (!onnx.unknown, tensor<5x4xf32>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}
