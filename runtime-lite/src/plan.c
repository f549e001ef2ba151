/* plan.c - the memory plan a context runs by: the model's own, or what the
 * model's `plan` function makes of the inputs' extents. */
#include "internal.h"

#include <stdlib.h>
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

/* Takes the bounds out of what `plan` wrote, see there. */
static void decode_dims(context *context) {
  const lumen_abi_model *abi = context->model->abi;
  int64_t *dims = context->output_dims;
  for (uint32_t i = 0; i < abi->num_outputs; ++i) {
    context->output_exact[i] = true;
    for (int32_t d = 0; d < abi->outputs[i].rank; ++d, ++dims) {
      context->output_exact[i] &= *dims >= 0;
      if (*dims < -1)
        *dims = -2 - *dims;
    }
  }
}

int lumen_plan_create(context *context, lumen_status *status) {
  const model *model = context->model;
  const lumen_abi_model *abi = model->abi;
  context->buffers = abi->buffers;
  context->arena_size = abi->arena_size;
  dims_of_signature(context);
  memcpy(context->output_bounds, context->output_dims, model->num_output_dims * sizeof(int64_t));
  if (!abi->plan) {
    context->plan_id = ++context->num_plans;
    return LUMEN_OK;
  }
  context->planned_buffers = lumen_allocate(abi->num_buffers * sizeof(lumen_abi_buffer));
  context->planned_sizes = lumen_allocate(abi->num_sizes * sizeof(int64_t));
  context->input_dims = lumen_allocate(2 * model->num_input_dims * sizeof(int64_t));
  if (!context->planned_buffers || !context->planned_sizes || !context->input_dims)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a plan of %u buffers",
                      abi->name, abi->num_buffers);
  return LUMEN_OK;
}

int lumen_plan_update(context *context, const lumen_value *inputs, lumen_status *status) {
  const model *model = context->model;
  const lumen_abi_model *abi = model->abi;
  if (!abi->plan) {
    memcpy(context->output_dims, context->output_bounds, model->num_output_dims * sizeof(int64_t));
    return LUMEN_OK;
  }
  /* The second half of input_dims is where the new ones are gathered. */
  int64_t *dims = context->input_dims + model->num_input_dims, *at = dims;
  size_t bytes = model->num_input_dims * sizeof(int64_t);
  for (uint32_t i = 0; i < abi->num_inputs; ++i)
    for (int32_t d = 0; d < abi->inputs[i].rank; ++d)
      *at++ = inputs[i].u.tensor.shape ? inputs[i].u.tensor.shape[d] : 0;
  if (context->plan_id && !memcmp(dims, context->input_dims, bytes)) {
    memcpy(context->output_dims, context->output_bounds, model->num_output_dims * sizeof(int64_t));
    return LUMEN_OK;
  }
  context->plan_id = 0; /* no plan holds if this one fails */
  uint64_t arena_size = 0;
  char message[400] = "cannot be planned for these shapes";
  if (abi->num_buffers)
    memcpy(context->planned_buffers, abi->buffers, abi->num_buffers * sizeof(lumen_abi_buffer));
  int code = abi->plan(dims, context->planned_buffers, context->planned_sizes, context->output_dims,
                       &arena_size, message, sizeof(message));
  if (code)
    return lumen_fail(status, code, "%s: %s", abi->name, message);
  decode_dims(context);
  memcpy(context->output_bounds, context->output_dims, model->num_output_dims * sizeof(int64_t));
  memcpy(context->input_dims, dims, bytes);
  context->buffers = context->planned_buffers;
  context->sizes = context->planned_sizes;
  context->arena_size = arena_size;
  context->plan_id = ++context->num_plans;
  return LUMEN_OK;
}
