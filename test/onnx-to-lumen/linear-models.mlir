// Linear models and support vector machines are matrix products with what is known of them.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen | FileCheck %s

// One score for two classes becomes both.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = lumen.contract %{{.*}}, %{{.*}} transpose_rhs : tensor<4x2xf32>, tensor<1x2xf32> -> tensor<4x1xf32>
// CHECK: %[[SCORE:.*]] = lumen.binary <add> %[[S]]
// CHECK: lumen.compare <gt>
// CHECK: %[[LABEL:.*]] = lumen.gather
// CHECK: %[[OTHER:.*]] = lumen.unary <neg> %[[SCORE]]
// CHECK: %[[BOTH:.*]] = lumen.concat %[[OTHER]], %[[SCORE]]
// CHECK: %[[Z:.*]] = lumen.unary <sigmoid> %[[BOTH]]
// CHECK: return %[[LABEL]], %[[Z]]
module attributes {onnx.opsets = {ai.onnx = 18 : i64, ai.onnx.ml = 1 : i64}} {
  func.func @main(%x: tensor<4x2xf32> {onnx.name = "x"}) -> (tensor<*xi64> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "z"}) {
    %0:2 = onnx.node "LinearClassifier"(%x) domain("ai.onnx.ml") {
      coefficients = array<f32: 1.0, 2.0>, intercepts = array<f32: 0.5>,
      classlabels_ints = array<i64: 7, 9>, post_transform = "LOGISTIC"
    } : (tensor<4x2xf32>) -> (tensor<*xi64>, tensor<*xf32>)
    onnx.return %0#0, %0#1 : tensor<*xi64>, tensor<*xf32>
  }
}

// -----

// The distance to support vectors is a product of what lies around their mean.
// CHECK-LABEL: func.func @main
// CHECK: %[[MEAN:.*]] = lumen.constant dense<[2.000000e+00, 3.000000e+00]>
// CHECK: lumen.binary <sub> %arg0
// CHECK: lumen.constant dense<{{\[}}[-1.000000e+00, -1.000000e+00], [1.000000e+00, 1.000000e+00]]>
// CHECK: lumen.contract
// CHECK: lumen.unary <exp>
// CHECK: lumen.contract
module attributes {onnx.opsets = {ai.onnx = 18 : i64, ai.onnx.ml = 1 : i64}} {
  func.func @main(%x: tensor<4x2xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %0 = onnx.node "SVMRegressor"(%x) domain("ai.onnx.ml") {
      kernel_type = "RBF", kernel_params = array<f32: 0.5, 0.0, 0.0>, n_supports = 2 : i64,
      support_vectors = array<f32: 1.0, 2.0, 3.0, 4.0>, coefficients = array<f32: 1.0, -1.0>,
      rho = array<f32: 0.25>
    } : (tensor<4x2xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// Probabilities of pairs are coupled by sweeps, as long as any row needs one.
// CHECK-LABEL: func.func @main
// CHECK: lumen.loop({{.*}}) trips "100" induction "sweep$0" symbols [] init_sizes [] conditional
// CHECK: lumen.yield
module attributes {onnx.opsets = {ai.onnx = 18 : i64, ai.onnx.ml = 1 : i64}} {
  func.func @main(%x: tensor<4x2xf32> {onnx.name = "x"}) -> (tensor<*xi64> {onnx.name = "y"}, tensor<*xf32> {onnx.name = "z"}) {
    %0:2 = onnx.node "SVMClassifier"(%x) domain("ai.onnx.ml") {
      kernel_type = "LINEAR", vectors_per_class = array<i64: 1, 1>,
      support_vectors = array<f32: 1.0, 2.0, 3.0, 4.0>, coefficients = array<f32: 1.0, -1.0>,
      rho = array<f32: 0.25>, prob_a = array<f32: -1.0>, prob_b = array<f32: 0.5>,
      classlabels_ints = array<i64: 0, 1>
    } : (tensor<4x2xf32>) -> (tensor<*xi64>, tensor<*xf32>)
    onnx.return %0#0, %0#1 : tensor<*xi64>, tensor<*xf32>
  }
}
