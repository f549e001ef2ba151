// What exporters spell in several nodes is one kernel, and what they transpose back and forth is
// not moved at all.
// RUN: lumen-opt %s -split-input-file --convert-onnx-to-lumen --canonicalize --cse --fuse-normalization --propagate-transposes --canonicalize --sink-reshapes --canonicalize --drop-unit-dims --expand-powers --fold-affine --fold-constants --canonicalize --cse --form-kernels | FileCheck %s

// GELU by the error function.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: module
  // CHECK: dispatch.kernel @map_0
  // CHECK-NOT: dispatch.kernel
  // CHECK: func.func @main
  func.func @main(%x: tensor<2x8x64xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %root = onnx.constant dense<1.41421354> : tensor<f32>
    %one = onnx.constant dense<1.0> : tensor<f32>
    %half = onnx.constant dense<0.5> : tensor<f32>
    %a = onnx.node "Div"(%x, %root) {} : (tensor<2x8x64xf32>, tensor<f32>) -> tensor<*xf32>
    %b = onnx.node "Erf"(%a) {} : (tensor<*xf32>) -> tensor<*xf32>
    %c = onnx.node "Add"(%b, %one) {} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
    %d = onnx.node "Mul"(%x, %c) {} : (tensor<2x8x64xf32>, tensor<*xf32>) -> tensor<*xf32>
    %y = onnx.node "Mul"(%d, %half) {} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}

// -----

// GELU by the hyperbolic tangent.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: module
  // CHECK: dispatch.kernel @map_0
  // CHECK-NOT: dispatch.kernel
  // CHECK: func.func @main
  func.func @main(%x: tensor<2x8x64xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %three = onnx.constant dense<3.0> : tensor<f32>
    %k = onnx.constant dense<0.044715> : tensor<f32>
    %s = onnx.constant dense<0.797884583> : tensor<f32>
    %one = onnx.constant dense<1.0> : tensor<f32>
    %half = onnx.constant dense<0.5> : tensor<f32>
    %a = onnx.node "Pow"(%x, %three) {} : (tensor<2x8x64xf32>, tensor<f32>) -> tensor<*xf32>
    %b = onnx.node "Mul"(%a, %k) {} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
    %c = onnx.node "Add"(%x, %b) {} : (tensor<2x8x64xf32>, tensor<*xf32>) -> tensor<*xf32>
    %d = onnx.node "Mul"(%c, %s) {} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
    %e = onnx.node "Tanh"(%d) {} : (tensor<*xf32>) -> tensor<*xf32>
    %f = onnx.node "Add"(%e, %one) {} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
    %g = onnx.node "Mul"(%x, %f) {} : (tensor<2x8x64xf32>, tensor<*xf32>) -> tensor<*xf32>
    %y = onnx.node "Mul"(%g, %half) {} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}

// -----

// GELU by the logistic function; with a factor of one it is SiLU.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: module
  // CHECK: dispatch.kernel @map_0
  // CHECK-NOT: dispatch.kernel
  // CHECK: func.func @main
  func.func @main(%x: tensor<2x8x64xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %k = onnx.constant dense<1.702> : tensor<f32>
    %a = onnx.node "Mul"(%x, %k) {} : (tensor<2x8x64xf32>, tensor<f32>) -> tensor<*xf32>
    %b = onnx.node "Sigmoid"(%a) {} : (tensor<*xf32>) -> tensor<*xf32>
    %y = onnx.node "Mul"(%x, %b) {} : (tensor<2x8x64xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}

// -----

// Hard swish by HardSigmoid.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: module
  // CHECK: dispatch.kernel @map_0
  // CHECK-NOT: dispatch.kernel
  // CHECK: func.func @main
  func.func @main(%x: tensor<2x8x64xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %a = onnx.node "HardSigmoid"(%x) {alpha = 0.166666672 : f32, beta = 0.5 : f32} : (tensor<2x8x64xf32>) -> tensor<*xf32>
    %y = onnx.node "Mul"(%x, %a) {} : (tensor<2x8x64xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}

// -----

// Hard swish by Clip.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: module
  // CHECK: dispatch.kernel @map_0
  // CHECK-NOT: dispatch.kernel
  // CHECK: func.func @main
  func.func @main(%x: tensor<2x8x64xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %three = onnx.constant dense<3.0> : tensor<f32>
    %zero = onnx.constant dense<0.0> : tensor<f32>
    %six = onnx.constant dense<6.0> : tensor<f32>
    %a = onnx.node "Add"(%x, %three) {} : (tensor<2x8x64xf32>, tensor<f32>) -> tensor<*xf32>
    %b = onnx.node "Clip"(%a, %zero, %six) {} : (tensor<*xf32>, tensor<f32>, tensor<f32>) -> tensor<*xf32>
    %c = onnx.node "Mul"(%x, %b) {} : (tensor<2x8x64xf32>, tensor<*xf32>) -> tensor<*xf32>
    %y = onnx.node "Div"(%c, %six) {} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}

// -----

// RMS norm with a reciprocal of a root.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: module
  // CHECK: dispatch.kernel @norm_0
  // CHECK-NOT: dispatch.kernel
  // CHECK: func.func @main
  func.func @main(%x: tensor<2x8x64xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %two = onnx.constant dense<2.0> : tensor<f32>
    %e = onnx.constant dense<1.0e-6> : tensor<f32>
    %one = onnx.constant dense<1.0> : tensor<f32>
    %a = onnx.node "Pow"(%x, %two) {} : (tensor<2x8x64xf32>, tensor<f32>) -> tensor<*xf32>
    %b = onnx.node "ReduceMean"(%a) {axes = array<i64: -1>} : (tensor<*xf32>) -> tensor<*xf32>
    %c = onnx.node "Add"(%b, %e) {} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
    %d = onnx.node "Sqrt"(%c) {} : (tensor<*xf32>) -> tensor<*xf32>
    %f = onnx.node "Div"(%one, %d) {} : (tensor<f32>, tensor<*xf32>) -> tensor<*xf32>
    %y = onnx.node "Mul"(%x, %f) {} : (tensor<2x8x64xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}

// -----

// RMS norm as a quotient.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: module
  // CHECK: dispatch.kernel @norm_0
  // CHECK-NOT: dispatch.kernel
  // CHECK: func.func @main
  func.func @main(%x: tensor<2x8x64xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %e = onnx.constant dense<1.0e-6> : tensor<f32>
    %a = onnx.node "Mul"(%x, %x) {} : (tensor<2x8x64xf32>, tensor<2x8x64xf32>) -> tensor<*xf32>
    %b = onnx.node "ReduceMean"(%a) {axes = array<i64: -1>} : (tensor<*xf32>) -> tensor<*xf32>
    %c = onnx.node "Add"(%b, %e) {} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
    %d = onnx.node "Sqrt"(%c) {} : (tensor<*xf32>) -> tensor<*xf32>
    %y = onnx.node "Div"(%x, %d) {} : (tensor<2x8x64xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}

// -----

// RMS norm with a power.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: module
  // CHECK: dispatch.kernel @norm_0
  // CHECK-NOT: dispatch.kernel
  // CHECK: func.func @main
  func.func @main(%x: tensor<2x8x64xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %two = onnx.constant dense<2.0> : tensor<f32>
    %e = onnx.constant dense<1.0e-6> : tensor<f32>
    %p = onnx.constant dense<-0.5> : tensor<f32>
    %a = onnx.node "Pow"(%x, %two) {} : (tensor<2x8x64xf32>, tensor<f32>) -> tensor<*xf32>
    %b = onnx.node "ReduceMean"(%a) {axes = array<i64: -1>} : (tensor<*xf32>) -> tensor<*xf32>
    %c = onnx.node "Add"(%b, %e) {} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
    %d = onnx.node "Pow"(%c, %p) {} : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
    %y = onnx.node "Mul"(%x, %d) {} : (tensor<2x8x64xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.return %y : tensor<*xf32>
  }
}

// -----

// TensorFlow keeps channels last and transposes around each operator that ONNX has with channels
// first. Through padding, bias, residual, concatenation, pooling and mean none is left.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK-LABEL: module
  // CHECK-NOT: lumen.transpose
  // CHECK: func.func @main
  // CHECK-NOT: lumen.transpose
  // CHECK: return
  func.func @main(%x: tensor<1x16x16x3xf32> {onnx.name = "x"}, %w: tensor<8xf32> {onnx.name = "w"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %w1 = onnx.constant dense<0.1> : tensor<8x3x3x3xf32>
    %w2 = onnx.constant dense<0.2> : tensor<8x8x3x3xf32>
    %pads = onnx.constant dense<[0, 1, 1, 0, 0, 1, 1, 0]> : tensor<8xi64>
    %0 = onnx.node "Transpose"(%x) {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x16x16x3xf32>) -> tensor<*xf32>
    %1 = onnx.node "Conv"(%0, %w1) {pads = array<i64: 1, 1, 1, 1>} : (tensor<*xf32>, tensor<8x3x3x3xf32>) -> tensor<*xf32>
    %2 = onnx.node "Transpose"(%1) {perm = array<i64: 0, 2, 3, 1>} : (tensor<*xf32>) -> tensor<*xf32>
    %3 = onnx.node "Relu"(%2) {} : (tensor<*xf32>) -> tensor<*xf32>
    %4 = onnx.node "Pad"(%3, %pads) {} : (tensor<*xf32>, tensor<8xi64>) -> tensor<*xf32>
    %5 = onnx.node "Transpose"(%4) {perm = array<i64: 0, 3, 1, 2>} : (tensor<*xf32>) -> tensor<*xf32>
    %6 = onnx.node "Conv"(%5, %w2) {} : (tensor<*xf32>, tensor<8x8x3x3xf32>) -> tensor<*xf32>
    %7 = onnx.node "Transpose"(%6) {perm = array<i64: 0, 2, 3, 1>} : (tensor<*xf32>) -> tensor<*xf32>
    %8 = onnx.node "Add"(%7, %w) {} : (tensor<*xf32>, tensor<8xf32>) -> tensor<*xf32>
    %9 = onnx.node "Add"(%8, %3) {} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %10 = onnx.node "Concat"(%9, %3) {axis = 3 : i64} : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    %11 = onnx.node "Transpose"(%10) {perm = array<i64: 0, 3, 1, 2>} : (tensor<*xf32>) -> tensor<*xf32>
    %12 = onnx.node "MaxPool"(%11) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<*xf32>) -> tensor<*xf32>
    %13 = onnx.node "Transpose"(%12) {perm = array<i64: 0, 2, 3, 1>} : (tensor<*xf32>) -> tensor<*xf32>
    %14 = onnx.node "ReduceMean"(%13) {axes = array<i64: 1, 2>} : (tensor<*xf32>) -> tensor<*xf32>
    onnx.return %14 : tensor<*xf32>
  }
}
