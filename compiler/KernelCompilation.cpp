//===- KernelCompilation.cpp - all kernels at all levels ------------------===//

#include "compiler/KernelCompilation.h"

#include "mlir/IR/Diagnostics.h"

#include <atomic>
#include <chrono>

using namespace mlir;
using namespace lumen;

namespace {

/// Kernels that are compiled together share micro-kernels; groups that are
/// compiled at the same time share cores. This many kernels balance the two.
constexpr size_t kKernelsPerGroup = 16;

struct Group {
  size_t level;
  std::vector<size_t> indices; ///< of the kernels in the module
  std::vector<dispatch::KernelOp> kernels;
};

} // namespace

FailureOr<KernelCode> lumen::compileKernels(ModuleOp module, const Targets &targets,
                                            const CodegenOptions &options, CodeForm form,
                                            llvm::ThreadPoolInterface &pool) {
  auto kernels = llvm::to_vector(module.getOps<dispatch::KernelOp>());
  KernelCode code;
  code.isSanitized = options.sanitizeAddress;
  std::vector<Group> groups;
  for (const std::unique_ptr<Target> &target : targets) {
    if (form != CodeForm::Object && !target->isHost())
      continue;
    for (const Level &level : target->getLevels()) {
      size_t firstGroup = groups.size();
      for (auto [i, kernel] : llvm::enumerate(kernels)) {
        if (!target->hasOwnCode(kernel, level))
          continue;
        if (groups.size() == firstGroup || groups.back().kernels.size() == kKernelsPerGroup)
          groups.push_back({code.levels.size(), {}, {}});
        groups.back().indices.push_back(i);
        groups.back().kernels.push_back(kernel);
      }
      // The artifact does not name levels which it has nothing for.
      if (groups.size() == firstGroup && !kernels.empty())
        continue;
      LevelCode &made = code.levels.emplace_back(LevelCode{target.get(), &level, {}, {}, 0});
      made.shapes.resize(kernels.size());
      if (!target->isHost())
        made.binaries.resize(kernels.size());
    }
  }

  code.objects.resize(groups.size());
  std::vector<double> seconds(groups.size());
  std::atomic<bool> failed = false;
  ParallelDiagnosticHandler diagnosticOrder(module.getContext());
  auto compileGroup = [&](const Group &group, SmallVector<char, 0> &object) -> LogicalResult {
    LevelCode &level = code.levels[group.level];
    auto compiled = level.target->compile(group.kernels, *level.level, options, form);
    if (mlir::failed(compiled))
      return failure();
    for (auto [index, shape] : llvm::zip_equal(group.indices, compiled->shapes))
      level.shapes[index] = shape;
    if (level.target->isHost()) {
      object = std::move(compiled->object);
      return success();
    }
    for (auto [index, binary] : llvm::zip_equal(group.indices, compiled->binaries))
      level.binaries[index] = std::move(binary);
    auto grids = compileGrids(group.kernels, level.level->name, compiled->shapes, options);
    if (mlir::failed(grids))
      return failure();
    object = std::move(*grids);
    return success();
  };
  for (auto [slot, group] : llvm::enumerate(groups))
    pool.async([&, slot = slot, &group = group] {
      // Whatever fails is reported, all of it, in the order of the groups.
      diagnosticOrder.setOrderIDForThread(slot);
      auto start = std::chrono::steady_clock::now();
      if (mlir::failed(compileGroup(group, code.objects[slot])))
        failed = true;
      seconds[slot] =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      diagnosticOrder.eraseOrderIDForThread();
    });
  pool.wait();
  if (failed)
    return failure();
  for (auto [group, taken] : llvm::zip_equal(groups, seconds))
    code.levels[group.level].seconds += taken;
  llvm::erase_if(code.objects, [](const auto &object) { return object.empty(); });
  return code;
}
