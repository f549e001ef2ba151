//===- DynamicKernel.h - kernels between constant and dynamic sizes -*- C++ -*-===//
//
// A kernel of constant sizes, with some of them made symbols; and a kernel of
// symbols, with all of them made constants.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_DYNAMICKERNEL_H
#define LUMEN_TEST_UNIT_CODEGEN_DYNAMICKERNEL_H

#include "dialects/Dispatch/Dispatch.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

#include <random>

namespace lumen::test {

/// A kernel in a module of its own, and values of its symbols in their order.
struct SizedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<int64_t> sizes;

  dispatch::KernelOp kernel() { return *module->getOps<dispatch::KernelOp>().begin(); }
};

/// Makes a random part of the kernel's sizes symbols, equal ones the same. They are
/// not related otherwise, so that code may take nothing for granted: neither that the
/// parts of a concatenation make up its size, nor that a size is not 1.
SizedKernel makeDynamic(dispatch::KernelOp kernel, std::mt19937 &random);

/// The kernel at the given sizes.
mlir::OwningOpRef<mlir::ModuleOp> makeStatic(dispatch::KernelOp kernel,
                                             llvm::ArrayRef<int64_t> sizes);

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_DYNAMICKERNEL_H
