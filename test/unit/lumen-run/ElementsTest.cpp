// Elements of every type as numbers and back.
#include "tools/lumen-run/Elements.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace lumen::run;

namespace {

// What a type can hold comes back as it went in, wherever it lies in the tensor.
TEST(ElementsTest, RoundTrip) {
  struct Case {
    lumen_dtype dtype;
    std::vector<long double> values;
  };
  const Case cases[] = {
      {LUMEN_F32, {0.5, -1e30f, 3}},
      {LUMEN_F64, {0.1, -1e300, 3}},
      {LUMEN_F16, {0.5, -65504, 6.103515625e-05}},
      {LUMEN_BF16, {0.5, -3, 1.0078125}},
      {LUMEN_F8E4M3FN, {448, -0.5, 0.001953125}},
      {LUMEN_F8E5M2, {57344, -0.25, 1.75}},
      {LUMEN_F4E2M1, {6, -0.5, 1.5}},
      {LUMEN_F8E8M0, {1, 0.25, 65536}},
      {LUMEN_I8, {-128, 127, 5}},
      {LUMEN_U8, {255, 0, 5}},
      {LUMEN_I16, {-32768, 32767, 5}},
      {LUMEN_U16, {65535, 0, 5}},
      {LUMEN_I32, {-2147483648.0L, 2147483647.0L, 5}},
      {LUMEN_U32, {4294967295.0L, 0, 5}},
      {LUMEN_I64, {-9223372036854775807.0L - 1, 9007199254740993.0L, 5}},
      {LUMEN_U64, {18446744073709551615.0L, 0, 5}},
      {LUMEN_I4, {-8, 7, 5}},
      {LUMEN_U4, {15, 0, 5}},
      {LUMEN_I2, {-2, 1, -1}},
      {LUMEN_U2, {3, 0, 2}},
      {LUMEN_BOOL, {1, 0, 1}},
  };
  for (const Case &test : cases) {
    Tensor tensor(test.dtype, {static_cast<int64_t>(test.values.size())});
    for (size_t i = 0; i < test.values.size(); ++i)
      setElement(test.dtype, tensor.bytes.data(), i, test.values[i]);
    for (size_t i = 0; i < test.values.size(); ++i)
      EXPECT_EQ(getElement(test.dtype, tensor.bytes.data(), i), test.values[i])
          << dtypeName(test.dtype).str() << " at " << i;
  }
}

// ONNX packs the first element into the low bits.
TEST(ElementsTest, Packing) {
  Tensor tensor(LUMEN_U4, {3});
  ASSERT_EQ(tensor.bytes.size(), 2u);
  for (int i = 0; i < 3; ++i)
    setElement(LUMEN_U4, tensor.bytes.data(), i, i + 1);
  EXPECT_EQ(tensor.bytes[0], 0x21);
  EXPECT_EQ(tensor.bytes[1], 0x03);
}

TEST(ElementsTest, Convert) {
  Tensor single(LUMEN_F32, {2});
  setElement(LUMEN_F32, single.bytes.data(), 0, 1.00390625);
  setElement(LUMEN_F32, single.bytes.data(), 1, -2);
  Tensor narrow = convert(single, LUMEN_BF16);
  EXPECT_EQ(getElement(LUMEN_BF16, narrow.bytes.data(), 0), 1) << "a tie goes to the even one";
  EXPECT_EQ(getElement(LUMEN_BF16, narrow.bytes.data(), 1), -2);
}

} // namespace
