//===- LlvmEmitter.cpp - from a GPU kernel to LLVM's code -----------------===//

#include "codegen/gpu/LlvmEmitter.h"

#include "codegen/common/LlvmCode.h"
#include "codegen/gpu/LlvmPasses.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

static std::unique_ptr<llvm::TargetMachine> makeMachine(const LlvmDevice &device,
                                                        StringRef processor) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  llvm::Triple triple(device.triple);
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    device.initialize();
    target = llvm::TargetRegistry::lookupTarget(triple, error);
  }
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, processor, /*Features=*/"", llvm::TargetOptions(), llvm::Reloc::PIC_));
}

LlvmEmitter::LlvmEmitter(MLIRContext *context, const LlvmDevice &device, StringRef processor,
                         int optLevel)
    : lowering(context, device), machine(makeMachine(device, processor)), optLevel(optLevel) {}

LlvmEmitter::~LlvmEmitter() = default;

std::unique_ptr<llvm::Module> LlvmEmitter::translate(ModuleOp module, llvm::LLVMContext &context) {
  if (failed(lower(module)))
    return nullptr;
  std::unique_ptr<llvm::Module> code = translateToLlvm(module, context, *machine);
  if (!code)
    return nullptr;
  adjust(*code);
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

LogicalResult LlvmEmitter::generate(ModuleOp module, llvm::CodeGenFileType type,
                                    SmallVectorImpl<char> &out) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translate(module, context);
  return code ? generate(module, *code, type, out) : failure();
}

LogicalResult LlvmEmitter::generate(ModuleOp module, llvm::Module &code, llvm::CodeGenFileType type,
                                    SmallVectorImpl<char> &out) {
  if (!generateCode(code, *machine, type, out))
    return module.emitError("the code generator cannot emit it");
  return success();
}

void gpucode::prepareLlvm(MLIRContext &context) {
  gpucode::prepareContext(context);
  registerBuiltinDialectTranslation(context);
  registerLLVMDialectTranslation(context);
  context.loadDialect<cf::ControlFlowDialect, LLVM::LLVMDialect>();
}

void gpucode::registerLlvmTranslation(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}
