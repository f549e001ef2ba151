//===- ConstantData.cpp - reading constants and scalar functions ----------===//

#include "dialects/Lumen/ConstantData.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir;
using namespace lumen;

bool lumen::isScalarType(Type type) {
  if (isa<IntegerType, FloatType>(type))
    return type.getIntOrFloatBitWidth() <= 64;
  return type.isIndex();
}

static bool isUnsigned(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

static unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

static APFloat toAPFloat(double value, FloatType type) {
  APFloat result(value);
  bool losesInfo;
  result.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return result;
}

static double toDouble(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

static int64_t wrap(int64_t value, Type type) {
  unsigned width = widthOf(type);
  if (width >= 64)
    return value;
  return isUnsigned(type) ? value & int64_t(llvm::maskTrailingOnes<uint64_t>(width))
                          : llvm::SignExtend64(value, width);
}

Scalar lumen::roundToType(Scalar value, Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  if (!floatType)
    return Scalar::ofInteger(wrap(value.integer, type));
  if (type.isF64())
    return value;
  if (type.isF32())
    return Scalar::ofReal(float(value.real));
  return Scalar::ofReal(toDouble(toAPFloat(value.real, floatType)));
}

Scalar lumen::makeScalar(double value, Type type) {
  return roundToType(
      isa<FloatType>(type) ? Scalar::ofReal(value) : Scalar::ofInteger(int64_t(value)), type);
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

/// Dense elements over the bytes of a blob of at most that many.
static DenseElementsAttr readBlob(lumen::BlobAttr blob, int64_t most) {
  auto type = dyn_cast<RankedTensorType>(blob.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() > most)
    return {};
  Type element = type.getElementType();
  if (!isScalarType(element) || (widthOf(element) % 8 != 0))
    return {};
  auto *dialect = blob.getContext()->getLoadedDialect<LumenDialect>();
  ArrayRef<char> bytes = dialect->getBlobs().bytes(blob);
  if (bytes.size() != size_t(type.getNumElements()) * widthOf(element) / 8 || bytes.empty())
    return {};
  return DenseElementsAttr::getFromRawBuffer(type, bytes);
}

std::optional<ConstantData> ConstantData::get(Attribute attribute, int64_t most) {
  if (auto blob = dyn_cast_or_null<lumen::BlobAttr>(attribute))
    attribute = readBlob(blob, most);
  auto dense = dyn_cast_or_null<DenseElementsAttr>(attribute);
  auto type = dense ? dyn_cast<RankedTensorType>(dense.getType()) : RankedTensorType();
  if (!type || !isScalarType(type.getElementType()))
    return std::nullopt;
  int64_t count = dense.isSplat() ? 1 : type.getNumElements();
  if (count > most)
    return std::nullopt;

  SmallVector<Scalar> values;
  values.reserve(count);
  Type element = type.getElementType();
  auto push = [&](auto range, auto convert) {
    for (int64_t i = 0; i < count; ++i)
      values.push_back(convert(*(range.begin() + i)));
  };
  if (element.isF32())
    push(dense.getValues<float>(), [](float value) { return Scalar::ofReal(value); });
  else if (isa<FloatType>(element))
    push(dense.getValues<APFloat>(), [](APFloat value) { return Scalar::ofReal(toDouble(value)); });
  else
    push(dense.getValues<APInt>(), [&](APInt value) {
      return Scalar::ofInteger(isUnsigned(element) ? int64_t(value.getZExtValue())
                                                   : value.getSExtValue());
    });
  return ConstantData(type, std::move(values));
}

std::optional<ConstantData> ConstantData::get(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  return constant ? get(constant.getValue()) : std::nullopt;
}

std::optional<bool> lumen::getConstantCondition(Value value) {
  std::optional<ConstantData> data = ConstantData::get(value);
  return data && data->size() > 0 ? std::optional<bool>((*data)[0].integer != 0) : std::nullopt;
}

unsigned lumen::getElementBytes(Type type) {
  if (type.isInteger(1))
    return 1;
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * getElementBytes(complex.getElementType());
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() % 8)
    return 0;
  return type.getIntOrFloatBitWidth() / 8;
}

static DenseElementsAttr makeDense(RankedTensorType type, ArrayRef<char> bytes) {
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  SmallVector<bool> values(bytes.begin(), bytes.end());
  return DenseElementsAttr::get(type, ArrayRef<bool>(values));
}

Value lumen::makeConstant(OpBuilder &builder, Location loc, RankedTensorType type,
                          llvm::function_ref<void(MutableArrayRef<char>)> fill) {
  uint64_t size =
      static_cast<uint64_t>(type.getNumElements()) * getElementBytes(type.getElementType());
  if (type.getNumElements() <= kMaxFoldElements) {
    std::vector<char> bytes(size);
    fill(bytes);
    return ConstantOp::create(builder, loc, makeDense(type, bytes));
  }
  MutableArrayRef<char> bytes;
  MLIRContext *context = builder.getContext();
  uint64_t id = context->getLoadedDialect<LumenDialect>()->getBlobs().allocate(size, bytes);
  fill(bytes);
  return ConstantOp::create(builder, loc, lumen::BlobAttr::get(context, id, 0, size, type));
}

bool ConstantData::isAll(double number) const {
  if (values.empty())
    return false;
  return llvm::all_of(values, [&](Scalar value) {
    return isReal() ? value.real == number : double(value.integer) == number;
  });
}

TypedAttr ConstantData::toAttr() const {
  ArrayRef<Scalar> elements = values;
  // Bit patterns, so that -0.0 and NaN keep their identity.
  if (llvm::all_equal(llvm::map_range(elements, [](Scalar value) { return value.integer; })))
    elements = elements.take_front();
  Type element = getElementType();
  if (element.isF32()) {
    SmallVector<float> floats(llvm::map_range(elements, [](Scalar value) { return value.real; }));
    return DenseElementsAttr::get(type, ArrayRef<float>(floats));
  }
  if (auto floatType = dyn_cast<FloatType>(element)) {
    SmallVector<APFloat> floats(
        llvm::map_range(elements, [&](Scalar value) { return toAPFloat(value.real, floatType); }));
    return DenseElementsAttr::get(type, ArrayRef<APFloat>(floats));
  }
  SmallVector<APInt> integers(llvm::map_range(elements, [&](Scalar value) {
    return APInt(widthOf(element), uint64_t(value.integer), /*isSigned=*/false,
                 /*implicitTrunc=*/true);
  }));
  return DenseElementsAttr::get(type, ArrayRef<APInt>(integers));
}

BinaryKind lumen::combinerOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return BinaryKind::Add;
  case ReduceKind::Max:
    return BinaryKind::Max;
  case ReduceKind::Min:
    return BinaryKind::Min;
  case ReduceKind::Prod:
    return BinaryKind::Mul;
  }
  llvm_unreachable("unknown reduction");
}

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

/// Nothing for kinds that give a boolean.
static std::optional<double> realUnary(UnaryKind kind, double x) {
  switch (kind) {
  case UnaryKind::Abs:
    return std::fabs(x);
  case UnaryKind::Neg:
    return -x;
  case UnaryKind::Sign:
    return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
  case UnaryKind::Relu:
    return x < 0 ? 0.0 : x;
  case UnaryKind::Reciprocal:
    return 1.0 / x;
  case UnaryKind::Sqrt:
    return std::sqrt(x);
  case UnaryKind::Rsqrt:
    return 1.0 / std::sqrt(x);
  case UnaryKind::Exp:
    return std::exp(x);
  case UnaryKind::Log:
    return std::log(x);
  case UnaryKind::Log1p:
    return std::log1p(x);
  case UnaryKind::Expm1:
    return std::expm1(x);
  case UnaryKind::Tanh:
    return std::tanh(x);
  case UnaryKind::Sigmoid:
    return 1.0 / (1.0 + std::exp(-x));
  case UnaryKind::Erf:
    return std::erf(x);
  case UnaryKind::Sin:
    return std::sin(x);
  case UnaryKind::Cos:
    return std::cos(x);
  case UnaryKind::Tan:
    return std::tan(x);
  case UnaryKind::Asin:
    return std::asin(x);
  case UnaryKind::Acos:
    return std::acos(x);
  case UnaryKind::Atan:
    return std::atan(x);
  case UnaryKind::Sinh:
    return std::sinh(x);
  case UnaryKind::Cosh:
    return std::cosh(x);
  case UnaryKind::Asinh:
    return std::asinh(x);
  case UnaryKind::Acosh:
    return std::acosh(x);
  case UnaryKind::Atanh:
    return std::atanh(x);
  case UnaryKind::Floor:
    return std::floor(x);
  case UnaryKind::Ceil:
    return std::ceil(x);
  case UnaryKind::RoundEven:
    return std::nearbyint(x);
  case UnaryKind::Not:
  case UnaryKind::IsNan:
  case UnaryKind::IsInf:
    return std::nullopt;
  }
  llvm_unreachable("unknown unary kind");
}

std::optional<Scalar> lumen::evaluateUnary(UnaryKind kind, Type type, Scalar operand) {
  if (isa<FloatType>(type)) {
    if (kind == UnaryKind::IsNan)
      return Scalar::ofInteger(std::isnan(operand.real));
    if (kind == UnaryKind::IsInf)
      return Scalar::ofInteger(std::isinf(operand.real));
    std::optional<double> result = realUnary(kind, operand.real);
    if (!result)
      return std::nullopt;
    return roundToType(Scalar::ofReal(*result), type);
  }
  int64_t x = operand.integer;
  auto integer = [&](int64_t value) { return Scalar::ofInteger(wrap(value, type)); };
  switch (kind) {
  case UnaryKind::Abs:
    return integer(!isUnsigned(type) && x < 0 ? int64_t(-uint64_t(x)) : x);
  case UnaryKind::Neg:
    return integer(int64_t(-uint64_t(x)));
  case UnaryKind::Sign:
    return integer(x == 0 ? 0 : isUnsigned(type) || x > 0 ? 1 : -1);
  case UnaryKind::Relu:
    return integer(!isUnsigned(type) && x < 0 ? 0 : x);
  case UnaryKind::Not:
    return integer(~x);
  case UnaryKind::Floor:
  case UnaryKind::Ceil:
  case UnaryKind::RoundEven:
    return operand;
  default:
    return std::nullopt;
  }
}

static std::optional<double> realBinary(BinaryKind kind, double a, double b) {
  bool anyNan = std::isnan(a) || std::isnan(b);
  switch (kind) {
  case BinaryKind::Add:
    return a + b;
  case BinaryKind::Sub:
    return a - b;
  case BinaryKind::Mul:
    return a * b;
  case BinaryKind::Div:
    return a / b;
  case BinaryKind::Max:
    return anyNan ? std::nan("") : std::fmax(a, b);
  case BinaryKind::Min:
    return anyNan ? std::nan("") : std::fmin(a, b);
  case BinaryKind::Pow:
    return std::pow(a, b);
  case BinaryKind::Rem:
    return std::fmod(a, b);
  case BinaryKind::Mod: {
    double rem = std::fmod(a, b);
    return rem != 0 && (rem < 0) != (b < 0) ? rem + b : rem;
  }
  default:
    return std::nullopt;
  }
}

static std::optional<int64_t> integerPow(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return std::nullopt;
  uint64_t result = 1, square = base;
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1)
      result *= square;
  return int64_t(result);
}

static std::optional<int64_t> integerBinary(BinaryKind kind, Type type, int64_t a, int64_t b) {
  bool isUns = isUnsigned(type);
  uint64_t ua = a, ub = b, width = widthOf(type);
  switch (kind) {
  case BinaryKind::Add:
    return int64_t(ua + ub);
  case BinaryKind::Sub:
    return int64_t(ua - ub);
  case BinaryKind::Mul:
    return int64_t(ua * ub);
  case BinaryKind::Max:
    return (isUns ? ua > ub : a > b) ? a : b;
  case BinaryKind::Min:
    return (isUns ? ua < ub : a < b) ? a : b;
  case BinaryKind::And:
    return a & b;
  case BinaryKind::Or:
    return a | b;
  case BinaryKind::Xor:
    return a ^ b;
  case BinaryKind::Pow:
    return integerPow(a, b);
  case BinaryKind::ShiftLeft:
    return ub >= width ? 0 : int64_t(ua << ub);
  case BinaryKind::ShiftRight:
    if (ub >= width)
      return 0;
    return isUns ? int64_t(ua >> ub) : a >> b;
  case BinaryKind::Div:
  case BinaryKind::Rem:
  case BinaryKind::Mod:
    break;
  }
  // Where the hardware traps the result is left to the device.
  if (b == 0 || (!isUns && b == -1))
    return b == -1 && kind == BinaryKind::Div ? std::optional<int64_t>(int64_t(-ua))
           : b == -1                          ? std::optional<int64_t>(0)
                                              : std::nullopt;
  if (kind == BinaryKind::Div)
    return isUns ? int64_t(ua / ub) : a / b;
  int64_t rem = isUns ? int64_t(ua % ub) : a % b;
  if (kind == BinaryKind::Mod && !isUns && rem != 0 && (rem < 0) != (b < 0))
    rem += b;
  return rem;
}

std::optional<Scalar> lumen::evaluateBinary(BinaryKind kind, Type type, Scalar lhs, Scalar rhs) {
  if (isa<FloatType>(type)) {
    std::optional<double> result = realBinary(kind, lhs.real, rhs.real);
    if (!result)
      return std::nullopt;
    return roundToType(Scalar::ofReal(*result), type);
  }
  std::optional<int64_t> result = integerBinary(kind, type, lhs.integer, rhs.integer);
  if (!result)
    return std::nullopt;
  return Scalar::ofInteger(wrap(*result, type));
}

template <typename T> static bool compareNumbers(CompareKind kind, T a, T b) {
  switch (kind) {
  case CompareKind::Eq:
    return a == b;
  case CompareKind::Ne:
    return a != b;
  case CompareKind::Lt:
    return a < b;
  case CompareKind::Le:
    return a <= b;
  case CompareKind::Gt:
    return a > b;
  case CompareKind::Ge:
    return a >= b;
  }
  llvm_unreachable("unknown comparison");
}

bool lumen::evaluateCompare(CompareKind kind, Type type, Scalar lhs, Scalar rhs) {
  if (isa<FloatType>(type))
    return compareNumbers(kind, lhs.real, rhs.real);
  if (isUnsigned(type))
    return compareNumbers(kind, uint64_t(lhs.integer), uint64_t(rhs.integer));
  return compareNumbers(kind, lhs.integer, rhs.integer);
}

/// Truncates; out of range saturates and NaN gives 0, as generated code does.
static int64_t realToInteger(double value, Type to) {
  if (std::isnan(value))
    return 0;
  unsigned width = widthOf(to);
  double low = isUnsigned(to) ? 0.0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, isUnsigned(to) ? width : width - 1);
  value = std::trunc(value);
  if (value < low)
    return isUnsigned(to) ? 0 : int64_t(~uint64_t(0) << (width - 1));
  if (value >= high)
    return int64_t(llvm::maskTrailingOnes<uint64_t>(isUnsigned(to) ? width : width - 1));
  return value >= 0 ? int64_t(uint64_t(value)) : int64_t(value);
}

Scalar lumen::evaluateConvert(Type from, Type to, Scalar operand) {
  bool fromReal = isa<FloatType>(from), toReal = isa<FloatType>(to);
  if (to.isInteger(1))
    return Scalar::ofInteger(fromReal ? operand.real != 0 : operand.integer != 0);
  if (fromReal && toReal)
    return roundToType(operand, to);
  if (fromReal)
    return Scalar::ofInteger(realToInteger(operand.real, to));
  if (!toReal)
    return Scalar::ofInteger(wrap(operand.integer, to));
  // Through double, a 64-bit integer would be rounded twice.
  if (to.isF32())
    return Scalar::ofReal(isUnsigned(from) ? float(uint64_t(operand.integer))
                                           : float(operand.integer));
  double real = isUnsigned(from) ? double(uint64_t(operand.integer)) : double(operand.integer);
  return roundToType(Scalar::ofReal(real), to);
}
