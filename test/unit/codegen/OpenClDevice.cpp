//===- OpenClDevice.cpp - a second witness of GPU kernels -----------------===//

#include "OpenClDevice.h"

#include "codegen/gpu/KernelBinaries.h"
#include "codegen/gpu/SourcePrinter.h"

#include "gtest/gtest.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

using namespace lumen;
using namespace lumen::test;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

struct Handles {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem buffer = nullptr;
  std::vector<char> memory; ///< what the buffer gets and gives
  size_t alignment = 1;     ///< bytes
};

struct OpenClKernel final : DeviceKernel {
  OpenClKernel(Handles &handles, const KernelBinary &binary, const LaunchShape &shape)
      : DeviceKernel(binary, shape), handles(handles), block(binary.block) {}
  ~OpenClKernel() override;
  llvm::MutableArrayRef<char> memory() override { return handles.memory; }
  size_t alignment() override { return handles.alignment; }
  void launch(ArrayRef<Range> bindings, size_t used, uint32_t workgroups) override;

  Handles &handles;
  size_t block;
  cl_program program = nullptr;
  cl_kernel kernel = nullptr;
};

class OpenClDevice final : public KernelDevice {
public:
  ~OpenClDevice() override;
  bool open();

  mlir::FailureOr<CompiledKernels> compile(dispatch::KernelOp kernel) override;
  std::unique_ptr<DeviceKernel> load(const KernelBinary &binary, const LaunchShape &shape,
                                     StringRef entry, size_t numArguments,
                                     const CodegenOptions &options) override;

private:
  Handles handles;
  std::optional<gpucode::SourceEmitter> emitter; ///< of the process's one context
};

} // namespace

KernelDevice *test::openClDevice() {
  static OpenClDevice device;
  static const bool isOpen = device.open();
  return isOpen ? &device : nullptr;
}

OpenClDevice::~OpenClDevice() {
  if (handles.buffer)
    clReleaseMemObject(handles.buffer);
  if (handles.queue)
    clReleaseCommandQueue(handles.queue);
  if (handles.context)
    clReleaseContext(handles.context);
}

OpenClKernel::~OpenClKernel() {
  if (kernel)
    clReleaseKernel(kernel);
  if (program)
    clReleaseProgram(program);
}

bool OpenClDevice::open() {
  Handles &h = handles;
  // PoCL would keep every kernel on disk, and those of every change of a builder.
  setenv("POCL_KERNEL_CACHE", "0", /*overwrite=*/0);
  cl_platform_id platform;
  cl_uint bits;
  cl_device_fp_config doubles = 0;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &h.device, nullptr) != CL_SUCCESS ||
      clGetDeviceInfo(h.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, nullptr) !=
          CL_SUCCESS ||
      clGetDeviceInfo(h.device, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(doubles), &doubles, nullptr) !=
          CL_SUCCESS ||
      !doubles)
    return false;
  h.alignment = bits / 8;
  h.memory.resize(kMemory);
  h.context = clCreateContext(nullptr, 1, &h.device, nullptr, nullptr, nullptr);
  h.queue = h.context ? clCreateCommandQueue(h.context, h.device, 0, nullptr) : nullptr;
  h.buffer =
      h.queue ? clCreateBuffer(h.context, CL_MEM_READ_WRITE, kMemory, nullptr, nullptr) : nullptr;
  return h.buffer != nullptr;
}

mlir::FailureOr<CompiledKernels> OpenClDevice::compile(dispatch::KernelOp kernel) {
  gpucode::Capabilities caps;
  if (!emitter)
    emitter.emplace(kernel.getContext(), caps, gpucode::kOpenClC);
  return gpucode::compileEach(kernel, caps, [&](mlir::ModuleOp module, KernelBinary &binary) {
    return emitter->emit(module, binary.code);
  });
}

std::unique_ptr<DeviceKernel> OpenClDevice::load(const KernelBinary &binary,
                                                 const LaunchShape &shape, StringRef entry, size_t,
                                                 const CodegenOptions &options) {
  Handles &h = handles;
  auto result = std::make_unique<OpenClKernel>(h, binary, shape);
  const char *text = binary.code.data();
  size_t length = binary.code.size();
  result->program = clCreateProgramWithSource(h.context, 1, &text, &length, nullptr);
  const char *flags = options.optLevel ? "" : "-cl-opt-disable";
  if (clBuildProgram(result->program, 1, &h.device, flags, nullptr, nullptr) == CL_SUCCESS)
    result->kernel = clCreateKernel(result->program, entry.str().c_str(), nullptr);
  if (result->kernel)
    return result;
  size_t size = 0;
  clGetProgramBuildInfo(result->program, h.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, 0);
  clGetProgramBuildInfo(result->program, h.device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  ADD_FAILURE() << "the device refuses the text: " << log << "\n" << StringRef(text, length).str();
  return nullptr;
}

void OpenClKernel::launch(ArrayRef<Range> bindings, size_t used, uint32_t workgroups) {
  Handles &h = handles;
  std::vector<cl_mem> parts;
  for (auto [i, range] : llvm::enumerate(bindings)) {
    cl_buffer_region region{range.offset, range.size};
    cl_int status;
    parts.push_back(clCreateSubBuffer(h.buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                      &region, &status));
    EXPECT_EQ(status, CL_SUCCESS);
    EXPECT_EQ(clSetKernelArg(kernel, i, sizeof(cl_mem), &parts.back()), CL_SUCCESS);
  }
  size_t threads = workgroups * block;
  EXPECT_EQ(clEnqueueWriteBuffer(h.queue, h.buffer, CL_TRUE, 0, used, h.memory.data(), 0, nullptr,
                                 nullptr),
            CL_SUCCESS);
  EXPECT_EQ(
      clEnqueueNDRangeKernel(h.queue, kernel, 1, nullptr, &threads, &block, 0, nullptr, nullptr),
      CL_SUCCESS);
  EXPECT_EQ(clEnqueueReadBuffer(h.queue, h.buffer, CL_TRUE, 0, used, h.memory.data(), 0, nullptr,
                                nullptr),
            CL_SUCCESS);
  for (cl_mem part : parts)
    clReleaseMemObject(part);
}
