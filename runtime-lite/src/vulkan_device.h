/* vulkan_device.h - a model on one Vulkan device: memory, kernels, the queue. */
#ifndef LUMEN_VULKAN_DEVICE_H
#define LUMEN_VULKAN_DEVICE_H

#include "host_kernels.h"
#include "vulkan.h"

/* Memory of the device, as one buffer. Addresses of it are the host's: where the memory is
 * mapped they are those of its bytes, else of its twin or of a reservation as large, whose
 * bytes are valid only where they were copied. */
typedef struct vk_block {
  VkBuffer buffer, twin; /* the twin is mapped memory, which commands can copy from and to */
  VkDeviceMemory memory, twin_memory;
  char *address;
  uint64_t size;
  bool is_mapped;
} vk_block;

typedef struct vk_kernel {
  VkPipeline pipeline; /* NULL: the host runs it */
  VkPipelineLayout layout;
  VkDescriptorSetLayout set_layout;
  const lumen_abi_variant *variant;
  const lumen_abi_gpu_launch *launch;
  uint32_t num_bindings;
} vk_kernel;

/* Where the memory of a block shall be. */
typedef enum vk_place {
  vk_of_device, /* near the device; mapped where the host sees it there */
  vk_of_host,   /* mapped */
  vk_of_both    /* as of_device, with a twin where that is not mapped */
} vk_place;

/* Read-only once open, but for the queue. */
typedef struct vk_device {
  const lumen_vk *vk;
  const model *model;
  VkPhysicalDevice physical;
  VkDevice device;
  VkQueue queue;
  atomic_flag is_submitting; /* guards the queue */
  uint32_t queue_family;
  uint32_t memory_types[2]; /* by place */
  bool is_shared;           /* memory of the device is mapped */
  uint64_t max_range, alignment;
  uint32_t max_workgroups, max_threads, max_shared, max_bindings;
  uint64_t features; /* LUMEN_ABI_GPU_* */
  lumen_host_kernels host;
  vk_kernel *kernels;                 /* by kernel */
  const lumen_abi_variant **variants; /* likewise: that launches get their grids from */
  uint32_t level;                     /* of the kernels' variants; num_levels: none has one */
  VkPipelineCache cache;
  vk_block weights, init;
} vk_device;

/* Of a driver's devices, the `index`-th. `info` may be NULL; false: there is none. */
bool vk_find(const lumen_vk *vk, uint32_t index, VkPhysicalDevice *physical,
             lumen_device_info *info);
uint32_t vk_count(const lumen_vk *vk);
/* Why the model cannot run on the `index`-th; LUMEN_OK: it can. `speed`: as
 * lumen_rates_speed says. */
int vk_check(const lumen_vk *vk, uint32_t index, const lumen_abi_model *abi, double *speed,
             lumen_status *status);

/* For one that is zeroed. Takes over the reference to `vk`. After a failure closing is due. */
int vk_open(vk_device *device, const lumen_vk *vk, const model *model, uint32_t index,
            lumen_status *status);
void vk_close(vk_device *device);

/* False: out of memory. */
bool vk_block_open(const vk_device *device, uint64_t size, vk_place place, vk_block *block);
void vk_block_close(const vk_device *device, vk_block *block);

/* "<model>: <what> (<result>)" with the code that suits. VK_SUCCESS: Vulkan had no say in it. */
int vk_fail(const vk_device *device, VkResult result, const char *what, lumen_status *status);

/* Submits and waits. */
VkResult vk_submit(vk_device *device, VkCommandBuffer commands, VkFence fence);

#endif
