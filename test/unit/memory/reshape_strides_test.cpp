// Strides of a reshaped view address the same elements in the same order.

#include "passes/memory/Placement.h"

#include <gtest/gtest.h>

#include <random>

using namespace lumen;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

std::optional<SmallVector<int64_t>> reshape(ArrayRef<int64_t> from, ArrayRef<int64_t> strides,
                                            ArrayRef<int64_t> to) {
  auto result = reshapeStrides(toSizes(from), toSizes(strides), toSizes(to));
  return result ? asConstants(*result) : std::nullopt;
}

std::vector<int64_t> addresses(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  std::vector<int64_t> result = {0};
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<int64_t> next;
    for (int64_t base : result)
      for (int64_t i = 0; i < shape[d]; ++i)
        next.push_back(base + i * strides[d]);
    result = std::move(next);
  }
  return result;
}

TEST(ReshapeStrides, SplitsAndJoinsWhereMemoryAllows) {
  // Channels of a wider tensor: the channel dimension can be split, ...
  auto split = reshape({2, 3, 8}, {48, 16, 1}, {2, 3, 2, 4});
  ASSERT_TRUE(split);
  EXPECT_EQ(*split, (SmallVector<int64_t>{48, 16, 4, 1}));
  // ... the outer ones joined, ...
  auto join = reshape({2, 3, 8}, {48, 16, 1}, {6, 8});
  ASSERT_TRUE(join);
  EXPECT_EQ(*join, (SmallVector<int64_t>{16, 1}));
  // ... but not joined with the channels.
  EXPECT_FALSE(reshape({2, 3, 8}, {48, 16, 1}, {2, 24}));
}

TEST(ReshapeStrides, JoinsAndSplitsSymbols) {
  SymExpr b = SymExpr::symbol("b"), s = SymExpr::symbol("s");
  // Columns of a wider tensor of b*s rows.
  EXPECT_EQ(reshapeStrides({b, s, 4}, {s * 8, 8, 1}, {b * s, 4}), (Sizes{8, 1}));
  EXPECT_EQ(reshapeStrides({b * s, 4}, {8, 1}, {b, s, 2, 2}), (Sizes{s * 8, 8, 2, 1}));
  // The rows of another number of columns, or a group that nothing divides.
  EXPECT_FALSE(reshapeStrides({b, s, 4}, {s * 8, 8, 1}, {b, s * 4}));
  EXPECT_FALSE(reshapeStrides({b, 4}, {8, 1}, {s, 4}));
}

TEST(ReshapeStrides, RandomViewsKeepTheirElements) {
  std::mt19937 random(3);
  int views = 0;
  for (int round = 0; round < 2000; ++round) {
    // A tensor of small dimensions inside a larger one, cut anew.
    std::vector<int64_t> factors = {2, 3, 2, 2};
    auto cut = [&] {
      SmallVector<int64_t> shape = {1};
      for (int64_t factor : factors) {
        if (random() % 2)
          shape.push_back(1);
        shape.back() *= factor;
      }
      return shape;
    };
    SmallVector<int64_t> from = cut(), to = cut(), strides(from.size());
    int64_t stride = 1 + random() % 2;
    for (size_t i = from.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= from[i] + (random() % 3 == 0);
    }
    auto result = reshape(from, strides, to);
    if (!result)
      continue;
    ++views;
    EXPECT_EQ(addresses(from, strides), addresses(to, *result));
  }
  EXPECT_GT(views, 200);
}

} // namespace
