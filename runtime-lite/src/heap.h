/* heap.h - memory of one run for values without a bound. */
#ifndef LUMEN_HEAP_H
#define LUMEN_HEAP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lumen_heap_block lumen_heap_block;

/* Zeroed: empty. Blocks of a run lie side by side in few allocations; after a
 * reset the high-water mark lies in one, so that runs of like size allocate
 * nothing. */
typedef struct lumen_heap {
  lumen_heap_block *blocks;
  uint64_t used, high_water;
} lumen_heap;

/* Aligned to LUMEN_ALIGNMENT, valid until the reset. NULL: out of memory. */
void *lumen_heap_alloc(lumen_heap *heap, uint64_t size);
void lumen_heap_reset(lumen_heap *heap);
void lumen_heap_free(lumen_heap *heap);

#ifdef __cplusplus
}
#endif
#endif
