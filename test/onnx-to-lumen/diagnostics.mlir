// A mistake of the model is reported at its node, with both values.
// RUN: lumen-opt %s -split-input-file -convert-onnx-to-lumen -verify-diagnostics

module attributes {onnx.opsets = {ai.onnx = 11 : i64}} {
  func.func @main(%x: tensor<1x3x8x8xf32> {onnx.name = "x"}, %w: tensor<6x4x3x3xf32> {onnx.name = "w"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // expected-error @below {{weight has 4 input channels, expected 3}}
    %0 = onnx.node "Conv"(%x, %w) {} : (tensor<1x3x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<*xf32>
    // What follows from an error is not another one.
    %1 = onnx.node "Relu"(%0) {} : (tensor<*xf32>) -> tensor<*xf32>
    // expected-error @below {{inputs of shapes 1x3x8x8 and 6x4x3x3 cannot be broadcast together}}
    %2 = onnx.node "Add"(%x, %w) {} : (tensor<1x3x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<*xf32>
    onnx.return %1 : tensor<*xf32>
  }
}

// -----

// Nothing that a node says is ignored silently.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  func.func @main(%x: tensor<1x3x8x8xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // expected-error @below {{attribute 'mood' is not supported}}
    %0 = onnx.node "Relu"(%x) {mood = "good"} : (tensor<1x3x8x8xf32>) -> tensor<*xf32>
    // expected-error @below {{output 1 is not supported}}
    %1:2 = onnx.node "Softmax"(%x) {} : (tensor<1x3x8x8xf32>) -> (tensor<*xf32>, tensor<*xi64>)
    // expected-error @below {{has 2 inputs, expected at most 1}}
    %2 = onnx.node "Relu"(%x, %x) {} : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'axis' is "last", expected an integer}}
    %3 = onnx.node "Softmax"(%x) {axis = "last"} : (tensor<1x3x8x8xf32>) -> tensor<*xf32>
    // expected-error @below {{has 1 inputs, expected at least 2}}
    %5 = onnx.node "Pad"(%x) {} : (tensor<1x3x8x8xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'strides' has the entry 9223372036854775807, expected 1 to 2147483647}}
    %6 = onnx.node "MaxPool"(%x) {kernel_shape = array<i64: 2, 2>, strides = array<i64: 1, 9223372036854775807>} : (tensor<1x3x8x8xf32>) -> tensor<*xf32>
    // expected-error @below {{kernel of shape 2x4294967296 has the dimension 4294967296, expected 1 to 2147483647}}
    %7 = onnx.node "MaxPool"(%x) {kernel_shape = array<i64: 2, 4294967296>} : (tensor<1x3x8x8xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'blocksize' is 4294967296, expected 1 to 2147483647}}
    %8 = onnx.node "SpaceToDepth"(%x) {blocksize = 4294967296 : i64} : (tensor<1x3x8x8xf32>) -> tensor<*xf32>
    // expected-error @below {{axis 4 lies outside the rank 4}}
    %4 = onnx.node "Softmax"(%x) {axis = 4 : i64} : (tensor<1x3x8x8xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// All unsupported operators are one message.
// expected-note @below {{files of images are decoded by the application; give the model pixels}}
// expected-error @below {{2 operators are not supported: 'ImageDecoder' (2 nodes, first 'n1'), 'com.microsoft::SparseAttention' (1 node)}}
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %0 = onnx.node "ImageDecoder"(%x) {} : (tensor<4xf32>) -> tensor<*xi64> loc("ImageDecoder 'n1'")
    %1 = onnx.node "ImageDecoder"(%x) {} : (tensor<4xf32>) -> tensor<*xi64> loc("ImageDecoder 'n2'")
    %2 = onnx.node "SparseAttention"(%x) domain("com.microsoft") {} : (tensor<4xf32>) -> tensor<*xf32>
    onnx.return %2 : tensor<*xf32>
  }
}

// -----

// What has no rank is named with the flag that gives it one.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // expected-error @below {{input 'ids' has no shape; give it one with --shape ids=...}}
  func.func @main(%a: tensor<*xi64> {onnx.name = "ids"}) -> (tensor<*xi64> {onnx.name = "y"}) {
    onnx.return %a : tensor<*xi64>
  }
}

// -----

// How many numbers decide a rank is known, and sizes that cannot be are said at once.
!s = tensor<?xi64, #lumen.dims<["k"]>>
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  func.func @main(%x: tensor<4xf32> {onnx.name = "x"}, %s: !s {onnx.name = "s"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // expected-error @below {{axes has k elements, which only the run knows; a fixed number is supported}}
    %0 = onnx.node "Unsqueeze"(%x, %s) {} : (tensor<4xf32>, !s) -> tensor<*xf32>
    %t = onnx.constant dense<[3, -1]> : tensor<2xi64>
    // expected-error @below {{input of shape 4 with 4 elements cannot take the shape 3x-1}}
    %1 = onnx.node "Reshape"(%x, %t) {} : (tensor<4xf32>, tensor<2xi64>) -> tensor<*xf32>
    %huge = onnx.constant dense<4611686018427387904> : tensor<2xi64>
    // expected-error @below {{is too large}}
    %2 = onnx.node "ConstantOfShape"(%huge) {} : (tensor<2xi64>) -> tensor<*xf32>
    %many = onnx.constant dense<1> : tensor<65xi64>
    // expected-error @below {{result has rank 65, expected at most 64}}
    %3 = onnx.node "Expand"(%x, %many) {} : (tensor<4xf32>, tensor<65xi64>) -> tensor<*xf32>
    // expected-error @below {{result has rank 66, expected at most 64}}
    %4 = onnx.node "Unsqueeze"(%x, %many) {} : (tensor<4xf32>, tensor<65xi64>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// The file's own idea of an output is compared with the computed one.
module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  // expected-warning @below {{output 'y' is f32[4], but the model declares f32[5]}}
  func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<5xf32> {onnx.name = "y"}) {
    %0 = onnx.node "Relu"(%x) {} : (tensor<4xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// What can never be is said at once, also of symbols.
!x = tensor<?x4xf32, #lumen.dims<["n", "4"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  func.func @main(%x: !x {onnx.name = "x"}, %y: tensor<?x4xf32, #lumen.dims<["n + 1", "4"]>> {onnx.name = "y"}) -> (tensor<*xf32> {onnx.name = "z"}) {
    %i = onnx.constant dense<[0, 4]> : tensor<2xi64>
    // expected-error @below {{index 4 lies outside dimension 1 of size 4}}
    %0 = onnx.node "Gather"(%x, %i) {axis = 1 : i64} : (!x, tensor<2xi64>) -> tensor<*xf32>
    // expected-error @below {{inputs of shapes [n, 4] and [n + 1, 4] cannot be joined along dimension 1}}
    %1 = onnx.node "Concat"(%x, %y) {axis = 1 : i64} : (!x, tensor<?x4xf32, #lumen.dims<["n + 1", "4"]>>) -> tensor<*xf32>
    // expected-error @below {{dimension 1 of size 4 cannot be split into 3 equal parts}}
    %2:3 = onnx.node "Split"(%x) {axis = 1 : i64} : (!x) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
    // expected-error @below {{dimension 0 of size n is taken out if it is 1, which only the run knows; axes or sizes fixed by --dim are needed}}
    %3 = onnx.node "Squeeze"(%x) {} : (!x) -> tensor<*xf32>
    %two = onnx.constant dense<[-1, -1]> : tensor<2xi64>
    // expected-error @below {{shape -1x-1 has two dimensions of -1, expected one}}
    %4 = onnx.node "Reshape"(%x, %two) {} : (!x, tensor<2xi64>) -> tensor<*xf32>
    onnx.return %x : !x
  }
}

// -----

// Heads, masks and caches of attention have to fit each other.
module attributes {onnx.opsets = {ai.onnx = 24 : i64, com.microsoft = 1 : i64}} {
  func.func @main(%q: tensor<1x4x2x8xf32> {onnx.name = "q"}, %k: tensor<1x3x5x8xf32> {onnx.name = "k"}, %f: tensor<1x2x32xf32> {onnx.name = "f"}, %m: tensor<2x6xf32> {onnx.name = "m"}, %c: tensor<9x3xf32> {onnx.name = "c"}, %i: tensor<1x2xi64> {onnx.name = "i"}, %p: tensor<1x2x3xi32> {onnx.name = "p"}, %w: tensor<32x5xf32> {onnx.name = "w"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // expected-error @below {{there are 4 heads of queries and 3 of keys, expected a multiple}}
    %0 = onnx.node "Attention"(%q, %k, %k) {} : (tensor<1x4x2x8xf32>, tensor<1x3x5x8xf32>, tensor<1x3x5x8xf32>) -> tensor<*xf32>
    // expected-error @below {{Q has shape 1x2x32, whose last dimension cannot be split into 5 heads}}
    %1 = onnx.node "Attention"(%f, %f, %f) {q_num_heads = 5 : i64, kv_num_heads = 4 : i64} : (tensor<1x2x32xf32>, tensor<1x2x32xf32>, tensor<1x2x32xf32>) -> tensor<*xf32>
    // expected-error @below {{attn_mask has shape 2x6, but there are 2 keys}}
    %2 = onnx.node "Attention"(%q, %q, %q, %m) {} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<2x6xf32>) -> tensor<*xf32>
    %none = onnx.absent
    // expected-error @below {{past_key and past_value are used together}}
    %3 = onnx.node "Attention"(%q, %q, %q, %none, %q) {} : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, none, tensor<1x4x2x8xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'rotary_embedding_dim' is 4, expected twice the 3 columns of cos_cache}}
    %4 = onnx.node "RotaryEmbedding"(%q, %c, %c, %i) {rotary_embedding_dim = 4 : i64} : (tensor<1x4x2x8xf32>, tensor<9x3xf32>, tensor<9x3xf32>, tensor<1x2xi64>) -> tensor<*xf32>
    // expected-error @below {{attribute 'activation' is 'Wild', expected one of Clip, HardSigmoid, LeakyRelu, Relu, Sigmoid, Softplus, Tanh}}
    %5 = onnx.node "FusedGemm"(%m, %m) domain("com.microsoft") {transB = 1 : i64, activation = "Wild"} : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<*xf32>
    // expected-error @below {{attribute 'num_heads' is 0, expected 1 to 2147483647}}
    %6 = onnx.node "MultiHeadAttention"(%f, %f, %f) domain("com.microsoft") {} : (tensor<1x2x32xf32>, tensor<1x2x32xf32>, tensor<1x2x32xf32>) -> tensor<*xf32>
    // expected-error @below {{key_padding_mask has shape 1x2x3, expected 1x2x2}}
    %7 = onnx.node "MultiHeadAttention"(%f, %f, %f, %none, %p) domain("com.microsoft") {num_heads = 4 : i64} : (tensor<1x2x32xf32>, tensor<1x2x32xf32>, tensor<1x2x32xf32>, none, tensor<1x2x3xi32>) -> tensor<*xf32>
    // expected-error @below {{weights have 5 columns, expected 3}}
    %8 = onnx.node "Attention"(%f, %w) domain("com.microsoft") {num_heads = 1 : i64} : (tensor<1x2x32xf32>, tensor<32x5xf32>) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// The taps of a convolution are known.
!w = tensor<4x2x?xf32, #lumen.dims<["4", "2", "k"]>>
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  func.func @main(%x: tensor<1x4x8xf32> {onnx.name = "x"}, %w: !w {onnx.name = "w"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    // expected-error @below {{weight has shape [4, 2, k], expected fixed spatial dimensions, or attribute 'kernel_shape'}}
    %0 = onnx.node "Conv"(%x, %w) {group = 2 : i64} : (tensor<1x4x8xf32>, !w) -> tensor<*xf32>
    // expected-error @below {{weight of shape [4, 2, k] does not fit 4 input channels in groups of 3 and taps of shape 3}}
    %1 = onnx.node "Conv"(%x, %w) {group = 3 : i64, kernel_shape = array<i64: 3>} : (tensor<1x4x8xf32>, !w) -> tensor<*xf32>
    onnx.return %0 : tensor<*xf32>
  }
}

// -----

// What a Loop carries keeps its rank, and what it stacks is a tensor.
module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<*xf32> {onnx.name = "y"}) {
    %m = onnx.constant dense<3> : tensor<i64>
    %none = onnx.absent
    %axis = onnx.constant dense<0> : tensor<1xi64>
    // expected-error @below {{carried value 0 begins as f32 of shape 4 and becomes f32 of shape [1, carried$0], expected the same element type and rank}}
    %0 = onnx.node "Loop"(%m, %none, %x) {} : (tensor<i64>, none, tensor<4xf32>) -> !onnx.unknown bodies ["body"] {
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %s: tensor<*xf32>):
      %1 = onnx.node "Unsqueeze"(%s, %axis) {} : (tensor<*xf32>, tensor<1xi64>) -> !onnx.unknown
      onnx.return %c, %1 : tensor<i1>, !onnx.unknown
    }
    // expected-error @below {{output 1 of the body is of type sequence of f32[4], which cannot be stacked}}
    %2 = onnx.node "Loop"(%m, %none) {} : (tensor<i64>, none) -> !onnx.unknown bodies ["body"] {
    ^bb0(%i: tensor<i64>, %c: tensor<i1>):
      %3 = onnx.node "SequenceConstruct"(%x) {} : (tensor<4xf32>) -> !onnx.unknown
      onnx.return %c, %3 : tensor<i1>, !onnx.unknown
    }
    onnx.return %x : tensor<4xf32>
  }
}

// -----

// Bits of other types are as many.
module attributes {onnx.opsets = {ai.onnx = 26 : i64}} {
  func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> (tensor<*xf64> {onnx.name = "y"}) {
    // expected-error @below {{attribute 'to' names the type 'f64', expected one of 32 bits, as 'f32' has}}
    %0 = onnx.node "BitCast"(%x) {to = 11 : i64} : (tensor<4xf32>) -> tensor<*xf64>
    onnx.return %0 : tensor<*xf64>
  }
}
