//===- KernelBinaries.cpp - the kernels of a level, one by one ------------===//

#include "codegen/gpu/KernelBinaries.h"

#include <thread>

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

namespace {

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

CompiledKernels
gpucode::compileEach(ArrayRef<dispatch::KernelOp> kernels, const Capabilities &caps,
                     llvm::function_ref<LogicalResult(ModuleOp, KernelBinary &)> emit) {
  CompiledKernels result;
  for (dispatch::KernelOp kernel : kernels) {
    Reasons reasons(kernel->getContext());
    KernelBinary &binary = result.binaries.emplace_back();
    LaunchShape &shape = result.shapes.emplace_back();
    OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
    FailureOr<GpuLaunch> launch = buildKernel(kernel, caps, *module);
    if (succeeded(launch) && succeeded(emit(*module, binary)))
      launch->describe(binary, shape);
    else
      binary.missing = reasons.first.empty() ? "no reason was given" : reasons.first;
  }
  return result;
}
