/* cpu_levels.c - which of a model's kernels a CPU can run. */
#include "cpu_levels.h"
#include "cpu.h"

#include <stdlib.h>
#include <string.h>

bool lumen_cpu_level_fits(const lumen_abi_model *abi, uint32_t level, uint64_t features) {
  const lumen_abi_level *info = &abi->levels[level];
  return info->target == LUMEN_ABI_CPU && (info->features & ~features) == 0;
}

const lumen_abi_variant *lumen_cpu_variant(const lumen_abi_model *abi, uint32_t kernel,
                                           uint64_t features) {
  const lumen_abi_kernel *info = &abi->kernels[kernel];
  for (uint32_t i = 0; i < info->num_variants; ++i)
    if (lumen_cpu_level_fits(abi, info->variants[i].level, features))
      return &info->variants[i];
  return NULL;
}

/* The first kernel without a variant within the features; NULL: all have one.
 * `needed` becomes the level that would do, NULL where none would. */
static const lumen_abi_kernel *find_missing(const lumen_abi_model *abi, uint64_t features,
                                            const char **needed) {
  *needed = NULL;
  for (uint32_t k = 0; k < abi->num_kernels; ++k) {
    if (lumen_cpu_variant(abi, k, features))
      continue;
    const lumen_abi_kernel *kernel = &abi->kernels[k];
    for (uint32_t i = 0; i < kernel->num_variants; ++i) {
      const lumen_abi_level *level = &abi->levels[kernel->variants[i].level];
      if (level->target == LUMEN_ABI_CPU)
        *needed = level->name; /* the last is the least demanding */
    }
    return kernel;
  }
  return NULL;
}

int lumen_cpu_check_kernels(const lumen_abi_model *abi, uint64_t features, lumen_status *status) {
  const char *needed;
  const lumen_abi_kernel *kernel = find_missing(abi, features, &needed);
  if (!kernel)
    return LUMEN_OK;
  if (!needed)
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: kernel '%s' has no code for a CPU",
                      abi->name, kernel->name);
  char name[96];
  lumen_cpu_name(name);
  return lumen_fail(status, LUMEN_ERROR_DEVICE,
                    "%s: needs a CPU of level %s at least, this one (%s) offers %s", abi->name,
                    needed, name, lumen_cpu_level_name(features));
}

int lumen_cpu_usable_features(const lumen_abi_model *abi, const char *cpu_level,
                              uint64_t *features, lumen_status *status) {
  *features = lumen_cpu_features();
  const char *source = "cpu_level", *wanted = cpu_level;
  if (!*wanted) {
    source = "LUMEN_CPU_LEVEL";
    wanted = getenv(source);
  }
  if (!wanted || !*wanted)
    return LUMEN_OK;
  uint64_t level = 0;
  bool known = lumen_cpu_level_features(wanted, &level);
  for (uint32_t i = 0; i < abi->num_levels && !known; ++i) {
    known = abi->levels[i].target == LUMEN_ABI_CPU && !strcmp(abi->levels[i].name, wanted);
    level = abi->levels[i].features;
  }
  if (!known) {
    char levels[256] = "";
    for (uint32_t i = 0; i < abi->num_levels; ++i)
      if (abi->levels[i].target == LUMEN_ABI_CPU &&
          strlen(levels) + strlen(abi->levels[i].name) + 3 < sizeof(levels))
        strcat(strcat(levels, *levels ? ", " : ""), abi->levels[i].name);
    return lumen_fail(status, LUMEN_ERROR_NOT_FOUND, "%s is '%s', %s has %s", source, wanted,
                      abi->name, levels);
  }
  level = lumen_cpu_implied(level);
  if (level & ~*features)
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s is '%s', this CPU offers %s at most", source,
                      wanted, lumen_cpu_level_name(*features));
  *features &= level;
  /* The CPU itself suffices (cpu_open), so what is missing now was held back. */
  const char *needed;
  if (find_missing(abi, *features, &needed))
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s is '%s', %s needs %s at least", source,
                      wanted, abi->name, needed);
  return LUMEN_OK;
}
