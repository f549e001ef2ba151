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

/// Tensors have at most this many dimensions: far more than models use, and few enough
/// that work for each pair of them takes no time.
constexpr int64_t kMaxRank = 64;

} // namespace lumen::onnx

#include "dialects/Onnx/OnnxDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Onnx/OnnxTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Onnx/OnnxAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.h.inc"

namespace lumen::onnx {

/// The type of a value, of this dialect or of `lumen`, as every message shows it:
/// "f32[1x3]", "i64[batch, 3]", "sequence of f32", "string[2]". An unranked tensor's is
/// that of an element.
std::string typeText(mlir::Type type);

} // namespace lumen::onnx

#endif // LUMEN_DIALECTS_ONNX_ONNX_H
