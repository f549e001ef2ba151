//===- ProductNest.h - the loops around the micro-kernel ---------*- C++ -*-===//
//
// What contractions and convolutions share: work units over lines of output
// rows and panels of output columns, the column tiles of a panel, and the
// placement of the epilogue's operands.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_CPU_PRODUCTNEST_H
#define LUMEN_CODEGEN_CPU_PRODUCTNEST_H

#include "codegen/cpu/MicroKernel.h"

namespace lumen::cpu {

/// What a kernel does, and the bytes of its operands that count, for the number of
/// work units.
struct Work {
  SymExpr flops, bytes;
};

/// How `lines` x `panels` cells of equal cost are divided into work units.
struct WorkGrid {
  /// `micros`: what one cell takes on one core. With `panelsFirst` neighbouring
  /// units, which a worker is likely to get, share panels rather than lines.
  WorkGrid(int64_t lines, int64_t panels, double micros, bool panelsFirst);
  /// The same for numbers that only the run may know.
  WorkGrid(const SymExpr &lines, const SymExpr &panels, const Work &work, bool panelsFirst);

  SymExpr units() const { return lineUnits() * panelUnits(); }
  SymExpr lineUnits() const { return ceilQuotient(lines, lineChunk); }
  SymExpr panelUnits() const { return ceilQuotient(panels, panelChunk); }

  SymExpr lines, panels;
  bool panelsFirst;
  SymExpr lineChunk, panelChunk;

private:
  void divide(SymExpr wanted);
};

/// Microseconds that some work takes on one core, for the size of work units.
double estimateMicros(double flops, double bytes);

/// Lines into which `rows` of a product are divided where only the run knows how
/// many there are; `bounded`: of no more than `kMaxLineRows` rows.
SymExpr rowChunks(const SymExpr &rows, bool bounded);
inline constexpr int64_t kMaxLineRows = 144;

/// The loop over the kernel's work units; `body` gets the cells of one unit.
void emitUnits(CpuKernel &kernel, const WorkGrid &grid,
               llvm::function_ref<void(IndexRange lines, IndexRange panels)> body);

class ProductNest {
public:
  ProductNest(CpuKernel &kernel, Epilogue epilogue)
      : kernel(kernel), epilogue(std::move(epilogue)), types(kernel.root), type(types.sum) {}

  /// Which part of its sums a tile adds.
  enum class Part { Whole, First, Middle, Last };

  /// One line of one column tile.
  struct Place {
    mlir::Value line, group;
    mlir::Value lineInUnit; ///< counted from the work unit's first line
    mlir::Value column;     ///< of the root's result
    mlir::Value b;          ///< pointer to the tile's columns in the panel
    Tile tile;
    int64_t tailLanes;
    mlir::Value tail; ///< where only the run knows `tailLanes`
    Part part;
    mlir::Value block; ///< of the depth; null for the whole
  };

  SymExpr groups = 1;         ///< independent products
  SymExpr columns = 0;        ///< of one group
  SymExpr columnsOfGroup = 0; ///< what a group adds to the result's column
  SymExpr depth = 0;          ///< rows of a panel
  int64_t partialRows = 0; ///< of a loop over the depth; see TileCall
  SymExpr lines = 0;          ///< of one group
  SymExpr rows = 0;           ///< that tiles divide evenly
  SymExpr chunks = 1;         ///< lines into which these rows are divided, in whole tiles
  int64_t depthBlocks = 1;    ///< parts of the depth, one after the other
  int64_t rowDim = 0;         ///< rows run along dimensions [rowDim, rank - 1)
  bool panelsFirst = false;
  bool hasManyRows = false; ///< code for few rows is not worth its size

  /// Emits all loops. `panel` returns the address of a panel (counted over all
  /// groups); `line` emits the tiles of a line.
  LaunchShape emit(llvm::function_ref<mlir::Value(mlir::Value panel, mlir::Value group)> panel,
                   llvm::function_ref<void(const Place &)> line);

  /// The blocks into which `rows` are split for `tile`.
  RowSplit split(const Tile &tile) const { return RowSplit(rows, tile.rows); }

  /// Sets the rows of a call's tiles, a number of `split(place.tile)`.
  void setRows(TileCall &call, const Place &place, const SymExpr &tileRows);

  /// Emits `call`, whose first row is `row` (in dimensions from rowDim on taken
  /// as one) of the line with the indices `outer`, and row `rowInLine` of the
  /// line's own, with the epilogue.
  void emitTiles(const TileCall &call, const Place &place, llvm::ArrayRef<mlir::Value> outer,
                 mlir::Value row, mlir::Value rowInLine);

  /// Blocks of the depth such that a block of a panel stays in the second cache
  /// level while all lines of a unit pass by.
  int64_t wantedDepthBlocks() const;

  /// Bytes of a worker's scratch memory taken so far; callers may add theirs.
  int64_t reserve(int64_t bytes) {
    int64_t offset = scratchSize;
    scratchSize += llvm::alignTo(bytes, 64);
    return offset;
  }

  CpuKernel &kernel;
  Epilogue epilogue;
  ProductTypes types;
  mlir::Type type; ///< of sums

private:
  using EmitLine = llvm::function_ref<void(const Place &)>;
  /// A panel of a work unit.
  struct Panel {
    IndexRange lines;
    mlir::Value group, inGroup, base;
  };
  /// `width`: of the panel; null: `columns` are dynamic and this is the last panel.
  void emitPanel(const Panel &panel, std::optional<int64_t> width, EmitLine line);
  /// For up to `rows` rows.
  void emitPanelTiles(const Panel &panel, int64_t rows, Tile tile, int64_t firstColumn,
                      int64_t width, EmitLine line);
  void emitLastPanel(const Panel &panel, int64_t rows, Tile tile, EmitLine line);
  void emitColumnTile(const Panel &panel, mlir::Value inPanel, const Tile &tile,
                      int64_t tailLanes, mlir::Value tail, EmitLine line);
  /// `emitTiles` where `call.count` is not 0.
  void emitSomeTiles(TileCall call, const Place &place, llvm::ArrayRef<mlir::Value> outer,
                     mlir::Value row, mlir::Value rowInLine);
  Tile tileFor(int64_t rows, int64_t columns) const;
  /// Nothing where only the run knows.
  std::optional<int64_t> rowsPerLine() const;
  WorkGrid makeGrid() const;

  int64_t scratchSize = 0;
  SymExpr lineChunk = 1;   ///< lines of a work unit
  int64_t sumsOffset = -1; ///< of the sums of a unit's lines between blocks
  int64_t sumsLines = 0, sumsLineRows = 0;
  int64_t tileOffset = -1; ///< of the raw tile of an epilogue in loops
};

} // namespace lumen::cpu

#endif // LUMEN_CODEGEN_CPU_PRODUCTNEST_H
