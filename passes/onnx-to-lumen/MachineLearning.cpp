//===- MachineLearning.cpp - what operators of ai.onnx.ml share -----------===//

#include "passes/onnx-to-lumen/MachineLearning.h"
#include "passes/onnx-to-lumen/Values.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using CK = CompareKind;

//===----------------------------------------------------------------------===//
// What goes in
//===----------------------------------------------------------------------===//

FailureOr<Value> lumen::readRows(Node &node) {
  Emitter &emit = node.emit;
  Value x = node.input(0);
  Sizes shape = node.inputShape(0);
  if (shape.empty() || shape.size() > 2)
    return node.error() << "input has shape " << shapeText(shape)
                        << ", expected one or two dimensions";
  if (shape.size() == 1)
    x = emit.reshape(x, {1, shape[0]});
  Type element = Emitter::typeOf(x).getElementType();
  return element.isF32() || element.isF64() ? x : emit.convert(x, emit.builder.getF32Type());
}

FailureOr<Value> lumen::readRowsF32(Node &node) {
  FailureOr<Value> rows = readRows(node);
  if (failed(rows))
    return failure();
  return node.emit.convert(*rows, node.emit.builder.getF32Type());
}

LogicalResult lumen::expectFeatures(Node &node, Value rows, int64_t expected, StringRef what) {
  SymExpr features = sizeOf(rows, 1);
  if (node.ensureEqual(features, expected, "the number of features"))
    return success();
  return node.error() << "input has " << features.str() << " features, " << what << " " << expected;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

FailureOr<PostTransform> lumen::readPostTransform(Node &node) {
  FailureOr<int64_t> choice =
      readChoice(node, "post_transform", node.string("post_transform", "NONE"),
                 {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"});
  if (failed(choice))
    return failure();
  return PostTransform(*choice);
}

/// sqrt(2) * erfinv(2x - 1), by the approximation of erfinv that the standard's reference
/// and ONNX Runtime have.
static Value probit(Emitter &emit, Value x) {
  constexpr double a = 0.147, b = 2 / (3.14159 * a);
  Value y = emit.binary(BK::Sub, emit.binary(BK::Mul, x, 2.0), 1.0);
  Value one = emit.splatLike(y, 1.0);
  // log((1 - y) * (1 + y))
  Value log = emit.unary(
      UK::Log, emit.binary(BK::Mul, emit.binary(BK::Sub, one, y), emit.binary(BK::Add, one, y)));
  Value v = emit.binary(BK::Add, emit.binary(BK::Mul, log, 0.5), b);
  Value root = emit.unary(
      UK::Sqrt, emit.binary(BK::Sub, emit.binary(BK::Mul, v, v), emit.binary(BK::Mul, log, 1 / a)));
  Value size = emit.unary(UK::Sqrt, emit.binary(BK::Sub, root, v));
  Value inverse = emit.select(emit.compare(CK::Lt, y, 0.0), emit.unary(UK::Neg, size), size);
  return emit.binary(BK::Mul, inverse, 1.41421356);
}

/// A softmax of what is not zero. What is zero stays, but takes part in the maximum.
static Value softmaxZero(Emitter &emit, Value scores) {
  Sizes shape = Emitter::shapeOf(scores);
  Value top = emit.reduce(ReduceKind::Max, scores, {1}, /*keepDims=*/true);
  Value isSome = emit.compare(CK::Gt, emit.unary(UK::Abs, scores), 0.0000001);
  Value exps = emit.unary(UK::Exp, emit.binary(BK::Sub, scores, emit.broadcastTo(top, shape)));
  Value some = emit.select(isSome, exps, emit.splatLike(exps, 0));
  Value sum = emit.reduce(ReduceKind::Sum, some, {1}, /*keepDims=*/true);
  Value rest = emit.binary(BK::Mul, scores,
                           emit.broadcastTo(emit.unary(UK::Exp, emit.unary(UK::Neg, top)), shape));
  return emit.binary(BK::Div, emit.select(isSome, exps, rest), emit.broadcastTo(sum, shape));
}

Value lumen::transformScores(Emitter &emit, Value scores, PostTransform transform) {
  bool isOne = sizeOf(scores, 1) == SymExpr(1);
  if (transform == PostTransform::Probit)
    return probit(emit, scores);
  if (transform == PostTransform::None || isOne)
    return scores;
  if (transform == PostTransform::Softmax)
    return emit.softmax(scores, 1, /*log=*/false);
  if (transform == PostTransform::SoftmaxZero)
    return softmaxZero(emit, scores);
  return emit.unary(UK::Sigmoid, scores);
}

Value lumen::transformBoth(Emitter &emit, Value score, bool areProbabilities,
                           PostTransform transform) {
  bool isLogistic = transform == PostTransform::Logistic;
  Value other = areProbabilities && !isLogistic
                    ? emit.binary(BK::Sub, emit.splatLike(score, 1.0), score)
                    : emit.unary(UK::Neg, score);
  Value both = emit.concat({other, score}, 1);
  bool isPointwise = isLogistic || transform == PostTransform::Probit;
  return isPointwise ? transformScores(emit, both, transform) : both;
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

Value lumen::bestClass(Emitter &emit, Value scores) {
  Value index = extremeIndex(emit, scores, ReduceKind::Max, 1, /*isLast=*/false);
  return emit.reshape(index, {sizeOf(scores, 0)});
}

Value lumen::isAbove(Emitter &emit, Value score, double threshold) {
  Value flat = emit.reshape(score, {sizeOf(score, 0)});
  return emit.convert(emit.compare(CK::Gt, flat, threshold), emit.builder.getI64Type());
}

FailureOr<ClassLabels> ClassLabels::read(Node &node, StringRef integers) {
  ClassLabels labels;
  labels.strings = node.strings("classlabels_strings").value_or(SmallVector<StringRef>());
  labels.integers = readIntegers(node, integers);
  if (labels.strings.empty() == labels.integers.empty())
    return node.error() << "has " << labels.strings.size() << " labels that are strings and "
                        << labels.integers.size() << " that are integers, expected one kind";
  return labels;
}

Value ClassLabels::of(Emitter &emit, Value numbers) const {
  int64_t count = size();
  if (strings.empty())
    return emit.gather(makeNumbers(emit, count, emit.builder.getI64Type(), ArrayRef(integers)),
                       numbers, 0);
  return takeStrings(emit, numbers, makeStrings(emit, count, strings));
}
