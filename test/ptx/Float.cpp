//===- Float.cpp - instructions on floating-point numbers -----------------===//
//
// PTX ISA, "Floating-Point Instructions", "Half Precision Floating-Point Instructions". What
// is approximate there is computed to the last bit here.
//
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "SmallFloat.h"

using namespace lumen::ptx;

namespace {

constexpr float kNan32 = __builtin_nanf("");

template <bool Flushes> float flush(float x) {
  if constexpr (Flushes)
    return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
  return x;
}

/// f32 with the modifiers of a name.
template <Rounding Mode, bool Flushes, bool Saturates> struct Single {
  static float in(float x) { return flush<Flushes>(x); }
  static float out(float x) {
    x = flush<Flushes>(x);
    if constexpr (Saturates)
      return x > 1 ? 1 : x > 0 ? x : 0;
    // "NaN results are canonical."
    return x == x ? x : bitsTo<float>(0x7FFFFFFFu);
  }
  static constexpr bool kIsNearest = Mode == Rounding::NearestEven;

  static float sum(double a, double b) {
    double result = addToOdd(a, b);
    // IEEE 754: what cancels is -0 when rounding down.
    if (Mode == Rounding::Down && result == 0 && (std::signbit(a) || std::signbit(b)))
      result = -0.0;
    return out(narrow<float>(result, Mode));
  }
  static float add(float a, float b) {
    if constexpr (kIsNearest)
      return out(in(a) + in(b));
    return sum(in(a), in(b));
  }
  static float subtract(float a, float b) { return add(a, -b); }
  static float multiply(float a, float b) {
    if constexpr (kIsNearest)
      return out(in(a)*in(b));
    return out(narrow<float>(double(in(a)) * in(b), Mode));
  }
  static float multiplyAdd(float a, float b, float c) {
    if constexpr (kIsNearest)
      return out(std::fma(in(a), in(b), in(c)));
    return sum(double(in(a)) * in(b), in(c));
  }
  static float divide(float a, float b) {
    if constexpr (kIsNearest)
      return out(in(a) / in(b));
    double x = in(a), y = in(b), quotient = x / y;
    double error = std::isfinite(quotient) && std::isfinite(y) ? -std::fma(quotient, y, -x) : 0;
    return out(narrow<float>(roundToOdd(quotient, y < 0 ? -error : error), Mode));
  }
  static float reciprocal(float a) { return divide(1, a); }
  static float squareRoot(float a) {
    if constexpr (kIsNearest)
      return out(std::sqrt(in(a)));
    double x = in(a), root = std::sqrt(x);
    double error = std::isfinite(root) ? -std::fma(root, root, -x) : 0;
    return out(narrow<float>(roundToOdd(root, error), Mode));
  }
};

template <Rounding Mode, bool Flushes> void addRounded(Table &table, const std::string &modifiers) {
  using Plain = Single<Mode, Flushes, false>;
  using Saturated = Single<Mode, Flushes, true>;
  table.add<Plain::add>("add" + modifiers + ".f32");
  table.add<Plain::subtract>("sub" + modifiers + ".f32");
  table.add<Plain::multiply>("mul" + modifiers + ".f32");
  table.add<Plain::multiplyAdd>("fma" + modifiers + ".f32");
  table.add<Plain::multiplyAdd>("mad" + modifiers + ".f32");
  table.add<Saturated::add>("add" + modifiers + ".sat.f32");
  table.add<Saturated::subtract>("sub" + modifiers + ".sat.f32");
  table.add<Saturated::multiply>("mul" + modifiers + ".sat.f32");
  table.add<Saturated::multiplyAdd>("fma" + modifiers + ".sat.f32");
  table.add<Plain::divide>("div" + modifiers + ".f32");
  table.add<Plain::reciprocal>("rcp" + modifiers + ".f32");
  table.add<Plain::squareRoot>("sqrt" + modifiers + ".f32");
}

/// A function of one number, computed through double.
template <typename T, double (*Compute)(double), bool Flushes> T approximate(T x) {
  if constexpr (std::is_same_v<T, float>)
    return Single<Rounding::NearestEven, Flushes, false>::out(
        narrow<float>(Compute(flush<Flushes>(x))));
  else
    return narrow<T>(Compute(widen(x)));
}
double reciprocal(double x) { return 1 / x; }
double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
// "Upper 32 bits": the rest is zero.
template <double (*Compute)(double)> double approximateUpper(double x) {
  return bitsTo<double>(bitsTo<uint64_t>(Compute(x)) & 0xFFFFFFFF00000000);
}

double addDouble(double a, double b) { return a + b; }
double subtractDouble(double a, double b) { return a - b; }
double multiplyDouble(double a, double b) { return a * b; }
double divideDouble(double a, double b) { return a / b; }
double multiplyAddDouble(double a, double b, double c) { return std::fma(a, b, c); }

template <typename T> bool isNan(T x) { return widen(x) != widen(x); }

// "If one is NaN, the other; +0 is above -0."
template <typename T, bool GivesNan, bool Flushes> T least(T x, T y) {
  double a = widen(x), b = widen(y);
  if constexpr (Flushes)
    a = flush<true>(static_cast<float>(a)), b = flush<true>(static_cast<float>(b));
  if (a != a || b != b)
    return narrow<T>(GivesNan || (a != a && b != b) ? double(kNan32) : a != a ? b : a);
  return narrow<T>(a < b || (a == b && std::signbit(a)) ? a : b);
}
template <typename T> T negate(T x) {
  if constexpr (sizeof(T) == 2)
    return {static_cast<uint16_t>(x.bits ^ 0x8000)};
  else
    return -x;
}
template <typename T> T absolute(T x) {
  if constexpr (sizeof(T) == 2)
    return {static_cast<uint16_t>(x.bits & 0x7FFF)};
  else
    return std::fabs(x);
}
template <typename T, bool GivesNan, bool Flushes> T most(T x, T y) {
  return isNan(x) || isNan(y) ? least<T, GivesNan, Flushes>(x, y)
                              : negate(least<T, GivesNan, Flushes>(negate(x), negate(y)));
}
/// The sign of the first, the rest of the second.
template <typename T> T copySign(T a, T b) { return std::copysign(b, a); }

template <typename T> bool isFinite(T x) { return std::isfinite(x); }
template <typename T> bool isInfinite(T x) { return std::isinf(x); }
template <typename T> bool isNumber(T x) { return x == x; }
template <typename T> bool isNormal(T x) { return std::isnormal(x); }
template <typename T> bool isSubnormal(T x) { return std::fpclassify(x) == FP_SUBNORMAL; }

// Formats of 16 bits. A product of two is exact in double; see SmallFloat.h on sums.
template <typename T, bool Saturates, bool IsRelu> T finish(double x) {
  if constexpr (Saturates)
    x = x > 1 ? 1 : x > 0 ? x : 0;
  if constexpr (IsRelu)
    x = x < 0 ? 0 : x;
  return narrow<T>(x);
}
template <typename T, bool Saturates, bool IsRelu> T addSmall(T a, T b) {
  return finish<T, Saturates, IsRelu>(addToOdd(widen(a), widen(b)));
}
template <typename T, bool Saturates, bool IsRelu> T subtractSmall(T a, T b) {
  return finish<T, Saturates, IsRelu>(addToOdd(widen(a), -widen(b)));
}
template <typename T, bool Saturates, bool IsRelu> T multiplySmall(T a, T b) {
  return finish<T, Saturates, IsRelu>(widen(a) * widen(b));
}
template <typename T, bool Saturates, bool IsRelu> T multiplyAddSmall(T a, T b, T c) {
  return finish<T, Saturates, IsRelu>(addToOdd(widen(a) * widen(b), widen(c)));
}

/// Two numbers in a register.
template <typename T> struct Pair {
  T low, high;
};
template <auto Compute, typename Type = decltype(Compute)> struct Both;
template <auto Compute, typename T, typename... Ts> struct Both<Compute, T (*)(T, Ts...)> {
  static Pair<T> compute(Pair<T> first, std::conditional_t<true, Pair<T>, Ts>... rest) {
    return {Compute(first.low, rest.low...), Compute(first.high, rest.high...)};
  }
};

/// A row of a format and one of its pairs.
template <auto Compute> void addBoth(Table &table, const std::string &name) {
  table.add<Compute>(name);
  table.add<Both<Compute>::compute>(name + "x2");
}

template <typename T> bool equal(T a, T b) { return widen(a) == widen(b); }
template <typename T> bool unequal(T a, T b) { return widen(a) < widen(b) || widen(a) > widen(b); }
template <typename T> bool less(T a, T b) { return widen(a) < widen(b); }
template <typename T> bool lessEqual(T a, T b) { return widen(a) <= widen(b); }
template <typename T> bool greater(T a, T b) { return widen(a) > widen(b); }
template <typename T> bool greaterEqual(T a, T b) { return widen(a) >= widen(b); }
template <typename T> bool areNumbers(T a, T b) { return !isNan(a) && !isNan(b); }
/// The comparison that is true where the other is false.
template <typename T, bool (*Compare)(T, T)> bool isNot(T a, T b) { return !Compare(a, b); }
template <bool (*Compare)(float, float)> bool flushed(float a, float b) {
  return Compare(flush<true>(a), flush<true>(b));
}

/// setp on pairs has two results.
template <typename T, bool (*Compare)(T, T)>
void compareBoth(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  const Pair<T> *a = warp.at<Pair<T>>(instruction, 2), *b = warp.at<Pair<T>>(instruction, 3);
  uint32_t low = 0, high = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    low |= static_cast<uint32_t>(Compare(a[lane].low, b[lane].low)) << lane;
    high |= static_cast<uint32_t>(Compare(a[lane].high, b[lane].high)) << lane;
  }
  warp.setPredicate(instruction, 0, low, lanes);
  warp.setPredicate(instruction, 1, high, lanes);
}

template <typename T, bool (*Compare)(T, T)>
void addComparison(Table &table, const std::string &name, const std::string &type) {
  table.add<Compare>("setp." + name + "." + type);
  if constexpr (std::is_same_v<T, float>)
    table.add<flushed<Compare>>("setp." + name + ".ftz." + type);
  if constexpr (sizeof(T) == 2)
    table.add("setp." + name + "." + type + "x2", {compareBoth<T, Compare>, "p|pww"});
}

template <typename T> void addComparisons(Table &table, const std::string &type) {
  addComparison<T, equal<T>>(table, "eq", type);
  addComparison<T, unequal<T>>(table, "ne", type);
  addComparison<T, less<T>>(table, "lt", type);
  addComparison<T, lessEqual<T>>(table, "le", type);
  addComparison<T, greater<T>>(table, "gt", type);
  addComparison<T, greaterEqual<T>>(table, "ge", type);
  addComparison<T, isNot<T, unequal<T>>>(table, "equ", type);
  addComparison<T, isNot<T, equal<T>>>(table, "neu", type);
  addComparison<T, isNot<T, greaterEqual<T>>>(table, "ltu", type);
  addComparison<T, isNot<T, greater<T>>>(table, "leu", type);
  addComparison<T, isNot<T, lessEqual<T>>>(table, "gtu", type);
  addComparison<T, isNot<T, less<T>>>(table, "geu", type);
  addComparison<T, areNumbers<T>>(table, "num", type);
  addComparison<T, isNot<T, areNumbers<T>>>(table, "nan", type);
}

template <typename T> void addClasses(Table &table, const std::string &type) {
  table.add<isFinite<T>>("testp.finite." + type);
  table.add<isInfinite<T>>("testp.infinite." + type);
  table.add<isNumber<T>>("testp.number." + type);
  table.add<isNan<T>>("testp.notanumber." + type);
  table.add<isNormal<T>>("testp.normal." + type);
  table.add<isSubnormal<T>>("testp.subnormal." + type);
  table.add<copySign<T>>("copysign." + type);
}

template <double (*Compute)(double)> void addApproximation(Table &table, const std::string &name) {
  table.add<approximate<float, Compute, false>>(name + ".approx.f32");
  table.add<approximate<float, Compute, true>>(name + ".approx.ftz.f32");
}

template <typename T> void addSmallRows(Table &table, const std::string &type) {
  // Rounding to nearest is the only one and may be left out.
  for (const char *rounding : {"", ".rn"}) {
    auto name = [&](const char *operation, const char *modifiers) {
      return operation + std::string(rounding) + modifiers + "." + type;
    };
    addBoth<addSmall<T, false, false>>(table, name("add", ""));
    addBoth<addSmall<T, true, false>>(table, name("add", ".sat"));
    addBoth<subtractSmall<T, false, false>>(table, name("sub", ""));
    addBoth<subtractSmall<T, true, false>>(table, name("sub", ".sat"));
    addBoth<multiplySmall<T, false, false>>(table, name("mul", ""));
    addBoth<multiplySmall<T, true, false>>(table, name("mul", ".sat"));
    addBoth<multiplyAddSmall<T, false, false>>(table, name("fma", ""));
    addBoth<multiplyAddSmall<T, true, false>>(table, name("fma", ".sat"));
    addBoth<multiplyAddSmall<T, false, true>>(table, name("fma", ".relu"));
  }
  addBoth<negate<T>>(table, "neg." + type);
  addBoth<absolute<T>>(table, "abs." + type);
  addBoth<least<T, false, false>>(table, "min." + type);
  addBoth<least<T, true, false>>(table, "min.NaN." + type);
  addBoth<most<T, false, false>>(table, "max." + type);
  addBoth<most<T, true, false>>(table, "max.NaN." + type);
  std::string flushes = type == "bf16" ? ".ftz." : ".";
  addBoth<approximate<T, std::exp2, false>>(table, "ex2.approx" + flushes + type);
  addBoth<approximate<T, std::tanh, false>>(table, "tanh.approx." + type);
  addComparisons<T>(table, type);
}

} // namespace

void lumen::ptx::addFloatRows(Table &table) {
  addRounded<Rounding::NearestEven, false>(table, "");
  addRounded<Rounding::NearestEven, true>(table, ".ftz");
  addRounded<Rounding::NearestEven, false>(table, ".rn");
  addRounded<Rounding::NearestEven, true>(table, ".rn.ftz");
  addRounded<Rounding::Zero, false>(table, ".rz");
  addRounded<Rounding::Zero, true>(table, ".rz.ftz");
  addRounded<Rounding::Down, false>(table, ".rm");
  addRounded<Rounding::Down, true>(table, ".rm.ftz");
  addRounded<Rounding::Up, false>(table, ".rp");
  addRounded<Rounding::Up, true>(table, ".rp.ftz");
  using Nearest = Single<Rounding::NearestEven, false, false>;
  using Flushed = Single<Rounding::NearestEven, true, false>;
  for (const char *kind : {"div.full", "div.approx"}) {
    table.add<Nearest::divide>(std::string(kind) + ".f32");
    table.add<Flushed::divide>(std::string(kind) + ".ftz.f32");
  }
  addApproximation<reciprocal>(table, "rcp");
  addApproximation<std::sqrt>(table, "sqrt");
  addApproximation<reciprocalRoot>(table, "rsqrt");
  addApproximation<std::sin>(table, "sin");
  addApproximation<std::cos>(table, "cos");
  addApproximation<std::log2>(table, "lg2");
  addApproximation<std::exp2>(table, "ex2");
  table.add<approximate<float, std::tanh, false>>("tanh.approx.f32");
  table.add<negate<float>>("neg.f32");
  table.add<negate<float>>("neg.ftz.f32");
  table.add<absolute<float>>("abs.f32");
  table.add<absolute<float>>("abs.ftz.f32");
  table.add<least<float, false, false>>("min.f32");
  table.add<least<float, false, true>>("min.ftz.f32");
  table.add<least<float, true, false>>("min.NaN.f32");
  table.add<least<float, true, true>>("min.ftz.NaN.f32");
  table.add<most<float, false, false>>("max.f32");
  table.add<most<float, false, true>>("max.ftz.f32");
  table.add<most<float, true, false>>("max.NaN.f32");
  table.add<most<float, true, true>>("max.ftz.NaN.f32");
  addComparisons<float>(table, "f32");
  addClasses<float>(table, "f32");

  for (const char *rounding : {"", ".rn"}) {
    std::string ending = std::string(rounding) + ".f64";
    table.add<addDouble>("add" + ending);
    table.add<subtractDouble>("sub" + ending);
    table.add<multiplyDouble>("mul" + ending);
  }
  table.add<multiplyAddDouble>("fma.rn.f64");
  table.add<multiplyAddDouble>("mad.rn.f64");
  table.add<divideDouble>("div.rn.f64");
  table.add<approximate<double, reciprocal, false>>("rcp.rn.f64");
  table.add<approximate<double, std::sqrt, false>>("sqrt.rn.f64");
  table.add<approximate<double, reciprocalRoot, false>>("rsqrt.approx.f64");
  table.add<approximateUpper<reciprocal>>("rcp.approx.ftz.f64");
  table.add<approximateUpper<reciprocalRoot>>("rsqrt.approx.ftz.f64");
  table.add<negate<double>>("neg.f64");
  table.add<absolute<double>>("abs.f64");
  table.add<least<double, false, false>>("min.f64");
  table.add<most<double, false, false>>("max.f64");
  addComparisons<double>(table, "f64");
  addClasses<double>(table, "f64");

  addSmallRows<Half>(table, "f16");
  addSmallRows<BFloat>(table, "bf16");
}
