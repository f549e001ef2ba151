// MatMul and Gemm become contractions.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// Batch dimensions broadcast; a matrix is shared by all batches.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<5x1x2x3xf32> {onnx.name = "a"}, %b: tensor<7x3x4xf32> {onnx.name = "b"}, %c: tensor<4x6xf32> {onnx.name = "c"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-DAG: %[[A:.*]] = lumen.broadcast %arg0 [0, 1, 2, 3] : tensor<5x1x2x3xf32> -> tensor<5x7x2x3xf32>
    // CHECK-DAG: %[[B:.*]] = lumen.broadcast %arg1 [1, 2, 3] : tensor<7x3x4xf32> -> tensor<5x7x3x4xf32>
    // CHECK: %[[P:.*]] = lumen.contract %[[A]], %[[B]] : {{.*}} -> tensor<5x7x2x4xf32>
    %0 = onnx.node "MatMul"(%a, %b) {} : (tensor<5x1x2x3xf32>, tensor<7x3x4xf32>) -> tensor<*xf32>
    // CHECK: lumen.contract %[[P]], %arg2 : {{.*}} -> tensor<5x7x2x6xf32>
    %1 = onnx.node "MatMul"(%0, %c) {} : (tensor<*xf32>, tensor<4x6xf32>) -> tensor<*xf32>
    onnx.return %1 : tensor<*xf32>
  }
}

// -----

// A vector gets a dimension and loses it again.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<3xf32> {onnx.name = "a"}, %b: tensor<2x3x4xf32> {onnx.name = "b"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.contract
    // CHECK-SAME: -> tensor<2x1x4xf32>
    // CHECK: lumen.reshape %{{.*}} : tensor<2x1x4xf32> -> tensor<2x4xf32>
    %0 = onnx.node "MatMul"(%a, %b) {} : (tensor<3xf32>, tensor<2x3x4xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// A factor of 1 leaves no multiplication.
module attributes {onnx.opsets = {ai.onnx = 9 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<3x2xf32> {onnx.name = "a"}, %b: tensor<4x3xf32> {onnx.name = "b"}, %c: tensor<4xf32> {onnx.name = "c"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[P:.*]] = lumen.contract %arg0, %arg1 transpose_lhs transpose_rhs : tensor<3x2xf32>, tensor<4x3xf32> -> tensor<2x4xf32>
    // CHECK-NEXT: %[[HALF:.*]] = lumen.constant dense<5.000000e-01>
    // CHECK-NEXT: %[[C:.*]] = lumen.binary <mul> %arg2, %[[HALF]] : tensor<4xf32>
    // CHECK-NEXT: %[[B:.*]] = lumen.broadcast %[[C]] [1]
    // CHECK-NEXT: lumen.binary <add> %[[P]], %[[B]] : tensor<2x4xf32>
    %0 = onnx.node "Gemm"(%a, %b, %c) {transA = 1 : i64, transB = 1 : i64, beta = 0.5 : f32} : (tensor<3x2xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// ONNX Runtime's form transposes by strides and scales the product.
module attributes {onnx.opsets = {ai.onnx = 13 : i64, com.microsoft = 1 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%a: tensor<2x3x5xf32> {onnx.name = "a"}, %b: tensor<2x7x5xf32> {onnx.name = "b"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[P:.*]] = lumen.contract %arg0, %arg1 transpose_rhs : {{.*}} -> tensor<2x3x7xf32>
    // CHECK: lumen.binary <mul> %[[P]]
    %0 = onnx.node "FusedMatMul"(%a, %b) domain("com.microsoft") {transB = 1 : i64, alpha = 0.5 : f32} : (tensor<2x3x5xf32>, tensor<2x7x5xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Elimination of all matrices at once, with a trip for each column.
module attributes {onnx.opsets = {ai.onnx = 22 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<5x3x3xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: lumen.loop({{.*}}) trips "3"
    // CHECK: lumen.sort {{.*}} descending} : tensor<5x3xf32> -> tensor<5x1xf32>, tensor<5x1xi64>
    // CHECK: lumen.pick {{.*}} [0, -1, 2]
    %0 = onnx.node "Det"(%x) {} : (tensor<5x3x3xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// The determinant of a matrix without elements is 1, an empty product.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<2x0x0xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-NEXT: %[[ONE:.*]] = lumen.constant dense<1.000000e+00> : tensor<2xf32>
    // CHECK-NEXT: return %[[ONE]]
    %0 = onnx.node "Det"(%x) {} : (tensor<2x0x0xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
