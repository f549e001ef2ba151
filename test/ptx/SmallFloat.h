//===- SmallFloat.h - floating-point formats of PTX --------------*- C++ -*-===//
//
// Every format that is not the host's own is computed through double. Sums are rounded to
// odd there, so that rounding them again to the format gives what one rounding would.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_PTX_SMALLFLOAT_H
#define LUMEN_TEST_PTX_SMALLFLOAT_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace lumen::ptx {

/// PTX ISA, "Rounding Modifiers".
enum class Rounding : uint8_t { NearestEven, NearestAway, Zero, Down, Up };

template <typename To, typename From> To bitsTo(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

inline double roundToIntegral(double x, Rounding rounding) {
  switch (rounding) {
  case Rounding::NearestEven:
    return std::nearbyint(x);
  case Rounding::NearestAway:
    return std::round(x);
  case Rounding::Zero:
    return std::trunc(x);
  case Rounding::Down:
    return std::floor(x);
  case Rounding::Up:
    return std::ceil(x);
  }
  return x;
}

/// The IEEE format of these widths. NaN is the one that the hardware gives. `saturate`: the
/// largest number in place of infinity.
template <unsigned ExponentBits, unsigned MantissaBits>
uint32_t encodeFloat(double x, Rounding rounding, bool saturate = false) {
  constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  constexpr uint32_t infinity = ((1u << ExponentBits) - 1) << MantissaBits;
  constexpr uint32_t signBit = 1u << (ExponentBits + MantissaBits);
  if (x != x)
    return infinity | ((1u << MantissaBits) - 1);
  uint32_t sign = std::signbit(x) ? signBit : 0;
  double magnitude = std::fabs(x);
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return sign | (saturate ? infinity - 1 : infinity);
  int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  double scaled = std::ldexp(x, static_cast<int>(MantissaBits) - exponent);
  auto mantissa = static_cast<uint32_t>(std::fabs(roundToIntegral(scaled, rounding)));
  // A mantissa without its leading bit is subnormal; one that grew a bit carries.
  int64_t bits = (static_cast<int64_t>(exponent + bias - 1) << MantissaBits) + mantissa;
  if (bits < infinity)
    return sign | static_cast<uint32_t>(bits);
  bool staysFinite = saturate || rounding == Rounding::Zero ||
                     (rounding == Rounding::Down && !sign) || (rounding == Rounding::Up && sign);
  return sign | (staysFinite ? infinity - 1 : infinity);
}

template <unsigned ExponentBits, unsigned MantissaBits> double decodeFloat(uint32_t bits) {
  constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  constexpr uint32_t largest = (1u << ExponentBits) - 1;
  uint32_t exponent = bits >> MantissaBits & largest;
  double mantissa = bits & ((1u << MantissaBits) - 1);
  double magnitude;
  if (exponent == largest)
    magnitude = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                              : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, 1 - bias - static_cast<int>(MantissaBits));
  else
    magnitude = std::ldexp(mantissa + (1u << MantissaBits),
                           static_cast<int>(exponent) - bias - static_cast<int>(MantissaBits));
  return bits >> (ExponentBits + MantissaBits) & 1 ? -magnitude : magnitude;
}

struct Half {
  uint16_t bits;
};

struct BFloat {
  uint16_t bits;
};

inline double widen(Half x) { return decodeFloat<5, 10>(x.bits); }
inline double widen(BFloat x) { return bitsTo<float>(static_cast<uint32_t>(x.bits) << 16); }
inline double widen(float x) { return x; }
inline double widen(double x) { return x; }

template <typename T> T narrow(double x, Rounding rounding = Rounding::NearestEven);
template <> inline Half narrow(double x, Rounding rounding) {
  return {static_cast<uint16_t>(encodeFloat<5, 10>(x, rounding))};
}
template <> inline BFloat narrow(double x, Rounding rounding) {
  return {static_cast<uint16_t>(encodeFloat<8, 7>(x, rounding))};
}
template <> inline float narrow(double x, Rounding rounding) {
  if (rounding != Rounding::NearestEven)
    return bitsTo<float>(encodeFloat<8, 23>(x, rounding));
  return x == x ? static_cast<float>(x) : bitsTo<float>(0x7FFFFFFFu);
}
template <> inline double narrow(double x, Rounding) { return x; }

/// tf32, a float whose last 13 bits are zero.
inline float roundToTf32(double x, Rounding rounding) {
  return bitsTo<float>(encodeFloat<8, 10>(x, rounding) << 13);
}

/// `x` moved by a bit toward `error`, what it lacks, unless its last bit is set already.
inline double roundToOdd(double x, double error) {
  if (error == 0 || !std::isfinite(x) || (bitsTo<uint64_t>(x) & 1))
    return x;
  return std::nextafter(x, error > 0 ? std::numeric_limits<double>::infinity()
                                     : -std::numeric_limits<double>::infinity());
}

/// a + b rounded to odd.
inline double addToOdd(double a, double b) {
  double sum = a + b, part = sum - a;
  return roundToOdd(sum, (a - (sum - part)) + (b - part));
}

/// a * b rounded to odd.
inline double multiplyToOdd(double a, double b) {
  double product = a * b;
  return roundToOdd(product, std::isfinite(product) ? std::fma(a, b, -product) : 0);
}

inline double toOdd(int64_t x) {
  auto near = static_cast<double>(x);
  // Past the largest integer the conversion back is undefined, and all of its bits are known.
  if (near >= 0x1p63)
    return roundToOdd(near, static_cast<double>(x - INT64_MAX - 1));
  return roundToOdd(near, static_cast<double>(x - static_cast<int64_t>(near)));
}

inline double toOdd(uint64_t x) {
  auto near = static_cast<double>(x);
  if (near >= 0x1p64)
    return roundToOdd(near, -1);
  auto back = static_cast<uint64_t>(near);
  return roundToOdd(near,
                    x >= back ? static_cast<double>(x - back) : -static_cast<double>(back - x));
}

} // namespace lumen::ptx

#endif // LUMEN_TEST_PTX_SMALLFLOAT_H
