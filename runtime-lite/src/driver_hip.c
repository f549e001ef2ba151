/* driver_hip.c - AMD's devices, through HIP. */
#include "cuda_stream.h"
#include "gpu_driver.h"

#include <stdlib.h>
#include <string.h>

/* Since 6.0 the properties have the layout that is read here. */
static const lumen_cuda_flavour flavour = {
    .name = "HIP",
    .is_hip = true,
    .libraries = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"},
    .min_version = 60000000,
    .major_unit = 10000000,
    .minor_unit = 100000,
    .attributes = {.max_block = 56,
                   .max_shared = 74,
                   .max_grid = 29,
                   .clock = 5,
                   .processors = 63,
                   .memory_clock = 60,
                   .bus_width = 59}};
static lumen_cuda library = {.flavour = &flavour};

/* The number in "gfx90a:sramecc+:xnack-", 0x90a; 0: the device tells none. */
static uint64_t generation_of(const lumen_cuda *cuda, CUdevice device) {
  /* hipDeviceProp_tR0600.gcnArchName; the whole has less than 2 KiB, and may grow. */
  enum { name_offset = 1160, most_bytes = 8192 };
  char *properties = calloc(1, most_bytes);
  uint64_t number = 0;
  if (properties && cuda->GetDeviceProperties(properties, device) == CUDA_SUCCESS &&
      !strncmp(properties + name_offset, "gfx", 3))
    number = strtoull(properties + name_offset + 3, NULL, 16);
  free(properties);
  return number;
}

static bool fits(const gpu_limits *limits, const lumen_abi_level *level) {
  uint64_t first = LUMEN_ABI_HIP_FIRST(level->features);
  uint64_t last = LUMEN_ABI_HIP_LAST(level->features);
  if (limits->generation < first || limits->generation > last)
    return false;
  uint64_t distance = limits->generation - first;
  return distance >= 32 || !(LUMEN_ABI_HIP_WITHOUT(level->features) >> distance & 1);
}

static const cu_api api = {.base = {.target = LUMEN_ABI_HIP,
                                    .device_size = sizeof(cu_device),
                                    .context_size = sizeof(cu_context),
                                    .parameters = gpu_of_both,
                                    .fits = fits,
                                    CU_API_FUNCTIONS},
                           .cuda = &library,
                           .kind = "hip",
                           .generation = generation_of};

static uint32_t hip_enumerate(lumen_device_info *devices, uint32_t capacity) {
  return cu_enumerate(&api, devices, capacity);
}

static double hip_score(const lumen_abi_model *abi, const lumen_device_info *info,
                        const lumen_choice *choice, lumen_status *reason) {
  return cu_score(&api, abi, info, choice, reason);
}

static int hip_open(device *device, lumen_status *status) {
  return gpu_driver_open(device, &api.base, status);
}

const lumen_driver lumen_driver_hip = {.kind = "hip",
                                       .target = LUMEN_ABI_HIP,
                                       .enumerate = hip_enumerate,
                                       .score = hip_score,
                                       .open = hip_open,
                                       GPU_DRIVER_FUNCTIONS};
