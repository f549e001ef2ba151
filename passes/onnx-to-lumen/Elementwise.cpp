//===- Elementwise.cpp - operators of one element at a time ---------------===//
//
// A new operator is one row where a scalar function of ours says it, and a few
// lines of formula where several do.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/NarrowTypes.h"
#include "passes/onnx-to-lumen/Values.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using CK = CompareKind;

//===----------------------------------------------------------------------===//
// One argument
//===----------------------------------------------------------------------===//

template <UnaryKind kind> static LogicalResult unary(Node &node) {
  return node.yield(node.emit.unary(kind, node.input(0)));
}

/// Kinds that have no meaning for integers.
template <UnaryKind kind> static LogicalResult realUnary(Node &node) {
  if (failed(node.expectReal()))
    return failure();
  return unary<kind>(node);
}

/// The one function of the standard that integers have, too.
static LogicalResult erf(Node &node) {
  return node.yield(node.emit.unaryOfReals(UK::Erf, node.input(0)));
}

/// A formula of the input, which is a float. Narrow ones are computed with in f32: rounding
/// each step of a formula leaves nothing of its small values.
static LogicalResult yieldFormula(Node &node, llvm::function_ref<Value(Value)> formula) {
  if (failed(node.expectReal()))
    return failure();
  Type element = node.inputType(0).getElementType();
  Type computed =
      element.getIntOrFloatBitWidth() < 32 ? Type(node.emit.builder.getF32Type()) : element;
  Value result = formula(node.emit.convert(node.input(0), computed));
  return node.yield(node.emit.convert(result, element));
}

/// Activations.
template <Value (*formula)(Node &, Emitter &, Value)> static LogicalResult activation(Node &node) {
  return yieldFormula(node, [&](Value x) { return formula(node, node.emit, x); });
}

/// Picks by the sign of `x`; NaN goes with the second.
static Value selectPositive(Emitter &emit, Value x, Value positive, Value other) {
  return emit.select(emit.compare(CK::Ge, x, 0.0), positive, other);
}

static Value clamp(Emitter &emit, Value x, double low, double high) {
  return emit.binary(BK::Min, emit.binary(BK::Max, x, low), high);
}

static Value leakyRelu(Node &node, Emitter &emit, Value x) {
  return activationOf(emit, "leakyrelu", node.real("alpha", 0.01f), 0, x);
}

static Value elu(Node &node, Emitter &emit, Value x) {
  return activationOf(emit, "elu", node.real("alpha", 1.0), 0, x);
}

static Value selu(Node &node, Emitter &emit, Value x) {
  double alpha = node.real("alpha", 1.67326319217681884765625);
  double gamma = node.real("gamma", 1.05070102214813232421875);
  Value below = emit.binary(BK::Mul, emit.unary(UK::Expm1, x), alpha);
  return emit.binary(BK::Mul, selectPositive(emit, x, x, below), gamma);
}

/// max(0, x) + min(0, alpha * expm1(x / alpha))
static Value celu(Node &node, Emitter &emit, Value x) {
  double alpha = node.real("alpha", 1.0);
  Value below = emit.unary(UK::Expm1, emit.binary(BK::Div, x, alpha));
  below = emit.binary(BK::Min, emit.binary(BK::Mul, below, alpha), 0.0);
  return emit.binary(BK::Add, emit.unary(UK::Relu, x), below);
}

static Value thresholdedRelu(Node &node, Emitter &emit, Value x) {
  return activationOf(emit, "thresholdedrelu", node.real("alpha", 1.0), 0, x);
}

static Value hardSigmoid(Node &node, Emitter &emit, Value x) {
  return activationOf(emit, "hardsigmoid", node.real("alpha", 0.2f), node.real("beta", 0.5), x);
}

static Value hardSwish(Node &node, Emitter &emit, Value x) {
  Value line = emit.binary(BK::Add, emit.binary(BK::Mul, x, 1.0 / 6), 0.5);
  return emit.binary(BK::Mul, x, clamp(emit, line, 0, 1));
}

/// max(x, 0) + log1p(exp(-|x|)), which does not overflow.
static Value softplusOf(Emitter &emit, Value x) {
  Value tail = emit.unary(UK::Exp, emit.unary(UK::Neg, emit.unary(UK::Abs, x)));
  return emit.binary(BK::Add, emit.unary(UK::Relu, x), emit.unary(UK::Log1p, tail));
}

static Value softplus(Node &node, Emitter &emit, Value x) { return softplusOf(emit, x); }

static Value softsignOf(Emitter &emit, Value x) {
  return emit.binary(BK::Div, x, emit.binary(BK::Add, emit.unary(UK::Abs, x), 1.0));
}

static Value softsign(Node &node, Emitter &emit, Value x) { return softsignOf(emit, x); }

static Value mish(Node &node, Emitter &emit, Value x) {
  return emit.binary(BK::Mul, x, emit.unary(UK::Tanh, softplusOf(emit, x)));
}

static Value swishOf(Emitter &emit, Value x, double alpha) {
  return emit.binary(BK::Mul, x, emit.unary(UK::Sigmoid, emit.binary(BK::Mul, x, alpha)));
}

static Value swish(Node &node, Emitter &emit, Value x) {
  return swishOf(emit, x, node.real("alpha", 1.0));
}

static Value quickGelu(Node &node, Emitter &emit, Value x) {
  return swishOf(emit, x, node.real("alpha", 1.702f));
}

static Value geluOf(Emitter &emit, Value x, bool isTanh) {
  Value gate;
  if (isTanh) {
    Value cube = emit.binary(BK::Mul, emit.binary(BK::Mul, x, x), x);
    Value inner = emit.binary(BK::Add, x, emit.binary(BK::Mul, cube, 0.044715));
    gate = emit.unary(UK::Tanh, emit.binary(BK::Mul, inner, 0.79788456080286535588));
  } else {
    gate = emit.unary(UK::Erf, emit.binary(BK::Mul, x, 0.70710678118654752440));
  }
  Value half = emit.binary(BK::Mul, x, 0.5);
  return emit.binary(BK::Mul, half, emit.binary(BK::Add, gate, 1.0));
}

/// The first input's activation gates the second.
static LogicalResult swiGlu(Node &node) {
  if (failed(node.expectReal()) || failed(node.expectSameElementType(0, 1)))
    return failure();
  Sizes shape = node.inputShape(0);
  if (!node.ensureEqual(node.inputShape(1), shape, "input 1"))
    return node.error() << "inputs have shapes " << shapeText(shape) << " and "
                        << shapeText(node.inputShape(1)) << ", expected the same";
  Value gate = swish(node, node.emit, node.input(0));
  return node.yield(node.emit.binary(BK::Mul, gate, node.emit.cast(node.input(1), shape)));
}

static LogicalResult gelu(Node &node) {
  StringRef approximate = node.string("approximate", "none");
  if (failed(readChoice(node, "approximate", approximate, {"none", "tanh"})))
    return failure();
  return yieldFormula(node, [&](Value x) { return geluOf(node.emit, x, approximate == "tanh"); });
}

/// Of the input and a bias along its last dimension, which may be absent.
template <bool isTanh> static LogicalResult biasGelu(Node &node) {
  FailureOr<Value> x = addLastBias(node, node.input(0), 1);
  if (failed(x) || failed(node.expectReal()))
    return failure();
  return node.yield(geluOf(node.emit, *x, isTanh));
}

/// The left half of x + bias times the GELU of the right half.
static LogicalResult biasSplitGelu(Node &node) {
  FailureOr<Value> x = addLastBias(node, node.input(0), 1);
  if (failed(x) || failed(node.expectReal()))
    return failure();
  Sizes shape = node.inputShape(0);
  SymExpr half = SymExpr::floorDiv(shape.back(), 2);
  if (!node.ensureMultiple(shape.back(), 2, "the last dimension"))
    return node.error() << "input has shape " << shapeText(shape)
                        << ", expected an even last dimension";
  Emitter &emit = node.emit;
  int64_t axis = int64_t(shape.size()) - 1;
  Value gate = geluOf(emit, emit.sliceAxis(*x, axis, half, half), /*isTanh=*/false);
  return node.yield(emit.binary(BK::Mul, emit.sliceAxis(*x, axis, 0, half), gate));
}

/// x + bias + skip
static LogicalResult biasAdd(Node &node) {
  FailureOr<Value> x = addLastBias(node, node.input(0), 1);
  if (failed(x) || failed(node.expectSameElementType(0, 2)))
    return failure();
  if (!node.ensureEqual(node.inputShape(2), node.inputShape(0), "the residual"))
    return node.error() << "residual has shape " << shapeText(node.inputShape(2)) << ", expected "
                        << shapeText(node.inputShape(0));
  Value skip = node.emit.cast(node.input(2), node.inputShape(0));
  return node.yield(node.emit.binary(BK::Add, *x, skip));
}

Value lumen::activationOf(Emitter &emit, StringRef name, double alpha, double beta, Value x) {
  auto line = [&] { return emit.binary(BK::Add, emit.binary(BK::Mul, x, alpha), beta); };
  if (name == "affine")
    return line();
  if (name == "clip")
    return clamp(emit, x, alpha, beta);
  if (name == "elu")
    return selectPositive(emit, x, x, emit.binary(BK::Mul, emit.unary(UK::Expm1, x), alpha));
  if (name == "hardsigmoid")
    return clamp(emit, line(), 0, 1);
  if (name == "leakyrelu")
    return selectPositive(emit, x, x, emit.binary(BK::Mul, x, alpha));
  if (name == "relu")
    return emit.unary(UK::Relu, x);
  if (name == "scaledtanh")
    return emit.binary(BK::Mul, emit.unary(UK::Tanh, emit.binary(BK::Mul, x, beta)), alpha);
  if (name == "sigmoid")
    return emit.unary(UK::Sigmoid, x);
  if (name == "softplus")
    return softplusOf(emit, x);
  if (name == "softsign")
    return softsignOf(emit, x);
  if (name == "tanh")
    return emit.unary(UK::Tanh, x);
  assert(name == "thresholdedrelu" && "an activation that was not checked");
  return emit.select(emit.compare(CK::Gt, x, alpha), x, emit.splatLike(x, 0));
}

FailureOr<Value> lumen::activate(Node &node, ArrayRef<double> parameters, Value x) {
  StringRef name = node.string("activation", "");
  if (name.empty())
    return x;
  struct Row {
    StringLiteral name;
    double alpha = 0, beta = 0;
  };
  static const Row rows[] = {
      {"Clip", std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()},
      {"HardSigmoid", 0.2f, 0.5},
      {"LeakyRelu", 0.01f},
      {"Relu"},
      {"Sigmoid"},
      {"Softplus"},
      {"Tanh"},
  };
  for (Row row : rows)
    if (row.name == name) {
      if (parameters.size() > 0)
        row.alpha = parameters[0];
      if (parameters.size() > 1)
        row.beta = parameters[1];
      return activationOf(node.emit, name.lower(), row.alpha, row.beta, x);
    }
  InFlightDiagnostic error = node.error()
                             << "attribute 'activation' is '" << name << "', expected one of ";
  llvm::interleaveComma(rows, error, [&](const Row &row) { error << row.name; });
  return error;
}

static LogicalResult shrink(Node &node) {
  double bias = node.real("bias", 0.0), lambda = node.real("lambd", 0.5);
  Emitter &emit = node.emit;
  // Of integers too, while bias and lambd are any numbers.
  Type element = node.inputType(0).getElementType();
  Value x = emit.convert(node.input(0), commonRealType(element, element));
  Value inner = emit.select(emit.compare(CK::Gt, x, lambda), emit.binary(BK::Sub, x, bias),
                            emit.splatLike(x, 0));
  inner = emit.select(emit.compare(CK::Lt, x, -lambda), emit.binary(BK::Add, x, bias), inner);
  return node.yield(emit.convert(inner, element));
}

static LogicalResult isInf(Node &node) {
  bool positive = node.integer("detect_positive", 1), negative = node.integer("detect_negative", 1);
  if (failed(node.expectReal()))
    return failure();
  Emitter &emit = node.emit;
  Value x = node.input(0);
  if (!positive && !negative)
    return node.yield(emit.splat(node.inputType(0).clone(emit.builder.getI1Type()), 0));
  Value result = emit.unary(UK::IsInf, x);
  if (!positive || !negative)
    result = emit.binary(BK::And, result, emit.compare(positive ? CK::Gt : CK::Lt, x, 0.0));
  return node.yield(result);
}

static LogicalResult logicalNot(Node &node) {
  if (!node.inputType(0).getElementType().isInteger(1))
    return node.error() << "input has element type " << node.inputType(0).getElementType()
                        << ", expected i1";
  return unary<UK::Not>(node);
}

//===----------------------------------------------------------------------===//
// Two arguments and more
//===----------------------------------------------------------------------===//

/// All inputs, broadcast to their common shape.
static FailureOr<SmallVector<Value>> broadcastInputs(Node &node) {
  FailureOr<Sizes> shape = node.broadcastInputShapes();
  if (failed(shape))
    return failure();
  SmallVector<Value> values;
  for (Value input : node.getInputs())
    values.push_back(node.emit.broadcastTo(input, *shape));
  return values;
}

/// The same, with one element type.
static FailureOr<SmallVector<Value>> broadcastAlike(Node &node) {
  for (unsigned i = 1; i < node.getNumInputs(); ++i)
    if (failed(node.expectSameElementType(0, i)))
      return failure();
  return broadcastInputs(node);
}

/// Also of more inputs than two, from the left.
template <BinaryKind kind> static LogicalResult binary(Node &node) {
  FailureOr<SmallVector<Value>> values = broadcastAlike(node);
  if (failed(values))
    return failure();
  Value result = values->front();
  for (Value value : ArrayRef<Value>(*values).drop_front())
    result = node.emit.binary(kind, result, value);
  return node.yield(result);
}

/// Div and Mod. Sizes are computed from single integers: there a quotient by zero, which
/// has no value, ends the run.
template <BinaryKind kind> static LogicalResult divide(Node &node) {
  Emitter &emit = node.emit;
  RankedTensorType type = node.inputType(1);
  if (isa<IntegerType>(type.getElementType()) && type.hasStaticShape() &&
      type.getNumElements() == 1) {
    Value divisor = emit.reshape(node.input(1), {});
    if (!Emitter::known(divisor)) {
      Value isSome = emit.compare(CompareKind::Ne, divisor, 0.0);
      SymExpr number = node.bind(emit.convert(isSome, emit.builder.getI64Type()), SymExpr(1));
      emit.check(CheckKind::LessEqual, 1, number, "the size of a divisor");
    }
  }
  return binary<kind>(node);
}

/// And, Or, Xor of booleans, and their Bitwise forms of integers.
template <BinaryKind kind, bool ofBooleans> static LogicalResult logical(Node &node) {
  Type element = node.inputType(0).getElementType();
  if (element.isInteger(1) != ofBooleans || !isa<IntegerType>(element))
    return node.error() << "input has element type " << element << ", expected "
                        << (ofBooleans ? "i1" : "an integer type");
  return binary<kind>(node);
}

template <CompareKind kind> static LogicalResult compare(Node &node) {
  FailureOr<SmallVector<Value>> values = broadcastAlike(node);
  if (failed(values))
    return failure();
  return node.yield(node.emit.compare(kind, (*values)[0], (*values)[1]));
}

static LogicalResult mean(Node &node) {
  if (failed(binary<BK::Add>(node)))
    return failure();
  Value sum = node.getResults().front();
  return node.yield(node.emit.binary(BK::Div, sum, double(node.getNumInputs())));
}

static LogicalResult mod(Node &node) {
  bool isFmod = node.integer("fmod", 0) != 0;
  Type element = node.inputType(0).getElementType();
  if (!isFmod && isa<FloatType>(element) && node.getOpset() < 28)
    return node.error() << "attribute 'fmod' is 0, expected 1 for element type " << element;
  return isFmod ? divide<BK::Rem>(node) : divide<BK::Mod>(node);
}

static LogicalResult bitShift(Node &node) {
  StringRef direction = node.string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return node.error() << "attribute 'direction' is '" << direction << "', expected LEFT or RIGHT";
  auto type = dyn_cast<IntegerType>(node.inputType(0).getElementType());
  if (!type || type.getWidth() == 1)
    return node.error() << "input has element type " << node.inputType(0).getElementType()
                        << ", expected an integer type";
  if (direction == "LEFT")
    return binary<BK::ShiftLeft>(node);
  if (type.isUnsigned())
    return binary<BK::ShiftRight>(node);
  // Signed numbers shifted by their width or more (a negative amount counts as
  // such) leave only their sign, where ours leaves zero.
  FailureOr<SmallVector<Value>> values = broadcastAlike(node);
  if (failed(values))
    return failure();
  Emitter &emit = node.emit;
  Value amount = (*values)[1];
  double most = type.getWidth() - 1;
  Value isWide = emit.compare(CK::Lt, amount, 0.0);
  amount = emit.select(isWide, emit.splatLike(amount, most), emit.binary(BK::Min, amount, most));
  return node.yield(emit.binary(BK::ShiftRight, (*values)[0], amount));
}

/// The exponent may have another type; the result has that of the base.
static LogicalResult pow(Node &node) {
  FailureOr<SmallVector<Value>> values = broadcastInputs(node);
  if (failed(values))
    return failure();
  Emitter &emit = node.emit;
  Value base = (*values)[0], exponent = (*values)[1];
  Type type = node.inputType(0).getElementType();
  Type exponentType = node.inputType(1).getElementType();
  // A square is by far the most common power.
  if (std::optional<ConstantData> data = ConstantData::get(exponent); data && data->isAll(2))
    return node.yield(emit.binary(BK::Mul, base, base));
  // An integer to a real power is computed in double and cut off.
  Type common = isa<FloatType>(type) || !isa<FloatType>(exponentType)
                    ? type
                    : Type(emit.builder.getF64Type());
  Value result = emit.binary(BK::Pow, emit.convert(base, common), emit.convert(exponent, common));
  return node.yield(emit.convert(result, type));
}

static LogicalResult where(Node &node) {
  if (!node.inputType(0).getElementType().isInteger(1))
    return node.error() << "condition has element type " << node.inputType(0).getElementType()
                        << ", expected i1";
  if (failed(node.expectSameElementType(1, 2)))
    return failure();
  FailureOr<SmallVector<Value>> values = broadcastInputs(node);
  if (failed(values))
    return failure();
  return node.yield(node.emit.select((*values)[0], (*values)[1], (*values)[2]));
}

static LogicalResult prelu(Node &node) {
  if (failed(node.expectSameElementType(0, 1)))
    return failure();
  Sizes shape = node.inputShape(0), slopeShape = node.inputShape(1);
  if (!node.ensureBroadcastTo(slopeShape, shape))
    return node.error() << "slope of shape " << shapeText(slopeShape)
                        << " cannot be broadcast to the input's shape " << shapeText(shape);
  Emitter &emit = node.emit;
  Value x = node.input(0);
  Value below = emit.binary(BK::Mul, x, emit.broadcastTo(node.input(1), shape));
  return node.yield(selectPositive(emit, x, x, below));
}

/// Attributes before version 11, inputs since.
static LogicalResult clip(Node &node) {
  Emitter &emit = node.emit;
  Value x = node.input(0);
  auto bound = [&](StringRef name, unsigned index) -> FailureOr<Value> {
    if (node.getOpset() < 11) {
      if (!node.has(name))
        return Value();
      return emit.splatLike(x, node.real(name, 0));
    }
    Value value = node.input(index);
    if (!value)
      return Value();
    if (failed(node.expectSameElementType(0, index)))
      return failure();
    if (!node.ensureEqual(product(Emitter::shapeOf(value)), 1,
                          ("the number of elements of " + Twine(name)).str()))
      return node.error() << name << " has shape " << shapeText(Emitter::shapeOf(value))
                          << ", expected scalar";
    return emit.broadcastTo(emit.reshape(value, {}), node.inputShape(0));
  };
  FailureOr<Value> low = bound("min", 1), high = bound("max", 2);
  if (failed(low) || failed(high))
    return failure();
  if (*low)
    x = emit.binary(BK::Max, x, *low);
  if (*high)
    x = emit.binary(BK::Min, x, *high);
  return node.yield(x);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static FailureOr<Type> elementTypeOf(Node &node, int64_t code) {
  Builder &b = node.emit.builder;
  auto integer = [&](unsigned width, bool isUnsigned = false) -> Type {
    return IntegerType::get(b.getContext(), width,
                            isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (code) { // TensorProto.DataType
  case 1:
    return Type(b.getF32Type());
  case 2:
    return integer(8, true);
  case 3:
    return integer(8);
  case 4:
    return integer(16, true);
  case 5:
    return integer(16);
  case 6:
    return integer(32);
  case 7:
    return integer(64);
  case 9:
    return integer(1);
  case 10:
    return Type(b.getF16Type());
  case 11:
    return Type(b.getF64Type());
  case 12:
    return integer(32, true);
  case 13:
    return integer(64, true);
  case 16:
    return Type(b.getBF16Type());
  case 17:
    return Type(b.getType<Float8E4M3FNType>());
  case 18:
    return Type(b.getType<Float8E4M3FNUZType>());
  case 19:
    return Type(b.getType<Float8E5M2Type>());
  case 20:
    return Type(b.getType<Float8E5M2FNUZType>());
  case 21:
    return integer(4, true);
  case 22:
    return integer(4);
  case 23:
    return Type(b.getType<Float4E2M1FNType>());
  case 24:
    return Type(b.getType<Float8E8M0FNUType>());
  case 25:
    return integer(2, true);
  case 26:
    return integer(2);
  default:
    return node.error() << "conversion to the tensor type with code " << code
                        << " is not supported";
  }
}

FailureOr<Type> lumen::readElementType(Node &node, StringRef name, int64_t absent) {
  return elementTypeOf(node, node.integer(name, absent));
}

static LogicalResult castTo(Node &node, Type type) {
  bool saturates = node.integer("saturate", 1) != 0;
  FailureOr<int64_t> direction =
      readChoice(node, "round_mode", node.string("round_mode", "up"), {"up", "down", "nearest"});
  if (failed(direction))
    return failure();
  Value x = node.input(0);
  if (!isa<RankedTensorType>(x.getType()))
    return node.error() << "input is of type " << onnx::typeText(x.getType())
                        << ", expected a tensor";
  Type from = getElementTypeOrSelf(x);
  auto narrow = storedTypeOf(type) ? dyn_cast<FloatType>(type) : FloatType();
  if (isa<lumen::StringType>(type) || isa<lumen::StringType>(from)) {
    Type number = narrow ? Type(node.emit.builder.getF32Type()) : type;
    x = castText(node.emit, x, number);
  }
  if (narrow && from != narrow)
    return node.yield(convertToNarrow(node.emit, x, narrow, saturates, Rounding(*direction)));
  return node.yield(isa<lumen::StringType>(type) ? x : node.emit.convert(x, type));
}

static LogicalResult cast(Node &node) {
  constexpr int64_t kString = 8; // TensorProto.DataType
  if (node.integer("to", 0) == kString)
    return castTo(node, lumen::StringType::get(node.getContext()));
  FailureOr<Type> type = readElementType(node, "to", 0);
  return failed(type) ? failure() : castTo(node, *type);
}

/// A boolean is one byte, 0 or 1. Bits of floats are copied by the runtime: what is as rare
/// has no operation of its own.
static LogicalResult bitCast(Node &node) {
  FailureOr<Type> to = readElementType(node, "to", 0);
  if (failed(to))
    return failure();
  Emitter &emit = node.emit;
  Type from = node.inputType(0).getElementType();
  auto bits = [](Type type) { return type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth(); };
  if (!to->isIntOrFloat() || bits(from) != bits(*to))
    return node.error() << "attribute 'to' names the type " << *to << ", expected one of "
                        << bits(from) << " bits, as " << from << " has";
  Value x = node.input(0);
  if (from != *to && (isa<FloatType>(from) || isa<FloatType>(*to)))
    return node.yield(emit.call("bit_cast", x, node.inputType(0).clone(*to)));
  return node.yield(emit.convert(x, *to));
}

static LogicalResult castLike(Node &node) {
  return castTo(node, getElementTypeOrSelf(node.input(1)));
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

constexpr unsigned kMany = OperatorRow::kVariadic;
constexpr StringLiteral kCasts = "from all types but complex ones, and to all but these";

static const OperatorRow rows[] = {
    {"Abs", 1, 1, unary<UK::Abs>},
    {"Acos", 1, 1, realUnary<UK::Acos>},
    {"Acosh", 1, 1, realUnary<UK::Acosh>},
    {"Add", 2, 2, binary<BK::Add>},
    {"And", 2, 2, logical<BK::And, true>},
    {"Asin", 1, 1, realUnary<UK::Asin>},
    {"Asinh", 1, 1, realUnary<UK::Asinh>},
    {"Atan", 1, 1, realUnary<UK::Atan>},
    {"Atanh", 1, 1, realUnary<UK::Atanh>},
    {"BitCast", 1, 1, bitCast, "", 26},
    {"BitShift", 2, 2, bitShift},
    {"BitwiseAnd", 2, 2, logical<BK::And, false>},
    {"BitwiseNot", 1, 1, unary<UK::Not>},
    {"BitwiseOr", 2, 2, logical<BK::Or, false>},
    {"BitwiseXor", 2, 2, logical<BK::Xor, false>},
    {"Cast", 1, 1, cast, kCasts},
    OperatorRow{"Cast", 1, 1, cast}.ofValues(),
    {"CastLike", 2, 2, castLike, kCasts},
    OperatorRow{"CastLike", 2, 2, castLike}.ofValues(),
    {"Ceil", 1, 1, realUnary<UK::Ceil>},
    {"Celu", 1, 1, activation<celu>},
    {"Clip", 1, 3, clip},
    {"Cos", 1, 1, realUnary<UK::Cos>},
    {"Cosh", 1, 1, realUnary<UK::Cosh>},
    {"Div", 2, 2, divide<BK::Div>},
    {"Elu", 1, 1, activation<elu>},
    {"Equal", 2, 2, compare<CK::Eq>},
    {"Erf", 1, 1, erf},
    {"Exp", 1, 1, realUnary<UK::Exp>},
    {"Floor", 1, 1, realUnary<UK::Floor>},
    {"Gelu", 1, 1, gelu},
    {"Greater", 2, 2, compare<CK::Gt>},
    {"GreaterOrEqual", 2, 2, compare<CK::Ge>},
    {"HardSigmoid", 1, 1, activation<hardSigmoid>},
    {"HardSwish", 1, 1, activation<hardSwish>},
    {"IsInf", 1, 1, isInf},
    {"IsNaN", 1, 1, realUnary<UK::IsNan>},
    {"LeakyRelu", 1, 1, activation<leakyRelu>},
    {"Less", 2, 2, compare<CK::Lt>},
    {"LessOrEqual", 2, 2, compare<CK::Le>},
    {"Log", 1, 1, realUnary<UK::Log>},
    {"Max", 1, kMany, binary<BK::Max>},
    {"Mean", 1, kMany, mean},
    {"Min", 1, kMany, binary<BK::Min>},
    {"Mish", 1, 1, activation<mish>},
    {"Mod", 2, 2, mod},
    {"Mul", 2, 2, binary<BK::Mul>},
    {"Neg", 1, 1, unary<UK::Neg>},
    {"Not", 1, 1, logicalNot},
    {"Or", 2, 2, logical<BK::Or, true>},
    {"Pow", 2, 2, pow},
    {"PRelu", 2, 2, prelu},
    {"Reciprocal", 1, 1, realUnary<UK::Reciprocal>},
    {"Relu", 1, 1, unary<UK::Relu>},
    {"Round", 1, 1, realUnary<UK::RoundEven>},
    {"Selu", 1, 1, activation<selu>},
    {"Shrink", 1, 1, shrink},
    {"Sigmoid", 1, 1, realUnary<UK::Sigmoid>},
    {"Sign", 1, 1, unary<UK::Sign>},
    {"Sin", 1, 1, realUnary<UK::Sin>},
    {"Sinh", 1, 1, realUnary<UK::Sinh>},
    {"Softplus", 1, 1, activation<softplus>},
    {"Softsign", 1, 1, activation<softsign>},
    {"Sqrt", 1, 1, realUnary<UK::Sqrt>},
    {"Sub", 2, 2, binary<BK::Sub>},
    {"Sum", 1, kMany, binary<BK::Add>},
    {"SwiGLU", 2, 2, swiGlu, "", 28},
    {"Swish", 1, 1, activation<swish>},
    {"Tan", 1, 1, realUnary<UK::Tan>},
    {"Tanh", 1, 1, realUnary<UK::Tanh>},
    {"ThresholdedRelu", 1, 1, activation<thresholdedRelu>},
    OperatorRow{"Where", 3, 3, where}.moving(),
    {"Xor", 2, 2, logical<BK::Xor, true>},
    OperatorRow{"BiasAdd", 3, 3, biasAdd}.ofMicrosoft(),
    OperatorRow{"BiasGelu", 2, 2, biasGelu<false>}.ofMicrosoft(),
    OperatorRow{"BiasSplitGelu", 2, 2, biasSplitGelu}.ofMicrosoft(),
    OperatorRow{"FastGelu", 1, 2, biasGelu<true>}.ofMicrosoft(),
    OperatorRow{"Gelu", 1, 1, gelu}.ofMicrosoft(),
    OperatorRow{"QuickGelu", 1, 1, activation<quickGelu>}.ofMicrosoft(),
};

ArrayRef<OperatorRow> lumen::elementwiseRows() { return rows; }
