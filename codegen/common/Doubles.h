//===- Doubles.h - arithmetic of f64, written briefly ------------*- C++ -*-===//
#ifndef LUMEN_CODEGEN_COMMON_DOUBLES_H
#define LUMEN_CODEGEN_COMMON_DOUBLES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace lumen {

/// Arithmetic on scalars or vectors of one shape.
class Doubles {
public:
  Doubles(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type like)
      : builder(builder), loc(loc), like(like) {}

  /// Of a positive normal number; relative error below 1e-10.
  mlir::Value log2(mlir::Value x);
  /// Of a number in [-1000, 1000]; relative error below 1e-9.
  mlir::Value exp2(mlir::Value x);
  mlir::Value power(mlir::Value base, mlir::Value exponent);

protected:
  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return builder.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }
  mlir::Type shaped(mlir::Type element) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(like);
    return vector ? mlir::VectorType::get(vector.getShape(), element) : element;
  }
  mlir::Value constant(mlir::TypedAttr scalar) {
    mlir::Type type = shaped(scalar.getType());
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      scalar = mlir::DenseElementsAttr::get(vector, llvm::ArrayRef<mlir::Attribute>(scalar));
    return mlir::arith::ConstantOp::create(builder, loc, scalar);
  }
  mlir::Value number(double value) { return constant(builder.getF64FloatAttr(value)); }
  mlir::Value integer(int64_t value) { return constant(builder.getI64IntegerAttr(value)); }
  mlir::Value add(mlir::Value a, mlir::Value b) { return make<mlir::arith::AddFOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return make<mlir::arith::SubFOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return make<mlir::arith::MulFOp>(a, b); }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::CmpFOp>(predicate, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SelectOp>(condition, a, b);
  }
  mlir::Value both(mlir::Value a, mlir::Value b) { return make<mlir::arith::AndIOp>(a, b); }
  mlir::Value bits(mlir::Value x) {
    return make<mlir::arith::BitcastOp>(shaped(builder.getI64Type()), x);
  }
  mlir::Value fromBits(mlir::Value x) {
    return make<mlir::arith::BitcastOp>(shaped(builder.getF64Type()), x);
  }
  /// Highest power first; multiplies and adds, since not every level has fma.
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients) {
    mlir::Value sum = number(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = add(mul(sum, x), number(coefficient));
    return sum;
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type like;
};

} // namespace lumen

#endif // LUMEN_CODEGEN_COMMON_DOUBLES_H
