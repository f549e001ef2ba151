/* model.c - opening a module: versions, weights, executor. */
#include "driver.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The signature is handed out as it is in the artifact. */
_Static_assert(sizeof(lumen_dim) == sizeof(lumen_abi_dim) &&
                   offsetof(lumen_dim, bound) == offsetof(lumen_abi_dim, bound) &&
                   offsetof(lumen_dim, symbol) == offsetof(lumen_abi_dim, symbol),
               "lumen_dim is lumen_abi_dim");
_Static_assert(sizeof(lumen_value_info) == sizeof(lumen_abi_value) &&
                   offsetof(lumen_value_info, kind) == offsetof(lumen_abi_value, kind) &&
                   offsetof(lumen_value_info, dtype) == offsetof(lumen_abi_value, dtype) &&
                   offsetof(lumen_value_info, rank) == offsetof(lumen_abi_value, rank) &&
                   offsetof(lumen_value_info, optional) == offsetof(lumen_abi_value, optional) &&
                   offsetof(lumen_value_info, dims) == offsetof(lumen_abi_value, dims),
               "lumen_value_info is lumen_abi_value");
/* DLTensor of dlpack.h on a 64-bit machine. */
_Static_assert(offsetof(lumen_tensor, data) == 0 && offsetof(lumen_tensor, device) == 8 &&
                   offsetof(lumen_tensor, ndim) == 16 && offsetof(lumen_tensor, dtype) == 20 &&
                   offsetof(lumen_tensor, shape) == 24 && offsetof(lumen_tensor, strides) == 32 &&
                   offsetof(lumen_tensor, byte_offset) == 40 && sizeof(lumen_tensor) == 48,
               "lumen_tensor is DLTensor");

static int check_version(const lumen_abi_model *abi, lumen_status *status) {
  if (abi->abi_version != LUMEN_ABI_VERSION)
    return lumen_fail(status, LUMEN_ERROR_VERSION,
                      "the model was compiled for version %u of the runtime, this is version %u",
                      abi->abi_version, LUMEN_ABI_VERSION);
  if (abi->size < sizeof(lumen_abi_model))
    return lumen_fail(status, LUMEN_ERROR_VERSION,
                      "%s: its table has %u bytes, expected at least %u", abi->name, abi->size,
                      (unsigned)sizeof(lumen_abi_model));
  return LUMEN_OK;
}

static int open_parts(model *model, const lumen_model_options *options, lumen_status *status) {
  if (options->cpu_level && strlen(options->cpu_level) >= sizeof(model->cpu_level))
    return lumen_fail(status, LUMEN_ERROR_NOT_FOUND, "cpu_level is '%s', which is no level",
                      options->cpu_level);
  if (options->cpu_level)
    strcpy(model->cpu_level, options->cpu_level);
  model->flags = options->flags;
  model->workload = options->workload;
  model->executor = options->executor;
  if (model->executor) {
    if (lumen_check_executor(model->executor, status))
      return LUMEN_ERROR_INVALID_ARGUMENT;
  } else {
    /* The pool's own failure has its code in the status: there must be one. */
    lumen_status own;
    model->owned_executor = lumen_executor_create_impl(options->num_threads, &own);
    model->executor = model->owned_executor;
    if (!model->executor)
      return lumen_fail(status, own.code, "%s", own.message);
  }
  int code = lumen_weights_open(model, status);
  return code ? code : lumen_device_open(model, options->device, status);
}

void *lumen_model_release_impl(lumen_model *base) {
  model *model = (struct model *)base;
  if (atomic_fetch_sub(&model->references, 1) != 1)
    return NULL;
  if (model->device)
    lumen_device_release(model->device);
  lumen_weights_close(model);
  if (model->owned_executor)
    lumen_executor_free(model->owned_executor);
  void *library = base->library;
  free(model);
  return library;
}

int lumen_model_open_impl(const lumen_module *module, const lumen_model_options *options,
                          lumen_model **result, lumen_status *status) {
  static const lumen_model_options defaults;
  const lumen_abi_model *abi = module->model;
  *result = NULL;
  if (!options)
    options = &defaults;
  int code = check_version(abi, status);
  if (code)
    return code;
  model *model = lumen_allocate(sizeof(*model));
  if (!model)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory to open it", abi->name);
  model->base.api = module->api;
  model->base.module = module;
  model->abi = abi;
  model->references = 1;
  model->memory_used = abi->weights_size;
  for (uint32_t i = 0; i < abi->num_outputs; ++i)
    model->num_output_dims += abi->outputs[i].rank > 0 ? (uint32_t)abi->outputs[i].rank : 0;
  for (uint32_t i = 0; i < abi->num_storages; ++i)
    model->is_symbolic |=
        abi->storages[i].region == LUMEN_ABI_ARENA && abi->storages[i].size_expr != LUMEN_ABI_NONE;
  code = open_parts(model, options, status);
  if (code)
    (void)lumen_model_release_impl(&model->base);
  else
    *result = &model->base;
  return code;
}

void lumen_model_info_impl(const lumen_model *base, lumen_model_info *info) {
  model *model = (struct model *)base;
  const lumen_abi_model *abi = model->abi;
  device *device = lumen_device_acquire(model);
  *info = (lumen_model_info){.name = abi->name,
                             .producer = abi->producer,
                             .source_hash = abi->source_hash,
                             .device = device->name,
                             .level = "",
                             .num_levels = abi->num_levels,
                             .num_kernels = abi->num_kernels,
                             .num_launches = abi->num_launches,
                             .num_workers = model->executor->num_workers(model->executor->self),
                             .arena_size = model->is_symbolic ? 0 : abi->arena_size,
                             .arena_lower_bound = abi->arena_lower_bound,
                             .bytes_without_sharing = abi->bytes_without_sharing,
                             .weights_size = abi->weights_size,
                             .init_size = abi->init_size};
  device->driver->describe(device, info);
  lumen_device_release(device);
}

int lumen_level_info_impl(const lumen_model *base, uint32_t index, lumen_level_info *info) {
  model *model = (struct model *)base;
  if (index >= model->abi->num_levels)
    return LUMEN_ERROR_NOT_FOUND;
  const lumen_abi_model *abi = model->abi;
  const lumen_driver *driver = lumen_driver_of_target(abi->levels[index].target);
  *info = (lumen_level_info){.name = abi->levels[index].name,
                             .kind = driver ? driver->kind : "",
                             .available = driver && lumen_driver_offers(driver, abi, index)};
  device *device = lumen_device_acquire(model);
  for (uint32_t k = 0; k < abi->num_kernels; ++k) {
    const lumen_abi_kernel *kernel = &abi->kernels[k];
    info->num_kernels += device->driver->variant(device, k)->level == index;
    for (uint32_t v = 0; v < kernel->num_variants; ++v)
      if (kernel->variants[v].level == index) {
        ++info->num_compiled;
        info->code_size += kernel->variants[v].code_size;
      }
  }
  lumen_device_release(device);
  return LUMEN_OK;
}
