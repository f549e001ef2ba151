/* heap.c - best fit among free blocks by size class, neighbours joined at once. */
#include "heap.h"

#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { num_classes = 48 };

/* Lies before the bytes of each block. */
typedef struct block {
  _Alignas(LUMEN_ALIGNMENT) lumen_heap_chunk *chunk;
  uint64_t size;                 /* bytes behind the header, a multiple of the alignment */
  struct block *below;           /* the neighbour at lower addresses */
  struct block *next, *previous; /* in the list of its class, while free */
  bool is_free;
} block;

struct lumen_heap_chunk {
  _Alignas(LUMEN_ALIGNMENT) lumen_heap_chunk *next;
  uint64_t capacity; /* bytes of all blocks, headers included */
  block *classes[num_classes];
  _Alignas(LUMEN_ALIGNMENT) char blocks[];
};

/* Class c holds sizes of [2^c, 2^(c+1)) units of the alignment. */
static uint32_t class_of(uint64_t size) {
  uint32_t class = 63 - (uint32_t)__builtin_clzll(size / LUMEN_ALIGNMENT);
  return class < num_classes ? class : num_classes - 1;
}

static block *above(const block *at) {
  char *end = (char *)(at + 1) + at->size;
  return end < at->chunk->blocks + at->chunk->capacity ? (block *)end : NULL;
}

static void insert(block *at) {
  block **list = &at->chunk->classes[class_of(at->size)];
  at->is_free = true;
  at->previous = NULL;
  at->next = *list;
  if (*list)
    (*list)->previous = at;
  *list = at;
}

static void take_out(block *at) {
  at->is_free = false;
  if (at->previous)
    at->previous->next = at->next;
  else
    at->chunk->classes[class_of(at->size)] = at->next;
  if (at->next)
    at->next->previous = at->previous;
}

static void make_one_block(lumen_heap_chunk *chunk) {
  memset(chunk->classes, 0, sizeof(chunk->classes));
  block *all = (block *)chunk->blocks;
  *all = (block){.chunk = chunk, .size = chunk->capacity - sizeof(block)};
  insert(all);
}

/* The smallest one that holds `size`, the most recent among equals. */
static block *find(const lumen_heap_chunk *chunk, uint64_t size) {
  for (uint32_t class = class_of(size); class < num_classes; ++class) {
    block *best = NULL;
    for (block *at = chunk->classes[class]; at; at = at->next)
      if (at->size >= size && (!best || at->size < best->size))
        best = at;
    if (best)
      return best;
  }
  return NULL;
}

static lumen_heap_chunk *allocate_chunk(const lumen_heap *heap, uint64_t capacity) {
  uint64_t size = sizeof(lumen_heap_chunk) + capacity;
  return heap->source ? heap->source->allocate(heap->source->self, size)
                      : lumen_allocate_large(size);
}

static lumen_heap_chunk *add_chunk(lumen_heap *heap, uint64_t size) {
  /* At least what there is already, so that few chunks are made. */
  uint64_t capacity = heap->capacity > 65536 ? heap->capacity : 65536;
  capacity = capacity > size + sizeof(block) ? capacity : size + sizeof(block);
  lumen_heap_chunk *chunk = allocate_chunk(heap, capacity);
  if (!chunk && capacity > size + sizeof(block)) {
    capacity = size + sizeof(block);
    chunk = allocate_chunk(heap, capacity);
  }
  if (!chunk)
    return NULL;
  chunk->next = NULL;
  chunk->capacity = capacity;
  make_one_block(chunk);
  heap->capacity += capacity;
  lumen_heap_chunk **end = &heap->chunks;
  while (*end)
    end = &(*end)->next;
  return *end = chunk;
}

static block *find_in_all(const lumen_heap *heap, uint64_t size) {
  block *found = NULL;
  for (lumen_heap_chunk *chunk = heap->chunks; chunk && !found; chunk = chunk->next)
    found = find(chunk, size);
  return found;
}

void *lumen_heap_alloc(lumen_heap *heap, uint64_t size) {
  if (size > SIZE_MAX / 4)
    return NULL;
  size = size ? (size + LUMEN_ALIGNMENT - 1) & ~(uint64_t)(LUMEN_ALIGNMENT - 1) : LUMEN_ALIGNMENT;
  block *found = find_in_all(heap, size);
  if (!found && heap->num_late) {
    heap->source->wait(heap->source->self);
    lumen_heap_settle(heap);
    found = find_in_all(heap, size);
  }
  if (!found) {
    lumen_heap_chunk *chunk = add_chunk(heap, size);
    if (!chunk)
      return NULL;
    found = (block *)chunk->blocks;
  }
  take_out(found);
  if (found->size - size > sizeof(block)) {
    block *rest = (block *)((char *)(found + 1) + size);
    *rest =
        (block){.chunk = found->chunk, .size = found->size - size - sizeof(block), .below = found};
    found->size = size;
    block *next = above(rest);
    if (next)
      next->below = rest;
    insert(rest);
  }
  heap->used += found->size;
  if (heap->used > heap->high_water)
    heap->high_water = heap->used;
  return found + 1;
}

/* Makes `low` and the block above it one. Both are in no list. */
static void join(block *low, const block *high) {
  low->size += sizeof(block) + high->size;
  block *next = above(low);
  if (next)
    next->below = low;
}

static void release_now(lumen_heap *heap, void *memory) {
  block *at = (block *)memory - 1, *next = above(at);
  heap->used -= at->size;
  if (next && next->is_free) {
    take_out(next);
    join(at, next);
  }
  if (at->below && at->below->is_free) {
    block *low = at->below;
    take_out(low);
    join(low, at);
    at = low;
  }
  insert(at);
}

/* Keeps a block for later; false: no memory for that. */
static bool defer(lumen_heap *heap, void *memory) {
  if (heap->num_late == heap->late_capacity) {
    uint32_t capacity = heap->late_capacity ? 2 * heap->late_capacity : 64;
    void **more = realloc(heap->late, capacity * sizeof(*more));
    if (!more)
      return false;
    heap->late = more;
    heap->late_capacity = capacity;
  }
  heap->late[heap->num_late++] = memory;
  return true;
}

void lumen_heap_settle(lumen_heap *heap) {
  while (heap->num_late)
    release_now(heap, heap->late[--heap->num_late]);
}

void lumen_heap_release(lumen_heap *heap, void *memory) {
  if (!memory)
    return;
  if (heap->source && heap->source->is_busy(heap->source->self)) {
    if (defer(heap, memory))
      return;
    heap->source->wait(heap->source->self);
  }
  release_now(heap, memory);
}

uint64_t lumen_heap_size(const void *memory) { return ((const block *)memory - 1)->size; }

int lumen_heap_holds(const lumen_heap *heap, const void *address) {
  for (const lumen_heap_chunk *chunk = heap->chunks; chunk; chunk = chunk->next) {
    uintptr_t begin = (uintptr_t)chunk->blocks;
    if ((uintptr_t)address - begin < chunk->capacity)
      return 1;
  }
  return 0;
}

void lumen_heap_visit(const lumen_heap *heap, void (*visit)(void *memory, uint64_t size)) {
  for (lumen_heap_chunk *chunk = heap->chunks; chunk; chunk = chunk->next)
    visit(chunk->blocks, chunk->capacity);
}

void lumen_heap_reset(lumen_heap *heap) {
  for (lumen_heap_chunk *chunk = heap->chunks; chunk; chunk = chunk->next)
    make_one_block(chunk);
  heap->used = 0;
  heap->num_late = 0;
}

void lumen_heap_free(lumen_heap *heap) {
  for (lumen_heap_chunk *chunk = heap->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    if (heap->source)
      heap->source->release(heap->source->self, chunk);
    else
      free(chunk);
  }
  free(heap->late);
  *heap = (lumen_heap){.source = heap->source};
}
