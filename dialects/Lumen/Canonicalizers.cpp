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

/// The dimensions of `dims` of a transpose, where those of its operand lie.
static SmallVector<int64_t> dimsBefore(TransposeOp transpose, ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return transpose.getPerm()[dim]; });
}

/// attention(transpose(x)) -> attention(x): it reads heads where they lie
static LogicalResult readTransposed(AttentionOp op, PatternRewriter &rewriter) {
  bool changed = false;
  auto absorb = [&](OpOperand &operand, ArrayRef<int64_t> dims, auto setDims) {
    auto transpose = operand.get().getDefiningOp<TransposeOp>();
    if (!transpose)
      return;
    changed = true;
    rewriter.modifyOpInPlace(op, [&] {
      setDims(dimsBefore(transpose, dims));
      operand.set(transpose.getOperand());
    });
  };
  absorb(op.getQueryMutable(), op.getQueryDims(), [&](auto dims) { op.setQueryDims(dims); });
  absorb(op.getKeyMutable(), op.getKeyDims(), [&](auto dims) { op.setKeyDims(dims); });
  absorb(op.getValueMutable(), op.getValueDims(), [&](auto dims) { op.setValueDims(dims); });
  return success(changed);
}

/// transpose(attention(x)) -> attention(x), where nothing else reads that
static LogicalResult writeTransposed(AttentionOp op, PatternRewriter &rewriter) {
  if (!op->hasOneUse())
    return failure();
  auto transpose = dyn_cast<TransposeOp>(*op->user_begin());
  if (!transpose)
    return failure();
  SmallVector<int64_t> dims = llvm::map_to_vector(op.getResultDims(), [&](int64_t dim) {
    return static_cast<int64_t>(llvm::find(transpose.getPerm(), dim) -
                                transpose.getPerm().begin());
  });
  rewriter.modifyOpInPlace(op, [&] {
    op.setResultDims(dims);
    op.getResult().setType(transpose.getType());
  });
  rewriter.replaceOp(transpose, op.getResult());
  return success();
}

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(readTransposed);
  patterns.add(writeTransposed);
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
