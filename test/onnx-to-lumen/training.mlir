// Losses pick one entry per sample; optimizers are formulas of each group of tensors.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx -verify-diagnostics | FileCheck %s

// Ignored samples count neither in the sum nor in what it is divided by.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<9x5xf32> {onnx.name = "x"}, %l: tensor<9xi64> {onnx.name = "l"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[LOG:.*]] = lumen.softmax %{{.*}} {axis = 1 : i64, log}
    // CHECK: lumen.compare <eq>
    // CHECK: lumen.pick %[[LOG]](%{{.*}}) [0, -1]
    // CHECK-COUNT-2: lumen.reduce <sum>
    // CHECK: lumen.binary <div>
    %0 = onnx.node "SoftmaxCrossEntropyLoss"(%x, %l) {ignore_index = -1 : i64} : (tensor<9x5xf32>, tensor<9xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

module attributes {onnx.opsets = {ai.onnx = 13 : i64, ai.onnx.preview.training = 1 : i64}} {
  func.func @main(%x: tensor<9x5xf32> {onnx.name = "x"}, %l: tensor<8xi64> {onnx.name = "l"}, %r: tensor<f32> {onnx.name = "r"}, %t: tensor<i64> {onnx.name = "t"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // expected-error @below {{labels have shape 8, expected 9}}
    %0 = onnx.node "NegativeLogLikelihoodLoss"(%x, %l) {} : (tensor<9x5xf32>, tensor<8xi64>) -> tensor<*xf32>
    // expected-error @below {{attribute 'reduction' is 'max', expected none, sum or mean}}
    %1 = onnx.node "NegativeLogLikelihoodLoss"(%x, %l) {reduction = "max"} : (tensor<9x5xf32>, tensor<8xi64>) -> tensor<*xf32>
    // expected-error @below {{has 2 tensors, expected a multiple of 4}}
    %2:3 = onnx.node "Adam"(%r, %t, %x, %x) domain("ai.onnx.preview.training") {} : (tensor<f32>, tensor<i64>, tensor<9x5xf32>, tensor<9x5xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
    onnx.return %0 : tensor<*xf32>
  }
}
