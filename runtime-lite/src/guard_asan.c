/* guard_asan.c - see guard.h. */
#include "guard.h"

#include <stddef.h>

/* Weak, since an artifact loads where there is no sanitizer, to say so. */
#define ASAN __attribute__((weak, visibility("default")))
ASAN void __asan_poison_memory_region(const volatile void *memory, size_t size);
ASAN void __asan_unpoison_memory_region(const volatile void *memory, size_t size);

static bool is_there(void) { return __asan_poison_memory_region && __asan_unpoison_memory_region; }
static void hide(void *memory, uint64_t size) { __asan_poison_memory_region(memory, size); }
static void show(void *memory, uint64_t size) { __asan_unpoison_memory_region(memory, size); }

const lumen_guard lumen_guard_asan = {.is_there = is_there, .hide = hide, .show = show};
