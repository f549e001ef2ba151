/* devices.c - the drivers that are linked in, and the choice among their devices.
 *
 * A driver beside the CPU's is referred to weakly, so that an artifact carries
 * it only if lumenc pulled its archive member in. */
#include "benchmark.h"
#include "driver.h"
#include "rates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const lumen_driver lumen_driver_cuda __attribute__((weak));
extern const lumen_driver lumen_driver_hip __attribute__((weak));
extern const lumen_driver lumen_driver_metal __attribute__((weak));
extern const lumen_driver lumen_driver_vulkan __attribute__((weak));

const lumen_driver *const lumen_drivers[lumen_num_drivers] = {
    &lumen_driver_cpu, &lumen_driver_cuda, &lumen_driver_hip, &lumen_driver_metal,
    &lumen_driver_vulkan};

enum { max_devices = 64 };

/* Best score first, drivers' order among equals. */
typedef struct device_list {
  uint32_t count;
  struct {
    const lumen_driver *driver;
    lumen_device_info info; /* its index is the driver's */
    lumen_status reason;    /* why its score is 0 */
  } items[max_devices];
} device_list;

/* ---- Names -------------------------------------------------------------- */

/* "vulkan" and "vulkan:1": the driver's kind, and a number or -1. */
static bool is_of_kind(const char *wanted, const char *kind, int64_t *index) {
  size_t length = strlen(kind);
  *index = -1;
  if (strncmp(wanted, kind, length))
    return false;
  if (!wanted[length])
    return true;
  char *end;
  if (wanted[length] != ':' || wanted[length + 1] < '0' || wanted[length + 1] > '9')
    return false;
  *index = strtoll(wanted + length + 1, &end, 10);
  return !*end;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c; }

/* Whether a part of `name` is `wanted`, whatever the case. */
static bool has_part(const char *name, const char *wanted) {
  size_t length = strlen(wanted);
  for (; strlen(name) >= length; ++name) {
    size_t i = 0;
    while (i < length && lower(name[i]) == lower(wanted[i]))
      ++i;
    if (i == length)
      return true;
  }
  return false;
}

/* The driver whose kind `wanted` begins with; NULL: it is a name, or anything. */
static const lumen_driver *driver_of(const char *wanted) {
  int64_t index;
  for (uint32_t d = 0; d < lumen_num_drivers; ++d)
    if (lumen_drivers[d] && is_of_kind(wanted, lumen_drivers[d]->kind, &index))
      return lumen_drivers[d];
  return NULL;
}

static bool is_wanted(const lumen_device_info *info, const char *wanted) {
  int64_t index;
  if (is_of_kind(wanted, info->kind, &index))
    return index < 0 || index == info->index;
  return has_part(info->name, wanted);
}

/* ---- Lists -------------------------------------------------------------- */

/* Bits of the drivers, one or all, that hold something. */
static uint32_t hold_drivers(const lumen_driver *only) {
  uint32_t held = 0;
  for (uint32_t d = 0; d < lumen_num_drivers; ++d) {
    const lumen_driver *driver = lumen_drivers[d];
    if (driver && driver->hold && (!only || driver == only) && driver->hold())
      held |= 1u << d;
  }
  return held;
}

static void let_go(uint32_t held) {
  for (uint32_t d = 0; d < lumen_num_drivers; ++d)
    if (held >> d & 1)
      lumen_drivers[d]->let_go();
}

/* Devices of one driver, or of all. Others are not even looked for: that takes time. */
/* Into its place by score. */
static void add_device(const lumen_driver *driver, const lumen_device_info *info,
                       const lumen_status *reason, device_list *list) {
  uint32_t at = list->count++;
  for (; at > 0 && list->items[at - 1].info.score < info->score; --at)
    list->items[at] = list->items[at - 1];
  list->items[at].driver = driver;
  list->items[at].info = *info;
  list->items[at].reason = *reason;
  if (info->score <= 0)
    snprintf(list->items[at].info.reason, sizeof(info->reason), "%s", reason->message);
}

static void list_devices(const lumen_abi_model *abi, const lumen_driver *only,
                         const lumen_choice *choice, device_list *list) {
  list->count = 0;
  for (uint32_t d = 0; d < lumen_num_drivers; ++d) {
    const lumen_driver *driver = lumen_drivers[d];
    if (!driver || (only && driver != only))
      continue;
    lumen_device_info found[max_devices];
    uint32_t count = driver->enumerate(found, max_devices);
    for (uint32_t i = 0; i < count && list->count < max_devices; ++i) {
      lumen_status reason = {LUMEN_ERROR_DEVICE, ""};
      found[i].index = i;
      found[i].score = driver->score(abi, &found[i], choice, &reason) *
                       lumen_fitting_part(abi, choice->workload, found[i].memory_available);
      add_device(driver, &found[i], &reason, list);
    }
    if (count || list->count == max_devices)
      continue;
    /* Of a kind that is not there, the reason is worth a line. */
    lumen_device_info none = {.index = 0};
    lumen_status reason;
    snprintf(none.kind, sizeof(none.kind), "%s", driver->kind);
    if (driver->score(abi, &none, choice, &reason) > 0)
      (void)lumen_fail(&reason, LUMEN_ERROR_DEVICE, "%s: no %s device was found", abi->name,
                       driver->kind);
    add_device(driver, &none, &reason, list);
  }
}

/* `flags` of lumen_model_options, `is_open` for any device. */
static int find_choice(const lumen_abi_model *abi, uint32_t flags, bool is_open,
                       lumen_choice *choice, lumen_status *status) {
  const char *text = getenv("LUMEN_ROUTE");
  choice->routes = is_open && abi->flags & LUMEN_ABI_ROUTE;
  if (flags & (LUMEN_ROUTE | LUMEN_NO_ROUTE)) {
    choice->routes = flags & LUMEN_ROUTE;
  } else if (text && *text) {
    if (strcmp(text, "0") && strcmp(text, "1"))
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "LUMEN_ROUTE is '%s', expected 0 or 1", text);
    choice->routes = *text == '1';
  }
  return LUMEN_OK;
}

uint32_t lumen_devices_impl(const lumen_module *module, lumen_device_info *devices,
                            uint32_t capacity) {
  device_list list;
  uint32_t held = hold_drivers(NULL);
  lumen_choice choice = {.workload = LUMEN_GENERAL};
  (void)find_choice(module->model, 0, /*is_open=*/true, &choice, NULL);
  list_devices(module->model, NULL, &choice, &list);
  let_go(held);
  for (uint32_t i = 0; i < list.count && i < capacity; ++i)
    devices[i] = list.items[i].info;
  return list.count;
}

const lumen_driver *lumen_driver_of_target(uint32_t target) {
  for (uint32_t d = 0; d < lumen_num_drivers; ++d)
    if (lumen_drivers[d] && lumen_drivers[d]->target == target)
      return lumen_drivers[d];
  return NULL;
}

bool lumen_driver_offers(const lumen_driver *driver, const lumen_abi_model *abi, uint32_t level) {
  if (driver->offers)
    return driver->offers(abi, level);
  device_list list;
  uint32_t held = hold_drivers(driver);
  const lumen_choice any = {0};
  list_devices(abi, driver, &any, &list);
  let_go(held);
  return list.count && list.items[0].info.score > 0; /* the best comes first */
}

static int fail_unknown_device(const lumen_abi_model *abi, const char *source, const char *wanted,
                               lumen_status *status) {
  device_list list;
  const lumen_choice any = {0};
  list_devices(abi, NULL, &any, &list);
  char known[300] = "";
  size_t length = 0;
  for (uint32_t i = 0; i < list.count && length < sizeof(known); ++i)
    if (*list.items[i].info.name)
      length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%s:%u (%s)",
                                 length ? ", " : "", list.items[i].info.kind,
                                 list.items[i].info.index, list.items[i].info.name);
  return lumen_fail(status, LUMEN_ERROR_NOT_FOUND, "%s is '%s', there is %s", source, wanted,
                    known);
}

/* ---- The device of a model ---------------------------------------------- */

static void lock(model *model) {
  while (atomic_flag_test_and_set(&model->is_changing)) {
  }
}

device *lumen_device_acquire(model *model) {
  lock(model);
  device *current = model->device;
  atomic_fetch_add(&current->references, 1);
  atomic_flag_clear(&model->is_changing);
  return current;
}

void lumen_device_release(device *device) {
  if (atomic_fetch_sub(&device->references, 1) != 1)
    return;
  device->driver->close(device);
  free(device);
}

static int open_device(model *model, const lumen_driver *driver, const lumen_device_info *info,
                       const lumen_choice *choice, lumen_status *status) {
  device *made = lumen_allocate(sizeof(*made));
  if (!made)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory to open it",
                      model->abi->name);
  made->driver = driver;
  made->index = info->index;
  made->model = model;
  made->choice = *choice;
  made->references = 1;
  memcpy(made->name, info->name, sizeof(made->name));
  int code = driver->open(made, status);
  if (code) {
    free(made);
    return code;
  }
  lock(model);
  device *before = atomic_exchange(&model->device, made);
  atomic_flag_clear(&model->is_changing);
  if (before)
    lumen_device_release(before);
  return LUMEN_OK;
}

/* The best one of those that `wanted` means, or of all where it is NULL, that opens. Not
 * found: `reason` has no code. */
static int open_best(model *model, const char *wanted, const lumen_choice *choice,
                     lumen_status *reason) {
  device_list list;
  list_devices(model->abi, wanted ? driver_of(wanted) : NULL, choice, &list);
  reason->code = LUMEN_OK;
  for (uint32_t i = 0; i < list.count; ++i) {
    const lumen_device_info *info = &list.items[i].info;
    if (wanted && !is_wanted(info, wanted))
      continue;
    lumen_status own = list.items[i].reason;
    if (info->score > 0 && !open_device(model, list.items[i].driver, info, choice, &own))
      return LUMEN_OK;
    /* The first one's is told: it is the best, or the one that was meant. */
    if (!reason->code)
      *reason = own;
  }
  return reason->code ? reason->code : LUMEN_ERROR_NOT_FOUND;
}

int lumen_device_open(model *model, const char *wanted, lumen_status *status) {
  const char *source = "device";
  if (!wanted || !*wanted) {
    source = "LUMEN_DEVICE";
    wanted = getenv(source);
  }
  if (wanted && (!*wanted || !strcmp(wanted, "auto")))
    wanted = NULL;
  lumen_choice choice = {.workload = model->workload};
  int code = find_choice(model->abi, model->flags, !wanted, &choice, status);
  if (code)
    return code;
  lumen_status reason;
  uint32_t held = hold_drivers(wanted ? driver_of(wanted) : NULL);
  code = open_best(model, wanted, &choice, &reason);
  let_go(held);
  if (!code)
    return LUMEN_OK;
  if (wanted && model->flags & LUMEN_FALL_BACK && strcmp(wanted, lumen_driver_cpu.kind))
    return lumen_device_open(model, lumen_driver_cpu.kind, status);
  if (reason.code)
    return lumen_fail(status, reason.code, "%s", reason.message);
  return fail_unknown_device(model->abi, source, wanted, status);
}

int lumen_model_set_device_impl(lumen_model *base, const char *wanted, lumen_status *status) {
  return lumen_device_open((model *)base, wanted, status);
}

int lumen_benchmark_impl(const lumen_module *module, const char *device, lumen_device_rates *rates,
                         lumen_status *status) {
  for (uint32_t d = 0; d < lumen_num_drivers; ++d)
    if (lumen_drivers[d] && lumen_drivers[d]->benchmark)
      return lumen_drivers[d]->benchmark->measure(module->api, device, rates, status);
  const lumen_abi_model *abi = module->model;
  return lumen_fail(status, LUMEN_ERROR_UNSUPPORTED,
                    "%s: has code for the CPU alone, so there is nothing to choose by measuring",
                    abi->name);
}

void lumen_memory_info_impl(const lumen_model *base, lumen_memory_info *info) {
  model *model = (struct model *)base;
  device *device = lumen_device_acquire(model);
  lumen_device_info devices[max_devices];
  uint32_t count = device->driver->enumerate(devices, max_devices);
  *info = (lumen_memory_info){0, 0, 0};
  if (device->index < count) {
    info->total = devices[device->index].memory_total;
    info->available = devices[device->index].memory_available;
  }
  info->used = atomic_load(&model->memory_used);
  lumen_device_release(device);
}
