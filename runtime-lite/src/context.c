/* context.c - one run at a time: entry checks, plan, driver, results, profile. */
#include "driver.h"
#include "plan.h"

#include <stdlib.h>
#include <string.h>

/* Of the device in force, which the context may only be about to follow to. */
static bool may_fall_back(model *model) {
  if (!(model->flags & LUMEN_FALL_BACK))
    return false;
  device *current = lumen_device_acquire(model);
  bool is_cpu = current->driver == &lumen_driver_cpu;
  lumen_device_release(current);
  return !is_cpu;
}

/* What another device may do better. */
static bool is_devices_fault(int code) {
  return code == LUMEN_ERROR_DEVICE || code == LUMEN_ERROR_OUT_OF_MEMORY;
}

/* Ends the run that goes on. */
static int finish(context *context, lumen_status *status) {
  const lumen_driver *driver = context->device->driver;
  bool is_pending = context->is_pending;
  context->is_pending = false;
  return is_pending && driver->finish ? driver->finish(context, status) : LUMEN_OK;
}

/* The same for one that the caller has left: how it ended is kept for whom it may concern. */
static void settle(context *context) {
  int code = finish(context, &context->failure);
  if (is_devices_fault(code) && may_fall_back(context->model))
    (void)lumen_device_open(context->model, lumen_driver_cpu.kind, NULL);
}

void *lumen_context_release_impl(lumen_context *base) {
  context *context = (struct context *)base;
  model *model = context->model;
  (void)finish(context, NULL);
  if (context->device_state)
    context->device->driver->context_close(context);
  if (context->device)
    lumen_device_release(context->device);
  if (context->planner)
    lumen_planner_close(context->planner);
  free(context->planner);
  free(context->output_dims);
  free(context->inputs);
  free(context->input_bytes);
  free(context->outputs);
  free(context->handed_out);
  free(context->stays);
  free(context->profile);
  free(context);
  return lumen_model_release_impl(&model->base);
}

static int check_options(const model *model, const lumen_context_options *options,
                         lumen_status *status) {
  if (options->executor && lumen_check_executor(options->executor, status))
    return LUMEN_ERROR_INVALID_ARGUMENT;
  if (!options->arena)
    return LUMEN_OK;
  if ((uintptr_t)options->arena % LUMEN_ALIGNMENT)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                      "the arena at %p is not aligned to %u bytes", options->arena,
                      LUMEN_ALIGNMENT);
  if (!model->is_symbolic && options->arena_size < model->abi->arena_size)
    return lumen_fail(
        status, LUMEN_ERROR_INVALID_ARGUMENT, "the arena has %llu bytes, expected at least %llu",
        (unsigned long long)options->arena_size, (unsigned long long)model->abi->arena_size);
  return LUMEN_OK;
}

int lumen_context_create_impl(lumen_model *base, const lumen_context_options *options,
                              lumen_context **result, lumen_status *status) {
  static const lumen_context_options defaults;
  model *model = (struct model *)base;
  const lumen_abi_model *abi = model->abi;
  *result = NULL;
  if (!options)
    options = &defaults;
  int code = check_options(model, options, status);
  if (code)
    return code;
  context *context = lumen_allocate(sizeof(*context));
  if (!context)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a context", abi->name);
  atomic_fetch_add(&model->references, 1);
  context->base.api = base->api;
  context->base.model = base;
  context->model = model;
  context->executor = options->executor ? options->executor : model->executor;
  context->arena = options->arena;
  context->arena_capacity = options->arena ? options->arena_size : 0;
  context->max_jumps = options->max_iterations ? options->max_iterations : 100000000;
  context->output_dims = lumen_allocate(model->num_output_dims * sizeof(int64_t));
  context->planner = lumen_allocate(sizeof(*context->planner));
  context->inputs = lumen_allocate(abi->num_inputs * sizeof(void *));
  context->input_bytes = lumen_allocate(abi->num_inputs * sizeof(uint64_t));
  context->outputs = lumen_allocate(abi->num_outputs * sizeof(void *));
  context->handed_out = lumen_allocate(abi->num_outputs * sizeof(void *));
  context->stays = lumen_allocate(abi->num_outputs * sizeof(bool));
  if (!context->output_dims || !context->planner || !context->inputs || !context->input_bytes ||
      !context->outputs || !context->handed_out || !context->stays)
    code = lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a context", abi->name);
  if (!code)
    code = lumen_planner_open(context->planner, model, status);
  if (!code && !abi->num_entry_symbols)
    code = lumen_planner_find(context->planner, NULL, &context->plan, status);
  if (!code) {
    context->device = lumen_device_acquire(model);
    code = context->device->driver->context_open(context, status);
  }
  if (code) {
    /* The caller's model reference is still held, so nothing is unloaded. */
    (void)lumen_context_release_impl(&context->base);
    return code;
  }
  *result = &context->base;
  return LUMEN_OK;
}

/* Moves to the device in force, if that is another one since the last run. */
static int follow_device(context *context, lumen_value *outputs, uint32_t num_outputs,
                         lumen_status *status) {
  model *model = context->model;
  if (context->device == atomic_load(&model->device))
    return LUMEN_OK;
  if (context->takes_over)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                      "an input lies in an output of the last run, copy it first: the model has "
                      "been moved to another device");
  /* What was handed out goes with the other device. */
  for (uint32_t i = 0; i < model->abi->num_outputs; ++i) {
    if (outputs && i < num_outputs && outputs[i].u.tensor.data == context->handed_out[i])
      outputs[i].u.tensor.data = NULL;
    context->handed_out[i] = NULL;
  }
  /* The new one first: where it fails, the context stays as it is. */
  device *before = context->device;
  void *state = context->device_state;
  context->device = lumen_device_acquire(model);
  int code = context->device->driver->context_open(context, status);
  if (code) {
    lumen_device_release(context->device);
    context->device = before;
    context->device_state = state;
    return code;
  }
  device *after = context->device;
  void *state_after = context->device_state;
  context->device = before;
  context->device_state = state;
  before->driver->context_close(context);
  lumen_device_release(before);
  context->device = after;
  context->device_state = state_after;
  return LUMEN_OK;
}

/* Makes the plan for these (checked) inputs the one in force. */
static int follow_shapes(context *context, const lumen_value *inputs, lumen_status *status) {
  plan *plan = NULL;
  int code = lumen_planner_find(context->planner, inputs, &plan, status);
  context->plan = plan;
  return code;
}

int lumen_output_shapes_impl(lumen_context *base, const lumen_value *inputs, uint32_t num_inputs,
                             lumen_shape *shapes, uint32_t num_outputs, lumen_status *status) {
  context *context = (struct context *)base;
  const lumen_abi_model *abi = context->model->abi;
  int code = lumen_check_inputs(abi, inputs, num_inputs, false, status);
  if (!code && num_outputs != abi->num_outputs)
    code = lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "%u outputs given, the model has %u",
                      num_outputs, abi->num_outputs);
  if (!code)
    code = follow_shapes(context, inputs, status);
  if (code)
    return code;
  const int64_t *dims = context->plan->output_bounds;
  for (uint32_t i = 0; i < num_outputs; ++i) {
    int32_t rank = abi->outputs[i].rank;
    shapes[i] = (lumen_shape){rank, context->plan->output_exact[i], dims};
    dims += rank > 0 ? rank : 0;
  }
  return LUMEN_OK;
}

/* Whether the context shall place this output. */
static bool is_contexts(const context *context, uint32_t index, const lumen_tensor *output) {
  return !output->data || output->data == context->handed_out[index];
}

/* Extents of the outputs, now that the run knows them all. */
static int find_extents(context *context, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  const plan *plan = context->plan;
  uint32_t at = 0;
  for (uint32_t i = 0; i < abi->num_outputs; ++i)
    for (int32_t d = 0; d < abi->outputs[i].rank; ++d, ++at) {
      const lumen_abi_dim *dim = &abi->outputs[i].dims[d];
      int64_t bound = plan->output_bounds[at], extent = bound;
      if (!lumen_is_numbers(&abi->outputs[i]))
        continue; /* it has its own */
      if (dim->extent < 0 && dim->expr != LUMEN_ABI_NONE) {
        int code = lumen_value_of(abi, plan, dim->expr, &extent, status);
        if (code)
          return code;
      }
      if (extent < 0 || (bound >= 0 && extent > bound))
        return lumen_fail(status, LUMEN_ERROR_MODEL,
                          "output '%s': dimension %d is %lld, expected 0 to %lld",
                          abi->outputs[i].name, d, (long long)extent,
                          (long long)(bound >= 0 ? bound : INT64_MAX));
      context->output_dims[at] = extent;
    }
  return LUMEN_OK;
}

static void describe_outputs(context *context, lumen_value *outputs) {
  const lumen_abi_model *abi = context->model->abi;
  int64_t *dims = context->output_dims;
  for (uint32_t i = 0; i < abi->num_outputs; ++i) {
    if (!lumen_is_numbers(&abi->outputs[i])) {
      /* One that no step has made is empty. */
      const lumen_value *object = context->outputs[i];
      outputs[i] = object ? *object : (lumen_value){.kind = lumen_kind_of(&abi->outputs[i])};
      dims += abi->outputs[i].rank > 0 ? abi->outputs[i].rank : 0;
      continue;
    }
    lumen_tensor *tensor = &outputs[i].u.tensor;
    if (is_contexts(context, i, tensor))
      context->handed_out[i] = context->outputs[i];
    tensor->data = context->outputs[i];
    tensor->byte_offset = 0;
    tensor->device = (lumen_dl_device){1, 0};
    tensor->ndim = abi->outputs[i].rank;
    tensor->dtype = lumen_dl_dtype_of(abi->outputs[i].dtype);
    tensor->shape = dims;
    tensor->strides = NULL;
    dims += tensor->ndim > 0 ? tensor->ndim : 0;
  }
}

/* Where the run finds its (checked) inputs, and where its outputs go. */
static void bring_values(context *context, const lumen_value *inputs, lumen_value *outputs) {
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; i < abi->num_inputs; ++i) {
    const lumen_tensor *tensor = &inputs[i].u.tensor;
    context->input_bytes[i] = 0;
    /* The object of another value is the caller's own. */
    if (!lumen_is_numbers(&abi->inputs[i])) {
      context->inputs[i] = inputs[i].kind == LUMEN_TENSOR ? NULL : (void *)&inputs[i];
    } else if (tensor->data) {
      context->inputs[i] = (char *)tensor->data + tensor->byte_offset;
      context->input_bytes[i] =
          lumen_tensor_bytes(abi->inputs[i].dtype, tensor->ndim, tensor->shape);
    } else {
      context->inputs[i] = NULL;
    }
  }
  for (uint32_t i = 0; i < abi->num_outputs; ++i) {
    lumen_tensor *tensor = &outputs[i].u.tensor;
    bool is_own = !lumen_is_numbers(&abi->outputs[i]) || is_contexts(context, i, tensor);
    context->outputs[i] = is_own ? NULL : (char *)tensor->data + tensor->byte_offset;
    context->stays[i] = is_own && outputs[i].flags & LUMEN_STAY;
    /* That it is the context's must not hang on an address that the run may free. */
    if (is_own && lumen_is_numbers(&abi->outputs[i]))
      tensor->data = NULL;
  }
}

/* On the device in force. */
static int run_once(context *context, const lumen_value *inputs, lumen_value *outputs,
                    uint32_t num_outputs, bool is_async, lumen_status *status) {
  int code = follow_device(context, outputs, num_outputs, status);
  if (!code)
    code = follow_shapes(context, inputs, status);
  if (!code)
    code = lumen_check_outputs(context, inputs, outputs, num_outputs, status);
  if (code)
    return code;
  bring_values(context, inputs, outputs);
  code = context->device->driver->run(context, status);
  context->is_pending = !code;
  return code || is_async ? code : finish(context, status);
}

static int run(context *context, const lumen_value *inputs, uint32_t num_inputs,
               lumen_value *outputs, uint32_t num_outputs, bool is_async, lumen_status *status) {
  model *model = context->model;
  int code = lumen_synchronize_impl(&context->base, status);
  if (!code)
    code = lumen_check_inputs(model->abi, inputs, num_inputs, true, status);
  if (!code)
    code = lumen_take_over(context, inputs, status);
  if (code)
    return code;
  bool has_other = !context->takes_over && may_fall_back(model);
  /* A success does not touch the status. */
  code = run_once(context, inputs, outputs, num_outputs, is_async, has_other ? NULL : status);
  if (code && has_other) {
    code =
        is_devices_fault(code) ? lumen_device_open(model, lumen_driver_cpu.kind, status) : LUMEN_OK;
    /* Whatever else is wrong is told the second time. */
    if (!code)
      code = run_once(context, inputs, outputs, num_outputs, is_async, status);
  }
  if (!code)
    code = find_extents(context, status);
  if (!code)
    describe_outputs(context, outputs);
  else
    (void)finish(context, NULL);
  return code;
}

int lumen_run_impl(lumen_context *base, const lumen_value *inputs, uint32_t num_inputs,
                   lumen_value *outputs, uint32_t num_outputs, lumen_status *status) {
  return run((context *)base, inputs, num_inputs, outputs, num_outputs, /*is_async=*/false, status);
}

int lumen_run_async_impl(lumen_context *base, const lumen_value *inputs, uint32_t num_inputs,
                         lumen_value *outputs, uint32_t num_outputs, lumen_status *status) {
  return run((context *)base, inputs, num_inputs, outputs, num_outputs, /*is_async=*/true, status);
}

int lumen_arena_size_for_impl(lumen_model *base, const lumen_value *inputs, uint32_t num_inputs,
                              uint64_t *size, lumen_status *status) {
  const model *model = (const struct model *)base;
  int code = lumen_check_inputs(model->abi, inputs, num_inputs, false, status);
  if (code)
    return code;
  planner planner = {.model = model};
  plan *plan;
  code = lumen_planner_open(&planner, model, status);
  if (!code)
    code = lumen_planner_find(&planner, inputs, &plan, status);
  if (!code)
    *size = plan->arena_size;
  lumen_planner_close(&planner);
  return code;
}

void lumen_context_memory_impl(const lumen_context *base, lumen_context_memory_info *info) {
  const context *context = (const struct context *)base;
  *info = (lumen_context_memory_info){.num_plans = context->planner->num_plans};
  if (context->plan) {
    info->arena_size = context->plan->arena_size;
    info->arena_lower_bound = context->plan->arena_lower_bound;
  }
  context->device->driver->context_memory(context, info);
}

int lumen_synchronize_impl(lumen_context *base, lumen_status *status) {
  context *context = (struct context *)base;
  settle(context);
  int code = context->failure.code;
  context->failure.code = LUMEN_OK;
  return code ? lumen_fail(status, code, "%s", context->failure.message) : LUMEN_OK;
}

int lumen_is_done_impl(const lumen_context *base) {
  const context *context = (const struct context *)base;
  const lumen_driver *driver = context->device->driver;
  return !context->is_pending || !driver->finish || driver->is_done(context);
}

int lumen_profile_enable_impl(lumen_context *base, lumen_status *status) {
  context *context = (struct context *)base;
  const model *model = context->model;
  const lumen_abi_model *abi = model->abi;
  uint32_t num_operations = abi->num_launches + abi->num_calls;
  if (!context->profile)
    context->profile = lumen_allocate(((uint64_t)num_operations + 2) * sizeof(lumen_profile_entry));
  if (!context->profile)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY,
                      "%s: no memory for a profile of %u launches", abi->name, abi->num_launches);
  for (uint32_t i = 0; i < abi->num_launches; ++i) {
    const lumen_abi_launch *launch = &abi->launches[i];
    const lumen_abi_variant *variant =
        context->device->driver->variant(context->device, launch->kernel);
    context->profile[i] = (lumen_profile_entry){.kernel = abi->kernels[launch->kernel].name,
                                                .nodes = launch->nodes ? launch->nodes : "",
                                                .level = abi->levels[variant->level].name,
                                                .min_ns = UINT64_MAX};
  }
  for (uint32_t i = 0; i < abi->num_calls; ++i)
    context->profile[abi->num_launches + i] = (lumen_profile_entry){
        .kernel = "call", .nodes = abi->calls[i].node, .level = "", .min_ns = UINT64_MAX};
  for (uint32_t i = 0; i < 2; ++i)
    context->profile[num_operations + i] =
        (lumen_profile_entry){.kernel = "copy",
                              .nodes = i ? "device to host" : "host to device",
                              .level = "",
                              .min_ns = UINT64_MAX};
  return LUMEN_OK;
}

const lumen_profile_entry *lumen_profile_entries_impl(const lumen_context *base, uint32_t *count) {
  const context *context = (const struct context *)base;
  const lumen_abi_model *abi = context->model->abi;
  bool has_copies = context->device->driver != &lumen_driver_cpu;
  *count = context->profile ? abi->num_launches + abi->num_calls + 2 * has_copies : 0;
  return context->profile;
}
