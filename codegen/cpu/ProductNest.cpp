//===- ProductNest.cpp - the loops around the micro-kernel ----------------===//

#include "codegen/cpu/ProductNest.h"
#include "codegen/loops/Nest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

//===----------------------------------------------------------------------===//
// Work units
//===----------------------------------------------------------------------===//

double cpu::estimateMicros(double flops, double bytes) {
  return std::max(flops / 1e5, bytes / 2e4);
}

// Units of 20 us hide the cost of handing them out; more than 48 would not
// balance better, but read the operands more often.
static constexpr int64_t kUnitMicros = 20, kMostUnits = 48;

WorkGrid::WorkGrid(int64_t lines, int64_t panels, double micros, bool panelsFirst)
    : lines(lines), panels(panels), panelsFirst(panelsFirst) {
  divide(std::clamp<int64_t>(lines * panels * micros / kUnitMicros, 1, kMostUnits));
}

WorkGrid::WorkGrid(const SymExpr &lines, const SymExpr &panels, const Work &work, bool panelsFirst)
    : lines(lines), panels(panels), panelsFirst(panelsFirst) {
  // What `estimateMicros` says, in whole units.
  SymExpr wanted = SymExpr::max(SymExpr::floorDiv(work.flops, 100000 * kUnitMicros),
                                SymExpr::floorDiv(work.bytes, 20000 * kUnitMicros));
  divide(SymExpr::min(SymExpr::max(wanted, 1), kMostUnits));
}

void WorkGrid::divide(SymExpr wanted) {
  // Without lines or panels there are no units, whatever a chunk is.
  auto chunkOf = [&](const SymExpr &total) {
    SymExpr parts = SymExpr::max(SymExpr::min(total, wanted), 1);
    SymExpr chunk = SymExpr::max(ceilQuotient(total, parts), 1);
    wanted = ceilQuotient(wanted, SymExpr::max(ceilQuotient(total, chunk), 1));
    return chunk;
  };
  if (panelsFirst) {
    panelChunk = chunkOf(panels);
    lineChunk = chunkOf(lines);
  } else {
    lineChunk = chunkOf(lines);
    panelChunk = chunkOf(panels);
  }
}

SymExpr cpu::rowChunks(const SymExpr &rows, bool bounded) {
  // One below 96 rows, then pairs of 64 to 112.
  SymExpr pairs = SymExpr::floorDiv(rows + 32, 128);
  return SymExpr::max(1, SymExpr(2) * (bounded ? pairs : SymExpr::min(pairs, 16)));
}

void cpu::emitUnits(CpuKernel &kernel, const WorkGrid &grid,
                    llvm::function_ref<void(IndexRange, IndexRange)> body) {
  emitFor(kernel, {kernel.begin, kernel.end}, 1, [&](Value unit) {
    SymExpr innerUnits = grid.panelsFirst ? grid.lineUnits() : grid.panelUnits();
    Value outerUnit = divIndex(kernel, unit, innerUnits);
    Value innerUnit = remIndex(kernel, unit, innerUnits);
    auto range = [&](Value chunkIndex, const SymExpr &chunk, const SymExpr &total) -> IndexRange {
      Value begin = mulIndex(kernel, chunkIndex, chunk);
      Value end = addIndex(kernel, begin, kernel.value(chunk));
      if (ceilQuotient(total, chunk) * chunk != total)
        end = arith::MinUIOp::create(kernel.builder, kernel.loc, end, kernel.value(total));
      return {begin, end};
    };
    body(range(grid.panelsFirst ? innerUnit : outerUnit, grid.lineChunk, grid.lines),
         range(grid.panelsFirst ? outerUnit : innerUnit, grid.panelChunk, grid.panels));
  });
}

//===----------------------------------------------------------------------===//
// The nest
//===----------------------------------------------------------------------===//

/// Emits `body` in a branch.
static void emitBranch(CpuKernel &kernel, Value condition, llvm::function_ref<void()> body,
                       llvm::function_ref<void()> otherwise) {
  auto branch =
      scf::IfOp::create(kernel.builder, kernel.loc, condition, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(kernel.builder);
  kernel.builder.setInsertionPointToStart(branch.thenBlock());
  body();
  kernel.builder.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

std::optional<int64_t> ProductNest::rowsPerLine() const {
  std::optional<int64_t> total = rows.asConstant(), parts = chunks.asConstant();
  return total && parts ? std::optional<int64_t>(llvm::divideCeil(*total, *parts)) : std::nullopt;
}

Tile ProductNest::tileFor(int64_t rows, int64_t columns) const {
  return rowsPerLine() ? chooseTile(kernel.caps, types, *rowsPerLine(), columns)
                       : chooseTileUpTo(kernel.caps, types, rows, columns);
}

WorkGrid ProductNest::makeGrid() const {
  SymExpr panels = ceilQuotient(columns, kPanelColumns) * groups;
  int64_t elementBytes = type.getIntOrFloatBitWidth() / 8;
  std::optional<int64_t> constLines = lines.asConstant(), constPanels = panels.asConstant(),
                         constColumns = columns.asConstant(), constDepth = depth.asConstant();
  if (!constLines || !constPanels || !constColumns || !constDepth || !rowsPerLine()) {
    SymExpr elements = columns * groups * depth;
    SymExpr allRows = SymExpr::floorDiv(lines * rows, chunks);
    return WorkGrid(lines, panels, {SymExpr(2) * allRows * elements, elements * elementBytes}, panelsFirst);
  }
  double width = std::min(*constColumns, kPanelColumns);
  double panelBytes = width * *constDepth * elementBytes;
  double micros = estimateMicros(2.0 * *rowsPerLine() * *constDepth * width,
                                 panelBytes / static_cast<double>(*constLines));
  return WorkGrid(*constLines, *constPanels, micros, panelsFirst);
}

LaunchShape ProductNest::emit(llvm::function_ref<Value(Value, Value)> panel, EmitLine line) {
  SymExpr panelsPerGroup = ceilQuotient(columns, kPanelColumns);
  SymExpr fullPanels = SymExpr::floorDiv(columns, kPanelColumns);
  std::optional<int64_t> rest = (columns - fullPanels * kPanelColumns).asConstant();
  WorkGrid grid = makeGrid();
  lineChunk = grid.lineChunk;
  emitUnits(kernel, grid, [&](IndexRange lineRange, IndexRange panels) {
    emitFor(kernel, panels, 1, [&](Value index) {
      Value group = divIndex(kernel, index, panelsPerGroup);
      Value inGroup = remIndex(kernel, index, panelsPerGroup);
      Panel at{lineRange, group, inGroup, panel(index, group)};
      auto full = [&] { emitPanel(at, kPanelColumns, line); };
      auto partial = [&] { emitPanel(at, rest, line); };
      if (rest == 0)
        return full();
      if (fullPanels == SymExpr(0))
        return partial();
      Value isFull = arith::CmpIOp::create(kernel.builder, kernel.loc, arith::CmpIPredicate::ult,
                                           inGroup, kernel.value(fullPanels));
      emitBranch(kernel, isFull, full, partial);
    });
  });
  return {grid.units(), 1, static_cast<uint64_t>(scratchSize)};
}

void ProductNest::emitPanel(const Panel &panel, std::optional<int64_t> width, EmitLine line) {
  auto emitTiles = [&](int64_t rows, const Tile &tile) {
    if (width)
      emitPanelTiles(panel, rows, tile, 0, *width, line);
    else
      emitLastPanel(panel, rows, tile, line);
  };
  if (std::optional<int64_t> count = rowsPerLine())
    return emitTiles(*count, tileFor(*count, width.value_or(kPanelColumns)));
  SmallVector<TileChoice> choices = chooseTiles(kernel.caps, types, width.value_or(kPanelColumns));
  if (hasManyRows)
    choices = {choices.back()};
  std::function<void(ArrayRef<TileChoice>)> choose = [&](ArrayRef<TileChoice> choices) {
    const TileChoice &choice = choices.front();
    if (choices.size() == 1)
      return emitTiles(choice.rows, choice.tile);
    Value isFew =
        arith::CmpIOp::create(kernel.builder, kernel.loc, arith::CmpIPredicate::sle,
                              kernel.value(rows), kernel.index(choice.rows));
    emitBranch(
        kernel, isFew, [&] { emitTiles(choice.rows, choice.tile); },
        [&] { choose(choices.drop_front()); });
  };
  choose(choices);
}

void ProductNest::emitPanelTiles(const Panel &panel, int64_t rows, Tile tile, int64_t firstColumn,
                                 int64_t width, EmitLine line) {
  int64_t tiles = width / tile.columns();
  if (tiles == 1)
    emitColumnTile(panel, kernel.index(firstColumn), tile, 0, Value(), line);
  else if (tiles > 1)
    emitFor(kernel, {kernel.index(firstColumn), kernel.index(firstColumn + tiles * tile.columns())},
            tile.columns(),
            [&](Value inPanel) { emitColumnTile(panel, inPanel, tile, 0, Value(), line); });
  firstColumn += tiles * tile.columns();
  width -= tiles * tile.columns();
  if (width == 0)
    return;
  if (tiles > 0)
    return emitPanelTiles(panel, rows, tileFor(rows, width), firstColumn, width, line);
  // Narrower than the tile: the panel's padding fills the last vector.
  emitColumnTile(panel, kernel.index(firstColumn), tile, width % tile.lanes, Value(), line);
}

void ProductNest::emitLastPanel(const Panel &panel, int64_t rows, Tile tile, EmitLine line) {
  Value width = subIndex(kernel, kernel.value(columns), mulIndex(kernel, panel.inGroup, kPanelColumns));
  Value first = kernel.index(0);
  if (tile.columns() < kPanelColumns) {
    Value end = subIndex(kernel, width, remIndex(kernel, width, tile.columns()));
    emitFor(kernel, {first, end}, tile.columns(),
            [&](Value inPanel) { emitColumnTile(panel, inPanel, tile, 0, Value(), line); });
    first = end;
  }
  // Vector by vector, of which the last one is partial.
  Tile narrow = tileFor(rows, tile.lanes);
  emitFor(kernel, {first, width}, narrow.lanes, [&](Value inPanel) {
    Value tail = minIndex(kernel, subIndex(kernel, width, inPanel), kernel.index(narrow.lanes));
    emitColumnTile(panel, inPanel, narrow, 0, tail, line);
  });
}

void ProductNest::emitColumnTile(const Panel &panel, Value inPanel, const Tile &tile,
                                 int64_t tailLanes, Value tail, EmitLine line) {
  Address address(kernel.builder, kernel.loc);
  Value column = addIndex(kernel, mulIndex(kernel, panel.inGroup, kPanelColumns), inPanel);
  if (groups != SymExpr(1) && columnsOfGroup != SymExpr(0))
    column = addIndex(kernel, column, mulIndex(kernel, panel.group, columnsOfGroup));
  Value b = address.offset(panel.base, type, address.fromIndex(inPanel));
  auto emitPart = [&](Value index, Part part, Value block) {
    Value inUnit = lineChunk.asConstant() ? subIndex(kernel, index, panel.lines.begin) : kernel.index(0);
    line(Place{index, panel.group, inUnit, column, b, tile, tailLanes, tail, part, block});
  };
  // The parts of the depth, with `body` for each.
  auto emitParts = [&](llvm::function_ref<void(Part, Value)> body) {
    body(Part::First, kernel.index(0));
    emitFor(kernel, {kernel.index(1), kernel.index(depthBlocks - 1)}, 1,
            [&](Value block) { body(Part::Middle, block); });
    body(Part::Last, kernel.index(depthBlocks - 1));
  };
  auto emitLines = [&](Part part, Value block) {
    emitFor(kernel, panel.lines, 1, [&](Value index) { emitPart(index, part, block); });
  };
  if (depthBlocks == 1)
    return emitLines(Part::Whole, Value());
  RowSplit split = this->split(tile);
  std::optional<int64_t> blocks = split.blocks.asConstant(), parts = chunks.asConstant(),
                         unitLines = lineChunk.asConstant();
  sumsLineRows = kMaxLineRows;
  if (blocks && parts)
    sumsLineRows = llvm::divideCeil(*blocks, *parts) *
                   (*split.rows.asConstant() + (*split.larger.asConstant() > 0));
  // Sums of lines whose number is unknown would need unknown memory.
  sumsLines = unitLines.value_or(1);
  sumsOffset =
      reserve(sumsLines * sumsLineRows * tile.columns() * type.getIntOrFloatBitWidth() / 8);
  if (unitLines)
    return emitParts(emitLines);
  emitFor(kernel, panel.lines, 1, [&](Value index) {
    emitParts([&](Part part, Value block) { emitPart(index, part, block); });
  });
}

void ProductNest::setRows(TileCall &call, const Place &place, const SymExpr &tileRows) {
  if (std::optional<int64_t> count = tileRows.asConstant()) {
    call.tile.rows = *count;
    return;
  }
  call.tile.rows = place.tile.rows;
  call.rows = Address(kernel.builder, kernel.loc).size(kernel, tileRows);
}

int64_t ProductNest::wantedDepthBlocks() const {
  // A depth that only the run knows is not long.
  double panelBytes = static_cast<double>(depth.asConstant().value_or(0)) * types.rowSize() *
                      type.getIntOrFloatBitWidth() / 8;
  // Blocks double the kernel's code, which many rows repay.
  std::optional<int64_t> constLines = lines.asConstant();
  bool hasFewRows = constLines && rowsPerLine() && *constLines * *rowsPerLine() < 128;
  if (panelBytes <= kernel.caps.l2Bytes || hasFewRows)
    return 1;
  return llvm::divideCeil(static_cast<int64_t>(panelBytes), kernel.caps.l2Bytes / 4);
}

void ProductNest::emitTiles(const TileCall &call, const Place &place, ArrayRef<Value> outer,
                            Value row, Value rowInLine) {
  auto emit = [&] { emitSomeTiles(call, place, outer, row, rowInLine); };
  if (rowsPerLine())
    return emit();
  // Of the runs of equal tiles that a line may have, most are empty where rows are few.
  Value hasTiles =
      arith::CmpIOp::create(kernel.builder, kernel.loc, arith::CmpIPredicate::ne, call.count,
                            Address(kernel.builder, kernel.loc).constant(0));
  emitBranch(kernel, hasTiles, emit, [] {});
}

void ProductNest::emitSomeTiles(TileCall call, const Place &place, ArrayRef<Value> outer, Value row,
                                Value rowInLine) {
  Address address(kernel.builder, kernel.loc);
  call.tile.vectors = place.tile.vectors;
  call.tile.lanes = place.tile.lanes;
  call.tailLanes = place.tailLanes;
  call.tail = place.tail;
  call.types = types;
  // Of the blocks of a depth only the last may end with it.
  call.partialRows = partialRows && place.block ? kAnyPartialRows : partialRows;
  call.b = place.b;
  if (place.part != Part::Whole) {
    Value sums =
        kernel.scratchView(sumsOffset, type, sumsLines * sumsLineRows * call.tile.columns());
    Value sumsRow = addIndex(kernel, mulIndex(kernel, place.lineInUnit, sumsLineRows), rowInLine);
    Value at = address.offset(address.ofMemref(sums), type,
                              address.mul(address.fromIndex(sumsRow), call.tile.columns()));
    if (place.part != Part::First)
      call.sums = at;
    if (place.part != Part::Last) {
      call.tailLanes = 0;
      call.tail = Value();
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
  emitFor(kernel, {kernel.index(0), address.toIndex(call.count)}, 1, [&](Value block) {
    Address address(kernel.builder, kernel.loc);
    TileCall one = call;
    Value tileRows = call.rows ? address.toIndex(call.rows) : kernel.index(call.tile.rows);
    Value rows = kernel.builder.createOrFold<arith::MulIOp>(kernel.loc, block, tileRows);
    one.count = address.constant(1);
    one.a = address.offset(call.a, storageType(types.lhs),
                           address.mul(address.fromIndex(rows), call.aRow));
    if (call.sums)
      one.sums = address.offset(call.sums, type,
                                address.mul(address.fromIndex(rows), call.tile.columns()));
    if (call.position)
      one.position =
          address.add(call.position, address.mul(address.fromIndex(rows), call.positionRow));
    // Where the run knows the columns there is one vector.
    int64_t columns = call.tile.columns() - (call.tailLanes ? call.tile.lanes - call.tailLanes : 0);
    Value end = kernel.index(columns);
    if (call.tail) {
      end = address.toIndex(call.tail);
      columns = 0;
    }
    if (!call.bRow)
      one.tail = Value();
    cpu::emitTiles(kernel, nullptr, one);
    RawTile raw{memory,          tileRows,        call.tile.columns(),
                call.tile.lanes, kernel.index(0), end,
                columns,         place.column};
    emitLoopEpilogue(kernel, raw, outer, addIndex(kernel, row, rows), rowDim);
  });
}
