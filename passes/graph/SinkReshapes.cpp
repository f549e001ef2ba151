//===- SinkReshapes.cpp - elementwise operations go in front of reshapes --===//

#include "passes/graph/Constants.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_SINKRESHAPES
#include "passes/graph/Passes.h.inc"
} // namespace lumen

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The vector that `value` repeats along every dimension but the last; null for
/// other values.
static Value getRepeatedRow(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || typeOf(broadcast.getOperand()).getRank() != 1 ||
      broadcast.getDims().front() != typeOf(value).getRank() - 1)
    return {};
  return broadcast.getOperand();
}

/// The value's constant if all its elements are equal; null otherwise.
static SplatElementsAttr getSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
}

/// The scalar that `value` repeats; null for other values.
static Value getRepeatedScalar(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast && typeOf(broadcast.getOperand()).getRank() == 0 ? broadcast.getOperand()
                                                                    : Value();
}

namespace {

struct SinkReshape : RewritePattern {
  explicit SinkReshape(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<UnaryOp, BinaryOp, CompareOp, SelectOp, ConvertOp>(op))
      return failure();
    // The cell of a recurrence has the form that its builder reads.
    Operation *parent = op->getParentOp();
    if (parent->hasTrait<OpTrait::IsIsolatedFromAbove>() && !isa<func::FuncOp>(parent))
      return failure();
    RankedTensorType shape;
    for (Value operand : op->getOperands())
      if (auto reshape = operand.getDefiningOp<ReshapeOp>())
        shape = typeOf(reshape.getOperand());
    RankedTensorType to = typeOf(op->getResult(0));
    if (!shape)
      return failure();
    Sizes sizes = sizesOf(shape);
    bool sameLast = shape.getRank() && to.getRank() && sizes.back() == sizesOf(to).back();

    bool follows = false;
    for (Value operand : op->getOperands()) {
      auto reshape = operand.getDefiningOp<ReshapeOp>();
      if (reshape && sizesOf(reshape.getOperand()) == sizes) {
        follows |= takesEpilogue(reshape.getOperand().getDefiningOp());
        continue;
      }
      if (!getSplat(operand) && !getRepeatedScalar(operand) &&
          !(sameLast && getRepeatedRow(operand)))
        return failure();
    }
    // What only feeds a reduction joins that one's kernel where it is.
    if (!follows || llvm::all_of(op->getUsers(), [](Operation *user) {
          return isa<ReduceOp, WindowOp, SoftmaxOp, NormOp>(user);
        }))
      return failure();

    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      RankedTensorType type = tensorTypeOf(sizes, typeOf(operand).getElementType());
      if (auto reshape = operand.getDefiningOp<ReshapeOp>())
        operands.push_back(reshape.getOperand());
      else if (SplatElementsAttr splat = getSplat(operand))
        operands.push_back(
            makeSplat(rewriter, op->getLoc(), type, splat.getSplatValue<Attribute>()));
      else if (Value scalar = getRepeatedScalar(operand))
        operands.push_back(
            BroadcastOp::create(rewriter, op->getLoc(), type, scalar, ArrayRef<int64_t>()));
      else
        operands.push_back(BroadcastOp::create(rewriter, op->getLoc(), type,
                                               getRepeatedRow(operand),
                                               ArrayRef<int64_t>{shape.getRank() - 1}));
    }
    OperationState state(op->getLoc(), op->getName(), operands,
                         {tensorTypeOf(sizes, to.getElementType())},
                         op->getAttrs());
    Operation *before = rewriter.create(state);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, to, before->getResult(0));
    return success();
  }

  /// True when an elementwise operation behind `op` would join its kernel.
  static bool takesEpilogue(Operation *op) {
    auto lumenOp = dyn_cast_or_null<LumenOpInterface>(op);
    if (!lumenOp)
      return false;
    switch (lumenOp.getFamily()) {
    case Family::Elementwise:
    case Family::Contraction:
    case Family::Convolution:
    case Family::Window:
    case Family::Reduction:
    case Family::Normalization:
      return true;
    case Family::Constant:
    case Family::Attention:
    case Family::Movement:
    case Family::Loops:
    case Family::Control:
      return false;
    }
    llvm_unreachable("unknown family");
  }
};

struct SinkReshapes : lumen::impl::SinkReshapesBase<SinkReshapes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkReshape>(&getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(func, frozen)))
        return signalPassFailure();
  }
};

} // namespace
