//===- Shaping.cpp - shapes, and tensors made of nothing but a shape ------===//

#include "passes/onnx-to-lumen/Axes.h"
#include "passes/onnx-to-lumen/Values.h"

#include <cmath>

using namespace mlir;
using namespace lumen;

using BK = BinaryKind;
using CK = CompareKind;

//===----------------------------------------------------------------------===//
// The same elements in another shape
//===----------------------------------------------------------------------===//

/// Sizes of which the run gives some, where it may say -1 and 0 too: what they stand
/// for is computed there, unless a constant -1 says which one is inferred.
static Sizes runtimeShape(Node &node, ArrayRef<Value> given, Node::Shape from, bool allowZero) {
  Emitter &emit = node.emit;
  SmallVector<Value> numbers(given);
  std::optional<size_t> inferred;
  Value minusOne = emit.size(-1), known = emit.size(1);
  auto isMinusOne = [&](Value number) { return emit.compare(CK::Eq, number, minusOne); };
  for (auto [i, number] : llvm::enumerate(numbers)) {
    std::optional<SymExpr> expr = Emitter::known(number);
    if (expr == SymExpr(-1))
      inferred = i;
    // What is an expression is a size; no exporter takes 0 for another one.
    if (i < from.size() && !allowZero && (!expr || *expr == SymExpr(0)))
      number = emit.select(emit.compare(CK::Eq, number, 0.0), emit.size(from[i]), number);
  }
  if (inferred) {
    Sizes shape(numbers.size(), SymExpr(1));
    for (auto [i, number] : llvm::enumerate(numbers))
      if (i != *inferred)
        shape[i] = node.bind(number);
    shape[*inferred] = SymExpr::floorDiv(product(from), product(shape));
    return shape;
  }
  for (Value number : numbers)
    known = emit.binary(BK::Mul, known, emit.select(isMinusOne(number), emit.size(1), number));
  // Without elements, nothing is left to be inferred.
  Value rest = emit.binary(BK::Div, emit.size(product(from)), emit.binary(BK::Max, known, 1.0));
  return Sizes(llvm::map_range(numbers, [&](Value number) {
    return node.bind(emit.select(isMinusOne(number), rest, number));
  }));
}

/// -1 takes what is left; 0 copies the input's dimension unless allowzero.
static LogicalResult reshape(Node &node) {
  bool allowZero = node.getOpset() >= 14 && node.integer("allowzero", 0) != 0;
  FailureOr<SmallVector<Value>> numbers = node.integerOperand(1, "shape");
  if (failed(numbers) || failed(node.checkRank(numbers->size())))
    return failure();
  Sizes from = node.inputShape(0), shape;
  for (Value number : *numbers)
    if (std::optional<SymExpr> size = Emitter::known(number))
      shape.push_back(*size);
  SymExpr count = product(from);
  if (shape.size() != numbers->size()) {
    shape = runtimeShape(node, *numbers, from, allowZero);
    if (!node.ensureEqual(
            product(shape), count,
            "the shape, whose only -1 takes what is left, has {0} elements, expected {1}"))
      return node.error() << "input of shape " << shapeText(from) << " cannot take the shape "
                          << shapeText(shape);
    return node.yield(node.emit.reshape(node.input(0), shape));
  }
  std::string given = shapeText(shape);
  std::optional<size_t> inferred;
  SymExpr known = 1;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size == SymExpr(0) && !allowZero) {
      if (i >= from.size())
        return node.error() << "shape " << given << " copies dimension " << i
                            << " of an input of shape " << shapeText(from);
      size = from[i];
    }
    if (size == SymExpr(-1)) {
      if (inferred)
        return node.error() << "shape " << given << " has two dimensions of -1, expected one";
      inferred = i;
      continue;
    }
    if ((SymExpr(0) - size).isPositive())
      return node.error() << "shape " << given << " has the dimension " << size.str()
                          << ", expected at least -1";
    known *= size;
    if (!known.isValid())
      return node.error() << "result of shape " << given << " is too large";
  }
  if (inferred && known != SymExpr(0))
    shape[*inferred] = SymExpr::floorDiv(count, known);
  if ((inferred && known == SymExpr(0)) ||
      !(inferred ? node.ensureMultiple(count, known, "the number of elements")
                 : node.ensureEqual(known, count, "the number of elements of the shape")))
    return node.error() << "input of shape " << shapeText(from) << " with " << count.str()
                        << " elements cannot take the shape " << given;
  return node.yield(node.emit.reshape(node.input(0), shape));
}

static LogicalResult flatten(Node &node) {
  Sizes shape = node.inputShape(0);
  int64_t rank = shape.size(), axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return node.error() << "axis " << axis << " lies outside the rank " << rank;
  axis = axis < 0 ? axis + rank : axis;
  return node.yield(
      node.emit.reshape(node.input(0), {product(Node::Shape(shape).take_front(axis)),
                                        product(Node::Shape(shape).drop_front(axis))}));
}

/// An attribute before version 13, an input since; nothing if it is absent. They are
/// axes of the input with `count` dimensions more for each.
static FailureOr<std::optional<Axes>> readAxes(Node &node, int64_t count) {
  auto given = node.integerList("axes", 1, 13);
  if (failed(given))
    return failure();
  if (!*given)
    return std::optional<Axes>();
  int64_t rank = node.inputRank(0) + count * (*given)->size();
  if (failed(node.checkRank(rank)))
    return failure();
  FailureOr<Axes> axes = Axes::of(node, **given, rank);
  if (failed(axes))
    return failure();
  return std::optional<Axes>(std::move(*axes));
}

/// The dimensions of 1, where no axes are given.
static FailureOr<Axes> onesOf(Node &node) {
  SmallVector<int64_t> ones;
  for (auto [i, size] : llvm::enumerate(node.inputShape(0))) {
    if (isOne(size))
      ones.push_back(i);
    else if (!SymExpr::differ(size, 1))
      return node.error() << "dimension " << i << " of size " << size.str()
                          << " is taken out if it is 1, which only the run knows; axes or sizes "
                          << "fixed by --dim are needed";
  }
  return Axes::of(node, ones, node.inputRank(0));
}

static LogicalResult squeeze(Node &node) {
  Sizes from = node.inputShape(0);
  FailureOr<std::optional<Axes>> given = readAxes(node, 0);
  if (failed(given))
    return failure();
  FailureOr<Axes> axes = *given ? FailureOr<Axes>(**given) : onesOf(node);
  if (failed(axes))
    return failure();
  for (auto [i, size] : llvm::enumerate(from))
    if (axes->mayContain(i) &&
        !node.ensureEqual(axes->select(i, size, 1), 1, ("dimension " + Twine(i)).str()))
      return node.error() << "dimension " << i << " has size " << size.str() << ", expected 1";
  return node.yield(node.emit.reshape(node.input(0), axes->drop(from)));
}

static LogicalResult unsqueeze(Node &node) {
  FailureOr<std::optional<Axes>> axes = readAxes(node, 1);
  if (failed(axes))
    return failure();
  if (!*axes)
    return node.error() << "axes are missing";
  return node.yield(node.emit.reshape(node.input(0), (*axes)->insertOnes(node.inputShape(0))));
}

//===----------------------------------------------------------------------===//
// Shapes as values
//===----------------------------------------------------------------------===//

static LogicalResult shapeOf(Node &node) {
  Sizes shape = node.inputShape(0);
  int64_t rank = shape.size();
  auto bound = [&](StringRef name, int64_t absent) {
    int64_t value = node.getOpset() >= 15 ? node.integer(name, absent) : absent;
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  int64_t start = bound("start", 0), end = std::max(bound("end", rank), start);
  return node.yield(node.emit.sizes(Node::Shape(shape).slice(start, end - start)));
}

static LogicalResult sizeOf(Node &node) {
  return node.yield(node.emit.size(product(node.inputShape(0))));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value lumen::makeReals(Emitter &emit, ArrayRef<int64_t> shape, Type elementType,
                       ArrayRef<double> values) {
  if (elementType.isF64())
    return makeNumbers(emit, shape, elementType, values);
  return makeNumbers(emit, shape, elementType, ArrayRef<float>(llvm::to_vector_of<float>(values)));
}

Value lumen::makeDense(Emitter &emit, onnx::SparseTensorAttr value) {
  auto type = cast<RankedTensorType>(value.getDenseType());
  Value values = emit.constant(value.getValues()), indices = emit.constant(value.getIndices());
  Sizes shape = sizesOf(type), count = sizesOf(values);
  if (Emitter::typeOf(indices).getRank() == 2) {
    // Rows of coordinates, to places in row-major order.
    Value rows = indices;
    indices = emit.splat(emit.typed(count, emit.builder.getI64Type()), 0);
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      Value coordinate = emit.reshape(emit.sliceAxis(rows, 1, dim, 1), count);
      indices = emit.binary(BK::Add, emit.binary(BK::Mul, indices, double(size)), coordinate);
    }
  }
  Value room = emit.splat(emit.typed({product(shape)}, type.getElementType()), 0);
  Value flat = emit.create<ScatterOp>(room.getType(), ScatterKind::Set, room, values, indices,
                                      ArrayRef<int64_t>(-1));
  return emit.reshape(flat, shape);
}

static LogicalResult constant(Node &node) {
  Builder &b = node.emit.builder;
  if (auto sparse = dyn_cast_or_null<onnx::SparseTensorAttr>(node.attribute("sparse_value")))
    return node.yield(makeDense(node.emit, sparse));
  if (Attribute value = node.attribute("value")) {
    auto typed = dyn_cast<TypedAttr>(value);
    auto type = typed ? dyn_cast<RankedTensorType>(typed.getType()) : RankedTensorType();
    if (!type)
      return node.error() << "attribute 'value' is not a tensor";
    if (auto strings = dyn_cast<DenseStringElementsAttr>(typed))
      return node.yield(makeStrings(node.emit, strings));
    return node.yield(node.emit.constant(typed));
  }
  // Absent: another attribute has the value.
  std::optional<SmallVector<StringRef>> texts;
  if (node.has("value_string"))
    texts = {node.string("value_string", "")};
  else if (node.has("value_strings"))
    texts = node.strings("value_strings");
  if (texts) {
    SmallVector<int64_t> shape;
    if (!node.has("value_string"))
      shape.push_back(texts->size());
    return node.yield(makeStrings(node.emit, shape, *texts));
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
    return node.yield(node.emit.sizes(toSizes(*values)));
  if (auto values = dyn_cast_or_null<DenseF32ArrayAttr>(node.attribute("value_floats"))) {
    auto type = RankedTensorType::get(values.size(), b.getF32Type());
    return node.yield(node.emit.constant(DenseElementsAttr::get(type, values.asArrayRef())));
  }
  return node.error() << "has no value that is supported";
}

static LogicalResult constantOfShape(Node &node) {
  FailureOr<Sizes> shape = node.sizeOperand(0, "shape");
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
  auto ofScalar = [&](ArrayRef<int64_t> sizes) {
    auto type = RankedTensorType::get(sizes, element);
    return node.emit.constant(ConstantData(type, {value}).toAttr());
  };
  if (std::optional<SmallVector<int64_t>> sizes = asConstants(*shape))
    return node.yield(ofScalar(*sizes));
  return node.yield(node.emit.splat(ofScalar({}), *shape));
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

/// The number of steps where the run gives the bounds.
static SymExpr countRuntimeSteps(Node &node, ArrayRef<Value> numbers, bool isReal) {
  Emitter &emit = node.emit;
  Value delta = numbers[2];
  Type i64 = emit.builder.getI64Type();
  if (isReal) {
    Value size = emit.unary(UnaryKind::Ceil, emit.unary(UnaryKind::Abs, delta));
    emit.check(CheckKind::LessEqual, 1, node.bind(emit.convert(size, i64)),
               "the length of a step of the range, rounded up,");
    Value distance = emit.binary(BK::Sub, numbers[1], numbers[0]);
    Value steps = emit.unary(UnaryKind::Ceil, emit.binary(BK::Div, distance, delta));
    // From or to NaN are as many as to infinity: too many.
    Value isSome = emit.compare(CK::Gt, steps, 0.0), isNone = emit.compare(CK::Le, steps, 0.0);
    steps = emit.select(isSome, steps, emit.splatLike(steps, INFINITY));
    return node.bind(emit.convert(emit.select(isNone, emit.splatLike(steps, 0), steps), i64));
  }
  // Expressions over sizes stay expressions.
  Value difference = emit.binary(BK::Sub, numbers[1], numbers[0]);
  std::optional<SymExpr> knownDistance = Emitter::known(difference),
                         knownStep = Emitter::known(delta);
  if (knownDistance && knownStep && knownStep->asConstant().value_or(0) != 0) {
    int64_t sign = *knownStep->asConstant() < 0 ? -1 : 1;
    return SymExpr::max(SymExpr::ceilDiv(*knownDistance * sign, *knownStep * sign), 0);
  }
  if (Emitter::known(numbers[0]) == SymExpr(0) && knownStep == SymExpr(1))
    return node.bind(emit.binary(BK::Max, emit.convert(numbers[1], i64), 0.0));
  // (distance - 1) / |delta| + 1 where the distance goes the way of delta. It may need
  // all 64 bits, so it has no sign.
  Type unsignedType = emit.builder.getIntegerType(64, false);
  Value start = emit.convert(numbers[0], i64), limit = emit.convert(numbers[1], i64);
  delta = emit.convert(delta, i64);
  Value size = emit.unary(UnaryKind::Abs, delta);
  std::optional<SymExpr> step = Emitter::known(size);
  if (!step) {
    step = node.bind(size);
    emit.check(CheckKind::LessEqual, 1, *step, "the length of a step of the range");
    size = emit.size(*step);
  }
  Value isDown = emit.compare(CK::Lt, delta, 0.0);
  Value low = emit.select(isDown, limit, start), high = emit.select(isDown, start, limit);
  Value distance = emit.convert(emit.binary(BK::Sub, high, low), unsignedType);
  Value steps =
      emit.binary(BK::Div, emit.binary(BK::Sub, distance, 1.0), emit.convert(size, unsignedType));
  steps = emit.binary(BK::Add, emit.convert(steps, i64), 1.0);
  return node.bind(emit.select(emit.compare(CK::Lt, low, high), steps, emit.splatLike(steps, 0)));
}

/// start + i * delta
static LogicalResult range(Node &node) {
  if (int64_t stash = node.integer("stash_type", 1); stash != 1)
    return node.error() << "attribute 'stash_type' is " << stash << ", expected 1";
  Emitter &emit = node.emit;
  Type element = node.inputType(0).getElementType();
  bool isReal = isa<FloatType>(element);
  SmallVector<Value> numbers;
  SmallVector<Scalar> constants;
  constexpr StringLiteral names[] = {"start", "limit", "delta"};
  for (auto [i, name] : llvm::enumerate(names)) {
    // A step of one may be left out in ONNX Runtime's form.
    bool isAbsent = i == 2 && !node.input(i);
    FailureOr<Value> number = isAbsent ? emit.scalar(1, element) : node.scalarOperand(i, name);
    if (failed(number) || (!isAbsent && failed(node.expectSameElementType(0, i))))
      return failure();
    numbers.push_back(*number);
    if (std::optional<ConstantData> data = ConstantData::get(*number))
      constants.push_back((*data)[0]);
  }
  std::optional<SymExpr> step = isReal ? std::nullopt : Emitter::known(numbers[2]);
  if (step == SymExpr(0))
    return node.error() << "the range has no finite number of elements";
  SymExpr count;
  if (constants.size() == numbers.size()) {
    std::optional<int64_t> steps = countSteps(constants[0], constants[1], constants[2], isReal);
    if (!steps)
      return node.error() << "the range has no finite number of elements";
    count = *steps;
  } else {
    count = countRuntimeSteps(node, numbers, isReal);
  }
  if (failed(node.checkSize(count)))
    return failure();
  // Narrow floats cannot count far.
  bool isNarrow = isReal && element.getIntOrFloatBitWidth() < 32;
  Type wide = isReal ? isNarrow ? Type(emit.builder.getF32Type()) : element
                     : Type(emit.builder.getI64Type());
  auto splat = [&](Value number) { return emit.splat(emit.convert(number, wide), count); };
  Value scaled = emit.binary(BK::Mul, emit.iota(emit.typed(count, wide), 0), splat(numbers[2]));
  return node.yield(emit.convert(emit.binary(BK::Add, splat(numbers[0]), scaled), element));
}

//===----------------------------------------------------------------------===//
// Patterns of the index
//===----------------------------------------------------------------------===//

/// Ones where `column - row` compares to `offset`, a 0-D i64 value.
static Value diagonal(Emitter &emit, Node::Shape shape, CompareKind kind, Value offset) {
  int64_t rank = shape.size();
  RankedTensorType type = emit.typed(shape, emit.builder.getI64Type());
  Value difference = emit.binary(BK::Sub, emit.iota(type, rank - 1), emit.iota(type, rank - 2));
  return emit.compare(kind, difference, emit.splat(offset, shape));
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
  Value offset = node.emit.size(node.integer("k", 0));
  Value eye = diagonal(node.emit, node.inputShape(0), CK::Eq, offset);
  return node.yield(node.emit.convert(eye, type));
}

static LogicalResult trilu(Node &node) {
  bool isUpper = node.integer("upper", 1) != 0;
  if (node.inputType(0).getRank() < 2)
    return node.error() << "input has shape " << shapeText(node.inputShape(0))
                        << ", expected at least two dimensions";
  Emitter &emit = node.emit;
  Value offset = emit.size(0);
  if (node.input(1)) {
    FailureOr<SmallVector<Value>> k = node.integerOperand(1, "k");
    if (failed(k))
      return failure();
    if (k->size() != 1)
      return node.error() << "k has " << k->size() << " elements, expected 1";
    offset = k->front();
  }
  Value isKept = diagonal(emit, node.inputShape(0), isUpper ? CK::Ge : CK::Le, offset);
  return node.yield(emit.select(isKept, node.input(0), emit.splatLike(node.input(0), 0)));
}

/// `on` where the index along a new dimension is the input's element.
static LogicalResult oneHot(Node &node) {
  // Any number may say how many classes there are.
  FailureOr<Value> given = node.scalarOperand(1, "depth");
  if (failed(given))
    return failure();
  SymExpr depth = node.bind(node.emit.convert(*given, node.emit.builder.getI64Type()));
  if (!node.ensureAtMost(1, depth, "the depth"))
    return node.error() << "depth is " << depth.str() << ", expected a positive number";
  if (!node.ensureEqual(node.inputShape(2), SymExpr(2), "the values"))
    return node.error() << "values have shape " << shapeText(node.inputShape(2)) << ", expected 2";
  int64_t rank = node.inputType(0).getRank() + 1;
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", -1), rank);
  if (failed(axis))
    return failure();
  Sizes shape = node.inputShape(0);
  shape.insert(shape.begin() + *axis, depth);
  if (failed(node.checkSize(shape)))
    return failure();
  Emitter &emit = node.emit;
  Value index = emit.convert(node.input(0), emit.builder.getI64Type());
  Value wrapped = emit.binary(BK::Add, index, depth);
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

static const OperatorRow rows[] = {
    {"Constant", 0, 0, constant},
    {"ConstantOfShape", 1, 1, constantOfShape},
    {"EyeLike", 1, 1, eyeLike},
    OperatorRow{"Flatten", 1, 1, flatten}.moving(),
    {"OneHot", 3, 3, oneHot},
    {"Range", 3, 3, range},
    OperatorRow{"Reshape", 2, 2, reshape, "a size computed from sizes means itself where it is 0"}
        .moving(),
    OperatorRow{"Shape", 1, 1, shapeOf}.moving(),
    OperatorRow{"Size", 1, 1, sizeOf}.moving(),
    OperatorRow{"Squeeze", 1, 2, squeeze}.moving(),
    {"Trilu", 1, 2, trilu},
    OperatorRow{"Range", 2, 3, range}.ofMicrosoft(),
    OperatorRow{"Trilu", 1, 2, trilu}.ofMicrosoft(),
    OperatorRow{"Unsqueeze", 1, 2, unsqueeze}.moving(),
};

ArrayRef<OperatorRow> lumen::shapingRows() { return rows; }
