//===- AccessAnalysis.h - how a loop nest reads its arguments ----*- C++ -*-===//
//
// Before a builder chooses loops, it asks how values are read when the
// iteration space is walked: with which stride along each dimension, and which
// dimensions an operation tells apart, so that they cannot be merged.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_COMMON_ACCESSANALYSIS_H
#define LUMEN_CODEGEN_COMMON_ACCESSANALYSIS_H

#include "codegen/common/Expression.h"

#include "llvm/ADT/SmallBitVector.h"

namespace lumen {

/// A value that is read from memory at an affine place.
struct LinearRead {
  mlir::Value value; ///< an argument, or a reshape of one
  Access access;     ///< of `value`
  Sizes strides;     ///< in elements, per dimension of the space
  /// Per dimension of the space the one dimension of `value` that it moves along,
  /// step by step; -1 where it is another case.
  llvm::SmallVector<int64_t> dims;
  /// Nothing else reads `value` at another place, and this read does not depend on
  /// a branch: it may be replaced, and done ahead.
  bool isOnly;
};

struct AccessAnalysis {
  /// Of `values`, all of one shape, which is the iteration space.
  static AccessAnalysis of(const Expression &expression, llvm::ArrayRef<mlir::Value> values);

  llvm::SmallVector<LinearRead> reads;
  /// Dimensions whose index means more than a stride.
  llvm::SmallBitVector fixed;
  /// Dimensions along which a row of lanes becomes a gather of some value.
  llvm::SmallBitVector bent;
  /// Estimated scalar operations per element: 1 for an addition.
  double operations = 0;
};

} // namespace lumen

#endif // LUMEN_CODEGEN_COMMON_ACCESSANALYSIS_H
