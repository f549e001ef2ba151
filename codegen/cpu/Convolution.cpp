//===- Convolution.cpp - channels-last convolution on the CPU -------------===//
//
// Direct convolution by the micro-kernel of matrix products: a tile's rows are
// neighbours in an output row, the taps of the window are segments of its depth.
// Taps that fall into the padding above and below are left out; those to the
// left and right are left out, too, or read zeros in the tiles at the border.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/MatrixProduct.h"
#include "codegen/cpu/ProductNest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

namespace {

/// One spatial dimension.
struct Axis {
  int64_t input, output, window, stride, dilation, padLow;
  int64_t inputStride; ///< elements
  int64_t tapStride;   ///< rows of the packed panel, in channels

  int64_t start(int64_t at) const { return at * stride - padLow; }
  /// Whether all taps lie inside the input for output positions [begin, end).
  bool inside(int64_t begin, int64_t end) const {
    return begin >= end || (start(begin) >= 0 && start(end - 1) + (window - 1) * dilation < input);
  }
};

/// A run of equal tiles in an output row.
struct Run {
  int64_t begin, tileRows, count;
  bool border;
};

class DirectConvolution {
public:
  DirectConvolution(CpuKernel &kernel, const Access &input, Value filter, Epilogue epilogue);
  LaunchShape build();

private:
  SmallVector<Run> runsOf(const Tile &tile) const;
  void emitLine(const ProductNest::Place &place);

  CpuKernel &kernel;
  ConvOp conv;
  const Access &input;
  Value filter;
  Type type;
  SmallVector<Axis> axes;
  int64_t channels; ///< of a group
  ProductNest nest;
  Value zeros;
};

DirectConvolution::DirectConvolution(CpuKernel &kernel, const Access &input, Value filter,
                                     Epilogue epilogue)
    : kernel(kernel), conv(cast<ConvOp>(kernel.root)), input(input), filter(filter),
      type(input.type.getElementType()), channels(conv.getChannels() / conv.getGroups()),
      nest(kernel, std::move(epilogue), type) {
  auto shape = cast<RankedTensorType>(conv.getType()).getShape();
  for (size_t i = 0; i < conv.getWindow().size(); ++i)
    axes.push_back({input.type.getShape()[i + 1], shape[i + 1], conv.getWindow()[i],
                    conv.getStrides()[i], conv.getDilations()[i], conv.getPadLow()[i],
                    input.strides[i + 1], 0});
  int64_t tapStride = channels;
  for (Axis &axis : llvm::reverse(axes)) {
    axis.tapStride = tapStride;
    tapStride *= axis.window;
  }
  nest.groups = conv.getGroups();
  nest.columns = nest.columnsOfGroup = shape.back() / nest.groups;
  nest.depth = tapStride;
  nest.lines = shape.front();
  for (const Axis &axis : ArrayRef(axes).drop_back())
    nest.lines *= axis.output;
  nest.rowsPerLine = axes.back().output;
  nest.rowDim = shape.size() - 2;
  nest.panelsFirst = nest.depth * shape.back() > input.type.getNumElements();
}

SmallVector<Run> DirectConvolution::runsOf(const Tile &tile) const {
  const Axis &axis = axes.back();
  RowSplit split = nest.split(tile);
  SmallVector<Run> runs;
  int64_t begin = 0;
  for (int64_t block = 0; block < split.blocks; ++block) {
    int64_t rows = split.rows + (block < split.larger);
    bool border = !axis.inside(begin, begin + rows);
    if (!runs.empty() && runs.back().tileRows == rows && runs.back().border == border)
      ++runs.back().count;
    else
      runs.push_back({begin, rows, 1, border});
    begin += rows;
  }
  return runs;
}

void DirectConvolution::emitLine(const ProductNest::Place &place) {
  Address address(kernel.builder, kernel.loc);
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  SmallVector<int64_t> lineShape{cast<RankedTensorType>(conv.getType()).getShape().front()};
  for (const Axis &axis : ArrayRef(axes).drop_back())
    lineShape.push_back(axis.output);
  SmallVector<Value> outer = delinearize(kernel, place.line, lineShape);

  // What is the same for all tiles of the line: where it starts, and which taps
  // of the outer axes are inside.
  Value aOffset = address.mul(address.fromIndex(outer[0]), input.strides[0]);
  if (nest.groups > 1)
    aOffset = address.add(aOffset, address.mul(address.fromIndex(place.group), channels));
  Value bOffset = address.constant(0);
  SmallVector<TileCall::Segment> segments;
  for (auto [i, axis] : llvm::enumerate(ArrayRef(axes).drop_back())) {
    Value start = address.add(address.mul(address.fromIndex(outer[i + 1]), axis.stride),
                              address.constant(-axis.padLow));
    Value first = address.constant(0), count = address.constant(axis.window);
    if (!axis.inside(0, axis.output)) {
      // The number of taps k with k * dilation < distance.
      auto tapsBelow = [&](Value distance) -> Value {
        distance = arith::MaxSIOp::create(builder, loc, distance, address.constant(0));
        if (axis.dilation > 1)
          distance = arith::DivUIOp::create(
              builder, loc, address.add(distance, address.constant(axis.dilation - 1)),
              address.constant(axis.dilation));
        return arith::MinSIOp::create(builder, loc, distance, address.constant(axis.window));
      };
      Value zero = address.constant(0);
      first = tapsBelow(arith::SubIOp::create(builder, loc, zero, start));
      Value last =
          tapsBelow(arith::SubIOp::create(builder, loc, address.constant(axis.input), start));
      count = arith::SubIOp::create(builder, loc, arith::MaxSIOp::create(builder, loc, last, first),
                                    first);
    }
    Value position = address.add(start, address.mul(first, axis.dilation));
    aOffset = address.add(aOffset, address.mul(position, axis.inputStride));
    bOffset = address.add(bOffset, address.mul(first, axis.tapStride * kPanelColumns));
    if (axis.window > 1 || axis.padLow != 0 || !axis.inside(0, axis.output))
      segments.push_back({count, address.constant(axis.dilation * axis.inputStride),
                          address.constant(axis.tapStride * kPanelColumns)});
  }
  Value aLine = address.ofMemref(input.memref);
  ProductNest::Place at = place;
  at.b = address.offset(place.b, type, bOffset);

  const Axis &axis = axes.back();
  // Taps of a row and their channels are neighbours in the input as in the
  // panel, so that they make one long loop.
  bool merged = axis.dilation == 1 && axis.inputStride == channels;
  for (const Run &run : runsOf(place.tile)) {
    TileCall call;
    call.tile.rows = run.tileRows;
    call.count = address.constant(run.count);
    call.a = address.offset(
        aLine, type,
        address.add(aOffset, address.constant(axis.start(run.begin) * axis.inputStride)));
    call.aRow = address.constant(axis.stride * axis.inputStride);
    call.segments = segments;
    if (merged && !run.border) {
      call.depth = address.constant(axis.window * channels);
    } else {
      call.depth = address.constant(channels);
      call.segments.push_back({address.constant(axis.window),
                               address.constant(axis.dilation * axis.inputStride),
                               address.constant(channels * kPanelColumns)});
    }
    if (run.border) {
      call.zeros = zeros;
      call.position = address.constant(axis.start(run.begin));
      call.positionRow = address.constant(axis.stride);
      call.positionStep = address.constant(axis.dilation);
      call.positionEnd = address.constant(axis.input);
    }
    nest.emitTiles(call, at, outer, kernel.index(run.begin));
  }
}

LaunchShape DirectConvolution::build() {
  const Axis &axis = axes.back();
  if (!axis.inside(0, axis.output)) {
    Value memory = kernel.scratchView(nest.reserve(channels * type.getIntOrFloatBitWidth() / 8),
                                      type, channels);
    Value zero =
        arith::ConstantOp::create(kernel.builder, kernel.loc, kernel.builder.getZeroAttr(type));
    emitFor(kernel, {kernel.index(0), kernel.index(channels)}, 1, [&](Value i) {
      memref::StoreOp::create(kernel.builder, kernel.loc, zero, memory, ValueRange{i});
    });
    zeros = Address(kernel.builder, kernel.loc).ofMemref(memory);
  }
  return nest.emit(
      [&](Value index, Value) {
        Address address(kernel.builder, kernel.loc);
        return address.offset(address.ofMemref(filter), type,
                              address.mul(address.fromIndex(index), nest.depth * kPanelColumns));
      },
      [&](const ProductNest::Place &place) { emitLine(place); });
}

} // namespace

FailureOr<LaunchShape> cpu::buildConvolution(CpuKernel &kernel) {
  auto conv = cast<ConvOp>(kernel.root);
  auto resultType = cast<RankedTensorType>(conv.getType());
  auto argument = dyn_cast<BlockArgument>(conv.getInput());
  auto filterArgument = dyn_cast<BlockArgument>(conv.getFilter());
  if (!conv.getPacked() || !argument || !filterArgument || conv.getWindow().empty() ||
      resultType.getNumElements() == 0 || !resultType.getElementType().isF32())
    return buildGenericConvolution(kernel);
  const Access &input = kernel.arguments[argument.getArgNumber()];
  Value filter = kernel.arguments[filterArgument.getArgNumber()].memref;
  if (input.strides.back() != 1)
    return buildGenericConvolution(kernel);
  if (conv.isDepthwise())
    return buildDepthwise(kernel);

  auto isOne = [](int64_t size) { return size == 1; };
  auto isZero = [](int64_t size) { return size == 0; };
  if (llvm::all_of(conv.getWindow(), isOne) && llvm::all_of(conv.getPadLow(), isZero) &&
      llvm::all_of(conv.getPadHigh(), isZero)) {
    MatrixProduct product;
    product.lhs = input.memref;
    product.lhsStrides = {input.strides.front()};
    for (auto [i, stride] : llvm::enumerate(conv.getStrides()))
      product.lhsStrides.push_back(stride * input.strides[i + 1]);
    product.depth = product.lhsOfGroup = conv.getChannels() / conv.getGroups();
    product.groups = conv.getGroups();
    product.packed = filter;
    return buildMatrixProduct(kernel, product);
  }
  FailureOr<Epilogue> epilogue = Epilogue::analyze(kernel);
  if (failed(epilogue))
    return failure();
  return DirectConvolution(kernel, input, filter, *epilogue).build();
}
