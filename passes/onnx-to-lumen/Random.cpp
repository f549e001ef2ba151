//===- Random.cpp - numbers that are drawn --------------------------------===//
//
// A number is a function of a key and its place: SplitMix64, whose state after n steps
// is known without the steps before. So it fuses like other arithmetic, and no cut of
// the work between threads changes it. The key is a hash of the node's seed, or comes
// from the context, new in every run and trip.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Converter.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using CK = CompareKind;

namespace {

/// Random numbers of one node.
class Draw {
public:
  explicit Draw(Node &node);

  /// Uniform in [0, 1), of a floating-point type.
  Value uniform(Node::Shape shape, Type type) { return unit(bits(shape, 0), type); }
  /// Of mean 0 and deviation 1.
  Value normal(Node::Shape shape, Type type);

private:
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15;

  Value number(uint64_t value);
  Value shifted(BK kind, Value x, int64_t by) { return emit.binary(kind, x, double(by)); }
  Value scrambled(Value x, int64_t shift, uint64_t factor);
  Value bits(Node::Shape shape, const SymExpr &first);
  Value unit(Value bits, Type type);

  Emitter &emit;
  Type word; ///< ui64
  Value key; ///< 0-D
};

} // namespace

Draw::Draw(Node &node) : emit(node.emit) {
  Builder &builder = emit.builder;
  word = builder.getIntegerType(64, /*isSigned=*/false);
  if (Attribute given = node.attribute("seed")) {
    // Dropout's is an integer, all others are floats.
    double seed = isa<IntegerAttr>(given) ? node.integer("seed", 0) : node.real("seed", 0);
    key = number(llvm::xxh3_64bits(ArrayRef(reinterpret_cast<uint8_t *>(&seed), sizeof(seed))));
    return;
  }
  // Nodes differ by what they say, so that no two calls are taken for one.
  int64_t stream = llvm::xxh3_64bits(node.freshSymbol("random"));
  Value drawn = emit.call("random_key", {}, RankedTensorType::get({}, builder.getI64Type()),
                          {builder.getI64IntegerAttr(stream)});
  key = emit.convert(drawn, word);
}

Value Draw::number(uint64_t value) {
  auto type = RankedTensorType::get({}, word);
  return emit.constant(DenseElementsAttr::get(type, llvm::APInt(64, value)));
}

/// (x ^ x >> shift) * factor
Value Draw::scrambled(Value x, int64_t shift, uint64_t factor) {
  x = emit.binary(BK::Xor, x, shifted(BK::ShiftRight, x, shift));
  return emit.binary(BK::Mul, x, emit.splat(number(factor), sizesOf(x)));
}

/// The numbers from `first` on.
Value Draw::bits(Node::Shape shape, const SymExpr &first) {
  Sizes flat{product(shape)};
  Value place = emit.iota(emit.typed(flat, word), 0);
  place = emit.binary(BK::Add, emit.binary(BK::Add, place, 1), first);
  Value x = emit.binary(BK::Mul, place, emit.splat(number(kStep), flat));
  x = emit.binary(BK::Add, x, emit.splat(key, flat));
  x = scrambled(scrambled(x, 30, 0xBF58476D1CE4E5B9), 27, 0x94D049BB133111EB);
  return emit.reshape(emit.binary(BK::Xor, x, shifted(BK::ShiftRight, x, 31)), shape);
}

/// The high bits as a fraction: as many as the type can tell apart, so that none is
/// rounded to 1.
Value Draw::unit(Value bits, Type type) {
  unsigned width = cast<FloatType>(type).getFPMantissaWidth();
  Builder &builder = emit.builder;
  Value high = shifted(BK::ShiftRight, bits, 64 - width);
  // Signed integers, which they fit, are quicker to convert.
  high = emit.convert(high, width < 32 ? builder.getI32Type() : builder.getI64Type());
  Type wide = type.getIntOrFloatBitWidth() < 32 ? Type(builder.getF32Type()) : type;
  return emit.binary(BK::Mul, emit.convert(high, wide), std::ldexp(1.0, -int(width)));
}

/// By Box and Muller: a radius and an angle.
Value Draw::normal(Node::Shape shape, Type type) {
  Value first = bits(shape, 0);
  // Half of a number is enough for one of single precision.
  Value second = type.isF64() ? bits(shape, product(shape)) : shifted(BK::ShiftLeft, first, 32);
  Type wide = type.isF64() ? type : Type(emit.builder.getF32Type());
  Value fraction = unit(first, wide);
  Value logarithm =
      emit.unary(UK::Log, emit.binary(BK::Sub, emit.splatLike(fraction, 1), fraction));
  Value radius = emit.unary(UK::Sqrt, emit.binary(BK::Mul, logarithm, -2));
  constexpr double kTau = 6.283185307179586476925;
  Value wave = emit.unary(UK::Cos, emit.binary(BK::Mul, unit(second, wide), kTau));
  return emit.binary(BK::Mul, radius, wave);
}

//===----------------------------------------------------------------------===//
// Tensors of random numbers
//===----------------------------------------------------------------------===//

static FailureOr<Type> readFloatType(Node &node, Type absent) {
  FailureOr<Type> type = node.has("dtype") ? readElementType(node, "dtype", 0) : absent;
  if (failed(type) || isa<FloatType>(*type))
    return type;
  return node.error() << "element type of the result is " << *type
                      << ", expected a floating-point type";
}

static LogicalResult yieldUniform(Node &node, Node::Shape shape, Type type) {
  double low = node.real("low", 0), high = node.real("high", 1);
  Value x = Draw(node).uniform(shape, type);
  x = node.emit.binary(BK::Add, node.emit.binary(BK::Mul, x, high - low), low);
  return node.yield(node.emit.convert(x, type));
}

static LogicalResult yieldNormal(Node &node, Node::Shape shape, Type type) {
  double mean = node.real("mean", 0), scale = node.real("scale", 1);
  Value x = Draw(node).normal(shape, type);
  x = node.emit.binary(BK::Add, node.emit.binary(BK::Mul, x, scale), mean);
  return node.yield(node.emit.convert(x, type));
}

using Yield = LogicalResult(Node &, Node::Shape, Type);

template <Yield yield> static LogicalResult ofShape(Node &node) {
  Sizes shape = toSizes(*node.integers("shape"));
  FailureOr<Type> type = readFloatType(node, node.emit.builder.getF32Type());
  return failed(type) || failed(node.checkSize(shape)) ? failure() : yield(node, shape, *type);
}

template <Yield yield> static LogicalResult like(Node &node) {
  FailureOr<Type> type = readFloatType(node, node.inputType(0).getElementType());
  return failed(type) ? failure() : yield(node, node.inputShape(0), *type);
}

//===----------------------------------------------------------------------===//
// Samples of what the input says
//===----------------------------------------------------------------------===//

static LogicalResult bernoulli(Node &node) {
  if (failed(node.expectReal()))
    return failure();
  FailureOr<Type> type =
      node.has("dtype") ? readElementType(node, "dtype", 0) : node.inputType(0).getElementType();
  if (failed(type))
    return failure();
  Emitter &emit = node.emit;
  Type real = computeType(node.inputType(0).getElementType());
  Value chance = emit.convert(node.input(0), real);
  Value drawn = Draw(node).uniform(node.inputShape(0), real);
  return node.yield(emit.convert(emit.compare(CK::Lt, drawn, chance), *type));
}

/// Classes of which the logarithms of the chances are given, [batch, classes]: a sample
/// is the number of classes whose running sum of chances it lies behind.
static LogicalResult multinomial(Node &node) {
  FailureOr<int64_t> count = node.count("sample_size", 1);
  FailureOr<Type> type = readElementType(node, "dtype", 6);
  Sizes shape = node.inputShape(0);
  if (failed(type) || failed(count) || failed(node.expectReal()))
    return failure();
  if (!type->isSignlessInteger(32) && !type->isSignlessInteger(64))
    return node.error() << "element type of the result is " << *type << ", expected i32 or i64";
  if (shape.size() != 2)
    return node.error() << "input has shape " << shapeText(shape) << ", expected two dimensions";
  Sizes samples{shape[0], *count}, pairs{shape[0], *count, shape[1]};
  if (failed(node.checkSize(pairs)))
    return failure();
  node.emit.check(CheckKind::LessEqual, 1, shape[1], "the number of classes");
  Emitter &emit = node.emit;
  Type real = computeType(node.inputType(0).getElementType());
  Value chances = emit.softmax(emit.convert(node.input(0), real), 1, /*log=*/false);
  Value sums = emit.create<AccumulateOp>(chances.getType(), AccumulateKind::Add, chances, 1,
                                         /*exclusive=*/false, /*reverse=*/false);
  // What rounding leaves of the sum belongs to the last class.
  Value total = emit.reshape(emit.sliceAxis(sums, 1, shape[1] - 1, 1), {shape[0]});
  Value drawn = emit.binary(BK::Mul, Draw(node).uniform(samples, real),
                            emit.broadcastAlong(total, samples, 0));
  Value isBehind = emit.compare(CK::Ge, emit.broadcast(drawn, pairs, {0, 1}),
                                emit.broadcast(sums, pairs, {0, 2}));
  Value number =
      emit.reduce(ReduceKind::Sum, emit.convert(isBehind, *type), {2}, /*keepDims=*/false);
  return node.yield(emit.binary(BK::Min, number, shape[1] - 1));
}

/// In training, elements are zero by chance and the others larger in turn. Inputs: data,
/// ratio, training_mode.
static LogicalResult dropout(Node &node) {
  Emitter &emit = node.emit;
  Value x = node.input(0);
  Sizes shape = node.inputShape(0);
  bool mayTrain = false;
  if (node.input(2)) {
    std::optional<ConstantData> training = ConstantData::get(node.input(2));
    mayTrain = !training || !training->isAll(0);
  }
  if (!mayTrain) {
    node.ignore("ratio");
    node.ignore("seed");
    Type maskType =
        node.getOpset() < 10 ? node.inputType(0).getElementType() : Type(emit.builder.getI1Type());
    return node.yield({x, emit.splat(node.inputType(0).clone(maskType), 1)});
  }
  Type real = computeType(node.inputType(0).getElementType());
  FailureOr<Value> training = node.scalarOperand(2, "training_mode");
  FailureOr<Value> ratio = emit.scalar(0.5, real);
  if (node.input(1))
    ratio = node.scalarOperand(1, "ratio");
  if (failed(training) || failed(ratio) || failed(node.expectReal()))
    return failure();
  // Nothing is dropped where the run does not train.
  Value chance = emit.convert(*ratio, real);
  chance = emit.select(*training, chance, emit.splatLike(chance, 0));
  Value rest = emit.binary(BK::Sub, emit.splatLike(chance, 1), chance);
  Value drawn = Draw(node).uniform(shape, real);
  Value mask = emit.compare(CK::Ge, drawn, emit.splat(chance, shape));
  Value scaled = emit.binary(BK::Div, emit.convert(x, real), emit.splat(rest, shape));
  Value y = emit.select(mask, scaled, emit.splatLike(scaled, 0));
  return node.yield({emit.convert(y, node.inputType(0).getElementType()), mask});
}

static const OperatorRow rows[] = {
    {"Bernoulli", 1, 1, bernoulli, "", 15},
    {"Dropout", 1, 3, dropout},
    {"Multinomial", 1, 1, multinomial},
    {"RandomNormal", 0, 0, ofShape<yieldNormal>},
    {"RandomNormalLike", 1, 1, like<yieldNormal>},
    {"RandomUniform", 0, 0, ofShape<yieldUniform>},
    {"RandomUniformLike", 1, 1, like<yieldUniform>},
};

ArrayRef<OperatorRow> lumen::randomRows() { return rows; }
