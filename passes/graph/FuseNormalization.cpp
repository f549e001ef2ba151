//===- FuseNormalization.cpp - softmax and norms that are spelled out -----===//
//
// A statistic (maximum, sum, mean, variance) is a reduction that is repeated
// along the reduced dimensions before it meets the tensor again. The repetition
// may stand anywhere in its chain of elementwise operations, so the matchers walk
// it with a cursor that knows which dimension of the tensor each dimension is.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Constants.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_FUSENORMALIZATION
#include "passes/graph/Passes.h.inc"
} // namespace lumen

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {

/// A value whose dimension `i` runs along dimension `dims[i]` of the tensor that
/// is normalised; -1 where it has one element.
struct Cursor {
  Value value;
  SmallVector<int64_t> dims;

  static Cursor start(Value value) {
    return {value, llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()))};
  }

  /// Steps over repetitions and reshapes that add or drop unit dimensions.
  Cursor peeled() const {
    Cursor cursor = *this;
    while (true) {
      if (auto broadcast = cursor.value.getDefiningOp<BroadcastOp>()) {
        Sizes from = sizesOf(broadcast.getOperand()), to = sizesOf(broadcast);
        SmallVector<int64_t> next;
        for (auto [i, dim] : llvm::enumerate(broadcast.getDims())) {
          // A size that may be 1 and the size that it is repeated to.
          if (!isOne(from[i]) && from[i] != to[dim])
            return cursor;
          next.push_back(isOne(from[i]) ? -1 : cursor.dims[dim]);
        }
        cursor = {broadcast.getOperand(), next};
        continue;
      }
      auto reshape = cursor.value.getDefiningOp<ReshapeOp>();
      if (!reshape)
        return cursor;
      Sizes to = sizesOf(reshape), from = sizesOf(reshape.getOperand()), sizes;
      SmallVector<int64_t> next;
      for (auto [size, dim] : llvm::zip(to, cursor.dims))
        if (!isOne(size)) {
          next.push_back(dim);
          sizes.push_back(size);
        }
      SmallVector<int64_t> dims;
      size_t used = 0;
      for (const SymExpr &size : from) {
        if (isOne(size)) {
          dims.push_back(-1);
          continue;
        }
        if (used == sizes.size() || sizes[used] != size)
          return cursor;
        dims.push_back(next[used++]);
      }
      cursor = {reshape.getOperand(), dims};
    }
  }

  Cursor operand(unsigned index) const { return {value.getDefiningOp()->getOperand(index), dims}; }

  template <typename Op> Op op() const { return value.getDefiningOp<Op>(); }
  bool isUnary(UnaryKind kind) const { return op<UnaryOp>() && op<UnaryOp>().getKind() == kind; }
  bool isBinary(BinaryKind kind) const {
    return op<BinaryOp>() && op<BinaryOp>().getKind() == kind;
  }

  /// The other operand of a commutative `kind` with a splat, and the splat.
  std::optional<std::pair<Cursor, double>> withSplat(BinaryKind kind) const {
    if (!isBinary(kind))
      return std::nullopt;
    for (unsigned side : {0, 1})
      if (std::optional<float> splat = getSplatF32(operand(side).value))
        return std::make_pair(operand(1 - side).peeled(), *splat);
    return std::nullopt;
  }
};

} // namespace

/// The reduction at the cursor, when what remains of the tensor lies where the
/// tensor has it.
static ReduceOp matchReduce(const Cursor &cursor, ReduceKind kind, ArrayRef<int64_t> axes) {
  auto reduce = cursor.op<ReduceOp>();
  if (!reduce || reduce.getKind() != kind || (!axes.empty() && reduce.getAxes() != axes))
    return {};
  int64_t kept = 0;
  for (int64_t dim = 0; dim < typeOf(reduce.getOperand()).getRank(); ++dim) {
    if (llvm::is_contained(reduce.getAxes(), dim))
      continue;
    if (typeOf(reduce).getDimSize(kept) != 1 && cursor.dims[kept] != dim)
      return {};
    ++kept;
  }
  return reduce;
}

static SymExpr countReduced(ReduceOp reduce) {
  SymExpr count(1);
  for (int64_t axis : reduce.getAxes())
    count *= sizeOf(reduce.getOperand(), axis);
  return count;
}

/// Whether every element of an f32 value is this number.
static bool isCount(Value value, const SymExpr &count) {
  if (std::optional<int64_t> constant = count.asConstant())
    return getSplatF32(value) == static_cast<float>(*constant);
  while (Operation *op = value.getDefiningOp()) {
    if (auto sizes = dyn_cast<SizesOp>(op))
      return llvm::all_of(sizes.getExpressions(),
                          [&](const SymExpr &size) { return size == count; });
    if (!isa<BroadcastOp, ReshapeOp, ConvertOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// The sum behind a mean: `sum / n` or `sum * (1/n)`.
static ReduceOp matchMean(Cursor cursor, ArrayRef<int64_t> axes) {
  cursor = cursor.peeled();
  if (cursor.isBinary(BinaryKind::Div)) {
    ReduceOp sum = matchReduce(cursor.operand(0).peeled(), ReduceKind::Sum, axes);
    return sum && isCount(cursor.operand(1).value, countReduced(sum)) ? sum : ReduceOp();
  }
  auto product = cursor.withSplat(BinaryKind::Mul);
  if (!product)
    return {};
  ReduceOp sum = matchReduce(product->first, ReduceKind::Sum, axes);
  std::optional<int64_t> count = sum ? countReduced(sum).asConstant() : std::nullopt;
  return count && product->second == static_cast<float>(1.0 / *count) ? sum : ReduceOp();
}

/// The operand of a square: `x * x` or `pow(x, 2)`.
static std::optional<Cursor> matchSquare(Cursor cursor) {
  cursor = cursor.peeled();
  if (cursor.isBinary(BinaryKind::Mul) && cursor.operand(0).value == cursor.operand(1).value)
    return cursor.operand(0).peeled();
  if (cursor.isBinary(BinaryKind::Pow) && getSplatF32(cursor.operand(1).value) == 2.0)
    return cursor.operand(0).peeled();
  return std::nullopt;
}

/// What the reciprocal square root at the cursor is taken of.
static std::optional<Cursor> matchRsqrt(Cursor cursor) {
  cursor = cursor.peeled();
  auto ofSqrt = [](Cursor inner) -> std::optional<Cursor> {
    inner = inner.peeled();
    if (inner.isUnary(UnaryKind::Sqrt))
      return inner.operand(0).peeled();
    return std::nullopt;
  };
  if (cursor.isUnary(UnaryKind::Rsqrt) ||
      (cursor.isBinary(BinaryKind::Pow) && getSplatF32(cursor.operand(1).value) == -0.5f))
    return cursor.operand(0).peeled();
  if (cursor.isUnary(UnaryKind::Reciprocal))
    return ofSqrt(cursor.operand(0));
  if (cursor.isBinary(BinaryKind::Div) && getSplatF32(cursor.operand(0).value) == 1.0)
    return ofSqrt(cursor.operand(1));
  return std::nullopt;
}

namespace {

/// `x - mean(x)`.
struct Centered {
  Value tensor;
  ReduceOp sum;
};

struct Normalized {
  NormKind kind;
  Value tensor;
  int64_t axis;
  double epsilon;
};

} // namespace

static std::optional<Centered> matchCentered(Value value) {
  auto sub = value.getDefiningOp<BinaryOp>();
  if (!sub || sub.getKind() != BinaryKind::Sub)
    return std::nullopt;
  ReduceOp sum = matchMean(Cursor::start(sub.getRhs()), {});
  if (!sum || sum.getOperand() != sub.getLhs())
    return std::nullopt;
  return Centered{sub.getLhs(), sum};
}

/// The axis from which all dimensions are reduced.
static std::optional<int64_t> getTrailingAxis(ReduceOp reduce) {
  int64_t rank = typeOf(reduce.getOperand()).getRank(), count = reduce.getAxes().size();
  if (count == 0 || reduce.getAxes().front() != rank - count)
    return std::nullopt;
  return rank - count;
}

/// Matches `deviation`, the value that multiplies `numerator` (or, inverted,
/// divides it), as the reciprocal deviation of the tensor behind `numerator`.
static std::optional<Normalized> matchNorm(Value numerator, Cursor deviation, bool divides) {
  std::optional<Cursor> variance;
  if (!divides) {
    variance = matchRsqrt(deviation);
  } else {
    deviation = deviation.peeled();
    if (deviation.isUnary(UnaryKind::Sqrt))
      variance = deviation.operand(0).peeled();
  }
  if (!variance)
    return std::nullopt;
  auto sum = variance->withSplat(BinaryKind::Add);
  if (!sum || !(sum->second >= 0))
    return std::nullopt;
  Cursor cursor = sum->first;
  if (auto clamped = cursor.withSplat(BinaryKind::Max); clamped && clamped->second == 0)
    cursor = clamped->first;

  // rms: the mean of squares of the numerator itself.
  if (ReduceOp squares = matchMean(cursor, {})) {
    Cursor squared = Cursor::start(squares.getOperand());
    std::optional<int64_t> axis = getTrailingAxis(squares);
    std::optional<Cursor> base = matchSquare(squared);
    if (!axis || !base)
      return std::nullopt;
    if (auto centered = matchCentered(numerator)) {
      // layer: the numerator may be computed twice.
      auto again = matchCentered(base->value);
      if (again && again->tensor == centered->tensor && again->sum.getAxes() == squares.getAxes() &&
          centered->sum.getAxes() == squares.getAxes())
        return Normalized{NormKind::Layer, centered->tensor, *axis, sum->second};
    }
    if (base->value == numerator)
      return Normalized{NormKind::Rms, numerator, *axis, sum->second};
    return std::nullopt;
  }

  // layer: mean(x^2) - mean(x)^2.
  auto centered = matchCentered(numerator);
  if (!centered || !cursor.isBinary(BinaryKind::Sub))
    return std::nullopt;
  ArrayRef<int64_t> axes = centered->sum.getAxes();
  std::optional<int64_t> axis = getTrailingAxis(centered->sum);
  ReduceOp squares = matchMean(cursor.operand(0), axes);
  std::optional<Cursor> mean = matchSquare(cursor.operand(1));
  if (!axis || !squares || !mean)
    return std::nullopt;
  std::optional<Cursor> base = matchSquare(Cursor::start(squares.getOperand()));
  ReduceOp meanSum = matchMean(*mean, axes);
  if (!base || base->value != centered->tensor || !meanSum ||
      meanSum.getOperand() != centered->tensor)
    return std::nullopt;
  return Normalized{NormKind::Layer, centered->tensor, *axis, sum->second};
}

namespace {

struct FuseNorm : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    if (!typeOf(op).getElementType().isF32())
      return failure();
    std::optional<Normalized> norm;
    Value scale;
    if (op.getKind() == BinaryKind::Div) {
      norm = matchNorm(op.getLhs(), Cursor::start(op.getRhs()), /*divides=*/true);
    } else if (op.getKind() == BinaryKind::Mul) {
      for (unsigned side : {0, 1}) {
        Value numerator = op->getOperand(side), factor = op->getOperand(1 - side);
        norm = matchNorm(numerator, Cursor::start(factor), /*divides=*/false);
        if (norm)
          break;
        // The scale may have been applied to the deviation first.
        auto product = factor.getDefiningOp<BinaryOp>();
        if (!product || product.getKind() != BinaryKind::Mul)
          continue;
        for (unsigned inner : {0, 1}) {
          norm = matchNorm(numerator, Cursor::start(product->getOperand(inner)),
                           /*divides=*/false);
          scale = product->getOperand(1 - inner);
          if (norm)
            break;
        }
        if (norm)
          break;
        scale = {};
      }
    }
    if (!norm)
      return failure();
    Value result = NormOp::create(rewriter, op.getLoc(), op.getType(), norm->kind, norm->tensor,
                                  norm->axis, llvm::APFloat(norm->epsilon));
    if (scale)
      result =
          BinaryOp::create(rewriter, op.getLoc(), op.getType(), BinaryKind::Mul, result, scale);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct FuseSoftmax : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() != BinaryKind::Div || !typeOf(op).getElementType().isF32())
      return failure();
    auto exp = op.getLhs().getDefiningOp<UnaryOp>();
    if (!exp || exp.getKind() != UnaryKind::Exp)
      return failure();
    ReduceOp sum = matchReduce(Cursor::start(op.getRhs()).peeled(), ReduceKind::Sum, {});
    if (!sum || sum.getOperand() != op.getLhs() || sum.getAxes().size() != 1)
      return failure();
    // Any shift that is the same along the axis cancels; the maximum is the one
    // that never overflows.
    Value tensor = exp.getOperand();
    if (auto sub = tensor.getDefiningOp<BinaryOp>(); sub && sub.getKind() == BinaryKind::Sub) {
      Cursor shift = Cursor::start(sub.getRhs()).peeled();
      if (auto clamped = shift.withSplat(BinaryKind::Max))
        shift = clamped->first;
      ReduceOp max = matchReduce(shift, ReduceKind::Max, sum.getAxes());
      if (max && max.getOperand() == sub.getLhs())
        tensor = sub.getLhs();
    }
    rewriter.replaceOpWithNewOp<SoftmaxOp>(op, op.getType(), tensor, sum.getAxes().front(),
                                           /*log=*/false);
    return success();
  }
};

struct FuseNormalization : lumen::impl::FuseNormalizationBase<FuseNormalization> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseNorm, FuseSoftmax>(&getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(func, frozen)))
        return signalPassFailure();
  }
};

} // namespace
