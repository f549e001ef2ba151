// RUN: not lumen-opt %s --verify-static-shapes 2>&1 | FileCheck %s

// CHECK: error: input 'bytes': dimension 0 ('batch') is dynamic, expected a size: give it one with --dim or --shape
func.func @main(%x: tensor<?x3xf32, #lumen.dims<["batch", "3"]>> {onnx.name = "bytes"}) {
  return
}
