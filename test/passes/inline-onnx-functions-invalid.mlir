// Functions that never end, or that double each other without bound, are refused.
// RUN: lumen-opt %s -split-input-file -inline-onnx-functions=limit=8 -verify-diagnostics

// expected-error @below {{calls itself, directly or through others}}
func.func private @"f::A"() {
  onnx.call @"f::B"() {} : () -> ()
  onnx.return
}
func.func private @"f::B"() {
  onnx.call @"f::A"() {} : () -> ()
  onnx.return
}
func.func @main() {
  onnx.return
}

// -----

func.func private @"f::A"() {
  onnx.node "Nop"() {} : () -> ()
  onnx.node "Nop"() {} : () -> ()
  onnx.return
}
func.func private @"f::B"() {
  onnx.call @"f::A"() {} : () -> ()
  onnx.call @"f::A"() {} : () -> ()
  onnx.return
}
// expected-error @below {{becomes more than 8 operations when the model's functions are put in}}
func.func @main() {
  onnx.call @"f::B"() {} : () -> ()
  onnx.return
}
