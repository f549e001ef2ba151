//===- Quantization.h - numbers as small integers ----------------*- C++ -*-===//
//
// A quantised tensor stands for `(element - zero) * scale`. Scales and zero points
// are one for the tensor, one per index of an axis, or one per block of an axis.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_QUANTIZATION_H
#define LUMEN_PASSES_ONNXTOLUMEN_QUANTIZATION_H

#include "passes/onnx-to-lumen/Converter.h"

namespace lumen {

/// Along what a scale and a zero point differ.
struct QuantizationGrain {
  int64_t axis = 0;  ///< counted from the front
  int64_t block = 0; ///< elements along the axis that share one; 0: each has its own
};

/// What the elements of a tensor stand for; the zero point is null where it is 0.
struct Quantization {
  mlir::Value scale, zero;
  QuantizationGrain grain;
};

/// `parameter`, called `what`, repeated to `shape`.
mlir::FailureOr<mlir::Value> spreadParameter(Node &node, mlir::Value parameter,
                                             llvm::StringRef what, Node::Shape shape,
                                             const QuantizationGrain &grain);

/// The only element of a parameter of one, as a 0-D value; null where it is not known
/// to have one.
mlir::Value scalarParameter(Emitter &emit, mlir::Value parameter);

/// Whether a zero point is absent or known to be 0.
bool isZeroPoint(mlir::Value zero);

/// The numbers, as f32, that `x` stands for.
mlir::FailureOr<mlir::Value> dequantize(Node &node, mlir::Value x, const Quantization &how);

/// The nearest elements of type `to` for the numbers `x`, f32; ties go to even ones. Out
/// of range they saturate, which floats may be told not to.
mlir::FailureOr<mlir::Value> quantize(Node &node, mlir::Value x, const Quantization &how,
                                      mlir::Type to, bool saturates = true);

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_QUANTIZATION_H
