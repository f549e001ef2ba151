//===- VulkanDevice.h - runs single SPIR-V kernels for tests -----*- C++ -*-===//
//
// As a driver does, but as odd as the contract allows: buffers begin at offsets, the
// number of workgroups is random, and whatever the validation layer or the SPIR-V
// validator says is a test failure.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_VULKANDEVICE_H
#define LUMEN_TEST_UNIT_CODEGEN_VULKANDEVICE_H

#include "codegen/Target.h"

#include "llvm/ADT/ArrayRef.h"

#include <memory>
#include <random>

namespace lumen::test {

/// One argument of a launch, in host memory.
struct DeviceBuffer {
  char *data;
  size_t size;        ///< bytes
  size_t elementSize; ///< bytes
  bool isResult;      ///< else it must stay as it is
};

class VulkanPipeline;

class VulkanDevice {
public:
  /// The process's device, with the validation layer where there is one; null where there
  /// is no device.
  static VulkanDevice *get();

  /// Null after a reported test failure.
  std::shared_ptr<VulkanPipeline> load(const KernelBinary &binary, llvm::StringRef entry,
                                       size_t numArguments, bool hasScratch);

  /// One launch. Returns what the kernel says of a fault, LUMEN_ABI_GPU_FAULT_WORDS words.
  std::vector<int32_t> run(VulkanPipeline &pipeline, const KernelBinary &binary,
                           const LaunchShape &shape, int64_t grid,
                           llvm::ArrayRef<DeviceBuffer> buffers, llvm::ArrayRef<int64_t> sizes,
                           std::mt19937 &random);

  ~VulkanDevice();

private:
  VulkanDevice();
  bool open();

  struct Handles;
  std::unique_ptr<Handles> handles;
  friend class VulkanPipeline;
};

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_VULKANDEVICE_H
