// When an output is as expected.
#include "tools/lumen-run/Compare.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace lumen::run;

namespace {

Tensor floats(std::vector<int64_t> shape, std::vector<float> values) {
  Tensor tensor(LUMEN_F32, shape);
  for (size_t i = 0; i < values.size(); ++i)
    setElement(LUMEN_F32, tensor.bytes.data(), i, values[i]);
  return tensor;
}

// The worst element is the one furthest beyond its own tolerance, not the one
// with the largest error.
TEST(CompareTest, Worst) {
  Comparison result = compare(floats({2, 2}, {1, 1000.5, 2, 3}), floats({2, 2}, {1, 1000, 2, 3.25}),
                              /*rtol=*/1e-3, /*atol=*/0);
  EXPECT_FALSE(result.matches());
  EXPECT_EQ(result.numWrong, 1);
  EXPECT_EQ(result.numElements, 4);
  EXPECT_EQ(result.worstIndex, std::vector<int64_t>({1, 1}));
  EXPECT_EQ(result.worstActual, 3);
  EXPECT_EQ(result.worstExpected, 3.25);
  EXPECT_EQ(result.maxAbsError, 0.5);
}

TEST(CompareTest, Tolerances) {
  Tensor a = floats({1}, {10.01f}), b = floats({1}, {10});
  EXPECT_FALSE(compare(a, b, 0, 0.005).matches());
  EXPECT_TRUE(compare(a, b, 0, 0.02).matches());
  EXPECT_FALSE(compare(a, b, 0.0005, 0).matches());
  EXPECT_TRUE(compare(a, b, 0.002, 0).matches());
}

TEST(CompareTest, NotFinite) {
  Tensor a = floats({3}, {NAN, INFINITY, -INFINITY});
  EXPECT_TRUE(compare(a, a, 0, 0).matches());
  EXPECT_EQ(compare(a, floats({3}, {1, INFINITY, INFINITY}), 1, 1e9).numWrong, 2);
  EXPECT_EQ(compare(floats({3}, {1, 2, 3}), a, 1, 1e9).numWrong, 3);
}

// No tolerance that is no number makes a wrong element right.
TEST(CompareTest, NaNTolerance) {
  Tensor a = floats({3}, {1, 2, NAN}), b = floats({3}, {1, 3, NAN});
  EXPECT_EQ(compare(a, b, NAN, 0).numWrong, 1);
  EXPECT_EQ(compare(a, b, 0, NAN).numWrong, 1);
}

TEST(CompareTest, ShapeAndType) {
  EXPECT_EQ(compare(floats({2, 1}, {1, 2}), floats({1, 2}, {1, 2}), 1, 1).mismatch,
            "shape is [2x1], expected [1x2]");
  EXPECT_EQ(compare(floats({1}, {1}), Tensor(LUMEN_I64, {1}), 1, 1).mismatch,
            "type is f32, expected i64");
}

// 64-bit integers are compared in full.
TEST(CompareTest, LargeIntegers) {
  Tensor a(LUMEN_I64, {1}), b(LUMEN_I64, {1});
  setElement(LUMEN_I64, a.bytes.data(), 0, 9007199254740993.0L);
  setElement(LUMEN_I64, b.bytes.data(), 0, 9007199254740992.0L);
  EXPECT_EQ(compare(a, b, 0, 0).numWrong, 1);
}

TEST(CompareTest, Empty) {
  EXPECT_TRUE(compare(Tensor(LUMEN_F32, {0, 3}), Tensor(LUMEN_F32, {0, 3}), 0, 0).matches());
}

} // namespace
