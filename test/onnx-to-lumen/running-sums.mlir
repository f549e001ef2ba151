// Running sums double their reach with each step.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

module attributes {onnx.opsets = {ai.onnx = 14 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<5xi32> {onnx.name = "x"}) -> (tensor<*xi32> {onnx.name = "y"}) {
    // CHECK: %[[ZERO:.*]] = lumen.constant dense<0> : tensor<i32>
    // CHECK: %[[P1:.*]] = lumen.pad <constant> %arg0, %[[ZERO]] [1] [-1]
    // CHECK: %[[S1:.*]] = lumen.binary <add> %arg0, %[[P1]]
    // CHECK: %[[P2:.*]] = lumen.pad <constant> %[[S1]], %[[ZERO]] [2] [-2]
    // CHECK: %[[S2:.*]] = lumen.binary <add> %[[S1]], %[[P2]]
    // CHECK: %[[P4:.*]] = lumen.pad <constant> %[[S2]], %[[ZERO]] [4] [-4]
    // CHECK: lumen.binary <add> %[[S2]], %[[P4]]
    // CHECK-NEXT: return
    %axis = onnx.constant dense<0> : tensor<i64>
    %0 = onnx.node "CumSum"(%x, %axis) {} : (tensor<5xi32>, tensor<i64>) -> tensor<*xi32>
    onnx.return %0 : tensor<*xi32>
  }
}
