//===- Passes.h - passes of this folder, see Passes.td -----------*- C++ -*-===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_PASSES_H
#define LUMEN_PASSES_ONNXTOLUMEN_PASSES_H

#include "dialects/Onnx/Onnx.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace lumen {
#define GEN_PASS_DECL
#include "passes/onnx-to-lumen/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/onnx-to-lumen/Passes.h.inc"
} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_PASSES_H
