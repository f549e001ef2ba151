//===- VulkanDevice.h - runs single SPIR-V kernels for tests -----*- C++ -*-===//
//
// Whatever the validation layer or the SPIR-V validator says is a test failure.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_VULKANDEVICE_H
#define LUMEN_TEST_UNIT_CODEGEN_VULKANDEVICE_H

#include "DeviceKernel.h"

namespace lumen::test {

/// The process's device, with the validation layer where there is one; null where there is
/// no device.
KernelDevice *vulkanDevice();

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_VULKANDEVICE_H
