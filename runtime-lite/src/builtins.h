/* builtins.h - functions that LLVM calls for what the target has no instruction
 * for. Their names and types are those of compiler-rt and libgcc.
 *
 * Hidden, so that an artifact never takes another one's; weak, so that a program
 * which brings its own wins in a static link. Tests rename them to compare with
 * the compiler's. */
#ifndef LUMEN_BUILTINS_H
#define LUMEN_BUILTINS_H

#include <stdint.h>

#ifdef LUMEN_TEST_BUILTINS
#define LUMEN_BUILTIN(name) lumen_test##name
#else
#define LUMEN_BUILTIN(name) name
#endif
#define LUMEN_BUILTIN_FUNCTION __attribute__((weak, visibility("hidden")))

#ifdef __cplusplus
extern "C" {
#endif

float LUMEN_BUILTIN(__extendhfsf2)(_Float16 value);
_Float16 LUMEN_BUILTIN(__truncsfhf2)(float value);
_Float16 LUMEN_BUILTIN(__truncdfhf2)(double value);
__bf16 LUMEN_BUILTIN(__truncsfbf2)(float value);
__bf16 LUMEN_BUILTIN(__truncdfbf2)(double value);
float LUMEN_BUILTIN(__powisf2)(float base, int32_t exponent);
double LUMEN_BUILTIN(__powidf2)(double base, int32_t exponent);
__int128 LUMEN_BUILTIN(__divti3)(__int128 a, __int128 b);
__int128 LUMEN_BUILTIN(__modti3)(__int128 a, __int128 b);
unsigned __int128 LUMEN_BUILTIN(__udivti3)(unsigned __int128 a, unsigned __int128 b);
unsigned __int128 LUMEN_BUILTIN(__umodti3)(unsigned __int128 a, unsigned __int128 b);
unsigned __int128 LUMEN_BUILTIN(__udivmodti4)(unsigned __int128 a, unsigned __int128 b,
                                              unsigned __int128 *rest);

#ifdef __cplusplus
}
#endif
#endif
