//===- Accumulate.cpp - what is carried along a dimension -----------------===//

#include "codegen/loops/Accumulate.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

Accumulator loops::accumulatorOf(AccumulateOp op) {
  Type element = cast<RankedTensorType>(op.getOperand().getType()).getElementType();
  bool isSum = op.getKind() == AccumulateKind::Add;
  return {isSum ? ReduceKind::Sum : ReduceKind::Prod, accumulationType(element)};
}

Value loops::emitAccumulation(LoopEmitter &emit, AccumulateOp op, ArrayRef<Value> row,
                              const Segment &segment, bool stores) {
  const Access &operand = memoryOf(emit.kernel, op.getOperand());
  const Access &result = emit.kernel.results[0];
  Accumulator accumulator = accumulatorOf(op);
  Value length = emit.size(sizeOf(op.getOperand(), op.getAxis()));
  return emit.loop(
      segment.begin, segment.end, segment.before, [&](LoopEmitter &e, Value i, ValueRange carried) {
        Values at(row);
        at[op.getAxis()] = op.getReverse() ? e.sub(e.sub(length, 1), i) : i;
        Value next = combine(e.builder, e.loc, accumulator, carried[0], e.load(operand, at));
        if (stores)
          e.store(op.getExclusive() ? carried[0] : next, result, at);
        return Values{next};
      })[0];
}

FailureOr<LaunchShape> loops::buildAccumulate(LoopKernel &kernel) {
  auto op = cast<AccumulateOp>(kernel.root);
  Sizes sizes = sizesOf(op.getOperand());
  int64_t axis = op.getAxis();
  emitRowUnits(kernel, sizes, axis, [&](LoopEmitter &emit, ArrayRef<Value> row) {
    Value none = neutral(emit.builder, emit.loc, accumulatorOf(op), /*lanes=*/0);
    emitAccumulation(emit, op, row, {emit.constant(0), emit.size(sizes[axis]), none},
                     /*stores=*/true);
  });
  Sizes rows = sizes;
  rows[axis] = 1;
  return launchOf(product(rows), 2.0 * typicalValue(sizes[axis]));
}

FailureOr<LaunchShape> loops::buildNonzero(LoopKernel &kernel) {
  auto op = cast<NonzeroOp>(kernel.root);
  const Access &operand = memoryOf(kernel, op.getOperand());
  const Access &indices = kernel.results[0], &count = kernel.results[1];
  LoopEmitter emit(kernel);
  Value zero = emit.constant(0), one = emit.constant(1);
  // Every place is written where the next one belongs and kept if it counts: there
  // is no branch to mispredict.
  Value found = emit.loop(zero, emit.size(sizeOf(op.getOperand(), 0)), {zero},
                          [&](LoopEmitter &e, Value i, ValueRange carried) {
                            e.store(e.toI64(i), indices, {carried[0]});
                            Value counts = e.load(operand, {i});
                            return Values{e.add(carried[0], e.select(counts, one, zero))};
                          })[0];
  emit.store(emit.toI64(found), count, {});
  return launchOf(1, 0);
}
