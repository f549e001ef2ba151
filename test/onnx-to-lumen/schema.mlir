// What the standard says of an operator's version is checked of every node in one place.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-diagnostics

module attributes {onnx.opsets = {ai.onnx = 12 : i64}} {
  func.func @main(%x: tensor<2x3xf32> {onnx.name = "x"}, %h: tensor<2x3xf16> {onnx.name = "h"}, %b: tensor<2x3xi1> {onnx.name = "b"}, %i: tensor<2xi16> {onnx.name = "i"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %none = onnx.absent
    // expected-error @below {{input 0 has element type 'i1', expected f32, f16 or f64}}
    %0 = onnx.node "Softmax"(%b) {} : (tensor<2x3xi1>) -> tensor<*xi1>
    // expected-error @below {{input 1 has element type 'i16', expected i32 or i64}}
    %1 = onnx.node "Gather"(%x, %i) {} : (tensor<2x3xf32>, tensor<2xi16>) -> tensor<*xf32>
    // expected-error @below {{inputs have element types 'f32' and 'f16', expected the same}}
    %2 = onnx.node "Sum"(%x, %h) {} : (tensor<2x3xf32>, tensor<2x3xf16>) -> tensor<*xf32>
    // expected-error @below {{has 1 inputs, expected at least 2}}
    %3 = onnx.node "Add"(%x) {} : (tensor<2x3xf32>) -> tensor<*xf32>
    // expected-error @below {{input 0 is missing}}
    %4 = onnx.node "Add"(%none, %x) {} : (none, tensor<2x3xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'axis' is missing}}
    %5 = onnx.node "Concat"(%x, %x) {} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'keepdims' is -1, expected 0 or 1}}
    %10 = onnx.node "ArgMax"(%x) {keepdims = -1 : i64} : (tensor<2x3xf32>) -> tensor<*xi64>
    // An attribute that became an input is not read in the versions after.
    // expected-error @below {{attribute 'min' is not supported}}
    %6 = onnx.node "Clip"(%x) {min = 1.0 : f32} : (tensor<2x3xf32>) -> tensor<*xf32>
    // An optional input may be left out, and one of several types need not agree.
    %8 = onnx.node "Clip"(%x, %none, %none) {} : (tensor<2x3xf32>, none, none) -> tensor<*xf32>
    %9 = onnx.node "Where"(%b, %x, %8) {} : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.return %9 : tensor<*xf32>
  }
}
