/* storages.c - see storages.h. */
#include "storages.h"

#include "nodes.h"

#include <stdlib.h>
#include <string.h>

bool lumen_storages_open(lumen_storages *storages, const lumen_abi_model *abi) {
  uint32_t count = abi->num_storages;
  storages->abi = abi;
  storages->bases = lumen_allocate(count * sizeof(char *));
  storages->space = lumen_allocate(count * sizeof(uint64_t));
  storages->used = lumen_allocate(count * sizeof(uint64_t));
  storages->moves = lumen_allocate(count * sizeof(bool));
  storages->renewed = lumen_allocate(count * sizeof(uint32_t));
  if (!storages->bases || !storages->space || !storages->used || !storages->moves ||
      !storages->renewed)
    return false;
  for (uint32_t i = 0; i < abi->num_steps; ++i) {
    const lumen_abi_step *step = &abi->steps[i];
    switch ((lumen_abi_step_kind)step->kind) {
    case LUMEN_ABI_STEP_SWAP:
    case LUMEN_ABI_STEP_MOVE:
      storages->moves[step->b] = true;
      storages->moves[step->a] = true;
      break;
    case LUMEN_ABI_STEP_ALLOC:
    case LUMEN_ABI_STEP_APPEND:
      storages->moves[step->a] = true;
      break;
    default:
      break;
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t region = abi->storages[i].region;
    storages->moves[i] |= region == LUMEN_ABI_HEAP;
    if (storages->moves[i] || region == LUMEN_ABI_INPUT || region == LUMEN_ABI_OUTPUT)
      storages->renewed[storages->num_renewed++] = i;
  }
  return true;
}

void lumen_storages_close(lumen_storages *storages) {
  free(storages->bases);
  free(storages->space);
  free(storages->used);
  free(storages->moves);
  free(storages->renewed);
  lumen_heap_free(&storages->heap);
}

void lumen_storages_reset(lumen_storages *storages) {
  lumen_heap_reset(&storages->heap);
  for (uint32_t i = 0; i < storages->num_renewed; ++i) {
    uint32_t index = storages->renewed[i];
    if (storages->abi->storages[index].region == LUMEN_ABI_HEAP) {
      storages->bases[index] = NULL;
      storages->space[index] = storages->used[index] = 0;
    }
  }
}

static int fail_memory(const lumen_storages *storages, uint32_t index, uint64_t size,
                       lumen_status *status) {
  char node[lumen_node_capacity];
  lumen_node_of_storage(storages->abi, index, node);
  return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: %sno memory for a value of %llu bytes",
                    storages->abi->name, node, (unsigned long long)size);
}

int lumen_storage_alloc(lumen_storages *storages, uint32_t index, uint64_t size,
                        lumen_status *status) {
  /* One that holds enough already serves, as in every iteration of a loop but the
   * first; unless it holds far too much. */
  char *base = storages->bases[index];
  storages->used[index] = 0;
  if (base && storages->space[index] >= size && storages->space[index] / 4 <= size)
    return LUMEN_OK;
  lumen_heap_release(&storages->heap, base);
  base = lumen_heap_alloc(&storages->heap, size);
  storages->bases[index] = base;
  storages->space[index] = base ? lumen_heap_size(base) : 0;
  return base ? LUMEN_OK : fail_memory(storages, index, size, status);
}

void lumen_storage_free(lumen_storages *storages, uint32_t index) {
  lumen_heap_release(&storages->heap, storages->bases[index]);
  storages->bases[index] = NULL;
  storages->space[index] = storages->used[index] = 0;
}

void lumen_storage_swap(lumen_storages *storages, uint32_t a, uint32_t b) {
  char *base = storages->bases[a];
  uint64_t space = storages->space[a], used = storages->used[a];
  storages->bases[a] = storages->bases[b];
  storages->space[a] = storages->space[b];
  storages->used[a] = storages->used[b];
  storages->bases[b] = base;
  storages->space[b] = space;
  storages->used[b] = used;
}

void lumen_storage_move(lumen_storages *storages, uint32_t to, uint32_t from) {
  if (to == from)
    return;
  lumen_storage_free(storages, to);
  lumen_storage_swap(storages, to, from);
}

int lumen_storage_copy(const lumen_storages *storages, void *to, const void *from, uint64_t size,
                       lumen_status *status) {
  if (!size)
    return LUMEN_OK;
  if (storages->copy)
    return storages->copy(storages->self, to, from, size, status);
  memcpy(to, from, size);
  return LUMEN_OK;
}

int lumen_storage_append(lumen_storages *storages, uint32_t to, const void *bytes, uint64_t size,
                         lumen_status *status) {
  uint64_t used = storages->used[to], needed;
  if (__builtin_add_overflow(used, size, &needed))
    return fail_memory(storages, to, UINT64_MAX, status);
  if (!storages->bases[to] || needed > storages->space[to]) {
    /* Twice as much each time, so that appending costs a constant per byte. */
    char *grown = lumen_heap_alloc(&storages->heap, needed > 2 * used ? needed : 2 * used);
    if (!grown && needed < 2 * used)
      grown = lumen_heap_alloc(&storages->heap, needed);
    if (!grown)
      return fail_memory(storages, to, needed, status);
    int code = lumen_storage_copy(storages, grown, storages->bases[to], used, status);
    if (code)
      return code;
    lumen_heap_release(&storages->heap, storages->bases[to]);
    storages->bases[to] = grown;
    storages->space[to] = lumen_heap_size(grown);
  }
  storages->used[to] = needed;
  return lumen_storage_copy(storages, storages->bases[to] + used, bytes, size, status);
}
