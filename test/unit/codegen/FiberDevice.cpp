//===- FiberDevice.cpp - runs kernels of LLVM's road for tests ------------===//

#include "FiberDevice.h"

#include "FiberKernel.h"

#include "codegen/common/LlvmCode.h"
#include "codegen/gpu/KernelBinaries.h"
#include "codegen/hip/HipTarget.h"
#include "codegen/ptx/PtxTarget.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#include "gtest/gtest.h"

#include <dlfcn.h>
#include <regex>

using namespace lumen;
using namespace lumen::test;
using llvm::ArrayRef;
using llvm::StringRef;

bool test::fibersAreSanitized() {
  alignas(16) static char probe[16];
  if (!poisonMemory)
    return false;
  poisonMemory(probe, sizeof(probe));
  // The sanitizer may be told to do nothing here.
  auto *isPoisonedAt = reinterpret_cast<int (*)(const volatile void *)>(
      dlsym(RTLD_DEFAULT, "__asan_address_is_poisoned"));
  bool isPoisoned = isPoisonedAt(probe);
  unpoisonMemory(probe, sizeof(probe));
  return isPoisoned;
}

namespace {

/// Of the devices that an LlvmEmitter makes code for.
template <typename Emitter> class FiberDevice final : public KernelDevice {
public:
  mlir::FailureOr<CompiledKernels> compile(dispatch::KernelOp kernel) override;
  std::unique_ptr<DeviceKernel> load(const KernelBinary &binary, const LaunchShape &shape,
                                     StringRef entry, size_t numArguments,
                                     const CodegenOptions &options) override;

private:
  mlir::LogicalResult keepText(mlir::ModuleOp module, llvm::Module &code);

  std::optional<Emitter> lowering; ///< of the process's one context
  unsigned numTexts = 0;
};

} // namespace

KernelDevice *test::ptxFiberDevice() {
  static FiberDevice<ptxcode::Lowering> device;
  return &device;
}

KernelDevice *test::hipFiberDevice() {
  static FiberDevice<hipcode::Lowering> device;
  return &device;
}

/// The binaries hold LLVM IR as text.
template <typename Emitter>
mlir::FailureOr<CompiledKernels> FiberDevice<Emitter>::compile(dispatch::KernelOp kernel) {
  if (!lowering)
    lowering.emplace(kernel.getContext(), Emitter::kLevel, /*optLevel=*/3);
  return gpucode::compileEach(kernel, gpucode::Capabilities(),
                              [&](mlir::ModuleOp module, KernelBinary &binary) {
                                llvm::LLVMContext context;
                                auto code = lowering->translate(module, context);
                                if (!code)
                                  return mlir::failure();
                                llvm::raw_svector_ostream(binary.code) << *code;
                                return keepText(module, *code);
                              });
}

/// Writes the PTX to the folder that LUMEN_PTX_FOLDER names, for whoever assembles it.
template <typename Emitter>
mlir::LogicalResult FiberDevice<Emitter>::keepText(mlir::ModuleOp module, llvm::Module &code) {
  const char *folder = getenv("LUMEN_PTX_FOLDER");
  if (!folder || Emitter::kTarget != "ptx")
    return mlir::success();
  llvm::SmallVector<char> text;
  if (mlir::failed(lowering->generate(module, code, llvm::CodeGenFileType::AssemblyFile, text)))
    return mlir::failure();
  const ::testing::TestInfo *test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name =
      llvm::formatv("{0}.{1}-{2}.ptx", test->test_suite_name(), test->name(), numTexts++);
  llvm::replace(name, '/', '.');
  std::error_code error;
  llvm::raw_fd_ostream file((llvm::Twine(folder) + "/" + name).str(), error);
  if (error)
    return module.emitError(error.message());
  file << StringRef(text.data(), text.size());
  return mlir::success();
}

bool test::swapIntrinsics(std::string &text, std::string &error) {
  struct Row {
    const char *pattern, *replacement;
  };
  static const Row rows[] = {
      {"target (triple|datalayout) = .*\n", ""},
      {"(ptx|amdgpu)_kernel ", ""},
      {" \"target-cpu\"=\"gfx[^\"]*\"", ""},
      // All memory is that of this machine.
      {" addrspace\\([0-9]+\\)", ""},
      {"(llvm\\.[a-z]+\\.)p[0-9]+", "$1p0"},
      {"@llvm\\.(nvvm\\.read\\.ptx\\.sreg\\.tid|amdgcn\\.workitem\\.id)\\.x\\b",
       "@lumen_fiber_thread"},
      {"@llvm\\.(nvvm\\.read\\.ptx\\.sreg\\.ctaid|amdgcn\\.workgroup\\.id)\\.x\\b",
       "@lumen_fiber_workgroup"},
      {"@llvm\\.amdgcn\\.s\\.barrier\\(\\)", "@lumen_fiber_barrier()"},
      {"@llvm\\.nvvm\\.barrier\\.cta\\.sync\\.aligned\\.all\\(i32( 0)?\\)",
       "@lumen_fiber_barrier()"},
      // Their promises are those of the intrinsics.
      {"(declare .*@lumen_fiber_\\w+\\(\\)).*", "$1"},
      {"(call .*@lumen_fiber_\\w+\\(\\)).*", "$1"},
  };
  for (const Row &row : rows)
    text = std::regex_replace(text, std::regex(row.pattern), row.replacement);
  std::smatch unknown;
  if (!std::regex_search(text, unknown, std::regex("call .*(@llvm\\.(nvvm|amdgcn)\\.[\\w.]+)")))
    return true;
  error = "fibers do not know " + unknown[1].str();
  return false;
}

/// Adds the function that takes all bindings as one array.
static void addEntry(llvm::Function &kernel) {
  llvm::LLVMContext &context = kernel.getContext();
  llvm::IRBuilder<> builder(context);
  auto *type =
      llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, /*isVarArg=*/false);
  auto *entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage, FiberKernel::kEntry,
                                       kernel.getParent());
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", entry));
  std::vector<llvm::Value *> bindings;
  for (unsigned i = 0; i < kernel.arg_size(); ++i)
    bindings.push_back(builder.CreateLoad(
        builder.getPtrTy(),
        builder.CreateConstInBoundsGEP1_32(builder.getPtrTy(), entry->getArg(0), i)));
  builder.CreateCall(&kernel, bindings);
  builder.CreateRetVoid();
}

static void sanitize(llvm::Module &module, llvm::TargetMachine &machine) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::SanitizeAddress);
  runPasses(module, machine, [](llvm::PassBuilder &, llvm::ModulePassManager &manager) {
    llvm::AddressSanitizerOptions options;
    options.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
    manager.addPass(llvm::AddressSanitizerPass(options, /*UseGlobalGC=*/false,
                                               /*UseOdrIndicator=*/false, llvm::AsanDtorKind::None,
                                               llvm::AsanCtorKind::None));
  });
}

template <typename Emitter>
std::unique_ptr<DeviceKernel> FiberDevice<Emitter>::load(const KernelBinary &binary,
                                                         const LaunchShape &shape, StringRef entry,
                                                         size_t, const CodegenOptions &) {
  std::string text(binary.code.begin(), binary.code.end()), error;
  if (!swapIntrinsics(text, error)) {
    ADD_FAILURE() << error;
    return nullptr;
  }
  auto context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, *context);
  if (!module) {
    ADD_FAILURE() << diagnostic.getMessage().str() << "\n" << diagnostic.getLineContents().str();
    return nullptr;
  }
  addEntry(*module->getFunction(entry));
  return FiberKernel::make(binary, shape, [&](llvm::orc::LLJIT &jit) {
    auto builder = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
    auto machine = llvm::cantFail(builder.createTargetMachine());
    module->setDataLayout(machine->createDataLayout());
    module->setTargetTriple(machine->getTargetTriple());
    if (poisonMemory)
      sanitize(*module, *machine);
    return jit.addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context)));
  });
}
