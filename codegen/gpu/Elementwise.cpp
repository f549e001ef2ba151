//===- Elementwise.cpp - kernels whose elements are computed one by one ---===//
//
// A thread computes one element of each result, of what it reads at its place or in a
// window around it: neighbours compute neighbours, so that what they read and write lies
// side by side.
//
//===----------------------------------------------------------------------===//

#include "codegen/gpu/GpuKernel.h"

#include "codegen/loops/Spaces.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

/// The results at element `number` of a part.
static void emitElement(GpuKernel &kernel, LoopEmitter &emit, const loops::BoxOfSpace &part,
                        ArrayRef<loops::NestLoop> walked, Value number) {
  Sizes sizes;
  for (const loops::NestLoop &loop : walked)
    sizes.push_back(loop.size);
  Values along = emit.delinearize(number, sizes);
  Position at;
  for (const SymExpr &offset : part.box.offsets)
    at.indices.push_back(emit.size(offset));
  for (auto [loop, index] : llvm::zip_equal(walked, along))
    at.indices[loop.dim] = emit.add(at.indices[loop.dim], index);
  // Everything is read before anything is written: results may lie in place.
  Values values;
  for (Value value : part.space.values)
    values.push_back(Expression(part.expression).emit(emit.builder, kernel.loc, value, at));
  for (auto [value, access] : llvm::zip_equal(values, part.space.accesses))
    kernel.expression.store(emit.builder, kernel.loc, value, access, at);
}

LogicalResult gpucode::buildElementwise(GpuKernel &kernel) {
  kernel.launch.grid = 0;
  kernel.emitThreadUnits([&](LoopEmitter &emit, Value unit) {
    // Elements of all parts are numbered through.
    loops::forEachBox(kernel, [&](const loops::BoxOfSpace &part) {
      auto walked = loops::mergeLoops(part.box.sizes, part.analysis, part.resultStrides);
      SymExpr count = product(part.box.sizes), first = kernel.launch.grid;
      if (count == SymExpr(0))
        return;
      kernel.launch.grid += count;
      Value number = emit.sub(unit, emit.size(first));
      Value isInside =
          emit.make<arith::CmpIOp>(arith::CmpIPredicate::ult, number, emit.size(count));
      emit.branch(isInside, [&](LoopEmitter &e) { emitElement(kernel, e, part, walked, number); });
    });
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
