//===- PtxTarget.h - kernels to PTX for CUDA ---------------------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_PTX_PTXTARGET_H
#define LUMEN_CODEGEN_PTX_PTXTARGET_H

#include "codegen/Target.h"
#include "codegen/gpu/LlvmLowering.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace lumen::ptxcode {

std::unique_ptr<Target> createPtxTarget();

/// Loads the dialects that the steps need.
void prepareContext(mlir::MLIRContext &context);

/// From the gpu.module of one kernel, in a module of its own, to PTX for a level. Made once for
/// many kernels, of one thread at a time.
class Lowering {
public:
  Lowering(mlir::MLIRContext *context, llvm::StringRef level, int optLevel);
  ~Lowering();

  /// To the text, which ends with a zero. On failure a diagnostic was emitted.
  mlir::LogicalResult emit(mlir::ModuleOp module, llvm::SmallVectorImpl<char> &text);

  // The parts of it.
  /// To the LLVM dialect.
  mlir::LogicalResult lower(mlir::ModuleOp module) { return lowering.lower(module); }
  /// To LLVM IR, as the code generator gets it. Null: a diagnostic was emitted.
  std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module, llvm::LLVMContext &context);
  /// False: a diagnostic was emitted at `module`.
  mlir::LogicalResult generate(mlir::ModuleOp module, llvm::Module &code,
                               llvm::SmallVectorImpl<char> &text);

private:
  gpucode::LlvmLowering lowering;
  std::unique_ptr<llvm::TargetMachine> machine;
  int optLevel;
};

/// Passes for lumen-opt: `lumen-ptx-lower`, `lumen-ptx-print`.
void registerPtxPasses();

} // namespace lumen::ptxcode

#endif // LUMEN_CODEGEN_PTX_PTXTARGET_H
