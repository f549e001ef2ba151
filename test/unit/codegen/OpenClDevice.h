//===- OpenClDevice.h - a second witness of GPU kernels ----------*- C++ -*-===//
//
// Runs what all GPU targets share without any of them: the text of a kernel, compiled by an
// OpenCL implementation. A fault that shows here too is one of the kernel; else it is one of
// the road to the other device.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_OPENCLDEVICE_H
#define LUMEN_TEST_UNIT_CODEGEN_OPENCLDEVICE_H

#include "DeviceKernel.h"

namespace lumen::test {

/// The process's device, a CPU by preference; null where there is none.
KernelDevice *openClDevice();

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_OPENCLDEVICE_H
