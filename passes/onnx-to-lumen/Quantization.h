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

/// Bytes with signs and their zero point, where `quantize` made them of bytes without: those,
/// with the zero point that they have.
void preferUnsigned(Emitter &emit, mlir::Value &data, mlir::Value &zero);

/// The numbers, as f32, that `x` stands for.
mlir::FailureOr<mlir::Value> dequantize(Node &node, mlir::Value x, Quantization how);

/// The nearest elements of type `to` for the numbers `x`, f32; ties go to even ones. Out
/// of range they saturate, which floats may be told not to. Signed bytes of a zero point other
/// than 0 are made of unsigned ones, which products take faster.
mlir::FailureOr<mlir::Value> quantize(Node &node, mlir::Value x, Quantization how, mlir::Type to,
                                      bool saturates = true);

/// The inputs of a node that a quantised operand is; -1 stands for one that there is none of.
struct QuantizedInputs {
  int data, scale, zero;
};

/// The product of two quantised operands of a node, in integers, as the numbers that it stands
/// for.
mlir::FailureOr<mlir::Value> emitScaledProduct(Node &node, const QuantizedInputs &lhs,
                                               const QuantizedInputs &rhs);

/// A quantised tensor behind numbers that `dequantize` made of it.
struct Dequantized {
  mlir::Value data;
  Quantization how;
};

/// What `numbers` stand for where integers of `width` bits were dequantised for them, and at
/// most moved since.
std::optional<Dequantized> findDequantized(Emitter &emit, mlir::Value numbers, unsigned width);

/// The product of matrices, or the channels-last convolution, of numbers that bytes were
/// dequantised for, plus `bias` if that is not null; null where
/// they are other numbers. The integers are multiplied.
mlir::FailureOr<mlir::Value> emitQuantizedMatMul(Node &node, mlir::Value lhs, mlir::Value rhs,
                                                 bool isLhsTransposed, bool isRhsTransposed,
                                                 mlir::Value bias = {});
mlir::FailureOr<mlir::Value> emitQuantizedConvolution(Node &node, mlir::Value x, mlir::Value weight,
                                                      mlir::Value bias);

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_QUANTIZATION_H
