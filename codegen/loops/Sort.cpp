//===- Sort.cpp - rows in order, and what is different in them ------------===//

#include "codegen/loops/Sort.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

static bool isUnsignedType(RankedTensorType type) {
  return type.getElementType().isUnsignedInteger();
}

/// Element `i` of a row of numbers, as an index.
static Value loadNumber(LoopEmitter &emit, const Access &access, ArrayRef<Value> row, int64_t axis,
                        Value i) {
  Values at(row);
  at[axis] = i;
  return emit.toIndex(emit.load(access, at));
}

static void storeNumber(LoopEmitter &emit, const Access &access, ArrayRef<Value> row, int64_t axis,
                        Value i, Value number) {
  Values at(row);
  at[axis] = i;
  emit.store(emit.toI64(number), access, at);
}

Value loops::isSortedBefore(LoopEmitter &emit, SortOp op, KeyAndNumber a, KeyAndNumber b) {
  auto [first, second] = std::pair(a.key, b.key);
  if (!op.getDescending())
    std::swap(first, second);
  bool isUnsigned = isUnsignedType(cast<RankedTensorType>(op.getOperand().getType()));
  Value isFirst = emit.isLarger(first, second, isUnsigned);
  Value isTie = emit.negate(emit.isLarger(second, first, isUnsigned));
  return emit.either(isFirst, emit.both(isTie, emit.less(a.number, b.number)));
}

FailureOr<LaunchShape> loops::buildSort(LoopKernel &kernel) {
  auto op = cast<SortOp>(kernel.root);
  const Access &operand = memoryOf(kernel, op.getOperand());
  const Access &values = kernel.results[0], &indices = kernel.results[1];
  Sizes sizes = sizesOf(operand.type);
  int64_t axis = op.getAxis();
  SymExpr length = sizes[axis], wanted = sizeOf(op.getValues(), axis);
  emitRowUnits(kernel, sizes, axis, [&](LoopEmitter &emit, ArrayRef<Value> row) {
    auto key = [&](LoopEmitter &e, Value number) {
      Values at(row);
      at[axis] = number;
      return e.load(operand, at);
    };
    auto precedes = [&](LoopEmitter &e, Value a, Value b) {
      return isSortedBefore(e, op, {key(e, a), a}, {key(e, b), b});
    };
    Value count = emit.size(wanted);
    emitSelection(
        emit, emit.size(length), count, [](LoopEmitter &, Value i) { return i; },
        [&](LoopEmitter &e, Value i) { return loadNumber(e, indices, row, axis, i); },
        [&](LoopEmitter &e, Value i, Value number) {
          storeNumber(e, indices, row, axis, i, number);
        },
        precedes);
    emit.loop(emit.constant(0), count, [&](LoopEmitter &e, Value i) {
      Values at(row);
      at[axis] = i;
      e.store(key(e, loadNumber(e, indices, row, axis, i)), values, at);
    });
  });
  Sizes rows = sizes;
  rows[axis] = 1;
  double comparisons = typicalValue(length);
  return launchOf(product(rows), comparisons * 10);
}

FailureOr<LaunchShape> loops::buildUnique(LoopKernel &kernel) {
  auto op = cast<UniqueOp>(kernel.root);
  const Access &operand = memoryOf(kernel, op.getOperand());
  const Access &first = kernel.results[0], &inverse = kernel.results[1],
               &counts = kernel.results[2], &order = kernel.results[3], &count = kernel.results[4];
  bool isUnsigned = isUnsignedType(operand.type);
  LoopEmitter emit(kernel);
  Value rows = emit.size(sizeOf(op.getOperand(), 0)), width = emit.size(sizeOf(op.getOperand(), 1));
  auto load = [](LoopEmitter &e, const Access &access, Value i) {
    return e.toIndex(e.load(access, {i}));
  };
  auto store = [](LoopEmitter &e, const Access &access, Value i, Value number) {
    e.store(e.toI64(number), access, {i});
  };
  // -1, 0 or 1: the first element in which two rows differ decides.
  auto compare = [&](LoopEmitter &e, Value a, Value b) {
    Type index = e.builder.getIndexType();
    Values found =
        e.repeat({e.constant(0), e.constant(0)}, [&](LoopEmitter &e, ValueRange carried) {
          Value column = carried[0];
          Value isInside = e.less(column, width);
          Value sign = e.branch(
              isInside, {index},
              [&](LoopEmitter &e) {
                Value keyA = e.load(operand, {a, column}), keyB = e.load(operand, {b, column});
                Value zero = e.constant(0);
                Value below = e.select(e.isLarger(keyB, keyA, isUnsigned), e.constant(-1), zero);
                return Values{e.select(e.isLarger(keyA, keyB, isUnsigned), e.constant(1), below)};
              },
              [&](LoopEmitter &e) { return Values{e.constant(0)}; })[0];
          Value goesOn = e.both(isInside, e.equal(sign, e.constant(0)));
          return Values{goesOn, e.add(column, 1), sign};
        });
    return found[1];
  };

  Value zero = emit.constant(0);
  emitSelection(
      emit, rows, rows, [](LoopEmitter &, Value i) { return i; },
      [&](LoopEmitter &e, Value i) { return load(e, order, i); },
      [&](LoopEmitter &e, Value i, Value number) { store(e, order, i, number); },
      [&](LoopEmitter &e, Value a, Value b) {
        Value sign = compare(e, a, b);
        Value isTie = e.equal(sign, zero);
        return e.either(e.less(sign, zero), e.both(isTie, e.less(a, b)));
      });
  // Equal rows lie side by side, the one that occurs first in front.
  Value groups = emit.loop(zero, rows, {zero}, [&](LoopEmitter &e, Value i, ValueRange carried) {
    Value number = load(e, order, i);
    Value isNew = e.branch(
        e.equal(i, zero), {e.builder.getI1Type()},
        [](LoopEmitter &e) { return Values{e.boolean(true)}; },
        [&](LoopEmitter &e) {
          Value sign = compare(e, load(e, order, e.sub(i, 1)), number);
          return Values{e.negate(e.equal(sign, zero))};
        })[0];
    Value group = e.select(isNew, carried[0], e.sub(carried[0], 1));
    e.branch(isNew, [&](LoopEmitter &e) {
      store(e, first, group, number);
      store(e, counts, group, zero);
    });
    store(e, counts, group, e.add(load(e, counts, group), 1));
    store(e, inverse, number, group);
    return Values{e.add(group, 1)};
  })[0];
  emit.store(emit.toI64(groups), count, {});
  if (!op.getSorted()) {
    // Renumber the groups as they occur. `order` takes the new number of each, then
    // the counts are brought into place by way of it.
    emit.loop(zero, rows, {zero}, [&](LoopEmitter &e, Value i, ValueRange carried) {
      Value group = load(e, inverse, i);
      Value isNew = e.equal(load(e, first, group), i);
      e.branch(isNew, [&](LoopEmitter &e) { store(e, order, group, carried[0]); });
      return Values{e.select(isNew, e.add(carried[0], 1), carried[0])};
    });
    emit.loop(zero, rows, [&](LoopEmitter &e, Value i) {
      store(e, inverse, i, load(e, order, load(e, inverse, i)));
    });
    emit.loop(zero, groups, [&](LoopEmitter &e, Value i) { store(e, counts, i, zero); });
    emit.loop(zero, rows, [&](LoopEmitter &e, Value i) {
      Value group = load(e, inverse, i), number = load(e, counts, group);
      e.branch(e.equal(number, zero), [&](LoopEmitter &e) { store(e, first, group, i); });
      store(e, counts, group, e.add(number, 1));
    });
  }
  return launchOf(1, 0);
}
