//===- InPlace.h - results over arguments ------------------------*- C++ -*-===//
#ifndef LUMEN_DIALECTS_DISPATCH_INPLACE_H
#define LUMEN_DIALECTS_DISPATCH_INPLACE_H

#include "dialects/Dispatch/Dispatch.h"

namespace lumen::dispatch {

/// True if a kernel may write its result over this input, where both have the same elements:
/// it reads the input only at the element that it writes. The schedule makes use of it, so
/// that code of the kernel must not take the two for different memory.
bool mayOverwrite(KernelOp kernel, unsigned input);

} // namespace lumen::dispatch

#endif // LUMEN_DIALECTS_DISPATCH_INPLACE_H
