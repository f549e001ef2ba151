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
