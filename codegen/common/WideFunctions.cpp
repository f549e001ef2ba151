//===- WideFunctions.cpp - functions of f32 that are computed in f64 ------===//
//
// Short formulas suffice in f64 for results of f32, also where they cancel.
//
//===----------------------------------------------------------------------===//

#include "codegen/common/Doubles.h"
#include "codegen/common/Math.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace lumen;
using P = arith::CmpFPredicate;

static constexpr double kHalfPi = 1.5707963267948966, kLog2OfE = 1.4426950408889634,
                        kLn2 = 0.69314718055994531, kInfinity = HUGE_VAL;

namespace {

/// Of scalars.
class WideFunctions : Doubles {
public:
  WideFunctions(OpBuilder &builder, Location loc) : Doubles(builder, loc, builder.getF64Type()) {}

  Value sin(Value x);
  Value cos(Value x);
  Value tan(Value x);
  Value sinh(Value x);
  Value cosh(Value x);
  Value asinh(Value x);
  Value acosh(Value x);
  Value atanh(Value x);
  Value remainder(Value x, Value y);

private:
  /// x = quadrant * pi / 2 + rest, with the quadrant (i64) modulo 4 and |rest| <= pi / 4.
  struct Angle {
    Value quadrant, rest;
  };
  Angle reduce(Value magnitude);
  /// Of magnitudes from 2^28 on that f32 can hold.
  Angle reduceLarge(Value magnitude);
  /// Of angles in [-pi / 4, pi / 4].
  Value sinNearZero(Value x);
  Value cosNearZero(Value x);
  /// sin of an angle that is `turns` quadrants ahead.
  Value sinAhead(const Angle &angle, int64_t turns);
  Value exp(Value x);
  Value ln(Value x) { return mul(log2(x), number(kLn2)); }

  Value div(Value a, Value b) { return make<arith::DivFOp>(a, b); }
  Value abs(Value x) { return make<math::AbsFOp>(x); }
  Value sqrt(Value x) { return make<math::SqrtOp>(x); }
  Value withSign(Value magnitude, Value sign) { return make<math::CopySignOp>(magnitude, sign); }
  Value nan() { return number(std::nan("")); }
  Value isAtLeast(Value x, double bound) { return compare(P::OGE, x, number(bound)); }
  /// `value`, but NaN where x is that or infinite.
  Value ifFinite(Value x, Value value) {
    return select(compare(P::OLT, abs(x), number(kInfinity)), value, nan());
  }
  Value isBitSet(Value integers, int64_t bit) {
    return make<arith::CmpIOp>(arith::CmpIPredicate::ne,
                               make<arith::AndIOp>(integers, integer(bit)), integer(0));
  }
};

} // namespace

/// The product with 2 / pi modulo 4, exact but for 2^-70: of the digits of 2 / pi only those
/// count whose product with x is neither a multiple of 4 nor below that.
WideFunctions::Angle WideFunctions::reduceLarge(Value magnitude) {
  static constexpr int64_t words[] = {0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0,
                                      0xDB629599, 0x3C439041, 0xFE5163AB};
  // x = mantissa * 2^e, with 24 bits of mantissa.
  Value raw = bits(magnitude);
  Value fraction = make<arith::AndIOp>(raw, integer((int64_t(1) << 52) - 1));
  Value mantissa =
      make<arith::ShRUIOp>(make<arith::OrIOp>(fraction, integer(int64_t(1) << 52)), integer(29));
  // The first digit that counts is digit e - 1, in word (e - 2) / 32.
  Value first = make<arith::SubIOp>(make<arith::ShRUIOp>(raw, integer(52)), integer(1023 + 23 + 2));
  Value at = make<arith::ShRUIOp>(first, integer(5));
  Value shift = make<arith::AndIOp>(first, integer(31));
  auto word = [&](int64_t behind) {
    Value picked = integer(words[behind]);
    for (int64_t i = 1; i < 4; ++i) {
      Value isHere = make<arith::CmpIOp>(arith::CmpIPredicate::eq, at, integer(i));
      picked = select(isHere, integer(words[behind + i]), picked);
    }
    return picked;
  };
  auto join = [&](Value high, Value low) {
    return make<arith::OrIOp>(make<arith::ShLIOp>(high, integer(32)), low);
  };
  Value third = word(2);
  Value high =
      make<arith::OrIOp>(make<arith::ShLIOp>(join(word(0), word(1)), shift),
                         make<arith::ShRUIOp>(third, make<arith::SubIOp>(integer(32), shift)));
  Value low = make<arith::ShRUIOp>(make<arith::ShLIOp>(join(third, word(3)), shift), integer(32));
  // In units of 2^-62 quadrants; what overflows are multiples of 4.
  Value turns =
      make<arith::AddIOp>(make<arith::MulIOp>(mantissa, high),
                          make<arith::ShRUIOp>(make<arith::MulIOp>(mantissa, low), integer(32)));
  Value quadrant =
      make<arith::ShRUIOp>(make<arith::AddIOp>(turns, integer(int64_t(1) << 61)), integer(62));
  Value rest = make<arith::SubIOp>(turns, make<arith::ShLIOp>(quadrant, integer(62)));
  Value number64 = make<arith::SIToFPOp>(builder.getF64Type(), rest);
  return {quadrant, mul(number64, number(std::ldexp(kHalfPi, -62)))};
}

WideFunctions::Angle WideFunctions::reduce(Value magnitude) {
  Type types[] = {builder.getI64Type(), builder.getF64Type()};
  auto branch =
      scf::IfOp::create(builder, loc, types, isAtLeast(magnitude, std::ldexp(1.0, 28)), true);
  OpBuilder::InsertionGuard guard(builder);
  auto yield = [&](Block *block, llvm::function_ref<Angle()> emit) {
    builder.setInsertionPointToStart(block);
    Angle angle = emit();
    scf::YieldOp::create(builder, loc, ValueRange{angle.quadrant, angle.rest});
  };
  yield(branch.thenBlock(), [&] { return reduceLarge(magnitude); });
  yield(branch.elseBlock(), [&]() -> Angle {
    // pi / 2 in two parts: products with the first, of 25 bits, are exact.
    Value whole = make<math::RoundEvenOp>(mul(magnitude, number(1 / kHalfPi)));
    Value rest = sub(magnitude, mul(whole, number(1.57079631090164184570)));
    rest = sub(rest, mul(whole, number(1.58932547735281966916e-8)));
    return {make<arith::FPToSIOp>(builder.getI64Type(), whole), rest};
  });
  return {branch.getResult(0), branch.getResult(1)};
}

// Polynomials of FreeBSD's msun: errors below 2^-34.
Value WideFunctions::sinNearZero(Value x) {
  Value square = mul(x, x);
  Value series = polynomial(square, {2.718311493989822e-6, -1.9839334836096632e-4,
                                     8.333329385889463e-3, -0.16666666641626524});
  return add(x, mul(mul(x, square), series));
}

Value WideFunctions::cosNearZero(Value x) {
  Value square = mul(x, x);
  return polynomial(square, {2.439044879627741e-5, -1.388676377460993e-3, 4.16666233237390631e-2,
                             -0.499999997251031003, 1.0});
}

Value WideFunctions::sinAhead(const Angle &angle, int64_t turns) {
  Value quadrant = make<arith::AddIOp>(angle.quadrant, integer(turns));
  Value value = select(isBitSet(quadrant, 1), cosNearZero(angle.rest), sinNearZero(angle.rest));
  return select(isBitSet(quadrant, 2), make<arith::NegFOp>(value), value);
}

Value WideFunctions::sin(Value x) {
  Value value = sinAhead(reduce(abs(x)), 0);
  return ifFinite(x, mul(value, withSign(number(1), x)));
}

Value WideFunctions::cos(Value x) { return ifFinite(x, sinAhead(reduce(abs(x)), 1)); }

Value WideFunctions::tan(Value x) {
  Angle angle = reduce(abs(x));
  Value value = div(sinAhead(angle, 0), sinAhead(angle, 1));
  return ifFinite(x, mul(value, withSign(number(1), x)));
}

Value WideFunctions::exp(Value x) {
  Value power = mul(x, number(kLog2OfE));
  power = select(compare(P::OGT, power, number(1000)), number(1000), power);
  return exp2(power);
}

Value WideFunctions::sinh(Value x) {
  Value magnitude = abs(x), square = mul(x, x);
  Value series = polynomial(square, {1.0 / 6227020800, 1.0 / 39916800, 1.0 / 362880, 1.0 / 5040,
                                     1.0 / 120, 1.0 / 6, 1.0});
  Value power = exp(magnitude);
  Value large = mul(sub(power, div(number(1), power)), number(0.5));
  return select(isAtLeast(magnitude, 1), withSign(large, x), mul(x, series));
}

Value WideFunctions::cosh(Value x) {
  Value power = exp(abs(x));
  return mul(add(power, div(number(1), power)), number(0.5));
}

Value WideFunctions::asinh(Value x) {
  Value magnitude = abs(x), square = mul(x, x);
  Value large = ln(add(magnitude, sqrt(add(square, number(1)))));
  large = select(compare(P::OLT, magnitude, number(kInfinity)), large, magnitude);
  Value small = mul(x, sub(number(1), mul(square, number(1.0 / 6))));
  return select(isAtLeast(magnitude, 1.0 / 8192), withSign(large, x), small);
}

Value WideFunctions::acosh(Value x) {
  Value root = sqrt(mul(sub(x, number(1)), add(x, number(1))));
  Value value = select(compare(P::OLT, x, number(kInfinity)), ln(add(x, root)), x);
  return select(isAtLeast(x, 1), value, nan());
}

Value WideFunctions::atanh(Value x) {
  Value magnitude = abs(x), square = mul(x, x);
  Value large = mul(ln(div(add(number(1), magnitude), sub(number(1), magnitude))), number(0.5));
  large = select(compare(P::OLT, magnitude, number(1)), large, number(kInfinity));
  large = select(compare(P::OGT, magnitude, number(1)), nan(), large);
  Value small = mul(x, add(number(1), mul(square, number(1.0 / 3))));
  return select(isAtLeast(magnitude, 1.0 / 8192), withSign(large, x), small);
}

/// Quotients of 24 bits at a time, whose products with the divisor are exact: so are all
/// rests, each of which is less than 2^-23 of the one before.
Value WideFunctions::remainder(Value x, Value y) {
  Value divisor = abs(y);
  auto loop = scf::WhileOp::create(
      builder, loc, TypeRange{builder.getF64Type()}, ValueRange{abs(x)},
      [&](OpBuilder &inner, Location, ValueRange state) {
        WideFunctions f(inner, loc);
        // Neither where the result will be NaN.
        Value goesOn = f.both(f.compare(P::OGE, state[0], divisor),
                              f.both(f.compare(P::OLT, state[0], f.number(kInfinity)),
                                     f.compare(P::OGT, divisor, f.number(0))));
        scf::ConditionOp::create(inner, loc, goesOn, state);
      },
      [&](OpBuilder &inner, Location, ValueRange state) {
        WideFunctions f(inner, loc);
        // Of the quotient's bits the highest, or what of them is no fraction.
        Value quotient = f.fromBits(f.make<arith::AndIOp>(f.bits(f.div(state[0], divisor)),
                                                          f.integer(~((int64_t(1) << 29) - 1))));
        quotient = f.make<math::FloorOp>(quotient);
        Value rest = f.sub(state[0], f.mul(quotient, divisor));
        scf::YieldOp::create(inner, loc, rest);
      });
  Value isDefined =
      both(compare(P::OLT, abs(x), number(kInfinity)), compare(P::OGT, divisor, number(0)));
  return select(isDefined, withSign(loop.getResult(0), x), nan());
}

/// Replaces `op`, of f32, by what `function` makes of its operands in f64.
template <typename Op, auto function>
static LogicalResult computeWide(Op op, PatternRewriter &rewriter) {
  if (!op.getType().isF32())
    return failure();
  Location loc = op.getLoc();
  auto widen = [&](unsigned i) {
    return rewriter.createOrFold<arith::ExtFOp>(loc, rewriter.getF64Type(), op->getOperand(i));
  };
  WideFunctions functions(rewriter, loc);
  Value result;
  if constexpr (std::is_invocable_v<decltype(function), WideFunctions &, Value>)
    result = (functions.*function)(widen(0));
  else
    result = (functions.*function)(widen(0), widen(1));
  rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, rewriter.getF32Type(), result);
  return success();
}

void lumen::populateWideFunctions(RewritePatternSet &patterns) {
  using W = WideFunctions;
  patterns.add(computeWide<math::SinOp, &W::sin>)
      .add(computeWide<math::CosOp, &W::cos>)
      .add(computeWide<math::TanOp, &W::tan>)
      .add(computeWide<math::SinhOp, &W::sinh>)
      .add(computeWide<math::CoshOp, &W::cosh>)
      .add(computeWide<math::AsinhOp, &W::asinh>)
      .add(computeWide<math::AcoshOp, &W::acosh>)
      .add(computeWide<math::AtanhOp, &W::atanh>)
      .add(computeWide<arith::RemFOp, &W::remainder>);
}
