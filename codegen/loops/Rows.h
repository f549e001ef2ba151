//===- Rows.h - loops that combine the elements of a row ---------*- C++ -*-===//
//
// Reductions, softmax and norms walk the same way: some dimensions of the
// operand are kept and make rows, the others are combined. The vector dimension
// is either a combined one (lanes are added up at the end of a row) or a kept
// one (each lane is a row of its own).
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_LOOPS_ROWS_H
#define LUMEN_CODEGEN_LOOPS_ROWS_H

#include "codegen/loops/Nest.h"

namespace lumen::loops {

/// What is accumulated over a row.
struct Accumulator {
  ReduceKind kind;
  mlir::Type type; ///< element type in registers: f32, f64 or an integer
  bool isUnsigned = false;
  /// A maximum that may lose NaN, where something else keeps it.
  bool fast = false;
};

struct RowPlan {
  llvm::SmallVector<NestLoop> kept, reduced; ///< outer ones first
  int vectorLoop = -1; ///< index into `reduced` (the last) or `kept`; -1: scalar
  bool vectorIsReduced = true;
  int64_t lanes = 1;
  int64_t unroll = 1; ///< vectors at a time
  int64_t chunk = 1;  ///< elements of a kept vector loop per unit
  SymExpr units = 0;
  double unitNanoseconds = 0;

  /// Elements that are combined into one.
  SymExpr rowSize() const;

  /// Plans over the dimensions of an operand. `accesses`: strides per dimension.
  static RowPlan make(llvm::ArrayRef<SymExpr> shape, const llvm::SmallBitVector &reduced,
                      llvm::ArrayRef<Sizes> accesses, const llvm::SmallBitVector &fixed,
                      const llvm::SmallBitVector &bent, int64_t lanes, int64_t unroll,
                      double operations);
};

/// One row, or `lanes` rows side by side: a position in the operand's space in
/// which reduced dimensions are 0.
using Rows = llvm::ArrayRef<Position>;

/// Calls `body` for all rows of the kernel's units; it gets several independent
/// rows at once where that hides latency.
void emitRows(LoopKernel &kernel, const RowPlan &plan, int64_t rank,
              llvm::function_ref<void(mlir::OpBuilder &, Rows)> body);

/// Walks `rows` once. `element` is called at positions of the operand with the
/// index in the row buffer, and returns one value per accumulator. The result
/// holds per row the accumulated values: scalars where the vector dimension is
/// reduced, else vectors.
llvm::SmallVector<llvm::SmallVector<mlir::Value>>
walkRows(LoopKernel &kernel, const RowPlan &plan, mlir::OpBuilder &builder, Rows rows,
         llvm::ArrayRef<Accumulator> accumulators,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, const Position &,
                                                           mlir::Value bufferIndex, unsigned row)>
             element);

/// Combines two values of any shape.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc, const Accumulator &accumulator,
                    mlir::Value a, mlir::Value b);

/// The neutral value of an accumulator, for `lanes` lanes (0: a scalar).
mlir::Value neutral(mlir::OpBuilder &builder, mlir::Location loc, const Accumulator &accumulator,
                    int64_t lanes);

/// A value of a narrow float as f32, everything else as it is.
mlir::Value widen(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   mlir::Type element);

/// The number `value` in the float type of `like`, scalar or vector.
mlir::Value constantLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like,
                         double value);

/// The type in which values of `element` are accumulated.
mlir::Type accumulationType(mlir::Type element);

/// Emits all results of the kernel at `position` and stores them.
void storeResults(LoopKernel &kernel, const Expression &expression, mlir::OpBuilder &builder,
                  const Position &position);

/// Whether every result has the shape of the root's; emits a diagnostic if not.
mlir::LogicalResult checkResultShapes(LoopKernel &kernel);

} // namespace lumen::loops

#endif // LUMEN_CODEGEN_LOOPS_ROWS_H
