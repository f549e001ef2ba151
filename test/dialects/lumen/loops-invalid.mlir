// What indexes, sorts and recurs names the rule and both values.
// RUN: lumen-opt %s -split-input-file -verify-diagnostics

func.func @pick_dims(%x: tensor<8x4xf32>, %i: tensor<8x3xi64>) {
  // expected-error @below {{has 1 entries in 'dims', expected 2}}
  %0 = lumen.pick %x(%i) [-1] : tensor<8x4xf32>, (tensor<8x3xi64>) -> tensor<8x3xf32>
  return
}

// -----

func.func @pick_count(%x: tensor<8x4xf32>, %i: tensor<8x3xi64>) {
  // expected-error @below {{has 1 index tensors, but 2 entries of -1 in 'dims'}}
  %0 = lumen.pick %x(%i) [-1, -1] : tensor<8x4xf32>, (tensor<8x3xi64>) -> tensor<8x3xf32>
  return
}

// -----

func.func @pick_steps(%x: tensor<8x4xf32>, %i: tensor<9x3xi64>) {
  // expected-error @below {{walks 9 steps along dimension 0 of size 8}}
  %0 = lumen.pick %x(%i) [0, -1] : tensor<8x4xf32>, (tensor<9x3xi64>) -> tensor<9x3xf32>
  return
}

// -----

func.func @scatter_indices(%x: tensor<8x4xf32>, %u: tensor<2x4xf32>, %i: tensor<3xi64>) {
  // expected-error @below {{has indices of shape 3, expected 2}}
  %0 = lumen.scatter <set> %x, %u(%i) [-1, 1] : tensor<8x4xf32>, tensor<2x4xf32>, (tensor<3xi64>) -> tensor<8x4xf32>
  return
}

// -----

func.func @sort(%x: tensor<8x4xf32>) {
  // expected-error @below {{takes 5 elements of dimension 1 of size 4}}
  %0:2 = lumen.sort %x {axis = 1 : i64} : tensor<8x4xf32> -> tensor<8x5xf32>, tensor<8x5xi64>
  return
}

// -----

func.func @recurrence(%x: tensor<9x2x8xf32>, %h: tensor<2x8xf32>) {
  // expected-error @below {{has lumen.iota in its cell, expected elementwise operations, slices and products}}
  %0:2 = lumen.recurrence %x params(%h) states(%h) : tensor<9x2x8xf32>, (tensor<2x8xf32>), (tensor<2x8xf32>) -> tensor<9x2x8xf32>, tensor<2x8xf32> {
  ^bb0(%a: tensor<8xf32>, %p: tensor<2x8xf32>, %s: tensor<8xf32>):
    %1 = lumen.iota {axis = 0 : i64} : tensor<8xf32>
    lumen.yield %1 sizes [] : tensor<8xf32>
  }
  return
}

// -----

func.func @recurrence_yield(%x: tensor<9x2x8xf32>, %h: tensor<2x8xf32>) {
  // expected-error @below {{has a cell that yields 0 values, expected 1}}
  %0:2 = lumen.recurrence %x params(%h) states(%h) : tensor<9x2x8xf32>, (tensor<2x8xf32>), (tensor<2x8xf32>) -> tensor<9x2x8xf32>, tensor<2x8xf32> {
  ^bb0(%a: tensor<8xf32>, %p: tensor<2x8xf32>, %s: tensor<8xf32>):
    lumen.yield sizes []
  }
  return
}

// -----

func.func @links_of_nodes(%x: tensor<8x4xf32>, %t: tensor<3xf32>, %k: tensor<2x2xi32>, %l: tensor<4xi32>, %r: tensor<1xi32>, %w: tensor<2x1xf32>) {
  // expected-error @below {{has links of shape 2x2, expected 3x2}}
  %0 = lumen.trees <sum> %x, %t, %k, %l, %r, %w : tensor<8x4xf32>, tensor<3xf32>, tensor<2x2xi32>, tensor<4xi32>, tensor<1xi32>, tensor<2x1xf32> -> tensor<1x8x1xf32>
  return
}

// -----

func.func @weights_of_leaves(%x: tensor<8x4xf32>, %t: tensor<3xf32>, %k: tensor<3x2xi32>, %l: tensor<4xi32>, %r: tensor<1xi32>, %w: tensor<2x1xf32>) {
  // expected-error @below {{has weights of shape 2x1, expected [?, 2]}}
  %0 = lumen.trees <sum> %x, %t, %k, %l, %r, %w : tensor<8x4xf32>, tensor<3xf32>, tensor<3x2xi32>, tensor<4xi32>, tensor<1xi32>, tensor<2x1xf32> -> tensor<1x8x2xf32>
  return
}

// -----

func.func @product_of_trees(%x: tensor<8x4xf32>, %t: tensor<3xf32>, %k: tensor<3x2xi32>, %l: tensor<4xi32>, %r: tensor<1xi32>, %w: tensor<2x1xf32>) {
  // expected-error @below {{has the kind prod, expected sum, max or min}}
  %0 = lumen.trees <prod> %x, %t, %k, %l, %r, %w : tensor<8x4xf32>, tensor<3xf32>, tensor<3x2xi32>, tensor<4xi32>, tensor<1xi32>, tensor<2x1xf32> -> tensor<1x8x1xf32>
  return
}
