//===- Placement.h - which values of a schedule share memory -----*- C++ -*-===//
//
// Reshape, slice and concat need no code when their values can be parts of the
// same memory. This analysis says for each value of the schedule in which
// storage it lies, where, and with which strides.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_MEMORY_PLACEMENT_H
#define LUMEN_PASSES_MEMORY_PLACEMENT_H

#include "dialects/Dispatch/Dispatch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace lumen {

/// A value's place: elements `offset + sum(index * strides)` of a storage.
struct Place {
  /// The value that owns the memory: a launch's result, an argument of the
  /// schedule, a constant, or a concat that others are written into.
  mlir::Value storage;
  int64_t offset = 0; ///< elements
  llvm::SmallVector<int64_t> strides;
};

/// Strides of `to` such that it addresses the same elements as `from` with
/// `strides`, in row-major order; nothing where no strides can say that.
std::optional<llvm::SmallVector<int64_t>> reshapeStrides(llvm::ArrayRef<int64_t> from,
                                                         llvm::ArrayRef<int64_t> strides,
                                                         llvm::ArrayRef<int64_t> to);

/// Whether a tensor of `shape` with `strides` is contiguous in row-major order.
bool isContiguous(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);

class Placement {
public:
  /// Places every value. Where a view operation cannot share memory, `needsCopy`
  /// is called with the operand that must be copied first, and the analysis
  /// goes on as if it had been: it must return the copy.
  using CopyFn = llvm::function_ref<mlir::Value(mlir::OpOperand &)>;
  Placement(mlir::func::FuncOp main, CopyFn needsCopy);

  const Place &operator[](mlir::Value value) const { return places.find(value)->second; }

private:
  void placeConcats(mlir::Block &block, CopyFn needsCopy);
  void placeInOrder(mlir::Block &block, CopyFn needsCopy);
  void placeReturned(mlir::func::ReturnOp op, CopyFn needsCopy);
  llvm::DenseMap<mlir::Value, Place> places;
};

} // namespace lumen

#endif // LUMEN_PASSES_MEMORY_PLACEMENT_H
