/* driver_cpu.c - the host. */
#define _GNU_SOURCE
#include "bindings.h"
#include "call.h"
#include "cpu.h"
#include "cpu_levels.h"
#include "driver.h"
#include "guard.h"
#include "nodes.h"
#include "steps.h"
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
} cpu_model;

typedef struct cpu_context {
  char *arena; /* the caller's or arena_owned */
  char *arena_owned;
  uint64_t arena_capacity;
  char *scratch;
  uint64_t scratch_size; /* of all workers */
  uint32_t num_workers;
  uint64_t plan_id; /* that the storages were placed for */
  lumen_storages storages;
  lumen_bindings bindings;
  void **owned_outputs; /* memory of outputs that the caller does not bring */
  uint64_t *owned_capacity;
  int64_t *extents; /* of a launch's arguments, where there is a guard */
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

/* What a launch runs with. */
typedef struct resources {
  const model *model;
  lumen_executor *executor;
  uint32_t num_workers; /* of the executor */
  char *scratch;        /* of all workers */
} resources;

/* All units of the grid. */
static int run_launch(const resources *with, const lumen_abi_launch *launch, void *const *args,
                      const int64_t *sizes, int64_t grid, lumen_status *status) {
  const cpu_model *state = with->model->device_state;
  const lumen_abi_variant *variant = state->variants[launch->kernel];
  if (grid <= 0)
    return LUMEN_OK;
  lumen_abi_cpu_kernel code;
  memcpy(&code, &variant->code, sizeof(code));
  uint32_t chunks = count_chunks(grid, variant->grain, with->num_workers);
  int fault;
  const int64_t *about;
  chunked_launch job;
  if (chunks <= 1) {
    fault = code(args, sizes, 0, grid, 0, with->scratch);
    about = (const int64_t *)(const void *)with->scratch;
  } else {
    job = (chunked_launch){.code = code,
                           .args = args,
                           .sizes = sizes,
                           .grid = grid,
                           .chunks = chunks,
                           .scratch = with->scratch,
                           .scratch_size = state->scratch_size,
                           .is_recording = ATOMIC_FLAG_INIT};
    with->executor->parallel_for(with->executor->self, chunks, run_chunk, &job);
    fault = job.fault;
    about = job.about;
  }
  if (!fault)
    return LUMEN_OK;
  return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                    "%s: %s: index %lld lies outside a dimension of %lld", with->model->abi->name,
                    launch->nodes, (long long)about[0], (long long)about[1]);
}

static char *allocate_scratch(const cpu_model *state, uint32_t num_workers, uint64_t *size) {
  *size = state->scratch_size * num_workers;
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
  if (abi->guard)
    state->scratch_size += lumen_guard_gap;
}

/* Init kernels read weights and write the INIT region. */
static int run_inits(model *model, cpu_model *state, lumen_status *status) {
  const lumen_abi_model *abi = model->abi;
  if (!abi->num_inits)
    return LUMEN_OK;
  uint64_t scratch_size;
  uint32_t num_workers = model->executor->num_workers(model->executor->self);
  char *scratch = allocate_scratch(state, num_workers, &scratch_size);
  void **args = lumen_allocate(lumen_count_args(abi, abi->inits, abi->num_inits) * sizeof(void *));
  state->init = lumen_allocate_large(abi->init_size);
  int code = LUMEN_OK;
  if (!scratch || !args || !state->init)
    code = lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory to prepare its weights",
                      abi->name);
  resources with = {model, model->executor, num_workers, scratch};
  for (uint32_t i = 0; i < abi->num_inits && !code; ++i) {
    const lumen_abi_launch *init = &abi->inits[i];
    for (uint32_t a = 0; a < abi->kernels[init->kernel].num_args; ++a) {
      const lumen_abi_buffer *buffer = &abi->buffers[abi->arg_buffers[init->first_arg + a]];
      const lumen_abi_storage *storage = &abi->storages[buffer->storage];
      args[a] = (storage->region == LUMEN_ABI_INIT ? state->init : (char *)model->weights) +
                storage->offset + buffer->offset;
    }
    int64_t grid = lumen_grid_of(state->variants[init->kernel], NULL);
    code = run_launch(&with, init, args, NULL, grid, status);
  }
  free(scratch);
  free(args);
  return code;
}

static int cpu_open(model *model, const lumen_model_options *options, lumen_status *status) {
  const lumen_abi_model *abi = model->abi;
  uint64_t features;
  int code = lumen_cpu_check_kernels(abi, lumen_cpu_features(), status);
  if (!code && abi->guard && !abi->guard->is_there())
    code = lumen_fail(status, LUMEN_ERROR_UNSUPPORTED,
                      "%s: compiled with --sanitize=address, but the process has no "
                      "AddressSanitizer: link its runtime into the program, or preload it",
                      abi->name);
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
  model->device_state = state;
  code = run_inits(model, state, status);
  if (code) {
    free_state(state);
    model->device_state = NULL;
    return code;
  }
  atomic_fetch_add(&model->memory_used, abi->init_size);
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
  lumen_bindings_close(&state->bindings);
  lumen_storages_close(&state->storages);
  free(state->owned_outputs);
  free(state->owned_capacity);
  free(state->extents);
  free(state);
  context->device_state = NULL;
}

/* The arena as large as the plan says. */
static int fit_arena(context *context, cpu_context *state, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
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
  lumen_bindings_forget(&state->bindings);
  if (state->arena_owned)
    atomic_fetch_sub(&context->model->memory_used, state->arena_capacity);
  state->arena_capacity = 0;
  state->arena = state->arena_owned = lumen_allocate_large(size);
  if (!state->arena) {
    char node[lumen_node_capacity];
    lumen_node_of_storage(abi, lumen_largest_storage(abi, context->plan), node);
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY,
                      "%s: %sno memory for an arena of %llu bytes", abi->name, node,
                      (unsigned long long)size);
  }
  state->arena_capacity = size;
  atomic_fetch_add(&context->model->memory_used, state->arena_capacity);
  return LUMEN_OK;
}

/* Memory of an output that the caller leaves to the context. */
static int fit_output(context *context, cpu_context *state, uint32_t index, lumen_status *status) {
  uint64_t bytes = context->plan->output_bytes[index];
  /* One without a bound lies in the heap, once the run has made it. */
  if (bytes == UINT64_MAX || (state->owned_outputs[index] && bytes <= state->owned_capacity[index]))
    return LUMEN_OK;
  free(state->owned_outputs[index]);
  /* Whoever is given that address next is not the context. */
  context->handed_out[index] = NULL;
  atomic_fetch_sub(&context->model->memory_used, state->owned_capacity[index]);
  state->owned_capacity[index] = 0;
  state->owned_outputs[index] = lumen_allocate_large(bytes);
  if (!state->owned_outputs[index])
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY,
                      "output '%s': no memory for its %llu bytes",
                      context->model->abi->outputs[index].name, (unsigned long long)bytes);
  state->owned_capacity[index] = bytes;
  atomic_fetch_add(&context->model->memory_used, bytes);
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
    /* What has no size is refused where it is used. */
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

/* Follows a new plan: memory, and what stays the same of all launches. */
static int follow_plan(context *context, lumen_status *status) {
  cpu_context *state = context->device_state;
  plan *plan = context->plan;
  state->plan_id = 0;
  int code = fit_arena(context, state, status);
  if (code)
    return code;
  for (uint32_t i = 0; i < context->model->abi->num_storages; ++i)
    place(context, state, i);
  code =
      lumen_bind_plan(&state->bindings, plan, (uint32_t)(plan - context->planner->plans), status);
  if (!code)
    state->plan_id = plan->id;
  return code;
}

static int cpu_context_open(context *context, lumen_status *status) {
  const model *model = context->model;
  const lumen_abi_model *abi = model->abi;
  const cpu_model *device = model->device_state;
  cpu_context *state = lumen_allocate(sizeof(*state));
  int code = LUMEN_OK;
  if (state) {
    context->device_state = state;
    state->num_workers = context->executor->num_workers(context->executor->self);
    state->scratch = allocate_scratch(device, state->num_workers, &state->scratch_size);
    atomic_fetch_add(&context->model->memory_used, state->scratch_size);
    state->owned_outputs = lumen_allocate(abi->num_outputs * sizeof(void *));
    state->owned_capacity = lumen_allocate(abi->num_outputs * sizeof(uint64_t));
    if (abi->guard)
      state->extents =
          lumen_allocate(lumen_count_args(abi, abi->launches, abi->num_launches) * sizeof(int64_t));
  }
  if (!state || !state->scratch || !state->owned_outputs || !state->owned_capacity ||
      (abi->guard && !state->extents) || !lumen_storages_open(&state->storages, abi) ||
      !lumen_bindings_open(&state->bindings, abi, device->variants, &state->storages))
    code = lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a context", abi->name);
  if (!code && context->plan) {
    code = follow_plan(context, status);
    /* Runs of fixed shapes allocate nothing, whoever brings the outputs. */
    for (uint32_t i = 0; i < abi->num_outputs && !code; ++i)
      code = fit_output(context, state, i, status);
  }
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

/* Work of a launch as its tables say; 0: not counted. */
static uint64_t work_of(const plan *plan, uint64_t fixed, uint32_t expr) {
  if (expr == LUMEN_ABI_NONE)
    return fixed;
  return plan->causes[expr] || plan->values[expr] < 0 ? 0 : (uint64_t)plan->values[expr];
}

/* Hides or shows all memory of a context that kernels see. */
static void visit_memory(const context *context, void (*visit)(void *memory, uint64_t size)) {
  const cpu_context *state = context->device_state;
  visit(state->arena, context->arena ? context->arena_capacity : state->arena_capacity);
  visit(state->scratch, state->scratch_size);
  lumen_heap_visit(&state->storages.heap, visit);
  for (uint32_t i = 0; i < context->model->abi->num_outputs; ++i)
    visit(state->owned_outputs[i], state->owned_capacity[i]);
}

/* Leaves a launch its arguments and scratch, and no other memory of the context. */
static void guard_launch(const context *context, const lumen_abi_launch *launch) {
  const cpu_context *state = context->device_state;
  const cpu_model *device = context->model->device_state;
  const lumen_abi_model *abi = context->model->abi;
  const lumen_abi_variant *variant = device->variants[launch->kernel];
  const lumen_binding *binding = state->bindings.current;
  visit_memory(context, abi->guard->hide);
  variant->extents_fn(binding->sizes + launch->first_size, state->extents);
  for (uint32_t a = 0; a < abi->kernels[launch->kernel].num_args; ++a)
    abi->guard->show(binding->args[launch->first_arg + a], (uint64_t)state->extents[a]);
  for (uint64_t at = 0; at < state->scratch_size; at += device->scratch_size)
    abi->guard->show(state->scratch + at, variant->scratch_size);
}

static int do_launch(context *context, uint32_t index, lumen_status *status) {
  cpu_context *state = context->device_state;
  const lumen_abi_launch *launch = &context->model->abi->launches[index];
  int code = lumen_bind_launch(&state->bindings, context->plan, index, status);
  if (code)
    return code;
  const lumen_binding *binding = state->bindings.current;
  resources with = {context->model, context->executor, state->num_workers, state->scratch};
  lumen_profile_entry *entry = context->profile ? &context->profile[index] : NULL;
  const lumen_guard *guard = context->model->abi->guard;
  if (guard)
    guard_launch(context, launch);
  uint64_t begin = entry ? now() : 0;
  code = run_launch(&with, launch, binding->args + launch->first_arg,
                    binding->sizes + launch->first_size, binding->grids[index], status);
  if (guard)
    visit_memory(context, guard->show);
  if (entry) {
    account(entry, begin);
    entry->total_flops += work_of(context->plan, launch->flops, launch->flops_expr);
    entry->total_bytes += work_of(context->plan, launch->bytes, launch->bytes_expr);
  }
  return code;
}

/* ---- Steps -------------------------------------------------------------- */

/* Address of a buffer; NULL where its storage is not there. */
static int resolve(const context *context, uint32_t buffer, void **address, lumen_status *status) {
  const cpu_context *state = context->device_state;
  return lumen_resolve(&state->storages, context->plan, buffer, address, status);
}

static int do_read(context *context, uint32_t buffer, void *value, uint64_t size,
                   lumen_status *status) {
  void *address;
  int code = resolve(context, buffer, &address, status);
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
  int code = resolve(context, buffer, &address, status);
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
    code = resolve(context, arg->buffer, &address, status);
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
      code = resolve(context, arg->buffer, &address, status);
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
  lumen_storages *storages = &state->storages;
  uint64_t heap_before = storages->heap.capacity;
  lumen_storages_reset(storages);
  int code = lumen_run_steps(context, &actions, status);
  /* Outputs without a bound are where the steps have put them. */
  for (uint32_t i = 0; i < storages->num_renewed; ++i) {
    const lumen_abi_storage *storage = &storages->abi->storages[storages->renewed[i]];
    if (storage->region == LUMEN_ABI_OUTPUT && !context->outputs[storage->index])
      context->outputs[storage->index] = storages->bases[storages->renewed[i]];
  }
  atomic_fetch_add(&context->model->memory_used, storages->heap.capacity - heap_before);
  return code;
}

static int cpu_run(context *context, lumen_status *status) {
  cpu_context *state = context->device_state;
  lumen_storages *storages = &state->storages;
  const lumen_abi_model *abi = context->model->abi;
  int code = LUMEN_OK;
  for (uint32_t i = 0; i < abi->num_outputs && !code; ++i) {
    if (context->outputs[i] || context->plan->output_bytes[i] == UINT64_MAX)
      continue;
    code = fit_output(context, state, i, status);
    context->outputs[i] = state->owned_outputs[i];
  }
  if (!code && state->plan_id != context->plan->id)
    code = follow_plan(context, status);
  if (code)
    return code;
  for (uint32_t i = 0; i < storages->num_renewed; ++i)
    place(context, state, storages->renewed[i]);
  lumen_bind_run(&state->bindings);
  if (abi->num_steps)
    return run_steps(context, status);
  for (uint32_t i = 0; i < abi->num_launches && !code; ++i)
    code = do_launch(context, i, status);
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
