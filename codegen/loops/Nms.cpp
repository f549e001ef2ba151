//===- Nms.cpp - selects boxes of which no two overlap much ---------------===//

#include "codegen/loops/LoopEmitter.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

namespace {

/// One box: (y1, x1, y2, x2), and its area.
struct Box {
  Value y1, x1, y2, x2, area;
};

} // namespace

static Value lowest(LoopEmitter &e, Value a, Value b) { return e.make<arith::MinimumFOp>(a, b); }
static Value highest(LoopEmitter &e, Value a, Value b) { return e.make<arith::MaximumFOp>(a, b); }
static Value difference(LoopEmitter &e, Value a, Value b) { return e.make<arith::SubFOp>(a, b); }
static Value isAbove(LoopEmitter &e, Value a, Value b) {
  return e.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b);
}

static Box loadBox(LoopEmitter &e, const Access &boxes, Value batch, Value number) {
  auto side = [&](int64_t i) { return e.load(boxes, {batch, number, e.constant(i)}); };
  Box box{side(0), side(1), side(2), side(3), {}};
  box.area = e.make<arith::MulFOp>(difference(e, box.y2, box.y1), difference(e, box.x2, box.x1));
  return box;
}

/// Whether intersection / union is above the threshold. Boxes without area overlap
/// nothing.
static Value overlap(LoopEmitter &e, const Box &a, const Box &b, Value threshold) {
  Value zero = arith::ConstantOp::create(e.builder, e.loc, e.builder.getF32FloatAttr(0));
  Value height = difference(e, lowest(e, a.y2, b.y2), highest(e, a.y1, b.y1));
  Value width = difference(e, lowest(e, a.x2, b.x2), highest(e, a.x1, b.x1));
  Value shared = e.make<arith::MulFOp>(highest(e, height, zero), highest(e, width, zero));
  Value all = difference(e, e.make<arith::AddFOp>(a.area, b.area), shared);
  Value overlaps = isAbove(e, e.make<arith::DivFOp>(shared, all), threshold);
  for (Value part : {shared, a.area, b.area, all})
    overlaps = e.both(overlaps, isAbove(e, part, zero));
  return overlaps;
}

FailureOr<LaunchShape> loops::buildNms(LoopKernel &kernel) {
  auto op = cast<NmsOp>(kernel.root);
  const Access &boxes = memoryOf(kernel, op.getBoxes()), &scores = memoryOf(kernel, op.getScores());
  const Access &selected = kernel.results[0], &order = kernel.results[1],
               &count = kernel.results[2];
  LoopEmitter emit(kernel);
  Value zero = emit.constant(0);
  Value limit = emit.toIndex(emit.load(memoryOf(kernel, op.getMaxBoxes()), {}));
  Value iouThreshold = emit.load(memoryOf(kernel, op.getIouThreshold()), {});
  Value scoreThreshold = emit.load(memoryOf(kernel, op.getScoreThreshold()), {});
  Value batches = emit.size(sizeOf(op.getScores(), 0));
  Value classes = emit.size(sizeOf(op.getScores(), 1)), n = emit.size(sizeOf(op.getScores(), 2));
  // "No limit" is the largest number, which must not be added to.
  limit = emit.make<arith::MinSIOp>(emit.make<arith::MaxSIOp>(limit, zero), n);
  auto loadNumber = [&](LoopEmitter &e, Value i) { return e.toIndex(e.load(order, {i})); };
  auto storeNumber = [&](LoopEmitter &e, Value i, Value number) {
    e.store(e.toI64(number), order, {i});
  };

  // Boxes of one class, with the number of rows that were selected so far.
  auto selectClass = [&](LoopEmitter &e, Value batch, Value label, Value begin) {
    auto score = [&](LoopEmitter &e, Value number) {
      return e.load(scores, {batch, label, number});
    };
    Value candidates = e.loop(zero, n, {zero}, [&](LoopEmitter &e, Value i, ValueRange carried) {
      storeNumber(e, carried[0], i);
      Value counts = isAbove(e, score(e, i), scoreThreshold);
      return Values{e.select(counts, e.add(carried[0], 1), carried[0])};
    })[0];
    // In place: a number is read as a candidate before its place in the row is taken.
    emitSelection(e, candidates, candidates, loadNumber, loadNumber, storeNumber,
                  [&](LoopEmitter &e, Value a, Value b) {
                    Value scoreA = score(e, a), scoreB = score(e, b);
                    Value isTie = e.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, scoreA, scoreB);
                    return e.either(isAbove(e, scoreA, scoreB), e.both(isTie, e.less(a, b)));
                  });
    Value room = e.add(begin, limit);
    return e.loop(zero, candidates, {begin}, [&](LoopEmitter &e, Value i, ValueRange carried) {
      Value end = carried[0];
      return e.branch(
          e.less(end, room), {e.builder.getIndexType()},
          [&](LoopEmitter &e) {
            Value number = loadNumber(e, i);
            Box box = loadBox(e, boxes, batch, number);
            Values checked = e.repeat({begin}, [&](LoopEmitter &e, ValueRange carried) {
              Value row = carried[0];
              Values found = e.branch(
                  e.less(row, end), {e.builder.getI1Type(), e.builder.getIndexType()},
                  [&](LoopEmitter &e) {
                    Value taken = e.toIndex(e.load(selected, {row, e.constant(2)}));
                    Box other = loadBox(e, boxes, batch, taken);
                    Value overlaps = overlap(e, box, other, iouThreshold);
                    return Values{e.negate(overlaps), e.select(overlaps, row, e.add(row, 1))};
                  },
                  [&](LoopEmitter &e) { return Values{e.boolean(false), row}; });
              return found;
            });
            Value isTaken = e.equal(checked[0], end);
            e.branch(isTaken, [&](LoopEmitter &e) {
              for (auto [column, value] : llvm::enumerate(Values{batch, label, number}))
                e.store(e.toI64(value), selected, {end, e.constant(column)});
            });
            return Values{e.select(isTaken, e.add(end, 1), end)};
          },
          [&](LoopEmitter &) { return Values{end}; });
    })[0];
  };
  Value found = emit.loop(zero, batches, {zero}, [&](LoopEmitter &e, Value batch, ValueRange outer) {
    return e.loop(zero, classes, outer, [&](LoopEmitter &e, Value label, ValueRange carried) {
      return Values{selectClass(e, batch, label, carried[0])};
    });
  })[0];
  emit.store(emit.toI64(found), count, {});
  return launchOf(1, 0);
}
