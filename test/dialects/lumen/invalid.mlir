// The verifiers name the rule and both values.
// RUN: lumen-opt %s -split-input-file -verify-diagnostics

func.func @constant() {
  // expected-error @below {{has a blob of 8 bytes, expected 16 for 'tensor<4xf32>'}}
  %0 = lumen.constant #lumen.blob<0, 0, 8> : tensor<4xf32>
  return
}

// -----

func.func @unary(%x: tensor<4xi32>) {
  // expected-error @below {{has an operand of element type 'i32', expected a floating-point type}}
  %0 = lumen.unary <isnan> %x : tensor<4xi32> -> tensor<4xi1>
  return
}

// -----

func.func @binary(%x: tensor<4xf32>) {
  // expected-error @below {{has operands of element type 'f32', expected an integer type}}
  %0 = lumen.binary <and> %x, %x : tensor<4xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<4xf32>) {
  // expected-error @below {{repeats dimension 0 of size 4 to 5; only a size of 1 is repeated}}
  %0 = lumen.broadcast %x [1] : tensor<4xf32> -> tensor<3x5xf32>
  return
}

// -----

func.func @broadcast_order(%x: tensor<4x4xf32>) {
  // expected-error @below {{has dimension 0 in 'dims', expected one from 2 to 1}}
  %0 = lumen.broadcast %x [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @contract(%x: tensor<2x3xf32>) {
  // expected-error @below {{has inner dimensions 3 and 2, expected equal ones}}
  %0 = lumen.contract %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @packed(%x: tensor<2x3xf32>, %w: tensor<1x3x64xf32>) {
  // expected-error @below {{has a packed operand of shape 1x3x64, expected 2x3x64}}
  %0 = lumen.contract %x, %w packed : tensor<2x3xf32>, tensor<1x3x64xf32> -> tensor<2x65xf32>
  return
}

// -----

func.func @conv(%x: tensor<1x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has a filter of shape 3x4x6, expected 3x2x6}}
  %0 = lumen.conv %x, %w {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 1>, groups = 2 : i64} : tensor<1x8x4xf32>, tensor<3x4x6xf32> -> tensor<1x8x6xf32>
  return
}

// -----

func.func @conv_result(%x: tensor<1x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error @below {{has a result of shape 1x6x6, expected 1x8x6}}
  %0 = lumen.conv %x, %w {window = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 1>, pad_high = array<i64: 1>, groups = 1 : i64} : tensor<1x8x4xf32>, tensor<3x4x6xf32> -> tensor<1x6x6xf32>
  return
}

// -----

func.func @window(%x: tensor<4xf32>) {
  // expected-error @below {{has the entry 0 in 'strides', expected at least 1}}
  %0 = lumen.window <max> %x {window = array<i64: 2>, strides = array<i64: 0>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----

func.func @reduce(%x: tensor<2x3xf32>) {
  // expected-error @below {{has a result of shape 3, expected 2}}
  %0 = lumen.reduce <sum> %x [1] : tensor<2x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @softmax(%x: tensor<2x3xf32>) {
  // expected-error @below {{has axis 2, which lies outside the rank 2}}
  %0 = lumen.softmax %x {axis = 2 : i64} : tensor<2x3xf32>
  return
}

// -----

func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error @below {{has [0, 0] in 'perm', expected a permutation of 2 dimensions}}
  %0 = lumen.transpose %x [0, 0] : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error @below {{has a result of 5 elements, expected 6}}
  %0 = lumen.reshape %x : tensor<2x3xf32> -> tensor<5xf32>
  return
}

// -----

func.func @slice(%x: tensor<4xf32>) {
  // expected-error @below {{reads elements 1 to 5 of dimension 0, which has 4}}
  %0 = lumen.slice %x [1] [2] : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----

func.func @concat(%x: tensor<2x3xf32>) {
  // expected-error @below {{has a result of shape 3x3, expected 4x3}}
  %0 = lumen.concat %x, %x {axis = 0 : i64} : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @pad(%x: tensor<4xf32>, %v: tensor<1xf32>) {
  // expected-error @below {{has a value of shape 1, expected scalar}}
  %0 = lumen.pad <constant> %x, %v [0] [1] : tensor<4xf32>, tensor<1xf32> -> tensor<5xf32>
  return
}

// -----

func.func @gather_of_none(%x: tensor<0x2xf32>, %i: tensor<3xi64>) {
  // expected-error @below {{picks from dimension 0 of size 0}}
  %0 = lumen.gather %x, %i {axis = 0 : i64} : tensor<0x2xf32>, tensor<3xi64> -> tensor<3x2xf32>
  return
}

// -----

func.func @gather(%x: tensor<4x2xf32>, %i: tensor<3xf32>) {
  // expected-error @below {{has indices of element type 'f32', expected an integer type}}
  %0 = lumen.gather %x, %i {axis = 0 : i64} : tensor<4x2xf32>, tensor<3xf32> -> tensor<3x2xf32>
  return
}

// -----

func.func @iota() {
  // expected-error @below {{has axis -1, which lies outside the rank 1}}
  %0 = lumen.iota {axis = -1 : i64} : tensor<4xi64>
  return
}

// -----

func.func @call_without_extents(%s: !lumen.seq<tensor<?xf32>>, %i: tensor<i64>) {
  // expected-error @below {{defines symbols, but its results are no tensor and the i64 of its extents}}
  %0 = lumen.call "sequence_at"(%s, %i) symbols ["m"] : (!lumen.seq<tensor<?xf32>>, tensor<i64>) -> tensor<?xf32, #lumen.dims<["m"]>>
  return
}

// -----

func.func @call_symbols(%s: !lumen.seq<tensor<?xf32>>, %i: tensor<i64>) {
  // expected-error @below {{has 2 symbols, expected 1}}
  %0, %1 = lumen.call "sequence_at"(%s, %i) symbols ["m", "n"] : (!lumen.seq<tensor<?xf32>>, tensor<i64>) -> (tensor<?xf32, #lumen.dims<["m"]>>, tensor<1xi64>)
  return
}

// -----

func.func @attention_dims(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>) {
  // expected-error @+1 {{has query_dims that are no permutation of 4 dimensions}}
  %0 = lumen.attention %q [0, 1, 1, 3], %k [0, 1, 2, 3], %k [0, 1, 2, 3] to [0, 1, 2, 3] {scale = 1.0 : f64} : tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32> -> tensor<1x4x3x8xf32>
  return
}

// -----

func.func @attention_heads(%q: tensor<1x4x3x8xf32>, %k: tensor<1x3x5x8xf32>) {
  // expected-error @+1 {{has 4 heads of queries and 3 of keys, expected a multiple}}
  %0 = lumen.attention %q [0, 1, 2, 3], %k [0, 1, 2, 3], %k [0, 1, 2, 3] to [0, 1, 2, 3] {scale = 1.0 : f64} : tensor<1x4x3x8xf32>, tensor<1x3x5x8xf32>, tensor<1x3x5x8xf32> -> tensor<1x4x3x8xf32>
  return
}

// -----

func.func @attention_size(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>) {
  // expected-error @+1 {{has a key of the logical shape 1x2x8x5, expected 1x2x8x8}}
  %0 = lumen.attention %q [0, 1, 2, 3], %k [0, 1, 3, 2], %k [0, 1, 2, 3] to [0, 1, 2, 3] {scale = 1.0 : f64} : tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32> -> tensor<1x4x3x8xf32>
  return
}

// -----

func.func @attention_mask(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %m: tensor<1x1x2x5xf32>) {
  // expected-error @+1 {{has a mask of shape 1x1x2x5, expected dimensions of 1x4x3x5 or 1}}
  %0 = lumen.attention %q [0, 1, 2, 3], %k [0, 1, 2, 3], %k [0, 1, 2, 3] mask(%m : tensor<1x1x2x5xf32>) to [0, 1, 2, 3] {scale = 1.0 : f64} : tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32> -> tensor<1x4x3x8xf32>
  return
}

// -----

func.func @attention_first(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x5x8xf32>, %p: tensor<2xi32>) {
  // expected-error @+1 {{has a first of shape 2, expected a scalar or one per batch}}
  %0 = lumen.attention %q [0, 1, 2, 3], %k [0, 1, 2, 3], %k [0, 1, 2, 3] first(%p : tensor<2xi32>) to [0, 1, 2, 3] {scale = 1.0 : f64} : tensor<1x4x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32> -> tensor<1x4x3x8xf32>
  return
}
