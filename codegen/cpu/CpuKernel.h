//===- CpuKernel.h - the frame in which a CPU kernel is built ----*- C++ -*-===//
//
// A CPU kernel is a function of the signature lumen_abi_cpu_kernel. This frame
// makes its arguments available as memrefs, and a builder, chosen by the
// family of the kernel's root, fills in what work units [begin, end) do.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_CPU_CPUKERNEL_H
#define LUMEN_CODEGEN_CPU_CPUKERNEL_H

#include "codegen/loops/LoopKernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lumen::cpu {

using namespace loops; // of which this target's own builders are a part

/// What builders and the emission of code may ask of an ISA level.
struct IsaLevel : Capabilities {
  std::string llvmCpu; ///< -mcpu, "x86-64-v3"
  std::string llvmFeatures;
};

/// One kernel under construction.
struct CpuKernel : LoopKernel {
  CpuKernel(dispatch::KernelOp op, const IsaLevel &level, const CodegenOptions &options,
            mlir::ModuleOp module, mlir::OpBuilder builder, SizeValues &sizes)
      : LoopKernel(op, level, builder, sizes), options(options), module(module) {}

  const CodegenOptions &options;
  mlir::ModuleOp module; ///< for functions shared between kernels
  mlir::Value worker;    ///< index

  /// A private function of this module, made by `body` on first use: kernels
  /// share micro-kernels by name, which must tell all that `body` depends on, also
  /// the element type behind a pointer.
  mlir::func::FuncOp
  sharedFunction(llvm::StringRef name, mlir::FunctionType type,
                 llvm::function_ref<void(mlir::OpBuilder &, mlir::Block &)> body);
};

/// memref<?xT> of `elements` elements over a bare pointer, in the descriptor
/// form that lowering expects.
mlir::Value memrefOfPointer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer,
                            mlir::Type elementType, int64_t elements);

// Of the families that have a builder of this target's own, in the files of their names.
mlir::FailureOr<LaunchShape> buildAttention(CpuKernel &);
mlir::FailureOr<LaunchShape> buildContraction(CpuKernel &);
mlir::FailureOr<LaunchShape> buildConvolution(CpuKernel &);

} // namespace lumen::cpu

#endif // LUMEN_CODEGEN_CPU_CPUKERNEL_H
