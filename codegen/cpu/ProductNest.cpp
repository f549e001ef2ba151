//===- ProductNest.cpp - the loops around the micro-kernel ----------------===//

#include "codegen/cpu/ProductNest.h"
#include "codegen/cpu/Nest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

//===----------------------------------------------------------------------===//
// Work units
//===----------------------------------------------------------------------===//

double cpu::estimateMicros(double flops, double bytes) {
  return std::max(flops / 1e5, bytes / 2e4);
}

WorkGrid::WorkGrid(int64_t lines, int64_t panels, double micros, bool panelsFirst)
    : lines(lines), panels(panels), panelsFirst(panelsFirst) {
  // Units of 20 us hide the cost of handing them out; more than 48 would not
  // balance better, but read the operands more often.
  int64_t wanted = std::clamp<int64_t>(lines * panels * micros / 20, 1, 48);
  auto divide = [&](int64_t total) {
    int64_t chunk = llvm::divideCeil(total, std::min(total, wanted));
    wanted = llvm::divideCeil(wanted, llvm::divideCeil(total, chunk));
    return chunk;
  };
  if (panelsFirst) {
    panelChunk = divide(panels);
    lineChunk = divide(lines);
  } else {
    lineChunk = divide(lines);
    panelChunk = divide(panels);
  }
}

void cpu::emitUnits(CpuKernel &kernel, const WorkGrid &grid,
                    llvm::function_ref<void(IndexRange, IndexRange)> body) {
  emitFor(kernel, {kernel.begin, kernel.end}, 1, [&](Value unit) {
    int64_t innerUnits = grid.panelsFirst ? grid.lineUnits() : grid.panelUnits();
    Value outerUnit = divIndex(kernel, unit, innerUnits);
    Value innerUnit = remIndex(kernel, unit, innerUnits);
    auto range = [&](Value chunkIndex, int64_t chunk, int64_t total) -> IndexRange {
      Value begin = mulIndex(kernel, chunkIndex, chunk);
      Value end = addIndex(kernel, begin, kernel.index(chunk));
      if (total % chunk != 0)
        end = arith::MinUIOp::create(kernel.builder, kernel.loc, end, kernel.index(total));
      return {begin, end};
    };
    body(range(grid.panelsFirst ? innerUnit : outerUnit, grid.lineChunk, grid.lines),
         range(grid.panelsFirst ? outerUnit : innerUnit, grid.panelChunk, grid.panels));
  });
}

//===----------------------------------------------------------------------===//
// The nest
//===----------------------------------------------------------------------===//

LaunchShape ProductNest::emit(llvm::function_ref<Value(Value, Value)> panel,
                              llvm::function_ref<void(const Place &)> line) {
  int64_t panelsPerGroup = llvm::divideCeil(columns, kPanelColumns);
  int64_t fullPanels = columns / kPanelColumns, rest = columns % kPanelColumns;
  double width = std::min(columns, kPanelColumns);
  double panelBytes = width * depth * type.getIntOrFloatBitWidth() / 8;
  double micros =
      estimateMicros(2.0 * rowsPerLine() * depth * width, panelBytes / static_cast<double>(lines));
  WorkGrid grid(lines, panelsPerGroup * groups, micros, panelsFirst);

  lineChunk = grid.lineChunk;
  emitUnits(kernel, grid, [&](IndexRange lineRange, IndexRange panels) {
    emitFor(kernel, panels, 1, [&](Value index) {
      Value group = divIndex(kernel, index, panelsPerGroup);
      Value inGroup = remIndex(kernel, index, panelsPerGroup);
      Value base = panel(index, group);
      auto full = [&] { emitPanelTiles(lineRange, group, inGroup, base, 0, kPanelColumns, line); };
      auto partial = [&] { emitPanelTiles(lineRange, group, inGroup, base, 0, rest, line); };
      if (rest == 0)
        return full();
      if (fullPanels == 0)
        return partial();
      Value isFull = arith::CmpIOp::create(kernel.builder, kernel.loc, arith::CmpIPredicate::ult,
                                           inGroup, kernel.index(fullPanels));
      auto branch = scf::IfOp::create(kernel.builder, kernel.loc, isFull, /*withElse=*/true);
      OpBuilder::InsertionGuard guard(kernel.builder);
      kernel.builder.setInsertionPointToStart(branch.thenBlock());
      full();
      kernel.builder.setInsertionPointToStart(branch.elseBlock());
      partial();
    });
  });
  return {grid.units(), 1, static_cast<uint64_t>(scratchSize)};
}

void ProductNest::emitPanelTiles(IndexRange lineRange, Value group, Value inGroup, Value base,
                                 int64_t firstColumn, int64_t width,
                                 llvm::function_ref<void(const Place &)> line) {
  Tile tile = chooseTile(kernel.caps, type, rowsPerLine(), width);
  int64_t tiles = width / tile.columns();
  auto emitTile = [&](Value inPanel, const Tile &tile, int64_t tailLanes) {
    Address address(kernel.builder, kernel.loc);
    Value column = addIndex(kernel, mulIndex(kernel, inGroup, kPanelColumns), inPanel);
    if (groups > 1 && columnsOfGroup != 0)
      column = addIndex(kernel, column, mulIndex(kernel, group, columnsOfGroup));
    Value b = address.offset(base, type, address.fromIndex(inPanel));
    auto emitLines = [&](Part part, Value block) {
      emitFor(kernel, lineRange, 1, [&](Value index) {
        Value inUnit =
            kernel.builder.createOrFold<arith::SubIOp>(kernel.loc, index, lineRange.begin);
        line(Place{index, group, inUnit, column, b, tile, tailLanes, part, block});
      });
    };
    if (depthBlocks == 1)
      return emitLines(Part::Whole, Value());
    RowSplit rows = split(tile);
    int64_t lineRows = llvm::divideCeil(rows.blocks, chunks) * (rows.rows + (rows.larger > 0));
    int64_t bytes = lineChunk * lineRows * tile.columns() * type.getIntOrFloatBitWidth() / 8;
    sumsOffset = reserve(bytes);
    sumsLineRows = lineRows;
    emitLines(Part::First, kernel.index(0));
    emitFor(kernel, {kernel.index(1), kernel.index(depthBlocks - 1)}, 1,
            [&](Value block) { emitLines(Part::Middle, block); });
    emitLines(Part::Last, kernel.index(depthBlocks - 1));
  };
  if (tiles == 1)
    emitTile(kernel.index(firstColumn), tile, 0);
  else if (tiles > 1)
    emitFor(kernel, {kernel.index(firstColumn), kernel.index(firstColumn + tiles * tile.columns())},
            tile.columns(), [&](Value inPanel) { emitTile(inPanel, tile, 0); });
  firstColumn += tiles * tile.columns();
  width -= tiles * tile.columns();
  if (width == 0)
    return;
  if (tiles > 0)
    return emitPanelTiles(lineRange, group, inGroup, base, firstColumn, width, line);
  // Narrower than the tile: the panel's padding fills the last vector.
  emitTile(kernel.index(firstColumn), tile, width % tile.lanes);
}

int64_t ProductNest::wantedDepthBlocks() const {
  double panelBytes = static_cast<double>(depth) * kPanelColumns * type.getIntOrFloatBitWidth() / 8;
  // Blocks double the kernel's code, which many rows repay.
  if (panelBytes <= kernel.caps.l2Bytes || lines * rowsPerLine() < 128)
    return 1;
  return llvm::divideCeil(static_cast<int64_t>(panelBytes), kernel.caps.l2Bytes / 4);
}

void ProductNest::emitTiles(TileCall call, const Place &place, ArrayRef<Value> outer, Value row,
                            Value rowInLine) {
  Address address(kernel.builder, kernel.loc);
  call.tile.vectors = place.tile.vectors;
  call.tile.lanes = place.tile.lanes;
  call.tailLanes = place.tailLanes;
  call.type = type;
  call.b = place.b;
  if (place.part != Part::Whole) {
    Value sums =
        kernel.scratchView(sumsOffset, type, lineChunk * sumsLineRows * call.tile.columns());
    Value sumsRow = addIndex(kernel, mulIndex(kernel, place.lineInUnit, sumsLineRows), rowInLine);
    Value at = address.offset(address.ofMemref(sums), type,
                              address.mul(address.fromIndex(sumsRow), call.tile.columns()));
    if (place.part != Part::First)
      call.sums = at;
    if (place.part != Part::Last) {
      call.tailLanes = 0;
      call.operands.outputs = {at};
      call.operands.outputRows = {address.constant(call.tile.columns())};
      return cpu::emitTiles(kernel, nullptr, call);
    }
  }
  if (epilogue.inRegisters) {
    call.operands = epilogue.locate(kernel, outer, row, place.column, rowDim);
    return cpu::emitTiles(kernel, &epilogue, call);
  }

  if (tileOffset < 0)
    tileOffset = reserve(kPanelColumns * kMaxTileRows * type.getIntOrFloatBitWidth() / 8);
  Value memory = kernel.scratchView(tileOffset, type, call.tile.rows * call.tile.columns());
  call.operands.outputs = {address.ofMemref(memory)};
  call.operands.outputRows = {address.constant(call.tile.columns())};
  Value count = arith::IndexCastOp::create(kernel.builder, kernel.loc,
                                           kernel.builder.getIndexType(), call.count);
  emitFor(kernel, {kernel.index(0), count}, 1, [&](Value block) {
    Address address(kernel.builder, kernel.loc);
    TileCall one = call;
    Value rows = mulIndex(kernel, block, call.tile.rows);
    one.count = address.constant(1);
    one.a = address.offset(call.a, type, address.mul(address.fromIndex(rows), call.aRow));
    if (call.sums)
      one.sums = address.offset(call.sums, type,
                                address.mul(address.fromIndex(rows), call.tile.columns()));
    if (call.position)
      one.position =
          address.add(call.position, address.mul(address.fromIndex(rows), call.positionRow));
    cpu::emitTiles(kernel, nullptr, one);
    int64_t columns = call.tile.columns() - (call.tailLanes ? call.tile.lanes - call.tailLanes : 0);
    RawTile raw{memory,          call.tile.rows,  call.tile.columns(),
                call.tile.lanes, kernel.index(0), kernel.index(columns),
                columns,         place.column};
    emitLoopEpilogue(kernel, raw, outer, addIndex(kernel, row, rows), rowDim);
  });
}
