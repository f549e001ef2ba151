//===- Scatter.cpp - a copy with elements changed at indices --------------===//
//
// A unit owns what lies at one index of a dimension that updates walk along with the
// result, so that units never meet and every element sees its updates in their order.
//
//===----------------------------------------------------------------------===//

#include "codegen/loops/LoopEmitter.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

static Value combine(LoopEmitter &emit, ScatterKind kind, Value old, Value update,
                     bool isUnsigned) {
  bool isReal = isa<FloatType>(old.getType());
  switch (kind) {
  case ScatterKind::Set:
    return update;
  case ScatterKind::Add:
    return isReal ? emit.make<arith::AddFOp>(old, update) : emit.add(old, update);
  case ScatterKind::Mul:
    return isReal ? emit.make<arith::MulFOp>(old, update) : emit.mul(old, update);
  case ScatterKind::Max:
    if (isReal)
      return emit.make<arith::MaximumFOp>(old, update);
    return emit.select(emit.isLarger(update, old, isUnsigned), update, old);
  case ScatterKind::Min:
    if (isReal)
      return emit.make<arith::MinimumFOp>(old, update);
    return emit.select(emit.isLarger(old, update, isUnsigned), update, old);
  }
  llvm_unreachable("all cases return");
}

FailureOr<LaunchShape> loops::buildScatter(LoopKernel &kernel) {
  auto op = cast<ScatterOp>(kernel.root);
  const Access &operand = memoryOf(kernel, op.getOperand());
  const Access &updates = memoryOf(kernel, op.getUpdates()), &result = kernel.results[0];
  Sizes sizes = sizesOf(operand.type), steps = sizesOf(updates.type);
  ArrayRef<int64_t> dims = op.getDims();
  bool isUnsigned = operand.type.getElementType().isUnsignedInteger();

  // The longest dimension that both walk; of several, the outermost.
  int64_t shared = -1, longest = 1;
  for (auto [i, dim] : llvm::enumerate(dims))
    if (int64_t size = typicalValue(sizes[i]); dim >= 0 && size > longest) {
      shared = i;
      longest = size;
    }

  auto update = [&](LoopEmitter &e, ArrayRef<Value> at) {
    Values place;
    Value isInside;
    size_t picked = 0;
    for (auto [i, dim] : llvm::enumerate(dims)) {
      if (dim >= 0) {
        place.push_back(at[dim]);
        continue;
      }
      const Access &indices = memoryOf(kernel, op.getIndices()[picked++]);
      Value index = e.load(indices, ValueRange(at).take_front(indices.type.getRank()));
      place.push_back(e.placeOf(index, indices.type.getElementType().isUnsignedInteger(),
                                e.size(sizes[i]), isInside));
    }
    auto write = [&](LoopEmitter &e) {
      Value value = e.load(updates, at);
      if (op.getKind() != ScatterKind::Set)
        value = combine(e, op.getKind(), e.load(result, place), value, isUnsigned);
      e.store(value, result, place);
    };
    if (isInside)
      e.branch(isInside, write);
    else
      write(e);
  };
  LoopEmitter emit(kernel);
  emit.loop(kernel.begin, kernel.end, [&](LoopEmitter &e, Value unit) {
    // Walks a box, with dimension `fixed` at the unit's index.
    std::function<void(LoopEmitter &, ArrayRef<SymExpr>, int64_t, Values,
                       llvm::function_ref<void(LoopEmitter &, ArrayRef<Value>)>)>
        walk = [&](LoopEmitter &e, ArrayRef<SymExpr> box, int64_t fixed, Values outer,
                   llvm::function_ref<void(LoopEmitter &, ArrayRef<Value>)> body) {
          if (outer.size() == box.size())
            return body(e, outer);
          int64_t dim = outer.size();
          outer.push_back(unit);
          if (dim == fixed)
            return walk(e, box, fixed, outer, body);
          e.loop(e.constant(0), e.size(box[dim]), [&](LoopEmitter &e, Value i) {
            outer.back() = i;
            walk(e, box, fixed, outer, body);
          });
        };
    walk(e, sizes, shared, {}, [&](LoopEmitter &e, ArrayRef<Value> at) {
      e.store(e.load(operand, at), result, at);
    });
    int64_t walked = shared < 0 ? -1 : dims[shared];
    auto updateAll = [&](LoopEmitter &e) { walk(e, steps, walked, {}, update); };
    if (walked >= 0 && steps[walked] != sizes[shared])
      e.branch(e.less(unit, e.size(steps[walked])), updateAll);
    else
      updateAll(e);
  });
  SymExpr units = shared < 0 ? SymExpr(1) : sizes[shared];
  double elements = typicalValue(product(sizes)) +
                    2.0 * typicalValue(product(steps));
  return launchOf(units, elements / double(typicalValue(units)));
}
