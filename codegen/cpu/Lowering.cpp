//===- Lowering.cpp - from loops and vectors to the LLVM dialect ----------===//
//
// Two passes instead of upstream's dozen: compile time counts, kernels are many
// and small, and every conversion driver walks and verifies the module anew.
//
//===----------------------------------------------------------------------===//

#include "codegen/common/Math.h"
#include "codegen/cpu/CpuTarget.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"

using namespace mlir;
using namespace lumen;

namespace {

/// Brings vectors and mathematical functions into forms that convert one to one.
struct ExpandVectors : PassWrapper<ExpandVectors, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandVectors)
  StringRef getArgument() const override { return "lumen-cpu-expand"; }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathApproximations(patterns);
    populatePower(patterns);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    vector::populateVectorTransposeLoweringPatterns(patterns,
                                                    vector::VectorTransposeLowering::Shuffle1D);
    vector::populateVectorStepLoweringPatterns(patterns);
    vector::populateVectorRankReducingFMAPattern(patterns);
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

/// Levels without fma instructions multiply and add: a correctly rounded fma would
/// be a call per element there, and no approximation needs one.
struct FuseWhereFast : ConvertOpToLLVMPattern<math::FmaOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(math::FmaOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::FMulAddOp>(op, adaptor.getA(), adaptor.getB(),
                                                 adaptor.getC());
    return success();
  }
};

/// The approximations convert NaN to an integer whose value does not matter. It must be some
/// value all the same: poison, which constant operands make of it, would swallow the result.
struct ConvertToSomeInteger : ConvertOpToLLVMPattern<arith::FPToSIOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(arith::FPToSIOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = getTypeConverter()->convertType(op.getType());
    Value integer = LLVM::FPToSIOp::create(rewriter, op.getLoc(), type, adaptor.getIn());
    rewriter.replaceOpWithNewOp<LLVM::FreezeOp>(op, integer);
    return success();
  }
};

/// Converts everything that the builders emit in one conversion.
struct ConvertToLLVM : PassWrapper<ConvertToLLVM, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertToLLVM)
  StringRef getArgument() const override { return "lumen-cpu-to-llvm"; }

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    {
      RewritePatternSet patterns(context);
      populateSCFToControlFlowConversionPatterns(patterns);
      ConversionTarget target(*context);
      target.addIllegalDialect<scf::SCFDialect>();
      target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
      if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
        return signalPassFailure();
    }
    LLVMTypeConverter converter(context);
    RewritePatternSet patterns(context);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    patterns.add<FuseWhereFast, ConvertToSomeInteger>(converter, /*benefit=*/3);
    // Calls are for what has no instruction: an fma or floor must not become one.
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false,
                                         /*benefit=*/2);
    populateMathToLibmConversionPatterns(patterns, /*benefit=*/1);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

LogicalResult cpu::lowerToLLVM(ModuleOp module) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false); // twice as slow; tests verify what builders make
  manager.addPass(std::make_unique<ExpandVectors>());
  manager.addPass(std::make_unique<ConvertToLLVM>());
  manager.addPass(createReconcileUnrealizedCastsPass());
  return manager.run(module);
}
