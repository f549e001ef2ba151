/* builtins_float.c - conversions from and to 16-bit floats, on bits alone: no
 * conversion below may need a builtin again. */
#include "builtins.h"

#include <string.h>

typedef struct format {
  unsigned mantissa, exponent; /* bits */
} format;

static const format half_format = {10, 5}, bfloat_format = {7, 8};
static const format single_format = {23, 8}, double_format = {52, 11};

/* Rounds to the nearest value of a narrower format, ties to even. */
static uint16_t narrow(uint64_t bits, format from, format to) {
  const uint64_t one = 1;
  uint64_t mantissa = bits & ((one << from.mantissa) - 1);
  int32_t max_exponent = (1 << from.exponent) - 1, max_result = (1 << to.exponent) - 1;
  int32_t exponent = (int32_t)(bits >> from.mantissa) & max_exponent;
  uint16_t sign =
      (uint16_t)((bits >> (from.mantissa + from.exponent)) << (to.mantissa + to.exponent));
  uint16_t infinity = (uint16_t)(max_result << to.mantissa);
  unsigned shift = from.mantissa - to.mantissa;

  if (exponent == max_exponent) {
    uint16_t quiet = (uint16_t)(1u << (to.mantissa - 1));
    return sign | infinity | (mantissa ? quiet | (uint16_t)(mantissa >> shift) : 0);
  }
  if (exponent)
    mantissa |= one << from.mantissa;
  else
    exponent = 1;
  exponent += (max_result >> 1) - (max_exponent >> 1);
  if (exponent >= max_result)
    return sign | infinity;
  /* Below the least normal number the result has fewer bits. */
  if (exponent < 1) {
    shift += (unsigned)(1 - exponent);
    exponent = 1;
    if (shift > from.mantissa + 1)
      return sign;
  }
  uint64_t result = mantissa >> shift, rest = mantissa & ((one << shift) - 1);
  uint64_t tie = one << (shift - 1);
  result += rest > tie || (rest == tie && (result & 1));
  /* A carry out of the mantissa moves the exponent up, to infinity at last. */
  return sign | (uint16_t)(result + ((uint64_t)(exponent - 1) << to.mantissa));
}

LUMEN_BUILTIN_FUNCTION _Float16 LUMEN_BUILTIN(__truncsfhf2)(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint16_t narrowed = narrow(bits, single_format, half_format);
  _Float16 result;
  memcpy(&result, &narrowed, sizeof(result));
  return result;
}

LUMEN_BUILTIN_FUNCTION _Float16 LUMEN_BUILTIN(__truncdfhf2)(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint16_t narrowed = narrow(bits, double_format, half_format);
  _Float16 result;
  memcpy(&result, &narrowed, sizeof(result));
  return result;
}

LUMEN_BUILTIN_FUNCTION __bf16 LUMEN_BUILTIN(__truncsfbf2)(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint16_t narrowed = narrow(bits, single_format, bfloat_format);
  __bf16 result;
  memcpy(&result, &narrowed, sizeof(result));
  return result;
}

LUMEN_BUILTIN_FUNCTION __bf16 LUMEN_BUILTIN(__truncdfbf2)(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint16_t narrowed = narrow(bits, double_format, bfloat_format);
  __bf16 result;
  memcpy(&result, &narrowed, sizeof(result));
  return result;
}

LUMEN_BUILTIN_FUNCTION float LUMEN_BUILTIN(__extendhfsf2)(_Float16 value) {
  uint16_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint32_t sign = (uint32_t)(bits >> 15) << 31, exponent = (bits >> 10) & 31;
  uint32_t mantissa = bits & 0x3ff;
  uint32_t wide;
  if (exponent == 31) {
    wide = 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0);
  } else if (exponent) {
    wide = (exponent + 112) << 23 | mantissa << 13;
  } else {
    /* mantissa * 2^-24 is a normal float, and exact. */
    float magnitude = (float)(int32_t)mantissa * 0x1p-24f;
    memcpy(&wide, &magnitude, sizeof(wide));
  }
  wide |= sign;
  float result;
  memcpy(&result, &wide, sizeof(result));
  return result;
}
