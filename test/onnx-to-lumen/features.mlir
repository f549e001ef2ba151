// What prepares features is elementwise, with one number for all of them or one for each.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[OFFSET:.*]] = lumen.broadcast %{{.*}} [1] : tensor<2xf32>
// CHECK: %[[SCALE:.*]] = lumen.broadcast %{{.*}} [1] : tensor<2xf32>
// CHECK: %[[MOVED:.*]] = lumen.binary <sub> %arg0, %[[OFFSET]]
// CHECK: lumen.binary <mul> %[[MOVED]], %[[SCALE]]
// CHECK: %[[NAN:.*]] = lumen.unary <isnan>
// CHECK: lumen.select %[[NAN]]
// CHECK: lumen.gather %{{.*}}, %arg1 {axis = 1 : i64}
module attributes {onnx.opsets = {ai.onnx = 18 : i64, ai.onnx.ml = 1 : i64}} {
  func.func @main(%x: tensor<?x2xf32, #lumen.dims<["n", "2"]>> {onnx.name = "x"}, %i: tensor<3xi64> {onnx.name = "i"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %0 = onnx.node "Scaler"(%x) domain("ai.onnx.ml") {offset = array<f32: 1.0, 2.0>, scale = array<f32: 3.0, 4.0>} : (tensor<?x2xf32, #lumen.dims<["n", "2"]>>) -> tensor<*xf32>
    %1 = onnx.node "Imputer"(%0) domain("ai.onnx.ml") {imputed_value_floats = array<f32: 5.0>, replaced_value_float = 0x7FC00000 : f32} : (tensor<*xf32>) -> tensor<*xf32>
    %2 = onnx.node "ArrayFeatureExtractor"(%1, %i) domain("ai.onnx.ml") {} : (tensor<*xf32>, tensor<3xi64>) -> tensor<*xf32>
    onnx.return %2 : tensor<*xf32>
  }
}

// -----

// A string is looked up once; then numbers are compared.
// CHECK-LABEL: func.func @main
// CHECK: %[[CODE:.*]] = lumen.call "label_encoder"
// CHECK: lumen.compare <eq>
module attributes {onnx.opsets = {ai.onnx = 18 : i64, ai.onnx.ml = 1 : i64}} {
  func.func @main(%x: tensor<4x!onnx.string> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %0 = onnx.node "OneHotEncoder"(%x) domain("ai.onnx.ml") {cats_strings = ["a", "b"]} : (tensor<4x!onnx.string>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}
