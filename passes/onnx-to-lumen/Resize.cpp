//===- Resize.cpp - images of another size --------------------------------===//
//
// Every dimension is resized on its own. Coordinates are formulas over the index,
// computed in f32 as the reference implementation does: the same formulas fold to
// tables where sizes are known. Images are channels-last on the way, so that what
// belongs to one place lies side by side.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Converter.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using CK = CompareKind;

namespace {

enum class Interpolation { Nearest, Linear, Cubic };

/// How a node resizes, for all of its dimensions.
struct ResizeModes {
  Interpolation interpolation;
  StringRef coordinates, rounding;
  double cubicCoefficient;
  bool excludesOutside;
  double extrapolation;
  bool isAntialiased = false;
};

/// One dimension that is resized.
struct ResizedAxis {
  int64_t dim;
  SymExpr from, to;
  Value scale = {};                 ///< 0-D f32; null: to / from
  Value roiBegin = {}, roiEnd = {}; ///< 0-D f32; null: all of it
};

/// The value of a 0-D tensor, if it is constant.
std::optional<double> constantOf(Value number) {
  std::optional<ConstantData> data = ConstantData::get(number);
  return data ? std::optional((*data)[0].real) : std::nullopt;
}

/// Coordinates along one dimension.
class AxisEmitter {
public:
  AxisEmitter(Emitter &emit, const ResizeModes &modes, const ResizedAxis &axis)
      : emit(emit), modes(modes), axis(axis), real(emit.builder.getF32Type()) {}

  /// The operand's coordinate of every result index.
  Value coordinates();
  /// The operand's index nearest to each coordinate, unclamped.
  Value nearest(Value coordinate);
  Value toIndex(Value coordinate) { return emit.convert(coordinate, emit.builder.getI64Type()); }
  /// Inside of the operand.
  Value clamp(Value index) {
    Value last = along(number(axis.from - 1, emit.builder.getI64Type()));
    return emit.binary(BK::Min, emit.binary(BK::Max, index, 0.0), last);
  }
  /// A size as a scalar.
  Value number(const SymExpr &size, Type element) { return emit.size(size, element); }
  Value along(Value scalar) { return emit.broadcast(scalar, {axis.to}, {}); }

  /// How much larger the result is.
  Value scale() {
    if (axis.scale)
      return axis.scale;
    return emit.binary(BK::Div, number(axis.to, real), number(axis.from, real));
  }

private:
  Emitter &emit;
  const ResizeModes &modes;
  const ResizedAxis &axis;
  Type real;
};

} // namespace

Value AxisEmitter::coordinates() {
  Value x = emit.iota(tensorTypeOf({axis.to}, real), 0);
  auto scalar = [&](double value) { return emit.scalar(value, real); };
  // Only where there is one element do some modes look elsewhere.
  auto unlessSingle = [&](Value many, Value one) {
    Value isSingle = emit.compare(CK::Le, number(axis.to, real), scalar(1));
    return emit.select(along(isSingle), along(one), many);
  };
  auto halfPixel = [&] {
    return emit.binary(BK::Sub, emit.binary(BK::Div, emit.binary(BK::Add, x, 0.5), along(scale())),
                       0.5);
  };
  if (modes.coordinates == "asymmetric")
    return emit.binary(BK::Div, x, along(scale()));
  if (modes.coordinates == "half_pixel")
    return halfPixel();
  if (modes.coordinates == "pytorch_half_pixel")
    return unlessSingle(halfPixel(), scalar(0));
  if (modes.coordinates == "tf_half_pixel_for_nn")
    return emit.binary(BK::Div, emit.binary(BK::Add, x, 0.5), along(scale()));
  Value last = number(axis.from - 1, real), lastResult = number(axis.to - 1, real);
  // Divided by at least 1, where a single element makes it 0.
  lastResult = emit.binary(BK::Max, lastResult, scalar(1));
  if (modes.coordinates == "align_corners")
    return unlessSingle(
        emit.binary(BK::Div, emit.binary(BK::Mul, x, along(last)), along(lastResult)), scalar(0));
  if (modes.coordinates == "half_pixel_symmetric") {
    // The part of the exact result's size that its rounding left away is shared by
    // both sides.
    Value exact = emit.binary(BK::Mul, scale(), number(axis.from, real));
    Value adjustment = emit.binary(BK::Div, number(axis.to, real), exact);
    Value center = emit.binary(BK::Mul, number(axis.from, real), scalar(0.5));
    Value offset = emit.binary(BK::Mul, center, emit.binary(BK::Sub, scalar(1), adjustment));
    return emit.binary(BK::Add, along(offset), halfPixel());
  }
  assert(modes.coordinates == "tf_crop_and_resize" && "a mode that was not checked");
  Value begin = emit.binary(BK::Mul, axis.roiBegin, last);
  Value length = emit.binary(BK::Sub, axis.roiEnd, axis.roiBegin);
  Value step = emit.binary(BK::Div, emit.binary(BK::Mul, length, last), lastResult);
  Value ends = emit.binary(BK::Add, axis.roiBegin, axis.roiEnd);
  Value middle = emit.binary(BK::Mul, emit.binary(BK::Mul, ends, 0.5), last);
  return unlessSingle(emit.binary(BK::Add, along(begin), emit.binary(BK::Mul, x, along(step))),
                      middle);
}

Value AxisEmitter::nearest(Value x) {
  if (modes.rounding == "floor")
    return toIndex(emit.unary(UK::Floor, x));
  if (modes.rounding == "ceil")
    return toIndex(emit.unary(UK::Ceil, x));
  if (modes.rounding == "round_prefer_ceil")
    return toIndex(emit.unary(UK::Floor, emit.binary(BK::Add, x, 0.5)));
  if (modes.rounding == "round_prefer_floor")
    return toIndex(emit.unary(UK::Ceil, emit.binary(BK::Sub, x, 0.5)));
  // Before there were modes: up when the result is smaller, else down.
  assert(modes.rounding == "simple" && "a mode that was not checked");
  Value isSmaller = emit.compare(CK::Lt, number(axis.to, real), number(axis.from, real));
  return toIndex(emit.select(along(isSmaller), emit.unary(UK::Ceil, x), emit.unary(UK::Floor, x)));
}

Value lumen::horner(Emitter &emit, Value x, ArrayRef<double> coefficients) {
  Value sum = emit.splatLike(x, coefficients[0]);
  for (double coefficient : coefficients.drop_front())
    sum = emit.binary(BK::Add, emit.binary(BK::Mul, sum, x), coefficient);
  return sum;
}

std::array<std::array<double, 4>, 2> lumen::cubicPieces(double a) {
  return {{{a + 2, -(a + 3), 0, 1}, {a, -5 * a, 8 * a, -4 * a}}};
}

SmallVector<Value, 4> lumen::cubicWeights(Emitter &emit, Value t, double a) {
  Value rest = emit.binary(BK::Sub, emit.splatLike(t, 1), t);
  auto [near, far] = cubicPieces(a);
  return {horner(emit, emit.binary(BK::Add, t, 1), far), horner(emit, t, near),
          horner(emit, rest, near), horner(emit, emit.binary(BK::Add, rest, 1), far)};
}

/// The weight of an element at the distance |x| from a coordinate.
static Value weightAt(Emitter &emit, const ResizeModes &modes, Value x) {
  if (modes.interpolation == Interpolation::Linear)
    return emit.unary(UK::Relu, emit.binary(BK::Sub, emit.splatLike(x, 1), x));
  auto [near, far] = cubicPieces(modes.cubicCoefficient);
  Value outer = emit.select(emit.compare(CK::Lt, x, 2), horner(emit, x, far), emit.splatLike(x, 0));
  return emit.select(emit.compare(CK::Lt, x, 1), horner(emit, x, near), outer);
}

/// Where an image shrinks, each result is a mean of all that lies nearer to it than to its
/// neighbours: a product with a matrix, whose bands are as wide as the run's scale says.
static Value antialias(Emitter &emit, Value x, const ResizeModes &modes, const ResizedAxis &axis) {
  AxisEmitter at(emit, modes, axis);
  Sizes shape = sizesOf(x);
  Type element = Emitter::typeOf(x).getElementType();
  Type computed = computeType(element);
  x = emit.convert(x, computed);
  // What lies outside counts as the border does, or not at all.
  SymExpr reach = 0;
  if (!modes.excludesOutside) {
    int64_t support = modes.interpolation == Interpolation::Linear ? 1 : 2;
    reach = (SymExpr::ceilDiv(axis.from, SymExpr::max(axis.to, 1)) + 1) * support;
    // No more than so many anyway, and none where there is no border.
    reach = SymExpr::min(reach, axis.from * (2 * support));
    Sizes pads(shape.size(), 0);
    pads[axis.dim] = reach;
    x = emit.pad(PadKind::Edge, x, emit.scalar(0, computed), pads, pads);
  }
  Sizes whole{axis.to, sizeOf(x, axis.dim)};
  Value place =
      emit.binary(BK::Sub, emit.iota(emit.typed(whole, emit.builder.getI64Type()), 1), reach);
  Value coordinate = emit.broadcastAlong(emit.convert(at.coordinates(), computed), whole, 0);
  Value distance =
      emit.unary(UK::Abs, emit.binary(BK::Sub, emit.convert(place, computed), coordinate));
  Value shrink = emit.binary(BK::Min, emit.convert(at.scale(), computed), 1.0);
  Value weights = weightAt(emit, modes, emit.binary(BK::Mul, distance, emit.splat(shrink, whole)));
  Value sum = emit.reduce(ReduceKind::Sum, weights, {1}, /*keepDims=*/true);
  weights = emit.binary(BK::Div, weights, emit.broadcastTo(sum, whole));

  Node::Shape sizes = shape;
  SymExpr outer = product(sizes.take_front(axis.dim)),
          inner = product(sizes.drop_front(axis.dim + 1));
  x = emit.reshape(x, {outer, whole[1], inner});
  weights = emit.broadcastTo(weights, {outer, whole[0], whole[1]});
  x = emit.create<ContractOp>(emit.typed({outer, axis.to, inner}, computed), weights, x,
                              /*transpose_lhs=*/false, /*transpose_rhs=*/false, /*packed=*/false);
  shape[axis.dim] = axis.to;
  return emit.convert(emit.reshape(x, shape), element);
}

static Value resizeAxis(Emitter &emit, Value x, const ResizeModes &modes, const ResizedAxis &axis) {
  AxisEmitter at(emit, modes, axis);
  Sizes shape = sizesOf(x);
  shape[axis.dim] = axis.to;
  Type element = Emitter::typeOf(x).getElementType();
  auto gather = [&](Value index) {
    return emit.create<GatherOp>(tensorTypeOf(shape, element), x, at.clamp(index), axis.dim);
  };
  auto spread = [&](Value alongAxis) { return emit.broadcast(alongAxis, shape, {axis.dim}); };
  Value coordinate = at.coordinates(), result;
  if (modes.interpolation == Interpolation::Nearest) {
    result = gather(at.nearest(coordinate));
  } else if (modes.isAntialiased) {
    result = antialias(emit, x, modes, axis);
  } else {
    // At least in f32; weights have the type of what they weigh.
    bool isWide = element.isF64();
    Type computed = isWide ? element : emit.builder.getF32Type();
    SmallVector<std::pair<Value, Value>> taps; // index, weight
    if (modes.interpolation == Interpolation::Linear) {
      Value last = at.along(at.number(axis.from - 1, emit.builder.getF32Type()));
      Value inside = emit.binary(BK::Min, emit.binary(BK::Max, coordinate, 0), last);
      Value low = emit.unary(UK::Floor, inside), fraction = emit.binary(BK::Sub, inside, low);
      Value index = at.toIndex(low);
      taps = {{index, emit.binary(BK::Sub, emit.splatLike(fraction, 1), fraction)},
              {emit.binary(BK::Add, index, 1), fraction}};
    } else {
      Value low = emit.unary(UK::Floor, coordinate);
      Value index = at.toIndex(low);
      SmallVector<Value> weights =
          cubicWeights(emit, emit.binary(BK::Sub, coordinate, low), modes.cubicCoefficient);
      for (auto [i, weight] : llvm::enumerate(weights))
        taps.push_back({emit.binary(BK::Add, index, double(i) - 1), weight});
      if (modes.excludesOutside) {
        Value sum;
        for (auto &[place, weight] : taps) {
          Value isInside = emit.compare(CK::Eq, place, at.clamp(place));
          weight = emit.select(isInside, weight, emit.splatLike(weight, 0));
          sum = sum ? emit.binary(BK::Add, sum, weight) : weight;
        }
        for (auto &tap : taps)
          tap.second = emit.binary(BK::Div, tap.second, sum);
      }
    }
    for (auto &[index, weight] : taps) {
      Value part = emit.binary(BK::Mul, emit.convert(gather(index), computed),
                               spread(emit.convert(weight, computed)));
      result = result ? emit.binary(BK::Add, result, part) : part;
    }
    result = emit.convert(result, element);
  }
  if (modes.coordinates != "tf_crop_and_resize")
    return result;
  Value last = at.along(at.number(axis.from - 1, emit.builder.getF32Type()));
  Value isOutside =
      emit.binary(BK::Or, emit.compare(CK::Lt, coordinate, emit.splatLike(coordinate, 0)),
                  emit.compare(CK::Gt, coordinate, last));
  Value outside = emit.broadcast(emit.scalar(modes.extrapolation, element), shape, {});
  return emit.select(spread(isOutside), outside, result);
}

/// Resizes along `axes`, of an operand in the order of the file. Between integers there are
/// fractions, which are cut off at the end.
static Value resizeAll(Emitter &emit, Value x, const ResizeModes &modes,
                       ArrayRef<ResizedAxis> axes) {
  int64_t rank = Emitter::typeOf(x).getRank();
  Type element = Emitter::typeOf(x).getElementType();
  if (modes.interpolation != Interpolation::Nearest)
    x = emit.convert(x, commonRealType(element, element));
  bool isImage =
      rank >= 3 && llvm::all_of(axes, [](const ResizedAxis &axis) { return axis.dim >= 2; });
  if (isImage)
    x = emit.transpose(x, channelsLastPerm(rank));
  for (ResizedAxis axis : axes) {
    axis.dim -= isImage;
    x = resizeAxis(emit, x, modes, axis);
  }
  x = emit.convert(x, element);
  return isImage ? emit.transpose(x, channelsFirstPerm(rank)) : x;
}

//===----------------------------------------------------------------------===//
// Reading the node
//===----------------------------------------------------------------------===//

/// floor(size * scale), computed in f32. A simple fraction of a symbol stays an
/// expression.
static FailureOr<SymExpr> scaledSize(Node &node, int64_t dim, const SymExpr &size, Value scale) {
  Emitter &emit = node.emit;
  std::optional<double> known = constantOf(scale);
  if (known && !(*known > 0))
    return node.error() << "scales have the entry " << *known << ", expected positive numbers";
  if (known && !size.asConstant())
    for (int64_t divisor = 1; divisor <= 1024; ++divisor) {
      double factor = std::round(*known * double(divisor));
      if (float(factor / double(divisor)) == float(*known) && factor < 1e9)
        return SymExpr::floorDiv(size * SymExpr(int64_t(factor)), divisor);
    }
  Type i64 = emit.builder.getI64Type();
  if (!known) {
    // No tensor grows by more. What is no number is no positive one.
    Value isPositive = emit.compare(CK::Gt, scale, 0.0);
    Value rounded = emit.unary(UK::Ceil, emit.binary(BK::Max, scale, -0x1p30));
    rounded = emit.select(isPositive, emit.splatLike(scale, 1), rounded);
    emit.check(CheckKind::LessEqual, 1, node.bindSigned(emit.convert(rounded, i64)),
               ("the scale of dimension " + Twine(dim) + ", rounded up,").str());
  }
  Value scaled = emit.binary(BK::Mul, emit.size(size, emit.builder.getF32Type()), scale);
  // Beyond what memory has; a size that is too large is an error of its own.
  scaled = emit.binary(BK::Min, emit.unary(UK::Floor, scaled), 0x1p47);
  return node.bind(emit.convert(emit.binary(BK::Max, scaled, 0.0), i64));
}

static std::optional<Interpolation> interpolationOf(StringRef mode) {
  return llvm::StringSwitch<std::optional<Interpolation>>(mode)
      .Case("nearest", Interpolation::Nearest)
      .Cases({"linear", "bilinear"}, Interpolation::Linear)
      .Case("cubic", Interpolation::Cubic)
      .Default(std::nullopt);
}

static LogicalResult readModes(Node &node, ResizeModes &modes) {
  StringRef mode = node.string("mode", "nearest");
  std::optional<Interpolation> interpolation = interpolationOf(mode);
  if (!interpolation)
    return node.error() << "attribute 'mode' is '" << mode
                        << "', expected nearest, linear or cubic";
  modes.interpolation = *interpolation;
  return success();
}

/// Upsample, and Resize of version 10: scales alone, and coordinates of that time.
static LogicalResult upsample(Node &node) {
  ResizeModes modes{Interpolation::Nearest, "asymmetric", "simple", -0.75, false, 0};
  if (failed(readModes(node, modes)))
    return failure();
  SmallVector<Value> scales;
  if (node.getOpset() < 9) {
    std::optional<SmallVector<double>> given = node.reals("scales");
    if (!given)
      return node.error() << "attribute 'scales' is missing";
    for (double scale : *given)
      scales.push_back(node.emit.scalar(scale, node.emit.builder.getF32Type()));
  } else {
    FailureOr<SmallVector<Value>> given = node.realOperand(1, "scales");
    if (failed(given))
      return failure();
    scales = *given;
  }
  Sizes sizes = sizesOf(node.input(0));
  if (scales.size() != sizes.size())
    return node.error() << "scales have " << scales.size() << " entries, expected " << sizes.size();
  SmallVector<ResizedAxis> axes;
  for (auto [i, scale] : llvm::enumerate(scales)) {
    if (constantOf(scale) == 1)
      continue;
    FailureOr<SymExpr> to = scaledSize(node, i, sizes[i], scale);
    if (failed(to))
      return failure();
    axes.push_back({int64_t(i), sizes[i], *to, scale});
  }
  return node.yield(resizeAll(node.emit, node.input(0), modes, axes));
}

/// Gives all dimensions the smallest of their scales, or the largest.
static LogicalResult keepAspectRatio(Node &node, MutableArrayRef<ResizedAxis> axes,
                                     BinaryKind choose) {
  Emitter &emit = node.emit;
  Type f32 = emit.builder.getF32Type(), f64 = emit.builder.getF64Type();
  Value scale;
  for (const ResizedAxis &axis : axes) {
    if (axis.from == SymExpr(0))
      return node.error() << "dimension " << axis.dim << " is empty and has no aspect ratio";
    emit.check(CheckKind::LessEqual, 1, axis.from, ("dimension " + Twine(axis.dim)).str());
    Value own = emit.binary(BK::Div, emit.size(axis.to, f32), emit.size(axis.from, f32));
    scale = scale ? emit.binary(choose, scale, own) : own;
  }
  for (ResizedAxis &axis : axes) {
    // Rounded; a half goes up, and is exact in f64.
    Value scaled = emit.convert(emit.binary(BK::Mul, scale, emit.size(axis.from, f32)), f64);
    scaled = emit.unary(UK::Floor, emit.binary(BK::Add, scaled, 0.5));
    axis.to = node.bind(emit.convert(scaled, emit.builder.getI64Type()));
    axis.scale = scale;
  }
  return success();
}

static LogicalResult resize(Node &node) {
  ResizeModes modes{Interpolation::Nearest,
                    node.string("coordinate_transformation_mode", "half_pixel"),
                    node.string("nearest_mode", "round_prefer_floor"),
                    node.real("cubic_coeff_a", -0.75),
                    node.integer("exclude_outside", 0) != 0,
                    node.real("extrapolation_value", 0)};
  if (failed(readModes(node, modes)))
    return failure();
  if (!llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                           "align_corners", "asymmetric", "tf_half_pixel_for_nn",
                           "tf_crop_and_resize"},
                          modes.coordinates))
    return node.error() << "attribute 'coordinate_transformation_mode' is '" << modes.coordinates
                        << "', expected half_pixel, half_pixel_symmetric, pytorch_half_pixel, "
                        << "align_corners, asymmetric or tf_crop_and_resize";
  if (!llvm::is_contained({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
                          modes.rounding))
    return node.error() << "attribute 'nearest_mode' is '" << modes.rounding
                        << "', expected round_prefer_floor, round_prefer_ceil, floor or ceil";
  modes.isAntialiased = node.getOpset() >= 18 && node.integer("antialias", 0) != 0;
  StringRef policy =
      node.getOpset() >= 18 ? node.string("keep_aspect_ratio_policy", "stretch") : "stretch";

  Sizes from = sizesOf(node.input(0));
  int64_t rank = from.size();
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (node.getOpset() >= 18)
    if (std::optional<SmallVector<int64_t>> given = node.integers("axes")) {
      dims.clear();
      for (int64_t axis : *given) {
        FailureOr<int64_t> normal = node.normalizeAxis(axis, rank);
        if (failed(normal))
          return failure();
        dims.push_back(*normal);
      }
    }
  // An empty tensor says as much as an absent one.
  auto isGiven = [&](unsigned i) { return node.input(i) && node.inputShape(i) != Sizes{0}; };
  if (isGiven(2) == isGiven(3))
    return node.error() << (isGiven(2) ? "scales and sizes are both given"
                                       : "scales and sizes are both missing");
  SmallVector<ResizedAxis> axes;
  if (isGiven(2)) {
    FailureOr<SmallVector<Value>> scales = node.realOperand(2, "scales");
    if (failed(scales))
      return failure();
    if (scales->size() != dims.size())
      return node.error() << "scales have " << scales->size() << " entries, expected "
                          << dims.size();
    for (auto [dim, scale] : llvm::zip(dims, *scales)) {
      FailureOr<SymExpr> to = scaledSize(node, dim, from[dim], scale);
      if (failed(to))
        return failure();
      axes.push_back({dim, from[dim], *to, scale});
    }
  } else {
    FailureOr<Sizes> given = node.sizeOperand(3, "sizes");
    if (failed(given))
      return failure();
    Sizes sizes = *given;
    if (sizes.size() != dims.size())
      return node.error() << "sizes have " << sizes.size() << " entries, expected " << dims.size();
    for (auto [dim, to] : llvm::zip(dims, sizes))
      axes.push_back({dim, from[dim], to});
    if (policy != "stretch") {
      // One scale for all dimensions: the smallest or the largest.
      bool isLarger = policy == "not_smaller";
      if (!isLarger && policy != "not_larger")
        return node.error() << "attribute 'keep_aspect_ratio_policy' is '" << policy
                            << "', expected stretch, not_larger or not_smaller";
      if (failed(keepAspectRatio(node, axes, isLarger ? BK::Max : BK::Min)))
        return failure();
    }
  }
  bool crops = modes.coordinates == "tf_crop_and_resize";
  if (crops) {
    if (!isGiven(1))
      return node.error() << "roi is missing, which tf_crop_and_resize needs";
    FailureOr<SmallVector<Value>> roi = node.realOperand(1, "roi");
    if (failed(roi))
      return failure();
    if (roi->size() != 2 * axes.size())
      return node.error() << "roi has " << roi->size() << " entries, expected " << 2 * axes.size();
    for (auto [i, axis] : llvm::enumerate(axes)) {
      axis.roiBegin = (*roi)[i];
      axis.roiEnd = (*roi)[axes.size() + i];
    }
  }
  for (const ResizedAxis &axis : axes) {
    if (axis.from == SymExpr(0) && axis.to.isPositive())
      return node.error() << "dimension " << axis.dim << " is empty and cannot become "
                          << axis.to.str() << " long";
    node.emit.check(
        CheckKind::LessEqual, SymExpr::min(axis.to, 1), axis.from,
        ("dimension " + Twine(axis.dim) + " has {1} elements to resize, expected at least {0}")
            .str());
  }
  // What keeps its size stays as it is, unless a region of it is cut out.
  llvm::erase_if(axes, [&](const ResizedAxis &axis) {
    bool isWhole = !crops || (constantOf(axis.roiBegin) == 0 && constantOf(axis.roiEnd) == 1);
    return axis.from == axis.to && isWhole && (!axis.scale || constantOf(axis.scale) == 1);
  });
  return node.yield(resizeAll(node.emit, node.input(0), modes, axes));
}

static const OperatorRow rows[] = {
    {"Resize", 2, 2, upsample, "", 10, 10},
    {"Resize", 1, 4, resize, "", 11},
    {"Upsample", 1, 2, upsample, "", 7, 9},
};

ArrayRef<OperatorRow> lumen::resizeRows() { return rows; }
