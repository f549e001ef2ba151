//===- Emit.cpp - from a GPU kernel to PTX --------------------------------===//

#include "codegen/gpu/LlvmPasses.h"
#include "codegen/ptx/PtxTarget.h"

#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::ptxcode;

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
  // tiles. This many have 168 registers each.
  constexpr int32_t kThreads = 384;
  if (worksTogether)
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      builder.getI32IntegerAttr(std::max(kThreads / block, 1)));
}

static void initialize() {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

static constexpr gpucode::LlvmDevice kDevice = {
    /*triple=*/"nvptx64-nvidia-cuda",
    initialize,
    /*globalSpace=*/1,
    /*sharedSpace=*/3,
    /*privateSpace=*/0,
    populate,
    markKernel};

void ptxcode::prepareContext(MLIRContext &context) {
  gpucode::prepareLlvm(context);
  registerNVVMDialectTranslation(context);
  context.loadDialect<NVVM::NVVMDialect>();
}

Lowering::Lowering(MLIRContext *context, StringRef level, int optLevel)
    : LlvmEmitter(context, kDevice, level, optLevel) {}

LogicalResult Lowering::emit(ModuleOp module, SmallVectorImpl<char> &text) {
  if (failed(generate(module, llvm::CodeGenFileType::AssemblyFile, text)))
    return failure();
  text.push_back('\0');
  return success();
}

void Lowering::registerTranslation(DialectRegistry &registry) {
  gpucode::registerLlvmTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

void ptxcode::registerPtxPasses() { gpucode::registerEmitterPasses<Lowering, NVVM::NVVMDialect>(); }
