//===- LinearModels.cpp - linear models and support vector machines -------===//

#include "passes/onnx-to-lumen/ControlFlow.h"
#include "passes/onnx-to-lumen/MachineLearning.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using CK = CompareKind;

/// `x * weights'` plus `bias`, one number for each of the rows of weights or for all.
static Value affine(Emitter &emit, Value x, Value weights, ArrayRef<double> bias) {
  Sizes shape{sizeOf(x, 0), sizeOf(weights, 0)};
  Type element = Emitter::typeOf(x).getElementType();
  Value product = emit.create<ContractOp>(emit.typed(shape, element), x, weights,
                                          /*transpose_lhs=*/false, /*transpose_rhs=*/true,
                                          /*packed=*/false);
  if (bias.empty())
    return product;
  Value constant = makeReals(emit, int64_t(bias.size()), element, bias);
  return emit.binary(BK::Add, product, emit.broadcastTo(constant, shape));
}

/// `x` with as many features as there are in each of `count` rows of `weights`, and these.
/// Both are f32, which is all that the results can be.
static FailureOr<std::pair<Value, Value>> readProduct(Node &node, ArrayRef<double> weights,
                                                      int64_t count, StringRef what) {
  FailureOr<Value> rows = readRowsF32(node);
  if (failed(rows))
    return failure();
  if (count < 1 || weights.empty() || weights.size() % count)
    return node.error() << "has " << weights.size() << " " << what << " for " << count
                        << " rows of them";
  int64_t features = weights.size() / count;
  if (failed(expectFeatures(node, *rows, features, what.str() + " are for")))
    return failure();
  Emitter &emit = node.emit;
  return std::make_pair(emit.cast(*rows, {sizeOf(*rows, 0), features}),
                        makeReals(emit, {count, features}, emit.builder.getF32Type(), weights));
}

//===----------------------------------------------------------------------===//
// Linear models
//===----------------------------------------------------------------------===//

static LogicalResult linearRegressor(Node &node) {
  int64_t targets = node.integer("targets", 1);
  SmallVector<double> bias = readReals(node, "intercepts");
  if (!bias.empty() && int64_t(bias.size()) != targets)
    return node.error() << "has " << bias.size() << " intercepts for " << targets << " targets";
  auto product = readProduct(node, readReals(node, "coefficients"), targets, "coefficients");
  FailureOr<PostTransform> transform = readPostTransform(node);
  if (failed(product) || failed(transform))
    return failure();
  Emitter &emit = node.emit;
  return node.yield(
      transformScores(emit, affine(emit, product->first, product->second, bias), *transform));
}

static LogicalResult linearClassifier(Node &node) {
  node.ignore("multi_class"); // says how the model was trained
  SmallVector<double> coefficients = readReals(node, "coefficients");
  SmallVector<double> bias = readReals(node, "intercepts");
  FailureOr<ClassLabels> labels = ClassLabels::read(node, "classlabels_ints");
  FailureOr<PostTransform> transform = readPostTransform(node);
  if (failed(labels) || failed(transform))
    return failure();
  int64_t scores = bias.empty() ? labels->size() : bias.size();
  bool isBinary = scores == 1 && labels->size() == 2;
  if (scores != labels->size() && !isBinary)
    return node.error() << "has " << bias.size() << " intercepts for " << labels->size()
                        << " classes";
  auto product = readProduct(node, coefficients, scores, "coefficients");
  if (failed(product))
    return failure();
  Emitter &emit = node.emit;
  Value score = affine(emit, product->first, product->second, bias);
  if (isBinary)
    return node.yield({labels->of(emit, isAbove(emit, score, 0)),
                       transformBoth(emit, score, /*areProbabilities=*/true, *transform)});
  return node.yield(
      {labels->of(emit, bestClass(emit, score)), transformScores(emit, score, *transform)});
}

//===----------------------------------------------------------------------===//
// Kernels of support vector machines
//===----------------------------------------------------------------------===//

namespace {

enum class SvmKernel { Linear, Poly, Rbf, Sigmoid };

struct Kernel {
  SvmKernel kind = SvmKernel::Linear;
  double gamma = 0, shift = 0, degree = 0;
};

} // namespace

static FailureOr<Kernel> readKernel(Node &node) {
  FailureOr<int64_t> kind = readChoice(node, "kernel_type", node.string("kernel_type", "LINEAR"),
                                       {"LINEAR", "POLY", "RBF", "SIGMOID"});
  SmallVector<double> numbers = readReals(node, "kernel_params");
  if (failed(kind))
    return failure();
  if (!numbers.empty() && numbers.size() != 3)
    return node.error() << "attribute 'kernel_params' has " << numbers.size()
                        << " entries, expected 3";
  Kernel kernel;
  kernel.kind = SvmKernel(*kind);
  if (!numbers.empty()) {
    kernel.gamma = numbers[0];
    kernel.shift = numbers[1];
    kernel.degree = numbers[2];
  }
  return kernel;
}

/// exp(-gamma * |x - s|^2) by way of a matrix product. Both are moved by the mean of the
/// support vectors first, so that little cancels.
static Value radial(Emitter &emit, Value x, ArrayRef<double> vectors, int64_t count, double gamma) {
  int64_t features = vectors.size() / count;
  SmallVector<double> mean(features, 0.0), moved(vectors), squares(count, 0.0);
  for (auto [i, value] : llvm::enumerate(vectors))
    mean[i % features] += value / count;
  for (double &value : mean)
    value = static_cast<float>(value);
  for (auto [i, value] : llvm::enumerate(moved)) {
    value -= mean[i % features];
    squares[i / features] += value * value;
  }
  Type element = Emitter::typeOf(x).getElementType();
  Value centre = makeReals(emit, features, element, mean);
  x = emit.binary(BK::Sub, x, emit.broadcastTo(centre, Emitter::shapeOf(x)));
  Value products = affine(emit, x, makeReals(emit, {count, features}, element, moved), {});
  Sizes shape = Emitter::shapeOf(products);
  Value own = emit.reduce(ReduceKind::Sum, emit.binary(BK::Mul, x, x), {1}, /*keepDims=*/true);
  Value distance =
      emit.binary(BK::Sub, emit.broadcastTo(own, shape), emit.binary(BK::Mul, products, 2.0));
  distance = emit.binary(BK::Add, distance,
                         emit.broadcastTo(makeReals(emit, count, element, squares), shape));
  distance = emit.binary(BK::Max, distance, 0.0);
  return emit.unary(UK::Exp, emit.binary(BK::Mul, distance, -gamma));
}

/// The kernel of each row with each support vector.
static FailureOr<Value> applyKernel(Node &node, const Kernel &kernel, ArrayRef<double> vectors,
                                    int64_t count) {
  auto product = readProduct(node, vectors, count, "support vectors");
  if (failed(product))
    return failure();
  Emitter &emit = node.emit;
  auto [x, weights] = *product;
  if (kernel.kind == SvmKernel::Rbf)
    return radial(emit, x, vectors, count, kernel.gamma);
  Value result = affine(emit, x, weights, {});
  if (kernel.kind == SvmKernel::Linear)
    return result;
  result = emit.binary(BK::Add, emit.binary(BK::Mul, result, kernel.gamma), kernel.shift);
  if (kernel.kind == SvmKernel::Sigmoid)
    return emit.unary(UK::Tanh, result);
  return emit.binary(BK::Pow, result, kernel.degree);
}

static LogicalResult expectRho(Node &node, ArrayRef<double> rho, int64_t count) {
  if (int64_t(rho.size()) == count)
    return success();
  return node.error() << "attribute 'rho' has " << rho.size() << " entries, expected " << count;
}

static LogicalResult svmRegressor(Node &node) {
  SmallVector<double> coefficients = readReals(node, "coefficients");
  SmallVector<double> vectors = readReals(node, "support_vectors"), rho = readReals(node, "rho");
  int64_t count = node.integer("n_supports", 0);
  bool isOneClass = node.integer("one_class", 0) != 0;
  FailureOr<Kernel> kernel = readKernel(node);
  FailureOr<PostTransform> transform = readPostTransform(node);
  if (failed(kernel) || failed(transform) || failed(expectRho(node, rho, 1)))
    return failure();
  Emitter &emit = node.emit;
  Value score;
  if (count > 0) {
    if (int64_t(coefficients.size()) != count)
      return node.error() << "has " << coefficients.size() << " coefficients for " << count
                          << " support vectors";
    FailureOr<Value> kernels = applyKernel(node, *kernel, vectors, count);
    if (failed(kernels))
      return failure();
    score = affine(emit, *kernels,
                   makeReals(emit, {1, count}, emit.builder.getF32Type(), coefficients), rho);
  } else {
    // Without support vectors it is a linear model.
    auto product = readProduct(node, coefficients, 1, "coefficients");
    if (failed(product))
      return failure();
    score = affine(emit, product->first, product->second, rho);
  }
  if (isOneClass)
    score = emit.select(emit.compare(CK::Gt, score, 0.0), emit.splatLike(score, 1),
                        emit.splatLike(score, -1));
  return node.yield(transformScores(emit, score, *transform));
}

//===----------------------------------------------------------------------===//
// SVMClassifier
//===----------------------------------------------------------------------===//

namespace {

/// Pairs of classes, the first one with all behind it, then the second one, and so on.
struct ClassPairs {
  explicit ClassPairs(int64_t classes) : classes(classes) {
    for (int64_t i = 0; i < classes; ++i)
      for (int64_t j = i + 1; j < classes; ++j)
        pairs.push_back({i, j});
  }
  int64_t size() const { return pairs.size(); }

  int64_t classes;
  SmallVector<std::pair<int64_t, int64_t>> pairs;
};

} // namespace

/// The weights of support vectors for each pair: of the `classes - 1` numbers that a vector
/// has, one for each other class, the one for the other class of the pair.
static SmallVector<double> pairWeights(const ClassPairs &pairs, ArrayRef<int64_t> perClass,
                                       ArrayRef<double> coefficients) {
  int64_t count = llvm::sum_of(perClass);
  SmallVector<int64_t> begins(1, 0);
  for (int64_t size : perClass)
    begins.push_back(begins.back() + size);
  SmallVector<double> weights(pairs.size() * count, 0.0);
  for (auto [pair, classes] : llvm::enumerate(pairs.pairs)) {
    double *out = &weights[pair * count];
    auto copy = [&](int64_t own, int64_t row) {
      for (int64_t v = begins[own]; v < begins[own + 1]; ++v)
        out[v] = coefficients[row * count + v];
    };
    copy(classes.first, classes.second - 1);
    copy(classes.second, classes.first);
  }
  return weights;
}

/// How many pairs each class wins: the first of a pair does where its score is above 0.
static Value countVotes(Emitter &emit, Value scores, const ClassPairs &pairs) {
  int64_t numPairs = pairs.size();
  // A vote for i and against j is one more for i; a lost one, which is 0, is one for j.
  SmallVector<double> forFirst(pairs.classes * numPairs, 0.0), base(pairs.classes, 0.0);
  for (auto [pair, classes] : llvm::enumerate(pairs.pairs)) {
    forFirst[classes.first * numPairs + pair] = 1;
    forFirst[classes.second * numPairs + pair] = -1;
    ++base[classes.second];
  }
  Type f32 = emit.builder.getF32Type();
  Value wins = emit.convert(emit.compare(CK::Gt, scores, 0.0), f32);
  return affine(emit, wins, makeReals(emit, {pairs.classes, numPairs}, f32, forFirst), base);
}

/// r[rows, i, j], the probability of class i where it is i or j, by Platt's sigmoid of the
/// score of the pair; 0 where both are the same.
static Value pairProbabilities(Emitter &emit, Value scores, const ClassPairs &pairs,
                               ArrayRef<double> probA, ArrayRef<double> probB) {
  Type f32 = emit.builder.getF32Type();
  int64_t k = pairs.classes, numPairs = pairs.size();
  Sizes shape = Emitter::shapeOf(scores);
  auto spread = [&](ArrayRef<double> values) {
    return emit.broadcastTo(makeReals(emit, numPairs, f32, values), shape);
  };
  Value line = emit.binary(BK::Add, emit.binary(BK::Mul, scores, spread(probA)), spread(probB));
  Value p = emit.unary(UK::Sigmoid, emit.unary(UK::Neg, line));
  constexpr double least = 1e-7;
  p = emit.binary(BK::Min, emit.binary(BK::Max, p, least), 1 - least);
  // The second of a pair has what the first one has not.
  SmallVector<double> spreading(k * k * numPairs, 0.0), base(k * k, 0.0);
  for (auto [pair, classes] : llvm::enumerate(pairs.pairs)) {
    auto [i, j] = classes;
    spreading[(i * k + j) * numPairs + pair] = 1;
    spreading[(j * k + i) * numPairs + pair] = -1;
    base[j * k + i] = 1;
  }
  Value r = affine(emit, p, makeReals(emit, {k * k, numPairs}, f32, spreading), base);
  return emit.reshape(r, {shape[0], k, k});
}

namespace {

/// The second method of Wu, Lin and Weng, "Probability estimates for multi-class
/// classification by pairwise coupling": the p that minimises p'Qp, by sweeps over the
/// classes. It ends, row by row, where LIBSVM's does.
class PairCoupling {
public:
  PairCoupling(Emitter &emit, Value r)
      : emit(emit), rows(sizeOf(r, 0)), k(*sizeOf(r, 1).asConstant()) {
    Sizes shape = Emitter::shapeOf(r);
    Value transposed = emit.transpose(r, {0, 2, 1});
    Value diagonal =
        emit.reduce(ReduceKind::Sum, emit.binary(BK::Mul, r, r), {1}, /*keepDims=*/false);
    auto square = RankedTensorType::get({k, k}, emit.builder.getI64Type());
    Value isSame = emit.compare(CK::Eq, emit.iota(square, 0), emit.iota(square, 1));
    q = emit.select(emit.broadcastTo(isSame, shape), emit.broadcast(diagonal, shape, {0, 2}),
                    emit.unary(UK::Neg, emit.binary(BK::Mul, r, transposed)));
  }

  Value first() { return emit.splat(emit.scalar(1.0 / k, emit.builder.getF32Type()), {rows, k}); }

  /// The next p, and whether any row has to go on.
  std::pair<Value, Value> next(Value p) {
    Value qp = emit.reduce(ReduceKind::Sum,
                           emit.binary(BK::Mul, q, emit.broadcast(p, {rows, k, k}, {0, 2})), {2},
                           /*keepDims=*/false);
    Value pqp = emit.reduce(ReduceKind::Sum, emit.binary(BK::Mul, p, qp), {1}, /*keepDims=*/true);
    Value error = emit.unary(UK::Abs, emit.binary(BK::Sub, qp, wide(pqp)));
    error = emit.reduce(ReduceKind::Max, error, {1}, /*keepDims=*/true);
    Value goesOn = emit.compare(CK::Ge, error, 0.005 / k);
    Value swept = p;
    for (int64_t i = 0; i < k; ++i) {
      Value row = emit.reshape(emit.sliceAxis(q, 1, i, 1), {rows, k});
      Value own = column(row, i), ownQp = column(qp, i);
      Value step = emit.binary(BK::Div, emit.binary(BK::Sub, pqp, ownQp), own);
      Value scale = emit.binary(BK::Add, step, 1.0);
      Value gain = emit.binary(
          BK::Mul, step,
          emit.binary(BK::Add, emit.binary(BK::Mul, step, own), emit.binary(BK::Mul, ownQp, 2.0)));
      pqp =
          emit.binary(BK::Div, emit.binary(BK::Div, emit.binary(BK::Add, pqp, gain), scale), scale);
      qp = emit.binary(BK::Div, emit.binary(BK::Add, qp, emit.binary(BK::Mul, wide(step), row)),
                       wide(scale));
      auto type = Emitter::typeOf(p).clone(emit.builder.getI64Type());
      Value isOwn = emit.compare(CK::Eq, emit.iota(type, 1), double(i));
      Value moved = emit.select(isOwn, emit.binary(BK::Add, swept, wide(step)), swept);
      swept = emit.binary(BK::Div, moved, wide(scale));
    }
    Value any =
        emit.reduce(ReduceKind::Max, emit.convert(goesOn, emit.builder.getI64Type()), {0, 1},
                    /*keepDims=*/false);
    return {emit.select(wide(goesOn), swept, p), emit.compare(CK::Gt, any, 0.0)};
  }

private:
  Value wide(Value column) { return emit.broadcastTo(column, {rows, k}); }
  Value column(Value x, int64_t i) { return emit.sliceAxis(x, 1, i, 1); }

  Emitter &emit;
  SymExpr rows;
  int64_t k;
  Value q; ///< [rows, k, k]
};

} // namespace

static Value coupleProbabilities(Node &node, Value scores, const ClassPairs &pairs,
                                 ArrayRef<double> probA, ArrayRef<double> probB) {
  constexpr StringLiteral kTrips = "100";
  Emitter &emit = node.emit;
  OpBuilder &builder = emit.builder;
  PairCoupling coupling(emit, pairProbabilities(emit, scores, pairs, probA, probB));
  Value initial = coupling.first();
  auto boolean = RankedTensorType::get({}, builder.getI1Type());
  Value goesOn = emit.constant(DenseElementsAttr::get(boolean, true));
  auto op = LoopOp::create(
      builder, node.getLoc(), initial.getType(), ValueRange{goesOn, initial},
      builder.getStringAttr(kTrips), builder.getStringAttr(node.freshSymbol("sweep")),
      builder.getStrArrayAttr({}), toAttr(node.getContext(), Node::Shape()), builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&op.getBody(), {}, initial.getType(), node.getLoc());
  SizeFacts outside = emit.facts;
  auto [next, condition] = coupling.next(block->getArgument(0));
  endRegion(node, block, {condition, next}, {});
  emit.facts = std::move(outside);
  return op.getResult(0);
}

static LogicalResult svmClassifier(Node &node) {
  SmallVector<double> coefficients = readReals(node, "coefficients");
  SmallVector<double> vectors = readReals(node, "support_vectors"), rho = readReals(node, "rho");
  SmallVector<double> probA = readReals(node, "prob_a"), probB = readReals(node, "prob_b");
  SmallVector<int64_t> perClass = readIntegers(node, "vectors_per_class");
  FailureOr<ClassLabels> labels = ClassLabels::read(node, "classlabels_ints");
  FailureOr<Kernel> kernel = readKernel(node);
  FailureOr<PostTransform> transform = readPostTransform(node);
  if (failed(labels) || failed(kernel) || failed(transform))
    return failure();
  Emitter &emit = node.emit;
  int64_t classes = labels->size();
  int64_t count = 0;
  for (int64_t size : perClass) {
    // A vector has a number at least.
    int64_t most = int64_t(vectors.size()) - count;
    if (size < 0 || size > most)
      return node.error() << "attribute 'vectors_per_class' has the entry " << size
                          << ", expected 0 to " << most;
    count += size;
  }
  bool arePositive = llvm::all_of(coefficients, [](double value) { return value >= 0; });

  if (count == 0) {
    // Without support vectors it is a linear model.
    auto product = readProduct(node, coefficients, classes, "coefficients");
    if (failed(product) || failed(expectRho(node, rho, 1)))
      return failure();
    Value scores = affine(emit, product->first, product->second, rho);
    Value best = bestClass(emit, scores);
    if (classes == 2 && probA.empty()) {
      // ONNX Runtime: the second class where any score speaks for something.
      Value top = emit.reduce(ReduceKind::Max, scores, {1}, /*keepDims=*/true);
      Value speaks = arePositive ? emit.compare(CK::Ge, top, 0.5) : emit.compare(CK::Gt, top, 0.0);
      best = emit.select(emit.reshape(speaks, {sizeOf(scores, 0)}), emit.splatLike(best, 1), best);
    }
    return node.yield({labels->of(emit, best), transformScores(emit, scores, *transform)});
  }

  ClassPairs pairs(classes);
  if (int64_t(perClass.size()) != classes)
    return node.error() << "attribute 'vectors_per_class' has " << perClass.size()
                        << " entries, expected one for each of " << classes << " classes";
  if (int64_t(coefficients.size()) != (classes - 1) * count)
    return node.error() << "has " << coefficients.size() << " coefficients, expected "
                        << classes - 1 << " for each of " << count << " support vectors";
  if (classes < 2)
    return node.error() << "has support vectors of one class, expected at least two";
  if (probA.size() != probB.size() || (!probA.empty() && int64_t(probA.size()) != pairs.size()))
    return node.error() << "attributes 'prob_a' and 'prob_b' have " << probA.size() << " and "
                        << probB.size() << " entries, expected " << pairs.size();
  if (failed(expectRho(node, rho, pairs.size())))
    return failure();
  FailureOr<Value> kernels = applyKernel(node, *kernel, vectors, count);
  if (failed(kernels))
    return failure();
  SmallVector<double> weights = pairWeights(pairs, perClass, coefficients);
  Value scores =
      affine(emit, *kernels,
             makeReals(emit, {pairs.size(), count}, emit.builder.getF32Type(), weights), rho);
  Value best = labels->of(emit, bestClass(emit, countVotes(emit, scores, pairs)));
  if (!probA.empty())
    return node.yield(
        {best, transformScores(emit, coupleProbabilities(node, scores, pairs, probA, probB),
                               *transform)});
  if (classes == 2)
    return node.yield(
        {best, transformBoth(emit, scores, *transform != PostTransform::None, *transform)});
  return node.yield({best, transformScores(emit, scores, *transform)});
}

ArrayRef<OperatorRow> lumen::linearModelRows() {
  constexpr int64_t kNewest = OperatorRow::kNewest;
  static constexpr OperatorRow rows[] = {
      {"LinearClassifier", 1, 1, linearClassifier, "", 1, kNewest, kMlDomain},
      {"LinearRegressor", 1, 1, linearRegressor, "", 1, kNewest, kMlDomain},
      {"SVMClassifier", 1, 1, svmClassifier, "", 1, kNewest, kMlDomain},
      {"SVMRegressor", 1, 1, svmRegressor, "", 1, kNewest, kMlDomain},
  };
  return rows;
}
