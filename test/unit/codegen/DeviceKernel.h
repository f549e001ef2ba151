//===- DeviceKernel.h - runs single kernels of devices for tests -*- C++ -*-===//
//
// As a driver does, but as odd as the contract allows: buffers begin at offsets, the number
// of workgroups is random, and what lies around buffers must stay as it was.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_DEVICEKERNEL_H
#define LUMEN_TEST_UNIT_CODEGEN_DEVICEKERNEL_H

#include "codegen/Target.h"

#include "llvm/ADT/ArrayRef.h"

#include <memory>
#include <random>

namespace lumen::test {

/// Bytes of memory that a device of the tests has.
inline constexpr size_t kMemory = 96 << 20;

/// One argument of a launch, in host memory.
struct DeviceBuffer {
  char *data;
  size_t size;        ///< bytes
  size_t elementSize; ///< bytes
  bool isResult;      ///< else it must stay as it is
};

/// A kernel that a device has loaded.
class DeviceKernel {
public:
  virtual ~DeviceKernel() = default;

  /// One launch. Returns what the kernel says of a fault, LUMEN_ABI_GPU_FAULT_WORDS words.
  std::vector<int32_t> run(int64_t grid, llvm::ArrayRef<DeviceBuffer> buffers,
                           llvm::ArrayRef<int64_t> sizes, std::mt19937 &random);

protected:
  DeviceKernel(const KernelBinary &binary, const LaunchShape &shape)
      : unitsPerWorkgroup(binary.unitsPerWorkgroup), scratchSize(shape.scratchSize),
        flags(binary.flags) {}

  /// A part of the device's memory, in bytes.
  struct Range {
    size_t offset, size;
  };

  /// The device's memory as the host writes and reads it between launches.
  virtual llvm::MutableArrayRef<char> memory() = 0;
  /// Of what a range begins at.
  virtual size_t alignment() = 0;
  /// Runs it on a range for each binding, which lie in the first `used` bytes, and waits.
  virtual void launch(llvm::ArrayRef<Range> bindings, size_t used, uint32_t workgroups) = 0;

private:
  uint32_t unitsPerWorkgroup;
  size_t scratchSize; ///< of a workgroup, in bytes
  uint32_t flags;     ///< LUMEN_ABI_GPU_FAULTS
};

/// Code for the first level of a target. On failure a diagnostic was emitted.
mlir::FailureOr<CompiledKernels> compileForTarget(llvm::StringRef name, dispatch::KernelOp kernel);

/// What loads kernels; one for the process.
class KernelDevice {
public:
  virtual ~KernelDevice() = default;

  /// The code of a kernel for it. On failure a diagnostic was emitted.
  virtual mlir::FailureOr<CompiledKernels> compile(dispatch::KernelOp kernel) = 0;

  /// Null after a reported test failure.
  virtual std::unique_ptr<DeviceKernel> load(const KernelBinary &binary, const LaunchShape &shape,
                                             llvm::StringRef entry, size_t numArguments,
                                             const CodegenOptions &options = {}) = 0;
};

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_DEVICEKERNEL_H
