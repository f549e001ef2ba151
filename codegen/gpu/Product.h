//===- Product.h - contractions and convolutions as one product --*- C++ -*-===//
//
// A contraction is a product of rows by columns; so is a convolution, whose rows are the
// positions of its result and whose depth counts taps and channels. Here is where the
// elements of both operands come from; the builder decides who computes what.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_GPU_PRODUCT_H
#define LUMEN_CODEGEN_GPU_PRODUCT_H

#include "codegen/gpu/GpuKernel.h"

namespace lumen::gpucode {

/// An argument whose elements lie in memory so that `lanes` neighbours can be accessed at once.
struct NeighbourAccess {
  Access access;
  int64_t lanes;
  /// Whether neighbours follow each other along the depth, at one row or column; else they
  /// are columns at one depth.
  bool alongDepth;
  bool isPadded;         ///< whether there are as many columns as tiles have
  mlir::Value vectors;   ///< see GpuKernel::vectorsOf
  mlir::Value isAligned; ///< i1: whether they may be accessed so
};

/// Where the elements of one row or column lie, whatever their depth.
struct Line {
  mlir::Value base;                         ///< number of the element at depth 0
  llvm::SmallVector<mlir::Value> positions; ///< of a window's first tap, along each axis
};

class Product {
public:
  explicit Product(GpuKernel &kernel);

  Sizes rows;          ///< all dimensions of the result but the last
  int64_t groups = 1;  ///< of columns: each has the depth to itself
  SymExpr columns = 1; ///< of a group
  SymExpr depth = 1;
  int64_t batchDims = 0; ///< leading dimensions of `rows` for which the rhs differs
  mlir::Type sumType;    ///< in registers

  // Elements, as what is summed. `row` has one index per dimension of `rows`; a column is
  // one of its group. Reads nothing outside of the operands, and padding is 0.
  mlir::Value lhs(LoopEmitter &emit, llvm::ArrayRef<mlir::Value> row, mlir::Value group,
                  mlir::Value k);
  mlir::Value rhs(LoopEmitter &emit, llvm::ArrayRef<mlir::Value> row, mlir::Value group,
                  mlir::Value k, mlir::Value column);

  // The same elements, many at once, where the operands lie in memory for that.
  std::optional<NeighbourAccess> lhsNeighbours(int64_t lanes);
  std::optional<NeighbourAccess> rhsNeighbours(int64_t lanes);
  /// Of a row of the result; of a column of a batch.
  Line lhsLine(LoopEmitter &emit, const NeighbourAccess &from, llvm::ArrayRef<mlir::Value> row,
               mlir::Value group);
  Line rhsLine(LoopEmitter &emit, const NeighbourAccess &from, llvm::ArrayRef<mlir::Value> batch,
               mlir::Value group, mlir::Value column);
  /// The elements at `k`, a multiple of the lanes where these lie along the depth.
  Values lhsElements(LoopEmitter &emit, const NeighbourAccess &from, const Line &line,
                     mlir::Value k);
  Values rhsElements(LoopEmitter &emit, const NeighbourAccess &from, const Line &line,
                     mlir::Value k);

  mlir::Value zero(LoopEmitter &emit);
  mlir::Value multiplyAdd(LoopEmitter &emit, mlir::Value a, mlir::Value b, mlir::Value sum);

  /// Stores what the kernel makes of sums: those of one column, or of as many as there are
  /// lanes in `results`, one of which stands for each result of the kernel.
  void store(LoopEmitter &emit, llvm::ArrayRef<mlir::Value> row, mlir::Value group,
             mlir::Value column, mlir::Value sum);
  void store(LoopEmitter &emit, llvm::ArrayRef<mlir::Value> row, mlir::Value group,
             mlir::Value column, llvm::ArrayRef<mlir::Value> sums,
             llvm::ArrayRef<NeighbourAccess> results);
  /// Columns that are neighbours in all results; empty: they are not.
  llvm::SmallVector<NeighbourAccess> resultNeighbours(int64_t lanes);

private:
  mlir::Value read(LoopEmitter &emit, mlir::Value tensor, Values indices);
  /// A value of an operand as what is summed.
  mlir::Value extend(LoopEmitter &emit, mlir::Value value, mlir::Type element);
  std::optional<NeighbourAccess> neighbours(const Access *access, int64_t lanes);
  /// What the kernel makes of a sum, for each result, and where.
  Values resultsOf(LoopEmitter &emit, llvm::ArrayRef<mlir::Value> row, mlir::Value group,
                   mlir::Value column, mlir::Value sum, Position &at);
  /// The elements from number `first` on, or zeros where `inside` is false.
  Values readNeighbours(LoopEmitter &emit, const NeighbourAccess &from, mlir::Value first,
                        mlir::Value inside);
  bool isDepthwise() { return conv && conv.getPacked() && conv.isDepthwise(); }
  /// Appends the indices of row `k` of tap `tap` in a packed panel, for a column.
  void appendPanelIndices(LoopEmitter &emit, Values &indices, mlir::Value tap,
                          const SymExpr &channels, mlir::Value k, mlir::Value column);
  /// The number of the tap and the channel in it that `k` means.
  std::pair<mlir::Value, mlir::Value> splitDepth(LoopEmitter &emit, mlir::Value k);

  GpuKernel &kernel;
  ContractOp contract; ///< null: `conv`
  ConvOp conv;
  mlir::Value left, right; ///< the operands
  SymExpr channels = 1;    ///< of a tap
};

/// Workgroup memory of tiles in which a thread has `each` x `each` elements.
int64_t sharedBytesOfTiles(const Product &product, int64_t each);
/// Computes the product by such tiles, one for a workgroup.
void buildTiles(GpuKernel &kernel, Product &product, int64_t each);

} // namespace lumen::gpucode

#endif // LUMEN_CODEGEN_GPU_PRODUCT_H
