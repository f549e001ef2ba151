//===- QuantizedProducts.cpp - matrix products and convolutions of integers ==//
//
// Products are of the integers themselves, summed in i32. Zero points on the right are
// subtracted from the elements, which constants do once. One on the left,
// `sum (a - z) b = sum ab - z sum b`, takes the sums of the columns.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Quantization.h"

using namespace mlir;
using namespace lumen;

using BK = BinaryKind;

static LogicalResult expectBytes(Node &node, int index) {
  Type type = node.inputType(index).getElementType();
  if (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() == 8)
    return success();
  return node.error() << "input " << index << " has element type " << type
                      << ", expected i8 or ui8";
}

static LogicalResult expectBytes(Node &node, const QuantizedInputs &operand) {
  if (failed(expectBytes(node, operand.data)))
    return failure();
  if (!node.input(operand.zero))
    return success();
  return node.expectSameElementType(operand.data, operand.zero);
}

/// `value` as i32, or as i16.
static Value widened(Emitter &emit, Value value, unsigned width) {
  return emit.convert(value, emit.builder.getIntegerType(width));
}

/// Subtracts a zero point from a tensor of bytes, if it has one: a scalar, one entry for each
/// index of `axis`, or what broadcasts in as many dimensions.
static FailureOr<Value> centred(Node &node, Value data, Value zero, int64_t axis) {
  if (isZeroPoint(zero))
    return data;
  Emitter &emit = node.emit;
  Sizes shape = Emitter::shapeOf(data), given = Emitter::shapeOf(zero);
  zero = widened(emit, zero, 16);
  FailureOr<Value> spread;
  if (given.size() > 1 && given.size() == shape.size()) {
    if (!node.ensureBroadcastTo(given, shape))
      return node.error() << "zero point of shape " << shapeText(given)
                          << " cannot be broadcast to the shape " << shapeText(shape);
    spread = emit.broadcastTo(zero, shape);
  } else {
    spread = spreadParameter(node, zero, "zero point", shape, {axis});
  }
  if (failed(spread))
    return failure();
  return emit.binary(BK::Sub, widened(emit, data, 16), *spread);
}

/// Per-row parameters as a column, which broadcasts against a product of matrices.
static Value asColumn(Emitter &emit, Value parameter) {
  Sizes shape = Emitter::shapeOf(parameter);
  if (shape.size() != 1)
    return parameter;
  shape.push_back(1);
  return emit.reshape(parameter, shape);
}

/// The product of two quantised tensors in i32.
static FailureOr<Value> emitProduct(Node &node, Value lhs, Value lhsZero, Value rhs,
                                    Value rhsZero) {
  Emitter &emit = node.emit;
  preferUnsigned(emit, lhs, lhsZero);
  int64_t lhsRank = Emitter::typeOf(lhs).getRank(), rhsRank = Emitter::typeOf(rhs).getRank();
  FailureOr<Value> right = centred(node, rhs, rhsZero, std::max<int64_t>(rhsRank - 1, 0));
  if (failed(right))
    return failure();
  FailureOr<Value> product = emitMatMul(node, lhs, *right);
  if (failed(product) || isZeroPoint(lhsZero))
    return product;
  Sizes shape = Emitter::shapeOf(*product);
  Value zero = widened(emit, lhsZero, 32);
  Value scalar = scalarParameter(emit, zero);
  if (scalar)
    zero = scalar;
  else if (rhsRank > 1)
    zero = asColumn(emit, zero);
  // A vector is one row.
  if ((!scalar && lhsRank == 1) || !node.ensureBroadcastTo(Emitter::shapeOf(zero), shape))
    return node.error() << "zero point has shape " << shapeText(Emitter::shapeOf(lhsZero))
                        << ", expected a scalar or one entry per row";
  Value sums =
      emit.reduce(ReduceKind::Sum, widened(emit, *right, 32), {std::max<int64_t>(rhsRank - 2, 0)},
                  /*keepDims=*/rhsRank > 2 && lhsRank > 1);
  if (scalar)
    sums = emit.binary(BK::Mul, sums, emit.splat(scalar, Emitter::shapeOf(sums)));
  sums = emit.broadcastTo(sums, shape);
  if (!scalar)
    sums = emit.binary(BK::Mul, sums, emit.broadcastTo(zero, shape));
  return emit.binary(BK::Sub, *product, sums);
}

/// The channels-last convolution of a quantised input with a quantised weight in i32.
static FailureOr<Value> emitSums(Node &node, Value input, Value inputZero, Value weight,
                                 Value weightZero) {
  Emitter &emit = node.emit;
  preferUnsigned(emit, input, inputZero);
  Value padding;
  if (!isZeroPoint(inputZero)) {
    padding = scalarParameter(emit, inputZero);
    if (!padding)
      return node.error() << "zero point of the input has shape "
                          << shapeText(Emitter::shapeOf(inputZero)) << ", expected a scalar";
  }
  FailureOr<Value> filter = centred(node, weight, weightZero, 0);
  FailureOr<Value> result =
      failed(filter) ? filter : emitConvolution(node, input, *filter, padding);
  if (failed(result) || !padding)
    return result;
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(1, Emitter::typeOf(*filter).getRank()));
  Value sums = emit.reduce(ReduceKind::Sum, widened(emit, *filter, 32), axes, /*keepDims=*/false);
  sums = emit.binary(BK::Mul, sums, emit.splat(widened(emit, padding, 32), Emitter::shapeOf(sums)));
  Sizes shape = Emitter::shapeOf(*result);
  return emit.binary(BK::Sub, *result, emit.broadcastAlong(sums, shape, shape.size() - 1));
}

/// The same of inputs, of which the image is the first.
static FailureOr<Value> emitSums(Node &node, const QuantizedInputs &input,
                                 const QuantizedInputs &weight) {
  if (failed(expectBytes(node, input)) || failed(expectBytes(node, weight)))
    return failure();
  FailureOr<Value> image = readChannelsLast(node);
  if (failed(image))
    return failure();
  return emitSums(node, *image, node.input(input.zero), node.input(weight.data),
                  node.input(weight.zero));
}

//===----------------------------------------------------------------------===//
// What becomes of the sums
//===----------------------------------------------------------------------===//

/// The scale of sums: the product of the operands' scales. Both are one for the tensor,
/// or of one entry per row or column.
static FailureOr<Value> productScale(Node &node, Value lhs, Value rhs) {
  Emitter &emit = node.emit;
  Type real = emit.builder.getF32Type();
  auto simple = [&](Value scale) {
    scale = emit.convert(scale, real);
    Value scalar = scalarParameter(emit, scale);
    return scalar ? scalar : scale;
  };
  lhs = asColumn(emit, simple(lhs));
  rhs = simple(rhs);
  std::optional<Sizes> shape = node.broadcast(Emitter::shapeOf(lhs), Emitter::shapeOf(rhs));
  if (!shape)
    return node.error() << "scales of shapes " << shapeText(Emitter::shapeOf(lhs)) << " and "
                        << shapeText(Emitter::shapeOf(rhs)) << " cannot be broadcast together";
  return emit.binary(BK::Mul, emit.broadcastTo(lhs, *shape), emit.broadcastTo(rhs, *shape));
}

/// `value / divisor`, where the divisor is one number.
static FailureOr<Value> divideByScalar(Node &node, Value value, Value divisor) {
  Emitter &emit = node.emit;
  Value scalar = scalarParameter(emit, divisor);
  if (!scalar)
    return node.error() << "scale of the result has shape " << shapeText(Emitter::shapeOf(divisor))
                        << ", expected a scalar";
  scalar = emit.convert(scalar, emit.builder.getF32Type());
  return emit.binary(BK::Div, value, emit.splat(scalar, Emitter::shapeOf(value)));
}

/// Sums times their scale, which broadcasts.
static FailureOr<Value> scaled(Node &node, Value sums, Value scale) {
  Emitter &emit = node.emit;
  Sizes shape = Emitter::shapeOf(sums);
  if (!node.ensureBroadcastTo(Emitter::shapeOf(scale), shape))
    return node.error() << "scale of shape " << shapeText(Emitter::shapeOf(scale))
                        << " cannot be broadcast to the result's shape " << shapeText(shape);
  return emit.binary(BK::Mul, emit.convert(sums, emit.builder.getF32Type()),
                     emit.broadcastTo(scale, shape));
}

/// Adds a bias, if there is one, which broadcasts.
static FailureOr<Value> withBias(Node &node, Value value, Value bias) {
  if (!bias)
    return value;
  Emitter &emit = node.emit;
  Sizes shape = Emitter::shapeOf(value), given = Emitter::shapeOf(bias);
  Type element = Emitter::typeOf(value).getElementType();
  if (Type other = Emitter::typeOf(bias).getElementType(); other != element)
    return node.error() << "bias has element type " << other << ", expected " << element;
  if (!node.ensureBroadcastTo(given, shape))
    return node.error() << "bias of shape " << shapeText(given)
                        << " cannot be broadcast to the result's shape " << shapeText(shape);
  // A correction for each column takes the bias in: integers are added in any order.
  auto correction = value.getDefiningOp<BinaryOp>();
  auto spread = correction && correction.getKind() == BK::Sub && element.isSignlessInteger(32)
                    ? correction.getRhs().getDefiningOp<BroadcastOp>()
                    : BroadcastOp();
  if (spread && spread.getOperand().getType() == bias.getType() && given.size() == 1 &&
      spread.getDims() == ArrayRef<int64_t>(static_cast<int64_t>(shape.size()) - 1)) {
    bias = emit.binary(BK::Sub, spread.getOperand(), bias);
    return emit.binary(BK::Sub, correction.getLhs(),
                       emit.broadcastAlong(bias, shape, shape.size() - 1));
  }
  return emit.binary(BK::Add, value, emit.broadcastTo(bias, shape));
}

/// Sums as elements of the result: one factor for all three scales rounds once.
static FailureOr<Value> requantized(Node &node, Value sums, Value scale,
                                    const QuantizedInputs &result) {
  FailureOr<Value> factor = divideByScalar(node, scale, node.input(result.scale));
  FailureOr<Value> real = failed(factor) ? factor : scaled(node, sums, *factor);
  if (failed(real))
    return failure();
  Value zero = node.input(result.zero);
  Type to = zero ? Emitter::typeOf(zero).getElementType() : node.inputType(0).getElementType();
  return quantize(node, *real, {{}, zero, {}}, to);
}

//===----------------------------------------------------------------------===//
// Products of dequantised numbers
//===----------------------------------------------------------------------===//

/// Whether a scale is the product of two but for how f32 rounds it, as far as they are known.
static bool isProductOf(Value scale, Value lhs, Value rhs) {
  std::optional<ConstantData> known[] = {ConstantData::get(scale), ConstantData::get(lhs),
                                         ConstantData::get(rhs)};
  int64_t size = 1;
  for (const std::optional<ConstantData> &data : known) {
    if (data && data->isSplat())
      continue;
    if (!data || (size != 1 && data->size() != size))
      return false;
    size = data->size();
  }
  for (int64_t i = 0; i < size; ++i) {
    double product = (*known[1])[i].real * (*known[2])[i].real;
    if (!(std::abs((*known[0])[i].real - product) <= 1e-6 * std::abs(product)))
      return false;
  }
  return true;
}

/// Sums of products times their scale, plus a bias: integers that have the scale of the
/// sums are added to them.
static FailureOr<Value> finished(Node &node, Value sums, Value lhsScale, Value rhsScale,
                                 Value bias) {
  FailureOr<Value> scale = productScale(node, lhsScale, rhsScale);
  if (failed(scale))
    return failure();
  std::optional<Dequantized> integers;
  if (bias)
    integers = findDequantized(node.emit, bias, 32);
  // Scales of a bias differ by column, or not at all.
  bool isByColumn = integers && (scalarParameter(node.emit, integers->how.scale) ||
                                 integers->how.grain.axis == Emitter::typeOf(bias).getRank() - 1);
  if (isByColumn && !integers->how.zero && isProductOf(integers->how.scale, lhsScale, rhsScale)) {
    FailureOr<Value> biased = withBias(node, sums, integers->data);
    return failed(biased) ? biased : scaled(node, *biased, *scale);
  }
  FailureOr<Value> result = scaled(node, sums, *scale);
  return failed(result) ? result : withBias(node, *result, bias);
}

/// The bytes behind the operands of a product, of which the left one has one scale and the
/// right one that, or one per index of `axis`.
static std::optional<std::pair<Dequantized, Dequantized>> findOperands(Emitter &emit, Value lhs,
                                                                       Value rhs, int64_t axis) {
  std::optional<Dequantized> left = findDequantized(emit, lhs, 8);
  std::optional<Dequantized> right = left ? findDequantized(emit, rhs, 8) : std::nullopt;
  if (!right || !scalarParameter(emit, left->how.scale) ||
      (!scalarParameter(emit, right->how.scale) && right->how.grain.axis != axis))
    return std::nullopt;
  return std::make_pair(*left, *right);
}

FailureOr<Value> lumen::emitQuantizedMatMul(Node &node, Value lhs, Value rhs, bool isLhsTransposed,
                                            bool isRhsTransposed, Value bias) {
  Emitter &emit = node.emit;
  auto plain = [&](Value operand, bool isTransposed) {
    int64_t rank = Emitter::typeOf(operand).getRank();
    if (!isTransposed || rank < 2)
      return operand;
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::swap(perm[rank - 1], perm[rank - 2]);
    return emit.transpose(operand, perm);
  };
  int64_t rank = Emitter::typeOf(rhs).getRank();
  auto operands = findOperands(emit, lhs, rhs, rank - (isRhsTransposed && rank > 1 ? 2 : 1));
  if (!operands)
    return Value();
  auto &[left, right] = *operands;
  FailureOr<Value> sums = emitProduct(node, plain(left.data, isLhsTransposed), left.how.zero,
                                      plain(right.data, isRhsTransposed), right.how.zero);
  return failed(sums) ? sums : finished(node, *sums, left.how.scale, right.how.scale, bias);
}

FailureOr<Value> lumen::emitQuantizedConvolution(Node &node, Value x, Value weight, Value bias) {
  auto operands = findOperands(node.emit, x, weight, 0);
  if (!operands)
    return Value();
  auto &[input, filter] = *operands;
  FailureOr<Value> sums = emitSums(node, input.data, input.how.zero, filter.data, filter.how.zero);
  return failed(sums) ? sums : finished(node, *sums, input.how.scale, filter.how.scale, bias);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static LogicalResult yieldValue(Node &node, FailureOr<Value> value) {
  return failed(value) ? failure() : node.yield(*value);
}

static FailureOr<Value> emitProduct(Node &node, const QuantizedInputs &lhs,
                                    const QuantizedInputs &rhs) {
  if (failed(expectBytes(node, lhs)) || failed(expectBytes(node, rhs)))
    return failure();
  return emitProduct(node, node.input(lhs.data), node.input(lhs.zero), node.input(rhs.data),
                     node.input(rhs.zero));
}

static LogicalResult matMulInteger(Node &node) {
  return yieldValue(node, emitProduct(node, {0, -1, 2}, {1, -1, 3}));
}

static LogicalResult convInteger(Node &node) {
  return yieldChannelsFirst(node, emitSums(node, {0, -1, 2}, {1, -1, 3}));
}

static LogicalResult qLinearMatMul(Node &node) {
  FailureOr<Value> sums = emitProduct(node, {0, 1, 2}, {3, 4, 5});
  FailureOr<Value> scale = failed(sums) ? sums : productScale(node, node.input(1), node.input(4));
  if (failed(scale))
    return failure();
  return yieldValue(node, requantized(node, *sums, *scale, {-1, 6, 7}));
}

static LogicalResult qLinearConv(Node &node) {
  FailureOr<Value> sums = emitSums(node, {0, 1, 2}, {3, 4, 5});
  if (failed(sums))
    return failure();
  // Channels are last: what there is one of per channel broadcasts.
  FailureOr<Value> scale = productScale(node, node.input(1), node.input(4));
  FailureOr<Value> biased = withBias(node, *sums, node.input(8));
  if (failed(scale) || failed(biased))
    return failure();
  return yieldChannelsFirst(node, requantized(node, *biased, *scale, {-1, 6, 7}));
}

/// A' * B' + C in i32, as a number or quantised again.
static LogicalResult qGemm(Node &node) {
  Emitter &emit = node.emit;
  double alpha = node.real("alpha", 1.0);
  auto transposed = [&](StringRef attribute, Value value) {
    return node.integer(attribute, 0) ? emit.transpose(value, {1, 0}) : value;
  };
  const QuantizedInputs lhs{0, 1, 2}, rhs{3, 4, 5};
  if (failed(expectBytes(node, lhs)) || failed(expectBytes(node, rhs)))
    return failure();
  if (node.inputRank(0) != 2 || node.inputRank(3) != 2)
    return node.error() << "inputs have shapes " << shapeText(node.inputShape(0)) << " and "
                        << shapeText(node.inputShape(3)) << ", expected two dimensions";
  FailureOr<Value> sums = emitProduct(node, transposed("transA", node.input(0)), node.input(2),
                                      transposed("transB", node.input(3)), node.input(5));
  FailureOr<Value> biased = failed(sums) ? sums : withBias(node, *sums, node.input(6));
  FailureOr<Value> scale =
      failed(biased) ? biased : productScale(node, node.input(1), node.input(4));
  if (failed(scale))
    return failure();
  scale = emit.binary(BK::Mul, *scale, alpha);
  return yieldValue(node, node.input(7) ? requantized(node, *biased, *scale, {-1, 7, 8})
                                        : scaled(node, *biased, *scale));
}

FailureOr<Value> lumen::emitScaledProduct(Node &node, const QuantizedInputs &lhs,
                                          const QuantizedInputs &rhs) {
  FailureOr<Value> sums = emitProduct(node, lhs, rhs);
  FailureOr<Value> scale =
      failed(sums) ? sums : productScale(node, node.input(lhs.scale), node.input(rhs.scale));
  return failed(scale) ? scale : scaled(node, *sums, *scale);
}

static LogicalResult matMulIntegerToFloat(Node &node) {
  FailureOr<Value> result = emitScaledProduct(node, {0, 2, 4}, {1, 3, 5});
  return yieldValue(node, failed(result) ? result : withBias(node, *result, node.input(6)));
}

/// Quantises A as DynamicQuantizeLinear does.
static LogicalResult dynamicQuantizeMatMul(Node &node) {
  const QuantizedInputs rhs{1, 2, 3};
  if (failed(expectBytes(node, rhs)))
    return failure();
  FailureOr<SmallVector<Value>> lhs = node.convertAs("DynamicQuantizeLinear", node.input(0));
  if (failed(lhs))
    return failure();
  FailureOr<Value> sums =
      emitProduct(node, (*lhs)[0], (*lhs)[2], node.input(rhs.data), node.input(rhs.zero));
  FailureOr<Value> scale = failed(sums) ? sums : productScale(node, (*lhs)[1], node.input(2));
  FailureOr<Value> result = failed(scale) ? scale : scaled(node, *sums, *scale);
  return yieldValue(node, failed(result) ? result : withBias(node, *result, node.input(4)));
}

//===----------------------------------------------------------------------===//
// Weights of few bits
//===----------------------------------------------------------------------===//

/// The numbers of `bits` bits that bytes hold along the last dimension, low bits first.
static Value unpackBits(Emitter &emit, Value bytes, int64_t bits) {
  if (bits == 8)
    return bytes;
  Sizes shape = Emitter::shapeOf(bytes), apart(shape);
  int64_t rank = shape.size(), inByte = 8 / bits;
  apart.push_back(inByte);
  RankedTensorType type = emit.typed(apart, Emitter::typeOf(bytes).getElementType());
  Value shift = emit.binary(BK::Mul, emit.iota(type, rank), double(bits));
  Value repeated = emit.broadcast(bytes, apart, llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  Value numbers =
      emit.binary(BK::And, emit.binary(BK::ShiftRight, repeated, shift), double((1 << bits) - 1));
  shape.back() = shape.back() * inByte;
  return emit.reshape(numbers, shape);
}

/// An input of as many elements as `shape`, in that shape.
static FailureOr<Value> inShape(Node &node, unsigned index, StringRef what, Node::Shape shape) {
  if (!node.ensureEqual(product(node.inputShape(index)), product(shape), what))
    return node.error() << what << " has shape " << shapeText(node.inputShape(index))
                        << ", expected " << shapeText(shape);
  return node.emit.reshape(node.input(index), shape);
}

/// A * B' + C, where rows of B are blocks of numbers of few bits with a scale and a zero
/// point for each.
static LogicalResult matMulNBits(Node &node) {
  Emitter &emit = node.emit;
  Type real = emit.builder.getF32Type();
  int64_t k = node.integer("K", 0), n = node.integer("N", 0), bits = node.integer("bits", 4);
  int64_t block = node.integer("block_size", 0);
  // How exact the product has to be at least; it is f32's.
  node.ignore("accuracy_level");
  if (!llvm::is_contained({2, 4, 8}, bits))
    return node.error() << "attribute 'bits' is " << bits << ", expected 2, 4 or 8";
  if (block < 8 || !llvm::isPowerOf2_64(block))
    return node.error() << "attribute 'block_size' is " << block
                        << ", expected a power of 2 from 8 on";
  if (k < 1 || n < 1)
    return node.error() << "attributes 'K' and 'N' are " << k << " and " << n
                        << ", expected at least 1";
  if (failed(node.expectReal(0)) || failed(node.expectReal(2)))
    return failure();
  int64_t blocks = llvm::divideCeil(k, block), inByte = 8 / bits;
  if (!node.inputType(1).getElementType().isUnsignedInteger(8))
    return node.error() << "weight has element type " << node.inputType(1).getElementType()
                        << ", expected ui8";
  FailureOr<Value> packed = inShape(node, 1, "weight", {n, blocks, block / inByte});
  FailureOr<Value> scale = failed(packed) ? packed : inShape(node, 2, "scales", {n, blocks});
  if (failed(scale))
    return failure();
  Value columns = node.input(4);
  if (columns && !node.ensureEqual(Emitter::shapeOf(columns), SymExpr(k), "group indices"))
    return node.error() << "group indices have shape " << shapeText(Emitter::shapeOf(columns))
                        << ", expected " << k;
  auto flat = [&](Value value) {
    return emit.sliceAxis(emit.reshape(value, {n, blocks * block}), 1, 0, k);
  };
  // Parameters are repeated in blocks apart, since a broadcast stays one while nothing is
  // reshaped.
  auto spread = [&](Value value) {
    value = emit.convert(value, real);
    return columns ? emit.gather(value, columns, 1)
                   : emit.broadcast(value, {n, blocks, block}, {0, 1});
  };
  Value weight = unpackBits(emit, *packed, bits);
  weight = emit.convert(columns ? flat(weight) : weight, real);
  if (!node.input(3)) {
    weight = emit.binary(BK::Sub, weight, double(1 << (bits - 1)));
  } else {
    bool isPacked = node.inputType(3).getElementType().isUnsignedInteger(8);
    int64_t entries = isPacked ? llvm::divideCeil(blocks, inByte) : blocks;
    FailureOr<Value> zero = inShape(node, 3, "zero points", {n, entries});
    if (failed(zero))
      return failure();
    Value numbers = isPacked ? unpackBits(emit, *zero, bits) : *zero;
    weight = emit.binary(BK::Sub, weight, spread(emit.sliceAxis(numbers, 1, 0, blocks)));
  }
  weight = emit.binary(BK::Mul, weight, spread(*scale));
  if (!columns)
    weight = flat(weight);
  Type type = node.inputType(0).getElementType();
  FailureOr<Value> result =
      emitMatMul(node, node.input(0), emit.convert(weight, type), false, /*isRhsTransposed=*/true);
  return yieldValue(node, failed(result) ? result : addLastBias(node, *result, 5));
}

static const OperatorRow rows[] = {
    {"ConvInteger", 2, 4, convInteger, "", 10},
    OperatorRow{"DynamicQuantizeMatMul", 3, 5, dynamicQuantizeMatMul}.ofMicrosoft(),
    OperatorRow{"MatMulNBits", 3, 6, matMulNBits, "weights of 2, 4 and 8 bits"}.ofMicrosoft(),
    {"MatMulInteger", 2, 4, matMulInteger, "", 10},
    OperatorRow{"MatMulIntegerToFloat", 4, 7, matMulIntegerToFloat}.ofMicrosoft(),
    OperatorRow{"QGemm", 6, 9, qGemm}.ofMicrosoft(),
    {"QLinearConv", 8, 9, qLinearConv, "", 10},
    {"QLinearMatMul", 8, 8, qLinearMatMul, "of integers of 8 bits", 10},
};

ArrayRef<OperatorRow> lumen::quantizedProductRows() { return rows; }
