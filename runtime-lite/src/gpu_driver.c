/* gpu_driver.c - see gpu_driver.h.
 *
 * The launches of a run are one batch (gpu_batch.h). What a schedule of fixed order records
 * is kept and submitted again, as long as nothing has moved. */
#define _GNU_SOURCE
#include "gpu_driver.h"

#include "gpu_batch.h"

#include <stdlib.h>
#include <string.h>

/* ---- Devices ------------------------------------------------------------ */

/* On either side. */
static uint64_t memory_of(const gpu_device *device) {
  return device->weights.size + device->init.size + device->model->abi->init_size;
}

int gpu_driver_open(device *device, const gpu_api *api, lumen_status *status) {
  gpu_device *state = lumen_allocate(api->device_size);
  if (!state)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory to open it",
                      device->model->abi->name);
  int code = gpu_open(state, api, device->model, device->index, status);
  if (code) {
    gpu_close(state);
    free(state);
    return code;
  }
  state->routing.choice = device->choice;
  state->routing.is_shared = state->limits.is_mapped;
  state->routing.has_code = state->has_code;
  lumen_rates_find(device->driver->kind, device->name, &state->routing.device);
  lumen_host_rates(&state->routing.host);
  device->state = state;
  atomic_fetch_add(&device->model->memory_used, memory_of(state));
  return LUMEN_OK;
}

void gpu_driver_close(device *device) {
  gpu_device *state = device->state;
  atomic_fetch_sub(&device->model->memory_used, memory_of(state));
  gpu_close(state);
  free(state);
}

void gpu_describe(const device *device, lumen_model_info *info) {
  const gpu_device *state = device->state;
  info->scratch_size = state->host.scratch_size;
  if (state->level < device->model->abi->num_levels)
    info->level = device->model->abi->levels[state->level].name;
}

const lumen_abi_variant *gpu_variant(const device *device, uint32_t kernel) {
  const gpu_device *state = device->state;
  return state->variants[kernel];
}

/* ---- Contexts ----------------------------------------------------------- */

static void close_input(context *context, gpu_block *input) {
  if (!input->address)
    return;
  atomic_fetch_sub(&context->model->memory_used, input->size);
  gpu_release(context, input->address);
  input->address = NULL;
}

void gpu_context_close(context *context) {
  gpu_context *state = context->device_state;
  lumen_router_close(&state->router);
  lumen_close_places(context);
  lumen_schedule_close(context);
  for (uint32_t i = 0; state->inputs && i < context->model->abi->num_inputs; ++i)
    close_input(context, &state->inputs[i]);
  free(state->blocks);
  gpu_batches_close(context);
  atomic_fetch_sub(&context->model->memory_used, state->workers.scratch_size);
  lumen_host_workers_close(&state->workers);
  free(state->inputs);
  free(state->results);
  free(state);
  context->device_state = NULL;
}

int gpu_context_open(context *context, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  gpu_device *device = context->device->state;
  gpu_context *state = lumen_allocate(device->api->context_size);
  if (!state)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a context", abi->name);
  context->device_state = state;
  state->device = device;
  state->inputs = lumen_allocate(abi->num_inputs * sizeof(*state->inputs));
  state->results = lumen_allocate(abi->num_outputs * sizeof(*state->results));
  bool has_memory = lumen_host_workers_open(&state->workers, &device->host, context->executor) &&
                    lumen_router_open(&state->router, abi, &device->routing) &&
                    lumen_open_places(context, device->limits.is_mapped) && state->inputs &&
                    state->results;
  atomic_fetch_add(&context->model->memory_used, state->workers.scratch_size);
  state->schedule.weights = device->weights.base;
  state->schedule.init = device->init.base;
  int code = lumen_schedule_open(context, &gpu_schedule_ops, device->variants, status);
  if (!code)
    code = has_memory ? gpu_batches_open(context, status)
                      : lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a context",
                                   abi->name);
  if (code)
    gpu_context_close(context);
  return code;
}

/* ---- Runs --------------------------------------------------------------- */

/* Gives inputs memory of the device, which the host has filled. */
static int bring_inputs(context *context, lumen_status *status) {
  gpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; i < abi->num_inputs; ++i) {
    uint64_t size = context->input_bytes[i];
    gpu_block *block = &state->inputs[i];
    if (!lumen_is_numbers(&abi->inputs[i]) || !context->inputs[i])
      continue;
    if (context->takes_over && gpu_block_of(state, context->inputs[i]))
      continue; /* it is there */
    if (!block->address || block->size < size) {
      close_input(context, block);
      if (!gpu_allocate(context, size, /*is_result=*/true))
        return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY,
                          "input '%s': no memory of the device for its %llu bytes",
                          abi->inputs[i].name, (unsigned long long)size);
      *block = state->blocks[state->num_blocks - 1];
      atomic_fetch_add(&context->model->memory_used, block->size);
    }
    memcpy(block->address, context->inputs[i], size);
    context->inputs[i] = block->address;
    /* All of it: extents that no plan depends on may grow from run to run. */
    int code = lumen_bring_input(context, block->address, block->size, status);
    if (code)
      return code;
  }
  return LUMEN_OK;
}

/* Gives outputs memory of the device, also those that the caller brings, but where values
 * stay at `home`. */
static int bring_outputs(context *context, bool is_home, lumen_status *status) {
  gpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; i < abi->num_outputs; ++i) {
    state->results[i] = (gpu_result){NULL, NULL, 0};
    if (context->plan->output_bytes[i] == UINT64_MAX || (is_home && context->outputs[i]))
      continue;
    state->results[i].given = context->outputs[i];
    int code = lumen_schedule_fit_output(context, i, status);
    if (code)
      return code;
    context->outputs[i] = state->schedule.owned_outputs[i];
  }
  return LUMEN_OK;
}

/* Bytes that an output can have from its address on. */
static uint64_t room_of(const context *context, uint32_t index) {
  const char *address = context->outputs[index];
  const gpu_block *block = gpu_block_of(context->device_state, address);
  uint64_t size = context->plan->output_bytes[index];
  if (size == UINT64_MAX) /* in the heap, to the end of the block at most */
    size = block ? block->size - (uint64_t)(address - block->address) : 0;
  return size;
}

/* Brings outputs to the host, as part of the batch. */
static int fetch_outputs(context *context, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  int code = LUMEN_OK;
  for (uint32_t i = 0; i < abi->num_outputs && !code; ++i)
    if (lumen_is_numbers(&abi->outputs[i]) && context->outputs[i] && !context->stays[i])
      code = lumen_places_fetch(context, context->outputs[i], room_of(context, i), status);
  return code;
}

/* Remembers where the outputs are, and says where they will be. */
static void place_results(context *context) {
  gpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; i < abi->num_outputs; ++i) {
    gpu_result *result = &state->results[i];
    if (!lumen_is_numbers(&abi->outputs[i]) || !context->outputs[i] || !result->given)
      continue;
    result->made = context->outputs[i];
    result->size = room_of(context, i);
    context->outputs[i] = result->given;
  }
}

/* The caller's copies of outputs, which are on the host. */
static void return_results(context *context) {
  const gpu_context *state = context->device_state;
  for (uint32_t i = 0; i < context->model->abi->num_outputs; ++i) {
    const gpu_result *result = &state->results[i];
    if (result->made)
      memcpy(result->given, result->made, result->size);
  }
}

static int run_schedule(context *context, lumen_status *status) {
  gpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  bool can_replay = !abi->num_steps && !context->profile && !context->takes_over;
  for (uint32_t i = 0; i < abi->num_outputs; ++i)
    can_replay &= !context->stays[i]; /* places know where it is left */
  if (can_replay && state->replay_plan == context->plan->id &&
      state->replay_generation == state->generation) {
    state->num_recorded = state->replay_launches;
    return gpu_submit_again(context, status);
  }
  state->replay_plan = 0;
  int code = lumen_schedule_run(context, status);
  if (!code)
    code = fetch_outputs(context, status);
  bool is_whole = state->is_recording && state->route->num_on_device == abi->num_launches;
  uint32_t expected = 0;
  for (uint32_t i = 0; i < abi->num_launches; ++i)
    expected += state->schedule.bindings.current->grids[i] > 0;
  /* Nothing went to the host between its launches, nor before its results were copied. */
  is_whole &= state->num_recorded == expected;
  if (!code)
    code = gpu_submit(context, status);
  if (!code && can_replay && is_whole) {
    state->replay_plan = context->plan->id;
    state->replay_generation = state->generation;
    state->replay_launches = state->num_recorded;
  }
  return code;
}

/* What a failed run has recorded. */
static void forget_batch(gpu_context *state) {
  state->is_recording = false;
  state->replay_plan = 0;
}

int gpu_run(context *context, lumen_status *status) {
  gpu_context *state = context->device_state;
  const plan *plan = context->plan;
  state->failure.code = LUMEN_OK;
  state->route =
      lumen_router_follow(&state->router, plan, (uint32_t)(plan - context->planner->plans));
  if (!state->route)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a run",
                      context->model->abi->name);
  /* The host alone works on values where they are. */
  bool is_home = !state->route->num_on_device && !context->model->abi->num_steps;
  int code = lumen_begin_places(context, status);
  if (!code && !is_home)
    code = bring_inputs(context, status);
  if (!code)
    code = bring_outputs(context, is_home, status);
  if (!code)
    code = lumen_schedule_follow(context, status);
  if (!code) {
    lumen_schedule_place(context);
    code = run_schedule(context, status);
  }
  if (code)
    forget_batch(state);
  else
    place_results(context);
  return code;
}

int gpu_finish(context *context, lumen_status *status) {
  gpu_context *state = context->device_state;
  int code = gpu_wait(context, status);
  if (code)
    forget_batch(state);
  else
    return_results(context);
  return code;
}

bool gpu_is_done(const context *context) {
  gpu_context *state = context->device_state;
  return !state->is_running || state->device->api->is_done(state);
}

void gpu_context_memory(const context *context, lumen_context_memory_info *info) {
  const gpu_context *state = context->device_state;
  info->scratch_size = state->workers.scratch_size + state->scratch.size;
  lumen_schedule_memory(context, info);
}
