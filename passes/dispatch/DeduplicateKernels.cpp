//===- DeduplicateKernels.cpp - let equal kernels share one definition ----===//

#include "passes/dispatch/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace lumen {
#define GEN_PASS_DEF_DEDUPLICATEKERNELS
#include "passes/dispatch/Passes.h.inc"
} // namespace lumen

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

namespace {

/// The kernel's text without its name: equal text, equal kernel.
std::string signatureOf(KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().useLocalScope());
  size_t name = text.find('@');
  return text.erase(name, text.find('(', name) - name);
}

struct DeduplicateKernelsPass : lumen::impl::DeduplicateKernelsBase<DeduplicateKernelsPass> {
  void runOnOperation() override {
    llvm::StringMap<KernelOp> firstOf;
    llvm::StringMap<StringAttr> replacement;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      auto [it, inserted] = firstOf.try_emplace(signatureOf(kernel), kernel);
      replacement[kernel.getSymName()] = it->second.getSymNameAttr();
      if (!inserted)
        kernel.erase();
    }
    getOperation().walk([&](LaunchOp launch) {
      launch.setKernelAttr(FlatSymbolRefAttr::get(replacement.lookup(launch.getKernel())));
    });
    llvm::StringMap<bool> used;
    getOperation().walk([&](LaunchOp launch) { used[launch.getKernel()] = true; });
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (!used.count(kernel.getSymName()))
        kernel.erase();
  }
};

} // namespace
