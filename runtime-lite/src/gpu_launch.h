/* gpu_launch.h - which kernels a GPU can take, and how their launches are cut: see
 * lumen_abi_gpu_launch. */
#ifndef LUMEN_GPU_LAUNCH_H
#define LUMEN_GPU_LAUNCH_H

#include "lumen_abi.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { gpu_most_bindings = 64 };

/* What a device can take. */
typedef struct gpu_limits {
  uint64_t features;   /* LUMEN_ABI_GPU_* */
  uint64_t generation; /* what gpu_api.fits compares levels with */
  uint32_t max_block, max_shared, max_bindings, max_workgroups;
  uint64_t max_range;      /* bytes of a binding */
  uint64_t max_allocation; /* bytes of a block */
  uint64_t alignment;      /* of a binding's begin */
  bool is_mapped;          /* its memory is */
} gpu_limits;

/* What is bound for a kernel in this form. */
uint32_t gpu_count_bindings(const lumen_abi_kernel *kernel, const lumen_abi_variant *variant);

/* Whether the device can run a kernel in this form. */
bool gpu_can_run(const gpu_limits *limits, const lumen_abi_kernel *kernel,
                 const lumen_abi_variant *variant);

/* Workgroups for a grid of at least 1 unit, where there is scratch memory of so many bytes for
 * all of them; 0: the kernel's numbers of 32 bits do not hold those of the launch. */
uint32_t gpu_count_workgroups(const gpu_limits *limits, const lumen_abi_variant *variant,
                              int64_t grid, const int64_t *sizes, uint32_t num_sizes,
                              uint64_t scratch_size);

#ifdef __cplusplus
}
#endif
#endif
