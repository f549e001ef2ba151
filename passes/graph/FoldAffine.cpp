//===- FoldAffine.cpp - factors and offsets go into the weights -----------===//

#include "passes/graph/Constants.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_FOLDAFFINE
#include "passes/graph/Passes.h.inc"
} // namespace lumen

/// A binary op of one kind with a constant on one side.
struct WithConstant {
  BinaryOp op;
  Value variable, constant;
};

static bool isConstant(Value value) { return viewRepeated(value).has_value(); }

static std::optional<WithConstant> match(Value value, BinaryKind kind) {
  auto op = value.getDefiningOp<BinaryOp>();
  if (!op || op.getKind() != kind)
    return std::nullopt;
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  if (!element.isF32() && !element.isF64() && !element.isF16() && !element.isBF16())
    return std::nullopt;
  bool left = isConstant(op.getLhs()), right = isConstant(op.getRhs());
  if (left == right)
    return std::nullopt;
  return left ? WithConstant{op, op.getRhs(), op.getLhs()}
              : WithConstant{op, op.getLhs(), op.getRhs()};
}

/// `lhs kind rhs` of two constants, evaluated.
static Value combine(PatternRewriter &rewriter, Location loc, BinaryKind kind, Value lhs,
                     Value rhs) {
  auto op = BinaryOp::create(rewriter, loc, lhs.getType(), kind, lhs, rhs);
  Value result = evaluateElementwise(rewriter, op);
  rewriter.eraseOp(op);
  return result;
}

/// A convolution or contraction whose weight is a constant that may be scaled.
static bool isWeighted(Operation *op) {
  if (auto conv = dyn_cast_or_null<ConvOp>(op))
    return !conv.getPacked() && viewConstant(conv.getFilter());
  if (auto contract = dyn_cast_or_null<ContractOp>(op))
    return !contract.getPacked() && viewConstant(contract.getRhs());
  return false;
}

namespace {

/// The different values of a constant of f32; empty for other types.
std::vector<float> valuesOf(Value constant) {
  ConstantView view = *viewRepeated(constant);
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < view.type.getRank(); ++dim)
    if (!view.isConstantAlong(dim))
      kept.push_back(dim);
  view = view.restrictedTo(kept);
  if (!view.type.getElementType().isF32())
    return {};
  std::vector<float> values(view.type.getNumElements());
  copyConstant(view, reinterpret_cast<char *>(values.data()));
  return values;
}

/// The least and the largest magnitude in a constant, zeros aside; 1 and 1 where
/// there is none.
std::pair<double, double> magnitudesOf(Value constant) {
  double least = 1, largest = 1;
  bool isFirst = true;
  for (float value : valuesOf(constant)) {
    double magnitude = std::abs(value);
    if (magnitude == 0)
      continue;
    least = isFirst ? magnitude : std::min(least, magnitude);
    largest = isFirst ? magnitude : std::max(largest, magnitude);
    isFirst = false;
  }
  return {least, largest};
}

/// The product of two factors may leave the normal numbers although the product of
/// either with what it is meant for does not.
bool hasNormalProduct(Value a, Value b) {
  auto [leastA, largestA] = magnitudesOf(a);
  auto [leastB, largestB] = magnitudesOf(b);
  return leastA * leastB >= std::numeric_limits<float>::min() &&
         largestA * largestB <= std::numeric_limits<float>::max();
}

/// Adding a large number and taking it away again rounds on purpose:
/// `(x + 1.5*2^23) - 1.5*2^23` is the nearest integer. The sum of such constants
/// is small where each is large; no batch normalisation has offsets like these.
bool roundsOnPurpose(Value a, Value b) {
  constexpr double large = 1024;
  return magnitudesOf(a).second >= large && magnitudesOf(b).second >= large;
}

/// `(x kind c1) kind c2` is `x kind (c1 kind c2)`.
struct MergeConstants : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() != BinaryKind::Add && op.getKind() != BinaryKind::Mul)
      return failure();
    auto outer = match(op, op.getKind());
    if (!outer || !outer->variable.hasOneUse())
      return failure();
    auto inner = match(outer->variable, op.getKind());
    if (!inner)
      return failure();
    if (op.getKind() == BinaryKind::Add && roundsOnPurpose(inner->constant, outer->constant))
      return failure();
    if (op.getKind() == BinaryKind::Mul && !hasNormalProduct(inner->constant, outer->constant))
      return failure();
    Value constant = combine(rewriter, op.getLoc(), op.getKind(), inner->constant, outer->constant);
    rewriter.replaceOpWithNewOp<BinaryOp>(op, op.getType(), op.getKind(), inner->variable,
                                          constant);
    return success();
  }
};

/// `(x + c1) * c2` is `x * c2 + c1*c2`. Only where the factor then meets another
/// one: elsewhere it would lose precision for nothing.
struct DistributeFactor : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    auto outer = match(op, BinaryKind::Mul);
    if (!outer || !outer->variable.hasOneUse())
      return failure();
    auto inner = match(outer->variable, BinaryKind::Add);
    if (!inner || !inner->variable.hasOneUse())
      return failure();
    if (!isWeighted(inner->variable.getDefiningOp()) && !match(inner->variable, BinaryKind::Mul))
      return failure();
    Value offset =
        combine(rewriter, op.getLoc(), BinaryKind::Mul, inner->constant, outer->constant);
    Value product = BinaryOp::create(rewriter, op.getLoc(), op.getType(), BinaryKind::Mul,
                                     inner->variable, outer->constant);
    rewriter.replaceOpWithNewOp<BinaryOp>(op, op.getType(), BinaryKind::Add, product, offset);
    return success();
  }
};

/// `conv(x, W) * c` is `conv(x, W*c)` for a factor per output channel.
struct ScaleWeights : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    auto product = match(op, BinaryKind::Mul);
    if (!product || !product->variable.hasOneUse())
      return failure();
    Operation *weighted = product->variable.getDefiningOp();
    if (!isWeighted(weighted))
      return failure();
    ConstantView factor = *viewRepeated(product->constant);
    int64_t rank = factor.type.getRank();
    for (int64_t dim = 0; dim + 1 < rank; ++dim)
      if (!factor.isConstantAlong(dim))
        return failure();

    // The factor goes behind the transposes of the weight: the scaled constant is
    // then written in the order in which it is read.
    auto contract = dyn_cast<ContractOp>(weighted);
    Value weight = weighted->getOperand(1);
    int64_t weightRank = cast<RankedTensorType>(weight.getType()).getRank();
    int64_t channelDim = weightRank - (contract && contract.getTransposeRhs() ? 2 : 1);
    SmallVector<TransposeOp> transposes;
    while (auto transpose = weight.getDefiningOp<TransposeOp>()) {
      channelDim = transpose.getPerm()[channelDim];
      weight = transpose.getOperand();
      transposes.push_back(transpose);
    }
    auto weightType = cast<RankedTensorType>(weight.getType());
    Value repeated;
    if (factor.isSplat()) {
      repeated = makeSplat(rewriter, op.getLoc(), weightType, factor);
    } else {
      ConstantView row = factor.restrictedTo({rank - 1});
      Value vector =
          makeConstant(rewriter, op.getLoc(), row.type,
                       [&](MutableArrayRef<char> bytes) { copyConstant(row, bytes.data()); });
      repeated = BroadcastOp::create(rewriter, op.getLoc(), weightType, vector,
                                     ArrayRef<int64_t>{channelDim});
    }
    Value scaled = combine(rewriter, op.getLoc(), BinaryKind::Mul, weight, repeated);
    for (TransposeOp transpose : llvm::reverse(transposes))
      scaled = TransposeOp::create(rewriter, transpose.getLoc(), transpose.getType(), scaled,
                                   transpose.getPerm());
    Operation *moved = rewriter.clone(*weighted);
    moved->setOperand(1, scaled);
    moved->setLoc(rewriter.getFusedLoc({weighted->getLoc(), op.getLoc()}));
    rewriter.replaceOp(op, moved->getResults());
    return success();
  }
};

/// `x - c` is `x + -c`; `x / c` is `x * (1/c)` where that is exact, or where the
/// factor then meets a weight or another factor. Elsewhere it would round twice, and
/// `floor(x / c)` may be off by one.
struct UseAddAndMul : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    bool isSub = op.getKind() == BinaryKind::Sub;
    if (!isSub && op.getKind() != BinaryKind::Div)
      return failure();
    auto product = match(op, op.getKind());
    if (!product || product->constant != op.getRhs())
      return failure();
    if (!isSub && !mayInvert(product->variable, op.getRhs()))
      return failure();
    auto unary = UnaryOp::create(rewriter, op.getLoc(), op.getType(),
                                 isSub ? UnaryKind::Neg : UnaryKind::Reciprocal, op.getRhs());
    Value constant = evaluateElementwise(rewriter, unary);
    rewriter.eraseOp(unary);
    rewriter.replaceOpWithNewOp<BinaryOp>(
        op, op.getType(), isSub ? BinaryKind::Add : BinaryKind::Mul, op.getLhs(), constant);
    return success();
  }

private:
  static bool mayInvert(Value dividend, Value divisor) {
    std::vector<float> values = valuesOf(divisor);
    auto isNormal = [](float value) { return std::isnormal(1.0f / value); };
    if (values.empty() || !llvm::all_of(values, isNormal))
      return false;
    auto isPowerOfTwo = [](float value) {
      int exponent;
      return std::abs(std::frexp(value, &exponent)) == 0.5f;
    };
    bool meetsFactor = dividend.hasOneUse() &&
                       (isWeighted(dividend.getDefiningOp()) || match(dividend, BinaryKind::Mul));
    return meetsFactor || llvm::all_of(values, isPowerOfTwo);
  }
};

/// `contract(x * c, y)` is `contract(x, y) * c` for a number c and an operand that lies in
/// memory, such as a cache of keys: the factor costs nothing behind the product, and a pass over
/// the operand before it.
struct HoistFactor : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ContractOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (!type.getElementType().isF32() && !type.getElementType().isF64())
      return failure();
    for (Value operand : {op.getLhs(), op.getRhs()}) {
      Value value = operand;
      while (value.hasOneUse() && isa_and_nonnull<TransposeOp, ReshapeOp>(value.getDefiningOp()))
        value = value.getDefiningOp()->getOperand(0);
      auto product = match(value, BinaryKind::Mul);
      if (!product || !value.hasOneUse() || !isStored(product->variable))
        continue;
      ConstantView factor = *viewRepeated(product->constant);
      if (!factor.isSplat())
        continue;
      rewriter.setInsertionPointAfter(op);
      Value repeated = makeSplat(rewriter, product->op.getLoc(), type, factor);
      rewriter.replaceOp(product->op, product->variable);
      auto scaled = BinaryOp::create(rewriter, op.getLoc(), type, BinaryKind::Mul, op, repeated);
      rewriter.replaceAllUsesExcept(op, scaled, scaled);
      return success();
    }
    return failure();
  }

private:
  /// Whether no kernel makes the value that could multiply on its way.
  static bool isStored(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (isa<ConcatOp>(op))
        return true;
      if (!isa<TransposeOp, ReshapeOp, SliceOp, lumen::CastOp>(op))
        return false;
      value = op->getOperand(0);
    }
    return true;
  }
};

struct FoldAffine : lumen::impl::FoldAffineBase<FoldAffine> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MergeConstants, DistributeFactor, ScaleWeights, UseAddAndMul, HoistFactor>(
        &getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(func, frozen)))
        return signalPassFailure();
  }
};

} // namespace
