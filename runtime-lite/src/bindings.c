/* bindings.c - see bindings.h. */
#include "bindings.h"

#include "nodes.h"

#include <stdlib.h>

/* When an argument is known. */
enum { by_plan, by_run, by_step };

/* Sizes: of the shapes, of what steps find. */
enum { early = 1, late = 2 };

static bool is_late_expr(const lumen_abi_model *abi, uint32_t expr) {
  return expr != LUMEN_ABI_NONE && expr >= abi->num_entry_exprs;
}

static uint8_t kind_of(const lumen_bindings *bindings, uint32_t index) {
  const lumen_abi_model *abi = bindings->abi;
  const lumen_abi_buffer *buffer = &abi->buffers[index];
  uint32_t region = abi->storages[buffer->storage].region;
  if (bindings->storages->moves[buffer->storage] || is_late_expr(abi, buffer->offset_expr))
    return by_step;
  return region == LUMEN_ABI_INPUT || region == LUMEN_ABI_OUTPUT ? by_run : by_plan;
}

static uint32_t end_of_args(const lumen_abi_model *abi, const lumen_abi_launch *launch) {
  return launch->first_arg + abi->kernels[launch->kernel].num_args;
}

uint32_t lumen_count_args(const lumen_abi_model *abi, const lumen_abi_launch *launches,
                          uint32_t count) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t end = end_of_args(abi, &launches[i]);
    most = end > most ? end : most;
  }
  return most;
}

bool lumen_bindings_open(lumen_bindings *bindings, const lumen_abi_model *abi,
                         const lumen_abi_variant *const *variants, lumen_storages *storages) {
  bindings->abi = abi;
  bindings->variants = variants;
  bindings->storages = storages;
  bindings->num_args = lumen_count_args(abi, abi->launches, abi->num_launches);
  bindings->kinds = lumen_allocate(bindings->num_args);
  bindings->is_late = lumen_allocate(abi->num_launches * sizeof(bool));
  bindings->varying = lumen_allocate(bindings->num_args * sizeof(uint32_t));
  bindings->varying_storage = lumen_allocate(bindings->num_args * sizeof(uint32_t));
  if (!bindings->kinds || !bindings->is_late || !bindings->varying || !bindings->varying_storage)
    return false;
  for (uint32_t l = 0; l < abi->num_launches; ++l) {
    const lumen_abi_launch *launch = &abi->launches[l];
    uint32_t end = end_of_args(abi, launch);
    for (uint32_t at = launch->first_arg; at < end; ++at) {
      uint8_t kind = bindings->kinds[at] = kind_of(bindings, abi->arg_buffers[at]);
      bindings->is_late[l] |= kind == by_step;
      if (kind == by_run) {
        bindings->varying_storage[bindings->num_varying] =
            abi->buffers[abi->arg_buffers[at]].storage;
        bindings->varying[bindings->num_varying++] = at;
      }
    }
    for (uint32_t s = 0; s < launch->num_sizes; ++s)
      bindings->is_late[l] |= is_late_expr(abi, abi->size_exprs[launch->first_size + s]);
  }
  return true;
}

void lumen_bindings_close(lumen_bindings *bindings) {
  for (uint32_t i = 0; i < max_plans; ++i)
    free(bindings->plans[i].args);
  free(bindings->kinds);
  free(bindings->is_late);
  free(bindings->varying);
  free(bindings->varying_storage);
}

static bool open_binding(const lumen_bindings *bindings, lumen_binding *binding) {
  const lumen_abi_model *abi = bindings->abi;
  uint64_t words = 2 * (uint64_t)bindings->num_args + abi->num_size_exprs + abi->num_launches;
  /* The pieces of one allocation, those of 8 bytes first. */
  binding->args = lumen_allocate(words * sizeof(int64_t) + abi->num_launches * sizeof(bool));
  if (!binding->args)
    return false;
  binding->offsets = (uint64_t *)(binding->args + bindings->num_args);
  binding->sizes = (int64_t *)(binding->offsets + bindings->num_args);
  binding->grids = binding->sizes + abi->num_size_exprs;
  binding->is_undefined = (bool *)(binding->grids + abi->num_launches);
  return true;
}

/* Bytes of a buffer from the base of its storage. */
static int offset_of(const lumen_storages *storages, const plan *plan, uint32_t index,
                     uint64_t *offset, lumen_status *status) {
  const lumen_abi_model *abi = storages->abi;
  const lumen_abi_buffer *buffer = &abi->buffers[index];
  int code = lumen_check_storage(abi, plan, buffer->storage, status);
  *offset = buffer->offset;
  if (code || buffer->offset_expr == LUMEN_ABI_NONE)
    return code;
  int64_t more;
  code = lumen_value_of(abi, plan, buffer->offset_expr, &more, status);
  if (code)
    return code;
  uint64_t space = storages->space[buffer->storage];
  /* Every part of nothing is nothing, wherever its sizes put it. */
  if (!space)
    more = 0, *offset = 0;
  if (more < 0 || (uint64_t)more > space || *offset > space - (uint64_t)more) {
    char node[lumen_node_capacity];
    lumen_node_of_buffer(abi, index, node);
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                      "%s: %sa part of a value would begin at byte %lld of %llu", abi->name, node,
                      (long long)more, (unsigned long long)space);
  }
  *offset += (uint64_t)more;
  return LUMEN_OK;
}

int lumen_resolve(const lumen_storages *storages, const plan *plan, uint32_t buffer, void **address,
                  lumen_status *status) {
  char *base = storages->bases[storages->abi->buffers[buffer].storage];
  uint64_t offset;
  *address = NULL;
  int code = base ? offset_of(storages, plan, buffer, &offset, status) : LUMEN_OK;
  if (base && !code)
    *address = base + offset;
  return code;
}

uint64_t lumen_bytes_at(const lumen_storages *storages, uint32_t buffer, const void *address) {
  const lumen_abi_buffer *info = &storages->abi->buffers[buffer];
  uint64_t before = (uint64_t)((const char *)address - storages->bases[info->storage]);
  uint64_t rest = storages->space[info->storage] - before;
  if (info->size || info->size_expr == LUMEN_ABI_NONE || storages->plan->causes[info->size_expr])
    return info->size ? info->size : rest;
  int64_t size = storages->plan->values[info->size_expr];
  return size >= 0 && (uint64_t)size < rest ? (uint64_t)size : rest;
}

/* The sizes of a launch that `which` says, and the grid where they were the last ones. */
static int bind_sizes(const lumen_bindings *bindings, const plan *plan, uint32_t index,
                      unsigned which, lumen_status *status) {
  const lumen_abi_model *abi = bindings->abi;
  const lumen_abi_launch *launch = &abi->launches[index];
  const lumen_abi_variant *variant = bindings->variants[launch->kernel];
  int64_t *sizes = bindings->current->sizes;
  bool has_late = false, has_new = which & early;
  for (uint32_t s = launch->first_size; s < launch->first_size + launch->num_sizes; ++s) {
    bool is_late = is_late_expr(abi, abi->size_exprs[s]);
    has_late |= is_late;
    if (!(which & (is_late ? late : early)))
      continue;
    has_new = true;
    int code = lumen_value_of(abi, plan, abi->size_exprs[s], &sizes[s], status);
    if (code)
      return code;
  }
  if (has_new && (!has_late || which & late))
    bindings->current->grids[index] = lumen_grid_of(variant, sizes + launch->first_size);
  return LUMEN_OK;
}

static int bind_launch(const lumen_bindings *bindings, const plan *plan, uint32_t index,
                       lumen_status *status) {
  const lumen_abi_model *abi = bindings->abi;
  const lumen_abi_launch *launch = &abi->launches[index];
  lumen_binding *binding = bindings->current;
  uint32_t end = end_of_args(abi, launch);
  int code = LUMEN_OK;
  for (uint32_t at = launch->first_arg; at < end && !code; ++at) {
    uint32_t buffer = abi->arg_buffers[at];
    if (bindings->kinds[at] == by_plan)
      code = lumen_resolve(bindings->storages, plan, buffer, &binding->args[at], status);
    else if (bindings->kinds[at] == by_run)
      code = offset_of(bindings->storages, plan, buffer, &binding->offsets[at], status);
  }
  return code ? code : bind_sizes(bindings, plan, index, early, status);
}

int lumen_bind_plan(lumen_bindings *bindings, const plan *plan, uint32_t slot,
                    lumen_status *status) {
  const lumen_abi_model *abi = bindings->abi;
  lumen_binding *binding = bindings->current = &bindings->plans[slot];
  if (binding->plan_id == plan->id)
    return LUMEN_OK;
  binding->plan_id = 0;
  if (!binding->args && !open_binding(bindings, binding))
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for %u arguments",
                      abi->name, bindings->num_args);
  /* Steps may pass by a launch that cannot be. */
  bool is_sure = !abi->num_steps;
  for (uint32_t l = 0; l < abi->num_launches; ++l) {
    int code = bind_launch(bindings, plan, l, is_sure ? status : NULL);
    if (code && is_sure)
      return code;
    binding->is_undefined[l] = code != LUMEN_OK;
  }
  binding->plan_id = plan->id;
  return LUMEN_OK;
}

void lumen_bindings_forget(lumen_bindings *bindings) {
  for (uint32_t i = 0; i < max_plans; ++i)
    bindings->plans[i].plan_id = 0;
}

void lumen_bind_run(lumen_bindings *bindings) {
  lumen_binding *binding = bindings->current;
  for (uint32_t i = 0; i < bindings->num_varying; ++i) {
    uint32_t at = bindings->varying[i];
    char *base = bindings->storages->bases[bindings->varying_storage[i]];
    binding->args[at] = base ? base + binding->offsets[at] : NULL;
  }
}

int lumen_bind_late(lumen_bindings *bindings, const plan *plan, uint32_t index,
                    lumen_status *status) {
  const lumen_abi_model *abi = bindings->abi;
  const lumen_abi_launch *launch = &abi->launches[index];
  lumen_binding *binding = bindings->current;
  bool late_only = !binding->is_undefined[index];
  uint32_t end = end_of_args(abi, launch);
  int code = bind_sizes(bindings, plan, index, late_only ? late : early | late, status);
  for (uint32_t at = launch->first_arg; at < end && !code; ++at)
    if (!late_only || bindings->kinds[at] == by_step)
      code =
          lumen_resolve(bindings->storages, plan, abi->arg_buffers[at], &binding->args[at], status);
  return code;
}
