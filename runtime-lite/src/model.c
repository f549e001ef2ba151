/* model.c - opening a module: versions, weights, device, executor. */
#include "driver.h"
#include "threads.h"

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

enum { max_devices = 64 };

/* Devices of all drivers, best score first, drivers' order among equals. */
typedef struct device_list {
  uint32_t count;
  struct {
    const lumen_driver *driver;
    uint32_t index; /* of the driver's */
    lumen_device_info info;
  } items[max_devices];
} device_list;

static void list_devices(const lumen_abi_model *abi, device_list *list) {
  list->count = 0;
  for (uint32_t d = 0; lumen_drivers[d]; ++d) {
    const lumen_driver *driver = lumen_drivers[d];
    lumen_device_info found[max_devices];
    uint32_t count = driver->enumerate(found, max_devices);
    for (uint32_t i = 0; i < count && list->count < max_devices; ++i) {
      found[i].score = driver->score(abi, i, NULL);
      uint32_t at = list->count++;
      for (; at > 0 && list->items[at - 1].info.score < found[i].score; --at)
        list->items[at] = list->items[at - 1];
      list->items[at].driver = driver;
      list->items[at].index = i;
      list->items[at].info = found[i];
    }
  }
}

uint32_t lumen_devices_impl(const lumen_module *module, lumen_device_info *devices,
                            uint32_t capacity) {
  device_list list;
  list_devices(module->model, &list);
  for (uint32_t i = 0; i < list.count && i < capacity; ++i)
    devices[i] = list.items[i].info;
  return list.count;
}

static int fail_unknown_device(const device_list *list, const char *source, const char *wanted,
                               lumen_status *status) {
  char known[300] = "";
  size_t length = 0;
  for (uint32_t i = 0; i < list->count; ++i) {
    const lumen_device_info *info = &list->items[i].info;
    size_t needed = strlen(info->kind) + strlen(info->name) + 6;
    if (length + needed >= sizeof(known))
      break;
    if (i)
      strcat(known, ", ");
    strcat(strcat(strcat(strcat(known, info->kind), " ("), info->name), ")");
    length = strlen(known);
  }
  return lumen_fail(status, LUMEN_ERROR_NOT_FOUND, "%s is '%s', there is %s", source, wanted,
                    known);
}

/* The wanted device, or the best one. */
static int choose_device(model *model, const lumen_model_options *options, lumen_status *status) {
  device_list list;
  list_devices(model->abi, &list);
  const char *source = "device", *wanted = options->device;
  if (!wanted || !*wanted) {
    source = "LUMEN_DEVICE";
    wanted = getenv(source);
  }
  bool any = !wanted || !*wanted;
  for (uint32_t i = 0; i < list.count; ++i) {
    const lumen_device_info *info = &list.items[i].info;
    if (!any && strcmp(info->kind, wanted) && strcmp(info->name, wanted))
      continue;
    model->driver = list.items[i].driver;
    model->device = list.items[i].index;
    memcpy(model->device_name, info->name, sizeof(model->device_name));
    lumen_status reason = {0, ""};
    if (info->score > 0 || model->driver->score(model->abi, model->device, &reason) > 0)
      return LUMEN_OK;
    return lumen_fail(status, reason.code, "%s", reason.message);
  }
  if (any)
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: there is no device to run it",
                      model->abi->name);
  return fail_unknown_device(&list, source, wanted, status);
}

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
  int code = choose_device(model, options, status);
  if (code)
    return code;
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
  code = lumen_weights_open(model, status);
  if (!code)
    code = model->driver->open(model, options, status);
  return code;
}

void *lumen_model_release_impl(lumen_model *base) {
  model *model = (struct model *)base;
  if (atomic_fetch_sub(&model->references, 1) != 1)
    return NULL;
  if (model->device_state)
    model->driver->close(model);
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
  const model *model = (const struct model *)base;
  const lumen_abi_model *abi = model->abi;
  *info = (lumen_model_info){.name = abi->name,
                             .producer = abi->producer,
                             .source_hash = abi->source_hash,
                             .device = model->device_name,
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
  model->driver->describe(model, info);
}

int lumen_level_info_impl(const lumen_model *base, uint32_t index, lumen_level_info *info) {
  const model *model = (const struct model *)base;
  if (index >= model->abi->num_levels)
    return LUMEN_ERROR_NOT_FOUND;
  *info = (lumen_level_info){model->abi->levels[index].name, 0, 0};
  model->driver->describe_level(model, index, info);
  return LUMEN_OK;
}

void lumen_memory_info_impl(const lumen_model *base, lumen_memory_info *info) {
  const model *model = (const struct model *)base;
  lumen_device_info devices[max_devices];
  uint32_t count = model->driver->enumerate(devices, max_devices);
  *info = (lumen_memory_info){0, 0, 0};
  if (model->device < count) {
    info->total = devices[model->device].memory_total;
    info->available = devices[model->device].memory_available;
  }
  info->used = atomic_load(&((struct model *)base)->memory_used);
}
