//===- EvaluateConstants.cpp - elementwise operations on constants --------===//
//
// The scalar functions are those of the folders (ConstantData.h); here they run
// over constants of any size, in chunks that stay in the cache, in parallel.
//
//===----------------------------------------------------------------------===//

#include "dialects/Lumen/ConstantData.h"
#include "passes/graph/Constants.h"

#include "llvm/ADT/APFloat.h"

#include <atomic>
#include <cstring>

using namespace mlir;
using namespace lumen;

static constexpr int64_t kChunk = 1024;

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

//===----------------------------------------------------------------------===//
// Elements in memory and as scalars
//===----------------------------------------------------------------------===//

// A weight in a model file may lie at any address: elements are read by copying.
template <typename From>
static void loadAs(const char *data, const int64_t *offsets, int64_t count, Scalar *to) {
  for (int64_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, data + offsets[i] * static_cast<int64_t>(sizeof(From)), sizeof(From));
    if constexpr (std::is_floating_point_v<From>)
      to[i].real = element;
    else
      to[i].integer = static_cast<int64_t>(element);
  }
}

static void load(Type type, const char *data, const int64_t *offsets, int64_t count, Scalar *to) {
  if (type.isF32())
    return loadAs<float>(data, offsets, count, to);
  if (type.isF64())
    return loadAs<double>(data, offsets, count, to);
  if (auto narrow = dyn_cast<FloatType>(type)) {
    loadAs<uint16_t>(data, offsets, count, to);
    for (int64_t i = 0; i < count; ++i)
      to[i].real = llvm::APFloat(narrow.getFloatSemantics(), llvm::APInt(16, to[i].integer))
                       .convertToDouble();
    return;
  }
  bool isUnsigned = type.isUnsignedInteger() || type.isInteger(1);
  switch (getElementBytes(type)) {
  case 1:
    return isUnsigned ? loadAs<uint8_t>(data, offsets, count, to)
                      : loadAs<int8_t>(data, offsets, count, to);
  case 2:
    return isUnsigned ? loadAs<uint16_t>(data, offsets, count, to)
                      : loadAs<int16_t>(data, offsets, count, to);
  case 4:
    return isUnsigned ? loadAs<uint32_t>(data, offsets, count, to)
                      : loadAs<int32_t>(data, offsets, count, to);
  default:
    return loadAs<int64_t>(data, offsets, count, to);
  }
}

template <typename To> static void storeAs(const Scalar *from, int64_t count, char *out) {
  for (int64_t i = 0; i < count; ++i)
    if constexpr (std::is_floating_point_v<To>)
      reinterpret_cast<To *>(out)[i] = static_cast<To>(from[i].real);
    else
      reinterpret_cast<To *>(out)[i] = static_cast<To>(from[i].integer);
}

static void store(Type type, const Scalar *from, int64_t count, char *out) {
  if (type.isF32())
    return storeAs<float>(from, count, out);
  if (type.isF64())
    return storeAs<double>(from, count, out);
  if (auto narrow = dyn_cast<FloatType>(type)) {
    for (int64_t i = 0; i < count; ++i) {
      llvm::APFloat value(from[i].real);
      bool losesInfo;
      value.convert(narrow.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      reinterpret_cast<uint16_t *>(out)[i] = value.bitcastToAPInt().getZExtValue();
    }
    return;
  }
  switch (getElementBytes(type)) {
  case 1:
    return storeAs<uint8_t>(from, count, out);
  case 2:
    return storeAs<uint16_t>(from, count, out);
  case 4:
    return storeAs<uint32_t>(from, count, out);
  default:
    return storeAs<uint64_t>(from, count, out);
  }
}

static bool isHandled(Type type) {
  if (isa<FloatType>(type))
    return type.isF32() || type.isF64() || type.isF16() || type.isBF16();
  return isa<IntegerType>(type) && getElementBytes(type) != 0;
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

/// Computes `to[i]` from one element of each operand; false where the result is
/// not defined. `to` may be the first operand.
static bool evaluateChunk(Operation *op, ArrayRef<const Scalar *> from, int64_t count, Scalar *to) {
  Type element = elementOf(op->getOperand(0)), result = elementOf(op->getResult(0));
  auto each = [&](auto function) {
    for (int64_t i = 0; i < count; ++i) {
      std::optional<Scalar> value = function(i);
      if (!value)
        return false;
      to[i] = *value;
    }
    return true;
  };
  if (auto unary = dyn_cast<UnaryOp>(op))
    return each([&](int64_t i) { return evaluateUnary(unary.getKind(), element, from[0][i]); });
  if (auto convert = dyn_cast<ConvertOp>(op))
    return each(
        [&](int64_t i) { return std::optional(evaluateConvert(element, result, from[0][i])); });
  auto binary = cast<BinaryOp>(op);
  // Whole weights are scaled: this loop is worth its own line.
  if (binary.getKind() == BinaryKind::Mul && (element.isF32() || element.isF64())) {
    for (int64_t i = 0; i < count; ++i)
      to[i].real = from[0][i].real * from[1][i].real;
    return true;
  }
  return each(
      [&](int64_t i) { return evaluateBinary(binary.getKind(), element, from[0][i], from[1][i]); });
}

/// Offsets of the elements `[begin, begin + count)` of a row-major walk.
static void getOffsets(const ConstantView &view, int64_t begin, int64_t count, int64_t *offsets) {
  ArrayRef<int64_t> shape = view.type.getShape();
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

/// Whether an operation takes numbers of few bits out of large constants that pack them.
/// Evaluated they would be several times as large, in the file and in memory.
static bool unpacksBits(Operation *op, ArrayRef<ConstantView> views) {
  auto binary = dyn_cast<BinaryOp>(op);
  if (!binary || binary.getKind() != BinaryKind::ShiftRight)
    return false;
  auto type = cast<RankedTensorType>(binary.getType());
  const ConstantView &packed = views.front();
  return type.getElementType().isUnsignedInteger(8) && !packed.isSplat() && type.hasStaticShape() &&
         type.getNumElements() > kMaxFoldElements;
}

/// Whether a gather picks from a value, after elementwise operations with numbers that are
/// repeated: all in one kernel, which computes what is picked.
static bool isPickedFrom(Value value) {
  if (!value.hasOneUse())
    return false;
  OpOperand &use = *value.use_begin();
  Operation *user = use.getOwner();
  if (user->getBlock() != value.getParentBlock())
    return false;
  if (isa<GatherOp>(user))
    return use.getOperandNumber() == 0;
  auto binary = dyn_cast<BinaryOp>(user);
  if (!binary)
    return isa<UnaryOp, ConvertOp>(user) && isPickedFrom(user->getResult(0));
  Value other = user->getOperand(1 - use.getOperandNumber());
  std::optional<ConstantView> view = viewConstant(other);
  return (other.getDefiningOp<BroadcastOp>() || (view && view->isSplat())) &&
         isPickedFrom(binary.getResult());
}

/// Whether an operation makes numbers of a large table of bytes, of which a run reads a few
/// rows. Evaluated it would be several times as large, in the file and in memory.
static bool widensTable(Operation *op, ArrayRef<ConstantView> views) {
  constexpr int64_t kManyElements = 1 << 16;
  auto convert = dyn_cast<ConvertOp>(op);
  if (!convert || views.front().isSplat())
    return false;
  auto type = cast<RankedTensorType>(convert.getType()),
       from = cast<RankedTensorType>(convert.getOperand().getType());
  return isa<FloatType>(type.getElementType()) && getElementBytes(from.getElementType()) == 1 &&
         type.hasStaticShape() && type.getNumElements() >= kManyElements &&
         isPickedFrom(convert.getResult());
}

Value lumen::evaluateElementwise(OpBuilder &builder, Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!isa<UnaryOp, BinaryOp, ConvertOp>(op) || !isHandled(type.getElementType()))
    return {};
  SmallVector<ConstantView> views;
  for (Value operand : op->getOperands()) {
    std::optional<ConstantView> view = viewRepeated(operand);
    if (!view || !isHandled(elementOf(operand)))
      return {};
    views.push_back(std::move(*view));
  }
  if (unpacksBits(op, views) || widensTable(op, views))
    return {};
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

  std::atomic<bool> isDefined = true;
  auto fill = [&](MutableArrayRef<char> out) {
    int64_t count = reduced.getNumElements(), bytes = getElementBytes(type.getElementType());
    parallelRanges(llvm::divideCeil(count, kChunk), count * 8, [&](int64_t begin, int64_t end) {
      SmallVector<std::vector<Scalar>> chunks(views.size(), std::vector<Scalar>(kChunk));
      SmallVector<const Scalar *> operands;
      for (const std::vector<Scalar> &chunk : chunks)
        operands.push_back(chunk.data());
      std::vector<int64_t> offsets(kChunk);
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        int64_t first = chunk * kChunk, size = std::min(kChunk, count - first);
        for (auto [view, elements] : llvm::zip(views, chunks)) {
          getOffsets(view, first, size, offsets.data());
          load(view.type.getElementType(), view.data, offsets.data(), size, elements.data());
        }
        if (!evaluateChunk(op, operands, size, chunks.front().data()))
          isDefined = false;
        store(type.getElementType(), chunks.front().data(), size, out.data() + first * bytes);
      }
    });
  };
  bool repeats = !type.hasStaticShape() || reduced.getNumElements() != type.getNumElements();
  Value result = makeConstant(builder, op->getLoc(), repeats ? reduced : type, fill);
  if (!isDefined) {
    result.getDefiningOp()->erase();
    return {};
  }
  if (!repeats)
    return result;
  if (shape.empty()) {
    std::optional<ConstantView> view = viewConstant(result);
    return makeSplat(builder, op->getLoc(), type, *view);
  }
  return BroadcastOp::create(builder, op->getLoc(), type, result, kept);
}

Value lumen::evaluateSum(OpBuilder &builder, ReduceOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  std::optional<ConstantView> view = viewConstant(op.getOperand());
  if (op.getKind() != ReduceKind::Sum || !view || !isa<IntegerType>(element) || !isHandled(element))
    return {};
  ArrayRef<int64_t> shape = view->type.getShape();
  // Elements of the result from one index to the next of a dimension.
  SmallVector<int64_t> steps(shape.size(), 0);
  for (int64_t dim = shape.size() - 1, step = 1; dim >= 0; --dim)
    if (!llvm::is_contained(op.getAxes(), dim)) {
      steps[dim] = step;
      step *= shape[dim];
    }
  return makeConstant(builder, op.getLoc(), type, [&](MutableArrayRef<char> out) {
    std::vector<Scalar> sums(type.getNumElements(), Scalar::ofInteger(0)), row(kChunk);
    std::vector<int64_t> offsets(kChunk);
    int64_t count = view->type.getNumElements();
    for (int64_t first = 0; first < count; first += kChunk) {
      int64_t size = std::min(kChunk, count - first);
      getOffsets(*view, first, size, offsets.data());
      load(element, view->data, offsets.data(), size, row.data());
      for (int64_t i = 0; i < size; ++i) {
        int64_t place = 0, rest = first + i;
        for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
          place += rest % shape[dim] * steps[dim];
          rest /= shape[dim];
        }
        sums[place].integer += row[i].integer;
      }
    }
    store(element, sums.data(), sums.size(), out.data());
  });
}
