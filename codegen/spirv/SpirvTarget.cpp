//===- SpirvTarget.cpp - kernels to SPIR-V for Vulkan ---------------------===//

#include "codegen/spirv/SpirvTarget.h"

#include "codegen/gpu/KernelBinaries.h"

#include "runtime-lite/include/lumen_abi.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::spirvcode;

namespace {

class SpirvTarget final : public Target {
public:
  StringRef getName() const override { return "spirv"; }
  ArrayRef<StringRef> getLevelNames() const override { return levelNames; }
  ArrayRef<Level> getLevels() const override { return levels; }
  bool isHost() const override { return false; }
  StringRef getDriver() const override { return "lumen_driver_vulkan"; }
  void prepare(MLIRContext &context) const override { prepareContext(context); }
  bool selectLevels(StringRef text, std::string &error) override;
  FailureOr<CompiledKernels> compile(ArrayRef<dispatch::KernelOp> kernels, const Level &level,
                                     const CodegenOptions &options, CodeForm form) const override;

private:
  // What a kernel needs beyond it is said by its features.
  SmallVector<StringRef> levelNames = {"vulkan1.1"};
  std::vector<Level> levels = {{"vulkan1.1", LUMEN_ABI_SPIRV, 0}};
};

} // namespace

std::unique_ptr<Target> spirvcode::createSpirvTarget() { return std::make_unique<SpirvTarget>(); }

bool SpirvTarget::selectLevels(StringRef text, std::string &error) {
  if (text.empty() || text == levelNames.front())
    return true;
  error = "unknown SPIR-V level '" + text.str() + "', expected " + levelNames.front().str();
  return false;
}

FailureOr<CompiledKernels> SpirvTarget::compile(ArrayRef<dispatch::KernelOp> kernels, const Level &,
                                                const CodegenOptions &, CodeForm) const {
  std::optional<Lowering> lowering;
  return gpucode::compileEach(kernels, gpucode::Capabilities(),
                              [&](ModuleOp module, KernelBinary &binary) {
                                if (!lowering)
                                  lowering.emplace(module.getContext());
                                SmallVector<uint32_t, 0> words;
                                if (failed(lowering->emit(module, words, binary.features)))
                                  return failure();
                                const char *bytes = reinterpret_cast<const char *>(words.data());
                                binary.code.assign(bytes, bytes + words.size() * sizeof(uint32_t));
                                return success();
                              });
}
