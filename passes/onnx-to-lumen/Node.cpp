//===- Node.cpp - what converters ask of a node ---------------------------===//

#include "passes/onnx-to-lumen/Converter.h"

#include "dialects/Lumen/SizesData.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace lumen;

std::string lumen::typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type;
  return text;
}

Type lumen::computeType(Type type) {
  bool isWide = isa<IntegerType>(type) ? type.getIntOrFloatBitWidth() > 16 : type.isF64();
  return isWide ? Type(Float64Type::get(type.getContext()))
                : Type(Float32Type::get(type.getContext()));
}

Type lumen::commonRealType(Type a, Type b) {
  if (a == b && isa<FloatType>(a))
    return a;
  Type wide = computeType(a);
  return wide.isF64() ? wide : computeType(b);
}

Attribute Node::attribute(StringRef name) {
  read.insert(name);
  return op.getNodeAttr(name);
}

/// The attribute as an `AttrT`; null, and an error, if it is something else.
template <typename AttrT> static AttrT typedAttribute(Node &node, StringRef name, StringRef what) {
  Attribute attr = node.attribute(name);
  auto typed = dyn_cast_or_null<AttrT>(attr);
  if (attr && !typed)
    node.error() << "attribute '" << name << "' is " << attr << ", expected " << what;
  return typed;
}

int64_t Node::integer(StringRef name, int64_t absent) {
  auto attr = typedAttribute<IntegerAttr>(*this, name, "an integer");
  return attr ? attr.getInt() : absent;
}

FailureOr<int64_t> Node::count(StringRef name, int64_t absent) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t value = integer(name, absent);
  if (value < 1 || value > kMost)
    return error() << "attribute '" << name << "' is " << value << ", expected 1 to " << kMost;
  return value;
}

double Node::real(StringRef name, double absent) {
  auto attr = typedAttribute<FloatAttr>(*this, name, "a float");
  return attr ? attr.getValueAsDouble() : absent;
}

StringRef Node::string(StringRef name, StringRef absent) {
  auto attr = typedAttribute<StringAttr>(*this, name, "a string");
  return attr ? attr.getValue() : absent;
}

std::optional<SmallVector<int64_t>> Node::integers(StringRef name) {
  auto attr = typedAttribute<DenseI64ArrayAttr>(*this, name, "a list of integers");
  if (!attr)
    return std::nullopt;
  return SmallVector<int64_t>(attr.asArrayRef());
}

std::optional<SmallVector<double>> Node::reals(StringRef name) {
  auto attr = typedAttribute<DenseF32ArrayAttr>(*this, name, "a list of floats");
  if (!attr)
    return std::nullopt;
  return llvm::to_vector_of<double>(attr.asArrayRef());
}

std::optional<SmallVector<StringRef>> Node::strings(StringRef name) {
  auto attr = typedAttribute<ArrayAttr>(*this, name, "a list of strings");
  if (!attr)
    return std::nullopt;
  SmallVector<StringRef> values;
  for (Attribute entry : attr)
    if (auto text = dyn_cast<StringAttr>(entry))
      values.push_back(text.getValue());
  return values;
}

SmallVector<double> lumen::readReals(Node &node, StringRef name) {
  return node.reals(name).value_or(SmallVector<double>());
}

SmallVector<int64_t> lumen::readIntegers(Node &node, StringRef name) {
  return node.integers(name).value_or(SmallVector<int64_t>());
}

FailureOr<int64_t> lumen::readChoice(Node &node, StringRef attribute, StringRef text,
                                     ArrayRef<StringRef> names) {
  const StringRef *found = llvm::find(names, text);
  if (found != names.end())
    return found - names.begin();
  return node.error() << "attribute '" << attribute << "' is '" << text << "', expected "
                      << llvm::join(names.drop_back(), ", ") << " or " << names.back();
}

/// Checks a list of integers, or one.
static LogicalResult expectIntegers(Node &node, unsigned index, StringRef what) {
  // An attribute of old versions that became an input is optional in the row.
  if (!node.input(index))
    return node.error() << what << " are missing";
  Type element = node.inputType(index).getElementType();
  if (!isa<IntegerType>(element))
    return node.error() << what << " has element type " << element << ", expected an integer type";
  if (node.inputRank(index) > 1)
    return node.error() << what << " has shape " << shapeText(node.inputShape(index))
                        << ", expected one dimension";
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers that the run gives
//===----------------------------------------------------------------------===//

/// The element as a 0-D i64 tensor.
static Value pickElement(Emitter &emit, Value list, int64_t index) {
  auto [source, position] = Emitter::sourceOf(list, index);
  if (std::optional<SizesData> data = SizesData::get(source); data && !data->isReal())
    return emit.size((*data)[position].over);
  Value &number = emit.facts.elements[{source, position}];
  if (!number) {
    Value flat = emit.reshape(source, product(Emitter::shapeOf(source)));
    Value element = emit.reshape(emit.sliceAxis(flat, 0, position, 1), {});
    number = emit.convert(element, emit.builder.getI64Type());
  }
  auto bound = emit.facts.bound.find(number);
  return bound == emit.facts.bound.end() ? number : emit.size(bound->second);
}

/// The number of elements of a list; an error, and nothing, if only the run knows it.
static std::optional<int64_t> knownCount(Node &node, unsigned index, StringRef what) {
  SymExpr count = product(node.inputShape(index));
  if (!count.asConstant())
    node.error() << what << " has " << count.str()
                 << " elements, which only the run knows; a fixed number is supported";
  return count.asConstant();
}

FailureOr<SmallVector<Value>> Node::integerOperand(unsigned index, StringRef what) {
  if (mlir::failed(expectIntegers(*this, index, what)))
    return failure();
  std::optional<int64_t> count = knownCount(*this, index, what);
  if (!count)
    return failure();
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < *count; ++i)
    numbers.push_back(pickElement(emit, input(index), i));
  return numbers;
}

FailureOr<std::optional<SmallVector<Value>>> Node::integerList(StringRef name, unsigned index,
                                                               int64_t inputSince) {
  using List = std::optional<SmallVector<Value>>;
  if (opset < inputSince) {
    std::optional<SmallVector<int64_t>> given = integers(name);
    if (!given)
      return List();
    return List(llvm::map_to_vector(*given, [&](int64_t value) { return emit.size(value); }));
  }
  if (!input(index))
    return List();
  FailureOr<SmallVector<Value>> values = integerOperand(index, name);
  if (mlir::failed(values))
    return failure();
  return List(std::move(*values));
}

FailureOr<SmallVector<Value>> Node::realOperand(unsigned index, StringRef what) {
  std::optional<int64_t> count = knownCount(*this, index, what);
  if (!count)
    return failure();
  if (mlir::failed(expectReal(index)))
    return failure();
  Value list = emit.convert(emit.reshape(input(index), SymExpr(*count)), emit.builder.getF32Type());
  SmallVector<Value> numbers;
  for (int64_t i = 0; i < *count; ++i)
    numbers.push_back(emit.reshape(emit.sliceAxis(list, 0, i, 1), {}));
  return numbers;
}

FailureOr<Value> Node::scalarOperand(unsigned index, StringRef what) {
  if (product(inputShape(index)) != SymExpr(1))
    return error() << what << " has shape " << shapeText(inputShape(index)) << ", expected scalar";
  if (isa<IntegerType>(inputType(index).getElementType()) &&
      !inputType(index).getElementType().isInteger(1))
    return pickElement(emit, input(index), 0);
  return emit.reshape(input(index), {});
}

SymExpr Node::bind(Value number, std::optional<SymExpr> atMost) {
  if (std::optional<SymExpr> expr = Emitter::known(number))
    return *expr;
  auto [entry, isNew] = emit.facts.bound.try_emplace(number);
  if (isNew) {
    std::string name = graph.freshSymbol(getOperator().lower());
    entry->second = SymExpr::symbol(name);
    StringAttr bound;
    if (atMost && atMost->isValid())
      bound = emit.builder.getStringAttr(atMost->str());
    SymbolOp::create(emit.builder, emit.loc, emit.builder.getStringAttr(name), number, bound);
  }
  return entry->second;
}

SymExpr Node::bindSigned(Value number) {
  if (std::optional<SymExpr> expr = Emitter::known(number))
    return *expr;
  if (auto known = emit.facts.bound.find(number); known != emit.facts.bound.end())
    return known->second;
  // The least int64 has no magnitude.
  Value least = emit.size(-std::numeric_limits<int64_t>::max());
  Value negative = emit.unary(UnaryKind::Neg, emit.binary(BinaryKind::Max, number, least));
  SymExpr expr = bind(emit.binary(BinaryKind::Max, number, 0.0)) -
                 bind(emit.binary(BinaryKind::Max, negative, 0.0));
  return emit.facts.bound[number] = expr;
}

FailureOr<Sizes> Node::sizeOperand(unsigned index, StringRef what) {
  FailureOr<SmallVector<Value>> numbers = integerOperand(index, what);
  if (mlir::failed(numbers))
    return failure();
  return Sizes(llvm::map_range(*numbers, [&](Value number) { return bind(number); }));
}

//===----------------------------------------------------------------------===//
// Axes and shapes
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> Node::convertAs(StringRef name, ArrayRef<Value> others,
                                              int64_t version) {
  const OperatorRow *row = findOperator("", name, version);
  assert(row && "not an operator");
  llvm::SaveAndRestore ownInputs(inputs, others);
  llvm::SaveAndRestore ownVersion(opset, version);
  if (mlir::failed(row->convert(*this)))
    return failure();
  return std::move(results);
}

FailureOr<int64_t> Node::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return error() << "axis " << axis << " lies outside the rank " << rank;
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>> Node::normalizeAxes(ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> normal = normalizeAxis(axis, rank);
    if (mlir::failed(normal))
      return failure();
    if (llvm::is_contained(result, *normal))
      return error() << "axis " << axis << " is given twice";
    result.push_back(*normal);
  }
  llvm::sort(result);
  return result;
}

LogicalResult Node::checkRank(int64_t rank) {
  if (rank > onnx::kMaxRank)
    return error() << "result has rank " << rank << ", expected at most " << onnx::kMaxRank;
  return success();
}

LogicalResult Node::checkSize(Shape shape) {
  if (mlir::failed(checkRank(shape.size())))
    return failure();
  // Bytes of the widest element type must stay addressable, in the 47 bits that
  // a process has; so the sizes of many tensors can be added up as well. What
  // symbols make of it, the run checks.
  constexpr int64_t kAddressable = int64_t(1) << 47;
  int64_t bytes = 8;
  for (auto [dimension, expr] : llvm::enumerate(shape)) {
    if (expr.isTooComplicated())
      return error() << "a size is too complicated: dimension " << dimension
                     << " of the result nests more than " << SymExpr::kMaxNesting
                     << " operations or takes more than " << SymExpr::kMaxLength << " characters";
    if (!expr.isValid())
      return error() << "result of shape " << shapeText(shape) << " is too large";
    std::optional<int64_t> size = expr.asConstant();
    if (!size) {
      if ((SymExpr(0) - expr).isPositive())
        return error() << "result has the dimension " << expr.str() << ", which is negative";
      continue;
    }
    if (*size < 0)
      return error() << "result has the negative dimension " << *size;
    if (llvm::MulOverflow(bytes, *size, bytes) || bytes > kAddressable)
      return error() << "result of shape " << shapeText(shape) << " is too large";
  }
  return success();
}

bool Node::ensureEqual(const SymExpr &size, const SymExpr &expected, StringRef what) {
  if (SymExpr::differ(size, expected))
    return false;
  emit.check(CheckKind::Equal, size, expected, what);
  return true;
}

bool Node::ensureMultiple(const SymExpr &size, const SymExpr &factor, StringRef what) {
  SymExpr whole = SymExpr::floorDiv(size, factor) * factor;
  std::string wanted = factor.asConstant() ? "multiple of " + factor.str()
                                           : std::string("whole multiple, such as {0}");
  return ensureEqual(whole, size, (what + " is {1}, expected a " + wanted).str());
}

bool Node::ensureEqual(Shape shape, Shape expected, StringRef what) {
  return shape.size() == expected.size() && llvm::all_of(llvm::seq(shape.size()), [&](size_t i) {
           return ensureEqual(shape[i], expected[i],
                              ("dimension " + Twine(i) + " of " + what).str());
         });
}

bool Node::ensureAtMost(const SymExpr &size, const SymExpr &most, StringRef what) {
  if ((size - most).isPositive())
    return false;
  emit.check(CheckKind::LessEqual, size, most, what);
  return true;
}

std::optional<Sizes> Node::broadcast(Shape lhs, Shape rhs) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  Sizes result(lhs);
  for (size_t i = 0; i < rhs.size(); ++i) {
    SymExpr &size = result[result.size() - 1 - i];
    const SymExpr &other = rhs[rhs.size() - 1 - i];
    auto mayBeOne = [](const SymExpr &expr) { return !SymExpr::differ(expr, 1); };
    if (!mayBeOne(size) && !mayBeOne(other)) {
      if (!ensureEqual(
              size, other,
              "dimensions that are broadcast together are {0} and {1}, expected equal ones"))
        return std::nullopt;
      size = Emitter::simpler(size, other);
      continue;
    }
    // Where min(512, n) and n fit together they are equal: tables of positions are
    // longer than what is looked up in them.
    std::optional<int64_t> cap = size.cappedAt(other), otherCap = other.cappedAt(size);
    if (cap.value_or(otherCap.value_or(0)) > 1) {
      const SymExpr &whole = cap ? other : size;
      emit.check(CheckKind::LessEqual, whole, cap ? *cap : *otherCap,
                 "the number of rows that are looked up in a table");
      emit.noteEqual(size, other);
      size = SymExpr(whole);
      continue;
    }
    emit.check(CheckKind::Broadcast, size, other, "dimensions that are broadcast together");
    size = SymExpr::broadcast(size, other);
  }
  return result;
}

bool Node::ensureBroadcastTo(Shape from, Shape to) {
  if (from.size() > to.size())
    return false;
  for (auto [a, b] : llvm::zip(from, to.take_back(from.size()))) {
    if (isOne(a) || a == b)
      continue;
    std::optional<Sizes> joined = broadcast(a, b);
    if (!joined || !ensureEqual(joined->front(), b,
                                "a dimension of {0} is broadcast to {1}, expected equal ones"))
      return false;
  }
  return true;
}

FailureOr<Sizes> Node::broadcastInputShapes() {
  Sizes shape;
  for (Value value : inputs) {
    Sizes next = Emitter::shapeOf(value);
    std::optional<Sizes> joined = broadcast(shape, next);
    if (!joined)
      return error() << "inputs of shapes " << shapeText(shape) << " and " << shapeText(next)
                     << " cannot be broadcast together";
    shape = std::move(*joined);
  }
  if (mlir::failed(checkSize(shape)))
    return failure();
  return shape;
}

LogicalResult Node::ensureLengths(unsigned index, const SymExpr &whole) {
  static constexpr StringLiteral what = "the length of a sequence";
  if (std::optional<ConstantData> known = ConstantData::get(input(index))) {
    for (int64_t i = 0, e = known->isSplat() ? 1 : known->size(); i < e; ++i) {
      int64_t length = (*known)[i].integer;
      if (length < 0 ||
          !ensureAtMost(length, whole, (what + " is {0}, expected at most {1}").str()))
        return error() << what << " is " << length << ", expected 0 to " << whole.str();
    }
    return success();
  }
  Value lengths = emit.convert(input(index), emit.builder.getI64Type());
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, inputRank(index)));
  auto extreme = [&](ReduceKind kind, BinaryKind withNone) {
    // Of no lengths, 0 is both.
    return bindSigned(emit.binary(withNone, emit.reduce(kind, lengths, axes, false), 0.0));
  };
  emit.check(CheckKind::LessEqual, 0, extreme(ReduceKind::Min, BinaryKind::Min), what);
  emit.check(CheckKind::LessEqual, extreme(ReduceKind::Max, BinaryKind::Max), whole, what);
  return success();
}

LogicalResult Node::expectReal(unsigned index) {
  Type element = inputType(index).getElementType();
  if (isa<FloatType>(element))
    return success();
  return error() << "input has element type " << element << ", expected a floating-point type";
}

LogicalResult Node::expectSameElementType(unsigned first, unsigned second) {
  Type lhs = inputType(first).getElementType(), rhs = inputType(second).getElementType();
  if (lhs == rhs)
    return success();
  return error() << "inputs have element types " << lhs << " and " << rhs << ", expected the same";
}

FailureOr<Value> lumen::addLastBias(Node &node, Value x, unsigned bias) {
  if (!node.input(bias))
    return x;
  Emitter &emit = node.emit;
  Sizes shape = Emitter::shapeOf(x), given = node.inputShape(bias);
  Type element = Emitter::typeOf(x).getElementType(), type = node.inputType(bias).getElementType();
  if (type != element)
    return node.error() << "bias has element type " << type << ", expected " << element;
  if (shape.empty())
    return node.error() << "a scalar has no last dimension to which a bias is added";
  if (given.size() != 1 ||
      !node.ensureEqual(given.front(), shape.back(), "the number of elements of the bias"))
    return node.error() << "bias has shape " << shapeText(given) << ", expected "
                        << shape.back().str();
  return emit.binary(BinaryKind::Add, x,
                     emit.broadcastAlong(node.input(bias), shape, int64_t(shape.size()) - 1));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

LogicalResult lumen::expectSpatial(Node &node) {
  if (node.inputRank(0) >= 3)
    return success();
  return node.error() << "input has shape " << shapeText(node.inputShape(0))
                      << ", expected at least three dimensions";
}

FailureOr<SmallVector<int64_t>> lumen::readSpatialList(Node &node, StringRef name, size_t count,
                                                       int64_t absent, int64_t least) {
  std::optional<SmallVector<int64_t>> values = node.integers(name);
  if (!values || values->empty())
    return SmallVector<int64_t>(count, absent);
  if (values->size() != count)
    return node.error() << "attribute '" << name << "' has " << values->size()
                        << " entries, expected " << count;
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  for (int64_t value : *values)
    if (value < least || value > most)
      return node.error() << "attribute '" << name << "' has the entry " << value << ", expected "
                          << least << " to " << most;
  return std::move(*values);
}

/// Padding that makes the result as large as the input divided by the stride.
static void padSame(WindowAxis &axis, const SymExpr &size, bool isUpper) {
  axis.output = SymExpr::ceilDiv(size, axis.stride);
  SymExpr total = SymExpr::max((axis.output - 1) * axis.stride + axis.extent() - size, 0);
  SymExpr half = SymExpr::floorDiv(total, 2);
  axis.padLow = isUpper ? half : total - half;
  axis.padHigh = total - axis.padLow;
}

/// With ceil_mode the last window may reach beyond the padding, but has to start
/// before its end; that holds for the only window as well.
static SymExpr outputSize(const WindowAxis &axis, const SymExpr &size, bool isCeil) {
  SymExpr room = size + axis.padLow + axis.padHigh - axis.extent();
  if (!isCeil)
    return SymExpr::floorDiv(room, axis.stride) + 1;
  // Windows that fit, and windows that start before the end.
  return SymExpr::min(SymExpr::ceilDiv(room, axis.stride) + 1,
                      SymExpr::ceilDiv(size + axis.padLow, axis.stride));
}

FailureOr<SmallVector<WindowAxis>> lumen::readWindow(Node &node, ArrayRef<SymExpr> sizes,
                                                     ArrayRef<int64_t> kernel, bool takesCeilMode) {
  size_t count = sizes.size();
  std::optional<SmallVector<int64_t>> kernelShape = node.integers("kernel_shape");
  if (kernel.empty()) {
    if (!kernelShape)
      return node.error() << "attribute 'kernel_shape' is missing";
    kernel = *kernelShape;
  } else if (kernelShape && !kernelShape->empty() && ArrayRef<int64_t>(*kernelShape) != kernel) {
    return node.error() << "attribute 'kernel_shape' is " << shapeText(*kernelShape)
                        << ", but the weight's is " << shapeText(kernel);
  }
  if (kernel.size() != count)
    return node.error() << "attribute 'kernel_shape' has " << kernel.size() << " entries, expected "
                        << count;
  for (int64_t size : kernel)
    if (size < 1 || size > std::numeric_limits<int32_t>::max())
      return node.error() << "kernel of shape " << shapeText(kernel) << " has the dimension "
                          << size << ", expected 1 to " << std::numeric_limits<int32_t>::max();
  constexpr int64_t kAnyPad = std::numeric_limits<int32_t>::min();
  auto strides = readSpatialList(node, "strides", count, 1, 1);
  auto dilations = readSpatialList(node, "dilations", count, 1, 1);
  auto pads = readSpatialList(node, "pads", 2 * count, 0, kAnyPad);
  if (failed(strides) || failed(dilations) || failed(pads))
    return failure();
  StringRef autoPad = node.string("auto_pad", "NOTSET");
  if (!llvm::is_contained({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", ""}, autoPad))
    return node.error() << "attribute 'auto_pad' is '" << autoPad
                        << "', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER";
  bool isCeil = takesCeilMode && node.integer("ceil_mode", 0) != 0;

  SmallVector<WindowAxis> axes;
  for (size_t i = 0; i < count; ++i) {
    WindowAxis axis{kernel[i], (*strides)[i], (*dilations)[i], 0, 0, 0};
    if (autoPad.starts_with("SAME")) {
      padSame(axis, sizes[i], autoPad == "SAME_UPPER");
    } else {
      bool isGiven = autoPad != "VALID";
      if (isGiven) {
        axis.padLow = (*pads)[i];
        axis.padHigh = (*pads)[count + i];
      }
      axis.output = outputSize(axis, sizes[i], isCeil && isGiven);
    }
    std::string places =
        ("a window of " + Twine(axis.extent()) + " has {1} places along dimension " + Twine(i + 2) +
         " of size " + sizes[i].str() + ", expected at least {0}")
            .str();
    if (!node.ensureAtMost(1, axis.output, places))
      return node.error() << "window of " << axis.extent()
                          << " does not fit into spatial dimension " << i << " of "
                          << sizes[i].str() << " with padding " << axis.padLow.str() << " and "
                          << axis.padHigh.str();
    axes.push_back(axis);
  }
  return axes;
}

Value lumen::padDynamic(Emitter &emit, Value operand, MutableArrayRef<WindowAxis> axes,
                        double value) {
  Sizes low(1, SymExpr(0)), high(1, SymExpr(0));
  bool isNeeded = false;
  for (WindowAxis &axis : axes) {
    bool isDynamic = !axis.padLow.asConstant() || !axis.padHigh.asConstant();
    isNeeded |= isDynamic;
    low.push_back(isDynamic ? axis.padLow : SymExpr(0));
    high.push_back(isDynamic ? axis.padHigh : SymExpr(0));
    if (isDynamic)
      axis.padLow = axis.padHigh = 0;
  }
  if (!isNeeded)
    return operand;
  low.push_back(0);
  high.push_back(0);
  Value fill = emit.scalar(value, Emitter::typeOf(operand).getElementType());
  return emit.pad(PadKind::Constant, operand, fill, low, high);
}
