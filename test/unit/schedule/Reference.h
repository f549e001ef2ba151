//===- Reference.h - what a schedule computes --------------------*- C++ -*-===//
//
// Elements are 64-bit tokens: a kernel's result is a hash of what it reads, so that
// a value which was overwritten shows in the results.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_SCHEDULE_REFERENCE_H
#define LUMEN_TEST_UNIT_SCHEDULE_REFERENCE_H

#include "dialects/Dispatch/Dispatch.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace lumen::test {

using Tokens = std::vector<uint64_t>;

/// What a kernel of a random program writes, by its name: "each_*" an element from
/// the elements at its place, "all_*" from everything; "count_*" a number of at most
/// the elements, "flag_*" a boolean.
Tokens kernelResult(llvm::StringRef name, const std::vector<Tokens> &inputs);

/// The values that `main` returns, by its tensors.
std::vector<Tokens> interpret(mlir::func::FuncOp main, const std::vector<Tokens> &inputs,
                              const llvm::StringMap<int64_t> &symbols);

} // namespace lumen::test

#endif
