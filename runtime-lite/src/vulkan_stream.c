/* vulkan_stream.c - the commands of a context on a Vulkan device. */
#include "vulkan_stream.h"

#include <sched.h>
#include <string.h>

static VkResult submit(vk_device *device, VkCommandBuffer commands, VkFence fence) {
  const lumen_vk *vk = device->vk;
  VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands};
  while (atomic_flag_test_and_set(&device->is_submitting))
    sched_yield();
  VkResult result = vk->QueueSubmit(device->queue, 1, &submit, fence);
  atomic_flag_clear(&device->is_submitting);
  return result;
}

static VkResult wait(const vk_device *device, VkFence fence) {
  const lumen_vk *vk = device->vk;
  VkResult result = vk->WaitForFences(device->device, 1, &fence, 1, UINT64_MAX);
  if (result == VK_SUCCESS)
    result = vk->ResetFences(device->device, 1, &fence);
  return result;
}

int vk_upload(gpu_device *base, const void *bytes, uint64_t size, const gpu_block *block,
              lumen_status *status) {
  vk_device *device = (vk_device *)base;
  const lumen_vk *vk = device->vk;
  /* In pieces, through memory that both see. */
  const uint64_t piece = 8 << 20;
  gpu_block staging;
  if (!gpu_block_open(base, size < piece ? size : piece, gpu_of_host, &staging))
    return gpu_fail_memory(base, "weights", status);
  VkCommandPool pool = NULL;
  VkCommandBuffer commands;
  VkFence fence = NULL;
  VkResult result = VK_SUCCESS;
  VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                       .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                       .queueFamilyIndex = device->queue_family};
  VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  result = vk->CreateCommandPool(device->device, &pool_info, NULL, &pool);
  VkCommandBufferAllocateInfo commands_info = {.sType =
                                                   VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                               .commandPool = pool,
                                               .commandBufferCount = 1};
  if (result == VK_SUCCESS)
    result = vk->AllocateCommandBuffers(device->device, &commands_info, &commands);
  if (result == VK_SUCCESS)
    result = vk->CreateFence(device->device, &fence_info, NULL, &fence);
  for (uint64_t at = 0; at < size && result == VK_SUCCESS; at += piece) {
    uint64_t count = size - at < piece ? size - at : piece;
    memcpy(staging.address, (const char *)bytes + at, count);
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkBufferCopy copy = {0, at, count};
    result = vk->BeginCommandBuffer(commands, &begin);
    if (result == VK_SUCCESS) {
      vk->CmdCopyBuffer(commands, staging.own.buffer, block->own.buffer, 1, &copy);
      result = vk->EndCommandBuffer(commands);
    }
    if (result == VK_SUCCESS)
      result = submit(device, commands, fence);
    if (result == VK_SUCCESS)
      result = wait(device, fence);
  }
  if (fence)
    vk->DestroyFence(device->device, fence, NULL);
  if (pool)
    vk->DestroyCommandPool(device->device, pool, NULL);
  gpu_block_close(base, &staging);
  return result == VK_SUCCESS ? LUMEN_OK : vk_fail(device, result, "weights", status);
}

/* ---- Recording ---------------------------------------------------------- */

static const lumen_vk *functions(const vk_context *state) {
  return ((const vk_device *)state->base.device)->vk;
}

int vk_begin(gpu_context *base, lumen_status *status) {
  vk_context *state = (vk_context *)base;
  const vk_device *device = (const vk_device *)base->device;
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VkResult result = device->vk->ResetDescriptorPool(device->device, state->descriptors, 0);
  /* It may still be being recorded, by a run that failed. */
  if (result == VK_SUCCESS)
    result = device->vk->ResetCommandBuffer(state->commands, 0);
  if (result == VK_SUCCESS)
    result = device->vk->BeginCommandBuffer(state->commands, &begin);
  return result == VK_SUCCESS ? LUMEN_OK
                              : vk_fail(device, result, "a run cannot be recorded", status);
}

void vk_clear(gpu_context *base, const gpu_block *block) {
  vk_context *state = (vk_context *)base;
  functions(state)->CmdFillBuffer(state->commands, block->own.buffer, 0, VK_WHOLE_SIZE, 0);
}

void vk_copy(gpu_context *base, void *to, uint64_t to_offset, void *from, uint64_t from_offset,
             uint64_t size) {
  vk_context *state = (vk_context *)base;
  VkBufferCopy copy = {from_offset, to_offset, size};
  functions(state)->CmdCopyBuffer(state->commands, from, to, 1, &copy);
}

void vk_barrier(gpu_context *base) {
  const vk_context *state = (const vk_context *)base;
  VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                             .dstAccessMask =
                                 VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
  /* The host is no command. */
  functions(state)->CmdPipelineBarrier(state->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT |
                                           VK_PIPELINE_STAGE_HOST_BIT,
                                       0, 1, &barrier, 0, NULL, 0, NULL);
}

int vk_dispatch(gpu_context *base, const gpu_dispatch *dispatch, lumen_status *status) {
  vk_context *state = (vk_context *)base;
  const vk_device *device = (const vk_device *)base->device;
  const lumen_vk *vk = device->vk;
  const vk_pipeline *pipeline = &device->pipelines[dispatch->kernel];
  VkDescriptorSet set;
  VkDescriptorSetAllocateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                      .descriptorPool = state->descriptors,
                                      .descriptorSetCount = 1,
                                      .pSetLayouts = &pipeline->set_layout};
  VkResult result = vk->AllocateDescriptorSets(device->device, &sets, &set);
  if (result != VK_SUCCESS)
    return vk_fail(device, result, dispatch->nodes, status);
  VkDescriptorBufferInfo bound[gpu_most_bindings];
  VkWriteDescriptorSet writes[gpu_most_bindings];
  for (uint32_t i = 0; i < dispatch->num_bindings; ++i) {
    const gpu_binding *binding = &dispatch->bindings[i];
    bound[i] = (VkDescriptorBufferInfo){binding->buffer, binding->offset, binding->size};
    writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = set,
                                       .dstBinding = i,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &bound[i]};
  }
  vk->UpdateDescriptorSets(device->device, dispatch->num_bindings, writes, 0, NULL);
  vk->CmdBindPipeline(state->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline);
  vk->CmdBindDescriptorSets(state->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->layout, 0, 1,
                            &set, 0, NULL);
  vk->CmdDispatch(state->commands, dispatch->workgroups, 1, 1);
  return LUMEN_OK;
}

int vk_end(gpu_context *base, lumen_status *status) {
  const vk_context *state = (const vk_context *)base;
  VkResult result = functions(state)->EndCommandBuffer(state->commands);
  return result == VK_SUCCESS
             ? LUMEN_OK
             : vk_fail((const vk_device *)base->device, result, "a run cannot be recorded", status);
}

int vk_start(gpu_context *base, lumen_status *status) {
  const vk_context *state = (const vk_context *)base;
  vk_device *device = (vk_device *)base->device;
  VkResult result = submit(device, state->commands, state->fence);
  return result == VK_SUCCESS ? LUMEN_OK : vk_fail(device, result, "a run failed", status);
}

int vk_wait(gpu_context *base, lumen_status *status) {
  const vk_context *state = (const vk_context *)base;
  const vk_device *device = (const vk_device *)base->device;
  VkResult result = wait(device, state->fence);
  return result == VK_SUCCESS ? LUMEN_OK : vk_fail(device, result, "a run failed", status);
}

bool vk_is_done(gpu_context *base) {
  const vk_context *state = (const vk_context *)base;
  const vk_device *device = (const vk_device *)base->device;
  return device->vk->GetFenceStatus(device->device, state->fence) != VK_NOT_READY;
}

/* ---- Streams ------------------------------------------------------------ */

int vk_stream_open(gpu_context *base, uint32_t max_launches, uint32_t max_bindings,
                   lumen_status *status) {
  vk_context *state = (vk_context *)base;
  const vk_device *device = (const vk_device *)base->device;
  const lumen_vk *vk = device->vk;
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                  .queueFamilyIndex = device->queue_family};
  VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, max_bindings * max_launches};
  VkDescriptorPoolCreateInfo descriptors = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                            .maxSets = max_launches,
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

void vk_stream_close(gpu_context *base) {
  const vk_context *state = (const vk_context *)base;
  const vk_device *device = (const vk_device *)base->device;
  const lumen_vk *vk = device->vk;
  if (state->descriptors)
    vk->DestroyDescriptorPool(device->device, state->descriptors, NULL);
  if (state->fence)
    vk->DestroyFence(device->device, state->fence, NULL);
  if (state->commands_pool)
    vk->DestroyCommandPool(device->device, state->commands_pool, NULL);
}
