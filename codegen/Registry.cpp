//===- Registry.cpp - the targets of this compiler ------------------------===//

#include "codegen/Target.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/hip/HipTarget.h"
#include "codegen/metal/MetalTarget.h"
#include "codegen/ptx/PtxTarget.h"
#include "codegen/spirv/SpirvTarget.h"

using namespace lumen;

namespace {
struct Row {
  llvm::StringRef name;
  std::unique_ptr<Target> (*create)();
};
} // namespace

static constexpr Row kTargets[] = {{"cpu", cpu::createCpuTarget},
                                   {"spirv", spirvcode::createSpirvTarget},
                                   {"hip", hipcode::createHipTarget},
                                   {"ptx", ptxcode::createPtxTarget},
                                   {"metal", metalcode::createMetalTarget}};

llvm::ArrayRef<llvm::StringRef> lumen::targetNames() {
  static const auto names = [] {
    std::array<llvm::StringRef, std::size(kTargets)> names;
    llvm::transform(kTargets, names.begin(), [](const Row &row) { return row.name; });
    return names;
  }();
  return names;
}

mlir::FailureOr<llvm::SmallVector<char, 0>>
lumen::compileGrids(llvm::ArrayRef<dispatch::KernelOp> kernels, llvm::StringRef level,
                    llvm::ArrayRef<LaunchShape> shapes, const CodegenOptions &options) {
  return cpu::compileGrids(kernels, level, shapes, options);
}

std::unique_ptr<Target> lumen::createTarget(llvm::StringRef name) {
  for (const Row &row : kTargets)
    if (row.name == name)
      return row.create();
  return nullptr;
}
