//===- Pipeline.cpp - the stages of a compilation -------------------------===//

#include "compiler/Pipeline.h"

#include "dialects/Dispatch/Dispatch.h"
#include "dialects/Lumen/Lumen.h"
#include "dialects/Onnx/Onnx.h"
#include "passes/dispatch/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/onnx-to-lumen/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lumen;

static void buildLumenStage(OpPassManager &pm) {
  // The conversion walks one graph.
  pm.addPass(createInlineOnnxFunctions());
  pm.addPass(createConvertOnnxToLumen());
  pm.addPass(createVerifyNoOnnx());
  pm.addPass(createStoreNarrowTypes());
}

static void buildGraphStage(OpPassManager &pm) {
  buildGraphPipeline(pm);
  // Nothing behind this point asks where a symbol comes from.
  pm.addPass(createVerifySymbols());
}

static void buildDispatchStage(OpPassManager &pm) {
  pm.addPass(createFormKernels());
  // Strides are part of a kernel, so views come before equal kernels are merged.
  pm.addPass(createPlaceViews());
  pm.addPass(createDeduplicateKernels());
  pm.addPass(createVerifyDispatch());
}

static void buildMemoryStage(OpPassManager &pm) {
  pm.addPass(createPlanBuffers());
  pm.addPass(createVerifyNoTensors());
}

ArrayRef<Stage> lumen::stages() {
  static constexpr Stage all[] = {
      {"onnx", "the file as it is", nullptr},
      {"lumen", "tensor operations with inferred shapes", buildLumenStage},
      {"graph", "simplified, channels-last, weights packed", buildGraphStage},
      {"dispatch", "fused kernels and a schedule of launches", buildDispatchStage},
      {"memory", "the schedule over buffers of one arena", buildMemoryStage},
  };
  return all;
}

const Stage *lumen::findStage(StringRef name) {
  for (const Stage &stage : stages())
    if (stage.name == name)
      return &stage;
  return nullptr;
}

void lumen::loadDialects(MLIRContext &context) {
  context.loadDialect<LumenDialect, onnx::OnnxDialect, dispatch::DispatchDialect, func::FuncDialect>();
}
