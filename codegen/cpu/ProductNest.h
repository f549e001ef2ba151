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

  /// One line of one column tile.
  struct Place {
    mlir::Value line, group;
    mlir::Value column; ///< of the root's result
    mlir::Value b;      ///< pointer to the tile's columns in the panel
    Tile tile;
    int64_t tailLanes;
  };

  int64_t groups = 1;         ///< independent products
  int64_t columns = 0;        ///< of one group
  int64_t columnsOfGroup = 0; ///< what a group adds to the result's column
  int64_t depth = 0;          ///< rows of a panel
  int64_t lines = 0;          ///< of one group
  int64_t rowsPerLine = 0;    ///< that tiles divide
  int64_t rowDim = 0;         ///< rows run along dimensions [rowDim, rank - 1)
  bool panelsFirst = false;

  /// Emits all loops. `panel` returns the address of a panel (counted over all
  /// groups); `line` emits the tiles of a line.
  LaunchShape emit(llvm::function_ref<mlir::Value(mlir::Value panel, mlir::Value group)> panel,
                   llvm::function_ref<void(const Place &)> line);

  /// The blocks into which the rows of a line are split for `tile`.
  RowSplit split(const Tile &tile) const { return RowSplit(rowsPerLine, tile.rows); }

  /// Emits `call`, whose first row is `row` (in dimensions from rowDim on taken
  /// as one) of the line with the indices `outer`, with the epilogue.
  void emitTiles(TileCall call, const Place &place, llvm::ArrayRef<mlir::Value> outer,
                 mlir::Value row);

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
  int64_t scratchSize = 0;
  int64_t tileOffset = -1; ///< of the raw tile of an epilogue in loops
};

} // namespace lumen::cpu

#endif // LUMEN_CODEGEN_CPU_PRODUCTNEST_H
