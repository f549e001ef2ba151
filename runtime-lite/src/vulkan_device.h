/* vulkan_device.h - a model on one Vulkan device, behind gpu_api. */
#ifndef LUMEN_VULKAN_DEVICE_H
#define LUMEN_VULKAN_DEVICE_H

#include "gpu_device.h"
#include "vulkan.h"

typedef struct vk_pipeline {
  VkPipeline pipeline; /* NULL: the host runs it */
  VkPipelineLayout layout;
  VkDescriptorSetLayout set_layout;
} vk_pipeline;

/* Read-only once open, but for the queue. */
typedef struct vk_device {
  gpu_device base; /* first: a gpu_device is cast to it */
  const lumen_vk *vk;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queue;
  atomic_flag is_submitting; /* guards the queue */
  uint32_t queue_family;
  uint32_t memory_types[2]; /* by place */
  vk_pipeline *pipelines;   /* by kernel */
  VkPipelineCache cache;
} vk_device;

extern const gpu_api vk_api;

/* Of a driver's devices, the `index`-th. `info` may be NULL; false: there is none. */
bool vk_find(const lumen_vk *vk, uint32_t index, VkPhysicalDevice *physical,
             lumen_device_info *info);
uint32_t vk_count(const lumen_vk *vk);
/* What the `index`-th can take, and how fast devices of its type are: what it is told where
 * nothing was measured. Fails where it cannot run kernels at all; `name` is the model's. */
int vk_measure(const lumen_vk *vk, uint32_t index, const char *name, gpu_limits *limits,
               lumen_device_rates *rates, lumen_status *status);

/* "<model>: <what> (<result>)" with the code that suits. VK_SUCCESS: Vulkan had no say in it. */
int vk_fail(const vk_device *device, VkResult result, const char *what, lumen_status *status);

#endif
