//===- ProductText.h - texts of contraction and convolution kernels -*- C++ -*-===//
//
// For tests and benchmarks: a product with an elementwise tail as the text of a
// `dispatch.kernel`.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_PRODUCTTEXT_H
#define LUMEN_TEST_UNIT_CODEGEN_PRODUCTTEXT_H

#include "dialects/Lumen/Shapes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lumen::test {

using Shape = std::vector<int64_t>;

int64_t elementsOf(const Shape &shape);

/// A size: a constant, or a symbol of the kernel with the value that it has in a
/// benchmark.
struct Dim {
  Dim(int64_t value = 0) : value(value), size(value) {}
  Dim(const char *symbol, int64_t value = 0) : value(value), size(SymExpr::symbol(symbol)) {}

  int64_t value;
  SymExpr size;
};
using Dims = std::vector<Dim>;

/// What follows the product.
enum class Tail { None, Bias, BiasRelu, Residual, Sigmoid, TwoResults };

struct ContractText {
  Dims batch;
  Dim m, n, k;
  bool packed = true, sharedRhs = false, transposeLhs = false, transposeRhs = false;
  bool fusedLhs = false;             ///< an elementwise operation before the lhs
  int64_t lhsGap = 0, resultGap = 0; ///< elements between rows of the last dimension
  /// Operands and result are [batch..., rows, heads, columns] in memory, of which the
  /// last batch dimension is the heads, as in attention.
  bool headsInside = false;
  Tail tail = Tail::None;
  std::string type = "f32";

  std::string text() const;
  /// Sizes that may be symbols; and the same text with their values instead.
  Dims dims() const;
  ContractText constant() const;
  double flops() const;
};

struct ConvText {
  Dim batch = 1;
  Dims input;
  Shape window, strides, dilations, padLow, padHigh; ///< one per axis
  int64_t channels, outputs, groups = 1;
  bool packed = true;
  int64_t inputGap = 0, resultGap = 0;
  Tail tail = Tail::None;
  std::string type = "f32";

  Dims result() const;
  std::string text() const;
  Dims dims() const;
  ConvText constant() const;
  double flops() const;
};

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_PRODUCTTEXT_H
