/* vulkan_batch.c - see vulkan_batch.h. */
#define _GNU_SOURCE
#include "vulkan_batch.h"

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

void *vk_allocate(context *context, uint64_t size, bool is_result) {
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

void vk_release(context *context, void *memory) {
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

const vk_block *vk_block_of(const vk_context *state, const void *address) {
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

int vk_submit_batch(context *context, lumen_status *status) {
  vk_context *state = context->device_state;
  VkResult result = vk_submit(state->device, state->commands, state->fence);
  if (result != VK_SUCCESS)
    return vk_fail(state->device, result, "a run failed", status);
  return check_faults(context, status);
}

int vk_flush(context *context, lumen_status *status) {
  vk_context *state = context->device_state;
  if (!state->is_recording)
    return state->failure.code
               ? lumen_fail(status, state->failure.code, "%s", state->failure.message)
               : LUMEN_OK;
  state->is_recording = false;
  record_barrier(state);
  VkResult result = state->device->vk->EndCommandBuffer(state->commands);
  int code = result == VK_SUCCESS
                 ? vk_submit_batch(context, &state->failure)
                 : vk_fail(state->device, result, "a run cannot be recorded", &state->failure);
  return code ? lumen_fail(status, code, "%s", state->failure.message) : LUMEN_OK;
}

int vk_record_carry(context *context, const vk_block *block, uint64_t offset, uint64_t size,
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
  const vk_block *block = vk_block_of(state, memory);
  if (!block || block->is_mapped)
    return LUMEN_OK;
  uint64_t offset = (uint64_t)((const char *)memory - block->address);
  if (size > block->size - offset)
    size = block->size - offset;
  if (block->twin) {
    int code = vk_record_carry(context, block, offset, size, is_fetch, status);
    return code || !is_fetch ? code : vk_flush(context, status);
  }
  int code = is_fetch ? vk_flush(context, status) : LUMEN_OK;
  for (uint64_t at = 0; at < size && !code; at += staging_size) {
    uint64_t count = size - at < staging_size ? size - at : staging_size;
    /* What is recorded uses the staging memory too. */
    code = vk_flush(context, status);
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
    code = vk_flush(context, status);
    if (is_fetch && !code)
      memcpy(host, state->staging.address, count);
  }
  return code;
}

int vk_fetch(context *context, const void *memory, uint64_t size, lumen_status *status) {
  return carry(context, memory, size, /*is_fetch=*/true, status);
}

static int vk_store(context *context, const void *memory, uint64_t size, lumen_status *status) {
  return carry(context, memory, size, /*is_fetch=*/false, status);
}

static int vk_copy(context *context, void *to, const void *from, uint64_t size,
                   lumen_status *status) {
  vk_context *state = context->device_state;
  const vk_block *source = vk_block_of(state, from), *target = vk_block_of(state, to);
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
  int code = vk_flush(context, status);
  for (uint32_t a = 0; a < num_args && !code; ++a)
    if (args[a])
      code = vk_fetch(context, args[a],
                      lumen_bytes_at(&state->schedule.storages,
                                     abi->arg_buffers[launch->first_arg + a], args[a]),
                      status);
  const int64_t *sizes = binding->sizes + launch->first_size;
  int64_t grid = lumen_grid_of(state->device->host.variants[launch->kernel], sizes);
  if (!code)
    code = lumen_host_launch(&state->workers, launch, args, sizes, grid, status);
  for (uint32_t a = num_args - launch->num_outputs; a < num_args && !code; ++a)
    if (args[a])
      code = vk_store(context, args[a],
                      lumen_bytes_at(&state->schedule.storages,
                                     abi->arg_buffers[launch->first_arg + a], args[a]),
                      status);
  return code;
}

/* What is bound for an argument, and the bytes before its first element; false: more than a
 * kernel can reach. */
static bool bind_argument(const vk_context *state, uint32_t buffer, const void *address,
                          VkDescriptorBufferInfo *info, int32_t *before) {
  const vk_block *block = address ? vk_block_of(state, address) : NULL;
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
    int code = vk_flush(context, status);
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

static int vk_launch(context *context, uint32_t index, lumen_status *status) {
  const vk_context *state = context->device_state;
  uint32_t kernel = context->model->abi->launches[index].kernel;
  if (!state->device->kernels[kernel].pipeline)
    return launch_on_host(context, index, status);
  int code = record_launch(context, index, status);
  return code || !context->profile ? code : vk_flush(context, status);
}

static bool vk_is_busy(const context *context) {
  const vk_context *state = context->device_state;
  return state->is_recording;
}

const lumen_schedule_ops vk_schedule_ops = {.launch = vk_launch,
                                            .fetch = vk_fetch,
                                            .store = vk_store,
                                            .copy = vk_copy,
                                            .wait = vk_flush,
                                            .is_busy = vk_is_busy,
                                            .allocate = vk_allocate,
                                            .release = vk_release};

int vk_batches_open(context *context, lumen_status *status) {
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

void vk_batches_close(context *context) {
  vk_context *state = context->device_state;
  const vk_device *device = state->device;
  const lumen_vk *vk = device->vk;
  atomic_fetch_sub(&context->model->memory_used, state->parameters.size + state->faults.size +
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
  free(state->recorded);
}
