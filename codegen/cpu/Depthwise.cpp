//===- Depthwise.cpp - depthwise convolution on the CPU -------------------===//
//
// Vectors run over channels, the rows of a tile are neighbours in an output row.
// Along that row an input vector is loaded once and multiplied by every tap that
// meets it; taps outside the input are left out when the code is made, as the
// few tiles at the border have code of their own.
//
// Small integers are multiplied and summed in f32, which holds the sums of a window
// exactly and multiplies faster than i32.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/ConvolutionAxes.h"
#include "codegen/cpu/MatrixProduct.h"
#include "codegen/loops/Nest.h"
#include "codegen/cpu/ProductNest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

namespace {

/// One call: `count` tiles, one behind the other, over a range of channels. All
/// values are i64 or pointers, strides in elements.
struct DepthwiseCall {
  int64_t rows, window, stride, dilation;
  /// Null, or how many rows each tile has where only the run knows: 1..rows, and
  /// [low, high) is all that these reach.
  Value rowCount;
  int64_t low = 0, high = 0; ///< input positions from the tile's first tap that exist
  /// Set where only the run knows which of [low, high) those are: `zeros` are read
  /// instead of the others. Positions are counted from the tile's first tap, the
  /// first tile's in `inputBegin` and `inputEnd`.
  Value zeros, inputBegin, inputEnd;
  int64_t lanes, tailLanes;
  ProductTypes types;
  Value count, a, aColumn, filter, filterTap;
  Value vectors, tails; ///< whole vectors, and partial ones (0 or 1)
  SmallVector<TileCall::Segment> segments;
  TileOperands operands;

  SmallVector<Value> values() const {
    SmallVector<Value> list{count, a, aColumn, filter, filterTap, vectors};
    if (tailLanes)
      list.push_back(tails);
    if (zeros)
      list.append({zeros, inputBegin, inputEnd});
    for (const TileCall::Segment &segment : segments)
      list.append({segment.count, segment.a, segment.b});
    TileOperands copy = operands;
    copy.forEach([&](Value &value) { list.push_back(value); });
    return list;
  }
};

class DepthwiseBuilder {
public:
  DepthwiseBuilder(CpuKernel &kernel, const Epilogue *epilogue, DepthwiseCall call,
                   OpBuilder &builder, Block &block)
      : kernel(kernel), epilogue(epilogue), call(std::move(call)), builder(builder),
        loc(builder.getUnknownLoc()), address(builder, loc), types(this->call.types),
        inputType(storageType(types.lhs)), filterType(storageType(types.rhs)),
        vectorType(VectorType::get({this->call.lanes}, builder.getF32Type())) {
    auto next = block.args_begin();
    DepthwiseCall &c = this->call;
    for (Value *value : {&c.count, &c.a, &c.aColumn, &c.filter, &c.filterTap, &c.vectors})
      *value = *next++;
    if (c.tailLanes)
      c.tails = *next++;
    if (c.zeros)
      for (Value *value : {&c.zeros, &c.inputBegin, &c.inputEnd})
        *value = *next++;
    for (TileCall::Segment &segment : c.segments)
      for (Value *value : {&segment.count, &segment.a, &segment.b})
        *value = *next++;
    c.operands.forEach([&](Value &value) { value = *next++; });
  }

  void build() {
    Value zero = address.constant(0);
    loop(zero, call.count, [&](Value tile) {
      Value row = address.mul(tile, call.rows);
      Value position = address.mul(row, call.stride);
      Value start = address.offset(call.a, inputType, address.mul(position, call.aColumn));
      if (call.zeros) {
        tileBegin = arith::SubIOp::create(builder, loc, call.inputBegin, position);
        tileSize = arith::SubIOp::create(builder, loc, call.inputEnd, call.inputBegin);
      }
      loop(zero, call.vectors,
           [&](Value vector) { emitVector(start, row, address.mul(vector, call.lanes), Value()); });
      if (!call.tailLanes)
        return;
      Value behind = address.mul(call.vectors, call.lanes);
      loop(zero, call.tails, [&](Value) {
        emitVector(start, row, behind,
                   makeMask(builder, loc,
                            arith::ConstantIndexOp::create(builder, loc, call.tailLanes),
                            call.lanes));
      });
    });
  }

private:
  void loop(Value from, Value to, llvm::function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(builder, loc, from, to, address.constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  /// A vector of `element`s, as f32.
  Value load(Value pointer, Type element, Value mask) {
    auto stored = VectorType::get({call.lanes}, storageType(element));
    unsigned alignment = element.getIntOrFloatBitWidth() / 8;
    Value data;
    if (mask) {
      Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(stored));
      data = LLVM::MaskedLoadOp::create(builder, loc, stored, pointer, mask, none,
                                        builder.getI32IntegerAttr(alignment), UnitAttr());
    } else {
      data = LLVM::LoadOp::create(builder, loc, stored, pointer, alignment);
    }
    if (!types.isInteger())
      return data;
    if (element.isUnsignedInteger())
      return arith::UIToFPOp::create(builder, loc, vectorType, data);
    return arith::SIToFPOp::create(builder, loc, vectorType, data);
  }

  void emitVector(Value start, Value row, Value channel, Value mask) {
    SmallVector<Value> sums(
        call.rows, arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType)));
    this->channel = channel;
    sums = emitSegments(call.segments, address.offset(start, inputType, channel),
                        address.offset(call.filter, filterType, channel), mask, sums);
    if (types.isInteger())
      for (Value &sum : sums)
        sum = arith::FPToSIOp::create(builder, loc, VectorType::get({call.lanes}, types.sum), sum);
    TileOperands at = call.operands;
    auto advance = [&](Value &pointer, Type type, Value stride, bool columnwise) {
      pointer = address.offset(pointer, type, address.mul(row, stride));
      if (columnwise)
        pointer = address.offset(pointer, type, channel);
    };
    for (size_t n = 0; n < at.inputs.size(); ++n)
      advance(at.inputs[n], epilogue->inputType(n), at.inputRows[n],
              epilogue->inputs[n].columnwise());
    for (size_t n = 0; n < at.outputs.size(); ++n)
      advance(at.outputs[n], epilogue ? epilogue->outputType(n) : types.sum, at.outputRows[n],
              true);
    emitRegisterEpilogue(kernel, epilogue, builder, types.sum, {call.rows, 1, call.lanes}, sums, at,
                         mask);
  }

  SmallVector<Value> emitSegments(ArrayRef<TileCall::Segment> segments, Value a, Value filter,
                                  Value mask, SmallVector<Value> sums) {
    if (segments.empty())
      return emitTaps(a, filter, mask, sums);
    TileCall::Segment segment = segments.front();
    auto loop = scf::ForOp::create(builder, loc, address.constant(0), segment.count,
                                   address.constant(1), sums);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value i = loop.getInductionVar();
    SmallVector<Value> next(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    next =
        emitSegments(segments.drop_front(), address.offset(a, inputType, address.mul(i, segment.a)),
                     address.offset(filter, filterType, address.mul(i, segment.b)), mask, next);
    scf::YieldOp::create(builder, loc, next);
    return SmallVector<Value>(loop.getResults().begin(), loop.getResults().end());
  }

  /// A vector of the input, `at` positions behind the tile's first tap.
  Value inputAt(Value a, int64_t at, Value channel) {
    Value pointer = address.offset(a, inputType, address.mul(call.aColumn, at));
    if (!call.zeros)
      return pointer;
    // Unsigned: a position before the input is far behind it.
    Value inside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult,
        arith::SubIOp::create(builder, loc, address.constant(at), tileBegin), tileSize);
    return arith::SelectOp::create(builder, loc, inside, pointer,
                                   address.offset(call.zeros, inputType, channel));
  }

  /// One row of taps, unrolled.
  SmallVector<Value> emitTaps(Value a, Value filter, Value mask, SmallVector<Value> sums) {
    SmallVector<Value> taps;
    for (int64_t tap = 0; tap < call.window; ++tap)
      taps.push_back(load(address.offset(filter, filterType, address.mul(call.filterTap, tap)),
                          types.rhs, mask));
    for (int64_t at = call.low; at < call.high; ++at) {
      Value input;
      for (int64_t row = 0; row < call.rows; ++row) {
        int64_t distance = at - row * call.stride;
        if (distance < 0 || distance % call.dilation != 0 ||
            distance / call.dilation >= call.window)
          continue;
        if (!input)
          input = load(inputAt(a, at, channel), types.lhs, mask);
        sums[row] =
            vector::FMAOp::create(builder, loc, input, taps[distance / call.dilation], sums[row]);
      }
    }
    return sums;
  }

  CpuKernel &kernel;
  const Epilogue *epilogue;
  DepthwiseCall call;
  OpBuilder &builder;
  Location loc;
  Address address;
  ProductTypes types;
  Type inputType, filterType; ///< in memory
  VectorType vectorType;
  Value tileBegin, tileSize; ///< of the input, counted from the tile's first tap
  Value channel;
};

func::FuncOp makeDepthwiseFunction(CpuKernel &kernel, const Epilogue *epilogue,
                                   const DepthwiseCall &call) {
  std::string name =
      llvm::formatv("depthwise_{0}_{1}{2}x{3}_{4}s{5}d{6}_{7}_{8}_{9}_{10}{11}_{12}",
                    call.types.str(), call.rowCount ? "upto" : "", call.rows, call.lanes,
                    call.window, call.stride, call.dilation, call.low, call.high, call.tailLanes,
                    call.segments.size(), call.zeros ? "b" : "", epilogue ? epilogue->key : "raw");
  SmallVector<Type> types(TypeRange{ValueRange(call.values())});
  if (!call.rowCount)
    return kernel.sharedFunction(name, kernel.builder.getFunctionType(types, {}),
                                 [&](OpBuilder &builder, Block &block) {
                                   DepthwiseBuilder(kernel, epilogue, call, builder, block).build();
                                   func::ReturnOp::create(builder, builder.getUnknownLoc());
                                 });
  types.push_back(call.rowCount.getType());
  return kernel.sharedFunction(
      name, kernel.builder.getFunctionType(types, {}), [&](OpBuilder &builder, Block &block) {
        emitRowSwitch(builder, block, call.rows, [&](int64_t rows) {
          DepthwiseCall one = call;
          one.rowCount = Value();
          one.rows = rows;
          one.low = 0;
          one.high = (rows - 1) * call.stride + (call.window - 1) * call.dilation + 1;
          return makeDepthwiseFunction(kernel, epilogue, one);
        });
      });
}

void emitDepthwise(CpuKernel &kernel, const Epilogue *epilogue, const DepthwiseCall &call) {
  SmallVector<Value> values = call.values();
  if (call.rowCount)
    values.push_back(call.rowCount);
  func::CallOp::create(kernel.builder, kernel.loc, makeDepthwiseFunction(kernel, epilogue, call),
                       values);
}

class DepthwiseConvolution {
public:
  DepthwiseConvolution(CpuKernel &kernel, Epilogue epilogue);
  LaunchShape build();

private:
  /// Emits the tiles of one line and one range of channels.
  void emitLine(Value line, Value begin, Value end);
  void emitTiles(DepthwiseCall call, const ConvolutionAxes::Line &line, Value row, Value begin,
                 Value end);
  void emitUnknownTiles(const DepthwiseCall &call, const ConvolutionAxes::Line &line,
                        Value inputLine, Value begin, Value end);
  WorkGrid makeGrid() const;

  CpuKernel &kernel;
  ConvOp conv;
  Epilogue epilogue;
  ConvolutionAxes axes;
  const ConvolutionAxis &last;
  ProductTypes types;
  Type inputType; ///< in memory
  int64_t channels, lanes, elementBytes;
  Value filter, zeros;
  int64_t zerosSize = 0, tileSize = 0; ///< bytes of scratch memory
};

constexpr int64_t kChannelsPerPanel = 64;

DepthwiseConvolution::DepthwiseConvolution(CpuKernel &kernel, Epilogue epilogue)
    : kernel(kernel), conv(cast<ConvOp>(kernel.root)), epilogue(std::move(epilogue)),
      axes(conv, kernel.arguments[cast<BlockArgument>(conv.getInput()).getArgNumber()],
           conv.getChannels()),
      last(axes.last()), types(kernel.root), inputType(storageType(types.lhs)),
      channels(conv.getChannels()), lanes(kernel.caps.lanes(types.sum)),
      elementBytes(inputType.getIntOrFloatBitWidth() / 8),
      filter(kernel.arguments[cast<BlockArgument>(conv.getFilter()).getArgNumber()].memref) {}

WorkGrid DepthwiseConvolution::makeGrid() const {
  SymExpr lines = axes.lines(), panels = llvm::divideCeil(channels, kChannelsPerPanel);
  std::optional<int64_t> constLines = lines.asConstant(), output = last.output.asConstant();
  if (!constLines || !output) {
    // Channels of a panel count as eight operations per tap.
    SymExpr cells = lines * last.output * panels;
    return WorkGrid(lines, panels,
                    {cells * (8 * axes.taps() * kChannelsPerPanel),
                     cells * (elementBytes * (last.stride + 1) * kChannelsPerPanel)},
                    false);
  }
  double lineBytes = 4.0 * *output * (last.stride + 1) * kChannelsPerPanel;
  return WorkGrid(*constLines, *panels.asConstant(),
                  estimateMicros(8.0 * *output * axes.taps() * kChannelsPerPanel, lineBytes),
                  false);
}

LaunchShape DepthwiseConvolution::build() {
  if (!axes.hasConstantRows()) {
    int64_t elements = llvm::alignTo(channels, lanes);
    zerosSize = llvm::alignTo(elements * elementBytes, 64);
    zeros = emitZeros(kernel, kernel.scratchView(0, inputType, elements), inputType, elements);
  }
  WorkGrid grid = makeGrid();
  emitUnits(kernel, grid, [&](IndexRange lines, IndexRange panels) {
    Value begin = mulIndex(kernel, panels.begin, kChannelsPerPanel);
    Value end = arith::MinUIOp::create(kernel.builder, kernel.loc,
                                       mulIndex(kernel, panels.end, kChannelsPerPanel),
                                       kernel.index(channels));
    emitFor(kernel, lines, 1, [&](Value line) { emitLine(line, begin, end); });
  });
  return LaunchShape{grid.units(), 1, static_cast<uint64_t>(zerosSize + tileSize)};
}

void DepthwiseConvolution::emitLine(Value index, Value begin, Value end) {
  Address address(kernel.builder, kernel.loc);
  ConvolutionAxes::Line line = axes.emitLine(kernel, index);
  DepthwiseCall call;
  call.window = last.window, call.stride = last.stride, call.dilation = last.dilation;
  call.lanes = lanes, call.tailLanes = channels % lanes, call.types = types;
  call.aColumn = address.size(kernel, last.inputStride);
  call.filterTap = address.constant(channels);
  call.segments = line.segments;
  Value channel = address.fromIndex(begin);
  Value range = subIndex(kernel, end, begin);
  call.vectors = address.fromIndex(divIndex(kernel, range, lanes));
  if (call.tailLanes)
    call.tails = address.fromIndex(
        divIndex(kernel, addIndex(kernel, remIndex(kernel, range, lanes), kernel.index(lanes - 1)),
                 lanes));
  call.filter = address.offset(address.ofMemref(filter), storageType(types.rhs),
                               address.add(line.filterOffset, channel));
  Value inputLine = address.offset(address.ofMemref(axes.input.memref), inputType,
                                   address.add(line.inputOffset, channel));
  if (!axes.hasConstantRows())
    return emitUnknownTiles(call, line, inputLine, begin, end);

  // Sums, the taps of a row and one input vector.
  int64_t most = std::clamp<int64_t>(kernel.caps.numRegisters - last.window - 2, 1, 14);
  for (const ConvolutionRun &run : axes.runs(RowSplit(last.output, most))) {
    call.rows = run.tileRows;
    int64_t start = last.start(run.begin);
    int64_t reach = (run.tileRows - 1) * last.stride + last.extent();
    call.low = std::max<int64_t>(-start, 0);
    call.high = std::min(*last.input.asConstant() - start, reach);
    call.a = address.offset(inputLine, inputType, address.size(kernel, last.inputStride * start));
    call.count = address.constant(run.count);
    emitTiles(call, line, kernel.index(run.begin), begin, end);
  }
}

/// Tiles of any height up to 8. Those that may have taps outside of the input find
/// out as they run.
void DepthwiseConvolution::emitUnknownTiles(const DepthwiseCall &call,
                                            const ConvolutionAxes::Line &line, Value inputLine,
                                            Value begin, Value end) {
  Address address(kernel.builder, kernel.loc);
  int64_t most = std::clamp<int64_t>(kernel.caps.numRegisters - last.window - 2, 1, 8);
  RowSplit split(last.output, most);
  axes.emitRuns(kernel, split, kernel.index(0), kernel.value(split.blocks),
                [&](const SymExpr &rows, Value row, Value count, bool border) {
                  DepthwiseCall tiles = call;
                  tiles.rows = most;
                  tiles.rowCount = address.size(kernel, rows);
                  Value start = address.add(address.mul(address.fromIndex(row), last.stride),
                                            address.constant(-last.padLow));
                  tiles.a = address.offset(inputLine, inputType, address.mul(start, call.aColumn));
                  tiles.count = address.fromIndex(count);
                  if (border) {
                    tiles.zeros = zeros;
                    tiles.inputBegin = arith::SubIOp::create(kernel.builder, kernel.loc,
                                                             address.constant(0), start);
                    tiles.inputEnd = arith::SubIOp::create(kernel.builder, kernel.loc,
                                                           address.size(kernel, last.input), start);
                  }
                  emitTiles(tiles, line, row, begin, end);
                });
}

void DepthwiseConvolution::emitTiles(DepthwiseCall call, const ConvolutionAxes::Line &line,
                                     Value row, Value begin, Value end) {
  Address address(kernel.builder, kernel.loc);
  int64_t rowDim = axes.rank() - 2;
  if (epilogue.inRegisters) {
    call.operands = epilogue.locate(kernel, line.outer, row, begin, rowDim);
    return emitDepthwise(kernel, &epilogue, call);
  }
  // One tile at a time through scratch memory.
  int64_t rowStride = llvm::alignTo(channels, lanes);
  int64_t elements = call.rows * rowStride;
  tileSize = std::max<int64_t>(tileSize, elements * types.sum.getIntOrFloatBitWidth() / 8);
  Value memory = kernel.scratchView(zerosSize, types.sum, elements);
  Value count = Address(kernel.builder, kernel.loc).toIndex(call.count);
  emitFor(kernel, {kernel.index(0), count}, 1, [&](Value tile) {
    Address address(kernel.builder, kernel.loc);
    DepthwiseCall one = call;
    Value rows = call.rowCount ? address.toIndex(call.rowCount) : kernel.index(call.rows);
    Value first = kernel.builder.createOrFold<arith::MulIOp>(kernel.loc, tile, rows);
    Value position = address.mul(address.fromIndex(first), last.stride);
    one.count = address.constant(1);
    one.a = address.offset(call.a, inputType, address.mul(position, call.aColumn));
    if (call.zeros) {
      one.inputBegin = arith::SubIOp::create(kernel.builder, kernel.loc, call.inputBegin, position);
      one.inputEnd = arith::SubIOp::create(kernel.builder, kernel.loc, call.inputEnd, position);
    }
    one.operands.outputs = {address.ofMemref(memory)};
    one.operands.outputRows = {address.constant(rowStride)};
    emitDepthwise(kernel, nullptr, one);
    RawTile raw{memory, rows, rowStride, lanes, begin, end, channels, kernel.index(0)};
    emitLoopEpilogue(kernel, raw, line.outer, addIndex(kernel, row, first), rowDim);
  });
}

} // namespace

FailureOr<LaunchShape> cpu::buildDepthwise(CpuKernel &kernel) {
  FailureOr<Epilogue> epilogue = Epilogue::analyze(kernel);
  if (failed(epilogue))
    return failure();
  return DepthwiseConvolution(kernel, *epilogue).build();
}
