//===- Window.cpp - pooling and other sliding windows ---------------------===//
//
// A result element combines the taps that lie inside the operand, so that there
// is no padding to store: the bounds of each tap loop are computed. Where the
// window runs over the vector dimension itself (LRN), the taps are rows that
// start one element apart, masked at the borders.
//
//===----------------------------------------------------------------------===//

#include "codegen/loops/Rows.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

namespace {

class WindowBuilder {
public:
  WindowBuilder(LoopKernel &kernel, WindowOp op)
      : kernel(kernel), op(op), loc(kernel.loc),
        operand(cast<RankedTensorType>(op.getOperand().getType())),
        element(operand.getElementType()), type(accumulationType(element)),
        accumulator{op.getKind() == WindowKind::Max ? ReduceKind::Max : ReduceKind::Sum, type,
                    element.isUnsignedInteger() || element.isInteger(1)} {}

  LaunchShape build();
  /// Computes and stores the results at positions along one row.
  void emitAt(OpBuilder &builder, ArrayRef<Position> positions);

private:
  bool slides(int64_t dim) {
    return op.getWindow()[dim] != 1 || op.getStrides()[dim] != 1 || op.getPadLow()[dim] != 0;
  }
  /// Result and count of taps (null unless it is needed) at `position`.
  std::pair<SmallVector<Value>, Value> emitTaps(OpBuilder &builder, ArrayRef<Position> positions);
  Value loadTap(OpBuilder &builder, const Position &position, ArrayRef<Value> indices,
                Value laneMask);

  Value constant(OpBuilder &builder, int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  bool needsCount() { return op.getKind() == WindowKind::Average && !op.getCountIncludePad(); }

  LoopKernel &kernel;
  WindowOp op;
  Location loc;
  RankedTensorType operand;
  Type element, type;
  Accumulator accumulator;
};

} // namespace

Value WindowBuilder::loadTap(OpBuilder &builder, const Position &position, ArrayRef<Value> indices,
                             Value laneMask) {
  Position where = position;
  where.indices.assign(indices.begin(), indices.end());
  if (laneMask)
    where.mask =
        where.mask ? builder.createOrFold<arith::AndIOp>(loc, where.mask, laneMask) : laneMask;
  return widen(builder, loc, kernel.expression.emit(builder, loc, op.getOperand(), where));
}

/// Taps t of a dimension with 0 <= start + t * dilation < size.
static std::pair<Value, Value> tapRange(OpBuilder &builder, Location loc, Value start,
                                        int64_t dilation, Value size, int64_t window) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value zero = constant(0);
  // ceil(-start / dilation) and ceil((size - start) / dilation), clamped; both
  // dividends are made positive first, where a division is a shift or multiply.
  auto ceilDiv = [&](Value dividend) -> Value {
    Value positive = builder.createOrFold<arith::MaxSIOp>(loc, dividend, zero);
    if (dilation == 1)
      return positive;
    Value up = builder.createOrFold<arith::AddIOp>(loc, positive, constant(dilation - 1));
    return builder.createOrFold<arith::DivUIOp>(loc, up, constant(dilation));
  };
  Value low = ceilDiv(builder.createOrFold<arith::SubIOp>(loc, zero, start));
  Value high = ceilDiv(builder.createOrFold<arith::SubIOp>(loc, size, start));
  return {low, builder.createOrFold<arith::MinSIOp>(loc, high, constant(window))};
}

std::pair<SmallVector<Value>, Value> WindowBuilder::emitTaps(OpBuilder &builder,
                                                             ArrayRef<Position> positions) {
  const Position &first = positions.front();
  bool isVector = first.vectorDim >= 0;
  int64_t lanes = isVector ? first.lanes : 0;
  bool slidesAlongLanes = isVector && slides(first.vectorDim);
  // The state of the loops: one accumulator per position, and the count.
  SmallVector<Value> state(positions.size(), neutral(builder, loc, accumulator, lanes));
  // Counted per lane where the lanes see different taps, else multiplied up.
  bool countsLanes = needsCount() && slidesAlongLanes;
  Accumulator counter{ReduceKind::Sum, type};
  if (countsLanes)
    state.push_back(neutral(builder, loc, counter, lanes));
  Value count = needsCount() && !countsLanes ? constant(builder, 1) : Value();

  // Where the window begins in each dimension, and the taps that are inside.
  struct TapLoop {
    int64_t dim;
    Value start, low, high;
  };
  SmallVector<TapLoop> loops;
  SmallVector<Value> base(first.indices);
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    if (!slides(dim))
      continue;
    Value start = builder.createOrFold<arith::MulIOp>(loc, first.indices[dim],
                                                      constant(builder, op.getStrides()[dim]));
    start = builder.createOrFold<arith::SubIOp>(loc, start, constant(builder, op.getPadLow()[dim]));
    if (dim == first.vectorDim) {
      base[dim] = start;
      continue;
    }
    auto [low, high] =
        tapRange(builder, loc, start, op.getDilations()[dim],
                 kernel.value(builder, sizeOf(op.getOperand(), dim)), op.getWindow()[dim]);
    loops.push_back({dim, start, low, high});
    if (count)
      count = builder.createOrFold<arith::MulIOp>(
          loc, count, builder.createOrFold<arith::SubIOp>(loc, high, low));
  }

  // One tap of all positions. `indices` are those of the first position.
  auto tap = [&](OpBuilder &b, ArrayRef<Value> indices, SmallVectorImpl<Value> &values) {
    auto accumulate = [&](OpBuilder &b, unsigned i, ArrayRef<Value> where, Value laneMask,
                          SmallVectorImpl<Value> &values) {
      Value value = loadTap(b, positions[i], where, laneMask);
      Value next = combine(b, loc, accumulator, values[i], value);
      values[i] = laneMask ? b.createOrFold<arith::SelectOp>(loc, laneMask, next, values[i]) : next;
    };
    if (!slidesAlongLanes) {
      for (unsigned i = 0; i < positions.size(); ++i) {
        SmallVector<Value> where(indices);
        if (isVector) // positions differ along the vector dimension only
          where[first.vectorDim] = positions[i].indices[first.vectorDim];
        accumulate(b, i, where, nullptr, values);
      }
      return;
    }
    assert(positions.size() == 1 && "rows along which the window slides come one by one");
    // Lanes at start + lane * stride + t * dilation; the interior needs no mask.
    int64_t dim = first.vectorDim, stride = op.getStrides()[dim];
    SymExpr size = sizeOf(op.getOperand(), dim);
    int64_t dilation = op.getDilations()[dim], window = op.getWindow()[dim];
    Value start = indices[dim];
    auto taps = [&](OpBuilder &b, bool masked, SmallVectorImpl<Value> &values) {
      for (int64_t t = 0; t < window; ++t) {
        SmallVector<Value> where(indices);
        where[dim] = b.createOrFold<arith::AddIOp>(loc, start, constant(b, t * dilation));
        Value laneMask;
        if (masked) {
          // 0 <= where + lane < size, one unsigned comparison per lane.
          std::optional<int64_t> constantSize = size.asConstant();
          bool isWide =
              !constantSize || *constantSize + window * dilation + lanes * stride > INT32_MAX;
          Type indexType = isWide ? b.getI64Type() : b.getI32Type();
          auto vectorType = VectorType::get({lanes}, indexType);
          SmallVector<Attribute> steps;
          for (int64_t lane = 0; lane < lanes; ++lane)
            steps.push_back(b.getIntegerAttr(indexType, lane * stride));
          Value lane = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vectorType, steps));
          Value at = b.createOrFold<arith::IndexCastOp>(loc, indexType, where[dim]);
          at = b.createOrFold<vector::BroadcastOp>(loc, vectorType, at);
          Value limit = b.createOrFold<arith::IndexCastOp>(loc, indexType, kernel.value(b, size));
          limit = b.createOrFold<vector::BroadcastOp>(loc, vectorType, limit);
          laneMask = b.createOrFold<arith::CmpIOp>(
              loc, arith::CmpIPredicate::ult, b.createOrFold<arith::AddIOp>(loc, at, lane), limit);
        }
        accumulate(b, 0, where, laneMask, values);
        if (countsLanes) {
          Value one = constantLike(b, loc, values.back(), 1);
          Value more = b.createOrFold<arith::AddFOp>(loc, values.back(), one);
          values.back() =
              laneMask ? b.createOrFold<arith::SelectOp>(loc, laneMask, more, values.back()) : more;
        }
      }
    };
    Value last = b.createOrFold<arith::AddIOp>(
        loc, start, constant(b, (lanes - 1) * stride + (window - 1) * dilation));
    Value after =
        b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, last, kernel.value(b, size));
    Value before =
        b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, start, constant(b, 0));
    Value interior = b.createOrFold<arith::AndIOp>(loc, before, after);
    auto ifOp =
        scf::IfOp::create(b, loc, ValueRange(values).getTypes(), interior, /*withElse=*/true);
    for (bool masked : {false, true}) {
      OpBuilder inner = OpBuilder::atBlockBegin(masked ? ifOp.elseBlock() : ifOp.thenBlock());
      SmallVector<Value> results(values.begin(), values.end());
      taps(inner, masked, results);
      scf::YieldOp::create(inner, loc, results);
    }
    values.assign(ifOp.getResults().begin(), ifOp.getResults().end());
  };

  std::function<SmallVector<Value>(OpBuilder &, unsigned, ArrayRef<Value>, ValueRange)> nest =
      [&](OpBuilder &b, unsigned depth, ArrayRef<Value> indices, ValueRange values) {
        if (depth == loops.size()) {
          SmallVector<Value> next(values);
          tap(b, indices, next);
          return next;
        }
        const TapLoop &loop = loops[depth];
        auto forOp = scf::ForOp::create(b, loc, loop.low, loop.high, constant(b, 1), values);
        OpBuilder inner = OpBuilder::atBlockBegin(forOp.getBody());
        SmallVector<Value> where(indices);
        Value step = inner.createOrFold<arith::MulIOp>(
            loc, forOp.getInductionVar(), constant(inner, op.getDilations()[loop.dim]));
        where[loop.dim] = inner.createOrFold<arith::AddIOp>(loc, loop.start, step);
        SmallVector<Value> next = nest(inner, depth + 1, where, forOp.getRegionIterArgs());
        scf::YieldOp::create(inner, loc, next);
        return llvm::to_vector_of<Value>(forOp.getResults());
      };
  state = nest(builder, 0, base, state);
  if (countsLanes)
    count = state.pop_back_val();
  return {state, count};
}

void WindowBuilder::emitAt(OpBuilder &builder, ArrayRef<Position> positions) {
  auto [values, count] = emitTaps(builder, positions);
  Value divisor;
  if (op.getKind() == WindowKind::Average) {
    int64_t total = 1;
    for (int64_t size : op.getWindow())
      total *= size;
    if (!count)
      divisor = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, total));
    else if (isa<IndexType>(count.getType()))
      divisor = builder.createOrFold<arith::SIToFPOp>(
          loc, type, builder.createOrFold<arith::IndexCastOp>(loc, builder.getI64Type(), count));
    else
      divisor = count;
  }
  for (auto [position, value] : llvm::zip_equal(positions, values)) {
    Value result = value;
    if (divisor) {
      Value by = divisor;
      if (by.getType() != result.getType())
        by = builder.createOrFold<vector::BroadcastOp>(loc, result.getType(), by);
      result = builder.createOrFold<arith::DivFOp>(loc, result, by);
    }
    result = narrow(builder, loc, result, element);
    Expression expression = kernel.expression;
    expression.bindSource(op.getResult(),
                          [&](OpBuilder &, Location, const Position &) { return result; });
    storeResults(kernel, expression, builder, position);
  }
}

LaunchShape WindowBuilder::build() {
  auto result = cast<RankedTensorType>(op.getResult().getType());
  int64_t rank = result.getRank();
  // Rows of the result along its last dimension that counts.
  Expression epilogue = kernel.expression;
  epilogue.bindMemory(op.getResult(), {Value(), Sizes(rank, 0), result});
  SmallVector<Value> values{op.getOperand()};
  SmallVector<Sizes> accesses;
  for (unsigned i = 0; i < kernel.results.size(); ++i) {
    values.push_back(kernel.yielded(i));
    accesses.push_back(kernel.results[i].strides);
  }
  // Operand and result have the same dimensions, with windows between them.
  AccessAnalysis analysis = AccessAnalysis::of(epilogue, values);
  for (const LinearRead &read : analysis.reads)
    if (read.value != op.getResult())
      accesses.push_back(read.strides);
  llvm::SmallBitVector fixed = analysis.fixed;
  int64_t taps = 1;
  for (int64_t dim = 0; dim < rank; ++dim) {
    taps *= op.getWindow()[dim];
    if (slides(dim) || sizeOf(op.getOperand(), dim) != sizeOf(op.getResult(), dim))
      fixed.set(dim);
  }
  // Without reduced dimensions a row plan is a walk of the result whose vector
  // dimension is a kept one.
  llvm::SmallBitVector bent = analysis.bent;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (op.getStrides()[dim] != 1)
      bent.set(dim);
  auto makePlan = [&](int64_t unroll) {
    return RowPlan::make(sizesOf(result), llvm::SmallBitVector(rank), accesses, fixed, bent,
                         preferredLanes(kernel), unroll, analysis.operations);
  };
  RowPlan plan = makePlan(4);
  // Lanes that see different taps are masked one row at a time.
  if (plan.vectorLoop >= 0 && slides(plan.kept[plan.vectorLoop].dim))
    plan = makePlan(1);
  // A position's lanes are neighbours, so a strided row is walked by scalars.
  if (plan.vectorLoop >= 0 && bent[plan.kept[plan.vectorLoop].dim])
    plan.lanes = plan.unroll = 1;
  plan.unitNanoseconds *= taps;
  emitRows(kernel, plan, rank, [&](OpBuilder &builder, Rows rows) { emitAt(builder, rows); });
  return LaunchShape{plan.units, grainFor(plan.unitNanoseconds, plan.units), 0};
}

LogicalResult loops::checkWindow(LoopKernel &kernel) {
  if (failed(checkResultShapes(kernel)))
    return failure();
  auto op = cast<WindowOp>(kernel.root);
  auto type = cast<RankedTensorType>(op.getOperand().getType());
  if (op.getKind() == WindowKind::Average && !isa<FloatType>(type.getElementType()))
    return kernel.op.emitError("averages ") << type << ", expected a float type";
  return success();
}

void loops::emitWindow(LoopKernel &kernel, OpBuilder &builder, const Position &position) {
  WindowBuilder(kernel, cast<WindowOp>(kernel.root)).emitAt(builder, position);
}

FailureOr<LaunchShape> loops::buildWindow(LoopKernel &kernel) {
  if (failed(checkWindow(kernel)))
    return failure();
  return WindowBuilder(kernel, cast<WindowOp>(kernel.root)).build();
}
