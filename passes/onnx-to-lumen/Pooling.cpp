//===- Pooling.cpp - windows over spatial dimensions and channels ---------===//

#include "passes/onnx-to-lumen/Converter.h"

#include <cmath>

using namespace mlir;
using namespace lumen;

using BK = BinaryKind;

/// A window over the spatial dimensions of a channels-last tensor.
static Value slide(Emitter &emit, WindowKind kind, Value operand, ArrayRef<WindowAxis> axes,
                   bool countsPad) {
  Sizes from = Emitter::shapeOf(operand), shape{from[0]};
  SmallVector<int64_t> window{1}, strides{1}, dilations{1}, low{0}, high{0};
  for (auto [axis, size] : llvm::zip(axes, Node::Shape(from).drop_front())) {
    shape.push_back(axis.output);
    window.push_back(axis.window);
    strides.push_back(axis.stride);
    dilations.push_back(axis.dilation);
    low.push_back(*axis.padLow.asConstant());
    // Exactly as much as the last window reaches: less than the file's where a
    // stride leaves a rest, more in ceil_mode. That is at most a stride less one.
    SymExpr reach = (axis.output - 1) * axis.stride + axis.extent() - size - axis.padLow;
    high.push_back(reach.asConstant().value_or(*axis.padHigh.asConstant() + axis.stride - 1));
  }
  shape.push_back(from.back());
  for (SmallVector<int64_t> *list : {&window, &strides, &dilations})
    list->push_back(1);
  low.push_back(0);
  high.push_back(0);
  return emit.create<WindowOp>(emit.typed(shape, Emitter::typeOf(operand).getElementType()), kind,
                               operand, window, strides, dilations, low, high, countsPad);
}

static FailureOr<SmallVector<WindowAxis>> readPool(Node &node) {
  if (failed(expectSpatial(node)))
    return failure();
  Sizes shape = node.inputShape(0);
  return readWindow(node, Node::Shape(shape).drop_front(2), {}, /*takesCeilMode=*/true);
}

/// What no element of the type is below.
static double lowest(Type type) {
  if (isa<FloatType>(type))
    return -std::numeric_limits<double>::infinity();
  bool isUnsigned = type.isUnsignedInteger() || type.isInteger(1);
  return isUnsigned ? 0.0 : -std::ldexp(1.0, type.getIntOrFloatBitWidth() - 1);
}

/// Where in the whole input, in the order of the file, each window has its first
/// largest element; channels-last. Elements of a window are compared one after the
/// other, for all windows at once.
static Value indicesOfMax(Emitter &emit, Value x, ArrayRef<WindowAxis> axes, bool isColumnMajor) {
  Sizes from = Emitter::shapeOf(x), places{from[0]};
  for (const WindowAxis &axis : axes)
    places.push_back(axis.output);
  Sizes result(places);
  result.push_back(from.back());
  int64_t rank = from.size(), spatial = axes.size();
  Type element = Emitter::typeOf(x).getElementType(), i64 = emit.builder.getI64Type();
  // Steps in the input per dimension of x.
  Sizes steps(rank, 1);
  SymExpr step = 1;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t dim = isColumnMajor ? 1 + i : spatial - i;
    steps[dim] = step;
    step *= from[dim];
  }
  steps.back() = step;
  steps.front() = step * from.back();
  auto along = [&](int64_t dim) {
    Value number = emit.iota(emit.typed(result, i64), dim);
    return emit.binary(BK::Mul, number, steps[dim]);
  };
  Value origin = emit.binary(BK::Add, along(0), along(rank - 1));
  SmallVector<int64_t> dims{0}, placeDims = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
  dims.append(spatial, -1);
  dims.push_back(rank - 1);

  Value best, bestIndex;
  SmallVector<int64_t> tap(spatial, 0);
  while (true) {
    SmallVector<Value> picks;
    Value index = origin, isInside;
    for (auto [i, axis] : llvm::enumerate(axes)) {
      // One position per place along the dimension, which may lie in the padding.
      Value position = emit.iota(emit.typed({axis.output}, i64), 0);
      position = emit.binary(BK::Mul, position, double(axis.stride));
      position = emit.binary(BK::Add, position, SymExpr(tap[i] * axis.dilation) - axis.padLow);
      Value zero = emit.splatLike(position, 0);
      Value last = emit.splat(emit.size(from[i + 1] - 1), {axis.output});
      Value inside = emit.binary(BK::Max, emit.binary(BK::Min, position, last), zero);
      Value counts = emit.compare(CompareKind::Eq, inside, position);
      counts = emit.broadcast(counts, result, {int64_t(i) + 1});
      isInside = isInside ? emit.binary(BK::And, isInside, counts) : counts;
      picks.push_back(emit.broadcast(inside, places, {int64_t(i) + 1}));
      Value moved = emit.binary(BK::Mul, inside, steps[i + 1]);
      index = emit.binary(BK::Add, index, emit.broadcast(moved, result, {int64_t(i) + 1}));
    }
    Value value = emit.create<PickOp>(emit.typed(result, element), x, picks, dims);
    value = emit.select(isInside, value, emit.splatLike(value, lowest(element)));
    Value isBetter = best ? emit.compare(CompareKind::Gt, value, best) : Value();
    best = best ? emit.select(isBetter, value, best) : value;
    bestIndex = bestIndex ? emit.select(isBetter, index, bestIndex) : index;
    int64_t i = spatial - 1;
    while (i >= 0 && ++tap[i] == axes[i].window)
      tap[i--] = 0;
    if (i < 0)
      return bestIndex;
  }
}

static LogicalResult maxPool(Node &node) {
  FailureOr<SmallVector<WindowAxis>> axes = readPool(node);
  if (failed(axes))
    return failure();
  bool isColumnMajor = node.integer("storage_order", 0) != 0;
  Emitter &emit = node.emit;
  int64_t rank = node.inputType(0).getRank();
  Value x = emit.transpose(node.input(0), channelsLastPerm(rank)), indices;
  if (node.getNumOutputs() > 1 && node.hasOutput(1)) {
    int64_t taps = 1;
    for (const WindowAxis &axis : *axes)
      taps *= std::min<int64_t>(axis.window, 1000);
    if (taps > 256)
      return node.error() << "indices of windows of " << taps
                          << " elements are asked for; at most 256 are supported";
    indices = emit.transpose(indicesOfMax(emit, x, *axes, isColumnMajor), channelsFirstPerm(rank));
  }
  x = padDynamic(emit, x, *axes, lowest(node.inputType(0).getElementType()));
  x = slide(emit, WindowKind::Max, x, *axes, /*countsPad=*/false);
  x = emit.transpose(x, channelsFirstPerm(rank));
  return indices ? node.yield({x, indices}) : node.yield(x);
}

/// Puts elements where MaxPool's indices say that they were.
static LogicalResult maxUnpool(Node &node) {
  if (failed(expectSpatial(node)))
    return failure();
  Sizes from = node.inputShape(0), shape(Node::Shape(from).take_front(2));
  size_t spatial = from.size() - 2;
  std::optional<SmallVector<int64_t>> kernel = node.integers("kernel_shape");
  auto strides = readSpatialList(node, "strides", spatial, 1, 1);
  auto pads = readSpatialList(node, "pads", 2 * spatial, 0, 0);
  if (failed(strides) || failed(pads))
    return failure();
  if (!kernel || kernel->size() != spatial)
    return node.error() << "attribute 'kernel_shape' has " << (kernel ? kernel->size() : 0)
                        << " entries, expected " << spatial;
  if (!node.ensureEqual(node.inputShape(1), from, "the indices"))
    return node.error() << "indices have shape " << shapeText(node.inputShape(1)) << ", expected "
                        << shapeText(from);
  if (!isa<IntegerType>(node.inputType(1).getElementType()))
    return node.error() << "indices have element type " << node.inputType(1).getElementType()
                        << ", expected an integer type";
  for (size_t i = 0; i < spatial; ++i)
    shape.push_back((from[i + 2] - 1) * (*strides)[i] + (*kernel)[i] - (*pads)[i] -
                    (*pads)[spatial + i]);
  if (failed(node.checkSize(shape)))
    return failure();
  Emitter &emit = node.emit;
  Type element = node.inputType(0).getElementType();
  Value room = emit.splat(emit.typed({product(shape)}, element), 0);
  auto flat = [&](Value value) { return emit.reshape(value, {product(from)}); };
  Value indices = flat(emit.convert(emit.cast(node.input(1), from), emit.builder.getI64Type()));
  Value y = emit.create<ScatterOp>(room.getType(), ScatterKind::Set, room, flat(node.input(0)),
                                   indices, ArrayRef<int64_t>(-1));
  y = emit.reshape(y, shape);
  if (!node.input(2))
    return node.yield(y);
  // A larger result has zeros behind.
  FailureOr<Sizes> given = node.sizeOperand(2, "output_shape");
  if (failed(given))
    return failure();
  if (given->size() != shape.size())
    return node.error() << "output_shape has " << given->size() << " entries, expected "
                        << shape.size();
  if (failed(node.checkSize(*given)))
    return failure();
  for (auto [axis, size] : llvm::enumerate(*given))
    y = fitAxis(emit, y, axis, size, /*isCentred=*/false);
  return node.yield(y);
}

/// How many places of the padded input each window of one axis covers, as a 1-D
/// tensor: places that only ceil_mode adds do not count. Null where all windows are
/// whole.
static Value countPlaces(Emitter &emit, const WindowAxis &axis, const SymExpr &size, Type element) {
  SymExpr room = size + axis.padLow + axis.padHigh;
  if ((room - axis.extent() - (axis.output - 1) * axis.stride).isNonNegative())
    return {};
  RankedTensorType type = emit.typed(axis.output, emit.builder.getI64Type());
  Value start = emit.binary(BK::Mul, emit.iota(type, 0), double(axis.stride));
  Value left =
      emit.binary(BK::Sub, emit.splat(emit.size(room + axis.dilation - 1), axis.output), start);
  Value count = emit.binary(BK::Div, left, double(axis.dilation));
  return emit.convert(emit.binary(BK::Min, count, double(axis.window)), element);
}

static LogicalResult averagePool(Node &node) {
  FailureOr<SmallVector<WindowAxis>> axes = readPool(node);
  if (failed(axes) || failed(node.expectReal()))
    return failure();
  bool countsPad = node.integer("count_include_pad", 0) != 0;
  Emitter &emit = node.emit;
  int64_t rank = node.inputType(0).getRank();
  Type element = node.inputType(0).getElementType();
  Value x = emit.transpose(node.input(0), channelsLastPerm(rank));
  SmallVector<Value> counts;
  if (Sizes shape = node.inputShape(0); countsPad)
    for (auto [axis, size] : llvm::zip(*axes, Node::Shape(shape).drop_front(2)))
      counts.push_back(countPlaces(emit, axis, size, element));
  bool isUniform = llvm::none_of(counts, [](Value count) { return bool(count); });
  bool isDynamic = llvm::any_of(*axes, [](const WindowAxis &axis) {
    return !axis.padLow.asConstant() || !axis.padHigh.asConstant();
  });
  if (isDynamic && !countsPad) {
    // Pads that are data like the rest: ones tell how much of a window is not pad.
    SmallVector<WindowAxis> padded = *axes;
    Value ones = emit.splatLike(x, 1);
    ones = slide(emit, WindowKind::Sum, padDynamic(emit, ones, padded, 0), padded, false);
    x = slide(emit, WindowKind::Sum, padDynamic(emit, x, *axes, 0), padded, false);
    x = emit.binary(BK::Div, x, ones);
  } else if (!countsPad || isUniform) {
    x = slide(emit, WindowKind::Average, padDynamic(emit, x, *axes, 0), *axes, countsPad);
  } else {
    x = slide(emit, WindowKind::Sum, padDynamic(emit, x, *axes, 0), *axes, /*countsPad=*/false);
    for (auto [i, count] : llvm::enumerate(counts)) {
      Value divisor =
          count ? count
                : emit.splat(emit.scalar(double((*axes)[i].window), element), (*axes)[i].output);
      x = emit.binary(BK::Div, x, emit.broadcastAlong(divisor, Emitter::shapeOf(x), i + 1));
    }
  }
  return node.yield(emit.transpose(x, channelsFirstPerm(rank)));
}

/// (sum |x|^p)^(1/p) over `x`'s windows or dimensions, which `sum` adds up.
static Value powerMean(Emitter &emit, Value x, int64_t p, function_ref<Value(Value)> sum) {
  x = emit.unary(UnaryKind::Abs, x);
  if (p == 1)
    return sum(x);
  if (p == 2)
    return emit.unary(UnaryKind::Sqrt, sum(emit.binary(BK::Mul, x, x)));
  return emit.binary(BK::Pow, sum(emit.binary(BK::Pow, x, double(p))), 1.0 / double(p));
}

static FailureOr<int64_t> readPower(Node &node) {
  int64_t p = node.integer("p", 2);
  if (p < 1)
    return node.error() << "attribute 'p' is " << p << ", expected at least 1";
  return p;
}

static LogicalResult lpPool(Node &node) {
  FailureOr<SmallVector<WindowAxis>> axes = readPool(node);
  FailureOr<int64_t> p = readPower(node);
  if (failed(axes) || failed(p) || failed(node.expectReal()))
    return failure();
  Emitter &emit = node.emit;
  int64_t rank = node.inputType(0).getRank();
  Value x = emit.transpose(node.input(0), channelsLastPerm(rank));
  x = padDynamic(emit, x, *axes, 0);
  x = powerMean(emit, x, *p, [&](Value v) {
    return slide(emit, WindowKind::Sum, v, *axes, /*countsPad=*/false);
  });
  return node.yield(emit.transpose(x, channelsFirstPerm(rank)));
}

//===----------------------------------------------------------------------===//
// Global forms: reductions over all spatial dimensions
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> spatialDims(Node &node) {
  return llvm::to_vector(llvm::seq<int64_t>(2, node.inputType(0).getRank()));
}

static LogicalResult globalAveragePool(Node &node) {
  if (failed(expectSpatial(node)) || failed(node.expectReal()))
    return failure();
  Value sum = node.emit.reduce(ReduceKind::Sum, node.input(0), spatialDims(node), true);
  Sizes shape = node.inputShape(0);
  SymExpr count = product(Node::Shape(shape).drop_front(2));
  return node.yield(node.emit.binary(BK::Div, sum, count));
}

static LogicalResult globalMaxPool(Node &node) {
  if (failed(expectSpatial(node)))
    return failure();
  return node.yield(node.emit.reduce(ReduceKind::Max, node.input(0), spatialDims(node), true));
}

static LogicalResult globalLpPool(Node &node) {
  FailureOr<int64_t> p = readPower(node);
  if (failed(p) || failed(expectSpatial(node)) || failed(node.expectReal()))
    return failure();
  Emitter &emit = node.emit;
  return node.yield(powerMean(emit, node.input(0), *p, [&](Value v) {
    return emit.reduce(ReduceKind::Sum, v, spatialDims(node), true);
  }));
}

//===----------------------------------------------------------------------===//
// Windows over channels
//===----------------------------------------------------------------------===//

/// x / (bias + alpha / size * sum of squares of `size` neighbouring channels)^beta
static LogicalResult lrn(Node &node) {
  FailureOr<int64_t> count = node.count("size", 0);
  int64_t rank = node.inputType(0).getRank();
  double alpha = node.real("alpha", 1e-4f), beta = node.real("beta", 0.75);
  double bias = node.real("bias", 1.0);
  if (failed(count) || failed(expectSpatial(node)) || failed(node.expectReal()))
    return failure();
  int64_t size = *count;
  Emitter &emit = node.emit;
  Value x = emit.transpose(node.input(0), channelsLastPerm(rank));
  SmallVector<int64_t> ones(rank, 1), window(rank, 1), low(rank, 0), high(rank, 0);
  window.back() = size;
  low.back() = (size - 1) / 2;
  high.back() = size - 1 - low.back();
  Value sum = emit.create<WindowOp>(x.getType(), WindowKind::Sum, emit.binary(BK::Mul, x, x),
                                    window, ones, ones, low, high, /*count_include_pad=*/false);
  Value base = emit.binary(BK::Add, emit.binary(BK::Mul, sum, alpha / double(size)), bias);
  x = emit.binary(BK::Div, x, emit.binary(BK::Pow, base, beta));
  return node.yield(emit.transpose(x, channelsFirstPerm(rank)));
}

static const OperatorRow rows[] = {
    {"AveragePool", 1, 1, averagePool},
    {"GlobalAveragePool", 1, 1, globalAveragePool},
    {"GlobalLpPool", 1, 1, globalLpPool},
    {"GlobalMaxPool", 1, 1, globalMaxPool},
    {"LRN", 1, 1, lrn},
    {"LpPool", 1, 1, lpPool},
    {"MaxPool", 1, 1, maxPool},
    {"MaxUnpool", 2, 3, maxUnpool, "", 9},
};

ArrayRef<OperatorRow> lumen::poolingRows() { return rows; }
