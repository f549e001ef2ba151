//===- Math.cpp - functions that upstream approximates too coarsely -------===//

#include "codegen/common/Math.h"

#include "codegen/common/Doubles.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"

using namespace mlir;
using namespace lumen;

Value Doubles::log2(Value x) {
  constexpr int64_t mantissa = (int64_t(1) << 52) - 1, one = int64_t(1023) << 52;
  Value raw = bits(x);
  // The exponent becomes a number by the bits of 2^52 + exponent: levels below
  // AVX-512 have no conversion from 64-bit integers.
  Value biased = make<arith::ShRUIOp>(raw, integer(52));
  Value exponent = sub(fromBits(make<arith::OrIOp>(biased, integer(int64_t(1075) << 52))),
                       number(4503599627370496.0 + 1023));
  Value m = fromBits(make<arith::OrIOp>(make<arith::AndIOp>(raw, integer(mantissa)), integer(one)));
  Value large = compare(arith::CmpFPredicate::OGT, m, number(1.4142135623730951));
  m = select(large, mul(m, number(0.5)), m);
  exponent = select(large, add(exponent, number(1)), exponent);
  // log2(m) = 2 / ln 2 * artanh(s), |s| < 0.172.
  Value s = make<arith::DivFOp>(sub(m, number(1)), add(m, number(1)));
  constexpr double k = 2.8853900817779268; // 2 / ln 2
  Value series = polynomial(mul(s, s), {k / 11, k / 9, k / 7, k / 5, k / 3, k});
  return add(mul(series, s), exponent);
}

Value Doubles::exp2(Value x) {
  Value whole = make<math::RoundEvenOp>(x);
  Value u = mul(sub(x, whole), number(0.69314718055994531));
  Value fraction = polynomial(
      u, {1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0});
  // The low bits of whole + 1.5 * 2^52 are `whole`.
  Value shifted = bits(add(whole, number(6755399441055744.0)));
  Value scale =
      fromBits(make<arith::ShLIOp>(make<arith::AddIOp>(shifted, integer(1023)), integer(52)));
  return mul(fraction, scale);
}

Value Doubles::power(Value x, Value y) {
  using P = arith::CmpFPredicate;
  Value zero = number(0), one = number(1),
        infinite = number(std::numeric_limits<double>::infinity());
  Value magnitude = make<math::AbsFOp>(x);
  Value logarithm = log2(magnitude);
  logarithm = select(compare(P::OEQ, magnitude, zero), make<arith::NegFOp>(infinite), logarithm);
  logarithm = select(compare(P::OEQ, magnitude, infinite), infinite, logarithm);
  // 1 to any power, also an infinite one.
  Value product = select(compare(P::OEQ, logarithm, zero), zero, mul(y, logarithm));
  product = select(compare(P::OGT, product, number(1000)), number(1000), product);
  product = select(compare(P::OLT, product, number(-1000)), number(-1000), product);
  Value result = exp2(product);

  // Negative bases: odd powers are negative, broken ones are NaN.
  Value isWhole = compare(P::OEQ, make<math::RoundEvenOp>(y), y);
  Value half = mul(y, number(0.5));
  Value isOdd = both(isWhole, compare(P::ONE, make<math::RoundEvenOp>(half), half));
  result = select(isOdd, make<math::CopySignOp>(result, x), result);
  Value nan = number(std::numeric_limits<double>::quiet_NaN());
  Value isNegative = both(compare(P::OLT, x, zero), compare(P::OLT, magnitude, infinite));
  Value isBroken = both(isNegative, compare(P::UNE, make<math::RoundEvenOp>(y), y));
  result = select(isBroken, nan, result);
  result = select(compare(P::UNO, x, y), nan, result);
  result = select(compare(P::OEQ, y, zero), one, result);
  return select(compare(P::OEQ, x, one), one, result);
}

static Value emitPower(OpBuilder &builder, Location loc, Value base, Value exponent) {
  Type type = base.getType(), wide = builder.getF64Type();
  if (auto vector = dyn_cast<VectorType>(type))
    wide = VectorType::get(vector.getShape(), wide);
  Value x = builder.createOrFold<arith::ExtFOp>(loc, wide, base);
  Value y = builder.createOrFold<arith::ExtFOp>(loc, wide, exponent);
  Value result = Doubles(builder, loc, type).power(x, y);
  return builder.createOrFold<arith::TruncFOp>(loc, type, result);
}

Value lumen::emitArcTangent(OpBuilder &builder, Location loc, Value x) {
  Type type = x.getType();
  auto constant = [&](double value) -> Value {
    TypedAttr attr = builder.getF32FloatAttr(value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attr));
    return arith::ConstantOp::create(builder, loc, attr);
  };
  auto add = [&](Value a, Value b) { return builder.createOrFold<arith::AddFOp>(loc, a, b); };
  auto mul = [&](Value a, Value b) { return builder.createOrFold<arith::MulFOp>(loc, a, b); };
  auto div = [&](Value a, Value b) { return builder.createOrFold<arith::DivFOp>(loc, a, b); };
  auto select = [&](Value condition, Value a, Value b) {
    return builder.createOrFold<arith::SelectOp>(loc, condition, a, b);
  };
  Value size = builder.createOrFold<math::AbsFOp>(loc, x);
  auto isAbove = [&](double bound) {
    return builder.createOrFold<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, size,
                                               constant(bound));
  };
  // Above tan(3/8 pi) and tan(1/8 pi): atan(a) = pi/2 - atan(1/a), and
  // atan(a) = pi/4 + atan((a - 1) / (a + 1)).
  Value isLarge = isAbove(2.414213562373095), isMiddle = isAbove(0.4142135623730950);
  Value one = constant(1);
  Value middle = div(add(size, constant(-1)), add(size, one));
  Value reduced = select(isLarge, div(constant(-1), size), select(isMiddle, middle, size));
  Value start = select(isLarge, constant(1.5707963267948966),
                       select(isMiddle, constant(0.7853981633974483), constant(0)));
  Value square = mul(reduced, reduced), sum = constant(8.05374449538e-2);
  for (double coefficient : {-1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1})
    sum = add(mul(sum, square), constant(coefficient));
  Value result = add(start, add(mul(mul(sum, square), reduced), reduced));
  return builder.createOrFold<math::CopySignOp>(loc, result, x);
}

void lumen::populateMathApproximations(RewritePatternSet &patterns) {
  // See ScalarFunctions.cpp for the functions that upstream approximates too coarsely.
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained({math::ExpOp::getOperationName(), math::LogOp::getOperationName(),
                               math::Log1pOp::getOperationName(), math::ExpM1Op::getOperationName(),
                               math::ErfOp::getOperationName(), math::TanhOp::getOperationName()},
                              name);
  });
}

void lumen::populatePower(RewritePatternSet &patterns) {
  patterns.add(+[](math::PowFOp op, PatternRewriter &rewriter) {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    rewriter.replaceOp(op, emitPower(rewriter, op.getLoc(), op.getLhs(), op.getRhs()));
    return success();
  });
}
