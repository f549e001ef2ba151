/* heap.c - a bump allocator that learns its size. */
#include "heap.h"

#include "internal.h"

#include <stdlib.h>

struct lumen_heap_block {
  _Alignas(LUMEN_ALIGNMENT) lumen_heap_block *next;
  uint64_t capacity, used;
  _Alignas(LUMEN_ALIGNMENT) char data[];
};

static lumen_heap_block *push_block(lumen_heap *heap, uint64_t capacity) {
  if (capacity > SIZE_MAX / 4)
    return NULL;
  lumen_heap_block *block = lumen_allocate_large(sizeof(*block) + capacity);
  if (!block)
    return NULL;
  block->next = heap->blocks;
  block->capacity = capacity;
  block->used = 0;
  heap->blocks = block;
  return block;
}

void *lumen_heap_alloc(lumen_heap *heap, uint64_t size) {
  if (size > SIZE_MAX / 4)
    return NULL;
  size = (size + LUMEN_ALIGNMENT - 1) & ~(uint64_t)(LUMEN_ALIGNMENT - 1);
  lumen_heap_block *block = heap->blocks;
  if (!block || block->capacity - block->used < size) {
    /* At least what is in use already, so that few blocks are made. */
    uint64_t capacity = heap->used > 65536 ? heap->used : 65536;
    block = push_block(heap, size > capacity ? size : capacity);
    if (!block)
      return NULL;
  }
  void *memory = block->data + block->used;
  block->used += size;
  heap->used += size;
  if (heap->used > heap->high_water)
    heap->high_water = heap->used;
  return memory;
}

void lumen_heap_reset(lumen_heap *heap) {
  if (heap->blocks && heap->blocks->next) {
    uint64_t capacity = heap->high_water;
    lumen_heap_free(heap);
    heap->high_water = capacity;
    (void)push_block(heap, capacity); /* else the next run tries again */
  }
  if (heap->blocks)
    heap->blocks->used = 0;
  heap->used = 0;
}

void lumen_heap_free(lumen_heap *heap) {
  for (lumen_heap_block *block = heap->blocks, *next; block; block = next) {
    next = block->next;
    free(block);
  }
  *heap = (lumen_heap){NULL, 0, 0};
}
