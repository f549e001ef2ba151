//===- Constants.h - reading and making constants of any size ----*- C++ -*-===//
//
// Constants are read where they lie, through the transposes, reshapes, slices
// and broadcasts between them and their use, so that a weight is copied once
// however often it is rearranged.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_GRAPH_CONSTANTS_H
#define LUMEN_PASSES_GRAPH_CONSTANTS_H

#include "dialects/Lumen/ConstantData.h"

#include <optional>

namespace lumen {

/// A constant tensor as a reader sees it: element `(i0, i1, ...)` lies
/// `tables[0][i0] + tables[1][i1] + ...` elements behind `data`. A table per
/// dimension, not a stride, because joining permuted dimensions has no stride.
struct ConstantView {
  mlir::RankedTensorType type;
  const char *data = nullptr;
  llvm::SmallVector<std::vector<int64_t>> tables;
  /// Set where the bytes were unpacked from an attribute.
  std::shared_ptr<std::vector<char>> owned;

  unsigned getElementBytes() const;
  /// The same element all along `dim`.
  bool isConstantAlong(unsigned dim) const;
  bool isSplat() const;
  /// The view at index 0 of all dimensions but `dims`, which are increasing.
  ConstantView restrictedTo(llvm::ArrayRef<int64_t> dims) const;
  /// The distance of neighbours along `dim` if it is the same everywhere.
  std::optional<int64_t> getStride(unsigned dim) const;
};

/// The constant behind `value`, or nothing when `value` depends on an input or
/// cannot be addressed as a view.
std::optional<ConstantView> viewConstant(mlir::Value value);

/// The same for a value that may be repeated along dynamic dimensions: those have
/// a table of one entry, and the view repeats along them.
std::optional<ConstantView> viewRepeated(mlir::Value value);

/// The number that every element of an f32 value is.
std::optional<float> getSplatF32(mlir::Value value);

/// Copies the elements in row-major order of the view's shape.
void copyConstant(const ConstantView &view, char *out);

/// A value of `type` of which each element is the view's first one: a constant, or
/// one repeated along dynamic dimensions.
mlir::Value makeSplat(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type,
                      const ConstantView &view);
mlir::Value makeSplat(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type,
                      mlir::Attribute element);

/// Evaluates an elementwise op on constants and returns the value that takes
/// its place: a constant, or a broadcast of one where all operands repeat along
/// the same dimensions. Null when an operand is no constant or the element types
/// are not handled.
mlir::Value evaluateElementwise(mlir::OpBuilder &builder, mlir::Operation *op);

/// The sums of a constant of integers; null for anything else.
mlir::Value evaluateSum(mlir::OpBuilder &builder, ReduceOp op);

/// Erases what nothing reads, in all blocks of a function.
void eraseDeadOperations(mlir::Operation *func);

/// Calls `body(begin, end)` on parts of `[0, count)` in parallel, when `bytes`
/// (the amount of work) is worth it.
void parallelRanges(int64_t count, int64_t bytes, llvm::function_ref<void(int64_t, int64_t)> body);

} // namespace lumen

#endif // LUMEN_PASSES_GRAPH_CONSTANTS_H
