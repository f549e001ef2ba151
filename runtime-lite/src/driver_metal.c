/* driver_metal.c - Apple's devices, through Metal. */
#include "gpu_driver.h"
#include "metal_device.h"

#include <stdio.h>
#include <string.h>

static uint32_t metal_enumerate(lumen_device_info *devices, uint32_t capacity) {
  const lumen_metal *metal = lumen_metal_open(NULL);
  if (!metal)
    return 0;
  uint32_t count = 0;
  void *pool = metal->push_pool();
  for (metal_id device; count < capacity && (device = metal_device_at(metal, count)); ++count) {
    lumen_device_info *info = &devices[count];
    memset(info, 0, sizeof(*info));
    const char *name =
        METAL_SEND(metal, const char *)(metal_get(metal, device, metal->name), metal->utf8);
    snprintf(info->kind, sizeof(info->kind), "metal");
    snprintf(info->name, sizeof(info->name), "%s", name ? name : "");
    uint64_t used = metal_number(metal, device, metal->allocated);
    info->memory_total = metal_number(metal, device, metal->working_set);
    info->memory_available = info->memory_total > used ? info->memory_total - used : 0;
  }
  metal->pop_pool(pool);
  return count;
}

static double metal_score(const lumen_abi_model *abi, const lumen_device_info *info,
                          const lumen_choice *choice, lumen_status *reason) {
  const lumen_metal *metal = lumen_metal_open(reason);
  metal_id device = metal ? metal_device_at(metal, info->index) : NULL;
  if (metal && !device)
    (void)lumen_fail(reason, LUMEN_ERROR_DEVICE, "%s: the device is gone", abi->name);
  if (!device)
    return 0;
  gpu_limits limits;
  lumen_device_rates rates;
  mtl_measure(metal, device, &limits, &rates);
  return gpu_score(abi, &mtl_api, &limits, info, choice, &rates, reason);
}

static int metal_open(device *device, lumen_status *status) {
  return gpu_driver_open(device, &mtl_api, status);
}

const lumen_driver lumen_driver_metal = {.kind = "metal",
                                         .target = LUMEN_ABI_METAL,
                                         .enumerate = metal_enumerate,
                                         .score = metal_score,
                                         .open = metal_open,
                                         GPU_DRIVER_FUNCTIONS};
