//===- FuseAttention.cpp - attention that is spelled out ------------------===//

#include "dialects/Lumen/AttentionRows.h"
#include "passes/graph/Constants.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_FUSEATTENTION
#include "passes/graph/Passes.h.inc"
} // namespace lumen

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {

/// What stands between the two products, in the shape of the scores.
struct Scores {
  ContractOp product;
  double scale = 1;
  Value mask; ///< what is added, or null
  /// A condition instead, and what is added where it is true and where it is false.
  Value condition;
  double onTrue = 0, onFalse = 0;
};

} // namespace

/// The value that is repeated to the four dimensions of `value`, with dimensions of 1 for those
/// along which it is.
static Value withoutRepetition(OpBuilder &builder, Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return value;
  Sizes from = sizesOf(broadcast.getOperand()), to = sizesOf(value), sizes(to.size(), SymExpr(1));
  for (auto [size, dim] : llvm::zip_equal(from, broadcast.getDims())) {
    // A size that may be 1 and the size that it is repeated to.
    if (!isOne(size) && size != to[dim])
      return value;
    sizes[dim] = size;
  }
  RankedTensorType type = tensorTypeOf(sizes, typeOf(value).getElementType());
  return builder.createOrFold<ReshapeOp>(value.getLoc(), type, broadcast.getOperand());
}

/// Whether a score is lost in this number when both are added.
static bool hides(std::optional<float> number) { return number && *number < -1e30f; }

/// Whether `value` is a product times constants.
static bool isScaledProduct(Value value) {
  while (auto binary = value.getDefiningOp<BinaryOp>())
    value = binary->getOperand(getSplatF32(binary.getLhs()) ? 1 : 0);
  return value.getDefiningOp<ContractOp>() != nullptr;
}

/// Follows `value`, which nothing reads but attention, to the first product.
static std::optional<Scores> matchScores(Value value) {
  Scores scores;
  while (value.hasOneUse()) {
    if (auto product = value.getDefiningOp<ContractOp>()) {
      scores.product = product;
      return scores;
    }
    // A factor of the mask as well is none of attention's.
    bool mayMask = !scores.mask && !scores.condition && scores.scale == 1;
    if (auto select = value.getDefiningOp<SelectOp>()) {
      std::optional<float> onTrue = getSplatF32(select.getOnTrue()),
                           onFalse = getSplatF32(select.getOnFalse());
      if (!mayMask || hides(onTrue) == hides(onFalse))
        return std::nullopt;
      scores.condition = select.getCondition();
      scores.onTrue = onTrue.value_or(0), scores.onFalse = onFalse.value_or(0);
      value = onTrue ? select.getOnFalse() : select.getOnTrue();
      continue;
    }
    auto binary = value.getDefiningOp<BinaryOp>();
    if (!binary)
      return std::nullopt;
    Value lhs = binary.getLhs(), rhs = binary.getRhs();
    if (binary.getKind() == BinaryKind::Add && mayMask) {
      if (!isScaledProduct(lhs))
        std::swap(lhs, rhs);
      scores.mask = rhs, value = lhs;
      continue;
    }
    if (binary.getKind() == BinaryKind::Mul && getSplatF32(lhs))
      std::swap(lhs, rhs);
    std::optional<float> factor = getSplatF32(rhs);
    if (!factor || !llvm::is_contained({BinaryKind::Mul, BinaryKind::Div}, binary.getKind()))
      return std::nullopt;
    scores.scale *= binary.getKind() == BinaryKind::Mul ? double(*factor) : 1 / double(*factor);
    value = lhs;
  }
  return std::nullopt;
}

/// The softmax of `value`, or what PyTorch makes of it: rows of NaN, of which all keys are
/// hidden, become zeros.
static SoftmaxOp matchSoftmax(Value value) {
  if (auto select = value.getDefiningOp<SelectOp>()) {
    auto test = select.getCondition().getDefiningOp<UnaryOp>();
    if (!value.hasOneUse() || !test || test.getKind() != UnaryKind::IsNan ||
        test.getOperand() != select.getOnFalse() || getSplatF32(select.getOnTrue()) != 0.0f)
      return {};
    auto softmax = select.getOnFalse().getDefiningOp<SoftmaxOp>();
    bool isAlone = softmax && llvm::all_of(softmax->getUsers(), [&](Operation *user) {
                     return user == select || user == test;
                   });
    return isAlone ? softmax : SoftmaxOp();
  }
  auto softmax = value.getDefiningOp<SoftmaxOp>();
  return softmax && value.hasOneUse() ? softmax : SoftmaxOp();
}

/// Whether a matrix of each batch and head is multiplied, and there is a kernel for it.
static bool isByHeads(ContractOp op) {
  auto isKnown = [](const SymExpr &size) { return size.asConstant().value_or(0) > 0; };
  Sizes sizes = sizesOf(op.getRhs());
  return typeOf(op.getLhs()).getRank() == 4 && sizes.size() == 4 && !op.getTransposeLhs() &&
         !op.getPacked() && typeOf(op).getElementType().isF32() && isKnown(sizes[1]);
}

static LogicalResult fuseAttention(ContractOp op, PatternRewriter &rewriter) {
  if (!isByHeads(op))
    return failure();
  SoftmaxOp softmax = matchSoftmax(op.getLhs());
  if (!softmax || softmax.getLog() || softmax.getAxis() != 3)
    return failure();
  std::optional<Scores> scores = matchScores(softmax.getOperand());
  if (!scores || !isByHeads(scores->product))
    return failure();
  ContractOp product = scores->product;
  auto isKnown = [](const SymExpr &size) { return size.asConstant().value_or(0) > 0; };
  if (!isKnown(sizesOf(product.getLhs())[3]) || !isKnown(sizesOf(op)[3]) ||
      !paysAsOneAttention(sizesOf(op)[2], 1))
    return failure();
  Location loc = op.getLoc();
  Value mask = scores->mask ? withoutRepetition(rewriter, scores->mask) : Value();
  if (scores->condition) {
    Value condition = withoutRepetition(rewriter, scores->condition);
    RankedTensorType type = typeOf(condition).clone(rewriter.getF32Type());
    auto splat = [&](double number) -> Value {
      auto scalar = RankedTensorType::get({}, rewriter.getF32Type());
      auto constant = ConstantOp::create(
          rewriter, loc, DenseElementsAttr::get(scalar, rewriter.getF32FloatAttr(number)));
      return BroadcastOp::create(rewriter, loc, type, constant, ArrayRef<int64_t>{});
    };
    mask = SelectOp::create(rewriter, loc, type, condition, splat(scores->onTrue),
                            splat(scores->onFalse));
  }
  auto dims = [&](bool areColumnsFirst) {
    return rewriter.getDenseI64ArrayAttr(areColumnsFirst ? ArrayRef<int64_t>{0, 1, 2, 3}
                                                         : ArrayRef<int64_t>{0, 1, 3, 2});
  };
  rewriter.replaceOpWithNewOp<AttentionOp>(
      op, op.getType(), product.getLhs(), product.getRhs(), op.getRhs(), mask, /*first=*/Value(),
      dims(true), dims(product.getTransposeRhs()), dims(!op.getTransposeRhs()), dims(true),
      rewriter.getF64FloatAttr(scores->scale), rewriter.getF64FloatAttr(0));
  return success();
}

namespace {

struct FuseAttention : lumen::impl::FuseAttentionBase<FuseAttention> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add(fuseAttention);
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(func, frozen)))
        return signalPassFailure();
  }
};

} // namespace
