//===- Features.cpp - what prepares features for a model ------------------===//

#include "passes/onnx-to-lumen/MachineLearning.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using CK = CompareKind;

/// One number for all features, or one for each, in the shape of the input: features are
/// its dimension 1, or its only one. `values` has `count` elements.
static FailureOr<Value> perFeature(Node &node, int64_t count, StringRef what, Value values) {
  Emitter &emit = node.emit;
  Sizes shape = node.inputShape(0);
  if (shape.empty())
    return node.error() << "input has no dimensions, expected features";
  if (count == 1)
    return emit.splat(emit.reshape(values, {}), shape);
  int64_t axis = std::min<int64_t>(shape.size() - 1, 1);
  if (!node.ensureEqual(shape[axis], count, "the number of features"))
    return node.error() << "has " << count << " " << what << " for " << shape[axis].str()
                        << " features";
  return emit.broadcastAlong(emit.cast(values, {shape[axis]}), shape, axis);
}

static LogicalResult scaler(Node &node) {
  Emitter &emit = node.emit;
  SmallVector<double> offset = readReals(node, "offset"), scale = readReals(node, "scale");
  if (scale.empty() || scale.size() != offset.size())
    return node.error() << "has " << offset.size() << " offsets and " << scale.size()
                        << " scales, expected as many of both";
  // Doubles are subtracted before they are rounded.
  Type f32 = emit.builder.getF32Type(), element = node.inputType(0).getElementType();
  if (!element.isF64())
    element = f32;
  int64_t count = scale.size();
  auto spread = [&](ArrayRef<double> values) {
    return perFeature(node, count, "scales", makeReals(emit, count, element, values));
  };
  FailureOr<Value> offsets = spread(offset);
  if (failed(offsets))
    return failure();
  FailureOr<Value> scales = spread(scale); // fits as well
  Value x = emit.convert(node.input(0), element);
  x = emit.binary(BK::Mul, emit.binary(BK::Sub, x, *offsets), *scales);
  return node.yield(emit.convert(x, f32));
}

/// Divides rows by their norm, unless that is 0.
static LogicalResult normalizer(Node &node) {
  Emitter &emit = node.emit;
  FailureOr<int64_t> norm =
      readChoice(node, "norm", node.string("norm", "MAX"), {"MAX", "L1", "L2"});
  FailureOr<Value> rows = readRows(node);
  if (failed(norm) || failed(rows))
    return failure();
  Type f32 = emit.builder.getF32Type();
  Value x = *rows;
  Value measured = *norm == 0   ? x
                   : *norm == 1 ? emit.unary(UK::Abs, x)
                                : emit.binary(BK::Mul, x, x);
  Value size = emit.reduce(*norm == 0 ? ReduceKind::Max : ReduceKind::Sum, measured, {1},
                           /*keepDims=*/true);
  if (*norm == 2)
    size = emit.unary(UK::Sqrt, size);
  Value divisor = emit.select(emit.compare(CK::Eq, size, 0.0), emit.splatLike(size, 1.0), size);
  Value result = emit.binary(BK::Div, x, emit.broadcastTo(divisor, Emitter::shapeOf(x)));
  return node.yield(emit.reshape(emit.convert(result, f32), node.inputShape(0)));
}

static LogicalResult binarizer(Node &node) {
  Emitter &emit = node.emit;
  Value x = node.input(0);
  // An integer is above a fraction if it is above what the fraction is rounded down to.
  double threshold = node.real("threshold", 0.0);
  if (!isa<FloatType>(node.inputType(0).getElementType()))
    threshold = std::floor(threshold);
  return node.yield(
      emit.convert(emit.compare(CK::Gt, x, threshold), node.inputType(0).getElementType()));
}

static LogicalResult imputer(Node &node) {
  Emitter &emit = node.emit;
  Type element = node.inputType(0).getElementType();
  bool isReal = isa<FloatType>(element);
  SmallVector<double> reals = readReals(node, "imputed_value_floats");
  SmallVector<int64_t> integers = readIntegers(node, "imputed_value_int64s");
  double real = node.real("replaced_value_float", 0.0);
  int64_t integer = node.integer("replaced_value_int64", 0);
  int64_t count = isReal ? reals.size() : integers.size();
  if (count == 0)
    return node.error() << "has no values of type " << element << " to put in";
  Value x = node.input(0);
  Value values = isReal ? makeReals(emit, count, emit.builder.getF64Type(), reals)
                        : makeNumbers(emit, count, emit.builder.getI64Type(), ArrayRef(integers));
  FailureOr<Value> imputed =
      perFeature(node, count, "values to put in", emit.convert(values, element));
  if (failed(imputed))
    return failure();
  Value isMissing;
  if (isReal && std::isnan(real)) {
    isMissing = emit.unary(UK::IsNan, x);
  } else {
    Value replaced =
        isReal ? emit.scalar(real, element)
               : emit.convert(makeNumbers(emit, {}, emit.builder.getI64Type(), ArrayRef(integer)),
                              element);
    isMissing = emit.compare(CK::Eq, x, emit.splat(replaced, Emitter::shapeOf(x)));
  }
  return node.yield(emit.select(isMissing, *imputed, x));
}

static LogicalResult arrayFeatureExtractor(Node &node) {
  Emitter &emit = node.emit;
  Sizes shape = node.inputShape(0);
  if (shape.empty())
    return node.error() << "input has no dimensions, expected features";
  Value indices = emit.reshape(node.input(1), {product(node.inputShape(1))});
  Value result = emit.gather(node.input(0), indices, shape.size() - 1);
  // One dimension is one row.
  if (shape.size() == 1)
    result = emit.reshape(result, {1, sizeOf(indices, 0)});
  return node.yield(result);
}

/// Inputs side by side, each cut or filled up with zeros to the size that is given for it.
static LogicalResult featureVectorizer(Node &node) {
  Emitter &emit = node.emit;
  SmallVector<int64_t> wanted = readIntegers(node, "inputdimensions");
  if (wanted.size() != node.getNumInputs())
    return node.error() << "attribute 'inputdimensions' has " << wanted.size()
                        << " entries, expected " << node.getNumInputs();
  SmallVector<Value> parts;
  SymExpr rows;
  for (auto [i, count] : llvm::enumerate(wanted)) {
    Sizes shape = node.inputShape(i);
    if (shape.empty() || count < 0)
      return node.error() << "input " << i << " has shape " << shapeText(shape) << " for " << count
                          << " features";
    if (shape.size() == 1)
      shape.insert(shape.begin(), 1);
    SymExpr width = product(Node::Shape(shape).drop_front());
    if (i == 0)
      rows = shape[0];
    else if (!node.ensureEqual(shape[0], rows, ("the number of rows of input " + Twine(i)).str()))
      return node.error() << "inputs have " << rows.str() << " and " << shape[0].str()
                          << " rows, expected the same";
    Value part = emit.convert(node.input(i), emit.builder.getF32Type());
    part = emit.cast(emit.reshape(part, {shape[0], width}), {rows, width});
    if (width != SymExpr(count)) {
      Value zeros = emit.splat(emit.scalar(0, emit.builder.getF32Type()), {rows, count});
      part = emit.sliceAxis(emit.concat({part, zeros}, 1), 1, 0, count);
    }
    parts.push_back(part);
  }
  return node.yield(emit.concat(parts, 1));
}

ArrayRef<OperatorRow> lumen::featureRows() {
  constexpr int64_t kNewest = OperatorRow::kNewest;
  static constexpr OperatorRow rows[] = {
      OperatorRow{"ArrayFeatureExtractor", 2, 2, arrayFeatureExtractor, "", 1, kNewest, kMlDomain}
          .moving(),
      {"Binarizer", 1, 1, binarizer, "", 1, kNewest, kMlDomain},
      {"FeatureVectorizer", 1, OperatorRow::kVariadic, featureVectorizer, "", 1, kNewest,
       kMlDomain},
      {"Imputer", 1, 1, imputer, "", 1, kNewest, kMlDomain},
      {"Normalizer", 1, 1, normalizer, "", 1, kNewest, kMlDomain},
      {"Scaler", 1, 1, scaler, "", 1, kNewest, kMlDomain},
  };
  return rows;
}
