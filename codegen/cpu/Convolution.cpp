//===- Convolution.cpp - channels-last convolution on the CPU -------------===//
//
// Direct convolution by the micro-kernel of matrix products: a tile's rows are
// neighbours in an output row, the taps of the window are segments of its depth.
// Taps that fall into the padding above and below are left out; those to the
// left and right are left out, too, or read zeros in the tiles at the border.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/ConvolutionAxes.h"
#include "codegen/cpu/MatrixProduct.h"
#include "codegen/cpu/ProductNest.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

namespace {

class DirectConvolution {
public:
  DirectConvolution(CpuKernel &kernel, const Access &input, Value filter, Epilogue epilogue);
  LaunchShape build();

private:
  void emitLine(const ProductNest::Place &place);
  /// Emits `count` (i64) tiles of `rows` rows, beginning at row `row` of the line.
  void emitTiles(const ProductNest::Place &place, const ConvolutionAxes::Line &line,
                 const SymExpr &rows, Value row, Value count, bool border);

  CpuKernel &kernel;
  ConvOp conv;
  Value filter;
  ProductTypes types;
  Type lhsType;     ///< in memory
  int64_t channels; ///< of a group
  int64_t tapSize;  ///< of a panel, in sums
  ConvolutionAxes axes;
  ProductNest nest;
  Value zeros;
};

DirectConvolution::DirectConvolution(CpuKernel &kernel, const Access &input, Value filter,
                                     Epilogue epilogue)
    : kernel(kernel), conv(cast<ConvOp>(kernel.root)), filter(filter), types(kernel.root),
      lhsType(storageType(types.lhs)), channels(conv.getChannels() / conv.getGroups()),
      tapSize(*types.panelSize(channels).asConstant()), axes(conv, input, tapSize),
      nest(kernel, std::move(epilogue)) {
  nest.groups = conv.getGroups();
  nest.columns = nest.columnsOfGroup = conv.getOutputChannels() / conv.getGroups();
  nest.depth = axes.taps() * channels;
  nest.partialRows = channels % types.group();
  nest.lines = axes.lines();
  nest.rows = axes.last().output;
  nest.rowDim = axes.rank() - 2;
  nest.hasManyRows = axes.rank() > 3;
  if (!axes.hasConstantRows() && axes.rank() == 3) {
    // One long row.
    nest.chunks = rowChunks(nest.rows, /*bounded=*/false);
    nest.lines *= nest.chunks;
  }
  // Sums of rows of unknown length have no place in scratch memory.
  if (axes.hasConstantRows() && axes.rank() > 3 && axes.first().window > 1 &&
      nest.wantedDepthBlocks() > 1)
    nest.depthBlocks = axes.first().window;
  // Networks shrink images as they add channels.
  constexpr int64_t kTypicalElements = 1 << 18;
  nest.panelsFirst = axes.taps() * channels * conv.getOutputChannels() >
                     product(sizesOf(input.type)).asConstant().value_or(kTypicalElements);
}

void DirectConvolution::emitTiles(const ProductNest::Place &place,
                                  const ConvolutionAxes::Line &line, const SymExpr &rows,
                                  Value row, Value count, bool border) {
  Address address(kernel.builder, kernel.loc);
  const ConvolutionAxis &axis = axes.last();
  // Taps of a row and their channels are neighbours in the input as in the
  // panel, so that they make one long loop.
  bool merged =
      axis.dilation == 1 && axis.inputStride == SymExpr(channels) && nest.partialRows == 0;
  TileCall call;
  nest.setRows(call, place, rows);
  call.count = count;
  Value start = address.add(address.mul(address.fromIndex(row), axis.stride),
                            address.constant(-axis.padLow));
  call.a = address.offset(
      address.ofMemref(axes.input.memref), lhsType,
      address.add(line.inputOffset, address.mul(start, address.size(kernel, axis.inputStride))));
  call.aRow = address.size(kernel, axis.inputStride * axis.stride);
  call.segments = line.segments;
  if (merged && !border) {
    call.depth = address.constant(axis.window * channels);
  } else {
    call.depth = address.constant(channels);
    call.segments.push_back({address.constant(axis.window),
                             address.size(kernel, axis.inputStride * axis.dilation),
                             address.constant(axis.tapStride)});
  }
  if (border) {
    call.zeros = zeros;
    call.position = start;
    call.positionRow = address.constant(axis.stride);
    call.positionStep = address.constant(axis.dilation);
    call.positionEnd = address.size(kernel, axis.input);
  }
  nest.emitTiles(call, place, line.outer, row, row);
}

void DirectConvolution::emitLine(const ProductNest::Place &place) {
  Address address(kernel.builder, kernel.loc);
  ConvolutionAxes::Line line =
      axes.emitLine(kernel, divIndex(kernel, place.line, nest.chunks),
                    place.block ? address.fromIndex(place.block) : Value());
  if (nest.groups != SymExpr(1))
    line.inputOffset =
        address.add(line.inputOffset, address.mul(address.fromIndex(place.group), channels));
  ProductNest::Place at = place;
  at.b = address.offset(place.b, types.sum, line.filterOffset);

  RowSplit split = nest.split(place.tile);
  if (axes.hasConstantRows()) {
    for (const ConvolutionRun &run : axes.runs(split))
      emitTiles(at, line, run.tileRows, kernel.index(run.begin), address.constant(run.count),
                run.border);
    return;
  }

  Value chunk = remIndex(kernel, place.line, nest.chunks);
  auto blockOf = [&](Value chunk) {
    return divIndex(kernel, mulIndex(kernel, chunk, split.blocks), nest.chunks);
  };
  Value begin = blockOf(chunk), end = blockOf(addIndex(kernel, chunk, kernel.index(1)));
  axes.emitRuns(kernel, split, begin, end,
                [&](const SymExpr &rows, Value row, Value count, bool border) {
                  emitTiles(at, line, rows, row, address.fromIndex(count), border);
                });
}

LaunchShape DirectConvolution::build() {
  if (!axes.last().inside()) {
    int64_t bytes = channels * lhsType.getIntOrFloatBitWidth() / 8;
    zeros = emitZeros(kernel, kernel.scratchView(nest.reserve(bytes), lhsType, channels), lhsType,
                      channels);
  }
  return nest.emit(
      [&](Value index, Value) {
        Address address(kernel.builder, kernel.loc);
        return address.offset(address.ofMemref(filter), types.sum,
                              address.mul(address.fromIndex(index), axes.taps() * tapSize));
      },
      [&](const ProductNest::Place &place) { emitLine(place); });
}

} // namespace

/// Whether the sums of a depthwise convolution are exact in f32, as far as they have to.
static bool hasExactSums(ConvOp conv) {
  constexpr int64_t kMostTaps = (1 << 24) / (255 * 255);
  return !ProductTypes(conv).isInteger() ||
         ShapedType::getNumElements(conv.getWindow()) <= kMostTaps;
}

FailureOr<LaunchShape> cpu::buildConvolution(CpuKernel &kernel) {
  auto conv = cast<ConvOp>(kernel.root);
  auto resultType = cast<RankedTensorType>(conv.getType());
  auto argument = dyn_cast<BlockArgument>(conv.getInput());
  auto filterArgument = dyn_cast<BlockArgument>(conv.getFilter());
  if (!conv.getPacked() || !argument || !filterArgument || conv.getWindow().empty() ||
      ShapedType::isDynamic(conv.getChannels()) ||
      ShapedType::isDynamic(conv.getOutputChannels()) ||
      llvm::is_contained(resultType.getShape(), 0) || !ProductTypes(kernel.root).isSupported())
    return buildGenericConvolution(kernel);
  const Access &input = kernel.arguments[argument.getArgNumber()];
  Value filter = kernel.arguments[filterArgument.getArgNumber()].memref;
  if (input.strides.back() != SymExpr(1))
    return buildGenericConvolution(kernel);
  if (conv.isDepthwise())
    return hasExactSums(conv) ? buildDepthwise(kernel) : buildGenericConvolution(kernel);

  auto isOne = [](int64_t size) { return size == 1; };
  auto isZero = [](int64_t size) { return size == 0; };
  if (llvm::all_of(conv.getWindow(), isOne) && llvm::all_of(conv.getPadLow(), isZero) &&
      llvm::all_of(conv.getPadHigh(), isZero)) {
    MatrixProduct product;
    product.lhs = input.memref;
    product.lhsStrides = {input.strides.front()};
    for (auto [i, stride] : llvm::enumerate(conv.getStrides()))
      product.lhsStrides.push_back(input.strides[i + 1] * stride);
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
