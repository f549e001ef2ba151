//===- Lanes.cpp - rows of positions as vector indices --------------------===//

#include "codegen/common/Lanes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace lumen;

//===----------------------------------------------------------------------===//
// Lane indices
//===----------------------------------------------------------------------===//

Value LaneEmitter::bend(const LaneIndex &a, int64_t lanes) {
  if (a.bent)
    return a.bent;
  VectorType type = indexVector(lanes);
  Value base = broadcast(make<arith::IndexCastOp>(type.getElementType(), a.base), lanes);
  if (a.step == SymExpr(0))
    return base;
  std::optional<int64_t> step = a.step.asConstant();
  SmallVector<Attribute> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.push_back(builder.getIntegerAttr(type.getElementType(), lane * step.value_or(1)));
  Value offsets = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, steps));
  if (!step)
    offsets = make<arith::MulIOp>(offsets, splat(type, a.step));
  return make<arith::AddIOp>(base, offsets);
}

LaneIndex LaneEmitter::add(const LaneIndex &a, const LaneIndex &b, int64_t lanes) {
  if (!a.bent && !b.bent)
    return {make<arith::AddIOp>(a.base, b.base), a.step + b.step, {}};
  return {{}, 0, make<arith::AddIOp>(bend(a, lanes), bend(b, lanes))};
}

LaneIndex LaneEmitter::scale(const LaneIndex &a, const SymExpr &factor) {
  if (!a.bent)
    return {make<arith::MulIOp>(a.base, index(factor)), a.step * factor, {}};
  return {{}, 0, make<arith::MulIOp>(a.bent, splat(cast<VectorType>(a.bent.getType()), factor))};
}

LaneIndex LaneEmitter::addConstant(const LaneIndex &a, const SymExpr &value) {
  if (value == SymExpr(0))
    return a;
  if (!a.bent)
    return {make<arith::AddIOp>(a.base, index(value)), a.step, {}};
  return {{}, 0, make<arith::AddIOp>(a.bent, splat(cast<VectorType>(a.bent.getType()), value))};
}

LaneIndex LaneEmitter::divide(const LaneIndex &a, const SymExpr &size, int64_t lanes,
                              bool remainder) {
  SymExpr divisor = size.asConstant() ? size : SymExpr::max(size, 1);
  if (a.isUniform())
    return {remainder ? make<arith::RemUIOp>(a.base, index(divisor))
                      : make<arith::DivUIOp>(a.base, index(divisor)),
            0,
            {}};
  Value value = bend(a, lanes), by = splat(cast<VectorType>(value.getType()), divisor);
  return {{}, 0, remainder ? make<arith::RemUIOp>(value, by) : make<arith::DivUIOp>(value, by)};
}

LaneIndex LaneEmitter::clamp(const LaneIndex &a, const SymExpr &low, const SymExpr &high,
                             int64_t lanes) {
  if (a.isUniform())
    return {make<arith::MinSIOp>(make<arith::MaxSIOp>(a.base, index(low)), index(high)), 0, {}};
  Value value = bend(a, lanes);
  auto type = cast<VectorType>(value.getType());
  return {{},
          0,
          make<arith::MinSIOp>(make<arith::MaxSIOp>(value, splat(type, low)), splat(type, high))};
}

Value LaneEmitter::inRange(const LaneIndex &a, const SymExpr &low, const SymExpr &high,
                           int64_t lanes) {
  // One unsigned comparison: what lies below `low` wraps to a large number.
  LaneIndex shifted = addConstant(a, SymExpr(0) - low);
  if (shifted.isUniform())
    return make<arith::CmpIOp>(arith::CmpIPredicate::ult, shifted.base, index(high - low));
  Value value = bend(shifted, lanes);
  return make<arith::CmpIOp>(arith::CmpIPredicate::ult, value,
                             splat(cast<VectorType>(value.getType()), high - low));
}

LaneIndex LaneEmitter::linearize(ArrayRef<LaneIndex> indices, ArrayRef<SymExpr> strides,
                                 int64_t lanes) {
  LaneIndex sum = constant(0);
  for (auto [index, stride] : llvm::zip_equal(indices, strides))
    sum = add(sum, scale(index, stride), lanes);
  return sum;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value LaneEmitter::loadRow(const Access &access, VectorType type, Value base, Value mask) {
  if (!mask)
    return vector::LoadOp::create(builder, loc, type, access.memref, ValueRange{base});
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return vector::MaskedLoadOp::create(builder, loc, type, access.memref, ValueRange{base}, mask,
                                      zero);
}

Value LaneEmitter::gather(const Access &access, VectorType type, LaneIndex offset, Value mask) {
  int64_t lanes = type.getDimSize(0);
  Value base = offset.bent ? index(0) : offset.base;
  if (!offset.bent)
    offset.base = index(0);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  if (!mask)
    mask = splat(VectorType::get({lanes}, builder.getI1Type()), 1);
  return vector::GatherOp::create(builder, loc, type, access.memref, ValueRange{base},
                                  bend(offset, lanes), mask, zero);
}

Value LaneEmitter::loadRowOrElement(const Access &access, VectorType type, const LaneIndex &offset,
                                    Value mask) {
  Value isRow = make<arith::CmpIOp>(arith::CmpIPredicate::eq, index(offset.step), index(1));
  auto branch = scf::IfOp::create(builder, loc, TypeRange{type}, isRow, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, loadRow(access, type, offset.base, mask));
  builder.setInsertionPointToStart(branch.elseBlock());
  // Without a lane that is on, there may be nothing to read.
  Value data = mask ? gather(access, type, offset, mask)
                    : broadcast(memref::LoadOp::create(builder, loc, access.memref, offset.base),
                                type.getDimSize(0));
  scf::YieldOp::create(builder, loc, data);
  return branch.getResult(0);
}

Value LaneEmitter::load(const Access &access, const LanePlace &place) {
  Type stored = storageType(access.type.getElementType());
  Type element = registerType(access.type.getElementType());
  LaneIndex offset = linearize(place.indices, access.strides, place.lanes);
  auto vectorType = VectorType::get({place.lanes}, stored);
  // A dimension that may have one element is read with a step of 0 or 1.
  bool isRowOrElement =
      !offset.bent && offset.step.isNonNegative() && (SymExpr(1) - offset.step).isNonNegative();
  Value data;
  if (offset.isUniform())
    data = memref::LoadOp::create(builder, loc, access.memref, offset.base);
  else if (offset.isRow())
    data = loadRow(access, vectorType, offset.base, place.mask);
  else if (isRowOrElement)
    data = loadRowOrElement(access, vectorType, offset, place.mask);
  else
    data = gather(access, vectorType, offset, place.mask);
  if (isa<FloatType>(element) && stored != element) {
    Type type = element;
    if (auto vector = dyn_cast<VectorType>(data.getType()))
      type = VectorType::get(vector.getShape(), element);
    data = make<arith::BitcastOp>(type, data);
  } else if (stored != element) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(data.getType()));
    data = make<arith::CmpIOp>(arith::CmpIPredicate::ne, data, zero);
  }
  return place.isVector && !isa<VectorType>(data.getType()) ? broadcast(data, place.lanes) : data;
}

void LaneEmitter::store(Value data, const Access &access, const LanePlace &place) {
  Type stored = storageType(access.type.getElementType());
  if (getElementTypeOrSelf(data.getType()) != stored) {
    Type type = stored;
    if (auto vector = dyn_cast<VectorType>(data.getType()))
      type = VectorType::get(vector.getShape(), stored);
    data = isa<FloatType>(getElementTypeOrSelf(data.getType())) ? make<arith::BitcastOp>(type, data)
                                                                : make<arith::ExtUIOp>(type, data);
  }
  LaneIndex offset = linearize(place.indices, access.strides, place.lanes);
  if (!place.isVector) {
    memref::StoreOp::create(builder, loc, data, access.memref, offset.base);
  } else if (offset.isRow() && place.mask) {
    vector::MaskedStoreOp::create(builder, loc, access.memref, ValueRange{offset.base}, place.mask,
                                  data);
  } else if (offset.isRow()) {
    vector::StoreOp::create(builder, loc, data, access.memref, ValueRange{offset.base});
  } else {
    Value base = offset.base;
    offset.base = index(0);
    auto maskType = VectorType::get({place.lanes}, builder.getI1Type());
    Value mask = place.mask ? place.mask : splat(maskType, 1);
    vector::ScatterOp::create(builder, loc, Type(), access.memref, ValueRange{base},
                              bend(offset, place.lanes), mask, data);
  }
}
