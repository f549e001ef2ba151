//===- Passes.h - passes of this folder, see Passes.td -----------*- C++ -*-===//
#ifndef LUMEN_PASSES_GRAPH_PASSES_H
#define LUMEN_PASSES_GRAPH_PASSES_H

#include "dialects/Lumen/Lumen.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace lumen {
#define GEN_PASS_DECL
#include "passes/graph/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/graph/Passes.h.inc"

/// Everything between `convert-onnx-to-lumen` and `form-kernels`, in the order
/// that the passes need; `pm` works on a module.
void buildGraphPipeline(mlir::OpPassManager &pm);

} // namespace lumen

#endif // LUMEN_PASSES_GRAPH_PASSES_H
