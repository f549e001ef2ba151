/* guard.h - tells kernels that touch memory which is not theirs.
 *
 * Kernels compiled with --sanitize=address check every access against what
 * AddressSanitizer knows of memory. It knows allocations; one arena holds many values. So
 * a driver hides the memory of a context while a launch runs, but for the launch's own
 * arguments. */
#ifndef LUMEN_GUARD_H
#define LUMEN_GUARD_H

#include "lumen_abi.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lumen_guard {
  /* Whether the process has the sanitizer, without which kernels cannot run. */
  bool (*is_there)(void);
  /* Bytes that kernels must not touch, from a multiple of 8 on, and that they may again. */
  void (*hide)(void *memory, uint64_t size);
  void (*show)(void *memory, uint64_t size);
} lumen_guard;

/* Hidden bytes behind each value, so that what follows is not taken for part of it. */
enum { lumen_guard_gap = LUMEN_ALIGNMENT };

/* An archive member of its own: lumen_abi_model.guard refers to it. */
extern const lumen_guard lumen_guard_asan;

#ifdef __cplusplus
}
#endif
#endif
