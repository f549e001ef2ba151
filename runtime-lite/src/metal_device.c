/* metal_device.c - see metal_device.h. */
#include "metal_device.h"

#include <stdlib.h>
#include <string.h>

void mtl_measure(const lumen_metal *metal, metal_id device, gpu_limits *limits,
                 lumen_device_rates *rates) {
  bool is_unified = METAL_SEND(metal, bool)(device, metal->has_unified_memory);
  *limits =
      (gpu_limits){.features = LUMEN_ABI_GPU_INT8 | LUMEN_ABI_GPU_INT16 | LUMEN_ABI_GPU_INT64 |
                               LUMEN_ABI_GPU_FLOAT16 | LUMEN_ABI_GPU_SUBGROUPS,
                   /* A pipeline may take less: it is asked once it is there. */
                   .max_block = 1024,
                   .max_shared = (uint32_t)metal_number(metal, device, metal->max_shared),
                   .max_bindings = 31, /* "Metal feature set tables", buffers */
                   .max_workgroups = INT32_MAX,
                   .max_range = metal_number(metal, device, metal->max_buffer),
                   .alignment = 256, /* of buffers' offsets, on all Macs */
                   .is_mapped = is_unified};
  limits->max_allocation = limits->max_range;
  if (limits->max_range > UINT32_MAX)
    limits->max_range = UINT32_MAX;
  *rates = is_unified ? (lumen_device_rates){1500, 80, 5, 100, 0, 0, 40}
                      : (lumen_device_rates){3000, 150, 8, 150, 0, 0, 8};
}

int mtl_fail(const mtl_device *device, metal_id error, const char *what, lumen_status *status) {
  const lumen_metal *metal = device->metal;
  if (error && metal_number(metal, error, metal->code) == metal_error_out_of_memory)
    return gpu_fail_memory(&device->base, what, status);
  return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: %s (Metal says: %s)",
                    device->base.model->abi->name, what, metal_reason(metal, error));
}

/* ---- Memory ------------------------------------------------------------- */

static bool open_memory(const gpu_device *base, uint64_t size, bool is_host, gpu_memory *memory) {
  const mtl_device *device = (const mtl_device *)base;
  const lumen_metal *metal = device->metal;
  bool is_mapped = is_host || base->limits.is_mapped;
  memory->buffer = METAL_SEND(metal, void *, uint64_t,
                              uint64_t)(device->device, metal->new_buffer, size,
                                        is_mapped ? metal_storage_shared : metal_storage_private);
  if (!memory->buffer)
    return false;
  if (is_mapped)
    memory->address = METAL_SEND(metal, char *)(memory->buffer, metal->contents);
  return !is_mapped || memory->address;
}

static void close_memory(const gpu_device *base, gpu_memory *memory) {
  const mtl_device *device = (const mtl_device *)base;
  if (memory->buffer)
    metal_release(device->metal, memory->buffer);
}

/* ---- Opening ------------------------------------------------------------ */

static int open_device(gpu_device *base, uint32_t index, lumen_status *status) {
  mtl_device *device = (mtl_device *)base;
  device->metal = lumen_metal_open(status);
  if (!device->metal)
    return LUMEN_ERROR_DEVICE;
  device->device = metal_device_at(device->metal, index);
  if (!device->device)
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: the device is gone", base->model->abi->name);
  mtl_measure(device->metal, device->device, &base->limits, &base->routing.device);
  return LUMEN_OK;
}

static void close_device(gpu_device *base) {
  mtl_device *device = (mtl_device *)base;
  for (uint32_t k = 0; device->pipelines && k < base->model->abi->num_kernels; ++k)
    metal_release(device->metal, device->pipelines[k]);
  free(device->pipelines);
}

/* NULL: the device's compiler refuses it. */
static metal_id make_pipeline(const mtl_device *device, metal_id options, const char *source,
                              const char *name) {
  const lumen_metal *metal = device->metal;
  metal_id error = NULL;
  metal_id library = METAL_SEND(metal, metal_id, metal_id, metal_id, metal_id *)(
      device->device, metal->new_library, metal_string(metal, source), options, &error);
  metal_id function = library ? METAL_SEND(metal, metal_id, metal_id)(library, metal->new_function,
                                                                      metal_string(metal, name))
                              : NULL;
  metal_id pipeline = function ? METAL_SEND(metal, metal_id, metal_id, metal_id *)(
                                     device->device, metal->new_pipeline, function, &error)
                               : NULL;
  metal_release(metal, function);
  metal_release(metal, library);
  return pipeline;
}

static int load_kernels(gpu_device *base, lumen_status *status) {
  mtl_device *device = (mtl_device *)base;
  const lumen_metal *metal = device->metal;
  const lumen_abi_model *abi = base->model->abi;
  device->pipelines = calloc(abi->num_kernels + 1, sizeof(*device->pipelines));
  if (!device->pipelines)
    return gpu_fail_memory(base, "kernels", status);
  void *pool = metal->push_pool();
  metal_id options = metal_get(metal, metal->get_class("MTLCompileOptions"), metal->make);
  /* What kernels compute is said exactly. */
  METAL_SEND(metal, void, bool)(options, metal->set_fast_math, false);
  METAL_SEND(metal, void, uint64_t)(options, metal->set_language, metal_language_2_4);
  for (uint32_t k = 0; k < abi->num_kernels; ++k) {
    gpu_kernel *kernel = &base->kernels[k];
    if (!kernel->variant)
      continue;
    metal_id pipeline = make_pipeline(device, options, kernel->variant->code, abi->kernels[k].name);
    device->pipelines[k] = pipeline;
    kernel->is_loaded =
        pipeline && metal_number(metal, pipeline, metal->max_threads) >= kernel->launch->block;
  }
  metal_release(metal, options);
  metal->pop_pool(pool);
  return LUMEN_OK;
}

const gpu_api mtl_api = {.target = LUMEN_ABI_METAL,
                         .device_size = sizeof(mtl_device),
                         .context_size = sizeof(mtl_context),
                         .parameters = gpu_of_host,
                         .open = open_device,
                         .close = close_device,
                         .load = load_kernels,
                         .memory_open = open_memory,
                         .memory_close = close_memory,
                         .upload = mtl_upload,
                         .stream_open = mtl_stream_open,
                         .stream_close = mtl_stream_close,
                         .begin = mtl_begin,
                         .clear = mtl_clear,
                         .copy = mtl_copy,
                         .dispatch = mtl_dispatch,
                         .barrier = mtl_barrier,
                         .end = mtl_end,
                         .submit = mtl_submit,
                         .wait = mtl_wait,
                         .is_done = mtl_is_done};
