//===- Emitter.h - builds folded lumen operations ----------------*- C++ -*-===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_EMITTER_H
#define LUMEN_PASSES_ONNXTOLUMEN_EMITTER_H

#include "dialects/Lumen/ConstantData.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

namespace lumen {

/// What the conversion knows of sizes beyond their expressions: what the run has
/// checked so far, and which symbols stand for elements of tensors. A region sees
/// what holds around it, and what it adds ends with it.
struct SizeFacts {
  /// Checks that were emitted, as text.
  llvm::StringSet<> checks;
  /// Elements of a tensor as 0-D values, by row-major index, so that each is picked
  /// once.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> elements;
  /// Symbols that have the value of a 0-D tensor.
  llvm::DenseMap<mlir::Value, SymExpr> bound;
};

/// Builds lumen operations at one place and with one location. Result types are
/// inferred, and every operation is folded at once, so that the arithmetic of
/// shapes turns into constants or expressions while a model is walked. Callers
/// guarantee that shapes fit; a mistake here is our own.
class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc, SizeFacts &facts)
      : builder(builder), loc(loc), facts(facts) {}

  using Shape = llvm::ArrayRef<SymExpr>;

  mlir::Value constant(mlir::TypedAttr value);
  /// Every element is `number`.
  mlir::Value splat(mlir::RankedTensorType type, double number);
  /// Every element is that of a 0-D tensor.
  mlir::Value splat(mlir::Value scalar, Shape shape) { return broadcast(scalar, shape, {}); }
  /// Like `value`, with every element `number`.
  mlir::Value splatLike(mlir::Value value, double number) { return splat(typeOf(value), number); }
  mlir::Value scalar(double number, mlir::Type elementType) {
    return splat(mlir::RankedTensorType::get({}, elementType), number);
  }
  /// A 1-D i64 tensor of expressions.
  mlir::Value sizes(Shape values);
  /// A 0-D tensor.
  mlir::Value size(const SymExpr &value, mlir::Type elementType);
  mlir::Value size(const SymExpr &value) { return size(value, builder.getI64Type()); }

  mlir::Value unary(UnaryKind kind, mlir::Value operand);
  /// A function of floats; integers pass through double, as the reference implementation
  /// of ONNX does.
  mlir::Value unaryOfReals(UnaryKind kind, mlir::Value operand);
  /// Operands have the same type.
  mlir::Value binary(BinaryKind kind, mlir::Value lhs, mlir::Value rhs);
  /// The second operand is a number.
  mlir::Value binary(BinaryKind kind, mlir::Value lhs, double rhs) {
    return binary(kind, lhs, splatLike(lhs, rhs));
  }
  mlir::Value binary(BinaryKind kind, mlir::Value lhs, const SymExpr &rhs);
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
  /// The same sizes as other expressions, which the caller has checked to be equal.
  mlir::Value cast(mlir::Value operand, Shape shape);
  mlir::Value transpose(mlir::Value operand, llvm::ArrayRef<int64_t> perm);
  mlir::Value slice(mlir::Value operand, Shape offsets, Shape sizes,
                    llvm::ArrayRef<int64_t> strides);
  /// `size` elements of one dimension from `offset` on.
  mlir::Value sliceAxis(mlir::Value operand, int64_t axis, const SymExpr &offset,
                        const SymExpr &size);
  mlir::Value concat(mlir::ValueRange inputs, int64_t axis);
  mlir::Value pad(PadKind kind, mlir::Value operand, mlir::Value value, Shape low, Shape high);
  mlir::Value gather(mlir::Value operand, mlir::Value indices, int64_t axis);

  /// `axes` is sorted; with `keepDims` reduced dimensions stay as 1.
  mlir::Value reduce(ReduceKind kind, mlir::Value operand, llvm::ArrayRef<int64_t> axes,
                     bool keepDims);
  mlir::Value softmax(mlir::Value operand, int64_t axis, bool log);
  mlir::Value norm(NormKind kind, mlir::Value operand, int64_t axis, double epsilon);

  /// Calls an operation of the runtime that has one result; see lumen.call.
  mlir::Value call(llvm::StringRef callee, mlir::ValueRange args, mlir::Type result,
                   llvm::ArrayRef<mlir::Attribute> data = {});

  /// Ends the run where the sizes do not agree, unless they are known to. `what` is
  /// said to the user; see lumen.check.
  void check(CheckKind kind, const SymExpr &lhs, const SymExpr &rhs, llvm::StringRef what);
  /// Notes that two sizes are equal by a check of another kind.
  void noteEqual(const SymExpr &lhs, const SymExpr &rhs);
  /// Whether the run has checked that two sizes are equal.
  bool isEqual(const SymExpr &lhs, const SymExpr &rhs) const;

  /// The tensor and the index in it that an element of a list comes from, through
  /// reshapes and concatenations.
  static std::pair<mlir::Value, int64_t> sourceOf(mlir::Value list, int64_t index);
  /// The expression that a 0-D tensor of integers is known to have.
  static std::optional<SymExpr> known(mlir::Value number);

  /// Of two sizes that are equal, the one that says more: a constant.
  static const SymExpr &simpler(const SymExpr &a, const SymExpr &b) {
    return b.asConstant() ? b : a;
  }

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  static Sizes shapeOf(mlir::Value value) { return sizesOf(value); }
  /// The type of a result; sizes that may be negative are checked first.
  mlir::RankedTensorType typed(Shape shape, mlir::Type elementType);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  SizeFacts &facts;

  template <typename OpTy, typename... Args> mlir::Value create(Args &&...args) {
    return builder.createOrFold<OpTy>(loc, std::forward<Args>(args)...);
  }

private:
  using Elementwise = llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value>)>;
  /// Builds an elementwise operation, of what its operands repeat where all repeat
  /// in the same way.
  mlir::Value elementwise(llvm::ArrayRef<mlir::Value> operands, Elementwise build);
};

/// The permutation that moves dimension 1 (channels) behind the others, and the
/// one that moves it back.
llvm::SmallVector<int64_t> channelsLastPerm(int64_t rank);
llvm::SmallVector<int64_t> channelsFirstPerm(int64_t rank);

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_EMITTER_H
