/* steps.h - the schedule of a model with steps, for any driver. */
#ifndef LUMEN_STEPS_H
#define LUMEN_STEPS_H

#include "internal.h"

/* What a driver does itself. Each returns a code of lumen.h; the first that is
 * not LUMEN_OK ends the run. */
typedef struct lumen_step_actions {
  int (*launch)(context *context, uint32_t launch, lumen_status *status);
  /* The first `size` bytes of a buffer, once their writers are done. */
  int (*read)(context *context, uint32_t buffer, void *value, uint64_t size, lumen_status *status);
  int (*alloc)(context *context, uint32_t storage, uint64_t size, lumen_status *status);
  int (*release)(context *context, uint32_t storage, lumen_status *status);
  int (*swap)(context *context, uint32_t a, uint32_t b, lumen_status *status);
  int (*move)(context *context, uint32_t to, uint32_t from, lumen_status *status);
  int (*append)(context *context, uint32_t to, uint32_t buffer, uint64_t size,
                lumen_status *status);
  int (*call)(context *context, uint32_t call, lumen_status *status);
} lumen_step_actions;

/* From the first step to the end. */
int lumen_run_steps(context *context, const lumen_step_actions *actions, lumen_status *status);

#endif
