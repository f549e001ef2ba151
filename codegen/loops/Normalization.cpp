//===- Normalization.cpp - softmax and norms, a row at a time -------------===//
//
// A row is read once; what later passes need of it stays in a buffer of the
// worker's scratch, which lies in the cache. Where only the run knows how long rows
// are, those that do not fit into the buffer are computed anew by each pass. f16 and
// bf16 are computed in f32.
//
//===----------------------------------------------------------------------===//

#include "codegen/loops/Rows.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

namespace {

/// Passes over rows that are kept in a buffer between them.
class RowPasses {
public:
  RowPasses(LoopKernel &kernel, const RowPlan &plan, Value operand, Type type)
      : kernel(kernel), plan(plan), operand(operand), type(type),
        needed(plan.rowSize() * (plan.vectorIsReduced ? 1 : plan.lanes)),
        elements(needed.asConstant().value_or(kMostElements)),
        buffer(kernel.scratchView(0, type, elements)) {}

  /// One row for every lane; plans that walk several rows at once do not fit.
  uint64_t scratchSize() const { return elements * type.getIntOrFloatBitWidth() / 8; }

  using Transform = std::function<Value(OpBuilder &, Value, unsigned row)>;

  /// Calls `passes` for rows that fit into the buffer and, where there may be some,
  /// for others.
  void emit(OpBuilder &builder, llvm::function_ref<void(OpBuilder &)> passes) {
    if (needed.asConstant())
      return passes(builder);
    Location loc = kernel.loc;
    Value fits = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sle,
                                                     kernel.value(builder, needed),
                                                     kernel.value(builder, elements));
    auto ifOp = scf::IfOp::create(builder, loc, fits, /*withElseRegion=*/true);
    for (bool fit : {true, false}) {
      OpBuilder inner = OpBuilder::atBlockBegin(fit ? ifOp.thenBlock() : ifOp.elseBlock());
      isKept = fit;
      passes(inner);
    }
  }

  /// Reads the operand, keeps it, and accumulates what `terms` makes of it.
  SmallVector<SmallVector<Value>>
  read(OpBuilder &builder, Rows rows, ArrayRef<Accumulator> accumulators,
       llvm::function_ref<SmallVector<Value>(OpBuilder &, Value)> terms) {
    replacements.clear();
    return walkRows(kernel, plan, builder, rows, accumulators,
                    [&](OpBuilder &b, const Position &position, Value index, unsigned row) {
                      Value value = readOperand(b, position);
                      put(b, value, index, position);
                      return terms(b, value);
                    });
  }

  /// Replaces what is kept by `transform` of it and sums that; nothing is
  /// replaced without `keep`.
  SmallVector<SmallVector<Value>> sum(OpBuilder &builder, Rows rows, bool keep,
                                      Transform transform) {
    Accumulator accumulator{ReduceKind::Sum, type};
    auto sums = walkRows(kernel, plan, builder, rows, {accumulator},
                         [&](OpBuilder &b, const Position &position, Value index, unsigned row) {
                           Value value = transform(b, get(b, index, position, row), row);
                           if (keep)
                             put(b, value, index, position);
                           return SmallVector<Value>{value};
                         });
    if (keep)
      replacements.push_back(std::move(transform));
    return sums;
  }

  /// Binds the root's result to `transform` of what is kept and stores the
  /// kernel's results.
  void write(OpBuilder &builder, Rows rows, Transform transform) {
    walkRows(kernel, plan, builder, rows, {},
             [&](OpBuilder &b, const Position &position, Value index, unsigned row) {
               Value value = transform(b, get(b, index, position, row), row);
               Value root = kernel.root->getResult(0);
               value = narrow(b, kernel.loc, value,
                              cast<RankedTensorType>(root.getType()).getElementType());
               Expression expression = kernel.expression;
               expression.bindSource(
                   root, [&](OpBuilder &, Location, const Position &) { return value; });
               storeResults(kernel, expression, b, position);
               return SmallVector<Value>();
             });
  }

  /// A value of a whole row, in the shape of an element of the pass.
  Value spread(OpBuilder &builder, Value ofRow, Value like) {
    if (ofRow.getType() == like.getType())
      return ofRow;
    return builder.createOrFold<vector::BroadcastOp>(kernel.loc, like.getType(), ofRow);
  }

private:
  /// Of a buffer for rows of unknown length: what lies in the second-level cache.
  static constexpr int64_t kMostElements = 16 << 10;

  Access access() const { return {buffer, {1}, RankedTensorType::get({elements}, type)}; }
  static Position bufferPosition(Value index, const Position &position) {
    return {{index}, position.vectorDim < 0 ? -1 : 0, position.lanes, position.mask};
  }
  Value readOperand(OpBuilder &b, const Position &position) {
    return widen(b, kernel.loc, kernel.expression.emit(b, kernel.loc, operand, position));
  }
  Value get(OpBuilder &b, Value index, const Position &position, unsigned row) {
    if (!isKept) {
      Value value = readOperand(b, position);
      for (const Transform &replace : replacements)
        value = replace(b, value, row);
      return value;
    }
    return kernel.expression.load(b, kernel.loc, access(), bufferPosition(index, position));
  }
  void put(OpBuilder &b, Value value, Value index, const Position &position) {
    if (!isKept)
      return;
    kernel.expression.store(b, kernel.loc, value, access(), bufferPosition(index, position));
  }

  LoopKernel &kernel;
  const RowPlan &plan;
  Value operand;
  Type type;        ///< in which rows are computed
  SymExpr needed;   ///< elements that hold the rows of all lanes
  int64_t elements; ///< of the buffer
  Value buffer;
  bool isKept = true;
  SmallVector<Transform, 1> replacements; ///< of what was kept first, in order
};

/// The plan of a root whose result has the operand's shape.
RowPlan planRows(LoopKernel &kernel, const llvm::SmallBitVector &reduced, int64_t unroll) {
  Value operand = kernel.root->getOperand(0), result = kernel.root->getResult(0);
  auto type = cast<RankedTensorType>(operand.getType());
  Expression epilogue = kernel.expression;
  epilogue.bindMemory(
      result, {Value(), Sizes(type.getRank(), 0), cast<RankedTensorType>(result.getType())});
  SmallVector<Value> values{operand};
  SmallVector<Sizes> accesses;
  for (unsigned i = 0; i < kernel.results.size(); ++i) {
    values.push_back(kernel.yielded(i));
    accesses.push_back(kernel.results[i].strides);
  }
  AccessAnalysis analysis = AccessAnalysis::of(epilogue, values);
  for (const LinearRead &read : analysis.reads)
    if (read.value != result)
      accesses.push_back(read.strides);
  return RowPlan::make(sizesOf(type), reduced, accesses, analysis.fixed, analysis.bent,
                       preferredLanes(kernel), unroll, analysis.operations + 30);
}

} // namespace

static FailureOr<LaunchShape> buildSoftmax(LoopKernel &kernel, SoftmaxOp op) {
  Location loc = kernel.loc;
  auto operand = cast<RankedTensorType>(op.getOperand().getType());
  llvm::SmallBitVector reduced(operand.getRank());
  reduced.set(op.getAxis());
  RowPlan plan = planRows(kernel, reduced, /*unroll=*/1);
  Type type = accumulationType(operand.getElementType());
  RowPasses passes(kernel, plan, op.getOperand(), type);

  // NaN may get lost in the maximum, since it returns in the sum.
  Accumulator maximum{ReduceKind::Max, type, /*isUnsigned=*/false, /*fast=*/true};
  emitRows(kernel, plan, operand.getRank(), [&](OpBuilder &outer, Rows rows) {
    passes.emit(outer, [&](OpBuilder &builder) {
      auto top = passes.read(builder, rows, {maximum},
                             [](OpBuilder &, Value value) { return SmallVector<Value>{value}; });
      auto shifted = [&](OpBuilder &b, Value value, unsigned row) -> Value {
        return arith::SubFOp::create(b, loc, value, passes.spread(b, top[row][0], value));
      };
      auto sum = passes.sum(builder, rows, /*keep=*/!op.getLog(),
                            [&](OpBuilder &b, Value value, unsigned row) -> Value {
                              return math::ExpOp::create(b, loc, shifted(b, value, row));
                            });
      SmallVector<Value> factors;
      for (SmallVector<Value> &ofRow : sum)
        factors.push_back(op.getLog()
                              ? math::LogOp::create(builder, loc, ofRow[0]).getResult()
                              : arith::DivFOp::create(
                                    builder, loc, constantLike(builder, loc, ofRow[0], 1), ofRow[0])
                                    .getResult());
      passes.write(builder, rows, [&](OpBuilder &b, Value value, unsigned row) -> Value {
        Value factor = passes.spread(b, factors[row], value);
        if (op.getLog())
          return arith::SubFOp::create(b, loc, shifted(b, value, row), factor);
        return arith::MulFOp::create(b, loc, value, factor);
      });
    });
  });
  return LaunchShape{plan.units, grainFor(plan.unitNanoseconds, plan.units), passes.scratchSize()};
}

static FailureOr<LaunchShape> buildNorm(LoopKernel &kernel, NormOp op) {
  Location loc = kernel.loc;
  auto operand = cast<RankedTensorType>(op.getOperand().getType());
  int64_t rank = operand.getRank();
  llvm::SmallBitVector reduced(rank);
  reduced.set(op.getAxis(), rank);
  bool isLayer = op.getKind() == NormKind::Layer;
  RowPlan plan = planRows(kernel, reduced, /*unroll=*/1);
  Type type = accumulationType(operand.getElementType());
  RowPasses passes(kernel, plan, op.getOperand(), type);

  Accumulator sum{ReduceKind::Sum, type};
  emitRows(kernel, plan, rank, [&](OpBuilder &outer, Rows rows) {
    passes.emit(outer, [&](OpBuilder &builder) {
      auto square = [&](OpBuilder &b, Value value) -> Value {
        return arith::MulFOp::create(b, loc, value, value);
      };
      auto first = passes.read(builder, rows, {sum}, [&](OpBuilder &b, Value value) {
        return SmallVector<Value>{isLayer ? value : square(b, value)};
      });
      auto reciprocalLike = [&](OpBuilder &b, Value like) -> Value {
        if (std::optional<int64_t> size = plan.rowSize().asConstant())
          return constantLike(b, loc, like, 1.0 / *size);
        Value size = b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(),
                                                        kernel.value(b, plan.rowSize()));
        size = arith::SIToFPOp::create(b, loc, type, size);
        Value value = arith::DivFOp::create(b, loc, constantLike(b, loc, size, 1), size);
        return passes.spread(b, value, like);
      };
      auto mean = [&](OpBuilder &b, Value total) -> Value {
        return arith::MulFOp::create(b, loc, total, reciprocalLike(b, total));
      };
      SmallVector<Value> means, scales;
      if (isLayer)
        for (SmallVector<Value> &total : first)
          means.push_back(mean(builder, total[0]));
      // The deviations are squared, not the values: the difference of two large
      // sums would cancel.
      auto centered = [&](OpBuilder &b, Value value, unsigned row) -> Value {
        if (!isLayer)
          return value;
        return arith::SubFOp::create(b, loc, value, passes.spread(b, means[row], value));
      };
      auto squares = isLayer ? passes.sum(builder, rows, /*keep=*/false,
                                          [&](OpBuilder &b, Value value, unsigned row) {
                                            return square(b, centered(b, value, row));
                                          })
                             : first;
      for (SmallVector<Value> &total : squares) {
        Value variance = mean(builder, total[0]);
        Value epsilon = constantLike(builder, loc, variance, op.getEpsilon().convertToDouble());
        Value root = math::SqrtOp::create(
            builder, loc, arith::AddFOp::create(builder, loc, variance, epsilon).getResult());
        scales.push_back(
            arith::DivFOp::create(builder, loc, constantLike(builder, loc, root, 1), root));
      }
      passes.write(builder, rows, [&](OpBuilder &b, Value value, unsigned row) -> Value {
        return arith::MulFOp::create(b, loc, centered(b, value, row),
                                     passes.spread(b, scales[row], value));
      });
    });
  });
  return LaunchShape{plan.units, grainFor(plan.unitNanoseconds, plan.units), passes.scratchSize()};
}

FailureOr<LaunchShape> loops::buildNormalization(LoopKernel &kernel) {
  if (failed(checkResultShapes(kernel)))
    return failure();
  return llvm::TypeSwitch<Operation *, FailureOr<LaunchShape>>(kernel.root)
      .Case([&](SoftmaxOp op) { return buildSoftmax(kernel, op); })
      .Case([&](NormOp op) { return buildNorm(kernel, op); })
      .Default(
          [](Operation *) -> FailureOr<LaunchShape> { llvm_unreachable("not a normalisation"); });
}
