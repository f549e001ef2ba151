//===- Emit.cpp - from a GPU kernel to PTX --------------------------------===//

#include "codegen/common/LlvmCode.h"
#include "codegen/ptx/PtxTarget.h"

#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::ptxcode;

static constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";

static void populate(LLVMTypeConverter &converter, RewritePatternSet &patterns,
                     ConversionTarget &target) {
  populateGpuToNVVMConversionPatterns(converter, patterns);
  target.addLegalDialect<NVVM::NVVMDialect>();
}

static void markKernel(LLVM::LLVMFuncOp function, int32_t block, bool worksTogether) {
  Builder builder(function.getContext());
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    builder.getDenseI32ArrayAttr({block, 1, 1}));
  // Left alone, ptxas aims at many threads at a time, for whom it spills registers of the
  // tiles. This many have 128 registers each.
  constexpr int32_t kThreads = 512;
  if (worksTogether)
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      builder.getI32IntegerAttr(std::max(kThreads / block, 1)));
}

static constexpr gpucode::LlvmDevice kDevice = {
    /*globalSpace=*/1, /*sharedSpace=*/3, /*privateSpace=*/0, populate, markKernel};

void ptxcode::prepareContext(MLIRContext &context) {
  gpucode::prepareContext(context);
  registerBuiltinDialectTranslation(context);
  registerLLVMDialectTranslation(context);
  registerNVVMDialectTranslation(context);
  context.loadDialect<cf::ControlFlowDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
}

static std::unique_ptr<llvm::TargetMachine> makeMachine(StringRef level) {
  static const llvm::Target *target = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
  }();
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      llvm::Triple(kTriple), level, /*Features=*/"", llvm::TargetOptions(), std::nullopt));
}

Lowering::Lowering(MLIRContext *context, StringRef level, int optLevel)
    : lowering(context, kDevice), machine(makeMachine(level)), optLevel(optLevel) {}

Lowering::~Lowering() = default;

std::unique_ptr<llvm::Module> Lowering::translate(ModuleOp module, llvm::LLVMContext &context) {
  if (failed(lower(module)))
    return nullptr;
  std::unique_ptr<llvm::Module> code = translateToLlvm(module, context, *machine);
  if (!code)
    return nullptr;
  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1, llvm::OptimizationLevel::O2,
      llvm::OptimizationLevel::O3};
  runPasses(*code, *machine, [&](llvm::PassBuilder &builder, llvm::ModulePassManager &manager) {
    if (optLevel == 0)
      manager = builder.buildO0DefaultPipeline(levels[0]);
    else
      manager = builder.buildPerModuleDefaultPipeline(levels[optLevel]);
  });
  return code;
}

LogicalResult Lowering::generate(ModuleOp module, llvm::Module &code, SmallVectorImpl<char> &text) {
  if (!generateCode(code, *machine, llvm::CodeGenFileType::AssemblyFile, text))
    return module.emitError("the code generator cannot emit text");
  text.push_back('\0');
  return success();
}

LogicalResult Lowering::emit(ModuleOp module, SmallVectorImpl<char> &text) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translate(module, context);
  return code ? generate(module, *code, text) : failure();
}

namespace {

/// A pass over each gpu.module, by itself as the target takes it.
struct LowerPass : PassWrapper<LowerPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerPass)
  StringRef getArgument() const override { return "lumen-ptx-lower"; }
  StringRef getDescription() const override {
    return "lower the GPU form of each kernel to the LLVM dialect for NVIDIA's devices";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, cf::ControlFlowDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                    math::MathDialect, memref::MemRefDialect, NVVM::NVVMDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }
  void runOnOperation() override {
    Lowering lowering(&getContext(), "sm_75", /*optLevel=*/3);
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>())) {
      OwningOpRef<ModuleOp> alone = ModuleOp::create(kernel.getLoc(), kernel.getName());
      kernel->moveBefore(alone->getBody(), alone->getBody()->end());
      if (failed(lowering.lower(*alone)))
        return signalPassFailure();
      getOperation().push_back(alone.release());
    }
  }
};

/// Prints what the target makes of each gpu.module.
struct PrintPass : PassWrapper<PrintPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintPass)
  PrintPass() = default;
  PrintPass(const PrintPass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "lumen-ptx-print"; }
  StringRef getDescription() const override { return "print the PTX of each kernel's GPU form"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    LowerPass().getDependentDialects(registry);
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerNVVMDialectTranslation(registry);
  }
  void runOnOperation() override {
    Lowering lowering(&getContext(), level, /*optLevel=*/3);
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>())) {
      OwningOpRef<ModuleOp> alone = ModuleOp::create(kernel.getLoc());
      kernel->moveBefore(alone->getBody(), alone->getBody()->end());
      SmallVector<char> text;
      if (failed(lowering.emit(*alone, text)))
        return signalPassFailure();
      llvm::outs() << text.data();
    }
  }
  Option<std::string> level{*this, "level", llvm::cl::init("sm_75")};
};

} // namespace

void ptxcode::registerPtxPasses() {
  PassRegistration<LowerPass>();
  PassRegistration<PrintPass>();
}
