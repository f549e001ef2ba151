/* steps.c - the interpreter of steps. */
#include "steps.h"

#include "nodes.h"
#include "plan.h"

#include <string.h>

static int bind(context *context, const lumen_abi_step *step, const lumen_step_actions *actions,
                lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  uint64_t bits = lumen_dl_dtype_of(step->c).bits;
  bool is_signed = step->c == LUMEN_ABI_I8 || step->c == LUMEN_ABI_I16 ||
                   step->c == LUMEN_ABI_I32 || step->c == LUMEN_ABI_I64;
  uint64_t raw = 0;
  int code = actions->read(context, step->b, &raw, bits / 8, status);
  if (code)
    return code;
  /* Little endian: the value's bytes are the low ones. */
  int64_t value = (int64_t)raw;
  if (is_signed)
    value = (int64_t)(raw << (64 - bits)) >> (64 - bits);
  else if (step->c == LUMEN_ABI_BOOL)
    value = raw != 0;
  if (value < 0) {
    const char *name = abi->symbol_names[step->a];
    if (is_signed)
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "%s: %s is %lld, expected a size of 0 or more", abi->name,
                        name ? name : "a size", (long long)value);
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                      "%s: %s is %llu, expected a size of at most %lld", abi->name,
                      name ? name : "a size", (unsigned long long)raw, (long long)INT64_MAX);
  }
  context->plan->symbols[step->a] = value;
  return LUMEN_OK;
}

/* Bytes that an expression says; `what` is "a value" or the like. */
static int bytes_of(const context *context, uint32_t expr, uint64_t *bytes, lumen_status *status) {
  int64_t value;
  int code = lumen_value_of(context->model->abi, context->plan, expr, &value, status);
  if (code)
    return code;
  if (value < 0)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "%s: a value would have %lld bytes",
                      context->model->abi->name, (long long)value);
  *bytes = (uint64_t)value;
  return LUMEN_OK;
}

static int do_step(context *context, const lumen_abi_step *step, const lumen_step_actions *actions,
                   lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  plan *plan = context->plan;
  uint64_t bytes = 0;
  int code = LUMEN_OK;
  switch ((lumen_abi_step_kind)step->kind) {
  case LUMEN_ABI_STEP_LAUNCH:
    return actions->launch(context, step->a, status);
  case LUMEN_ABI_STEP_EVAL:
    lumen_evaluate(abi, plan, step->a, step->b);
    return LUMEN_OK;
  case LUMEN_ABI_STEP_CHECK:
    return lumen_check(abi, plan, step->a, status);
  case LUMEN_ABI_STEP_BIND:
    return bind(context, step, actions, status);
  case LUMEN_ABI_STEP_SET:
    return lumen_value_of(abi, plan, step->b, &plan->symbols[step->a], status);
  case LUMEN_ABI_STEP_ALLOC: {
    const lumen_abi_storage *storage = &abi->storages[step->a];
    bytes = storage->size;
    if (storage->size_expr != LUMEN_ABI_NONE)
      code = bytes_of(context, storage->size_expr, &bytes, status);
    return code ? code : actions->alloc(context, step->a, bytes, status);
  }
  case LUMEN_ABI_STEP_FREE:
    return actions->release(context, step->a, status);
  case LUMEN_ABI_STEP_SWAP:
    return actions->swap(context, step->a, step->b, status);
  case LUMEN_ABI_STEP_MOVE:
    return actions->move(context, step->a, step->b, status);
  case LUMEN_ABI_STEP_APPEND:
    code = bytes_of(context, step->c, &bytes, status);
    return code ? code : actions->append(context, step->a, step->b, bytes, status);
  case LUMEN_ABI_STEP_CALL:
    return actions->call(context, step->a, status);
  case LUMEN_ABI_STEP_JUMP:
  case LUMEN_ABI_STEP_BRANCH:
    break;
  }
  return LUMEN_OK;
}

int lumen_run_steps(context *context, const lumen_step_actions *actions, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  uint64_t jumps_left = context->max_jumps;
  for (uint32_t at = 0; at < abi->num_steps;) {
    const lumen_abi_step *step = &abi->steps[at];
    uint32_t next = at + 1;
    if (step->kind == LUMEN_ABI_STEP_JUMP) {
      next = step->a;
    } else if (step->kind == LUMEN_ABI_STEP_BRANCH) {
      int64_t condition;
      int code = lumen_value_of(abi, context->plan, step->a, &condition, status);
      if (code)
        return code;
      if (!condition)
        next = step->b;
    } else {
      int code = do_step(context, step, actions, status);
      if (code)
        return code;
    }
    if (next <= at && jumps_left-- == 0) {
      char node[lumen_node_capacity];
      lumen_node_of_steps(abi, next, at, node);
      return lumen_fail(status, LUMEN_ERROR_MODEL,
                        "%s: its loops have not ended after %llu iterations, the limit of this "
                        "context (max_iterations); the last was at %s",
                        abi->name, (unsigned long long)context->max_jumps, node);
    }
    at = next;
  }
  return LUMEN_OK;
}
