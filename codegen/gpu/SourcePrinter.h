//===- SourcePrinter.h - a kernel as text of a language like C ---*- C++ -*-===//
//
// For devices whose compilers take source text. The languages are C with a few words of
// their own, which a row tells: what is written between them is the same.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_GPU_SOURCEPRINTER_H
#define LUMEN_CODEGEN_GPU_SOURCEPRINTER_H

#include "codegen/gpu/GpuKernel.h"

#include "mlir/Pass/PassManager.h"

namespace lumen::gpucode {

/// The words of one language. {0}, {1} and {2} stand for what the comments list.
struct SourceLanguage {
  llvm::StringLiteral name;     ///< in messages
  llvm::StringLiteral prologue; ///< text before the kernel

  llvm::StringLiteral kernel;    ///< begins one: its name, the threads of a workgroup
  llvm::StringLiteral parameter; ///< of it: the type of its elements, its name, its binding
  llvm::StringLiteral numbers;   ///< what follows the parameters
  llvm::StringLiteral device;    ///< memory that a parameter points to
  llvm::StringLiteral shared;    ///< memory of a workgroup
  llvm::StringLiteral constant;  ///< memory of tables

  llvm::StringLiteral thread, workgroup; ///< their numbers
  llvm::StringLiteral barrier;
  llvm::StringLiteral atomicAdd; ///< an address, a number; gives what was there
  llvm::StringLiteral bitcast;   ///< a type, a value
  llvm::StringLiteral vector;    ///< a type, its elements, or the one that all of them are
  llvm::StringLiteral fromHalf;  ///< the bits of one in a short; gives a float
  llvm::StringLiteral toHalf;    ///< a value, its type; gives the bits

  llvm::StringLiteral absent; ///< functions that the language lacks
  bool hasDoubles;
};

extern const SourceLanguage kOpenClC; ///< OpenCL C 1.2
extern const SourceLanguage kMetal;   ///< Metal Shading Language 2.4

/// Prints the kernel of `module`, which buildSimplification has been over, with one parameter
/// for each binding, in their order. On failure a diagnostic was emitted.
llvm::LogicalResult printSource(mlir::gpu::GPUModuleOp module, const SourceLanguage &language,
                                llvm::raw_ostream &os);

/// Prints kernels as they are built, each alone in its module, which is simplified.
class SourceEmitter {
public:
  SourceEmitter(mlir::MLIRContext *context, const Capabilities &caps,
                const SourceLanguage &language);
  llvm::LogicalResult emit(mlir::ModuleOp module, llvm::SmallVectorImpl<char> &text);

private:
  mlir::PassManager simplification;
  const SourceLanguage &language;
};

} // namespace lumen::gpucode

#endif // LUMEN_CODEGEN_GPU_SOURCEPRINTER_H
