//===- PtxTarget.cpp - kernels to PTX for CUDA ----------------------------===//

#include "codegen/ptx/PtxTarget.h"

#include "codegen/gpu/KernelBinaries.h"

#include "runtime-lite/include/lumen_abi.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::ptxcode;

namespace {

/// Most demanding first.
constexpr StringRef kLevelNames[] = {"sm_90a", "sm_90", "sm_80", "sm_75"};

/// How the names of levels of machine code end.
constexpr StringRef kMachine = "-cubin";

class PtxTarget final : public Target {
public:
  PtxTarget() {
    std::string error;
    selectLevels("", error);
  }
  StringRef getName() const override { return "ptx"; }
  ArrayRef<StringRef> getLevelNames() const override { return kLevelNames; }
  ArrayRef<Level> getLevels() const override { return levels; }
  bool isHost() const override { return false; }
  StringRef getDriver() const override { return "lumen_driver_cuda"; }
  void prepare(MLIRContext &context) const override { prepareContext(context); }
  bool selectLevels(StringRef text, std::string &error) override;
  bool setAssembler(StringRef path) override;
  bool hasOwnCode(dispatch::KernelOp, const Level &level) const override {
    // Drivers compile the text for what is newer. No kernel gains from a newer level yet.
    return level.features & LUMEN_ABI_PTX_MACHINE || &level == &levels.back();
  }
  FailureOr<CompiledKernels> compile(ArrayRef<dispatch::KernelOp> kernels, const Level &level,
                                     const CodegenOptions &options, CodeForm form) const override;

private:
  std::string assembler; ///< empty: there is none
  std::vector<Level> levels;
};

} // namespace

std::unique_ptr<Target> ptxcode::createPtxTarget() { return std::make_unique<PtxTarget>(); }

/// See lumen_abi_level.features.
static uint64_t featuresOf(StringRef level) {
  uint64_t features = level.ends_with("a") ? LUMEN_ABI_PTX_EXACT : 0;
  unsigned capability;
  level.consume_front("sm_");
  level.consumeInteger(10, capability);
  return features | capability;
}

bool PtxTarget::selectLevels(StringRef text, std::string &error) {
  SmallVector<StringRef> names(kLevelNames, std::end(kLevelNames));
  if (!text.empty())
    names = llvm::to_vector(llvm::split(text, '+'));
  for (StringRef name : names)
    if (!llvm::is_contained(kLevelNames, name)) {
      error =
          ("unknown PTX level '" + name + "', expected " + llvm::join(ArrayRef(kLevelNames), ", "))
              .str();
      return false;
    }
  levels.clear();
  for (StringRef name : kLevelNames)
    if (llvm::is_contained(names, name))
      levels.push_back({name.str(), LUMEN_ABI_PTX, featuresOf(name)});
  return true;
}

bool PtxTarget::setAssembler(StringRef path) {
  assembler = path;
  std::vector<Level> texts = std::move(levels);
  levels.clear();
  for (const Level &text : texts)
    levels.push_back(
        {text.name + kMachine.str(), LUMEN_ABI_PTX, text.features | LUMEN_ABI_PTX_MACHINE});
  llvm::append_range(levels, texts);
  return true;
}

FailureOr<CompiledKernels> PtxTarget::compile(ArrayRef<dispatch::KernelOp> kernels,
                                              const Level &level, const CodegenOptions &options,
                                              CodeForm) const {
  StringRef name = level.name;
  bool isMachine = name.consume_back(kMachine);
  std::optional<Lowering> lowering;
  CompiledKernels result = gpucode::compileEach(
      kernels, gpucode::Capabilities(), [&](ModuleOp module, KernelBinary &binary) {
        if (!lowering)
          lowering.emplace(module.getContext(), name, options.optLevel);
        return lowering->emit(module, binary.code);
      });
  if (isMachine)
    for (auto [kernel, binary] : llvm::zip_equal(kernels, result.binaries))
      if (binary.missing.empty() && failed(assemble(kernel, assembler, name, binary.code)))
        return failure();
  return result;
}
