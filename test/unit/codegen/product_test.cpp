//===- product_test.cpp - contractions and convolutions -------------------===//
//
// Random products against an evaluation in double precision, at every level
// that this machine can run.
//
//===----------------------------------------------------------------------===//

#include "ProductRunner.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>

using namespace lumen;
using namespace lumen::test;

namespace {

/// One parameter per level; what this machine cannot run is skipped by name.
class Products : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    std::vector<std::string> levels = hostLevels();
    if (std::find(levels.begin(), levels.end(), GetParam()) == levels.end())
      GTEST_SKIP() << "this machine cannot run " << GetParam();
  }

  /// Compiles, runs in two parts and compares; `depth` bounds rounding.
  void check(Case c, int64_t depth) {
    SCOPED_TRACE(c.kernel);
    std::string error;
    auto runner = Runner::create(c, GetParam(), error);
    ASSERT_TRUE(runner) << error;
    constexpr float kUntouched = -12345.0f;
    for (Buffer &buffer : c.outputs)
      std::fill(buffer.data.begin(), buffer.data.end(), kUntouched);
    runner->run(c, runner->shape.grid > 1 ? 2 : 1);
    double tolerance = 1e-6 * (8 + std::sqrt(depth)) * std::sqrt(std::sqrt(depth));
    for (size_t o = 0; o < c.outputs.size(); ++o) {
      Buffer &buffer = c.outputs[o];
      int64_t wrong = 0;
      for (size_t i = 0; i < c.expected[o].size(); ++i) {
        double difference = std::abs(buffer.at(i) - c.expected[o][i]);
        if (!(difference <= tolerance * (1 + std::abs(c.expected[o][i]))) && ++wrong < 4)
          ADD_FAILURE() << "output " << o << " element " << i << ": " << buffer.at(i)
                        << ", expected " << c.expected[o][i];
      }
      EXPECT_EQ(wrong, 0);
      // Memory between the rows of a view belongs to another tensor.
      for (size_t i = 0; i < buffer.data.size(); ++i) {
        if (static_cast<int64_t>(i) % buffer.rowStride() >= buffer.rowSize()) {
          ASSERT_EQ(buffer.data[i], kUntouched) << "written between rows at " << i;
        }
      }
    }
  }
};

template <typename T> T pick(std::mt19937 &random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

Tail pickTail(std::mt19937 &random) {
  return pick(random,
              {Tail::None, Tail::Bias, Tail::BiasRelu, Tail::Residual, Tail::Sigmoid, Tail::Two});
}

TEST_P(Products, PackedContraction) {
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    ContractSpec spec;
    spec.m = pick<int64_t>(random, {1, 2, 3, 5, 7, 13, 32, 50, 97, 130});
    spec.n = pick<int64_t>(random, {1, 3, 16, 17, 24, 40, 64, 65, 100, 128, 200});
    spec.k = pick<int64_t>(random, {1, 3, 27, 64, 147, 300});
    if (i % 4 == 0)
      spec.batch = {2, 3};
    spec.lhsGap = i % 5 == 0 ? 3 : 0;
    spec.resultGap = i % 3 == 0 ? 5 : 0;
    spec.tail = pickTail(random);
    check(makeContract(spec, random), spec.k);
    if (HasFatalFailure())
      return;
  }
}

TEST_P(Products, LongContraction) {
  std::mt19937 random(2);
  for (auto [m, n, k] : {std::tuple(1, 1000, 513), {4, 1000, 2000}, {64, 70, 2000}}) {
    ContractSpec spec;
    spec.m = m, spec.n = n, spec.k = k;
    spec.tail = Tail::BiasRelu;
    check(makeContract(spec, random), spec.k);
  }
}

TEST_P(Products, DynamicContraction) {
  std::mt19937 random(3);
  for (int i = 0; i < 40; ++i) {
    ContractSpec spec;
    spec.packed = false;
    spec.m = pick<int64_t>(random, {1, 2, 7, 12, 33});
    spec.n = pick<int64_t>(random, {1, 3, 17, 64, 100});
    spec.k = pick<int64_t>(random, {1, 3, 27, 64, 147});
    if (i % 2)
      spec.batch = pick<Shape>(random, {{2}, {2, 3}, {1, 4}});
    spec.sharedRhs = random() % 3 == 0;
    spec.transposeLhs = random() % 4 == 0;
    spec.transposeRhs = random() % 3 == 0;
    spec.resultGap = i % 3 == 0 ? 5 : 0;
    spec.tail = pickTail(random);
    check(makeContract(spec, random), spec.k);
    if (HasFatalFailure())
      return;
  }
}

/// A random convolution with `rank` axes whose window fits its input.
ConvSpec randomConv(std::mt19937 &random, size_t rank) {
  ConvSpec spec;
  spec.batch = pick<int64_t>(random, {1, 1, 2});
  for (size_t axis = 0; axis < rank; ++axis) {
    int64_t window = pick<int64_t>(random, {1, 2, 3, 3, 5});
    int64_t dilation = pick<int64_t>(random, {1, 1, 1, 2});
    int64_t extent = (window - 1) * dilation + 1;
    spec.window.push_back(window);
    spec.dilations.push_back(dilation);
    spec.strides.push_back(pick<int64_t>(random, {1, 1, 2, 3}));
    spec.padLow.push_back(random() % 2 ? random() % extent : 0);
    spec.padHigh.push_back(random() % 2 ? random() % (extent + 1) : 0);
    spec.input.push_back(extent + random() % (rank == 3 ? 5 : rank == 2 ? 16 : 40));
  }
  return spec;
}

TEST_P(Products, Convolution) {
  std::mt19937 random(4);
  for (int i = 0; i < 100; ++i) {
    ConvSpec spec = randomConv(random, i % 5 == 0 ? 1 : i % 5 == 1 ? 3 : 2);
    spec.groups = pick<int64_t>(random, {1, 1, 1, 2, 3});
    spec.channels = spec.groups * pick<int64_t>(random, {1, 3, 8, 17, 32});
    spec.outputs = spec.groups * pick<int64_t>(random, {2, 3, 16, 24, 40, 64, 100});
    spec.inputGap = i % 7 == 0 ? 3 : 0;
    spec.resultGap = i % 3 == 0 ? 5 : 0;
    spec.packed = i % 10 != 9;
    spec.tail = pickTail(random);
    check(makeConv(spec, random), elementsOf(spec.window) * spec.channels);
    if (HasFatalFailure())
      return;
  }
}

TEST_P(Products, Depthwise) {
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    ConvSpec spec = randomConv(random, i % 5 == 0 ? 1 : i % 5 == 1 ? 3 : 2);
    spec.channels = spec.outputs = spec.groups = pick<int64_t>(random, {2, 8, 17, 32, 40, 100});
    spec.inputGap = i % 7 == 0 ? 3 : 0;
    spec.resultGap = i % 3 == 0 ? 5 : 0;
    spec.tail = pickTail(random);
    check(makeConv(spec, random), elementsOf(spec.window));
    if (HasFatalFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Products, testing::Values("x86-64-v4", "x86-64-v3", "x86-64-v2"),
                         [](const auto &info) { return info.param.substr(info.param.size() - 2); });

} // namespace
