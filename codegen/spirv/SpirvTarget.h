//===- SpirvTarget.h - kernels to SPIR-V for Vulkan --------------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_SPIRV_SPIRVTARGET_H
#define LUMEN_CODEGEN_SPIRV_SPIRVTARGET_H

#include "codegen/Target.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Pass/PassManager.h"

namespace lumen::spirvcode {

std::unique_ptr<Target> createSpirvTarget();

/// Loads the dialects that the steps need.
void prepareContext(mlir::MLIRContext &context);

/// From the gpu.module of one kernel, in a module of its own, to SPIR-V for Vulkan 1.1. Made
/// once for many kernels, of one thread at a time: passes are dear to make.
class Lowering {
public:
  explicit Lowering(mlir::MLIRContext *context);

  /// To a module of 32-bit words. `features` becomes the LUMEN_ABI_GPU_* bits of what it
  /// needs. On failure a diagnostic was emitted.
  mlir::LogicalResult emit(mlir::ModuleOp module, llvm::SmallVectorImpl<uint32_t> &words,
                           uint64_t &features);
  /// The first half of it: `module` holds a spirv.module then. Null: a diagnostic was emitted.
  mlir::spirv::ModuleOp lower(mlir::ModuleOp module);

private:
  mlir::PassManager manager;
};

/// Passes for lumen-opt: `lumen-spirv-lower`.
void registerSpirvPasses();

} // namespace lumen::spirvcode

#endif // LUMEN_CODEGEN_SPIRV_SPIRVTARGET_H
