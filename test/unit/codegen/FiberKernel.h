//===- FiberKernel.h - a kernel as code of this machine ----------*- C++ -*-===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_FIBERKERNEL_H
#define LUMEN_TEST_UNIT_CODEGEN_FIBERKERNEL_H

#include "DeviceKernel.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace llvm::orc {
class LLJIT;
}

namespace lumen::test {

/// Marks memory for AddressSanitizer; null where the process has it not.
using MarkMemory = void(const volatile void *, size_t);
extern MarkMemory *const poisonMemory;
extern MarkMemory *const unpoisonMemory;

/// Runs on fibers, on memory that all such kernels share. Where the process has
/// AddressSanitizer, only what is bound can be accessed.
class FiberKernel final : public DeviceKernel {
public:
  /// What the code has to define: it takes the addresses of all bindings as one array. It may
  /// call the functions of Fibers.h and of libm.
  static constexpr llvm::StringLiteral kEntry = "lumen_fiber_entry";

  /// `addCode` adds the code. Null after a reported test failure.
  static std::unique_ptr<DeviceKernel>
  make(const KernelBinary &binary, const LaunchShape &shape,
       llvm::function_ref<llvm::Error(llvm::orc::LLJIT &)> addCode);
  ~FiberKernel() override;

private:
  FiberKernel(const KernelBinary &binary, const LaunchShape &shape)
      : DeviceKernel(binary, shape), block(binary.block) {}
  llvm::MutableArrayRef<char> memory() override;
  size_t alignment() override { return 16; }
  void launch(llvm::ArrayRef<Range> bindings, size_t used, uint32_t workgroups) override;

  uint32_t block;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*code)(void *const *bindings) = nullptr;
};

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_FIBERKERNEL_H
