/* builtins_powi.c - floats to an integer power. */
#include "builtins.h"

/* Squares and multiplies; a negative power is the reciprocal at the end, as in
 * compiler-rt, so that results do not depend on where code was linked. */
#define DEFINE_POWI(name, type)                                                                    \
  LUMEN_BUILTIN_FUNCTION type LUMEN_BUILTIN(name)(type base, int32_t exponent) {                   \
    uint32_t left = exponent < 0 ? -(uint32_t)exponent : (uint32_t)exponent;                       \
    type result = 1;                                                                               \
    for (;;) {                                                                                     \
      if (left & 1)                                                                                \
        result *= base;                                                                            \
      left >>= 1;                                                                                  \
      if (!left)                                                                                   \
        return exponent < 0 ? 1 / result : result;                                                 \
      base *= base;                                                                                \
    }                                                                                              \
  }

DEFINE_POWI(__powisf2, float)
DEFINE_POWI(__powidf2, double)
