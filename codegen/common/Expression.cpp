//===- Expression.cpp - a kernel's values at a position -------------------===//
//
// Positions are carried down through the body as one lane index per dimension; see
// Lanes.h.
//
//===----------------------------------------------------------------------===//

#include "codegen/common/Expression.h"

#include "codegen/common/Lanes.h"

using namespace mlir;
using namespace lumen;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// How wide lane indices are
//===----------------------------------------------------------------------===//

/// Sizes that only the run knows may be large.
static bool isBeyond32Bits(const SymExpr &index) {
  std::optional<int64_t> constant = index.asConstant();
  return !constant || *constant > std::numeric_limits<int32_t>::max();
}

/// The period of indices that are reflected at the borders of [0, size).
static SymExpr reflectPeriod(const SymExpr &size) { return SymExpr::max((size - 1) * 2, 1); }

/// The multiple of `period` that makes indices from -low on positive.
static SymExpr cycleBias(const SymExpr &period, const SymExpr &low) {
  return SymExpr::ceilDiv(SymExpr::max(low, 0), period) * period;
}

/// The farthest element of a tensor, with the gaps of its strides.
static bool needsWideIndices(const Access &access) {
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(sizesOf(access.type), access.strides)) {
    if (isOne(size))
      continue;
    if (!size.asConstant() || !stride.asConstant())
      return true;
    last += std::max<int64_t>(*size.asConstant() - 1, 0) * std::abs(*stride.asConstant());
  }
  return isBeyond32Bits(last);
}

static bool needsWideIndices(Operation &op) {
  for (Value result : op.getResults())
    if (isBeyond32Bits(product(sizesOf(result))))
      return true;
  auto pad = dyn_cast<PadOp>(op);
  if (!pad || (pad.getKind() != PadKind::Reflect && pad.getKind() != PadKind::Wrap))
    return false;
  for (auto [size, low, high] :
       llvm::zip_equal(sizesOf(pad.getOperand()), pad.getLowSizes(), pad.getHighSizes())) {
    if (size == SymExpr(0))
      continue;
    SymExpr period = pad.getKind() == PadKind::Reflect ? reflectPeriod(size) : size;
    if (isBeyond32Bits(SymExpr::max(period, cycleBias(period, low) + size + high)))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Expression::load(OpBuilder &builder, Location loc, const Access &access,
                       const Position &position) const {
  return LaneEmitter(sizes, builder, loc, needsWideIndices(access))
      .load(access, LaneEmitter::makePlace(position));
}

void Expression::store(OpBuilder &builder, Location loc, Value data, const Access &access,
                       const Position &position) const {
  LaneEmitter(sizes, builder, loc, needsWideIndices(access))
      .store(data, access, LaneEmitter::makePlace(position));
}

//===----------------------------------------------------------------------===//
// Values of the body
//===----------------------------------------------------------------------===//

namespace lumen {

/// One call of Expression::emit.
class ExpressionEmitter : LaneEmitter {
public:
  ExpressionEmitter(const Expression &expression, OpBuilder &builder, Location loc)
      : LaneEmitter(expression.sizes, builder, loc,
                    llvm::any_of(expression.memory,
                                 [](const auto &entry) { return needsWideIndices(entry.second); })),
        expression(expression) {}

  Value emit(Value value, const Position &position) {
    if (Operation *op = value.getDefiningOp(); op && !wide)
      wide = llvm::any_of(op->getBlock()->without_terminator(),
                          [](Operation &op) { return needsWideIndices(op); });
    return emitAt(value, makePlace(position));
  }

private:
  Value emitAt(Value value, const LanePlace &place);
  Value emitNew(Value value, const LanePlace &place);
  Value emitSource(const Expression::Source &source, const LanePlace &place);
  Value emitConstant(ConstantOp op, const LanePlace &place);
  Value emitBroadcast(BroadcastOp op, const LanePlace &place);
  Value emitIota(IotaOp op, const LanePlace &place);
  Value emitSizes(SizesOp op, const LanePlace &place);
  Value emitTranspose(TransposeOp op, const LanePlace &place);
  Value emitReshape(ReshapeOp op, const LanePlace &place);
  Value emitSlice(SliceOp op, const LanePlace &place);
  Value emitBranch(Value condition, Type type, llvm::function_ref<Value()> onTrue,
                   llvm::function_ref<Value()> onFalse);
  Value emitConcat(ConcatOp op, const LanePlace &place);
  Value emitPad(PadOp op, const LanePlace &place);
  LaneIndex pick(Value indices, LanePlace where, const SymExpr &size);
  /// Reports indices, given as `picked` and `wrapped` where they are negative, that lie
  /// outside of a dimension, unless `mask` switches them off. Scalars of index type, or
  /// vectors of one integer type.
  void checkIndices(Value picked, Value wrapped, Value size, Value mask, bool isUnsigned);
  /// The operand at a place with picked indices in dimensions of the given sizes.
  Value emitPicked(Value operand, const LanePlace &place, ArrayRef<SymExpr> sizes);
  Value emitGather(GatherOp op, const LanePlace &place);
  Value emitPick(PickOp op, const LanePlace &place);
  LaneIndex cycle(const LaneIndex &a, const SymExpr &period, const SymExpr &low, int64_t lanes);
  LaneIndex reflect(const LaneIndex &a, const SymExpr &size, const SymExpr &low, int64_t lanes);

  const Expression &expression;
  /// Per value, the places where it was emitted and what came out.
  DenseMap<Value, SmallVector<std::pair<LanePlace, Value>, 2>> emitted;
};

} // namespace lumen

static LanePlace withIndices(const LanePlace &place, SmallVector<LaneIndex> indices) {
  LanePlace result = place;
  result.indices = std::move(indices);
  return result;
}

Value ExpressionEmitter::emitAt(Value value, const LanePlace &place) {
  // What no lane distinguishes is computed once, as a scalar.
  if (place.isVector && place.isUniform()) {
    LanePlace scalar = place;
    scalar.isVector = false;
    scalar.lanes = 1;
    scalar.mask = nullptr;
    return broadcast(emitAt(value, scalar), place.lanes);
  }
  auto &known = emitted[value];
  for (auto &[where, result] : known)
    if (where == place)
      return result;
  Value result = emitNew(value, place);
  emitted[value].push_back({place, result});
  return result;
}

Value ExpressionEmitter::emitNew(Value value, const LanePlace &place) {
  if (auto it = expression.sources.find(value); it != expression.sources.end())
    return emitSource(it->second, place);
  if (const Access *access = expression.findMemory(value))
    return load(*access, place);
  if (const Expression::Shift *shift = expression.findShifted(value)) {
    LanePlace shifted = place;
    LaneIndex &lane = shifted.indices[shift->dim];
    lane = addConstant(lane, shift->offset);
    return emitAt(shift->other, shifted);
  }
  Operation *op = value.getDefiningOp();
  assert(op && "an argument that is not bound");
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ConstantOp op) { return emitConstant(op, place); })
      .Case([&](BroadcastOp op) { return emitBroadcast(op, place); })
      .Case([&](IotaOp op) { return emitIota(op, place); })
      .Case([&](SizesOp op) { return emitSizes(op, place); })
      .Case([&](CastOp op) { return emitAt(op.getOperand(), place); })
      .Case([&](TransposeOp op) { return emitTranspose(op, place); })
      .Case([&](ReshapeOp op) { return emitReshape(op, place); })
      .Case([&](SliceOp op) { return emitSlice(op, place); })
      .Case([&](ConcatOp op) { return emitConcat(op, place); })
      .Case([&](PadOp op) { return emitPad(op, place); })
      .Case([&](GatherOp op) { return emitGather(op, place); })
      .Case([&](PickOp op) { return emitPick(op, place); })
      .Default([&](Operation *op) {
        SmallVector<Value> operands;
        for (Value operand : op->getOperands())
          operands.push_back(emitAt(operand, place));
        return emitScalarFunction(builder, loc, op, operands);
      });
}

Value ExpressionEmitter::emitSource(const Expression::Source &source, const LanePlace &place) {
  Position position;
  position.mask = place.mask;
  position.lanes = place.lanes;
  for (auto [i, index] : llvm::enumerate(place.indices)) {
    assert((index.isUniform() || (index.isRow() && position.vectorDim < 0)) &&
           "a value in registers is read along another row than it was made");
    position.indices.push_back(index.base);
    if (index.isRow())
      position.vectorDim = i;
  }
  return source(builder, loc, position);
}

Value ExpressionEmitter::emitConstant(ConstantOp op, const LanePlace &place) {
  auto type = tensorType(op.getResult());
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  assert(dense && "large constants are arguments of their kernel");
  Type element = registerType(type.getElementType());
  auto scalarOf = [&](Attribute attr, Type as) -> TypedAttr {
    if (auto number = dyn_cast<FloatAttr>(attr); number && isa<IntegerType>(as))
      return IntegerAttr::get(as, number.getValue().bitcastToAPInt());
    if (auto integer = dyn_cast<IntegerAttr>(attr)) // signed attributes become signless
      return IntegerAttr::get(as, integer.getValue().zextOrTrunc(as.getIntOrFloatBitWidth()));
    return cast<TypedAttr>(attr);
  };
  if (dense.isSplat()) {
    TypedAttr scalar = scalarOf(dense.getSplatValue<Attribute>(), element);
    if (place.isVector)
      return arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(VectorType::get({place.lanes}, element),
                                 ArrayRef<Attribute>(scalar)));
    return arith::ConstantOp::create(builder, loc, scalar);
  }
  // A table in read-only memory, shared by equal constants of the module.
  Type stored = storageType(type.getElementType());
  auto tableType = RankedTensorType::get({type.getNumElements()}, stored);
  SmallVector<Attribute> values;
  for (Attribute value : dense.getValues<Attribute>())
    values.push_back(scalarOf(value, stored));
  auto table = DenseElementsAttr::get(tableType, values);
  Operation *module = SymbolTable::getNearestSymbolTable(builder.getInsertionBlock()->getParentOp());
  Block &globals = module->getRegion(0).front();
  auto memrefType = MemRefType::get(tableType.getShape(), stored);
  memref::GlobalOp global;
  unsigned count = 0;
  for (auto other : globals.getOps<memref::GlobalOp>()) {
    if (other.getInitialValue() == table)
      global = other;
    ++count;
  }
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&globals);
    global = memref::GlobalOp::create(
        builder, loc, "constant." + std::to_string(count), builder.getStringAttr("private"),
        memrefType, table, /*constant=*/true, /*alignment=*/builder.getI64IntegerAttr(64));
  }
  Value data = memref::GetGlobalOp::create(builder, loc, memrefType, global.getSymName());
  Value flat =
      memref::CastOp::create(builder, loc, MemRefType::get({ShapedType::kDynamic}, stored), data);
  return load({flat, contiguousStrides(sizesOf(type)), type}, place);
}

Value ExpressionEmitter::emitBroadcast(BroadcastOp op, const LanePlace &place) {
  Sizes to = sizesOf(op.getResult());
  SmallVector<LaneIndex> indices;
  for (auto [i, dim] : llvm::enumerate(op.getDims())) {
    SymExpr factor = expression.broadcastFactor(op, i);
    if (isOne(factor) || isOne(to[dim]))
      indices.push_back(place.indices[dim]);
    else if (factor == SymExpr(0))
      indices.push_back(constant(0));
    else
      indices.push_back(scale(place.indices[dim], factor));
  }
  return emitAt(op.getOperand(), withIndices(place, std::move(indices)));
}

Value ExpressionEmitter::emitIota(IotaOp op, const LanePlace &place) {
  Type element = tensorType(op.getResult()).getElementType();
  LaneIndex lane = place.indices[op.getAxis()];
  Value value = place.isVector ? bend(lane, place.lanes)
                               : make<arith::IndexCastOp>(builder.getI64Type(), lane.base);
  // As wide as the index is: converting wraps or rounds as lumen.convert does.
  Type from = getElementTypeOrSelf(value.getType()), to = registerType(element);
  Type target = to;
  if (place.isVector)
    target = VectorType::get({place.lanes}, to);
  if (isa<FloatType>(to))
    return make<arith::SIToFPOp>(target, value);
  if (from == to)
    return value;
  return from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth()
             ? make<arith::TruncIOp>(target, value)
             : make<arith::ExtSIOp>(target, value);
}

Value ExpressionEmitter::emitSizes(SizesOp op, const LanePlace &place) {
  Type element = registerType(tensorType(op.getResult()).getElementType());
  auto elementAt = [&](const SymExpr &size) {
    Value value = make<arith::IndexCastOp>(element, index(size));
    return place.isVector ? broadcast(value, place.lanes) : value;
  };
  Sizes sizes = op.getExpressions();
  Value result = elementAt(sizes.front());
  for (size_t i = 1; i < sizes.size(); ++i) {
    Value isHere = inRange(place.indices[0], i, i + 1, place.lanes);
    result = make<arith::SelectOp>(isHere, elementAt(sizes[i]), result);
  }
  return result;
}

Value ExpressionEmitter::emitTranspose(TransposeOp op, const LanePlace &place) {
  SmallVector<LaneIndex> indices(place.indices.size());
  for (auto [i, dim] : llvm::enumerate(op.getPerm()))
    indices[dim] = place.indices[i];
  return emitAt(op.getOperand(), withIndices(place, std::move(indices)));
}

/// Whether `a` is a multiple of `b`, which then is no less than 1.
static bool isMultipleOf(const SymExpr &a, const SymExpr &b) {
  if (std::optional<int64_t> constant = b.asConstant())
    return isMultiple(a, *constant);
  SymExpr quotient = SymExpr::floorDiv(a, b);
  return quotient.isValid() && quotient * b == a;
}

Value ExpressionEmitter::emitReshape(ReshapeOp op, const LanePlace &place) {
  Sizes from = sizesOf(op.getOperand()), to = sizesOf(op.getResult());
  if (std::optional<Access> access = expression.reshapedMemory(op))
    return load(*access, place);
  SmallVector<LaneIndex> indices(from.size(), constant(0));
  for (const DimGroup &dims : indexGroups(from, to)) {
    SmallVector<LaneIndex> group;
    Sizes groupSizes;
    for (int64_t dim : dims.to) {
      group.push_back(place.indices[dim]);
      groupSizes.push_back(to[dim]);
    }
    LaneIndex linear = linearize(group, contiguousStrides(groupSizes), place.lanes);
    // Lanes that stay within one run of the innermost result dimension cannot
    // leave an operand dimension that is a multiple of it: the row stays straight.
    bool straight = !linear.bent && linear.step.asConstant().value_or(0) != 0 &&
                    llvm::all_of(ArrayRef(group).drop_back(),
                                 [](const LaneIndex &index) { return index.isUniform(); }) &&
                    isMultipleOf(from[dims.from.back()], groupSizes.back());
    for (size_t i = dims.from.size(); i-- > 0;) {
      int64_t dim = dims.from[i];
      if (i == 0) {
        indices[dim] = linear;
        break;
      }
      const SymExpr &size = from[dim];
      if (straight) {
        LaneIndex base{linear.base, 0, {}};
        indices[dim] = divide(base, size, place.lanes, /*remainder=*/true);
        indices[dim].step = linear.step;
        linear = divide(base, size, place.lanes, /*remainder=*/false);
        straight = false;
        continue;
      }
      indices[dim] = divide(linear, size, place.lanes, /*remainder=*/true);
      linear = divide(linear, size, place.lanes, /*remainder=*/false);
    }
  }
  return emitAt(op.getOperand(), withIndices(place, std::move(indices)));
}

Value ExpressionEmitter::emitSlice(SliceOp op, const LanePlace &place) {
  SmallVector<LaneIndex> indices;
  for (auto [lane, offset, stride] :
       llvm::zip_equal(place.indices, op.getOffsetSizes(), op.getStrides()))
    indices.push_back(addConstant(scale(lane, stride), offset));
  return emitAt(op.getOperand(), withIndices(place, std::move(indices)));
}

Value ExpressionEmitter::emitBranch(Value condition, Type type, llvm::function_ref<Value()> onTrue,
                                    llvm::function_ref<Value()> onFalse) {
  // What is emitted inside a branch must not be shared with the outside.
  auto saved = emitted;
  OpBuilder::InsertionGuard guard(builder);
  auto branchOp = scf::IfOp::create(builder, loc, TypeRange{type}, condition, /*withElse=*/true);
  builder.setInsertionPointToStart(branchOp.thenBlock());
  scf::YieldOp::create(builder, loc, onTrue());
  emitted = saved;
  builder.setInsertionPointToStart(branchOp.elseBlock());
  scf::YieldOp::create(builder, loc, onFalse());
  emitted = std::move(saved);
  return branchOp.getResult(0);
}

Value ExpressionEmitter::emitConcat(ConcatOp op, const LanePlace &place) {
  int64_t axis = op.getAxis();
  SmallVector<std::pair<Value, SymExpr>> parts; // with their offsets
  SymExpr offset = 0;
  for (Value input : op.getInputs()) {
    SymExpr size = sizeOf(input, axis);
    if (size != SymExpr(0))
      parts.push_back({input, offset});
    offset += size;
  }
  auto partAt = [&](unsigned i, const LanePlace &where) {
    LanePlace inner = where;
    inner.indices[axis] = addConstant(where.indices[axis], SymExpr(0) - parts[i].second);
    return emitAt(parts[i].first, inner);
  };
  const LaneIndex &lane = place.indices[axis];
  if (lane.isUniform()) {
    // Only the part that holds the row is computed.
    Type type = registerType(tensorType(op.getResult()).getElementType());
    if (place.isVector)
      type = VectorType::get({place.lanes}, type);
    std::function<Value(unsigned)> branch = [&](unsigned i) -> Value {
      if (i + 1 == parts.size())
        return partAt(i, place);
      Value before =
          make<arith::CmpIOp>(arith::CmpIPredicate::slt, lane.base, index(parts[i + 1].second));
      return emitBranch(
          before, type, [&] { return partAt(i, place); }, [&] { return branch(i + 1); });
    };
    return branch(0);
  }
  Value result;
  for (unsigned i = 0; i < parts.size(); ++i) {
    SymExpr size = sizeOf(parts[i].first, axis);
    Value inside = inRange(lane, parts[i].second, parts[i].second + size, place.lanes);
    LanePlace masked = place;
    masked.mask = place.mask ? make<arith::AndIOp>(place.mask, inside) : inside;
    Value part = partAt(i, masked);
    result = result ? make<arith::SelectOp>(inside, part, result) : part;
  }
  return result;
}

/// The remainder of an index that is not less than -low.
LaneIndex ExpressionEmitter::cycle(const LaneIndex &a, const SymExpr &period, const SymExpr &low,
                                   int64_t lanes) {
  return divide(addConstant(a, cycleBias(period, low)), period, lanes, /*remainder=*/true);
}

/// Folds an index, not less than -low, back into [0, size) at both borders, as often
/// as needed.
LaneIndex ExpressionEmitter::reflect(const LaneIndex &a, const SymExpr &size, const SymExpr &low,
                                     int64_t lanes) {
  if (isOne(size))
    return constant(0);
  SymExpr period = reflectPeriod(size);
  LaneIndex phase = cycle(a, period, low, lanes);
  LaneIndex mirrored = addConstant(scale(phase, -1), period);
  if (phase.isUniform())
    return {make<arith::MinSIOp>(phase.base, mirrored.base), 0, {}};
  return {{}, 0, make<arith::MinSIOp>(bend(phase, lanes), bend(mirrored, lanes))};
}

Value ExpressionEmitter::emitPad(PadOp op, const LanePlace &place) {
  Sizes from = sizesOf(op.getOperand()), lows = op.getLowSizes(), highs = op.getHighSizes();
  int64_t lanes = place.lanes;
  LanePlace inner = place;
  SmallVector<Value> conditions;
  bool mayBeEmpty = false;
  for (auto [dim, size, low, high] : llvm::enumerate(from, lows, highs)) {
    LaneIndex &lane = inner.indices[dim];
    lane = addConstant(lane, SymExpr(0) - low);
    if ((SymExpr(0) - low).isNonNegative() && (SymExpr(0) - high).isNonNegative())
      continue;
    switch (op.getKind()) {
    case PadKind::Edge:
      lane = clamp(lane, 0, size - 1, lanes);
      continue;
    case PadKind::Reflect:
      lane = reflect(lane, size, low, lanes);
      continue;
    case PadKind::Wrap:
      lane = cycle(lane, size, low, lanes);
      continue;
    case PadKind::Constant:
      break;
    }
    if (size == SymExpr(0))
      return emitAt(op.getValue(), withIndices(place, {}));
    mayBeEmpty |= size.lowerBound().value_or(0) < 1;
    conditions.push_back(inRange(lane, 0, size, lanes));
    // A row keeps its place and is masked; everything else reads a valid element.
    if (lane.isUniform() || lane.bent)
      lane = clamp(lane, 0, size - 1, lanes);
  }
  if (conditions.empty())
    return emitAt(op.getOperand(), inner);
  auto both = [&](Value a, Value b) {
    if (place.isVector) {
      a = isa<VectorType>(a.getType()) ? a : broadcast(a, lanes);
      b = isa<VectorType>(b.getType()) ? b : broadcast(b, lanes);
    }
    return make<arith::AndIOp>(a, b);
  };
  Value inside;
  for (Value condition : conditions)
    inside = inside ? both(inside, condition) : condition;
  bool isMasked = place.isVector && isa<VectorType>(inside.getType());
  if (isMasked)
    inner.mask = place.mask ? make<arith::AndIOp>(place.mask, inside) : inside;
  auto padding = [&] { return emitAt(op.getValue(), withIndices(place, {})); };
  // A tensor without elements has no valid one to read instead.
  if (mayBeEmpty && !isMasked) {
    Type type = registerType(tensorType(op.getResult()).getElementType());
    if (place.isVector)
      type = VectorType::get({lanes}, type);
    return emitBranch(
        inside, type, [&] { return emitAt(op.getOperand(), inner); }, padding);
  }
  Value value = emitAt(op.getOperand(), inner);
  return make<arith::SelectOp>(inside, value, padding());
}

void ExpressionEmitter::checkIndices(Value picked, Value wrapped, Value size, Value mask,
                                     bool isUnsigned) {
  if (!expression.badIndex)
    return;
  Value isBad = make<arith::CmpIOp>(arith::CmpIPredicate::uge, wrapped, size);
  auto type = dyn_cast<VectorType>(isBad.getType());
  if (type && mask)
    isBad = make<arith::AndIOp>(isBad, mask);
  Value any = type ? make<vector::ReductionOp>(vector::CombiningKind::OR, isBad) : isBad;
  auto ifOp = scf::IfOp::create(builder, loc, any, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  Value index = picked;
  if (type) {
    // The first lane that is bad.
    int64_t lanes = type.getDimSize(0);
    auto laneType = VectorType::get({lanes}, builder.getI32Type());
    SmallVector<int32_t> numbers(lanes);
    std::iota(numbers.begin(), numbers.end(), 0);
    Value lane = arith::ConstantOp::create(builder, loc,
                                           DenseElementsAttr::get(laneType, ArrayRef(numbers)));
    lane = make<arith::SelectOp>(isBad, lane, splat(laneType, lanes - 1));
    lane = make<vector::ReductionOp>(vector::CombiningKind::MINUI, lane);
    lane = make<arith::IndexCastOp>(builder.getIndexType(), lane);
    index = vector::ExtractOp::create(builder, loc, picked, lane);
    size = vector::ExtractOp::create(builder, loc, size, ArrayRef<int64_t>{0});
  }
  auto widened = [&](Value value) -> Value {
    Type wide = builder.getI64Type();
    if (isa<IndexType>(value.getType()) || value.getType() == wide)
      return value;
    return isUnsigned ? make<arith::ExtUIOp>(wide, value) : make<arith::ExtSIOp>(wide, value);
  };
  expression.badIndex(builder, loc, widened(index), widened(size));
}

/// The place that the elements of `indices` at `where` name in a dimension of `size`.
LaneIndex ExpressionEmitter::pick(Value indices, LanePlace where, const SymExpr &size) {
  bool isUnsigned = tensorType(indices).getElementType().isUnsignedInteger();
  bool uniform = where.isUniform();
  int64_t lanes = where.lanes;
  if (uniform) {
    where.isVector = false;
    where.lanes = 1;
    where.mask = nullptr;
  }
  Value picked = emitAt(indices, where);
  LaneIndex lane;
  if (uniform) {
    // Clamped before it becomes an index, which may have fewer bits.
    bool isLong = picked.getType().isInteger(64);
    Type indexType = builder.getIndexType(), type = isLong ? picked.getType() : indexType;
    if (!isLong && isUnsigned)
      picked = make<arith::IndexCastUIOp>(type, picked);
    else if (!isLong)
      picked = make<arith::IndexCastOp>(type, picked);
    auto number = [&](const SymExpr &expr) -> Value {
      Value value = index(expr);
      return isLong ? make<arith::IndexCastOp>(type, value) : value;
    };
    Value zero = number(0), extent = number(size);
    Value negative = make<arith::CmpIOp>(arith::CmpIPredicate::slt, picked, zero);
    Value wrapped = make<arith::AddIOp>(picked, extent);
    wrapped = make<arith::SelectOp>(negative, wrapped, picked);
    checkIndices(picked, wrapped, extent, nullptr, isUnsigned);
    lane.base = make<arith::MinSIOp>(make<arith::MaxSIOp>(wrapped, zero), number(size - 1));
    if (isLong)
      lane.base = make<arith::IndexCastOp>(indexType, lane.base);
    return lane;
  }
  auto type = cast<VectorType>(picked.getType());
  VectorType target = indexVector(lanes);
  unsigned from = type.getElementTypeBitWidth(), to = target.getElementTypeBitWidth();
  // Extended first: the dimension may be longer than what its indices count.
  if (from < to) {
    picked = isUnsigned ? make<arith::ExtUIOp>(target, picked)
                        : make<arith::ExtSIOp>(target, picked);
    type = target;
  }
  Value negative = make<arith::CmpIOp>(arith::CmpIPredicate::slt, picked, splat(type, 0));
  Value wrapped = make<arith::AddIOp>(picked, splat(type, size));
  wrapped = make<arith::SelectOp>(negative, wrapped, picked);
  checkIndices(picked, wrapped, splat(type, size), where.mask, isUnsigned);
  // Clamped before it is narrowed, so that large indices do not wrap around.
  lane = clamp({{}, 0, wrapped}, 0, size - 1, lanes);
  if (from > to)
    lane.bent = make<arith::TruncIOp>(target, lane.bent);
  return lane;
}

Value ExpressionEmitter::emitPicked(Value operand, const LanePlace &place,
                                    ArrayRef<SymExpr> sizes) {
  Value isEmpty;
  for (const SymExpr &size : sizes) {
    if (size.lowerBound().value_or(0) >= 1)
      continue;
    Value isZero = make<arith::CmpIOp>(arith::CmpIPredicate::eq, index(size), index(0));
    isEmpty = isEmpty ? make<arith::OrIOp>(isEmpty, isZero) : isZero;
  }
  if (!isEmpty)
    return emitAt(operand, place);
  // A dimension without elements has none to clamp to.
  Type type = registerType(tensorType(operand).getElementType());
  if (place.isVector)
    type = VectorType::get({place.lanes}, type);
  return emitBranch(
      isEmpty, type,
      [&]() -> Value {
        return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
      },
      [&] { return emitAt(operand, place); });
}

Value ExpressionEmitter::emitGather(GatherOp op, const LanePlace &place) {
  int64_t axis = op.getAxis(), indicesRank = tensorType(op.getIndices()).getRank();
  SymExpr size = sizeOf(op.getOperand(), axis);
  auto begin = place.indices.begin();
  LanePlace where =
      withIndices(place, SmallVector<LaneIndex>(begin + axis, begin + axis + indicesRank));
  SmallVector<LaneIndex> indices(begin, begin + axis);
  indices.push_back(pick(op.getIndices(), where, size));
  indices.append(begin + axis + indicesRank, place.indices.end());
  return emitPicked(op.getOperand(), withIndices(place, std::move(indices)), size);
}

Value ExpressionEmitter::emitPick(PickOp op, const LanePlace &place) {
  SmallVector<LaneIndex> indices;
  Sizes sizes; // of picked dimensions
  for (auto [i, dim] : llvm::enumerate(op.getDims())) {
    if (dim >= 0) {
      indices.push_back(place.indices[dim]);
      continue;
    }
    Value tensor = op.getIndices()[sizes.size()];
    auto begin = place.indices.begin();
    LanePlace where =
        withIndices(place, SmallVector<LaneIndex>(begin, begin + tensorType(tensor).getRank()));
    sizes.push_back(sizeOf(op.getOperand(), i));
    indices.push_back(pick(tensor, where, sizes.back()));
  }
  return emitPicked(op.getOperand(), withIndices(place, std::move(indices)), sizes);
}

//===----------------------------------------------------------------------===//
// Expression
//===----------------------------------------------------------------------===//

void Expression::bindMemory(Value value, Access access) {
  memory.insert_or_assign(value, std::move(access));
}

const Access *Expression::findMemory(Value value) const {
  auto it = memory.find(value);
  return it == memory.end() ? nullptr : &it->second;
}

const Expression::Shift *Expression::findShifted(Value value) const {
  auto it = shifts.find(value);
  return it == shifts.end() ? nullptr : &it->second;
}

std::optional<Access> Expression::reshapedMemory(ReshapeOp op) const {
  const Access *access = isSource(op.getOperand()) ? nullptr : findMemory(op.getOperand());
  auto from = tensorType(op.getOperand()), to = tensorType(op.getResult());
  if (!access || access->strides != contiguousStrides(sizesOf(from)))
    return std::nullopt;
  return Access{access->memref, contiguousStrides(sizesOf(to)), to};
}

SmallVector<DimGroup> lumen::indexGroups(ArrayRef<SymExpr> from, ArrayRef<SymExpr> to) {
  if (llvm::is_contained(from, SymExpr(0)))
    return {}; // no element, no place
  if (std::optional<SmallVector<DimGroup>> groups = reshapeGroups(from, to))
    return std::move(*groups);
  DimGroup all;
  for (auto [i, size] : llvm::enumerate(from))
    if (!isOne(size))
      all.from.push_back(i);
  for (auto [i, size] : llvm::enumerate(to))
    if (!isOne(size))
      all.to.push_back(i);
  // Where one side has only dimensions of 1, all of the other are 1 as the run knows.
  if (all.from.empty() || all.to.empty())
    return {};
  return {all};
}

SymExpr Expression::broadcastFactor(BroadcastOp op, unsigned i) const {
  SymExpr from = sizeOf(op.getOperand(), i), to = sizeOf(op.getResult(), op.getDims()[i]);
  if (isOne(from))
    return 0;
  // Any constant but 1 is the size of the result; where there is nothing to read, no
  // factor is used.
  if (from.asConstant() || from == to || from.lowerBound().value_or(0) > 1)
    return 1;
  return SymExpr::min(SymExpr::max(from - 1, 0), 1);
}

void Expression::bindSource(Value value, Source source) {
  sources.insert_or_assign(value, std::move(source));
}

void Expression::bindShifted(Value value, Value other, int64_t dim, const SymExpr &offset) {
  shifts.insert_or_assign(value, Shift{other, dim, offset});
}

Value Expression::emit(OpBuilder &builder, Location loc, Value value, const Position &position) {
  return ExpressionEmitter(*this, builder, loc).emit(value, position);
}
