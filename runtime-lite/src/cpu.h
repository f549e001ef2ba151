/* cpu.h - what the CPU at hand can do. */
#ifndef LUMEN_CPU_H
#define LUMEN_CPU_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* LUMEN_ABI_X86_* or LUMEN_ABI_ARM_* bits that CPU and operating system offer.
 * Extensions whose registers the system does not save are not among them. */
uint64_t lumen_cpu_features(void);

/* Writes the CPU's marketing name, terminated, without blanks at the ends. */
void lumen_cpu_name(char name[96]);

/* Bits that `features` takes for granted, itself included: v4 implies v3. */
uint64_t lumen_cpu_implied(uint64_t features);

/* The bits behind a level's usual name; false where it is not one of ours. */
int lumen_cpu_level_features(const char *name, uint64_t *features);

/* The name of the highest usual level within the features. */
const char *lumen_cpu_level_name(uint64_t features);

#ifdef __cplusplus
}
#endif
#endif
