//===- Nest.h - a parallel, vectorised loop nest over a box ------*- C++ -*-===//
//
// The loops of every builder that works element by element: dimensions that all
// accesses walk alike are merged, one of them becomes the vector dimension, and
// the rest is cut into work units.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_LOOPS_NEST_H
#define LUMEN_CODEGEN_LOOPS_NEST_H

#include "codegen/common/AccessAnalysis.h"
#include "codegen/loops/LoopKernel.h"

namespace lumen::loops {

/// Consecutive dimensions of the space that are walked as one.
struct NestLoop {
  int64_t dim; ///< the innermost of them: its index counts through all
  SymExpr size;
};

/// The loops over `shape`, outer ones first, of which those that every access walks alike
/// are one; none where an extent is 0. `resultStrides`: elements per step of each dimension.
llvm::SmallVector<NestLoop> mergeLoops(llvm::ArrayRef<SymExpr> shape,
                                       const AccessAnalysis &analysis,
                                       llvm::ArrayRef<Sizes> resultStrides);

/// How to walk a box of an iteration space.
struct NestPlan {
  llvm::SmallVector<NestLoop> loops; ///< outer ones first, without unit loops
  int vectorLoop = -1;               ///< index into `loops`; -1: scalar
  /// A short loop inside of the vector loop, whose elements lie side by side in
  /// every result: a tensor of pixels with few channels. The body visits it, so
  /// that rows can be interleaved in registers. -1: none.
  int interleavedLoop = -1;
  /// The loop along which transposed reads are contiguous; the body visits it in
  /// blocks of `lanes`, so that tiles can be transposed in registers. -1: none.
  int tiledLoop = -1;
  int64_t lanes = 1;
  int64_t chunk = 1; ///< elements of the vector loop per unit
  SymExpr units = 0;
  double unitNanoseconds = 0; ///< estimated

  /// Plans the walk of `shape`. `strides` has one row per access, results
  /// first: elements per step of each dimension.
  static NestPlan make(llvm::ArrayRef<SymExpr> shape, const AccessAnalysis &analysis,
                       llvm::ArrayRef<Sizes> resultStrides, int64_t lanes, double bytesPerElement);
};

/// Lanes that suit the element types of a kernel: full registers of the
/// widest type, but not less than what 32-bit elements fill.
int64_t preferredLanes(LoopKernel &kernel);

/// Calls `body` at every position of units [begin, end) of the plan, with
/// `offsets` added to the indices; the index of an interleaved loop stays at its
/// offset, that of a tiled loop is the begin of a block. `body` must not keep the builder.
void emitNest(LoopKernel &kernel, const NestPlan &plan, llvm::ArrayRef<SymExpr> offsets,
              mlir::Value begin, mlir::Value end,
              llvm::function_ref<void(mlir::OpBuilder &, const Position &)> body);

/// A vector loop over [low, high) with `lanes` at a step and a tail, which is
/// masked or scalar as the level likes it. `size` is the largest value of
/// `high`; `high - low` is a multiple of `lanes` except where high == size.
void emitVectorLoop(
    LoopKernel &kernel, mlir::OpBuilder &builder, mlir::Value low, mlir::Value high,
    const SymExpr &size, int64_t lanes,
    llvm::function_ref<void(mlir::OpBuilder &, mlir::Value index, int64_t lanes, mlir::Value mask)>
        body);

/// Transposes a square of vectors in registers.
void transposeTile(mlir::OpBuilder &builder, mlir::Location loc,
                   llvm::SmallVectorImpl<mlir::Value> &rows);

/// Lanes [0, count) of a mask.
mlir::Value makeMask(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value count,
                     int64_t lanes);

/// Fewest units that are worth waking another thread for.
int64_t grainFor(double unitNanoseconds, const SymExpr &units);

} // namespace lumen::loops

#endif // LUMEN_CODEGEN_LOOPS_NEST_H
