//===- Passes.cpp - code generation steps for lumen-opt -------------------===//

#include "codegen/cpu/CpuTarget.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

namespace {

/// Replaces a module by what the builders make of its kernels.
struct BuildPass : PassWrapper<BuildPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BuildPass)
  BuildPass() = default;
  BuildPass(const BuildPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "lumen-cpu-build"; }
  StringRef getDescription() const override {
    return "make the function of each kernel, before its lowering to LLVM";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!capabilitiesOf(level)) {
      module.emitError("unknown CPU level '")
          << level << "', expected " << llvm::join(levelNames(), ", ");
      return signalPassFailure();
    }
    OwningOpRef<ModuleOp> built = ModuleOp::create(module.getLoc());
    for (auto kernel : module.getOps<dispatch::KernelOp>()) {
      FailureOr<LaunchShape> shape = buildKernel(kernel, level, CodegenOptions(), *built);
      if (failed(shape))
        return signalPassFailure();
      auto function = built->lookupSymbol<func::FuncOp>(symbolName(kernel, level));
      Builder builder(&getContext());
      if (std::optional<int64_t> grid = shape->grid.asConstant())
        function->setAttr("lumen.grid", builder.getI64IntegerAttr(*grid));
      else
        function->setAttr("lumen.grid", builder.getStringAttr(shape->grid.str()));
      function->setAttr("lumen.grain", builder.getI64IntegerAttr(shape->grain));
      function->setAttr("lumen.scratch", builder.getI64IntegerAttr(shape->scratchSize));
    }
    module.getBody()->clear();
    module.getBody()->getOperations().splice(module.getBody()->end(),
                                             built->getBody()->getOperations());
  }

  Option<std::string> level{*this, "level", llvm::cl::desc("ISA level"),
                            llvm::cl::init("x86-64-v4")};
};

} // namespace

void cpu::registerCpuPasses() { PassRegistration<BuildPass>(); }
