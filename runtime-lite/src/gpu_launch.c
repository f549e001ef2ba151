/* gpu_launch.c - see gpu_launch.h. */
#include "gpu_launch.h"

uint32_t gpu_count_bindings(const lumen_abi_kernel *kernel, const lumen_abi_variant *variant) {
  const lumen_abi_gpu_launch *launch = variant->launch_info;
  bool has_faults = launch->flags & LUMEN_ABI_GPU_FAULTS;
  return kernel->num_args + 1 + (variant->scratch_size != 0) + has_faults;
}

bool gpu_can_run(const gpu_limits *limits, const lumen_abi_kernel *kernel,
                 const lumen_abi_variant *variant) {
  const lumen_abi_gpu_launch *launch = variant->launch_info;
  uint32_t num_bindings = gpu_count_bindings(kernel, variant);
  return (launch->features & limits->features) == launch->features &&
         launch->block <= limits->max_block && launch->shared_size <= limits->max_shared &&
         variant->scratch_size <= limits->max_range && num_bindings <= limits->max_bindings &&
         num_bindings <= gpu_most_bindings;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

uint32_t gpu_count_workgroups(const gpu_limits *limits, const lumen_abi_variant *variant,
                              int64_t grid, const int64_t *sizes, uint32_t num_sizes,
                              uint64_t scratch_size) {
  const lumen_abi_gpu_launch *launch = variant->launch_info;
  for (uint32_t i = 0; i < num_sizes; ++i)
    if (sizes[i] > INT32_MAX || sizes[i] < INT32_MIN)
      return 0;
  if (grid > INT32_MAX)
    return 0;
  uint64_t each = launch->units_per_workgroup;
  uint64_t count = least(((uint64_t)grid + each - 1) / each, limits->max_workgroups);
  /* A thread adds what all workgroups do at a time to its last unit, and that must not wrap. */
  count = least(count, (uint64_t)(INT32_MAX - grid) / each);
  if (variant->scratch_size)
    count = least(count, scratch_size / variant->scratch_size);
  return (uint32_t)count;
}
