//===- Epilogue.h - what becomes of a finished tile --------------*- C++ -*-===//
//
// The elementwise tail of a contraction or convolution, applied to a tile of its
// result while that lies in registers or at least in the nearest cache.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_CPU_EPILOGUE_H
#define LUMEN_CODEGEN_CPU_EPILOGUE_H

#include "codegen/cpu/CpuKernel.h"

#include <optional>

namespace lumen::cpu {

/// Pointer and element arithmetic on i64, in which addresses are computed.
class Address {
public:
  Address(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}
  mlir::Value constant(int64_t value);
  mlir::Value size(CpuKernel &kernel, const SymExpr &size);
  mlir::Value fromIndex(mlir::Value index);
  mlir::Value toIndex(mlir::Value number);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, int64_t rhs) { return mul(lhs, constant(rhs)); }
  /// The address `offset` elements behind `pointer`.
  mlir::Value offset(mlir::Value pointer, mlir::Type type, mlir::Value offset);
  mlir::Value offset(mlir::Value pointer, mlir::Type type, int64_t offset);
  /// The first element of a memref.
  mlir::Value ofMemref(mlir::Value memref);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// Rows of the result by vectors of its columns, all held in registers.
struct Tile {
  int64_t rows;
  int64_t vectors;
  int64_t lanes;
  int64_t columns() const { return vectors * lanes; }
};

/// Pointers to what a tile's epilogue reads and writes, and the elements (i64)
/// from row to row.
struct TileOperands {
  llvm::SmallVector<mlir::Value> inputs, inputRows, outputs, outputRows;

  /// All values, in a fixed order, to be passed to a function; and back.
  void forEach(llvm::function_ref<void(mlir::Value &)> body);
};

/// What becomes of a finished tile: the kernel's elementwise tail.
///
/// A light tail whose operands lie at constant strides from the tile is emitted
/// into the micro-kernel and works on registers; its structure is part of the
/// micro-kernel's name, its operands are arguments. Any other tail is a loop of
/// the kernel over the raw tile in scratch memory.
class Epilogue {
public:
  /// An input of a light tail, or one of its results.
  struct Operand {
    mlir::Value value;
    mlir::Value memref;
    Sizes strides; ///< per dimension of the root's result
    mlir::Type element() const; ///< as it lies in memory
    bool columnwise() const { return strides.back() == SymExpr(1); }
    /// Whether rows of the result have elements of their own.
    bool rowwise() const;
  };

  /// Rows of a tile run along dimensions [rowDim, rank - 1) of the root's result.
  static mlir::FailureOr<Epilogue> analyze(CpuKernel &kernel);

  /// Whether every operand advances evenly along dimensions [rowDim, rank - 1),
  /// so that they may be one dimension of rows.
  bool collapses(int64_t rowDim) const;

  /// The addresses of the operands at the row with the indices `outer` in the
  /// dimensions before `rowDim` and `row` in the others taken as one, and at
  /// `column`; with the distance from row to row.
  TileOperands locate(CpuKernel &kernel, llvm::ArrayRef<mlir::Value> outer, mlir::Value row,
                      mlir::Value column, int64_t rowDim) const;

  /// The types of elements at the pointers of `locate`.
  mlir::Type inputType(size_t i) const { return inputs[i].element(); }
  mlir::Type outputType(size_t i) const { return outputs[i].element(); }

  bool inRegisters = false;
  Sizes sizes; ///< of the root's result
  llvm::SmallVector<Operand> inputs, outputs;
  std::string key; ///< the structure of a light tail, "raw" for none
};

/// Finishes a tile in registers, numbered row by row: applies `epilogue` and
/// stores its results, or with `epilogue` null stores the tile as it is to the
/// first output. `mask` selects lanes of the last vector, null: all.
void emitRegisterEpilogue(CpuKernel &kernel, const Epilogue *epilogue, mlir::OpBuilder &builder,
                          mlir::Type type, const Tile &tile, llvm::ArrayRef<mlir::Value> tileValues,
                          const TileOperands &operands, mlir::Value mask);

/// Rows of the root's result in scratch memory.
struct RawTile {
  mlir::Value memref;
  mlir::Value rows;
  int64_t rowStride; ///< elements
  int64_t lanes;
  mlir::Value begin, end;  ///< columns, counted within `size`
  /// Columns at most; `end - begin` is whole vectors otherwise. 0: one vector, of
  /// which the run knows how much counts.
  int64_t size;
  mlir::Value firstColumn; ///< column of the root's result where `begin` counts from
};

/// Finishes a tile in scratch memory by loops that pull the kernel's results
/// through its expression.
void emitLoopEpilogue(CpuKernel &kernel, const RawTile &tile, llvm::ArrayRef<mlir::Value> outer,
                      mlir::Value row, int64_t rowDim);

/// Index arithmetic, folded where constant.
mlir::Value addIndex(CpuKernel &kernel, mlir::Value lhs, mlir::Value rhs);
mlir::Value subIndex(CpuKernel &kernel, mlir::Value lhs, mlir::Value rhs);
mlir::Value minIndex(CpuKernel &kernel, mlir::Value lhs, mlir::Value rhs);
mlir::Value maxIndex(CpuKernel &kernel, mlir::Value lhs, mlir::Value rhs);
mlir::Value mulIndex(CpuKernel &kernel, mlir::Value lhs, const SymExpr &rhs);
mlir::Value divIndex(CpuKernel &kernel, mlir::Value lhs, const SymExpr &rhs);
mlir::Value remIndex(CpuKernel &kernel, mlir::Value lhs, const SymExpr &rhs);
/// The indices of element `linear` of `shape`.
llvm::SmallVector<mlir::Value> delinearize(CpuKernel &kernel, mlir::Value linear,
                                           llvm::ArrayRef<SymExpr> sizes);
/// sum(indices * strides).
mlir::Value linearize(CpuKernel &kernel, llvm::ArrayRef<mlir::Value> indices,
                      llvm::ArrayRef<SymExpr> strides);

/// A range of values of index type.
struct IndexRange {
  mlir::Value begin, end;
};

/// A counted loop over `range`.
void emitFor(CpuKernel &kernel, IndexRange range, int64_t step,
             llvm::function_ref<void(mlir::Value)> body);

/// The stride of dimensions [begin, end) of `sizes` taken as one, or nothing
/// when there is none. Dimensions of one element fit any stride.
std::optional<SymExpr> collapsedStride(llvm::ArrayRef<SymExpr> sizes,
                                       llvm::ArrayRef<SymExpr> strides, int64_t begin, int64_t end);

} // namespace lumen::cpu

#endif // LUMEN_CODEGEN_CPU_EPILOGUE_H
