//===- SizesData.cpp - arithmetic of small tensors over symbols -----------===//

#include "dialects/Lumen/SizesData.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace lumen;

using Element = SizesElement;
using MaybeElement = std::optional<SizesElement>;

/// Shapes have few dimensions; larger tensors are data.
static constexpr int64_t kMaxElements = 64;
/// Operations between `lumen.sizes` and a result, through tensors that are no
/// sizes themselves: floats, tables.
static constexpr unsigned kMaxDepth = 10;
/// Denominators above this are none that a model writes down.
static constexpr int64_t kMaxDenominator = 1 << 20;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static Type elementOf(Value value) { return typeOf(value).getElementType(); }

static bool isSmall(RankedTensorType type) {
  return type && type.hasStaticShape() && type.getNumElements() <= kMaxElements &&
         isScalarType(type.getElementType());
}

/// Whether sizes keep their value in this type.
static bool holdsSizes(Type element) {
  return isa<IntegerType>(element)
             ? element.getIntOrFloatBitWidth() >= 32
             : isa<FloatType>(element) && element.getIntOrFloatBitWidth() >= 32;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static MaybeElement ratio(const SymExpr &over, int64_t under = 1) {
  if (!over.isValid() || under < 1 || under > kMaxDenominator)
    return std::nullopt;
  int64_t common = std::gcd(over.knownDivisor(), under);
  if (common <= 1)
    return Element{over, under};
  SymExpr reduced = SymExpr::floorDiv(over, common);
  return Element{reduced, under / common};
}

/// A number as a fraction; nothing for one that is no multiple of a power of two
/// within the range of denominators.
static MaybeElement fromScalar(Scalar scalar, Type element) {
  if (!isa<FloatType>(element))
    return Element{scalar.integer, 1};
  for (int64_t under = 1; under <= kMaxDenominator; under *= 2)
    if (double over = scalar.real * double(under);
        over == std::trunc(over) && std::fabs(over) < 0x1p53)
      return ratio(int64_t(over), under);
  return std::nullopt;
}

static std::optional<Scalar> toScalar(const Element &element, Type type) {
  std::optional<int64_t> over = element.over.asConstant();
  if (!over)
    return std::nullopt;
  if (isa<FloatType>(type))
    return roundToType(Scalar::ofReal(double(*over) / double(element.under)), type);
  return roundToType(Scalar::ofInteger(*over), type);
}

/// Both over the same denominator.
static std::pair<SymExpr, SymExpr> aligned(const Element &a, const Element &b) {
  return {a.over * SymExpr(b.under), b.over * SymExpr(a.under)};
}

static MaybeElement divideReal(const Element &a, const Element &b) {
  auto [over, under] = aligned(a, b);
  if (std::optional<int64_t> constant = under.asConstant(); constant && *constant != 0)
    return *constant > 0 ? ratio(over, *constant) : ratio(SymExpr(0) - over, -*constant);
  SymExpr quotient = SymExpr::floorDiv(over, under);
  if (quotient.isValid() && quotient * under == over)
    return ratio(quotient);
  return std::nullopt;
}

static MaybeElement binary(BinaryKind kind, Type type, const Element &a, const Element &b) {
  bool isReal = isa<FloatType>(type);
  auto [x, y] = aligned(a, b);
  switch (kind) {
  case BinaryKind::Add:
    return ratio(x + y, a.under * b.under);
  case BinaryKind::Sub:
    return ratio(x - y, a.under * b.under);
  case BinaryKind::Mul:
    return ratio(a.over * b.over, a.under * b.under);
  case BinaryKind::Min:
    return ratio(SymExpr::min(x, y), a.under * b.under);
  case BinaryKind::Max:
    return ratio(SymExpr::max(x, y), a.under * b.under);
  case BinaryKind::Div: {
    if (isReal)
      return divideReal(a, b);
    SymExpr quotient = SymExpr::floorDiv(x, y);
    // Truncation is a floor where nothing is negative; a zero is left to the run.
    bool isFloor = (x.isNonNegative() && y.isNonNegative()) || quotient * y == x;
    return isFloor ? ratio(quotient) : std::nullopt;
  }
  case BinaryKind::Rem:
    if (isReal || !x.isNonNegative() || !y.isNonNegative())
      return std::nullopt;
    return ratio(x - y * SymExpr::floorDiv(x, y));
  case BinaryKind::Mod:
    return isReal ? std::nullopt : ratio(x - y * SymExpr::floorDiv(x, y));
  case BinaryKind::Pow: {
    std::optional<int64_t> exponent = y.asConstant();
    if (b.under != 1 || a.under != 1 || !exponent || *exponent < 0 || *exponent > 4)
      return std::nullopt;
    SymExpr power(1);
    for (int64_t i = 0; i < *exponent; ++i)
      power *= a.over;
    return ratio(power);
  }
  default:
    return std::nullopt;
  }
}

static MaybeElement unary(UnaryKind kind, const Element &x) {
  bool isWhole = x.under == 1;
  SymExpr negated = SymExpr(0) - x.over;
  switch (kind) {
  case UnaryKind::Neg:
    return ratio(negated, x.under);
  case UnaryKind::Abs:
    return x.over.isNonNegative() ? MaybeElement(x) : ratio(SymExpr::max(x.over, negated), x.under);
  case UnaryKind::Relu:
    return ratio(SymExpr::max(x.over, 0), x.under);
  case UnaryKind::Sign:
    return x.over.isPositive() ? ratio(1) : negated.isPositive() ? ratio(-1) : std::nullopt;
  case UnaryKind::Floor:
    return ratio(SymExpr::floorDiv(x.over, x.under));
  case UnaryKind::Ceil:
    return ratio(SymExpr::ceilDiv(x.over, x.under));
  case UnaryKind::RoundEven:
    return isWhole ? MaybeElement(x) : std::nullopt;
  default:
    return std::nullopt;
  }
}

static MaybeElement convert(Type from, Type to, const Element &x) {
  if (to.isInteger(1))
    return x.over.isPositive() || (SymExpr(0) - x.over).isPositive() ? ratio(1) : std::nullopt;
  if (!holdsSizes(to))
    return std::nullopt;
  if (isa<FloatType>(to) || x.under == 1)
    return x;
  return x.over.isNonNegative() ? ratio(SymExpr::floorDiv(x.over, x.under)) : std::nullopt;
}

static MaybeElement compare(CompareKind kind, const Element &a, const Element &b) {
  auto [x, y] = aligned(a, b);
  SymExpr up = y - x, down = x - y;
  if (!up.isValid())
    return std::nullopt;
  auto decide = [](bool isTrue, bool isFalse) {
    return isTrue ? ratio(1) : isFalse ? ratio(0) : std::nullopt;
  };
  bool isEqual = x == y, isLess = up.isPositive(), isGreater = down.isPositive();
  bool isAtMost = isEqual || up.isNonNegative(), isAtLeast = isEqual || down.isNonNegative();
  switch (kind) {
  case CompareKind::Eq:
    return decide(isEqual, isLess || isGreater);
  case CompareKind::Ne:
    return decide(isLess || isGreater, isEqual);
  case CompareKind::Lt:
    return decide(isLess, isAtLeast);
  case CompareKind::Le:
    return decide(isAtMost, isGreater);
  case CompareKind::Gt:
    return decide(isGreater, isAtMost);
  case CompareKind::Ge:
    return decide(isAtLeast, isLess);
  }
  llvm_unreachable("unknown comparison");
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {

class Evaluator {
public:
  std::optional<SizesData> get(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!isSmall(type))
      return std::nullopt;
    Operation *op = value.getDefiningOp();
    if (auto sizes = dyn_cast_or_null<SizesOp>(op)) {
      SmallVector<Element> elements;
      for (const SymExpr &size : sizes.getExpressions())
        elements.push_back({size, 1});
      return SizesData(type, std::move(elements));
    }
    if (std::optional<ConstantData> constant = ConstantData::get(value)) {
      SmallVector<Element> elements;
      for (int64_t i = 0; i < type.getNumElements(); ++i) {
        MaybeElement element = fromScalar((*constant)[i], type.getElementType());
        if (!element)
          return std::nullopt;
        elements.push_back(std::move(*element));
      }
      return SizesData(type, std::move(elements));
    }
    return op && depth < kMaxDepth ? evaluate(op) : std::nullopt;
  }

  std::optional<SizesData> evaluate(Operation *op) {
    if (op->getNumResults() != 1 ||
        !isSmall(dyn_cast<RankedTensorType>(op->getResult(0).getType())))
      return std::nullopt;
    ++depth;
    std::optional<SizesData> result =
        llvm::TypeSwitch<Operation *, std::optional<SizesData>>(op)
            .Case<UnaryOp>([&](UnaryOp unaryOp) {
              Type type = elementOf(unaryOp.getOperand());
              return elementwise(
                  op, [&](ArrayRef<Element> x) { return unary(unaryOp.getKind(), x[0]); },
                  [&](ArrayRef<Scalar> x) { return evaluateUnary(unaryOp.getKind(), type, x[0]); });
            })
            .Case<BinaryOp>([&](BinaryOp binaryOp) {
              Type type = elementOf(binaryOp.getLhs());
              return elementwise(
                  op,
                  [&](ArrayRef<Element> x) { return binary(binaryOp.getKind(), type, x[0], x[1]); },
                  [&](ArrayRef<Scalar> x) {
                    return evaluateBinary(binaryOp.getKind(), type, x[0], x[1]);
                  });
            })
            .Case<CompareOp>([&](CompareOp compareOp) {
              return elementwise(op, [&](ArrayRef<Element> x) {
                return compare(compareOp.getKind(), x[0], x[1]);
              });
            })
            .Case<ConvertOp>([&](ConvertOp convertOp) {
              Type from = elementOf(convertOp.getOperand()), to = elementOf(convertOp.getResult());
              return elementwise(
                  op, [&](ArrayRef<Element> x) { return convert(from, to, x[0]); },
                  [&](ArrayRef<Scalar> x) -> std::optional<Scalar> {
                    return evaluateConvert(from, to, x[0]);
                  });
            })
            .Case<SelectOp>([&](SelectOp) {
              return elementwise(op, [&](ArrayRef<Element> x) -> MaybeElement {
                std::optional<int64_t> condition = x[0].over.asConstant();
                return condition ? MaybeElement(x[*condition ? 1 : 2]) : std::nullopt;
              });
            })
            .Case<ReduceOp>([&](ReduceOp reduceOp) { return reduce(reduceOp); })
            .Case<BroadcastOp, ReshapeOp, TransposeOp, SliceOp, ConcatOp>(
                [&](auto) { return move(op, op->getNumOperands()); })
            .Case<PadOp>([&](PadOp) { return move(op, 2); })
            .Case<GatherOp>([&](GatherOp) { return move(op, 1); })
            .Default(std::nullopt);
    --depth;
    return result;
  }

private:
  using OfElements = function_ref<MaybeElement(ArrayRef<Element>)>;
  using OfScalars = function_ref<std::optional<Scalar>(ArrayRef<Scalar>)>;

  /// `ofScalars` is for elements that are all constants, if they have another rule.
  std::optional<SizesData> elementwise(Operation *op, OfElements ofElements,
                                       OfScalars ofScalars = nullptr) {
    SmallVector<SizesData> operands;
    for (Value operand : op->getOperands()) {
      std::optional<SizesData> data = get(operand);
      if (!data)
        return std::nullopt;
      operands.push_back(std::move(*data));
    }
    RankedTensorType type = typeOf(op->getResult(0));
    SmallVector<Element> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      SmallVector<Element> arguments;
      SmallVector<Scalar> scalars;
      for (const SizesData &data : operands) {
        arguments.push_back(data[i]);
        if (std::optional<Scalar> scalar = toScalar(data[i], data.getType().getElementType()))
          scalars.push_back(*scalar);
      }
      MaybeElement element;
      if (ofScalars && scalars.size() == arguments.size()) {
        if (std::optional<Scalar> scalar = ofScalars(scalars))
          element = fromScalar(*scalar, type.getElementType());
      } else {
        element = ofElements(arguments);
      }
      if (!element)
        return std::nullopt;
      elements.push_back(std::move(*element));
    }
    return SizesData(type, std::move(elements));
  }

  /// Moves the numbers of the elements instead of the elements: what the folder for
  /// constants makes of them says where each one comes from.
  std::optional<SizesData> move(Operation *op, unsigned numMoved) {
    RankedTensorType type = typeOf(op->getResult(0));
    SmallVector<Element> all;
    SmallVector<Attribute> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (i >= numMoved) {
        auto constant = operand.getDefiningOp<ConstantOp>();
        if (!constant)
          return std::nullopt;
        operands.push_back(constant.getValue());
        continue;
      }
      std::optional<SizesData> data = get(operand);
      if (!data)
        return std::nullopt;
      SmallVector<Scalar> numbers;
      for (int64_t j = 0; j < data->size(); ++j) {
        numbers.push_back(makeScalar(double(all.size()), type.getElementType()));
        all.push_back((*data)[j]);
      }
      // Booleans and the like cannot count.
      if (!numbers.empty() && !holdsSizes(type.getElementType()))
        return std::nullopt;
      operands.push_back(ConstantData(data->getType(), std::move(numbers)).toAttr());
    }
    std::optional<ConstantData> moved = ConstantData::get(moveElements(op, operands));
    if (!moved)
      return std::nullopt;
    SmallVector<Element> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      elements.push_back(all[moved->isReal() ? int64_t((*moved)[i].real) : (*moved)[i].integer]);
    return SizesData(type, std::move(elements));
  }

  std::optional<SizesData> reduce(ReduceOp op) {
    std::optional<SizesData> data = get(op.getOperand());
    RankedTensorType from = typeOf(op.getOperand()), to = typeOf(op.getResult());
    if (!data || data->size() == 0)
      return std::nullopt;
    BinaryKind kind = combinerOf(op.getKind());
    SmallVector<MaybeElement> totals(to.getNumElements());
    SmallVector<bool> isStarted(totals.size(), false);
    for (int64_t i = 0; i < data->size(); ++i) {
      // The position among the dimensions that stay.
      int64_t position = 0, step = 1, rest = i;
      for (int64_t dim = from.getRank() - 1; dim >= 0; --dim) {
        int64_t index = rest % from.getDimSize(dim);
        rest /= from.getDimSize(dim);
        if (llvm::is_contained(op.getAxes(), dim))
          continue;
        position += index * step;
        step *= from.getDimSize(dim);
      }
      MaybeElement &total = totals[position];
      if (!isStarted[position])
        total = (*data)[i];
      else if (total)
        total = binary(kind, from.getElementType(), *total, (*data)[i]);
      isStarted[position] = true;
    }
    SmallVector<Element> elements;
    for (MaybeElement &total : totals) {
      if (!total)
        return std::nullopt;
      elements.push_back(std::move(*total));
    }
    return SizesData(to, std::move(elements));
  }

  unsigned depth = 0;
};

} // namespace

std::optional<SizesData> SizesData::get(Value value) { return Evaluator().get(value); }
std::optional<SizesData> SizesData::evaluate(Operation *op) { return Evaluator().evaluate(op); }

Sizes SizesData::toSizes() const {
  return llvm::map_to_vector(elements, [](const Element &element) { return element.over; });
}

Attribute SizesData::toAttr() const {
  Type element = type.getElementType();
  SmallVector<Scalar> scalars;
  for (const Element &each : elements)
    if (std::optional<Scalar> scalar = toScalar(each, element))
      scalars.push_back(*scalar);
  if (scalars.size() == elements.size())
    return ConstantData(type, std::move(scalars)).toAttr();
  if (!isa<IntegerType>(element) || !holdsSizes(element) || type.getRank() > 1)
    return {};
  return lumen::toAttr(type.getContext(), toSizes());
}

Attribute lumen::foldSizes(Operation *op) {
  // Floats are on the way only; what is constant among them folds as such.
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !isa<IntegerType>(type.getElementType()))
    return {};
  std::optional<SizesData> data = SizesData::evaluate(op);
  return data && data->size() != 0 ? data->toAttr() : Attribute();
}
