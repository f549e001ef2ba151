//===- Sort.h - the order of rows that are sorted ----------------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_LOOPS_SORT_H
#define LUMEN_CODEGEN_LOOPS_SORT_H

#include "codegen/loops/LoopEmitter.h"

namespace lumen::loops {

/// An element of a row, and which it was: index, or an integer.
struct KeyAndNumber {
  mlir::Value key, number;
};

/// Whether `a` stands before `b`. Numbers decide between equal elements, so that the order is
/// the same whoever sorts.
mlir::Value isSortedBefore(LoopEmitter &emit, SortOp op, KeyAndNumber a, KeyAndNumber b);

} // namespace lumen::loops

#endif // LUMEN_CODEGEN_LOOPS_SORT_H
