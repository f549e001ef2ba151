//===- PtxTarget.h - kernels to PTX for CUDA ---------------------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_PTX_PTXTARGET_H
#define LUMEN_CODEGEN_PTX_PTXTARGET_H

#include "codegen/Target.h"
#include "codegen/gpu/LlvmEmitter.h"

namespace lumen::ptxcode {

std::unique_ptr<Target> createPtxTarget();

/// Loads the dialects that the steps need.
void prepareContext(mlir::MLIRContext &context);

/// To PTX for a level.
class Lowering : public gpucode::LlvmEmitter {
public:
  static constexpr llvm::StringLiteral kTarget = "ptx", kLevel = "sm_75"; ///< for passes
  static void registerTranslation(mlir::DialectRegistry &registry);

  Lowering(mlir::MLIRContext *context, llvm::StringRef level, int optLevel);

  /// To the text, which ends with a zero. On failure a diagnostic was emitted.
  mlir::LogicalResult emit(mlir::ModuleOp module, llvm::SmallVectorImpl<char> &text);
};

/// Makes machine code for a level of the text of a kernel, by NVIDIA's assembler. On failure a
/// diagnostic was emitted at the kernel.
mlir::LogicalResult assemble(dispatch::KernelOp kernel, llvm::StringRef assembler,
                             llvm::StringRef level, llvm::SmallVectorImpl<char> &code);

/// Passes for lumen-opt: `lumen-ptx-lower`, `lumen-ptx-print`.
void registerPtxPasses();

} // namespace lumen::ptxcode

#endif // LUMEN_CODEGEN_PTX_PTXTARGET_H
