/* gpu_batch.c - see gpu_batch.h. */
#define _GNU_SOURCE
#include "gpu_batch.h"

#include <stdlib.h>
#include <string.h>

enum {
  launches_per_batch = 256, /* of schedules with steps */
  staging_size = 4 << 20,
  scratch_limit = 64 << 20, /* that more workgroups are not worth */
  fault_bytes = LUMEN_ABI_GPU_FAULT_WORDS * sizeof(int32_t)
};

static uint64_t align_to(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

/* ---- Memory ------------------------------------------------------------- */

void *gpu_allocate(context *context, uint64_t size, bool is_result) {
  gpu_context *state = context->device_state;
  if (state->num_blocks == state->block_capacity) {
    uint32_t capacity = state->block_capacity ? 2 * state->block_capacity : 8;
    gpu_block *more = realloc(state->blocks, capacity * sizeof(*more));
    if (!more)
      return NULL;
    state->blocks = more;
    state->block_capacity = capacity;
  }
  gpu_block *block = &state->blocks[state->num_blocks];
  if (!gpu_block_open(state->device, size, is_result ? gpu_of_both : gpu_of_device, block))
    return NULL;
  ++state->num_blocks;
  ++state->generation;
  return block->address;
}

void gpu_release(context *context, void *memory) {
  gpu_context *state = context->device_state;
  for (uint32_t i = 0; i < state->num_blocks; ++i)
    if (state->blocks[i].address == memory) {
      gpu_block_close(state->device, &state->blocks[i]);
      state->blocks[i] = state->blocks[--state->num_blocks];
      ++state->generation;
      return;
    }
}

static bool holds(const gpu_block *block, const void *address) {
  return block->address && (uintptr_t)address - (uintptr_t)block->address < block->size;
}

static const gpu_block *find_constant(const gpu_constants *constants, const void *address) {
  for (uint32_t i = 0; i < constants->num_blocks; ++i)
    if (holds(&constants->blocks[i], address))
      return &constants->blocks[i];
  return NULL;
}

const gpu_block *gpu_block_of(const gpu_context *state, const void *address) {
  for (uint32_t i = 0; i < state->num_blocks; ++i)
    if (holds(&state->blocks[i], address))
      return &state->blocks[i];
  const gpu_block *block = find_constant(&state->device->weights, address);
  return block ? block : find_constant(&state->device->init, address);
}

/* ---- Batches ------------------------------------------------------------ */

static int begin_batch(context *context, lumen_status *status) {
  gpu_context *state = context->device_state;
  const gpu_api *api = state->device->api;
  if (state->is_recording)
    return LUMEN_OK;
  state->replay_plan = 0;
  int code = api->begin(state, status);
  if (code)
    return code;
  state->is_recording = true;
  state->num_recorded = state->num_fetches = 0;
  state->staged = 0;
  /* What is cleared here, and what came before the batch. */
  state->order = (gpu_order){.is_due = true};
  if (state->faults.own.buffer)
    api->clear(state, &state->faults);
  return LUMEN_OK;
}

/* Begins a command. */
static void order(gpu_context *state, const gpu_access *accesses, uint32_t count) {
  if (gpu_order_add(&state->order, accesses, count))
    state->device->api->barrier(state);
}

/* A place in a block or in its twin, which have the same addresses. */
typedef struct place {
  const gpu_block *block;
  const gpu_memory *memory;
  uint64_t offset;
} place;

static void record_copy(gpu_context *state, place to, place from, uint64_t size) {
  const gpu_access accesses[] = {{from.block->address + from.offset, size, false},
                                 {to.block->address + to.offset, size, true}};
  order(state, accesses, 2);
  state->device->api->copy(state, to.memory->buffer, to.offset, from.memory->buffer, from.offset,
                           size);
}

/* Fails for the first launch of the batch that had a fault. */
static int check_faults(const context *context, lumen_status *status) {
  const gpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; state->faults.address && i < state->num_recorded; ++i) {
    int32_t words[LUMEN_ABI_GPU_FAULT_WORDS];
    memcpy(words, state->faults.address + i * state->fault_stride, sizeof(words));
    int64_t about[2];
    memcpy(about, &words[2], sizeof(about));
    if (words[0])
      return lumen_fail_fault(abi, &abi->launches[state->recorded[i]], about, status);
  }
  return LUMEN_OK;
}

int gpu_submit_again(context *context, lumen_status *status) {
  gpu_context *state = context->device_state;
  int code = state->device->api->submit(state, status);
  state->is_running = !code;
  return code;
}

int gpu_submit(context *context, lumen_status *status) {
  gpu_context *state = context->device_state;
  const gpu_api *api = state->device->api;
  int code = state->failure.code;
  if (!code && state->is_recording) {
    state->is_recording = false;
    api->barrier(state);
    code = api->end(state, &state->failure);
    if (!code)
      code = gpu_submit_again(context, &state->failure);
  }
  return code ? lumen_fail(status, code, "%s", state->failure.message) : LUMEN_OK;
}

int gpu_wait(context *context, lumen_status *status) {
  gpu_context *state = context->device_state;
  if (!state->is_running)
    return LUMEN_OK;
  state->is_running = false;
  int code = state->device->api->wait(state, status);
  for (uint32_t i = 0; i < state->num_fetches && !code; ++i) {
    const gpu_fetch *fetch = &state->fetches[i];
    memcpy(fetch->to, state->staging.address + fetch->from, fetch->size);
  }
  return code ? code : check_faults(context, status);
}

/* Submits what is recorded, and waits for it. */
static int flush(context *context, lumen_status *status) {
  gpu_context *state = context->device_state;
  int code = gpu_submit(context, status);
  if (!code && gpu_wait(context, &state->failure))
    code = lumen_fail(status, state->failure.code, "%s", state->failure.message);
  return code;
}

/* Copies between a block and its twin, as part of the batch. */
static int carry_twin(context *context, const gpu_block *block, uint64_t offset, uint64_t size,
                      bool is_fetch, lumen_status *status) {
  gpu_context *state = context->device_state;
  int code = begin_batch(context, status);
  if (code || !size)
    return code;
  place own = {block, &block->own, offset}, twin = {block, &block->twin, offset};
  record_copy(state, is_fetch ? twin : own, is_fetch ? own : twin, size);
  return LUMEN_OK;
}

/* Copies between a block and what its addresses mean, or nothing where that is its memory. */
static int gpu_carry(context *context, const void *memory, uint64_t size, bool is_fetch,
                     lumen_status *status) {
  gpu_context *state = context->device_state;
  const gpu_block *block = gpu_block_of(state, memory);
  if (!block || block->is_valid)
    return LUMEN_OK;
  uint64_t offset = (uint64_t)((const char *)memory - block->address);
  if (size > block->size - offset)
    size = block->size - offset;
  if (block->twin.buffer)
    return carry_twin(context, block, offset, size, is_fetch, status);
  for (uint64_t at = 0, count; at < size; at += count) {
    int code = state->staged >= staging_size || state->num_fetches == gpu_most_fetches
                   ? flush(context, status)
                   : LUMEN_OK;
    if (!code)
      code = begin_batch(context, status);
    if (code)
      return code;
    uint64_t room = staging_size - state->staged;
    count = size - at < room ? size - at : room;
    char *host = block->address + offset + at;
    if (is_fetch)
      state->fetches[state->num_fetches++] = (gpu_fetch){host, state->staged, count};
    else
      memcpy(state->staging.address + state->staged, host, count);
    place own = {block, &block->own, offset + at};
    place staging = {&state->staging, &state->staging.own, state->staged};
    record_copy(state, is_fetch ? staging : own, is_fetch ? own : staging, count);
    state->staged += align_to(count, LUMEN_ALIGNMENT);
  }
  return LUMEN_OK;
}

static int gpu_duplicate(context *context, void *to, const void *from, uint64_t size,
                         lumen_status *status) {
  gpu_context *state = context->device_state;
  const gpu_block *source = gpu_block_of(state, from), *target = gpu_block_of(state, to);
  if (!size)
    return LUMEN_OK;
  int code = begin_batch(context, status);
  if (code)
    return code;
  record_copy(state, (place){target, &target->own, (uint64_t)((char *)to - target->address)},
              (place){source, &source->own, (uint64_t)((const char *)from - source->address)},
              size);
  return LUMEN_OK;
}

/* ---- Launches ----------------------------------------------------------- */

/* What is bound for an argument, and the bytes before its first element; false: more than a
 * kernel can reach. */
static bool bind_argument(const gpu_context *state, uint32_t buffer, const void *address,
                          gpu_binding *info, gpu_access *access, int32_t *before) {
  const gpu_block *block = address ? gpu_block_of(state, address) : NULL;
  *before = 0;
  uint64_t size = address ? lumen_bytes_at(&state->schedule.storages, buffer, address) : 0;
  *access = (gpu_access){address, size, false};
  if (!block) { /* nothing is read or written there, or it is a constant of the host's alone */
    *info = (gpu_binding){state->parameters.own.buffer, 0, LUMEN_ALIGNMENT};
    return !size;
  }
  uint64_t offset = (uint64_t)((const char *)address - block->address);
  uint64_t begin = offset / state->device->limits.alignment * state->device->limits.alignment;
  if (size > block->size - offset)
    access->size = size = block->size - offset;
  uint64_t range = align_to(offset - begin + size, 4);
  if (range > block->size - begin)
    range = block->size - begin;
  *before = (int32_t)(offset - begin);
  *info = (gpu_binding){block->own.buffer, begin, range ? range : 4};
  /* Kernels count elements in 32 bits, and one may be a byte. */
  return range <= state->device->limits.max_range && range <= INT32_MAX;
}

static int record_launch(context *context, uint32_t index, lumen_status *status) {
  gpu_context *state = context->device_state;
  const gpu_device *device = state->device;
  const lumen_abi_model *abi = context->model->abi;
  const lumen_abi_launch *launch = &abi->launches[index];
  const lumen_binding *binding = state->schedule.bindings.current;
  const gpu_kernel *kernel = &device->kernels[launch->kernel];
  int64_t grid = binding->grids[index];
  if (grid <= 0)
    return LUMEN_OK;
  const int64_t *sizes = binding->sizes + launch->first_size;
  const lumen_abi_variant *variant = kernel->variant;
  uint32_t workgroups = gpu_count_workgroups(&device->limits, variant, grid, sizes,
                                             launch->num_sizes, state->scratch.size);
  if (!workgroups)
    return lumen_launch_on_host(context, &state->workers, index, status);
  if (state->is_recording && state->num_recorded == state->batch_capacity) {
    int code = flush(context, status);
    if (code)
      return code;
  }
  int code = begin_batch(context, status);
  if (code)
    return code;

  gpu_binding bound[gpu_most_bindings];
  gpu_access accesses[gpu_most_bindings];
  uint32_t num_args = abi->kernels[launch->kernel].num_args, count = 0;
  uint64_t first = state->num_recorded * state->parameter_stride;
  int32_t *words = (int32_t *)(void *)(state->parameters.address + first);
  *words++ = (int32_t)grid;
  *words++ = (int32_t)workgroups;
  for (; count < num_args; ++count) {
    if (!bind_argument(state, abi->arg_buffers[launch->first_arg + count],
                       binding->args[launch->first_arg + count], &bound[count], &accesses[count],
                       words++))
      return lumen_launch_on_host(context, &state->workers, index, status);
    accesses[count].is_write = count >= num_args - launch->num_outputs;
  }
  for (uint32_t i = 0; i < launch->num_sizes; ++i)
    *words++ = (int32_t)sizes[i];
  bound[count++] = (gpu_binding){state->parameters.own.buffer, first, state->parameter_stride};
  uint32_t num_accesses = num_args;
  if (variant->scratch_size) {
    uint64_t size = workgroups * variant->scratch_size;
    bound[count++] = (gpu_binding){state->scratch.own.buffer, 0, size};
    accesses[num_accesses++] = (gpu_access){state->scratch.address, size, true};
  }
  if (kernel->launch->flags & LUMEN_ABI_GPU_FAULTS)
    bound[count++] = (gpu_binding){state->faults.own.buffer,
                                   state->num_recorded * state->fault_stride, fault_bytes};

  order(state, accesses, num_accesses);
  gpu_dispatch dispatch = {launch->kernel, count, bound, workgroups, launch->nodes};
  code = device->api->dispatch(state, &dispatch, status);
  if (code)
    return code;
  state->recorded[state->num_recorded++] = index;
  return LUMEN_OK;
}

static int gpu_launch(context *context, uint32_t index, lumen_status *status) {
  const gpu_context *state = context->device_state;
  if (state->route->on_host[index])
    return lumen_launch_on_host(context, &state->workers, index, status);
  int code = lumen_enter_device(context, index, status);
  if (!code)
    code = record_launch(context, index, status);
  return code || !context->profile ? code : flush(context, status);
}

static bool gpu_is_busy(const context *context) {
  const gpu_context *state = context->device_state;
  return state->is_recording;
}

const lumen_schedule_ops gpu_schedule_ops = {.launch = gpu_launch,
                                             .fetch = lumen_places_fetch,
                                             .store = lumen_places_store,
                                             .copy = lumen_places_transfer,
                                             .carry = gpu_carry,
                                             .duplicate = gpu_duplicate,
                                             .wait = flush,
                                             .is_busy = gpu_is_busy,
                                             .allocate = gpu_allocate,
                                             .release = gpu_release};

int gpu_batches_open(context *context, lumen_status *status) {
  gpu_context *state = context->device_state;
  gpu_device *device = state->device;
  const lumen_abi_model *abi = context->model->abi;
  state->batch_capacity = abi->num_steps ? launches_per_batch : abi->num_launches + 1;
  uint64_t words = 0, scratch = 0, workgroups = 1;
  uint32_t num_bindings = 1;
  bool has_faults = false;
  for (uint32_t i = 0; i < abi->num_launches; ++i) {
    const lumen_abi_launch *launch = &abi->launches[i];
    const gpu_kernel *kernel = &device->kernels[launch->kernel];
    uint64_t needed = 2 + (uint64_t)abi->kernels[launch->kernel].num_args + launch->num_sizes;
    if (!kernel->is_loaded)
      continue;
    if (needed > words)
      words = needed;
    if (kernel->variant->scratch_size > scratch)
      scratch = kernel->variant->scratch_size;
    has_faults |= kernel->launch->flags & LUMEN_ABI_GPU_FAULTS;
    if (kernel->num_bindings > num_bindings)
      num_bindings = kernel->num_bindings;
  }
  /* As many workgroups as keep a device busy, within a bound. */
  if (scratch) {
    uint64_t limit =
        device->limits.max_range < scratch_limit ? device->limits.max_range : scratch_limit;
    workgroups = limit / scratch;
    workgroups = workgroups < 1 ? 1 : workgroups > 1024 ? 1024 : workgroups;
  }
  state->parameter_stride = align_to((words + 1) * sizeof(int32_t), device->limits.alignment);
  state->fault_stride = align_to(fault_bytes, device->limits.alignment);
  uint64_t capacity = state->batch_capacity;
  bool ok = gpu_block_open(device, capacity * state->parameter_stride, device->api->parameters,
                           &state->parameters);
  if (ok && has_faults)
    ok = gpu_block_open(device, capacity * state->fault_stride, gpu_of_host, &state->faults);
  if (ok && scratch)
    ok = gpu_block_open(device, scratch * workgroups, gpu_of_device, &state->scratch);
  if (ok && !device->limits.is_mapped)
    ok = gpu_block_open(device, staging_size, gpu_of_host, &state->staging);
  atomic_fetch_add(&context->model->memory_used, state->parameters.size + state->faults.size +
                                                     state->scratch.size + state->staging.size);
  state->recorded = lumen_allocate(capacity * sizeof(*state->recorded));
  if (!ok || !state->recorded)
    return gpu_fail_memory(device, "a context", status);
  return device->api->stream_open(state, state->batch_capacity, num_bindings, status);
}

void gpu_batches_close(context *context) {
  gpu_context *state = context->device_state;
  const gpu_device *device = state->device;
  atomic_fetch_sub(&context->model->memory_used, state->parameters.size + state->faults.size +
                                                     state->scratch.size + state->staging.size);
  device->api->stream_close(state);
  gpu_block_close(device, &state->parameters);
  gpu_block_close(device, &state->faults);
  gpu_block_close(device, &state->scratch);
  gpu_block_close(device, &state->staging);
  free(state->recorded);
}
