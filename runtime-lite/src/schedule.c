/* schedule.c - see schedule.h. */
#define _GNU_SOURCE
#include "schedule.h"

#include "call.h"
#include "nodes.h"
#include "steps.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Memory ------------------------------------------------------------- */

static void *allocate(context *context, uint64_t size, bool is_result) {
  const lumen_schedule *schedule = context->device_state;
  return schedule->ops->allocate ? schedule->ops->allocate(context, size, is_result)
                                 : lumen_allocate_large(size);
}

static void release(context *context, void *memory) {
  const lumen_schedule *schedule = context->device_state;
  if (memory && schedule->ops->release)
    schedule->ops->release(context, memory);
  else
    free(memory);
}

static void *allocate_for_heap(void *self, uint64_t size) {
  return allocate(self, size, /*is_result=*/false);
}

static void release_from_heap(void *self, void *memory) { release(self, memory); }

static int is_heap_busy(void *self) {
  const context *context = self;
  const lumen_schedule *schedule = context->device_state;
  return schedule->ops->is_busy(context);
}

/* A failure shows again where something waits for results. */
static void wait_for_heap(void *self) {
  context *context = self;
  const lumen_schedule *schedule = context->device_state;
  (void)schedule->ops->wait(context, NULL);
}

static int copy_for_storages(void *self, void *to, const void *from, uint64_t size,
                             lumen_status *status) {
  context *context = self;
  const lumen_schedule *schedule = context->device_state;
  return schedule->ops->copy(context, to, from, size, status);
}

/* The arena as large as the plan says. */
static int fit_arena(context *context, lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  uint64_t size = context->plan->arena_size;
  /* Memory of the caller's is the host's. */
  if (context->arena && !schedule->ops->allocate) {
    schedule->arena = context->arena;
    if (size > context->arena_capacity)
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "the arena has %llu bytes, expected at least %llu for these shapes",
                        (unsigned long long)context->arena_capacity, (unsigned long long)size);
    return LUMEN_OK;
  }
  if (schedule->arena_owned && size <= schedule->arena_capacity)
    return LUMEN_OK;
  release(context, schedule->arena_owned);
  lumen_bindings_forget(&schedule->bindings);
  if (schedule->arena_owned)
    atomic_fetch_sub(&context->model->memory_used, schedule->arena_capacity);
  schedule->arena_capacity = 0;
  schedule->arena = schedule->arena_owned = allocate(context, size, /*is_result=*/false);
  if (!schedule->arena) {
    char node[lumen_node_capacity];
    lumen_node_of_storage(abi, lumen_largest_storage(abi, context->plan), node);
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY,
                      "%s: %sno memory for an arena of %llu bytes", abi->name, node,
                      (unsigned long long)size);
  }
  schedule->arena_capacity = size;
  atomic_fetch_add(&context->model->memory_used, schedule->arena_capacity);
  return LUMEN_OK;
}

int lumen_schedule_fit_output(context *context, uint32_t index, lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  uint64_t bytes = context->plan->output_bytes[index];
  /* One without a bound lies in the heap, once the run has made it. */
  if (bytes == UINT64_MAX ||
      (schedule->owned_outputs[index] && bytes <= schedule->owned_capacity[index]))
    return LUMEN_OK;
  release(context, schedule->owned_outputs[index]);
  /* Whoever is given that address next is not the context. */
  context->handed_out[index] = NULL;
  atomic_fetch_sub(&context->model->memory_used, schedule->owned_capacity[index]);
  schedule->owned_capacity[index] = 0;
  schedule->owned_outputs[index] = allocate(context, bytes, /*is_result=*/true);
  if (!schedule->owned_outputs[index])
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY,
                      "output '%s': no memory for its %llu bytes",
                      context->model->abi->outputs[index].name, (unsigned long long)bytes);
  schedule->owned_capacity[index] = bytes;
  atomic_fetch_add(&context->model->memory_used, bytes);
  return LUMEN_OK;
}

/* Where a storage begins, but for what steps move. */
static void place(const context *context, uint32_t index) {
  lumen_schedule *schedule = context->device_state;
  const lumen_abi_storage *storage = &context->model->abi->storages[index];
  char *base = NULL;
  uint64_t space = UINT64_MAX, offset = storage->offset;
  switch ((lumen_abi_region)storage->region) {
  case LUMEN_ABI_ARENA:
    base = schedule->arena;
    offset = context->plan->offsets[index];
    /* What has no size is refused where it is used. */
    space = storage->size_expr == LUMEN_ABI_NONE
                ? storage->size
                : (uint64_t)context->plan->values[storage->size_expr];
    break;
  case LUMEN_ABI_WEIGHTS:
    base = (char *)schedule->weights;
    space = storage->size;
    break;
  case LUMEN_ABI_INPUT:
    base = context->inputs[storage->index];
    break;
  case LUMEN_ABI_OUTPUT:
    base = context->outputs[storage->index];
    space = context->plan->output_bytes[storage->index];
    break;
  case LUMEN_ABI_INIT:
    base = (char *)schedule->init;
    space = storage->size;
    break;
  case LUMEN_ABI_HEAP:
    return;
  }
  schedule->storages.bases[index] = base ? base + offset : NULL;
  schedule->storages.space[index] = space;
}

int lumen_schedule_follow(context *context, lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  plan *plan = context->plan;
  schedule->storages.plan = plan;
  if (schedule->plan_id == plan->id)
    return LUMEN_OK;
  schedule->plan_id = 0;
  int code = fit_arena(context, status);
  if (code)
    return code;
  for (uint32_t i = 0; i < context->model->abi->num_storages; ++i)
    place(context, i);
  code = lumen_bind_plan(&schedule->bindings, plan, (uint32_t)(plan - context->planner->plans),
                         status);
  if (!code)
    schedule->plan_id = plan->id;
  return code;
}

void lumen_schedule_place(context *context) {
  lumen_schedule *schedule = context->device_state;
  for (uint32_t i = 0; i < schedule->storages.num_renewed; ++i)
    place(context, schedule->storages.renewed[i]);
  lumen_bind_run(&schedule->bindings);
}

int lumen_schedule_open(context *context, const lumen_schedule_ops *ops,
                        const lumen_abi_variant *const *variants, lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  schedule->ops = ops;
  schedule->owned_outputs = lumen_allocate(abi->num_outputs * sizeof(void *));
  schedule->owned_capacity = lumen_allocate(abi->num_outputs * sizeof(uint64_t));
  schedule->spare_outputs = lumen_allocate(abi->num_outputs * sizeof(void *));
  schedule->spare_capacity = lumen_allocate(abi->num_outputs * sizeof(uint64_t));
  if (ops->allocate) {
    schedule->heap_source = (lumen_heap_source){context, allocate_for_heap, release_from_heap,
                                                is_heap_busy, wait_for_heap};
    schedule->storages.heap.source = &schedule->heap_source;
  }
  if (ops->copy) {
    schedule->storages.copy = copy_for_storages;
    schedule->storages.self = context;
  }
  if (!schedule->owned_outputs || !schedule->owned_capacity || !schedule->spare_outputs ||
      !schedule->spare_capacity || !lumen_storages_open(&schedule->storages, abi) ||
      !lumen_bindings_open(&schedule->bindings, abi, variants, &schedule->storages))
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a context", abi->name);
  if (!context->plan)
    return LUMEN_OK;
  int code = lumen_schedule_follow(context, status);
  /* Runs of fixed shapes allocate nothing, whoever brings the outputs. */
  for (uint32_t i = 0; i < abi->num_outputs && !code; ++i)
    code = lumen_schedule_fit_output(context, i, status);
  return code;
}

void lumen_schedule_close(context *context) {
  lumen_schedule *schedule = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  uint64_t used =
      schedule->storages.heap.capacity + (schedule->arena_owned ? schedule->arena_capacity : 0);
  for (uint32_t i = 0; i < abi->num_outputs; ++i) {
    used += schedule->owned_capacity ? schedule->owned_capacity[i] : 0;
    used += schedule->spare_capacity ? schedule->spare_capacity[i] : 0;
    if (schedule->owned_outputs)
      release(context, schedule->owned_outputs[i]);
    if (schedule->spare_outputs)
      release(context, schedule->spare_outputs[i]);
  }
  atomic_fetch_sub(&context->model->memory_used, used);
  release(context, schedule->arena_owned);
  lumen_bindings_close(&schedule->bindings);
  lumen_storages_close(&schedule->storages);
  free(schedule->owned_outputs);
  free(schedule->owned_capacity);
  free(schedule->spare_outputs);
  free(schedule->spare_capacity);
}

/* ---- Launches ----------------------------------------------------------- */

uint64_t lumen_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Adds the time since `begin` to an entry of the profile. */
static void account(lumen_profile_entry *entry, uint64_t begin, bool is_host) {
  uint64_t spent = lumen_now() - begin;
  ++entry->count;
  entry->host_count += is_host;
  entry->total_ns += spent;
  if (spent < entry->min_ns)
    entry->min_ns = spent;
}

void lumen_account_copy(context *context, bool is_fetch, uint64_t begin, uint64_t bytes) {
  lumen_schedule *schedule = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  lumen_profile_entry *entry = &context->profile[abi->num_launches + abi->num_calls + is_fetch];
  uint64_t before = entry->total_ns;
  account(entry, begin, /*is_host=*/false);
  entry->total_bytes += bytes;
  schedule->copy_ns += entry->total_ns - before;
}

/* Work of a launch as its tables say; 0: not counted. */
static uint64_t work_of(const plan *plan, uint64_t fixed, uint32_t expr) {
  if (expr == LUMEN_ABI_NONE)
    return fixed;
  return plan->causes[expr] || plan->values[expr] < 0 ? 0 : (uint64_t)plan->values[expr];
}

int lumen_schedule_launch(context *context, uint32_t index, lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  const lumen_abi_launch *launch = &context->model->abi->launches[index];
  int code = lumen_bind_launch(&schedule->bindings, context->plan, index, status);
  if (code)
    return code;
  lumen_profile_entry *entry = context->profile ? &context->profile[index] : NULL;
  uint64_t begin = entry ? lumen_now() : 0, copy_ns = schedule->copy_ns;
  schedule->ran = schedule->bindings.variants[launch->kernel];
  code = schedule->ops->launch(context, index, status);
  if (entry) {
    const lumen_abi_level *level = &context->model->abi->levels[schedule->ran->level];
    /* Copies have entries of their own. */
    account(entry, begin + schedule->copy_ns - copy_ns, level->target == LUMEN_ABI_CPU);
    entry->level = level->name;
    entry->total_flops += work_of(context->plan, launch->flops, launch->flops_expr);
    entry->total_bytes += work_of(context->plan, launch->bytes, launch->bytes_expr);
  }
  return code;
}

/* ---- Steps -------------------------------------------------------------- */

static int fetch(context *context, const void *memory, uint64_t size, lumen_status *status) {
  const lumen_schedule *schedule = context->device_state;
  return schedule->ops->fetch && size ? schedule->ops->fetch(context, memory, size, status)
                                      : LUMEN_OK;
}

/* What the host has written to a buffer. */
static int store(context *context, uint32_t buffer, const void *address, lumen_status *status) {
  const lumen_schedule *schedule = context->device_state;
  if (!schedule->ops->store || !address)
    return LUMEN_OK;
  uint64_t size = lumen_bytes_at(&schedule->storages, buffer, address);
  return size ? schedule->ops->store(context, address, size, status) : LUMEN_OK;
}

static int wait(context *context, lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  int code = schedule->ops->wait ? schedule->ops->wait(context, status) : LUMEN_OK;
  if (!code)
    lumen_heap_settle(&schedule->storages.heap);
  return code;
}

/* Address of a buffer; NULL where its storage is not there. */
static int resolve(const context *context, uint32_t buffer, void **address, lumen_status *status) {
  const lumen_schedule *schedule = context->device_state;
  return lumen_resolve(&schedule->storages, context->plan, buffer, address, status);
}

static int do_read(context *context, uint32_t buffer, void *value, uint64_t size,
                   lumen_status *status) {
  void *address;
  int code = resolve(context, buffer, &address, status);
  if (!code && address)
    code = fetch(context, address, size, status);
  if (!code)
    code = wait(context, status);
  if (!code && address)
    memcpy(value, address, size);
  return code;
}

static int do_alloc(context *context, uint32_t index, uint64_t size, lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  const lumen_abi_storage *storage = &context->model->abi->storages[index];
  /* An output with a bound has its memory already. */
  if (storage->region == LUMEN_ABI_OUTPUT && context->outputs[storage->index]) {
    if (size <= schedule->storages.space[index])
      return LUMEN_OK;
    return lumen_fail(status, LUMEN_ERROR_MODEL,
                      "output '%s': has %llu bytes, expected at most %llu",
                      context->model->abi->outputs[storage->index].name, (unsigned long long)size,
                      (unsigned long long)schedule->storages.space[index]);
  }
  return lumen_storage_alloc(&schedule->storages, index, size, status);
}

static int do_release(context *context, uint32_t index, lumen_status *status) {
  (void)status;
  lumen_schedule *schedule = context->device_state;
  lumen_storage_free(&schedule->storages, index);
  return LUMEN_OK;
}

static int do_swap(context *context, uint32_t a, uint32_t b, lumen_status *status) {
  (void)status;
  lumen_schedule *schedule = context->device_state;
  lumen_storage_swap(&schedule->storages, a, b);
  return LUMEN_OK;
}

static int do_move(context *context, uint32_t to, uint32_t from, lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  lumen_storages *storages = &schedule->storages;
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
  int code =
      lumen_storage_copy(storages, storages->bases[to], storages->bases[from], bytes, status);
  lumen_storage_free(storages, from);
  return code;
}

static int do_append(context *context, uint32_t to, uint32_t buffer, uint64_t size,
                     lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  void *address;
  int code = resolve(context, buffer, &address, status);
  return code ? code : lumen_storage_append(&schedule->storages, to, address, size, status);
}

/* Builds the frame of a call, in memory that is given back when it has returned. */
static int do_call(context *context, uint32_t index, lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  const lumen_abi_call *call = &abi->calls[index];
  lumen_heap *heap = &schedule->storages.heap;
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
    if (!code)
      code = fetch(context, address, lumen_tensor_bytes(arg->dtype, arg->rank, shape), status);
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
                                .storages = &schedule->storages,
                                .status = status,
                                .inputs = inputs,
                                .outputs = outputs};
  lumen_profile_entry *entry =
      context->profile ? &context->profile[abi->num_launches + index] : NULL;
  if (!code)
    code = wait(context, status);
  uint64_t begin = entry ? lumen_now() : 0;
  if (!code)
    code = call->function(&frame);
  if (entry)
    account(entry, begin, /*is_host=*/true);
  for (uint32_t i = 0; i < num_outputs && !code; ++i)
    if (call->args[num_inputs + i].kind != LUMEN_ABI_CALL_VALUE)
      code = store(context, call->args[num_inputs + i].buffer, outputs[i], status);
  lumen_heap_release(heap, memory);
  return code;
}

static const lumen_step_actions actions = {.launch = lumen_schedule_launch,
                                           .read = do_read,
                                           .alloc = do_alloc,
                                           .release = do_release,
                                           .swap = do_swap,
                                           .move = do_move,
                                           .append = do_append,
                                           .call = do_call};

/* Runs the steps of a model that has them. */
static int run_steps(context *context, lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  lumen_storages *storages = &schedule->storages;
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

int lumen_schedule_run(context *context, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  if (abi->num_steps)
    return run_steps(context, status);
  int code = LUMEN_OK;
  for (uint32_t i = 0; i < abi->num_launches && !code; ++i)
    code = lumen_schedule_launch(context, i, status);
  return code;
}

/* ---- Facts -------------------------------------------------------------- */

void lumen_schedule_memory(const context *context, lumen_context_memory_info *info) {
  const lumen_schedule *schedule = context->device_state;
  bool is_callers = context->arena && !schedule->ops->allocate;
  info->arena_capacity = is_callers ? context->arena_capacity : schedule->arena_capacity;
  info->heap_high_water = schedule->storages.heap.high_water;
  info->heap_capacity = schedule->storages.heap.capacity;
  for (uint32_t i = 0; i < context->model->abi->num_outputs; ++i)
    info->output_capacity += schedule->owned_capacity[i] + schedule->spare_capacity[i];
}

static bool lies_in(const void *address, const void *memory, uint64_t size) {
  return (uintptr_t)address - (uintptr_t)memory < size;
}

bool lumen_schedule_hand_over(context *context, uint32_t output, const void *address,
                              bool may_move) {
  lumen_schedule *schedule = context->device_state;
  void **owned = &schedule->owned_outputs[output], **spare = &schedule->spare_outputs[output];
  uint64_t *capacity = &schedule->owned_capacity[output];
  uint64_t *spare_capacity = &schedule->spare_capacity[output];
  if (may_move && lies_in(address, *owned, *capacity)) {
    void *memory = *owned;
    uint64_t size = *capacity;
    *owned = *spare;
    *capacity = *spare_capacity;
    *spare = memory;
    *spare_capacity = size;
  }
  return lies_in(address, *spare, *spare_capacity);
}

uint32_t lumen_schedule_owner(const context *context, const void *address) {
  const lumen_schedule *schedule = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; i < abi->num_outputs; ++i)
    if (lies_in(address, schedule->owned_outputs[i], schedule->owned_capacity[i]) ||
        lies_in(address, schedule->spare_outputs[i], schedule->spare_capacity[i]))
      return i;
  if (!lumen_heap_holds(&schedule->storages.heap, address))
    return LUMEN_ABI_NONE;
  for (uint32_t i = 0; i < abi->num_outputs; ++i)
    if (address == context->handed_out[i])
      return i;
  return abi->num_outputs;
}
