//===- Shapes.h - shapes whose dimensions are expressions --------*- C++ -*-===//
//
// Every size of a lumen program is a SymExpr: a constant, or an expression over
// symbols. Types carry the expressions of dynamic dimensions in their encoding;
// everything that computes with shapes reads and writes them through these
// functions and never through `getShape`.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_SHAPES_H
#define LUMEN_DIALECTS_LUMEN_SHAPES_H

#include "dialects/Lumen/Symbols.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace lumen {

class DimsAttr;

/// The sizes of a tensor's dimensions, or one number per dimension.
using Sizes = llvm::SmallVector<SymExpr>;

/// A dynamic dimension without an expression gives an invalid one.
Sizes sizesOf(mlir::RankedTensorType type);
Sizes sizesOf(mlir::Value value);
SymExpr sizeOf(mlir::Value value, unsigned dim);

/// The type of a tensor of these sizes; encoded where one is not constant.
mlir::RankedTensorType tensorTypeOf(llvm::ArrayRef<SymExpr> sizes, mlir::Type elementType);

/// The constants, if all are.
std::optional<llvm::SmallVector<int64_t>> asConstants(llvm::ArrayRef<SymExpr> sizes);
Sizes toSizes(llvm::ArrayRef<int64_t> constants);
Sizes toSizes(DimsAttr attr);
/// The size that a text says, invalid where it says none.
SymExpr toSize(llvm::StringRef text);
std::optional<SymExpr> toSize(std::optional<llvm::StringRef> text);
DimsAttr toAttr(mlir::MLIRContext *context, llvm::ArrayRef<SymExpr> sizes);

/// A shape as every message shows it: "1x3x224x224", "[batch, 3, 224]", "scalar".
std::string shapeText(llvm::ArrayRef<SymExpr> sizes);
/// The same with "?" for what is dynamic.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

SymExpr product(llvm::ArrayRef<SymExpr> sizes);

/// Strides in elements of a contiguous tensor, row-major.
Sizes contiguousStrides(llvm::ArrayRef<SymExpr> sizes);
llvm::SmallVector<int64_t> contiguousStrides(llvm::ArrayRef<int64_t> shape);

/// Whether a tensor with these strides is contiguous, for every value of the
/// symbols.
bool isContiguous(llvm::ArrayRef<SymExpr> sizes, llvm::ArrayRef<SymExpr> strides);

/// Dimensions of two shapes of the same elements that hold the same part of them.
struct DimGroup {
  llvm::SmallVector<int64_t> from, to;
};

/// Cuts a reshape into the shortest groups of equal size, from the left. Dimensions
/// of 1 are in no group. Nothing where sizes cannot be compared, as n and m when
/// n*k becomes m*l.
std::optional<llvm::SmallVector<DimGroup>> reshapeGroups(llvm::ArrayRef<SymExpr> from,
                                                         llvm::ArrayRef<SymExpr> to);

/// Whether a size is 1 for every value of the symbols.
inline bool isOne(const SymExpr &size) { return size.asConstant() == 1; }

} // namespace lumen

#endif // LUMEN_DIALECTS_LUMEN_SHAPES_H
