//===- FuseLookups.cpp - products with one-hot matrices are gathers -------===//

#include "passes/graph/Constants.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_FUSELOOKUPS
#include "passes/graph/Passes.h.inc"
} // namespace lumen

static SymExpr lastSize(Value value) { return sizesOf(value).back(); }

/// True when element i along the last dimension is i, whatever the others are.
static bool isLastIndex(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    if (!broadcast.getDims().empty() && broadcast.getDims().back() == type.getRank() - 1)
      return isLastIndex(broadcast.getOperand()) &&
             lastSize(value) == lastSize(broadcast.getOperand());
  if (auto convert = value.getDefiningOp<ConvertOp>())
    // A narrow type could wrap an index.
    return isa<IntegerType>(type.getElementType()) && getElementBytes(type.getElementType()) >= 4 &&
           isLastIndex(convert.getOperand());
  if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    auto from = cast<RankedTensorType>(reshape.getOperand().getType());
    return from.getRank() && type.getRank() && lastSize(reshape.getOperand()) == lastSize(value) &&
           isLastIndex(reshape.getOperand());
  }
  if (auto iota = value.getDefiningOp<IotaOp>())
    return static_cast<int64_t>(iota.getAxis()) == type.getRank() - 1;
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : nullptr;
  if (!dense || !type.getRank())
    return false;
  int64_t next = 0, size = type.getShape().back();
  for (const APInt &element : dense) {
    // An index that the element type cannot hold would compare unequal.
    if (element.getActiveBits() > 62 || static_cast<int64_t>(element.getZExtValue()) != next)
      return false;
    next = (next + 1) % size;
  }
  return true;
}

static Value reshaped(OpBuilder &builder, Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return builder.createOrFold<ReshapeOp>(value.getLoc(), type, value);
}

/// The value without its last dimension, of which it does not depend; null when
/// it does.
static Value dropLastDim(OpBuilder &builder, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  int64_t last = type.getRank() - 1;
  SmallVector<int64_t> dims(broadcast.getDims());
  Value operand = broadcast.getOperand();
  auto from = cast<RankedTensorType>(operand.getType());
  if (!dims.empty() && dims.back() == last) {
    if (from.getShape().back() != 1)
      return {};
    dims.pop_back();
    from = tensorTypeOf(ArrayRef(sizesOf(from)).drop_back(), from.getElementType());
    operand = reshaped(builder, operand, from);
  }
  auto to = tensorTypeOf(ArrayRef(sizesOf(type)).drop_back(), type.getElementType());
  if (operand.getType() == to)
    return operand;
  return builder.createOrFold<BroadcastOp>(value.getLoc(), to, operand, dims);
}

namespace {

struct FuseOneHot : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ContractOp op, PatternRewriter &rewriter) const override {
    auto rhsType = cast<RankedTensorType>(op.getRhs().getType());
    if (op.getTransposeLhs() || op.getTransposeRhs() || op.getPacked() || rhsType.getRank() != 2 ||
        !rhsType.hasStaticShape())
      return failure();
    // Where a row of W is not finite the product is NaN, not a row: only
    // constants that are finite are looked up.
    if (!isFinite(op.getRhs()))
      return failure();
    // The product may see the one-hot matrix through a reshape that keeps rows.
    Value lhs = op.getLhs();
    while (auto reshape = lhs.getDefiningOp<ReshapeOp>()) {
      auto from = cast<RankedTensorType>(reshape.getOperand().getType());
      if (!from.getRank() || from.getShape().back() != rhsType.getDimSize(0))
        return failure();
      lhs = reshape.getOperand();
    }
    auto convert = lhs.getDefiningOp<ConvertOp>();
    auto compare = convert ? convert.getOperand().getDefiningOp<CompareOp>() : nullptr;
    if (!compare || compare.getKind() != CompareKind::Eq ||
        !isa<FloatType>(rhsType.getElementType()))
      return failure();
    auto indexType =
        dyn_cast<IntegerType>(cast<RankedTensorType>(compare.getLhs().getType()).getElementType());
    if (!indexType || indexType.isUnsigned() || indexType.getWidth() < 32)
      return failure();
    bool swapped = isLastIndex(compare.getLhs());
    if (!swapped && !isLastIndex(compare.getRhs()))
      return failure();
    Value indices = dropLastDim(rewriter, swapped ? compare.getRhs() : compare.getLhs());
    if (!indices)
      return failure();

    Location loc = op.getLoc();
    auto resultType = cast<RankedTensorType>(op.getType());
    Sizes rowSizes = sizesOf(resultType);
    rowSizes.pop_back();
    RankedTensorType rowsType = tensorTypeOf(rowSizes, indexType);
    indices = reshaped(rewriter, indices, rowsType);
    Value rows = GatherOp::create(rewriter, loc, resultType, op.getRhs(), indices, 0);

    // An index outside [0, K) matches no column, and the row is zero.
    auto splat = [&](RankedTensorType type, Attribute value) {
      return makeSplat(rewriter, loc, type, value);
    };
    RankedTensorType maskType = tensorTypeOf(rowSizes, rewriter.getI1Type());
    Value low = CompareOp::create(rewriter, loc, maskType, CompareKind::Ge, indices,
                                  splat(rowsType, IntegerAttr::get(indexType, 0)));
    Value high =
        CompareOp::create(rewriter, loc, maskType, CompareKind::Lt, indices,
                          splat(rowsType, IntegerAttr::get(indexType, rhsType.getDimSize(0))));
    Value inside = BinaryOp::create(rewriter, loc, maskType, BinaryKind::And, low, high);
    inside = BroadcastOp::create(
        rewriter, loc, tensorTypeOf(sizesOf(resultType), rewriter.getI1Type()), inside,
        llvm::to_vector(llvm::seq<int64_t>(0, rowsType.getRank())));
    Value zero = splat(resultType, FloatAttr::get(rhsType.getElementType(), 0.0));
    rewriter.replaceOpWithNewOp<SelectOp>(op, resultType, inside, rows, zero);
    return success();
  }

  static bool isFinite(Value weight) {
    std::optional<ConstantView> view = viewConstant(weight);
    if (!view || !view->type.getElementType().isF32())
      return false;
    std::vector<float> values(view->type.getNumElements());
    copyConstant(*view, reinterpret_cast<char *>(values.data()));
    return llvm::all_of(values, [](float value) { return std::isfinite(value); });
  }
};

struct FuseLookups : lumen::impl::FuseLookupsBase<FuseLookups> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseOneHot>(&getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(func, frozen)))
        return signalPassFailure();
  }
};

} // namespace
