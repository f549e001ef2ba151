//===- Sort.cpp - rows in order, a row for a workgroup --------------------===//
//
// Elements wait in shared memory with their numbers: those that are wanted so far, and behind
// them as many new ones as there is room for, which a bitonic network brings into order
// together. Of a row of which more is wanted than shared memory holds, each thread counts the
// elements that stand before one of its own: that takes the square of the row's length, but
// all threads at once and nothing of what others have written.
//
//===----------------------------------------------------------------------===//

#include "codegen/loops/Sort.h"

#include "codegen/gpu/GpuKernel.h"

#include "codegen/loops/Rows.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;

namespace {

class RowSort {
public:
  RowSort(GpuKernel &kernel, SortOp op);

  void build();

private:
  /// Whether a row goes through shared memory in few pieces, as long as that is known.
  std::optional<bool> fits() const;
  Value emitFits(LoopEmitter &emit);
  void emitRow(LoopEmitter &emit, ArrayRef<Value> row);
  /// Brings the elements of a block to where they belong.
  void emitRanks(LoopEmitter &emit, ArrayRef<Value> row, Value block);
  /// Stores element `number` of the row as the one in a place of the result.
  void storeResult(LoopEmitter &emit, ArrayRef<Value> row, Value place, Value number);
  Values placeInRow(ArrayRef<Value> row, Value at) const {
    Values place(row);
    place[op.getAxis()] = at;
    return place;
  }
  Value loadKey(LoopEmitter &emit, ArrayRef<Value> row, Value number);
  /// Brings the first `total` places into order.
  void sortPlaces(LoopEmitter &emit, Value total);
  /// Swaps two places that are out of order.
  void compareExchange(LoopEmitter &emit, Value first, Value second);

  Value load(LoopEmitter &emit, Value memory, Value at) {
    return memref::LoadOp::create(emit.builder, kernel.loc, memory, at);
  }
  void store(LoopEmitter &emit, Value value, Value memory, Value at) {
    memref::StoreOp::create(emit.builder, kernel.loc, value, memory, at);
  }

  GpuKernel &kernel;
  mutable SortOp op; // accessors are not const
  const Access &operand;
  SymExpr length, wanted;
  Type keyType, numberType;
  int64_t capacity; ///< places, a power of two
  Value keys, numbers;
};

} // namespace

RowSort::RowSort(GpuKernel &kernel, SortOp op)
    : kernel(kernel), op(op), operand(loops::memoryOf(kernel, op.getOperand())),
      length(sizeOf(op.getOperand(), op.getAxis())), wanted(sizeOf(op.getValues(), op.getAxis())),
      keyType(loops::accumulationType(operand.type.getElementType())),
      numberType(kernel.builder.getI32Type()) {
  if (keyType.getIntOrFloatBitWidth() < 32)
    keyType = kernel.builder.getI32Type(); // what every device has in shared memory
  int64_t bytes = (keyType.getIntOrFloatBitWidth() + numberType.getIntOrFloatBitWidth()) / 8;
  capacity = llvm::bit_floor<uint64_t>(kernel.device.sharedBytes / bytes);
  if (std::optional<int64_t> constant = length.asConstant())
    capacity = std::min<int64_t>(capacity, llvm::PowerOf2Ceil(std::max<int64_t>(*constant, 2)));
}

std::optional<bool> RowSort::fits() const {
  std::optional<int64_t> all = length.asConstant(), some = wanted.asConstant();
  if ((all && *all <= capacity) || (some && 2 * *some <= capacity))
    return true;
  return all && some ? std::optional(false) : std::nullopt;
}

Value RowSort::emitFits(LoopEmitter &emit) {
  auto isAtMost = [&](const SymExpr &size, int64_t most) {
    return emit.less(emit.size(size), emit.constant(most + 1));
  };
  return emit.either(isAtMost(length, capacity), isAtMost(wanted, capacity / 2));
}

Value RowSort::loadKey(LoopEmitter &emit, ArrayRef<Value> row, Value number) {
  Value key = emit.load(operand, placeInRow(row, number));
  if (key.getType() == keyType)
    return key;
  Type element = operand.type.getElementType();
  if (element.isUnsignedInteger() || element.isInteger(1))
    return emit.make<arith::ExtUIOp>(keyType, key);
  return emit.make<arith::ExtSIOp>(keyType, key);
}

void RowSort::compareExchange(LoopEmitter &emit, Value first, Value second) {
  loops::KeyAndNumber a{load(emit, keys, first), load(emit, numbers, first)};
  loops::KeyAndNumber b{load(emit, keys, second), load(emit, numbers, second)};
  emit.branch(loops::isSortedBefore(emit, op, b, a), [&](LoopEmitter &e) {
    store(e, b.key, keys, first);
    store(e, b.number, numbers, first);
    store(e, a.key, keys, second);
    store(e, a.number, numbers, second);
  });
}

void RowSort::sortPlaces(LoopEmitter &emit, Value total) {
  // Runs of twice `half` places are merged from two ordered ones. Their first step compares
  // places that mirror each other, so that smaller ones always come to the front, and places
  // behind the last are as if they held what is larger than everything.
  Value zero = emit.constant(0), two = emit.constant(2);
  auto isRunShort = [&](LoopEmitter &e, ValueRange carried) { return e.less(carried[0], total); };
  emit.repeatWhile(emit.constant(1), isRunShort, [&](LoopEmitter &e, ValueRange carried) {
    Value half = carried[0];
    auto isApart = [&](LoopEmitter &e, ValueRange carried) { return e.less(zero, carried[0]); };
    e.repeatWhile(half, isApart, [&](LoopEmitter &e, ValueRange carried) {
      Value distance = carried[0], isMirrored = e.equal(distance, half);
      Value pairs = e.div(e.add(total, distance), two); // others begin behind the last place
      kernel.shareNumbers(e, pairs, [&](LoopEmitter &e, Value pair) {
        Value rest = e.make<arith::AndIOp>(pair, e.sub(distance, 1));
        Value first = e.sub(e.add(pair, pair), rest);
        Value inRun = e.sub(e.add(distance, distance), e.add(rest, e.add(rest, 1)));
        Value second = e.add(first, e.select(isMirrored, inRun, distance));
        e.branch(e.less(second, total), [&](LoopEmitter &e) { compareExchange(e, first, second); });
      });
      kernel.barrier(e.builder);
      return Values{e.div(distance, two)};
    });
    return Values{e.add(half, half)};
  });
}

void RowSort::emitRow(LoopEmitter &emit, ArrayRef<Value> row) {
  Value zero = emit.constant(0), all = emit.size(length), count = emit.size(wanted);
  auto isMore = [&](LoopEmitter &e, ValueRange carried) { return e.less(carried[1], all); };
  emit.repeatWhile({zero, zero}, isMore, [&](LoopEmitter &e, ValueRange carried) {
    Value kept = carried[0], done = carried[1];
    Value taken = e.min(e.sub(e.constant(capacity), kept), e.sub(all, done));
    kernel.shareNumbers(e, taken, [&](LoopEmitter &e, Value i) {
      Value place = e.add(kept, i), number = e.add(done, i);
      store(e, loadKey(e, row, number), keys, place);
      store(e, e.make<arith::IndexCastOp>(numberType, number), numbers, place);
    });
    kernel.barrier(e.builder);
    Value total = e.add(kept, taken);
    sortPlaces(e, total);
    done = e.add(done, taken);
    return Values{e.min(count, total), done};
  });
  kernel.shareNumbers(emit, count, [&](LoopEmitter &e, Value place) {
    storeResult(e, row, place, e.toIndex(load(e, numbers, place)));
  });
  kernel.barrier(emit.builder); // before the memory is used again
}

void RowSort::storeResult(LoopEmitter &emit, ArrayRef<Value> row, Value place, Value number) {
  // From memory, where the bits of a NaN are still as they were.
  Value value = emit.load(operand, placeInRow(row, number));
  emit.store(value, kernel.results[0], placeInRow(row, place));
  emit.store(emit.toI64(number), kernel.results[1], placeInRow(row, place));
}

void RowSort::emitRanks(LoopEmitter &emit, ArrayRef<Value> row, Value block) {
  Value zero = emit.constant(0), all = emit.size(length), room = emit.constant(capacity);
  Value own = emit.add(emit.mul(block, emit.constant(kernel.launch.block)), kernel.thread);
  loops::KeyAndNumber mine{loadKey(emit, row, emit.min(own, emit.sub(all, 1))), own};
  Value pieces = emit.div(emit.add(all, capacity - 1), room);
  Value rank = emit.loop(zero, pieces, zero, [&](LoopEmitter &e, Value piece, ValueRange carried) {
    Value first = e.mul(piece, room), count = e.min(room, e.sub(all, first));
    kernel.shareNumbers(e, count, [&](LoopEmitter &e, Value i) {
      store(e, loadKey(e, row, e.add(first, i)), keys, i);
    });
    kernel.barrier(e.builder);
    Values rank = e.loop(zero, count, carried, [&](LoopEmitter &e, Value i, ValueRange carried) {
      loops::KeyAndNumber other{load(e, keys, i), e.add(first, i)};
      Value isBefore = loops::isSortedBefore(e, op, other, mine);
      return Values{e.select(isBefore, e.add(carried[0], 1), carried[0])};
    });
    kernel.barrier(e.builder);
    return rank;
  })[0];
  Value isWanted = emit.both(emit.less(own, all), emit.less(rank, emit.size(wanted)));
  emit.branch(isWanted, [&](LoopEmitter &e) { storeResult(e, row, rank, own); });
}

void RowSort::build() {
  int64_t block = kernel.launch.block = kernel.device.maxThreads;
  std::optional<bool> known = fits();
  keys = kernel.allocateShared(keyType, capacity);
  if (known.value_or(true))
    numbers = kernel.allocateShared(numberType, capacity);
  Sizes space = sizesOf(op.getOperand());
  space[op.getAxis()] = 1;
  SymExpr blocks = known.value_or(false) ? 1 : SymExpr::floorDiv(length + (block - 1), block);
  space.push_back(blocks);
  kernel.launch.grid = product(space);
  kernel.emitWorkgroupUnits([&](LoopEmitter &emit, Value unit) {
    Values row = emit.delinearize(unit, space);
    Value number = row.pop_back_val();
    if (known) {
      if (*known)
        return emitRow(emit, row);
      return emitRanks(emit, row, number);
    }
    Value isShort = emitFits(emit);
    Value isFirst = emit.equal(number, emit.constant(0));
    emit.branch(emit.both(isShort, isFirst), [&](LoopEmitter &e) { emitRow(e, row); });
    emit.branch(emit.negate(isShort), [&](LoopEmitter &e) { emitRanks(e, row, number); });
  });
}

LogicalResult gpucode::buildSort(GpuKernel &kernel) {
  if (failed(loops::expectAlone(kernel)))
    return failure();
  auto op = cast<SortOp>(kernel.root);
  // Short rows would leave most threads without work.
  constexpr int64_t shortest = 16;
  if (typicalValue(sizeOf(op.getOperand(), op.getAxis())) < shortest)
    return buildThreads(kernel);
  RowSort(kernel, op).build();
  return success();
}
