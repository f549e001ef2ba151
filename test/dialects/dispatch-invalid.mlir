// The dispatch dialect refuses what its verifiers forbid.
// RUN: lumen-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{has two roots, lumen.softmax and lumen.reduce}}
dispatch.kernel @k(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = lumen.softmax %x {axis = 1 : i64} : tensor<4x8xf32>
  %1 = lumen.reduce <sum> %0 [1] : tensor<4x8xf32> -> tensor<4xf32>
  dispatch.yield %1 : tensor<4xf32>
}

// -----

// expected-error @+1 {{yields types that differ from its results}}
dispatch.kernel @k(%x: tensor<4xf32>) -> tensor<8xf32> {
  dispatch.yield %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{argument 0 has 1 strides, expected 2}}
dispatch.kernel @k(%x: tensor<4x8xf32> {dispatch.strides = #lumen.dims<["1"]>}) -> tensor<4x8xf32> {
  dispatch.yield %x : tensor<4x8xf32>
}

// -----

func.func private @f(tensor<4xf32>) -> tensor<4xf32>
// expected-error @+1 {{holds func.call, expected operations of the lumen dialect}}
dispatch.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  dispatch.yield %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{launches @missing, which is no kernel}}
  %0 = dispatch.launch @missing(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dispatch.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  dispatch.yield %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has 2 inputs, expected 1}}
  %0 = dispatch.launch @k(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
