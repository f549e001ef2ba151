/* rates.c - see rates.h. */
#include "rates.h"

#include "cache.h"
#include "threads.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A launch whose work is not known counts as one of this much. */
static const double unknown_flops = 1e7, unknown_bytes = 1e6;

static bool find_file(const char *kind, const char *name, char path[lumen_cache_path]) {
  /* FNV-1a: names have blanks and signs that files had better not have. */
  uint64_t hash = 14695981039346656037u;
  for (const char *at = name; *at; ++at)
    hash = (hash ^ (unsigned char)*at) * 1099511628211u;
  char file[64];
  snprintf(file, sizeof(file), "%.15s-%016llx.rates", kind, (unsigned long long)hash);
  return lumen_cache_find(file, path);
}

void lumen_rates_find(const char *kind, const char *name, lumen_device_rates *rates) {
  char path[lumen_cache_path], text[256];
  if (!find_file(kind, name, path) || lumen_read_file(path, text, sizeof(text)) <= 0)
    return;
  double numbers[5];
  char *at = text;
  for (int i = 0; i < 5; ++i) {
    char *end;
    numbers[i] = strtod(at, &end);
    if (end == at || !(numbers[i] > 0 && numbers[i] < 1e12))
      return;
    at = end;
  }
  *rates = (lumen_device_rates){.gflops = numbers[0],
                                .gbytes = numbers[1],
                                .launch_us = numbers[2],
                                .run_us = numbers[3],
                                .copy_gbytes = numbers[4],
                                .is_measured = 1};
}

void lumen_rates_keep(const char *kind, const char *name, const lumen_device_rates *rates) {
  char path[lumen_cache_path], text[256];
  int length = snprintf(text, sizeof(text), "%.3f %.3f %.3f %.3f %.3f\n", rates->gflops,
                        rates->gbytes, rates->launch_us, rates->run_us, rates->copy_gbytes);
  if (length > 0 && find_file(kind, name, path))
    lumen_cache_write(path, text, (size_t)length);
}

double lumen_overhead_share(uint32_t workload) {
  return workload == LUMEN_LATENCY ? 1 : workload == LUMEN_THROUGHPUT ? 0 : 0.5;
}

double lumen_fitting_part(const lumen_abi_model *abi, uint32_t workload, uint64_t available) {
  double needed = (double)abi->weights_size + (double)abi->init_size + 4 * (double)abi->arena_size;
  return workload == LUMEN_THROUGHPUT && (double)available < needed ? (double)available / needed
                                                                    : 1;
}

double lumen_launch_time(const lumen_device_rates *rates, uint32_t workload, double flops,
                         double bytes) {
  return rates->launch_us * lumen_overhead_share(workload) +
         (flops < 0 ? unknown_flops : flops) / (rates->gflops * 1e3) +
         (bytes < 0 ? unknown_bytes : bytes) / (rates->gbytes * 1e3);
}

/* What a launch does for all shapes alike. */
static double flops_of(const lumen_abi_launch *launch) {
  return launch->flops_expr == LUMEN_ABI_NONE ? (double)launch->flops : unknown_flops;
}

static double bytes_of(const lumen_abi_launch *launch) {
  return launch->bytes_expr == LUMEN_ABI_NONE ? (double)launch->bytes : unknown_bytes;
}

double lumen_rates_speed_in(const lumen_abi_model *abi, double microseconds) {
  double flops = 0, bytes = 0;
  for (uint32_t i = 0; i < abi->num_launches; ++i) {
    flops += flops_of(&abi->launches[i]);
    bytes += bytes_of(&abi->launches[i]);
  }
  double work = flops > bytes ? flops : bytes;
  return (work > 1e3 ? work : 1e3) / 1e3 / (microseconds > 1e-3 ? microseconds : 1e-3);
}

double lumen_rates_speed(const lumen_device_rates *rates, uint32_t workload,
                         const lumen_abi_model *abi) {
  double microseconds = rates->run_us * lumen_overhead_share(workload);
  for (uint32_t i = 0; i < abi->num_launches; ++i)
    microseconds += lumen_launch_time(rates, workload, flops_of(&abi->launches[i]),
                                      bytes_of(&abi->launches[i]));
  return lumen_rates_speed_in(abi, microseconds);
}
