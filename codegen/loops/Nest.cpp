//===- Nest.cpp - a parallel, vectorised loop nest over a box -------------===//

#include "codegen/loops/Nest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

int64_t loops::preferredLanes(LoopKernel &kernel) {
  int64_t bytes = 1;
  auto visit = [&](Type type) {
    bytes = std::max(bytes, dispatch::elementBytes(cast<RankedTensorType>(type).getElementType()));
  };
  for (Operation &op : kernel.op.getBody().front().without_terminator())
    for (Type type : op.getResultTypes())
      visit(type);
  for (Type type : kernel.op.getArgumentTypes())
    visit(type);
  return std::max<int64_t>(kernel.caps.vectorBytes / std::min<int64_t>(bytes, 4), 1);
}

int64_t loops::grainFor(double unitNanoseconds, const SymExpr &units) {
  // Handing work to a waiting thread costs 0.13 us, waking one up to 5 us.
  constexpr double worthwhile = 10000;
  double grain = std::ceil(worthwhile / std::max(unitNanoseconds, 0.01));
  int64_t most = units.asConstant().value_or(std::numeric_limits<int64_t>::max());
  return std::clamp<int64_t>(static_cast<int64_t>(std::min(grain, 1e15)), 1,
                             std::max<int64_t>(most, 1));
}

static bool isZeroOrOne(const SymExpr &stride) { return isOne(stride) || stride == SymExpr(0); }

/// The loop that interleaves with loop `i`; see NestPlan.
static int findInterleaved(ArrayRef<NestLoop> loops, unsigned i, ArrayRef<Sizes> resultStrides) {
  constexpr int64_t most = 8; // the number of shuffles is the square of it
  for (auto [j, loop] : llvm::enumerate(loops))
    if (j != i && loop.size.asConstant().value_or(most + 1) <= most &&
        llvm::all_of(resultStrides, [&, dim = loop.dim, size = loop.size](const Sizes &strides) {
          return isOne(strides[dim]) && strides[loops[i].dim] == size;
        }))
      return j;
  return -1;
}

/// The loop that makes tiles with loop `i`; see NestPlan.
static int findTiled(ArrayRef<NestLoop> loops, int i, const AccessAnalysis &analysis,
                     ArrayRef<Sizes> resultStrides, int64_t lanes) {
  int64_t dim = loops[i].dim;
  constexpr int64_t largest = 16; // a tile must fit the registers
  if (lanes > largest || typicalValue(loops[i].size) < lanes || analysis.fixed[dim])
    return -1;
  for (const Sizes &strides : resultStrides)
    if (!isOne(strides[dim]))
      return -1;
  int tiled = -1;
  for (const LinearRead &read : analysis.reads) {
    if (isZeroOrOne(read.strides[dim]))
      continue;
    for (auto [j, loop] : llvm::enumerate(loops))
      if (isOne(read.strides[loop.dim]) && (tiled < 0 || tiled == static_cast<int>(j)))
        tiled = j;
    // A tile stands for every read of its value.
    if (tiled < 0 || tiled == i || !read.isOnly || !isOne(read.strides[loops[tiled].dim]) ||
        read.dims[dim] < 0 || read.dims[loops[tiled].dim] < 0 || analysis.fixed[loops[tiled].dim] ||
        typicalValue(loops[tiled].size) < lanes)
      return -1;
  }
  return tiled;
}

/// The strides of all results, then of all reads.
static SmallVector<ArrayRef<SymExpr>> allStrides(const AccessAnalysis &analysis,
                                                 ArrayRef<Sizes> resultStrides) {
  SmallVector<ArrayRef<SymExpr>> accesses(resultStrides.begin(), resultStrides.end());
  for (const LinearRead &read : analysis.reads)
    accesses.push_back(read.strides);
  return accesses;
}

SmallVector<NestLoop> loops::mergeLoops(ArrayRef<SymExpr> shape, const AccessAnalysis &analysis,
                                        ArrayRef<Sizes> resultStrides) {
  SmallVector<ArrayRef<SymExpr>> accesses = allStrides(analysis, resultStrides);
  // Merge from the inside out.
  SmallVector<NestLoop> loops; // inner ones first
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
    if (shape[dim] == SymExpr(0))
      return {};
    if (isOne(shape[dim]))
      continue;
    bool merges = !loops.empty() && !analysis.fixed[dim] && !analysis.fixed[loops.back().dim] &&
                  llvm::all_of(accesses, [&](ArrayRef<SymExpr> strides) {
                    return strides[dim] == strides[loops.back().dim] * loops.back().size;
                  });
    if (merges)
      loops.back().size *= shape[dim];
    else
      loops.push_back({dim, shape[dim]});
  }
  std::reverse(loops.begin(), loops.end());
  return loops;
}

NestPlan NestPlan::make(ArrayRef<SymExpr> shape, const AccessAnalysis &analysis,
                        ArrayRef<Sizes> resultStrides, int64_t lanes, double bytesPerElement) {
  NestPlan plan;
  if (llvm::is_contained(shape, SymExpr(0)))
    return plan;
  SmallVector<ArrayRef<SymExpr>> accesses = allStrides(analysis, resultStrides);
  plan.loops = mergeLoops(shape, analysis, resultStrides);

  // The vector loop: the one whose rows cost least per element.
  double best = std::numeric_limits<double>::infinity();
  for (auto [i, loop] : llvm::enumerate(plan.loops)) {
    double cost = analysis.operations / 4;
    int interleaved = findInterleaved(plan.loops, i, resultStrides);
    for (auto [k, strides] : llvm::enumerate(accesses)) {
      if (k < resultStrides.size() && interleaved >= 0)
        cost += *plan.loops[interleaved].size.asConstant(); // as many shuffles per row
      else
        cost += isZeroOrOne(strides[loop.dim]) ? 1 : lanes * (k < resultStrides.size() ? 2.0 : 1.0);
    }
    if (analysis.bent[loop.dim])
      cost += lanes;
    int64_t size = typicalValue(loop.size);
    cost /= static_cast<double>(size) / (llvm::divideCeil(size, lanes));
    if (cost <= best) { // the inner one of equals: it stays in the cache
      best = cost;
      plan.vectorLoop = i;
      plan.interleavedLoop = interleaved;
    }
  }
  plan.lanes = lanes;
  // Long rows are cut, so that the units are small enough to balance and large
  // enough to hide the arithmetic of finding them.
  plan.units = 1;
  double elements = 1; // of a unit
  if (plan.vectorLoop >= 0) {
    constexpr int64_t cut = 2048;
    const SymExpr &size = plan.loops[plan.vectorLoop].size;
    std::optional<int64_t> constant = size.asConstant();
    plan.chunk = constant && *constant <= 2 * cut ? *constant : cut;
    if (plan.interleavedLoop < 0)
      plan.tiledLoop = findTiled(plan.loops, plan.vectorLoop, analysis, resultStrides, lanes);
    for (auto [i, loop] : llvm::enumerate(plan.loops)) {
      int64_t step = static_cast<int>(i) == plan.vectorLoop  ? plan.chunk
                     : static_cast<int>(i) == plan.tiledLoop ? lanes
                                                             : 1;
      if (static_cast<int>(i) != plan.interleavedLoop)
        plan.units *= SymExpr::ceilDiv(loop.size, step);
      double typical = typicalValue(loop.size);
      elements *= static_cast<int>(i) == plan.interleavedLoop ? typical
                                                              : typical / std::ceil(typical / step);
    }
  }
  double elementNanoseconds =
      std::max(bytesPerElement / 16, std::isfinite(best) ? best / 4 / lanes : 1.0);
  plan.unitNanoseconds = 3 + elementNanoseconds * elements;
  return plan;
}

Value loops::makeMask(OpBuilder &builder, Location loc, Value count, int64_t lanes) {
  auto type = VectorType::get({lanes}, builder.getI32Type());
  SmallVector<int32_t> steps(lanes);
  std::iota(steps.begin(), steps.end(), 0);
  Value lane =
      arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef(steps)));
  Value limit = builder.createOrFold<arith::IndexCastOp>(loc, builder.getI32Type(), count);
  Value limits = builder.createOrFold<vector::BroadcastOp>(loc, type, limit);
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, lane, limits);
}

void loops::emitVectorLoop(LoopKernel &kernel, OpBuilder &builder, Value low, Value high,
                           const SymExpr &size, int64_t lanes,
                           llvm::function_ref<void(OpBuilder &, Value, int64_t, Value)> body) {
  Location loc = kernel.loc;
  auto loop = [&](Value from, Value to, int64_t step) {
    auto forOp = scf::ForOp::create(builder, loc, from, to, kernel.value(builder, step));
    OpBuilder inner = OpBuilder::atBlockBegin(forOp.getBody());
    body(inner, forOp.getInductionVar(), step, nullptr);
  };
  if (isMultiple(size, lanes))
    return loop(low, high, lanes);
  // Whole rows end where the tail begins; only the last piece has one.
  SymExpr wholeSize = SymExpr::floorDiv(size, lanes) * lanes;
  Value border = kernel.value(builder, wholeSize);
  Value whole = builder.createOrFold<arith::MinSIOp>(loc, high, border);
  if (size.asConstant().value_or(lanes + 1) > lanes)
    loop(low, whole, lanes);
  Value from = builder.createOrFold<arith::MaxSIOp>(loc, low, border);
  if (!kernel.caps.maskedOps)
    return loop(from, high, 1);
  Value hasTail = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, from, high);
  auto ifOp = scf::IfOp::create(builder, loc, hasTail, /*withElseRegion=*/false);
  OpBuilder inner = OpBuilder::atBlockBegin(ifOp.thenBlock());
  Value count = kernel.value(inner, size - wholeSize);
  body(inner, from, lanes, makeMask(inner, loc, count, lanes));
}

void loops::emitNest(LoopKernel &kernel, const NestPlan &plan, ArrayRef<SymExpr> offsets,
                     Value begin, Value end,
                     llvm::function_ref<void(OpBuilder &, const Position &)> body) {
  if (plan.units == SymExpr(0))
    return;
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  auto units = scf::ForOp::create(builder, loc, begin, end, kernel.value(builder, 1));
  OpBuilder inner = OpBuilder::atBlockBegin(units.getBody());

  // The unit's number, taken apart from the inside out.
  Position position;
  for (const SymExpr &offset : offsets)
    position.indices.push_back(kernel.value(inner, offset));
  auto setIndex = [&](OpBuilder &b, int64_t dim, Value value) {
    position.indices[dim] =
        offsets[dim] == SymExpr(0)
            ? value
            : b.createOrFold<arith::AddIOp>(loc, value, kernel.value(b, offsets[dim]));
  };
  Value rest = units.getInductionVar();
  auto take = [&](const SymExpr &size, bool last) -> Value {
    if (isOne(size))
      return kernel.value(inner, 0);
    if (last)
      return rest;
    Value part = arith::RemUIOp::create(inner, loc, rest, kernel.value(inner, size));
    rest = arith::DivUIOp::create(inner, loc, rest, kernel.value(inner, size));
    return part;
  };
  SmallVector<unsigned> outer;
  for (unsigned i = 0; i < plan.loops.size(); ++i)
    if (static_cast<int>(i) != plan.vectorLoop && static_cast<int>(i) != plan.interleavedLoop)
      outer.push_back(i);
  if (plan.vectorLoop < 0) {
    body(inner, position);
    return;
  }
  const NestLoop &vectorLoop = plan.loops[plan.vectorLoop];
  Value chunkIndex = take(SymExpr::ceilDiv(vectorLoop.size, plan.chunk), outer.empty());
  for (unsigned i : llvm::reverse(outer)) {
    bool isTiled = static_cast<int>(i) == plan.tiledLoop, last = i == outer.front();
    const SymExpr &size = plan.loops[i].size;
    Value index = take(isTiled ? SymExpr::ceilDiv(size, plan.lanes) : size, last);
    if (isTiled)
      index = inner.createOrFold<arith::MulIOp>(loc, index, kernel.value(inner, plan.lanes));
    setIndex(inner, plan.loops[i].dim, index);
  }

  Value low = inner.createOrFold<arith::MulIOp>(loc, chunkIndex, kernel.value(inner, plan.chunk));
  Value high = inner.createOrFold<arith::AddIOp>(loc, low, kernel.value(inner, plan.chunk));
  if (!isMultiple(vectorLoop.size, plan.chunk))
    high = inner.createOrFold<arith::MinSIOp>(loc, high, kernel.value(inner, vectorLoop.size));
  emitVectorLoop(kernel, inner, low, high, vectorLoop.size, plan.lanes,
                 [&](OpBuilder &b, Value index, int64_t lanes, Value mask) {
                   setIndex(b, vectorLoop.dim, index);
                   position.vectorDim = lanes == 1 ? -1 : static_cast<int>(vectorLoop.dim);
                   position.lanes = lanes;
                   position.mask = mask;
                   body(b, position);
                 });
}
