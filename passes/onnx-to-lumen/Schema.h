//===- Schema.h - what the standard says of an operator ----------*- C++ -*-===//
//
// The number of inputs, their element types, which of them agree, and the names of
// attributes: one table says it of all operators, so that converters look at what is
// left (shapes, values) alone.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_SCHEMA_H
#define LUMEN_PASSES_ONNXTOLUMEN_SCHEMA_H

#include "dialects/Onnx/Onnx.h"

namespace lumen {

/// Reports, located at the node, what the version of its operator that `opset` has does
/// not allow. `inputs` are the node's in order, null where one is absent. Succeeds for what
/// the standard does not have. Thread-safe.
mlir::LogicalResult checkSchema(onnx::NodeOp op, int64_t opset, llvm::ArrayRef<mlir::Value> inputs);

/// The version of the operator set that an operator came with; `absent` where the standard
/// does not have it.
int64_t firstVersionOf(llvm::StringRef domain, llvm::StringRef name, int64_t absent);

/// The element types of an operator's main operand in a version of the operator set, in
/// words: "floats, integers". Empty where the standard does not have the operator, or it
/// has no tensors.
std::string elementTypesOf(llvm::StringRef domain, llvm::StringRef name, int64_t opset);

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_SCHEMA_H
