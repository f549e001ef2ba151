//===- Shaping.cpp - shapes, and tensors made of nothing but a shape ------===//

#include "passes/onnx-to-lumen/Converter.h"

#include <cmath>

using namespace mlir;
using namespace lumen;

using BK = BinaryKind;
using CK = CompareKind;

static LogicalResult identity(Node &node) { return node.yield(node.input(0)); }

//===----------------------------------------------------------------------===//
// The same elements in another shape
//===----------------------------------------------------------------------===//

/// -1 takes what is left; 0 copies the input's dimension unless allowzero.
static LogicalResult reshape(Node &node) {
  bool allowZero = node.getOpset() >= 14 && node.integer("allowzero", 0) != 0;
  FailureOr<SmallVector<int64_t>> shape = node.constantIntegers(1, "shape");
  if (failed(shape))
    return failure();
  ArrayRef<int64_t> from = node.inputShape(0);
  std::string given = shapeText(*shape);
  std::optional<size_t> inferred;
  int64_t known = 1;
  for (auto [i, size] : llvm::enumerate(*shape)) {
    if (size == 0 && !allowZero) {
      if (i >= from.size())
        return node.error() << "shape " << given << " copies dimension " << i
                            << " of an input of shape " << shapeText(from);
      size = from[i];
    }
    if (size == -1) {
      if (inferred)
        return node.error() << "shape " << given << " has two dimensions of -1, expected one";
      inferred = i;
      continue;
    }
    if (size < 0)
      return node.error() << "shape " << given << " has the dimension " << size
                          << ", expected at least -1";
    if (llvm::MulOverflow(known, size, known))
      return node.error() << "result of shape " << given << " is too large";
  }
  int64_t count = ShapedType::getNumElements(from);
  if (inferred && known != 0)
    (*shape)[*inferred] = count / known;
  if ((inferred && known == 0) || known * (inferred ? (*shape)[*inferred] : 1) != count)
    return node.error() << "input of shape " << shapeText(from) << " with " << count
                        << " elements cannot take the shape " << given;
  return node.yield(node.emit.reshape(node.input(0), *shape));
}

static LogicalResult flatten(Node &node) {
  ArrayRef<int64_t> shape = node.inputShape(0);
  int64_t rank = shape.size(), axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return node.error() << "axis " << axis << " lies outside the rank " << rank;
  axis = axis < 0 ? axis + rank : axis;
  return node.yield(
      node.emit.reshape(node.input(0), {ShapedType::getNumElements(shape.take_front(axis)),
                                        ShapedType::getNumElements(shape.drop_front(axis))}));
}

/// An attribute before version 13, an input since; nothing if it is absent.
static FailureOr<std::optional<SmallVector<int64_t>>> readAxes(Node &node) {
  if (node.getOpset() < 13)
    return node.integers("axes");
  if (!node.input(1))
    return std::optional<SmallVector<int64_t>>();
  FailureOr<SmallVector<int64_t>> axes = node.constantIntegers(1, "axes");
  if (failed(axes))
    return failure();
  return std::optional<SmallVector<int64_t>>(std::move(*axes));
}

static LogicalResult squeeze(Node &node) {
  ArrayRef<int64_t> from = node.inputShape(0);
  FailureOr<std::optional<SmallVector<int64_t>>> given = readAxes(node);
  if (failed(given))
    return failure();
  SmallVector<int64_t> axes;
  if (*given) {
    FailureOr<SmallVector<int64_t>> normal = node.normalizeAxes(**given, from.size());
    if (failed(normal))
      return failure();
    axes = std::move(*normal);
  }
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(from)) {
    bool isListed = llvm::is_contained(axes, int64_t(i));
    if (isListed && size != 1)
      return node.error() << "dimension " << i << " has size " << size << ", expected 1";
    if (!isListed && (*given || size != 1))
      shape.push_back(size);
  }
  return node.yield(node.emit.reshape(node.input(0), shape));
}

static LogicalResult unsqueeze(Node &node) {
  ArrayRef<int64_t> from = node.inputShape(0);
  FailureOr<std::optional<SmallVector<int64_t>>> given = readAxes(node);
  if (failed(given))
    return failure();
  if (!*given)
    return node.error() << "axes are missing";
  FailureOr<SmallVector<int64_t>> axes =
      node.normalizeAxes(**given, from.size() + (*given)->size());
  if (failed(axes))
    return failure();
  SmallVector<int64_t> shape(from);
  for (int64_t axis : *axes)
    shape.insert(shape.begin() + axis, 1);
  return node.yield(node.emit.reshape(node.input(0), shape));
}

//===----------------------------------------------------------------------===//
// Shapes as values
//===----------------------------------------------------------------------===//

static LogicalResult shapeOf(Node &node) {
  ArrayRef<int64_t> shape = node.inputShape(0);
  int64_t rank = shape.size();
  auto bound = [&](StringRef name, int64_t absent) {
    int64_t value = node.getOpset() >= 15 ? node.integer(name, absent) : absent;
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  int64_t start = bound("start", 0), end = std::max(bound("end", rank), start);
  return node.yield(node.emit.integers(shape.slice(start, end - start)));
}

static LogicalResult sizeOf(Node &node) {
  Type type = node.emit.builder.getI64Type();
  return node.yield(node.emit.constant(DenseElementsAttr::get(
      RankedTensorType::get({}, type), ArrayRef<int64_t>(node.inputType(0).getNumElements()))));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static LogicalResult constant(Node &node) {
  Builder &b = node.emit.builder;
  if (Attribute value = node.attribute("value")) {
    auto typed = dyn_cast<TypedAttr>(value);
    auto type = typed ? dyn_cast<RankedTensorType>(typed.getType()) : RankedTensorType();
    if (!type)
      return node.error() << "attribute 'value' is not a tensor";
    return node.yield(node.emit.constant(typed));
  }
  if (Attribute value = node.attribute("value_float")) {
    auto type = RankedTensorType::get({}, b.getF32Type());
    return node.yield(node.emit.constant(DenseElementsAttr::get(type, value)));
  }
  if (Attribute value = node.attribute("value_int")) {
    auto type = RankedTensorType::get({}, b.getI64Type());
    return node.yield(node.emit.constant(DenseElementsAttr::get(type, value)));
  }
  if (std::optional<SmallVector<int64_t>> values = node.integers("value_ints"))
    return node.yield(node.emit.integers(*values));
  if (auto values = dyn_cast_or_null<DenseF32ArrayAttr>(node.attribute("value_floats"))) {
    auto type = RankedTensorType::get(values.size(), b.getF32Type());
    return node.yield(node.emit.constant(DenseElementsAttr::get(type, values.asArrayRef())));
  }
  return node.error() << "has no value of numbers";
}

static LogicalResult constantOfShape(Node &node) {
  FailureOr<SmallVector<int64_t>> shape = node.constantIntegers(0, "shape");
  if (failed(shape) || failed(node.checkSize(*shape)))
    return failure();
  Type element = node.emit.builder.getF32Type();
  Scalar value = makeScalar(0, element);
  if (Attribute attr = node.attribute("value")) {
    std::optional<ConstantData> data = ConstantData::get(attr);
    if (!data || data->size() != 1)
      return node.error() << "attribute 'value' is not a tensor of one number";
    element = data->getElementType();
    value = (*data)[0];
  }
  auto type = RankedTensorType::get(*shape, element);
  return node.yield(node.emit.constant(ConstantData(type, {value}).toAttr()));
}

/// The number of steps from `start` to `limit`; nothing if it is not finite.
static std::optional<int64_t> countSteps(Scalar start, Scalar limit, Scalar delta, bool isReal) {
  if (!isReal) {
    if (delta.integer == 0)
      return std::nullopt;
    bool isUp = delta.integer > 0;
    uint64_t distance = isUp ? uint64_t(limit.integer) - uint64_t(start.integer)
                             : uint64_t(start.integer) - uint64_t(limit.integer);
    if (isUp ? limit.integer <= start.integer : limit.integer >= start.integer)
      return 0;
    uint64_t step = isUp ? uint64_t(delta.integer) : -uint64_t(delta.integer);
    return int64_t((distance - 1) / step + 1);
  }
  double steps = std::ceil((limit.real - start.real) / delta.real);
  if (!(std::fabs(steps) < 0x1p62))
    return std::nullopt;
  return std::max<int64_t>(int64_t(steps), 0);
}

/// start + i * delta
static LogicalResult range(Node &node) {
  if (int64_t stash = node.integer("stash_type", 1); stash != 1)
    return node.error() << "attribute 'stash_type' is " << stash << ", expected 1";
  SmallVector<Scalar> numbers;
  constexpr StringLiteral names[] = {"start", "limit", "delta"};
  for (auto [i, name] : llvm::enumerate(names)) {
    std::optional<ConstantData> data = ConstantData::get(node.input(i));
    if (!data)
      return node.error() << name << " is computed from the model's inputs; only constants are "
                          << "supported";
    if (data->size() != 1)
      return node.error() << name << " has shape " << shapeText(node.inputShape(i))
                          << ", expected scalar";
    if (failed(node.expectSameElementType(0, i)))
      return failure();
    numbers.push_back((*data)[0]);
  }
  Type element = node.inputType(0).getElementType();
  bool isReal = isa<FloatType>(element);
  std::optional<int64_t> count = countSteps(numbers[0], numbers[1], numbers[2], isReal);
  if (!count)
    return node.error() << "the range has no finite number of elements";
  if (failed(node.checkSize(*count)))
    return failure();
  Emitter &emit = node.emit;
  // Narrow floats cannot count far.
  bool isNarrow = isReal && element.getIntOrFloatBitWidth() < 32;
  auto type = RankedTensorType::get(*count, isNarrow ? emit.builder.getF32Type() : element);
  auto splat = [&](Scalar number) { return emit.constant(ConstantData(type, {number}).toAttr()); };
  Value scaled = emit.binary(BK::Mul, emit.iota(type, 0), splat(numbers[2]));
  return node.yield(emit.convert(emit.binary(BK::Add, splat(numbers[0]), scaled), element));
}

//===----------------------------------------------------------------------===//
// Patterns of the index
//===----------------------------------------------------------------------===//

/// Ones where `column - row` compares to `offset`.
static Value diagonal(Emitter &emit, ArrayRef<int64_t> shape, CompareKind kind, double offset) {
  int64_t rank = shape.size();
  auto type = RankedTensorType::get(shape, emit.builder.getI64Type());
  Value difference = emit.binary(BK::Sub, emit.iota(type, rank - 1), emit.iota(type, rank - 2));
  return emit.compare(kind, difference, offset);
}

static LogicalResult eyeLike(Node &node) {
  if (node.inputType(0).getRank() != 2)
    return node.error() << "input has shape " << shapeText(node.inputShape(0))
                        << ", expected two dimensions";
  Type type = node.inputType(0).getElementType();
  if (node.has("dtype")) {
    FailureOr<Type> given = readElementType(node, "dtype", 1);
    if (failed(given))
      return failure();
    type = *given;
  }
  Value eye = diagonal(node.emit, node.inputShape(0), CK::Eq, double(node.integer("k", 0)));
  return node.yield(node.emit.convert(eye, type));
}

static LogicalResult trilu(Node &node) {
  bool isUpper = node.integer("upper", 1) != 0;
  if (node.inputType(0).getRank() < 2)
    return node.error() << "input has shape " << shapeText(node.inputShape(0))
                        << ", expected at least two dimensions";
  int64_t offset = 0;
  if (node.input(1)) {
    FailureOr<SmallVector<int64_t>> k = node.constantIntegers(1, "k");
    if (failed(k))
      return failure();
    if (k->size() != 1)
      return node.error() << "k has " << k->size() << " elements, expected 1";
    offset = k->front();
  }
  Emitter &emit = node.emit;
  Value isKept = diagonal(emit, node.inputShape(0), isUpper ? CK::Ge : CK::Le, double(offset));
  return node.yield(emit.select(isKept, node.input(0), emit.splatLike(node.input(0), 0)));
}

/// `on` where the index along a new dimension is the input's element.
static LogicalResult oneHot(Node &node) {
  // Any number may say how many classes there are.
  std::optional<ConstantData> data = ConstantData::get(node.input(1));
  if (!data)
    return node.error() << "depth is computed from the model's inputs; only constants are "
                        << "supported";
  if (data->size() != 1)
    return node.error() << "depth has shape " << shapeText(node.inputShape(1))
                        << ", expected scalar";
  Type countType = node.emit.builder.getI64Type();
  int64_t depth = evaluateConvert(data->getElementType(), countType, (*data)[0]).integer;
  if (depth < 1)
    return node.error() << "depth is " << depth << ", expected a positive number";
  if (node.inputShape(2) != ArrayRef<int64_t>(2))
    return node.error() << "values have shape " << shapeText(node.inputShape(2)) << ", expected 2";
  int64_t rank = node.inputType(0).getRank() + 1;
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", -1), rank);
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(node.inputShape(0));
  shape.insert(shape.begin() + *axis, depth);
  if (failed(node.checkSize(shape)))
    return failure();
  Emitter &emit = node.emit;
  Value index = emit.convert(node.input(0), emit.builder.getI64Type());
  Value wrapped = emit.binary(BK::Add, index, double(depth));
  index = emit.select(emit.compare(CK::Lt, index, 0.0), wrapped, index);
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < rank; ++i)
    if (i != *axis)
      dims.push_back(i);
  index = emit.broadcast(index, shape, dims);
  Value isHot = emit.compare(CK::Eq, index, emit.iota(Emitter::typeOf(index), *axis));
  auto value = [&](int64_t i) {
    return emit.broadcastTo(emit.reshape(emit.sliceAxis(node.input(2), 0, i, 1), {}), shape);
  };
  return node.yield(emit.select(isHot, value(1), value(0)));
}

/// Inference: the input passes, the mask is all true.
static LogicalResult dropout(Node &node) {
  node.ignore("ratio");
  node.ignore("seed");
  if (node.input(2)) {
    std::optional<ConstantData> training = ConstantData::get(node.input(2));
    if (!training || !training->isAll(0))
      return node.error() << "training_mode is not a constant false; only inference is supported";
  }
  Type maskType = node.getOpset() < 10 ? node.inputType(0).getElementType()
                                       : Type(node.emit.builder.getI1Type());
  Value mask = node.emit.splat(node.inputType(0).clone(maskType), 1);
  return node.yield({node.input(0), mask});
}

static const OperatorRow rows[] = {
    {"Constant", 0, 0, constant, "not of strings; not sparse"},
    {"ConstantOfShape", 1, 1, constantOfShape, "constant shapes"},
    {"Dropout", 1, 3, dropout, "inference only"},
    {"EyeLike", 1, 1, eyeLike},
    {"Flatten", 1, 1, flatten},
    {"Identity", 1, 1, identity, "of tensors"},
    {"OneHot", 3, 3, oneHot, "constant depth"},
    {"Range", 3, 3, range, "constant bounds"},
    {"Reshape", 2, 2, reshape, "constant shape"},
    {"Shape", 1, 1, shapeOf},
    {"Size", 1, 1, sizeOf},
    {"Squeeze", 1, 2, squeeze, "constant axes"},
    {"Trilu", 1, 2, trilu, "constant k"},
    {"Unsqueeze", 1, 2, unsqueeze, "constant axes"},
};

ArrayRef<OperatorRow> lumen::shapingRows() { return rows; }
