//===- Emitter.h - builds folded lumen operations ----------------*- C++ -*-===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_EMITTER_H
#define LUMEN_PASSES_ONNXTOLUMEN_EMITTER_H

#include "dialects/Lumen/ConstantData.h"

#include "mlir/IR/Builders.h"

namespace lumen {

/// Builds lumen operations at one place and with one location. Result types are
/// inferred, and every operation is folded at once, so that the arithmetic of
/// shapes turns into constants while a model is walked. Callers guarantee that
/// shapes fit; a mistake here is our own.
class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  using Shape = llvm::ArrayRef<int64_t>;

  mlir::Value constant(mlir::TypedAttr value);
  /// Every element is `number`.
  mlir::Value splat(mlir::RankedTensorType type, double number);
  /// Like `value`, with every element `number`.
  mlir::Value splatLike(mlir::Value value, double number) { return splat(typeOf(value), number); }
  mlir::Value scalar(double number, mlir::Type elementType) {
    return splat(mlir::RankedTensorType::get({}, elementType), number);
  }
  /// A 1-D i64 tensor.
  mlir::Value integers(llvm::ArrayRef<int64_t> values);

  mlir::Value unary(UnaryKind kind, mlir::Value operand);
  /// Operands have the same type.
  mlir::Value binary(BinaryKind kind, mlir::Value lhs, mlir::Value rhs);
  /// The second operand is a number.
  mlir::Value binary(BinaryKind kind, mlir::Value lhs, double rhs) {
    return binary(kind, lhs, splatLike(lhs, rhs));
  }
  mlir::Value compare(CompareKind kind, mlir::Value lhs, mlir::Value rhs);
  mlir::Value compare(CompareKind kind, mlir::Value lhs, double rhs) {
    return compare(kind, lhs, splatLike(lhs, rhs));
  }
  mlir::Value select(mlir::Value condition, mlir::Value onTrue, mlir::Value onFalse);
  mlir::Value convert(mlir::Value operand, mlir::Type elementType);
  mlir::Value iota(mlir::RankedTensorType type, int64_t axis);

  mlir::Value broadcast(mlir::Value operand, Shape shape, llvm::ArrayRef<int64_t> dims);
  /// NumPy's broadcast: dimensions are aligned at the end.
  mlir::Value broadcastTo(mlir::Value operand, Shape shape);
  /// A 1-D tensor along one dimension of a shape.
  mlir::Value broadcastAlong(mlir::Value operand, Shape shape, int64_t axis) {
    return broadcast(operand, shape, {axis});
  }

  mlir::Value reshape(mlir::Value operand, Shape shape);
  mlir::Value transpose(mlir::Value operand, llvm::ArrayRef<int64_t> perm);
  mlir::Value slice(mlir::Value operand, llvm::ArrayRef<int64_t> offsets, Shape sizes,
                    llvm::ArrayRef<int64_t> strides);
  /// `size` elements of one dimension from `offset` on.
  mlir::Value sliceAxis(mlir::Value operand, int64_t axis, int64_t offset, int64_t size);
  mlir::Value concat(mlir::ValueRange inputs, int64_t axis);
  mlir::Value pad(PadKind kind, mlir::Value operand, mlir::Value value, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high);
  mlir::Value gather(mlir::Value operand, mlir::Value indices, int64_t axis);

  /// `axes` is sorted; with `keepDims` reduced dimensions stay as 1.
  mlir::Value reduce(ReduceKind kind, mlir::Value operand, llvm::ArrayRef<int64_t> axes,
                     bool keepDims);
  mlir::Value softmax(mlir::Value operand, int64_t axis, bool log);
  mlir::Value norm(NormKind kind, mlir::Value operand, int64_t axis, double epsilon);

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  static Shape shapeOf(mlir::Value value) { return typeOf(value).getShape(); }

  mlir::OpBuilder &builder;
  mlir::Location loc;

  template <typename OpTy, typename... Args> mlir::Value create(Args &&...args) {
    return builder.createOrFold<OpTy>(loc, std::forward<Args>(args)...);
  }
};

/// The permutation that moves dimension 1 (channels) behind the others, and the
/// one that moves it back.
llvm::SmallVector<int64_t> channelsLastPerm(int64_t rank);
llvm::SmallVector<int64_t> channelsFirstPerm(int64_t rank);

/// NumPy's broadcast of two shapes; nothing if they do not fit.
std::optional<llvm::SmallVector<int64_t>> broadcastShapes(llvm::ArrayRef<int64_t> lhs,
                                                          llvm::ArrayRef<int64_t> rhs);

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_EMITTER_H
