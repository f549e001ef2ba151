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

/// The mean over some dimensions.
static Value meanOf(Emitter &emit, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  SymExpr count = 1;
  for (int64_t axis : axes)
    count *= sizeOf(x, axis);
  return emit.binary(BK::Div, emit.reduce(ReduceKind::Sum, x, axes, keepDims), count);
}

/// These inputs, if they are given, have that shape, mostly the channels, and the type of
/// input `like`.
static LogicalResult expectPerChannel(Node &node, ArrayRef<unsigned> inputs, Node::Shape shape,
                                      unsigned like = 0) {
  for (unsigned i : inputs) {
    if (!node.input(i))
      continue;
    if (!node.ensureEqual(node.inputShape(i), shape, ("input " + Twine(i)).str()))
      return node.error() << "input " << i << " has shape " << shapeText(node.inputShape(i))
                          << ", expected " << shapeText(shape);
    if (failed(node.expectSameElementType(like, i)))
      return failure();
  }
  return node.expectReal(like);
}

static LogicalResult expectChannels(Node &node) {
  if (node.inputType(0).getRank() >= 2)
    return node.expectReal();
  return node.error() << "input has shape " << shapeText(node.inputShape(0))
                      << ", expected at least two dimensions";
}

/// Inputs: X, scale, B, mean, variance. The statistics are mostly constants, so that scale
/// and bias fold into two numbers per channel; in training they are those of X, and
/// running means of them are results.
static LogicalResult batchNormalization(Node &node) {
  if (failed(expectChannels(node)))
    return failure();
  double epsilon = node.real("epsilon", 1e-5f);
  double momentum = node.real("momentum", 0.9f);
  bool isTraining = node.integer("training_mode", 0) != 0;
  // Before version 9, each element of a sample may have statistics of its own. Samples are
  // rows then.
  bool isSpatial = node.integer("spatial", 1) != 0;
  Sizes shape = node.inputShape(0), channels(1, shape[1]);
  if (!isSpatial) {
    channels.assign(shape.begin() + 1, shape.end());
    shape = {shape[0], product(channels)};
  }
  // The statistics may be of a type of their own since version 14, and scale and bias of
  // another one since 15.
  if (failed(expectPerChannel(node, {1, 2}, channels, node.getOpset() < 15 ? 0 : 1)) ||
      failed(expectPerChannel(node, {3, 4}, channels, node.getOpset() < 14 ? 0 : 3)))
    return failure();
  Emitter &emit = node.emit;
  auto reshaped = [&](Value value, Node::Shape to) {
    return isSpatial ? value : emit.reshape(value, to);
  };
  Type element = node.inputType(0).getElementType(), common = element;
  Type statistic = node.inputType(3).getElementType();
  for (Type type : {node.inputType(1).getElementType(), statistic})
    common = commonRealType(common, type);
  auto perChannel = [&](unsigned index) {
    return emit.convert(reshaped(emit.cast(node.input(index), channels), shape[1]), common);
  };
  Value x = emit.convert(reshaped(node.input(0), shape), common);
  Value mean = perChannel(3), variance = perChannel(4), nextMean, nextVariance;
  if (isTraining) {
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    axes.erase(axes.begin() + 1);
    auto perChannelMean = [&](Value v) { return meanOf(emit, v, axes, /*keepDims=*/false); };
    auto next = [&](Value before, Value now) {
      Value mixed = emit.binary(BK::Add, emit.binary(BK::Mul, before, momentum),
                                emit.binary(BK::Mul, now, 1 - momentum));
      return emit.convert(mixed, statistic);
    };
    Value now = perChannelMean(x);
    Value centred = emit.binary(BK::Sub, x, emit.broadcastAlong(now, shape, 1));
    Value spread = perChannelMean(emit.binary(BK::Mul, centred, centred));
    nextMean = next(mean, now);
    nextVariance = next(variance, spread);
    mean = now;
    variance = spread;
  }
  Value deviation = emit.unary(UK::Sqrt, emit.binary(BK::Add, variance, epsilon));
  Value scale = emit.binary(BK::Div, perChannel(1), deviation);
  Value bias = emit.binary(BK::Sub, perChannel(2), emit.binary(BK::Mul, mean, scale));
  Value result = emit.convert(affine(emit, x, scale, bias, 1), element);
  return node.yield({reshaped(result, node.inputShape(0)), nextMean, nextVariance});
}

//===----------------------------------------------------------------------===//
// Norms over dimensions of the input
//===----------------------------------------------------------------------===//

/// Computes in the type that stash_type names where that of `x` is narrower, and gives
/// `element`s.
static FailureOr<Value> withStash(Node &node, Value x, Type element,
                                  function_ref<Value(Value)> normalize) {
  FailureOr<Type> stash = readElementType(node, "stash_type", 1);
  if (failed(stash))
    return failure();
  if (!isa<FloatType>(*stash))
    return node.error() << "attribute 'stash_type' names the type " << *stash
                        << ", expected a floating-point type";
  Emitter &emit = node.emit;
  bool isNarrow =
      Emitter::typeOf(x).getElementType().getIntOrFloatBitWidth() < stash->getIntOrFloatBitWidth();
  return emit.convert(normalize(isNarrow ? emit.convert(x, *stash) : x), element);
}

/// The mean over dimensions `axis` and after, and 1 / sqrt(variance + epsilon). An RMS norm has
/// no mean: its variance is that around zero.
static std::pair<Value, Value> statistics(Emitter &emit, NormKind kind, Value x, int64_t axis,
                                          double epsilon) {
  Sizes shape = Emitter::shapeOf(x);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(axis, shape.size()));
  Value mean, centred = x;
  if (kind == NormKind::Layer) {
    mean = meanOf(emit, x, axes, /*keepDims=*/true);
    centred = emit.binary(BK::Sub, x, emit.broadcastTo(mean, shape));
  }
  Value variance = meanOf(emit, emit.binary(BK::Mul, centred, centred), axes, /*keepDims=*/true);
  Value deviation = emit.unary(UK::Sqrt, emit.binary(BK::Add, variance, epsilon));
  return {mean, emit.unary(UK::Reciprocal, deviation)};
}

namespace {
/// A norm and, where the model wants to see them, its statistics, which are f32 as
/// stash_type says.
struct Normalized {
  Value result, mean, inverse;
};
} // namespace

/// The index of an input that a norm does not have.
static constexpr unsigned kNoInput = std::numeric_limits<unsigned>::max();

/// The norm of `x` over dimensions `axis` and after, times input `scale` plus input `bias`,
/// if that is given; these and the result have one type.
static FailureOr<Normalized> normalize(Node &node, NormKind kind, Value x, Type element,
                                       int64_t axis, double epsilon, unsigned scale,
                                       unsigned bias) {
  Sizes shape = Emitter::shapeOf(x);
  if (failed(node.expectReal(scale)))
    return failure();
  for (unsigned i : {scale, bias}) {
    if (!node.input(i))
      continue;
    if (!node.ensureBroadcastTo(node.inputShape(i), shape))
      return node.error() << "input " << i << " of shape " << shapeText(node.inputShape(i))
                          << " cannot be broadcast to the shape " << shapeText(shape);
    if (Type given = node.inputType(i).getElementType(); given != element)
      return node.error() << "input " << i << " has element type " << given << ", expected "
                          << element;
  }
  Emitter &emit = node.emit;
  Normalized norm;
  FailureOr<Value> result = withStash(node, x, element, [&](Value wide) {
    if (node.hasOutput(1) || node.hasOutput(2))
      std::tie(norm.mean, norm.inverse) = statistics(emit, kind, wide, axis, epsilon);
    for (Value *statistic : {&norm.mean, &norm.inverse})
      if (*statistic)
        *statistic = emit.convert(*statistic, emit.builder.getF32Type());
    return emit.norm(kind, wide, axis, epsilon);
  });
  if (failed(result))
    return failure();
  norm.result = emit.binary(BK::Mul, *result, emit.broadcastTo(node.input(scale), shape));
  if (Value offset = node.input(bias))
    norm.result = emit.binary(BK::Add, norm.result, emit.broadcastTo(offset, shape));
  return norm;
}

template <NormKind kind> static LogicalResult trailingNorm(Node &node) {
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", -1), node.inputRank(0));
  if (failed(axis))
    return failure();
  // The result of an RMS norm has the type of the scale, which may be another one.
  if (failed(node.expectReal()))
    return failure();
  Type element = node.inputType(kind == NormKind::Rms ? 1 : 0).getElementType();
  FailureOr<Normalized> norm = normalize(node, kind, node.input(0), element, *axis,
                                         node.real("epsilon", 1e-5f), /*scale=*/1, /*bias=*/2);
  if (failed(norm))
    return failure();
  if (kind == NormKind::Layer)
    return node.yield({norm->result, norm->mean, norm->inverse});
  return node.yield({norm->result, norm->inverse});
}

/// The norm of input + skip + bias, and that sum. Inputs: input, skip, scale, the norm's bias
/// for a layer norm, bias.
template <NormKind kind> static LogicalResult skipNorm(Node &node) {
  constexpr unsigned kScale = 2, kNormBias = kind == NormKind::Layer ? 3 : kNoInput;
  constexpr unsigned kBias = kind == NormKind::Layer ? 4 : 3;
  Sizes shape = node.inputShape(0);
  if (shape.empty() || !node.ensureBroadcastTo(node.inputShape(1), shape))
    return node.error() << "skip of shape " << shapeText(node.inputShape(1))
                        << " cannot be broadcast to the shape " << shapeText(shape);
  if (failed(node.expectSameElementType(0, 1)))
    return failure();
  Emitter &emit = node.emit;
  Value sum = emit.binary(BK::Add, node.input(0), emit.broadcastTo(node.input(1), shape));
  FailureOr<Value> biased = addLastBias(node, sum, kBias);
  if (failed(biased))
    return failure();
  FailureOr<Normalized> norm =
      normalize(node, kind, *biased, node.inputType(0).getElementType(), int64_t(shape.size()) - 1,
                node.real("epsilon", 1e-12f), kScale, kNormBias);
  if (failed(norm))
    return failure();
  // The root mean square needs none, but it may be asked for.
  if (!norm->mean && node.hasOutput(1))
    norm->mean = meanOf(emit, *biased, int64_t(shape.size()) - 1, /*keepDims=*/true);
  return node.yield({norm->result, norm->mean, norm->inverse, *biased});
}

/// The layer norm of the sum of embeddings. Inputs: words, segments, the tables of words,
/// positions and segments, scale, bias, mask, positions.
static LogicalResult embedLayerNormalization(Node &node) {
  Emitter &emit = node.emit;
  for (unsigned required : {2, 3, 5, 6})
    if (!node.input(required))
      return node.error() << "input " << required << " is missing";
  Sizes ids = node.inputShape(0), words = node.inputShape(2);
  if (ids.size() != 2 || words.size() != 2)
    return node.error() << "input_ids and word_embedding have shapes " << shapeText(ids) << " and "
                        << shapeText(words) << ", expected two dimensions";
  Sizes shape{ids[0], ids[1], words[1]};
  Value sum;
  // Adds the rows of a table that an input names, or its first ones.
  auto add = [&](unsigned table, unsigned rows) -> LogicalResult {
    Sizes size = node.inputShape(table);
    if (size.size() != 2 ||
        !node.ensureEqual(size[1], words[1], ("the width of input " + Twine(table)).str()))
      return node.error() << "input " << table << " has shape " << shapeText(size)
                          << ", expected two dimensions, the last of " << words[1].str();
    if (failed(node.expectSameElementType(2, table)))
      return failure();
    Value found;
    if (Value indices = node.input(rows)) {
      found = emit.gather(node.input(table), indices, 0);
    } else {
      if (!node.ensureAtMost(
              ids[1], size[0],
              ("input " + Twine(table) + " has {1} rows, expected at least {0}").str()))
        return node.error() << "input " << table << " has " << size[0].str()
                            << " rows, expected at least " << ids[1].str();
      found = emit.sliceAxis(node.input(table), 0, 0, ids[1]);
    }
    if (!node.ensureBroadcastTo(Emitter::shapeOf(found), shape))
      return node.error() << "input " << rows << " has shape " << shapeText(node.inputShape(rows))
                          << ", expected " << shapeText(ids);
    found = emit.broadcastTo(found, shape);
    sum = sum ? emit.binary(BK::Add, sum, found) : found;
    return success();
  };
  if (bool(node.input(1)) != bool(node.input(4)))
    return node.error() << "segment_ids and segment_embedding are used together";
  if (failed(add(2, 0)) || failed(add(3, 8)) || (node.input(4) && failed(add(4, 1))))
    return failure();
  node.ignore("mask_index_type"); // of another output's type
  FailureOr<Normalized> norm =
      normalize(node, NormKind::Layer, sum, Emitter::typeOf(sum).getElementType(), 2,
                node.real("epsilon", 1e-12f), /*scale=*/5, /*bias=*/6);
  if (failed(norm))
    return failure();
  // How many tokens of each sequence the mask keeps.
  Type index = emit.builder.getI32Type();
  Value lengths = emit.splat(emit.typed(ids[0], index), 0);
  if (Value mask = node.input(7)) {
    if (!node.ensureEqual(node.inputShape(7), ids, "the mask"))
      return node.error() << "mask has shape " << shapeText(node.inputShape(7)) << ", expected "
                          << shapeText(ids);
    Value isKept = emit.convert(emit.compare(CompareKind::Eq, mask, 1.0), index);
    lengths = emit.cast(emit.reduce(ReduceKind::Sum, isKept, {1}, /*keepDims=*/false), ids[0]);
  }
  return node.yield({norm->result, lengths, sum});
}

static LogicalResult instanceNormalization(Node &node) {
  if (failed(expectChannels(node)) || failed(expectPerChannel(node, {1, 2}, node.inputShape(0)[1])))
    return failure();
  if (failed(expectSpatial(node)))
    return failure();
  Value x = node.emit.norm(NormKind::Layer, node.input(0), 2, node.real("epsilon", 1e-5f));
  return node.yield(affine(node.emit, x, node.input(1), node.input(2), 1));
}

/// The norm of each group of channels, which are dimension 1: [batch, groups, rest].
static FailureOr<Value> normalizeGroups(Node &node, Value x, StringRef attribute) {
  Sizes shape = Emitter::shapeOf(x);
  int64_t groups = node.integer(attribute, 0);
  const SymExpr &channels = shape[1];
  SymExpr perGroup = groups < 1 ? SymExpr(0) : SymExpr::floorDiv(channels, groups);
  if (groups < 1 || !node.ensureMultiple(channels, groups, "the number of channels"))
    return node.error() << "attribute '" << attribute << "' is " << groups
                        << ", expected a divisor of " << channels.str() << " channels";
  double epsilon = node.real("epsilon", 1e-5f);
  SymExpr rest = perGroup * product(Node::Shape(shape).drop_front(2));
  Emitter &emit = node.emit;
  return withStash(node, x, Emitter::typeOf(x).getElementType(), [&](Value wide) {
    Value grouped = emit.reshape(wide, {shape[0], SymExpr(groups), rest});
    return emit.norm(NormKind::Layer, grouped, 2, epsilon);
  });
}

/// Scale and bias are per group in version 18 and per channel since 21.
static LogicalResult groupNormalization(Node &node) {
  if (failed(expectChannels(node)))
    return failure();
  FailureOr<Value> grouped = normalizeGroups(node, node.input(0), "num_groups");
  if (failed(grouped))
    return failure();
  Sizes shape = node.inputShape(0);
  bool isPerGroup = node.getOpset() < 21;
  if (failed(expectPerChannel(node, {1, 2}, isPerGroup ? Emitter::shapeOf(*grouped)[1] : shape[1])))
    return failure();
  Emitter &emit = node.emit;
  Value x = isPerGroup ? *grouped : emit.reshape(*grouped, shape);
  return node.yield(emit.reshape(affine(emit, x, node.input(1), node.input(2), 1), shape));
}

/// A group norm with an activation. Inputs: X, scale, bias and, for SkipGroupNorm, what is added
/// to X first: a tensor or one number per channel of each batch, and one per channel. Scale and
/// bias are of one type, which need not be that of X.
static LogicalResult groupNorm(Node &node) {
  int64_t rank = node.inputRank(0);
  if (failed(expectChannels(node)))
    return failure();
  Emitter &emit = node.emit;
  bool isChannelsLast = node.integer("channels_last", 1) != 0;
  auto channelsFirst = [&](Value x) {
    return isChannelsLast ? emit.transpose(x, channelsFirstPerm(rank)) : x;
  };
  Value x = channelsFirst(node.input(0));
  Sizes shape = Emitter::shapeOf(x);
  if (failed(expectPerChannel(node, {1, 2}, shape[1], 1)) ||
      failed(expectPerChannel(node, {4}, shape[1])))
    return failure();
  if (Value skip = node.input(3)) {
    if (failed(node.expectSameElementType(0, 3)))
      return failure();
    Sizes given = node.inputShape(3), unit(shape);
    std::fill(unit.begin() + 2, unit.end(), SymExpr(1));
    if (given.size() == 2 && node.ensureEqual(given, Node::Shape(shape).take_front(2), "the skip"))
      skip = emit.reshape(skip, unit);
    else if (int64_t(given.size()) == rank)
      skip = channelsFirst(skip);
    if (!node.ensureBroadcastTo(Emitter::shapeOf(skip), shape))
      return node.error() << "skip of shape " << shapeText(given)
                          << " cannot be broadcast to the shape " << shapeText(node.inputShape(0));
    x = affine(emit, emit.binary(BK::Add, x, emit.broadcastTo(skip, shape)), Value(), node.input(4),
               1);
  }
  FailureOr<Value> grouped = normalizeGroups(node, x, "groups");
  if (failed(grouped))
    return failure();
  Type element = node.inputType(0).getElementType();
  Value y = affine(emit, emit.reshape(*grouped, shape), emit.convert(node.input(1), element),
                   emit.convert(node.input(2), element), 1);
  int64_t activation = node.integer("activation", 0);
  if (activation != 0 && activation != 1)
    return node.error() << "attribute 'activation' is " << activation << ", expected 0 or 1";
  if (activation == 1)
    y = emit.binary(BK::Mul, y, emit.unary(UK::Sigmoid, y));
  auto back = [&](Value value) {
    return isChannelsLast ? emit.transpose(value, channelsLastPerm(rank)) : value;
  };
  return node.yield({back(y), back(x)});
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
  auto mean = [&](Value v) { return meanOf(emit, v, *axes, /*keepDims=*/true); };
  Value centred = emit.binary(BK::Sub, node.input(0), emit.broadcastTo(mean(node.input(0)), shape));
  Value deviation = emit.unary(UK::Sqrt, mean(emit.binary(BK::Mul, centred, centred)));
  deviation = emit.binary(BK::Add, deviation, 1e-9);
  return node.yield(emit.binary(BK::Div, centred, emit.broadcastTo(deviation, shape)));
}

static const OperatorRow rows[] = {
    {"BatchNormalization", 5, 5, batchNormalization},
    {"GroupNormalization", 3, 3, groupNormalization},
    {"InstanceNormalization", 3, 3, instanceNormalization},
    {"LayerNormalization", 2, 3, trailingNorm<NormKind::Layer>},
    {"LogSoftmax", 1, 1, softmax<true>},
    {"LpNormalization", 1, 1, lpNormalization},
    {"MeanVarianceNormalization", 1, 1, meanVarianceNormalization},
    {"RMSNormalization", 2, 2, trailingNorm<NormKind::Rms>},
    // ONNX Runtime's, in the default domain.
    {"SimplifiedLayerNormalization", 2, 2, trailingNorm<NormKind::Rms>},
    {"Softmax", 1, 1, softmax<false>},
    OperatorRow{"EmbedLayerNormalization", 1, 9, embedLayerNormalization}.ofMicrosoft(),
    OperatorRow{"GroupNorm", 3, 3, groupNorm}.ofMicrosoft(),
    OperatorRow{"SkipGroupNorm", 4, 5, groupNorm}.ofMicrosoft(),
    OperatorRow{"SkipLayerNormalization", 3, 5, skipNorm<NormKind::Layer>}.ofMicrosoft(),
    OperatorRow{"SkipSimplifiedLayerNormalization", 3, 4, skipNorm<NormKind::Rms>}.ofMicrosoft(),
};

ArrayRef<OperatorRow> lumen::normalizationRows() { return rows; }
