//===- Rows.cpp - loops that combine the elements of a row ----------------===//

#include "codegen/loops/Rows.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Type loops::accumulationType(Type element) {
  Type type = registerType(element);
  if (auto narrow = dyn_cast<FloatType>(type); narrow && narrow.getWidth() < 32)
    return Float32Type::get(type.getContext());
  return type;
}

Value loops::widen(OpBuilder &builder, Location loc, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return accumulationType(element) == element ? value : emitExtend(builder, loc, value);
}

Value loops::narrow(OpBuilder &builder, Location loc, Value value, Type element) {
  return getElementTypeOrSelf(value.getType()) == registerType(element)
             ? value
             : emitRound(builder, loc, value, element);
}

Value loops::combine(OpBuilder &builder, Location loc, const Accumulator &accumulator, Value a,
                   Value b) {
  bool isFloat = isa<FloatType>(accumulator.type), isUnsigned = accumulator.isUnsigned;
  switch (accumulator.kind) {
  case ReduceKind::Sum:
    return isFloat ? builder.createOrFold<arith::AddFOp>(loc, a, b)
                   : builder.createOrFold<arith::AddIOp>(loc, a, b);
  case ReduceKind::Prod:
    return isFloat ? builder.createOrFold<arith::MulFOp>(loc, a, b)
                   : builder.createOrFold<arith::MulIOp>(loc, a, b);
  case ReduceKind::Max:
    if (isFloat && accumulator.fast) {
      // One maxps.
      Value greater = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
      return arith::SelectOp::create(builder, loc, greater, a, b);
    }
    return isFloat      ? builder.createOrFold<arith::MaximumFOp>(loc, a, b)
           : isUnsigned ? builder.createOrFold<arith::MaxUIOp>(loc, a, b)
                        : builder.createOrFold<arith::MaxSIOp>(loc, a, b);
  case ReduceKind::Min:
    return isFloat      ? builder.createOrFold<arith::MinimumFOp>(loc, a, b)
           : isUnsigned ? builder.createOrFold<arith::MinUIOp>(loc, a, b)
                        : builder.createOrFold<arith::MinSIOp>(loc, a, b);
  }
  llvm_unreachable("unknown kind");
}

Value loops::neutral(OpBuilder &builder, Location loc, const Accumulator &accumulator,
                   int64_t lanes) {
  Type type = accumulator.type;
  TypedAttr value;
  if (auto floatType = dyn_cast<FloatType>(type)) {
    double infinity = std::numeric_limits<double>::infinity();
    double number = accumulator.kind == ReduceKind::Sum    ? 0
                    : accumulator.kind == ReduceKind::Prod ? 1
                    : accumulator.kind == ReduceKind::Max  ? -infinity
                                                           : infinity;
    value = builder.getFloatAttr(type, number);
  } else {
    unsigned width = type.getIntOrFloatBitWidth();
    bool isUnsigned = accumulator.isUnsigned;
    APInt number = accumulator.kind == ReduceKind::Sum    ? APInt::getZero(width)
                   : accumulator.kind == ReduceKind::Prod ? APInt(width, 1)
                   : accumulator.kind == ReduceKind::Max
                       ? (isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width))
                       : (isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width));
    value = IntegerAttr::get(type, number);
  }
  if (lanes > 0)
    value = DenseElementsAttr::get(VectorType::get({lanes}, type), ArrayRef<Attribute>(value));
  return arith::ConstantOp::create(builder, loc, value);
}

Value loops::constantLike(OpBuilder &builder, Location loc, Value like, double value) {
  Type type = getElementTypeOrSelf(like.getType());
  TypedAttr attr = builder.getFloatAttr(type, value);
  if (auto vector = dyn_cast<VectorType>(like.getType()))
    attr = DenseElementsAttr::get(vector, ArrayRef<Attribute>(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}

/// Combines the lanes in a tree of halves: the same for every kind and type,
/// and short, where upstream's float reductions are sequential.
static Value combineLanes(OpBuilder &builder, Location loc, const Accumulator &accumulator,
                          Value vector) {
  int64_t lanes = cast<VectorType>(vector.getType()).getDimSize(0);
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    SmallVector<int64_t> low(half), high(half);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), half);
    Value a = vector::ShuffleOp::create(builder, loc, vector, vector, low);
    Value b = vector::ShuffleOp::create(builder, loc, vector, vector, high);
    vector = combine(builder, loc, accumulator, a, b);
  }
  return vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{0});
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

SymExpr RowPlan::rowSize() const {
  SymExpr size = 1;
  for (const NestLoop &loop : reduced)
    size *= loop.size;
  return size;
}

RowPlan RowPlan::make(ArrayRef<SymExpr> shape, const llvm::SmallBitVector &reducedDims,
                      ArrayRef<Sizes> accesses, const llvm::SmallBitVector &fixed,
                      const llvm::SmallBitVector &bent, int64_t lanes, int64_t unroll,
                      double operations) {
  RowPlan plan;
  plan.lanes = lanes;
  plan.unroll = unroll;
  SmallVector<NestLoop> kept, reduced; // inner ones first
  int64_t previous = -1;               // the last dimension that was not 1
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
    if (isOne(shape[dim]))
      continue;
    SmallVector<NestLoop> &loops = reducedDims[dim] ? reduced : kept;
    bool merges = previous >= 0 && reducedDims[previous] == reducedDims[dim] && !fixed[dim] &&
                  !fixed[loops.back().dim] && loops.back().size != SymExpr(0) &&
                  llvm::all_of(accesses, [&](const Sizes &strides) {
                    return strides[dim] == strides[loops.back().dim] * loops.back().size;
                  });
    if (merges)
      loops.back().size *= shape[dim];
    else
      loops.push_back({dim, shape[dim]});
    previous = dim;
  }
  plan.kept.assign(kept.rbegin(), kept.rend());
  plan.reduced.assign(reduced.rbegin(), reduced.rend());

  double best = std::numeric_limits<double>::infinity();
  auto consider = [&](ArrayRef<NestLoop> loops, int index, bool isReduced) {
    const NestLoop &loop = loops[index];
    if (loop.size == SymExpr(0))
      return;
    double cost = operations / 4 + (bent[loop.dim] ? lanes : 0);
    for (const Sizes &strides : accesses)
      cost += strides[loop.dim] == SymExpr(0) || isOne(strides[loop.dim]) ? 1 : lanes;
    int64_t size = typicalValue(loop.size);
    cost /= static_cast<double>(size) / llvm::divideCeil(size, lanes);
    if (isReduced) // the lanes must be combined in the end
      cost += 8.0 / std::max<int64_t>(typicalValue(plan.rowSize()), 1);
    if (cost < best) {
      best = cost;
      plan.vectorLoop = index;
      plan.vectorIsReduced = isReduced;
    }
  };
  // Only the innermost reduced loop can be the vector loop: others are outside of it.
  if (!plan.reduced.empty())
    consider(plan.reduced, plan.reduced.size() - 1, true);
  for (int i = static_cast<int>(plan.kept.size()) - 1; i >= 0; --i)
    consider(plan.kept, i, false);

  plan.units = 1;
  double elements = typicalValue(plan.rowSize()); // of a unit
  for (auto [i, loop] : llvm::enumerate(plan.kept)) {
    if (plan.vectorIsReduced || static_cast<int>(i) != plan.vectorLoop) {
      plan.units *= loop.size;
      continue;
    }
    // Wide enough for whole cache lines and independent sums, at least 4096 elements.
    int64_t size = loop.size.asConstant().value_or(std::numeric_limits<int64_t>::max());
    int64_t rowSize = std::max<int64_t>(typicalValue(plan.rowSize()), 1); // of nothing: 0
    plan.chunk = lanes * unroll;
    while (plan.chunk < size && plan.chunk * rowSize < 4096)
      plan.chunk *= 2;
    plan.units *= SymExpr::ceilDiv(loop.size, plan.chunk);
    double typical = typicalValue(loop.size);
    elements *= typical / std::ceil(typical / plan.chunk);
  }
  plan.unitNanoseconds = 5 + (std::isfinite(best) ? best / lanes : 1) * elements;
  return plan;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static Value constantIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

void loops::emitRows(LoopKernel &kernel, const RowPlan &plan, int64_t rank,
                   llvm::function_ref<void(OpBuilder &, Rows)> body) {
  if (plan.units == SymExpr(0))
    return;
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  auto units = scf::ForOp::create(builder, loc, kernel.begin, kernel.end, kernel.index(1));
  OpBuilder inner = OpBuilder::atBlockBegin(units.getBody());
  Position position;
  position.indices.assign(rank, constantIndex(inner, loc, 0));
  Value rest = units.getInductionVar();
  auto take = [&](const SymExpr &size, bool last) -> Value {
    if (isOne(size))
      return constantIndex(inner, loc, 0);
    if (last)
      return rest;
    Value part = arith::RemUIOp::create(inner, loc, rest, kernel.value(inner, size));
    rest = arith::DivUIOp::create(inner, loc, rest, kernel.value(inner, size));
    return part;
  };
  bool vectorIsKept = plan.vectorLoop >= 0 && !plan.vectorIsReduced;
  SmallVector<NestLoop> outer;
  for (auto [i, loop] : llvm::enumerate(plan.kept))
    if (!vectorIsKept || static_cast<int>(i) != plan.vectorLoop)
      outer.push_back(loop);
  Value chunkIndex;
  if (vectorIsKept)
    chunkIndex = take(SymExpr::ceilDiv(plan.kept[plan.vectorLoop].size, plan.chunk), outer.empty());
  for (size_t i = outer.size(); i-- > 0;)
    position.indices[outer[i].dim] = take(outer[i].size, i == 0);
  if (!vectorIsKept)
    return body(inner, position);

  const NestLoop &loop = plan.kept[plan.vectorLoop];
  Value low =
      inner.createOrFold<arith::MulIOp>(loc, chunkIndex, constantIndex(inner, loc, plan.chunk));
  Value high = inner.createOrFold<arith::AddIOp>(loc, low, constantIndex(inner, loc, plan.chunk));
  Value size = kernel.value(inner, loop.size);
  if (!isMultiple(loop.size, plan.chunk))
    high = inner.createOrFold<arith::MinSIOp>(loc, high, size);
  auto rowsAt = [&](OpBuilder &b, Value index, int64_t count, int64_t lanes, Value mask) {
    SmallVector<Position> rows;
    for (int64_t i = 0; i < count; ++i) {
      Position row = position;
      row.indices[loop.dim] =
          b.createOrFold<arith::AddIOp>(loc, index, constantIndex(b, loc, i * lanes));
      row.vectorDim = lanes == 1 ? -1 : static_cast<int>(loop.dim);
      row.lanes = lanes;
      row.mask = mask;
      rows.push_back(std::move(row));
    }
    body(b, rows);
  };
  int64_t step = plan.lanes * plan.unroll;
  if (plan.unroll > 1 && loop.size.asConstant().value_or(step) >= step) {
    Value length = inner.createOrFold<arith::SubIOp>(loc, high, low);
    Value part = inner.createOrFold<arith::RemUIOp>(loc, length, constantIndex(inner, loc, step));
    Value whole = inner.createOrFold<arith::SubIOp>(loc, high, part);
    auto forOp = scf::ForOp::create(inner, loc, low, whole, constantIndex(inner, loc, step));
    OpBuilder b = OpBuilder::atBlockBegin(forOp.getBody());
    rowsAt(b, forOp.getInductionVar(), plan.unroll, plan.lanes, nullptr);
    if (isMultiple(loop.size, step))
      return;
    low = whole;
  }
  emitVectorLoop(kernel, inner, low, high, loop.size, plan.lanes,
                 [&](OpBuilder &b, Value index, int64_t lanes, Value mask) {
                   rowsAt(b, index, 1, lanes, mask);
                 });
}

namespace {

/// The state of one walk: loops from the outside in, with accumulators as
/// iter_args.
class Walk {
public:
  using Element =
      llvm::function_ref<SmallVector<Value>(OpBuilder &, const Position &, Value, unsigned)>;

  Walk(LoopKernel &kernel, const RowPlan &plan, Rows rows, ArrayRef<Accumulator> accumulators,
       Element element)
      : kernel(kernel), plan(plan), rows(rows), accumulators(accumulators), element(element),
        loc(kernel.loc) {}

  SmallVector<SmallVector<Value>> run(OpBuilder &builder);

private:
  /// `state`: accumulators of all sets; `linear`: index in the row so far.
  SmallVector<Value> loops(OpBuilder &builder, unsigned depth, ArrayRef<Value> indices,
                           Value linear, ValueRange state);
  SmallVector<Value> vectorLoop(OpBuilder &builder, ArrayRef<Value> indices, Value linear,
                                ValueRange state);
  SmallVector<Value>
  forLoop(OpBuilder &builder, Value low, Value high, int64_t step, ValueRange state,
          llvm::function_ref<SmallVector<Value>(OpBuilder &, Value, ValueRange)> body);
  /// Adds the element at the current position to accumulator set `set`.
  void visit(OpBuilder &builder, unsigned row, ArrayRef<Value> indices, int64_t lanes, Value mask,
             Value linear, unsigned set, SmallVectorImpl<Value> &state);

  LoopKernel &kernel;
  const RowPlan &plan;
  Rows rows;
  ArrayRef<Accumulator> accumulators;
  Element element;
  Location loc;
  unsigned sets = 1;       ///< independent copies of the accumulators
  bool scalarTail = false; ///< one more set, of scalars
};

} // namespace

void Walk::visit(OpBuilder &builder, unsigned row, ArrayRef<Value> indices, int64_t lanes,
                 Value mask, Value linear, unsigned set, SmallVectorImpl<Value> &state) {
  Position position = rows[row];
  for (auto [loop, index] : llvm::zip_equal(plan.reduced, indices))
    position.indices[loop.dim] = index;
  if (plan.vectorLoop >= 0 && plan.vectorIsReduced) {
    position.vectorDim = lanes == 1 ? -1 : static_cast<int>(plan.reduced.back().dim);
    position.lanes = lanes;
    position.mask = mask;
  } else if (position.vectorDim >= 0) {
    linear =
        builder.createOrFold<arith::MulIOp>(loc, linear, constantIndex(builder, loc, plan.lanes));
  }
  SmallVector<Value> values = element(builder, position, linear, row);
  for (auto [i, value] : llvm::enumerate(values)) {
    Value &slot = state[set * accumulators.size() + i];
    Value next = combine(builder, loc, accumulators[i], slot, value);
    // Lanes behind the end of the row hold nothing.
    if (mask && plan.vectorIsReduced)
      next = builder.createOrFold<arith::SelectOp>(loc, mask, next, slot);
    slot = next;
  }
}

SmallVector<Value>
Walk::forLoop(OpBuilder &builder, Value low, Value high, int64_t step, ValueRange state,
              llvm::function_ref<SmallVector<Value>(OpBuilder &, Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, loc, low, high, constantIndex(builder, loc, step), state);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  SmallVector<Value> next = body(inner, loop.getInductionVar(), loop.getRegionIterArgs());
  if (!state.empty())
    scf::YieldOp::create(inner, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

SmallVector<Value> Walk::vectorLoop(OpBuilder &builder, ArrayRef<Value> indices, Value linear,
                                    ValueRange state) {
  const SymExpr &size = plan.reduced.back().size;
  int64_t lanes = plan.lanes;
  Value base = builder.createOrFold<arith::MulIOp>(loc, linear, kernel.value(builder, size));
  SmallVector<Value> current(state);
  auto at = [&](OpBuilder &b, Value index, int64_t width, Value mask, unsigned set,
                SmallVectorImpl<Value> &values) {
    SmallVector<Value> all(indices);
    all.push_back(index);
    visit(b, 0, all, width, mask, b.createOrFold<arith::AddIOp>(loc, base, index), set, values);
  };
  SymExpr done = 0;
  if (sets > 1) {
    int64_t step = lanes * sets;
    done = SymExpr::floorDiv(size, step) * step;
    current = forLoop(
        builder, constantIndex(builder, loc, 0), kernel.value(builder, done), step, current,
        [&](OpBuilder &b, Value index, ValueRange values) {
          SmallVector<Value> next(values);
          for (unsigned set = 0; set < sets; ++set)
            at(b, b.createOrFold<arith::AddIOp>(loc, index, constantIndex(b, loc, set * lanes)),
               lanes, nullptr, set, next);
          return next;
        });
  }
  auto rest = [&](const SymExpr &from, const SymExpr &to, int64_t step, unsigned set) {
    if (from != to)
      current = forLoop(builder, kernel.value(builder, from), kernel.value(builder, to), step,
                        current, [&](OpBuilder &b, Value index, ValueRange values) {
                          SmallVector<Value> next(values);
                          at(b, index, step, nullptr, set, next);
                          return next;
                        });
  };
  SymExpr whole = SymExpr::floorDiv(size, lanes) * lanes;
  rest(done, whole, lanes, 0);
  if (whole == size)
    return current;
  if (scalarTail) {
    rest(whole, size, 1, sets);
    return current;
  }
  if (size.asConstant()) {
    Value mask = makeMask(builder, loc, kernel.value(builder, size - whole), lanes);
    at(builder, kernel.value(builder, whole), lanes, mask, 0, current);
    return current;
  }
  // One trip, or none.
  return forLoop(builder, kernel.value(builder, whole), kernel.value(builder, size), lanes, current,
                 [&](OpBuilder &b, Value index, ValueRange values) {
                   SmallVector<Value> next(values);
                   Value mask = makeMask(b, loc, kernel.value(b, size - whole), lanes);
                   at(b, index, lanes, mask, 0, next);
                   return next;
                 });
}

SmallVector<Value> Walk::loops(OpBuilder &builder, unsigned depth, ArrayRef<Value> indices,
                               Value linear, ValueRange state) {
  bool vectorIsReduced = plan.vectorLoop >= 0 && plan.vectorIsReduced;
  if (depth == plan.reduced.size()) {
    SmallVector<Value> next(state);
    for (unsigned row = 0; row < rows.size(); ++row)
      visit(builder, row, indices, rows[row].lanes, rows[row].mask, linear, row, next);
    return next;
  }
  if (vectorIsReduced && depth + 1 == plan.reduced.size())
    return vectorLoop(builder, indices, linear, state);
  const SymExpr &size = plan.reduced[depth].size;
  return forLoop(builder, constantIndex(builder, loc, 0), kernel.value(builder, size), 1, state,
                 [&](OpBuilder &b, Value index, ValueRange values) {
                   SmallVector<Value> all(indices);
                   all.push_back(index);
                   Value scaled = b.createOrFold<arith::MulIOp>(loc, linear, kernel.value(b, size));
                   return loops(b, depth + 1, all,
                                b.createOrFold<arith::AddIOp>(loc, scaled, index), values);
                 });
}

SmallVector<SmallVector<Value>> Walk::run(OpBuilder &builder) {
  bool vectorIsReduced = plan.vectorLoop >= 0 && plan.vectorIsReduced;
  if (vectorIsReduced) {
    const SymExpr &size = plan.reduced.back().size;
    int64_t step = plan.lanes * plan.unroll;
    sets = size.asConstant().value_or(step) >= step ? plan.unroll : 1;
    scalarTail = !isMultiple(size, plan.lanes) && !kernel.caps.maskedOps;
  } else {
    sets = rows.size();
  }
  SmallVector<Value> state;
  for (unsigned set = 0; set < sets + scalarTail; ++set)
    for (const Accumulator &accumulator : accumulators) {
      bool isScalar = vectorIsReduced ? set == sets : rows[set].vectorDim < 0;
      int64_t lanes = vectorIsReduced ? plan.lanes : rows[set].lanes;
      state.push_back(neutral(builder, loc, accumulator, isScalar ? 0 : lanes));
    }
  state = loops(builder, 0, {}, constantIndex(builder, loc, 0), state);

  SmallVector<SmallVector<Value>> results(rows.size());
  for (auto [i, accumulator] : llvm::enumerate(accumulators)) {
    if (!vectorIsReduced) {
      for (unsigned row = 0; row < rows.size(); ++row)
        results[row].push_back(state[row * accumulators.size() + i]);
      continue;
    }
    Value value = state[i];
    for (unsigned set = 1; set < sets; ++set)
      value = combine(builder, loc, accumulator, value, state[set * accumulators.size() + i]);
    value = combineLanes(builder, loc, accumulator, value);
    if (scalarTail)
      value = combine(builder, loc, accumulator, value, state[sets * accumulators.size() + i]);
    results[0].push_back(value);
  }
  return results;
}

SmallVector<SmallVector<Value>> loops::walkRows(LoopKernel &kernel, const RowPlan &plan,
                                              OpBuilder &builder, Rows rows,
                                              ArrayRef<Accumulator> accumulators,
                                              Walk::Element element) {
  return Walk(kernel, plan, rows, accumulators, element).run(builder);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void loops::storeResults(LoopKernel &kernel, const Expression &expression, OpBuilder &builder,
                       const Position &position) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < kernel.results.size(); ++i)
    values.push_back(Expression(expression).emit(builder, kernel.loc, kernel.yielded(i), position));
  for (auto [value, access] : llvm::zip_equal(values, kernel.results))
    kernel.expression.store(builder, kernel.loc, value, access, position);
}

LogicalResult loops::checkResultShapes(LoopKernel &kernel) {
  Sizes shape = sizesOf(kernel.root->getResult(0));
  for (const Access &access : kernel.results)
    if (sizesOf(access.type) != shape)
      return kernel.op.emitError("has a result of type ")
             << access.type << ", expected the shape of its root, "
             << kernel.root->getResult(0).getType();
  return success();
}
