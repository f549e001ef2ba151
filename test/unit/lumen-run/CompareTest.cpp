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

Value strings(std::vector<int64_t> shape, std::vector<std::string> texts) {
  Value value;
  value.kind = LUMEN_STRINGS;
  value.dtype = LUMEN_STRING;
  value.shape = std::move(shape);
  value.strings = std::move(texts);
  return value;
}

Value container(uint32_t kind, std::vector<Value> items) {
  Value value;
  value.kind = kind;
  value.items = std::move(items);
  return value;
}

// Strings are equal or wrong.
TEST(CompareTest, Strings) {
  Value actual = strings({2, 2}, {"a", "b", "c", "d"});
  EXPECT_TRUE(compareValues(actual, actual, 0, 0).matches());
  EXPECT_EQ(compareValues(actual, strings({2, 2}, {"a", "b", "x\n", "y"}), 0, 0).mismatch,
            "2 of 4 strings are wrong, first at [1,0]: \"c\", expected \"x\\n\"");
  EXPECT_EQ(compareValues(actual, strings({4}, {"a", "b", "c", "d"}), 0, 0).mismatch,
            "is string[2x2], expected string[4]");
}

// Of a sequence the first item that is wrong, else the one that is furthest off.
TEST(CompareTest, Containers) {
  auto list = [](float a, float b, float c) {
    return container(LUMEN_SEQUENCE, {floats({1}, {a}), floats({1}, {b}), floats({1}, {c})});
  };
  Comparison close = compareValues(list(1, 2, 3), list(1, 2.25, 3.125), 0, 0.5);
  EXPECT_TRUE(close.matches());
  EXPECT_EQ(close.item, "item 1");
  EXPECT_EQ(close.maxAbsError, 0.25);
  Comparison wrong = compareValues(list(1, 2, 9), list(1, 4, 3), 0, 0.5);
  EXPECT_FALSE(wrong.matches());
  EXPECT_EQ(wrong.item, "item 1");
  EXPECT_EQ(compareValues(list(1, 2, 3), container(LUMEN_SEQUENCE, {}), 0, 0).mismatch,
            "is sequence of 3, expected sequence of 0");
  Value something = container(LUMEN_OPTIONAL, {floats({1}, {2})}),
        nothing = container(LUMEN_OPTIONAL, {});
  EXPECT_TRUE(compareValues(something, something, 0, 0).matches());
  EXPECT_EQ(compareValues(something, nothing, 0, 0).mismatch,
            "is optional f32[1], expected optional without a value");
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
