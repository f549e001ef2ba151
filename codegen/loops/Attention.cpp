//===- Attention.cpp - attention, a row of queries at a time --------------===//
//
// For machines and sizes without a builder of their own: each unit is one row, which is
// compared with all keys twice, for the largest score and for the weights. The weighted sum
// grows in the result.
//
//===----------------------------------------------------------------------===//

#include "codegen/loops/LoopEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

namespace {

/// One row of queries.
class AttentionRow {
public:
  AttentionRow(LoopKernel &kernel, AttentionOp op)
      : op(op), query(memoryOf(kernel, op.getQuery())), key(memoryOf(kernel, op.getKey())),
        value(memoryOf(kernel, op.getValue())), result(kernel.results[0]),
        type(query.type.getElementType()), scores(op.getScoreSizes()),
        keyHeads(AttentionOp::logicalSizes(op.getKey(), op.getKeyDims())[1]),
        size(AttentionOp::logicalSizes(op.getQuery(), op.getQueryDims())[3]),
        valueSize(AttentionOp::logicalSizes(op.getValue(), op.getValueDims())[3]) {
    if (op.getMask())
      mask = &memoryOf(kernel, op.getMask());
    if (op.getFirst())
      first = &memoryOf(kernel, op.getFirst());
  }

  /// `at`: batch, head, row.
  void emit(LoopEmitter &emit, ArrayRef<Value> at) {
    place = {at[0], at[1], at[2]};
    // Heads that share keys follow each other; `keyHeads` is 0 only where there are none.
    keyHead = emit.div(emit.mul(at[1], emit.size(keyHeads)), emit.size(scores[1]));
    Value zero = emit.constant(0), end = emit.size(scores[3]), none = number(emit, 0);
    if (first) {
      Values index;
      if (first->type.getRank() == 1)
        index.push_back(at[0]);
      Value seen = emit.add(emit.add(emit.toIndex(emit.load(*first, index)), at[2]), 1);
      end = emit.min(end, emit.max(seen, zero));
    }
    Value lowest = number(emit, -std::numeric_limits<double>::infinity());
    Value top = emit.loop(zero, end, lowest, [&](LoopEmitter &e, Value j, ValueRange carried) {
      Value score = scoreOf(e, j);
      return Values{e.select(isMore(e, score, carried[0]), score, carried[0])};
    })[0];
    // Where nothing is seen, minus infinity would be subtracted from itself.
    top = emit.select(isMore(emit, top, lowest), top, none);
    forElements(emit, [&](LoopEmitter &e, ArrayRef<Value> at) { e.store(none, result, at); });
    Value total = emit.loop(zero, end, none, [&](LoopEmitter &e, Value j, ValueRange carried) {
      Value weight = e.make<math::ExpOp>(e.make<arith::SubFOp>(scoreOf(e, j), top));
      forElements(e, [&](LoopEmitter &inner, ArrayRef<Value> at) {
        Values from =
            physical({place[0], keyHead, j, at[op.getResultDims()[3]]}, op.getValueDims());
        Value part = inner.make<arith::MulFOp>(weight, inner.load(value, from));
        inner.store(inner.make<arith::AddFOp>(inner.load(result, at), part), result, at);
      });
      return Values{e.make<arith::AddFOp>(carried[0], weight)};
    })[0];
    Value isHidden = emit.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, total, none);
    Value factor = emit.select(isHidden, none, emit.make<arith::DivFOp>(number(emit, 1), total));
    forElements(emit, [&](LoopEmitter &e, ArrayRef<Value> at) {
      e.store(e.make<arith::MulFOp>(e.load(result, at), factor), result, at);
    });
  }

private:
  Value number(LoopEmitter &emit, double value) {
    return arith::ConstantOp::create(emit.builder, emit.loc,
                                     emit.builder.getFloatAttr(type, value));
  }
  static Value isMore(LoopEmitter &emit, Value a, Value b) {
    return emit.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b);
  }
  static Values physical(ArrayRef<Value> logical, ArrayRef<int64_t> dims) {
    Values indices(4);
    for (auto [index, dim] : llvm::zip_equal(logical, dims))
      indices[dim] = index;
    return indices;
  }

  /// The elements of the row of the result.
  void forElements(LoopEmitter &emit,
                   llvm::function_ref<void(LoopEmitter &, ArrayRef<Value>)> body) {
    emit.loop(emit.constant(0), emit.size(valueSize), [&](LoopEmitter &e, Value i) {
      body(e, physical({place[0], place[1], place[2], i}, op.getResultDims()));
    });
  }

  Value scoreOf(LoopEmitter &emit, Value j) {
    Value score = emit.loop(
        emit.constant(0), emit.size(size), number(emit, 0),
        [&](LoopEmitter &e, Value i, ValueRange carried) {
          Value lhs = e.load(query, physical({place[0], place[1], place[2], i}, op.getQueryDims()));
          Value rhs = e.load(key, physical({place[0], keyHead, j, i}, op.getKeyDims()));
          return Values{e.make<arith::AddFOp>(carried[0], e.make<arith::MulFOp>(lhs, rhs))};
        })[0];
    score = emit.make<arith::MulFOp>(score, number(emit, op.getScale().convertToDouble()));
    if (double softcap = op.getSoftcap().convertToDouble(); softcap != 0) {
      score = emit.make<arith::MulFOp>(score, number(emit, 1 / softcap));
      score = emit.make<arith::MulFOp>(emit.make<math::TanhOp>(score), number(emit, softcap));
    }
    if (mask) {
      Values at{place[0], place[1], place[2], j};
      for (auto [index, extent] : llvm::zip_equal(at, sizesOf(mask->type)))
        if (isOne(extent))
          index = emit.constant(0);
      score = emit.make<arith::AddFOp>(score, emit.load(*mask, at));
    }
    return score;
  }

  AttentionOp op;
  const Access &query, &key, &value, &result;
  const Access *mask = nullptr, *first = nullptr;
  Type type;
  Sizes scores;
  SymExpr keyHeads, size, valueSize;
  Values place; ///< batch, head, row
  Value keyHead;
};

} // namespace

FailureOr<LaunchShape> loops::buildAttentionRows(LoopKernel &kernel) {
  auto op = cast<AttentionOp>(kernel.root);
  if (failed(expectAlone(kernel)))
    return failure();
  if (Type element = kernel.results[0].type.getElementType(); element.getIntOrFloatBitWidth() < 32)
    return kernel.op.emitError("has attention of ") << element << ", expected f32 or f64";
  Sizes sizes = op.getScoreSizes();
  AttentionRow row(kernel, op);
  emitRowUnits(kernel, sizes, /*axis=*/3,
               [&](LoopEmitter &emit, ArrayRef<Value> at) { row.emit(emit, at); });
  SymExpr size = AttentionOp::logicalSizes(op.getQuery(), op.getQueryDims())[3];
  return launchOf(sizes[0] * sizes[1] * sizes[2],
                  2.0 * typicalValue(sizes[3]) * typicalValue(size));
}
