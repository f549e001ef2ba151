//===- FoldConstants.cpp - operations on constants of any size ------------===//

#include "passes/graph/Constants.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "passes/graph/Passes.h.inc"
} // namespace lumen

/// What `pack-weights` reads: the weight of a convolution or contraction, of f32 or small
/// integers, perhaps rearranged.
static bool isWeightOnly(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  if (!(element.isF32() || element.isInteger(8) || element.isInteger(16)) || value.use_empty())
    return false;
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<TransposeOp, ReshapeOp, SliceOp>(user))
      return isWeightOnly(user->getResult(0));
    if (auto contract = dyn_cast<ContractOp>(user))
      return use.getOperandNumber() == 1 &&
             cast<RankedTensorType>(use.get().getType()).getRank() == 2;
    return isa<ConvOp>(user) && use.getOperandNumber() == 1;
  });
}

static Value copied(OpBuilder &builder, Operation *op, const ConstantView &view) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (view.isSplat())
    return makeSplat(builder, op->getLoc(), type, view);
  return makeConstant(builder, op->getLoc(), type,
                      [&](MutableArrayRef<char> bytes) { copyConstant(view, bytes.data()); });
}

static Value foldRearrangement(OpBuilder &builder, Operation *op) {
  if (isWeightOnly(op->getResult(0)) && viewConstant(op->getResult(0)))
    return {};
  if (std::optional<ConstantView> view = viewConstant(op->getResult(0)))
    return copied(builder, op, *view);
  // A reshape of something that is no view: copy that first, then retype.
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (!reshape)
    return {};
  std::optional<ConstantView> from = viewConstant(reshape.getOperand());
  if (!from)
    return {};
  return makeConstant(builder, op->getLoc(), cast<RankedTensorType>(reshape.getType()),
                      [&](MutableArrayRef<char> bytes) { copyConstant(*from, bytes.data()); });
}

static Value foldConcat(OpBuilder &builder, ConcatOp op) {
  SmallVector<ConstantView> views;
  for (Value input : op.getInputs()) {
    std::optional<ConstantView> view = viewConstant(input);
    if (!view)
      return {};
    views.push_back(std::move(*view));
  }
  auto type = cast<RankedTensorType>(op.getType());
  return makeConstant(builder, op.getLoc(), type, [&](MutableArrayRef<char> out) {
    int64_t bytes = getElementBytes(type.getElementType()), outer = 1, inner = bytes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      (dim < static_cast<int64_t>(op.getAxis()) ? outer : inner) *= type.getDimSize(dim);
    int64_t place = 0;
    for (ConstantView &view : views) {
      std::vector<char> part(view.type.getNumElements() * bytes);
      copyConstant(view, part.data());
      int64_t run = part.size() / outer;
      for (int64_t i = 0; i < outer; ++i)
        std::copy_n(part.data() + i * run, run, out.data() + i * inner + place);
      place += run;
    }
  });
}

namespace {
struct FoldConstants : lumen::impl::FoldConstantsBase<FoldConstants> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      func.walk<WalkOrder::PreOrder>([](Block *block) { fold(*block); });
      eraseDeadOperations(func);
    }
  }

  static void fold(Block &block) {
    OpBuilder builder(block.getParentOp()->getContext());
    for (Operation &op : llvm::make_early_inc_range(block)) {
      // What has a size that only the run knows is no constant, whatever it moves.
      auto type = op.getNumResults() == 1 ? dyn_cast<RankedTensorType>(op.getResult(0).getType())
                                          : RankedTensorType();
      if (!type || !type.hasStaticShape())
        continue;
      builder.setInsertionPoint(&op);
      Value result;
      if (isa<TransposeOp, ReshapeOp, SliceOp>(op))
        result = foldRearrangement(builder, &op);
      else if (auto concat = dyn_cast<ConcatOp>(op))
        result = foldConcat(builder, concat);
      else if (isa<UnaryOp, BinaryOp, ConvertOp>(op))
        result = evaluateElementwise(builder, &op);
      else if (auto reduce = dyn_cast<ReduceOp>(op))
        result = evaluateSum(builder, reduce);
      if (result)
        op.getResult(0).replaceAllUsesWith(result);
    }
  }
};
} // namespace
