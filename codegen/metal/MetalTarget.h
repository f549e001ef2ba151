//===- MetalTarget.h - kernels to text for Metal -----------------*- C++ -*-===//
//
// The code of a kernel is a text of its own, which ends with a zero. Devices compile it when
// it is loaded; who calls their compiler must turn fast math off, on which old versions of
// the language insist otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_METAL_METALTARGET_H
#define LUMEN_CODEGEN_METAL_METALTARGET_H

#include "codegen/Target.h"

namespace lumen::metalcode {

std::unique_ptr<Target> createMetalTarget();

} // namespace lumen::metalcode

#endif // LUMEN_CODEGEN_METAL_METALTARGET_H
