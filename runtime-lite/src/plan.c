/* plan.c - the memory plan a context runs by. */
#include "internal.h"

#include <string.h>

/* Extents of the outputs as far as the signature knows them. */
static void dims_of_signature(context *context) {
  const lumen_abi_model *abi = context->model->abi;
  int64_t *dims = context->output_dims;
  for (uint32_t i = 0; i < abi->num_outputs; ++i) {
    context->output_exact[i] = true;
    for (int32_t d = 0; d < abi->outputs[i].rank; ++d) {
      const lumen_abi_dim *dim = &abi->outputs[i].dims[d];
      context->output_exact[i] &= dim->extent >= 0;
      *dims++ = dim->extent >= 0 ? dim->extent : dim->bound;
    }
  }
}

int lumen_plan_create(context *context, lumen_status *status) {
  (void)status;
  const model *model = context->model;
  context->arena_size = model->abi->arena_size;
  dims_of_signature(context);
  memcpy(context->output_bounds, context->output_dims, model->num_output_dims * sizeof(int64_t));
  context->plan_id = ++context->num_plans;
  return LUMEN_OK;
}

int lumen_plan_update(context *context, const lumen_value *inputs, lumen_status *status) {
  (void)inputs;
  (void)status;
  memcpy(context->output_dims, context->output_bounds,
         context->model->num_output_dims * sizeof(int64_t));
  return LUMEN_OK;
}
