//===- DropUnitDims.cpp - images of one row are sequences -----------------===//

#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_DROPUNITDIMS
#include "passes/graph/Passes.h.inc"
} // namespace lumen

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// `items` without those at `dims`, which are increasing.
template <typename Item>
static SmallVector<Item> dropped(ArrayRef<Item> items, ArrayRef<int64_t> dims) {
  SmallVector<Item> result;
  for (auto [i, item] : llvm::enumerate(items))
    if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      result.push_back(item);
  return result;
}

static RankedTensorType dropped(RankedTensorType type, ArrayRef<int64_t> dims) {
  return tensorTypeOf(dropped<SymExpr>(sizesOf(type), dims), type.getElementType());
}

namespace {

struct DropFromConv : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvOp op, PatternRewriter &rewriter) const override {
    RankedTensorType inputType = typeOf(op.getInput()), resultType = typeOf(op);
    if (op.getPacked())
      return failure();
    SmallVector<int64_t> spatial, dims;
    for (int64_t i = 0, e = op.getWindow().size(); i < e; ++i)
      if (op.getWindow()[i] == 1 && op.getPadLow()[i] == 0 && op.getPadHigh()[i] == 0 &&
          inputType.getDimSize(i + 1) == 1) {
        spatial.push_back(i);
        dims.push_back(i + 1);
      }
    if (spatial.empty() || spatial.size() == op.getWindow().size())
      return failure();
    RankedTensorType smallInput = dropped(inputType, dims), smallResult = dropped(resultType, dims);

    // Worth it only where the reshapes on both sides go away: one that stays
    // would keep neighbours out of the convolution's kernel.
    auto source = op.getInput().getDefiningOp<ReshapeOp>();
    if (!source || source.getOperand().getType() != smallInput ||
        !llvm::all_of(op->getUsers(), [&](Operation *user) {
          return isa<ReshapeOp>(user) && user->getResult(0).getType() == smallResult;
        }))
      return failure();

    auto attribute = [&](ArrayRef<int64_t> values) {
      return rewriter.getDenseI64ArrayAttr(dropped(values, spatial));
    };
    Value filter = ReshapeOp::create(rewriter, op.getLoc(),
                                     dropped(typeOf(op.getFilter()), spatial), op.getFilter());
    Value result = ConvOp::create(rewriter, op.getLoc(), smallResult, source.getOperand(), filter,
                                  attribute(op.getWindow()), attribute(op.getStrides()),
                                  attribute(op.getDilations()), attribute(op.getPadLow()),
                                  attribute(op.getPadHigh()), op.getGroupsAttr(), UnitAttr());
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      rewriter.replaceOp(user, result);
    rewriter.eraseOp(op);
    return success();
  }
};

struct DropUnitDims : lumen::impl::DropUnitDimsBase<DropUnitDims> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DropFromConv>(&getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(func, frozen)))
        return signalPassFailure();
  }
};

} // namespace
