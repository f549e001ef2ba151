//===- FakeCuda.cpp - CUDA's driver API before a fake device --------------===//
//
// The functions that runtime-lite/src/cuda.h names, as NVIDIA's "CUDA Driver API" describes
// them.
//
//===----------------------------------------------------------------------===//

#include "FakeDevice.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <utility>

using namespace lumen::fake;

namespace {

/// The device, while no other thread has it.
struct Locked {
  Locked() : lock(mutex), device(Device::get()) {}
  Device *operator->() const { return &device; }

  static std::mutex mutex;
  std::lock_guard<std::mutex> lock;
  Device &device;
};
std::mutex Locked::mutex;

CUctx_st primaryContext;

} // namespace

#define API extern "C" __attribute__((visibility("default"))) CUresult
/// Leaves a function whose call cannot begin.
#define BEGIN(call)                                                                                \
  do                                                                                               \
    if (CUresult result = (call))                                                                  \
      return result;                                                                               \
  while (false)

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

API cuInit(unsigned) {
  Locked device;
  device->isInitialized = true;
  return CUDA_SUCCESS;
}

API cuDriverGetVersion(int *version) {
  *version = static_cast<int>(trait("version", 13000));
  return CUDA_SUCCESS;
}

API cuDeviceGetCount(int *count) {
  Locked device;
  BEGIN(device->begin());
  *count = static_cast<int>(trait("devices", 1));
  return CUDA_SUCCESS;
}

API cuDeviceGet(CUdevice *result, int index) {
  Locked device;
  BEGIN(device->begin());
  if (index < 0 || static_cast<uint64_t>(index) >= trait("devices", 1))
    return kInvalidDevice;
  *result = index;
  return CUDA_SUCCESS;
}

API cuDeviceGetName(char *name, int size, CUdevice) {
  std::snprintf(name, static_cast<size_t>(size), "fake GPU");
  return CUDA_SUCCESS;
}

API cuDeviceTotalMem_v2(size_t *size, CUdevice) {
  Locked device;
  BEGIN(device->begin());
  *size = device->getTotal();
  return CUDA_SUCCESS;
}

API cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  uint64_t capability = trait("capability", 90);
  // CUdevice_attribute.
  switch (attribute) {
  case 1: // MAX_THREADS_PER_BLOCK
    *value = static_cast<int>(trait("threads", 1024));
    return CUDA_SUCCESS;
  case 5: // MAX_GRID_DIM_X
    *value = INT32_MAX;
    return CUDA_SUCCESS;
  case 8: // MAX_SHARED_MEMORY_PER_BLOCK
    *value = static_cast<int>(trait("shared", 48 << 10));
    return CUDA_SUCCESS;
  case 13: // CLOCK_RATE, kHz
    *value = 1000000;
    return CUDA_SUCCESS;
  case 16: // MULTIPROCESSOR_COUNT
    *value = 4;
    return CUDA_SUCCESS;
  case 18: // INTEGRATED
    *value = static_cast<int>(trait("unified", 0));
    return CUDA_SUCCESS;
  case 36: // MEMORY_CLOCK_RATE, kHz
    *value = 1000000;
    return CUDA_SUCCESS;
  case 37: // GLOBAL_MEMORY_BUS_WIDTH, bits
    *value = 128;
    return CUDA_SUCCESS;
  case 75: // COMPUTE_CAPABILITY_MAJOR
    *value = static_cast<int>(capability / 10);
    return CUDA_SUCCESS;
  case 76: // COMPUTE_CAPABILITY_MINOR
    *value = static_cast<int>(capability % 10);
    return CUDA_SUCCESS;
  default:
    return kInvalidValue;
  }
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

API cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  Locked device;
  BEGIN(device->begin(/*canRunOut=*/true));
  ++device->numContexts;
  *context = &primaryContext;
  return CUDA_SUCCESS;
}

API cuDevicePrimaryCtxRelease_v2(CUdevice) {
  Locked device;
  if (!device->numContexts)
    return kInvalidContext;
  device->releaseContext();
  return CUDA_SUCCESS;
}

API cuDevicePrimaryCtxGetState(CUdevice, unsigned *flags, int *isActive) {
  Locked device;
  *flags = 0;
  *isActive = device->numContexts != 0;
  return CUDA_SUCCESS;
}

API cuCtxPushCurrent_v2(CUcontext context) {
  Locked device;
  if (context != &primaryContext || !device->numContexts)
    return kInvalidContext;
  pushContext();
  return CUDA_SUCCESS;
}

API cuCtxPopCurrent_v2(CUcontext *context) {
  *context = &primaryContext;
  return popContext() ? CUDA_SUCCESS : kInvalidContext;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

API cuMemGetInfo_v2(size_t *free, size_t *total) {
  Locked device;
  BEGIN(device->beginInContext());
  *free = device->getFree();
  *total = device->getTotal();
  return CUDA_SUCCESS;
}

API cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
  Locked device;
  BEGIN(device->beginInContext(/*canRunOut=*/true));
  return device->allocate(size, *address);
}

API cuMemHostAlloc(void **address, size_t size, unsigned) {
  Locked device;
  BEGIN(device->beginInContext(/*canRunOut=*/true));
  return device->allocateOnHost(size, *address);
}

// What is released goes, even where the device has failed.
API cuMemFree_v2(CUdeviceptr address) {
  Locked device;
  return device->release(address, /*isOnHost=*/false);
}

API cuMemFreeHost(void *address) {
  Locked device;
  return device->release(address, /*isOnHost=*/true);
}

API cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
  Locked device;
  BEGIN(device->beginInContext(/*canRunOut=*/false, /*mayBeCaptured=*/true));
  return device->copy(to, from, size, stream);
}

API cuMemsetD32Async(CUdeviceptr to, unsigned word, size_t count, CUstream stream) {
  Locked device;
  BEGIN(device->beginInContext(/*canRunOut=*/false, /*mayBeCaptured=*/true));
  return device->set(to, word, count, stream);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

API cuModuleLoadData(CUmodule *module, const void *text) {
  Locked device;
  BEGIN(device->beginInContext(/*canRunOut=*/true));
  return device->load(static_cast<const char *>(text), *module);
}

API cuModuleUnload(CUmodule module) {
  Locked device;
  device->finishAll();
  if (!device->modules.erase(module))
    return kInvalidHandle;
  delete module;
  return CUDA_SUCCESS;
}

API cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  Locked device;
  BEGIN(device->beginInContext());
  return device->find(module, name, *function);
}

API cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                   unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared,
                   CUstream stream, void **parameters, void **) {
  Locked device;
  BEGIN(device->beginInContext(/*canRunOut=*/true, /*mayBeCaptured=*/true));
  return device->launch(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared,
                        parameters, stream);
}

//===----------------------------------------------------------------------===//
// Streams and graphs
//===----------------------------------------------------------------------===//

API cuStreamCreate(CUstream *stream, unsigned) {
  Locked device;
  BEGIN(device->beginInContext(/*canRunOut=*/true));
  *stream = new CUstream_st();
  device->streams.insert(*stream);
  return CUDA_SUCCESS;
}

API cuStreamDestroy_v2(CUstream stream) {
  Locked device;
  if (!device->streams.count(stream))
    return kInvalidHandle;
  device->finish(stream);
  device->streams.erase(stream);
  delete stream;
  return CUDA_SUCCESS;
}

API cuStreamSynchronize(CUstream stream) {
  Locked device;
  BEGIN(device->beginInContext());
  CUresult result = device->finish(stream);
  return device->isDue("wait", ++device->waits) ? device->lose() : result;
}

API cuStreamQuery(CUstream stream) {
  Locked device;
  BEGIN(device->beginInContext());
  if (device->questions++ < trait("busy", 0))
    return CUDA_ERROR_NOT_READY;
  return device->finish(stream);
}

API cuStreamBeginCapture_v2(CUstream stream, int) {
  Locked device;
  BEGIN(device->beginInContext(/*canRunOut=*/true));
  // The default stream cannot be captured.
  if (!device->streams.count(stream))
    return kCaptureUnsupported;
  stream->captured = new CUgraph_st();
  stream->capturer = std::this_thread::get_id();
  stream->isCaptureBroken = false;
  return CUDA_SUCCESS;
}

API cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  Locked device;
  BEGIN(device->beginInContext(/*canRunOut=*/false, /*mayBeCaptured=*/true));
  if (!device->streams.count(stream) || !stream->captured)
    return kInvalidValue;
  *graph = std::exchange(stream->captured, nullptr);
  if (stream->isCaptureBroken) {
    delete *graph;
    *graph = nullptr;
    return kCaptureInvalidated;
  }
  device->graphs.insert(*graph);
  return CUDA_SUCCESS;
}

API cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long) {
  Locked device;
  BEGIN(device->beginInContext(/*canRunOut=*/true));
  if (!device->graphs.count(graph))
    return kInvalidHandle;
  *exec = new CUgraphExec_st{graph->work};
  device->graphExecs.insert(*exec);
  return CUDA_SUCCESS;
}

API cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  Locked device;
  BEGIN(device->beginInContext(/*canRunOut=*/true));
  if (!device->graphExecs.count(exec))
    return kInvalidHandle;
  ++device->graphLaunches;
  for (const auto &work : exec->work)
    if (CUresult result = device->enqueue(stream, work))
      return result;
  return CUDA_SUCCESS;
}

API cuGraphDestroy(CUgraph graph) {
  Locked device;
  if (!device->graphs.erase(graph))
    return kInvalidHandle;
  delete graph;
  return CUDA_SUCCESS;
}

API cuGraphExecDestroy(CUgraphExec exec) {
  Locked device;
  if (!device->graphExecs.erase(exec))
    return kInvalidHandle;
  delete exec;
  return CUDA_SUCCESS;
}

extern "C" __attribute__((visibility("default"))) void
weak_device_count(weak_device_counts *counts) {
  Locked device;
  *counts = device->count();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

API cuGetErrorName(CUresult result, const char **name) {
  switch (result) {
#define NAME(number, text)                                                                         \
  case number:                                                                                     \
    *name = "CUDA_ERROR_" text;                                                                    \
    return CUDA_SUCCESS;
    NAME(kInvalidValue, "INVALID_VALUE")
    NAME(CUDA_ERROR_OUT_OF_MEMORY, "OUT_OF_MEMORY")
    NAME(kNotInitialized, "NOT_INITIALIZED")
    NAME(kInvalidDevice, "INVALID_DEVICE")
    NAME(kInvalidContext, "INVALID_CONTEXT")
    NAME(kNoBinary, "NO_BINARY_FOR_GPU")
    NAME(kInvalidPtx, "INVALID_PTX")
    NAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "UNSUPPORTED_PTX_VERSION")
    NAME(kInvalidHandle, "INVALID_HANDLE")
    NAME(kNotFound, "NOT_FOUND")
    NAME(CUDA_ERROR_NOT_READY, "NOT_READY")
    NAME(kIllegalAddress, "ILLEGAL_ADDRESS")
    NAME(kOutOfResources, "LAUNCH_OUT_OF_RESOURCES")
    NAME(kLaunchFailed, "LAUNCH_FAILED")
    NAME(kCaptureUnsupported, "STREAM_CAPTURE_UNSUPPORTED")
    NAME(kCaptureInvalidated, "STREAM_CAPTURE_INVALIDATED")
#undef NAME
  default:
    *name = nullptr;
    return kInvalidValue;
  }
}

// All are as the runtime calls them, which is compared with NVIDIA's header elsewhere.
CUresult none();
#define X(result, name, cuda_symbol, hip_symbol, arguments)                                        \
  static_assert(std::is_same_v<decltype(&cuda_symbol), result(*) arguments> ||                     \
                std::is_same_v<decltype(&cuda_symbol), decltype(&none)>);
LUMEN_CUDA_FUNCTIONS(X)
#undef X
