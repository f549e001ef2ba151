//===- HipTarget.h - kernels to code objects for HIP -------------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_HIP_HIPTARGET_H
#define LUMEN_CODEGEN_HIP_HIPTARGET_H

#include "codegen/Target.h"
#include "codegen/gpu/LlvmEmitter.h"

namespace lumen::hipcode {

std::unique_ptr<Target> createHipTarget();

/// Loads the dialects that the steps need.
void prepareContext(mlir::MLIRContext &context);

/// To a code object for a processor, "gfx90a" or "gfx11-generic" (LLVM's "User Guide for
/// AMDGPU Backend", "Code Object").
class Lowering : public gpucode::LlvmEmitter {
public:
  static constexpr llvm::StringLiteral kTarget = "hip", kLevel = "gfx90a"; ///< for passes
  static void registerTranslation(mlir::DialectRegistry &registry);

  Lowering(mlir::MLIRContext *context, llvm::StringRef processor, int optLevel);

  /// An ELF file with one kernel, linked. On failure a diagnostic was emitted.
  mlir::LogicalResult emit(mlir::ModuleOp module, llvm::SmallVectorImpl<char> &object);

private:
  void adjust(llvm::Module &code) const override;

  std::string processor;
};

/// Passes for lumen-opt: `lumen-hip-lower`, `lumen-hip-print`.
void registerHipPasses();

} // namespace lumen::hipcode

#endif // LUMEN_CODEGEN_HIP_HIPTARGET_H
