/* schedule.h - a context's memory, and the run of its schedule: alike for all devices.
 *
 * Storages, bindings and steps know memory by addresses of the host. A device with memory
 * of its own gives each piece of it such addresses too, of bytes that are not always those
 * of the device: `fetch` and `store` carry them over where the host works on them. */
#ifndef LUMEN_SCHEDULE_H
#define LUMEN_SCHEDULE_H

#include "bindings.h"
#include "driver.h"

/* What a device does itself. All but `launch` are NULL where kernels run on the host's
 * memory. Codes are those of lumen.h. */
typedef struct lumen_schedule_ops {
  /* Bound, with arguments, sizes and grid in bindings.current. While context->profile is
   * there, it has ended when this returns. */
  int (*launch)(context *context, uint32_t launch, lumen_status *status);
  /* The host is about to read bytes, has written them, or wants them copied: places.h has
   * these. In the order of the launches; done only when `wait` returns. */
  int (*fetch)(context *context, const void *memory, uint64_t size, lumen_status *status);
  int (*store)(context *context, const void *memory, uint64_t size, lumen_status *status);
  int (*copy)(context *context, void *to, const void *from, uint64_t size, lumen_status *status);
  /* What they are made of: copies between host and device, or within the device. */
  int (*carry)(context *context, const void *memory, uint64_t size, bool is_fetch,
               lumen_status *status);
  int (*duplicate)(context *context, void *to, const void *from, uint64_t size,
                   lumen_status *status);
  int (*wait)(context *context, lumen_status *status);
  bool (*is_busy)(const context *context); /* something is due that `wait` waits for */
  /* `is_result`: the host looks at it after each run. */
  void *(*allocate)(context *context, uint64_t size, bool is_result);
  void (*release)(context *context, void *memory);
} lumen_schedule_ops;

/* The first member of what a driver keeps for a context. */
typedef struct lumen_schedule {
  const lumen_schedule_ops *ops;
  const char *weights, *init;  /* bases of these regions */
  struct lumen_places *places; /* NULL: host and device work on the same bytes */
  uint64_t copy_ns;            /* that copies took so far, of runs that are profiled */
  char *arena;                 /* the caller's or arena_owned */
  char *arena_owned;
  uint64_t arena_capacity;
  uint64_t plan_id; /* that the storages were placed for */
  lumen_heap_source heap_source;
  lumen_storages storages;
  lumen_bindings bindings;
  const lumen_abi_variant *ran; /* by the last launch; a driver says where it is not that of
                                 * `variants` */
  void **owned_outputs;         /* memory of outputs that the caller does not bring */
  uint64_t *owned_capacity;
  void **spare_outputs; /* what takes turns with it where results are inputs of the next run */
  uint64_t *spare_capacity;
} lumen_schedule;

/* For one that is zeroed but for `weights` and `init`, in context->device_state. `variants`
 * are those that launches get their grids from. After a failure closing is due. */
int lumen_schedule_open(context *context, const lumen_schedule_ops *ops,
                        const lumen_abi_variant *const *variants, lumen_status *status);
void lumen_schedule_close(context *context);

/* Memory of an output that the caller leaves to the context, unless only the run knows how
 * much that is. */
int lumen_schedule_fit_output(context *context, uint32_t index, lumen_status *status);
/* Makes the context's plan the one in force, which may move the arena. */
int lumen_schedule_follow(context *context, lumen_status *status);
/* Places what each run brings, which context->inputs and ->outputs say. */
void lumen_schedule_place(context *context);
/* One launch of those that run in order, and all that is there, by steps or in order. */
int lumen_schedule_launch(context *context, uint32_t index, lumen_status *status);
int lumen_schedule_run(context *context, lumen_status *status);

/* For profiles: the time, and that bytes were copied since `begin`. */
uint64_t lumen_now(void);
void lumen_account_copy(context *context, bool is_fetch, uint64_t begin, uint64_t bytes);

/* For lumen_driver. */
void lumen_schedule_memory(const context *context, lumen_context_memory_info *info);
uint32_t lumen_schedule_owner(const context *context, const void *address);
bool lumen_schedule_hand_over(context *context, uint32_t output, const void *address,
                              bool may_move);

#endif
