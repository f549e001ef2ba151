//===- Target.h - what a code generation target offers ----------*- C++ -*-===//
//
// One interface, one folder per target. Shared code asks a target for levels
// and code, never for its name.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_TARGET_H
#define LUMEN_CODEGEN_TARGET_H

#include "dialects/Dispatch/Dispatch.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lumen {

/// One device generation that a target makes code for: an ISA level, an sm.
struct Level {
  std::string name;      ///< "x86-64-v4"; what LUMEN_CPU_LEVEL and --target use
  uint32_t target = 0;   ///< lumen_abi_target
  uint64_t features = 0; ///< lumen_abi_level.features
};

/// What a builder decided about the launch of one kernel at one level; see
/// lumen_abi_variant for the units.
struct LaunchShape {
  /// Work units. Where it is no constant, there is a function `<kernel>.<level>.grid` of
  /// the launch's sizes: in the object of a host target, or made by `compileGrids`.
  SymExpr grid = 1;
  int64_t grain = 1;
  uint64_t scratchSize = 0;
};

/// The code of one kernel for a target whose code is data, and how it is launched; see
/// lumen_abi_gpu_launch.
struct KernelBinary {
  llvm::SmallVector<char, 0> code;
  uint32_t block = 1; ///< threads of a workgroup
  uint32_t unitsPerWorkgroup = 1;
  uint32_t sharedSize = 0; ///< bytes of workgroup memory
  uint32_t flags = 0;      ///< LUMEN_ABI_GPU_FAULTS
  uint64_t features = 0;   ///< LUMEN_ABI_GPU_*
  std::string missing;     ///< why there is no code; empty: there is
};

/// Kernels of one level, compiled together.
struct CompiledKernels {
  /// Of a host target: a relocatable object that defines one function per kernel, named
  /// `<kernel>.<level>`, hidden.
  llvm::SmallVector<char, 0> object;
  /// Of other targets, in the order of the kernels that were asked for.
  std::vector<KernelBinary> binaries;
  /// In the order of the kernels that were asked for.
  std::vector<LaunchShape> shapes;
};

struct CodegenOptions {
  int optLevel = 3; ///< 0..3
  /// Every memory access of the kernels is checked by AddressSanitizer, whose runtime the
  /// process brings. Beside each kernel lies `<kernel>.<level>.extents`, the
  /// lumen_abi_variant.extents_fn.
  bool sanitizeAddress = false;
};

/// What to emit instead of an object, for --emit=llvm|asm.
enum class CodeForm { Object, LLVM, Assembly };

class Target {
public:
  virtual ~Target() = default;

  virtual llvm::StringRef getName() const = 0;

  /// Every level that can be chosen, most demanding first.
  virtual llvm::ArrayRef<llvm::StringRef> getLevelNames() const = 0;

  /// Parses the part after `cpu:` ("x86-64-v3+x86-64-v4", "native", ""); on
  /// failure `error` says what was wrong and what exists.
  virtual bool selectLevels(llvm::StringRef text, std::string &error) = 0;

  /// Gives the target an assembler that makes machine code of its text, for levels of their
  /// own beside the chosen ones; false: it has no use for one.
  virtual bool setAssembler(llvm::StringRef path) { return false; }

  /// The chosen levels, most demanding first.
  virtual llvm::ArrayRef<Level> getLevels() const = 0;

  /// Whether `kernel` gets code for `level`, one of the chosen ones; if not, that of the
  /// next level is the same.
  virtual bool hasOwnCode(dispatch::KernelOp kernel, const Level &level) const { return true; }

  /// Whether its code are functions of the host that the artifact links, instead of data
  /// that a driver loads.
  virtual bool isHost() const = 0;

  /// The symbol of the runtime's driver for its devices, which artifacts with code of this
  /// target bring; empty where the runtime has it anyway.
  virtual llvm::StringRef getDriver() const = 0;

  /// Loads into `context` what `compile` needs. Call it once per context, while
  /// no other thread uses the context.
  virtual void prepare(mlir::MLIRContext &context) const = 0;

  /// Compiles `kernels` for `level`. Thread-safe: called for different groups
  /// of kernels at once, in one MLIRContext. Emits diagnostics at the kernels'
  /// locations on failure.
  virtual mlir::FailureOr<CompiledKernels> compile(llvm::ArrayRef<dispatch::KernelOp> kernels,
                                                   const Level &level,
                                                   const CodegenOptions &options,
                                                   CodeForm form = CodeForm::Object) const = 0;
};

/// A relocatable object with the functions `<kernel>.<level>.grid` of kernels of targets
/// that are no host; empty where all grids are constant. Thread-safe as Target::compile.
mlir::FailureOr<llvm::SmallVector<char, 0>> compileGrids(llvm::ArrayRef<dispatch::KernelOp> kernels,
                                                         llvm::StringRef level,
                                                         llvm::ArrayRef<LaunchShape> shapes,
                                                         const CodegenOptions &options);

/// The targets this compiler was built with, by name.
llvm::ArrayRef<llvm::StringRef> targetNames();
std::unique_ptr<Target> createTarget(llvm::StringRef name);

} // namespace lumen

#endif // LUMEN_CODEGEN_TARGET_H
