/* gpu_order.c - see gpu_order.h. */
#include "gpu_order.h"

#include <string.h>

static bool overlap(const gpu_access *a, const gpu_access *b) {
  uintptr_t at = (uintptr_t)a->address, other = (uintptr_t)b->address;
  return at < other ? other - at < a->size && b->size : at - other < b->size && a->size;
}

static bool depends(const gpu_order *order, const gpu_access *access) {
  for (uint32_t i = 0; i < order->count; ++i)
    if ((access->is_write || order->accesses[i].is_write) && overlap(access, &order->accesses[i]))
      return true;
  return false;
}

bool gpu_order_add(gpu_order *order, const gpu_access *accesses, uint32_t count) {
  /* What is forgotten has a barrier behind it. */
  bool is_due = order->is_due || count > gpu_most_accesses - order->count;
  for (uint32_t i = 0; i < count && !is_due; ++i)
    is_due = depends(order, &accesses[i]);
  if (is_due)
    order->count = 0;
  order->is_due = false;
  memcpy(&order->accesses[order->count], accesses, count * sizeof(*accesses));
  order->count += count;
  return is_due;
}
