//===- MicroKernel.h - register tiles of matrix products ---------*- C++ -*-===//
//
// Contractions and convolutions are loops around one function: it multiplies
// rows of A, read in place, by a packed panel of B and finishes a tile of the
// result in registers. Kernels share these functions by name, so that a model
// of a hundred convolutions holds a dozen of them.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_CPU_MICROKERNEL_H
#define LUMEN_CODEGEN_CPU_MICROKERNEL_H

#include "codegen/cpu/Epilogue.h"
#include "dialects/Lumen/PackedWeights.h"

namespace lumen::cpu {

/// Rows of the tallest tile.
inline constexpr int64_t kMaxTileRows = 28;

/// The elements of a product, and how panels of its right operand hold them: f32 as they
/// are, small integers in groups of four rows; see `lumen.contract`. Positions in a panel
/// are counted in sums, which are as wide as one column of a group.
struct ProductTypes {
  ProductTypes() = default;
  explicit ProductTypes(mlir::Operation *root);

  /// Whether there is a micro-kernel for them.
  bool isSupported() const { return sum.isF32() || isInteger(); }
  bool isInteger() const { return lhs != sum && mlir::isa<mlir::IntegerType>(lhs); }
  int64_t group() const { return isInteger() ? 4 : 1; }
  /// Sums of a group of rows, and per row where there are whole groups.
  int64_t groupSize() const { return kPanelColumns * (rhs.isInteger(16) ? 2 : 1); }
  int64_t rowSize() const { return groupSize() / group(); }
  /// Whether whole groups are multiplied at once; `isCorrected`: with the left operand
  /// taken for an unsigned one, 128 too large, for which the sums are corrected.
  bool hasQuads(const Capabilities &caps) const;
  bool isCorrected(const Capabilities &caps) const;
  /// For the names of functions: "f32", "ui8_i8".
  std::string str() const;
  /// Sums of a panel of so many rows.
  SymExpr panelSize(const SymExpr &depth) const;

  mlir::Type lhs, rhs; ///< as the tensors have them, with signs
  mlir::Type sum;
};

/// The tile that covers `rows` x `columns` (at most a panel) in the fewest cycles
/// of this level's registers, load ports and caches.
Tile chooseTile(const Capabilities &caps, const ProductTypes &types, int64_t rows, int64_t columns,
                int64_t maxRows = kMaxTileRows);

/// The tile for up to `rows` rows, `kManyRows` for any number of them.
struct TileChoice {
  int64_t rows;
  Tile tile;
};
inline constexpr int64_t kManyRows = 1 << 16;

/// The tiles for a number of rows that only the run knows, fewest rows first. Few
/// rows want wider tiles than many.
llvm::SmallVector<TileChoice> chooseTiles(const Capabilities &caps, const ProductTypes &types,
                                          int64_t columns);

/// The tile for up to `rows` rows, of which only the run knows how many.
Tile chooseTileUpTo(const Capabilities &caps, const ProductTypes &types, int64_t rows,
                    int64_t columns);

/// ceil(a / b) of sizes, of which b is positive or does not matter.
SymExpr ceilQuotient(const SymExpr &a, const SymExpr &b);

/// `total` rows in blocks of nearly equal size: the first `larger` blocks have
/// `rows + 1` rows, the others `rows`, so that no block is a poor remainder.
struct RowSplit {
  RowSplit(const SymExpr &total, int64_t most)
      : blocks(ceilQuotient(total, most)),
        rows(SymExpr::floorDiv(total, SymExpr::max(blocks, 1))), larger(total - blocks * rows) {}
  SymExpr blocks, rows, larger;
};

/// See `TileCall::partialRows`: any number that is less than a group.
inline constexpr int64_t kAnyPartialRows = -1;

/// One call of a micro-kernel: `count` tiles, one below the other. All values
/// are i64 or pointers, strides in elements.
struct TileCall {
  Tile tile;
  /// Null, or how many rows each tile has where only the run knows: 1..tile.rows.
  mlir::Value rows;
  int64_t tailLanes = 0; ///< of the last vector, where not all are stored; else 0
  /// The same, in 1..tile.lanes, where only the run knows; null: see `tailLanes`.
  mlir::Value tail;
  ProductTypes types;
  mlir::Value count;
  mlir::Value a, aRow;
  /// From element to element of a row of A; null: they lie side by side.
  mlir::Value aStep;
  mlir::Value b;
  /// From row to row of a B that need not be packed: nothing may be read behind its
  /// last column. Null: a packed panel.
  mlir::Value bRow;
  mlir::Value depth;
  /// Rows of the group within which `depth` ends; 0: it ends with one.
  int64_t partialRows = 0;
  /// Loops around the one over `depth`, outermost first: the taps of a window.
  struct Segment {
    mlir::Value count, a, b; ///< what a step adds to the positions in A and B
  };
  llvm::SmallVector<Segment> segments;
  /// Set where rows of the innermost segment may leave the input, along the
  /// dimension in which rows follow each other: `depth` zeros to read instead;
  /// the position of the first row at the first step, what a row and a step add
  /// to it, and the end of the input.
  mlir::Value zeros, position, positionRow, positionStep, positionEnd;
  /// Where earlier parts of a long sum left theirs, in rows of `tile.columns()`
  /// elements; null: sums start from zero.
  mlir::Value sums;
  TileOperands operands; ///< of the epilogue, at the first row and column
};

/// Emits the body of a function whose last argument is a number of rows, at most
/// `most`: calls the function for so many rows with the other arguments.
void emitRowSwitch(mlir::OpBuilder &builder, mlir::Block &block, int64_t most,
                   llvm::function_ref<mlir::func::FuncOp(int64_t rows)> functionFor);

/// Fills `memory` with zeros and returns its address, which tiles at the border read.
mlir::Value emitZeros(CpuKernel &kernel, mlir::Value memory, mlir::Type type, int64_t elements);

/// Calls the micro-kernel, making it on first use. With `epilogue` null the tiles
/// are stored as they are to the first output.
void emitTiles(CpuKernel &kernel, const Epilogue *epilogue, const TileCall &call);

} // namespace lumen::cpu

#endif // LUMEN_CODEGEN_CPU_MICROKERNEL_H
