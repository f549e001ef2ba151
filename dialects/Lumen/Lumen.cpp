//===- Lumen.cpp - registration and indexing maps of the lumen dialect ----===//

#include "dialects/Lumen/Lumen.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace lumen;

#include "dialects/Lumen/LumenDialect.cpp.inc"
#include "dialects/Lumen/LumenEnums.cpp.inc"
#include "dialects/Lumen/LumenInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Lumen/LumenAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Lumen/LumenOps.cpp.inc"

void LumenDialect::initialize() {
  blobs = std::make_shared<BlobTable>();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Lumen/LumenOps.cpp.inc"
      >();
}

void LumenDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Lumen/LumenAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Indexing maps
//===----------------------------------------------------------------------===//

static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

/// One identity map per operand: elementwise and whole-tensor normalisation.
static SmallVector<AffineMap> identityMaps(Operation *op) {
  int64_t rank = rankOf(op->getResult(0));
  return SmallVector<AffineMap>(op->getNumOperands(),
                                AffineMap::getMultiDimIdentityMap(rank, op->getContext()));
}

SmallVector<AffineMap> ConstantOp::getOperandMaps() { return {}; }
SmallVector<AffineMap> IotaOp::getOperandMaps() { return {}; }
SmallVector<AffineMap> UnaryOp::getOperandMaps() { return identityMaps(*this); }
SmallVector<AffineMap> BinaryOp::getOperandMaps() { return identityMaps(*this); }
SmallVector<AffineMap> CompareOp::getOperandMaps() { return identityMaps(*this); }
SmallVector<AffineMap> SelectOp::getOperandMaps() { return identityMaps(*this); }
SmallVector<AffineMap> ConvertOp::getOperandMaps() { return identityMaps(*this); }
SmallVector<AffineMap> SoftmaxOp::getOperandMaps() { return identityMaps(*this); }
SmallVector<AffineMap> NormOp::getOperandMaps() { return identityMaps(*this); }

SmallVector<AffineMap> BroadcastOp::getOperandMaps() {
  auto from = cast<RankedTensorType>(getOperand().getType());
  auto to = cast<RankedTensorType>(getType());
  SmallVector<AffineExpr> exprs;
  for (auto [i, dim] : llvm::enumerate(getDims()))
    exprs.push_back(from.getDimSize(i) == 1 && to.getDimSize(dim) != 1
                        ? getAffineConstantExpr(0, getContext())
                        : getAffineDimExpr(dim, getContext()));
  return {AffineMap::get(to.getRank(), 0, exprs, getContext())};
}

SmallVector<AffineMap> TransposeOp::getOperandMaps() {
  SmallVector<AffineExpr> exprs(getPerm().size());
  for (auto [i, dim] : llvm::enumerate(getPerm()))
    exprs[dim] = getAffineDimExpr(i, getContext());
  return {AffineMap::get(exprs.size(), 0, exprs, getContext())};
}

SmallVector<AffineMap> SliceOp::getOperandMaps() {
  SmallVector<AffineExpr> exprs;
  for (auto [i, pair] : llvm::enumerate(llvm::zip(getOffsets(), getStrides())))
    exprs.push_back(getAffineDimExpr(i, getContext()) * std::get<1>(pair) + std::get<0>(pair));
  return {AffineMap::get(exprs.size(), 0, exprs, getContext())};
}

SmallVector<AffineMap> ReduceOp::getOperandMaps() {
  int64_t kept = rankOf(getResult()), rank = rankOf(getOperand());
  SmallVector<AffineExpr> exprs;
  int64_t nextKept = 0, nextReduced = kept;
  for (int64_t i = 0; i < rank; ++i)
    exprs.push_back(getAffineDimExpr(llvm::is_contained(getAxes(), i) ? nextReduced++ : nextKept++,
                                     getContext()));
  return {AffineMap::get(rank, 0, exprs, getContext())};
}

SmallVector<AffineMap> WindowOp::getOperandMaps() {
  int64_t rank = rankOf(getOperand());
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0; i < rank; ++i)
    exprs.push_back(getAffineDimExpr(i, getContext()) * getStrides()[i] +
                    getAffineDimExpr(rank + i, getContext()) * getDilations()[i] - getPadLow()[i]);
  return {AffineMap::get(2 * rank, 0, exprs, getContext())};
}

SmallVector<AffineMap> ContractOp::getOperandMaps() {
  if (getPacked())
    return {};
  int64_t rank = rankOf(getResult());
  AffineExpr m = getAffineDimExpr(rank - 2, getContext()),
             n = getAffineDimExpr(rank - 1, getContext()), k = getAffineDimExpr(rank, getContext());
  SmallVector<AffineExpr> lhs, rhs;
  for (int64_t i = 0; i + 2 < rank; ++i) {
    lhs.push_back(getAffineDimExpr(i, getContext()));
    if (rankOf(getRhs()) > 2)
      rhs.push_back(lhs.back());
  }
  auto pair = [](SmallVector<AffineExpr> &exprs, AffineExpr a, AffineExpr b, bool swap) {
    exprs.push_back(swap ? b : a);
    exprs.push_back(swap ? a : b);
  };
  pair(lhs, m, k, getTransposeLhs());
  pair(rhs, k, n, getTransposeRhs());
  return {AffineMap::get(rank + 1, 0, lhs, getContext()),
          AffineMap::get(rank + 1, 0, rhs, getContext())};
}

// The accesses of these are not affine in the result's index, or need more than
// one map; their builders know them by name.
SmallVector<AffineMap> ConvOp::getOperandMaps() { return {}; }
SmallVector<AffineMap> ReshapeOp::getOperandMaps() { return {}; }
SmallVector<AffineMap> ConcatOp::getOperandMaps() { return {}; }
SmallVector<AffineMap> PadOp::getOperandMaps() { return {}; }
SmallVector<AffineMap> GatherOp::getOperandMaps() { return {}; }

int64_t ConvOp::getChannels() {
  return cast<RankedTensorType>(getInput().getType()).getShape().back();
}
int64_t ConvOp::getOutputChannels() { return cast<RankedTensorType>(getType()).getShape().back(); }
