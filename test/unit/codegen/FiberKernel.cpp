//===- FiberKernel.cpp - a kernel as code of this machine -----------------===//

#include "FiberKernel.h"

#include "Fibers.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"

#include <dlfcn.h>

using namespace lumen;
using namespace lumen::test;
using llvm::ArrayRef;
using llvm::StringRef;

static MarkMemory *markFunction(const char *name) {
  return reinterpret_cast<MarkMemory *>(dlsym(RTLD_DEFAULT, name));
}
MarkMemory *const test::poisonMemory = markFunction("__asan_poison_memory_region");
MarkMemory *const test::unpoisonMemory = markFunction("__asan_unpoison_memory_region");

FiberKernel::~FiberKernel() = default;

llvm::MutableArrayRef<char> FiberKernel::memory() {
  static std::vector<char> memory(kMemory);
  return memory;
}

std::unique_ptr<DeviceKernel>
FiberKernel::make(const KernelBinary &binary, const LaunchShape &shape,
                  llvm::function_ref<llvm::Error(llvm::orc::LLJIT &)> addCode) {
  static const bool isReady =
      !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  assert(isReady);
  (void)isReady;
  std::unique_ptr<FiberKernel> result(new FiberKernel(binary, shape));
  llvm::orc::LLJIT &jit = *(result->jit = llvm::cantFail(llvm::orc::LLJITBuilder().create()));
  llvm::orc::JITDylib &library = jit.getMainJITDylib();
  library.addGenerator(
      llvm::cantFail(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit.getDataLayout().getGlobalPrefix())));
  llvm::orc::SymbolMap fibers;
  auto provide = [&](StringRef name, auto *function) {
    fibers[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                         llvm::JITSymbolFlags::Exported};
  };
  provide("lumen_fiber_thread", lumen_fiber_thread);
  provide("lumen_fiber_workgroup", lumen_fiber_workgroup);
  provide("lumen_fiber_barrier", lumen_fiber_barrier);
  provide("lumen_fiber_fault", lumen_fiber_fault);
  llvm::cantFail(library.define(llvm::orc::absoluteSymbols(std::move(fibers))));
  llvm::Error error = addCode(jit);
  if (!error) {
    auto address = jit.lookup(kEntry);
    if (address) {
      result->code = address->toPtr<void(void *const *)>();
      return result;
    }
    error = address.takeError();
  }
  ADD_FAILURE() << llvm::toString(std::move(error));
  return nullptr;
}

void FiberKernel::launch(ArrayRef<Range> bindings, size_t used, uint32_t workgroups) {
  char *begin = memory().data();
  std::vector<void *> addresses;
  if (poisonMemory)
    poisonMemory(begin, used);
  for (const Range &range : bindings) {
    addresses.push_back(begin + range.offset);
    if (unpoisonMemory)
      unpoisonMemory(begin + range.offset, range.size);
  }
  EXPECT_EQ(runFibers(workgroups, block, [&] { code(addresses.data()); }), "");
  if (unpoisonMemory)
    unpoisonMemory(begin, used);
}
