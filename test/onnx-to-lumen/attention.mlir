// Attention stays whole where there is a kernel for it; positions become rotations.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-no-onnx | FileCheck %s

// Who sees whom is a place among the keys, not a mask.
module attributes {onnx.opsets = {ai.onnx = 23 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%q: tensor<1x4x9x8xf32> {onnx.name = "q"}, %k: tensor<1x2x5x8xf32> {onnx.name = "k"}, %v: tensor<1x2x5x6xf32> {onnx.name = "v"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[FIRST:.*]] = lumen.constant dense<0> : tensor<i32>
    // CHECK: lumen.attention %arg0 [0, 1, 2, 3], %arg1 [0, 1, 2, 3], %arg2 [0, 1, 2, 3] first(%[[FIRST]] : tensor<i32>) to [0, 1, 2, 3] {scale = 5.000000e-01 : f64, softcap = 2.000000e+00 : f64}
    // CHECK-NEXT: return
    %0 = onnx.node "Attention"(%q, %k, %v) {is_causal = 1 : i64, scale = 0.5 : f32, softcap = 2.0 : f32} : (tensor<1x4x9x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Where the scores are asked for, there are two products and the softmax between them. Two
// heads of queries share one of keys: they are more rows of one product, and no key is
// repeated. The mask of who sees whom folds.
module attributes {onnx.opsets = {ai.onnx = 23 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%q: tensor<1x4x2x8xf32> {onnx.name = "q"}, %k: tensor<1x2x5x8xf32> {onnx.name = "k"}, %v: tensor<1x2x5x6xf32> {onnx.name = "v"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "s"}) {
    // CHECK: %[[Q:.*]] = lumen.reshape %arg0 : tensor<1x4x2x8xf32> -> tensor<1x2x4x8xf32>
    // CHECK: lumen.contract %[[Q]], %arg1 transpose_rhs : {{.*}} -> tensor<1x2x4x5xf32>
    // CHECK: %[[ALL:.*]] = lumen.constant dense<{{.*}}[true, false, false, false, false], [true, true, false, false, false]{{.*}}> : tensor<1x4x2x5xi1>
    // CHECK: %[[HIDDEN:.*]] = lumen.select %[[ALL]]
    // CHECK: %[[P:.*]] = lumen.softmax %[[HIDDEN]] {axis = 3 : i64} : tensor<1x4x2x5xf32>
    // CHECK: lumen.select %[[ALL]], %[[P]]
    // CHECK: lumen.contract %{{.*}}, %arg2 : {{.*}} -> tensor<1x2x4x6xf32>
    // CHECK: lumen.reshape %{{.*}} : tensor<1x2x4x6xf32> -> tensor<1x4x2x6xf32>
    %0:4 = onnx.node "Attention"(%q, %k, %v) {is_causal = 1 : i64} : (tensor<1x4x2x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<*xf32>, none, none, tensor<*xf32>)
    onnx.return %0#0, %0#3 : tensor<*xf32>, tensor<*xf32>
  }
}

// -----

// A mask of another type of numbers is added in the type of the queries.
module attributes {onnx.opsets = {ai.onnx = 23 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%q: tensor<1x1x9x8xf32> {onnx.name = "q"}, %m: tensor<9x9xf16> {onnx.name = "m"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK: %[[MASK:.*]] = lumen.convert %arg1 : tensor<9x9xf16> -> tensor<9x9xf32>
    // CHECK: %[[BIAS:.*]] = lumen.broadcast %{{.*}} : {{.*}} -> tensor<1x1x9x9xf32>
    // CHECK: %[[SEEN:.*]] = lumen.select %{{.*}}, %[[BIAS]]
    // CHECK: lumen.attention {{.*}} mask(%[[SEEN]] : tensor<1x1x9x9xf32>)
    %0 = onnx.node "Attention"(%q, %q, %q, %m) {} : (tensor<1x1x9x8xf32>, tensor<1x1x9x8xf32>, tensor<1x1x9x8xf32>, tensor<9x9xf16>) -> tensor<*xf32>
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

// -----

// Keys and values packed by heads are sliced, not copied by a product with ones; padding is added
// to the scores of all heads and rows.
module attributes {onnx.opsets = {ai.onnx = 17 : i64, com.microsoft = 1 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%q: tensor<1x9x12xf32> {onnx.name = "q"}, %kv: tensor<1x5x3x2x4xf32> {onnx.name = "kv"}, %m: tensor<1x5xi32> {onnx.name = "m"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // CHECK-DAG: lumen.slice %arg1 [0, 0, 0, 0, 0] {{.*}} -> tensor<1x5x3x1x4xf32>
    // CHECK-DAG: lumen.slice %arg1 [0, 0, 0, 1, 0] {{.*}} -> tensor<1x5x3x1x4xf32>
    // CHECK-DAG: %[[KEPT:.*]] = lumen.compare <ne> %arg2
    // CHECK: lumen.attention {{.*}} mask(%{{.*}} : tensor<1x1x1x5xf32>)
    %none = onnx.absent
    %0 = onnx.node "MultiHeadAttention"(%q, %kv, %none, %none, %m) domain("com.microsoft") {num_heads = 3 : i64} : (tensor<1x9x12xf32>, tensor<1x5x3x2x4xf32>, none, none, tensor<1x5xi32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// A cache of open length: its rows stay below what each sequence has filled, and new ones follow.
module attributes {onnx.opsets = {ai.onnx = 17 : i64, com.microsoft = 1 : i64}} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<1x4x32xf32> {onnx.name = "x"}, %k: tensor<1x1x?x8xf32, #lumen.dims<["1", "1", "past", "8"]>> {onnx.name = "k"}, %last: tensor<1xi32> {onnx.name = "last"}, %total: tensor<i32> {onnx.name = "total"}) -> (tensor<*xf32> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "present"}) {
    // CHECK: lumen.symbol "groupqueryattention$0"
    // CHECK: %[[NEW:.*]] = lumen.pick %{{.*}} [0, 1, -1, 3]
    // CHECK: %[[OLD:.*]] = lumen.pad <constant> %arg1
    // CHECK: lumen.select %{{.*}}, %[[OLD]]
    // CHECK: lumen.attention {{.*}} first(%{{.*}} : tensor<1xi32>)
    %none = onnx.absent
    %0:3 = onnx.node "GroupQueryAttention"(%x, %none, %none, %k, %k, %last, %total) domain("com.microsoft") {num_heads = 2 : i64, kv_num_heads = 1 : i64} : (tensor<1x4x32xf32>, none, none, tensor<1x1x?x8xf32, #lumen.dims<["1", "1", "past", "8"]>>, tensor<1x1x?x8xf32, #lumen.dims<["1", "1", "past", "8"]>>, tensor<1xi32>, tensor<i32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
    onnx.return %0#0, %0#1 : tensor<*xf32>, tensor<*xf32>
  }
}
