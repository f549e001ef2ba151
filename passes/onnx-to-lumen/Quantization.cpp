//===- Quantization.cpp - to small integers and back ----------------------===//

#include "passes/onnx-to-lumen/Quantization.h"

#include "passes/onnx-to-lumen/NarrowTypes.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;

Value lumen::scalarParameter(Emitter &emit, Value parameter) {
  if (!isOne(product(Emitter::shapeOf(parameter))))
    return {};
  return emit.reshape(parameter, {});
}

bool lumen::isZeroPoint(Value zero) {
  std::optional<ConstantData> data = ConstantData::get(zero);
  return !zero || (data && data->isAll(0));
}

/// From bytes without sign to those with one.
static constexpr int64_t kSignOffset = 128;

/// The zero point for bytes without sign, of one for bytes with signs that is known to be
/// one number but 0; else null.
static Value unsignedZero(Emitter &emit, Value zero) {
  std::optional<ConstantData> data = ConstantData::get(zero);
  if (!data || !data->isSplat() || !data->getElementType().isSignlessInteger(8) || data->isAll(0))
    return {};
  Type byte = IntegerType::get(zero.getContext(), 8, IntegerType::Unsigned);
  Scalar number = Scalar::ofInteger((*data)[0].integer + kSignOffset);
  return emit.constant(
      ConstantData(RankedTensorType::get(data->getType().getShape(), byte), {number}).toAttr());
}

/// Unsigned bytes less 128.
static Value signedBytes(Emitter &emit, Value bytes) {
  Value wide = emit.convert(bytes, emit.builder.getI32Type());
  return emit.convert(emit.binary(BK::Sub, wide, double(kSignOffset)), emit.builder.getI8Type());
}

void lumen::preferUnsigned(Emitter &emit, Value &data, Value &zero) {
  auto narrow = data.getDefiningOp<ConvertOp>();
  auto difference = narrow ? narrow.getOperand().getDefiningOp<BinaryOp>() : BinaryOp();
  if (!difference || difference.getKind() != BK::Sub)
    return;
  std::optional<ConstantData> offset = ConstantData::get(difference.getRhs());
  auto wide = difference.getLhs().getDefiningOp<ConvertOp>();
  if (!offset || !offset->isAll(kSignOffset) || !wide ||
      !Emitter::typeOf(wide.getOperand()).getElementType().isUnsignedInteger(8))
    return;
  if (Value shifted = unsignedZero(emit, zero)) {
    data = wide.getOperand();
    zero = shifted;
  }
}

/// Repeats each entry along an axis for the elements of its block.
static FailureOr<Value> spreadBlocks(Node &node, Value parameter, StringRef what, Node::Shape shape,
                                     const QuantizationGrain &grain) {
  Emitter &emit = node.emit;
  Sizes given = Emitter::shapeOf(parameter), blocks(shape);
  SymExpr size = shape[grain.axis];
  // Only a part of a block that is longer than its dimension is ever there.
  int64_t block =
      std::min(grain.block, std::max<int64_t>(size.asConstant().value_or(grain.block), 1));
  blocks[grain.axis] = SymExpr::ceilDiv(size, block);
  if (!node.ensureEqual(given, blocks, what))
    return node.error() << what << " has shape " << shapeText(given) << ", expected "
                        << shapeText(blocks) << " for blocks of " << grain.block;
  parameter = emit.cast(parameter, blocks);
  Sizes apart(blocks), together(blocks);
  apart.insert(apart.begin() + grain.axis + 1, SymExpr(block));
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < int64_t(shape.size()); ++i)
    dims.push_back(i + (i > grain.axis));
  together[grain.axis] = blocks[grain.axis] * block;
  Value repeated = emit.reshape(emit.broadcast(parameter, apart, dims), together);
  return emit.sliceAxis(repeated, grain.axis, 0, size);
}

FailureOr<Value> lumen::spreadParameter(Node &node, Value parameter, StringRef what,
                                        Node::Shape shape, const QuantizationGrain &grain) {
  Emitter &emit = node.emit;
  if (grain.block > 0)
    return spreadBlocks(node, parameter, what, shape, grain);
  if (Value scalar = scalarParameter(emit, parameter))
    return emit.splat(scalar, shape);
  Sizes given = Emitter::shapeOf(parameter);
  if (given.size() != 1 || grain.axis >= int64_t(shape.size()) ||
      !node.ensureEqual(given[0], shape[grain.axis],
                        ("the number of elements of " + Twine(what)).str()))
    return node.error() << what << " has shape " << shapeText(given)
                        << ", expected a scalar or one entry for each of "
                        << (grain.axis < int64_t(shape.size()) ? shape[grain.axis].str() : "1")
                        << " along axis " << grain.axis;
  return emit.broadcastAlong(parameter, shape, grain.axis);
}

FailureOr<Value> lumen::dequantize(Node &node, Value x, Quantization how) {
  Emitter &emit = node.emit;
  preferUnsigned(emit, x, how.zero);
  Type real = emit.builder.getF32Type();
  Sizes shape = Emitter::shapeOf(x);
  // Folding a constant would hide the integers from fuse-quantization.
  auto convert = [&](Value value, Type to) -> Value {
    if (value.getDefiningOp<ConstantOp>())
      return ConvertOp::create(emit.builder, emit.loc, Emitter::typeOf(value).clone(to), value);
    return emit.convert(value, to);
  };
  // Differences of up to 16 bits are exact in f32.
  bool isWide = Emitter::typeOf(x).getElementType().isInteger(32);
  if (!isWide)
    x = convert(x, real);
  if (!isZeroPoint(how.zero)) {
    Type type = Emitter::typeOf(x).getElementType();
    FailureOr<Value> zero =
        spreadParameter(node, emit.convert(how.zero, type), "zero point", shape, how.grain);
    if (failed(zero))
      return failure();
    x = emit.binary(BK::Sub, x, *zero);
  }
  if (isWide)
    x = convert(x, real);
  FailureOr<Value> scale =
      spreadParameter(node, emit.convert(how.scale, real), "scale", shape, how.grain);
  if (failed(scale))
    return failure();
  return emit.binary(BK::Mul, x, *scale);
}

FailureOr<Value> lumen::quantize(Node &node, Value x, Quantization how, Type to, bool saturates) {
  Emitter &emit = node.emit;
  if (Value zero = to.isSignlessInteger(8) ? unsignedZero(emit, how.zero) : Value()) {
    how.zero = zero;
    FailureOr<Value> bytes = quantize(node, x, how, Emitter::typeOf(zero).getElementType());
    return failed(bytes) ? bytes : signedBytes(emit, *bytes);
  }
  Sizes shape = Emitter::shapeOf(x);
  Type real = emit.builder.getF32Type();
  if (how.scale) {
    FailureOr<Value> scale =
        spreadParameter(node, emit.convert(how.scale, real), "scale", shape, how.grain);
    if (failed(scale))
      return failure();
    x = emit.binary(BK::Div, x, *scale);
  }
  if (isa<IntegerType>(to))
    x = emit.unary(UK::RoundEven, x);
  if (!isZeroPoint(how.zero)) {
    FailureOr<Value> zero =
        spreadParameter(node, emit.convert(how.zero, real), "zero point", shape, how.grain);
    if (failed(zero))
      return failure();
    x = emit.binary(BK::Add, x, *zero);
  }
  // Conversion to integers saturates by itself.
  auto narrow = dyn_cast<FloatType>(to);
  return narrow ? convertToNarrow(emit, x, narrow, saturates) : emit.convert(x, to);
}

//===----------------------------------------------------------------------===//
// Numbers that integers stand for
//===----------------------------------------------------------------------===//

namespace {
/// One number, 0-D, or one for each index along `axis`.
struct Parameter {
  Value value;
  int64_t axis = 0;
};
} // namespace

/// What `spreadParameter` was given; nothing for other values.
static std::optional<Parameter> findParameter(Emitter &emit, Value spread) {
  if (std::optional<ConstantData> data = ConstantData::get(spread); data && data->isSplat()) {
    auto scalar = RankedTensorType::get({}, data->getElementType());
    return Parameter{emit.constant(ConstantData(scalar, {(*data)[0]}).toAttr())};
  }
  // One for each element of a vector needs no broadcast.
  if (spread.getDefiningOp<ConstantOp>() && Emitter::typeOf(spread).getRank() == 1)
    return Parameter{spread};
  auto broadcast = spread.getDefiningOp<BroadcastOp>();
  if (!broadcast || broadcast.getDims().size() > 1)
    return std::nullopt;
  return Parameter{broadcast.getOperand(),
                   broadcast.getDims().empty() ? 0 : broadcast.getDims().front()};
}

/// The operation of a kind behind a value, or null.
static BinaryOp findBinary(Value value, BinaryKind kind) {
  auto op = value.getDefiningOp<BinaryOp>();
  return op && op.getKind() == kind ? op : BinaryOp();
}

std::optional<Dequantized> lumen::findDequantized(Emitter &emit, Value numbers, unsigned width) {
  if (auto transpose = numbers.getDefiningOp<TransposeOp>()) {
    std::optional<Dequantized> found = findDequantized(emit, transpose.getOperand(), width);
    if (!found)
      return std::nullopt;
    found->data = emit.transpose(found->data, transpose.getPerm());
    found->how.grain.axis =
        llvm::find(transpose.getPerm(), found->how.grain.axis) - transpose.getPerm().begin();
    return found;
  }
  if (isa_and_nonnull<ReshapeOp, lumen::CastOp>(numbers.getDefiningOp())) {
    std::optional<Dequantized> found =
        findDequantized(emit, numbers.getDefiningOp()->getOperand(0), width);
    if (!found || !scalarParameter(emit, found->how.scale))
      return std::nullopt;
    Sizes shape = Emitter::shapeOf(numbers);
    found->data = isa<ReshapeOp>(numbers.getDefiningOp()) ? emit.reshape(found->data, shape)
                                                          : emit.cast(found->data, shape);
    return found;
  }
  // Factors of 1 and zero points of 0 have folded away.
  Dequantized found{{}, {emit.scalar(1, emit.builder.getF32Type()), {}, {}}};
  if (BinaryOp product = findBinary(numbers, BK::Mul)) {
    std::optional<Parameter> scale = findParameter(emit, product.getRhs());
    if (!scale)
      return std::nullopt;
    found.how.scale = scale->value;
    found.how.grain.axis = scale->axis;
    numbers = product.getLhs();
  }
  std::optional<Parameter> zero;
  if (BinaryOp difference = findBinary(numbers, BK::Sub)) {
    zero = findParameter(emit, difference.getRhs());
    bool isAlike =
        zero && (Emitter::typeOf(zero->value).getRank() == 0 || zero->axis == found.how.grain.axis);
    if (!isAlike)
      return std::nullopt;
    numbers = difference.getLhs();
  }
  auto convert = numbers.getDefiningOp<ConvertOp>();
  Type type = convert ? Emitter::typeOf(convert.getOperand()).getElementType() : Type();
  if (!type || !isa<IntegerType>(type) || type.getIntOrFloatBitWidth() != width)
    return std::nullopt;
  found.data = convert.getOperand();
  if (zero)
    found.how.zero = emit.convert(zero->value, type);
  return found;
}

/// `x / divisor`, a 0-D number above 0, where `x` are sums times a factor, perhaps moved and
/// cut off since: the factor is divided, so that the sums are rounded once. Null for other
/// values.
static Value divideFactor(Emitter &emit, Value x, Value divisor) {
  auto inner = [&](Value operand) { return divideFactor(emit, operand, divisor); };
  auto quotient = [&](Value value) {
    return emit.binary(BK::Div, value, emit.splat(divisor, Emitter::shapeOf(value)));
  };
  if (auto transpose = x.getDefiningOp<TransposeOp>()) {
    Value result = inner(transpose.getOperand());
    return result ? emit.transpose(result, transpose.getPerm()) : Value();
  }
  if (auto reshape = x.getDefiningOp<ReshapeOp>()) {
    Value result = inner(reshape.getOperand());
    return result ? emit.reshape(result, Emitter::shapeOf(x)) : Value();
  }
  if (auto unary = x.getDefiningOp<UnaryOp>(); unary && unary.getKind() == UK::Relu) {
    Value result = inner(unary.getOperand());
    return result ? emit.unary(UK::Relu, result) : Value();
  }
  for (BinaryKind kind : {BK::Max, BK::Min})
    if (BinaryOp bound = findBinary(x, kind)) {
      Value result = inner(bound.getLhs());
      return result ? emit.binary(kind, result, quotient(bound.getRhs())) : Value();
    }
  BinaryOp product = findBinary(x, BK::Mul);
  auto sums = product ? product.getLhs().getDefiningOp<ConvertOp>() : ConvertOp();
  if (!sums || !Emitter::typeOf(sums.getOperand()).getElementType().isSignlessInteger(32))
    return {};
  std::optional<Parameter> factor = findParameter(emit, product.getRhs());
  if (!factor)
    return {};
  Value divided = quotient(factor->value);
  Sizes shape = Emitter::shapeOf(x);
  Value spread = Emitter::typeOf(divided).getRank() == 0
                     ? emit.splat(divided, shape)
                     : emit.broadcastAlong(divided, shape, factor->axis);
  return emit.binary(BK::Mul, sums, spread);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Axis and block size, as QuantizeLinear and DequantizeLinear have them.
static FailureOr<QuantizationGrain> readGrain(Node &node) {
  int64_t rank = node.inputRank(0);
  QuantizationGrain grain{node.integer("axis", 1), node.integer("block_size", 0)};
  if (grain.block < 0)
    return node.error() << "attribute 'block_size' is " << grain.block << ", expected at least 0";
  // The default may lie outside a tensor of which the scale is one for all.
  if (rank < 2 && grain.axis == 1 && !grain.block)
    grain.axis = 0;
  else if (FailureOr<int64_t> axis = node.normalizeAxis(grain.axis, rank); succeeded(axis))
    grain.axis = *axis;
  else
    return failure();
  return grain;
}

/// Elements of few bits that stand for numbers.
static bool isQuantizedType(Type type) {
  return storedTypeOf(type) ||
         (isa<IntegerType>(type) && llvm::is_contained({8u, 16u}, type.getIntOrFloatBitWidth()));
}

static LogicalResult quantizeLinear(Node &node) {
  FailureOr<QuantizationGrain> grain = readGrain(node);
  if (failed(grain))
    return failure();
  Value zero = node.input(2);
  Type byDefault = IntegerType::get(node.getContext(), 8, IntegerType::Unsigned);
  Type to = zero ? node.inputType(2).getElementType() : byDefault;
  if (node.integer("output_dtype", 0) != 0) {
    FailureOr<Type> wanted = readElementType(node, "output_dtype", 0);
    if (failed(wanted))
      return failure();
    if (zero && *wanted != to)
      return node.error() << "attribute 'output_dtype' is " << typeText(*wanted)
                          << ", but the zero point has element type " << typeText(to);
    to = *wanted;
  }
  if (!isQuantizedType(to) || isa<Float8E8M0FNUType>(to))
    return node.error() << "result has element type " << typeText(to) << ", which is not supported";
  bool saturates = node.integer("saturate", 1) != 0;
  Emitter &emit = node.emit;
  // Division in single precision is at least as exact as any other that may be asked for.
  node.ignore("precision");
  Type real = emit.builder.getF32Type();
  Value x = emit.convert(node.input(0), real);
  Quantization how{node.input(1), zero, *grain};
  if (Value scale = scalarParameter(emit, how.scale); scale && !grain->block)
    if (Value divided = divideFactor(emit, x, emit.convert(scale, real))) {
      x = divided;
      how.scale = {};
    }
  FailureOr<Value> result = quantize(node, x, how, to, saturates);
  return failed(result) ? failure() : node.yield(*result);
}

static LogicalResult dequantizeLinear(Node &node) {
  FailureOr<QuantizationGrain> grain = readGrain(node);
  if (failed(grain) || failed(node.expectReal(1)))
    return failure();
  Type from = node.inputType(0).getElementType(), to = node.inputType(1).getElementType();
  if (!isQuantizedType(from) && !from.isSignlessInteger(32))
    return node.error() << "input has element type " << from << ", which is not supported";
  if (node.input(2) && failed(node.expectSameElementType(0, 2)))
    return failure();
  if (node.integer("output_dtype", 0) != 0) {
    FailureOr<Type> wanted = readElementType(node, "output_dtype", 0);
    if (failed(wanted))
      return failure();
    to = *wanted;
  }
  if (isa<Float8E8M0FNUType>(to))
    return node.error() << "result has element type " << typeText(to) << ", which is not supported";
  FailureOr<Value> result = dequantize(node, node.input(0), {node.input(1), node.input(2), *grain});
  return failed(result) ? failure() : node.yield(node.emit.convert(*result, to));
}

/// Scale and zero point such that a tensor's numbers, and 0, fill the range of ui8.
static LogicalResult dynamicQuantizeLinear(Node &node) {
  if (failed(node.expectReal()))
    return failure();
  Emitter &emit = node.emit;
  Value x = node.input(0);
  Type real = node.inputType(0).getElementType();
  Type byte = IntegerType::get(node.getContext(), 8, IntegerType::Unsigned);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, node.inputRank(0)));
  auto bound = [&](ReduceKind reduction, BinaryKind kind) {
    Value extreme = axes.empty() ? x : emit.reduce(reduction, x, axes, /*keepDims=*/false);
    return emit.binary(kind, extreme, 0.0);
  };
  Value low = bound(ReduceKind::Min, BK::Min), high = bound(ReduceKind::Max, BK::Max);
  Value scale = emit.binary(BK::Div, emit.binary(BK::Sub, high, low), 255.0);
  Value isFlat = emit.compare(CompareKind::Eq, low, high);
  scale = emit.select(isFlat, emit.scalar(1, real), scale);
  FailureOr<Value> zero = quantize(node, emit.unary(UK::Neg, low), {scale, {}, {}}, byte);
  FailureOr<Value> result = quantize(node, x, {scale, *zero, {}}, byte);
  return node.yield({*result, scale, *zero});
}

static constexpr StringLiteral kFrom =
    "from integers of 2 to 16 bits, i32, and floats of 4 to 8 bits";
static constexpr StringLiteral kTo =
    "to integers of 2 to 16 bits, and floats of 4 to 8 bits but f8E8M0";

static const OperatorRow rows[] = {
    {"DequantizeLinear", 2, 3, dequantizeLinear, kFrom, 10},
    OperatorRow{"DequantizeLinear", 2, 3, dequantizeLinear, kFrom}.ofMicrosoft(),
    {"DynamicQuantizeLinear", 1, 1, dynamicQuantizeLinear, "", 11},
    {"QuantizeLinear", 2, 3, quantizeLinear, kTo, 10},
    OperatorRow{"QuantizeLinear", 2, 3, quantizeLinear, kTo}.ofMicrosoft(),
};

ArrayRef<OperatorRow> lumen::quantizationRows() { return rows; }
