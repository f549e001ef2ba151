//===- Dispatch.h - the dispatch dialect -------------------------*- C++ -*-===//
//
// Kernels and the schedule that launches them; see DispatchOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_DISPATCH_DISPATCH_H
#define LUMEN_DIALECTS_DISPATCH_DISPATCH_H

#include "dialects/Lumen/Lumen.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "dialects/Dispatch/DispatchDialect.h.inc"
#include "dialects/Dispatch/DispatchEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Dispatch/DispatchTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Dispatch/DispatchAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Dispatch/DispatchOps.h.inc"

namespace lumen::dispatch {

/// Bytes of one element in memory; booleans take one byte.
int64_t elementBytes(mlir::Type elementType);

/// Bytes of a contiguous tensor.
SymExpr tensorBytes(mlir::RankedTensorType type);

} // namespace lumen::dispatch

#endif // LUMEN_DIALECTS_DISPATCH_DISPATCH_H
