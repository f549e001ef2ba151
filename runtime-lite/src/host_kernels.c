/* host_kernels.c - see host_kernels.h. */
#include "host_kernels.h"

#include "bindings.h"
#include "cpu.h"
#include "cpu_levels.h"
#include "guard.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A launch is cut into at most this many chunks per worker: enough for a worker
 * to take over from one that lost its core, few enough to cost nothing. */
enum { chunks_per_worker = 4 };

static uint64_t align(uint64_t size) {
  return (size + LUMEN_ALIGNMENT - 1) & ~(uint64_t)(LUMEN_ALIGNMENT - 1);
}

int lumen_host_kernels_open(lumen_host_kernels *kernels, const model *model, lumen_status *status) {
  const lumen_abi_model *abi = model->abi;
  uint64_t features;
  int code = lumen_cpu_check_kernels(abi, lumen_cpu_features(), status);
  if (!code && abi->guard && !abi->guard->is_there())
    code = lumen_fail(status, LUMEN_ERROR_UNSUPPORTED,
                      "%s: compiled with --sanitize=address, but the process has no "
                      "AddressSanitizer: link its runtime into the program, or preload it",
                      abi->name);
  if (!code)
    code = lumen_cpu_usable_features(abi, model->cpu_level, &features, status);
  if (code)
    return code;
  *kernels = (lumen_host_kernels){.abi = abi, .best_level = abi->num_levels};
  kernels->variants = lumen_allocate(abi->num_kernels * sizeof(*kernels->variants));
  if (!kernels->variants)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory to open it", abi->name);
  for (uint32_t k = 0; k < abi->num_kernels; ++k) {
    const lumen_abi_variant *variant = kernels->variants[k] = lumen_cpu_variant(abi, k, features);
    if (variant->scratch_size > kernels->scratch_size)
      kernels->scratch_size = align(variant->scratch_size);
    if (variant->level < kernels->best_level)
      kernels->best_level = variant->level;
  }
  if (abi->guard)
    kernels->scratch_size += lumen_guard_gap;
  return LUMEN_OK;
}

void lumen_host_kernels_close(lumen_host_kernels *kernels) { free(kernels->variants); }

bool lumen_host_workers_open(lumen_host_workers *workers, const lumen_host_kernels *kernels,
                             lumen_executor *executor) {
  workers->kernels = kernels;
  workers->executor = executor;
  workers->count = executor->num_workers(executor->self);
  workers->scratch_size = kernels->scratch_size * workers->count;
  workers->scratch = lumen_allocate_large(workers->scratch_size);
  return workers->scratch != NULL;
}

void lumen_host_workers_close(lumen_host_workers *workers) { free(workers->scratch); }

/* ---- Launches ----------------------------------------------------------- */

typedef struct chunked_launch {
  lumen_abi_cpu_kernel code;
  void *const *args;
  const int64_t *sizes;
  int64_t grid;
  uint32_t chunks;
  char *scratch;
  uint64_t scratch_size;
  atomic_flag is_recording; /* guards what follows */
  int fault;                /* lumen_abi_fault of the lowest chunk that had one */
  uint32_t fault_chunk;
  int64_t about[2]; /* what the kernel says of it */
} chunked_launch;

static void run_chunk(void *argument, uint32_t chunk, uint32_t worker) {
  chunked_launch *launch = argument;
  int64_t each = launch->grid / launch->chunks, rest = launch->grid % launch->chunks;
  int64_t begin = chunk * each + (chunk < rest ? chunk : rest);
  int64_t end = begin + each + (chunk < rest);
  char *scratch = launch->scratch + worker * launch->scratch_size;
  int fault = launch->code(launch->args, launch->sizes, begin, end, (int32_t)worker, scratch);
  if (!fault)
    return;
  /* The lowest chunk's is told, whichever comes first, so that every run says the same. */
  while (atomic_flag_test_and_set(&launch->is_recording)) {
  }
  if (!launch->fault || chunk < launch->fault_chunk) {
    launch->fault = fault;
    launch->fault_chunk = chunk;
    memcpy(launch->about, scratch, sizeof(launch->about));
  }
  atomic_flag_clear(&launch->is_recording);
}

/* Not below the grain; a multiple of the workers where there are enough. */
static uint32_t count_chunks(int64_t grid, int64_t grain, uint32_t workers) {
  int64_t most = grain > 1 ? grid / grain : grid;
  if (workers <= 1 || most <= 1)
    return 1;
  int64_t wanted = (int64_t)workers * chunks_per_worker;
  if (most >= wanted)
    return (uint32_t)wanted;
  return (uint32_t)(most >= workers ? most - most % workers : most);
}

int lumen_fail_fault(const lumen_abi_model *abi, const lumen_abi_launch *launch,
                     const int64_t about[2], lumen_status *status) {
  return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                    "%s: %s: index %lld lies outside a dimension of %lld", abi->name, launch->nodes,
                    (long long)about[0], (long long)about[1]);
}

int lumen_host_launch(const lumen_host_workers *workers, const lumen_abi_launch *launch,
                      void *const *args, const int64_t *sizes, int64_t grid, lumen_status *status) {
  const lumen_host_kernels *kernels = workers->kernels;
  const lumen_abi_variant *variant = kernels->variants[launch->kernel];
  if (grid <= 0)
    return LUMEN_OK;
  lumen_abi_cpu_kernel code;
  memcpy(&code, &variant->code, sizeof(code));
  uint32_t chunks = count_chunks(grid, variant->grain, workers->count);
  int fault;
  const int64_t *about;
  chunked_launch job;
  if (chunks <= 1) {
    fault = code(args, sizes, 0, grid, 0, workers->scratch);
    about = (const int64_t *)(const void *)workers->scratch;
  } else {
    job = (chunked_launch){.code = code,
                           .args = args,
                           .sizes = sizes,
                           .grid = grid,
                           .chunks = chunks,
                           .scratch = workers->scratch,
                           .scratch_size = kernels->scratch_size,
                           .is_recording = ATOMIC_FLAG_INIT};
    workers->executor->parallel_for(workers->executor->self, chunks, run_chunk, &job);
    fault = job.fault;
    about = job.about;
  }
  return fault ? lumen_fail_fault(kernels->abi, launch, about, status) : LUMEN_OK;
}

int lumen_host_inits(const model *model, const lumen_host_kernels *kernels, char *init,
                     lumen_status *status) {
  const lumen_abi_model *abi = model->abi;
  lumen_host_workers workers = {0};
  void **args = lumen_allocate(lumen_count_args(abi, abi->inits, abi->num_inits) * sizeof(void *));
  int code = LUMEN_OK;
  if (!lumen_host_workers_open(&workers, kernels, model->executor) || !args)
    code = lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory to prepare its weights",
                      abi->name);
  for (uint32_t i = 0; i < abi->num_inits && !code; ++i) {
    const lumen_abi_launch *launch = &abi->inits[i];
    for (uint32_t a = 0; a < abi->kernels[launch->kernel].num_args; ++a) {
      const lumen_abi_buffer *buffer = &abi->buffers[abi->arg_buffers[launch->first_arg + a]];
      const lumen_abi_storage *storage = &abi->storages[buffer->storage];
      args[a] = (storage->region == LUMEN_ABI_INIT ? init : (char *)model->weights) +
                storage->offset + buffer->offset;
    }
    int64_t grid = lumen_grid_of(kernels->variants[launch->kernel], NULL);
    code = lumen_host_launch(&workers, launch, args, NULL, grid, status);
  }
  lumen_host_workers_close(&workers);
  free(args);
  return code;
}
