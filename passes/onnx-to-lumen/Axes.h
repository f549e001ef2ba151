//===- Axes.h - axes that an operand gives ------------------------*- C++ -*-===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_AXES_H
#define LUMEN_PASSES_ONNXTOLUMEN_AXES_H

#include "passes/onnx-to-lumen/Converter.h"

namespace lumen {

/// Different axes of a shape, in the order in which they were given. Their number is
/// known; which they are, the run may say. What is asked of them folds where they are
/// constant.
class Axes {
public:
  /// Axes that count from either end of `rank` dimensions. One that lies outside, or is
  /// given twice, is an error of the node, or of the run.
  static mlir::FailureOr<Axes> of(Node &node, llvm::ArrayRef<mlir::Value> given, int64_t rank);
  static mlir::FailureOr<Axes> of(Node &node, llvm::ArrayRef<int64_t> given, int64_t rank);
  static Axes first(Node &node, int64_t count, int64_t rank);

  size_t size() const { return positions.size(); }
  /// All of them, sorted, if they are constant.
  std::optional<llvm::SmallVector<int64_t>> constants() const;
  bool mayContain(int64_t dim) const;
  /// Of 0-D values, of which each axis has one, that of a dimension; `otherwise` if it is
  /// none of the axes.
  mlir::Value select(int64_t dim, llvm::ArrayRef<mlir::Value> ofAxes, mlir::Value otherwise);
  /// One size if the dimension is among the axes, else the other; see `Node::bind`.
  SymExpr select(int64_t dim, const SymExpr &ofAxis, const SymExpr &otherwise,
                 std::optional<SymExpr> atMost = std::nullopt);
  /// The sizes of all dimensions but the axes.
  Sizes drop(Node::Shape from);
  /// Three sizes, if there is one axis: of what is before it, its own, and of what is
  /// behind.
  Sizes around(Node::Shape from);
  /// The sizes with those of the axes, which are 1, put in between.
  Sizes insertOnes(Node::Shape from);

private:
  Axes(Node &node, int64_t rank) : node(&node), rank(rank) {}
  /// How many dimensions before `dim` are none of the axes.
  SymExpr othersBefore(int64_t dim) const;
  mlir::Value isAt(const SymExpr &place, int64_t dim);

  Node *node;
  int64_t rank;
  llvm::SmallVector<SymExpr> positions; ///< from the front
};

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_AXES_H
