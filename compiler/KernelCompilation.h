//===- KernelCompilation.h - all kernels at all levels -----------*- C++ -*-===//
#ifndef LUMEN_COMPILER_KERNELCOMPILATION_H
#define LUMEN_COMPILER_KERNELCOMPILATION_H

#include "codegen/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/ThreadPool.h"

namespace lumen {

/// What a level of a target has, by kernel in the order of the module.
struct LevelCode {
  const Target *target;
  const Level *level;
  std::vector<std::optional<LaunchShape>> shapes; ///< null: no code of this level
  std::vector<KernelBinary> binaries; ///< empty for a host target
  /// What the threads took for it, all of them together.
  double seconds = 0;
};

/// The code of a module's kernels for some targets.
struct KernelCode {
  /// Object files (or text, for --emit=llvm|asm), in a fixed order.
  std::vector<llvm::SmallVector<char, 0>> objects;
  /// In the order of the targets and of their levels.
  std::vector<LevelCode> levels;
  bool isSanitized = false; ///< CodegenOptions.sanitizeAddress
};

/// Targets in the order of an artifact's levels.
using Targets = std::vector<std::unique_ptr<Target>>;

/// Compiles every kernel of `module` at every level of `targets`, which must outlive the
/// result, on the threads of `pool`; as text only for those of the host. How kernels are
/// grouped depends on the module alone, so the code does not depend on the number of threads.
/// On failure diagnostics were emitted.
mlir::FailureOr<KernelCode> compileKernels(mlir::ModuleOp module, const Targets &targets,
                                           const CodegenOptions &options, CodeForm form,
                                           llvm::ThreadPoolInterface &pool);

} // namespace lumen

#endif // LUMEN_COMPILER_KERNELCOMPILATION_H
