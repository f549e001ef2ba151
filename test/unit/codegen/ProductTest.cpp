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
    check(contract.text(), optionsFor(contract.k.value, i));
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
    check(contract.text(), optionsFor(contract.k.value, 1));
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
      contract.batch = pick<Dims>(random, {{2}, {2, 3}, {1, 4}});
    contract.sharedRhs = random() % 3 == 0;
    contract.transposeLhs = random() % 4 == 0;
    contract.transposeRhs = random() % 3 == 0;
    contract.fusedLhs = random() % 5 == 0;
    contract.resultGap = i % 3 == 0 ? 5 : 0;
    contract.tail = pickTail(random);
    check(contract.text(), optionsFor(contract.k.value, i));
  }
}

TEST_P(ContractionTest, TakesEveryNumericType) {
  std::mt19937 random(3);
  for (const char *type : {"f64", "i8", "i32", "i64", "ui8", "ui32", "ui64"})
    for (int i = 0; i < 4; ++i) {
      ContractText contract;
      contract.type = type;
      contract.packed = false;
      contract.m = 5, contract.k = 9;
      contract.n = pick<int64_t>(random, {1, 8, 19});
      contract.transposeLhs = i % 2;
      contract.transposeRhs = i / 2;
      contract.tail = Tail::Bias;
      check(contract.text(), optionsFor(contract.k.value, i));
    }
}

using SizeList = std::vector<std::vector<int64_t>>;

TEST_P(ContractionTest, TakesAnyNumberOfRows) {
  std::mt19937 random(8);
  for (int i = 0; i < 14; ++i) {
    ContractText contract;
    contract.m = "m";
    contract.n = pick<int64_t>(random, {1, 3, 16, 17, 24, 40, 64, 65, 100, 200});
    contract.k = pick<int64_t>(random, {1, 27, 64});
    contract.lhsGap = i % 5 == 0 ? 3 : 0;
    contract.resultGap = i % 3 == 0 ? 5 : 0;
    contract.tail = pickTail(random);
    bool hasBatch = i % 2;
    if (hasBatch)
      contract.batch = {"b", 1};
    SizeList sizes;
    for (int64_t rows : {0, 1, 2, 3, 6, 7, 13, 14, 15, 50, 97})
      sizes.push_back(hasBatch ? std::vector<int64_t>{int64_t(random() % 4), rows}
                               : std::vector<int64_t>{rows});
    check(contract.text(), sizes, optionsFor(contract.k.value, i));
  }
}

TEST_P(ContractionTest, DividesManyRowsAndLongSumsAtRunTime) {
  for (auto [n, k] : {std::tuple(24, 32), {1000, 30}, {19, 4200}})
    for (Tail tail : {Tail::Residual, Tail::Sigmoid}) {
      ContractText contract;
      contract.m = "m", contract.n = n, contract.k = k;
      contract.tail = tail;
      check(contract.text(), SizeList{{1}, {33}, {131}}, optionsFor(k, 1));
    }
  ContractText contract;
  contract.batch = {"b"};
  contract.m = "m", contract.n = 24, contract.k = 32;
  check(contract.text(), SizeList{{3, 700}, {1, 2500}}, optionsFor(32, 1));
}

TEST_P(ContractionTest, MultipliesHeadsOfAnySize) {
  std::mt19937 random(9);
  for (int i = 0; i < 24; ++i) {
    ContractText contract;
    contract.packed = false;
    contract.headsInside = i % 3 != 0;
    contract.transposeRhs = i % 2;
    contract.batch = {pick<Dim>(random, {"b", 2}), pick<Dim>(random, {"h", 1, 3})};
    contract.m = pick<Dim>(random, {"m", "m", 1, 5});
    contract.n = pick<Dim>(random, {"n", "n", 8, 17, 64, 70});
    contract.k = pick<Dim>(random, {"k", "k", 8, 19, 64});
    contract.sharedRhs = !contract.headsInside && random() % 3 == 0;
    contract.tail = pickTail(random);
    SizeList sizes;
    for (int run = 0; run < 9; ++run) {
      sizes.emplace_back();
      auto add = [&](const Dim &dim, std::initializer_list<int64_t> values) {
        if (!dim.size.asConstant())
          sizes.back().push_back(pick<int64_t>(random, values));
      };
      add(contract.batch[0], {0, 1, 2, 2});
      add(contract.batch[1], {1, 2, 3});
      add(contract.m, {0, 1, 1, 2, 7, 33, 40});
      add(contract.k, {0, 1, 5, 16, 64, 65});
      add(contract.n, {0, 1, 8, 16, 17, 63, 64, 65, 100});
    }
    check(contract.text(), sizes, optionsFor(64, i));
  }
}

TEST_P(ContractionTest, ReadsDeepOperandsOfAnySizeInPlace) {
  ContractText contract;
  contract.packed = false;
  contract.m = "m", contract.n = 40, contract.k = "k";
  check(contract.text(), SizeList{{1, 600}, {50, 600}, {50, 512}, {31, 20}}, optionsFor(600, 1));
}

TEST_P(ContractionTest, TakesEveryTypeAtAnySize) {
  std::mt19937 random(10);
  for (const char *type : {"f64", "i32", "f32"})
    for (int i = 0; i < 4; ++i) {
      ContractText contract;
      contract.type = type;
      contract.packed = false;
      contract.m = "m", contract.k = "k", contract.n = "n";
      contract.transposeLhs = i % 2;
      contract.transposeRhs = i / 2;
      contract.fusedLhs = random() % 2;
      contract.tail = pick<Tail>(random, {Tail::Bias, Tail::Residual});
      SizeList sizes;
      for (int run = 0; run < 6; ++run)
        sizes.push_back({pick<int64_t>(random, {0, 1, 5}), pick<int64_t>(random, {0, 1, 9}),
                         pick<int64_t>(random, {0, 1, 8, 19})});
      check(contract.text(), sizes, optionsFor(9, i));
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

TEST_P(ConvolutionTest, DividesTheChannelsOfFewDepthwiseRows) {
  ConvText conv;
  conv.input = {2, 300};
  conv.window = {3, 3};
  conv.strides = conv.dilations = conv.padLow = conv.padHigh = {1, 1};
  conv.channels = conv.outputs = conv.groups = 200;
  check(conv.text(), optionsFor(9, 1));
}

/// One whose filter is not constant, in small groups.
ConvText randomUnpacked(std::mt19937 &random, int i, const char *type) {
  ConvText conv = randomConv(random, rankOf(i));
  conv.type = type;
  conv.packed = false;
  conv.groups = pick<int64_t>(random, {1, 2});
  conv.channels = conv.groups * pick<int64_t>(random, {1, 3});
  conv.outputs = conv.groups * pick<int64_t>(random, {1, 5, 16});
  conv.tail = Tail::BiasRelu;
  return conv;
}

TEST_P(ConvolutionTest, TakesFiltersThatAreNotConstantAndOtherTypes) {
  std::mt19937 random(7);
  for (const char *type : {"f32", "f64", "i32"})
    for (int i = 0; i < 8; ++i) {
      ConvText conv = randomUnpacked(random, i, type);
      check(conv.text(), optionsFor(elementsOf(conv.window) * conv.channels, i));
    }
}

/// Makes the batch or the axes of a convolution symbols, and gives values of these
/// with which the window fits.
SizeList randomSizes(std::mt19937 &random, ConvText &conv) {
  static const char *const names[] = {"d0", "d1", "d2"};
  bool hasBatch = random() % 2, anyAxis = !hasBatch || random() % 3;
  std::vector<bool> isSymbol;
  for (size_t i = 0; i < conv.input.size(); ++i)
    isSymbol.push_back(anyAxis && (i + 1 == conv.input.size() || random() % 3));
  if (hasBatch)
    conv.batch = Dim("b");
  SizeList sizes;
  for (int run = 0; run < 7; ++run) {
    sizes.emplace_back();
    if (hasBatch)
      sizes.back().push_back(pick<int64_t>(random, {0, 1, 2, 3}));
    for (size_t i = 0; i < conv.input.size(); ++i) {
      // The smallest size has one element of the result, or none where it is 0.
      int64_t least =
          (conv.window[i] - 1) * conv.dilations[i] + 1 - conv.padLow[i] - conv.padHigh[i];
      if (isSymbol[i])
        sizes.back().push_back(std::max<int64_t>(least, 0) +
                               pick<int64_t>(random, {0, 1, 2, 3, 5, 8, 13, 14}) *
                                   (conv.input.size() > 2 ? 1 : 2));
    }
  }
  for (size_t i = 0; i < conv.input.size(); ++i)
    if (isSymbol[i])
      conv.input[i] = Dim(names[i]);
  return sizes;
}

TEST_P(ConvolutionTest, TakesImagesOfAnySize) {
  std::mt19937 random(11);
  for (int i = 0; i < 40; ++i) {
    ConvText conv = randomConv(random, rankOf(i));
    conv.groups = pick<int64_t>(random, {1, 1, 1, 2, 3});
    conv.channels = conv.groups * pick<int64_t>(random, {1, 3, 8, 17});
    conv.outputs = conv.groups * pick<int64_t>(random, {2, 3, 16, 24, 40, 64, 100});
    SizeList sizes = randomSizes(random, conv);
    check(conv.text(), sizes, optionsFor(elementsOf(conv.window) * conv.channels, i));
  }
}

TEST_P(ConvolutionTest, TakesRowsOfAnyLength) {
  std::mt19937 random(12);
  for (int64_t stride : {1, 2})
    for (int64_t pad : {0, 1, 2}) {
      ConvText conv;
      conv.input = {"w"};
      conv.window = {5};
      conv.strides = {stride};
      conv.dilations = {1};
      conv.padLow = {pad};
      conv.padHigh = {pad};
      conv.channels = 8, conv.outputs = 24;
      conv.tail = pickTail(random);
      SizeList sizes;
      for (int64_t width : {5, 6, 7, 8, 11, 12, 13, 29, 30, 90, 200, 700})
        sizes.push_back({width});
      check(conv.text(), sizes, optionsFor(40, stride));
      conv.channels = conv.outputs = conv.groups = 24;
      check(conv.text(), sizes, optionsFor(5, stride));
    }
}

TEST_P(ConvolutionTest, RunsDepthwiseOverImagesOfAnySize) {
  std::mt19937 random(13);
  for (int i = 0; i < 24; ++i) {
    ConvText conv = randomConv(random, rankOf(i));
    conv.channels = conv.outputs = conv.groups = pick<int64_t>(random, {2, 8, 17, 32, 40, 100});
    SizeList sizes = randomSizes(random, conv);
    check(conv.text(), sizes, optionsFor(elementsOf(conv.window), i));
  }
}

TEST_P(ConvolutionTest, TakesOtherTypesAtAnySize) {
  std::mt19937 random(14);
  for (const char *type : {"f32", "i32"})
    for (int i = 0; i < 5; ++i) {
      ConvText conv = randomUnpacked(random, i, type);
      SizeList sizes = randomSizes(random, conv);
      check(conv.text(), sizes, optionsFor(elementsOf(conv.window) * conv.channels, i));
    }
}

} // namespace
