/* gpu_batch.h - a context on a GPU: launches and copies are recorded into batches, which are
 * submitted where the host has to see something. */
#ifndef LUMEN_GPU_BATCH_H
#define LUMEN_GPU_BATCH_H

#include "gpu_device.h"
#include "gpu_order.h"
#include "schedule.h"

/* A part of a block, for a kernel. */
typedef struct gpu_binding {
  void *buffer;
  uint64_t offset, size; /* bytes */
} gpu_binding;

typedef struct gpu_dispatch {
  uint32_t kernel;
  uint32_t num_bindings;
  const gpu_binding *bindings;
  uint32_t workgroups;
  const char *nodes; /* for messages */
} gpu_dispatch;

/* Where a result of a run is, and where it shall be once the run has ended. */
typedef struct gpu_result {
  const void *made; /* NULL: nothing is to be done */
  void *given;      /* memory of the caller's; NULL: it stays */
  uint64_t size;
} gpu_result;

/* Bytes that a batch brings to staging memory, and where the host wants them. */
typedef struct gpu_fetch {
  char *to;
  uint64_t from, size; /* bytes of the staging memory */
} gpu_fetch;

enum { gpu_most_fetches = 32 }; /* of a batch */

typedef struct gpu_context {
  lumen_schedule schedule; /* first: see schedule.h */
  lumen_router router;
  const lumen_route *route; /* of the run that goes on */
  gpu_device *device;
  lumen_host_workers workers;
  gpu_block *blocks; /* that the schedule has asked for, and the inputs' */
  uint32_t num_blocks, block_capacity;
  uint64_t generation; /* of the blocks: counts their changes */
  gpu_block *inputs;   /* by input */
  gpu_result *results; /* by output */
  gpu_block parameters, faults, scratch, staging;
  uint64_t staged; /* bytes of the staging memory that the batch uses */
  gpu_fetch fetches[gpu_most_fetches];
  uint32_t num_fetches;
  uint32_t batch_capacity; /* launches */
  uint64_t parameter_stride, fault_stride;
  uint32_t num_recorded; /* launches in the batch */
  uint32_t *recorded;    /* which */
  gpu_order order;
  bool is_recording;
  bool is_running;      /* the batch has been submitted, and nobody has waited for it */
  lumen_status failure; /* of a batch of this run: nothing can be read of it */
  /* Of the batch that can be submitted again. */
  uint64_t replay_plan, replay_generation;
  uint32_t replay_launches;
} gpu_context;

extern const lumen_schedule_ops gpu_schedule_ops;

/* All that a batch needs besides the memory of values. After a failure closing is due. */
int gpu_batches_open(context *context, lumen_status *status);
void gpu_batches_close(context *context);

/* Memory of the context's, as lumen_schedule_ops says. */
void *gpu_allocate(context *context, uint64_t size, bool is_result);
void gpu_release(context *context, void *memory);
/* The block that an address lies in; NULL: none. */
const gpu_block *gpu_block_of(const gpu_context *state, const void *address);

/* Submits what is recorded; nothing else may follow before gpu_wait. Fails from the run's
 * first failure on. */
int gpu_submit(context *context, lumen_status *status);
/* Submits what was recorded once more. */
int gpu_submit_again(context *context, lumen_status *status);
/* Waits for what was submitted. */
int gpu_wait(context *context, lumen_status *status);

#endif
