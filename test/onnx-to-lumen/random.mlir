// Numbers are a function of a key and their place.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx -verify-diagnostics | FileCheck %s

// Without a seed each node asks the context for a key of its own.
module attributes {onnx.opsets = {ai.onnx = 22 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<?xf32, #lumen.dims<["n"]>> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[A:.*]] = lumen.call "random_key"() [[FIRST:\[.*\]]] : () -> tensor<i64>
    // CHECK: lumen.binary <xor>
    // CHECK-NOT: lumen.call "random_key"() [[FIRST]]
    // CHECK: lumen.call "random_key"()
    %0 = onnx.node "RandomUniformLike"(%x) {} : (tensor<?xf32, #lumen.dims<["n"]>>) -> tensor<*xf32>
    %1 = onnx.node "RandomUniformLike"(%x) {} : (tensor<?xf32, #lumen.dims<["n"]>>) -> tensor<*xf32>
    %2 = onnx.node "Add"(%0, %1) {} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.return %2 : tensor<*xf32>
  }
}

// -----

// With one, nothing is asked, and small tensors are constants.
module attributes {onnx.opsets = {ai.onnx = 22 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main() -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NOT: lumen.call
    // CHECK: %[[Y:.*]] = lumen.constant dense<[{{.*}}]> : tensor<4xf32>
    // CHECK-NEXT: return %[[Y]]
    %0 = onnx.node "RandomNormal"() {shape = array<i64: 4>, seed = 3.0 : f32} : () -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

module attributes {onnx.opsets = {ai.onnx = 22 : i64}} {
  func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // expected-error @below {{attribute 'shape' is missing}}
    %0 = onnx.node "RandomNormal"() {} : () -> tensor<*xf32>
    // expected-error @below {{element type of the result is 'i64', expected a floating-point type}}
    %1 = onnx.node "RandomUniformLike"(%x) {dtype = 7 : i64} : (tensor<4xf32>) -> tensor<*xf32>
    // expected-error @below {{input has shape 4, expected two dimensions}}
    %2 = onnx.node "Multinomial"(%x) {} : (tensor<4xf32>) -> tensor<*xi32>
    onnx.return %0 : tensor<*xf32>
  }
}
