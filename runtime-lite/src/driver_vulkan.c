/* driver_vulkan.c - devices that a Vulkan driver of the system offers.
 *
 * The launches of a run are one batch (vulkan_batch.h). What a schedule of fixed order records
 * is kept and submitted again, as long as nothing has moved. */
#define _GNU_SOURCE
#include "benchmark.h"
#include "driver.h"
#include "vulkan_batch.h"

#include <stdlib.h>
#include <string.h>

/* ---- Devices ------------------------------------------------------------ */

static bool vulkan_hold(void) { return lumen_vk_acquire(NULL) != NULL; }

static uint32_t vulkan_enumerate(lumen_device_info *devices, uint32_t capacity) {
  const lumen_vk *vk = lumen_vk_acquire(NULL);
  if (!vk)
    return 0;
  uint32_t count = vk_count(vk);
  VkPhysicalDevice physical;
  for (uint32_t i = 0; i < count && i < capacity; ++i)
    if (!vk_find(vk, i, &physical, &devices[i]))
      count = i;
  lumen_vk_release();
  return count;
}

static double vulkan_score(const lumen_abi_model *abi, const lumen_device_info *info,
                           lumen_status *reason) {
  const lumen_vk *vk = lumen_vk_acquire(reason);
  if (!vk)
    return 0;
  double speed = 0;
  if (abi->guard)
    (void)lumen_fail(reason, LUMEN_ERROR_UNSUPPORTED,
                     "%s: compiled with --sanitize=address, which checks the CPU's kernels",
                     abi->name);
  else if (vk_check(vk, info->index, abi, &speed, reason))
    speed = 0;
  lumen_vk_release();
  return speed;
}

static void vulkan_close(device *device) {
  vk_device *state = device->state;
  atomic_fetch_sub(&device->model->memory_used, state->weights.size + state->init.size);
  vk_close(state);
  free(state);
}

static int vulkan_open(device *device, lumen_status *status) {
  const lumen_vk *vk = lumen_vk_acquire(status);
  if (!vk)
    return LUMEN_ERROR_DEVICE;
  vk_device *state = lumen_allocate(sizeof(*state));
  if (!state) {
    lumen_vk_release();
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory to open it",
                      device->model->abi->name);
  }
  int code = vk_open(state, vk, device->model, device->index, status);
  if (code) {
    vk_close(state);
    free(state);
    return code;
  }
  device->state = state;
  atomic_fetch_add(&device->model->memory_used, state->weights.size + state->init.size);
  return LUMEN_OK;
}

static void vulkan_describe(const device *device, lumen_model_info *info) {
  const vk_device *state = device->state;
  info->scratch_size = state->host.scratch_size;
  if (state->level < device->model->abi->num_levels)
    info->level = device->model->abi->levels[state->level].name;
}

static const lumen_abi_variant *vulkan_variant(const device *device, uint32_t kernel) {
  const vk_device *state = device->state;
  return state->variants[kernel];
}

/* ---- Contexts ----------------------------------------------------------- */

static void close_input(context *context, vk_block *input) {
  if (!input->address)
    return;
  atomic_fetch_sub(&context->model->memory_used, input->size);
  vk_release(context, input->address);
  input->address = NULL;
}

static void vulkan_context_close(context *context) {
  vk_context *state = context->device_state;
  lumen_schedule_close(context);
  for (uint32_t i = 0; state->inputs && i < context->model->abi->num_inputs; ++i)
    close_input(context, &state->inputs[i]);
  free(state->blocks);
  vk_batches_close(context);
  atomic_fetch_sub(&context->model->memory_used, state->workers.scratch_size);
  lumen_host_workers_close(&state->workers);
  free(state->inputs);
  free(state->given_outputs);
  free(state);
  context->device_state = NULL;
}

static int vulkan_context_open(context *context, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  vk_device *device = context->device->state;
  vk_context *state = lumen_allocate(sizeof(*state));
  if (!state)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a context", abi->name);
  context->device_state = state;
  state->device = device;
  state->inputs = lumen_allocate(abi->num_inputs * sizeof(*state->inputs));
  state->given_outputs = lumen_allocate(abi->num_outputs * sizeof(void *));
  bool has_memory = lumen_host_workers_open(&state->workers, &device->host, context->executor) &&
                    state->inputs && state->given_outputs;
  atomic_fetch_add(&context->model->memory_used, state->workers.scratch_size);
  state->schedule.weights = device->weights.address;
  state->schedule.init = device->init.address;
  int code = lumen_schedule_open(context, &vk_schedule_ops, device->variants, status);
  if (!code)
    code = has_memory ? vk_batches_open(context, status)
                      : lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a context",
                                   abi->name);
  if (code)
    vulkan_context_close(context);
  return code;
}

/* ---- Runs --------------------------------------------------------------- */

/* Gives inputs memory of the device. What the host has put there is stored as part of the
 * batch. */
static int bring_inputs(context *context, lumen_status *status) {
  vk_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; i < abi->num_inputs; ++i) {
    uint64_t size = context->input_bytes[i];
    vk_block *block = &state->inputs[i];
    if (!lumen_is_numbers(&abi->inputs[i]) || !context->inputs[i])
      continue;
    if (!block->address || block->size < size) {
      close_input(context, block);
      if (!vk_allocate(context, size, /*is_result=*/true))
        return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY,
                          "input '%s': no memory of the device for its %llu bytes",
                          abi->inputs[i].name, (unsigned long long)size);
      *block = state->blocks[state->num_blocks - 1];
      atomic_fetch_add(&context->model->memory_used, block->size);
    }
    memcpy(block->address, context->inputs[i], size);
    context->inputs[i] = block->address;
  }
  return LUMEN_OK;
}

/* Gives outputs memory of the device, also those that the caller brings. */
static int bring_outputs(context *context, lumen_status *status) {
  vk_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; i < abi->num_outputs; ++i) {
    state->given_outputs[i] = NULL;
    if (context->plan->output_bytes[i] == UINT64_MAX)
      continue;
    state->given_outputs[i] = context->outputs[i];
    int code = lumen_schedule_fit_output(context, i, status);
    if (code)
      return code;
    context->outputs[i] = state->schedule.owned_outputs[i];
  }
  return LUMEN_OK;
}

/* Copies the values that have twins, inputs or outputs, as part of the batch. */
static int carry_values(context *context, bool is_fetch, lumen_status *status) {
  const vk_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  uint32_t count = is_fetch ? abi->num_outputs : abi->num_inputs;
  int code = LUMEN_OK;
  for (uint32_t i = 0; i < count && !code; ++i) {
    void *value = is_fetch ? context->outputs[i] : context->inputs[i];
    const vk_block *block = value ? vk_block_of(state, value) : NULL;
    /* All of it: extents that no plan depends on may grow from run to run. */
    if (block && block->twin)
      code = vk_record_carry(context, block, 0, block->size, is_fetch, status);
  }
  return code;
}

/* What the host may read of the outputs, and the caller's copies of them. */
static int return_outputs(context *context, lumen_status *status) {
  vk_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; i < abi->num_outputs; ++i) {
    uint64_t size = context->plan->output_bytes[i];
    if (!lumen_is_numbers(&abi->outputs[i]) || !context->outputs[i])
      continue;
    const vk_block *block = vk_block_of(state, context->outputs[i]);
    if (size == UINT64_MAX) /* in the heap, to the end of the block at most */
      size = block ? block->size - (uint64_t)((char *)context->outputs[i] - block->address) : 0;
    int code =
        block && !block->twin ? vk_fetch(context, context->outputs[i], size, status) : LUMEN_OK;
    if (code)
      return code;
    if (state->given_outputs[i]) {
      memcpy(state->given_outputs[i], context->outputs[i], size);
      context->outputs[i] = state->given_outputs[i];
    }
  }
  return LUMEN_OK;
}

static int run_schedule(context *context, lumen_status *status) {
  vk_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  bool can_replay = !abi->num_steps && !context->profile;
  if (can_replay && state->replay_plan == context->plan->id &&
      state->replay_generation == state->generation) {
    state->num_recorded = state->replay_launches;
    return vk_submit_batch(context, status);
  }
  state->replay_plan = 0;
  int code = carry_values(context, /*is_fetch=*/false, status);
  if (!code)
    code = lumen_schedule_run(context, status);
  bool is_whole = state->is_recording;
  for (uint32_t i = 0; i < abi->num_launches; ++i)
    is_whole &= state->device->kernels[abi->launches[i].kernel].pipeline != NULL;
  uint32_t expected = 0;
  for (uint32_t i = 0; i < abi->num_launches; ++i)
    expected += state->schedule.bindings.current->grids[i] > 0;
  /* Nothing went to the host between its launches. */
  is_whole &= state->num_recorded == expected;
  if (!code)
    code = carry_values(context, /*is_fetch=*/true, status);
  if (!code)
    code = vk_flush(context, status);
  if (!code && can_replay && is_whole) {
    state->replay_plan = context->plan->id;
    state->replay_generation = state->generation;
    state->replay_launches = state->num_recorded;
  }
  return code;
}

static int vulkan_run(context *context, lumen_status *status) {
  vk_context *state = context->device_state;
  state->failure.code = LUMEN_OK;
  int code = bring_inputs(context, status);
  if (!code)
    code = bring_outputs(context, status);
  if (!code)
    code = lumen_schedule_follow(context, status);
  if (!code) {
    lumen_schedule_place(context);
    code = run_schedule(context, status);
  }
  if (code) {
    /* What a failed run has recorded is forgotten. */
    state->is_recording = false;
    state->replay_plan = 0;
    return code;
  }
  return return_outputs(context, status);
}

static void vulkan_context_memory(const context *context, lumen_context_memory_info *info) {
  const vk_context *state = context->device_state;
  info->scratch_size = state->workers.scratch_size + state->scratch.size;
  lumen_schedule_memory(context, info);
}

static int vulkan_synchronize(context *context, lumen_status *status) {
  (void)context; /* a run has ended when it returns */
  (void)status;
  return LUMEN_OK;
}

const lumen_driver lumen_driver_vulkan = {.kind = "vulkan",
                                          .target = LUMEN_ABI_SPIRV,
                                          .hold = vulkan_hold,
                                          .let_go = lumen_vk_release,
                                          .enumerate = vulkan_enumerate,
                                          .score = vulkan_score,
                                          .open = vulkan_open,
                                          .close = vulkan_close,
                                          .describe = vulkan_describe,
                                          .variant = vulkan_variant,
                                          .context_open = vulkan_context_open,
                                          .context_close = vulkan_context_close,
                                          .context_memory = vulkan_context_memory,
                                          .owner = lumen_schedule_owner,
                                          .run = vulkan_run,
                                          .synchronize = vulkan_synchronize,
                                          .benchmark = &lumen_benchmark_vulkan};
