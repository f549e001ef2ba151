//===- QuantizedOperators.cpp - operators of quantised tensors ------------===//
//
// What is no product is computed on the numbers that the integers stand for: the
// arithmetic fuses, so that memory sees integers alone.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Quantization.h"

using namespace mlir;
using namespace lumen;

using BK = BinaryKind;

/// The numbers of input `first`, whose scale and zero point follow it.
static FailureOr<Value> numbersOf(Node &node, unsigned first) {
  Value data = node.input(first), scale = node.input(first + 1), zero = node.input(first + 2);
  if (!data || !scale)
    return node.error() << "input " << (data ? first + 1 : first) << " is missing";
  Type type = Emitter::typeOf(data).getElementType();
  if (!isa<IntegerType>(type) || type.getIntOrFloatBitWidth() != 8)
    return node.error() << "input " << first << " has element type " << type
                        << ", expected i8 or ui8";
  if (zero && failed(node.expectSameElementType(first, first + 2)))
    return failure();
  return dequantize(node, data, {scale, zero, {}});
}

/// Yields numbers as integers like input 0, or like the zero point, with the scale that
/// is input `scale` and the zero point behind it.
static LogicalResult yieldQuantized(Node &node, Value numbers, unsigned scale, Type to) {
  Value zero = node.input(scale + 1);
  if (zero)
    to = Emitter::typeOf(zero).getElementType();
  FailureOr<Value> result = quantize(node, numbers, {node.input(scale), zero, {}}, to);
  return failed(result) ? failure() : node.yield(*result);
}

template <BinaryKind kind> static LogicalResult qLinearBinary(Node &node) {
  Emitter &emit = node.emit;
  FailureOr<Value> lhs = numbersOf(node, 0), rhs = numbersOf(node, 3);
  if (failed(lhs) || failed(rhs))
    return failure();
  std::optional<Sizes> shape = node.broadcast(node.inputShape(0), node.inputShape(3));
  if (!shape)
    return node.error() << "inputs of shapes " << shapeText(node.inputShape(0)) << " and "
                        << shapeText(node.inputShape(3)) << " cannot be broadcast together";
  Value result =
      emit.binary(kind, emit.broadcastTo(*lhs, *shape), emit.broadcastTo(*rhs, *shape));
  return yieldQuantized(node, result, 6, node.inputType(0).getElementType());
}

/// As an operator of the default domain, of one tensor.
static LogicalResult through(Node &node, StringRef name, int64_t opset = OperatorRow::kNewest) {
  FailureOr<Value> x = numbersOf(node, 0);
  if (failed(x))
    return failure();
  // Images may be channels-last already.
  bool isLast = node.has("channels_last") && node.integer("channels_last", 0) != 0;
  int64_t rank = node.inputRank(0);
  if (isLast && rank < 3)
    return node.error() << "input has shape " << shapeText(node.inputShape(0))
                        << ", expected at least three dimensions";
  if (isLast)
    x = node.emit.transpose(*x, channelsFirstPerm(rank));
  FailureOr<SmallVector<Value>> results = node.convertAs(name, *x, opset);
  if (failed(results))
    return failure();
  Value result = results->front();
  if (isLast)
    result = node.emit.transpose(result, channelsLastPerm(rank));
  return yieldQuantized(node, result, 3, node.inputType(0).getElementType());
}

static LogicalResult qLinearSigmoid(Node &node) { return through(node, "Sigmoid"); }
static LogicalResult qLinearLeakyRelu(Node &node) { return through(node, "LeakyRelu"); }
static LogicalResult qLinearAveragePool(Node &node) { return through(node, "AveragePool"); }
static LogicalResult qLinearGlobalAveragePool(Node &node) {
  return through(node, "GlobalAveragePool");
}
static LogicalResult qLinearSoftmax(Node &node) {
  int64_t opset = node.integer("opset", 13);
  if (!findOperator("", "Softmax", opset))
    return node.error() << "attribute 'opset' is " << opset << ", expected a version of Softmax";
  return through(node, "Softmax", opset);
}

/// The scale and zero point of the result, then three inputs for each part.
static LogicalResult qLinearConcat(Node &node) {
  SmallVector<Value> parts;
  if (node.getNumInputs() < 5 || (node.getNumInputs() - 2) % 3 != 0)
    return node.error() << "has " << node.getNumInputs()
                        << " inputs, expected 2 and 3 for each tensor";
  for (unsigned i = 2; i < node.getNumInputs(); i += 3) {
    FailureOr<Value> part = numbersOf(node, i);
    if (failed(part))
      return failure();
    parts.push_back(*part);
  }
  FailureOr<SmallVector<Value>> results = node.convertAs("Concat", parts);
  if (failed(results))
    return failure();
  return yieldQuantized(node, results->front(), 0, node.inputType(2).getElementType());
}

static LogicalResult qLinearWhere(Node &node) {
  FailureOr<Value> onTrue = numbersOf(node, 1), onFalse = numbersOf(node, 4);
  if (failed(onTrue) || failed(onFalse))
    return failure();
  FailureOr<SmallVector<Value>> results =
      node.convertAs("Where", {node.input(0), *onTrue, *onFalse});
  if (failed(results))
    return failure();
  return yieldQuantized(node, results->front(), 7, node.inputType(1).getElementType());
}

static const OperatorRow rows[] = {
    OperatorRow{"QLinearAdd", 7, 8, qLinearBinary<BK::Add>}.ofMicrosoft(),
    OperatorRow{"QLinearAveragePool", 4, 5, qLinearAveragePool}.ofMicrosoft(),
    OperatorRow{"QLinearConcat", 0, OperatorRow::kVariadic, qLinearConcat}.ofMicrosoft(),
    OperatorRow{"QLinearGlobalAveragePool", 4, 5, qLinearGlobalAveragePool}.ofMicrosoft(),
    OperatorRow{"QLinearLeakyRelu", 4, 5, qLinearLeakyRelu}.ofMicrosoft(),
    OperatorRow{"QLinearMul", 7, 8, qLinearBinary<BK::Mul>}.ofMicrosoft(),
    OperatorRow{"QLinearSigmoid", 4, 5, qLinearSigmoid}.ofMicrosoft(),
    OperatorRow{"QLinearSoftmax", 4, 5, qLinearSoftmax}.ofMicrosoft(),
    OperatorRow{"QLinearWhere", 8, 9, qLinearWhere}.ofMicrosoft(),
};

ArrayRef<OperatorRow> lumen::quantizedOperatorRows() { return rows; }
