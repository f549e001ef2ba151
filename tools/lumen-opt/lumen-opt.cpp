//===- lumen-opt.cpp - run any pass on any dump ---------------------------===//
//
// Takes what mlir-opt takes, and `--blobs=FILE` for the constants of a dump:
//
//   lumenc model.onnx --dump-stages=dumps --stop-after=lumen
//   lumen-opt dumps/01-lumen.mlir --blobs=dumps/blobs.bin --propagate-transposes
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/CpuTarget.h"
#include "codegen/gpu/Passes.h"
#include "codegen/hip/HipTarget.h"
#include "codegen/ptx/PtxTarget.h"
#include "codegen/spirv/SpirvTarget.h"
#include "compiler/Dumps.h"
#include "dialects/Dispatch/Dispatch.h"
#include "dialects/Onnx/Onnx.h"
#include "passes/dispatch/Passes.h"
#include "passes/graph/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/onnx-to-lumen/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"

static llvm::cl::opt<std::string> blobs("blobs",
                                        llvm::cl::desc("Constants of the dump (blobs.bin)"),
                                        llvm::cl::value_desc("file"));

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<lumen::LumenDialect, lumen::onnx::OnnxDialect, lumen::dispatch::DispatchDialect,
                  mlir::func::FuncDialect, mlir::gpu::GPUDialect, mlir::math::MathDialect,
                  mlir::memref::MemRefDialect, mlir::scf::SCFDialect, mlir::spirv::SPIRVDialect,
                  mlir::vector::VectorDialect>();
  // Every context that loads the dialect gets the constants, before it parses.
  registry.addExtension(+[](mlir::MLIRContext *, lumen::LumenDialect *dialect) {
    if (blobs.empty())
      return;
    if (llvm::Error error = lumen::readBlobs(dialect->getBlobs(), blobs)) {
      llvm::errs() << "lumen-opt: " << llvm::toString(std::move(error)) << "\n";
      exit(1);
    }
  });
  mlir::registerTransformsPasses();
  lumen::registerOnnxToLumenPasses();
  lumen::registerGraphPasses();
  lumen::registerDispatchPasses();
  lumen::registerMemoryPasses();
  lumen::cpu::registerCpuPasses();
  lumen::gpucode::registerGpuPasses();
  lumen::hipcode::registerHipPasses();
  lumen::ptxcode::registerPtxPasses();
  lumen::spirvcode::registerSpirvPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "runs Lumen's passes on a dump\n", registry));
}
