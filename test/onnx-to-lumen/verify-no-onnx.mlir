// The stage's verifier finds what the conversion left.
// RUN: lumen-opt %s -verify-no-onnx -verify-diagnostics

func.func @main() {
  // expected-error @below {{is left after the conversion to lumen}}
  %none = onnx.absent
  return
}
