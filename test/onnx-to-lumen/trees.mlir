// Ensembles of decision trees become one operation over tables of nodes.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen | FileCheck %s

// Nodes lie breadth first: children side by side, and a leaf leads to itself. One weight for
// each leaf needs no numbers of targets.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[T:.*]] = lumen.constant dense<[5.000000e-01, 0x7FC00000, 2.000000e+00, 0x7FC00000, 0x7FC00000]>
// CHECK-DAG: %[[L:.*]] = lumen.constant dense<{{\[}}[1, 1], [0, 0], [0, 3], [0, 2], [0, 3]]>
// CHECK-DAG: %[[LEAVES:.*]] = lumen.constant dense<[0, 0, 1, 1, 2, 3]>
// CHECK-DAG: %[[W:.*]] = lumen.constant dense<{{\[}}[1.000000e+00], [2.000000e+00], [3.000000e+00]]>
// CHECK: lumen.trees <sum> %{{.*}}, %[[T]], %[[L]], %[[LEAVES]], %{{.*}}, %[[W]] :
module attributes {onnx.opsets = {ai.onnx = 18 : i64, ai.onnx.ml = 3 : i64}} {
  func.func @main(%x: tensor<4x2xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %0 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {
      n_targets = 1 : i64, nodes_treeids = array<i64: 7, 7, 7, 7, 7>,
      nodes_nodeids = array<i64: 0, 1, 2, 3, 4>, nodes_featureids = array<i64: 1, 0, 0, 0, 0>,
      nodes_values = array<f32: 0.5, 0.0, 2.0, 0.0, 0.0>,
      nodes_modes = ["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
      nodes_truenodeids = array<i64: 1, 0, 3, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 4, 0, 0>,
      target_treeids = array<i64: 7, 7, 7>, target_nodeids = array<i64: 1, 3, 4>,
      target_ids = array<i64: 0, 0, 0>, target_weights = array<f32: 1.0, 2.0, 3.0>
    } : (tensor<4x2xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// What is above takes the other branch of what is at most, and NaN is told to do as before.
// Equality is at most, and not below: its false branch stands twice.
// CHECK-LABEL: func.func @main
// CHECK-DAG: lumen.constant dense<[1.000000e+00, 2.000000e+00, 0x7FC00000, 1.99999988, 0x7FC00000, 0x7FC00000, 0x7FC00000]>
// CHECK-DAG: lumen.constant dense<{{\[}}[-1, 1], [1, 3], [0, 1], [1, 5], [0, 3], [0, 4], [0, 5]]>
// CHECK: lumen.trees <max> {{.*}} nan :
module attributes {onnx.opsets = {ai.onnx = 18 : i64, ai.onnx.ml = 5 : i64}} {
  func.func @main(%x: tensor<4x2xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %0 = onnx.node "TreeEnsemble"(%x) domain("ai.onnx.ml") {
      n_targets = 1 : i64, aggregate_function = 3 : i64, tree_roots = array<i64: 0>,
      nodes_featureids = array<i64: 0, 1>, nodes_splits = dense<[1.0, 2.0]> : tensor<2xf32>,
      nodes_modes = dense<[3, 4]> : tensor<2xui8>, nodes_truenodeids = array<i64: 0, 1>,
      nodes_falsenodeids = array<i64: 1, 2>, nodes_trueleafs = array<i64: 1, 1>,
      nodes_falseleafs = array<i64: 0, 1>, leaf_targetids = array<i64: 0, 0, 0>,
      leaf_weights = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
    } : (tensor<4x2xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
