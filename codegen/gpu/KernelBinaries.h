//===- KernelBinaries.h - the kernels of a level, one by one -----*- C++ -*-===//
#ifndef LUMEN_CODEGEN_GPU_KERNELBINARIES_H
#define LUMEN_CODEGEN_GPU_KERNELBINARIES_H

#include "codegen/gpu/GpuKernel.h"

namespace lumen::gpucode {

/// Builds each kernel and calls `emit` with the module that holds its gpu.module alone, to
/// fill in the code and the features of its binary. A kernel for which either fails has the
/// first error for a reason why it has no code; that is no error of the compilation.
CompiledKernels
compileEach(llvm::ArrayRef<dispatch::KernelOp> kernels, const Capabilities &caps,
            llvm::function_ref<mlir::LogicalResult(mlir::ModuleOp, KernelBinary &)> emit);

} // namespace lumen::gpucode

#endif // LUMEN_CODEGEN_GPU_KERNELBINARIES_H
