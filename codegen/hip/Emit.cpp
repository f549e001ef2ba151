//===- Emit.cpp - from a GPU kernel to a code object ----------------------===//

#include "codegen/common/Lld.h"
#include "codegen/gpu/LlvmPasses.h"
#include "codegen/hip/HipTarget.h"

#include "mlir/Conversion/GPUToROCDL/GPUToROCDLPass.h"
#include "mlir/Dialect/AMDGPU/Utils/Chipset.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::hipcode;

static void populate(LLVMTypeConverter &converter, RewritePatternSet &patterns,
                     ConversionTarget &target) {
  // Of the operations that differ between chips kernels have none.
  amdgpu::Chipset chipset(9, 0, 0);
  populateGpuToROCDLConversionPatterns(converter, patterns, gpu::amd::Runtime::HIP, chipset);
  target.addLegalDialect<ROCDL::ROCDLDialect>();
}

static void markKernel(LLVM::LLVMFuncOp function, int32_t block, bool) {
  Builder builder(function.getContext());
  function->setAttr(ROCDL::ROCDLDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function->setAttr("rocdl.reqd_work_group_size", builder.getDenseI32ArrayAttr({block, 1, 1}));
  function->setAttr("rocdl.flat_work_group_size",
                    builder.getStringAttr(Twine(block) + "," + Twine(block)));
  function->setAttr("rocdl.uniform_work_group_size", builder.getBoolAttr(true));
}

static void initialize() {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmPrinter();
}

static constexpr gpucode::LlvmDevice kDevice = {
    /*triple=*/"amdgcn-amd-amdhsa",
    initialize,
    /*globalSpace=*/1,
    /*sharedSpace=*/3,
    /*privateSpace=*/5,
    populate,
    markKernel};

void hipcode::prepareContext(MLIRContext &context) {
  gpucode::prepareLlvm(context);
  registerROCDLDialectTranslation(context);
  context.loadDialect<ROCDL::ROCDLDialect>();
}

Lowering::Lowering(MLIRContext *context, StringRef processor, int optLevel)
    : LlvmEmitter(context, kDevice, processor, optLevel), processor(processor) {}

/// Undefined symbols would only be found when the kernel is loaded.
static llvm::Error link(ArrayRef<char> object, SmallVectorImpl<char> &linked) {
  SmallString<128> in, out;
  int file;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("lumen", "o", file, in))
    return llvm::errorCodeToError(error);
  llvm::FileRemover removeIn(in);
  {
    llvm::raw_fd_ostream os(file, /*shouldClose=*/true);
    os.write(object.data(), object.size());
    if (os.has_error())
      return llvm::errorCodeToError(os.error());
  }
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("lumen", "hsaco", out))
    return llvm::errorCodeToError(error);
  llvm::FileRemover removeOut(out);
  if (llvm::Error error = runLinker(
          {"-shared", "-z", "defs", "--strip-debug", in.str().str(), "-o", out.str().str()}))
    return error;
  auto buffer = llvm::MemoryBuffer::getFile(out, /*IsText=*/false);
  if (!buffer)
    return llvm::errorCodeToError(buffer.getError());
  linked.assign((*buffer)->getBufferStart(), (*buffer)->getBufferEnd());
  return llvm::Error::success();
}

void Lowering::adjust(llvm::Module &code) const {
  // Version 6 has generations of chips.
  code.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version",
                     StringRef(processor).ends_with("-generic") ? 600 : 500);
}

LogicalResult Lowering::emit(ModuleOp module, SmallVectorImpl<char> &object) {
  SmallVector<char, 0> unlinked;
  if (failed(generate(module, llvm::CodeGenFileType::ObjectFile, unlinked)))
    return failure();
  if (llvm::Error error = link(unlinked, object))
    return module.emitError(llvm::toString(std::move(error)));
  return success();
}

void Lowering::registerTranslation(DialectRegistry &registry) {
  gpucode::registerLlvmTranslation(registry);
  registerROCDLDialectTranslation(registry);
}

void hipcode::registerHipPasses() {
  gpucode::registerEmitterPasses<Lowering, ROCDL::ROCDLDialect>();
}
