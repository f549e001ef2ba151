//===- ReferenceParts.h - what the parts of the reference share --*- C++ -*-===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_REFERENCEPARTS_H
#define LUMEN_TEST_UNIT_CODEGEN_REFERENCEPARTS_H

#include "Reference.h"

#include "dialects/Lumen/Lumen.h"

namespace lumen::test {

using Index = llvm::SmallVector<int64_t>;

Number at(const Tensor &tensor, llvm::ArrayRef<int64_t> index);
/// Calls `body` with the index of every element in row-major order.
void forEach(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(const Index &)> body);
/// The tensor of the type of `result` with these elements.
Tensor build(mlir::Value result, llvm::function_ref<Number(const Index &)> element);

/// What a block yields for its arguments.
std::vector<Tensor> evaluateBody(mlir::Block &body, llvm::ArrayRef<Tensor> inputs);

/// The results of an operation that is a kernel of its own; of others, none.
std::vector<Tensor> evaluateLoops(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_REFERENCEPARTS_H
