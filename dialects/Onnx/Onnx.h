//===- Onnx.h - the onnx dialect ---------------------------------*- C++ -*-===//
//
// A model file as it is; see OnnxOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_ONNX_ONNX_H
#define LUMEN_DIALECTS_ONNX_ONNX_H

#include "dialects/Lumen/Lumen.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

namespace lumen::onnx {

/// Tensors of up to this many elements are held as dense elements, where
/// folders can read them.
constexpr int64_t kMaxDenseElements = 1024;

} // namespace lumen::onnx

#include "dialects/Onnx/OnnxDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Onnx/OnnxTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Onnx/OnnxAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.h.inc"

#endif // LUMEN_DIALECTS_ONNX_ONNX_H
