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

  mlir::Value zero(LoopEmitter &emit);
  mlir::Value multiplyAdd(LoopEmitter &emit, mlir::Value a, mlir::Value b, mlir::Value sum);

  /// Stores what the kernel makes of a sum.
  void store(LoopEmitter &emit, llvm::ArrayRef<mlir::Value> row, mlir::Value group,
             mlir::Value column, mlir::Value sum);

private:
  mlir::Value read(LoopEmitter &emit, mlir::Value tensor, Values indices);
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

} // namespace lumen::gpucode

#endif // LUMEN_CODEGEN_GPU_PRODUCT_H
