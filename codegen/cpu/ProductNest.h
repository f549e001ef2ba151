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

/// How `lines` x `panels` cells of equal cost are divided into work units.
struct WorkGrid {
  /// `micros`: what one cell takes on one core. With `panelsFirst` neighbouring
  /// units, which a worker is likely to get, share panels rather than lines.
  WorkGrid(int64_t lines, int64_t panels, double micros, bool panelsFirst);

  int64_t units() const { return lineUnits() * panelUnits(); }
  int64_t lineUnits() const { return llvm::divideCeil(lines, lineChunk); }
  int64_t panelUnits() const { return llvm::divideCeil(panels, panelChunk); }

  int64_t lines, panels;
  bool panelsFirst;
  int64_t lineChunk, panelChunk;
};

/// Microseconds that some work takes on one core, for the size of work units.
double estimateMicros(double flops, double bytes);

/// The loop over the kernel's work units; `body` gets the cells of one unit.
void emitUnits(CpuKernel &kernel, const WorkGrid &grid,
               llvm::function_ref<void(IndexRange lines, IndexRange panels)> body);

class ProductNest {
public:
  ProductNest(CpuKernel &kernel, Epilogue epilogue, mlir::Type type)
      : kernel(kernel), epilogue(std::move(epilogue)), type(type) {}

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
    Part part;
    mlir::Value block; ///< of the depth; null for the whole
  };

  int64_t groups = 1;         ///< independent products
  int64_t columns = 0;        ///< of one group
  int64_t columnsOfGroup = 0; ///< what a group adds to the result's column
  int64_t depth = 0;          ///< rows of a panel
  int64_t lines = 0;          ///< of one group
  int64_t rows = 0;           ///< that tiles divide evenly
  int64_t chunks = 1;         ///< lines into which these rows are divided, in whole tiles
  int64_t depthBlocks = 1;    ///< parts of the depth, one after the other
  int64_t rowDim = 0;         ///< rows run along dimensions [rowDim, rank - 1)
  bool panelsFirst = false;

  /// Emits all loops. `panel` returns the address of a panel (counted over all
  /// groups); `line` emits the tiles of a line.
  LaunchShape emit(llvm::function_ref<mlir::Value(mlir::Value panel, mlir::Value group)> panel,
                   llvm::function_ref<void(const Place &)> line);

  /// The blocks into which `rows` are split for `tile`.
  RowSplit split(const Tile &tile) const { return RowSplit(rows, tile.rows); }

  /// Emits `call`, whose first row is `row` (in dimensions from rowDim on taken
  /// as one) of the line with the indices `outer`, and row `rowInLine` of the
  /// line's own, with the epilogue.
  void emitTiles(TileCall call, const Place &place, llvm::ArrayRef<mlir::Value> outer,
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
  mlir::Type type;

private:
  void emitPanelTiles(IndexRange lines, mlir::Value group, mlir::Value inGroup, mlir::Value base,
                      int64_t firstColumn, int64_t width,
                      llvm::function_ref<void(const Place &)> line);
  int64_t rowsPerLine() const { return llvm::divideCeil(rows, chunks); }

  int64_t scratchSize = 0;
  int64_t lineChunk = 1;   ///< lines of a work unit
  int64_t sumsOffset = -1; ///< of the sums of a unit's lines between blocks
  int64_t sumsLineRows = 0;
  int64_t tileOffset = -1; ///< of the raw tile of an epilogue in loops
};

} // namespace lumen::cpu

#endif // LUMEN_CODEGEN_CPU_PRODUCTNEST_H
