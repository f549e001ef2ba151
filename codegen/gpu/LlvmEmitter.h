//===- LlvmEmitter.h - from a GPU kernel to LLVM's code ----------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_GPU_LLVMEMITTER_H
#define LUMEN_CODEGEN_GPU_LLVMEMITTER_H

#include "codegen/gpu/LlvmLowering.h"

#include "llvm/Support/CodeGen.h"

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace lumen::gpucode {

/// From the gpu.module of one kernel, in a module of its own, to code for one processor. Made
/// once for many kernels, of one thread at a time. On failure diagnostics were emitted.
class LlvmEmitter {
public:
  /// `device` must outlive it.
  LlvmEmitter(mlir::MLIRContext *context, const LlvmDevice &device, llvm::StringRef processor,
              int optLevel);
  virtual ~LlvmEmitter();

  /// To the LLVM dialect.
  mlir::LogicalResult lower(mlir::ModuleOp module) { return lowering.lower(module); }
  /// To LLVM IR, as the code generator gets it.
  std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module, llvm::LLVMContext &context);
  /// To an object, or to the text of the assembler.
  mlir::LogicalResult generate(mlir::ModuleOp module, llvm::CodeGenFileType type,
                               llvm::SmallVectorImpl<char> &out);
  /// The same from what `translate` has made of `module`.
  mlir::LogicalResult generate(mlir::ModuleOp module, llvm::Module &code,
                               llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &out);

protected:
  /// Before it is optimised.
  virtual void adjust(llvm::Module &code) const {}

private:
  LlvmLowering lowering;
  std::unique_ptr<llvm::TargetMachine> machine;
  int optLevel;
};

/// Loads what every road through LLVM needs; its own dialect is the device's.
void prepareLlvm(mlir::MLIRContext &context);

} // namespace lumen::gpucode

#endif // LUMEN_CODEGEN_GPU_LLVMEMITTER_H
