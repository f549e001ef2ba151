// Axes and steps that only the run knows become sizes.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// Each dimension is made two, of which the first is reduced: it is 1 unless the dimension
// is the axis.
!x = tensor<?x4xf32, #lumen.dims<["n", "4"]>>
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: !x {onnx.name = "x"}, %a: tensor<1xi64> {onnx.name = "a"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-DAG: lumen.symbol "reducesum$0"
    // CHECK-DAG: lumen.symbol "reducesum$1"
    // CHECK: lumen.check <lessequal> "reducesum$0 - reducesum$1", "1", "an axis"
    // CHECK: lumen.check <lessequal> "max(-reducesum$0 + reducesum$1, 0)", "2", "an axis that counts from the end"
    // CHECK: lumen.symbol "reducesum$2" = {{.*}} at_most "max(1, n)"
    // CHECK: lumen.symbol "reducesum$3" = {{%[0-9]+}} : tensor<i64>
    // CHECK: lumen.symbol "reducesum$4" = {{.*}} at_most "4"
    // CHECK: lumen.symbol "reducesum$6" = {{.*}} at_most "max(4, n)"
    // CHECK: lumen.reshape %arg0 : {{.*}} -> tensor<?x?x?x?xf32, #lumen.dims<["reducesum$3", "reducesum$2", "reducesum$5", "reducesum$4"]>>
    // CHECK: lumen.reduce <sum> {{.*}} [0, 2]
    // CHECK: lumen.reshape {{.*}} -> tensor<?xf32, #lumen.dims<["reducesum$6"]>>
    %0 = onnx.node "ReduceSum"(%x, %a) {keepdims = 0 : i64} : (!x, tensor<1xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Two axes are not the same.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<4xf32> {onnx.name = "x"}, %a: tensor<2xi64> {onnx.name = "a"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.check <lessequal> "1", {{.*}}, "the distance of two axes"
    // CHECK: lumen.reshape %arg0 : tensor<4xf32> -> tensor<?x?x?xf32
    %0 = onnx.node "Unsqueeze"(%x, %a) {} : (tensor<4xf32>, tensor<2xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// A step of either sign is a walk of indices.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<9xf32> {onnx.name = "x"}, %a: tensor<1xi64> {onnx.name = "a"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.check <lessequal> "1", "max(-slice$0 + slice$1, slice$0 - slice$1)", "the length of a step"
    // CHECK: lumen.symbol "slice$2" = {{.*}} at_most "9"
    // CHECK: lumen.iota {axis = 0 : i64} : tensor<?xi64, #lumen.dims<["slice$2"]>>
    // CHECK: lumen.gather %arg0, {{.*}} -> tensor<?xf32, #lumen.dims<["slice$2"]>>
    %b = onnx.constant dense<1> : tensor<1xi64>
    %e = onnx.constant dense<7> : tensor<1xi64>
    %i = onnx.constant dense<0> : tensor<1xi64>
    %0 = onnx.node "Slice"(%x, %b, %e, %i, %a) {} : (tensor<9xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
