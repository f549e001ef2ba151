//===- Expression.h - a kernel's values at a position ------------*- C++ -*-===//
//
// Elementwise and data-movement operations are never loops of their own: a
// builder asks for a value of the kernel's body at a position of its index
// space, and the expression pulls what it needs through the body, down to loads
// of the kernel's arguments. The same code serves epilogues, prologues and
// whole elementwise kernels, at scalar or vector type, on every target.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_COMMON_EXPRESSION_H
#define LUMEN_CODEGEN_COMMON_EXPRESSION_H

#include "codegen/common/SizeValues.h"
#include "dialects/Dispatch/Dispatch.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace lumen {

/// A tensor in memory: a flat memref and strides in elements. Booleans and
/// sub-byte types are stored as bytes; `ui8` is stored as `i8` and so on.
struct Access {
  mlir::Value memref;          ///< memref<?xT>, T signless
  Sizes strides;               ///< one per dimension
  mlir::RankedTensorType type; ///< the logical type
};

/// A point, or a row of `lanes` points along dimension `vectorDim`.
struct Position {
  llvm::SmallVector<mlir::Value> indices; ///< index type; of the first lane
  int vectorDim = -1;                     ///< -1: one point, scalar values
  int64_t lanes = 1;
  /// Null, or vector<lanes x i1>: inactive lanes are neither read nor written.
  mlir::Value mask;
};

class Expression {
public:
  Expression() = default;
  /// `sizes`: of the function under construction; null where all are constants.
  explicit Expression(SizeValues *sizes) : sizes(sizes) {}

  struct Shift {
    mlir::Value other;
    int64_t dim;
    SymExpr offset;
  };
  using Source = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, const Position &)>;

  /// What to do, where the builder stands, with an index that lies outside of a dimension;
  /// both of index type or i64.
  using BadIndex =
      std::function<void(mlir::OpBuilder &, mlir::Location, mlir::Value index, mlir::Value size)>;

  /// Makes gathers check their indices. Without it they are only clamped.
  void onBadIndex(BadIndex handler) { badIndex = std::move(handler); }
  /// Says that an index lies outside of a dimension; both of index type or i64.
  void reportBadIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value index,
                      mlir::Value size) const {
    if (badIndex)
      badIndex(builder, loc, index, size);
  }

  /// Makes `value` (an argument, or a root's result) come from memory.
  void bindMemory(mlir::Value value, Access access);

  /// Makes `value` come from a callback, e.g. the registers of a tile.
  void bindSource(mlir::Value value, Source source);

  /// Makes `value` equal to `other`, of the same rank, at an index that differs
  /// by `offset` along `dim`.
  void bindShifted(mlir::Value value, mlir::Value other, int64_t dim, const SymExpr &offset);

  /// The value at `position`: a scalar, or vector<lanes x T>. Booleans are i1,
  /// unsigned integers signless. Values already emitted at the same position in
  /// the same call are shared.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   const Position &position);

  /// Writes `data`, shaped like what `emit` returns, to memory.
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value data, const Access &access,
             const Position &position) const;

  /// Reads from memory, by the fastest form the strides allow (vector load,
  /// masked load, broadcast of a scalar, gather).
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, const Access &access,
                   const Position &position) const;

  /// Where `value` lies in memory, or null.
  const Access *findMemory(mlir::Value value) const;
  bool isSource(mlir::Value value) const { return sources.contains(value); }
  /// What `value` was bound to by bindShifted, or null.
  const Shift *findShifted(mlir::Value value) const;
  /// What an index of a result dimension is multiplied with to be the index of
  /// operand dimension `i`: 1, or 0 where the operand is repeated. Where only the run
  /// knows, an expression that is 0 or 1.
  SymExpr broadcastFactor(BroadcastOp op, unsigned i) const;
  /// A reshape of contiguous memory is memory again.
  std::optional<Access> reshapedMemory(ReshapeOp op) const;

private:
  friend class ExpressionEmitter;
  SizeValues *sizes = nullptr;
  BadIndex badIndex;
  llvm::DenseMap<mlir::Value, Access> memory;
  llvm::DenseMap<mlir::Value, Source> sources;
  llvm::DenseMap<mlir::Value, Shift> shifts;
};

/// The groups of dimensions in which the indices of a reshape's operand follow from
/// those of its result; one of all dimensions where sizes cannot be compared.
llvm::SmallVector<DimGroup> indexGroups(llvm::ArrayRef<SymExpr> from, llvm::ArrayRef<SymExpr> to);

/// The scalar function of an elementwise operation, at scalar or vector type.
/// Unsigned and boolean semantics come from the op's tensor types.
mlir::Value emitScalarFunction(mlir::OpBuilder &builder, mlir::Location loc, mlir::Operation *op,
                               mlir::ValueRange operands);

/// `value`, an f16 or bf16 scalar or vector, as f32.
mlir::Value emitExtend(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

/// `value`, a float scalar or vector, rounded to the float type `element`, which
/// is narrower.
mlir::Value emitRound(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      mlir::Type element);

/// The signless element type in registers (`i1` for booleans) and in memory
/// (`i8` for booleans, `i16` for bf16).
mlir::Type registerType(mlir::Type elementType);
mlir::Type storageType(mlir::Type elementType);

} // namespace lumen

#endif // LUMEN_CODEGEN_COMMON_EXPRESSION_H
