//===- Recurrence.cpp - a row of a sequence for a workgroup ---------------===//
//
// Steps follow each other, so what a device can do at once are the elements of a step: a
// workgroup has a row of the batch, whose states and products lie in shared memory. A thread
// computes columns of products; neighbours read neighbouring parameters.
//
//===----------------------------------------------------------------------===//

#include "codegen/loops/Recurrence.h"

#include "codegen/gpu/GpuKernel.h"
#include "dialects/Lumen/PackedWeights.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

namespace {

class SharedCell : public loops::CellEmitter {
public:
  SharedCell(GpuKernel &kernel, RecurrenceOp op) : CellEmitter(kernel, op), gpu(kernel) {}

protected:
  Value makeMemory(int64_t elements) override { return gpu.allocateShared(element, elements); }
  void forEachVector(LoopEmitter &emit, int64_t rank, int64_t size, VectorBody body) override {
    gpu.shareNumbers(emit, size, [&](LoopEmitter &e, Value number) {
      Position position;
      position.indices.assign(rank, e.constant(0));
      position.indices.back() = number;
      body(e, position);
    });
  }
  void multiply(LoopEmitter &emit, const Access &lhs, const Access &rhs,
                const Access &result) override;
  void synchronize(LoopEmitter &emit) override { gpu.barrier(emit.builder); }

private:
  GpuKernel &gpu;
};

/// Only counts the memory of a row.
struct CellSize : loops::CellEmitter {
  using CellEmitter::CellEmitter;
  Value makeMemory(int64_t elements) override {
    bytes += elements * element.getIntOrFloatBitWidth() / 8;
    return Value();
  }
  int64_t bytes = 0;
};

} // namespace

void SharedCell::multiply(LoopEmitter &emit, const Access &lhs, const Access &rhs,
                          const Access &result) {
  Value panelColumns = emit.constant(kPanelColumns);
  Value zero = arith::ConstantOp::create(emit.builder, emit.loc, emit.builder.getZeroAttr(element));
  gpu.shareNumbers(emit, result.type.getDimSize(1), [&](LoopEmitter &e, Value column) {
    Value panel = e.div(column, panelColumns), inPanel = e.rem(column, panelColumns);
    Value sum = e.loop(e.constant(0), e.constant(rhs.type.getDimSize(1)), zero,
                       [&](LoopEmitter &e, Value k, ValueRange carried) {
                         Value factor = loadFactor(e, lhs, k);
                         Value weight = e.load(rhs, {panel, k, inPanel});
                         return Values{e.make<math::FmaOp>(factor, weight, carried[0])};
                       })[0];
    e.store(sum, result, {e.constant(0), column});
  });
}

LogicalResult gpucode::buildRecurrence(GpuKernel &kernel) {
  if (failed(loops::expectAlone(kernel)))
    return failure();
  auto op = cast<RecurrenceOp>(kernel.root);
  CellSize size(kernel, op);
  size.allocate();
  if (size.bytes > kernel.device.sharedBytes)
    return buildThreads(kernel);
  kernel.launch.block = kernel.device.maxThreads;
  kernel.launch.grid = sizeOf(op.getInput(), 1);
  SharedCell cell(kernel, op);
  cell.allocate();
  kernel.emitWorkgroupUnits([&](LoopEmitter &emit, Value row) { cell.emitRow(emit, row); });
  return success();
}
