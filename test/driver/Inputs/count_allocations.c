/* Preloaded: counts calls of the allocator. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_long calls;

long allocation_count(void) { return calls; }

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) { return ++calls, __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return ++calls, __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return ++calls, __libc_realloc(old, size); }
void *memalign(size_t align, size_t size) { return ++calls, __libc_memalign(align, size); }
void *aligned_alloc(size_t align, size_t size) { return ++calls, __libc_memalign(align, size); }
int posix_memalign(void **result, size_t align, size_t size) {
  ++calls;
  return (*result = __libc_memalign(align, size)) ? 0 : 12;
}
void *mmap(void *address, size_t length, int protection, int flags, int file, long offset) {
  static void *(*next)(void *, size_t, int, int, int, long);
  if (!next)
    next = (void *(*)(void *, size_t, int, int, int, long))dlsym(RTLD_NEXT, "mmap");
  return ++calls, next(address, length, protection, flags, file, offset);
}
