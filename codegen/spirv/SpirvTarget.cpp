//===- SpirvTarget.cpp - kernels to SPIR-V for Vulkan ---------------------===//

#include "codegen/spirv/SpirvTarget.h"

#include "codegen/gpu/GpuKernel.h"

#include "runtime-lite/include/lumen_abi.h"

#include <thread>

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

/// Keeps the errors of this thread to itself: they tell why a kernel has no code here, which
/// is no error of the compilation.
class Reasons {
public:
  explicit Reasons(MLIRContext *context)
      : handler(context, [this, thread = std::this_thread::get_id()](Diagnostic &diagnostic) {
          if (std::this_thread::get_id() != thread)
            return failure();
          if (first.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
            first = diagnostic.str();
          return success();
        }) {}

  std::string first;

private:
  ScopedDiagnosticHandler handler;
};

} // namespace

std::unique_ptr<Target> spirvcode::createSpirvTarget() { return std::make_unique<SpirvTarget>(); }

bool SpirvTarget::selectLevels(StringRef text, std::string &error) {
  if (text.empty() || text == levelNames.front())
    return true;
  error = "unknown SPIR-V level '" + text.str() + "', expected " + levelNames.front().str();
  return false;
}

static LogicalResult compileKernel(dispatch::KernelOp kernel, KernelBinary &binary,
                                   LaunchShape &shape) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  FailureOr<gpucode::GpuLaunch> launch =
      gpucode::buildKernel(kernel, gpucode::Capabilities(), *module);
  if (failed(launch))
    return failure();
  SmallVector<uint32_t, 0> words;
  if (failed(emitModule(*module, words, binary.features)))
    return failure();
  const char *bytes = reinterpret_cast<const char *>(words.data());
  binary.code.assign(bytes, bytes + words.size() * sizeof(uint32_t));
  binary.block = launch->block;
  binary.unitsPerWorkgroup = launch->unitsPerWorkgroup;
  binary.sharedSize = launch->sharedSize;
  binary.flags = launch->hasFaults ? LUMEN_ABI_GPU_FAULTS : 0;
  shape = {launch->grid, 1, static_cast<uint64_t>(launch->scratchSize)};
  return success();
}

FailureOr<CompiledKernels> SpirvTarget::compile(ArrayRef<dispatch::KernelOp> kernels, const Level &,
                                                const CodegenOptions &, CodeForm) const {
  CompiledKernels result;
  for (dispatch::KernelOp kernel : kernels) {
    Reasons reasons(kernel->getContext());
    KernelBinary &binary = result.binaries.emplace_back();
    LaunchShape &shape = result.shapes.emplace_back();
    if (failed(compileKernel(kernel, binary, shape)))
      binary.missing = reasons.first.empty() ? "no reason was given" : reasons.first;
  }
  return result;
}
