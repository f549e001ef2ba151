/* driver_vulkan.c - devices that a Vulkan driver of the system offers.
 *
 * The launches of a run are recorded into one command buffer, which is submitted where the
 * host has to see something: at the end, before a kernel that it runs itself, where a step
 * reads a number. What a schedule of fixed order records is kept and submitted again, as long
 * as nothing has moved. */
#define _GNU_SOURCE
#include "benchmark.h"
#include "driver.h"
#include "nodes.h"
#include "schedule.h"
#include "vulkan_device.h"

#include <stdlib.h>
#include <string.h>

enum {
  launches_per_batch = 256, /* of schedules with steps */
  staging_size = 4 << 20,
  scratch_limit = 64 << 20, /* that more workgroups are not worth */
  fault_bytes = LUMEN_ABI_GPU_FAULT_WORDS * sizeof(int32_t)
};

typedef struct vk_context {
  lumen_schedule schedule; /* first: see schedule.h */
  vk_device *device;
  lumen_host_workers workers;
  vk_block *blocks; /* that the schedule has asked for, and the inputs' */
  uint32_t num_blocks, block_capacity;
  uint64_t generation;  /* of the blocks: counts their changes */
  vk_block *inputs;     /* by input */
  void **given_outputs; /* memory of the caller's, which outputs are copied to */
  vk_block parameters, faults, scratch, staging;
  VkCommandPool commands_pool;
  VkCommandBuffer commands;
  VkFence fence;
  VkDescriptorPool descriptors;
  uint32_t batch_capacity; /* launches */
  uint64_t parameter_stride, fault_stride;
  uint32_t num_recorded; /* launches in the batch */
  uint32_t *recorded;    /* which */
  bool is_recording;
  lumen_status failure; /* of the last batch: nothing can be read of it */
  /* Of the batch that can be submitted again. */
  uint64_t replay_plan, replay_generation;
  uint32_t replay_launches;
} vk_context;

static uint64_t align_to(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

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
  VkPhysicalDevice physical;
  if (abi->guard)
    (void)lumen_fail(reason, LUMEN_ERROR_UNSUPPORTED,
                     "%s: compiled with --sanitize=address, which checks the CPU's kernels",
                     abi->name);
  else if (!vk_find(vk, info->index, &physical, NULL) ||
           vk_check(vk, physical, abi, &speed, reason))
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

static void vulkan_describe_level(const device *device, uint32_t index, lumen_level_info *info) {
  const vk_device *state = device->state;
  const lumen_abi_model *abi = device->model->abi;
  info->available = abi->levels[index].target == LUMEN_ABI_SPIRV;
  for (uint32_t k = 0; k < abi->num_kernels; ++k)
    info->num_kernels += state->variants[k]->level == index;
}

static const char *vulkan_launch_level(const device *device, uint32_t launch) {
  const vk_device *state = device->state;
  const lumen_abi_model *abi = device->model->abi;
  return abi->levels[state->variants[abi->launches[launch].kernel]->level].name;
}

/* ---- Memory ------------------------------------------------------------- */

static void *vulkan_allocate(context *context, uint64_t size, bool is_result) {
  vk_context *state = context->device_state;
  if (state->num_blocks == state->block_capacity) {
    uint32_t capacity = state->block_capacity ? 2 * state->block_capacity : 8;
    vk_block *more = realloc(state->blocks, capacity * sizeof(*more));
    if (!more)
      return NULL;
    state->blocks = more;
    state->block_capacity = capacity;
  }
  vk_block *block = &state->blocks[state->num_blocks];
  if (!vk_block_open(state->device, size, is_result ? vk_of_both : vk_of_device, block))
    return NULL;
  ++state->num_blocks;
  ++state->generation;
  return block->address;
}

static void vulkan_release(context *context, void *memory) {
  vk_context *state = context->device_state;
  for (uint32_t i = 0; i < state->num_blocks; ++i)
    if (state->blocks[i].address == memory) {
      vk_block_close(state->device, &state->blocks[i]);
      state->blocks[i] = state->blocks[--state->num_blocks];
      ++state->generation;
      return;
    }
}

static bool holds(const vk_block *block, const void *address) {
  return block->address && (uintptr_t)address - (uintptr_t)block->address < block->size;
}

/* The block that an address lies in; NULL: none. */
static const vk_block *block_of(const vk_context *state, const void *address) {
  for (uint32_t i = 0; i < state->num_blocks; ++i)
    if (holds(&state->blocks[i], address))
      return &state->blocks[i];
  if (holds(&state->device->weights, address))
    return &state->device->weights;
  return holds(&state->device->init, address) ? &state->device->init : NULL;
}

/* ---- Batches ------------------------------------------------------------ */

static int begin_batch(context *context, lumen_status *status) {
  vk_context *state = context->device_state;
  const lumen_vk *vk = state->device->vk;
  if (state->is_recording)
    return LUMEN_OK;
  state->replay_plan = 0;
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VkResult result = vk->ResetDescriptorPool(state->device->device, state->descriptors, 0);
  if (result == VK_SUCCESS)
    result = vk->BeginCommandBuffer(state->commands, &begin);
  if (result != VK_SUCCESS)
    return vk_fail(state->device, result, "a run cannot be recorded", status);
  state->is_recording = true;
  state->num_recorded = 0;
  if (state->faults.buffer)
    vk->CmdFillBuffer(state->commands, state->faults.buffer, 0, VK_WHOLE_SIZE, 0);
  return LUMEN_OK;
}

/* All that comes before is done, and seen, by what follows. */
static void record_barrier(const vk_context *state) {
  VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                             .dstAccessMask =
                                 VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  /* The host is no command. */
  state->device->vk->CmdPipelineBarrier(state->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                        VK_PIPELINE_STAGE_ALL_COMMANDS_BIT |
                                            VK_PIPELINE_STAGE_HOST_BIT,
                                        0, 1, &barrier, 0, NULL, 0, NULL);
}

/* Fails for the first launch of the batch that had a fault. */
static int check_faults(const context *context, lumen_status *status) {
  const vk_context *state = context->device_state;
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

static int submit_batch(context *context, lumen_status *status) {
  vk_context *state = context->device_state;
  VkResult result = vk_submit(state->device, state->commands, state->fence);
  if (result != VK_SUCCESS)
    return vk_fail(state->device, result, "a run failed", status);
  return check_faults(context, status);
}

/* Submits what is recorded, and waits for it. */
static int flush(context *context, lumen_status *status) {
  vk_context *state = context->device_state;
  if (!state->is_recording)
    return state->failure.code
               ? lumen_fail(status, state->failure.code, "%s", state->failure.message)
               : LUMEN_OK;
  state->is_recording = false;
  record_barrier(state);
  VkResult result = state->device->vk->EndCommandBuffer(state->commands);
  int code = result == VK_SUCCESS
                 ? submit_batch(context, &state->failure)
                 : vk_fail(state->device, result, "a run cannot be recorded", &state->failure);
  return code ? lumen_fail(status, code, "%s", state->failure.message) : LUMEN_OK;
}

/* Copies between a block and its twin, as part of the batch. */
static int record_carry(context *context, const vk_block *block, uint64_t offset, uint64_t size,
                        bool is_fetch, lumen_status *status) {
  vk_context *state = context->device_state;
  int code = begin_batch(context, status);
  if (code || !size)
    return code;
  VkBufferCopy copy = {offset, offset, size};
  record_barrier(state);
  state->device->vk->CmdCopyBuffer(state->commands, is_fetch ? block->buffer : block->twin,
                                   is_fetch ? block->twin : block->buffer, 1, &copy);
  return LUMEN_OK;
}

/* Copies between a block and what its addresses mean, or nothing where that is its memory.
 * Done when it returns, but for what is stored from a twin. */
static int carry(context *context, const void *memory, uint64_t size, bool is_fetch,
                 lumen_status *status) {
  vk_context *state = context->device_state;
  const vk_block *block = block_of(state, memory);
  if (!block || block->is_mapped)
    return LUMEN_OK;
  uint64_t offset = (uint64_t)((const char *)memory - block->address);
  if (size > block->size - offset)
    size = block->size - offset;
  if (block->twin) {
    int code = record_carry(context, block, offset, size, is_fetch, status);
    return code || !is_fetch ? code : flush(context, status);
  }
  int code = is_fetch ? flush(context, status) : LUMEN_OK;
  for (uint64_t at = 0; at < size && !code; at += staging_size) {
    uint64_t count = size - at < staging_size ? size - at : staging_size;
    /* What is recorded uses the staging memory too. */
    code = flush(context, status);
    if (!code)
      code = begin_batch(context, status);
    if (code)
      break;
    VkBufferCopy out = {offset + at, 0, count}, in = {0, offset + at, count};
    char *host = block->address + offset + at;
    if (!is_fetch)
      memcpy(state->staging.address, host, count);
    state->device->vk->CmdCopyBuffer(
        state->commands, is_fetch ? block->buffer : state->staging.buffer,
        is_fetch ? state->staging.buffer : block->buffer, 1, is_fetch ? &out : &in);
    record_barrier(state);
    code = flush(context, status);
    if (is_fetch && !code)
      memcpy(host, state->staging.address, count);
  }
  return code;
}

static int vulkan_fetch(context *context, const void *memory, uint64_t size, lumen_status *status) {
  return carry(context, memory, size, /*is_fetch=*/true, status);
}

static int vulkan_store(context *context, const void *memory, uint64_t size, lumen_status *status) {
  return carry(context, memory, size, /*is_fetch=*/false, status);
}

static int vulkan_copy(context *context, void *to, const void *from, uint64_t size,
                       lumen_status *status) {
  vk_context *state = context->device_state;
  const vk_block *source = block_of(state, from), *target = block_of(state, to);
  if (!size)
    return LUMEN_OK;
  int code = begin_batch(context, status);
  if (code)
    return code;
  VkBufferCopy copy = {(uint64_t)((const char *)from - source->address),
                       (uint64_t)((char *)to - target->address), size};
  record_barrier(state);
  state->device->vk->CmdCopyBuffer(state->commands, source->buffer, target->buffer, 1, &copy);
  record_barrier(state);
  return LUMEN_OK;
}

/* ---- Launches ----------------------------------------------------------- */

/* A launch that the device cannot take: what it reads is fetched, what it writes stored. */
static int launch_on_host(context *context, uint32_t index, lumen_status *status) {
  vk_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  const lumen_abi_launch *launch = &abi->launches[index];
  const lumen_binding *binding = state->schedule.bindings.current;
  uint32_t num_args = abi->kernels[launch->kernel].num_args;
  void *const *args = binding->args + launch->first_arg;
  int code = flush(context, status);
  for (uint32_t a = 0; a < num_args && !code; ++a)
    if (args[a])
      code = vulkan_fetch(context, args[a],
                          lumen_bytes_at(&state->schedule.storages,
                                         abi->arg_buffers[launch->first_arg + a], args[a]),
                          status);
  const int64_t *sizes = binding->sizes + launch->first_size;
  int64_t grid = lumen_grid_of(state->device->host.variants[launch->kernel], sizes);
  if (!code)
    code = lumen_host_launch(&state->workers, launch, args, sizes, grid, status);
  for (uint32_t a = num_args - launch->num_outputs; a < num_args && !code; ++a)
    if (args[a])
      code = vulkan_store(context, args[a],
                          lumen_bytes_at(&state->schedule.storages,
                                         abi->arg_buffers[launch->first_arg + a], args[a]),
                          status);
  return code;
}

/* What is bound for an argument, and the bytes before its first element; false: more than a
 * kernel can reach. */
static bool bind_argument(const vk_context *state, uint32_t buffer, const void *address,
                          VkDescriptorBufferInfo *info, int32_t *before) {
  const vk_block *block = address ? block_of(state, address) : NULL;
  *before = 0;
  if (!block) { /* nothing is read or written there */
    *info = (VkDescriptorBufferInfo){state->parameters.buffer, 0, LUMEN_ALIGNMENT};
    return true;
  }
  uint64_t offset = (uint64_t)((const char *)address - block->address);
  uint64_t begin = offset / state->device->alignment * state->device->alignment;
  uint64_t size = lumen_bytes_at(&state->schedule.storages, buffer, address);
  if (size > block->size - offset)
    size = block->size - offset;
  uint64_t range = align_to(offset - begin + size, 4);
  if (range > block->size - begin)
    range = block->size - begin;
  *before = (int32_t)(offset - begin);
  *info = (VkDescriptorBufferInfo){block->buffer, begin, range ? range : 4};
  return range <= state->device->max_range;
}

/* Workgroups for a grid; 0: its numbers do not fit. */
static uint32_t count_workgroups(const vk_context *state, const vk_kernel *kernel, int64_t grid,
                                 const int64_t *sizes, uint32_t num_sizes) {
  for (uint32_t i = 0; i < num_sizes; ++i)
    if (sizes[i] > INT32_MAX || sizes[i] < INT32_MIN)
      return 0;
  if (grid > INT32_MAX - (1 << 20)) /* a stride beyond it must not wrap */
    return 0;
  uint64_t count = ((uint64_t)grid + kernel->launch->units_per_workgroup - 1) /
                   kernel->launch->units_per_workgroup;
  if (count > state->device->max_workgroups)
    count = state->device->max_workgroups;
  if (kernel->variant->scratch_size) {
    uint64_t most = state->scratch.size / kernel->variant->scratch_size;
    if (count > most)
      count = most;
  }
  return (uint32_t)count;
}

static int record_launch(context *context, uint32_t index, lumen_status *status) {
  vk_context *state = context->device_state;
  vk_device *device = state->device;
  const lumen_vk *vk = device->vk;
  const lumen_abi_model *abi = context->model->abi;
  const lumen_abi_launch *launch = &abi->launches[index];
  const lumen_binding *binding = state->schedule.bindings.current;
  const vk_kernel *kernel = &device->kernels[launch->kernel];
  int64_t grid = binding->grids[index];
  if (grid <= 0)
    return LUMEN_OK;
  const int64_t *sizes = binding->sizes + launch->first_size;
  uint32_t workgroups = count_workgroups(state, kernel, grid, sizes, launch->num_sizes);
  if (!workgroups)
    return launch_on_host(context, index, status);
  if (state->is_recording && state->num_recorded == state->batch_capacity) {
    int code = flush(context, status);
    if (code)
      return code;
  }
  int code = begin_batch(context, status);
  if (code)
    return code;

  enum { most_bindings = 64 };
  VkDescriptorBufferInfo bound[most_bindings];
  VkWriteDescriptorSet writes[most_bindings];
  uint32_t num_args = abi->kernels[launch->kernel].num_args, count = 0;
  uint64_t first = state->num_recorded * state->parameter_stride;
  int32_t *words = (int32_t *)(void *)(state->parameters.address + first);
  if (kernel->num_bindings > most_bindings)
    return launch_on_host(context, index, status);
  *words++ = (int32_t)grid;
  *words++ = (int32_t)workgroups;
  for (; count < num_args; ++count)
    if (!bind_argument(state, abi->arg_buffers[launch->first_arg + count],
                       binding->args[launch->first_arg + count], &bound[count], words++))
      return launch_on_host(context, index, status);
  for (uint32_t i = 0; i < launch->num_sizes; ++i)
    *words++ = (int32_t)sizes[i];
  bound[count++] =
      (VkDescriptorBufferInfo){state->parameters.buffer, first, state->parameter_stride};
  if (kernel->variant->scratch_size)
    bound[count++] = (VkDescriptorBufferInfo){state->scratch.buffer, 0, state->scratch.size};
  if (kernel->launch->flags & LUMEN_ABI_GPU_FAULTS)
    bound[count++] = (VkDescriptorBufferInfo){
        state->faults.buffer, state->num_recorded * state->fault_stride, fault_bytes};

  VkDescriptorSet set;
  VkDescriptorSetAllocateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                      .descriptorPool = state->descriptors,
                                      .descriptorSetCount = 1,
                                      .pSetLayouts = &kernel->set_layout};
  VkResult result = vk->AllocateDescriptorSets(device->device, &sets, &set);
  if (result != VK_SUCCESS)
    return vk_fail(device, result, launch->nodes, status);
  for (uint32_t i = 0; i < count; ++i)
    writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = set,
                                       .dstBinding = i,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &bound[i]};
  vk->UpdateDescriptorSets(device->device, count, writes, 0, NULL);
  record_barrier(state);
  vk->CmdBindPipeline(state->commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel->pipeline);
  vk->CmdBindDescriptorSets(state->commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel->layout, 0, 1,
                            &set, 0, NULL);
  vk->CmdDispatch(state->commands, workgroups, 1, 1);
  state->recorded[state->num_recorded++] = index;
  return LUMEN_OK;
}

static int vulkan_launch(context *context, uint32_t index, lumen_status *status) {
  const vk_context *state = context->device_state;
  uint32_t kernel = context->model->abi->launches[index].kernel;
  if (!state->device->kernels[kernel].pipeline)
    return launch_on_host(context, index, status);
  int code = record_launch(context, index, status);
  return code || !context->profile ? code : flush(context, status);
}

static bool vulkan_is_busy(const context *context) {
  const vk_context *state = context->device_state;
  return state->is_recording;
}

static const lumen_schedule_ops ops = {.launch = vulkan_launch,
                                       .fetch = vulkan_fetch,
                                       .store = vulkan_store,
                                       .copy = vulkan_copy,
                                       .wait = flush,
                                       .is_busy = vulkan_is_busy,
                                       .allocate = vulkan_allocate,
                                       .release = vulkan_release};

/* ---- Contexts ----------------------------------------------------------- */

static void vulkan_context_close(context *context) {
  vk_context *state = context->device_state;
  const vk_device *device = state->device;
  const lumen_vk *vk = device->vk;
  lumen_schedule_close(context);
  while (state->num_blocks)
    vk_block_close(device, &state->blocks[--state->num_blocks]);
  free(state->blocks);
  atomic_fetch_sub(&context->model->memory_used, state->workers.scratch_size +
                                                     state->parameters.size + state->faults.size +
                                                     state->scratch.size + state->staging.size);
  vk_block_close(device, &state->parameters);
  vk_block_close(device, &state->faults);
  vk_block_close(device, &state->scratch);
  vk_block_close(device, &state->staging);
  if (state->descriptors)
    vk->DestroyDescriptorPool(device->device, state->descriptors, NULL);
  if (state->fence)
    vk->DestroyFence(device->device, state->fence, NULL);
  if (state->commands_pool)
    vk->DestroyCommandPool(device->device, state->commands_pool, NULL);
  lumen_host_workers_close(&state->workers);
  free(state->inputs);
  free(state->given_outputs);
  free(state->recorded);
  free(state);
  context->device_state = NULL;
}

/* Everything that a batch needs besides the memory of values. */
static int open_batches(context *context, lumen_status *status) {
  vk_context *state = context->device_state;
  vk_device *device = state->device;
  const lumen_vk *vk = device->vk;
  const lumen_abi_model *abi = context->model->abi;
  state->batch_capacity = abi->num_steps ? launches_per_batch : abi->num_launches + 1;
  uint64_t words = 0, scratch = 0, workgroups = 1;
  uint32_t num_descriptors = 1;
  bool has_faults = false;
  for (uint32_t i = 0; i < abi->num_launches; ++i) {
    const lumen_abi_launch *launch = &abi->launches[i];
    const vk_kernel *kernel = &device->kernels[launch->kernel];
    uint64_t needed = 2 + (uint64_t)abi->kernels[launch->kernel].num_args + launch->num_sizes;
    if (!kernel->pipeline)
      continue;
    if (needed > words)
      words = needed;
    if (kernel->variant->scratch_size > scratch)
      scratch = kernel->variant->scratch_size;
    has_faults |= kernel->launch->flags & LUMEN_ABI_GPU_FAULTS;
    if (kernel->num_bindings > num_descriptors)
      num_descriptors = kernel->num_bindings;
  }
  /* As many workgroups as keep a device busy, within a bound. */
  if (scratch) {
    workgroups = scratch_limit / scratch;
    workgroups = workgroups < 1 ? 1 : workgroups > 1024 ? 1024 : workgroups;
  }
  state->parameter_stride = align_to((words + 1) * sizeof(int32_t), device->alignment);
  state->fault_stride = align_to(fault_bytes, device->alignment);
  uint64_t capacity = state->batch_capacity;
  bool ok =
      vk_block_open(device, capacity * state->parameter_stride, vk_of_host, &state->parameters);
  if (ok && has_faults)
    ok = vk_block_open(device, capacity * state->fault_stride, vk_of_host, &state->faults);
  if (ok && scratch)
    ok = vk_block_open(device, scratch * workgroups, vk_of_device, &state->scratch);
  if (ok && !device->is_shared)
    ok = vk_block_open(device, staging_size, vk_of_host, &state->staging);
  atomic_fetch_add(&context->model->memory_used, state->parameters.size + state->faults.size +
                                                     state->scratch.size + state->staging.size);
  state->recorded = lumen_allocate(capacity * sizeof(*state->recorded));
  if (!ok || !state->recorded)
    return vk_fail(device, VK_ERROR_OUT_OF_DEVICE_MEMORY, "a context", status);

  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                  .queueFamilyIndex = device->queue_family};
  VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                               num_descriptors * state->batch_capacity};
  VkDescriptorPoolCreateInfo descriptors = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                            .maxSets = state->batch_capacity,
                                            .poolSizeCount = 1,
                                            .pPoolSizes = &size};
  VkResult result = vk->CreateCommandPool(device->device, &pool, NULL, &state->commands_pool);
  VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .commandPool = state->commands_pool,
                                          .commandBufferCount = 1};
  if (result == VK_SUCCESS)
    result = vk->AllocateCommandBuffers(device->device, &commands, &state->commands);
  if (result == VK_SUCCESS)
    result = vk->CreateFence(device->device, &fence, NULL, &state->fence);
  if (result == VK_SUCCESS)
    result = vk->CreateDescriptorPool(device->device, &descriptors, NULL, &state->descriptors);
  return result == VK_SUCCESS ? LUMEN_OK : vk_fail(device, result, "a context", status);
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
  int code = lumen_schedule_open(context, &ops, device->variants, status);
  if (!code)
    code = has_memory ? open_batches(context, status)
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
      if (block->address)
        vulkan_release(context, block->address);
      block->address = NULL;
      if (!vulkan_allocate(context, size, /*is_result=*/true))
        return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY,
                          "input '%s': no memory of the device for its %llu bytes",
                          abi->inputs[i].name, (unsigned long long)size);
      *block = state->blocks[state->num_blocks - 1];
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
    const vk_block *block = value ? block_of(state, value) : NULL;
    /* All of it: extents that no plan depends on may grow from run to run. */
    if (block && block->twin)
      code = record_carry(context, block, 0, block->size, is_fetch, status);
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
    const vk_block *block = block_of(state, context->outputs[i]);
    if (size == UINT64_MAX) /* in the heap, to the end of the block at most */
      size = block ? block->size - (uint64_t)((char *)context->outputs[i] - block->address) : 0;
    int code =
        block && !block->twin ? vulkan_fetch(context, context->outputs[i], size, status) : LUMEN_OK;
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
    return submit_batch(context, status);
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
    code = flush(context, status);
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
                                          .hold = vulkan_hold,
                                          .let_go = lumen_vk_release,
                                          .enumerate = vulkan_enumerate,
                                          .score = vulkan_score,
                                          .open = vulkan_open,
                                          .close = vulkan_close,
                                          .describe = vulkan_describe,
                                          .describe_level = vulkan_describe_level,
                                          .launch_level = vulkan_launch_level,
                                          .context_open = vulkan_context_open,
                                          .context_close = vulkan_context_close,
                                          .context_memory = vulkan_context_memory,
                                          .owner = lumen_schedule_owner,
                                          .run = vulkan_run,
                                          .synchronize = vulkan_synchronize,
                                          .benchmark = &lumen_benchmark_vulkan};
