//===- ProductText.h - texts of contraction and convolution kernels -*- C++ -*-===//
//
// For tests and benchmarks: a product with an elementwise tail as the text of a
// `dispatch.kernel`.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_PRODUCTTEXT_H
#define LUMEN_TEST_UNIT_CODEGEN_PRODUCTTEXT_H

#include <cstdint>
#include <string>
#include <vector>

namespace lumen::test {

using Shape = std::vector<int64_t>;

int64_t elementsOf(const Shape &shape);

/// What follows the product.
enum class Tail { None, Bias, BiasRelu, Residual, Sigmoid, TwoResults };

struct ContractText {
  Shape batch;
  int64_t m, n, k;
  bool packed = true, sharedRhs = false, transposeLhs = false, transposeRhs = false;
  bool fusedLhs = false;             ///< an elementwise operation before the lhs
  int64_t lhsGap = 0, resultGap = 0; ///< elements between rows of the last dimension
  Tail tail = Tail::None;
  std::string type = "f32";

  std::string text() const;
  double flops() const { return 2.0 * elementsOf(batch) * m * n * k; }
};

struct ConvText {
  int64_t batch = 1;
  Shape input, window, strides, dilations, padLow, padHigh; ///< one per axis
  int64_t channels, outputs, groups = 1;
  bool packed = true;
  int64_t inputGap = 0, resultGap = 0;
  Tail tail = Tail::None;
  std::string type = "f32";

  Shape result() const;
  std::string text() const;
  double flops() const {
    return 2.0 * elementsOf(result()) * elementsOf(window) * channels / groups;
  }
};

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_PRODUCTTEXT_H
