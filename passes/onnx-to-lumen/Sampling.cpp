//===- Sampling.cpp - images read at places that are computed -------------===//
//
// Images are channels-last here, so that every place is read as a row of channels:
// `lumen.pick` with one index tensor per spatial dimension.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/ControlFlow.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using CK = CompareKind;

namespace {

/// One of the elements along a dimension that make up a sample; both tensors of the
/// samples' shape.
struct Tap {
  Value index;  ///< i64, inside the dimension
  Value weight; ///< null: 1
};

/// Arithmetic on tensors of the samples' shape.
class Samples {
public:
  Samples(Emitter &emit, Sizes shape) : emit(emit), shape(std::move(shape)) {}

  Value size(const SymExpr &size, Type type) { return emit.splat(emit.size(size, type), shape); }
  Value clamp(Value x, Value low, Value high) {
    return emit.binary(BK::Min, emit.binary(BK::Max, x, low), high);
  }

  Emitter &emit;
  Sizes shape;
};

} // namespace

/// All combinations of taps, joined by their sum, in the type of the weights: `image` is
/// [n, spatial..., c], `batch` the image of each sample (null: samples and images have the same
/// first dimension).
static Value combine(Samples &at, Value image, Value batch, ArrayRef<SmallVector<Tap>> taps,
                     BinaryKind join = BK::Add) {
  Emitter &emit = at.emit;
  int64_t spatial = taps.size();
  Sizes whole(at.shape);
  whole.push_back(sizesOf(image).back());
  Type element = Emitter::typeOf(image).getElementType();
  SmallVector<int64_t> dims{batch ? -1 : 0};
  dims.append(spatial, -1);
  dims.push_back(at.shape.size());
  SmallVector<int64_t> sampleDims = llvm::to_vector(llvm::seq<int64_t>(0, at.shape.size()));
  Value result;
  SmallVector<size_t> chosen(spatial, 0);
  while (true) {
    SmallVector<Value> indices;
    if (batch)
      indices.push_back(batch);
    Value weight;
    for (int64_t d = 0; d < spatial; ++d) {
      const Tap &tap = taps[d][chosen[d]];
      indices.push_back(tap.index);
      if (tap.weight)
        weight = weight ? emit.binary(BK::Mul, weight, tap.weight) : tap.weight;
    }
    Value part = emit.create<PickOp>(tensorTypeOf(whole, element), image, indices, dims);
    if (weight)
      part = emit.binary(BK::Mul, emit.convert(part, Emitter::typeOf(weight).getElementType()),
                         emit.broadcast(weight, whole, sampleDims));
    result = result ? emit.binary(join, result, part) : part;
    int64_t d = spatial - 1;
    while (d >= 0 && ++chosen[d] == taps[d].size())
      chosen[d--] = 0;
    if (d < 0)
      return result;
  }
}

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

namespace {

enum class Padding { Zeros, Border, Reflection };

/// How coordinates of one dimension of `size` become taps.
struct GridAxis {
  Samples &at;
  SymExpr size;
  bool alignsCorners;
  Padding padding;

  Value last(Type type) { return at.size(size - 1, type); }
  /// Folds back at both borders, as often as needed.
  Value reflect(Value x) {
    Emitter &emit = at.emit;
    Type type = Emitter::typeOf(x).getElementType();
    double begin = alignsCorners ? 0 : -0.5;
    Value range = at.size(alignsCorners ? size - 1 : size, type);
    Value period = emit.binary(BK::Mul, range, 2);
    Value phase = emit.binary(BK::Mod, emit.binary(BK::Sub, x, begin), period);
    Value mirrored = emit.binary(BK::Sub, period, phase);
    return emit.binary(BK::Add, emit.binary(BK::Min, phase, mirrored), begin);
  }
  Value inside(Value x) {
    if (padding == Padding::Border)
      return at.clamp(x, at.emit.splatLike(x, 0), last(Emitter::typeOf(x).getElementType()));
    return padding == Padding::Reflection ? reflect(x) : x;
  }
  /// An element at a whole coordinate, which may lie outside.
  Tap tap(Value x, Value weight) {
    Emitter &emit = at.emit;
    Type type = Emitter::typeOf(x).getElementType();
    Value place = padding == Padding::Zeros ? x : inside(x);
    Value clamped = at.clamp(place, emit.splatLike(x, 0), last(type));
    if (padding == Padding::Zeros) {
      Value counts = emit.compare(CK::Eq, clamped, x);
      Value one = weight ? weight : emit.splatLike(x, 1);
      weight = emit.select(counts, one, emit.splatLike(x, 0));
    }
    return {emit.convert(clamped, emit.builder.getI64Type()), weight};
  }
  /// The two elements around a coordinate.
  SmallVector<Tap> around(Value x) {
    Emitter &emit = at.emit;
    Value low = emit.unary(UK::Floor, x), fraction = emit.binary(BK::Sub, x, low);
    return {tap(low, emit.binary(BK::Sub, emit.splatLike(fraction, 1), fraction)),
            tap(emit.binary(BK::Add, low, 1), fraction)};
  }
};

} // namespace

static LogicalResult gridSample(Node &node) {
  StringRef mode = node.string("mode", node.getOpset() < 20 ? "bilinear" : "linear");
  bool alignsCorners = node.integer("align_corners", 0) != 0;
  bool isNearest = mode == "nearest", isCubic = mode == "bicubic" || mode == "cubic";
  if (!isNearest && !isCubic && mode != "bilinear" && mode != "linear")
    return node.error() << "attribute 'mode' is '" << mode
                        << "', expected nearest, linear or cubic";
  FailureOr<int64_t> padding =
      readChoice(node, "padding_mode", node.string("padding_mode", "zeros"),
                 {"zeros", "border", "reflection"}); // as Padding has them
  if (failed(padding) || failed(node.expectReal(1)))
    return failure();
  Emitter &emit = node.emit;
  Type element = node.inputType(0).getElementType();
  Type common =
      commonRealType(computeType(element), computeType(node.inputType(1).getElementType()));
  Sizes image = sizesOf(node.input(0)), grid = sizesOf(node.input(1));
  int64_t spatial = int64_t(image.size()) - 2, rank = image.size();
  if (spatial < 1 || int64_t(grid.size()) != rank ||
      !node.ensureEqual(grid[0], image[0], "the number of grids") ||
      !node.ensureEqual(grid.back(), spatial, "the number of coordinates of a place"))
    return node.error() << "grid has shape " << shapeText(grid)
                        << ", which does not fit the input's " << shapeText(image);
  image[0] = grid[0];
  Value x = emit.transpose(emit.cast(node.input(0), image), channelsLastPerm(rank));
  Samples at(emit, Sizes(ArrayRef(grid).drop_back()));
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t d = 0; d < spatial; ++d) {
    // The last coordinate belongs to the first spatial dimension.
    Sizes offsets(rank, 0), part(grid);
    offsets.back() = spatial - 1 - d;
    part.back() = 1;
    Value g = emit.slice(node.input(1), offsets, part, SmallVector<int64_t>(rank, 1));
    g = emit.convert(emit.reshape(g, at.shape), common);
    GridAxis axis{at, image[d + 2], alignsCorners, Padding(*padding)};
    Value grown = emit.binary(BK::Add, g, 1);
    Value coordinate =
        alignsCorners
            ? emit.binary(BK::Mul, emit.binary(BK::Mul, grown, axis.last(common)), 0.5)
            : emit.binary(
                  BK::Mul,
                  emit.binary(BK::Sub, emit.binary(BK::Mul, grown, at.size(axis.size, common)), 1),
                  0.5);
    SmallVector<Tap> &list = taps.emplace_back();
    if (isNearest) {
      list.push_back(axis.tap(emit.unary(UK::RoundEven, coordinate), {}));
      continue;
    }
    if (!isCubic) {
      list = axis.around(axis.inside(coordinate));
      continue;
    }
    Value low = emit.unary(UK::Floor, coordinate), t = emit.binary(BK::Sub, coordinate, low);
    for (auto [i, weight] : llvm::enumerate(cubicWeights(emit, t, -0.75)))
      list.push_back(axis.tap(emit.binary(BK::Add, low, double(i) - 1), weight));
  }
  Value result = emit.convert(combine(at, x, /*batch=*/{}, taps), element);
  return node.yield(emit.transpose(result, channelsFirstPerm(rank)));
}

//===----------------------------------------------------------------------===//
// AffineGrid
//===----------------------------------------------------------------------===//

/// Positions of an image of input 1's size, from -1 to 1 along each dimension, each
/// multiplied with the matrices of input 0 [N, spatial, spatial + 1].
static LogicalResult affineGrid(Node &node) {
  bool alignsCorners = node.integer("align_corners", 0) != 0;
  FailureOr<Sizes> image = node.sizeOperand(1, "size");
  if (failed(image) || failed(node.expectReal()))
    return failure();
  int64_t spatial = int64_t(image->size()) - 2;
  Sizes matrices = node.inputShape(0), shape{matrices.empty() ? SymExpr(0) : matrices[0]};
  if (spatial < 1 || matrices.size() != 3 ||
      !node.ensureEqual(matrices[1], spatial, "the number of rows of theta") ||
      !node.ensureEqual(matrices[2], spatial + 1, "the number of columns of theta") ||
      !node.ensureEqual(matrices[0], image->front(), "the number of matrices of theta"))
    return node.error() << "theta has shape " << shapeText(matrices)
                        << ", which does not fit the size " << shapeText(*image);
  Emitter &emit = node.emit;
  Type element = node.inputType(0).getElementType(), type = computeType(element);
  Sizes grid(Node::Shape(*image).drop_front(2)), column(grid);
  column.push_back(1);
  SymExpr positions = product(grid);
  if (failed(node.checkSize({shape[0], positions, SymExpr(spatial + 1)})))
    return failure();
  SmallVector<Value> columns;
  // The first coordinate belongs to the last dimension.
  for (int64_t d = spatial - 1; d >= 0; --d) {
    Value place = emit.iota(emit.typed(grid, type), d);
    if (!alignsCorners)
      place = emit.binary(BK::Add, place, 0.5);
    SymExpr steps = alignsCorners ? SymExpr::max(grid[d] - 1, 1) : grid[d];
    Value x = emit.binary(BK::Div, emit.binary(BK::Mul, place, 2), steps);
    columns.push_back(emit.reshape(emit.binary(BK::Sub, x, 1), column));
  }
  columns.push_back(emit.splatLike(columns.front(), 1));
  Value base = emit.reshape(emit.concat(columns, spatial), {positions, SymExpr(spatial + 1)});
  base = emit.broadcastTo(base, {shape[0], positions, SymExpr(spatial + 1)});
  Value theta = emit.cast(emit.convert(node.input(0), type),
                          {shape[0], SymExpr(spatial), SymExpr(spatial + 1)});
  Value y = emit.create<ContractOp>(emit.typed({shape[0], positions, SymExpr(spatial)}, type), base,
                                    theta, /*transpose_lhs=*/false, /*transpose_rhs=*/true,
                                    /*packed=*/false);
  llvm::append_range(shape, grid);
  shape.push_back(spatial);
  return node.yield(emit.reshape(emit.convert(y, element), shape));
}

//===----------------------------------------------------------------------===//
// DeformConv
//===----------------------------------------------------------------------===//

namespace {

/// Sizes of a convolution whose taps lie where `offset` moves them.
struct Deformable {
  int64_t groups, offsetGroups, taps, spatial;
  Sizes input, places;         ///< [N, C, spatial...], and places of the window
  SmallVector<int64_t> weight; ///< [O, C / groups, taps...]
  SmallVector<int64_t> strides, dilations;
  Sizes pads; ///< in front of each dimension
};

} // namespace

/// Inputs: X, W, offset [N, groups * taps * spatial, places...], B, mask without `spatial`.
static FailureOr<Deformable> readDeformable(Node &node) {
  Deformable conv;
  conv.input = node.inputShape(0);
  conv.spatial = int64_t(conv.input.size()) - 2;
  FailureOr<SmallVector<int64_t>> weight = readWeightShape(node, node.input(1));
  if (failed(weight))
    return failure();
  conv.weight = *weight;
  if (conv.spatial < 1 || conv.weight.size() != conv.input.size() ||
      node.inputShape(2).size() != conv.input.size())
    return node.error() << "input, weight and offset have shapes " << shapeText(conv.input) << ", "
                        << shapeText(conv.weight) << " and " << shapeText(node.inputShape(2))
                        << ", expected the same number of dimensions, at least three";
  FailureOr<int64_t> groups = node.count("group", 1), parts = node.count("offset_group", 1);
  if (failed(groups) || failed(parts))
    return failure();
  conv.groups = *groups;
  conv.offsetGroups = *parts;
  int64_t channels = conv.weight[1] * conv.groups;
  if (!node.ensureEqual(conv.input[1], channels, "the number of input channels"))
    return node.error() << "weight has " << conv.weight[1] << " input channels in each of "
                        << conv.groups << " groups, expected " << conv.input[1].str() << " in all";
  conv.input[1] = channels;
  if (channels % conv.offsetGroups || conv.weight[0] % conv.groups)
    return node.error() << "attributes 'group' and 'offset_group' are " << conv.groups << " and "
                        << conv.offsetGroups << ", expected divisors of " << channels
                        << " input and " << conv.weight[0] << " output channels";
  auto axes = readWindow(node, Node::Shape(conv.input).drop_front(2),
                         ArrayRef(conv.weight).drop_front(2), /*takesCeilMode=*/false);
  if (failed(axes))
    return failure();
  conv.taps = 1;
  for (const WindowAxis &axis : *axes) {
    conv.taps *= axis.window;
    conv.places.push_back(axis.output);
    conv.strides.push_back(axis.stride);
    conv.dilations.push_back(axis.dilation);
    conv.pads.push_back(axis.padLow);
  }
  auto expectPerTap = [&](unsigned index, StringRef name, int64_t each) -> LogicalResult {
    Sizes expected{conv.input[0], SymExpr(conv.offsetGroups * conv.taps * each)};
    llvm::append_range(expected, conv.places);
    if (!node.ensureEqual(node.inputShape(index), expected, name))
      return node.error() << name << " has shape " << shapeText(node.inputShape(index))
                          << ", expected " << shapeText(expected);
    return node.expectSameElementType(0, index);
  };
  if (failed(node.expectReal()) || failed(node.expectSameElementType(0, 1)) ||
      failed(expectPerTap(2, "offset", conv.spatial)) ||
      (node.input(4) && failed(expectPerTap(4, "mask", 1))))
    return failure();
  if (node.input(3)) {
    if (!node.ensureEqual(node.inputShape(3), SymExpr(conv.weight[0]), "the bias"))
      return node.error() << "bias has shape " << shapeText(node.inputShape(3)) << ", expected "
                          << conv.weight[0];
    if (failed(node.expectSameElementType(0, 3)))
      return failure();
  }
  return conv;
}

/// Taps of the input between its elements, [N * offset groups, places..., taps, channels].
static Value deformedTaps(Node &node, const Deformable &conv) {
  Emitter &emit = node.emit;
  int64_t rank = conv.input.size(), parts = conv.offsetGroups,
          depth = conv.weight[1] * conv.groups / parts;
  SymExpr images = conv.input[0] * parts;
  Sizes planes{images, SymExpr(depth)};
  llvm::append_range(planes, Node::Shape(conv.input).drop_front(2));
  Value x = emit.reshape(emit.cast(node.input(0), conv.input), planes);
  x = emit.transpose(x, channelsLastPerm(rank));
  Sizes shape{images};
  llvm::append_range(shape, conv.places);
  shape.push_back(conv.taps);
  Samples at(emit, shape);
  // One number per tap: [N, groups * taps, places...] to the samples' shape.
  auto perTap = [&](Value value) {
    Sizes split{images, SymExpr(conv.taps)};
    llvm::append_range(split, conv.places);
    return emit.transpose(emit.reshape(value, split), channelsLastPerm(rank));
  };
  Sizes apart{conv.input[0], SymExpr(parts), SymExpr(conv.taps), SymExpr(conv.spatial)};
  llvm::append_range(apart, conv.places);
  Sizes whole{conv.input[0], SymExpr(parts * conv.taps * conv.spatial)};
  llvm::append_range(whole, conv.places);
  Type element = node.inputType(0).getElementType(), type = computeType(element);
  Value offset = emit.reshape(emit.cast(emit.convert(node.input(2), type), whole), apart);
  SmallVector<SmallVector<Tap>> taps;
  int64_t inner = conv.taps;
  for (int64_t d = 0; d < conv.spatial; ++d) {
    int64_t window = conv.weight[d + 2];
    inner /= window;
    Value tap = emit.iota(emit.typed({SymExpr(conv.taps)}, emit.builder.getI64Type()), 0);
    tap = emit.binary(BK::Rem, emit.binary(BK::Div, tap, double(inner)), double(window));
    tap = emit.binary(BK::Mul, tap, double(conv.dilations[d]));
    tap = emit.convert(emit.binary(BK::Sub, tap, conv.pads[d]), type);
    Value place =
        emit.binary(BK::Mul, emit.iota(emit.typed(shape, type), d + 1), double(conv.strides[d]));
    place = emit.binary(BK::Add, place, emit.broadcastAlong(tap, shape, rank - 1));
    place = emit.binary(BK::Add, place, perTap(emit.sliceAxis(offset, 3, d, 1)));
    GridAxis axis{at, conv.input[d + 2], /*alignsCorners=*/true, Padding::Zeros};
    taps.push_back(axis.around(place));
  }
  Value y = emit.convert(combine(at, x, /*batch=*/{}, taps), element);
  if (Value mask = node.input(4)) {
    whole[1] = parts * conv.taps;
    Sizes sizes = sizesOf(y);
    y = emit.binary(BK::Mul, y,
                    emit.broadcast(perTap(emit.cast(mask, whole)), sizes,
                                   llvm::to_vector(llvm::seq<int64_t>(0, rank))));
  }
  return y;
}

/// A convolution of taps that lie between elements: they are sampled, then multiplied with
/// the weight group by group.
static LogicalResult deformConv(Node &node) {
  FailureOr<Deformable> read = readDeformable(node);
  if (failed(read))
    return failure();
  const Deformable &conv = *read;
  Emitter &emit = node.emit;
  int64_t outputs = conv.weight[0], depth = conv.weight[1], groups = conv.groups;
  SymExpr places = product(conv.places), rows = conv.input[0] * places;
  if (failed(node.checkSize({rows, SymExpr(conv.taps), SymExpr(depth * groups)})))
    return failure();
  Value x = deformedTaps(node, conv);
  // To [groups, rows, taps * channels], by way of all channels side by side.
  x = emit.reshape(x, {conv.input[0], SymExpr(conv.offsetGroups), places, SymExpr(conv.taps),
                       SymExpr(depth * groups / conv.offsetGroups)});
  x = emit.reshape(emit.transpose(x, {0, 2, 3, 1, 4}),
                   {rows, SymExpr(conv.taps), SymExpr(groups), SymExpr(depth)});
  x = emit.reshape(emit.transpose(x, {2, 0, 1, 3}),
                   {SymExpr(groups), rows, SymExpr(conv.taps * depth)});
  Value w = emit.reshape(node.input(1), {groups, outputs / groups, depth, conv.taps});
  w = emit.reshape(emit.transpose(w, {0, 3, 2, 1}), {groups, conv.taps * depth, outputs / groups});
  // One group is a plain matrix product, whose weight is packed.
  if (groups == 1) {
    x = emit.reshape(x, {rows, SymExpr(conv.taps * depth)});
    w = emit.reshape(w, {SymExpr(conv.taps * depth), SymExpr(outputs)});
  }
  Sizes product = Emitter::shapeOf(x);
  product.back() = outputs / groups;
  Value y =
      emit.create<ContractOp>(emit.typed(product, node.inputType(0).getElementType()), x, w,
                              /*transpose_lhs=*/false, /*transpose_rhs=*/false, /*packed=*/false);
  if (groups > 1)
    y = emit.transpose(y, {1, 0, 2});
  Sizes shape{conv.input[0]};
  llvm::append_range(shape, conv.places);
  shape.push_back(outputs);
  y = emit.reshape(y, shape);
  int64_t rank = shape.size();
  if (node.input(3))
    y = emit.binary(
        BK::Add, y,
        emit.broadcastAlong(emit.cast(node.input(3), SymExpr(outputs)), shape, rank - 1));
  return node.yield(emit.transpose(y, channelsFirstPerm(rank)));
}

//===----------------------------------------------------------------------===//
// RoiAlign and MaxRoiPool
//===----------------------------------------------------------------------===//

namespace {

/// How RoiAlign samples regions of an image with channels last.
struct RegionSampler {
  Emitter &emit;
  Value image;
  int64_t bins[2];
  double scale;
  bool isHalfPixel, isMax;

  /// Where each of `regions` [n, 4] begins in dimension `d`, and how long it is; [n].
  std::pair<Value, Value> extent(Value regions, int64_t d) const;
  /// `counts` samples per bin and dimension: [n, rows, columns, channels].
  Value sample(Value regions, Value numbers, ArrayRef<SymExpr> counts) const;
};

} // namespace

std::pair<Value, Value> RegionSampler::extent(Value regions, int64_t d) const {
  // Columns are x1, y1, x2, y2.
  auto side = [&](int64_t column) {
    Value value = emit.binary(BK::Mul, elementOf(emit, regions, 1, column), scale);
    return emit.binary(BK::Sub, value, isHalfPixel ? 0.5 : 0);
  };
  Value begin = side(1 - d), length = emit.binary(BK::Sub, side(3 - d), begin);
  return {begin, isHalfPixel ? length : emit.binary(BK::Max, length, 1)};
}

Value RegionSampler::sample(Value regions, Value numbers, ArrayRef<SymExpr> counts) const {
  Sizes sizes = sizesOf(image);
  Type type = Emitter::typeOf(regions).getElementType();
  SymExpr n = sizeOf(regions, 0);
  Samples at(emit, {n, counts[0] * bins[0], counts[1] * bins[1]});
  SmallVector<SmallVector<Tap>> taps;
  Value isNear; // samples that are not far outside
  for (int64_t d = 0; d < 2; ++d) {
    auto [begin, length] = extent(regions, d);
    Value step = emit.binary(BK::Div, length, counts[d] * bins[d]);
    auto along = [&](Value value) { return emit.broadcast(value, at.shape, {0}); };
    Value number = emit.iota(tensorTypeOf(at.shape, type), d + 1);
    Value coordinate = emit.binary(BK::Mul, emit.binary(BK::Add, number, 0.5), along(step));
    coordinate = emit.binary(BK::Add, along(begin), coordinate);
    Value near =
        emit.binary(BK::And, emit.compare(CK::Ge, coordinate, emit.splatLike(coordinate, -1)),
                    emit.compare(CK::Le, coordinate, at.size(sizes[d + 1], type)));
    isNear = isNear ? emit.binary(BK::And, isNear, near) : near;
    Value last = at.size(sizes[d + 1] - 1, type);
    coordinate = at.clamp(coordinate, emit.splatLike(coordinate, 0), last);
    Value low = emit.unary(UK::Floor, coordinate), fraction = emit.binary(BK::Sub, coordinate, low);
    Value high = emit.binary(BK::Min, emit.binary(BK::Add, low, 1), last);
    auto index = [&](Value place) { return emit.convert(place, emit.builder.getI64Type()); };
    taps.push_back({{index(low), emit.binary(BK::Sub, emit.splatLike(fraction, 1), fraction)},
                    {index(high), fraction}});
  }
  Value images = emit.broadcast(emit.convert(numbers, emit.builder.getI64Type()), at.shape, {0});
  // The largest is that of the weighted neighbours, not of the interpolated samples.
  Value samples = combine(at, image, images, taps, isMax ? BK::Max : BK::Add);
  Sizes whole = sizesOf(samples);
  samples =
      emit.select(emit.broadcast(isNear, whole, {0, 1, 2}), samples, emit.splatLike(samples, 0));
  samples = emit.reshape(samples,
                         {n, SymExpr(bins[0]), counts[0], SymExpr(bins[1]), counts[1], sizes[3]});
  Value joined = emit.reduce(isMax ? ReduceKind::Max : ReduceKind::Sum, samples, {2, 4},
                             /*keepDims=*/false);
  if (!isMax)
    return emit.binary(BK::Div, joined, SymExpr::max(counts[0] * counts[1], 1));
  // A bin without samples is 0.
  Value isEmpty = emit.compare(CK::Eq, joined,
                               emit.splatLike(joined, -std::numeric_limits<double>::infinity()));
  return emit.select(isEmpty, emit.splatLike(joined, 0), joined);
}

/// Samples of the input at regular places of every region, joined for each bin.
static LogicalResult roiAlign(Node &node) {
  Emitter &emit = node.emit;
  StringRef mode = node.string("mode", "avg");
  StringRef coordinates = node.getOpset() < 16
                              ? "output_half_pixel"
                              : node.string("coordinate_transformation_mode", "half_pixel");
  FailureOr<int64_t> height = node.count("output_height", 1), width = node.count("output_width", 1);
  if (failed(height) || failed(width))
    return failure();
  int64_t ratio = node.integer("sampling_ratio", 0);
  double scale = node.real("spatial_scale", 1);
  if (mode != "avg" && mode != "max")
    return node.error() << "attribute 'mode' is '" << mode << "', expected avg or max";
  if (ratio < 0 || ratio > std::numeric_limits<int32_t>::max())
    return node.error() << "attribute 'sampling_ratio' is " << ratio << ", expected 0 to "
                        << std::numeric_limits<int32_t>::max();
  bool isHalfPixel = coordinates == "half_pixel";
  if (!isHalfPixel && coordinates != "output_half_pixel")
    return node.error() << "attribute 'coordinate_transformation_mode' is '" << coordinates
                        << "', expected half_pixel or output_half_pixel";
  Sizes image = sizesOf(node.input(0)), regions = sizesOf(node.input(1));
  if (image.size() != 4 || regions.size() != 2 ||
      !node.ensureEqual(regions[1], 4, "the number of columns of regions") ||
      !node.ensureEqual(sizesOf(node.input(2)), regions[0], "batch_indices"))
    return node.error() << "inputs have shapes " << shapeText(image) << ", " << shapeText(regions)
                        << " and " << shapeText(sizesOf(node.input(2)))
                        << ", expected four dimensions, rows of 4, and one image per row";
  int64_t least = std::max<int64_t>(ratio, 1);
  if (failed(node.expectReal()) || failed(node.expectSameElementType(0, 1)) ||
      failed(node.checkSize(
          {regions[0], SymExpr(*height) * least, SymExpr(*width) * least, image[1]})))
    return failure();
  RegionSampler sampler{emit,
                        emit.transpose(node.input(0), channelsLastPerm(4)),
                        {*height, *width},
                        scale,
                        isHalfPixel,
                        mode == "max"};
  Type element = node.inputType(0).getElementType();
  Value boxes =
      emit.convert(emit.cast(node.input(1), {regions[0], SymExpr(4)}), computeType(element));
  Value numbers = emit.cast(node.input(2), regions[0]);
  if (ratio > 0) {
    Value y = emit.convert(sampler.sample(boxes, numbers, {ratio, ratio}), element);
    return node.yield(emit.transpose(y, channelsFirstPerm(4)));
  }
  // As many samples as a bin is long, which each region says for itself.
  auto trip = [&](const SymExpr &number, ValueRange) -> FailureOr<SmallVector<Value>> {
    Value box = emit.sliceAxis(boxes, 0, number, 1);
    Sizes counts;
    for (int64_t d = 0; d < 2; ++d) {
      Value length = emit.reshape(sampler.extent(box, d).second, {});
      Value count = emit.unary(UK::Ceil, emit.binary(BK::Div, length, double(sampler.bins[d])));
      count = emit.convert(emit.binary(BK::Max, count, 0), emit.builder.getI64Type());
      counts.push_back(node.bind(count));
    }
    Value y = sampler.sample(box, emit.sliceAxis(numbers, 0, number, 1), counts);
    return SmallVector<Value>{emit.convert(elementOf(emit, y, 0, 0), element)};
  };
  FailureOr<SmallVector<Value>> results = emitTrips(node, regions[0], {}, trip);
  if (failed(results))
    return failure();
  return node.yield(emit.transpose(results->front(), channelsFirstPerm(4)));
}

/// The largest element in each bin of every region. A trip is a region: as the data say how
/// large its bins are, each of them looks at whole columns, then whole rows, and passes over
/// what is outside.
static LogicalResult maxRoiPool(Node &node) {
  FailureOr<SmallVector<int64_t>> pooled = readSpatialList(node, "pooled_shape", 2, 1, 1);
  if (failed(pooled))
    return failure();
  double scale = node.real("spatial_scale", 1);
  Sizes image = node.inputShape(0), regions = node.inputShape(1);
  if (image.size() != 4 || regions.size() != 2 ||
      !node.ensureEqual(regions[1], 5, "the number of columns of regions"))
    return node.error() << "inputs have shapes " << shapeText(image) << " and "
                        << shapeText(regions) << ", expected four dimensions, and rows of 5";
  if (failed(node.expectReal()) || failed(node.expectSameElementType(0, 1)) ||
      failed(node.checkSize({regions[0], image[1], pooled->front(), pooled->back()})))
    return failure();
  Emitter &emit = node.emit;
  Type element = node.inputType(0).getElementType(), type = computeType(element);
  Type i64 = emit.builder.getI64Type();
  Value images = emit.transpose(node.input(0), channelsLastPerm(4));
  Value lowest = emit.scalar(-std::numeric_limits<double>::infinity(), element);
  auto trip = [&](const SymExpr &number, ValueRange) -> FailureOr<SmallVector<Value>> {
    Value region = emit.convert(elementOf(emit, node.input(1), 0, number), type);
    // The image, x1, y1, x2, y2.
    auto entry = [&](int64_t index) { return elementOf(emit, region, 0, index); };
    // Halves are rounded away from zero.
    auto rounded = [&](Value x) {
      x = emit.binary(BK::Mul, x, scale);
      Value size = emit.unary(UK::Floor, emit.binary(BK::Add, emit.unary(UK::Abs, x), 0.5));
      return emit.binary(BK::Mul, size, emit.unary(UK::Sign, x));
    };
    // The largest along dimension 0 of [size, ..] in each bin of dimension `d`: [bins, ..].
    auto pool = [&](Value x, int64_t d) {
      Sizes shape = sizesOf(x), bins{SymExpr((*pooled)[d]), shape[0]};
      shape.insert(shape.begin(), bins[0]);
      Value begin = rounded(entry(2 - d)), end = rounded(entry(4 - d));
      Value length = emit.binary(BK::Add, emit.binary(BK::Sub, end, begin), 1);
      length = emit.binary(BK::Max, length, 1);
      Value size = emit.splat(emit.binary(BK::Div, length, double((*pooled)[d])), bins);
      Value bin = emit.iota(emit.typed(bins, type), 0),
            place = emit.iota(emit.typed(bins, type), 1);
      place = emit.binary(BK::Sub, place, emit.splat(begin, bins));
      Value low = emit.unary(UK::Floor, emit.binary(BK::Mul, bin, size));
      Value high = emit.unary(UK::Ceil, emit.binary(BK::Mul, emit.binary(BK::Add, bin, 1), size));
      Value isInside =
          emit.binary(BK::And, emit.compare(CK::Ge, place, low), emit.compare(CK::Lt, place, high));
      x = emit.select(emit.broadcast(isInside, shape, {0, 1}), emit.broadcastTo(x, shape),
                      emit.splat(lowest, shape));
      return emit.reduce(ReduceKind::Max, x, {1}, /*keepDims=*/false);
    };
    Value x = pool(emit.gather(images, emit.convert(entry(0), i64), 0), 0);
    return SmallVector<Value>{pool(emit.transpose(x, {1, 0, 2}), 1)};
  };
  FailureOr<SmallVector<Value>> results = emitTrips(node, regions[0], {}, trip);
  if (failed(results))
    return failure();
  // [regions, columns, rows, channels]. A bin without elements is 0.
  Value x = results->front();
  Value isEmpty = emit.compare(CK::Eq, x, emit.splat(lowest, sizesOf(x)));
  x = emit.select(isEmpty, emit.splatLike(x, 0), x);
  return node.yield(emit.transpose(x, {0, 3, 2, 1}));
}

static const OperatorRow rows[] = {
    {"AffineGrid", 2, 2, affineGrid, "", 20},
    {"DeformConv", 3, 5, deformConv, "", 19},
    {"GridSample", 2, 2, gridSample},
    {"MaxRoiPool", 2, 2, maxRoiPool},
    {"RoiAlign", 3, 3, roiAlign},
};

ArrayRef<OperatorRow> lumen::samplingRows() { return rows; }
