//===- Threads.cpp - the loops of a kernel, a unit for each thread --------===//
//
// The generic road: what computes a family on a CPU computes it here, with single
// elements for vectors and one unit at a time.
//
//===----------------------------------------------------------------------===//

#include "codegen/gpu/GpuKernel.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

LogicalResult gpucode::buildThreads(GpuKernel &kernel) {
  loops::KernelBuilder build = loops::builderFor(kernel.root);
  if (!build)
    return kernel.op.emitError("has the root ")
           << kernel.root->getName() << ", which has no GPU builder";
  FailureOr<LaunchShape> shape;
  kernel.emitThreadUnits([&](LoopEmitter &emit, Value unit) {
    kernel.begin = unit;
    kernel.end = emit.add(unit, 1);
    shape = build(kernel);
  });
  if (failed(shape))
    return failure();
  kernel.launch.grid = shape->grid;
  kernel.launch.scratchSize = shape->scratchSize;
  return success();
}
