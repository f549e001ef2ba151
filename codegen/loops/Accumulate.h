//===- Accumulate.h - what is carried along a dimension ----------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_LOOPS_ACCUMULATE_H
#define LUMEN_CODEGEN_LOOPS_ACCUMULATE_H

#include "codegen/loops/LoopEmitter.h"
#include "codegen/loops/Rows.h"

namespace lumen::loops {

/// How elements are combined along a row.
Accumulator accumulatorOf(AccumulateOp op);

/// A part of a row.
struct Segment {
  mlir::Value begin, end; ///< index
  mlir::Value before;     ///< what is carried into it
};

/// Goes along a part of a row. Returns what is carried out of it.
mlir::Value emitAccumulation(LoopEmitter &emit, AccumulateOp op, llvm::ArrayRef<mlir::Value> row,
                             const Segment &segment, bool stores);

} // namespace lumen::loops

#endif // LUMEN_CODEGEN_LOOPS_ACCUMULATE_H
