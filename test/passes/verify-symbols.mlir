// A symbol must have a value where a type or an expression names it.
// RUN: lumen-opt %s --verify-symbols --verify-diagnostics --split-input-file

// Inputs, symbol ops, branches and loops give values; the folders' sizes mean those
// of their use.
func.func @main(%x: tensor<?x3xf32, #lumen.dims<["batch", "3"]>>, %c: tensor<i64>, %p: tensor<i1>) {
  %s = lumen.sizes ["n"] : tensor<1xi64>
  lumen.symbol "n" = %c at_most "batch" : tensor<i64>
  %0 = lumen.slice %x [0, 0] [1, 1] : tensor<?x3xf32, #lumen.dims<["batch", "3"]>> -> tensor<?x3xf32, #lumen.dims<["n", "3"]>>
  %1 = lumen.binary <add> %s, %s : tensor<1xi64>
  lumen.loop () trips "n" induction "i" symbols [] init_sizes [] : () -> () {
    lumen.check <lessequal> "i", "n", "trips"
    lumen.yield sizes []
  }
  lumen.check <equal> "i", "n", "trips"
  return
}

// -----

func.func @main(%x: tensor<4xf32>, %c: tensor<i64>) {
  // expected-error @below {{names the symbol 'n', which has no value here}}
  %0 = lumen.slice %x [0] [1] : tensor<4xf32> -> tensor<?xf32, #lumen.dims<["n"]>>
  lumen.symbol "n" = %c : tensor<i64>
  return
}

// -----

func.func @main(%c: tensor<i64>, %p: tensor<i1>) {
  lumen.if %p symbols [] : tensor<i1> {
    lumen.symbol "n" = %c : tensor<i64>
    lumen.yield sizes []
  } else {
    lumen.yield sizes []
  }
  // expected-error @below {{names the symbol 'n', which has no value here}}
  lumen.check <lessequal> "n", "4", "a branch"
  return
}

// -----

func.func @main(%c: tensor<i64>) {
  %s = lumen.sizes ["n"] : tensor<1xi64>
  // expected-error @below {{names the symbol 'n', which has no value here}}
  %1 = lumen.binary <add> %s, %s : tensor<1xi64>
  return
}

// -----

func.func @main(%x: tensor<?xf32, #lumen.dims<["n"]>>, %c: tensor<i64>) {
  // expected-error @below {{defines the symbol 'n', which has a definition already}}
  lumen.symbol "n" = %c : tensor<i64>
  return
}

// -----

// expected-error @below {{has a dimension 0 without a size in 'tensor<?x3xf32>'}}
func.func @main(%x: tensor<?x3xf32>) {
  return
}
