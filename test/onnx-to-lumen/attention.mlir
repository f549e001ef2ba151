// Attention becomes two products and the softmax between them; positions become rotations.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// Two heads of queries share one of keys: they are more rows of one product, and no key is
// repeated. The mask of who sees whom folds.
module attributes {onnx.opsets = {ai.onnx = 23 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%q: tensor<1x4x2x8xf32> {onnx.name = "q"}, %k: tensor<1x2x5x8xf32> {onnx.name = "k"}, %v: tensor<1x2x5x6xf32> {onnx.name = "v"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[Q:.*]] = lumen.reshape %arg0 : tensor<1x4x2x8xf32> -> tensor<1x2x4x8xf32>
    // CHECK: lumen.contract %[[Q]], %arg1 transpose_rhs : {{.*}} -> tensor<1x2x4x5xf32>
    // CHECK: %[[ALL:.*]] = lumen.constant dense<{{.*}}[true, false, false, false, false], [true, true, false, false, false]{{.*}}> : tensor<1x4x2x5xi1>
    // CHECK: %[[HIDDEN:.*]] = lumen.select %[[ALL]]
    // CHECK: %[[P:.*]] = lumen.softmax %[[HIDDEN]] {axis = 3 : i64} : tensor<1x4x2x5xf32>
    // CHECK: lumen.select %[[ALL]], %[[P]]
    // CHECK: lumen.contract %{{.*}}, %arg2 : {{.*}} -> tensor<1x2x4x6xf32>
    // CHECK: lumen.reshape %{{.*}} : tensor<1x2x4x6xf32> -> tensor<1x4x2x6xf32>
    %0 = onnx.node "Attention"(%q, %k, %v) {is_causal = 1 : i64} : (tensor<1x4x2x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// The first six elements of a head of eight are turned, by angles that the positions pick.
module attributes {onnx.opsets = {ai.onnx = 23 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x2x5x8xf32> {onnx.name = "x"}, %c: tensor<9x3xf32> {onnx.name = "c"}, %s: tensor<9x3xf32> {onnx.name = "s"}, %p: tensor<1x5xi64> {onnx.name = "p"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-DAG: %[[C:.*]] = lumen.gather %arg1, %arg3
    // CHECK-DAG: %[[S:.*]] = lumen.gather %arg2, %arg3
    // CHECK-DAG: lumen.slice %arg0 [0, 0, 0, 0]
    // CHECK-DAG: lumen.slice %arg0 [0, 0, 0, 3]
    // CHECK: %[[TURNED:.*]] = lumen.concat %{{.*}} -> tensor<1x2x5x6xf32>
    // CHECK: %[[REST:.*]] = lumen.slice %arg0 [0, 0, 0, 6]
    // CHECK: lumen.concat %[[TURNED]], %[[REST]]
    %0 = onnx.node "RotaryEmbedding"(%x, %c, %s, %p) {rotary_embedding_dim = 6 : i64} : (tensor<1x2x5x8xf32>, tensor<9x3xf32>, tensor<9x3xf32>, tensor<1x5xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
