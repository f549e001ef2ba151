//===- MetalDevice.h - runs the text of Metal kernels for tests --*- C++ -*-===//
//
// Without Apple: clang compiles the text as C++ in which address spaces are told apart,
// against a library of our own, and fibers run it. Undefined operations, accesses outside of
// arrays and barriers that not all threads reach are test failures.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_METALDEVICE_H
#define LUMEN_TEST_UNIT_CODEGEN_METALDEVICE_H

#include "DeviceKernel.h"

namespace lumen::test {

/// The process's device.
KernelDevice *metalDevice();

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_METALDEVICE_H
