//===- CpuKernel.h - the frame in which a CPU kernel is built ----*- C++ -*-===//
//
// A CPU kernel is a function of the signature lumen_abi_cpu_kernel. This frame
// makes its arguments available as memrefs, and a builder, chosen by the
// family of the kernel's root, fills in what work units [begin, end) do.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_CPU_CPUKERNEL_H
#define LUMEN_CODEGEN_CPU_CPUKERNEL_H

#include "codegen/Target.h"
#include "codegen/common/Expression.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace lumen::cpu {

/// What builders may ask of an ISA level.
struct Capabilities {
  int64_t vectorBytes = 32;   ///< widest vector register
  int64_t numRegisters = 16;  ///< vector registers
  bool maskedOps = false;     ///< masked loads and stores without cost
  int64_t l1Bytes = 32 << 10; ///< data cache per core
  int64_t l2Bytes = 1 << 20;
  /// LLVM's intrinsic that multiplies integers of 16 bits and adds neighbours in 32.
  std::string multiplyPairs;
  std::string llvmCpu; ///< -mcpu, "x86-64-v3"
  std::string llvmFeatures;

  int64_t lanes(mlir::Type type) const { return vectorBytes * 8 / type.getIntOrFloatBitWidth(); }
};

/// One kernel under construction.
struct CpuKernel {
  dispatch::KernelOp op;
  mlir::Operation *root; ///< op.getRoot()
  const Capabilities &caps;
  const CodegenOptions &options;
  mlir::ModuleOp module;   ///< for functions shared between kernels
  mlir::OpBuilder builder; ///< at the end of the function's body
  mlir::Location loc;
  SizeValues &sizes; ///< of the function

  mlir::Value begin, end; ///< index: the work units to do
  mlir::Value worker;     ///< index
  mlir::Value scratch;    ///< memref<?xi8>

  llvm::SmallVector<Access> arguments; ///< of op, in order
  llvm::SmallVector<Access> results;
  Expression expression; ///< arguments already bound to memory

  /// The value that result `i` of the kernel yields.
  mlir::Value yielded(unsigned i) const;

  /// A memref of `type` elements at a byte offset of the scratch memory.
  mlir::Value scratchView(int64_t byteOffset, mlir::Type type, int64_t elements);

  /// A private function of this module, made by `body` on first use: kernels
  /// share micro-kernels by name, which must tell all that `body` depends on, also
  /// the element type behind a pointer.
  mlir::func::FuncOp
  sharedFunction(llvm::StringRef name, mlir::FunctionType type,
                 llvm::function_ref<void(mlir::OpBuilder &, mlir::Block &)> body);

  mlir::Value index(int64_t value);
  /// The value of a size, of index type. A constant is made where `at` (else
  /// `builder`) stands, anything else at the function's entry.
  mlir::Value value(const SymExpr &size) { return sizes.get(builder, loc, size); }
  mlir::Value value(mlir::OpBuilder &at, const SymExpr &size) { return sizes.get(at, loc, size); }
};

/// memref<?xT> of `elements` elements over a bare pointer, in the descriptor
/// form that lowering expects.
mlir::Value memrefOfPointer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer,
                            mlir::Type elementType, int64_t elements);

/// For builders that know constant shapes only: emits a diagnostic where a type of
/// the kernel is dynamic.
mlir::LogicalResult checkStaticTypes(CpuKernel &kernel);

/// Fills in the kernel's body. On failure a diagnostic was emitted.
///
/// Sizes that are not constant may be 0: then the grid is 0, or nothing is read.
///
/// Memory planning lets a result lie where an operand of the epilogue lies that is
/// used for the last time. So builders of contractions, convolutions, windows and
/// elementwise kernels write each element of a result once, after they read all
/// operands at its position, and keep no intermediate values there.
using KernelBuilder = mlir::FailureOr<LaunchShape> (*)(CpuKernel &);

// One per family, each in the file of its name.
mlir::FailureOr<LaunchShape> buildContraction(CpuKernel &);
mlir::FailureOr<LaunchShape> buildConvolution(CpuKernel &);
mlir::FailureOr<LaunchShape> buildWindow(CpuKernel &);
mlir::FailureOr<LaunchShape> buildReduction(CpuKernel &);
mlir::FailureOr<LaunchShape> buildNormalization(CpuKernel &);
mlir::FailureOr<LaunchShape> buildElementwise(CpuKernel &); ///< and movement
mlir::FailureOr<LaunchShape> buildLoops(CpuKernel &);       ///< by the root's kind
mlir::FailureOr<LaunchShape> buildAccumulate(CpuKernel &);
mlir::FailureOr<LaunchShape> buildNms(CpuKernel &);
mlir::FailureOr<LaunchShape> buildNonzero(CpuKernel &);
mlir::FailureOr<LaunchShape> buildRecurrence(CpuKernel &);
mlir::FailureOr<LaunchShape> buildScatter(CpuKernel &);
mlir::FailureOr<LaunchShape> buildSort(CpuKernel &);
mlir::FailureOr<LaunchShape> buildTrees(CpuKernel &);
mlir::FailureOr<LaunchShape> buildUnique(CpuKernel &);

} // namespace lumen::cpu

#endif // LUMEN_CODEGEN_CPU_CPUKERNEL_H
