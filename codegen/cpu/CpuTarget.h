//===- CpuTarget.h - kernels to host code ------------------------*- C++ -*-===//
//
// The three steps of the CPU target, each usable alone by tests and tools:
// build a function per kernel, lower the module to the LLVM dialect, emit code.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_CPU_CPUTARGET_H
#define LUMEN_CODEGEN_CPU_CPUTARGET_H

#include "codegen/Target.h"
#include "codegen/cpu/CpuKernel.h"

namespace lumen::cpu {

std::unique_ptr<Target> createCpuTarget();

/// Loads the dialects and registers the translations that the steps need.
void prepareContext(mlir::MLIRContext &context);

/// What `level` offers, or null for an unknown name.
const IsaLevel *capabilitiesOf(llvm::StringRef level);

/// The names of all levels, most demanding first.
llvm::ArrayRef<llvm::StringRef> levelNames();

/// True if this machine can run code of `level`.
bool hostSupports(llvm::StringRef level);

/// The name of the function that is made of a kernel.
std::string symbolName(dispatch::KernelOp kernel, llvm::StringRef level);

/// The name of the function of its launch's sizes that gives a kernel's grid, where
/// that is no constant.
std::string gridSymbolName(dispatch::KernelOp kernel, llvm::StringRef level);

/// The name of the lumen_abi_variant.extents_fn of a kernel that is sanitized.
std::string extentsSymbolName(dispatch::KernelOp kernel, llvm::StringRef level);

/// Appends to `module` the function of one kernel. On failure a diagnostic was
/// emitted at the kernel.
mlir::FailureOr<LaunchShape> buildKernel(dispatch::KernelOp kernel, llvm::StringRef level,
                                         const CodegenOptions &options, mlir::ModuleOp module);

/// Appends to `module` the function of a grid which is no constant.
void makeGridFunction(dispatch::KernelOp kernel, llvm::StringRef level, const SymExpr &grid,
                      mlir::ModuleOp module);

/// See lumen::compileGrids. The code runs on every CPU of this target.
mlir::FailureOr<llvm::SmallVector<char, 0>> compileGrids(llvm::ArrayRef<dispatch::KernelOp> kernels,
                                                         llvm::StringRef level,
                                                         llvm::ArrayRef<LaunchShape> shapes,
                                                         const CodegenOptions &options);

/// Lowers what the builders made to the LLVM dialect.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module);

/// Translates a module of the LLVM dialect and emits it.
mlir::LogicalResult emitCode(mlir::ModuleOp module, const IsaLevel &caps,
                             const CodegenOptions &options, CodeForm form,
                             llvm::SmallVectorImpl<char> &out);

/// Passes for lumen-opt: `lumen-cpu-build`.
void registerCpuPasses();

} // namespace lumen::cpu

#endif // LUMEN_CODEGEN_CPU_CPUTARGET_H
