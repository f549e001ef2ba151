/* gpu_order.h - which commands of a batch have to wait for earlier ones. */
#ifndef LUMEN_GPU_ORDER_H
#define LUMEN_GPU_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that a command touches. Different memory has different addresses, and what shares
 * memory overlaps. */
typedef struct gpu_access {
  const void *address;
  uint64_t size; /* bytes */
  bool is_write;
} gpu_access;

enum { gpu_most_accesses = 256 };

/* What was touched since the last barrier. */
typedef struct gpu_order {
  gpu_access accesses[gpu_most_accesses];
  uint32_t count;
  bool is_due; /* the next command waits whatever it does */
} gpu_order;

/* Adds a command, of no more than gpu_most_accesses. True: it depends on one since the last
 * barrier, and there must be another one before it. */
bool gpu_order_add(gpu_order *order, const gpu_access *accesses, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif
