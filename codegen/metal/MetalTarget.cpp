//===- MetalTarget.cpp - kernels to text for Metal ------------------------===//

#include "codegen/metal/MetalTarget.h"

#include "codegen/gpu/KernelBinaries.h"
#include "codegen/gpu/Passes.h"
#include "codegen/gpu/SourcePrinter.h"

#include "runtime-lite/include/lumen_abi.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::metalcode;

namespace {

class MetalTarget final : public Target {
public:
  StringRef getName() const override { return "metal"; }
  ArrayRef<StringRef> getLevelNames() const override { return levelNames; }
  ArrayRef<Level> getLevels() const override { return levels; }
  bool isHost() const override { return false; }
  StringRef getDriver() const override { return "lumen_driver_metal"; }
  void prepare(MLIRContext &context) const override { gpucode::prepareContext(context); }
  bool selectLevels(StringRef text, std::string &error) override;
  FailureOr<CompiledKernels> compile(ArrayRef<dispatch::KernelOp> kernels, const Level &level,
                                     const CodegenOptions &options, CodeForm form) const override;

private:
  // The oldest version of the language with all that kernels need: 64-bit integers in
  // memory, templates, attributes in front. Later ones read it as well.
  SmallVector<StringRef> levelNames = {"metal2.4"};
  std::vector<Level> levels = {{"metal2.4", LUMEN_ABI_METAL, 0}};
};

} // namespace

std::unique_ptr<Target> metalcode::createMetalTarget() { return std::make_unique<MetalTarget>(); }

bool MetalTarget::selectLevels(StringRef text, std::string &error) {
  if (text.empty() || text == levelNames.front())
    return true;
  error = "unknown Metal level '" + text.str() + "', expected " + levelNames.front().str();
  return false;
}

FailureOr<CompiledKernels> MetalTarget::compile(ArrayRef<dispatch::KernelOp> kernels, const Level &,
                                                const CodegenOptions &, CodeForm) const {
  gpucode::Capabilities caps;
  caps.hasDoubles = false;
  if (kernels.empty())
    return CompiledKernels();
  gpucode::SourceEmitter emitter(kernels.front()->getContext(), caps, gpucode::kMetal);
  return gpucode::compileEach(kernels, caps, [&](ModuleOp module, KernelBinary &binary) {
    if (failed(emitter.emit(module, binary.code)))
      return failure();
    binary.code.push_back(0);
    return success();
  });
}
