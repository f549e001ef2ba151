/* cuda_device.c - see cuda_device.h. */
#include "cuda_device.h"

#include "cuda_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What there is ------------------------------------------------------ */

static int attribute(const lumen_cuda *cuda, CUdevice device, int number) {
  int value = 0;
  return cuda->DeviceGetAttribute(&value, number, device) == CUDA_SUCCESS && value > 0 ? value : 0;
}

/* Free memory is known where the device is in use; opening it only to ask takes long. */
static uint64_t available_memory(const lumen_cuda *cuda, CUdevice device, uint64_t total) {
  size_t left = total, all;
  unsigned flags;
  int is_active = 0;
  CUcontext context;
  if (cuda->flavour->is_hip ||
      cuda->DevicePrimaryCtxGetState(device, &flags, &is_active) != CUDA_SUCCESS || !is_active ||
      cuda->DevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
    return total;
  if (cuda->CtxPushCurrent(context) == CUDA_SUCCESS) {
    if (cuda->MemGetInfo(&left, &all) != CUDA_SUCCESS)
      left = total;
    cuda->CtxPopCurrent(&context);
  }
  cuda->DevicePrimaryCtxRelease(device);
  return left;
}

uint32_t cu_enumerate(const cu_api *api, lumen_device_info *devices, uint32_t capacity) {
  lumen_cuda *cuda = api->cuda;
  int count = 0;
  if (!lumen_cuda_open(cuda, NULL) || cuda->DeviceGetCount(&count) != CUDA_SUCCESS)
    return 0;
  uint32_t written = 0;
  for (int i = 0; i < count && written < capacity; ++i) {
    CUdevice device;
    size_t total = 0;
    lumen_device_info *info = &devices[written];
    memset(info, 0, sizeof(*info));
    if (cuda->DeviceGet(&device, i) != CUDA_SUCCESS ||
        cuda->DeviceGetName(info->name, sizeof(info->name), device) != CUDA_SUCCESS ||
        cuda->DeviceTotalMem(&total, device) != CUDA_SUCCESS)
      break;
    snprintf(info->kind, sizeof(info->kind), "%s", api->kind);
    info->memory_total = total;
    info->memory_available = available_memory(cuda, device, total);
    ++written;
  }
  return written;
}

static void measure(const cu_api *api, CUdevice device, gpu_limits *limits) {
  const lumen_cuda *cuda = api->cuda;
  const lumen_cuda_attributes *numbers = &cuda->flavour->attributes;
  *limits = (gpu_limits){.features = LUMEN_ABI_GPU_INT8 | LUMEN_ABI_GPU_INT16 |
                                     LUMEN_ABI_GPU_INT64 | LUMEN_ABI_GPU_FLOAT16 |
                                     LUMEN_ABI_GPU_FLOAT64 | LUMEN_ABI_GPU_SUBGROUPS,
                         .generation = api->generation(cuda, device),
                         .max_block = (uint32_t)attribute(cuda, device, numbers->max_block),
                         .max_shared = (uint32_t)attribute(cuda, device, numbers->max_shared),
                         .max_bindings = 4096 / sizeof(void *), /* bytes of a launch's arguments */
                         .max_workgroups = (uint32_t)attribute(cuda, device, numbers->max_grid),
                         .max_range = UINT32_MAX,
                         .max_allocation = UINT64_MAX,
                         .alignment = LUMEN_ALIGNMENT};
}

/* Half of what the device can do on paper: each processor has 128 fused units, and memory
 * moves data twice a clock. */
static lumen_device_rates rates_of(const lumen_cuda *cuda, CUdevice device) {
  const lumen_cuda_attributes *numbers = &cuda->flavour->attributes;
  double processors = attribute(cuda, device, numbers->processors);
  double clock = attribute(cuda, device, numbers->clock) * 1e3;
  double memory_clock = attribute(cuda, device, numbers->memory_clock) * 1e3;
  double bus_bytes = attribute(cuda, device, numbers->bus_width) / 8.0;
  double gflops = processors * clock * 128 * 2 / 2 / 1e9;
  double gbytes = memory_clock * 2 * bus_bytes / 2 / 1e9;
  return (lumen_device_rates){.gflops = gflops > 1 ? gflops : 1000,
                              .gbytes = gbytes > 1 ? gbytes : 100,
                              .launch_us = 3,
                              .run_us = 20,
                              .copy_gbytes = 12};
}

double cu_score(const cu_api *api, const lumen_abi_model *abi, const lumen_device_info *info,
                const lumen_choice *choice, lumen_status *reason) {
  lumen_cuda *cuda = api->cuda;
  CUdevice device;
  if (!lumen_cuda_open(cuda, reason))
    return 0;
  if (cuda->DeviceGet(&device, (int)info->index) != CUDA_SUCCESS) {
    (void)lumen_fail(reason, LUMEN_ERROR_DEVICE, "%s: the device is gone", abi->name);
    return 0;
  }
  gpu_limits limits;
  measure(api, device, &limits);
  lumen_device_rates rates = rates_of(cuda, device);
  return gpu_score(abi, &api->base, &limits, info, choice, &rates, reason);
}

/* ---- Calls -------------------------------------------------------------- */

cu_scope cu_enter(const cu_device *device) {
  const lumen_cuda *cuda = device->cuda;
  cu_scope scope = {.device = device};
  if (!cuda->flavour->is_hip) {
    scope.result = cuda->CtxPushCurrent(device->context);
    return scope;
  }
  scope.result = cuda->GetDevice(&scope.before);
  if (scope.result == CUDA_SUCCESS)
    scope.result = cuda->SetDevice(device->device);
  return scope;
}

void cu_leave(const cu_scope *scope) {
  const lumen_cuda *cuda = scope->device->cuda;
  CUcontext context;
  if (scope->result != CUDA_SUCCESS)
    return;
  if (cuda->flavour->is_hip)
    cuda->SetDevice(scope->before);
  else
    cuda->CtxPopCurrent(&context);
}

CUresult cu_copy(const lumen_cuda *cuda, void *to, const void *from, size_t size, CUstream stream) {
  return cuda->flavour->is_hip
             ? cuda->MemcpyKindAsync(to, (void *)from, size, HIP_MEMCPY_DEFAULT, stream)
             : cuda->MemcpyAsync(to, (void *)from, size, stream);
}

int cu_fail(const cu_device *device, CUresult result, const char *what, lumen_status *status) {
  const char *name = device->base.model->abi->name;
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return gpu_fail_memory(&device->base, what, status);
  return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: %s (%s says %s)", name, what,
                    device->cuda->flavour->name, lumen_cuda_error(device->cuda, result));
}

/* ---- Memory ------------------------------------------------------------- */

bool cu_memory_open(const gpu_device *base, uint64_t size, bool is_host, gpu_memory *memory) {
  const cu_device *device = (const cu_device *)base;
  const lumen_cuda *cuda = device->cuda;
  cu_scope scope = cu_enter(device);
  void *made = NULL;
  CUresult result = scope.result;
  if (result == CUDA_SUCCESS)
    result = is_host ? cuda->MemHostAlloc(&made, size,
                                          CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)
                     : cuda->MemAlloc(&made, size);
  cu_leave(&scope);
  if (result != CUDA_SUCCESS)
    return false;
  /* Addresses are unified: those of the host's memory mean the same to the device. */
  memory->buffer = made;
  memory->address = is_host ? made : NULL;
  return true;
}

void cu_memory_close(const gpu_device *base, gpu_memory *memory) {
  const cu_device *device = (const cu_device *)base;
  if (!memory->buffer)
    return;
  cu_scope scope = cu_enter(device);
  if (memory->address)
    device->cuda->MemFreeHost(memory->buffer);
  else
    device->cuda->MemFree(memory->buffer);
  cu_leave(&scope);
}

int cu_upload(gpu_device *base, const void *bytes, uint64_t size, const gpu_block *block,
              lumen_status *status) {
  const cu_device *device = (const cu_device *)base;
  cu_scope scope = cu_enter(device);
  CUresult result = scope.result;
  if (result == CUDA_SUCCESS)
    result = cu_copy(device->cuda, block->own.buffer, bytes, size, NULL);
  if (result == CUDA_SUCCESS)
    result = device->cuda->StreamSynchronize(NULL);
  cu_leave(&scope);
  return result == CUDA_SUCCESS ? LUMEN_OK : cu_fail(device, result, "weights", status);
}

/* ---- Opening ------------------------------------------------------------ */

int cu_open(gpu_device *base, uint32_t index, lumen_status *status) {
  const cu_api *api = (const cu_api *)base->api;
  cu_device *device = (cu_device *)base;
  device->cuda = api->cuda;
  if (!lumen_cuda_open(api->cuda, status))
    return LUMEN_ERROR_DEVICE;
  const lumen_cuda *cuda = api->cuda;
  CUresult result = cuda->DeviceGet(&device->device, (int)index);
  if (result != CUDA_SUCCESS)
    return cu_fail(device, result, "the device is gone", status);
  measure(api, device->device, &base->limits);
  base->routing.device = rates_of(api->cuda, device->device);
  if (cuda->flavour->is_hip)
    return LUMEN_OK;
  result = cuda->DevicePrimaryCtxRetain(&device->context, device->device);
  if (result == CUDA_SUCCESS)
    return LUMEN_OK;
  device->context = NULL;
  return cu_fail(device, result, "the device cannot be opened", status);
}

void cu_close(gpu_device *base) {
  cu_device *device = (cu_device *)base;
  const lumen_cuda *cuda = device->cuda;
  if (device->modules) {
    cu_scope scope = cu_enter(device);
    for (uint32_t k = 0; k < base->model->abi->num_kernels; ++k)
      if (device->modules[k])
        cuda->ModuleUnload(device->modules[k]);
    cu_leave(&scope);
  }
  if (device->context)
    cuda->DevicePrimaryCtxRelease(device->device);
  free(device->modules);
  free(device->functions);
}

/* Errors after which nothing else works either. */
static bool is_fatal(CUresult result) {
  enum {
    no_binary = 209,
    invalid_image = 200,
    invalid_ptx = 218,
    no_compiler = 221,
    not_found = 500,
    no_resources = 701
  };
  switch (result) {
  case CUDA_SUCCESS:
  case no_binary:
  case invalid_image:
  case invalid_ptx:
  case no_compiler:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case not_found:
  case no_resources:
    return false;
  default:
    return true;
  }
}

int cu_load(gpu_device *base, lumen_status *status) {
  cu_device *device = (cu_device *)base;
  const lumen_cuda *cuda = device->cuda;
  const lumen_abi_model *abi = base->model->abi;
  device->modules = calloc(abi->num_kernels + 1, sizeof(*device->modules));
  device->functions = calloc(abi->num_kernels + 1, sizeof(*device->functions));
  if (!device->modules || !device->functions)
    return gpu_fail_memory(base, "kernels", status);
  cu_scope scope = cu_enter(device);
  CUresult result = scope.result;
  uint32_t k = 0;
  for (; k < abi->num_kernels && !is_fatal(result); ++k) {
    gpu_kernel *kernel = &base->kernels[k];
    if (!kernel->variant)
      continue;
    result = cuda->ModuleLoadData(&device->modules[k], kernel->variant->code);
    if (result != CUDA_SUCCESS)
      device->modules[k] = NULL;
    else
      result =
          cuda->ModuleGetFunction(&device->functions[k], device->modules[k], abi->kernels[k].name);
    kernel->is_loaded = result == CUDA_SUCCESS;
  }
  cu_leave(&scope);
  const char *what = k ? abi->kernels[k - 1].name : "the device cannot be used";
  return is_fatal(result) ? cu_fail(device, result, what, status) : LUMEN_OK;
}
