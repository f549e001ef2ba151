/* rates.c - see rates.h. */
#include "rates.h"

#include "cache.h"
#include "threads.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A launch whose work depends on the shapes counts as one of this much. */
static const double unknown_work = 1e7;

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
  double numbers[4];
  char *at = text;
  for (int i = 0; i < 4; ++i) {
    char *end;
    numbers[i] = strtod(at, &end);
    if (end == at || !(numbers[i] > 0 && numbers[i] < 1e12))
      return;
    at = end;
  }
  *rates = (lumen_device_rates){numbers[0], numbers[1], numbers[2], numbers[3], 1};
}

void lumen_rates_keep(const char *kind, const char *name, const lumen_device_rates *rates) {
  char path[lumen_cache_path], text[256];
  int length = snprintf(text, sizeof(text), "%.3f %.3f %.3f %.3f\n", rates->gflops, rates->gbytes,
                        rates->launch_us, rates->run_us);
  if (length > 0 && find_file(kind, name, path))
    lumen_cache_write(path, text, (size_t)length);
}

double lumen_rates_speed(const lumen_device_rates *rates, const lumen_abi_model *abi) {
  double flops = 0, bytes = 0;
  for (uint32_t i = 0; i < abi->num_launches; ++i) {
    const lumen_abi_launch *launch = &abi->launches[i];
    flops += launch->flops_expr == LUMEN_ABI_NONE ? (double)launch->flops : unknown_work;
    bytes += launch->bytes_expr == LUMEN_ABI_NONE ? (double)launch->bytes : unknown_work / 10;
  }
  double microseconds = rates->run_us + abi->num_launches * rates->launch_us +
                        flops / (rates->gflops * 1e3) + bytes / (rates->gbytes * 1e3);
  double work = flops > bytes ? flops : bytes;
  return (work > 1e3 ? work : 1e3) / 1e3 / microseconds;
}
