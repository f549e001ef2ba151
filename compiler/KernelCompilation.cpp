//===- KernelCompilation.cpp - all kernels at all levels ------------------===//

#include "compiler/KernelCompilation.h"

#include "mlir/IR/Diagnostics.h"

#include <atomic>

using namespace mlir;
using namespace lumen;

namespace {

/// Kernels that are compiled together share micro-kernels; groups that are
/// compiled at the same time share cores. This many kernels balance the two.
constexpr size_t kKernelsPerGroup = 16;

struct Group {
  const Level *level;
  size_t levelIndex, firstKernel;
  ArrayRef<dispatch::KernelOp> kernels;
};

} // namespace

FailureOr<KernelCode> lumen::compileKernels(ModuleOp module, const Target &target,
                                            const CodegenOptions &options, CodeForm form,
                                            llvm::ThreadPoolInterface &pool) {
  auto kernels = llvm::to_vector(module.getOps<dispatch::KernelOp>());
  std::vector<Group> groups;
  for (auto [index, level] : llvm::enumerate(target.getLevels()))
    for (size_t first = 0; first < kernels.size(); first += kKernelsPerGroup)
      groups.push_back(
          {&level, index, first,
           ArrayRef(kernels).slice(first, std::min(kKernelsPerGroup, kernels.size() - first))});

  KernelCode code;
  code.isSanitized = options.sanitizeAddress;
  code.objects.resize(groups.size());
  code.shapes.assign(target.getLevels().size(), std::vector<LaunchShape>(kernels.size()));
  std::atomic<bool> failed = false;
  ParallelDiagnosticHandler diagnosticOrder(module.getContext());
  for (auto [slot, group] : llvm::enumerate(groups))
    pool.async([&, slot = slot, &group = group] {
      // Whatever fails is reported, all of it, in the order of the groups.
      diagnosticOrder.setOrderIDForThread(slot);
      auto compiled = target.compile(group.kernels, *group.level, options, form);
      diagnosticOrder.eraseOrderIDForThread();
      if (mlir::failed(compiled)) {
        failed = true;
        return;
      }
      code.objects[slot] = std::move(compiled->object);
      llvm::copy(compiled->shapes, code.shapes[group.levelIndex].begin() + group.firstKernel);
    });
  pool.wait();
  if (failed)
    return failure();
  return code;
}
