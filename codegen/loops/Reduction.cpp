//===- Reduction.cpp - reductions over any dimensions ---------------------===//
//
// NaN is kept by sums, products, maxima and minima alike, as in NumPy. Sums of
// f16 and bf16 are made in f32.
//
//===----------------------------------------------------------------------===//

#include "codegen/loops/Rows.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

FailureOr<LaunchShape> loops::buildReduction(LoopKernel &kernel) {
  if (failed(checkResultShapes(kernel)))
    return failure();
  auto op = cast<ReduceOp>(kernel.root);
  Location loc = kernel.loc;
  auto operand = cast<RankedTensorType>(op.getOperand().getType());
  Type element = operand.getElementType();
  int64_t rank = operand.getRank();
  llvm::SmallBitVector reduced(rank);
  for (int64_t axis : op.getAxes())
    reduced.set(axis);
  SmallVector<int64_t> keptDims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!reduced[dim])
      keptDims.push_back(dim);

  // What the epilogue reads and writes, in terms of the operand's dimensions.
  AccessAnalysis reads = AccessAnalysis::of(kernel.expression, {op.getOperand()});
  Expression epilogue = kernel.expression;
  Value rootResult = op.getResult();
  epilogue.bindMemory(rootResult, {Value(), Sizes(keptDims.size(), 0),
                                   cast<RankedTensorType>(rootResult.getType())});
  SmallVector<Value> yields;
  for (unsigned i = 0; i < kernel.results.size(); ++i)
    yields.push_back(kernel.yielded(i));
  AccessAnalysis writes = AccessAnalysis::of(epilogue, yields);
  SmallVector<Sizes> accesses;
  for (const LinearRead &read : reads.reads)
    accesses.push_back(read.strides);
  auto addKept = [&](const Sizes &strides) {
    Sizes spread(rank, 0);
    for (auto [i, dim] : llvm::enumerate(keptDims))
      spread[dim] = strides[i];
    accesses.push_back(std::move(spread));
  };
  for (const LinearRead &read : writes.reads)
    addKept(read.strides);
  for (const Access &access : kernel.results)
    addKept(access.strides);
  llvm::SmallBitVector fixed = reads.fixed, bent = reads.bent;
  for (auto [i, dim] : llvm::enumerate(keptDims)) {
    fixed[dim] = fixed[dim] || writes.fixed[i];
    bent[dim] = bent[dim] || writes.bent[i];
  }
  // Four sums in flight hide the latency of an addition; heavy prologues hide it
  // themselves.
  int64_t unroll = reads.operations > 16 ? 1 : 4;
  RowPlan plan = RowPlan::make(sizesOf(operand), reduced, accesses, fixed, bent,
                               preferredLanes(kernel), unroll, reads.operations);

  Accumulator accumulator{op.getKind(), accumulationType(element),
                          element.isUnsignedInteger() || element.isInteger(1)};
  emitRows(kernel, plan, rank, [&](OpBuilder &builder, Rows rows) {
    auto sums = walkRows(kernel, plan, builder, rows, {accumulator},
                         [&](OpBuilder &b, const Position &position, Value, unsigned) {
                           Value value = kernel.expression.emit(b, loc, op.getOperand(), position);
                           return SmallVector<Value>{widen(b, loc, value)};
                         });
    for (auto [row, sum] : llvm::zip_equal(rows, sums)) {
      Position position = row;
      position.indices.clear();
      position.vectorDim = -1;
      for (auto [i, dim] : llvm::enumerate(keptDims)) {
        position.indices.push_back(row.indices[dim]);
        if (row.vectorDim == dim)
          position.vectorDim = i;
      }
      Value result = narrow(builder, loc, sum[0], element);
      Expression expression = kernel.expression;
      expression.bindSource(rootResult,
                            [&](OpBuilder &, Location, const Position &) { return result; });
      storeResults(kernel, expression, builder, position);
    }
  });
  return LaunchShape{plan.units, grainFor(plan.unitNanoseconds, plan.units), 0};
}
