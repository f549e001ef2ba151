//===- FiberDevice.cpp - runs kernels of LLVM's road for tests ------------===//

#include "FiberDevice.h"

#include "Fibers.h"

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
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#include "gtest/gtest.h"

#include <dlfcn.h>
#include <regex>

using namespace lumen;
using namespace lumen::test;
using llvm::ArrayRef;
using llvm::StringRef;

static constexpr size_t kMemory = 96 << 20;
/// What runs a kernel: it takes the addresses of all bindings as one array.
static constexpr llvm::StringLiteral kEntry = "lumen_fiber_entry";

/// A function of AddressSanitizer; null where this process has it not.
template <typename Type> static Type *sanitizerFunction(const char *name) {
  return reinterpret_cast<Type *>(dlsym(RTLD_DEFAULT, name));
}
using Mark = void(const volatile void *, size_t);
static Mark *const poison = sanitizerFunction<Mark>("__asan_poison_memory_region");
static Mark *const unpoison = sanitizerFunction<Mark>("__asan_unpoison_memory_region");

bool test::fibersAreSanitized() {
  alignas(16) static char probe[16];
  if (!poison)
    return false;
  poison(probe, sizeof(probe));
  // The sanitizer may be told to do nothing here.
  bool isPoisoned =
      sanitizerFunction<int(const volatile void *)>("__asan_address_is_poisoned")(probe);
  unpoison(probe, sizeof(probe));
  return isPoisoned;
}

namespace {

struct FiberKernel final : DeviceKernel {
  FiberKernel(std::vector<char> &deviceMemory, const KernelBinary &binary, const LaunchShape &shape)
      : DeviceKernel(binary, shape), deviceMemory(deviceMemory), block(binary.block) {}
  llvm::MutableArrayRef<char> memory() override { return deviceMemory; }
  size_t alignment() override { return 16; }
  void launch(ArrayRef<Range> bindings, size_t used, uint32_t workgroups) override;

  std::vector<char> &deviceMemory;
  uint32_t block;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  void (*code)(void *const *bindings) = nullptr;
};

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
  std::vector<char> memory = std::vector<char>(kMemory);
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
  auto *entry =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, kEntry, kernel.getParent());
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
  auto result = std::make_unique<FiberKernel>(memory, binary, shape);
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
  static const bool isReady =
      !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  assert(isReady);
  (void)isReady;
  auto builder = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  auto machine = llvm::cantFail(builder.createTargetMachine());
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple());
  if (poison)
    sanitize(*module, *machine);
  result->jit =
      llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create());
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      result->jit->getDataLayout().getGlobalPrefix());
  llvm::orc::JITDylib &library = result->jit->getMainJITDylib();
  library.addGenerator(llvm::cantFail(std::move(process)));
  llvm::orc::SymbolMap fibers;
  auto provide = [&](StringRef name, auto *function) {
    fibers[result->jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                                  llvm::JITSymbolFlags::Exported};
  };
  provide("lumen_fiber_thread", lumen_fiber_thread);
  provide("lumen_fiber_workgroup", lumen_fiber_workgroup);
  provide("lumen_fiber_barrier", lumen_fiber_barrier);
  llvm::cantFail(library.define(llvm::orc::absoluteSymbols(std::move(fibers))));
  llvm::cantFail(
      result->jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  auto address = result->jit->lookup(kEntry);
  if (!address) {
    ADD_FAILURE() << llvm::toString(address.takeError());
    return nullptr;
  }
  result->code = address->toPtr<void(void *const *)>();
  return result;
}

void FiberKernel::launch(ArrayRef<Range> bindings, size_t used, uint32_t workgroups) {
  char *begin = deviceMemory.data();
  std::vector<void *> addresses;
  if (poison)
    poison(begin, used);
  for (const Range &range : bindings) {
    addresses.push_back(begin + range.offset);
    if (unpoison)
      unpoison(begin + range.offset, range.size);
  }
  EXPECT_EQ(runFibers(workgroups, block, [&] { code(addresses.data()); }), "");
  if (unpoison)
    unpoison(begin, used);
}
