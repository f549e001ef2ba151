//===- SizesData.h - the numbers of a small tensor over symbols --*- C++ -*-===//
//
// What ConstantData is to constants, this is to the tensors that shapes are
// computed with: the elements as expressions over symbols.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_SIZESDATA_H
#define LUMEN_DIALECTS_LUMEN_SIZESDATA_H

#include "dialects/Lumen/ConstantData.h"

namespace lumen {

/// An expression divided by a positive number, which is 1 for integers.
struct SizesElement {
  SymExpr over;
  int64_t under = 1;
};

/// The elements of a tensor in row-major order. Tensors of floats, which sizes pass
/// through where models scale them, are exact as long as the type can count that
/// far.
class SizesData {
public:
  SizesData(mlir::RankedTensorType type, llvm::SmallVector<SizesElement> elements)
      : type(type), elements(std::move(elements)) {}

  /// Reads constants, `lumen.sizes` and small expressions of them; nothing where
  /// an element depends on more than symbols, and for larger tensors.
  static std::optional<SizesData> get(mlir::Value value);
  /// What an operation computes from such operands.
  static std::optional<SizesData> evaluate(mlir::Operation *op);

  mlir::RankedTensorType getType() const { return type; }
  bool isReal() const { return mlir::isa<mlir::FloatType>(type.getElementType()); }
  int64_t size() const { return elements.size(); }
  const SizesElement &operator[](int64_t index) const { return elements[index]; }
  /// The elements of a tensor of integers.
  Sizes toSizes() const;

  /// A constant or what `lumen.sizes` holds; null where neither can say it.
  mlir::Attribute toAttr() const;

private:
  mlir::RankedTensorType type;
  llvm::SmallVector<SizesElement> elements;
};

/// The attribute that an operation over sizes folds to, or null.
mlir::Attribute foldSizes(mlir::Operation *op);

/// The result of an operation that only moves elements, for constant operands;
/// null where they are not, or where there are too many elements.
mlir::Attribute moveElements(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands);

} // namespace lumen

#endif // LUMEN_DIALECTS_LUMEN_SIZESDATA_H
