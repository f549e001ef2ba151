/* driver_cpu.c - the host. */
#define _GNU_SOURCE
#include "call.h"
#include "cpu.h"
#include "cpu_levels.h"
#include "driver.h"
#include "plan.h"
#include "steps.h"
#include "storages.h"
#include "threads.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A launch is cut into at most this many chunks per worker: enough for a worker
 * to take over from one that lost its core, few enough to cost nothing. */
enum { chunks_per_worker = 4 };

typedef struct cpu_model {
  const lumen_abi_variant **variants; /* the chosen one of each kernel */
  char *init;                         /* INIT region */
  uint64_t scratch_size;              /* per worker, a multiple of the alignment */
  uint32_t best_level;                /* most demanding level in use */
  uint32_t num_args;                  /* entries of abi->arg_buffers */
} cpu_model;

typedef struct cpu_context {
  char *arena; /* the caller's or arena_owned */
  char *arena_owned;
  uint64_t arena_capacity;
  char *scratch;
  uint64_t scratch_size; /* of all workers */
  uint64_t plan_id;      /* that `args` and `sizes` were made for */
  lumen_storages storages;
  void **args;       /* like abi->arg_buffers */
  int64_t *sizes;    /* like abi->size_exprs */
  uint32_t *varying; /* positions in args of inputs and outputs */
  uint32_t num_varying;
  bool *is_late;        /* by launch: some arguments or sizes are known when it comes only */
  bool *is_undefined;   /* by launch: of these shapes it cannot be, if it comes */
  void **owned_outputs; /* memory of outputs that the caller does not bring */
  uint64_t *owned_capacity;
} cpu_context;

static uint64_t align(uint64_t size) {
  return (size + LUMEN_ALIGNMENT - 1) & ~(uint64_t)(LUMEN_ALIGNMENT - 1);
}

static uint64_t aligned_size(uint64_t size) { return size ? align(size) : 0; }

/* ---- The device --------------------------------------------------------- */

static uint64_t meminfo(const char *text, const char *key) {
  const char *at = strstr(text, key);
  return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

static uint32_t cpu_enumerate(lumen_device_info *devices, uint32_t capacity) {
  if (!capacity)
    return 1;
  lumen_device_info *info = devices;
  memset(info, 0, sizeof(*info));
  strcpy(info->kind, "cpu");
  lumen_cpu_name(info->name);
  char text[2048];
  if (lumen_read_file("/proc/meminfo", text, sizeof(text)) > 0) {
    info->memory_total = meminfo(text, "MemTotal:");
    info->memory_available = meminfo(text, "MemAvailable:");
  }
  return 1;
}

static double cpu_score(const lumen_abi_model *abi, uint32_t device, lumen_status *reason) {
  (void)device;
  uint64_t features = lumen_cpu_features();
  if (lumen_cpu_check_kernels(abi, features, reason))
    return 0;
  /* GFLOP/s to be expected of one core, roughly. */
  double core = features & (LUMEN_ABI_X86_V3 | LUMEN_ABI_X86_V4) ? 100 : 30;
  return core * lumen_available_cpus();
}

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

static int run_launch(const model *model, const cpu_model *state, const lumen_abi_launch *launch,
                      void *const *args, const int64_t *sizes, char *scratch,
                      lumen_executor *executor, lumen_status *status) {
  const lumen_abi_variant *variant = state->variants[launch->kernel];
  if (sizes)
    sizes += launch->first_size;
  chunked_launch job = {.is_recording = ATOMIC_FLAG_INIT,
                        .args = args,
                        .sizes = sizes,
                        .grid = variant->grid_fn ? variant->grid_fn(sizes) : variant->grid,
                        .scratch = scratch,
                        .scratch_size = state->scratch_size};
  memcpy(&job.code, &variant->code, sizeof(job.code));
  if (job.grid <= 0)
    return LUMEN_OK;
  job.chunks = count_chunks(job.grid, variant->grain, executor->num_workers(executor->self));
  if (job.chunks == 1)
    run_chunk(&job, 0, 0);
  else
    executor->parallel_for(executor->self, job.chunks, run_chunk, &job);
  if (!job.fault)
    return LUMEN_OK;
  return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                    "%s: %s: index %lld lies outside a dimension of %lld", model->abi->name,
                    launch->nodes, (long long)job.about[0], (long long)job.about[1]);
}

static char *allocate_scratch(const cpu_model *state, lumen_executor *executor, uint64_t *size) {
  *size = state->scratch_size * executor->num_workers(executor->self);
  return lumen_allocate_large(*size);
}

/* ---- Models ------------------------------------------------------------- */

static void free_state(cpu_model *state) {
  free(state->variants);
  free(state->init);
  free(state);
}

static void choose_variants(const lumen_abi_model *abi, uint64_t features, cpu_model *state) {
  state->best_level = abi->num_levels;
  for (uint32_t k = 0; k < abi->num_kernels; ++k) {
    const lumen_abi_variant *variant = state->variants[k] = lumen_cpu_variant(abi, k, features);
    if (variant->scratch_size > state->scratch_size)
      state->scratch_size = aligned_size(variant->scratch_size);
    if (variant->level < state->best_level)
      state->best_level = variant->level;
  }
}

static uint32_t last_arg(const lumen_abi_model *abi, const lumen_abi_launch *launches,
                         uint32_t count) {
  uint32_t last = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t end = launches[i].first_arg + abi->kernels[launches[i].kernel].num_args;
    last = end > last ? end : last;
  }
  return last;
}

/* Init kernels read weights and write the INIT region. */
static int run_inits(model *model, cpu_model *state, lumen_status *status) {
  const lumen_abi_model *abi = model->abi;
  if (!abi->num_inits)
    return LUMEN_OK;
  uint64_t scratch_size;
  char *scratch = allocate_scratch(state, model->executor, &scratch_size);
  void **args = lumen_allocate(state->num_args * sizeof(void *));
  state->init = lumen_allocate_large(abi->init_size);
  int code = LUMEN_OK;
  if (!scratch || !args || !state->init)
    code = lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory to prepare its weights",
                      abi->name);
  for (uint32_t i = 0; i < abi->num_inits && !code; ++i) {
    const lumen_abi_launch *init = &abi->inits[i];
    for (uint32_t a = 0; a < abi->kernels[init->kernel].num_args; ++a) {
      const lumen_abi_buffer *buffer = &abi->buffers[abi->arg_buffers[init->first_arg + a]];
      const lumen_abi_storage *storage = &abi->storages[buffer->storage];
      args[a] = (storage->region == LUMEN_ABI_INIT ? state->init : (char *)model->weights) +
                storage->offset + buffer->offset;
    }
    code = run_launch(model, state, init, args, NULL, scratch, model->executor, status);
  }
  free(scratch);
  free(args);
  return code;
}

static int cpu_open(model *model, const lumen_model_options *options, lumen_status *status) {
  const lumen_abi_model *abi = model->abi;
  uint64_t features;
  int code = lumen_cpu_check_kernels(abi, lumen_cpu_features(), status);
  if (!code)
    code = lumen_cpu_usable_features(abi, options, &features, status);
  if (code)
    return code;
  cpu_model *state = lumen_allocate(sizeof(*state));
  if (state)
    state->variants = lumen_allocate(abi->num_kernels * sizeof(*state->variants));
  if (!state || !state->variants) {
    free(state);
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory to open it", abi->name);
  }
  choose_variants(abi, features, state);
  uint32_t launches = last_arg(abi, abi->launches, abi->num_launches);
  uint32_t inits = last_arg(abi, abi->inits, abi->num_inits);
  state->num_args = launches > inits ? launches : inits;
  code = run_inits(model, state, status);
  if (code) {
    free_state(state);
    return code;
  }
  atomic_fetch_add(&model->memory_used, abi->init_size);
  model->device_state = state;
  return LUMEN_OK;
}

static void cpu_close(model *model) { free_state(model->device_state); }

static void cpu_describe(const model *model, lumen_model_info *info) {
  const cpu_model *state = model->device_state;
  info->scratch_size = state->scratch_size;
  if (state->best_level < model->abi->num_levels)
    info->level = model->abi->levels[state->best_level].name;
}

static void cpu_describe_level(const model *model, uint32_t index, lumen_level_info *info) {
  const cpu_model *state = model->device_state;
  info->available = lumen_cpu_level_fits(model->abi, index, lumen_cpu_features());
  for (uint32_t k = 0; k < model->abi->num_kernels; ++k)
    info->num_kernels += state->variants[k]->level == index;
}

static const char *cpu_launch_level(const model *model, uint32_t launch) {
  const cpu_model *state = model->device_state;
  const lumen_abi_model *abi = model->abi;
  return abi->levels[state->variants[abi->launches[launch].kernel]->level].name;
}

/* ---- Contexts ----------------------------------------------------------- */

static void cpu_context_close(context *context) {
  cpu_context *state = context->device_state;
  const model *model = context->model;
  uint64_t used = state->scratch_size + state->storages.heap.capacity +
                  (state->arena_owned ? state->arena_capacity : 0);
  for (uint32_t i = 0; i < model->abi->num_outputs; ++i) {
    used += state->owned_capacity ? state->owned_capacity[i] : 0;
    if (state->owned_outputs)
      free(state->owned_outputs[i]);
  }
  atomic_fetch_sub(&context->model->memory_used, used);
  free(state->arena_owned);
  free(state->scratch);
  free(state->args);
  free(state->sizes);
  free(state->is_late);
  free(state->is_undefined);
  lumen_storages_close(&state->storages);
  free(state->varying);
  free(state->owned_outputs);
  free(state->owned_capacity);
  free(state);
  context->device_state = NULL;
}

/* The arena as large as the plan says. */
static int fit_arena(context *context, cpu_context *state, lumen_status *status) {
  const char *name = context->model->abi->name;
  uint64_t size = context->plan->arena_size;
  if (context->arena) {
    state->arena = context->arena;
    if (size > context->arena_capacity)
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "the arena has %llu bytes, expected at least %llu for these shapes",
                        (unsigned long long)context->arena_capacity, (unsigned long long)size);
    return LUMEN_OK;
  }
  if (state->arena_owned && size <= state->arena_capacity)
    return LUMEN_OK;
  free(state->arena_owned);
  if (state->arena_owned)
    atomic_fetch_sub(&context->model->memory_used, state->arena_capacity);
  state->arena_capacity = 0;
  state->arena = state->arena_owned = lumen_allocate_large(size);
  if (!state->arena)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for an arena of %llu bytes",
                      name, (unsigned long long)size);
  state->arena_capacity = size;
  atomic_fetch_add(&context->model->memory_used, state->arena_capacity);
  return LUMEN_OK;
}

/* Memory of the outputs that the caller may leave to the context. */
static int fit_outputs(context *context, cpu_context *state, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; i < abi->num_outputs; ++i) {
    const lumen_abi_value *info = &abi->outputs[i];
    uint64_t bytes = context->plan->output_bytes[i];
    /* One without a bound lies in the heap, once the run has made it. */
    if (bytes == UINT64_MAX || (state->owned_outputs[i] && bytes <= state->owned_capacity[i]))
      continue;
    free(state->owned_outputs[i]);
    /* Whoever is given that address next is not the context. */
    context->handed_out[i] = NULL;
    atomic_fetch_sub(&context->model->memory_used, state->owned_capacity[i]);
    state->owned_capacity[i] = 0;
    state->owned_outputs[i] = lumen_allocate_large(bytes);
    if (!state->owned_outputs[i])
      return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY,
                        "output '%s': no memory for its %llu bytes", info->name,
                        (unsigned long long)bytes);
    state->owned_capacity[i] = bytes;
    atomic_fetch_add(&context->model->memory_used, bytes);
  }
  return LUMEN_OK;
}

/* Where a storage begins, but for what steps move. */
static void place(const context *context, cpu_context *state, uint32_t index) {
  const lumen_abi_storage *storage = &context->model->abi->storages[index];
  const cpu_model *device = context->model->device_state;
  char *base = NULL;
  uint64_t space = UINT64_MAX, offset = storage->offset;
  switch ((lumen_abi_region)storage->region) {
  case LUMEN_ABI_ARENA:
    base = state->arena;
    offset = context->plan->offsets[index];
    /* resolve() refuses what has no size. */
    space = storage->size_expr == LUMEN_ABI_NONE
                ? storage->size
                : (uint64_t)context->plan->values[storage->size_expr];
    break;
  case LUMEN_ABI_WEIGHTS:
    base = (char *)context->model->weights;
    break;
  case LUMEN_ABI_INPUT:
    base = context->inputs[storage->index];
    break;
  case LUMEN_ABI_OUTPUT:
    base = context->outputs[storage->index];
    space = context->plan->output_bytes[storage->index];
    break;
  case LUMEN_ABI_INIT:
    base = device->init;
    break;
  case LUMEN_ABI_HEAP:
    return;
  }
  state->storages.bases[index] = base ? base + offset : NULL;
  state->storages.space[index] = space;
}

/* Address of a buffer; NULL where its storage is not there. */
static int resolve(const context *context, const cpu_context *state, uint32_t index, void **address,
                   lumen_status *status) {
  const lumen_abi_buffer *buffer = &context->model->abi->buffers[index];
  char *base = state->storages.bases[buffer->storage];
  *address = NULL;
  if (!base)
    return LUMEN_OK;
  int code = lumen_check_storage(context->model->abi, context->plan, buffer->storage, status);
  if (code)
    return code;
  uint64_t offset = buffer->offset;
  if (buffer->offset_expr != LUMEN_ABI_NONE) {
    int64_t more;
    code = lumen_value_of(context->model->abi, context->plan, buffer->offset_expr, &more, status);
    if (code)
      return code;
    uint64_t space = state->storages.space[buffer->storage];
    /* Every part of nothing is nothing, wherever its sizes put it. */
    if (!space)
      more = 0, offset = 0;
    if (more < 0 || (uint64_t)more > space || offset > space - (uint64_t)more)
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "%s: a part of a value would begin at byte %lld of %llu",
                        context->model->abi->name, (long long)more, (unsigned long long)space);
    offset += (uint64_t)more;
  }
  *address = base + offset;
  return LUMEN_OK;
}

static bool is_late_expr(const lumen_abi_model *abi, uint32_t expr) {
  return expr != LUMEN_ABI_NONE && expr >= abi->num_entry_exprs;
}

static bool is_late_buffer(const lumen_abi_model *abi, const cpu_context *state, uint32_t index) {
  const lumen_abi_buffer *buffer = &abi->buffers[index];
  uint32_t region = abi->storages[buffer->storage].region;
  /* Where a part lies in what every run brings anew may be undefined, which counts only if
   * the launch comes. */
  if (abi->num_steps && buffer->offset_expr != LUMEN_ABI_NONE &&
      (region == LUMEN_ABI_INPUT || region == LUMEN_ABI_OUTPUT))
    return true;
  return state->storages.moves[buffer->storage] || is_late_expr(abi, buffer->offset_expr);
}

static void find_late_launches(const lumen_abi_model *abi, cpu_context *state) {
  for (uint32_t l = 0; l < abi->num_launches; ++l) {
    const lumen_abi_launch *launch = &abi->launches[l];
    for (uint32_t a = 0; a < abi->kernels[launch->kernel].num_args; ++a)
      state->is_late[l] |= is_late_buffer(abi, state, abi->arg_buffers[launch->first_arg + a]);
    for (uint32_t s = 0; s < launch->num_sizes; ++s)
      state->is_late[l] |= is_late_expr(abi, abi->size_exprs[launch->first_size + s]);
  }
}

/* The sizes of a launch in state->sizes. */
static int resolve_sizes(const context *context, cpu_context *state, const lumen_abi_launch *launch,
                         lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  int code = LUMEN_OK;
  for (uint32_t s = launch->first_size; s < launch->first_size + launch->num_sizes && !code; ++s)
    code = lumen_value_of(abi, context->plan, abi->size_exprs[s], &state->sizes[s], status);
  return code;
}

/* Arguments and sizes of a launch that is not late, as far as they stay the same. */
static int resolve_launch(const context *context, cpu_context *state,
                          const lumen_abi_launch *launch, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  int code = resolve_sizes(context, state, launch, status);
  for (uint32_t a = 0; a < abi->kernels[launch->kernel].num_args && !code; ++a) {
    uint32_t at = launch->first_arg + a, index = abi->arg_buffers[at];
    uint32_t region = abi->storages[abi->buffers[index].storage].region;
    if (region == LUMEN_ABI_INPUT || region == LUMEN_ABI_OUTPUT)
      state->varying[state->num_varying++] = at;
    else
      code = resolve(context, state, index, &state->args[at], status);
  }
  return code;
}

/* Follows a new plan: memory, and the arguments and sizes that stay the same. */
static int follow_plan(context *context, lumen_status *status) {
  cpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  state->plan_id = 0;
  int code = fit_arena(context, state, status);
  if (!code)
    code = fit_outputs(context, state, status);
  if (code)
    return code;
  for (uint32_t i = 0; i < abi->num_storages; ++i)
    place(context, state, i);
  state->num_varying = 0;
  for (uint32_t l = 0; l < abi->num_launches && !code; ++l) {
    if (state->is_late[l])
      continue;
    bool is_sure = !abi->num_steps;
    code = resolve_launch(context, state, &abi->launches[l], is_sure ? status : NULL);
    state->is_undefined[l] = code != LUMEN_OK;
    if (!is_sure)
      code = LUMEN_OK;
  }
  if (!code)
    state->plan_id = context->plan->id;
  return code;
}

static uint32_t count_args(const lumen_abi_model *abi) {
  uint32_t count = 0;
  for (uint32_t l = 0; l < abi->num_launches; ++l)
    count += abi->kernels[abi->launches[l].kernel].num_args;
  return count;
}

static int cpu_context_open(context *context, lumen_status *status) {
  const model *model = context->model;
  const lumen_abi_model *abi = model->abi;
  const cpu_model *device = model->device_state;
  cpu_context *state = lumen_allocate(sizeof(*state));
  int code = LUMEN_OK;
  if (state) {
    context->device_state = state;
    state->scratch = allocate_scratch(device, context->executor, &state->scratch_size);
    atomic_fetch_add(&context->model->memory_used, state->scratch_size);
    state->args = lumen_allocate(device->num_args * sizeof(void *));
    state->sizes = lumen_allocate(abi->num_size_exprs * sizeof(int64_t));
    state->varying = lumen_allocate(count_args(abi) * sizeof(uint32_t));
    state->is_late = lumen_allocate(abi->num_launches * sizeof(bool));
    state->is_undefined = lumen_allocate(abi->num_launches * sizeof(bool));
    state->owned_outputs = lumen_allocate(abi->num_outputs * sizeof(void *));
    state->owned_capacity = lumen_allocate(abi->num_outputs * sizeof(uint64_t));
  }
  if (!state || !state->scratch || !state->args || !state->sizes || !state->varying ||
      !state->is_late || !state->is_undefined || !state->owned_outputs || !state->owned_capacity ||
      !lumen_storages_open(&state->storages, abi))
    code = lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a context", abi->name);
  else
    find_late_launches(abi, state);
  if (!code && context->plan)
    code = follow_plan(context, status);
  if (code && state)
    cpu_context_close(context);
  return code;
}

/* ---- Runs --------------------------------------------------------------- */

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Adds the time since `begin` to an entry of the profile. */
static void account(lumen_profile_entry *entry, uint64_t begin) {
  uint64_t spent = now() - begin;
  ++entry->count;
  entry->total_ns += spent;
  if (spent < entry->min_ns)
    entry->min_ns = spent;
}

static int step(context *context, uint32_t index, lumen_status *status) {
  cpu_context *state = context->device_state;
  const model *model = context->model;
  const cpu_model *device = model->device_state;
  const lumen_abi_launch *launch = &model->abi->launches[index];
  lumen_profile_entry *entry = context->profile ? &context->profile[index] : NULL;
  uint64_t begin = entry ? now() : 0;
  int code = run_launch(model, device, launch, state->args + launch->first_arg, state->sizes,
                        state->scratch, context->executor, status);
  if (entry)
    account(entry, begin);
  return code;
}

/* ---- Steps -------------------------------------------------------------- */

static int do_launch(context *context, uint32_t index, lumen_status *status) {
  cpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  const lumen_abi_launch *launch = &abi->launches[index];
  int code = LUMEN_OK;
  if (state->is_late[index] || state->is_undefined[index]) {
    uint32_t end = launch->first_arg + abi->kernels[launch->kernel].num_args;
    code = resolve_sizes(context, state, launch, status);
    for (uint32_t at = launch->first_arg; at < end && !code; ++at)
      code = resolve(context, state, abi->arg_buffers[at], &state->args[at], status);
  }
  return code ? code : step(context, index, status);
}

static int do_read(context *context, uint32_t buffer, void *value, uint64_t size,
                   lumen_status *status) {
  void *address;
  int code = resolve(context, context->device_state, buffer, &address, status);
  if (!code && address)
    memcpy(value, address, size);
  return code;
}

static int do_alloc(context *context, uint32_t index, uint64_t size, lumen_status *status) {
  cpu_context *state = context->device_state;
  const lumen_abi_storage *storage = &context->model->abi->storages[index];
  /* An output with a bound has its memory already. */
  if (storage->region == LUMEN_ABI_OUTPUT && context->outputs[storage->index]) {
    if (size <= state->storages.space[index])
      return LUMEN_OK;
    return lumen_fail(status, LUMEN_ERROR_MODEL,
                      "output '%s': has %llu bytes, expected at most %llu",
                      context->model->abi->outputs[storage->index].name, (unsigned long long)size,
                      (unsigned long long)state->storages.space[index]);
  }
  return lumen_storage_alloc(&state->storages, index, size, status);
}

static int do_release(context *context, uint32_t index, lumen_status *status) {
  (void)status;
  cpu_context *state = context->device_state;
  lumen_storage_free(&state->storages, index);
  return LUMEN_OK;
}

static int do_swap(context *context, uint32_t a, uint32_t b, lumen_status *status) {
  (void)status;
  cpu_context *state = context->device_state;
  lumen_storage_swap(&state->storages, a, b);
  return LUMEN_OK;
}

static int do_move(context *context, uint32_t to, uint32_t from, lumen_status *status) {
  cpu_context *state = context->device_state;
  lumen_storages *storages = &state->storages;
  const lumen_abi_storage *storage = &context->model->abi->storages[to];
  if (storage->region != LUMEN_ABI_OUTPUT || !context->outputs[storage->index]) {
    lumen_storage_move(storages, to, from);
    return LUMEN_OK;
  }
  /* An output with a bound has its memory already; what lies behind the value in
   * its block does not matter. */
  uint64_t bytes =
      storages->space[from] < storages->space[to] ? storages->space[from] : storages->space[to];
  if (storages->used[from] > bytes)
    return lumen_fail(status, LUMEN_ERROR_MODEL,
                      "output '%s': has %llu bytes, expected at most %llu",
                      context->model->abi->outputs[storage->index].name,
                      (unsigned long long)storages->used[from], (unsigned long long)bytes);
  if (bytes)
    memcpy(storages->bases[to], storages->bases[from], bytes);
  lumen_storage_free(storages, from);
  return LUMEN_OK;
}

static int do_append(context *context, uint32_t to, uint32_t buffer, uint64_t size,
                     lumen_status *status) {
  cpu_context *state = context->device_state;
  void *address;
  int code = resolve(context, state, buffer, &address, status);
  return code ? code : lumen_storage_append(&state->storages, to, address, size, status);
}

/* Builds the frame of a call, in memory that is given back when it has returned. */
static int do_call(context *context, uint32_t index, lumen_status *status) {
  cpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  const lumen_abi_call *call = &abi->calls[index];
  lumen_heap *heap = &state->storages.heap;
  uint64_t num_inputs = call->num_inputs, num_outputs = call->num_outputs;
  char *memory =
      lumen_heap_alloc(heap, num_inputs * (sizeof(lumen_value) + sizeof(lumen_value *)) +
                                 num_outputs * sizeof(char *) + call->num_sizes * sizeof(int64_t));
  if (!memory)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: %s: no memory for %llu arguments",
                      abi->name, call->node, (unsigned long long)(num_inputs + num_outputs));
  lumen_value *tensors = (lumen_value *)memory;
  const lumen_value **inputs = (const lumen_value **)(tensors + num_inputs);
  char **outputs = (char **)(inputs + num_inputs);
  int64_t *shape = (int64_t *)(outputs + num_outputs);
  int code = LUMEN_OK;
  for (uint32_t s = 0; s < call->num_sizes && !code; ++s)
    code = lumen_value_of(abi, context->plan, abi->size_exprs[call->first_size + s], &shape[s],
                          status);
  for (uint32_t i = 0; i < num_inputs && !code; ++i) {
    const lumen_abi_call_arg *arg = &call->args[i];
    void *address = NULL;
    inputs[i] = NULL;
    if (arg->buffer == LUMEN_ABI_NONE)
      continue;
    code = resolve(context, state, arg->buffer, &address, status);
    if (arg->kind == LUMEN_ABI_CALL_VALUE) {
      inputs[i] = address;
      continue;
    }
    /* An input that the caller has left out. */
    const lumen_abi_storage *storage = &abi->storages[abi->buffers[arg->buffer].storage];
    if (!address && storage->region == LUMEN_ABI_INPUT &&
        lumen_tensor_bytes(arg->dtype, arg->rank, shape) != 0) {
      shape += arg->rank;
      continue;
    }
    tensors[i] = lumen_tensor_value(address, (lumen_dtype)arg->dtype, arg->rank, shape);
    shape += arg->rank;
    inputs[i] = &tensors[i];
  }
  for (uint32_t i = 0; i < num_outputs && !code; ++i) {
    const lumen_abi_call_arg *arg = &call->args[num_inputs + i];
    const lumen_abi_storage *storage = &abi->storages[abi->buffers[arg->buffer].storage];
    void *address = NULL;
    /* An output without a bound is allocated by the call, each time anew. */
    if (storage->region != LUMEN_ABI_OUTPUT || context->outputs[storage->index])
      code = resolve(context, state, arg->buffer, &address, status);
    outputs[i] = address;
  }
  lumen_abi_call_frame frame = {.abi = abi,
                                .call = call,
                                .storages = &state->storages,
                                .status = status,
                                .inputs = inputs,
                                .outputs = outputs};
  lumen_profile_entry *entry =
      context->profile ? &context->profile[abi->num_launches + index] : NULL;
  uint64_t begin = entry ? now() : 0;
  if (!code)
    code = call->function(&frame);
  if (entry)
    account(entry, begin);
  lumen_heap_release(heap, memory);
  return code;
}

static const lumen_step_actions actions = {.launch = do_launch,
                                           .read = do_read,
                                           .alloc = do_alloc,
                                           .release = do_release,
                                           .swap = do_swap,
                                           .move = do_move,
                                           .append = do_append,
                                           .call = do_call};

/* Runs the steps of a model that has them. */
static int run_steps(context *context, lumen_status *status) {
  cpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  uint64_t heap_before = state->storages.heap.capacity;
  lumen_storages_reset(&state->storages);
  for (uint32_t i = 0; i < abi->num_storages; ++i)
    place(context, state, i);
  int code = lumen_run_steps(context, &actions, status);
  /* Outputs without a bound are where the steps have put them. */
  for (uint32_t i = 0; i < abi->num_storages; ++i)
    if (abi->storages[i].region == LUMEN_ABI_OUTPUT && !context->outputs[abi->storages[i].index])
      context->outputs[abi->storages[i].index] = state->storages.bases[i];
  atomic_fetch_add(&context->model->memory_used, state->storages.heap.capacity - heap_before);
  return code;
}

static int cpu_run(context *context, lumen_status *status) {
  cpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  int code = LUMEN_OK;
  if (state->plan_id != context->plan->id)
    code = follow_plan(context, status);
  for (uint32_t i = 0; i < abi->num_outputs && !code; ++i)
    if (!context->outputs[i] && context->plan->output_bytes[i] != UINT64_MAX)
      context->outputs[i] = state->owned_outputs[i];
  for (uint32_t i = 0; i < abi->num_storages && !code; ++i)
    if (abi->storages[i].region == LUMEN_ABI_INPUT || abi->storages[i].region == LUMEN_ABI_OUTPUT)
      place(context, state, i);
  for (uint32_t i = 0; i < state->num_varying && !code; ++i) {
    uint32_t at = state->varying[i];
    code = resolve(context, state, abi->arg_buffers[at], &state->args[at], status);
  }
  if (code || abi->num_steps)
    return code ? code : run_steps(context, status);
  for (uint32_t i = 0; i < abi->num_launches && !code; ++i)
    code = step(context, i, status);
  return code;
}

static void cpu_context_memory(const context *context, lumen_context_memory_info *info) {
  const cpu_context *state = context->device_state;
  info->arena_capacity = context->arena ? context->arena_capacity : state->arena_capacity;
  info->heap_high_water = state->storages.heap.high_water;
  info->heap_capacity = state->storages.heap.capacity;
  info->scratch_size = state->scratch_size;
  for (uint32_t i = 0; i < context->model->abi->num_outputs; ++i)
    info->output_capacity += state->owned_capacity[i];
}

static uint32_t cpu_owner(const context *context, const void *address) {
  const cpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; i < abi->num_outputs; ++i)
    if ((uintptr_t)address - (uintptr_t)state->owned_outputs[i] < state->owned_capacity[i])
      return i;
  if (!lumen_heap_holds(&state->storages.heap, address))
    return LUMEN_ABI_NONE;
  for (uint32_t i = 0; i < abi->num_outputs; ++i)
    if (address == context->handed_out[i])
      return i;
  return abi->num_outputs;
}

static int cpu_synchronize(context *context, lumen_status *status) {
  (void)context;
  (void)status;
  return LUMEN_OK;
}

const lumen_driver lumen_driver_cpu = {.kind = "cpu",
                                       .enumerate = cpu_enumerate,
                                       .score = cpu_score,
                                       .open = cpu_open,
                                       .close = cpu_close,
                                       .describe = cpu_describe,
                                       .describe_level = cpu_describe_level,
                                       .launch_level = cpu_launch_level,
                                       .context_open = cpu_context_open,
                                       .context_close = cpu_context_close,
                                       .context_memory = cpu_context_memory,
                                       .owner = cpu_owner,
                                       .run = cpu_run,
                                       .synchronize = cpu_synchronize};
