//===- Lanes.h - rows of positions as vector indices -------------*- C++ -*-===//
//
// A row of positions is one lane index per dimension: affine (base + lane * step) as
// long as possible, since a row of step 1 is a vector load; a vector of indices where
// an operation bends the row.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_COMMON_LANES_H
#define LUMEN_CODEGEN_COMMON_LANES_H

#include "codegen/common/Expression.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace lumen {

/// The index of every lane along one dimension.
struct LaneIndex {
  mlir::Value base; ///< index: of lane 0
  SymExpr step = 0; ///< from lane to lane
  mlir::Value bent; ///< vector<lanes x i32 or i64>: instead of base and step

  bool isUniform() const { return !bent && step == SymExpr(0); }
  /// Lanes side by side.
  bool isRow() const { return !bent && isOne(step); }
};

/// A position as one lane index per dimension.
struct LanePlace {
  llvm::SmallVector<LaneIndex> indices;
  int64_t lanes = 1;
  bool isVector = false;
  mlir::Value mask;

  bool isUniform() const {
    return llvm::all_of(indices, [](const LaneIndex &index) { return index.isUniform(); });
  }
  bool operator==(const LanePlace &other) const {
    return isVector == other.isVector && lanes == other.lanes && mask == other.mask &&
           llvm::equal(indices, other.indices, [](const LaneIndex &a, const LaneIndex &b) {
             return a.base == b.base && a.step == b.step && a.bent == b.bent;
           });
  }
};

/// Arithmetic on lane indices, and memory accesses by them.
class LaneEmitter {
public:
  /// `wide`: lane indices need 64 bits.
  LaneEmitter(SizeValues *sizes, mlir::OpBuilder &builder, mlir::Location loc, bool wide)
      : builder(builder), loc(loc), wide(wide), sizes(sizes) {}

  static LanePlace makePlace(const Position &position) {
    LanePlace place;
    for (auto [i, index] : llvm::enumerate(position.indices))
      place.indices.push_back(
          {index, SymExpr(static_cast<int>(i) == position.vectorDim ? 1 : 0), {}});
    place.isVector = position.vectorDim >= 0;
    place.lanes = place.isVector ? position.lanes : 1;
    place.mask = position.mask;
    return place;
  }

  mlir::Value load(const Access &access, const LanePlace &place);
  void store(mlir::Value data, const Access &access, const LanePlace &place);

protected:
  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return builder.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }
  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  }
  mlir::Value index(const SymExpr &value) {
    if (std::optional<int64_t> constant = value.asConstant())
      return index(*constant);
    assert(sizes && "a size that is no constant, in an expression of constants");
    return sizes->get(builder, loc, value);
  }
  mlir::Value broadcast(mlir::Value scalar, int64_t lanes) {
    return make<mlir::vector::BroadcastOp>(mlir::VectorType::get({lanes}, scalar.getType()),
                                           scalar);
  }
  mlir::Value splat(mlir::VectorType type, int64_t value) {
    return mlir::arith::ConstantOp::create(
        builder, loc,
        mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>(builder.getIntegerAttr(
                                               type.getElementType(), value))));
  }
  mlir::Value splat(mlir::VectorType type, const SymExpr &value) {
    if (std::optional<int64_t> constant = value.asConstant())
      return splat(type, *constant);
    return broadcast(make<mlir::arith::IndexCastOp>(type.getElementType(), index(value)),
                     type.getDimSize(0));
  }
  mlir::VectorType indexVector(int64_t lanes) {
    return mlir::VectorType::get({lanes}, wide ? builder.getI64Type() : builder.getI32Type());
  }

  LaneIndex constant(int64_t value) { return {index(value), 0, {}}; }
  LaneIndex add(const LaneIndex &a, const LaneIndex &b, int64_t lanes);
  LaneIndex scale(const LaneIndex &a, const SymExpr &factor);
  LaneIndex addConstant(const LaneIndex &a, const SymExpr &value);
  /// All lanes' indices as a vector.
  mlir::Value bend(const LaneIndex &a, int64_t lanes);
  /// By a size that is 0 nothing is divided, but lanes that are masked off may seem to.
  LaneIndex divide(const LaneIndex &a, const SymExpr &divisor, int64_t lanes, bool remainder);
  LaneIndex clamp(const LaneIndex &a, const SymExpr &low, const SymExpr &high, int64_t lanes);
  /// i1, or vector of it where the lanes differ: low <= a < high.
  mlir::Value inRange(const LaneIndex &a, const SymExpr &low, const SymExpr &high, int64_t lanes);
  LaneIndex linearize(llvm::ArrayRef<LaneIndex> indices, llvm::ArrayRef<SymExpr> strides,
                      int64_t lanes);

private:
  /// Elements side by side from `base`.
  mlir::Value loadRow(const Access &access, mlir::VectorType type, mlir::Value base,
                      mlir::Value mask);
  mlir::Value gather(const Access &access, mlir::VectorType type, LaneIndex offset,
                     mlir::Value mask);
  /// Of a step that is 1 or 0, as the run will know.
  mlir::Value loadRowOrElement(const Access &access, mlir::VectorType type, const LaneIndex &offset,
                               mlir::Value mask);

protected:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  bool wide;
  SizeValues *sizes;
};

} // namespace lumen

#endif // LUMEN_CODEGEN_COMMON_LANES_H
