/* cuda.h - the part of CUDA's driver API that the driver uses, and how it is loaded.
 *
 * Names and numbers are those of NVIDIA's "CUDA Driver API" manual. HIP's module API is the
 * same under other names (AMD's "HIP programming guide", "Driver API"), so one table serves
 * both; the few functions that differ are in it twice. The runtime includes no header of
 * either; test/unit/runtime/CudaTest.cpp compares with cuda.h. 64-bit machines only. */
#ifndef LUMEN_CUDA_H
#define LUMEN_CUDA_H

#include "lumen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t CUresult;
typedef int32_t CUdevice;
typedef void *CUdeviceptr; /* as wide, and what this driver uses it as */
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_NOT_READY = 600,
  CU_STREAM_NON_BLOCKING = 1,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_MEMHOSTALLOC_PORTABLE = 1,
  CU_MEMHOSTALLOC_DEVICEMAP = 2,
  HIP_MEMCPY_DEFAULT = 4
};

/* X(result, name, CUDA's symbol, HIP's symbol, arguments). `none` is no symbol. */
#define LUMEN_CUDA_FUNCTIONS(X)                                                                    \
  X(CUresult, Init, cuInit, hipInit, (unsigned))                                                   \
  X(CUresult, DriverGetVersion, cuDriverGetVersion, hipDriverGetVersion, (int *))                  \
  X(CUresult, DeviceGetCount, cuDeviceGetCount, hipGetDeviceCount, (int *))                        \
  X(CUresult, DeviceGet, cuDeviceGet, hipDeviceGet, (CUdevice *, int))                             \
  X(CUresult, DeviceGetName, cuDeviceGetName, hipDeviceGetName, (char *, int, CUdevice))           \
  X(CUresult, DeviceTotalMem, cuDeviceTotalMem_v2, hipDeviceTotalMem, (size_t *, CUdevice))        \
  X(CUresult, DeviceGetAttribute, cuDeviceGetAttribute, hipDeviceGetAttribute,                     \
    (int *, int, CUdevice))                                                                        \
  X(CUresult, DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, none, (CUcontext *, CUdevice))     \
  X(CUresult, DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, none, (CUdevice))             \
  X(CUresult, DevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, none,                          \
    (CUdevice, unsigned *, int *))                                                                 \
  X(CUresult, CtxPushCurrent, cuCtxPushCurrent_v2, none, (CUcontext))                              \
  X(CUresult, CtxPopCurrent, cuCtxPopCurrent_v2, none, (CUcontext *))                              \
  X(CUresult, GetDevice, none, hipGetDevice, (CUdevice *))                                         \
  X(CUresult, SetDevice, none, hipSetDevice, (CUdevice))                                           \
  X(CUresult, MemGetInfo, cuMemGetInfo_v2, hipMemGetInfo, (size_t *, size_t *))                    \
  X(CUresult, MemAlloc, cuMemAlloc_v2, hipMalloc, (CUdeviceptr *, size_t))                         \
  X(CUresult, MemFree, cuMemFree_v2, hipFree, (CUdeviceptr))                                       \
  X(CUresult, MemHostAlloc, cuMemHostAlloc, hipHostMalloc, (void **, size_t, unsigned))            \
  X(CUresult, MemFreeHost, cuMemFreeHost, hipHostFree, (void *))                                   \
  X(CUresult, MemcpyAsync, cuMemcpyAsync, none, (CUdeviceptr, CUdeviceptr, size_t, CUstream))      \
  X(CUresult, MemcpyKindAsync, none, hipMemcpyAsync,                                               \
    (CUdeviceptr, CUdeviceptr, size_t, int, CUstream))                                             \
  X(CUresult, MemsetD32Async, cuMemsetD32Async, hipMemsetD32Async,                                 \
    (CUdeviceptr, unsigned, size_t, CUstream))                                                     \
  X(CUresult, ModuleLoadData, cuModuleLoadData, hipModuleLoadData, (CUmodule *, const void *))     \
  X(CUresult, ModuleUnload, cuModuleUnload, hipModuleUnload, (CUmodule))                           \
  X(CUresult, ModuleGetFunction, cuModuleGetFunction, hipModuleGetFunction,                        \
    (CUfunction *, CUmodule, const char *))                                                        \
  X(CUresult, LaunchKernel, cuLaunchKernel, hipModuleLaunchKernel,                                 \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,   \
     void **, void **))                                                                            \
  X(CUresult, StreamCreate, cuStreamCreate, hipStreamCreateWithFlags, (CUstream *, unsigned))      \
  X(CUresult, StreamDestroy, cuStreamDestroy_v2, hipStreamDestroy, (CUstream))                     \
  X(CUresult, StreamSynchronize, cuStreamSynchronize, hipStreamSynchronize, (CUstream))            \
  X(CUresult, StreamQuery, cuStreamQuery, hipStreamQuery, (CUstream))                              \
  X(CUresult, StreamBeginCapture, cuStreamBeginCapture_v2, hipStreamBeginCapture, (CUstream, int)) \
  X(CUresult, StreamEndCapture, cuStreamEndCapture, hipStreamEndCapture, (CUstream, CUgraph *))    \
  X(CUresult, GraphInstantiate, cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags,         \
    (CUgraphExec *, CUgraph, unsigned long long))                                                  \
  X(CUresult, GraphLaunch, cuGraphLaunch, hipGraphLaunch, (CUgraphExec, CUstream))                 \
  X(CUresult, GraphDestroy, cuGraphDestroy, hipGraphDestroy, (CUgraph))                            \
  X(CUresult, GraphExecDestroy, cuGraphExecDestroy, hipGraphExecDestroy, (CUgraphExec))            \
  X(CUresult, GetDeviceProperties, none, hipGetDevicePropertiesR0600, (void *, int))               \
  X(CUresult, GetErrorName, cuGetErrorName, none, (CUresult, const char **))                       \
  X(const char *, NameOfError, none, hipGetErrorName, (CUresult))

/* Numbers of DeviceGetAttribute, which are not the same in both. */
typedef struct lumen_cuda_attributes {
  int max_block, max_shared, max_grid, clock, processors, memory_clock, bus_width;
} lumen_cuda_attributes;

/* One of both. */
typedef struct lumen_cuda_flavour {
  const char *name; /* "CUDA", for messages */
  bool is_hip;
  const char *libraries[4];   /* the first that is there is taken; NULL ends them */
  int min_version;            /* of DriverGetVersion */
  int major_unit, minor_unit; /* of such versions */
  lumen_cuda_attributes attributes;
} lumen_cuda_flavour;

/* The library and its functions. */
typedef struct lumen_cuda {
  const lumen_cuda_flavour *flavour;
  bool is_open;
#define X(result, name, cuda_symbol, hip_symbol, arguments) result(*name) arguments;
  LUMEN_CUDA_FUNCTIONS(X)
#undef X
} lumen_cuda;

/* Opens what is not open yet; false: `status` says what is missing. Once open it stays:
 * unloading these libraries is not safe while other parts of the process may use them.
 * Thread-safe. */
bool lumen_cuda_open(lumen_cuda *cuda, lumen_status *status);
/* As the API spells it; never NULL. */
const char *lumen_cuda_error(const lumen_cuda *cuda, CUresult result);

#ifdef __cplusplus
}
#endif
#endif
