//===- Sampling.cpp - images read at places that are computed -------------===//
//
// Images are channels-last here, so that every place is read as a row of channels:
// `lumen.pick` with one index tensor per spatial dimension.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Converter.h"

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

/// The sum of all combinations of taps: `image` is [n, spatial..., c], `batch` the image of
/// each sample (null: samples and images have the same first dimension).
static Value combine(Samples &at, Value image, Value batch, ArrayRef<SmallVector<Tap>> taps) {
  Emitter &emit = at.emit;
  int64_t spatial = taps.size();
  Sizes result(at.shape);
  result.push_back(sizesOf(image).back());
  Type element = Emitter::typeOf(image).getElementType();
  SmallVector<int64_t> dims{batch ? -1 : 0};
  dims.append(spatial, -1);
  dims.push_back(at.shape.size());
  SmallVector<int64_t> sampleDims = llvm::to_vector(llvm::seq<int64_t>(0, at.shape.size()));
  Value sum;
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
    Value part = emit.create<PickOp>(tensorTypeOf(result, element), image, indices, dims);
    if (weight)
      part = emit.binary(BK::Mul, part, emit.broadcast(weight, result, sampleDims));
    sum = sum ? emit.binary(BK::Add, sum, part) : part;
    int64_t d = spatial - 1;
    while (d >= 0 && ++chosen[d] == taps[d].size())
      chosen[d--] = 0;
    if (d < 0)
      return sum;
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
};

} // namespace

static LogicalResult gridSample(Node &node) {
  StringRef mode = node.string("mode", node.getOpset() < 20 ? "bilinear" : "linear");
  StringRef paddingName = node.string("padding_mode", "zeros");
  bool alignsCorners = node.integer("align_corners", 0) != 0;
  bool isNearest = mode == "nearest", isCubic = mode == "bicubic" || mode == "cubic";
  if (!isNearest && !isCubic && mode != "bilinear" && mode != "linear")
    return node.error() << "attribute 'mode' is '" << mode << "', expected nearest, linear or cubic";
  std::optional<Padding> padding = llvm::StringSwitch<std::optional<Padding>>(paddingName)
                                       .Case("zeros", Padding::Zeros)
                                       .Case("border", Padding::Border)
                                       .Case("reflection", Padding::Reflection)
                                       .Default(std::nullopt);
  if (!padding)
    return node.error() << "attribute 'padding_mode' is '" << paddingName
                        << "', expected zeros, border or reflection";
  if (failed(node.expectReal()) || failed(node.expectSameElementType(0, 1)))
    return failure();
  Emitter &emit = node.emit;
  Sizes image = sizesOf(node.input(0)), grid = sizesOf(node.input(1));
  int64_t spatial = int64_t(image.size()) - 2, rank = image.size();
  if (spatial < 1 || int64_t(grid.size()) != rank || grid[0] != image[0] ||
      grid.back() != SymExpr(spatial))
    return node.error() << "grid has shape " << shapeText(grid) << ", which does not fit the input's "
                        << shapeText(image);
  Value x = emit.transpose(node.input(0), channelsLastPerm(rank));
  Samples at(emit, Sizes(ArrayRef(grid).drop_back()));
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t d = 0; d < spatial; ++d) {
    // The last coordinate belongs to the first spatial dimension.
    Sizes offsets(rank, 0), part(grid);
    offsets.back() = spatial - 1 - d;
    part.back() = 1;
    Value g = emit.slice(node.input(1), offsets, part, SmallVector<int64_t>(rank, 1));
    g = emit.reshape(g, at.shape);
    Type type = Emitter::typeOf(g).getElementType();
    GridAxis axis{at, image[d + 2], alignsCorners, *padding};
    Value grown = emit.binary(BK::Add, g, 1);
    Value coordinate =
        alignsCorners
            ? emit.binary(BK::Mul, emit.binary(BK::Mul, grown, axis.last(type)), 0.5)
            : emit.binary(BK::Mul, emit.binary(BK::Sub, emit.binary(BK::Mul, grown, at.size(axis.size, type)), 1), 0.5);
    SmallVector<Tap> &list = taps.emplace_back();
    if (isNearest) {
      list.push_back(axis.tap(emit.unary(UK::RoundEven, coordinate), {}));
      continue;
    }
    if (!isCubic)
      coordinate = axis.inside(coordinate);
    Value low = emit.unary(UK::Floor, coordinate), t = emit.binary(BK::Sub, coordinate, low);
    if (!isCubic) {
      list.push_back(axis.tap(low, emit.binary(BK::Sub, emit.splatLike(t, 1), t)));
      list.push_back(axis.tap(emit.binary(BK::Add, low, 1), t));
      continue;
    }
    auto horner = [&](Value x, ArrayRef<double> coefficients) {
      Value sum = emit.splatLike(x, coefficients[0]);
      for (double coefficient : coefficients.drop_front())
        sum = emit.binary(BK::Add, emit.binary(BK::Mul, sum, x), coefficient);
      return sum;
    };
    constexpr double a = -0.75;
    double near[] = {a + 2, -(a + 3), 0, 1}, far[] = {a, -5 * a, 8 * a, -4 * a};
    Value rest = emit.binary(BK::Sub, emit.splatLike(t, 1), t);
    list.push_back(axis.tap(emit.binary(BK::Sub, low, 1), horner(emit.binary(BK::Add, t, 1), far)));
    list.push_back(axis.tap(low, horner(t, near)));
    list.push_back(axis.tap(emit.binary(BK::Add, low, 1), horner(rest, near)));
    list.push_back(axis.tap(emit.binary(BK::Add, low, 2), horner(emit.binary(BK::Add, rest, 1), far)));
  }
  Value result = combine(at, x, /*batch=*/{}, taps);
  return node.yield(emit.transpose(result, channelsFirstPerm(rank)));
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

/// Means of samples of the input at regular places of every region.
static LogicalResult roiAlign(Node &node) {
  Emitter &emit = node.emit;
  StringRef mode = node.string("mode", "avg");
  StringRef coordinates = node.getOpset() < 16
                              ? "output_half_pixel"
                              : node.string("coordinate_transformation_mode", "half_pixel");
  int64_t height = node.integer("output_height", 1), width = node.integer("output_width", 1);
  int64_t ratio = node.integer("sampling_ratio", 0);
  double scale = node.real("spatial_scale", 1);
  if (mode != "avg")
    return node.error() << "attribute 'mode' is '" << mode << "'; only avg is supported";
  if (ratio < 1)
    return node.error() << "attribute 'sampling_ratio' is " << ratio
                        << "; only numbers of samples that do not depend on the region are supported";
  bool isHalfPixel = coordinates == "half_pixel";
  if (!isHalfPixel && coordinates != "output_half_pixel")
    return node.error() << "attribute 'coordinate_transformation_mode' is '" << coordinates
                        << "', expected half_pixel or output_half_pixel";
  Sizes image = sizesOf(node.input(0)), regions = sizesOf(node.input(1));
  if (image.size() != 4 || regions.size() != 2 || regions[1] != SymExpr(4) ||
      sizesOf(node.input(2)) != Sizes{regions[0]})
    return node.error() << "inputs have shapes " << shapeText(image) << ", " << shapeText(regions)
                        << " and " << shapeText(sizesOf(node.input(2)))
                        << ", expected four dimensions, rows of 4, and one image per row";
  if (failed(node.expectReal()) || failed(node.expectSameElementType(0, 1)))
    return failure();
  Type type = node.inputType(0).getElementType();
  Value x = emit.transpose(node.input(0), channelsLastPerm(4));
  Samples at(emit, {regions[0], height * ratio, width * ratio});
  SmallVector<SmallVector<Tap>> taps;
  Value isNear; // samples that are not far outside
  for (int64_t d = 0; d < 2; ++d) {
    int64_t bins = d == 0 ? height : width;
    SymExpr size = image[d + 2];
    // Columns are x1, y1, x2, y2.
    auto side = [&](int64_t column) {
      Value value = emit.slice(node.input(1), {0, column}, {regions[0], 1}, {1, 1});
      value = emit.broadcast(emit.reshape(value, {regions[0]}), at.shape, {0});
      return emit.binary(BK::Sub, emit.binary(BK::Mul, value, scale), isHalfPixel ? 0.5 : 0);
    };
    Value begin = side(1 - d), length = emit.binary(BK::Sub, side(3 - d), begin);
    if (!isHalfPixel)
      length = emit.binary(BK::Max, length, 1);
    Value number = emit.iota(tensorTypeOf(at.shape, type), d + 1);
    Value step = emit.binary(BK::Div, length, double(bins * ratio));
    Value coordinate =
        emit.binary(BK::Add, begin, emit.binary(BK::Mul, emit.binary(BK::Add, number, 0.5), step));
    Value near = emit.binary(BK::And, emit.compare(CK::Ge, coordinate, emit.splatLike(coordinate, -1)),
                             emit.compare(CK::Le, coordinate, at.size(size, type)));
    isNear = isNear ? emit.binary(BK::And, isNear, near) : near;
    Value last = at.size(size - 1, type);
    coordinate = at.clamp(coordinate, emit.splatLike(coordinate, 0), last);
    Value low = emit.unary(UK::Floor, coordinate), fraction = emit.binary(BK::Sub, coordinate, low);
    Value high = emit.binary(BK::Min, emit.binary(BK::Add, low, 1), last);
    auto index = [&](Value place) { return emit.convert(place, emit.builder.getI64Type()); };
    taps.push_back({{index(low), emit.binary(BK::Sub, emit.splatLike(fraction, 1), fraction)},
                    {index(high), fraction}});
  }
  Value images = emit.broadcast(emit.convert(node.input(2), emit.builder.getI64Type()),
                                     at.shape, {0});
  Value samples = combine(at, x, images, taps);
  Sizes whole = sizesOf(samples);
  samples = emit.select(emit.broadcast(isNear, whole, {0, 1, 2}), samples,
                        emit.broadcast(emit.scalar(0, type), whole, {}));
  samples = emit.reshape(samples, {regions[0], height, ratio, width, ratio, image[1]});
  Value sum = emit.create<ReduceOp>(tensorTypeOf({regions[0], height, width, image[1]}, type),
                                    ReduceKind::Sum, samples, SmallVector<int64_t>{2, 4});
  Value mean = emit.binary(
      BK::Div, sum, emit.broadcast(emit.scalar(double(ratio * ratio), type), sizesOf(sum), {}));
  return node.yield(emit.transpose(mean, channelsFirstPerm(4)));
}

static const OperatorRow rows[] = {
    {"GridSample", 2, 2, gridSample},
    {"RoiAlign", 3, 3, roiAlign, "avg, with a constant number of samples"},
};

ArrayRef<OperatorRow> lumen::samplingRows() { return rows; }
