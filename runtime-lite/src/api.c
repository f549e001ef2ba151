/* api.c - the table that an artifact's module points to. */
#include "internal.h"

static const lumen_value_info *values(const lumen_module *module, int outputs, uint32_t *count) {
  const lumen_abi_model *abi = module->model;
  *count = outputs ? abi->num_outputs : abi->num_inputs;
  return (const lumen_value_info *)(outputs ? abi->outputs : abi->inputs);
}

static lumen_executor *model_executor(const lumen_model *base) {
  return ((const model *)base)->executor;
}

/* Generated code refers to it by this name. */
extern const lumen_api lumen_runtime_api;
const lumen_api lumen_runtime_api = {
    .version = LUMEN_API_VERSION,
    .size = sizeof(lumen_api),
    .values = values,
    .devices = lumen_devices_impl,
    .executor_create = lumen_executor_create_impl,
    .model_open = lumen_model_open_impl,
    .model_release = lumen_model_release_impl,
    .model_info = lumen_model_info_impl,
    .level_info = lumen_level_info_impl,
    .model_executor = model_executor,
    .memory_info = lumen_memory_info_impl,
    .context_create = lumen_context_create_impl,
    .context_release = lumen_context_release_impl,
    .output_shapes = lumen_output_shapes_impl,
    .run = lumen_run_impl,
    .synchronize = lumen_synchronize_impl,
    .profile_enable = lumen_profile_enable_impl,
    .profile_entries = lumen_profile_entries_impl,
    .arena_size_for = lumen_arena_size_for_impl,
    .context_memory = lumen_context_memory_impl,
    .model_set_device = lumen_model_set_device_impl,
    .benchmark = lumen_benchmark_impl,
    .run_async = lumen_run_async_impl,
    .is_done = lumen_is_done_impl,
};
