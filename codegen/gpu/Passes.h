//===- Passes.h - what every GPU target runs over a kernel -------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_GPU_PASSES_H
#define LUMEN_CODEGEN_GPU_PASSES_H

#include "codegen/gpu/GpuKernel.h"

#include "mlir/Pass/PassManager.h"

namespace lumen::gpucode {

/// Folds what builders left open, and expands the functions for which devices have no
/// instruction, or one that is too coarse.
void buildSimplification(mlir::OpPassManager &manager, const Capabilities &caps = {});

/// Tells that there is no instruction for a function of floating-point numbers.
void emitNoInstruction(mlir::Operation *op);
/// How that ends for a function of doubles.
inline constexpr llvm::StringLiteral kNoDoubles = " of f64 has no instruction";

/// Passes for lumen-opt: `lumen-gpu-build`, `lumen-gpu-simplify`, `lumen-gpu-print`.
void registerGpuPasses();

} // namespace lumen::gpucode

#endif // LUMEN_CODEGEN_GPU_PASSES_H
