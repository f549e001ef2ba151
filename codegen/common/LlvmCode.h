//===- LlvmCode.h - from the LLVM dialect to code ----------------*- C++ -*-===//
//
// The steps that are the same for every machine that LLVM makes code for.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_COMMON_LLVMCODE_H
#define LUMEN_CODEGEN_COMMON_LLVMCODE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace llvm {
class PassBuilder;
}

namespace lumen {

/// A module of the LLVM dialect as LLVM IR for `machine`. `context` is the caller's own:
/// contexts are not shared between threads. Null: a diagnostic was emitted.
std::unique_ptr<llvm::Module> translateToLlvm(mlir::ModuleOp module, llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine);

/// Runs the passes that `add` appends.
void runPasses(llvm::Module &module, llvm::TargetMachine &machine,
               llvm::function_ref<void(llvm::PassBuilder &, llvm::ModulePassManager &)> add);

/// Generates an object or the text of the assembler; false: the machine has no such form.
bool generateCode(llvm::Module &module, llvm::TargetMachine &machine,
                  llvm::CodeGenFileType fileType, llvm::SmallVectorImpl<char> &out);

} // namespace lumen

#endif // LUMEN_CODEGEN_COMMON_LLVMCODE_H
