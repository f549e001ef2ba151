// The builtins shipped for LLVM's calls give what the compiler's own give.
#include "builtins.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

template <typename To, typename From> To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// Value of a 16-bit float, by its definition.
double valueOf(uint16_t bits, int mantissaBits, int exponentBits) {
  int bias = (1 << (exponentBits - 1)) - 1, mantissa = bits & ((1 << mantissaBits) - 1);
  int exponent = (bits >> mantissaBits) & ((1 << exponentBits) - 1);
  double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponentBits) - 1)
    return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - mantissaBits);
  return sign * std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits);
}

template <typename T> bool sameBitsOrNaN(T a, T b) {
  return (std::isnan(double(a)) && std::isnan(double(b))) || std::memcmp(&a, &b, sizeof(T)) == 0;
}

TEST(BuiltinsTest, ExtendHalf) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float expected = static_cast<float>(valueOf(static_cast<uint16_t>(bits), 10, 5));
    float actual = lumen_test__extendhfsf2(bitCast<_Float16>(static_cast<uint16_t>(bits)));
    ASSERT_TRUE(sameBitsOrNaN(expected, actual)) << bits;
  }
}

// Between each value and the next: a value itself, just below, at, and just
// above the tie, which goes to the even one.
template <typename Narrow> void checkRounding(Narrow narrow, int mantissaBits, int exponentBits) {
  uint16_t infinity = ((1 << exponentBits) - 1) << mantissaBits;
  for (uint16_t bits = 0; bits < infinity - 1; ++bits) {
    double low = valueOf(bits, mantissaBits, exponentBits);
    double high = valueOf(bits + 1, mantissaBits, exponentBits), tie = (low + high) / 2;
    ASSERT_EQ(narrow(low), bits);
    ASSERT_EQ(narrow(-low), bits | 0x8000);
    ASSERT_EQ(narrow(tie), bits + (bits & 1)) << low;
    ASSERT_EQ(narrow(std::nextafter(tie, 0)), bits) << low;
    ASSERT_EQ(narrow(std::nextafter(tie, INFINITY)), bits + 1) << low;
  }
  double largest = valueOf(infinity - 1, mantissaBits, exponentBits);
  double before = valueOf(infinity - 2, mantissaBits, exponentBits);
  double limit = largest + (largest - before) / 2;
  EXPECT_EQ(narrow(std::nextafter(limit, 0)), infinity - 1);
  EXPECT_EQ(narrow(limit), infinity);
  EXPECT_EQ(narrow(INFINITY), infinity);
  EXPECT_EQ(narrow(-INFINITY), infinity | 0x8000);
  EXPECT_GT(narrow(NAN) & 0x7fff, infinity);
  EXPECT_EQ(narrow(std::numeric_limits<double>::denorm_min()), 0);
}

TEST(BuiltinsTest, DoubleToHalf) {
  checkRounding([](double x) { return bitCast<uint16_t>(lumen_test__truncdfhf2(x)); }, 10, 5);
}

TEST(BuiltinsTest, DoubleToBfloat) {
  checkRounding([](double x) { return bitCast<uint16_t>(lumen_test__truncdfbf2(x)); }, 7, 8);
}

// From a float there is one right answer too: that of the exact double.
TEST(BuiltinsTest, FloatToHalfAndBfloat) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) {
    float x = bitCast<float>(static_cast<uint32_t>(random()));
    ASSERT_EQ(bitCast<uint16_t>(lumen_test__truncsfhf2(x)),
              bitCast<uint16_t>(lumen_test__truncdfhf2(x)))
        << x;
    ASSERT_EQ(bitCast<uint16_t>(lumen_test__truncsfbf2(x)),
              bitCast<uint16_t>(lumen_test__truncdfbf2(x)))
        << x;
  }
}

TEST(BuiltinsTest, Powi) {
  for (int exponent : {0, 1, 2, 3, 7, 31, -1, -2, -9, -2147483647 - 1, 2147483647})
    for (double base : {0.0, 1.0, -1.0, 1.5, -2.0, 1e3, 0.1}) {
      ASSERT_EQ(lumen_test__powidf2(base, exponent), __builtin_powi(base, exponent));
      ASSERT_EQ(lumen_test__powisf2(base, exponent), __builtin_powif(base, exponent));
    }
}

TEST(BuiltinsTest, Division) {
  std::mt19937_64 random(2);
  auto next = [&] {
    // All magnitudes, not only the largest.
    unsigned __int128 bits = static_cast<unsigned __int128>(random()) << 64 | random();
    return bits >> (random() % 128);
  };
  for (int i = 0; i < 200000; ++i) {
    unsigned __int128 a = next(), b = next();
    if (b == 0)
      b = 1;
    ASSERT_TRUE(lumen_test__udivti3(a, b) == a / b);
    ASSERT_TRUE(lumen_test__umodti3(a, b) == a % b);
    __int128 sa = random() & 1 ? -static_cast<__int128>(a >> 1) : static_cast<__int128>(a >> 1);
    __int128 sb =
        random() & 1 ? -static_cast<__int128>((b >> 1) | 1) : static_cast<__int128>((b >> 1) | 1);
    ASSERT_TRUE(lumen_test__divti3(sa, sb) == sa / sb);
    ASSERT_TRUE(lumen_test__modti3(sa, sb) == sa % sb);
  }
}

} // namespace
