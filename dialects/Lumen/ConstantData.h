//===- ConstantData.h - the numbers of a small constant ----------*- C++ -*-===//
//
// What folders compute with: the elements of a constant as scalars, and the
// scalar functions of the elementwise operations.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_CONSTANTDATA_H
#define LUMEN_DIALECTS_LUMEN_CONSTANTDATA_H

#include "dialects/Lumen/Lumen.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <optional>

namespace lumen {

/// Folding makes no constant with more elements than this, unless it is a splat.
constexpr int64_t kMaxFoldElements = 4096;

/// One element. Floats of every width are held as double, which is exact;
/// integers as int64 (unsigned ones zero-extended, booleans 0 or 1).
union Scalar {
  double real;
  int64_t integer;

  static Scalar ofReal(double value) {
    Scalar scalar;
    scalar.real = value;
    return scalar;
  }
  static Scalar ofInteger(int64_t value) {
    Scalar scalar;
    scalar.integer = value;
    return scalar;
  }
};

/// Whether elements of this type can be read: integers of up to 64 bits and
/// floats of up to 64 bits.
bool isScalarType(mlir::Type elementType);

/// The nearest value of the type: floats are rounded, integers wrapped.
Scalar roundToType(Scalar value, mlir::Type elementType);

/// A number in the representation of the type.
Scalar makeScalar(double value, mlir::Type elementType);

/// A constant's elements in row-major order; one element stands for all in a
/// splat. Value type, not tied to the context's blobs.
class ConstantData {
public:
  ConstantData(mlir::RankedTensorType type, llvm::SmallVector<Scalar> values)
      : type(type), values(std::move(values)) {}

  /// Reads dense elements and blobs; nothing for other attributes, element types
  /// that are not scalars and tensors (other than splats) of more than `most`
  /// elements.
  static std::optional<ConstantData> get(mlir::Attribute attribute,
                                         int64_t most = kMaxFoldElements);
  /// The same of a value that `lumen.constant` defines.
  static std::optional<ConstantData> get(mlir::Value value);

  mlir::RankedTensorType getType() const { return type; }
  mlir::Type getElementType() const { return type.getElementType(); }
  bool isReal() const { return mlir::isa<mlir::FloatType>(getElementType()); }
  bool isSplat() const { return values.size() == 1; }
  int64_t size() const { return type.getNumElements(); }
  Scalar operator[](int64_t index) const { return values[isSplat() ? 0 : index]; }
  /// Whether every element is `number`.
  bool isAll(double number) const;

  /// Dense elements; equal ones become a splat.
  mlir::TypedAttr toAttr() const;

private:
  mlir::RankedTensorType type;
  llvm::SmallVector<Scalar> values;
};

/// Bytes of an element of `type` in memory; 0 for a type without a fixed size.
unsigned getElementBytes(mlir::Type type);

/// A constant op of `type`. `fill` writes its bytes, row-major; small constants
/// become `dense`, others an owned blob.
mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type,
                         llvm::function_ref<void(llvm::MutableArrayRef<char>)> fill);

/// What a reduction combines two elements with.
BinaryKind combinerOf(ReduceKind kind);

/// The value of a boolean that is a constant of one element.
std::optional<bool> getConstantCondition(mlir::Value value);

// The scalar functions, rounded to the result's element type. Nothing where the
// result is not defined (an integer division by zero) or the kind does not take
// the type.
std::optional<Scalar> evaluateUnary(UnaryKind kind, mlir::Type type, Scalar operand);
std::optional<Scalar> evaluateBinary(BinaryKind kind, mlir::Type type, Scalar lhs, Scalar rhs);
bool evaluateCompare(CompareKind kind, mlir::Type type, Scalar lhs, Scalar rhs);
Scalar evaluateConvert(mlir::Type from, mlir::Type to, Scalar operand);

} // namespace lumen

#endif // LUMEN_DIALECTS_LUMEN_CONSTANTDATA_H
