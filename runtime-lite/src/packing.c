/* packing.c - see packing.h. */
#include "packing.h"

#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* Ranges are looked through by groups of this many. */
enum { group = 64 };

/* After so much no further order is tried: a quarter of a second. */
enum { max_work = 60000000 };
/* The same for orders that are mended, which gains a few percent: some ten milliseconds. */
enum { max_mending = 3000000, mends = 48 };

typedef struct sortable {
  uint64_t key;
  uint32_t index;
} sortable;

struct lumen_packing {
  uint32_t count;
  bool is_dense; /* most ranges overlap in time */
  uint64_t work; /* of one order: pairs of ranges that are compared, about */
  sortable *order;
  uint64_t *offsets;  /* of the attempt that goes on */
  bool *is_placed;    /* in it */
  uint32_t *by_first; /* all ranges */
  uint32_t *by_last;
  uint32_t *group_last; /* the latest last of each group of by_first */
  sortable *placed;     /* by offset: all of the attempt, or those that overlap */
};

/* Ascending by key, then index. Heap sort: no recursion, no memory. */
static bool before(const sortable *a, const sortable *b) {
  return a->key != b->key ? a->key < b->key : a->index < b->index;
}

static void sift(sortable *items, uint32_t at, uint32_t count) {
  sortable item = items[at];
  for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && before(&items[child], &items[child + 1]))
      ++child;
    if (!before(&item, &items[child]))
      break;
    items[at] = items[child];
  }
  items[at] = item;
}

static void sort(sortable *items, uint32_t count) {
  if (count <= 16) {
    for (uint32_t i = 1; i < count; ++i) {
      sortable item = items[i];
      uint32_t at = i;
      for (; at > 0 && before(&item, &items[at - 1]); --at)
        items[at] = items[at - 1];
      items[at] = item;
    }
    return;
  }
  for (uint32_t i = count / 2; i-- > 0;)
    sift(items, i, count);
  for (uint32_t end = count - 1; end > 0; --end) {
    sortable last = items[end];
    items[end] = items[0];
    items[0] = last;
    sift(items, 0, end);
  }
}

void lumen_packing_free(lumen_packing *packing) { free(packing); }

/* The pieces of one allocation. */
static void *carve(char **at, uint64_t size) {
  void *piece = *at;
  *at += (size + LUMEN_ALIGNMENT - 1) & ~(uint64_t)(LUMEN_ALIGNMENT - 1);
  return piece;
}

lumen_packing *lumen_packing_create(const lumen_range *ranges, uint32_t count) {
  uint32_t num_groups = count / group + 1;
  uint64_t pieces = 8 * LUMEN_ALIGNMENT;
  uint64_t bytes = sizeof(lumen_packing) + pieces +
                   (uint64_t)count * (2 * sizeof(sortable) + sizeof(uint64_t) + sizeof(bool) +
                                      2 * sizeof(uint32_t)) +
                   num_groups * sizeof(uint32_t);
  char *at = lumen_allocate(bytes);
  if (!at)
    return NULL;
  lumen_packing *packing = carve(&at, sizeof(*packing));
  packing->count = count;
  packing->order = carve(&at, count * sizeof(sortable));
  packing->placed = carve(&at, count * sizeof(sortable));
  packing->offsets = carve(&at, count * sizeof(uint64_t));
  packing->is_placed = carve(&at, count * sizeof(bool));
  packing->by_first = carve(&at, count * sizeof(uint32_t));
  packing->by_last = carve(&at, count * sizeof(uint32_t));
  packing->group_last = carve(&at, num_groups * sizeof(uint32_t));

  for (uint32_t i = 0; i < count; ++i)
    packing->order[i] = (sortable){ranges[i].last, i};
  sort(packing->order, count);
  for (uint32_t i = 0; i < count; ++i)
    packing->by_last[i] = packing->order[i].index;
  for (uint32_t i = 0; i < count; ++i)
    packing->order[i] = (sortable){ranges[i].first, i};
  sort(packing->order, count);
  uint64_t pairs = 0, dead = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t index = packing->by_first[i] = packing->order[i].index;
    uint32_t *last = &packing->group_last[i / group];
    if (ranges[index].last > *last)
      *last = ranges[index].last;
    while (dead < i && ranges[packing->by_last[dead]].last < ranges[index].first)
      ++dead;
    pairs += i - dead;
  }
  /* Sorting those that overlap costs more than walking through all, if they are many. */
  uint64_t all = (uint64_t)count * count / 2;
  packing->is_dense = pairs * 16 > all;
  packing->work = packing->is_dense ? all : pairs * 16;
  return packing;
}

static bool overlap(const lumen_range *a, const lumen_range *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* Fills `placed` with what overlaps the range in time and is placed, by offset. */
static uint32_t collect(lumen_packing *packing, const lumen_range *ranges, uint32_t index) {
  const lumen_range *range = &ranges[index];
  uint32_t found = 0;
  for (uint32_t begin = 0; begin < packing->count; begin += group) {
    if (ranges[packing->by_first[begin]].first > range->last)
      break;
    if (packing->group_last[begin / group] < range->first)
      continue;
    uint32_t end = packing->count - begin < group ? packing->count : begin + group;
    for (uint32_t i = begin; i < end; ++i) {
      uint32_t other = packing->by_first[i];
      if (packing->is_placed[other] && overlap(range, &ranges[other]))
        packing->placed[found++] = (sortable){packing->offsets[other], other};
    }
  }
  sort(packing->placed, found);
  return found;
}

/* The smallest gap that holds the range, the lowest among equals. */
static uint64_t find_gap(const lumen_packing *packing, const lumen_range *ranges, uint32_t index,
                         uint32_t num_placed) {
  uint64_t size = ranges[index].size, end = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
  for (uint32_t i = 0; i < num_placed; ++i) {
    const sortable *other = &packing->placed[i];
    const lumen_range *range = &ranges[other->index];
    if (packing->is_dense && !overlap(&ranges[index], range))
      continue;
    if (other->key >= end + size && other->key - end < best_gap) {
      best = end;
      best_gap = other->key - end;
      if (best_gap == size)
        break;
    }
    if (other->key + range->size > end)
      end = other->key + range->size;
  }
  return best == UINT64_MAX ? end : best;
}

static void place(lumen_packing *packing, uint32_t index, uint64_t offset, uint32_t *num_placed) {
  packing->offsets[index] = offset;
  packing->is_placed[index] = true;
  if (!packing->is_dense)
    return;
  sortable item = {offset, index};
  uint32_t low = 0, high = *num_placed;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (before(&packing->placed[middle], &item))
      low = middle + 1;
    else
      high = middle;
  }
  memmove(&packing->placed[low + 1], &packing->placed[low], (*num_placed - low) * sizeof(item));
  packing->placed[low] = item;
  ++*num_placed;
}

/* Bytes of the arena, or UINT64_MAX once they are not below `limit`. */
static uint64_t pack_in_order(lumen_packing *packing, const lumen_range *ranges, uint64_t limit) {
  uint64_t total = 0;
  uint32_t num_placed = 0;
  memset(packing->is_placed, 0, packing->count * sizeof(bool));
  for (uint32_t i = 0; i < packing->count; ++i)
    if (ranges[i].fixed && ranges[i].size) {
      place(packing, i, ranges[i].offset, &num_placed);
      if (ranges[i].offset + ranges[i].size > total)
        total = ranges[i].offset + ranges[i].size;
    }
  for (uint32_t i = 0; i < packing->count; ++i) {
    uint32_t index = packing->order[i].index;
    const lumen_range *range = &ranges[index];
    if (range->fixed)
      continue;
    packing->offsets[index] = 0;
    if (!range->size)
      continue;
    uint32_t candidates = packing->is_dense ? num_placed : collect(packing, ranges, index);
    uint64_t offset = find_gap(packing, ranges, index, candidates);
    if (offset + range->size > total)
      total = offset + range->size;
    if (total >= limit)
      return UINT64_MAX;
    place(packing, index, offset, &num_placed);
  }
  return total;
}

static uint64_t peak(const lumen_packing *packing, const lumen_range *ranges) {
  uint64_t live = 0, most = 0;
  uint32_t dead = 0;
  for (uint32_t i = 0; i < packing->count; ++i) {
    const lumen_range *range = &ranges[packing->by_first[i]];
    for (; ranges[packing->by_last[dead]].last < range->first; ++dead)
      live -= ranges[packing->by_last[dead]].size;
    live += range->size;
    most = live > most ? live : most;
  }
  return most;
}

typedef enum order_kind {
  by_size,
  by_time,
  by_area,
  by_length,
  by_length_class,
  num_orders
} order_kind;

/* Small keys come first. */
static uint64_t key_of(order_kind kind, const lumen_range *range) {
  uint64_t length = (uint64_t)range->last - range->first + 1;
  switch (kind) {
  case by_size:
    return ~range->size;
  case by_time:
    return range->first;
  case by_area: {
    uint64_t area;
    return __builtin_mul_overflow(range->size / LUMEN_ALIGNMENT, length, &area) ? 0 : ~area;
  }
  case by_length:
    return ~length;
  default:
    /* Long-lived first, large ones first among those of about the same length. */
    return (uint64_t)__builtin_clzll(length) << 58 | (~range->size >> 6);
  }
}

static void set_order(lumen_packing *packing, const lumen_range *ranges, order_kind kind) {
  for (uint32_t i = 0; i < packing->count; ++i)
    packing->order[i] = (sortable){key_of(kind, &ranges[i]), i};
  sort(packing->order, packing->count);
}

/* Moves a range that ends at the top of the arena half of the way to the front of the
 * order, so that it is placed while there is room further down. False if it is first. */
static bool promote_top(lumen_packing *packing, const lumen_range *ranges) {
  uint64_t top = 0;
  uint32_t at = 0;
  for (uint32_t i = 0; i < packing->count; ++i) {
    uint32_t index = packing->order[i].index;
    if (!ranges[index].fixed && packing->offsets[index] + ranges[index].size > top) {
      top = packing->offsets[index] + ranges[index].size;
      at = i;
    }
  }
  sortable item = packing->order[at];
  memmove(&packing->order[at / 2 + 1], &packing->order[at / 2], (at - at / 2) * sizeof(item));
  packing->order[at / 2] = item;
  return at > 0;
}

static void keep_if_better(const lumen_packing *packing, lumen_range *ranges, uint64_t total,
                           uint64_t *size) {
  if (total >= *size)
    return;
  *size = total;
  for (uint32_t i = 0; i < packing->count; ++i)
    if (!ranges[i].fixed)
      ranges[i].offset = packing->offsets[i];
}

void lumen_pack(lumen_packing *packing, lumen_range *ranges, uint64_t *size,
                uint64_t *lower_bound) {
  *size = UINT64_MAX;
  *lower_bound = peak(packing, ranges);
  uint64_t work = 0;
  for (uint32_t kind = 0; kind < num_orders && *size > *lower_bound && work <= max_work; ++kind) {
    set_order(packing, ranges, (order_kind)kind);
    work += packing->work;
    keep_if_better(packing, ranges, pack_in_order(packing, ranges, *size), size);
  }
  /* Where none of them is good, each is mended a while. */
  uint64_t good = *lower_bound + *lower_bound / 32;
  for (uint32_t kind = 0; kind < num_orders && *size > good; ++kind) {
    set_order(packing, ranges, (order_kind)kind);
    for (uint32_t i = 0; i < mends && *size > good && work <= max_mending; ++i) {
      work += packing->work;
      keep_if_better(packing, ranges, pack_in_order(packing, ranges, UINT64_MAX), size);
      if (!promote_top(packing, ranges))
        break;
    }
  }
}
