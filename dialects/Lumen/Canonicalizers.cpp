//===- Canonicalizers.cpp - rewrites that make new operations -------------===//

#include "dialects/Lumen/Lumen.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace lumen;

/// transpose that moves only dimensions of 1 -> reshape
static LogicalResult transposeOfUnits(TransposeOp op, PatternRewriter &rewriter) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
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
  Sizes from = sizesOf(reshape.getOperand()), middle = sizesOf(reshape);
  // Matches the dimensions that are not 1 in order; those of 1 must have gone
  // or come, so the operand may have none left.
  SmallVector<int64_t> dims;
  if (llvm::any_of(from, isOne))
    return failure();
  Sizes kept;
  for (auto [i, size] : llvm::enumerate(middle))
    if (!isOne(size)) {
      kept.push_back(size);
      dims.push_back(op.getDims()[i]);
    }
  if (kept != from)
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

/// Whether a relation of sizes holds for every value of the symbols.
static bool isProven(CheckOp op) {
  SymExpr lhs = op.getLhsSize(), rhs = op.getRhsSize();
  if (!lhs.isValid() || !rhs.isValid())
    return false;
  switch (op.getKind()) {
  case CheckKind::Equal:
    return lhs == rhs;
  case CheckKind::Broadcast:
    return lhs == rhs || isOne(lhs) || isOne(rhs);
  case CheckKind::LessEqual:
    return (rhs - lhs).isNonNegative();
  }
  llvm_unreachable("all kinds return");
}

static LogicalResult eraseProven(CheckOp op, PatternRewriter &rewriter) {
  if (!isProven(op))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

void CheckOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(eraseProven);
}

/// sizes that are all numbers -> constant; drivers fold no constant themselves
static LogicalResult constantSizes(SizesOp op, PatternRewriter &rewriter) {
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(ArrayRef<Attribute>(), results)) || results.empty())
    return failure();
  auto value = dyn_cast_or_null<TypedAttr>(dyn_cast<Attribute>(results.front()));
  if (!value)
    return failure();
  rewriter.replaceOpWithNewOp<ConstantOp>(op, value);
  return success();
}

void SizesOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(constantSizes);
}

/// cast(cast(x)) -> cast(x)
static LogicalResult castOfCast(lumen::CastOp op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<lumen::CastOp>();
  if (!inner)
    return failure();
  rewriter.replaceOpWithNewOp<lumen::CastOp>(op, op.getType(), inner.getOperand());
  return success();
}

void lumen::CastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(castOfCast);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

void IfOp::getEffects(Effects &effects) {
  if (!getSymbols().empty())
    effects.emplace_back(MemoryEffects::Write::get());
}

void LoopOp::getEffects(Effects &effects) { effects.emplace_back(MemoryEffects::Write::get()); }
