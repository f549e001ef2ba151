//===- Movement.cpp - operators that change the place of elements ---------===//

#include "passes/onnx-to-lumen/Axes.h"

using namespace mlir;
using namespace lumen;

static LogicalResult transpose(Node &node) {
  int64_t rank = node.inputType(0).getRank();
  SmallVector<int64_t> perm = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  if (std::optional<SmallVector<int64_t>> given = node.integers("perm")) {
    SmallVector<int64_t> sorted = *given;
    llvm::sort(sorted);
    if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
      return node.error() << "attribute 'perm' is [" << llvm::ArrayRef<int64_t>(*given)
                          << "], expected a permutation of " << rank << " dimensions";
    perm = std::move(*given);
  }
  return node.yield(node.emit.transpose(node.input(0), perm));
}

//===----------------------------------------------------------------------===//
// Slice and Split
//===----------------------------------------------------------------------===//

using BK = BinaryKind;
using CK = CompareKind;

/// A bound of Slice as a position: it counts from the end where it is negative, and
/// is clamped to `least` and `most`.
static Value clampBound(Emitter &emit, Value bound, const SymExpr &size, const SymExpr &least,
                        const SymExpr &most) {
  if (std::optional<SymExpr> expr = Emitter::known(bound)) {
    // No dimension is as long; and what stands for infinity should not overflow.
    constexpr int64_t kInfinity = int64_t(1) << 48;
    std::optional<int64_t> constant = expr->asConstant();
    if (constant && std::abs(std::max<int64_t>(*constant, -kInfinity)) >= kInfinity)
      return emit.size(*constant > 0 ? most : least);
    // With [x < 0] as min(max(-x, 0), 1), which is a constant for most bounds.
    SymExpr isNegative = SymExpr::min(SymExpr::max(SymExpr(0) - *expr, 0), 1);
    SymExpr position = *expr + size * isNegative;
    return emit.size(SymExpr::max(SymExpr::min(position, most), least));
  }
  Value wrapped = emit.binary(BK::Add, bound, size);
  Value position = emit.select(emit.compare(CK::Lt, bound, 0.0), wrapped, bound);
  return emit.binary(BK::Max, emit.binary(BK::Min, position, most), least);
}

/// end - start, of which what is negative counts as 0: in the form that equals other
/// sizes where expressions have several.
static Value distanceUp(Emitter &emit, Value given, Value start, Value end, const SymExpr &size) {
  std::optional<SymExpr> bound = Emitter::known(given), last = Emitter::known(end);
  std::optional<int64_t> constant = bound ? bound->asConstant() : std::nullopt;
  if (!constant || size.asConstant() || *constant == INT64_MIN)
    return emit.binary(BK::Sub, end, start);
  // The last elements are min(n, count), and those behind the first max(n - count, 0).
  if (*constant < 0 && last == size)
    return emit.size(SymExpr::min(size, -*constant));
  return *constant < 0 ? emit.binary(BK::Sub, end, start)
                       : emit.binary(BK::Sub, end, emit.size(*constant));
}

namespace {

/// The part of a dimension that Slice takes.
struct Walk {
  SymExpr offset, count, step;
};

} // namespace

static Walk readWalk(Node &node, const SymExpr &size, Value givenStart, Value givenEnd,
                     Value givenStep) {
  Emitter &emit = node.emit;
  // The least int64 has no magnitude, and no dimension is as long as 2^48.
  constexpr int64_t kLongest = int64_t(1) << 48;
  int64_t longest = size.asConstant().value_or(kLongest) + 1;
  givenStep =
      emit.binary(BK::Max, emit.binary(BK::Min, givenStep, double(longest)), -double(longest));
  SymExpr step = node.bindSigned(givenStep), length = SymExpr::max(step, SymExpr(0) - step);
  emit.check(CheckKind::LessEqual, 1, length, "the length of a step");
  // Bounds are clamped to the elements that a walk in the step's direction can meet.
  SymExpr isDown = SymExpr::min(SymExpr::max(SymExpr(0) - step, 0), 1), most = size - isDown;
  Value start = clampBound(emit, givenStart, size, 0, SymExpr::max(most, 0));
  Value end = clampBound(emit, givenEnd, size, SymExpr(0) - isDown, most);
  // ceil((end - start) / step), or nothing.
  Value distance = isDown == SymExpr(0)
                       ? distanceUp(emit, givenStart, start, end, size)
                       : emit.binary(BK::Mul, emit.binary(BK::Sub, start, end), isDown * 2 - 1);
  distance = emit.binary(BK::Min, emit.binary(BK::Max, distance, 0.0), size);
  if (length != SymExpr(1))
    distance =
        emit.binary(BK::Div, emit.binary(BK::Add, distance, length - 1), SymExpr::max(length, 1));
  // The size of the operand bounds both.
  Walk walk{0, node.bind(distance, size), step};
  if (walk.count != SymExpr(0))
    walk.offset = node.bind(start, size);
  return walk;
}

static LogicalResult slice(Node &node) {
  Sizes shape = node.inputShape(0);
  int64_t rank = shape.size();
  auto starts = node.integerList("starts", 1, 10), ends = node.integerList("ends", 2, 10);
  auto given = node.integerList("axes", 3, 10), steps = node.integerList("steps", 4, 10);
  if (failed(starts) || failed(ends) || failed(given) || failed(steps))
    return failure();
  if (!*starts || !*ends)
    return node.error() << (*starts ? "ends are missing" : "starts are missing");
  size_t count = (*starts)->size();
  auto checkCount = [&](StringRef name, size_t given) -> LogicalResult {
    if (given == count)
      return success();
    return node.error() << name << " have " << given << " entries, but starts have " << count;
  };
  if (failed(checkCount("ends", (*ends)->size())) ||
      (*given && failed(checkCount("axes", (*given)->size()))) ||
      (*steps && failed(checkCount("steps", (*steps)->size()))))
    return failure();
  if (!*given && count > shape.size())
    return node.error() << "starts have " << count << " entries, but the input has " << rank
                        << " dimensions";
  FailureOr<Axes> axes = *given ? Axes::of(node, **given, rank) : Axes::first(node, count, rank);
  if (failed(axes))
    return failure();

  Emitter &emit = node.emit;
  if (*steps)
    for (Value step : **steps)
      if (Emitter::known(step) == SymExpr(0))
        return node.error() << "steps have the entry 0";
  Sizes offsets(rank, SymExpr(0)), sizes(shape);
  SmallVector<int64_t> strides(rank, 1);
  SmallVector<std::pair<int64_t, Walk>> walks; // of which only the run knows the step
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (!axes->mayContain(dim) || shape[dim] == SymExpr(0))
      continue;
    Value one = emit.size(1);
    Walk walk = readWalk(node, shape[dim], axes->select(dim, **starts, emit.size(0)),
                         axes->select(dim, **ends, emit.size(std::numeric_limits<int64_t>::max())),
                         *steps ? axes->select(dim, **steps, one) : one);
    std::optional<int64_t> step = walk.step.asConstant();
    if (!step) {
      walks.push_back({dim, walk});
      continue;
    }
    sizes[dim] = walk.count;
    offsets[dim] = walk.offset;
    strides[dim] = walk.count == SymExpr(0) || isOne(walk.count) ? 1 : *step;
  }
  Value result = emit.slice(node.input(0), offsets, sizes, strides);
  for (const auto &[dim, walk] : walks) {
    Value index = emit.iota(tensorTypeOf({walk.count}, emit.builder.getI64Type()), 0);
    index = emit.binary(BK::Add, emit.binary(BK::Mul, index, walk.step), walk.offset);
    result = emit.gather(result, index, dim);
  }
  return node.yield(result);
}

/// Sizes are an attribute before version 13, an input since; num_outputs since
/// 18; equal parts without either.
static LogicalResult split(Node &node) {
  Sizes shape = node.inputShape(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  const SymExpr &size = shape[*axis];
  int64_t count = node.getNumOutputs();
  std::optional<Sizes> sizes;
  if (node.getOpset() < 13) {
    if (std::optional<SmallVector<int64_t>> given = node.integers("split"))
      sizes = toSizes(*given);
  } else if (node.input(1)) {
    FailureOr<Sizes> given = node.sizeOperand(1, "split");
    if (failed(given))
      return failure();
    sizes = std::move(*given);
  }
  bool isCounted = !sizes && node.getOpset() >= 18 && node.has("num_outputs");
  if (int64_t parts = node.getOpset() >= 18 ? node.integer("num_outputs", count) : count;
      parts != count)
    return node.error() << "attribute 'num_outputs' is " << parts << ", but the node has " << count
                        << " outputs";
  if (!sizes) {
    SymExpr equal = SymExpr::floorDiv(size, count);
    if (!isCounted && !node.ensureMultiple(size, count, ("dimension " + Twine(*axis)).str()))
      return node.error() << "dimension " << *axis << " of size " << size.str()
                          << " cannot be split into " << count << " equal parts";
    // With num_outputs the last part is smaller where the rest demands it.
    SymExpr part = isCounted ? SymExpr::ceilDiv(size, count) : equal;
    sizes.emplace();
    for (int64_t i = 0; i < count; ++i)
      sizes->push_back(isCounted ? SymExpr::max(SymExpr::min(part, size - part * i), 0) : part);
  }
  if (int64_t(sizes->size()) != count)
    return node.error() << "split has " << sizes->size() << " sizes, but the node has " << count
                        << " outputs";
  SymExpr total = 0;
  for (const SymExpr &part : *sizes) {
    total += part;
    if ((SymExpr(0) - part).isPositive() || !total.isValid())
      return node.error() << "split has the size " << part.str();
  }
  if (!isCounted && !node.ensureEqual(total, size, "the sum of the parts"))
    return node.error() << "split sizes " << shapeText(*sizes) << " add up to " << total.str()
                        << ", but dimension " << *axis << " has size " << size.str();
  SmallVector<Value> results;
  SymExpr offset = 0;
  for (const SymExpr &part : *sizes) {
    // Parts that are cut off all end where the dimension does.
    SymExpr start = isCounted ? SymExpr::min(offset, size) : offset;
    results.push_back(node.emit.sliceAxis(node.input(0), *axis, start, part));
    offset += isCounted ? sizes->front() : part;
  }
  return node.yield(results);
}

//===----------------------------------------------------------------------===//
// Concat, Expand, Tile, Pad
//===----------------------------------------------------------------------===//

static LogicalResult concat(Node &node) {
  if (!node.has("axis"))
    return node.error() << "attribute 'axis' is missing";
  Sizes first = node.inputShape(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", 0), first.size());
  if (failed(axis))
    return failure();
  SymExpr total = 0;
  // Of sizes that are equal, a constant says the most.
  Sizes common = first;
  for (unsigned i = 1; i < node.getNumInputs(); ++i)
    if (Sizes shape = node.inputShape(i); shape.size() == common.size())
      for (auto [size, other] : llvm::zip(common, shape))
        size = SymExpr(Emitter::simpler(size, other));
  SmallVector<Value> inputs;
  for (unsigned i = 0; i < node.getNumInputs(); ++i) {
    Sizes shape = node.inputShape(i), expected = common;
    if (shape.size() == first.size())
      expected[*axis] = shape[*axis];
    if (!node.ensureEqual(shape, expected, ("input " + Twine(i)).str()))
      return node.error() << "inputs of shapes " << shapeText(first) << " and " << shapeText(shape)
                          << " cannot be joined along dimension " << *axis;
    if (failed(node.expectSameElementType(0, i)))
      return failure();
    total += shape[*axis];
    if (!total.isValid())
      return node.error() << "result is too large";
    inputs.push_back(node.emit.cast(node.input(i), expected));
  }
  return node.yield(node.emit.concat(inputs, *axis));
}

static LogicalResult expand(Node &node) {
  FailureOr<Sizes> target = node.sizeOperand(1, "shape");
  if (failed(target))
    return failure();
  std::optional<Sizes> shape = node.broadcast(node.inputShape(0), *target);
  if (!shape)
    return node.error() << "input of shape " << shapeText(node.inputShape(0))
                        << " cannot be broadcast with the shape " << shapeText(*target);
  if (failed(node.checkSize(*shape)))
    return failure();
  return node.yield(node.emit.broadcastTo(node.input(0), *shape));
}

/// [a, b] -> [1, a, 1, b] -> [r, a, s, b] -> [r*a, s*b]
static LogicalResult tile(Node &node) {
  FailureOr<Sizes> repeats = node.sizeOperand(1, "repeats");
  if (failed(repeats))
    return failure();
  Sizes from = node.inputShape(0);
  if (repeats->size() != from.size())
    return node.error() << "repeats have " << repeats->size() << " entries, expected "
                        << from.size();
  Sizes repeated, shape;
  SmallVector<int64_t> dims;
  for (auto [i, size, repeat] : llvm::enumerate(from, *repeats)) {
    repeated.append({repeat, size});
    dims.push_back(2 * i + 1);
    shape.push_back(size * repeat);
  }
  if (failed(node.checkSize(repeated)) || failed(node.checkSize(shape)))
    return failure();
  return node.yield(node.emit.reshape(node.emit.broadcast(node.input(0), repeated, dims), shape));
}

static std::optional<PadKind> padKind(StringRef mode) {
  if (mode == "constant")
    return PadKind::Constant;
  if (mode == "edge")
    return PadKind::Edge;
  if (mode == "reflect")
    return PadKind::Reflect;
  if (mode == "wrap")
    return PadKind::Wrap;
  return std::nullopt;
}

Value lumen::fitAxis(Emitter &emit, Value operand, int64_t axis, const SymExpr &size,
                     bool isCentred) {
  SymExpr from = sizeOf(operand, axis);
  if (from == size)
    return operand;
  // Of an odd rest the end gets more.
  auto before = [&](const SymExpr &rest) {
    return isCentred ? SymExpr::floorDiv(rest, 2) : SymExpr(0);
  };
  auto behind = [&](const SymExpr &rest) { return isCentred ? SymExpr::ceilDiv(rest, 2) : rest; };
  operand =
      emit.sliceAxis(operand, axis, before(SymExpr::max(from - size, 0)), SymExpr::min(from, size));
  Sizes shape = Emitter::shapeOf(operand), low(shape.size(), 0), high(low);
  SymExpr missing = SymExpr::max(size - from, 0);
  low[axis] = before(missing);
  high[axis] = behind(missing);
  Value zero = emit.scalar(0, Emitter::typeOf(operand).getElementType());
  operand = emit.pad(PadKind::Constant, operand, zero, low, high);
  shape[axis] = size;
  return emit.cast(operand, shape);
}

static LogicalResult centerCropPad(Node &node) {
  int64_t rank = node.inputRank(0);
  FailureOr<Sizes> sizes = node.sizeOperand(1, "shape");
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  SmallVector<int64_t> axes = node.integers("axes").value_or(all);
  if (failed(sizes) || failed(node.normalizeAxes(axes, rank)))
    return failure();
  if (sizes->size() != axes.size())
    return node.error() << "shape has " << sizes->size() << " entries, expected " << axes.size();
  Value x = node.input(0);
  for (auto [axis, size] : llvm::zip(axes, *sizes))
    x = fitAxis(node.emit, x, axis < 0 ? axis + rank : axis, size, /*isCentred=*/true);
  return node.yield(x);
}

/// The elements that a dimension of `size` repeats in front of it, in it and behind it,
/// `count` in all, of which `low` lie in front.
static Value periodicPlaces(Emitter &emit, PadKind kind, const SymExpr &low, const SymExpr &size,
                            const SymExpr &count) {
  Value place = emit.iota(emit.typed({count}, emit.builder.getI64Type()), 0);
  place = emit.binary(BK::Sub, place, low);
  if (kind == PadKind::Wrap)
    return emit.binary(BK::Mod, place, SymExpr::max(size, 1));
  SymExpr period = SymExpr::max((size - 1) * 2, 1);
  place = emit.binary(BK::Mod, place, period);
  Value mirrored = emit.binary(BK::Add, emit.unary(UnaryKind::Neg, place), period);
  return emit.binary(BK::Min, place, mirrored);
}

/// Pads and value are attributes before version 11, inputs since; axes since 18.
/// Whether more elements are cropped than there are.
static bool cropsAll(const SymExpr &size, const SymExpr &low, const SymExpr &high) {
  SymExpr zero(0);
  return (SymExpr::max(zero - low, 0) + SymExpr::max(zero - high, 0) - size).isPositive();
}

static LogicalResult pad(Node &node) {
  StringRef mode = node.string("mode", "constant");
  std::optional<PadKind> kind = padKind(mode);
  if (!kind || (*kind == PadKind::Wrap && node.getOpset() < 19))
    return node.error() << "attribute 'mode' is '" << mode
                        << "', expected constant, edge or reflect";
  Sizes shape = node.inputShape(0);
  Type element = node.inputType(0).getElementType();
  Emitter &emit = node.emit;
  Value value = emit.scalar(0, element);
  auto given = node.integerList("pads", 1, 11), listed = node.integerList("axes", 3, 11);
  if (failed(given) || failed(listed))
    return failure();
  if (node.getOpset() < 11) {
    value = emit.scalar(node.real("value", 0), element);
  } else if (node.input(2)) {
    if (failed(node.expectSameElementType(0, 2)))
      return failure();
    if (!node.ensureEqual(product(node.inputShape(2)), 1, "the number of elements of the value"))
      return node.error() << "value has shape " << shapeText(node.inputShape(2))
                          << ", expected scalar";
    value = emit.reshape(node.input(2), {});
  }
  if (!*given)
    return node.error() << "pads are missing";
  SmallVector<Value> pads = **given;
  int64_t rank = shape.size();
  FailureOr<Axes> axes = *listed ? Axes::of(node, **listed, rank) : Axes::first(node, rank, rank);
  if (failed(axes))
    return failure();
  if (pads.size() != 2 * axes->size())
    return node.error() << "pads have " << pads.size() << " entries, expected " << 2 * axes->size();
  Sizes low(shape.size(), SymExpr(0)), high = low, offsets = low, result(shape);
  bool isCropped = false;
  SmallVector<std::pair<size_t, SymExpr>> wide; // axes, and how much is in front
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!axes->mayContain(axis))
      continue;
    auto amountOf = [&](ArrayRef<Value> amounts) {
      return node.bindSigned(axes->select(axis, amounts, emit.size(0)));
    };
    low[axis] = amountOf(ArrayRef(pads).take_front(axes->size()));
    high[axis] = amountOf(ArrayRef(pads).drop_front(axes->size()));
    SymExpr &size = shape[axis];
    result[axis] = size + low[axis] + high[axis];
    if (!result[axis].isValid() || (SymExpr(0) - result[axis]).isPositive())
      return node.error() << "pads " << low[axis].str() << " and " << high[axis].str()
                          << " do not fit dimension " << axis << " of size " << size.str();
    // Nothing is left then but padding, of which the crop takes away more.
    if (*kind == PadKind::Constant && cropsAll(size, low[axis], high[axis])) {
      low[axis] = SymExpr::min(SymExpr::max(low[axis], 0), result[axis]);
      high[axis] = result[axis] - low[axis];
      size = 0;
      isCropped = true;
      continue;
    }
    // What may be a crop as well as a pad is both, one after the other.
    for (auto [amount, isLow] : {std::pair(&low[axis], true), {&high[axis], false}}) {
      if (amount->isNonNegative() || (SymExpr(0) - *amount).isNonNegative())
        continue;
      SymExpr crop = SymExpr::max(SymExpr(0) - *amount, 0);
      *amount = SymExpr::max(*amount, 0);
      size -= crop;
      if (isLow)
        offsets[axis] = crop;
      isCropped = true;
    }
    bool isPadded = low[axis] != SymExpr(0) || high[axis] != SymExpr(0);
    if (*kind == PadKind::Constant || !isPadded)
      continue;
    if (size == SymExpr(0) && result[axis] != SymExpr(0))
      return node.error() << "pads " << low[axis].str() << " and " << high[axis].str()
                          << " of mode '" << mode << "' repeat dimension " << axis
                          << ", which is empty";
    emit.check(
        CheckKind::LessEqual, SymExpr::min(result[axis], 1), size,
        ("dimension " + Twine(axis) + " has {1} elements to repeat, expected at least {0}").str());
    // A reflection does not repeat the border. A pad reads within one period; what may be
    // wider is gathered.
    SymExpr most = *kind == PadKind::Reflect ? size - 1 : size;
    if (*kind != PadKind::Edge &&
        (!(most - low[axis]).isNonNegative() || !(most - high[axis]).isNonNegative())) {
      wide.push_back({axis, low[axis]});
      low[axis] = high[axis] = 0;
    }
  }
  if (failed(node.checkSize(result)))
    return failure();
  Value x = node.input(0);
  if (isCropped)
    x = emit.slice(x, offsets, shape, SmallVector<int64_t>(shape.size(), 1));
  x = emit.pad(*kind, x, value, low, high);
  for (auto &[axis, first] : wide)
    x = emit.gather(x, periodicPlaces(emit, *kind, first, shape[axis], result[axis]), axis);
  return node.yield(emit.cast(x, result));
}

//===----------------------------------------------------------------------===//
// Gather, blocks
//===----------------------------------------------------------------------===//

static LogicalResult gather(Node &node) {
  Sizes sizes = node.inputShape(0);
  Node::Shape shape = sizes;
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  Type indexType = node.inputType(1).getElementType();
  if (!indexType.isInteger(32) && !indexType.isInteger(64))
    return node.error() << "indices have element type " << indexType << ", expected i32 or i64";
  const SymExpr &size = shape[*axis];
  Emitter &emit = node.emit;
  // Indices that are known are checked now, or against a size that the run tells.
  std::optional<ConstantData> known = ConstantData::get(node.input(1));
  int64_t needed = 0;
  if (known)
    for (int64_t i = 0, e = known->isSplat() ? 1 : known->size(); i < e; ++i) {
      int64_t index = (*known)[i].integer;
      needed = std::max(needed, index < 0 ? (index == INT64_MIN ? INT64_MAX : -index) : index + 1);
      if ((SymExpr(needed) - size).isPositive())
        return node.error() << "index " << index << " lies outside dimension " << *axis
                            << " of size " << size.str();
    }
  Sizes indices = node.inputShape(1);
  if (size == SymExpr(0) && !llvm::is_contained(indices, SymExpr(0)))
    return node.error() << "picks from dimension " << *axis << ", which has size 0";
  Sizes result(shape.take_front(*axis));
  llvm::append_range(result, indices);
  llvm::append_range(result, shape.drop_front(*axis + 1));
  if (failed(node.checkSize(result)))
    return failure();
  std::string reach =
      ("dimension " + Twine(*axis) + " is {1}, but an index asks for at least {0}").str();
  if (known)
    emit.check(CheckKind::LessEqual, needed, size, reach);
  // One known index is a slice, which needs no copy where the layout allows.
  std::optional<SymExpr> index;
  if (product(indices) == SymExpr(1))
    index = Emitter::known(node.input(1));
  if (index && (index->asConstant() || index->isNonNegative())) {
    bool isFromEnd = index->asConstant().value_or(0) < 0;
    if (!index->asConstant())
      emit.check(CheckKind::LessEqual, *index + 1, size, reach);
    SymExpr offset = isFromEnd ? *index + size : *index;
    return node.yield(emit.reshape(emit.sliceAxis(node.input(0), *axis, offset, 1), result));
  }
  return node.yield(emit.gather(node.input(0), node.input(1), *axis));
}

/// What DepthToSpace and SpaceToDepth share: the side of a block, and whether its
/// positions come before the depth in the channels (DCR).
struct Blocks {
  int64_t side;
  bool positionsFirst;
};

/// Checks a 4-D input, a positive block size and the mode, an attribute from the
/// operator set `modeSince` on.
static FailureOr<Blocks> readBlocks(Node &node, int64_t modeSince) {
  StringRef mode = node.getOpset() >= modeSince ? node.string("mode", "DCR") : "DCR";
  FailureOr<int64_t> count = node.count("blocksize", 0);
  if (failed(count))
    return failure();
  int64_t block = *count;
  if (node.inputType(0).getRank() != 4)
    return node.error() << "input has shape " << shapeText(node.inputShape(0))
                        << ", expected four dimensions";
  if (mode != "DCR" && mode != "CRD")
    return node.error() << "attribute 'mode' is '" << mode << "', expected DCR or CRD";
  return Blocks{block, mode == "DCR"};
}

static LogicalResult depthToSpace(Node &node) {
  FailureOr<Blocks> blocks = readBlocks(node, /*modeSince=*/11);
  if (failed(blocks))
    return failure();
  Sizes shape = node.inputShape(0);
  const SymExpr &n = shape[0], &c = shape[1], &h = shape[2], &w = shape[3], b = blocks->side;
  SymExpr depth = SymExpr::floorDiv(c, b * b);
  if (!node.ensureMultiple(c, b * b, "the number of channels"))
    return node.error() << "input has " << c.str() << " channels, expected a multiple of "
                        << (b * b).str();
  Emitter &emit = node.emit;
  // Both to [n, depth, h, b, w, b].
  Value x =
      blocks->positionsFirst
          ? emit.transpose(emit.reshape(node.input(0), {n, b, b, depth, h, w}), {0, 3, 4, 1, 5, 2})
          : emit.transpose(emit.reshape(node.input(0), {n, depth, b, b, h, w}), {0, 1, 4, 2, 5, 3});
  return node.yield(emit.reshape(x, {n, depth, h * b, w * b}));
}

static LogicalResult spaceToDepth(Node &node) {
  FailureOr<Blocks> blocks = readBlocks(node, /*modeSince=*/28);
  if (failed(blocks))
    return failure();
  Sizes shape = node.inputShape(0);
  const SymExpr &n = shape[0], &c = shape[1], &h = shape[2], &w = shape[3], b = blocks->side;
  SymExpr rows = SymExpr::floorDiv(h, b), columns = SymExpr::floorDiv(w, b);
  if (!node.ensureMultiple(h, b, "the number of rows") ||
      !node.ensureMultiple(w, b, "the number of columns"))
    return node.error() << "input is " << h.str() << "x" << w.str() << ", expected multiples of "
                        << b.str();
  Emitter &emit = node.emit;
  Value x = emit.reshape(node.input(0), {n, c, rows, b, columns, b});
  x = blocks->positionsFirst ? emit.transpose(x, {0, 3, 5, 1, 2, 4})
                             : emit.transpose(x, {0, 1, 3, 5, 2, 4});
  return node.yield(emit.reshape(x, {n, c * b * b, rows, columns}));
}

static const OperatorRow rows[] = {
    {"CenterCropPad", 2, 2, centerCropPad, "", 18},
    OperatorRow{"Concat", 1, OperatorRow::kVariadic, concat}.moving(),
    OperatorRow{"DepthToSpace", 1, 1, depthToSpace}.moving(),
    OperatorRow{"Expand", 2, 2, expand}.moving(),
    OperatorRow{"Gather", 2, 2, gather}.moving(),
    {"Pad", 1, 4, pad},
    OperatorRow{"Slice", 1, 5, slice}.moving(),
    OperatorRow{"SpaceToDepth", 1, 1, spaceToDepth}.moving(),
    OperatorRow{"Split", 1, 2, split}.moving(),
    OperatorRow{"Tile", 2, 2, tile}.moving(),
    OperatorRow{"Transpose", 1, 1, transpose}.moving(),
};

ArrayRef<OperatorRow> lumen::movementRows() { return rows; }
