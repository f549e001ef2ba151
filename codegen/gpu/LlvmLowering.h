//===- LlvmLowering.h - from a GPU kernel to the LLVM dialect ----*- C++ -*-===//
//
// The road of the devices that LLVM makes code for. A kernel becomes an llvm.func whose
// arguments are pointers, one for each binding that there is, in their order.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_GPU_LLVMLOWERING_H
#define LUMEN_CODEGEN_GPU_LLVMLOWERING_H

#include "codegen/gpu/GpuKernel.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"

namespace lumen::gpucode {

/// What the devices of one road differ in.
struct LlvmDevice {
  llvm::StringLiteral triple;
  void (*initialize)();                            ///< makes LLVM's target known; called once
  unsigned globalSpace, sharedSpace, privateSpace; ///< address spaces
  /// Adds patterns for the operations of the gpu dialect but its functions, and says that
  /// what they make is legal.
  void (*populate)(mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns,
                   mlir::ConversionTarget &target);
  /// Makes a kernel of a function whose workgroups have `block` threads, which work together
  /// in workgroup memory or each alone.
  void (*markKernel)(mlir::LLVM::LLVMFuncOp function, int32_t block, bool worksTogether);
};

/// Made once for many kernels, of one thread at a time: passes are dear to make.
class LlvmLowering {
public:
  /// `device` must outlive it.
  LlvmLowering(mlir::MLIRContext *context, const LlvmDevice &device);

  /// Lowers the gpu.module of one kernel, which is all that `module` holds, to the LLVM
  /// dialect. On failure a diagnostic was emitted.
  mlir::LogicalResult lower(mlir::ModuleOp module);

private:
  mlir::PassManager manager;
};

} // namespace lumen::gpucode

#endif // LUMEN_CODEGEN_GPU_LLVMLOWERING_H
