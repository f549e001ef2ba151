//===- ScalarFunctions.cpp - what elementwise operations compute ----------===//
//
// Every function works on scalars and on vectors alike. Defined where ONNX
// leaves a choice, since generated code must never trap or yield poison:
//   integers: x / 0 and x % 0 are 0, MIN / -1 wraps, shifts by the width or more
//     give 0, pow with a negative exponent truncates towards 0;
//   floats: relu, max and min propagate NaN; to integers NaN is 0 and values out
//     of range saturate.
// f16 and bf16 are computed in f32.
//
//===----------------------------------------------------------------------===//

#include "codegen/common/Expression.h"

#include <cmath>

using namespace mlir;
using namespace lumen;

Type lumen::registerType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  return type;
}

Type lumen::storageType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type); integer && integer.getWidth() < 8)
    return IntegerType::get(type.getContext(), 8);
  // Masked stores of bf16 would become a call per element.
  if (type.isBF16())
    return IntegerType::get(type.getContext(), 16);
  return registerType(type);
}

/// The type of `value` with other elements.
static Type withElement(Value value, Type element) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? VectorType::get(vector.getShape(), element) : element;
}

Value lumen::emitExtend(OpBuilder &builder, Location loc, Value value) {
  Type to = withElement(value, builder.getF32Type());
  if (!getElementTypeOrSelf(value.getType()).isBF16())
    return builder.createOrFold<arith::ExtFOp>(loc, to, value);
  // In integers as well: LLVM would narrow a maximum of extended values to one of
  // bf16, and call a function for that.
  Type i32 = withElement(value, builder.getI32Type());
  value =
      builder.createOrFold<arith::BitcastOp>(loc, withElement(value, builder.getI16Type()), value);
  value = builder.createOrFold<arith::ExtUIOp>(loc, i32, value);
  TypedAttr sixteen = builder.getI32IntegerAttr(16);
  if (auto vector = dyn_cast<VectorType>(i32))
    sixteen = DenseElementsAttr::get(vector, ArrayRef<Attribute>(sixteen));
  Value amount = arith::ConstantOp::create(builder, loc, sixteen);
  value = builder.createOrFold<arith::ShLIOp>(loc, value, amount);
  return builder.createOrFold<arith::BitcastOp>(loc, to, value);
}

Value lumen::emitRound(OpBuilder &builder, Location loc, Value value, Type element) {
  if (!element.isBF16())
    return builder.createOrFold<arith::TruncFOp>(loc, withElement(value, element), value);
  // Without hardware for it LLVM would call a function per element: round to
  // nearest even in integers, and keep NaN from becoming infinite.
  if (!getElementTypeOrSelf(value.getType()).isF32())
    value =
        builder.createOrFold<arith::TruncFOp>(loc, withElement(value, builder.getF32Type()), value);
  Type bitsType = withElement(value, builder.getI32Type());
  auto constant = [&](int32_t number) -> Value {
    TypedAttr attr = builder.getI32IntegerAttr(number);
    if (auto vector = dyn_cast<VectorType>(bitsType))
      attr = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  };
  Value bits = builder.createOrFold<arith::BitcastOp>(loc, bitsType, value);
  Value high = builder.createOrFold<arith::ShRUIOp>(loc, bits, constant(16));
  Value odd = builder.createOrFold<arith::AndIOp>(loc, high, constant(1));
  Value bias = builder.createOrFold<arith::AddIOp>(loc, odd, constant(0x7fff));
  Value rounded = builder.createOrFold<arith::ShRUIOp>(
      loc, builder.createOrFold<arith::AddIOp>(loc, bits, bias), constant(16));
  Value isNan = builder.createOrFold<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, value, value);
  Value quiet = builder.createOrFold<arith::OrIOp>(loc, high, constant(0x40));
  Value result = builder.createOrFold<arith::SelectOp>(loc, isNan, quiet, rounded);
  result =
      builder.createOrFold<arith::TruncIOp>(loc, withElement(value, builder.getI16Type()), result);
  return builder.createOrFold<arith::BitcastOp>(loc, withElement(value, element), result);
}

namespace {

/// Emits operations that apply to scalars and vectors, with the type of `like`.
class Functions {
public:
  Functions(OpBuilder &builder, Location loc, Type like) : builder(builder), loc(loc), type(like) {}

  Value unary(UnaryKind kind, Value x, bool isUnsigned);
  Value binary(BinaryKind kind, Value a, Value b, bool isUnsigned);
  Value compare(CompareKind kind, Value a, Value b, bool isUnsigned);
  Value convert(Value x, Type from, Type to);

private:
  Value saturate(Value x, Type target, bool isUnsigned);
  Value saturateToNarrow(Value x, unsigned width, bool isUnsigned);
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return builder.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }
  Type withElement(Type element) const {
    if (auto vector = dyn_cast<VectorType>(type))
      return VectorType::get(vector.getShape(), element);
    return element;
  }
  Value splat(Type element, TypedAttr scalar) {
    Type full = withElement(element);
    if (auto vector = dyn_cast<VectorType>(full))
      scalar = DenseElementsAttr::get(vector, ArrayRef<Attribute>(scalar));
    return arith::ConstantOp::create(builder, loc, full, scalar);
  }
  Value number(double value) {
    Type element = getElementTypeOrSelf(type);
    return splat(element, builder.getFloatAttr(element, value));
  }
  Value integer(int64_t value) {
    Type element = getElementTypeOrSelf(type);
    return splat(element, IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), value,
                                                          /*isSigned=*/true,
                                                          /*implicitTrunc=*/true)));
  }
  Value cmp(arith::CmpFPredicate predicate, Value a, Value b) {
    return make<arith::CmpFOp>(predicate, a, b);
  }
  Value cmp(arith::CmpIPredicate predicate, Value a, Value b) {
    return make<arith::CmpIOp>(predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) { return make<arith::SelectOp>(condition, a, b); }

  Value floatUnary(UnaryKind kind, Value x);
  Value integerUnary(UnaryKind kind, Value x, bool isUnsigned);
  Value floatBinary(BinaryKind kind, Value a, Value b);
  Value integerBinary(BinaryKind kind, Value a, Value b, bool isUnsigned);
  Value divide(Value a, Value b, bool isUnsigned, bool remainder);
  Value integerPower(Value base, Value exponent, bool isUnsigned);

  OpBuilder &builder;
  Location loc;
  Type type;
};

} // namespace

static bool isNarrowFloat(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() < 32;
}

Value Functions::unary(UnaryKind kind, Value x, bool isUnsigned) {
  if (isa<FloatType>(getElementTypeOrSelf(type)))
    return floatUnary(kind, x);
  return integerUnary(kind, x, isUnsigned);
}

Value Functions::floatUnary(UnaryKind kind, Value x) {
  using P = arith::CmpFPredicate;
  switch (kind) {
  case UnaryKind::Abs:
    return make<math::AbsFOp>(x);
  case UnaryKind::Neg:
    return make<arith::NegFOp>(x);
  case UnaryKind::Sign: // keeps NaN and zeros
    return select(cmp(P::ONE, x, number(0)), make<math::CopySignOp>(number(1), x), x);
  case UnaryKind::Relu: // one maxps that keeps NaN
    return select(cmp(P::OGT, number(0), x), number(0), x);
  case UnaryKind::Reciprocal:
    return make<arith::DivFOp>(number(1), x);
  case UnaryKind::Sqrt:
    return make<math::SqrtOp>(x);
  case UnaryKind::Rsqrt:
    return make<arith::DivFOp>(number(1), make<math::SqrtOp>(x));
  case UnaryKind::Exp:
    return make<math::ExpOp>(x);
  case UnaryKind::Log:
    return make<math::LogOp>(x);
  case UnaryKind::Log1p:
    return make<math::Log1pOp>(x);
  case UnaryKind::Expm1:
    return make<math::ExpM1Op>(x);
  case UnaryKind::Tanh:
    return make<math::TanhOp>(x);
  case UnaryKind::Sigmoid:
    return make<arith::DivFOp>(
        number(1), make<arith::AddFOp>(number(1), make<math::ExpOp>(make<arith::NegFOp>(x))));
  case UnaryKind::Erf:
    return make<math::ErfOp>(x);
  case UnaryKind::Sin:
    return make<math::SinOp>(x);
  case UnaryKind::Cos:
    return make<math::CosOp>(x);
  case UnaryKind::Tan:
    return make<math::TanOp>(x);
  case UnaryKind::Asin:
    return make<math::AsinOp>(x);
  case UnaryKind::Acos:
    return make<math::AcosOp>(x);
  case UnaryKind::Atan:
    return make<math::AtanOp>(x);
  case UnaryKind::Sinh:
    return make<math::SinhOp>(x);
  case UnaryKind::Cosh:
    return make<math::CoshOp>(x);
  case UnaryKind::Asinh:
    return make<math::AsinhOp>(x);
  case UnaryKind::Acosh:
    return make<math::AcoshOp>(x);
  case UnaryKind::Atanh:
    return make<math::AtanhOp>(x);
  case UnaryKind::Floor:
    return make<math::FloorOp>(x);
  case UnaryKind::Ceil:
    return make<math::CeilOp>(x);
  case UnaryKind::RoundEven:
    return make<math::RoundEvenOp>(x);
  case UnaryKind::IsNan:
    return cmp(P::UNO, x, x);
  case UnaryKind::IsInf:
    return cmp(P::OEQ, make<math::AbsFOp>(x), number(std::numeric_limits<double>::infinity()));
  case UnaryKind::Not:
    break;
  }
  llvm_unreachable("not a function of floats");
}

Value Functions::integerUnary(UnaryKind kind, Value x, bool isUnsigned) {
  using P = arith::CmpIPredicate;
  switch (kind) {
  case UnaryKind::Abs:
    return isUnsigned ? x : make<math::AbsIOp>(x);
  case UnaryKind::Neg:
    return make<arith::SubIOp>(integer(0), x);
  case UnaryKind::Sign: {
    Value positive = select(cmp(P::ne, x, integer(0)), integer(1), integer(0));
    return isUnsigned ? positive : select(cmp(P::slt, x, integer(0)), integer(-1), positive);
  }
  case UnaryKind::Relu:
    return isUnsigned ? x : make<arith::MaxSIOp>(x, integer(0));
  case UnaryKind::Not:
    return make<arith::XOrIOp>(x, integer(-1));
  case UnaryKind::Floor:
  case UnaryKind::Ceil:
  case UnaryKind::RoundEven:
    return x;
  default:
    break;
  }
  llvm_unreachable("not a function of integers");
}

Value Functions::binary(BinaryKind kind, Value a, Value b, bool isUnsigned) {
  if (isa<FloatType>(getElementTypeOrSelf(type)))
    return floatBinary(kind, a, b);
  return integerBinary(kind, a, b, isUnsigned);
}

Value Functions::floatBinary(BinaryKind kind, Value a, Value b) {
  using P = arith::CmpFPredicate;
  switch (kind) {
  case BinaryKind::Add:
    return make<arith::AddFOp>(a, b);
  case BinaryKind::Sub:
    return make<arith::SubFOp>(a, b);
  case BinaryKind::Mul:
    return make<arith::MulFOp>(a, b);
  case BinaryKind::Div:
    return make<arith::DivFOp>(a, b);
  case BinaryKind::Max:
    return make<arith::MaximumFOp>(a, b);
  case BinaryKind::Min:
    return make<arith::MinimumFOp>(a, b);
  case BinaryKind::Pow:
    return make<math::PowFOp>(a, b);
  case BinaryKind::Rem:
    return make<arith::RemFOp>(a, b);
  case BinaryKind::Mod: {
    Value rest = make<arith::RemFOp>(a, b);
    Value opposite = cmp(P::OLT,
                         make<arith::MulFOp>(make<math::CopySignOp>(number(1), rest),
                                             make<math::CopySignOp>(number(1), b)),
                         number(0));
    Value wrong = make<arith::AndIOp>(cmp(P::ONE, rest, number(0)), opposite);
    return select(wrong, make<arith::AddFOp>(rest, b), rest);
  }
  default:
    break;
  }
  llvm_unreachable("not a function of floats");
}

/// x86 traps on a zero divisor and on MIN / -1, so neither reaches the division.
Value Functions::divide(Value a, Value b, bool isUnsigned, bool remainder) {
  using P = arith::CmpIPredicate;
  Value zero = integer(0), isZero = cmp(P::eq, b, zero);
  if (isUnsigned) {
    Value divisor = select(isZero, integer(1), b);
    Value result = remainder ? make<arith::RemUIOp>(a, divisor) : make<arith::DivUIOp>(a, divisor);
    return select(isZero, zero, result);
  }
  Value isMinusOne = cmp(P::eq, b, integer(-1));
  Value divisor = select(make<arith::OrIOp>(isZero, isMinusOne), integer(1), b);
  if (remainder) // x % 1 is 0, which is right for 0 and -1 as well
    return make<arith::RemSIOp>(a, divisor);
  Value result = make<arith::DivSIOp>(a, divisor);
  result = select(isMinusOne, make<arith::SubIOp>(zero, a), result);
  return select(isZero, zero, result);
}

Value Functions::integerPower(Value base, Value exponent, bool isUnsigned) {
  using P = arith::CmpIPredicate;
  // Square and multiply over all bits; a loop, since 64 unrolled steps are large.
  int64_t width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  Value zero = integer(0), one = integer(1);
  auto loop = scf::ForOp::create(
      builder, loc, arith::ConstantIndexOp::create(builder, loc, 0),
      arith::ConstantIndexOp::create(builder, loc, width),
      arith::ConstantIndexOp::create(builder, loc, 1), ValueRange{one, base, exponent},
      [&](OpBuilder &inner, Location, Value, ValueRange state) {
        Functions f(inner, loc, type);
        Value bit = f.make<arith::AndIOp>(state[2], one);
        Value product = f.make<arith::MulIOp>(state[0], state[1]);
        Value result = f.select(f.cmp(P::ne, bit, zero), product, state[0]);
        Value square = f.make<arith::MulIOp>(state[1], state[1]);
        Value rest = f.make<arith::ShRUIOp>(state[2], one);
        scf::YieldOp::create(inner, loc, ValueRange{result, square, rest});
      });
  Value result = loop.getResult(0);
  if (isUnsigned)
    return result;
  // 1 / x^|e| truncates to 0 unless x is 1 or -1, whose powers depend on the parity.
  Value odd = cmp(P::ne, make<arith::AndIOp>(exponent, one), zero);
  Value ofMinusOne = select(odd, integer(-1), one);
  Value inverse =
      select(cmp(P::eq, base, one), one, select(cmp(P::eq, base, integer(-1)), ofMinusOne, zero));
  return select(cmp(P::slt, exponent, zero), inverse, result);
}

Value Functions::integerBinary(BinaryKind kind, Value a, Value b, bool isUnsigned) {
  using P = arith::CmpIPredicate;
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  auto inWidth = [&] { return cmp(P::ult, b, integer(width)); };
  // An amount that is too large is poison to the shift itself. No select: LLVM 22 makes one
  // instruction of PTX of two selects, which looks at 32 bits of the amount only.
  auto amount = [&] { return make<arith::AndIOp>(b, integer(width - 1)); };
  switch (kind) {
  case BinaryKind::Add:
    return make<arith::AddIOp>(a, b);
  case BinaryKind::Sub:
    return make<arith::SubIOp>(a, b);
  case BinaryKind::Mul:
    return make<arith::MulIOp>(a, b);
  case BinaryKind::Div:
    return divide(a, b, isUnsigned, /*remainder=*/false);
  case BinaryKind::Rem:
    return divide(a, b, isUnsigned, /*remainder=*/true);
  case BinaryKind::Mod: {
    Value rest = divide(a, b, isUnsigned, /*remainder=*/true);
    if (isUnsigned)
      return rest;
    Value zero = integer(0);
    Value opposite = cmp(P::slt, make<arith::XOrIOp>(rest, b), zero);
    Value wrong = make<arith::AndIOp>(cmp(P::ne, rest, zero), opposite);
    return select(wrong, make<arith::AddIOp>(rest, b), rest);
  }
  case BinaryKind::Max:
    return isUnsigned ? make<arith::MaxUIOp>(a, b) : make<arith::MaxSIOp>(a, b);
  case BinaryKind::Min:
    return isUnsigned ? make<arith::MinUIOp>(a, b) : make<arith::MinSIOp>(a, b);
  case BinaryKind::Pow:
    return integerPower(a, b, isUnsigned);
  case BinaryKind::And:
    return make<arith::AndIOp>(a, b);
  case BinaryKind::Or:
    return make<arith::OrIOp>(a, b);
  case BinaryKind::Xor:
    return make<arith::XOrIOp>(a, b);
  case BinaryKind::ShiftLeft:
    return select(inWidth(), make<arith::ShLIOp>(a, amount()), integer(0));
  case BinaryKind::ShiftRight:
    return select(inWidth(),
                  isUnsigned ? make<arith::ShRUIOp>(a, amount())
                             : make<arith::ShRSIOp>(a, amount()),
                  integer(0));
  }
  llvm_unreachable("not a function of integers");
}

Value Functions::compare(CompareKind kind, Value a, Value b, bool isUnsigned) {
  struct Row {
    CompareKind kind;
    arith::CmpFPredicate ofFloats;
    arith::CmpIPredicate ofSigned, ofUnsigned;
  };
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr Row rows[] = {
      {CompareKind::Eq, F::OEQ, I::eq, I::eq},   {CompareKind::Ne, F::UNE, I::ne, I::ne},
      {CompareKind::Lt, F::OLT, I::slt, I::ult}, {CompareKind::Le, F::OLE, I::sle, I::ule},
      {CompareKind::Gt, F::OGT, I::sgt, I::ugt}, {CompareKind::Ge, F::OGE, I::sge, I::uge}};
  const Row &row = *llvm::find_if(rows, [&](const Row &row) { return row.kind == kind; });
  if (isa<FloatType>(getElementTypeOrSelf(type)))
    return cmp(row.ofFloats, a, b);
  return cmp(isUnsigned ? row.ofUnsigned : row.ofSigned, a, b);
}

/// `from` and `to` are tensor element types, which carry the signedness.
Value Functions::convert(Value x, Type from, Type to) {
  if (from == to)
    return x;
  Type target = withElement(registerType(to));
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  bool toBool = to.isInteger(1), fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (fromFloat && toFloat) {
    if (fromFloat.getWidth() < toFloat.getWidth()) {
      Value wide = isNarrowFloat(from) ? emitExtend(builder, loc, x) : x;
      return wide.getType() == target ? wide : make<arith::ExtFOp>(target, wide);
    }
    if (fromFloat.getWidth() > toFloat.getWidth())
      return emitRound(builder, loc, x, to);
    // f16 and bf16: neither holds the other's values.
    return emitRound(builder, loc, emitExtend(builder, loc, x), to);
  }
  if (fromFloat) {
    if (isNarrowFloat(from)) {
      x = emitExtend(builder, loc, x);
      type = x.getType();
    }
    if (toBool)
      return cmp(arith::CmpFPredicate::UNE, x, number(0));
    if (unsigned width = to.getIntOrFloatBitWidth(); width <= 16)
      return saturateToNarrow(x, width, to.isUnsignedInteger());
    return saturate(x, target, to.isUnsignedInteger());
  }
  if (toFloat) {
    Type compute = isNarrowFloat(to) ? withElement(builder.getF32Type()) : target;
    Value value =
        fromUnsigned ? make<arith::UIToFPOp>(compute, x) : make<arith::SIToFPOp>(compute, x);
    return compute == target ? value : emitRound(builder, loc, value, to);
  }
  if (toBool)
    return cmp(arith::CmpIPredicate::ne, x, integer(0));
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return x;
  if (fromWidth > toWidth)
    return make<arith::TruncIOp>(target, x);
  return fromUnsigned ? make<arith::ExtUIOp>(target, x) : make<arith::ExtSIOp>(target, x);
}

/// To integers of up to 16 bits by way of 32: LLVM would convert them one by one.
Value Functions::saturateToNarrow(Value x, unsigned width, bool isUnsigned) {
  using P = arith::CmpFPredicate;
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, isUnsigned ? width : width - 1) - 1;
  // NaN becomes the lower bound, which has to be 0.
  if (!isUnsigned)
    x = select(cmp(P::ORD, x, x), x, number(0));
  x = select(cmp(P::OGT, x, number(low)), x, number(low));
  x = select(cmp(P::OLT, x, number(high)), x, number(high));
  Value wide = make<arith::FPToSIOp>(withElement(builder.getI32Type()), x);
  return make<arith::TruncIOp>(withElement(builder.getIntegerType(width)), wide);
}

/// To integers of 32 or 64 bits; arith's conversions are poison out of range.
Value Functions::saturate(Value x, Type target, bool isUnsigned) {
  using P = arith::CmpFPredicate;
  unsigned width = getElementTypeOrSelf(target).getIntOrFloatBitWidth();
  double low = isUnsigned ? 0 : -std::ldexp(1.0, width - 1);
  double end = std::ldexp(1.0, isUnsigned ? width : width - 1);
  APInt least = isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  APInt most = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  auto constant = [&](const APInt &value) {
    Type element = getElementTypeOrSelf(target);
    return splat(element, IntegerAttr::get(element, value));
  };
  Value isHigh = cmp(P::OGE, x, number(end)), isInside = cmp(P::OGE, x, number(low));
  Value inside = select(isHigh, number(0), select(isInside, x, number(0)));
  Value result = isUnsigned ? make<arith::FPToUIOp>(target, inside)
                            : make<arith::FPToSIOp>(target, inside);
  result = select(isHigh, constant(most), select(isInside, result, constant(least)));
  if (isUnsigned) // NaN is not inside, and the least is 0
    return result;
  return select(cmp(P::ORD, x, x), result, constant(APInt::getZero(width)));
}

Value lumen::emitScalarFunction(OpBuilder &builder, Location loc, Operation *op,
                                ValueRange operands) {
  if (isa<SelectOp>(op))
    return builder.createOrFold<arith::SelectOp>(loc, operands[0], operands[1], operands[2]);

  Type from = cast<RankedTensorType>(op->getOperand(0).getType()).getElementType();
  Type to = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  if (isa<ConvertOp>(op))
    return Functions(builder, loc, operands[0].getType()).convert(operands[0], from, to);

  SmallVector<Value> values(operands);
  bool narrow = isNarrowFloat(from);
  if (narrow)
    for (Value &value : values)
      value = emitExtend(builder, loc, value);
  Functions functions(builder, loc, values[0].getType());
  bool isUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  Value result =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case([&](UnaryOp unary) {
            return functions.unary(unary.getKind(), values[0], isUnsigned);
          })
          .Case([&](BinaryOp binary) {
            return functions.binary(binary.getKind(), values[0], values[1], isUnsigned);
          })
          .Case([&](CompareOp compare) {
            return functions.compare(compare.getKind(), values[0], values[1], isUnsigned);
          })
          .Default([](Operation *) -> Value { llvm_unreachable("not an elementwise operation"); });
  if (isNarrowFloat(to))
    result = emitRound(builder, loc, result, to);
  return result;
}
