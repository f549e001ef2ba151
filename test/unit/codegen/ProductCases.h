//===- ProductCases.h - contractions and convolutions to compile -*- C++ -*-===//
//
// Describes one product with its epilogue, as text of a `dispatch.kernel` and as
// a plain evaluation in double precision. For tests and benchmarks.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_PRODUCTCASES_H
#define LUMEN_TEST_UNIT_CODEGEN_PRODUCTCASES_H

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace lumen::test {

using Shape = std::vector<int64_t>;

int64_t elementsOf(const Shape &shape);

/// Buffers of a model start on such a boundary.
template <typename T> struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <typename U> AlignedAllocator(const AlignedAllocator<U> &) {}
  T *allocate(size_t n) {
    return static_cast<T *>(std::aligned_alloc(64, (n * sizeof(T) + 127) / 64 * 64));
  }
  void deallocate(T *data, size_t) { std::free(data); }
  bool operator==(const AlignedAllocator &) const { return true; }
  bool operator!=(const AlignedAllocator &) const { return false; }
};

/// A tensor in a buffer that may be wider than its last dimension, as a view of
/// a concatenation is.
struct Buffer {
  Shape shape;
  int64_t lastStrideGap = 0; ///< elements between rows of the last dimension
  std::vector<float, AlignedAllocator<float>> data;

  void resize() { data.assign(elementsOf(shape) / rowSize() * rowStride(), 0.0f); }
  int64_t rowSize() const { return shape.empty() ? 1 : shape.back(); }
  int64_t rowStride() const { return rowSize() + lastStrideGap; }
  float &at(int64_t linear) { return data[linear / rowSize() * rowStride() + linear % rowSize()]; }
  std::string type() const;
  /// The argument attribute that tells the strides, or nothing.
  std::string attribute() const;
};

enum class Tail { None, Bias, BiasRelu, Residual, Sigmoid, Two };

/// Operands in the order of the kernel's arguments, the results last.
struct Case {
  std::string kernel; ///< named @k
  std::vector<Buffer> inputs;
  std::vector<Buffer> outputs;
  /// Fills `inputs[1]`, which the kernel reads packed, from plain weights.
  std::vector<std::vector<double>> expected; ///< of each output
  double flops = 0;
};

struct ContractSpec {
  Shape batch;
  int64_t m, n, k;
  bool packed = true, sharedRhs = false, transposeLhs = false, transposeRhs = false;
  int64_t lhsGap = 0, resultGap = 0;
  Tail tail = Tail::None;
};

struct ConvSpec {
  int64_t batch = 1;
  Shape input, window, strides, dilations, padLow, padHigh; ///< one per axis
  int64_t channels, outputs, groups = 1;
  bool packed = true;
  int64_t inputGap = 0, resultGap = 0;
  Tail tail = Tail::None;
};

/// With `evaluate` false, only what a benchmark needs is filled in.
Case makeContract(const ContractSpec &spec, std::mt19937 &random, bool evaluate = true);
Case makeConv(const ConvSpec &spec, std::mt19937 &random, bool evaluate = true);

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_PRODUCTCASES_H
