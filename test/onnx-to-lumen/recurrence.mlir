// One product over the sequence, and a cell with what depends on the states.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

module attributes {onnx.opsets = {ai.onnx = 14 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<7x3x5xf32> {onnx.name = "x"}, %w: tensor<1x8x5xf32> {onnx.name = "w"}, %r: tensor<1x8x8xf32> {onnx.name = "r"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[X:.*]] = lumen.contract %arg0, %{{.*}} transpose_rhs : tensor<7x3x5xf32>, tensor<8x5xf32> -> tensor<7x3x8xf32>
    // CHECK: lumen.recurrence %[[X]] params(%{{.*}}) states(%{{.*}}) reverse : tensor<7x3x8xf32>, (tensor<1x8x64xf32>), (tensor<3x8xf32>)
    // CHECK: lumen.contract %{{.*}} packed : tensor<1x8xf32>, tensor<1x8x64xf32> -> tensor<1x8xf32>
    // CHECK: lumen.unary <tanh>
    // CHECK-NEXT: lumen.yield
    %0 = onnx.node "RNN"(%x, %w, %r) {hidden_size = 8 : i64, direction = "reverse"} : (tensor<7x3x5xf32>, tensor<1x8x5xf32>, tensor<1x8x8xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
