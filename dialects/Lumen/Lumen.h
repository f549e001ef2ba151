//===- Lumen.h - the lumen dialect -------------------------------*- C++ -*-===//
//
// The device-independent tensor form of a model; see LumenOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_LUMEN_H
#define LUMEN_DIALECTS_LUMEN_LUMEN_H

#include "dialects/Lumen/Blobs.h"
#include "dialects/Lumen/Shapes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace lumen {

/// What an operation is to fusion and to code generation.
enum class Family {
  Constant,
  Elementwise,   ///< one element from elements at projected positions
  Contraction,
  Convolution,
  Window,
  Reduction,
  Normalization, ///< softmax and norms: a row at a time
  Attention,     ///< two products and the softmax between them
  Movement,      ///< elements change place only
  Loops,         ///< a kernel of its own with loops of its own: sort, scatter, recurrences
  Control,       ///< what the schedule does itself: branches, loops, symbols, checks
};

/// How often a kernel's root reads an element of its operands.
enum class OperandReads {
  Once,    ///< producers may be computed on the way
  Several, ///< only what is cheaper than a load may be
  Many,    ///< operands are streamed from memory as they are
};

/// What fusion and memory planning may do with a kernel whose root is of a
/// family. A new family is a row here and a builder in each target.
struct FamilyTraits {
  /// At most one op of a kernel is a root.
  bool isRoot;
  OperandReads reads;
  /// Elementwise operations on the result may join the kernel.
  bool takesEpilogue;
  /// Builders write each element of a result once, after everything that they read
  /// at its position, so that a result may lie over an operand of the epilogue.
  bool writesOnce;
};

const FamilyTraits &traitsOf(Family family);

} // namespace lumen

#include "dialects/Lumen/LumenDialect.h.inc"
#include "dialects/Lumen/LumenEnums.h.inc"
#include "dialects/Lumen/LumenInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Lumen/LumenAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Lumen/LumenTypes.h.inc"

namespace lumen {

/// Whether a value of this type is an object of the runtime, not elements in memory:
/// a sequence, an optional, or a tensor of strings.
bool isObject(mlir::Type type);

/// What is true of values of both types: sizes that differ are unknown. Null where
/// they are of different kinds or elements.
mlir::Type joinObjects(mlir::Type a, mlir::Type b);

/// The element type of the result of a contraction or convolution; null where its
/// operands do not go together. Integers of 8 bits, on the right also of 16, are summed
/// in i32.
mlir::Type productElementType(mlir::Type lhs, mlir::Type rhs);

/// The shape of a panel of 64 columns in a packed weight of these elements, for the
/// depth `taps * channels`; see `lumen.contract`. A dynamic size stays one.
llvm::SmallVector<int64_t> packedPanelShape(mlir::Type element, int64_t taps, int64_t channels);

/// A size as `custom<Size>` of an assembly format: 4, "seq - 1".
mlir::ParseResult parseSize(mlir::OpAsmParser &parser, mlir::StringAttr &attr);
void printSize(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::StringAttr attr);
/// `custom<Sizes>`: [4, "seq - 1"].
mlir::ParseResult parseSizes(mlir::OpAsmParser &parser, DimsAttr &attr);
void printSizes(mlir::OpAsmPrinter &printer, mlir::Operation *op, DimsAttr attr);

} // namespace lumen

#define GET_OP_CLASSES
#include "dialects/Lumen/LumenOps.h.inc"

#endif // LUMEN_DIALECTS_LUMEN_LUMEN_H
