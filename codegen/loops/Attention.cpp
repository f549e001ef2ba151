//===- Attention.cpp - attention, a row of queries at a time --------------===//
//
// For machines and sizes without a builder of their own: each unit is one row, which is
// compared with all keys twice, for the largest score and for the weights. The weighted sum
// grows in the result.
//
//===----------------------------------------------------------------------===//

#include "codegen/loops/Attention.h"

#include "codegen/loops/Rows.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

AttentionRules::AttentionRules(LoopKernel &kernel, AttentionOp op)
    : op(op), query(memoryOf(kernel, op.getQuery())), key(memoryOf(kernel, op.getKey())),
      value(memoryOf(kernel, op.getValue())), result(kernel.results[0]),
      type(accumulationType(query.type.getElementType())) {
  if (op.getMask())
    mask = &memoryOf(kernel, op.getMask());
  if (op.getFirst())
    first = &memoryOf(kernel, op.getFirst());
  Sizes scores = op.getScoreSizes();
  batch = scores[0], heads = scores[1], rows = scores[2], keys = scores[3];
  keyHeads = AttentionOp::logicalSizes(op.getKey(), op.getKeyDims())[1];
  size = AttentionOp::logicalSizes(op.getQuery(), op.getQueryDims())[3];
  valueSize = AttentionOp::logicalSizes(op.getValue(), op.getValueDims())[3];
}

Value AttentionRules::number(LoopEmitter &emit, double value) const {
  return arith::ConstantOp::create(emit.builder, emit.loc, emit.builder.getFloatAttr(type, value));
}

Value AttentionRules::isMore(LoopEmitter &emit, Value a, Value b) {
  return emit.make<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b);
}

Values AttentionRules::physical(ArrayRef<Value> logical, ArrayRef<int64_t> dims) {
  Values indices(4);
  for (auto [index, dim] : llvm::zip_equal(logical, dims))
    indices[dim] = index;
  return indices;
}

Value AttentionRules::countSeen(LoopEmitter &emit, Value batch, Value row) const {
  Value all = emit.size(keys);
  if (!first)
    return all;
  Values index;
  if (first->type.getRank() == 1)
    index.push_back(batch);
  Value seen = emit.add(emit.add(emit.toIndex(emit.load(*first, index)), row), 1);
  return emit.min(all, emit.max(seen, emit.constant(0)));
}

Value AttentionRules::score(LoopEmitter &emit, Value product, ArrayRef<Value> at) const {
  AttentionOp attention = op; // accessors are not const
  Value score =
      emit.make<arith::MulFOp>(product, number(emit, attention.getScale().convertToDouble()));
  if (double softcap = attention.getSoftcap().convertToDouble(); softcap != 0) {
    score = emit.make<arith::MulFOp>(score, number(emit, 1 / softcap));
    score = emit.make<arith::MulFOp>(emit.make<math::TanhOp>(score), number(emit, softcap));
  }
  if (mask) {
    Values indices(at);
    for (auto [index, extent] : llvm::zip_equal(indices, sizesOf(mask->type)))
      if (isOne(extent))
        index = emit.constant(0);
    score = emit.make<arith::AddFOp>(score, emit.load(*mask, indices));
  }
  return score;
}

Value AttentionRules::shiftOf(LoopEmitter &emit, Value top) const {
  // Where nothing is seen, minus infinity would be subtracted from itself.
  Value lowest = number(emit, -std::numeric_limits<double>::infinity());
  return emit.select(isMore(emit, top, lowest), top, number(emit, 0));
}

Value AttentionRules::factorOf(LoopEmitter &emit, Value total) const {
  Value none = number(emit, 0);
  Value isHidden = emit.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, total, none);
  return emit.select(isHidden, none, emit.make<arith::DivFOp>(number(emit, 1), total));
}

namespace {

/// One row of queries.
class AttentionRow {
public:
  explicit AttentionRow(const AttentionRules &rules) : rules(rules), op(rules.op) {}

  /// `at`: batch, head, row.
  void emit(LoopEmitter &emit, ArrayRef<Value> at) {
    place = {at[0], at[1], at[2]};
    // Heads that share keys follow each other; there are no `keyHeads` only where there are
    // no heads.
    keyHead = emit.div(emit.mul(at[1], emit.size(rules.keyHeads)), emit.size(rules.heads));
    Value zero = emit.constant(0), end = rules.countSeen(emit, at[0], at[2]);
    Value none = rules.number(emit, 0);
    Value lowest = rules.number(emit, -std::numeric_limits<double>::infinity());
    Value top = emit.loop(zero, end, lowest, [&](LoopEmitter &e, Value j, ValueRange carried) {
      Value score = scoreOf(e, j);
      return Values{e.select(rules.isMore(e, score, carried[0]), score, carried[0])};
    })[0];
    top = rules.shiftOf(emit, top);
    const Access &result = rules.result;
    forElements(emit, [&](LoopEmitter &e, ArrayRef<Value> at) { e.store(none, result, at); });
    Value total = emit.loop(zero, end, none, [&](LoopEmitter &e, Value j, ValueRange carried) {
      Value weight = e.make<math::ExpOp>(e.make<arith::SubFOp>(scoreOf(e, j), top));
      forElements(e, [&](LoopEmitter &inner, ArrayRef<Value> at) {
        Values from =
            rules.physical({place[0], keyHead, j, at[op.getResultDims()[3]]}, op.getValueDims());
        Value part = inner.make<arith::MulFOp>(weight, inner.load(rules.value, from));
        inner.store(inner.make<arith::AddFOp>(inner.load(result, at), part), result, at);
      });
      return Values{e.make<arith::AddFOp>(carried[0], weight)};
    })[0];
    Value factor = rules.factorOf(emit, total);
    forElements(emit, [&](LoopEmitter &e, ArrayRef<Value> at) {
      e.store(e.make<arith::MulFOp>(e.load(result, at), factor), result, at);
    });
  }

private:
  /// The elements of the row of the result.
  void forElements(LoopEmitter &emit,
                   llvm::function_ref<void(LoopEmitter &, ArrayRef<Value>)> body) {
    emit.loop(emit.constant(0), emit.size(rules.valueSize), [&](LoopEmitter &e, Value i) {
      body(e, rules.physical({place[0], place[1], place[2], i}, op.getResultDims()));
    });
  }

  Value scoreOf(LoopEmitter &emit, Value j) {
    Value product = emit.loop(
        emit.constant(0), emit.size(rules.size), rules.number(emit, 0),
        [&](LoopEmitter &e, Value i, ValueRange carried) {
          Value lhs = e.load(rules.query,
                             rules.physical({place[0], place[1], place[2], i}, op.getQueryDims()));
          Value rhs = e.load(rules.key, rules.physical({place[0], keyHead, j, i}, op.getKeyDims()));
          return Values{e.make<arith::AddFOp>(carried[0], e.make<arith::MulFOp>(lhs, rhs))};
        })[0];
    return rules.score(emit, product, {place[0], place[1], place[2], j});
  }

  const AttentionRules &rules;
  AttentionOp op;
  Values place; ///< batch, head, row
  Value keyHead;
};

} // namespace

FailureOr<LaunchShape> loops::buildAttentionRows(LoopKernel &kernel) {
  if (failed(expectAlone(kernel)))
    return failure();
  if (Type element = kernel.results[0].type.getElementType(); element.getIntOrFloatBitWidth() < 32)
    return kernel.op.emitError("has attention of ") << element << ", expected f32 or f64";
  AttentionRules rules(kernel, cast<AttentionOp>(kernel.root));
  AttentionRow row(rules);
  emitRowUnits(kernel, {rules.batch, rules.heads, rules.rows, rules.keys}, /*axis=*/3,
               [&](LoopEmitter &emit, ArrayRef<Value> at) { row.emit(emit, at); });
  return launchOf(rules.batch * rules.heads * rules.rows,
                  2.0 * typicalValue(rules.keys) * typicalValue(rules.size));
}
