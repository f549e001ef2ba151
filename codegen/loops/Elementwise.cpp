//===- Elementwise.cpp - kernels without a reduction ----------------------===//
//
// Elementwise and data-movement kernels: the results are walked in nests, and
// each value is pulled through the body.
//
//===----------------------------------------------------------------------===//

#include "codegen/loops/Spaces.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Results by shape. A reshape in front of a contiguous result only renames its
/// indices: the space is then that of the operand, whose rows stay straight.
static SmallVector<Space> makeSpaces(LoopKernel &kernel) {
  SmallVector<Space> spaces;
  for (auto [i, access] : llvm::enumerate(kernel.results)) {
    Value value = kernel.yielded(i);
    Access target = access;
    bool contiguous = target.strides == contiguousStrides(sizesOf(target.type));
    while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
      if (!contiguous || kernel.expression.isSource(value))
        break;
      value = reshape.getOperand();
      target = {target.memref, contiguousStrides(sizesOf(value)), tensorType(value)};
    }
    Sizes shape = sizesOf(target.type);
    auto it = llvm::find_if(spaces, [&](Space &space) { return space.shape == shape; });
    if (it == spaces.end()) {
      spaces.emplace_back();
      it = std::prev(spaces.end());
      it->shape = std::move(shape);
    }
    it->values.push_back(value);
    it->accesses.push_back(std::move(target));
  }
  return spaces;
}

/// Concatenations whose index is the space's own: reached through elementwise
/// operations only.
static SmallVector<ConcatOp> visibleConcats(ArrayRef<Value> values) {
  SmallVector<ConcatOp> result;
  SmallVector<Value> work(values);
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (auto concat = dyn_cast<ConcatOp>(op))
      result.push_back(concat); // its inputs have indices of their own
    else if (isa<UnaryOp, BinaryOp, CompareOp, SelectOp, ConvertOp, CastOp>(op))
      llvm::append_range(work, op->getOperands());
  }
  return result;
}

/// Whether a <= b for every value of the symbols.
static bool isBelow(const SymExpr &a, const SymExpr &b) { return (b - a).isNonNegative(); }

/// The places where the inputs of a concatenation begin and end.
static Sizes bordersOf(ConcatOp concat) {
  Sizes borders{SymExpr(0)};
  for (Value input : concat.getInputs())
    borders.push_back(borders.back() + sizeOf(input, concat.getAxis()));
  // The same number, also where only the run knows that it is.
  borders.back() = sizeOf(concat.getResult(), concat.getAxis());
  return borders;
}

/// Adds a border to ascending ones; false where only the run knows its place.
static bool addCut(Sizes &cuts, const SymExpr &border) {
  auto *it = llvm::find_if(cuts, [&](const SymExpr &cut) { return isBelow(border, cut); });
  if (it == cuts.end() || (it != cuts.begin() && !isBelow(*std::prev(it), border)))
    return false;
  if (*it != border)
    cuts.insert(it, border);
  return true;
}

/// Cuts the space at the borders of concatenations. Those whose borders cannot be put
/// in order are dropped from `concats`: they stay what they are inside of a box.
static SmallVector<Box> makeBoxes(const Space &space, SmallVectorImpl<ConcatOp> &concats) {
  SmallVector<Sizes> cuts;
  for (const SymExpr &size : space.shape) {
    if (size == SymExpr(0))
      return {};
    cuts.push_back({SymExpr(0), size});
  }
  llvm::erase_if(concats, [&](ConcatOp concat) {
    Sizes &ofAxis = cuts[concat.getAxis()], borders = bordersOf(concat);
    if (ofAxis.size() == 2) { // its own borders are in order, whatever they are
      borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
      ofAxis = std::move(borders);
      return false;
    }
    Sizes next = ofAxis;
    for (const SymExpr &border : borders)
      if (!addCut(next, border))
        return true;
    ofAxis = std::move(next);
    return false;
  });
  SmallVector<Box> boxes{Box()};
  for (const Sizes &points : cuts) {
    SmallVector<Box> next;
    for (const Box &box : boxes)
      for (size_t i = 0; i + 1 < points.size(); ++i) {
        Box part = box;
        part.offsets.push_back(points[i]);
        part.sizes.push_back(points[i + 1] - points[i]);
        next.push_back(std::move(part));
      }
    boxes = std::move(next);
  }
  return boxes;
}

/// Inside `box` a concatenation is one of its inputs, shifted.
static void bindConcat(Expression &expression, ConcatOp concat, const Box &box) {
  int64_t axis = concat.getAxis();
  Sizes borders = bordersOf(concat);
  for (auto [i, input] : llvm::enumerate(concat.getInputs()))
    if (borders[i] != borders[i + 1] && isBelow(borders[i], box.offsets[axis]) &&
        isBelow(box.offsets[axis] + box.sizes[axis], borders[i + 1])) {
      expression.bindShifted(concat.getResult(), input, axis, SymExpr(0) - borders[i]);
      return;
    }
}

/// Row k of the elements that `rows` make when they are interleaved.
static Value interleave(OpBuilder &builder, Location loc, ArrayRef<Value> rows, int64_t k) {
  int64_t count = rows.size(), lanes = cast<VectorType>(rows[0].getType()).getDimSize(0);
  // One row joins at a time: each step is a permutation of two registers.
  Value result = rows[0];
  for (int64_t row = 1; row < count; ++row) {
    SmallVector<int64_t> mask(lanes);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t source = (k * lanes + lane) % count, element = (k * lanes + lane) / count;
      // What the first step has not placed yet is placed by a later one.
      mask[lane] = source == row ? lanes + element : row == 1 && source == 0 ? element : lane;
    }
    result = vector::ShuffleOp::create(builder, loc, result, rows[row], mask);
  }
  return result;
}

/// A square of registers, mirrored at its diagonal by exchanging ever smaller
/// blocks.
void loops::transposeTile(OpBuilder &builder, Location loc, SmallVectorImpl<Value> &rows) {
  int64_t size = rows.size();
  for (int64_t block = size / 2; block > 0; block /= 2) {
    SmallVector<int64_t> upper(size), lower(size);
    for (int64_t lane = 0; lane < size; ++lane) {
      upper[lane] = lane & block ? size + lane - block : lane;
      lower[lane] = lane & block ? size + lane : lane + block;
    }
    for (int64_t row = 0; row < size; ++row) {
      if (row & block)
        continue;
      Value a = rows[row], b = rows[row + block];
      rows[row] = vector::ShuffleOp::create(builder, loc, a, b, upper);
      rows[row + block] = vector::ShuffleOp::create(builder, loc, a, b, lower);
    }
  }
}

/// Computes and stores the results at one row of a position of the nest.
static void emitRow(LoopKernel &kernel, OpBuilder &builder, const Space &space,
                    const Expression &expression, const Position &position) {
  SmallVector<Value> values;
  for (Value value : space.values)
    values.push_back(Expression(expression).emit(builder, kernel.loc, value, position));
  for (auto [value, access] : llvm::zip_equal(values, space.accesses))
    kernel.expression.store(builder, kernel.loc, value, access, position);
}

/// A block of `lanes` rows of a tiled loop.
static void emitTile(LoopKernel &kernel, OpBuilder &builder, const Space &space,
                     const Expression &expression, const AccessAnalysis &analysis,
                     const NestPlan &plan, const Position &position) {
  Location loc = kernel.loc;
  const NestLoop &vectorLoop = plan.loops[plan.vectorLoop], &tiled = plan.loops[plan.tiledLoop];
  auto constant = [&](OpBuilder &b, int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto advanced = [&](OpBuilder &b, const Position &from, int64_t dim, Value distance) {
    Position where = from;
    where.indices[dim] = b.createOrFold<arith::AddIOp>(loc, where.indices[dim], distance);
    return where;
  };
  auto rowByRow = [&](OpBuilder &b) {
    Value left = b.createOrFold<arith::SubIOp>(loc, kernel.value(b, tiled.size),
                                               position.indices[tiled.dim]);
    Value count = b.createOrFold<arith::MinSIOp>(loc, left, constant(b, plan.lanes));
    auto loop = scf::ForOp::create(b, loc, constant(b, 0), count, constant(b, 1));
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    emitRow(kernel, inner, space, expression,
            advanced(inner, position, tiled.dim, loop.getInductionVar()));
  };
  auto wholeTile = [&](OpBuilder &b) {
    int64_t row = 0;
    Expression inTile = expression;
    for (const LinearRead &read : analysis.reads) {
      const SymExpr &stride = read.strides[vectorLoop.dim];
      if (isOne(stride) || stride == SymExpr(0))
        continue;
      // Read along the tiled loop when the first row asks for it.
      auto rows = std::make_shared<SmallVector<Value>>();
      inTile.bindSource(read.value, [&, rows](OpBuilder &b, Location, const Position &first) {
        if (rows->empty()) {
          for (int64_t lane = 0; lane < plan.lanes; ++lane) {
            Position where = advanced(b, first, read.dims[vectorLoop.dim], constant(b, lane));
            where.vectorDim = read.dims[tiled.dim];
            rows->push_back(kernel.expression.load(b, loc, read.access, where));
          }
          transposeTile(b, loc, *rows);
        }
        return (*rows)[row];
      });
    }
    for (; row < plan.lanes; ++row)
      emitRow(kernel, b, space, inTile, advanced(b, position, tiled.dim, constant(b, row)));
  };
  if (position.vectorDim < 0 || position.mask)
    return rowByRow(builder);
  if (isMultiple(tiled.size, plan.lanes))
    return wholeTile(builder);
  Value isWhole = builder.createOrFold<arith::CmpIOp>(
      loc, arith::CmpIPredicate::sle, position.indices[tiled.dim],
      kernel.value(builder, tiled.size - plan.lanes));
  auto ifOp = scf::IfOp::create(builder, loc, isWhole, /*withElseRegion=*/true);
  OpBuilder whole = OpBuilder::atBlockBegin(ifOp.thenBlock());
  wholeTile(whole);
  OpBuilder part = OpBuilder::atBlockBegin(ifOp.elseBlock());
  rowByRow(part);
}

/// Computes and stores the results at a position of the nest.
static void emitElements(LoopKernel &kernel, OpBuilder &builder, const Space &space,
                         const Expression &expression, const AccessAnalysis &analysis,
                         const NestPlan &plan, const Position &position) {
  if (plan.tiledLoop >= 0)
    return emitTile(kernel, builder, space, expression, analysis, plan, position);
  Location loc = kernel.loc;
  // Everything is read before anything is written: results may lie in place.
  auto emitAll = [&](const Position &where) {
    SmallVector<Value> values;
    for (Value value : space.values)
      values.push_back(Expression(expression).emit(builder, loc, value, where));
    return values;
  };
  auto storeAll = [&](ArrayRef<Value> values, const Position &where) {
    for (auto [value, access] : llvm::zip_equal(values, space.accesses))
      kernel.expression.store(builder, loc, value, access, where);
  };
  if (plan.interleavedLoop < 0)
    return storeAll(emitAll(position), position);

  const NestLoop &inner = plan.loops[plan.interleavedLoop];
  int64_t innerSize = *inner.size.asConstant();
  auto moved = [&](int64_t distance) {
    Position where = position;
    Value &index = where.indices[inner.dim];
    index = builder.createOrFold<arith::AddIOp>(
        loc, index, arith::ConstantIndexOp::create(builder, loc, distance));
    return where;
  };
  SmallVector<SmallVector<Value>> rows; // per step of the short loop
  for (int64_t step = 0; step < innerSize; ++step)
    rows.push_back(emitAll(moved(step)));
  if (position.vectorDim < 0 || position.mask) { // a tail
    for (int64_t step = 0; step < innerSize; ++step)
      storeAll(rows[step], moved(step));
    return;
  }
  for (int64_t k = 0; k < innerSize; ++k) {
    // Rows of the result run along the short loop, through the next elements of
    // the vector loop.
    Position where = moved(k * position.lanes);
    where.vectorDim = inner.dim;
    SmallVector<Value> values;
    for (unsigned i = 0; i < space.values.size(); ++i) {
      SmallVector<Value> ofValue;
      for (ArrayRef<Value> row : rows)
        ofValue.push_back(row[i]);
      values.push_back(interleave(builder, loc, ofValue, k));
    }
    storeAll(values, where);
  }
}

void loops::forEachBox(LoopKernel &kernel, llvm::function_ref<void(const BoxOfSpace &)> body) {
  for (const Space &space : makeSpaces(kernel)) {
    SmallVector<ConcatOp> concats = visibleConcats(space.values);
    SmallVector<Sizes> resultStrides;
    for (const Access &access : space.accesses)
      resultStrides.push_back(access.strides);
    for (const Box &box : makeBoxes(space, concats)) {
      Expression expression = kernel.expression;
      for (ConcatOp concat : concats)
        bindConcat(expression, concat, box);
      AccessAnalysis analysis = AccessAnalysis::of(expression, space.values);
      body({space, box, expression, analysis, resultStrides});
    }
  }
}

FailureOr<LaunchShape> loops::buildElementwise(LoopKernel &kernel) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  int64_t lanes = preferredLanes(kernel);
  SymExpr grid = 0;
  double nanoseconds = 0, typicalGrid = 0;
  forEachBox(kernel, [&](const BoxOfSpace &part) {
    double bytes = 0;
    for (const Access &access : part.space.accesses)
      bytes += dispatch::elementBytes(access.type.getElementType());
    for (const LinearRead &read : part.analysis.reads)
      bytes += dispatch::elementBytes(read.access.type.getElementType());
    NestPlan plan = NestPlan::make(part.box.sizes, part.analysis, part.resultStrides, lanes, bytes);
    if (plan.units == SymExpr(0))
      return;
    // Units of all nests are numbered through.
    auto local = [&](Value unit) -> Value {
      Value shifted = builder.createOrFold<arith::SubIOp>(loc, unit, kernel.value(grid));
      Value clamped = builder.createOrFold<arith::MaxSIOp>(loc, shifted, kernel.index(0));
      return builder.createOrFold<arith::MinSIOp>(loc, clamped, kernel.value(plan.units));
    };
    emitNest(kernel, plan, part.box.offsets, local(kernel.begin), local(kernel.end),
             [&](OpBuilder &b, const Position &position) {
               emitElements(kernel, b, part.space, part.expression, part.analysis, plan, position);
             });
    grid += plan.units;
    double units = typicalValue(plan.units);
    nanoseconds += plan.unitNanoseconds * units;
    typicalGrid += units;
  });
  return LaunchShape{grid, grainFor(nanoseconds / std::max(typicalGrid, 1.0), grid), 0};
}
