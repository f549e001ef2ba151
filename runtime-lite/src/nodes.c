/* nodes.c - see nodes.h. */
#include "nodes.h"

#include <stdio.h>

/* What a node is known by. */
typedef struct question {
  const lumen_abi_model *abi;
  const plan *plan;         /* of the cause */
  uint32_t cause;           /* 0: not asked for */
  uint32_t storage, buffer; /* LUMEN_ABI_NONE: not asked for */
} question;

static bool is_caused(const question *about, uint32_t expr) {
  return about->cause && expr != LUMEN_ABI_NONE && about->plan->causes[expr] == about->cause;
}

static bool has_size(const question *about, uint32_t first, uint32_t count) {
  for (uint32_t s = first; s < first + count; ++s)
    if (is_caused(about, about->abi->size_exprs[s]))
      return true;
  return false;
}

static bool has_buffer(const question *about, uint32_t index) {
  if (index == LUMEN_ABI_NONE)
    return false;
  const lumen_abi_buffer *buffer = &about->abi->buffers[index];
  return index == about->buffer || buffer->storage == about->storage ||
         is_caused(about, buffer->offset_expr) ||
         is_caused(about, about->abi->storages[buffer->storage].size_expr);
}

static bool has_launch(const question *about, const lumen_abi_launch *launch) {
  if (has_size(about, launch->first_size, launch->num_sizes))
    return true;
  for (uint32_t a = 0; a < about->abi->kernels[launch->kernel].num_args; ++a)
    if (has_buffer(about, about->abi->arg_buffers[launch->first_arg + a]))
      return true;
  return false;
}

static bool has_call(const question *about, const lumen_abi_call *call) {
  if (has_size(about, call->first_size, call->num_sizes))
    return true;
  for (uint32_t a = 0; a < call->num_inputs + call->num_outputs; ++a)
    if (has_buffer(about, call->args[a].buffer))
      return true;
  return false;
}

static bool has_output(const question *about, const lumen_abi_value *output) {
  for (int32_t d = 0; d < output->rank; ++d)
    if (is_caused(about, output->dims[d].expr) || is_caused(about, output->dims[d].bound_expr))
      return true;
  return false;
}

static void find(const question *about, char *text) {
  const lumen_abi_model *abi = about->abi;
  const char *node = NULL;
  /* A check has the very node that computes with the size. */
  for (uint32_t i = 0; i < abi->num_checks && !node; ++i)
    if (is_caused(about, abi->checks[i].a) || is_caused(about, abi->checks[i].b))
      node = abi->checks[i].node;
  for (uint32_t i = 0; i < abi->num_launches && !node; ++i)
    if (has_launch(about, &abi->launches[i]))
      node = abi->launches[i].nodes;
  for (uint32_t i = 0; i < abi->num_calls && !node; ++i)
    if (has_call(about, &abi->calls[i]))
      node = abi->calls[i].node;
  *text = 0;
  if (node && *node) {
    snprintf(text, lumen_node_capacity, "%s: ", node);
    return;
  }
  for (uint32_t i = 0; i < abi->num_outputs; ++i)
    if (has_output(about, &abi->outputs[i])) {
      snprintf(text, lumen_node_capacity, "output '%s': ", abi->outputs[i].name);
      return;
    }
}

void lumen_node_of_cause(const lumen_abi_model *abi, const plan *plan, uint32_t cause, char *text) {
  find(&(question){abi, plan, cause, LUMEN_ABI_NONE, LUMEN_ABI_NONE}, text);
}

void lumen_node_of_storage(const lumen_abi_model *abi, uint32_t storage, char *text) {
  find(&(question){abi, NULL, 0, storage, LUMEN_ABI_NONE}, text);
}

void lumen_node_of_buffer(const lumen_abi_model *abi, uint32_t buffer, char *text) {
  find(&(question){abi, NULL, 0, LUMEN_ABI_NONE, buffer}, text);
}

void lumen_node_of_steps(const lumen_abi_model *abi, uint32_t first, uint32_t last, char *text) {
  const char *node = NULL;
  for (uint32_t i = first; i < last && !node; ++i) {
    uint32_t a = abi->steps[i].a;
    if (abi->steps[i].kind == LUMEN_ABI_STEP_LAUNCH)
      node = abi->launches[a].nodes;
    else if (abi->steps[i].kind == LUMEN_ABI_STEP_CALL)
      node = abi->calls[a].node;
  }
  snprintf(text, lumen_node_capacity, "%s", node && *node ? node : "?");
}

uint32_t lumen_largest_storage(const lumen_abi_model *abi, const plan *plan) {
  uint32_t largest = LUMEN_ABI_NONE;
  int64_t most = 0;
  for (uint32_t i = 0; i < abi->num_storages; ++i) {
    const lumen_abi_storage *storage = &abi->storages[i];
    if (storage->region != LUMEN_ABI_ARENA || storage->size_expr == LUMEN_ABI_NONE ||
        plan->causes[storage->size_expr] || plan->values[storage->size_expr] <= most)
      continue;
    largest = i;
    most = plan->values[storage->size_expr];
  }
  return largest;
}
