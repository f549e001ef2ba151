//===- MatrixProduct.h - products whose rows are a strided matrix -*- C++ -*-===//
#ifndef LUMEN_CODEGEN_CPU_MATRIXPRODUCT_H
#define LUMEN_CODEGEN_CPU_MATRIXPRODUCT_H

#include "codegen/cpu/CpuKernel.h"

namespace lumen::cpu {

/// A product of which every row of A is contiguous and found by strides over the
/// dimensions of the root's result, all but the last: contractions, and
/// convolutions with a window of one element.
struct MatrixProduct {
  mlir::Value lhs;  ///< memref of A
  Sizes lhsStrides; ///< per dimension of the result but the last
  SymExpr depth = 0;
  int64_t groups = 1;     ///< of channels
  int64_t lhsOfGroup = 0; ///< elements between the rows of A of two groups
  int64_t batchDims = 0;  ///< leading dimensions for which B differs
  mlir::Value packed;     ///< memref of packed panels; null: see `rhs`
  mlir::Value rhs;        ///< a value of the kernel's body, packed as the kernel runs
  bool transposeRhs = false;
  /// Set where the rows of `rhs`, of any number and size, are contiguous in memory: B
  /// may be read in place, or transposed in registers.
  const Access *rhsMemory = nullptr;
};

mlir::FailureOr<LaunchShape> buildMatrixProduct(CpuKernel &kernel, const MatrixProduct &product);

/// Any contraction or convolution, of any type and layout, by plain loops over
/// vectors of output columns.
mlir::FailureOr<LaunchShape> buildGenericContraction(CpuKernel &kernel);
mlir::FailureOr<LaunchShape> buildGenericConvolution(CpuKernel &kernel);

/// A depthwise convolution with a packed filter.
mlir::FailureOr<LaunchShape> buildDepthwise(CpuKernel &kernel);

} // namespace lumen::cpu

#endif // LUMEN_CODEGEN_CPU_MATRIXPRODUCT_H
