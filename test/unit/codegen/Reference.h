//===- Reference.h - what a kernel computes, evaluated plainly ---*- C++ -*-===//
//
// A second meaning of the lumen operations for tests: one element at a time, in
// `long double`, which holds every integer of 64 bits exactly.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_REFERENCE_H
#define LUMEN_TEST_UNIT_CODEGEN_REFERENCE_H

#include "dialects/Dispatch/Dispatch.h"

#include <vector>

namespace lumen::test {

using Number = long double;

/// Elements in row-major order. Floats are rounded to `type` on entry only.
struct Tensor {
  mlir::RankedTensorType type;
  std::vector<Number> values;
};

/// `value` as it is stored in an element of `type`.
Number roundTo(mlir::Type type, Number value);

/// The results of `kernel` for `inputs`.
std::vector<Tensor> evaluate(dispatch::KernelOp kernel, llvm::ArrayRef<Tensor> inputs);

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_REFERENCE_H
