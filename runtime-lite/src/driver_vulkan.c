/* driver_vulkan.c - devices that a Vulkan driver of the system offers. */
#include "benchmark.h"
#include "gpu_driver.h"
#include "vulkan_device.h"

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
                           const lumen_choice *choice, lumen_status *reason) {
  const lumen_vk *vk = lumen_vk_acquire(reason);
  if (!vk)
    return 0;
  gpu_limits limits;
  lumen_device_rates rates;
  int code = vk_measure(vk, info->index, abi->name, &limits, &rates, reason);
  double speed = code ? 0 : gpu_score(abi, &vk_api, &limits, info, choice, &rates, reason);
  lumen_vk_release();
  return speed;
}

static int vulkan_open(device *device, lumen_status *status) {
  return gpu_driver_open(device, &vk_api, status);
}

const lumen_driver lumen_driver_vulkan = {.kind = "vulkan",
                                          .target = LUMEN_ABI_SPIRV,
                                          .hold = vulkan_hold,
                                          .let_go = lumen_vk_release,
                                          .enumerate = vulkan_enumerate,
                                          .score = vulkan_score,
                                          .open = vulkan_open,
                                          GPU_DRIVER_FUNCTIONS,
                                          .benchmark = &lumen_benchmark_vulkan};
