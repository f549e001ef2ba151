//===- Training.cpp - losses, and the steps of optimizers -----------------===//

#include "passes/onnx-to-lumen/Converter.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using CK = CompareKind;

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// The weighted negative of each sample's entry in `scores` [N, C, d...], reduced as the
/// attribute says. Input 1 is the labels [N, d...], input 2 the weights of classes.
static FailureOr<Value> likelihoodLoss(Node &node, Value scores) {
  StringRef reduction = node.string("reduction", "mean");
  if (!llvm::is_contained({"none", "sum", "mean"}, reduction))
    return node.error() << "attribute 'reduction' is '" << reduction
                        << "', expected none, sum or mean";
  Emitter &emit = node.emit;
  Sizes shape = sizesOf(scores), expected{shape[0]};
  llvm::append_range(expected, Node::Shape(shape).drop_front(2));
  if (!node.ensureEqual(node.inputShape(1), expected, "the labels"))
    return node.error() << "labels have shape " << shapeText(node.inputShape(1)) << ", expected "
                        << shapeText(expected);
  Type type = Emitter::typeOf(scores).getElementType();
  Value labels = emit.convert(emit.cast(node.input(1), expected), emit.builder.getI64Type());
  Value ignored;
  if (node.has("ignore_index")) {
    Value index = emit.size(node.integer("ignore_index", 0));
    ignored = emit.compare(CK::Eq, labels, emit.splat(index, expected));
    labels = emit.select(ignored, emit.splatLike(labels, 0), labels);
  }
  SmallVector<int64_t> dims{0, -1};
  for (int64_t i = 1, e = expected.size(); i < e; ++i)
    dims.push_back(i);
  Value loss = emit.create<PickOp>(emit.typed(expected, type), scores, labels, dims);
  loss = emit.unary(UK::Neg, loss);
  Value weights = emit.splatLike(loss, 1);
  if (Value given = node.input(2)) {
    if (!node.ensureEqual(node.inputShape(2), shape[1], "the weights"))
      return node.error() << "weights have shape " << shapeText(node.inputShape(2)) << ", expected "
                          << shape[1].str();
    if (failed(node.expectSameElementType(0, 2)))
      return failure();
    weights = emit.gather(emit.cast(given, shape[1]), labels, 0);
    loss = emit.binary(BK::Mul, loss, weights);
  }
  if (ignored) {
    loss = emit.select(ignored, emit.splatLike(loss, 0), loss);
    weights = emit.select(ignored, emit.splatLike(loss, 0), weights);
  }
  if (reduction == "none")
    return loss;
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, expected.size()));
  auto sum = [&](Value value) {
    return emit.reduce(ReduceKind::Sum, value, all, /*keepDims=*/false);
  };
  return reduction == "sum" ? sum(loss) : emit.binary(BK::Div, sum(loss), sum(weights));
}

static LogicalResult expectScores(Node &node) {
  if (node.inputRank(0) >= 2)
    return node.expectReal();
  return node.error() << "input has shape " << shapeText(node.inputShape(0))
                      << ", expected at least two dimensions";
}

static LogicalResult negativeLogLikelihoodLoss(Node &node) {
  if (failed(expectScores(node)))
    return failure();
  FailureOr<Value> loss = likelihoodLoss(node, node.input(0));
  return failed(loss) ? failure() : node.yield(*loss);
}

static LogicalResult softmaxCrossEntropyLoss(Node &node) {
  if (failed(expectScores(node)))
    return failure();
  Value logits = node.emit.softmax(node.input(0), 1, /*log=*/true);
  FailureOr<Value> loss = likelihoodLoss(node, logits);
  return failed(loss) ? failure() : node.yield({*loss, logits});
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

namespace {

/// Inputs: the rate, the number of updates so far, and tensors in groups: all that are
/// optimized, their gradients, then each kind of state.
class Optimizer {
public:
  explicit Optimizer(Node &node) : node(node), emit(node.emit) {}

  /// One tensor of each group: what is optimized, its gradient, its states. Returns their
  /// new values, without the gradient's.
  using Update = function_ref<SmallVector<Value>(ArrayRef<Value>)>;
  LogicalResult run(int64_t groups, Update update);

  /// A 0-D double next to tensors of any shape and type.
  Value times(Value x, Value factor) {
    Value like = emit.convert(factor, Emitter::typeOf(x).getElementType());
    return emit.binary(BK::Mul, x, emit.splat(like, sizesOf(x)));
  }
  /// a * x + b * y
  Value mix(Value x, double a, Value y, double b) {
    return emit.binary(BK::Add, emit.binary(BK::Mul, x, a), emit.binary(BK::Mul, y, b));
  }
  /// The gradient with that of a penalty for large values.
  Value regularized(ArrayRef<Value> x) {
    return mix(x[0], node.real("norm_coefficient", 0), x[1], 1);
  }
  /// sqrt(x) + epsilon
  Value root(Value x) {
    return emit.binary(BK::Add, emit.unary(UK::Sqrt, x), node.real("epsilon", 1e-6f));
  }

  Value rate, count; ///< 0-D doubles, for `run` to set

private:
  Node &node;
  Emitter &emit;
};

} // namespace

LogicalResult Optimizer::run(int64_t groups, Update update) {
  FailureOr<Value> given = node.scalarOperand(0, "R"), updates = node.scalarOperand(1, "T");
  if (failed(given) || failed(updates))
    return failure();
  Type f64 = emit.builder.getF64Type();
  rate = emit.convert(*given, f64);
  count = emit.convert(*updates, f64);
  int64_t tensors = node.getNumInputs() - 2, each = tensors / groups;
  if (tensors % groups)
    return node.error() << "has " << tensors << " tensors, expected a multiple of " << groups;
  SmallVector<SmallVector<Value>> results(groups - 1);
  for (int64_t i = 0; i < each; ++i) {
    SmallVector<Value> group;
    for (int64_t j = 0; j < groups; ++j) {
      unsigned index = 2 + j * each + i;
      if (failed(node.expectReal(index)) || failed(node.expectSameElementType(2 + i, index)))
        return failure();
      if (!node.ensureEqual(node.inputShape(index), node.inputShape(2 + i),
                            ("input " + Twine(index)).str()))
        return node.error() << "input " << index << " has shape "
                            << shapeText(node.inputShape(index)) << ", expected "
                            << shapeText(node.inputShape(2 + i));
      group.push_back(emit.cast(node.input(index), node.inputShape(2 + i)));
    }
    for (auto [list, value] : llvm::zip_equal(results, update(group)))
      list.push_back(value);
  }
  SmallVector<Value> flat;
  for (ArrayRef<Value> list : results)
    llvm::append_range(flat, list);
  return node.yield(flat);
}

static LogicalResult adagrad(Node &node) {
  Optimizer optimizer(node);
  Emitter &emit = node.emit;
  double decay = node.real("decay_factor", 0);
  return optimizer.run(3, [&](ArrayRef<Value> x) -> SmallVector<Value> {
    Value divisor = emit.binary(BK::Add, emit.binary(BK::Mul, optimizer.count, decay), 1);
    Value gradient = optimizer.regularized(x);
    Value squares = emit.binary(BK::Add, x[2], emit.binary(BK::Mul, gradient, gradient));
    Value step = emit.binary(BK::Div, gradient, optimizer.root(squares));
    step = optimizer.times(step, emit.binary(BK::Div, optimizer.rate, divisor));
    return {emit.binary(BK::Sub, x[0], step), squares};
  });
}

static LogicalResult adam(Node &node) {
  Optimizer optimizer(node);
  Emitter &emit = node.emit;
  double alpha = node.real("alpha", 0.9f), beta = node.real("beta", 0.999f);
  double shrink = 1 - node.real("norm_coefficient_post", 0);
  return optimizer.run(4, [&](ArrayRef<Value> x) -> SmallVector<Value> {
    Value gradient = optimizer.regularized(x);
    Value mean = optimizer.mix(x[2], alpha, gradient, 1 - alpha);
    Value squares = optimizer.mix(x[3], beta, emit.binary(BK::Mul, gradient, gradient), 1 - beta);
    // What the first updates lack, as their means begin at zero.
    auto rest = [&](double base) {
      Value power = emit.binary(BK::Pow, emit.splatLike(optimizer.count, base), optimizer.count);
      return emit.binary(BK::Sub, emit.splatLike(power, 1), power);
    };
    Value correction = emit.binary(BK::Div, emit.unary(UK::Sqrt, rest(beta)), rest(alpha));
    correction = emit.select(emit.compare(CK::Gt, optimizer.count, 0.0), correction,
                             emit.splatLike(correction, 1));
    Value step = emit.binary(BK::Div, mean, optimizer.root(squares));
    step = optimizer.times(step, emit.binary(BK::Mul, optimizer.rate, correction));
    return {emit.binary(BK::Mul, emit.binary(BK::Sub, x[0], step), shrink), mean, squares};
  });
}

static LogicalResult momentum(Node &node) {
  StringRef mode = node.string("mode", "");
  if (mode != "standard" && mode != "nesterov")
    return node.error() << "attribute 'mode' is '" << mode << "', expected standard or nesterov";
  Optimizer optimizer(node);
  Emitter &emit = node.emit;
  double alpha = node.real("alpha", 0), beta = node.real("beta", 0);
  return optimizer.run(3, [&](ArrayRef<Value> x) -> SmallVector<Value> {
    Value gradient = optimizer.regularized(x);
    Value isFirst = emit.compare(CK::Le, optimizer.count, 0.0);
    Value weight = emit.select(isFirst, emit.splatLike(optimizer.count, 1),
                               emit.splatLike(optimizer.count, beta));
    Value state =
        emit.binary(BK::Add, emit.binary(BK::Mul, x[2], alpha), optimizer.times(gradient, weight));
    Value step = mode == "standard" ? state : optimizer.mix(gradient, 1, state, alpha);
    return {emit.binary(BK::Sub, x[0], optimizer.times(step, optimizer.rate)), state};
  });
}

static constexpr StringLiteral kTraining = "ai.onnx.preview.training";

static const OperatorRow rows[] = {
    {"Adagrad", 2, OperatorRow::kVariadic, adagrad, "", 1, OperatorRow::kNewest, kTraining},
    {"Adam", 2, OperatorRow::kVariadic, adam, "", 1, OperatorRow::kNewest, kTraining},
    {"Momentum", 2, OperatorRow::kVariadic, momentum, "", 1, OperatorRow::kNewest, kTraining},
    {"NegativeLogLikelihoodLoss", 2, 3, negativeLogLikelihoodLoss, "", 12},
    {"SoftmaxCrossEntropyLoss", 2, 3, softmaxCrossEntropyLoss, "", 12},
};

ArrayRef<OperatorRow> lumen::trainingRows() { return rows; }
