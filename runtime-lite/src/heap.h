/* heap.h - memory of one run for values whose size only the run knows. */
#ifndef LUMEN_HEAP_H
#define LUMEN_HEAP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lumen_heap_chunk lumen_heap_chunk;

/* Where a heap has its memory from: a device's, which has addresses of the host too. */
typedef struct lumen_heap_source {
  void *self;
  void *(*allocate)(void *self, uint64_t size); /* aligned to LUMEN_ALIGNMENT */
  void (*release)(void *self, void *memory);
  /* Whether work that uses blocks goes on, and waits for it. A block that is released
   * while it does is free only afterwards: its bytes may still be written. */
  int (*is_busy)(void *self);
  void (*wait)(void *self);
} lumen_heap_source;

/* Zeroed: empty. Memory that was asked of the source stays with the heap, and
 * where a block goes depends on the calls since the reset alone: a run that
 * repeats an earlier one asks for nothing. */
typedef struct lumen_heap {
  const lumen_heap_source *source; /* NULL: the system */
  lumen_heap_chunk *chunks;  /* in the order they were made */
  uint64_t used, high_water; /* bytes given out: now, and at most so far */
  uint64_t capacity;         /* bytes asked of the source */
  void **late;               /* released while the source was busy */
  uint32_t num_late, late_capacity;
} lumen_heap;

/* Aligned to LUMEN_ALIGNMENT, valid until its release or the reset. NULL: out of
 * memory. */
void *lumen_heap_alloc(lumen_heap *heap, uint64_t size);
/* Gives back what an alloc since the reset returned; NULL is nothing. */
void lumen_heap_release(lumen_heap *heap, void *memory);
/* Bytes of the block at `memory`, at least what was asked for. */
uint64_t lumen_heap_size(const void *memory);
/* Whether an address lies in memory of the heap. */
int lumen_heap_holds(const lumen_heap *heap, const void *address);
/* Calls `visit` for all memory behind the blocks, their headers included. */
void lumen_heap_visit(const lumen_heap *heap, void (*visit)(void *memory, uint64_t size));
/* The source is not busy any more. */
void lumen_heap_settle(lumen_heap *heap);
/* Gives back all blocks. */
void lumen_heap_reset(lumen_heap *heap);
/* The same, and the memory to the source. */
void lumen_heap_free(lumen_heap *heap);

#ifdef __cplusplus
}
#endif
#endif
