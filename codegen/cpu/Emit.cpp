//===- Emit.cpp - from the LLVM dialect to machine code -------------------===//

#include "codegen/common/LlvmCode.h"
#include "codegen/cpu/CpuTarget.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"

using namespace mlir;
using namespace lumen;

static constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";

static const llvm::Target *findTarget(std::string &error) {
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialized;
  return llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), error);
}

static std::unique_ptr<llvm::TargetMachine> makeMachine(const cpu::IsaLevel &caps, int optLevel,
                                                        std::string &error) {
  const llvm::Target *target = findTarget(error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  // A kernel asks for every fma it wants, so that levels differ in rounding
  // only where a builder decided it.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  auto level = llvm::CodeGenOpt::getLevel(std::min(optLevel, 2));
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(llvm::Triple(kTriple), caps.llvmCpu, caps.llvmFeatures, options,
                                  llvm::Reloc::PIC_, llvm::CodeModel::Small, *level));
  if (!machine)
    error = "no code generator for " + caps.llvmCpu;
  return machine;
}

/// Builders vectorise and unroll by themselves, so that the pipeline only has to
/// clean up: the full default one takes three times as long for equal code.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     const CodegenOptions &options) {
  runPasses(module, machine, [&](llvm::PassBuilder &builder, llvm::ModulePassManager &manager) {
    StringRef pipeline =
        options.optLevel == 0
            ? "function(sroa)"
            : "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
              "loop-mssa(loop-rotate,licm),instcombine<no-verify-fixpoint>,simplifycfg,"
              "early-cse<memssa>,loop-mssa(licm),adce)";
    llvm::cantFail(builder.parsePassPipeline(manager, pipeline));
    if (options.sanitizeAddress) {
      // The process has started the sanitizer. What lies on a stack does not outlive its
      // function, so the sanitizer need not either.
      llvm::AddressSanitizerOptions address;
      address.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
      manager.addPass(llvm::AddressSanitizerPass(
          address, /*UseGlobalGC=*/false,
          /*UseOdrIndicator=*/false, llvm::AsanDtorKind::None, llvm::AsanCtorKind::None));
    }
  });
  // So that the artifact links and loads without the sanitizer; opening it tells.
  for (llvm::Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with("__asan_"))
      function.setLinkage(llvm::GlobalValue::ExternalWeakLinkage);
}

/// The only lane that a constant mask lets through, or nothing.
static std::optional<unsigned> onlyLane(llvm::Value *mask) {
  auto *constant = llvm::dyn_cast<llvm::Constant>(mask);
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  std::optional<unsigned> lane;
  for (unsigned i = 0; constant && type && i < type->getNumElements(); ++i) {
    llvm::Constant *element = constant->getAggregateElement(i);
    if (!element || (lane && !element->isNullValue()))
      return std::nullopt;
    if (!element->isNullValue())
      lane = i;
  }
  return lane;
}

/// Masked stores of one constant lane become stores of a scalar. LLVM does the same, but where
/// the vector was narrowed before it (from i32 to i8), it stores the wide element, over the
/// next ones.
static void storeSingleLanes(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
        auto *store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        if (!store || store->getIntrinsicID() != llvm::Intrinsic::masked_store)
          continue;
        std::optional<unsigned> lane = onlyLane(store->getArgOperand(2));
        if (!lane)
          continue;
        llvm::IRBuilder<> builder(store);
        llvm::Value *element = builder.CreateExtractElement(store->getArgOperand(0), *lane);
        llvm::Value *pointer =
            builder.CreateConstInBoundsGEP1_32(element->getType(), store->getArgOperand(1), *lane);
        builder.CreateAlignedStore(element, pointer, llvm::Align(1));
        store->eraseFromParent();
      }
}

LogicalResult cpu::emitCode(ModuleOp module, const IsaLevel &caps, const CodegenOptions &options,
                            CodeForm form, SmallVectorImpl<char> &out) {
  llvm::LLVMContext context;
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(caps, options.optLevel, error);
  if (!machine)
    return module.emitError(error);
  std::unique_ptr<llvm::Module> code = translateToLlvm(module, context, *machine);
  if (!code)
    return failure();
  for (llvm::Function &function : *code) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", caps.llvmCpu);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (options.sanitizeAddress)
      function.addFnAttr(llvm::Attribute::SanitizeAddress);
    if (!function.hasLocalLinkage())
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  optimize(*code, *machine, options);
  storeSingleLanes(*code);

  if (form == CodeForm::LLVM) {
    llvm::raw_svector_ostream stream(out);
    code->print(stream, nullptr);
    return success();
  }
  auto fileType = form == CodeForm::Object ? llvm::CodeGenFileType::ObjectFile
                                           : llvm::CodeGenFileType::AssemblyFile;
  if (!generateCode(*code, *machine, fileType, out))
    return module.emitError("the code generator cannot emit this form");
  return success();
}
