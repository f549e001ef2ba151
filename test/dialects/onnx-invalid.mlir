// The verifiers name what is wrong.
// RUN: lumen-opt %s -split-input-file -verify-diagnostics

func.func @no_operator(%x: !onnx.unknown) {
  // expected-error @below {{has no operator}}
  onnx.node ""(%x) {} : (!onnx.unknown) -> ()
  onnx.return
}

// -----

func.func @domain(%x: !onnx.unknown) {
  // expected-error @below {{spells the default domain 'ai.onnx', expected ''}}
  onnx.node "Relu"(%x) domain("ai.onnx") {} : (!onnx.unknown) -> ()
  onnx.return
}

// -----

func.func @bodies(%x: !onnx.unknown) {
  // expected-error @below {{has 1 bodies, but 2 names for them}}
  onnx.node "If"(%x) {} : (!onnx.unknown) -> () bodies ["else_branch", "then_branch"] {
    onnx.return
  }
  onnx.return
}

// -----

func.func @callee(%x: !onnx.unknown) {
  // expected-error @below {{calls unknown function 'f'}}
  onnx.call @f(%x) {} : (!onnx.unknown) -> ()
  onnx.return
}

// -----

func.func private @f(!onnx.unknown)
func.func @arguments(%x: !onnx.unknown) {
  // expected-error @below {{gives 2 inputs to 'f', which takes 1}}
  onnx.call @f(%x, %x) {} : (!onnx.unknown, !onnx.unknown) -> ()
  onnx.return
}

// -----

func.func @results(%x: !onnx.unknown) -> !onnx.unknown {
  // expected-error @below {{returns 0 values, but 'results' has 1 results}}
  onnx.return
}

// -----

// expected-error @below {{attribute 'onnx.opsets' must map domains to positive i64 versions}}
module attributes {onnx.opsets = {ai.onnx = "17"}} {}
