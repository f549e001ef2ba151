/* driver_cpu.c - the host. */
#include "cpu.h"
#include "cpu_levels.h"
#include "guard.h"
#include "host_kernels.h"
#include "rates.h"
#include "schedule.h"
#include "threads.h"

#include <stdlib.h>
#include <string.h>

typedef struct cpu_device {
  lumen_host_kernels kernels;
  char *init; /* INIT region */
} cpu_device;

typedef struct cpu_context {
  lumen_schedule schedule;
  lumen_host_workers workers;
  int64_t *extents; /* of a launch's arguments, where there is a guard */
} cpu_context;

/* ---- The device --------------------------------------------------------- */

static uint64_t meminfo(const char *text, const char *key) {
  const char *at = strstr(text, key);
  return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

static uint32_t cpu_enumerate(lumen_device_info *devices, uint32_t capacity) {
  if (!capacity)
    return 1;
  lumen_device_info *info = devices;
  memset(info, 0, sizeof(*info));
  strcpy(info->kind, "cpu");
  lumen_cpu_name(info->name);
  char text[2048];
  if (lumen_read_file("/proc/meminfo", text, sizeof(text)) > 0) {
    info->memory_total = meminfo(text, "MemTotal:");
    info->memory_available = meminfo(text, "MemAvailable:");
  }
  return 1;
}

void lumen_host_rates(lumen_device_rates *rates) {
  double core = lumen_cpu_features() & (LUMEN_ABI_X86_V3 | LUMEN_ABI_X86_V4) ? 60 : 20;
  char name[sizeof(((lumen_device_info *)NULL)->name)];
  lumen_cpu_name(name);
  /* Nothing is copied to where it is. */
  *rates = (lumen_device_rates){.gflops = core * lumen_available_cpus(),
                                .gbytes = 20,
                                .launch_us = 2,
                                .run_us = 1,
                                .copy_gbytes = 20};
  lumen_rates_find(lumen_driver_cpu.kind, name, rates);
}

static double cpu_score(const lumen_abi_model *abi, const lumen_device_info *info,
                        const lumen_choice *choice, lumen_status *reason) {
  (void)info; /* there is one */
  if (lumen_cpu_check_kernels(abi, lumen_cpu_features(), reason))
    return 0;
  lumen_device_rates rates;
  lumen_host_rates(&rates);
  return lumen_rates_speed(&rates, choice->workload, abi);
}

static void close_device(cpu_device *state) {
  lumen_host_kernels_close(&state->kernels);
  free(state->init);
  free(state);
}

static int cpu_open(device *device, lumen_status *status) {
  model *model = device->model;
  const lumen_abi_model *abi = model->abi;
  cpu_device *state = lumen_allocate(sizeof(*state));
  if (!state)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory to open it", abi->name);
  int code = lumen_host_kernels_open(&state->kernels, model, status);
  if (!code && abi->num_inits) {
    state->init = lumen_allocate_large(abi->init_size);
    code = state->init ? lumen_host_inits(model, &state->kernels, state->init, status)
                       : lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY,
                                    "%s: no memory to prepare its weights", abi->name);
  }
  if (code) {
    close_device(state);
    return code;
  }
  device->state = state;
  atomic_fetch_add(&model->memory_used, abi->init_size);
  return LUMEN_OK;
}

static void cpu_close(device *device) {
  atomic_fetch_sub(&device->model->memory_used, device->model->abi->init_size);
  close_device(device->state);
}

static void cpu_describe(const device *device, lumen_model_info *info) {
  const cpu_device *state = device->state;
  info->scratch_size = state->kernels.scratch_size;
  if (state->kernels.best_level < device->model->abi->num_levels)
    info->level = device->model->abi->levels[state->kernels.best_level].name;
}

static bool cpu_offers(const lumen_abi_model *abi, uint32_t level) {
  return lumen_cpu_level_fits(abi, level, lumen_cpu_features());
}

static const lumen_abi_variant *cpu_variant(const device *device, uint32_t kernel) {
  const cpu_device *state = device->state;
  return state->kernels.variants[kernel];
}

/* ---- Launches ----------------------------------------------------------- */

/* Hides or shows all memory of a context that kernels see. */
static void visit_memory(const context *context, void (*visit)(void *memory, uint64_t size)) {
  const cpu_context *state = context->device_state;
  const lumen_schedule *schedule = &state->schedule;
  visit(schedule->arena, context->arena ? context->arena_capacity : schedule->arena_capacity);
  visit(state->workers.scratch, state->workers.scratch_size);
  lumen_heap_visit(&schedule->storages.heap, visit);
  for (uint32_t i = 0; i < context->model->abi->num_outputs; ++i)
    visit(schedule->owned_outputs[i], schedule->owned_capacity[i]);
}

/* Leaves a launch its arguments and scratch, and no other memory of the context. */
static void guard_launch(const context *context, const lumen_abi_launch *launch) {
  const cpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  const lumen_abi_variant *variant = state->workers.kernels->variants[launch->kernel];
  const lumen_binding *binding = state->schedule.bindings.current;
  visit_memory(context, abi->guard->hide);
  variant->extents_fn(binding->sizes + launch->first_size, state->extents);
  for (uint32_t a = 0; a < abi->kernels[launch->kernel].num_args; ++a)
    abi->guard->show(binding->args[launch->first_arg + a], (uint64_t)state->extents[a]);
  for (uint64_t at = 0; at < state->workers.scratch_size;
       at += state->workers.kernels->scratch_size)
    abi->guard->show(state->workers.scratch + at, variant->scratch_size);
}

static int cpu_launch(context *context, uint32_t index, lumen_status *status) {
  const cpu_context *state = context->device_state;
  const lumen_abi_launch *launch = &context->model->abi->launches[index];
  const lumen_binding *binding = state->schedule.bindings.current;
  const lumen_guard *guard = context->model->abi->guard;
  if (guard)
    guard_launch(context, launch);
  int code = lumen_host_launch(&state->workers, launch, binding->args + launch->first_arg,
                               binding->sizes + launch->first_size, binding->grids[index], status);
  if (guard)
    visit_memory(context, guard->show);
  return code;
}

static const lumen_schedule_ops ops = {.launch = cpu_launch};

/* ---- Contexts ----------------------------------------------------------- */

static void cpu_context_close(context *context) {
  cpu_context *state = context->device_state;
  lumen_schedule_close(context);
  atomic_fetch_sub(&context->model->memory_used, state->workers.scratch_size);
  lumen_host_workers_close(&state->workers);
  free(state->extents);
  free(state);
  context->device_state = NULL;
}

static int cpu_context_open(context *context, lumen_status *status) {
  const model *model = context->model;
  const lumen_abi_model *abi = model->abi;
  const cpu_device *device = context->device->state;
  cpu_context *state = lumen_allocate(sizeof(*state));
  if (!state)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a context", abi->name);
  context->device_state = state;
  bool has_memory = lumen_host_workers_open(&state->workers, &device->kernels, context->executor);
  atomic_fetch_add(&context->model->memory_used, state->workers.scratch_size);
  if (abi->guard) {
    state->extents =
        lumen_allocate(lumen_count_args(abi, abi->launches, abi->num_launches) * sizeof(int64_t));
    has_memory = has_memory && state->extents;
  }
  state->schedule.weights = model->weights;
  state->schedule.init = device->init;
  int code = lumen_schedule_open(context, &ops, device->kernels.variants, status);
  if (!code && !has_memory)
    code = lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a context", abi->name);
  if (code)
    cpu_context_close(context);
  return code;
}

static int cpu_run(context *context, lumen_status *status) {
  const cpu_context *state = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  int code = LUMEN_OK;
  for (uint32_t i = 0; i < abi->num_outputs && !code; ++i) {
    if (context->outputs[i] || context->plan->output_bytes[i] == UINT64_MAX)
      continue;
    code = lumen_schedule_fit_output(context, i, status);
    context->outputs[i] = state->schedule.owned_outputs[i];
  }
  if (!code)
    code = lumen_schedule_follow(context, status);
  if (code)
    return code;
  lumen_schedule_place(context);
  return lumen_schedule_run(context, status);
}

static void cpu_context_memory(const context *context, lumen_context_memory_info *info) {
  const cpu_context *state = context->device_state;
  info->scratch_size = state->workers.scratch_size;
  lumen_schedule_memory(context, info);
}

const lumen_driver lumen_driver_cpu = {.kind = "cpu",
                                       .target = LUMEN_ABI_CPU,
                                       .enumerate = cpu_enumerate,
                                       .score = cpu_score,
                                       .offers = cpu_offers,
                                       .open = cpu_open,
                                       .close = cpu_close,
                                       .describe = cpu_describe,
                                       .variant = cpu_variant,
                                       .context_open = cpu_context_open,
                                       .context_close = cpu_context_close,
                                       .context_memory = cpu_context_memory,
                                       .owner = lumen_schedule_owner,
                                       .hand_over = lumen_schedule_hand_over,
                                       .run = cpu_run};
