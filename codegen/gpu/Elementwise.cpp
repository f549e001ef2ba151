//===- Elementwise.cpp - kernels whose elements are computed one by one ---===//
//
// A thread computes one element of each result, of what it reads at its place or in a
// window around it: neighbours compute neighbours, so that what they read and write lies
// side by side.
//
//===----------------------------------------------------------------------===//

#include "codegen/gpu/GpuKernel.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

LogicalResult gpucode::buildElementwise(GpuKernel &kernel) {
  SmallVector<SymExpr> counts;
  for (const Access &result : kernel.results)
    counts.push_back(product(sizesOf(result.type)));
  SymExpr most = counts.front();
  for (const SymExpr &count : ArrayRef(counts).drop_front())
    most = SymExpr::max(most, count);
  kernel.launch.grid = most;

  kernel.emitThreadUnits([&](LoopEmitter &emit, Value unit) {
    for (auto [i, result] : llvm::enumerate(kernel.results)) {
      auto compute = [&, i = i, &result = result](LoopEmitter &e) {
        Position at;
        at.indices = e.delinearize(unit, sizesOf(result.type));
        Value value = kernel.expression.emit(e.builder, kernel.loc, kernel.yielded(i), at);
        kernel.expression.store(e.builder, kernel.loc, value, result, at);
      };
      if (counts[i] == most)
        compute(emit);
      else
        emit.branch(emit.less(unit, emit.size(counts[i])), compute);
    }
  });
  return success();
}

LogicalResult gpucode::buildWindow(GpuKernel &kernel) {
  if (failed(loops::checkWindow(kernel)))
    return failure();
  Sizes sizes = sizesOf(kernel.root->getResult(0));
  kernel.launch.grid = product(sizes);
  kernel.emitThreadUnits([&](LoopEmitter &emit, Value unit) {
    Position at;
    at.indices = emit.delinearize(unit, sizes);
    loops::emitWindow(kernel, emit.builder, at);
  });
  return success();
}
