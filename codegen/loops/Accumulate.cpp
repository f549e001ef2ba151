//===- Accumulate.cpp - what is carried along a dimension -----------------===//

#include "codegen/loops/LoopEmitter.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

FailureOr<LaunchShape> loops::buildAccumulate(LoopKernel &kernel) {
  auto op = cast<AccumulateOp>(kernel.root);
  const Access &operand = memoryOf(kernel, op.getOperand()), &result = kernel.results[0];
  Sizes sizes = sizesOf(operand.type);
  int64_t axis = op.getAxis();
  bool isSum = op.getKind() == AccumulateKind::Add;
  emitRowUnits(kernel, sizes, axis, [&](LoopEmitter &emit, ArrayRef<Value> row) {
    Type element = registerType(operand.type.getElementType());
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
      element = emit.builder.getF32Type();
    TypedAttr neutral = isa<FloatType>(element)
                            ? TypedAttr(emit.builder.getFloatAttr(element, isSum ? 0 : 1))
                            : TypedAttr(emit.builder.getIntegerAttr(element, isSum ? 0 : 1));
    Value length = emit.size(sizes[axis]);
    emit.loop(emit.constant(0), length,
              {arith::ConstantOp::create(emit.builder, emit.loc, neutral)},
              [&](LoopEmitter &e, Value i, ValueRange carried) {
                Values at(row);
                at[axis] = op.getReverse() ? e.sub(e.sub(length, 1), i) : i;
                Value value = e.load(operand, at), next;
                if (isa<FloatType>(element))
                  next = isSum ? e.make<arith::AddFOp>(carried[0], value)
                               : e.make<arith::MulFOp>(carried[0], value);
                else
                  next = isSum ? e.add(carried[0], value) : e.mul(carried[0], value);
                e.store(op.getExclusive() ? carried[0] : next, result, at);
                return Values{next};
              });
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
