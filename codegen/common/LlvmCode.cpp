//===- LlvmCode.cpp - from the LLVM dialect to code -----------------------===//

#include "codegen/common/LlvmCode.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace mlir;
using namespace lumen;

std::unique_ptr<llvm::Module> lumen::translateToLlvm(ModuleOp module, llvm::LLVMContext &context,
                                                     llvm::TargetMachine &machine) {
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(module, context, "lumen", /*disableVerification=*/true);
  if (!code) {
    module.emitError("translation to LLVM IR failed");
    return nullptr;
  }
  code->setTargetTriple(machine.getTargetTriple());
  code->setDataLayout(machine.createDataLayout());
  return code;
}

void lumen::runPasses(
    llvm::Module &module, llvm::TargetMachine &machine,
    llvm::function_ref<void(llvm::PassBuilder &, llvm::ModulePassManager &)> add) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager manager;
  add(builder, manager);
  manager.run(module, modules);
}

bool lumen::generateCode(llvm::Module &module, llvm::TargetMachine &machine,
                         llvm::CodeGenFileType fileType, llvm::SmallVectorImpl<char> &out) {
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager manager;
  if (machine.addPassesToEmitFile(manager, stream, nullptr, fileType, /*DisableVerify=*/true))
    return false;
  manager.run(module);
  return true;
}
