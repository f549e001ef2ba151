//===- FuseRotations.cpp - rotary positions that are spelled out ----------===//

#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_FUSEROTATIONS
#include "passes/graph/Passes.h.inc"
} // namespace lumen

/// `count` elements of the last dimension from `offset` on.
static Value sliceLast(PatternRewriter &rewriter, Location loc, Value value, const SymExpr &offset,
                       const SymExpr &count) {
  Sizes sizes = sizesOf(value), offsets(sizes.size(), SymExpr(0));
  SmallVector<int64_t> strides(sizes.size(), 1);
  sizes.back() = count;
  offsets.back() = offset;
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  // Angles are the same for all heads: what is repeated is their slice, which fuses.
  auto repeat = value.getDefiningOp<BroadcastOp>();
  if (repeat && !repeat.getDims().empty() && repeat.getDims().back() == int64_t(sizes.size()) - 1 &&
      sizesOf(repeat.getOperand()).back() == sizesOf(value).back()) {
    Value part = sliceLast(rewriter, loc, repeat.getOperand(), offset, count);
    return BroadcastOp::create(rewriter, loc, tensorTypeOf(sizes, element), part, repeat.getDims());
  }
  return SliceOp::create(rewriter, loc, tensorTypeOf(sizes, element), value, offsets, strides);
}

/// Whether a value is elements of the last dimension of `x` from `offset` on.
static bool isSliceOf(Value value, Value x, const SymExpr &offset) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice || slice.getOperand() != x)
    return false;
  Sizes offsets = slice.getOffsetSizes(), from = sizesOf(x), to = sizesOf(slice);
  for (size_t dim = 0; dim + 1 < offsets.size(); ++dim)
    if (offsets[dim] != SymExpr(0) || from[dim] != to[dim])
      return false;
  return offsets.back() == offset &&
         llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride == 1; });
}

/// `concat(-x[n:], x[:n])` along the last dimension, of n elements each: n.
static std::optional<SymExpr> matchTurned(Value value, Value x) {
  auto concat = value.getDefiningOp<ConcatOp>();
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  if (!concat || !concat->hasOneUse() || concat.getInputs().size() != 2 ||
      int64_t(concat.getAxis()) != rank - 1)
    return std::nullopt;
  auto negated = concat.getInputs()[0].getDefiningOp<UnaryOp>();
  SymExpr half = sizesOf(concat.getInputs()[1]).back();
  if (!negated || negated.getKind() != UnaryKind::Neg || half * 2 != sizesOf(x).back() ||
      !isSliceOf(negated.getOperand(), x, half) || !isSliceOf(concat.getInputs()[1], x, 0))
    return std::nullopt;
  return half;
}

namespace {

struct FuseRotation : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() != BinaryKind::Add)
      return failure();
    for (unsigned side : {0, 1}) {
      auto straight = op->getOperand(side).getDefiningOp<BinaryOp>();
      auto turned = op->getOperand(1 - side).getDefiningOp<BinaryOp>();
      if (!straight || !turned || straight.getKind() != BinaryKind::Mul ||
          turned.getKind() != BinaryKind::Mul)
        continue;
      for (unsigned i : {0, 1})
        for (unsigned j : {0, 1}) {
          Value x = straight->getOperand(i), cosine = straight->getOperand(1 - i);
          Value sine = turned->getOperand(1 - j);
          std::optional<SymExpr> half = matchTurned(turned->getOperand(j), x);
          if (!half)
            continue;
          rotate(op, x, cosine, sine, *half, rewriter);
          return success();
        }
    }
    return failure();
  }

private:
  static void rotate(BinaryOp op, Value x, Value cosine, Value sine, const SymExpr &half,
                     PatternRewriter &rewriter) {
    Location loc = op.getLoc();
    auto first = [&](Value v) { return sliceLast(rewriter, loc, v, 0, half); };
    auto second = [&](Value v) { return sliceLast(rewriter, loc, v, half, half); };
    auto binary = [&](BinaryKind kind, Value a, Value b) -> Value {
      return BinaryOp::create(rewriter, loc, a.getType(), kind, a, b);
    };
    Value a = first(x), b = second(x);
    Value low = binary(BinaryKind::Sub, binary(BinaryKind::Mul, a, first(cosine)),
                       binary(BinaryKind::Mul, b, first(sine)));
    Value high = binary(BinaryKind::Add, binary(BinaryKind::Mul, b, second(cosine)),
                        binary(BinaryKind::Mul, a, second(sine)));
    int64_t axis = cast<RankedTensorType>(op.getType()).getRank() - 1;
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), ValueRange{low, high}, axis);
  }
};

struct FuseRotations : lumen::impl::FuseRotationsBase<FuseRotations> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseRotation>(&getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(func, frozen)))
        return signalPassFailure();
  }
};

} // namespace
