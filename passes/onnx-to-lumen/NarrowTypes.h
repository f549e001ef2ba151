//===- NarrowTypes.h - elements that take a byte at most ---------*- C++ -*-===//
//
// Floats of 4 to 8 bits and integers of 2 and 4 bits have types of their own while a
// model is converted, so that whatever moves elements needs to know nothing of them.
// store-narrow-types makes bytes of them, and arithmetic of their conversions.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_NARROWTYPES_H
#define LUMEN_PASSES_ONNXTOLUMEN_NARROWTYPES_H

#include "passes/onnx-to-lumen/Emitter.h"

namespace lumen {

/// What elements of a narrow type are stored as: an integer as its value in 8 bits, a float
/// as its code in ui8. Null for other types.
mlir::Type storedTypeOf(mlir::Type elementType);

/// Where what lies between two values of a type goes.
enum class Rounding { Up, Down, Nearest };

/// `x`, floats, as a narrow float type. What lies outside its range becomes the greatest
/// number, or, if it does not saturate, what the type has for it: infinity or NaN. Only
/// f8E8M0, whose values are powers of two, is rounded in the `direction`; others always
/// to the nearest.
mlir::Value convertToNarrow(Emitter &emit, mlir::Value x, mlir::FloatType type, bool saturates,
                            Rounding direction = Rounding::Nearest);

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_NARROWTYPES_H
