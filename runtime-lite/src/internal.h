/* internal.h - the runtime's own types. Nothing here is seen by applications
 * or by generated code. */
#ifndef LUMEN_INTERNAL_H
#define LUMEN_INTERNAL_H

#include "lumen.h"
#include "lumen_abi.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct lumen_driver lumen_driver;

struct model;

/* What decides where a model runs, beside the devices. */
typedef struct lumen_choice {
  uint32_t workload; /* lumen_workload */
  bool routes;       /* a device shares each run with the host */
} lumen_choice;

/* A model opened on a device: chosen kernels, weights in its memory. Read-only once open,
 * but for the atomic. */
typedef struct device {
  const lumen_driver *driver;
  uint32_t index; /* of the driver's devices */
  void *state;    /* the driver's */
  struct model *model;
  lumen_choice choice;
  char name[96];
  atomic_uint references; /* the model, and each context that runs on it */
} device;

/* The runtime's side of a lumen_model. Read-only once open, but for the atomics. */
typedef struct model {
  lumen_model base; /* first: a lumen_model is cast to it */
  const lumen_abi_model *abi;
  _Atomic(device *) device; /* in force; see lumen_device_acquire */
  atomic_flag is_changing;  /* held while `device` is read and referred to, or replaced */
  char cpu_level[64];       /* of the options */
  uint32_t flags, workload; /* likewise */
  lumen_executor *executor;
  lumen_executor *owned_executor;
  const char *weights;
  uint64_t weights_mapped; /* bytes mapped from the weights file; 0: inside the artifact */
  uint32_t num_output_dims;
  bool is_symbolic; /* the arena is packed by the runtime */
  atomic_uint references; /* the handle and each context */
  atomic_uint_least64_t memory_used;
} model;

/* The runtime's side of a lumen_context. */
typedef struct context {
  lumen_context base; /* first: a lumen_context is cast to it */
  model *model;
  lumen_executor *executor;
  device *device;     /* that the context is set up for */
  void *device_state; /* of the driver */
  /* The caller's arena, or NULL. */
  void *arena;
  uint64_t arena_capacity;
  uint64_t max_jumps; /* of a run, backwards */
  struct planner *planner;
  struct plan *plan;    /* in force, NULL: none */
  int64_t *output_dims; /* all outputs' in order, after a run */
  /* Of the run that goes on: where each input is and each output goes. An
   * output the caller does not bring is NULL until the driver places it. */
  void **inputs, **outputs;
  uint64_t *input_bytes; /* of tensors of numbers, else 0 */
  void *
      *handed_out; /* by the last runs: an output that comes back with it is the context's again */
  lumen_profile_entry *profile; /* one per launch, then per call; NULL: not enabled */
  bool is_pending;              /* lumen_driver.finish is due */
  bool takes_over;              /* this run has inputs that are results of the last one */
  bool *stays;                  /* by output: it need not leave the device */
  lumen_status failure;         /* of a run that was started, which nobody has asked for */
} context;

/* Writes code and text, and returns the code. */
int lumen_fail(lumen_status *status, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Zeroed memory aligned to LUMEN_ALIGNMENT, for free(). NULL where there is none. */
void *lumen_allocate(uint64_t size);
/* The same without zeroing, on huge pages where that pays. NULL also where the
 * machine has not that much memory, which overcommitting systems do not tell. */
void *lumen_allocate_large(uint64_t size);

/* lumen_kind of a value of the signature. */
static inline uint32_t lumen_kind_of(const lumen_abi_value *info) {
  return info->kind == LUMEN_ABI_TENSOR && info->dtype == LUMEN_ABI_STRING ? (uint32_t)LUMEN_STRINGS
                                                                           : info->kind;
}

/* A tensor that lies in memory as it is. */
static inline bool lumen_is_numbers(const lumen_abi_value *info) {
  return lumen_kind_of(info) == LUMEN_TENSOR;
}

/* "f32"; "type 77" for one that this runtime does not know is not worth a
 * buffer, so it is "unknown". */
const char *lumen_dtype_name(uint32_t dtype);
/* Elements of a tensor; UINT64_MAX when that overflows. */
uint64_t lumen_count(int32_t rank, const int64_t *shape);
/* Bytes of a row-major tensor; UINT64_MAX when that overflows or is not known. */
uint64_t lumen_tensor_bytes(uint32_t dtype, int32_t rank, const int64_t *dims);

/* weights.c: makes model->weights valid, and undoes it. */
int lumen_weights_open(model *model, lumen_status *status);
void lumen_weights_close(model *model);

/* values.c: checks a run's values against the signature. */
int lumen_check_inputs(const lumen_abi_model *abi, const lumen_value *inputs, uint32_t count,
                       bool with_data, lumen_status *status);
/* Lets (checked) inputs be results of the last run, whose next ones go elsewhere; fails where
 * the next run overwrites them all the same. */
int lumen_take_over(context *context, const lumen_value *inputs, lumen_status *status);
/* Given the (checked) inputs, which memory of the caller's for outputs must not overlap. */
int lumen_check_outputs(const context *context, const lumen_value *inputs,
                        const lumen_value *outputs, uint32_t count, lumen_status *status);

/* context.c, for the table in api.c. */
int lumen_context_create_impl(lumen_model *, const lumen_context_options *, lumen_context **,
                              lumen_status *);
void *lumen_context_release_impl(lumen_context *);
int lumen_output_shapes_impl(lumen_context *, const lumen_value *, uint32_t, lumen_shape *,
                             uint32_t, lumen_status *);
int lumen_run_impl(lumen_context *, const lumen_value *, uint32_t, lumen_value *, uint32_t,
                   lumen_status *);
int lumen_run_async_impl(lumen_context *, const lumen_value *, uint32_t, lumen_value *, uint32_t,
                         lumen_status *);
int lumen_synchronize_impl(lumen_context *, lumen_status *);
int lumen_is_done_impl(const lumen_context *);
int lumen_profile_enable_impl(lumen_context *, lumen_status *);
const lumen_profile_entry *lumen_profile_entries_impl(const lumen_context *, uint32_t *);
int lumen_arena_size_for_impl(lumen_model *, const lumen_value *, uint32_t, uint64_t *,
                              lumen_status *);
void lumen_context_memory_impl(const lumen_context *, lumen_context_memory_info *);

/* devices.c: opens the model on the device that the options or the environment say, or on
 * the best one, and makes that the model's. Contexts follow in their next run. */
int lumen_device_open(model *model, const char *wanted, lumen_status *status);
/* The device in force, to be released. */
device *lumen_device_acquire(model *model);
void lumen_device_release(device *device);
uint32_t lumen_devices_impl(const lumen_module *, lumen_device_info *, uint32_t);
void lumen_memory_info_impl(const lumen_model *, lumen_memory_info *);
int lumen_model_set_device_impl(lumen_model *, const char *device, lumen_status *);
int lumen_benchmark_impl(const lumen_module *, const char *device, lumen_device_rates *,
                         lumen_status *);

/* model.c */
int lumen_model_open_impl(const lumen_module *, const lumen_model_options *, lumen_model **,
                          lumen_status *);
void *lumen_model_release_impl(lumen_model *);
void lumen_model_info_impl(const lumen_model *, lumen_model_info *);
int lumen_level_info_impl(const lumen_model *, uint32_t, lumen_level_info *);

/* executor.c; the first checks an executor that the application brings. */
int lumen_check_executor(const lumen_executor *executor, lumen_status *status);
lumen_executor *lumen_executor_create_impl(uint32_t num_threads, lumen_status *status);

#endif
