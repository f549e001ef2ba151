//===- ProductTest.cpp - contractions and convolutions --------------------===//

#include "KernelHarness.h"
#include "ProductText.h"

#include <cmath>

using namespace lumen::test;

namespace {

template <typename T> T pick(std::mt19937 &random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

Tail pickTail(std::mt19937 &random) {
  return pick(random, {Tail::None, Tail::Bias, Tail::BiasRelu, Tail::Residual, Tail::Sigmoid,
                       Tail::TwoResults});
}

/// Values below one, and room for the rounding of sums of `depth` products.
CheckOptions optionsFor(int64_t depth, unsigned seed) {
  CheckOptions options;
  options.seed = seed;
  options.relative = 1e-5;
  options.absolute = 1e-6 * (8 + std::sqrt(depth));
  options.fill = [](unsigned, mlir::Type type, std::mt19937 &random) -> Number {
    if (type.isInteger())
      return random() % 100;
    return std::uniform_real_distribution<double>(-1, 1)(random);
  };
  return options;
}

/// A random convolution of `rank` axes whose window fits its input.
ConvText randomConv(std::mt19937 &random, size_t rank) {
  ConvText conv;
  conv.batch = pick<int64_t>(random, {1, 1, 2});
  for (size_t axis = 0; axis < rank; ++axis) {
    int64_t window = pick<int64_t>(random, {1, 2, 3, 3, 5});
    int64_t dilation = pick<int64_t>(random, {1, 1, 1, 2});
    int64_t extent = (window - 1) * dilation + 1;
    conv.window.push_back(window);
    conv.dilations.push_back(dilation);
    conv.strides.push_back(pick<int64_t>(random, {1, 1, 2, 3}));
    conv.padLow.push_back(random() % 2 ? random() % extent : 0);
    conv.padHigh.push_back(random() % 2 ? random() % (extent + 1) : 0);
    conv.input.push_back(extent + random() % (rank == 3 ? 3 : rank == 2 ? 9 : 40));
  }
  conv.inputGap = pick<int64_t>(random, {0, 0, 0, 3});
  conv.resultGap = pick<int64_t>(random, {0, 0, 5});
  conv.tail = pickTail(random);
  return conv;
}

size_t rankOf(int i) { return i % 5 == 0 ? 1 : i % 5 == 1 ? 3 : 2; }

LUMEN_KERNEL_TEST(ContractionTest);

TEST_P(ContractionTest, ReadsPackedPanels) {
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    ContractText contract;
    contract.m = pick<int64_t>(random, {1, 2, 3, 5, 7, 13, 32, 50});
    contract.n = pick<int64_t>(random, {1, 3, 16, 17, 24, 40, 64, 65, 100, 200});
    contract.k = pick<int64_t>(random, {1, 3, 27, 64, 147});
    if (i % 4 == 0)
      contract.batch = {2, 1};
    contract.lhsGap = i % 5 == 0 ? 3 : 0;
    contract.resultGap = i % 3 == 0 ? 5 : 0;
    contract.tail = pickTail(random);
    check(contract.text(), optionsFor(contract.k, i));
  }
}

TEST_P(ContractionTest, SplitsManyRowsColumnsAndLongSums) {
  for (auto [m, n, k] : {std::tuple(1, 1000, 513), {300, 24, 32}, {4, 70, 2000}, {130, 70, 2000}}) {
    ContractText contract;
    contract.m = m, contract.n = n, contract.k = k;
    contract.tail = Tail::BiasRelu;
    check(contract.text(), optionsFor(k, 1));
  }
}

TEST_P(ContractionTest, AddsLongSumsInBlocks) {
  for (Tail tail : {Tail::Residual, Tail::Sigmoid}) {
    ContractText contract;
    contract.m = 131, contract.n = 19, contract.k = 4200;
    contract.tail = tail;
    check(contract.text(), optionsFor(contract.k, 1));
  }
}

TEST_P(ContractionTest, PacksOperandsThatAreNotConstant) {
  std::mt19937 random(2);
  for (int i = 0; i < 40; ++i) {
    ContractText contract;
    contract.packed = false;
    contract.m = pick<int64_t>(random, {1, 2, 7, 12, 33});
    contract.n = pick<int64_t>(random, {1, 3, 17, 64, 100});
    contract.k = pick<int64_t>(random, {1, 3, 27, 64});
    if (i % 2)
      contract.batch = pick<Shape>(random, {{2}, {2, 3}, {1, 4}});
    contract.sharedRhs = random() % 3 == 0;
    contract.transposeLhs = random() % 4 == 0;
    contract.transposeRhs = random() % 3 == 0;
    contract.fusedLhs = random() % 5 == 0;
    contract.resultGap = i % 3 == 0 ? 5 : 0;
    contract.tail = pickTail(random);
    check(contract.text(), optionsFor(contract.k, i));
  }
}

TEST_P(ContractionTest, TakesEveryNumericType) {
  std::mt19937 random(3);
  for (const char *type : {"f64", "i32", "i64", "ui8", "ui32", "ui64"})
    for (int i = 0; i < 4; ++i) {
      ContractText contract;
      contract.type = type;
      contract.packed = false;
      contract.m = 5, contract.k = 9;
      contract.n = pick<int64_t>(random, {1, 8, 19});
      contract.transposeLhs = i % 2;
      contract.transposeRhs = i / 2;
      contract.tail = Tail::Bias;
      check(contract.text(), optionsFor(contract.k, i));
    }
}

LUMEN_KERNEL_TEST(ConvolutionTest);

TEST_P(ConvolutionTest, ReadsPackedPanels) {
  std::mt19937 random(4);
  for (int i = 0; i < 100; ++i) {
    ConvText conv = randomConv(random, rankOf(i));
    conv.groups = pick<int64_t>(random, {1, 1, 1, 2, 3});
    conv.channels = conv.groups * pick<int64_t>(random, {1, 3, 8, 17});
    conv.outputs = conv.groups * pick<int64_t>(random, {2, 3, 16, 24, 40, 64, 100});
    check(conv.text(), optionsFor(elementsOf(conv.window) * conv.channels, i));
  }
}

TEST_P(ConvolutionTest, SharesRowsBetweenBorderAndInside) {
  std::mt19937 random(5);
  for (int64_t width : {1, 2, 7, 14, 15, 28, 30, 57})
    for (int64_t stride : {1, 2}) {
      ConvText conv;
      conv.input = {3, width};
      conv.window = {3, 3};
      conv.strides = {stride, stride};
      conv.dilations = {1, 1};
      conv.padLow = conv.padHigh = {1, 1};
      conv.channels = 8, conv.outputs = 64;
      conv.tail = pickTail(random);
      check(conv.text(), optionsFor(72, width));
    }
}

TEST_P(ConvolutionTest, AddsLongSumsInBlocks) {
  for (Tail tail : {Tail::BiasRelu, Tail::Sigmoid}) {
    ConvText conv;
    conv.input = {10, 13};
    conv.window = {3, 3};
    conv.strides = conv.dilations = {1, 1};
    conv.padLow = conv.padHigh = {1, 1};
    conv.channels = 460, conv.outputs = 19;
    conv.tail = tail;
    check(conv.text(), optionsFor(9 * conv.channels, 1));
  }
}

TEST_P(ConvolutionTest, RunsDepthwiseAlongChannels) {
  std::mt19937 random(6);
  for (int i = 0; i < 60; ++i) {
    ConvText conv = randomConv(random, rankOf(i));
    conv.channels = conv.outputs = conv.groups = pick<int64_t>(random, {2, 8, 17, 32, 40, 100});
    check(conv.text(), optionsFor(elementsOf(conv.window), i));
  }
}

TEST_P(ConvolutionTest, TakesFiltersThatAreNotConstantAndOtherTypes) {
  std::mt19937 random(7);
  for (const char *type : {"f32", "f64", "i32"})
    for (int i = 0; i < 8; ++i) {
      ConvText conv = randomConv(random, rankOf(i));
      conv.type = type;
      conv.packed = false;
      conv.groups = pick<int64_t>(random, {1, 2});
      conv.channels = conv.groups * pick<int64_t>(random, {1, 3});
      conv.outputs = conv.groups * pick<int64_t>(random, {1, 5, 16});
      conv.tail = Tail::BiasRelu;
      check(conv.text(), optionsFor(elementsOf(conv.window) * conv.channels, i));
    }
}

} // namespace
