//===- ProductNest.cpp - the loops around the micro-kernel ----------------===//

#include "codegen/cpu/ProductNest.h"
#include "codegen/cpu/Nest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

//===----------------------------------------------------------------------===//
// Indices and loops
//===----------------------------------------------------------------------===//

Value cpu::addIndex(CpuKernel &kernel, Value lhs, Value rhs) {
  return kernel.builder.createOrFold<arith::AddIOp>(kernel.loc, lhs, rhs);
}

Value cpu::mulIndex(CpuKernel &kernel, Value lhs, int64_t rhs) {
  return kernel.builder.createOrFold<arith::MulIOp>(kernel.loc, lhs, kernel.index(rhs));
}

Value cpu::divIndex(CpuKernel &kernel, Value lhs, int64_t rhs) {
  return kernel.builder.createOrFold<arith::DivUIOp>(kernel.loc, lhs, kernel.index(rhs));
}

Value cpu::remIndex(CpuKernel &kernel, Value lhs, int64_t rhs) {
  return kernel.builder.createOrFold<arith::RemUIOp>(kernel.loc, lhs, kernel.index(rhs));
}

SmallVector<Value> cpu::delinearize(CpuKernel &kernel, Value linear, ArrayRef<int64_t> shape) {
  SmallVector<Value> indices(shape.size());
  for (int64_t i = static_cast<int64_t>(shape.size()) - 1; i > 0; --i) {
    indices[i] = remIndex(kernel, linear, shape[i]);
    linear = divIndex(kernel, linear, shape[i]);
  }
  if (!shape.empty())
    indices[0] = linear;
  return indices;
}

Value cpu::linearize(CpuKernel &kernel, ArrayRef<Value> indices, ArrayRef<int64_t> strides) {
  Value sum = kernel.index(0);
  for (auto [index, stride] : llvm::zip(indices, strides))
    if (stride != 0)
      sum = addIndex(kernel, sum, mulIndex(kernel, index, stride));
  return sum;
}

void cpu::emitFor(CpuKernel &kernel, IndexRange range, int64_t step,
                  llvm::function_ref<void(Value)> body) {
  auto loop =
      scf::ForOp::create(kernel.builder, kernel.loc, range.begin, range.end, kernel.index(step));
  OpBuilder::InsertionGuard guard(kernel.builder);
  kernel.builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

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
      estimateMicros(2.0 * rowsPerLine * depth * width, panelBytes / static_cast<double>(lines));
  WorkGrid grid(lines, panelsPerGroup * groups, micros, panelsFirst);

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
  Tile tile = chooseTile(kernel.caps, type, rowsPerLine, width);
  int64_t tiles = width / tile.columns();
  auto emitTile = [&](Value inPanel, const Tile &tile, int64_t tailLanes) {
    Address address(kernel.builder, kernel.loc);
    Value column = addIndex(kernel, mulIndex(kernel, inGroup, kPanelColumns), inPanel);
    if (groups > 1 && columnsOfGroup != 0)
      column = addIndex(kernel, column, mulIndex(kernel, group, columnsOfGroup));
    Value b = address.offset(base, type, address.fromIndex(inPanel));
    emitFor(kernel, lineRange, 1,
            [&](Value index) { line(Place{index, group, column, b, tile, tailLanes}); });
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

void ProductNest::emitTiles(TileCall call, const Place &place, ArrayRef<Value> outer, Value row) {
  Address address(kernel.builder, kernel.loc);
  call.tile.vectors = place.tile.vectors;
  call.tile.lanes = place.tile.lanes;
  call.tailLanes = place.tailLanes;
  call.type = type;
  call.b = place.b;
  auto shape = cast<RankedTensorType>(kernel.root->getResult(0).getType()).getShape();
  int64_t rank = shape.size();

  if (epilogue.inRegisters) {
    auto locate = [&](const Epilogue::Operand &operand, SmallVectorImpl<Value> &pointers,
                      SmallVectorImpl<Value> &rows) {
      int64_t rowStride = *collapsedStride(shape, operand.strides, rowDim, rank - 1);
      Value offset = linearize(kernel, outer, ArrayRef(operand.strides).take_front(rowDim));
      offset = addIndex(kernel, offset, mulIndex(kernel, row, rowStride));
      offset = addIndex(kernel, offset, mulIndex(kernel, place.column, operand.strides.back()));
      pointers.push_back(
          address.offset(address.ofMemref(operand.memref), type, address.fromIndex(offset)));
      rows.push_back(address.constant(rowStride));
    };
    for (const Epilogue::Operand &operand : epilogue.inputs)
      locate(operand, call.inputs, call.inputRows);
    for (const Epilogue::Operand &operand : epilogue.outputs)
      locate(operand, call.outputs, call.outputRows);
    cpu::emitTiles(kernel, &epilogue, call);
    return;
  }

  if (tileOffset < 0)
    tileOffset = reserve(kPanelColumns * 28 * type.getIntOrFloatBitWidth() / 8);
  Value tileMemory = kernel.scratchView(tileOffset, type, call.tile.rows * call.tile.columns());
  call.outputs = {address.ofMemref(tileMemory)};
  call.outputRows = {address.constant(call.tile.columns())};
  Value count = arith::IndexCastOp::create(kernel.builder, kernel.loc,
                                           kernel.builder.getIndexType(), call.count);
  emitFor(kernel, {kernel.index(0), count}, 1, [&](Value block) {
    Address address(kernel.builder, kernel.loc);
    TileCall one = call;
    Value rows = mulIndex(kernel, block, call.tile.rows);
    one.count = address.constant(1);
    one.a = address.offset(call.a, type, address.mul(address.fromIndex(rows), call.aRow));
    if (call.position)
      one.position =
          address.add(call.position, address.mul(address.fromIndex(rows), call.positionRow));
    cpu::emitTiles(kernel, nullptr, one);

    Value root = kernel.root->getResult(0);
    emitFor(kernel, {kernel.index(0), kernel.index(call.tile.rows)}, 1, [&](Value inTile) {
      Position where;
      where.indices.assign(outer.begin(), outer.end());
      where.indices.append(delinearize(kernel,
                                       addIndex(kernel, addIndex(kernel, row, rows), inTile),
                                       shape.slice(rowDim, rank - 1 - rowDim)));
      where.vectorDim = rank - 1;
      where.lanes = call.tile.lanes;
      where.indices.push_back(Value());
      auto emitVector = [&](Value inColumns) {
        where.indices.back() = addIndex(kernel, place.column, inColumns);
        Value raw = vector::LoadOp::create(
            kernel.builder, kernel.loc, VectorType::get({call.tile.lanes}, type), tileMemory,
            ValueRange{addIndex(kernel, mulIndex(kernel, inTile, call.tile.columns()), inColumns)});
        kernel.expression.bindSource(
            root, [raw](OpBuilder &, Location, const Position &) { return raw; });
        for (auto [i, access] : llvm::enumerate(kernel.results))
          Expression::store(
              kernel.builder, kernel.loc,
              kernel.expression.emit(kernel.builder, kernel.loc, kernel.yielded(i), where), access,
              where);
      };
      int64_t whole = call.tile.columns() - (call.tailLanes ? call.tile.lanes : 0);
      if (whole > 0)
        emitFor(kernel, {kernel.index(0), kernel.index(whole)}, call.tile.lanes, emitVector);
      if (call.tailLanes) {
        where.mask =
            makeMask(kernel.builder, kernel.loc, kernel.index(call.tailLanes), call.tile.lanes);
        emitVector(kernel.index(whole));
      }
    });
  });
}
