/* driver_cuda.c - NVIDIA's devices, through CUDA's driver API. */
#include "benchmark.h"
#include "cuda_stream.h"
#include "gpu_driver.h"

/* Graphs are instantiated with flags since 11.4. */
static const lumen_cuda_flavour flavour = {.name = "CUDA",
                                           .libraries = {"libcuda.so.1"},
                                           .min_version = 11040,
                                           .major_unit = 1000,
                                           .minor_unit = 10,
                                           .attributes = {.max_block = 1,
                                                          .max_shared = 8,
                                                          .max_grid = 5,
                                                          .clock = 13,
                                                          .processors = 16,
                                                          .memory_clock = 36,
                                                          .bus_width = 37}};
static lumen_cuda library = {.flavour = &flavour};

/* The compute capability, 10 * major + minor. */
static uint64_t generation_of(const lumen_cuda *cuda, CUdevice device) {
  enum { capability_major = 75, capability_minor = 76 };
  int major = 0, minor = 0;
  if (cuda->DeviceGetAttribute(&major, capability_major, device) != CUDA_SUCCESS ||
      cuda->DeviceGetAttribute(&minor, capability_minor, device) != CUDA_SUCCESS)
    return 0;
  return 10 * (uint64_t)major + (uint64_t)minor;
}

static bool fits(const gpu_limits *limits, const lumen_abi_level *level) {
  uint32_t wanted = LUMEN_ABI_PTX_CAPABILITY(level->features);
  if (level->features & LUMEN_ABI_PTX_EXACT)
    return limits->generation == wanted;
  if (level->features & LUMEN_ABI_PTX_MACHINE && limits->generation / 10 != wanted / 10)
    return false;
  return limits->generation >= wanted;
}

static const cu_api api = {.base = {.target = LUMEN_ABI_PTX,
                                    .device_size = sizeof(cu_device),
                                    .context_size = sizeof(cu_context),
                                    .parameters = gpu_of_both,
                                    .fits = fits,
                                    CU_API_FUNCTIONS},
                           .cuda = &library,
                           .kind = "cuda",
                           .generation = generation_of};

static uint32_t cuda_enumerate(lumen_device_info *devices, uint32_t capacity) {
  return cu_enumerate(&api, devices, capacity);
}

static double cuda_score(const lumen_abi_model *abi, const lumen_device_info *info,
                         const lumen_choice *choice, lumen_status *reason) {
  return cu_score(&api, abi, info, choice, reason);
}

static int cuda_open(device *device, lumen_status *status) {
  return gpu_driver_open(device, &api.base, status);
}

const lumen_driver lumen_driver_cuda = {.kind = "cuda",
                                        .target = LUMEN_ABI_PTX,
                                        .enumerate = cuda_enumerate,
                                        .score = cuda_score,
                                        .open = cuda_open,
                                        GPU_DRIVER_FUNCTIONS,
                                        .benchmark = &lumen_benchmark_cuda};
