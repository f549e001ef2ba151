//===- LlvmPasses.h - passes of a road through LLVM, for lumen-opt -*- C++ -*-===//
#ifndef LUMEN_CODEGEN_GPU_LLVMPASSES_H
#define LUMEN_CODEGEN_GPU_LLVMPASSES_H

#include "codegen/gpu/LlvmEmitter.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

namespace lumen::gpucode {

/// What `Emitter`, an LlvmEmitter with kTarget and kLevel, makes of each gpu.module: its LLVM
/// dialect in the module's place, or its assembler's text on the standard output. `Dialect` is
/// the device's.
template <typename Emitter, typename Dialect, bool prints>
struct EmitterPass : mlir::PassWrapper<EmitterPass<Emitter, Dialect, prints>,
                                       mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitterPass)
  EmitterPass() = default;
  EmitterPass(const EmitterPass &other)
      : mlir::PassWrapper<EmitterPass, mlir::OperationPass<mlir::ModuleOp>>(other) {}

  llvm::StringRef getArgument() const override {
    static const std::string name =
        ("lumen-" + Emitter::kTarget + (prints ? "-print" : "-lower")).str();
    return name;
  }
  llvm::StringRef getDescription() const override {
    return prints ? "print the text of the assembler for the GPU form of each kernel"
                  : "lower the GPU form of each kernel to the LLVM dialect for a device";
  }
  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::gpu::GPUDialect,
                    mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                    mlir::scf::SCFDialect, mlir::vector::VectorDialect, Dialect>();
    if (prints)
      Emitter::registerTranslation(registry);
  }
  void runOnOperation() override {
    Emitter emitter(&this->getContext(), level, /*optLevel=*/3);
    for (auto kernel : llvm::make_early_inc_range(
             this->getOperation().template getOps<mlir::gpu::GPUModuleOp>())) {
      auto alone = mlir::OwningOpRef<mlir::ModuleOp>(
          mlir::ModuleOp::create(kernel.getLoc(), kernel.getName()));
      // By itself, as the target takes it.
      kernel->moveBefore(alone->getBody(), alone->getBody()->end());
      llvm::SmallVector<char> text;
      if (failed(prints ? emitter.generate(*alone, llvm::CodeGenFileType::AssemblyFile, text)
                        : emitter.lower(*alone)))
        return this->signalPassFailure();
      if (prints)
        llvm::outs() << llvm::StringRef(text.data(), text.size());
      else
        this->getOperation().push_back(alone.release());
    }
  }
  mlir::Pass::Option<std::string> level{*this, "level", llvm::cl::init(Emitter::kLevel.str())};
};

template <typename Emitter, typename Dialect> void registerEmitterPasses() {
  mlir::PassRegistration<EmitterPass<Emitter, Dialect, false>>();
  mlir::PassRegistration<EmitterPass<Emitter, Dialect, true>>();
}

/// What every road through LLVM registers.
void registerLlvmTranslation(mlir::DialectRegistry &registry);

} // namespace lumen::gpucode

#endif // LUMEN_CODEGEN_GPU_LLVMPASSES_H
