/* benchmark.h - kernels by which a device is measured, in the form that it runs. */
#ifndef LUMEN_BENCHMARK_H
#define LUMEN_BENCHMARK_H

#include "lumen.h"
#include "lumen_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "multiply" and "copy": see benchmark.comp. */
typedef struct lumen_benchmark_code {
  /* lumen_benchmark of any device. Reached through here, so that an artifact without such
   * code does not carry it. */
  int (*measure)(const lumen_api *api, const char *device, lumen_device_rates *rates,
                 lumen_status *status);
  uint32_t target; /* lumen_abi_target */
  struct {
    const void *code;
    uint64_t size;
  } multiply, copy;
} lumen_benchmark_code;

int lumen_benchmark_measure(const lumen_api *api, const char *device, lumen_device_rates *rates,
                            lumen_status *status);

extern const lumen_benchmark_code lumen_benchmark_cuda, lumen_benchmark_vulkan;

/* Threads of a workgroup, each of which has a unit at a time. */
enum { lumen_benchmark_block = 64 };

#ifdef __cplusplus
}
#endif
#endif
