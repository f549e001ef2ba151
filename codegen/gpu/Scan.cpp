//===- Scan.cpp - what is carried along a row, by a workgroup -------------===//
//
// Each thread has a segment of the row and goes along it twice: first for what its elements
// make together, then, with what the segments before it make, for the results.
//
//===----------------------------------------------------------------------===//

#include "codegen/gpu/GpuKernel.h"

#include "codegen/loops/Accumulate.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;
using loops::Accumulator;

namespace {

class SegmentScan {
public:
  SegmentScan(GpuKernel &kernel, Accumulator accumulator)
      : kernel(kernel), accumulator(accumulator),
        sums(kernel.allocateShared(accumulator.type, kernel.launch.block)) {}

  /// The segment of this thread; nothing is carried into it yet.
  loops::Segment segmentOf(LoopEmitter &emit, const SymExpr &length);
  /// What the segments before this thread's make, of which its own makes `sum`.
  Value before(LoopEmitter &emit, Value sum);

private:
  GpuKernel &kernel;
  Accumulator accumulator;
  Value sums; ///< one for each thread
};

} // namespace

loops::Segment SegmentScan::segmentOf(LoopEmitter &emit, const SymExpr &length) {
  int64_t threads = kernel.launch.block;
  Value each = emit.size(SymExpr::floorDiv(length + (threads - 1), threads));
  Value all = emit.size(length), begin = emit.min(emit.mul(kernel.thread, each), all);
  return {begin, emit.min(emit.add(begin, each), all),
          loops::neutral(emit.builder, kernel.loc, accumulator, /*lanes=*/0)};
}

Value SegmentScan::before(LoopEmitter &emit, Value sum) {
  memref::StoreOp::create(emit.builder, kernel.loc, sum, sums, kernel.thread);
  kernel.barrier(emit.builder);
  Value none = loops::neutral(emit.builder, kernel.loc, accumulator, /*lanes=*/0);
  Value before = emit.loop(
      emit.constant(0), kernel.thread, none, [&](LoopEmitter &e, Value i, ValueRange carried) {
        Value other = memref::LoadOp::create(e.builder, e.loc, sums, i);
        return Values{loops::combine(e.builder, e.loc, accumulator, carried[0], other)};
      })[0];
  kernel.barrier(emit.builder); // before the memory is used again
  return before;
}

/// Whether a row has enough elements for the threads of a workgroup.
static bool isLong(const SymExpr &length) { return typicalValue(length) >= 256; }

LogicalResult gpucode::buildAccumulate(GpuKernel &kernel) {
  if (failed(loops::expectAlone(kernel)))
    return failure();
  auto op = cast<AccumulateOp>(kernel.root);
  Sizes rows = sizesOf(op.getOperand());
  SymExpr length = std::exchange(rows[op.getAxis()], 1);
  Accumulator accumulator = loops::accumulatorOf(op);
  if (!isLong(length) || accumulator.type.getIntOrFloatBitWidth() < 32)
    return buildThreads(kernel);
  kernel.launch.grid = product(rows);
  SegmentScan scan(kernel, accumulator);
  kernel.emitWorkgroupUnits([&](LoopEmitter &emit, Value unit) {
    Values row = emit.delinearize(unit, rows);
    loops::Segment segment = scan.segmentOf(emit, length);
    Value sum = loops::emitAccumulation(emit, op, row, segment, /*stores=*/false);
    segment.before = scan.before(emit, sum);
    loops::emitAccumulation(emit, op, row, segment, /*stores=*/true);
  });
  return success();
}

LogicalResult gpucode::buildNonzero(GpuKernel &kernel) {
  if (failed(loops::expectAlone(kernel)))
    return failure();
  auto op = cast<NonzeroOp>(kernel.root);
  SymExpr length = sizeOf(op.getOperand(), 0);
  if (!isLong(length))
    return buildThreads(kernel);
  const Access &operand = loops::memoryOf(kernel, op.getOperand());
  Type number = kernel.builder.getI32Type();
  kernel.launch.block = kernel.device.maxThreads;
  SegmentScan scan(kernel, {ReduceKind::Sum, number});
  kernel.emitWorkgroupUnits([&](LoopEmitter &emit, Value) {
    loops::Segment segment = scan.segmentOf(emit, length);
    auto isCounted = [&](LoopEmitter &e, Value i) { return e.load(operand, {i}); };
    Value found = emit.loop(segment.begin, segment.end, segment.before,
                            [&](LoopEmitter &e, Value i, ValueRange carried) {
                              Value one = e.make<arith::ExtUIOp>(number, isCounted(e, i));
                              return Values{e.add(carried[0], one)};
                            })[0];
    Value place = emit.toIndex(scan.before(emit, found));
    Value end = emit.loop(
        segment.begin, segment.end, place, [&](LoopEmitter &e, Value i, ValueRange carried) {
          Value counts = isCounted(e, i);
          e.branch(counts,
                   [&](LoopEmitter &e) { e.store(e.toI64(i), kernel.results[0], {carried[0]}); });
          return Values{e.select(counts, e.add(carried[0], 1), carried[0])};
        })[0];
    Value isLast = emit.equal(kernel.thread, emit.constant(kernel.launch.block - 1));
    emit.branch(isLast, [&](LoopEmitter &e) { e.store(e.toI64(end), kernel.results[1], {}); });
  });
  return success();
}
