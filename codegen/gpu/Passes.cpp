//===- Passes.cpp - what every GPU target runs over a kernel --------------===//

#include "codegen/gpu/Passes.h"

#include "codegen/common/Math.h"
#include "codegen/gpu/SourcePrinter.h"

#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

namespace {

/// Sizes are compared as what they are, not widened: numbers of 64 bits are slow on devices,
/// and some drivers compare widened differences wrongly.
struct NarrowCompare : OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::CmpIOp op, PatternRewriter &rewriter) const override {
    auto left = op.getLhs().getDefiningOp<arith::IndexCastOp>();
    if (!left || !left.getIn().getType().isIndex() || !op.getLhs().getType().isInteger(64) ||
        static_cast<int>(op.getPredicate()) > static_cast<int>(arith::CmpIPredicate::sge))
      return failure(); // unsigned ones mean other numbers
    Value right;
    APInt constant;
    if (matchPattern(op.getRhs(), m_ConstantInt(&constant)) && constant.isSignedIntN(32))
      right = arith::ConstantIndexOp::create(rewriter, op.getLoc(), constant.getSExtValue());
    else if (auto cast = op.getRhs().getDefiningOp<arith::IndexCastOp>();
             cast && cast.getIn().getType().isIndex())
      right = cast.getIn();
    if (!right)
      return failure();
    rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, op.getPredicate(), left.getIn(), right);
    return success();
  }
};

/// Makes what is converted lie in the range of the integers `type`; NaN becomes the least of
/// it. Of the approximations' conversions nothing else matters than that they give some
/// number: what lies outside is undefined, and drivers that make poison of it would let that
/// swallow the result.
static void keepDefined(Operation *conversion, bool isUnsigned) {
  OpBuilder builder(conversion);
  Location loc = conversion->getLoc();
  Value value = conversion->getOperand(0);
  auto type = cast<FloatType>(value.getType());
  unsigned width = conversion->getResult(0).getType().getIntOrFloatBitWidth();
  // The bounds that the type has: halves end before integers do.
  auto bound = [&](const APInt &integer) -> Value {
    APFloat number(type.getFloatSemantics());
    number.convertFromAPInt(integer, !isUnsigned, APFloat::rmTowardZero);
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, number));
  };
  Value low = bound(isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width));
  Value high = bound(isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width));
  auto keep = [&](arith::CmpFPredicate predicate, Value limit) {
    Value fits = arith::CmpFOp::create(builder, loc, predicate, value, limit);
    value = arith::SelectOp::create(builder, loc, fits, value, limit);
  };
  keep(arith::CmpFPredicate::OGE, low);
  keep(arith::CmpFPredicate::OLE, high);
  conversion->setOperand(0, value);
}

/// The approximations of the CPU, so that devices agree to the last bits.
struct Expand : PassWrapper<Expand, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Expand)
  explicit Expand(bool hasDoubles) : hasDoubles(hasDoubles) {}
  StringRef getArgument() const override { return "lumen-gpu-expand"; }
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet made(context);
    addPatterns(made);
    patterns = std::make_shared<FrozenRewritePatternSet>(std::move(made));
    return success();
  }
  void runOnOperation() override {
    if (failed(applyPatternsGreedily(getOperation(), *patterns)))
      return signalPassFailure();
    getOperation()->walk([](Operation *op) {
      if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
        keepDefined(op, isa<arith::FPToUIOp>(op));
    });
  }

private:
  void addPatterns(RewritePatternSet &patterns) {
    patterns.add<NarrowCompare>(patterns.getContext());
    populateMathApproximations(patterns);
    if (hasDoubles)
      populatePower(patterns);
    // Of which devices promise no more than a few digits.
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return name == math::AcosOp::getOperationName() || name == math::AsinOp::getOperationName();
    });
    patterns.add(+[](math::AtanOp op, PatternRewriter &rewriter) {
      if (!op.getType().isF32())
        return failure();
      rewriter.replaceOp(op, emitArcTangent(rewriter, op.getLoc(), op.getOperand()));
      return success();
    });
  }

  bool hasDoubles;
  std::shared_ptr<const FrozenRewritePatternSet> patterns; ///< shared by copies of the pass
};

/// Replaces a module by what the builders make of its kernels.
struct BuildPass : PassWrapper<BuildPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BuildPass)
  StringRef getArgument() const override { return "lumen-gpu-build"; }
  StringRef getDescription() const override {
    return "make the GPU form of each kernel, before any target lowers it";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, gpu::GPUDialect, math::MathDialect, memref::MemRefDialect,
                    scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OwningOpRef<ModuleOp> built = ModuleOp::create(module.getLoc());
    Builder builder(&getContext());
    for (auto kernel : module.getOps<dispatch::KernelOp>()) {
      FailureOr<GpuLaunch> launch = buildKernel(kernel, Capabilities(), *built);
      if (failed(launch))
        return signalPassFailure();
      auto made = built->lookupSymbol<gpu::GPUModuleOp>(kernel.getSymName());
      made->setAttr("lumen.grid", builder.getStringAttr(launch->grid.str()));
      made->setAttr("lumen.units_per_workgroup",
                    builder.getI64IntegerAttr(launch->unitsPerWorkgroup));
      made->setAttr("lumen.scratch", builder.getI64IntegerAttr(launch->scratchSize));
    }
    module.getBody()->clear();
    module.getBody()->getOperations().splice(module.getBody()->end(),
                                             built->getBody()->getOperations());
  }
};

struct SimplifyOptions : PassPipelineOptions<SimplifyOptions> {
  Option<bool> hasDoubles{*this, "doubles", llvm::cl::desc("the device has f64"),
                          llvm::cl::init(true)};
};

/// Replaces kernels by what targets of source text get.
struct PrintPass : PassWrapper<PrintPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintPass)
  PrintPass() = default;
  PrintPass(const PrintPass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "lumen-gpu-print"; }
  StringRef getDescription() const override {
    return "print the GPU form of each kernel as OpenCL C or Metal, and remove it";
  }
  Option<bool> isMetal{*this, "metal", llvm::cl::desc("print Metal")};
  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>())) {
      if (failed(printSource(kernel, isMetal ? kMetal : kOpenClC, llvm::outs())))
        return signalPassFailure();
      kernel.erase();
    }
  }
};

} // namespace

void gpucode::buildSimplification(OpPassManager &manager, const Capabilities &caps) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(std::make_unique<Expand>(caps.hasDoubles));
  manager.addPass(createCSEPass());
}

void gpucode::emitNoInstruction(Operation *op) {
  std::string type; // without the quotes that diagnostics put around types
  llvm::raw_string_ostream(type) << op->getResult(0).getType();
  op->emitError() << op->getName().stripDialect() << " of " << type << " has no instruction";
}

void gpucode::registerGpuPasses() {
  PassRegistration<BuildPass>();
  PassRegistration<PrintPass>();
  PassPipelineRegistration<SimplifyOptions>(
      "lumen-gpu-simplify", "what every GPU target runs over the GPU form of a kernel",
      [](OpPassManager &manager, const SimplifyOptions &options) {
        Capabilities caps;
        caps.hasDoubles = options.hasDoubles;
        buildSimplification(manager, caps);
      });
}
