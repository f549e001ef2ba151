//===- Scatter.cpp - a copy with elements changed at indices --------------===//
//
// A unit owns what lies at one index of dimensions that updates walk along with the result, so
// that units never meet and every element sees its updates in their order. Where a machine
// wants more units than that makes, each owns a part of the places that indices pick as well,
// and looks at all updates for its own.
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

namespace {

/// Which elements of the result a unit owns: those at its index of some dimensions, and of the
/// places that indices pick, every so many.
struct Ownership {
  SmallVector<int64_t> dims; ///< of the result, that updates walk along with it
  Sizes picked;              ///< sizes of the dimensions that indices pick
  int64_t strides = 1;       ///< parts of the picked places

  static Ownership choose(ScatterOp op, int64_t parallelUnits);
};

class ScatterUnit {
public:
  ScatterUnit(LoopKernel &kernel, ScatterOp op, const Ownership &owned)
      : kernel(kernel), op(op), owned(owned), operand(memoryOf(kernel, op.getOperand())),
        updates(memoryOf(kernel, op.getUpdates())), result(kernel.results[0]),
        sizes(sizesOf(operand.type)), steps(sizesOf(updates.type)) {}

  /// Sizes along which units are counted.
  Sizes space() const {
    Sizes space{SymExpr(owned.strides)};
    for (int64_t dim : owned.dims)
      space.push_back(sizes[dim]);
    return space;
  }
  /// `at`: the unit's place in that space.
  void emit(LoopEmitter &emit, ArrayRef<Value> at);

private:
  using WalkBody = llvm::function_ref<void(LoopEmitter &, ArrayRef<Value>)>;

  /// Walks a box, of which some indices are given.
  void walk(LoopEmitter &emit, ArrayRef<SymExpr> box, ArrayRef<Value> given, Values outer,
            WalkBody body);
  void copy(LoopEmitter &emit, Values given);
  void update(LoopEmitter &emit, ArrayRef<Value> at);

  LoopKernel &kernel;
  ScatterOp op;
  const Ownership &owned;
  const Access &operand, &updates, &result;
  Sizes sizes, steps;
  Value part; ///< of the picked places
};

} // namespace

Ownership Ownership::choose(ScatterOp op, int64_t parallelUnits) {
  Ownership owned;
  Sizes sizes = sizesOf(op.getOperand());
  SmallVector<int64_t> shared;
  for (auto [i, dim] : llvm::enumerate(op.getDims())) {
    if (dim < 0)
      owned.picked.push_back(sizes[i]);
    else if (typicalValue(sizes[i]) > 1)
      shared.push_back(i);
  }
  // The longest dimensions first; of several, the outermost.
  llvm::stable_sort(shared, [&](int64_t a, int64_t b) {
    return typicalValue(sizes[a]) > typicalValue(sizes[b]);
  });
  int64_t units = 1;
  for (int64_t dim : shared) {
    if (units > 1 && units >= parallelUnits)
      break;
    units *= typicalValue(sizes[dim]);
    owned.dims.push_back(dim);
  }
  llvm::sort(owned.dims);
  if (owned.picked.empty())
    return owned;
  int64_t places = typicalValue(product(owned.picked)), looks = 1;
  for (auto [dim, step] : llvm::enumerate(sizesOf(op.getUpdates())))
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
      looks *= typicalValue(step);
  // A unit copies its places and looks at all updates. More parts than make the second most of
  // it would only be more work.
  int64_t useful = std::min(places, 4 * places / std::max<int64_t>(looks, 1));
  owned.strides = std::max<int64_t>(std::min(useful, parallelUnits / units), 1);
  return owned;
}

void ScatterUnit::walk(LoopEmitter &emit, ArrayRef<SymExpr> box, ArrayRef<Value> given,
                       Values outer, WalkBody body) {
  if (outer.size() == box.size())
    return body(emit, outer);
  int64_t dim = outer.size();
  outer.push_back(given[dim]);
  if (given[dim])
    return walk(emit, box, given, outer, body);
  emit.loop(emit.constant(0), emit.size(box[dim]), [&](LoopEmitter &e, Value i) {
    outer.back() = i;
    walk(e, box, given, outer, body);
  });
}

void ScatterUnit::copy(LoopEmitter &emit, Values given) {
  auto copyElements = [&](LoopEmitter &e) {
    walk(e, sizes, given, {},
         [&](LoopEmitter &e, ArrayRef<Value> at) { e.store(e.load(operand, at), result, at); });
  };
  if (owned.strides == 1)
    return copyElements(emit);
  auto loop = scf::ForOp::create(emit.builder, emit.loc, part, emit.size(product(owned.picked)),
                                 emit.constant(owned.strides));
  LoopEmitter inner(kernel, OpBuilder(loop.getBody()->getTerminator()));
  Values place = inner.delinearize(loop.getInductionVar(), owned.picked);
  size_t picked = 0;
  for (auto [i, dim] : llvm::enumerate(op.getDims()))
    if (dim < 0)
      given[i] = place[picked++];
  copyElements(inner);
}

void ScatterUnit::update(LoopEmitter &emit, ArrayRef<Value> at) {
  Values place;
  Value isInside, number = emit.constant(0); // of the picked place
  size_t picked = 0;
  for (auto [i, dim] : llvm::enumerate(op.getDims())) {
    if (dim >= 0) {
      place.push_back(at[dim]);
      continue;
    }
    const Access &indices = memoryOf(kernel, op.getIndices()[picked++]);
    Value index = emit.load(indices, at.take_front(indices.type.getRank()));
    place.push_back(emit.placeOf(index, indices.type.getElementType().isUnsignedInteger(),
                                 emit.size(sizes[i]), isInside));
    number = emit.add(emit.mul(number, emit.size(sizes[i])), place.back());
  }
  auto write = [&](LoopEmitter &e) {
    Value value = e.load(updates, at);
    if (op.getKind() != ScatterKind::Set)
      value = combine(e, op.getKind(), e.load(result, place), value,
                      operand.type.getElementType().isUnsignedInteger());
    e.store(value, result, place);
  };
  if (!isInside)
    return write(emit);
  if (owned.strides > 1)
    isInside =
        emit.both(isInside, emit.equal(emit.rem(number, emit.constant(owned.strides)), part));
  emit.branch(isInside, write);
}

void ScatterUnit::emit(LoopEmitter &emit, ArrayRef<Value> at) {
  part = at[0];
  Values given(sizes.size()), givenSteps(steps.size());
  Value hasUpdates;
  for (auto [dim, index] : llvm::zip_equal(owned.dims, at.drop_front())) {
    int64_t step = op.getDims()[dim];
    given[dim] = givenSteps[step] = index;
    if (steps[step] == sizes[dim])
      continue;
    Value isThere = emit.less(index, emit.size(steps[step]));
    hasUpdates = hasUpdates ? emit.both(hasUpdates, isThere) : isThere;
  }
  copy(emit, given);
  auto updateAll = [&](LoopEmitter &e) {
    walk(e, steps, givenSteps, {}, [&](LoopEmitter &e, ArrayRef<Value> at) { update(e, at); });
  };
  if (hasUpdates)
    emit.branch(hasUpdates, updateAll);
  else
    updateAll(emit);
}

FailureOr<LaunchShape> loops::buildScatter(LoopKernel &kernel) {
  auto op = cast<ScatterOp>(kernel.root);
  Ownership owned = Ownership::choose(op, kernel.caps.parallelUnits);
  ScatterUnit scatter(kernel, op, owned);
  Sizes space = scatter.space();
  LoopEmitter emit(kernel);
  emit.loop(kernel.begin, kernel.end,
            [&](LoopEmitter &e, Value unit) { scatter.emit(e, e.delinearize(unit, space)); });
  double elements = typicalValue(product(sizesOf(op.getOperand()))) +
                    2.0 * typicalValue(product(sizesOf(op.getUpdates()))) * owned.strides;
  return launchOf(product(space), elements / double(typicalValue(product(space))));
}
