//===- ExpandPowers.cpp - powers with simple exponents --------------------===//

#include "passes/graph/Constants.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_EXPANDPOWERS
#include "passes/graph/Passes.h.inc"
} // namespace lumen

namespace {

struct ExpandPower : OpRewritePattern<BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BinaryOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (op.getKind() != BinaryKind::Pow || !type.getElementType().isF32())
      return failure();
    std::optional<float> exponent = getSplatF32(op.getRhs());
    if (!exponent)
      return failure();
    Location loc = op.getLoc();
    Value x = op.getLhs();
    auto unary = [&](UnaryKind kind, Value v) -> Value {
      return UnaryOp::create(rewriter, loc, type, kind, v);
    };
    auto product = [&](Value a, Value b) -> Value {
      return BinaryOp::create(rewriter, loc, type, BinaryKind::Mul, a, b);
    };
    Value result;
    if (*exponent == 1)
      result = x;
    else if (*exponent == 2)
      result = product(x, x);
    else if (*exponent == 3)
      result = product(product(x, x), x);
    else if (*exponent == -1)
      result = unary(UnaryKind::Reciprocal, x);
    else if (*exponent == 0.5f)
      result = unary(UnaryKind::Sqrt, x);
    else if (*exponent == -0.5f)
      result = unary(UnaryKind::Reciprocal, unary(UnaryKind::Sqrt, x));
    else if (*exponent == 0.75f) {
      Value root = unary(UnaryKind::Sqrt, x);
      result = product(root, unary(UnaryKind::Sqrt, root));
    } else {
      return failure();
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ExpandPowers : lumen::impl::ExpandPowersBase<ExpandPowers> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandPower>(&getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(func, frozen)))
        return signalPassFailure();
  }
};

} // namespace
