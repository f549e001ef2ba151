/* status.c - error text, names of types, memory. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

int lumen_fail(lumen_status *status, int code, const char *format, ...) {
  if (status) {
    va_list arguments;
    va_start(arguments, format);
    status->code = code;
    vsnprintf(status->message, sizeof(status->message), format, arguments);
    va_end(arguments);
  }
  return code;
}

static uint64_t round_up(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) & ~(alignment - 1);
}

void *lumen_allocate(uint64_t size) {
  if (size > SIZE_MAX / 2)
    return NULL;
  uint64_t rounded = round_up(size ? size : 1, LUMEN_ALIGNMENT);
  void *memory = aligned_alloc(LUMEN_ALIGNMENT, rounded);
  if (memory)
    memset(memory, 0, rounded);
  return memory;
}

/* More than memory and swap of the machine. Asked for large sizes only. */
static bool is_beyond_machine(uint64_t size) {
  struct sysinfo info;
  if (size < 1u << 30 || sysinfo(&info) != 0)
    return false;
  return size / info.mem_unit > (uint64_t)info.totalram + info.totalswap;
}

void *lumen_allocate_large(uint64_t size) {
  const uint64_t huge_page = 2u << 20;
  if (size > SIZE_MAX / 2 || is_beyond_machine(size))
    return NULL;
  if (size < 2 * huge_page)
    return aligned_alloc(LUMEN_ALIGNMENT, round_up(size ? size : 1, LUMEN_ALIGNMENT));
  uint64_t rounded = round_up(size, huge_page);
  void *memory = aligned_alloc(huge_page, rounded);
  /* A hint: it may fail where the system has no huge pages. */
  if (memory)
    (void)madvise(memory, rounded, MADV_HUGEPAGE);
  return memory;
}

const char *lumen_dtype_name(uint32_t dtype) {
  static const char *const names[] = {
      "unknown",    "f32",    "u8",         "i8",  "u16", "i16",    "i32",    "i64",  "string",
      "bool",       "f16",    "f64",        "u32", "u64", "c64",    "c128",   "bf16", "f8e4m3fn",
      "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "u4",  "i4",  "f4e2m1", "f8e8m0", "u2",   "i2"};
  return names[dtype < sizeof(names) / sizeof(names[0]) ? dtype : 0];
}

uint64_t lumen_count(int32_t rank, const int64_t *shape) {
  uint64_t count = 1;
  for (int32_t d = 0; d < rank; ++d)
    if (shape[d] == 0)
      return 0;
  for (int32_t d = 0; d < rank; ++d)
    if (__builtin_mul_overflow(count, (uint64_t)shape[d], &count))
      return UINT64_MAX;
  return count;
}

uint64_t lumen_tensor_bytes(uint32_t dtype, int32_t rank, const int64_t *dims) {
  uint64_t bits = lumen_dl_dtype_of(dtype).bits;
  if (rank < 0)
    return UINT64_MAX;
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] == 0)
      return 0;
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] < 0 || __builtin_mul_overflow(bits, (uint64_t)dims[i], &bits))
      return UINT64_MAX;
  return bits / 8 + (bits % 8 != 0);
}
