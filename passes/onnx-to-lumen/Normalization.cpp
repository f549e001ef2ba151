//===- Normalization.cpp - softmax, batch, layer and group norms ----------===//

#include "passes/onnx-to-lumen/Converter.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Before version 13 all dimensions from the axis on are one, and the default
/// axis is 1.
template <bool log> static LogicalResult softmax(Node &node) {
  bool isFlat = node.getOpset() < 13;
  int64_t rank = node.inputType(0).getRank();
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", isFlat ? 1 : -1), rank);
  if (failed(axis) || failed(node.expectReal()))
    return failure();
  Emitter &emit = node.emit;
  Sizes sizes = node.inputShape(0);
  Node::Shape shape = sizes;
  if (!isFlat || llvm::all_of(shape.drop_front(*axis + 1), isOne))
    return node.yield(emit.softmax(node.input(0), *axis, log));
  Value flat = emit.reshape(node.input(0),
                            {product(shape.take_front(*axis)), product(shape.drop_front(*axis))});
  return node.yield(emit.reshape(emit.softmax(flat, 1, log), shape));
}

//===----------------------------------------------------------------------===//
// Scale and bias
//===----------------------------------------------------------------------===//

/// x * scale + bias, both along one dimension; null ones are left out.
static Value affine(Emitter &emit, Value x, Value scale, Value bias, int64_t axis) {
  Sizes shape = Emitter::shapeOf(x);
  if (scale)
    x = emit.binary(BK::Mul, x, emit.broadcastAlong(scale, shape, axis));
  if (bias)
    x = emit.binary(BK::Add, x, emit.broadcastAlong(bias, shape, axis));
  return x;
}

/// Inputs from `first` on are 1-D of `size`, and of the input's type.
static LogicalResult expectPerChannel(Node &node, unsigned first, const SymExpr &size) {
  for (unsigned i = first; i < node.getNumInputs(); ++i) {
    if (!node.ensureEqual(node.inputShape(i), size, "channels"))
      return node.error() << "input " << i << " has shape " << shapeText(node.inputShape(i))
                          << ", expected " << size.str();
    if (failed(node.expectSameElementType(0, i)))
      return failure();
  }
  return success();
}

static LogicalResult expectChannels(Node &node) {
  if (node.inputType(0).getRank() >= 2)
    return node.expectReal();
  return node.error() << "input has shape " << shapeText(node.inputShape(0))
                      << ", expected at least two dimensions";
}

/// Inputs: X, scale, B, mean, variance. The statistics are constants, so scale
/// and bias fold into two numbers per channel.
static LogicalResult batchNormalization(Node &node) {
  if (failed(expectChannels(node)))
    return failure();
  double epsilon = node.real("epsilon", 1e-5f);
  node.ignore("momentum"); // of the running statistics
  if (node.integer("training_mode", 0) != 0)
    return node.error() << "attribute 'training_mode' is 1; only inference is supported";
  if (node.integer("spatial", 1) != 1)
    return node.error() << "attribute 'spatial' is 0, expected 1";
  SymExpr channels = node.inputShape(0)[1];
  if (failed(expectPerChannel(node, 1, channels)))
    return failure();
  Emitter &emit = node.emit;
  auto perChannel = [&](unsigned index) { return emit.cast(node.input(index), channels); };
  Value deviation = emit.unary(UK::Sqrt, emit.binary(BK::Add, perChannel(4), epsilon));
  Value scale = emit.binary(BK::Div, perChannel(1), deviation);
  Value bias = emit.binary(BK::Sub, perChannel(2), emit.binary(BK::Mul, perChannel(3), scale));
  return node.yield(affine(emit, node.input(0), scale, bias, 1));
}

//===----------------------------------------------------------------------===//
// Norms over dimensions of the input
//===----------------------------------------------------------------------===//

/// Computes in float32 where the type is narrower, as stash_type says by default.
static LogicalResult withStash(Node &node, function_ref<Value(Value)> normalize) {
  if (node.integer("stash_type", 1) != 1)
    return node.error() << "attribute 'stash_type' is " << node.integer("stash_type", 1)
                        << ", expected 1";
  Emitter &emit = node.emit;
  Type element = node.inputType(0).getElementType();
  bool isNarrow = element.getIntOrFloatBitWidth() < 32;
  Value x = isNarrow ? emit.convert(node.input(0), emit.builder.getF32Type()) : node.input(0);
  return node.yield(emit.convert(normalize(x), element));
}

/// The mean over dimensions `axis` and after, and 1 / sqrt(variance + epsilon).
static std::pair<Value, Value> statistics(Emitter &emit, Value x, int64_t axis, double epsilon) {
  Sizes shape = Emitter::shapeOf(x);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(axis, shape.size()));
  SymExpr count = product(Node::Shape(shape).drop_front(axis));
  auto meanOf = [&](Value v) {
    return emit.binary(BK::Div, emit.reduce(ReduceKind::Sum, v, axes, /*keepDims=*/true), count);
  };
  Value mean = meanOf(x);
  Value centred = emit.binary(BK::Sub, x, emit.broadcastTo(mean, shape));
  Value variance = meanOf(emit.binary(BK::Mul, centred, centred));
  Value deviation = emit.unary(UK::Sqrt, emit.binary(BK::Add, variance, epsilon));
  return {mean, emit.unary(UK::Reciprocal, deviation)};
}

template <NormKind kind> static LogicalResult trailingNorm(Node &node) {
  Sizes shape = node.inputShape(0);
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", -1), shape.size());
  if (failed(axis) || failed(node.expectReal()))
    return failure();
  double epsilon = node.real("epsilon", 1e-5f);
  for (unsigned i = 1; i < node.getNumInputs(); ++i) {
    if (!node.ensureBroadcastTo(node.inputShape(i), shape))
      return node.error() << "input " << i << " of shape " << shapeText(node.inputShape(i))
                          << " cannot be broadcast to the shape " << shapeText(shape);
    if (failed(node.expectSameElementType(0, i)))
      return failure();
  }
  Emitter &emit = node.emit;
  // Statistics that the model wants to see, in the type they are computed in.
  Value mean, inverse;
  LogicalResult done = withStash(node, [&](Value x) {
    if (node.hasOutput(1) || node.hasOutput(2))
      std::tie(mean, inverse) = statistics(emit, x, *axis, epsilon);
    return emit.norm(kind, x, *axis, epsilon);
  });
  if (failed(done))
    return failure();
  Value x = node.getResults().front();
  x = emit.binary(BK::Mul, x, emit.broadcastTo(node.input(1), shape));
  if (Value bias = node.input(2))
    x = emit.binary(BK::Add, x, emit.broadcastTo(bias, shape));
  if (kind == NormKind::Layer)
    return node.yield({x, mean, inverse});
  return node.yield(x);
}

static LogicalResult instanceNormalization(Node &node) {
  if (failed(expectChannels(node)) || failed(expectPerChannel(node, 1, node.inputShape(0)[1])))
    return failure();
  if (node.inputType(0).getRank() < 3)
    return node.error() << "input has shape " << shapeText(node.inputShape(0))
                        << ", expected at least three dimensions";
  Value x = node.emit.norm(NormKind::Layer, node.input(0), 2, node.real("epsilon", 1e-5f));
  return node.yield(affine(node.emit, x, node.input(1), node.input(2), 1));
}

/// Scale and bias are per group in version 18 and per channel since 21.
static LogicalResult groupNormalization(Node &node) {
  if (failed(expectChannels(node)))
    return failure();
  Sizes shape = node.inputShape(0);
  int64_t groups = node.integer("num_groups", 0);
  const SymExpr &channels = shape[1];
  SymExpr perGroup = groups < 1 ? SymExpr(0) : SymExpr::floorDiv(channels, groups);
  if (groups < 1 || !node.ensureEqual(perGroup * groups, channels, "channels of all groups"))
    return node.error() << "attribute 'num_groups' is " << groups << ", expected a divisor of "
                        << channels.str() << " channels";
  bool isPerGroup = node.getOpset() < 21;
  if (failed(expectPerChannel(node, 1, isPerGroup ? SymExpr(groups) : channels)))
    return failure();
  double epsilon = node.real("epsilon", 1e-5f);
  Emitter &emit = node.emit;
  SymExpr rest = perGroup * product(Node::Shape(shape).drop_front(2));
  if (isPerGroup)
    node.ignore("stash_type");
  LogicalResult done = withStash(node, [&](Value x) {
    Value grouped = emit.reshape(x, {shape[0], SymExpr(groups), rest});
    grouped = emit.norm(NormKind::Layer, grouped, 2, epsilon);
    return isPerGroup ? grouped : emit.reshape(grouped, shape);
  });
  if (failed(done))
    return failure();
  Value x = affine(emit, node.getResults().front(), node.input(1), node.input(2), 1);
  return node.yield(emit.reshape(x, shape));
}

static LogicalResult lpNormalization(Node &node) {
  FailureOr<int64_t> axis =
      node.normalizeAxis(node.integer("axis", -1), node.inputType(0).getRank());
  int64_t p = node.integer("p", 2);
  if (failed(axis) || failed(node.expectReal()))
    return failure();
  if (p != 1 && p != 2)
    return node.error() << "attribute 'p' is " << p << ", expected 1 or 2";
  Emitter &emit = node.emit;
  Value x = node.input(0);
  Value size = p == 1 ? emit.unary(UK::Abs, x) : emit.binary(BK::Mul, x, x);
  size = emit.reduce(ReduceKind::Sum, size, {*axis}, /*keepDims=*/true);
  if (p == 2)
    size = emit.unary(UK::Sqrt, size);
  // A row of zeros stays one.
  Value isZero = emit.compare(CompareKind::Eq, size, 0.0);
  size = emit.select(isZero, emit.splatLike(size, 1), size);
  return node.yield(emit.binary(BK::Div, x, emit.broadcastTo(size, node.inputShape(0))));
}

/// (x - mean) / (deviation + 1e-9) over the given dimensions.
static LogicalResult meanVarianceNormalization(Node &node) {
  SmallVector<int64_t> given = node.integers("axes").value_or(SmallVector<int64_t>{0, 2, 3});
  FailureOr<SmallVector<int64_t>> axes = node.normalizeAxes(given, node.inputType(0).getRank());
  if (failed(axes) || failed(node.expectReal()))
    return failure();
  Emitter &emit = node.emit;
  Sizes shape = node.inputShape(0);
  SymExpr count = 1;
  for (int64_t axis : *axes)
    count *= shape[axis];
  auto mean = [&](Value v) {
    Value sum = emit.reduce(ReduceKind::Sum, v, *axes, /*keepDims=*/true);
    return emit.binary(BK::Div, sum, count);
  };
  Value centred = emit.binary(BK::Sub, node.input(0), emit.broadcastTo(mean(node.input(0)), shape));
  Value deviation = emit.unary(UK::Sqrt, mean(emit.binary(BK::Mul, centred, centred)));
  deviation = emit.binary(BK::Add, deviation, 1e-9);
  return node.yield(emit.binary(BK::Div, centred, emit.broadcastTo(deviation, shape)));
}

static const OperatorRow rows[] = {
    {"BatchNormalization", 5, 5, batchNormalization, "inference only"},
    {"GroupNormalization", 3, 3, groupNormalization, "stash_type 1"},
    {"InstanceNormalization", 3, 3, instanceNormalization},
    {"LayerNormalization", 2, 3, trailingNorm<NormKind::Layer>, "stash_type 1"},
    {"LogSoftmax", 1, 1, softmax<true>},
    {"LpNormalization", 1, 1, lpNormalization},
    {"MeanVarianceNormalization", 1, 1, meanVarianceNormalization},
    {"RMSNormalization", 2, 2, trailingNorm<NormKind::Rms>, "stash_type 1"},
    {"Softmax", 1, 1, softmax<false>},
};

ArrayRef<OperatorRow> lumen::normalizationRows() { return rows; }
