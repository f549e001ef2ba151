//===- Rows.cpp - reductions, softmax and norms ---------------------------===//
//
// Some dimensions of the operand are kept and make rows, the others are combined. Where
// the elements of a row lie side by side and are many, a workgroup combines them, each
// thread every so many; else each thread has rows of its own, and neighbours read side by
// side. Later passes read the operand anew.
//
//===----------------------------------------------------------------------===//

#include "codegen/gpu/GpuKernel.h"

#include "codegen/loops/Rows.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::gpucode;
using loops::Accumulator;

namespace {

class RowWalk {
public:
  RowWalk(GpuKernel &kernel, RankedTensorType operand, const llvm::SmallBitVector &reduced);

  /// Calls `body` with the indices of every row along its kept dimensions.
  void emit(llvm::function_ref<void(LoopEmitter &, ArrayRef<Value> row)> body);

  /// Accumulates what `terms` makes of every position of a row; all threads of the row get
  /// the results.
  Values accumulate(LoopEmitter &emit, ArrayRef<Value> row, ArrayRef<Accumulator> accumulators,
                    llvm::function_ref<Values(LoopEmitter &, const Position &)> terms);

  /// Calls `body` at every position of a row.
  void walk(LoopEmitter &emit, ArrayRef<Value> row,
            llvm::function_ref<void(LoopEmitter &, const Position &)> body);

  /// Calls `body` once for a row.
  void once(LoopEmitter &emit, llvm::function_ref<void(LoopEmitter &)> body) {
    if (byWorkgroup)
      return emit.branch(emit.equal(kernel.thread, emit.constant(0)), body);
    body(emit);
  }

  SymExpr rowSize() const { return product(reducedSizes); }

private:
  Values strided(LoopEmitter &emit, ValueRange inits,
                 llvm::function_ref<Values(LoopEmitter &, Value number, ValueRange)> body);
  Position position(LoopEmitter &emit, ArrayRef<Value> row, Value number);
  Value combineThreads(LoopEmitter &emit, const Accumulator &accumulator, Value value);

  GpuKernel &kernel;
  Location loc;
  llvm::SmallBitVector isReduced;
  Sizes keptSizes, reducedSizes;
  bool byWorkgroup;
  llvm::DenseMap<Type, Value> shared; ///< an element for each thread
};

} // namespace

RowWalk::RowWalk(GpuKernel &kernel, RankedTensorType operand, const llvm::SmallBitVector &reduced)
    : kernel(kernel), loc(kernel.loc), isReduced(reduced) {
  Sizes sizes = sizesOf(operand);
  bool isInnermostReduced = false;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    (reduced[dim] ? reducedSizes : keptSizes).push_back(size);
    if (!isOne(size))
      isInnermostReduced = reduced[dim];
  }
  int64_t elements = typicalValue(rowSize()), rows = typicalValue(product(keptSizes));
  byWorkgroup = (isInnermostReduced && elements >= 32) || (rows < 256 && elements >= 256);
  if (byWorkgroup && elements >= 4096)
    kernel.launch.block = llvm::bit_floor<uint64_t>(kernel.device.maxThreads); // a tree of halves
}

void RowWalk::emit(llvm::function_ref<void(LoopEmitter &, ArrayRef<Value> row)> body) {
  kernel.launch.grid = product(keptSizes);
  auto emitRow = [&](LoopEmitter &emit, Value unit) {
    body(emit, emit.delinearize(unit, keptSizes));
  };
  if (byWorkgroup)
    kernel.emitWorkgroupUnits(emitRow);
  else
    kernel.emitThreadUnits(emitRow);
}

Values RowWalk::strided(LoopEmitter &emit, ValueRange inits,
                        llvm::function_ref<Values(LoopEmitter &, Value, ValueRange)> body) {
  Value first = byWorkgroup ? kernel.thread : emit.constant(0);
  Value step = emit.constant(byWorkgroup ? kernel.launch.block : 1);
  auto loop = scf::ForOp::create(emit.builder, loc, first, emit.size(rowSize()), step, inits);
  LoopEmitter inner(kernel, OpBuilder::atBlockBegin(loop.getBody()));
  Values results = body(inner, loop.getInductionVar(), loop.getRegionIterArgs());
  if (!inits.empty())
    scf::YieldOp::create(inner.builder, loc, results);
  return loop.getResults();
}

Position RowWalk::position(LoopEmitter &emit, ArrayRef<Value> row, Value number) {
  Values along = emit.delinearize(number, reducedSizes);
  Position at;
  size_t kept = 0, reduced = 0;
  for (unsigned dim = 0; dim < isReduced.size(); ++dim)
    at.indices.push_back(isReduced[dim] ? along[reduced++] : row[kept++]);
  return at;
}

/// A tree of halves in shared memory.
Value RowWalk::combineThreads(LoopEmitter &emit, const Accumulator &accumulator, Value value) {
  Type stored = storageType(value.getType());
  Value &memory = shared[stored];
  if (!memory)
    memory = kernel.allocateShared(stored, kernel.launch.block);
  auto load = [&](LoopEmitter &e, Value at) -> Value {
    Value word = memref::LoadOp::create(e.builder, loc, memory, at);
    return stored == value.getType() ? word : e.make<arith::TruncIOp>(value.getType(), word);
  };
  auto store = [&](LoopEmitter &e, Value word, Value at) {
    if (stored != value.getType())
      word = e.make<arith::ExtUIOp>(stored, word);
    memref::StoreOp::create(e.builder, loc, word, memory, at);
  };
  store(emit, value, kernel.thread);
  for (int64_t half = kernel.launch.block / 2; half > 0; half /= 2) {
    kernel.barrier(emit.builder);
    emit.branch(emit.less(kernel.thread, emit.constant(half)), [&](LoopEmitter &e) {
      Value sum = loops::combine(e.builder, loc, accumulator, load(e, kernel.thread),
                                 load(e, e.add(kernel.thread, half)));
      store(e, sum, kernel.thread);
    });
  }
  kernel.barrier(emit.builder);
  Value total = load(emit, emit.constant(0));
  kernel.barrier(emit.builder); // before the memory is used again
  return total;
}

Values RowWalk::accumulate(LoopEmitter &emit, ArrayRef<Value> row,
                           ArrayRef<Accumulator> accumulators,
                           llvm::function_ref<Values(LoopEmitter &, const Position &)> terms) {
  Values inits;
  for (const Accumulator &accumulator : accumulators)
    inits.push_back(loops::neutral(emit.builder, loc, accumulator, 0));
  Values sums = strided(emit, inits, [&](LoopEmitter &e, Value number, ValueRange carried) {
    Values values = terms(e, position(e, row, number)), next;
    for (auto [accumulator, sum, value] : llvm::zip_equal(accumulators, carried, values))
      next.push_back(loops::combine(e.builder, loc, accumulator, sum, value));
    return next;
  });
  if (byWorkgroup)
    for (auto [accumulator, sum] : llvm::zip_equal(accumulators, sums))
      sum = combineThreads(emit, accumulator, sum);
  return sums;
}

void RowWalk::walk(LoopEmitter &emit, ArrayRef<Value> row,
                   llvm::function_ref<void(LoopEmitter &, const Position &)> body) {
  strided(emit, {}, [&](LoopEmitter &e, Value number, ValueRange) {
    body(e, position(e, row, number));
    return Values();
  });
}

static RankedTensorType operandType(GpuKernel &kernel) {
  return cast<RankedTensorType>(kernel.root->getOperand(0).getType());
}

/// Stores what the kernel makes of the root's result at a position.
static void storeRoot(GpuKernel &kernel, LoopEmitter &emit, Value value, const Position &at) {
  Value root = kernel.root->getResult(0);
  value = loops::narrow(emit.builder, kernel.loc, value,
                        cast<RankedTensorType>(root.getType()).getElementType());
  Expression expression = kernel.expression;
  expression.bindSource(root, [value](OpBuilder &, Location, const Position &) { return value; });
  loops::storeResults(kernel, expression, emit.builder, at);
}

LogicalResult gpucode::buildReduction(GpuKernel &kernel) {
  if (failed(loops::checkResultShapes(kernel)))
    return failure();
  auto op = cast<ReduceOp>(kernel.root);
  RankedTensorType operand = operandType(kernel);
  Type element = operand.getElementType();
  llvm::SmallBitVector reduced(operand.getRank());
  for (int64_t axis : op.getAxes())
    reduced.set(axis);
  RowWalk rows(kernel, operand, reduced);
  Accumulator accumulator{op.getKind(), loops::accumulationType(element),
                          element.isUnsignedInteger() || element.isInteger(1)};
  rows.emit([&](LoopEmitter &emit, ArrayRef<Value> row) {
    Value sum = rows.accumulate(emit, row, accumulator, [&](LoopEmitter &e, const Position &at) {
      Value value = kernel.expression.emit(e.builder, e.loc, op.getOperand(), at);
      return Values{loops::widen(e.builder, e.loc, value)};
    })[0];
    rows.once(emit, [&](LoopEmitter &e) {
      Position at;
      at.indices.assign(row.begin(), row.end());
      storeRoot(kernel, e, sum, at);
    });
  });
  return success();
}

namespace {

/// The operand of a normalisation, as it is computed.
struct Operand {
  GpuKernel &kernel;
  Value operator()(LoopEmitter &emit, const Position &at) const {
    Value operand = kernel.root->getOperand(0);
    return loops::widen(emit.builder, emit.loc,
                        kernel.expression.emit(emit.builder, emit.loc, operand, at));
  }
};

} // namespace

static void buildSoftmax(GpuKernel &kernel, SoftmaxOp op) {
  RankedTensorType operand = operandType(kernel);
  llvm::SmallBitVector reduced(operand.getRank());
  reduced.set(op.getAxis());
  RowWalk rows(kernel, operand, reduced);
  Type type = loops::accumulationType(operand.getElementType());
  Operand element{kernel};
  rows.emit([&](LoopEmitter &emit, ArrayRef<Value> row) {
    // NaN may get lost in the maximum, since it returns in the sum.
    Accumulator maximum{ReduceKind::Max, type, /*isUnsigned=*/false, /*fast=*/true};
    Value top = rows.accumulate(emit, row, maximum, [&](LoopEmitter &e, const Position &at) {
      return Values{element(e, at)};
    })[0];
    auto shifted = [&](LoopEmitter &e, const Position &at) {
      return e.make<arith::SubFOp>(element(e, at), top);
    };
    Value sum = rows.accumulate(emit, row, Accumulator{ReduceKind::Sum, type},
                                [&](LoopEmitter &e, const Position &at) {
                                  return Values{e.make<math::ExpOp>(shifted(e, at))};
                                })[0];
    Value factor =
        op.getLog()
            ? emit.make<math::LogOp>(sum)
            : emit.make<arith::DivFOp>(loops::constantLike(emit.builder, emit.loc, sum, 1), sum);
    rows.walk(emit, row, [&](LoopEmitter &e, const Position &at) {
      Value value = shifted(e, at);
      value = op.getLog() ? e.make<arith::SubFOp>(value, factor)
                          : e.make<arith::MulFOp>(e.make<math::ExpOp>(value), factor);
      storeRoot(kernel, e, value, at);
    });
  });
}

static void buildNorm(GpuKernel &kernel, NormOp op) {
  RankedTensorType operand = operandType(kernel);
  llvm::SmallBitVector reduced(operand.getRank());
  reduced.set(op.getAxis(), operand.getRank());
  RowWalk rows(kernel, operand, reduced);
  Type type = loops::accumulationType(operand.getElementType());
  Operand element{kernel};
  bool isLayer = op.getKind() == NormKind::Layer;
  rows.emit([&](LoopEmitter &emit, ArrayRef<Value> row) {
    Value count = arith::SIToFPOp::create(emit.builder, emit.loc, type,
                                          emit.toI64(emit.size(rows.rowSize())));
    auto mean = [&](llvm::function_ref<Value(LoopEmitter &, const Position &)> term) {
      Value sum = rows.accumulate(
          emit, row, Accumulator{ReduceKind::Sum, type},
          [&](LoopEmitter &e, const Position &at) { return Values{term(e, at)}; })[0];
      return emit.make<arith::DivFOp>(sum, count);
    };
    Value center = isLayer ? mean(element) : Value();
    // The deviations are squared, not the values: the difference of two large sums would
    // cancel.
    auto centered = [&](LoopEmitter &e, const Position &at) -> Value {
      Value value = element(e, at);
      return isLayer ? e.make<arith::SubFOp>(value, center) : value;
    };
    Value variance = mean([&](LoopEmitter &e, const Position &at) -> Value {
      Value value = centered(e, at);
      return e.make<arith::MulFOp>(value, value);
    });
    auto constant = [&](double value) {
      return loops::constantLike(emit.builder, emit.loc, variance, value);
    };
    Value deviation = emit.make<math::SqrtOp>(
        emit.make<arith::AddFOp>(variance, constant(op.getEpsilon().convertToDouble())));
    Value scale = emit.make<arith::DivFOp>(constant(1), deviation);
    rows.walk(emit, row, [&](LoopEmitter &e, const Position &at) {
      storeRoot(kernel, e, e.make<arith::MulFOp>(centered(e, at), scale), at);
    });
  });
}

LogicalResult gpucode::buildNormalization(GpuKernel &kernel) {
  if (failed(loops::checkResultShapes(kernel)))
    return failure();
  if (auto softmax = dyn_cast<SoftmaxOp>(kernel.root))
    buildSoftmax(kernel, softmax);
  else
    buildNorm(kernel, cast<NormOp>(kernel.root));
  return success();
}
