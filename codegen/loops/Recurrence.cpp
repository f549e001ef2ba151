//===- Recurrence.cpp - a cell along a sequence ---------------------------===//
//
// A unit is one row of the batch with all its steps. States and products stay in
// the worker's scratch; the packed parameters stream from the cache. What lies
// between two products is one pass of vectors over the state.
//
//===----------------------------------------------------------------------===//

#include "codegen/loops/Recurrence.h"

#include "codegen/loops/Nest.h"
#include "dialects/Lumen/PackedWeights.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

CellEmitter::CellEmitter(LoopKernel &kernel, RecurrenceOp op)
    : kernel(kernel), op(op), cell(op.getCell().front()),
      element(registerType(cast<RankedTensorType>(op.getInput().getType()).getElementType())),
      lanes(kernel.caps.lanes(element)), expression(kernel.expression) {}

Value CellEmitter::makeMemory(int64_t elements) {
  Value view = kernel.scratchView(scratch, element, elements);
  scratch += llvm::alignTo(elements * element.getIntOrFloatBitWidth() / 8, 64);
  return view;
}

Access CellEmitter::makeBuffer(ArrayRef<int64_t> shape, int64_t elements) {
  auto type = RankedTensorType::get(shape, element);
  return {makeMemory(elements), contiguousStrides(sizesOf(type)), type};
}

void CellEmitter::allocate() {
  for (auto [argument, operand] : llvm::zip(cell.getArguments().drop_front(1), op.getParams()))
    expression.bindMemory(argument, memoryOf(kernel, operand));
  for (BlockArgument argument : stateArguments()) {
    int64_t size = cast<RankedTensorType>(argument.getType()).getDimSize(0);
    states.push_back(makeBuffer(size, size));
    expression.bindMemory(argument, states.back());
  }
  for (auto product : cell.getOps<ContractOp>()) {
    auto lhs = cast<RankedTensorType>(product.getLhs().getType());
    auto reshape = product.getLhs().getDefiningOp<ReshapeOp>();
    const Access *state = reshape && isa<BlockArgument>(reshape.getOperand())
                              ? expression.findMemory(reshape.getOperand())
                              : nullptr;
    operands[product] = state ? *state : makeBuffer(lhs.getShape(), lhs.getDimSize(1));
    auto type = cast<RankedTensorType>(product.getType());
    // Whole panels are written.
    products[product] =
        makeBuffer(type.getShape(), llvm::alignTo(type.getDimSize(1), kPanelColumns));
    expression.bindMemory(product.getResult(), products[product]);
  }
}

void CellEmitter::forEachVector(LoopEmitter &emit, int64_t rank, int64_t size, VectorBody body) {
  emitVectorLoop(kernel, emit.builder, emit.constant(0), emit.constant(size), size, lanes,
                 [&](OpBuilder &b, Value index, int64_t count, Value mask) {
                   LoopEmitter inner(kernel, b);
                   Position position;
                   position.indices.assign(rank, inner.constant(0));
                   position.indices.back() = index;
                   position.vectorDim = count == 1 ? -1 : static_cast<int>(rank) - 1;
                   position.lanes = count;
                   position.mask = mask;
                   body(inner, position);
                 });
}

void CellEmitter::emitProduct(LoopEmitter &emit, ContractOp product) {
  const Access &lhs = operands[product];
  if (lhs.type.getRank() == 2) {
    forEachVector(emit, 2, lhs.type.getDimSize(1), [&](LoopEmitter &e, const Position &position) {
      Value value = expression.emit(e.builder, e.loc, product.getLhs(), position);
      expression.store(e.builder, e.loc, value, lhs, position);
    });
    synchronize(emit);
  }
  multiply(emit, lhs, *expression.findMemory(product.getRhs()), products[product]);
  synchronize(emit);
}

Value CellEmitter::loadFactor(LoopEmitter &emit, const Access &lhs, Value k) {
  return lhs.type.getRank() == 2 ? emit.load(lhs, {emit.constant(0), k}) : emit.load(lhs, {k});
}

void CellEmitter::multiply(LoopEmitter &emit, const Access &lhs, const Access &rhs,
                           const Access &result) {
  int64_t depth = rhs.type.getDimSize(1), panels = rhs.type.getDimSize(0);
  // Accumulators of one column block; short blocks take several steps of the depth
  // at once, so that as many sums are in flight.
  Type vector = lanes == 1 ? element : VectorType::get({lanes}, element);
  auto along = [&](Position &position, int dim) {
    position.vectorDim = lanes == 1 ? -1 : dim;
    position.lanes = lanes;
  };
  int64_t columns = std::min<int64_t>(kPanelColumns, 8 * lanes), blocks = kPanelColumns / columns;
  int64_t vectors = columns / lanes, unroll = std::max<int64_t>(1, 8 / vectors);
  Value zero = arith::ConstantOp::create(emit.builder, emit.loc, emit.builder.getZeroAttr(vector));
  emit.loop(emit.constant(0), emit.constant(panels * blocks), [&](LoopEmitter &e, Value block) {
    Value panel = e.div(block, e.constant(blocks));
    Value column = e.mul(e.rem(block, e.constant(blocks)), e.constant(columns));
    auto accumulate = [&](LoopEmitter &e, Value k, Value sum, int64_t i) -> Value {
      Value factor = loadFactor(e, lhs, k);
      if (lanes != 1)
        factor = e.make<vector::BroadcastOp>(vector, factor);
      Position position;
      position.indices = {panel, k, e.add(column, i * lanes)};
      along(position, 2);
      Value weights = expression.load(e.builder, e.loc, rhs, position);
      return math::FmaOp::create(e.builder, e.loc, factor, weights, sum);
    };
    int64_t main = depth / unroll * unroll;
    Values sums(unroll * vectors, zero);
    if (main > 0) {
      auto loop = scf::ForOp::create(e.builder, e.loc, e.constant(0), e.constant(main),
                                     e.constant(unroll), sums);
      LoopEmitter inner(kernel, OpBuilder::atBlockEnd(loop.getBody()));
      Values next;
      for (int64_t step = 0; step < unroll; ++step)
        for (int64_t i = 0; i < vectors; ++i)
          next.push_back(accumulate(inner, inner.add(loop.getInductionVar(), step),
                                    loop.getRegionIterArgs()[step * vectors + i], i));
      scf::YieldOp::create(inner.builder, e.loc, next);
      sums = llvm::to_vector_of<Value>(loop.getResults());
    }
    for (int64_t k = main; k < depth; ++k)
      for (int64_t i = 0; i < vectors; ++i)
        sums[i] = accumulate(e, e.constant(k), sums[i], i);
    Value begin = e.add(e.mul(panel, e.constant(kPanelColumns)), column);
    for (int64_t i = 0; i < vectors; ++i) {
      Value sum = sums[i];
      for (int64_t step = 1; step < unroll; ++step)
        sum = e.make<arith::AddFOp>(sum, sums[step * vectors + i]);
      Position position;
      position.indices = {e.constant(0), e.add(begin, i * lanes)};
      along(position, 1);
      expression.store(e.builder, e.loc, sum, result, position);
    }
  });
}

void CellEmitter::emitStep(LoopEmitter &emit, Value row, Value step) {
  const Access &input = memoryOf(kernel, op.getInput());
  expression.bindSource(cell.getArgument(0),
                        [&](OpBuilder &b, Location loc, const Position &position) {
                          Position whole = position;
                          whole.indices.insert(whole.indices.begin(), {step, row});
                          if (whole.vectorDim >= 0)
                            whole.vectorDim += 2;
                          return kernel.expression.load(b, loc, input, whole);
                        });
  for (auto product : cell.getOps<ContractOp>())
    emitProduct(emit, product);
  // States of one size are computed together, before one of them is replaced.
  auto yields = cell.getTerminator()->getOperands();
  llvm::SmallBitVector done(states.size());
  for (unsigned i = 0; i < states.size(); ++i) {
    if (done[i])
      continue;
    int64_t size = sizeOfState(i);
    forEachVector(emit, 1, size, [&](LoopEmitter &e, const Position &position) {
      Values next(states.size());
      for (unsigned j = i; j < states.size(); ++j)
        if (sizeOfState(j) == size)
          next[j] = expression.emit(e.builder, e.loc, yields[j], position);
      for (unsigned j = i; j < states.size(); ++j)
        if (next[j])
          expression.store(e.builder, e.loc, next[j], states[j], position);
      if (i != 0)
        return;
      Position whole = position;
      whole.indices.insert(whole.indices.begin(), {step, row});
      if (whole.vectorDim >= 0)
        whole.vectorDim += 2;
      expression.store(e.builder, e.loc, next[0], kernel.results[0], whole);
    });
    for (unsigned j = i; j < states.size(); ++j)
      if (sizeOfState(j) == size)
        done.set(j);
  }
  synchronize(emit);
}

void CellEmitter::emitRow(LoopEmitter &emit, Value row) {
  // Between states in scratch and [rows, m] in memory.
  auto withRow = [&](const Position &position) {
    Position whole = position;
    whole.indices.insert(whole.indices.begin(), row);
    if (whole.vectorDim >= 0)
      ++whole.vectorDim;
    return whole;
  };
  for (auto [i, operand] : llvm::enumerate(op.getStates()))
    forEachVector(emit, 1, sizeOfState(i), [&, i = i](LoopEmitter &e, const Position &position) {
      Value value =
          expression.load(e.builder, e.loc, memoryOf(kernel, op.getStates()[i]), withRow(position));
      expression.store(e.builder, e.loc, value, states[i], position);
    });
  synchronize(emit);
  Value zero = emit.constant(0), steps = emit.size(sizeOf(op.getInput(), 0)), length = steps;
  if (Value lengths = op.getLengths())
    length =
        emit.min(emit.max(emit.toIndex(emit.load(memoryOf(kernel, lengths), {row})), zero), steps);
  emit.loop(zero, length, [&](LoopEmitter &e, Value i) {
    emitStep(e, row, op.getReverse() ? e.sub(e.sub(length, 1), i) : i);
  });
  if (op.getLengths())
    emit.loop(length, steps, [&](LoopEmitter &e, Value step) {
      forEachVector(e, 1, sizeOfState(0), [&](LoopEmitter &e, const Position &position) {
        Type type = position.vectorDim < 0 ? element : VectorType::get({position.lanes}, element);
        Value none = arith::ConstantOp::create(e.builder, e.loc, e.builder.getZeroAttr(type));
        Position whole = withRow(position);
        whole.indices.insert(whole.indices.begin(), step);
        if (whole.vectorDim >= 0)
          ++whole.vectorDim;
        expression.store(e.builder, e.loc, none, kernel.results[0], whole);
      });
    });
  for (unsigned i = 0; i < states.size(); ++i)
    forEachVector(emit, 1, sizeOfState(i), [&](LoopEmitter &e, const Position &position) {
      Value value = expression.load(e.builder, e.loc, states[i], position);
      expression.store(e.builder, e.loc, value, kernel.results[1 + i], withRow(position));
    });
}

FailureOr<LaunchShape> loops::buildRecurrence(LoopKernel &kernel) {
  auto op = cast<RecurrenceOp>(kernel.root);
  CellEmitter cell(kernel, op);
  cell.allocate();
  LoopEmitter emit(kernel);
  emit.loop(kernel.begin, kernel.end, [&](LoopEmitter &e, Value row) { cell.emitRow(e, row); });
  LaunchShape shape = launchOf(sizeOf(op.getInput(), 1), 1e6);
  shape.scratchSize = cell.scratchSize();
  return shape;
}
