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

/* What part of the costs of launches and runs counts for a lumen_workload: all of them where
 * nothing else goes on meanwhile, none where other runs fill the gaps. */
double lumen_overhead_share(uint32_t workload);
/* What memory counts beside speed: where many contexts are to run at once they need some, and
 * a device without has only so many. 1: it has enough. */
double lumen_fitting_part(const lumen_abi_model *abi, uint32_t workload, uint64_t available);
/* Microseconds of a launch. Work that nobody knows is negative, and guessed. */
double lumen_launch_time(const lumen_device_rates *rates, uint32_t workload, double flops,
                         double bytes);
/* GFLOP/s of a model whose run takes so long: much less than a device's where launches are
 * many and small. GB/s for a model that only moves data. */
double lumen_rates_speed_in(const lumen_abi_model *abi, double microseconds);
/* The same for a device that runs all of it. */
double lumen_rates_speed(const lumen_device_rates *rates, uint32_t workload,
                         const lumen_abi_model *abi);

#ifdef __cplusplus
}
#endif
#endif
