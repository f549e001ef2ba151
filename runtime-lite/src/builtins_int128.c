/* builtins_int128.c - division of 128-bit integers. */
#include "builtins.h"

typedef unsigned __int128 u128;

LUMEN_BUILTIN_FUNCTION u128 LUMEN_BUILTIN(__udivmodti4)(u128 a, u128 b, u128 *rest) {
  uint64_t a_high = (uint64_t)(a >> 64), b_high = (uint64_t)(b >> 64);
  if (!a_high && !b_high) {
    if (rest)
      *rest = (uint64_t)a % (uint64_t)b;
    return (uint64_t)a / (uint64_t)b;
  }
  u128 quotient = 0;
  if (a >= b) {
    /* Long division, from the first shift that can bring a one. */
    int a_zeros = a_high ? __builtin_clzll(a_high) : 64 + __builtin_clzll((uint64_t)a);
    int b_zeros = b_high ? __builtin_clzll(b_high) : 64 + __builtin_clzll((uint64_t)b | 1);
    for (int shift = b_zeros - a_zeros; shift >= 0; --shift) {
      u128 shifted = b << shift;
      quotient <<= 1;
      if (a >= shifted) {
        a -= shifted;
        quotient |= 1;
      }
    }
  }
  if (rest)
    *rest = a;
  return quotient;
}

LUMEN_BUILTIN_FUNCTION u128 LUMEN_BUILTIN(__udivti3)(u128 a, u128 b) {
  return LUMEN_BUILTIN(__udivmodti4)(a, b, 0);
}

LUMEN_BUILTIN_FUNCTION u128 LUMEN_BUILTIN(__umodti3)(u128 a, u128 b) {
  u128 rest;
  LUMEN_BUILTIN(__udivmodti4)(a, b, &rest);
  return rest;
}

static u128 magnitude(__int128 value) { return value < 0 ? -(u128)value : (u128)value; }

LUMEN_BUILTIN_FUNCTION __int128 LUMEN_BUILTIN(__divti3)(__int128 a, __int128 b) {
  u128 quotient = LUMEN_BUILTIN(__udivmodti4)(magnitude(a), magnitude(b), 0);
  return (__int128)((a < 0) != (b < 0) ? -quotient : quotient);
}

LUMEN_BUILTIN_FUNCTION __int128 LUMEN_BUILTIN(__modti3)(__int128 a, __int128 b) {
  u128 rest;
  LUMEN_BUILTIN(__udivmodti4)(magnitude(a), magnitude(b), &rest);
  return (__int128)(a < 0 ? -rest : rest);
}
