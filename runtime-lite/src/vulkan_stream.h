/* vulkan_stream.h - what a context records its batches with on a Vulkan device. */
#ifndef LUMEN_VULKAN_STREAM_H
#define LUMEN_VULKAN_STREAM_H

#include "gpu_batch.h"
#include "vulkan_device.h"

typedef struct vk_context {
  gpu_context base; /* first: a gpu_context is cast to it */
  VkCommandPool commands_pool;
  VkCommandBuffer commands;
  VkFence fence;
  VkDescriptorPool descriptors;
} vk_context;

/* For vk_api. */
int vk_upload(gpu_device *device, const void *bytes, uint64_t size, const gpu_block *block,
              lumen_status *status);
int vk_stream_open(gpu_context *context, uint32_t max_launches, uint32_t max_bindings,
                   lumen_status *status);
void vk_stream_close(gpu_context *context);
int vk_begin(gpu_context *context, lumen_status *status);
void vk_clear(gpu_context *context, const gpu_block *block);
void vk_copy(gpu_context *context, void *to, uint64_t to_offset, void *from, uint64_t from_offset,
             uint64_t size);
int vk_dispatch(gpu_context *context, const gpu_dispatch *dispatch, lumen_status *status);
void vk_barrier(gpu_context *context);
int vk_end(gpu_context *context, lumen_status *status);
int vk_start(gpu_context *context, lumen_status *status);
int vk_wait(gpu_context *context, lumen_status *status);
bool vk_is_done(gpu_context *context);

#endif
