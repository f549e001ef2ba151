//===- lumen-opt.cpp - run any pass on any dump ---------------------------===//

#include "dialects/Dispatch/Dispatch.h"
#include "dialects/Onnx/Onnx.h"
#include "passes/dispatch/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/onnx-to-lumen/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<lumen::LumenDialect, lumen::onnx::OnnxDialect, lumen::dispatch::DispatchDialect,
                  mlir::func::FuncDialect>();
  mlir::registerTransformsPasses();
  lumen::registerGraphPasses();
  lumen::registerDispatchPasses();
  lumen::registerMemoryPasses();
  lumen::registerOnnxToLumenPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "runs Lumen's passes on a dump\n", registry));
}
