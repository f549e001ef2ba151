//===- Convolution.cpp - convolutions, and what undoes their blocks --------===//

#include "passes/onnx-to-lumen/Quantization.h"

using namespace mlir;
using namespace lumen;

/// One field of each axis.
static SmallVector<int64_t> fields(ArrayRef<WindowAxis> axes, int64_t WindowAxis::*field) {
  return llvm::map_to_vector(axes, [&](const WindowAxis &axis) { return axis.*field; });
}
/// The same of sizes, which are constants.
static SmallVector<int64_t> fields(ArrayRef<WindowAxis> axes, SymExpr WindowAxis::*field) {
  return llvm::map_to_vector(axes,
                             [&](const WindowAxis &axis) { return *(axis.*field).asConstant(); });
}

/// Adds the bias, input 2, to a channels-last result.
static FailureOr<Value> withBias(Node &node, Value result) {
  Emitter &emit = node.emit;
  Sizes shape = Emitter::shapeOf(result);
  const SymExpr &outputs = shape.back();
  int64_t rank = shape.size();
  if (Value bias = node.input(2)) {
    if (!node.ensureEqual(node.inputShape(2), outputs, "the bias"))
      return node.error() << "bias has shape " << shapeText(node.inputShape(2)) << ", expected "
                          << outputs.str();
    if (failed(node.expectSameElementType(0, 2)))
      return failure();
    bias = emit.cast(bias, outputs);
    result = emit.binary(BinaryKind::Add, result, emit.broadcastAlong(bias, shape, rank - 1));
  }
  return result;
}

LogicalResult lumen::yieldChannelsFirst(Node &node, FailureOr<Value> result) {
  if (failed(result))
    return failure();
  int64_t rank = Emitter::typeOf(*result).getRank();
  return node.yield(node.emit.transpose(*result, channelsFirstPerm(rank)));
}

FailureOr<SmallVector<int64_t>> lumen::readWeightShape(Node &node, Value weight) {
  std::optional<SmallVector<int64_t>> shape = asConstants(Emitter::shapeOf(weight));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (!shape || llvm::any_of(*shape, [](int64_t size) { return size > kMost; }))
    return node.error() << "weight has shape " << shapeText(Emitter::shapeOf(weight))
                        << ", expected fixed sizes up to " << kMost;
  return *shape;
}

/// Surrounds a channels-last tensor with a value, and takes the pads off the axes.
static Value padWith(Emitter &emit, Value x, MutableArrayRef<WindowAxis> axes, Value padding) {
  Sizes low(1, SymExpr(0)), high(1, SymExpr(0));
  for (WindowAxis &axis : axes) {
    low.push_back(std::exchange(axis.padLow, 0));
    high.push_back(std::exchange(axis.padHigh, 0));
  }
  low.push_back(0);
  high.push_back(0);
  return emit.pad(PadKind::Constant, x, padding, low, high);
}

/// What a window sees at each of its places, of a channels-last tensor, off which the pads of
/// the axes are taken: [N, places, taps, places, taps, ..., C].
static Value gatherPatches(Emitter &emit, Value x, MutableArrayRef<WindowAxis> axes) {
  x = padWith(emit, x, axes, emit.scalar(0, Emitter::typeOf(x).getElementType()));
  for (auto [i, axis] : llvm::enumerate(axes)) {
    RankedTensorType type = emit.typed({axis.output, axis.window}, emit.builder.getI64Type());
    Value place = emit.binary(BinaryKind::Mul, emit.iota(type, 0), double(axis.stride));
    Value tap = emit.binary(BinaryKind::Mul, emit.iota(type, 1), double(axis.dilation));
    x = emit.gather(x, emit.binary(BinaryKind::Add, place, tap), 1 + 2 * i);
  }
  return x;
}

/// A convolution with numbers of channels that only the run knows, as a product of patches
/// and filters: kernels of convolutions are made for their channels. The taps are known.
static FailureOr<Value> convolvePatches(Node &node, Value x) {
  Emitter &emit = node.emit;
  Sizes input = Emitter::shapeOf(x), weight = node.inputShape(1);
  int64_t rank = input.size();
  FailureOr<int64_t> count = node.count("group", 1);
  if (failed(count))
    return failure();
  int64_t groups = *count;
  std::optional<SmallVector<int64_t>> taps = node.integers("kernel_shape");
  if (!taps)
    taps = asConstants(Node::Shape(weight).drop_front(2));
  if (!taps)
    return node.error() << "weight has shape " << shapeText(weight)
                        << ", expected fixed spatial dimensions, or attribute 'kernel_shape'";
  SymExpr inner = weight[1], outer = SymExpr::floorDiv(weight[0], groups);
  if (!node.ensureEqual(Node::Shape(weight).drop_front(2), toSizes(*taps),
                        "the window of the weight") ||
      !node.ensureEqual(input.back(), inner * groups, "the number of input channels") ||
      !node.ensureMultiple(weight[0], groups, "the number of output channels"))
    return node.error() << "weight of shape " << shapeText(weight) << " does not fit "
                        << input.back().str() << " input channels in groups of " << groups
                        << " and taps of shape " << shapeText(*taps);
  FailureOr<SmallVector<WindowAxis>> axes =
      readWindow(node, Node::Shape(input).slice(1, rank - 2), *taps, /*takesCeilMode=*/false);
  if (failed(axes))
    return failure();
  input.back() = inner * groups;
  x = gatherPatches(emit, emit.cast(x, input), *axes);

  // [N, places, taps, .., groups * inner] -> [N, groups, places.., taps.., inner]
  Sizes split = Emitter::shapeOf(x), shape{input[0]};
  split.back() = groups;
  split.push_back(inner);
  SymExpr places = 1, depth = inner;
  int64_t spatial = axes->size();
  SmallVector<int64_t> perm{0, 2 * spatial + 1}, filterPerm{0, 1};
  for (int64_t i = 0; i < 2 * spatial; ++i)
    perm.push_back(1 + i % spatial * 2 + i / spatial);
  perm.push_back(2 * spatial + 2);
  Sizes filterShape{groups, outer, inner};
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    shape.push_back(axis.output);
    places *= axis.output;
    depth *= axis.window;
    filterShape.push_back(axis.window);
    filterPerm.push_back(3 + i);
  }
  filterPerm.push_back(2);
  shape.push_back(outer * groups);
  Sizes product{input[0], groups, places, outer}, patches{input[0], groups, places, depth};
  if (failed(node.checkSize(shape)) || failed(node.checkSize(patches)))
    return failure();
  x = emit.reshape(emit.transpose(emit.reshape(x, split), perm), patches);
  Value filter = emit.transpose(emit.reshape(node.input(1), filterShape), filterPerm);
  filter = emit.broadcastTo(emit.reshape(filter, {groups, outer, depth}),
                            {input[0], groups, outer, depth});
  Value result =
      emit.create<ContractOp>(emit.typed(product, node.inputType(0).getElementType()), x, filter,
                              /*transpose_lhs=*/false, /*transpose_rhs=*/true, /*packed=*/false);
  result = emit.reshape(emit.transpose(result, {0, 2, 1, 3}), shape);
  return withBias(node, result);
}

FailureOr<Value> lumen::emitConvolution(Node &node, Value x, Value filter, Value padding) {
  Sizes input = Emitter::shapeOf(x);
  int64_t rank = input.size();
  FailureOr<SmallVector<int64_t>> weightShape = readWeightShape(node, filter);
  if (failed(weightShape))
    return failure();
  ArrayRef<int64_t> weight = *weightShape;
  if (int64_t(weight.size()) != rank)
    return node.error() << "weight has " << weight.size() << " dimensions, expected " << rank;
  FailureOr<int64_t> count = node.count("group", 1);
  if (failed(count))
    return failure();
  int64_t groups = *count, outputs = weight[0];
  // What the run gives has to agree with the weight.
  int64_t channels = input.back().asConstant().value_or(weight[1] * groups);
  if (channels % groups != 0 || outputs % groups != 0)
    return node.error() << "attribute 'group' is " << groups << ", expected a divisor of "
                        << channels << " input and " << outputs << " output channels";
  if (!node.ensureEqual(input.back(), weight[1] * groups, "the number of input channels")) {
    InFlightDiagnostic error = node.error() << "weight has " << weight[1]
                                            << " input channels, expected " << channels / groups;
    if (groups > 1)
      error << " in each of " << groups << " groups";
    return error;
  }
  input.back() = channels;
  FailureOr<SmallVector<WindowAxis>> axes = readWindow(
      node, Node::Shape(input).slice(1, rank - 2), weight.drop_front(2), /*takesCeilMode=*/false);
  if (failed(axes))
    return failure();

  Emitter &emit = node.emit;
  Sizes shape{input[0]};
  for (const WindowAxis &axis : *axes)
    shape.push_back(axis.output);
  shape.push_back(outputs);
  if (failed(node.checkSize(shape)))
    return failure();
  x = emit.cast(x, input);
  x = padding ? padWith(emit, x, *axes, padding) : padDynamic(emit, x, *axes, 0);
  // [O, C/groups, taps...] -> [taps..., C/groups, O]
  SmallVector<int64_t> filterPerm = llvm::to_vector(llvm::seq<int64_t>(2, rank));
  filterPerm.append({1, 0});
  Builder &b = emit.builder;
  auto array = [&](auto field) { return b.getDenseI64ArrayAttr(fields(*axes, field)); };
  filter = emit.transpose(filter, filterPerm);
  Type element = productElementType(Emitter::typeOf(x).getElementType(),
                                    Emitter::typeOf(filter).getElementType());
  return emit.create<ConvOp>(emit.typed(shape, element), x, filter, array(&WindowAxis::window),
                             array(&WindowAxis::stride), array(&WindowAxis::dilation),
                             array(&WindowAxis::padLow), array(&WindowAxis::padHigh),
                             b.getI64IntegerAttr(groups), UnitAttr());
}

/// The channels-last result of a channels-last input [N, spatial..., C], weight
/// [O, C/groups, taps...] and bias [O].
static FailureOr<Value> convolve(Node &node, Value x) {
  if (failed(node.expectSameElementType(0, 1)))
    return failure();
  if (node.inputRank(1) == Emitter::typeOf(x).getRank() && !asConstants(node.inputShape(1)))
    return convolvePatches(node, x);
  FailureOr<Value> quantized = emitQuantizedConvolution(node, x, node.input(1), node.input(2));
  if (failed(quantized) || *quantized)
    return quantized;
  FailureOr<Value> result = emitConvolution(node, x, node.input(1));
  return failed(result) ? result : withBias(node, *result);
}

FailureOr<Value> lumen::readChannelsLast(Node &node) {
  if (failed(expectSpatial(node)))
    return failure();
  return node.emit.transpose(node.input(0), channelsLastPerm(node.inputRank(0)));
}

/// Input [N, C, spatial...].
static FailureOr<Value> convolveChannelsFirst(Node &node) {
  FailureOr<Value> x = readChannelsLast(node);
  return failed(x) ? x : convolve(node, *x);
}

static LogicalResult conv(Node &node) {
  return yieldChannelsFirst(node, convolveChannelsFirst(node));
}

/// A convolution, what is added to it (input 3), and an activation.
static LogicalResult fusedConv(Node &node) {
  FailureOr<Value> result = convolveChannelsFirst(node);
  if (failed(result))
    return failure();
  if (Value added = node.input(3)) {
    int64_t rank = node.inputRank(0);
    if (failed(node.expectSameElementType(0, 3)))
      return failure();
    Sizes shape = Emitter::shapeOf(*result);
    Value moved =
        node.inputRank(3) == rank ? node.emit.transpose(added, channelsLastPerm(rank)) : added;
    if (!node.ensureEqual(Emitter::shapeOf(moved), shape, "what is added"))
      return node.error() << "input 3 has shape " << shapeText(node.inputShape(3))
                          << ", expected that of the result";
    result = node.emit.binary(BinaryKind::Add, *result, node.emit.cast(moved, shape));
  }
  SmallVector<double> parameters = readReals(node, "activation_params");
  return yieldChannelsFirst(node, activate(node, parameters, *result));
}

/// The same with channels last in the input and the result.
static LogicalResult nhwcConv(Node &node) {
  if (failed(expectSpatial(node)))
    return failure();
  FailureOr<Value> result = convolve(node, node.input(0));
  return failed(result) ? failure() : node.yield(*result);
}

//===----------------------------------------------------------------------===//
// ConvTranspose
//===----------------------------------------------------------------------===//

/// Puts `strides - 1` zeros behind each element of the spatial dimensions of a
/// channels-last tensor, but the last.
static Value spread(Emitter &emit, Value x, ArrayRef<int64_t> strides) {
  Sizes from = Emitter::shapeOf(x), apart{from[0]}, together{from[0]}, sizes{from[0]};
  Sizes low{SymExpr(0)}, high{SymExpr(0)};
  for (auto [size, stride] : llvm::zip(Node::Shape(from).drop_front(), strides)) {
    apart.append({size, SymExpr(1)});
    low.append({SymExpr(0), SymExpr(0)});
    high.append({SymExpr(0), SymExpr(stride - 1)});
    together.push_back(size * stride);
    sizes.push_back((size - 1) * stride + 1);
  }
  apart.push_back(from.back());
  for (Sizes *list : {&low, &high})
    list->push_back(0);
  for (Sizes *list : {&together, &sizes})
    list->push_back(from.back());
  Value zero = emit.scalar(0, Emitter::typeOf(x).getElementType());
  x = emit.reshape(emit.pad(PadKind::Constant, emit.reshape(x, apart), zero, low, high), together);
  Sizes offsets(sizes.size(), SymExpr(0));
  SmallVector<int64_t> ones(sizes.size(), 1);
  return emit.slice(x, offsets, sizes, ones);
}

/// Weight [C, O/groups, taps...] -> filter [taps..., C/groups, O], taps reversed.
static Value transposedFilter(Emitter &emit, Value weight, ArrayRef<int64_t> shape,
                              int64_t groups) {
  int64_t depth = shape[0] / groups, outputs = shape[1], spatial = shape.size() - 2;
  SmallVector<int64_t> grouped{groups, depth, outputs}, perm, filter(shape.drop_front(2));
  llvm::append_range(grouped, shape.drop_front(2));
  for (int64_t i = 0; i < spatial; ++i)
    perm.push_back(3 + i);
  perm.append({1, 0, 2});
  filter.append({depth, groups * outputs});
  Value result =
      emit.reshape(emit.transpose(emit.reshape(weight, toSizes(grouped)), perm), toSizes(filter));
  SmallVector<int64_t> offsets(filter.size(), 0), strides(filter.size(), 1);
  for (int64_t i = 0; i < spatial; ++i) {
    offsets[i] = filter[i] - 1;
    strides[i] = -1;
  }
  return emit.slice(result, toSizes(offsets), toSizes(filter), strides);
}

/// Where the windows of a transposed convolution lie: `output` is its own size,
/// pads are what is cut from the full result.
static FailureOr<SmallVector<WindowAxis>> readTransposedWindow(Node &node, Node::Shape sizes,
                                                               ArrayRef<int64_t> kernel) {
  auto outputPadding = readSpatialList(node, "output_padding", sizes.size(), 0, 0);
  auto strides = readSpatialList(node, "strides", sizes.size(), 1, 1);
  auto dilations = readSpatialList(node, "dilations", sizes.size(), 1, 1);
  auto pads =
      readSpatialList(node, "pads", 2 * sizes.size(), 0, std::numeric_limits<int32_t>::min());
  auto outputShape = readSpatialList(node, "output_shape", sizes.size(), 0, 0);
  if (failed(outputPadding) || failed(strides) || failed(dilations) || failed(pads) ||
      failed(outputShape))
    return failure();
  std::optional<SmallVector<int64_t>> given = node.integers("kernel_shape");
  if (given && !given->empty() && ArrayRef<int64_t>(*given) != kernel)
    return node.error() << "attribute 'kernel_shape' is " << shapeText(*given)
                        << ", but the weight's is " << shapeText(kernel);
  StringRef autoPad = node.string("auto_pad", "NOTSET");
  bool isSame = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (!isSame && autoPad != "NOTSET" && autoPad != "VALID" && !autoPad.empty())
    return node.error() << "attribute 'auto_pad' is '" << autoPad
                        << "', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER";
  SmallVector<WindowAxis> axes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    WindowAxis axis{kernel[i], (*strides)[i], (*dilations)[i], 0, 0, 0};
    int64_t extent = 0;
    if (llvm::MulOverflow(kernel[i] - 1, axis.dilation, extent))
      return node.error() << "result is too large";
    SymExpr full = (sizes[i] - 1) * axis.stride + extent + 1 + (*outputPadding)[i];
    SymExpr wanted = (*outputShape)[i];
    if (!full.isValid())
      return node.error() << "result is too large";
    if (isSame && wanted == SymExpr(0))
      wanted = sizes[i] * axis.stride;
    if (wanted != SymExpr(0)) {
      // What is too much is cut on both sides, the odd one as auto_pad says.
      SymExpr total = SymExpr::max(full - wanted, 0), half = SymExpr::floorDiv(total, 2);
      axis.padLow = autoPad == "SAME_UPPER" ? half : total - half;
      axis.padHigh = full - wanted - axis.padLow;
      axis.output = wanted;
      if (!axis.padLow.asConstant() || !axis.padHigh.asConstant())
        return node.error() << "output size " << wanted.str() << " of spatial dimension " << i
                            << " has pads that only the run knows";
    } else {
      bool isGiven = autoPad != "VALID";
      axis.padLow = isGiven ? (*pads)[i] : 0;
      axis.padHigh = isGiven ? (*pads)[sizes.size() + i] : 0;
      axis.output = full - axis.padLow - axis.padHigh;
    }
    if (!node.ensureAtMost(1, axis.output,
                           ("the size of the result along dimension " + Twine(i + 2)).str()))
      return node.error() << "result has size " << axis.output.str() << " in spatial dimension "
                          << i;
    // In the convolution of the spread input the full result needs a border of
    // extent - 1 elements; output_padding widens its end.
    axis.padLow = SymExpr(extent) - axis.padLow;
    axis.padHigh = SymExpr(extent + (*outputPadding)[i]) - axis.padHigh;
    axes.push_back(axis);
  }
  return axes;
}

/// The gradient of a convolution: a plain one over the input with zeros between
/// its elements, and the filter turned around.
static LogicalResult convTranspose(Node &node) {
  Sizes input = node.inputShape(0);
  int64_t rank = input.size();
  if (rank < 3 || node.inputRank(1) != rank)
    return node.error() << "input and weight have shapes " << shapeText(input) << " and "
                        << shapeText(node.inputShape(1))
                        << ", expected the same number of dimensions, at least three";
  FailureOr<SmallVector<int64_t>> weightShape = readWeightShape(node, node.input(1));
  if (failed(weightShape) || failed(node.expectSameElementType(0, 1)))
    return failure();
  ArrayRef<int64_t> weight = *weightShape;
  FailureOr<int64_t> count = node.count("group", 1);
  if (failed(count))
    return failure();
  int64_t groups = *count;
  int64_t channels = input[1].asConstant().value_or(weight[0]);
  if (channels % groups != 0)
    return node.error() << "attribute 'group' is " << groups << ", expected a divisor of "
                        << channels << " input channels";
  if (!node.ensureEqual(input[1], weight[0], "the number of input channels"))
    return node.error() << "weight has " << weight[0] << " input channels, expected " << channels;
  input[1] = channels;
  Node::Shape spatial = Node::Shape(input).drop_front(2);
  FailureOr<SmallVector<WindowAxis>> axes =
      readTransposedWindow(node, spatial, weight.drop_front(2));
  if (failed(axes))
    return failure();
  int64_t outputs = weight[1] * groups;
  Sizes shape{input[0]}, spreadShape{input[0], SymExpr(channels)};
  for (auto [axis, size] : llvm::zip(*axes, spatial)) {
    shape.push_back(axis.output);
    spreadShape.push_back(size * axis.stride);
    if (!spreadShape.back().isValid())
      return node.error() << "result is too large";
  }
  shape.push_back(outputs);
  if (failed(node.checkSize(shape)) || failed(node.checkSize(spreadShape)))
    return failure();
  Emitter &emit = node.emit;
  Value x = emit.transpose(emit.cast(node.input(0), input), channelsLastPerm(rank));
  x = spread(emit, x, fields(*axes, &WindowAxis::stride));
  Builder &b = emit.builder;
  SmallVector<int64_t> ones(rank - 2, 1);
  auto array = [&](auto field) { return b.getDenseI64ArrayAttr(fields(*axes, field)); };
  Value result = emit.create<ConvOp>(
      emit.typed(shape, node.inputType(0).getElementType()), x,
      transposedFilter(emit, node.input(1), weight, groups), array(&WindowAxis::window),
      b.getDenseI64ArrayAttr(ones), array(&WindowAxis::dilation), array(&WindowAxis::padLow),
      array(&WindowAxis::padHigh), b.getI64IntegerAttr(groups), UnitAttr());
  return yieldChannelsFirst(node, withBias(node, result));
}

//===----------------------------------------------------------------------===//
// CausalConvWithState
//===----------------------------------------------------------------------===//

/// A depthwise convolution along a sequence [N, C, length], of which the state is what came
/// before: the last taps - 1 elements. Inputs: X, weight [C, 1, taps], bias, state.
static LogicalResult causalConv(Node &node) {
  StringRef activation = node.string("activation", "none");
  if (failed(readChoice(node, "activation", activation, {"none", "silu", "swish"})))
    return failure();
  Sizes input = node.inputShape(0);
  FailureOr<SmallVector<int64_t>> weight = readWeightShape(node, node.input(1));
  if (failed(weight) || failed(node.expectReal()) || failed(node.expectSameElementType(0, 1)))
    return failure();
  if (input.size() != 3 || weight->size() != 3 || (*weight)[1] != 1 || (*weight)[2] < 1)
    return node.error() << "input and weight have shapes " << shapeText(input) << " and "
                        << shapeText(*weight) << ", expected three dimensions, and one input "
                        << "channel per filter";
  int64_t channels = (*weight)[0], taps = (*weight)[2];
  if (!node.ensureEqual(input[1], channels, "the number of channels"))
    return node.error() << "weight has " << channels << " channels, expected " << input[1].str();
  input[1] = channels;
  Emitter &emit = node.emit;
  Type element = node.inputType(0).getElementType();
  Value x = emit.cast(node.input(0), input), before;
  Sizes state{input[0], SymExpr(channels), SymExpr(taps - 1)};
  if (Value given = node.input(3)) {
    if (failed(node.expectSameElementType(0, 3)))
      return failure();
    if (!node.ensureEqual(node.inputShape(3), state, "the state"))
      return node.error() << "past_state has shape " << shapeText(node.inputShape(3))
                          << ", expected " << shapeText(state);
    before = emit.cast(given, state);
  } else {
    before = emit.splat(emit.typed(state, element), 0);
  }
  Value whole = emit.concat({before, x}, 2);
  Value next = emit.sliceAxis(whole, 2, input[2], taps - 1);
  Builder &b = emit.builder;
  auto one = b.getDenseI64ArrayAttr(1), zero = b.getDenseI64ArrayAttr(0);
  Value y =
      emit.create<ConvOp>(emit.typed({input[0], input[2], SymExpr(channels)}, element),
                          emit.transpose(whole, {0, 2, 1}),
                          emit.transpose(node.input(1), {2, 1, 0}), b.getDenseI64ArrayAttr(taps),
                          one, one, zero, zero, b.getI64IntegerAttr(channels), UnitAttr());
  FailureOr<Value> biased = withBias(node, y);
  if (failed(biased))
    return failure();
  y = emit.transpose(*biased, {0, 2, 1});
  if (activation != "none")
    y = emit.binary(BinaryKind::Mul, y, emit.unary(UnaryKind::Sigmoid, y));
  return node.yield({y, next});
}

//===----------------------------------------------------------------------===//
// Col2Im
//===----------------------------------------------------------------------===//

/// Adds up overlapping blocks, [N, C * block, places], where they lie in the image.
static LogicalResult col2Im(Node &node) {
  FailureOr<Sizes> image = node.sizeOperand(1, "image_shape"),
                   block = node.sizeOperand(2, "block_shape");
  if (failed(image) || failed(block))
    return failure();
  int64_t spatial = image->size();
  Sizes input = node.inputShape(0);
  if (input.size() != 3 || block->size() != image->size() || image->empty())
    return node.error() << "input has shape " << shapeText(input) << ", image_shape "
                        << image->size() << " and block_shape " << block->size()
                        << " entries, expected three dimensions and as many entries in both";
  auto strides = readSpatialList(node, "strides", spatial, 1, 1);
  auto dilations = readSpatialList(node, "dilations", spatial, 1, 1);
  auto pads = readSpatialList(node, "pads", 2 * spatial, 0, 0);
  if (failed(strides) || failed(dilations) || failed(pads))
    return failure();
  SymExpr taps = product(*block), channels = SymExpr::floorDiv(input[1], taps);
  if (!node.ensureMultiple(input[1], taps, "the number of rows"))
    return node.error() << "input has " << input[1].str() << " rows, expected a multiple of "
                        << taps.str();
  // Blocks lie in the padded image, whose pads are cut off at the end.
  Sizes padded{input[0], channels}, result(padded), places, offsets(2, SymExpr(0));
  for (int64_t i = 0; i < spatial; ++i) {
    SymExpr extent = ((*block)[i] - 1) * (*dilations)[i] + 1;
    padded.push_back((*image)[i] + (*pads)[i] + (*pads)[spatial + i]);
    places.push_back(SymExpr::floorDiv(padded.back() - extent, (*strides)[i]) + 1);
    result.push_back((*image)[i]);
    offsets.push_back((*pads)[i]);
  }
  if (!node.ensureEqual(input[2], product(places), "the number of blocks"))
    return node.error() << "input has " << input[2].str() << " blocks, expected "
                        << product(places).str();
  Sizes updates{input[0], channels};
  llvm::append_range(updates, *block);
  llvm::append_range(updates, places);
  if (failed(node.checkSize(padded)) || failed(node.checkSize(updates)))
    return failure();
  Emitter &emit = node.emit;
  Value x = emit.cast(node.input(0), {input[0], channels * taps, product(places)});
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(2, updates.size()));
  perm.append({0, 1});
  x = emit.transpose(emit.reshape(x, updates), perm);
  Sizes grid(*block);
  llvm::append_range(grid, places);
  RankedTensorType gridType = emit.typed(grid, emit.builder.getI64Type());
  SmallVector<Value> indices;
  for (int64_t i = 0; i < spatial; ++i) {
    Value tap = emit.binary(BinaryKind::Mul, emit.iota(gridType, i), double((*dilations)[i]));
    Value place =
        emit.binary(BinaryKind::Mul, emit.iota(gridType, spatial + i), double((*strides)[i]));
    indices.push_back(emit.binary(BinaryKind::Add, tap, place));
  }
  SmallVector<int64_t> dims{2 * spatial, 2 * spatial + 1};
  dims.append(spatial, -1);
  // Booleans are counted: of two that meet, either is enough.
  Type element = node.inputType(0).getElementType();
  if (element.isInteger(1))
    x = emit.convert(x, emit.builder.getI32Type());
  Value room = emit.splat(emit.typed(padded, Emitter::typeOf(x).getElementType()), 0);
  Value y = emit.create<ScatterOp>(room.getType(), ScatterKind::Add, room, x, indices, dims);
  y = emit.slice(y, offsets, result, SmallVector<int64_t>(result.size(), 1));
  return node.yield(emit.convert(y, element));
}

static const OperatorRow rows[] = {
    {"CausalConvWithState", 2, 4, causalConv, "", 27},
    {"Col2Im", 3, 3, col2Im, "", 18},
    {"Conv", 2, 3, conv},
    {"ConvTranspose", 2, 3, convTranspose},
    OperatorRow{"FusedConv", 2, 4, fusedConv}.ofMicrosoft(),
    OperatorRow{"NhwcConv", 2, 3, nhwcConv}.ofMicrosoft(),
};

ArrayRef<OperatorRow> lumen::convolutionRows() { return rows; }
