/* cpu_levels.h - which of a model's kernels a CPU can run. `features` are bits of
 * lumen_abi_level. */
#ifndef LUMEN_CPU_LEVELS_H
#define LUMEN_CPU_LEVELS_H

#include "internal.h"

/* Whether a level of the model is one that a CPU with these features has. */
bool lumen_cpu_level_fits(const lumen_abi_model *abi, uint32_t level, uint64_t features);

/* The most demanding variant of a kernel within the features; NULL: none fits. */
const lumen_abi_variant *lumen_cpu_variant(const lumen_abi_model *abi, uint32_t kernel,
                                           uint64_t features);

/* Fails where a kernel has no variant within what a CPU offers. */
int lumen_cpu_check_kernels(const lumen_abi_model *abi, uint64_t features, lumen_status *status);

/* What this CPU offers, less what the user holds back: above `cpu_level`, or where that is
 * "" above LUMEN_CPU_LEVEL. */
int lumen_cpu_usable_features(const lumen_abi_model *abi, const char *cpu_level,
                              uint64_t *features, lumen_status *status);

#endif
