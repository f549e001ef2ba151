//===- HipTarget.cpp - kernels to code objects for HIP --------------------===//

#include "codegen/hip/HipTarget.h"

#include "codegen/gpu/KernelBinaries.h"

#include "runtime-lite/include/lumen_abi.h"

#include "llvm/ADT/StringExtras.h"

#include <optional>

using namespace mlir;
using namespace lumen;
using namespace lumen::hipcode;

namespace {

/// What code for a processor runs on: see LUMEN_ABI_HIP_FIRST.
struct Processor {
  llvm::StringLiteral name;
  uint32_t first, last, without;
  bool isDefault;
};

/// Generations first, then chips; "User Guide for AMDGPU Backend", "Generic processors". Code of
/// one generation runs on the chips that it names, and no newer ones.
constexpr Processor kProcessors[] = {{"gfx12-generic", 0x1200, 0x1201, 0, true},
                                     {"gfx11-generic", 0x1100, 0x1153, 0, true},
                                     {"gfx10-3-generic", 0x1030, 0x1036, 0, true},
                                     {"gfx9-4-generic", 0x940, 0x950, 0, true},
                                     // Those with matrix units have generations of their own.
                                     {"gfx9-generic", 0x900, 0x90c, 1 << 8 | 1 << 10, true},
                                     {"gfx1201", 0x1201, 0x1201, 0, false},
                                     {"gfx1200", 0x1200, 0x1200, 0, false},
                                     {"gfx1151", 0x1151, 0x1151, 0, false},
                                     {"gfx1102", 0x1102, 0x1102, 0, false},
                                     {"gfx1101", 0x1101, 0x1101, 0, false},
                                     {"gfx1100", 0x1100, 0x1100, 0, false},
                                     {"gfx1030", 0x1030, 0x1030, 0, false},
                                     {"gfx950", 0x950, 0x950, 0, false},
                                     {"gfx942", 0x942, 0x942, 0, false},
                                     {"gfx90a", 0x90a, 0x90a, 0, true},
                                     {"gfx908", 0x908, 0x908, 0, false},
                                     {"gfx906", 0x906, 0x906, 0, false}};

class HipTarget final : public Target {
public:
  HipTarget() {
    for (const Processor &processor : kProcessors)
      names.push_back(processor.name);
    std::string error;
    selectLevels("", error);
  }
  StringRef getName() const override { return "hip"; }
  ArrayRef<StringRef> getLevelNames() const override { return names; }
  ArrayRef<Level> getLevels() const override { return levels; }
  bool isHost() const override { return false; }
  StringRef getDriver() const override { return "lumen_driver_hip"; }
  void prepare(MLIRContext &context) const override { prepareContext(context); }
  bool selectLevels(StringRef text, std::string &error) override;
  FailureOr<CompiledKernels> compile(ArrayRef<dispatch::KernelOp> kernels, const Level &level,
                                     const CodegenOptions &options, CodeForm form) const override;

private:
  SmallVector<StringRef> names;
  std::vector<Level> levels;
};

} // namespace

std::unique_ptr<Target> hipcode::createHipTarget() { return std::make_unique<HipTarget>(); }

bool HipTarget::selectLevels(StringRef text, std::string &error) {
  SmallVector<StringRef> wanted = llvm::to_vector(llvm::split(text, '+'));
  for (StringRef name : wanted)
    if (!text.empty() && !llvm::is_contained(names, name)) {
      error = ("unknown HIP level '" + name + "', expected " + llvm::join(names, ", ")).str();
      return false;
    }
  levels.clear();
  // A chip's own code is better than that of its generation.
  for (bool isChip : {true, false})
    for (const Processor &processor : kProcessors)
      if ((processor.first == processor.last) == isChip &&
          (text.empty() ? processor.isDefault : llvm::is_contained(wanted, processor.name)))
        levels.push_back(
            {processor.name.str(), LUMEN_ABI_HIP,
             processor.first | uint64_t(processor.last) << 16 | uint64_t(processor.without) << 32});
  return true;
}

FailureOr<CompiledKernels> HipTarget::compile(ArrayRef<dispatch::KernelOp> kernels,
                                              const Level &level, const CodegenOptions &options,
                                              CodeForm) const {
  std::optional<Lowering> lowering;
  return gpucode::compileEach(
      kernels, gpucode::Capabilities(), [&](ModuleOp module, KernelBinary &binary) {
        if (!lowering)
          lowering.emplace(module.getContext(), level.name, options.optLevel);
        return lowering->emit(module, binary.code);
      });
}
