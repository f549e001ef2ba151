//===- LoopKernel.h - a kernel as loops over its work units ------*- C++ -*-===//
//
// Most families are built as loops: over the work units that the caller asks for, and
// within each over vectors of elements, or single ones. The same builders make a function
// of the CPU, where a thread runs many units at the width of its registers, and a kernel
// of a GPU, where each thread runs one unit at width 1. They emit arith, math, memref,
// scf and vector operations only.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_LOOPS_LOOPKERNEL_H
#define LUMEN_CODEGEN_LOOPS_LOOPKERNEL_H

#include "codegen/Target.h"
#include "codegen/common/Expression.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace lumen::loops {

/// What builders may ask of the machine that runs their units.
struct Capabilities {
  int64_t vectorBytes = 32;   ///< widest vector register; 0: elements one by one
  int64_t numRegisters = 16;  ///< vector registers
  bool maskedOps = false;     ///< masked loads and stores without cost
  int64_t indexBits = 64;     ///< of index arithmetic
  /// Units that keep the machine busy, where smaller ones are more work in all.
  int64_t parallelUnits = 1;
  int64_t l1Bytes = 32 << 10; ///< data cache per core
  int64_t l2Bytes = 1 << 20;
  /// LLVM's intrinsic that multiplies integers of 16 bits and adds neighbours in 32.
  std::string multiplyPairs;
  /// LLVM's intrinsic that adds to sums of 32 bits the products of four unsigned bytes with
  /// four signed ones; empty: there is no such instruction.
  std::string multiplyQuads;

  int64_t lanes(mlir::Type type) const {
    return std::max<int64_t>(vectorBytes * 8 / type.getIntOrFloatBitWidth(), 1);
  }
};

/// One kernel under construction.
struct LoopKernel {
  LoopKernel(dispatch::KernelOp op, const Capabilities &caps, mlir::OpBuilder builder,
             SizeValues &sizes)
      : op(op), root(op.getRoot()), caps(caps), builder(builder), loc(op.getLoc()), sizes(sizes),
        expression(&sizes) {}
  LoopKernel(const LoopKernel &) = delete;
  virtual ~LoopKernel() = default;

  dispatch::KernelOp op;
  mlir::Operation *root; ///< op.getRoot()
  const Capabilities &caps;
  mlir::OpBuilder builder; ///< at the end of the body
  mlir::Location loc;
  SizeValues &sizes; ///< of the function

  mlir::Value begin, end; ///< index: the work units to do

  llvm::SmallVector<Access> arguments; ///< of op, in order
  llvm::SmallVector<Access> results;
  Expression expression; ///< arguments already bound to memory

  /// The value that result `i` of the kernel yields.
  mlir::Value yielded(unsigned i) const;

  /// A memref of `type` elements at a byte offset of the memory that whoever runs these
  /// units has for itself.
  mlir::Value scratchView(int64_t byteOffset, mlir::Type type, int64_t elements);

  mlir::Value index(int64_t value);
  /// The value of a size, of index type. A constant is made where `at` (else
  /// `builder`) stands, anything else at the function's entry.
  mlir::Value value(const SymExpr &size) { return sizes.get(builder, loc, size); }
  mlir::Value value(mlir::OpBuilder &at, const SymExpr &size) { return sizes.get(at, loc, size); }

  /// memref<?xi8>: the scratch memory.
  mlir::Value scratch;

  /// Gives `op`'s argument and result memrefs, in order, to `arguments`, `results` and
  /// `expression`.
  void bind(llvm::function_ref<mlir::Value(mlir::RankedTensorType, const Sizes &strides)> memref);
};

/// Fills in the kernel's body. On failure a diagnostic was emitted.
///
/// Sizes that are not constant may be 0: then the grid is 0, or nothing is read.
///
/// Memory planning lets a result lie where an operand of the epilogue lies that is
/// used for the last time. So builders of contractions, convolutions, windows and
/// elementwise kernels write each element of a result once, after they read all
/// operands at its position, and keep no intermediate values there.
using KernelBuilder = mlir::FailureOr<LaunchShape> (*)(LoopKernel &);

/// The builder of a root's family, or null where no loops compute it. A null root: the
/// kernel is elementwise.
KernelBuilder builderFor(mlir::Operation *root);

// One per family, each in the file of its name.
mlir::FailureOr<LaunchShape> buildAttentionRows(LoopKernel &);
mlir::FailureOr<LaunchShape> buildWindow(LoopKernel &);
mlir::FailureOr<LaunchShape> buildReduction(LoopKernel &);
mlir::FailureOr<LaunchShape> buildNormalization(LoopKernel &);
mlir::FailureOr<LaunchShape> buildElementwise(LoopKernel &); ///< and movement
mlir::FailureOr<LaunchShape> buildLoops(LoopKernel &);       ///< by the root's kind
mlir::FailureOr<LaunchShape> buildAccumulate(LoopKernel &);
mlir::FailureOr<LaunchShape> buildNms(LoopKernel &);
mlir::FailureOr<LaunchShape> buildNonzero(LoopKernel &);
mlir::FailureOr<LaunchShape> buildRecurrence(LoopKernel &);
mlir::FailureOr<LaunchShape> buildScatter(LoopKernel &);
mlir::FailureOr<LaunchShape> buildSort(LoopKernel &);
mlir::FailureOr<LaunchShape> buildTrees(LoopKernel &);
mlir::FailureOr<LaunchShape> buildUnique(LoopKernel &);

/// Of a kernel whose root is a window: emits a diagnostic where it has none of the forms that
/// can be computed, and computes and stores the results at one position, whoever walks them.
mlir::LogicalResult checkWindow(LoopKernel &);
void emitWindow(LoopKernel &, mlir::OpBuilder &builder, const Position &position);

/// What a kernel remembers of a fault until it ends, in its scratch memory, behind all that
/// the builder keeps there. In words of 32 bits, as not every GPU has more.
class FaultRecord {
public:
  /// The low and the high word of the two numbers that a fault is about.
  static constexpr int64_t kWords = 4;

  /// Of `kernel`, whose gathers it makes check their indices.
  explicit FaultRecord(LoopKernel &kernel);

  /// Makes room for the record behind the scratch memory of `shape`. To be called when
  /// the body is complete; false: no fault can happen.
  bool finish(LaunchShape &shape);

  // Where the kernel's builder stands, once finished.
  /// i32: a lumen_abi_fault.
  mlir::Value code() { return load(0); }
  /// i32: one of the kWords words about it.
  mlir::Value word(int64_t i) { return load(i + 1); }

private:
  mlir::Value load(int64_t at);
  /// Where `at` stands: code, and two numbers (index or i64) about it. The first fault of a
  /// call stays, so that what is told does not depend on how a grid is cut.
  void record(mlir::OpBuilder &at, mlir::Location loc, int32_t code, mlir::Value first,
              mlir::Value second);

  LoopKernel &kernel;
  mlir::arith::ConstantOp offset; ///< of the record; known in the end
  mlir::Value memory;             ///< memref<?xi32>: code, and the words
};

/// Emits a diagnostic where an expression of the kernel reads a symbol that it does
/// not name.
mlir::LogicalResult checkSymbols(dispatch::KernelOp kernel);

/// For builders that know constant shapes only: emits a diagnostic where a type of
/// the kernel is dynamic.
mlir::LogicalResult checkStaticTypes(LoopKernel &kernel);

/// Tensors of size zero are legal and need no work; builders may rely on there
/// being some.
bool hasNoResults(dispatch::KernelOp kernel);

/// How many elements lie from the first to the last of a tensor, both included, if it has
/// any.
SymExpr elementsSpanned(mlir::RankedTensorType type, const Sizes &strides);

} // namespace lumen::loops

#endif // LUMEN_CODEGEN_LOOPS_LOOPKERNEL_H
