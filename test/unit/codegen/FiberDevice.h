//===- FiberDevice.h - runs kernels of LLVM's road for tests -----*- C++ -*-===//
//
// The LLVM IR of a kernel, as a device's code generator gets it, runs on this machine: its
// intrinsics are swapped for what fibers do. What the code generator makes of it is not
// seen here. Where the process has AddressSanitizer, it checks every access.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_FIBERDEVICE_H
#define LUMEN_TEST_UNIT_CODEGEN_FIBERDEVICE_H

#include "DeviceKernel.h"

namespace lumen::test {

/// The process's devices for levels of PTX and of HIP.
KernelDevice *ptxFiberDevice();
KernelDevice *hipFiberDevice();

/// Whether this process has AddressSanitizer, and lets memory be poisoned.
bool fibersAreSanitized();

/// LLVM IR for NVIDIA's and AMD's devices as IR for this machine; on failure `error` says what it does
/// not know.
bool swapIntrinsics(std::string &text, std::string &error);

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_FIBERDEVICE_H
