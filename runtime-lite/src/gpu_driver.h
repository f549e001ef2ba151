/* gpu_driver.h - the part of a lumen_driver that is alike for all GPUs: its table refers to
 * these. */
#ifndef LUMEN_GPU_DRIVER_H
#define LUMEN_GPU_DRIVER_H

#include "driver.h"
#include "gpu_device.h"
#include "schedule.h"

int gpu_driver_open(device *device, const gpu_api *api, lumen_status *status);
void gpu_driver_close(device *device);
void gpu_describe(const device *device, lumen_model_info *info);
const lumen_abi_variant *gpu_variant(const device *device, uint32_t kernel);

int gpu_context_open(context *context, lumen_status *status);
void gpu_context_close(context *context);
void gpu_context_memory(const context *context, lumen_context_memory_info *info);
int gpu_run(context *context, lumen_status *status);
int gpu_finish(context *context, lumen_status *status);
bool gpu_is_done(const context *context);

/* Of a lumen_driver: all but what finds devices and opens them. */
#define GPU_DRIVER_FUNCTIONS                                                                       \
  .close = gpu_driver_close, .describe = gpu_describe, .variant = gpu_variant,                     \
  .context_open = gpu_context_open, .context_close = gpu_context_close,                            \
  .context_memory = gpu_context_memory, .owner = lumen_schedule_owner,                             \
  .hand_over = lumen_schedule_hand_over, .run = gpu_run, .finish = gpu_finish,                     \
  .is_done = gpu_is_done

#endif
