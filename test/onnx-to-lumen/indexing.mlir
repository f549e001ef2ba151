// Operators that gather, scatter and order by index.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// Every dimension but the axis is walked; the data are cropped to what is walked.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<4x5xf32> {onnx.name = "x"}, %i: tensor<3x7xi64> {onnx.name = "i"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[X:.*]] = lumen.slice %arg0 [0, 0] [1, 1] : tensor<4x5xf32> -> tensor<3x5xf32>
    // CHECK-NEXT: lumen.pick %[[X]](%arg1) [0, -1] : tensor<3x5xf32>, (tensor<3x7xi64>) -> tensor<3x7xf32>
    %0 = onnx.node "GatherElements"(%x, %i) {axis = 1 : i64} : (tensor<4x5xf32>, tensor<3x7xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Tuples become one index tensor per dimension, behind the batch.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x4x5x6xf32> {onnx.name = "x"}, %i: tensor<2x3x2xi64> {onnx.name = "i"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-DAG: %[[A:.*]] = lumen.slice %arg1 [0, 0, 0] [1, 1, 1] : tensor<2x3x2xi64> -> tensor<2x3x1xi64>
    // CHECK-DAG: %[[B:.*]] = lumen.slice %arg1 [0, 0, 1] [1, 1, 1] : tensor<2x3x2xi64> -> tensor<2x3x1xi64>
    // CHECK-DAG: %[[RA:.*]] = lumen.reshape %[[A]] : tensor<2x3x1xi64> -> tensor<2x3xi64>
    // CHECK-DAG: %[[RB:.*]] = lumen.reshape %[[B]] : tensor<2x3x1xi64> -> tensor<2x3xi64>
    // CHECK: lumen.pick %arg0(%[[RA]], %[[RB]]) [0, -1, -1, 2] : tensor<2x4x5x6xf32>, (tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<2x3x6xf32>
    %0 = onnx.node "GatherND"(%x, %i) {batch_dims = 1 : i64} : (tensor<2x4x5x6xf32>, tensor<2x3x2xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Booleans are combined as bytes.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<4x5xi1> {onnx.name = "x"}, %i: tensor<2x5xi64> {onnx.name = "i"}, %u: tensor<2x5xi1> {onnx.name = "u"}) -> (tensor<*xi1> {onnx.name = "y"}) {
    // CHECK: lumen.scatter <max> %{{.*}}, %{{.*}}(%arg1) [-1, 1] : tensor<4x5xui8>, tensor<2x5xui8>, (tensor<2x5xi64>) -> tensor<4x5xui8>
    %0 = onnx.node "ScatterElements"(%x, %i, %u) {axis = 0 : i64, reduction = "max"} : (tensor<4x5xi1>, tensor<2x5xi64>, tensor<2x5xi1>) -> tensor<*xi1>
    onnx.return %0 : tensor<*xi1>
  }
}

// -----

// A symbol stands for how many elements the run wants, which are at most all.
module attributes {onnx.opsets = {ai.onnx = 18 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<4x9xf32> {onnx.name = "x"}, %k: tensor<1xi64> {onnx.name = "k"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xi64> {onnx.name = "i"}) {
    // CHECK: lumen.symbol "[[K:.*]]" = %{{.*}} at_most "9"
    // CHECK: lumen.sort %arg0 {axis = 1 : i64, descending} : tensor<4x9xf32> -> tensor<4x?xf32, #lumen.dims<["4", "[[K]]"]>>
    %0:2 = onnx.node "TopK"(%x, %k) {} : (tensor<4x9xf32>, tensor<1xi64>) -> (tensor<*xf32>, tensor<*xi64>)
    onnx.return %0#0, %0#1 : tensor<*xf32>, tensor<*xi64>
  }
}

// -----

module attributes {onnx.opsets = {ai.onnx = 14 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<5xi32> {onnx.name = "x"}) -> (tensor<*xi32> {onnx.name = "y"}) {
    // CHECK-NEXT: lumen.accumulate <add> %arg0 {axis = 0 : i64, exclusive, reverse} : tensor<5xi32>
    %axis = onnx.constant dense<0> : tensor<i64>
    %0 = onnx.node "CumSum"(%x, %axis) {exclusive = 1 : i64, reverse = 1 : i64} : (tensor<5xi32>, tensor<i64>) -> tensor<*xi32>
    onnx.return %0 : tensor<*xi32>
  }
}

// -----

// A sparse constant is written into zeros; rows of coordinates become places.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main() -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[V:.*]] = lumen.constant dense<[2.000000e+00, -1.000000e+00]> : tensor<2xf32>
    // CHECK: %[[I:.*]] = lumen.constant dense<[1, 7]> : tensor<2xi64>
    // CHECK: lumen.scatter <set> %{{.*}}, %[[V]](%[[I]]) [-1]
    %0 = onnx.sparse_constant <dense<[2.0, -1.0]> : tensor<2xf32>, dense<[[0, 1], [1, 3]]> : tensor<2x2xi64> : tensor<2x4xf32>> : !onnx.sparse<tensor<2x4xf32>>
    %1 = onnx.node "Relu"(%0) {} : (!onnx.sparse<tensor<2x4xf32>>) -> tensor<*xf32>
    onnx.return %1 : tensor<*xf32>
  }
}
