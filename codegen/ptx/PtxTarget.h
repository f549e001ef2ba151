//===- PtxTarget.h - kernels to PTX for CUDA ---------------------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_PTX_PTXTARGET_H
#define LUMEN_CODEGEN_PTX_PTXTARGET_H

#include "codegen/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace lumen::ptxcode {

std::unique_ptr<Target> createPtxTarget();

/// Loads the dialects that the steps need.
void prepareContext(mlir::MLIRContext &context);

/// The code generator for "sm_80".
std::unique_ptr<llvm::TargetMachine> makeMachine(llvm::StringRef level);

/// Lowers the gpu.module of one kernel, in a module of its own, to the LLVM dialect.
mlir::LogicalResult lowerModule(mlir::ModuleOp module);

/// The same to LLVM IR, as the code generator gets it. Null: a diagnostic was emitted.
std::unique_ptr<llvm::Module> translateModule(mlir::ModuleOp module, llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine, int optLevel);

/// The same to text, which ends with a zero.
mlir::LogicalResult emitModule(mlir::ModuleOp module, llvm::StringRef level, int optLevel,
                               llvm::SmallVectorImpl<char> &text);

/// Passes for lumen-opt: `lumen-ptx-lower`, `lumen-ptx-print`.
void registerPtxPasses();

} // namespace lumen::ptxcode

#endif // LUMEN_CODEGEN_PTX_PTXTARGET_H
