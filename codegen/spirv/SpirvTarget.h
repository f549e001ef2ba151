//===- SpirvTarget.h - kernels to SPIR-V for Vulkan --------------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_SPIRV_SPIRVTARGET_H
#define LUMEN_CODEGEN_SPIRV_SPIRVTARGET_H

#include "codegen/Target.h"

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"

namespace lumen::spirvcode {

std::unique_ptr<Target> createSpirvTarget();

/// Loads the dialects that the steps need.
void prepareContext(mlir::MLIRContext &context);

/// Lowers the gpu.module of one kernel, in a module of its own, to a module of 32-bit words
/// for Vulkan 1.1. `features` becomes the LUMEN_ABI_GPU_* bits of what it needs.
mlir::LogicalResult emitModule(mlir::ModuleOp module, llvm::SmallVectorImpl<uint32_t> &words,
                               uint64_t &features);

/// The first half of it: `module` holds a spirv.module then. Null: a diagnostic was emitted.
mlir::spirv::ModuleOp lowerModule(mlir::ModuleOp module);

/// Passes for lumen-opt: `lumen-spirv-lower`.
void registerSpirvPasses();

} // namespace lumen::spirvcode

#endif // LUMEN_CODEGEN_SPIRV_SPIRVTARGET_H
