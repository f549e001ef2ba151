//===- ConversionTest.cpp - conversions of the machine --------------------===//

#include "PtxKernel.h"

using namespace lumen::ptx;

namespace {

TEST(PtxConversion, IntegersOfOtherSizes) {
  check<uint64_t, uint32_t>("cvt.u64.u32 %o, %a", [](uint32_t a) { return uint64_t(a); });
  check<int64_t, int32_t>("cvt.s64.s32 %o, %a", [](int32_t a) { return int64_t(a); });
  check<uint32_t, uint64_t>("cvt.u32.u64 %o, %a", [](uint64_t a) { return uint32_t(a); });
  // Registers are wider than the types: the results are extended.
  check<int32_t, uint32_t>("cvt.s32.s8 %o, %a", [](uint32_t a) { return int32_t(int8_t(a)); });
  check<int16_t, uint32_t>("cvt.s8.s32 %o, %a", [](uint32_t a) { return int16_t(int8_t(a)); });
  check<uint32_t, int32_t>("cvt.sat.u8.s32 %o, %a", [](int32_t a) {
    return uint32_t(a < 0 ? 0 : a > 255 ? 255 : a);
  });
  check<int32_t, uint64_t>("cvt.sat.s32.u64 %o, %a",
                           [](uint64_t a) { return a > INT32_MAX ? INT32_MAX : int32_t(a); });
}

TEST(PtxConversion, IntegersToFloats) {
  check<float, int32_t>("cvt.rn.f32.s32 %o, %a", [](int32_t a) { return float(a); });
  check<float, uint64_t>("cvt.rn.f32.u64 %o, %a", [](uint64_t a) { return float(a); });
  check<float, int64_t>("cvt.rn.f32.s64 %o, %a", [](int64_t a) { return float(a); });
  check<double, int64_t>("cvt.rn.f64.s64 %o, %a", [](int64_t a) { return double(a); });
  check<float, int32_t>("cvt.rz.f32.s32 %o, %a", [](int32_t a) {
    float near = float(a);
    return std::fabs(double(near)) > std::fabs(double(a)) ? std::nextafter(near, 0.f) : near;
  });
}

template <typename T, typename F> T clamped(F x, bool isWide) {
  if (x != x)
    return isWide ? T(1ull << (8 * sizeof(T) - 1)) : T(0);
  if (x >= std::ldexp(F(1), 8 * sizeof(T) - std::is_signed_v<T>))
    return std::numeric_limits<T>::max();
  return x <= F(std::numeric_limits<T>::min()) ? std::numeric_limits<T>::min() : T(x);
}

TEST(PtxConversion, FloatsToIntegers) {
  check<int32_t, float>("cvt.rzi.s32.f32 %o, %a",
                        [](float a) { return clamped<int32_t>(std::trunc(a), false); });
  check<int32_t, float>("cvt.rni.s32.f32 %o, %a",
                        [](float a) { return clamped<int32_t>(std::nearbyint(a), false); });
  check<uint32_t, float>("cvt.rmi.u32.f32 %o, %a",
                         [](float a) { return clamped<uint32_t>(std::floor(a), false); });
  check<int16_t, float>("cvt.rpi.s16.f32 %o, %a",
                        [](float a) { return clamped<int16_t>(std::ceil(a), false); });
  check<int64_t, float>("cvt.rzi.s64.f32 %o, %a",
                        [](float a) { return clamped<int64_t>(std::trunc(a), true); });
  check<uint64_t, double>("cvt.rzi.u64.f64 %o, %a",
                          [](double a) { return clamped<uint64_t>(std::trunc(a), true); });
  check<int32_t, double>("cvt.rzi.s32.f64 %o, %a", [](double a) {
    return std::isnan(a) ? INT32_MIN : clamped<int32_t>(std::trunc(a), false);
  });
}

TEST(PtxConversion, FloatsToIntegralFloats) {
  check<float, float>("cvt.rmi.f32.f32 %o, %a", [](float a) { return std::floor(a); });
  check<float, float>("cvt.rni.f32.f32 %o, %a", [](float a) { return std::nearbyint(a); });
  check<double, double>("cvt.rpi.f64.f64 %o, %a", [](double a) { return std::ceil(a); });
  check<float, float>("cvt.sat.f32.f32 %o, %a", [](float a) { return a > 1 ? 1 : a > 0 ? a : 0; });
}

TEST(PtxConversion, FloatsOfOtherSizes) {
  check<double, float>("cvt.f64.f32 %o, %a", [](float a) { return double(a); });
  check<float, double>("cvt.rn.f32.f64 %o, %a", [](double a) { return float(a); });
  check<float, double>("cvt.rz.f32.f64 %o, %a", [](double a) {
    float near = float(a);
    return std::fabs(near) > std::fabs(a) ? std::nextafter(near, 0.f) : near;
  });
}

// All numbers of 16 bits go there and back.
TEST(PtxConversion, SmallFloats) {
  std::vector<Row> all(65536);
  for (uint32_t i = 0; i < all.size(); ++i)
    all[i] = {i, 0, 0};
  for (std::string type : {"f16", "bf16"}) {
    auto results =
        compute("cvt.f32." + type + " %r5, %a;\ncvt.rn." + type + ".f32 %o, %r5", "hh", all);
    uint32_t infinity = type == "f16" ? 0x7C00 : 0x7F80;
    for (uint32_t i = 0; i < all.size(); ++i)
      ASSERT_TRUE(results.at(i) == i || ((i & 0x7FFF) > infinity && results[i] == 0x7FFF)) << i;
  }
  // Between two: to the even one; above the largest: infinity, or the largest.
  auto one = [](const std::string &instruction, float x) {
    return compute(instruction, "hw", std::vector<Row>(32, {bitsAs<uint32_t>(x), 0, 0})).at(0);
  };
  EXPECT_EQ(one("cvt.rn.f16.f32 %o, %a", 1.00048828125f), 0x3C00u);
  EXPECT_EQ(one("cvt.rn.f16.f32 %o, %a", 1.00146484375f), 0x3C02u);
  EXPECT_EQ(one("cvt.rz.f16.f32 %o, %a", 1.0009f), 0x3C00u);
  EXPECT_EQ(one("cvt.rn.f16.f32 %o, %a", 65520.f), 0x7C00u);
  EXPECT_EQ(one("cvt.rz.f16.f32 %o, %a", 70000.f), 0x7BFFu);
  EXPECT_EQ(one("cvt.rn.bf16.f32 %o, %a", 1.00390625f), 0x3F80u);
  EXPECT_EQ(one("cvt.rn.bf16.f32 %o, %a", 1.01171875f), 0x3F82u);
}

// The first source is the upper half.
TEST(PtxConversion, Pairs) {
  check<uint32_t, float, float>(
      "cvt.rn.f16x2.f32 %o, %a, %b", [](float, float) { return 0x40003C00u; },
      std::vector<Row>(32, {0x40000000, 0x3F800000, 0}));
}

// tf32 has ten bits of mantissa, ties go away from zero.
TEST(PtxConversion, Tf32) {
  check<uint32_t, float>(
      "cvt.rna.tf32.f32 %o, %a", [](float) { return 0x3F802000u; },
      std::vector<Row>(32, {0x3F801000, 0, 0}));
}

} // namespace
