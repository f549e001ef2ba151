//===- EvaluateConstants.cpp - elementwise operations on constants --------===//
//
// Floating point is computed in double precision and rounded once, integers in
// 64 bits and wrapped, in chunks that stay in the cache.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Constants.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace lumen;

namespace {
constexpr int64_t kChunk = 1024;

/// A chunk of elements; integers use `ints`, floats `floats`.
struct Chunk {
  double floats[kChunk];
  int64_t ints[kChunk];
};
} // namespace

static bool isHandled(Type type) {
  if (isa<FloatType>(type))
    return type.isF32() || type.isF64() || type.isF16() || type.isBF16();
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return false;
  unsigned width = integer.getWidth();
  return width == 1 || width == 8 || width == 16 || width == 32 || width == 64;
}

// A weight in a model file may lie at any address: elements are read by copying.
template <typename From, typename To>
static void loadAs(const char *data, const int64_t *offsets, int64_t count, To *to) {
  for (int64_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, data + offsets[i] * sizeof(From), sizeof(From));
    to[i] = static_cast<To>(element);
  }
}

static void load(Type type, const char *data, const int64_t *offsets, int64_t count, Chunk &to) {
  if (type.isF32())
    return loadAs<float>(data, offsets, count, to.floats);
  if (type.isF64())
    return loadAs<double>(data, offsets, count, to.floats);
  if (auto small = dyn_cast<FloatType>(type)) {
    for (int64_t i = 0; i < count; ++i) {
      uint16_t element;
      std::memcpy(&element, data + offsets[i] * sizeof(element), sizeof(element));
      llvm::APInt bits(16, element);
      to.floats[i] = llvm::APFloat(small.getFloatSemantics(), bits).convertToDouble();
    }
    return;
  }
  bool isUnsigned = type.isUnsignedInteger();
  switch (getElementBytes(type)) {
  case 1:
    return isUnsigned ? loadAs<uint8_t>(data, offsets, count, to.ints)
                      : loadAs<int8_t>(data, offsets, count, to.ints);
  case 2:
    return isUnsigned ? loadAs<uint16_t>(data, offsets, count, to.ints)
                      : loadAs<int16_t>(data, offsets, count, to.ints);
  case 4:
    return isUnsigned ? loadAs<uint32_t>(data, offsets, count, to.ints)
                      : loadAs<int32_t>(data, offsets, count, to.ints);
  default:
    return loadAs<int64_t>(data, offsets, count, to.ints);
  }
}

template <typename To, typename From>
static void storeAs(const From *from, int64_t count, char *out) {
  for (int64_t i = 0; i < count; ++i)
    reinterpret_cast<To *>(out)[i] = static_cast<To>(from[i]);
}

static void store(Type type, const Chunk &from, int64_t count, char *out) {
  if (type.isF32())
    return storeAs<float>(from.floats, count, out);
  if (type.isF64())
    return storeAs<double>(from.floats, count, out);
  if (auto small = dyn_cast<FloatType>(type)) {
    for (int64_t i = 0; i < count; ++i) {
      llvm::APFloat value(from.floats[i]);
      bool lossy;
      value.convert(small.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lossy);
      reinterpret_cast<uint16_t *>(out)[i] = value.bitcastToAPInt().getZExtValue();
    }
    return;
  }
  switch (getElementBytes(type)) {
  case 1:
    return storeAs<uint8_t>(from.ints, count, out);
  case 2:
    return storeAs<uint16_t>(from.ints, count, out);
  case 4:
    return storeAs<uint32_t>(from.ints, count, out);
  default:
    return storeAs<uint64_t>(from.ints, count, out);
  }
}

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

using FloatUnary = double (*)(double);
using FloatBinary = double (*)(double, double);
using IntBinary = int64_t (*)(int64_t, int64_t);

static FloatUnary getFloatUnary(UnaryKind kind) {
  switch (kind) {
  case UnaryKind::Abs:
    return std::fabs;
  case UnaryKind::Neg:
    return [](double x) { return -x; };
  case UnaryKind::Relu:
    return [](double x) { return x < 0 ? 0.0 : x; };
  case UnaryKind::Reciprocal:
    return [](double x) { return 1.0 / x; };
  case UnaryKind::Sqrt:
    return std::sqrt;
  case UnaryKind::Rsqrt:
    return [](double x) { return 1.0 / std::sqrt(x); };
  case UnaryKind::Exp:
    return std::exp;
  case UnaryKind::Log:
    return std::log;
  case UnaryKind::Tanh:
    return std::tanh;
  case UnaryKind::Sigmoid:
    return [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  case UnaryKind::Erf:
    return std::erf;
  case UnaryKind::Sin:
    return std::sin;
  case UnaryKind::Cos:
    return std::cos;
  case UnaryKind::Floor:
    return std::floor;
  case UnaryKind::Ceil:
    return std::ceil;
  default:
    return nullptr;
  }
}

static FloatBinary getFloatBinary(BinaryKind kind) {
  switch (kind) {
  case BinaryKind::Add:
    return [](double a, double b) { return a + b; };
  case BinaryKind::Sub:
    return [](double a, double b) { return a - b; };
  case BinaryKind::Mul:
    return [](double a, double b) { return a * b; };
  case BinaryKind::Div:
    return [](double a, double b) { return a / b; };
  case BinaryKind::Pow:
    return [](double a, double b) { return std::pow(a, b); };
  case BinaryKind::Max:
    return [](double a, double b) { return std::isnan(a) || a > b ? a : b; };
  case BinaryKind::Min:
    return [](double a, double b) { return std::isnan(a) || a < b ? a : b; };
  default:
    return nullptr;
  }
}

// Wrapping arithmetic is that of unsigned integers.
static IntBinary getIntBinary(BinaryKind kind) {
  switch (kind) {
  case BinaryKind::Add:
    return [](int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); };
  case BinaryKind::Sub:
    return [](int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); };
  case BinaryKind::Mul:
    return [](int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); };
  case BinaryKind::And:
    return [](int64_t a, int64_t b) { return a & b; };
  case BinaryKind::Or:
    return [](int64_t a, int64_t b) { return a | b; };
  case BinaryKind::Xor:
    return [](int64_t a, int64_t b) { return a ^ b; };
  default:
    return nullptr;
  }
}

namespace {
/// One elementwise op as a function over chunks.
struct Evaluation {
  FloatUnary floatUnary = nullptr;
  FloatBinary floatBinary = nullptr;
  IntBinary intBinary = nullptr;
  bool convert = false;

  static std::optional<Evaluation> get(Operation *op) {
    Type result = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
    Evaluation evaluation;
    for (Value operand : op->getOperands())
      if (!isHandled(cast<RankedTensorType>(operand.getType()).getElementType()))
        return std::nullopt;
    if (!isHandled(result))
      return std::nullopt;
    if (auto unary = dyn_cast<UnaryOp>(op)) {
      if (isa<FloatType>(result))
        evaluation.floatUnary = getFloatUnary(unary.getKind());
    } else if (auto binary = dyn_cast<BinaryOp>(op)) {
      if (isa<FloatType>(result))
        evaluation.floatBinary = getFloatBinary(binary.getKind());
      else
        evaluation.intBinary = getIntBinary(binary.getKind());
    } else if (auto convert = dyn_cast<ConvertOp>(op)) {
      // Float to integer has corner cases that the run-time kernel defines.
      Type from = cast<RankedTensorType>(convert.getOperand().getType()).getElementType();
      bool fromUnsigned64 = from.isUnsignedInteger(64);
      evaluation.convert = isa<FloatType>(result) ? !fromUnsigned64 : isa<IntegerType>(from);
      if (result.isInteger(1))
        evaluation.convert = false;
    }
    if (!evaluation.floatUnary && !evaluation.floatBinary && !evaluation.intBinary &&
        !evaluation.convert)
      return std::nullopt;
    return evaluation;
  }

  void run(bool fromInteger, bool toFloat, Chunk &a, Chunk &b, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      if (floatBinary)
        a.floats[i] = floatBinary(a.floats[i], b.floats[i]);
      else if (floatUnary)
        a.floats[i] = floatUnary(a.floats[i]);
      else if (intBinary)
        a.ints[i] = intBinary(a.ints[i], b.ints[i]);
      else if (fromInteger && toFloat)
        a.floats[i] = static_cast<double>(a.ints[i]);
    }
  }
};
} // namespace

/// Offsets of the elements `[begin, begin + count)` of a row-major walk.
static void getOffsets(const ConstantView &view, ArrayRef<int64_t> shape, int64_t begin,
                       int64_t count, int64_t *offsets) {
  int64_t rank = shape.size();
  if (rank == 0) {
    offsets[0] = 0;
    return;
  }
  SmallVector<int64_t> index(rank);
  for (int64_t dim = rank - 1, rest = begin; dim >= 0; --dim) {
    index[dim] = rest % shape[dim];
    rest /= shape[dim];
  }
  const std::vector<int64_t> &last = view.tables.back();
  for (int64_t done = 0; done < count;) {
    int64_t base = 0;
    for (int64_t dim = 0; dim + 1 < rank; ++dim)
      base += view.tables[dim][index[dim]];
    int64_t run = std::min(shape.back() - index.back(), count - done);
    for (int64_t i = 0; i < run; ++i)
      offsets[done + i] = base + last[index.back() + i];
    done += run;
    index.back() += run;
    for (int64_t dim = rank - 1; dim > 0 && index[dim] == shape[dim]; --dim) {
      index[dim] = 0;
      ++index[dim - 1];
    }
  }
}

Value lumen::evaluateElementwise(OpBuilder &builder, Operation *op) {
  std::optional<Evaluation> evaluation = Evaluation::get(op);
  if (!evaluation)
    return {};
  SmallVector<ConstantView> views;
  for (Value operand : op->getOperands()) {
    std::optional<ConstantView> view = viewConstant(operand);
    if (!view)
      return {};
    views.push_back(std::move(*view));
  }
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  // Dimensions along which all operands repeat are left to a broadcast.
  SmallVector<int64_t> kept, shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::all_of(views, [&](const ConstantView &view) { return view.isConstantAlong(dim); })) {
      kept.push_back(dim);
      shape.push_back(type.getDimSize(dim));
    }
  auto reduced = RankedTensorType::get(shape, type.getElementType());
  for (ConstantView &view : views)
    view = view.restrictedTo(kept);

  Type from = views[0].type.getElementType(), to = type.getElementType();
  auto fill = [&](MutableArrayRef<char> out) {
    int64_t count = reduced.getNumElements(), bytes = getElementBytes(to);
    parallelRanges(llvm::divideCeil(count, kChunk), count * 8, [&](int64_t begin, int64_t end) {
      auto a = std::make_unique<Chunk>(), b = std::make_unique<Chunk>();
      int64_t offsets[kChunk];
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        int64_t first = chunk * kChunk, size = std::min(kChunk, count - first);
        getOffsets(views[0], shape, first, size, offsets);
        load(from, views[0].data, offsets, size, *a);
        if (views.size() > 1) {
          getOffsets(views[1], shape, first, size, offsets);
          load(from, views[1].data, offsets, size, *b);
        }
        evaluation->run(isa<IntegerType>(from), isa<FloatType>(to), *a, *b, size);
        store(to, *a, size, out.data() + first * bytes);
      }
    });
  };
  if (reduced.getNumElements() == type.getNumElements())
    return makeConstant(builder, op->getLoc(), type, fill);
  Value result = makeConstant(builder, op->getLoc(), reduced, fill);
  if (shape.empty()) {
    std::optional<ConstantView> view = viewConstant(result);
    return makeSplat(builder, op->getLoc(), type, *view);
  }
  return BroadcastOp::create(builder, op->getLoc(), type, result, kept);
}
