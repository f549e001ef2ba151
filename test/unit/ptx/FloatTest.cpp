//===- FloatTest.cpp - floating-point arithmetic of the machine -----------===//

#include "PtxKernel.h"

#include <cfenv>

using namespace lumen::ptx;

namespace {

struct F16 {
  uint16_t bits;
  static constexpr int kExponent = 5, kMantissa = 10;
};
struct BF16 {
  uint16_t bits;
  static constexpr int kExponent = 8, kMantissa = 7;
};

template <typename T> double number(T x) {
  int exponent = x.bits >> T::kMantissa & ((1 << T::kExponent) - 1);
  int mantissa = x.bits & ((1 << T::kMantissa) - 1), bias = (1 << (T::kExponent - 1)) - 1;
  double magnitude =
      exponent == 2 * bias + 1 ? (mantissa ? NAN : INFINITY)
      : exponent ? std::ldexp(mantissa + (1 << T::kMantissa), exponent - bias - T::kMantissa)
                 : std::ldexp(mantissa, 1 - bias - T::kMantissa);
  return x.bits & 0x8000 ? -magnitude : magnitude;
}

/// By search: the nearest of all, the even one of two. __float128 holds every sum here.
template <typename T> T nearest(__float128 x) {
  if (x != x)
    return {((1 << (T::kExponent + T::kMantissa)) - 1)};
  bool isNegative = x < 0 || (x == 0 && std::signbit(double(x)));
  __float128 magnitude = isNegative ? -x : x;
  uint16_t infinity = ((1 << T::kExponent) - 1) << T::kMantissa, low = 0, high = infinity;
  while (high - low > 1) {
    uint16_t middle = (low + high) / 2;
    (number(T{middle}) <= magnitude ? low : high) = middle;
  }
  // Infinity is as far off as the next number would be.
  __float128 above = high == infinity
                         ? 2 * __float128(number(T{low})) - number(T{uint16_t(low - 1)})
                         : __float128(number(T{high}));
  __float128 toLow = magnitude - number(T{low}), toHigh = above - magnitude;
  uint16_t bits = toLow < toHigh || (toLow == toHigh && !(low & 1)) ? low : high;
  return {uint16_t(bits | (isNegative ? 0x8000 : 0))};
}

/// NaN is any NaN.
template <typename T> void checkSmall(const std::string &type) {
  auto compare = [](const std::string &instruction, auto expected) {
    std::vector<Row> rows = someRows();
    std::vector<uint64_t> results = compute(instruction, "hhhh", rows);
    ASSERT_EQ(results.size(), rows.size());
    int wrong = 0;
    for (size_t i = 0; i < rows.size() && wrong < 5; ++i) {
      double a = number(bitsAs<T>(rows[i][0])), b = number(bitsAs<T>(rows[i][1])),
             c = number(bitsAs<T>(rows[i][2]));
      T want = nearest<T>(expected(a, b, c)), got = bitsAs<T>(results[i]);
      if (want.bits != got.bits && !(std::isnan(number(want)) && std::isnan(number(got))) &&
          ++wrong)
        ADD_FAILURE() << instruction << " of " << a << ", " << b << ", " << c << ": got "
                      << number(got) << ", expected " << number(want);
    }
  };
  using Wide = __float128;
  compare("add.rn." + type + " %o, %a, %b", [](Wide a, Wide b, Wide) { return a + b; });
  compare("sub." + type + " %o, %a, %b", [](Wide a, Wide b, Wide) { return a - b; });
  compare("mul.rn." + type + " %o, %a, %b", [](Wide a, Wide b, Wide) { return a * b; });
  compare("fma.rn." + type + " %o, %a, %b, %c", [](Wide a, Wide b, Wide c) { return a * b + c; });
  compare("fma.rn.relu." + type + " %o, %a, %b, %c",
          [](Wide a, Wide b, Wide c) { return a * b + c < 0 ? 0 : a * b + c; });
  compare("min." + type + " %o, %a, %b", [](double a, double b, Wide) {
    return Wide(a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b));
  });
  compare("max.NaN." + type + " %o, %a, %b", [](double a, double b, Wide) {
    return Wide(a != a || b != b ? NAN : a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b));
  });
  check<bool, T, T>("setp.leu." + type + " %o, %a, %b",
                    [](T a, T b) { return !(number(a) > number(b)); });
}

TEST(PtxFloat, Halves) { checkSmall<F16>("f16"); }
TEST(PtxFloat, BFloats) { checkSmall<BF16>("bf16"); }

// Both numbers of a pair are computed as one alone.
TEST(PtxFloat, Pairs) {
  std::vector<Row> rows = someRows(), swapped = rows;
  for (Row &row : swapped)
    for (uint64_t &bits : row)
      bits = bits >> 16 & 0xFFFF;
  auto both = compute("fma.rn.f16x2 %o, %a, %b, %c", "wwww", rows);
  auto low = compute("fma.rn.f16 %o, %a, %b, %c", "hhhh", rows);
  auto high = compute("fma.rn.f16 %o, %a, %b, %c", "hhhh", swapped);
  for (size_t i = 0; i < rows.size(); ++i)
    ASSERT_EQ(both.at(i), low.at(i) | high.at(i) << 16);
}

TEST(PtxFloat, Singles) {
  using F = float;
  check<F, F, F>("add.rn.f32 %o, %a, %b", [](F a, F b) { return a + b; });
  check<F, F, F>("sub.f32 %o, %a, %b", [](F a, F b) { return a - b; });
  check<F, F, F>("mul.f32 %o, %a, %b", [](F a, F b) { return a * b; });
  check<F, F, F, F>("fma.rn.f32 %o, %a, %b, %c", [](F a, F b, F c) { return std::fma(a, b, c); });
  check<F, F, F>("div.rn.f32 %o, %a, %b", [](F a, F b) { return a / b; });
  check<F, F>("sqrt.rn.f32 %o, %a", [](F a) { return std::sqrt(a); });
  check<F, F>("rcp.rn.f32 %o, %a", [](F a) { return 1 / a; });
  check<F, F>("neg.f32 %o, %a", [](F a) { return -a; });
  check<F, F>("abs.f32 %o, %a", [](F a) { return std::fabs(a); });
  check<F, F, F>("copysign.f32 %o, %a, %b", [](F a, F b) { return std::copysign(b, a); });
  check<F, F, F>("add.sat.f32 %o, %a, %b", [](F a, F b) {
    F sum = a + b;
    return sum > 1 ? 1 : sum > 0 ? sum : 0;
  });
  check<F, F>("ex2.approx.f32 %o, %a", [](F a) { return F(std::exp2(double(a))); });
}

// Results that flushing changes are those of flushed operands.
TEST(PtxFloat, Flushing) {
  auto flushed = [](float x) {
    return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.f, x) : x;
  };
  check<float, float, float>("mul.ftz.f32 %o, %a, %b",
                             [&](float a, float b) { return flushed(flushed(a) * flushed(b)); });
  check<bool, float, float>("setp.eq.ftz.f32 %o, %a, %b",
                            [&](float a, float b) { return flushed(a) == flushed(b); });
}

TEST(PtxFloat, Doubles) {
  using D = double;
  check<D, D, D>("add.rn.f64 %o, %a, %b", [](D a, D b) { return a + b; });
  check<D, D, D>("mul.f64 %o, %a, %b", [](D a, D b) { return a * b; });
  check<D, D, D, D>("fma.rn.f64 %o, %a, %b, %c", [](D a, D b, D c) { return std::fma(a, b, c); });
  check<D, D, D>("div.rn.f64 %o, %a, %b", [](D a, D b) { return a / b; });
  check<D, D>("sqrt.rn.f64 %o, %a", [](D a) { return std::sqrt(a); });
  check<bool, D, D>("setp.neu.f64 %o, %a, %b", [](D a, D b) { return !(a == b); });
}

// The host rounds the same way when told to.
TEST(PtxFloat, OtherRoundings) {
  struct {
    const char *name;
    int mode;
  } roundings[] = {{"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  for (auto [name, mode] : roundings) {
    auto rounded = [mode = mode](auto function) {
      return [=](float a, float b) {
        std::fesetround(mode);
        volatile float x = a, y = b, result = function(x, y);
        std::fesetround(FE_TONEAREST);
        return float(result);
      };
    };
    std::string ending = std::string(".") + name + ".f32 %o, %a, %b";
    check<float, float, float>("add" + ending, rounded([](float a, float b) { return a + b; }));
    check<float, float, float>("mul" + ending, rounded([](float a, float b) { return a * b; }));
    check<float, float, float>("div" + ending, rounded([](float a, float b) { return a / b; }));
  }
}

TEST(PtxFloat, Comparisons) {
  using F = float;
  check<bool, F, F>("setp.eq.f32 %o, %a, %b", [](F a, F b) { return a == b; });
  check<bool, F, F>("setp.ne.f32 %o, %a, %b", [](F a, F b) { return a < b || a > b; });
  check<bool, F, F>("setp.gt.f32 %o, %a, %b", [](F a, F b) { return a > b; });
  check<bool, F, F>("setp.geu.f32 %o, %a, %b", [](F a, F b) { return !(a < b); });
  check<bool, F, F>("setp.num.f32 %o, %a, %b", [](F a, F b) { return a == a && b == b; });
  check<bool, F, F>("setp.nan.f32 %o, %a, %b", [](F a, F b) { return a != a || b != b; });
  check<bool, F>("testp.subnormal.f32 %o, %a",
                 [](F a) { return std::fpclassify(a) == FP_SUBNORMAL; });
  check<F, F, F>("min.f32 %o, %a, %b",
                 [](F a, F b) { return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b); });
  check<F, F, F>("max.NaN.f32 %o, %a, %b", [](F a, F b) {
    return a != a || b != b ? F(NAN) : a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
  });
}

} // namespace
