//===- Weights.h - the layout of the weights region --------------*- C++ -*-===//
#ifndef LUMEN_PASSES_MEMORY_WEIGHTS_H
#define LUMEN_PASSES_MEMORY_WEIGHTS_H

#include "dialects/Lumen/Lumen.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace lumen {

/// A constant of the weights region.
struct Weight {
  mlir::TypedAttr value;
  int64_t offset; ///< bytes, a multiple of the alignment
  int64_t size;   ///< bytes
};

/// Assigns offsets to constants, in the order they come; constants with the
/// same bytes share one.
class WeightTable {
public:
  int64_t place(mlir::TypedAttr value, const BlobTable &blobs);

  /// Bytes of the region.
  int64_t size() const { return weights.empty() ? 0 : weights.back().offset + weights.back().size; }

  /// The table as a module attribute, and back.
  mlir::Attribute toAttribute(mlir::MLIRContext *context) const;
  static std::vector<Weight> fromAttribute(mlir::Attribute attribute);

private:
  std::vector<Weight> weights;
  llvm::DenseMap<mlir::Attribute, int64_t> offsetOf;
  llvm::StringMap<int64_t> offsetOfContent; ///< by digest of the bytes
  int64_t end = 0;
};

/// Bytes of a constant in memory: `bytes`, `count` times.
struct ConstantBytes {
  llvm::ArrayRef<char> bytes;
  int64_t count;
};

/// A blob's own bytes where the constant is one; else they are made in
/// `storage`, booleans as bytes. A splat is one element and their number, since
/// its size is bounded by nothing that the model's file holds.
ConstantBytes constantBytes(mlir::TypedAttr value, const BlobTable &blobs,
                            llvm::SmallVectorImpl<char> &storage);

} // namespace lumen

#endif // LUMEN_PASSES_MEMORY_WEIGHTS_H
