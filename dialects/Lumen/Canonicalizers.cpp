//===- Canonicalizers.cpp - rewrites that make new operations -------------===//

#include "dialects/Lumen/Lumen.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace lumen;

/// transpose that moves only dimensions of 1 -> reshape
static LogicalResult transposeOfUnits(TransposeOp op, PatternRewriter &rewriter) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  if (!from.hasStaticShape())
    return failure();
  SmallVector<int64_t> moved;
  for (int64_t dim : op.getPerm())
    if (from.getDimSize(dim) != 1)
      moved.push_back(dim);
  if (!llvm::is_sorted(moved))
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
  return success();
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(transposeOfUnits);
}

/// broadcast of a reshape that only adds or drops dimensions of 1 -> broadcast
static LogicalResult broadcastOfReshape(BroadcastOp op, PatternRewriter &rewriter) {
  auto reshape = op.getOperand().getDefiningOp<ReshapeOp>();
  if (!reshape)
    return failure();
  auto from = cast<RankedTensorType>(reshape.getOperand().getType());
  auto middle = cast<RankedTensorType>(reshape.getType());
  if (!from.hasStaticShape() || !middle.hasStaticShape())
    return failure();
  // Matches the dimensions that are not 1 in order; those of 1 must have gone
  // or come, so the operand may have none left.
  SmallVector<int64_t> dims;
  auto isOne = [](int64_t size) { return size == 1; };
  if (llvm::any_of(from.getShape(), isOne))
    return failure();
  for (auto [i, size] : llvm::enumerate(middle.getShape()))
    if (size != 1)
      dims.push_back(op.getDims()[i]);
  SmallVector<int64_t> sizes(llvm::make_filter_range(middle.getShape(), std::not_fn(isOne)));
  if (ArrayRef<int64_t>(sizes) != from.getShape())
    return failure();
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), reshape.getOperand(), dims);
  return success();
}

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(broadcastOfReshape);
}

/// concat(concat(a, b), c) -> concat(a, b, c), where nobody else reads the inner
/// one; empty inputs are dropped.
static LogicalResult flattenConcat(ConcatOp op, PatternRewriter &rewriter) {
  SmallVector<Value> inputs;
  for (Value input : op.getInputs()) {
    auto inner = input.getDefiningOp<ConcatOp>();
    if (inner && inner.getAxis() == op.getAxis() && inner->hasOneUse())
      llvm::append_range(inputs, inner.getInputs());
    else if (cast<RankedTensorType>(input.getType()).getDimSize(op.getAxis()) != 0)
      inputs.push_back(input);
  }
  if (inputs.empty() || inputs.size() == op.getInputs().size())
    return failure();
  rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), inputs, op.getAxisAttr());
  return success();
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(flattenConcat);
}
