/* cuda_device.h - a model on one device of CUDA or HIP, behind gpu_api. */
#ifndef LUMEN_CUDA_DEVICE_H
#define LUMEN_CUDA_DEVICE_H

#include "cuda.h"
#include "gpu_batch.h"

/* A gpu_api that knows its library. */
typedef struct cu_api {
  gpu_api base; /* first: a gpu_api is cast to it */
  lumen_cuda *cuda;
  const char *kind; /* of lumen_device_info */
  /* What levels are compared with; 0: no code can run there. */
  uint64_t (*generation)(const lumen_cuda *cuda, CUdevice device);
} cu_api;

/* Read-only once open. */
typedef struct cu_device {
  gpu_device base; /* first: a gpu_device is cast to it */
  const lumen_cuda *cuda;
  CUdevice device;
  CUcontext context; /* the device's primary one, which other libraries use too; HIP: NULL */
  CUmodule *modules; /* by kernel */
  CUfunction *functions;
} cu_device;

/* What makes the device the thread's while it is used, and gives back what was before. */
typedef struct cu_scope {
  const cu_device *device;
  CUdevice before; /* HIP's */
  CUresult result;
} cu_scope;
cu_scope cu_enter(const cu_device *device);
void cu_leave(const cu_scope *scope);

/* On either side. */
CUresult cu_copy(const lumen_cuda *cuda, void *to, const void *from, size_t size, CUstream stream);

/* "<model>: <what> (<error>)" with the code that suits. */
int cu_fail(const cu_device *device, CUresult result, const char *what, lumen_status *status);

/* For lumen_driver. */
uint32_t cu_enumerate(const cu_api *api, lumen_device_info *devices, uint32_t capacity);
double cu_score(const cu_api *api, const lumen_abi_model *abi, const lumen_device_info *info,
                const lumen_choice *choice, lumen_status *reason);

/* For gpu_api. */
int cu_open(gpu_device *device, uint32_t index, lumen_status *status);
void cu_close(gpu_device *device);
int cu_load(gpu_device *device, lumen_status *status);
bool cu_memory_open(const gpu_device *device, uint64_t size, bool is_host, gpu_memory *memory);
void cu_memory_close(const gpu_device *device, gpu_memory *memory);
int cu_upload(gpu_device *device, const void *bytes, uint64_t size, const gpu_block *block,
              lumen_status *status);

#endif
