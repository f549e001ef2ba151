// Mistakes in models of ai.onnx.ml are reported at their node, with both values.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-diagnostics

module attributes {onnx.opsets = {ai.onnx = 18 : i64, ai.onnx.ml = 5 : i64}} {
  func.func @main(%x: tensor<4x2xf32> {onnx.name = "x"}) -> (tensor<4x2xf32> {onnx.name = "y"}) {
    // expected-error @below {{attribute 'nodes_values' has 1 entries, expected 3}}
    %0 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{node 0 of tree 0 leads to node 5, which is not in its tree}}
    %1 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 5, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{node 0 of tree 0 is a root, but has a parent}}
    %2 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 0, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{node 2 of tree 0 has two parents}}
    %3 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "BRANCH_LEQ"], nodes_truenodeids = array<i64: 1, 0, 1>, nodes_falsenodeids = array<i64: 2, 0, 2>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'nodes_modes' is 'BRANCH', expected BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ or LEAF}}
    %4 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has node 1 of tree 0 twice}}
    %5 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 1>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{node 0 of tree 0 has the feature -1}}
    %6 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: -1, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{input has 2 features, the trees ask for 4}}
    %7 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 3, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has a weight for node 7 of tree 0, which is not there}}
    %8 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 7>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{node 0 of tree 0 has a weight, but is no leaf}}
    %9 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 0>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{node 1 of tree 0 has a weight for target 1, expected 0 to 0}}
    %10 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 1>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has 2 base values for 1 targets}}
    %11 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>, base_values = array<f32: 1.0, 2.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'aggregate_function' is 'MEAN', expected AVERAGE, SUM, MIN or MAX}}
    %12 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>, aggregate_function = "MEAN"} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'post_transform' is 'TANH', expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT}}
    %13 = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 1 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>, post_transform = "TANH"} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has 4611686018427387904 targets, expected 1 to 2147483647}}
    %targets = onnx.node "TreeEnsembleRegressor"(%x) domain("ai.onnx.ml") {n_targets = 4611686018427387904 : i64, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, target_treeids = array<i64: 0>, target_nodeids = array<i64: 1>, target_ids = array<i64: 0>, target_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has 0 labels that are strings and 0 that are integers, expected one kind}}
    %14:2 = onnx.node "TreeEnsembleClassifier"(%x) domain("ai.onnx.ml") {nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, class_treeids = array<i64: 0>, class_nodeids = array<i64: 1>, class_ids = array<i64: 0>, class_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> (tensor<*xi64>, tensor<*xf32>)
    // expected-error @below {{has one class, expected at least two}}
    %15:2 = onnx.node "TreeEnsembleClassifier"(%x) domain("ai.onnx.ml") {classlabels_int64s = array<i64: 3>, nodes_treeids = array<i64: 0, 0, 0>, nodes_nodeids = array<i64: 0, 1, 2>, nodes_featureids = array<i64: 0, 0, 0>, nodes_values = array<f32: 0.5, 0.0, 0.0>, nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = array<i64: 1, 0, 0>, nodes_falsenodeids = array<i64: 2, 0, 0>, class_treeids = array<i64: 0>, class_nodeids = array<i64: 1>, class_ids = array<i64: 0>, class_weights = array<f32: 1.0>} : (tensor<4x2xf32>) -> (tensor<*xi64>, tensor<*xf32>)
    // expected-error @below {{attribute 'tree_roots' has the entry 1, expected 0 to 0}}
    %16 = onnx.node "TreeEnsemble"(%x) domain("ai.onnx.ml") {tree_roots = array<i64: 1>, nodes_featureids = array<i64: 0>, nodes_splits = dense<1.0> : tensor<1xf32>, nodes_modes = dense<0> : tensor<1xui8>, nodes_truenodeids = array<i64: 0>, nodes_falsenodeids = array<i64: 1>, nodes_trueleafs = array<i64: 1>, nodes_falseleafs = array<i64: 1>, leaf_targetids = array<i64: 0, 0>, leaf_weights = dense<[1.0, 2.0]> : tensor<2xf32>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'nodes_modes' has the entry 7, expected 0 to 6}}
    %17 = onnx.node "TreeEnsemble"(%x) domain("ai.onnx.ml") {tree_roots = array<i64: 0>, nodes_featureids = array<i64: 0>, nodes_splits = dense<1.0> : tensor<1xf32>, nodes_modes = dense<7> : tensor<1xui8>, nodes_truenodeids = array<i64: 0>, nodes_falsenodeids = array<i64: 1>, nodes_trueleafs = array<i64: 1>, nodes_falseleafs = array<i64: 1>, leaf_targetids = array<i64: 0, 0>, leaf_weights = dense<[1.0, 2.0]> : tensor<2xf32>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'nodes_modes' has the entry nan, expected 0 to 6}}
    %nan = onnx.node "TreeEnsemble"(%x) domain("ai.onnx.ml") {tree_roots = array<i64: 0>, nodes_featureids = array<i64: 0>, nodes_splits = dense<1.0> : tensor<1xf32>, nodes_modes = dense<0x7FC00000> : tensor<1xf32>, nodes_truenodeids = array<i64: 0>, nodes_falsenodeids = array<i64: 1>, nodes_trueleafs = array<i64: 1>, nodes_falseleafs = array<i64: 1>, leaf_targetids = array<i64: 0, 0>, leaf_weights = dense<[1.0, 2.0]> : tensor<2xf32>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{node 0 leads to number 2, which is not there}}
    %18 = onnx.node "TreeEnsemble"(%x) domain("ai.onnx.ml") {tree_roots = array<i64: 0>, nodes_featureids = array<i64: 0>, nodes_splits = dense<1.0> : tensor<1xf32>, nodes_modes = dense<0> : tensor<1xui8>, nodes_truenodeids = array<i64: 0>, nodes_falsenodeids = array<i64: 2>, nodes_trueleafs = array<i64: 1>, nodes_falseleafs = array<i64: 1>, leaf_targetids = array<i64: 0, 0>, leaf_weights = dense<[1.0, 2.0]> : tensor<2xf32>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'membership_values' has no list for node 0}}
    %19 = onnx.node "TreeEnsemble"(%x) domain("ai.onnx.ml") {tree_roots = array<i64: 0>, nodes_featureids = array<i64: 0>, nodes_splits = dense<1.0> : tensor<1xf32>, nodes_modes = dense<6> : tensor<1xui8>, nodes_truenodeids = array<i64: 0>, nodes_falsenodeids = array<i64: 1>, nodes_trueleafs = array<i64: 1>, nodes_falseleafs = array<i64: 1>, leaf_targetids = array<i64: 0, 0>, leaf_weights = dense<[1.0, 2.0]> : tensor<2xf32>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{input has 2 features, coefficients are for 3}}
    %20 = onnx.node "LinearRegressor"(%x) domain("ai.onnx.ml") {coefficients = array<f32: 1.0, 2.0, 3.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has 3 coefficients for 2 rows of them}}
    %21 = onnx.node "LinearRegressor"(%x) domain("ai.onnx.ml") {targets = 2 : i64, coefficients = array<f32: 1.0, 2.0, 3.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has 1 intercepts for 3 classes}}
    %22:2 = onnx.node "LinearClassifier"(%x) domain("ai.onnx.ml") {coefficients = array<f32: 1.0, 2.0>, intercepts = array<f32: 0.0>, classlabels_ints = array<i64: 1, 2, 3>} : (tensor<4x2xf32>) -> (tensor<*xi64>, tensor<*xf32>)
    // expected-error @below {{attribute 'kernel_type' is 'COSINE', expected LINEAR, POLY, RBF or SIGMOID}}
    %23 = onnx.node "SVMRegressor"(%x) domain("ai.onnx.ml") {kernel_type = "COSINE", coefficients = array<f32: 1.0, 2.0>, rho = array<f32: 0.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'rho' has 2 entries, expected 1}}
    %24 = onnx.node "SVMRegressor"(%x) domain("ai.onnx.ml") {coefficients = array<f32: 1.0, 2.0>, rho = array<f32: 0.0, 0.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has 1 coefficients, expected 1 for each of 2 support vectors}}
    %25:2 = onnx.node "SVMClassifier"(%x) domain("ai.onnx.ml") {coefficients = array<f32: 1.0>, rho = array<f32: 0.0>, vectors_per_class = array<i64: 1, 1>, support_vectors = array<f32: 1.0, 2.0, 3.0, 4.0>, classlabels_ints = array<i64: 0, 1>} : (tensor<4x2xf32>) -> (tensor<*xi64>, tensor<*xf32>)
    // expected-error @below {{attribute 'vectors_per_class' has the entry 9223372036854775807, expected 0 to 3}}
    %many:2 = onnx.node "SVMClassifier"(%x) domain("ai.onnx.ml") {coefficients = array<f32: 1.0>, rho = array<f32: 0.0>, vectors_per_class = array<i64: 1, 9223372036854775807>, support_vectors = array<f32: 1.0, 2.0, 3.0, 4.0>, classlabels_ints = array<i64: 0, 1>} : (tensor<4x2xf32>) -> (tensor<*xi64>, tensor<*xf32>)
    // expected-error @below {{has 3 scales for 2 features}}
    %26 = onnx.node "Scaler"(%x) domain("ai.onnx.ml") {offset = array<f32: 1.0, 2.0, 3.0>, scale = array<f32: 1.0, 2.0, 3.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has 1 offsets and 0 scales, expected as many of both}}
    %27 = onnx.node "Scaler"(%x) domain("ai.onnx.ml") {offset = array<f32: 1.0>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'norm' is 'L3', expected MAX, L1 or L2}}
    %28 = onnx.node "Normalizer"(%x) domain("ai.onnx.ml") {norm = "L3"} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has no values of type 'f32' to put in}}
    %29 = onnx.node "Imputer"(%x) domain("ai.onnx.ml") {imputed_value_int64s = array<i64: 1>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has the category 1 : i64 twice}}
    %30 = onnx.node "OneHotEncoder"(%x) domain("ai.onnx.ml") {cats_int64s = array<i64: 1, 2, 1>} : (tensor<4x2xf32>) -> tensor<*xf32>
    // expected-error @below {{has 2 keys and 1 values, expected the same}}
    %31 = onnx.node "LabelEncoder"(%x) domain("ai.onnx.ml") {keys_floats = array<f32: 1.0, 2.0>, values_int64s = array<i64: 1>} : (tensor<4x2xf32>) -> tensor<*xi64>
    // expected-error @below {{attribute 'inputdimensions' has 2 entries, expected 1}}
    %32 = onnx.node "FeatureVectorizer"(%x) domain("ai.onnx.ml") {inputdimensions = array<i64: 1, 2>} : (tensor<4x2xf32>) -> tensor<*xf32>
    onnx.return %x : tensor<4x2xf32>
  }
}

// -----

// Maps are refused with advice.
// expected-error @below {{1 operator is not supported: 'ai.onnx.ml::ZipMap' (1 node)}}
// expected-note @below {{maps are not supported; export the classifier without ZipMap, with skl2onnx by options={'zipmap': False}: its scores are a tensor then}}
module attributes {onnx.opsets = {ai.onnx = 18 : i64, ai.onnx.ml = 1 : i64}} {
  func.func @main(%x: tensor<4x2xf32> {onnx.name = "x"}) -> (!onnx.unknown {onnx.name = "y"}) {
    %0 = onnx.node "ZipMap"(%x) domain("ai.onnx.ml") {classlabels_int64s = array<i64: 0, 1>} : (tensor<4x2xf32>) -> !onnx.unknown
    onnx.return %0 : !onnx.unknown
  }
}
