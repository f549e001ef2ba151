/* rates.h - how fast devices are, and what that means for a model. */
#ifndef LUMEN_RATES_H
#define LUMEN_RATES_H

#include "lumen.h"
#include "lumen_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Puts what was measured on this machine in place of `rates`, which were guessed, if
 * anything was. `kind` and `name` are those of lumen_device_info. */
void lumen_rates_find(const char *kind, const char *name, lumen_device_rates *rates);
void lumen_rates_keep(const char *kind, const char *name, const lumen_device_rates *rates);

/* GFLOP/s that one run of the model after the other reaches: much less than the device's
 * where launches are many and small. GB/s for a model that only moves data. */
double lumen_rates_speed(const lumen_device_rates *rates, const lumen_abi_model *abi);

#ifdef __cplusplus
}
#endif
#endif
