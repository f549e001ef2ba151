//===- Lumen.h - the lumen dialect -------------------------------*- C++ -*-===//
//
// The device-independent tensor form of a model; see LumenOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_LUMEN_H
#define LUMEN_DIALECTS_LUMEN_LUMEN_H

#include "dialects/Lumen/Blobs.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace lumen {

/// What an operation is to fusion: at most one op of a kernel (its root) is of
/// a family other than Elementwise and Constant.
enum class Family {
  Constant,
  Elementwise,   ///< one element from elements at projected positions
  Contraction,
  Convolution,
  Window,
  Reduction,
  Normalization, ///< softmax and norms: a row at a time
  Movement,      ///< elements change place only
};

} // namespace lumen

#include "dialects/Lumen/LumenDialect.h.inc"
#include "dialects/Lumen/LumenEnums.h.inc"
#include "dialects/Lumen/LumenInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Lumen/LumenAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Lumen/LumenOps.h.inc"

#endif // LUMEN_DIALECTS_LUMEN_LUMEN_H
