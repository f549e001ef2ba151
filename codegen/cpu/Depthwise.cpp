//===- Depthwise.cpp - depthwise convolution on the CPU -------------------===//
//
// Vectors run over channels, the rows of a tile are neighbours in an output row.
// Along that row an input vector is loaded once and multiplied by every tap that
// meets it; taps outside the input are left out when the code is made, as the
// few tiles at the border have code of their own.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/ConvolutionAxes.h"
#include "codegen/cpu/MatrixProduct.h"
#include "codegen/cpu/Nest.h"
#include "codegen/cpu/ProductNest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

namespace {

/// One call: `count` tiles, one behind the other, over a range of channels. All
/// values are i64 or pointers, strides in elements.
struct DepthwiseCall {
  int64_t rows, window, stride, dilation;
  int64_t low, high; ///< input positions from the tile's first tap that exist
  int64_t lanes, tailLanes;
  Type type;
  Value count, a, aColumn, filter, filterTap;
  Value vectors, tails; ///< whole vectors, and partial ones (0 or 1)
  SmallVector<TileCall::Segment> segments;
  TileOperands operands;

  SmallVector<Value> values() const {
    SmallVector<Value> list{count, a, aColumn, filter, filterTap, vectors};
    if (tailLanes)
      list.push_back(tails);
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
        loc(builder.getUnknownLoc()), address(builder, loc),
        vectorType(VectorType::get({this->call.lanes}, this->call.type)) {
    auto next = block.args_begin();
    DepthwiseCall &c = this->call;
    for (Value *value : {&c.count, &c.a, &c.aColumn, &c.filter, &c.filterTap, &c.vectors})
      *value = *next++;
    if (c.tailLanes)
      c.tails = *next++;
    for (TileCall::Segment &segment : c.segments)
      for (Value *value : {&segment.count, &segment.a, &segment.b})
        *value = *next++;
    c.operands.forEach([&](Value &value) { value = *next++; });
  }

  void build() {
    Value zero = address.constant(0);
    loop(zero, call.count, [&](Value tile) {
      Value row = address.mul(tile, call.rows);
      Value start = address.offset(call.a, call.type,
                                   address.mul(address.mul(row, call.stride), call.aColumn));
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

  Value load(Value pointer, Value mask) {
    unsigned alignment = call.type.getIntOrFloatBitWidth() / 8;
    if (!mask)
      return LLVM::LoadOp::create(builder, loc, vectorType, pointer, alignment);
    Value none = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    return LLVM::MaskedLoadOp::create(builder, loc, vectorType, pointer, mask, none,
                                      builder.getI32IntegerAttr(alignment), UnitAttr());
  }

  void emitVector(Value start, Value row, Value channel, Value mask) {
    SmallVector<Value> sums(
        call.rows, arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType)));
    sums = emitSegments(call.segments, address.offset(start, call.type, channel),
                        address.offset(call.filter, call.type, channel), mask, sums);
    TileOperands at = call.operands;
    auto advance = [&](Value &pointer, Value stride, bool columnwise) {
      pointer = address.offset(pointer, call.type, address.mul(row, stride));
      if (columnwise)
        pointer = address.offset(pointer, call.type, channel);
    };
    for (size_t n = 0; n < at.inputs.size(); ++n)
      advance(at.inputs[n], at.inputRows[n], epilogue->inputs[n].columnwise());
    for (size_t n = 0; n < at.outputs.size(); ++n)
      advance(at.outputs[n], at.outputRows[n], true);
    emitRegisterEpilogue(kernel, epilogue, builder, call.type, {call.rows, 1, call.lanes}, sums, at,
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
        emitSegments(segments.drop_front(), address.offset(a, call.type, address.mul(i, segment.a)),
                     address.offset(filter, call.type, address.mul(i, segment.b)), mask, next);
    scf::YieldOp::create(builder, loc, next);
    return SmallVector<Value>(loop.getResults().begin(), loop.getResults().end());
  }

  /// One row of taps, unrolled.
  SmallVector<Value> emitTaps(Value a, Value filter, Value mask, SmallVector<Value> sums) {
    SmallVector<Value> taps;
    for (int64_t tap = 0; tap < call.window; ++tap)
      taps.push_back(
          load(address.offset(filter, call.type, address.mul(call.filterTap, tap)), mask));
    for (int64_t at = call.low; at < call.high; ++at) {
      Value input;
      for (int64_t row = 0; row < call.rows; ++row) {
        int64_t distance = at - row * call.stride;
        if (distance < 0 || distance % call.dilation != 0 ||
            distance / call.dilation >= call.window)
          continue;
        if (!input)
          input = load(address.offset(a, call.type, address.mul(call.aColumn, at)), mask);
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
  VectorType vectorType;
};

void emitDepthwise(CpuKernel &kernel, const Epilogue *epilogue, const DepthwiseCall &call) {
  std::string name =
      llvm::formatv("depthwise_{0}_{1}x{2}_{3}s{4}d{5}_{6}_{7}_{8}_{9}_{10}", call.type, call.rows,
                    call.lanes, call.window, call.stride, call.dilation, call.low, call.high,
                    call.tailLanes, call.segments.size(), epilogue ? epilogue->key : "raw");
  SmallVector<Value> values = call.values();
  auto function =
      kernel.sharedFunction(name, kernel.builder.getFunctionType(TypeRange(ValueRange(values)), {}),
                            [&](OpBuilder &builder, Block &block) {
                              DepthwiseBuilder(kernel, epilogue, call, builder, block).build();
                              func::ReturnOp::create(builder, builder.getUnknownLoc());
                            });
  func::CallOp::create(kernel.builder, kernel.loc, function, values);
}

} // namespace

FailureOr<LaunchShape> cpu::buildDepthwise(CpuKernel &kernel) {
  auto conv = cast<ConvOp>(kernel.root);
  FailureOr<Epilogue> epilogue = Epilogue::analyze(kernel);
  if (failed(epilogue))
    return failure();
  ConvolutionAxes axes(conv, kernel.arguments[cast<BlockArgument>(conv.getInput()).getArgNumber()],
                       conv.getChannels());
  const Access &input = axes.input;
  Value filter = kernel.arguments[cast<BlockArgument>(conv.getFilter()).getArgNumber()].memref;
  Type type = input.type.getElementType();
  int64_t channels = conv.getChannels(), lanes = kernel.caps.lanes(type);
  const ConvolutionAxis &last = axes.last();
  // Sums, the taps of a row and one input vector.
  int64_t most = std::clamp<int64_t>(kernel.caps.numRegisters - last.window - 2, 1, 14);
  RowSplit split(last.output, most);

  constexpr int64_t kChannelsPerPanel = 64;
  double lineBytes = 4.0 * last.output * (last.stride + 1) * kChannelsPerPanel;
  WorkGrid grid(axes.lines(), llvm::divideCeil(channels, kChannelsPerPanel),
                estimateMicros(8.0 * last.output * axes.taps() * kChannelsPerPanel, lineBytes),
                false);
  uint64_t scratchSize = 0;
  emitUnits(kernel, grid, [&](IndexRange lines, IndexRange panels) {
    Value begin = mulIndex(kernel, panels.begin, kChannelsPerPanel);
    Value end = arith::MinUIOp::create(kernel.builder, kernel.loc,
                                       mulIndex(kernel, panels.end, kChannelsPerPanel),
                                       kernel.index(channels));
    emitFor(kernel, lines, 1, [&](Value line) {
      Address address(kernel.builder, kernel.loc);
      ConvolutionAxes::Line at = axes.emitLine(kernel, line);
      DepthwiseCall call;
      call.window = last.window, call.stride = last.stride, call.dilation = last.dilation;
      call.lanes = lanes, call.tailLanes = channels % lanes, call.type = type;
      call.aColumn = address.constant(last.inputStride);
      call.filterTap = address.constant(channels);
      call.segments = at.segments;
      Value channel = address.fromIndex(begin);
      Value range = kernel.builder.createOrFold<arith::SubIOp>(kernel.loc, end, begin);
      call.vectors = address.fromIndex(divIndex(kernel, range, lanes));
      if (call.tailLanes)
        call.tails = address.fromIndex(arith::CeilDivUIOp::create(
            kernel.builder, kernel.loc, remIndex(kernel, range, lanes), kernel.index(lanes)));
      call.filter =
          address.offset(address.ofMemref(filter), type, address.add(at.filterOffset, channel));
      Value inputLine = address.offset(address.ofMemref(input.memref), type,
                                       address.add(at.inputOffset, channel));

      for (const ConvolutionRun &run : axes.runs(split)) {
        call.rows = run.tileRows;
        int64_t start = last.start(run.begin);
        int64_t reach = (run.tileRows - 1) * last.stride + (last.window - 1) * last.dilation + 1;
        call.low = std::max<int64_t>(-start, 0);
        call.high = std::min(last.input - start, reach);
        call.a = address.offset(inputLine, type, address.constant(start * last.inputStride));
        Value row = kernel.index(run.begin);
        int64_t rowDim = axes.rank() - 2;
        if (epilogue->inRegisters) {
          call.count = address.constant(run.count);
          call.operands = epilogue->locate(kernel, at.outer, row, begin, rowDim);
          emitDepthwise(kernel, &*epilogue, call);
          continue;
        }
        // One tile at a time through scratch memory.
        int64_t rowStride = llvm::alignTo(channels, lanes);
        int64_t elements = run.tileRows * rowStride;
        scratchSize = std::max<uint64_t>(scratchSize, elements * type.getIntOrFloatBitWidth() / 8);
        Value memory = kernel.scratchView(0, type, elements);
        emitFor(kernel, {kernel.index(0), kernel.index(run.count)}, 1, [&](Value tile) {
          Address address(kernel.builder, kernel.loc);
          DepthwiseCall one = call;
          Value first = mulIndex(kernel, tile, run.tileRows);
          one.count = address.constant(1);
          one.a = address.offset(
              call.a, type, address.mul(address.fromIndex(first), last.stride * last.inputStride));
          one.operands.outputs = {address.ofMemref(memory)};
          one.operands.outputRows = {address.constant(rowStride)};
          emitDepthwise(kernel, nullptr, one);
          RawTile raw{memory, run.tileRows, rowStride, lanes,
                      begin,  end,          channels,  kernel.index(0)};
          emitLoopEpilogue(kernel, raw, at.outer, addIndex(kernel, row, first), rowDim);
        });
      }
    });
  });
  return LaunchShape{grid.units(), 1, scratchSize};
}
