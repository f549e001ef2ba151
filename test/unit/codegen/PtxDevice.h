//===- PtxDevice.h - runs kernels of PTX for tests ---------------*- C++ -*-===//
//
// The text that a model would have, on the machine of test/ptx: what the code generator made
// is seen to its last instruction, and so are accesses outside of what is bound, races and
// barriers that threads miss.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_PTXDEVICE_H
#define LUMEN_TEST_UNIT_CODEGEN_PTXDEVICE_H

#include "DeviceKernel.h"

namespace lumen::test {

/// The process's device.
KernelDevice *ptxDevice();

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_PTXDEVICE_H
