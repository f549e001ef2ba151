//===- KernelCompilation.h - all kernels at all levels -----------*- C++ -*-===//
#ifndef LUMEN_COMPILER_KERNELCOMPILATION_H
#define LUMEN_COMPILER_KERNELCOMPILATION_H

#include "codegen/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/ThreadPool.h"

namespace lumen {

/// The code of a module's kernels for one target.
struct KernelCode {
  /// Object files (or text, for --emit=llvm|asm), in a fixed order.
  std::vector<llvm::SmallVector<char, 0>> objects;
  /// [level][kernel], levels in the order of the target's, kernels in that of
  /// the module.
  std::vector<std::vector<LaunchShape>> shapes;
  bool isSanitized = false; ///< CodegenOptions.sanitizeAddress
};

/// Compiles every kernel of `module` at every level of `target` on the threads of
/// `pool`. How kernels are grouped depends on the module alone, so the result does
/// not depend on the number of threads. On failure diagnostics were emitted.
mlir::FailureOr<KernelCode> compileKernels(mlir::ModuleOp module, const Target &target,
                                           const CodegenOptions &options, CodeForm form,
                                           llvm::ThreadPoolInterface &pool);

} // namespace lumen

#endif // LUMEN_COMPILER_KERNELCOMPILATION_H
