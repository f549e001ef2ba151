//===- Reduction.cpp - the Reduce family and ArgMax --------------------------===//

#include "passes/onnx-to-lumen/Axes.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using RK = ReduceKind;

namespace {

/// What a reduction runs over.
struct Reduced {
  Value operand;
  SmallVector<int64_t> axes;
  bool keepDims;
  /// Of elements; no axes and noop_with_empty_axes: the reduction of each alone.
  SymExpr count;
  /// What the result is reshaped to where the run says which axes there are.
  std::optional<Sizes> shape;
};

} // namespace

/// Makes two dimensions of each: its size is that of the first if it is an axis, else
/// that of the second, and the other one is 1. So the first ones are reduced.
static void separate(Node &node, Axes &axes, Reduced &reduced) {
  Sizes from = node.inputShape(0), split, kept;
  for (auto [dim, size] : llvm::enumerate(from)) {
    kept.push_back(axes.select(dim, 1, size, SymExpr::max(size, 1)));
    split.append({axes.select(dim, size, 1), kept.back()});
    reduced.axes.push_back(2 * dim);
  }
  reduced.shape = reduced.keepDims ? kept : axes.drop(from);
  reduced.operand = node.emit.reshape(reduced.operand, split);
  reduced.keepDims = false;
}

/// Axes are an attribute, and from version `inputSince` on an input.
static FailureOr<Reduced> readReduced(Node &node, int64_t inputSince) {
  int64_t rank = node.inputType(0).getRank();
  Reduced reduced;
  reduced.operand = node.input(0);
  reduced.keepDims = node.integer("keepdims", 1) != 0;
  bool isNoop = node.getOpset() >= inputSince && node.integer("noop_with_empty_axes", 0) != 0;
  auto listed = node.integerList("axes", 1, inputSince);
  if (failed(listed))
    return failure();
  SmallVector<Value> given = listed->value_or(SmallVector<Value>());
  FailureOr<Axes> axes = Axes::of(node, given, rank);
  if (failed(axes))
    return failure();
  if (std::optional<SmallVector<int64_t>> constants = axes->constants())
    reduced.axes = std::move(*constants);
  else
    separate(node, *axes, reduced);
  if (given.empty() && !isNoop)
    reduced.axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  reduced.count = 1;
  for (int64_t axis : reduced.axes)
    reduced.count *= sizeOf(reduced.operand, axis);
  return reduced;
}

static Value sumOf(Emitter &emit, Value x, const Reduced &over) {
  return emit.reduce(RK::Sum, x, over.axes, over.keepDims);
}

/// A formula of the input and the dimensions.
template <Value (*formula)(Emitter &, Value, const Reduced &), int64_t inputSince>
static LogicalResult reduction(Node &node) {
  FailureOr<Reduced> reduced = readReduced(node, inputSince);
  if (failed(reduced))
    return failure();
  Value result = formula(node.emit, reduced->operand, *reduced);
  return node.yield(reduced->shape ? node.emit.reshape(result, *reduced->shape) : result);
}

template <ReduceKind kind> static Value plain(Emitter &emit, Value x, const Reduced &over) {
  // Booleans are reduced as bytes: storage has no other form.
  Type element = Emitter::typeOf(x).getElementType();
  if (!element.isInteger(1))
    return emit.reduce(kind, x, over.axes, over.keepDims);
  Value bytes = emit.convert(x, emit.builder.getIntegerType(8, /*isSigned=*/false));
  return emit.convert(emit.reduce(kind, bytes, over.axes, over.keepDims), element);
}

static Value mean(Emitter &emit, Value x, const Reduced &over) {
  // The mean of no integers divides by one, not by zero.
  bool isReal = isa<FloatType>(Emitter::typeOf(x).getElementType());
  return emit.binary(BK::Div, sumOf(emit, x, over),
                     isReal ? over.count : SymExpr::max(over.count, 1));
}

static Value l1(Emitter &emit, Value x, const Reduced &over) {
  return sumOf(emit, emit.unary(UK::Abs, x), over);
}

static Value sumSquare(Emitter &emit, Value x, const Reduced &over) {
  return sumOf(emit, emit.binary(BK::Mul, x, x), over);
}

static Value l2(Emitter &emit, Value x, const Reduced &over) {
  return emit.unaryOfReals(UK::Sqrt, sumSquare(emit, x, over));
}

static Value logSum(Emitter &emit, Value x, const Reduced &over) {
  return emit.unaryOfReals(UK::Log, sumOf(emit, x, over));
}

/// The maximum is taken out, so that no exponential overflows; an infinite one
/// stays, or it would give infinity minus infinity.
static Value logSumExp(Emitter &emit, Value x, const Reduced &over) {
  Type element = Emitter::typeOf(x).getElementType();
  bool isReal = isa<FloatType>(element);
  if (!isReal)
    x = emit.convert(x, emit.builder.getF64Type());
  Value top = emit.reduce(RK::Max, x, over.axes, /*keepDims=*/true);
  top = emit.select(emit.unary(UK::IsInf, top), emit.splatLike(top, 0), top);
  Value shifted = emit.binary(BK::Sub, x, emit.broadcastTo(top, Emitter::shapeOf(x)));
  Value sum = emit.reduce(RK::Sum, emit.unary(UK::Exp, shifted), over.axes, over.keepDims);
  Value result =
      emit.binary(BK::Add, emit.unary(UK::Log, sum), emit.reshape(top, Emitter::shapeOf(sum)));
  return isReal ? result : emit.convert(result, element);
}

Value lumen::extremeIndex(Emitter &emit, Value x, ReduceKind extreme, int64_t axis, bool isLast) {
  RankedTensorType type = Emitter::typeOf(x);
  Value best = emit.broadcastTo(emit.reduce(extreme, x, {axis}, /*keepDims=*/true), sizesOf(type));
  RankedTensorType indexType = type.clone(emit.builder.getI64Type());
  Value isExtreme = emit.compare(CompareKind::Eq, x, best);
  if (isa<FloatType>(type.getElementType()))
    isExtreme = emit.binary(BK::Or, isExtreme, emit.unary(UK::IsNan, x));
  SymExpr last = isLast ? SymExpr(0) : sizeOf(x, axis) - 1;
  Value other = emit.splat(emit.size(last), sizesOf(type));
  Value candidates = emit.select(isExtreme, emit.iota(indexType, axis), other);
  return emit.reduce(isLast ? RK::Max : RK::Min, candidates, {axis}, /*keepDims=*/true);
}

template <ReduceKind extreme> static LogicalResult argExtreme(Node &node) {
  FailureOr<int64_t> axis =
      node.normalizeAxis(node.integer("axis", 0), node.inputType(0).getRank());
  if (failed(axis))
    return failure();
  bool keepDims = node.integer("keepdims", 1) != 0;
  bool isLast = node.getOpset() >= 12 && node.integer("select_last_index", 0) != 0;
  Sizes input = node.inputShape(0);
  SymExpr size = input[*axis], rest = 1;
  for (auto [i, other] : llvm::enumerate(input))
    if (static_cast<int64_t>(i) != *axis)
      rest *= other;
  // Of nothing there is no extreme, unless none is asked for.
  SymExpr least = size.asConstant().value_or(0) > 0 ? SymExpr(0) : SymExpr::min(1, rest);
  if (size == SymExpr(0) && least == SymExpr(1))
    return node.error() << "dimension " << *axis << " is empty";
  node.emit.check(CheckKind::LessEqual, least, size,
                  ("dimension " + Twine(*axis) + " is {1}, expected at least {0}").str());
  Value index = extremeIndex(node.emit, node.input(0), extreme, *axis, isLast);
  Sizes shape = Emitter::shapeOf(index);
  if (!keepDims)
    shape.erase(shape.begin() + *axis);
  return node.yield(node.emit.reshape(index, shape));
}

/// One where the first maximum is. Before version 13 all dimensions from the
/// axis on are one.
static LogicalResult hardmax(Node &node) {
  bool isFlat = node.getOpset() < 13;
  Sizes shape = node.inputShape(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", isFlat ? 1 : -1), shape.size());
  if (failed(axis) || failed(node.expectReal()))
    return failure();
  Emitter &emit = node.emit;
  Value x = node.input(0);
  if (isFlat) {
    x = emit.reshape(x, {product(Node::Shape(shape).take_front(*axis)),
                         product(Node::Shape(shape).drop_front(*axis))});
    axis = 1;
  }
  Value first = extremeIndex(emit, x, RK::Max, *axis, /*isLast=*/false);
  Value index = emit.iota(Emitter::typeOf(x).clone(emit.builder.getI64Type()), *axis);
  Value isFirst =
      emit.compare(CompareKind::Eq, index, emit.broadcastTo(first, Emitter::shapeOf(x)));
  return node.yield(emit.reshape(emit.convert(isFirst, node.inputType(0).getElementType()), shape));
}

/// The distance of each row of one matrix from each of another one.
static LogicalResult distances(Node &node) {
  Sizes a = node.inputShape(0), b = node.inputShape(1);
  if (failed(node.expectReal()) || failed(node.expectSameElementType(0, 1)))
    return failure();
  if (a.size() != 2 || b.size() != 2 ||
      !node.ensureEqual(b[1], a[1], "the number of columns of input 1"))
    return node.error() << "inputs have shapes " << shapeText(a) << " and " << shapeText(b)
                        << ", expected two dimensions, the last ones equal";
  StringRef metric = node.string("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    return node.error() << "attribute 'metric' is '" << metric
                        << "', expected euclidean or sqeuclidean";
  Emitter &emit = node.emit;
  Sizes shape{a[0], b[0], Emitter::simpler(a[1], b[1])};
  if (failed(node.checkSize(shape)))
    return failure();
  auto repeat = [&](unsigned index, int64_t rows) {
    Value matrix = emit.cast(node.input(index), {shape[rows], shape[2]});
    return emit.broadcast(matrix, shape, {rows, 2});
  };
  Value difference = emit.binary(BK::Sub, repeat(0, 0), repeat(1, 1));
  Value result = emit.reduce(RK::Sum, emit.binary(BK::Mul, difference, difference), {2},
                             /*keepDims=*/false);
  return node.yield(metric == "euclidean" ? emit.unary(UK::Sqrt, result) : result);
}

static const OperatorRow rows[] = {
    {"ArgMax", 1, 1, argExtreme<RK::Max>},
    {"ArgMin", 1, 1, argExtreme<RK::Min>},
    {"Hardmax", 1, 1, hardmax},
    {"ReduceL1", 1, 2, reduction<l1, 18>},
    {"ReduceL2", 1, 2, reduction<l2, 18>},
    {"ReduceLogSum", 1, 2, reduction<logSum, 18>},
    {"ReduceLogSumExp", 1, 2, reduction<logSumExp, 18>},
    {"ReduceMax", 1, 2, reduction<plain<RK::Max>, 18>},
    {"ReduceMean", 1, 2, reduction<mean, 18>},
    {"ReduceMin", 1, 2, reduction<plain<RK::Min>, 18>},
    {"ReduceProd", 1, 2, reduction<plain<RK::Prod>, 18>},
    {"ReduceSum", 1, 2, reduction<plain<RK::Sum>, 13>},
    {"ReduceSumSquare", 1, 2, reduction<sumSquare, 18>},
    OperatorRow{"CDist", 2, 2, distances, "euclidean and sqeuclidean"}.ofMicrosoft(),
};

ArrayRef<OperatorRow> lumen::reductionRows() { return rows; }
