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

  CpuKernel &kernel;
  ConvOp conv;
  Value filter;
  Type type;
  int64_t channels; ///< of a group
  ConvolutionAxes axes;
  ProductNest nest;
  Value zeros;
};

DirectConvolution::DirectConvolution(CpuKernel &kernel, const Access &input, Value filter,
                                     Epilogue epilogue)
    : kernel(kernel), conv(cast<ConvOp>(kernel.root)), filter(filter),
      type(input.type.getElementType()), channels(conv.getChannels() / conv.getGroups()),
      axes(conv, input, channels * kPanelColumns), nest(kernel, std::move(epilogue), type) {
  nest.groups = conv.getGroups();
  nest.columns = nest.columnsOfGroup = conv.getOutputChannels() / nest.groups;
  nest.depth = axes.taps() * channels;
  nest.lines = axes.lines();
  nest.rows = axes.last().output;
  nest.rowDim = axes.rank() - 2;
  if (axes.rank() > 3 && axes.first().window > 1 && nest.wantedDepthBlocks() > 1)
    nest.depthBlocks = axes.first().window;
  nest.panelsFirst = nest.depth * conv.getOutputChannels() > input.type.getNumElements();
}

void DirectConvolution::emitLine(const ProductNest::Place &place) {
  Address address(kernel.builder, kernel.loc);
  ConvolutionAxes::Line line =
      axes.emitLine(kernel, place.line, place.block ? address.fromIndex(place.block) : Value());
  if (nest.groups > 1)
    line.inputOffset =
        address.add(line.inputOffset, address.mul(address.fromIndex(place.group), channels));
  ProductNest::Place at = place;
  at.b = address.offset(place.b, type, line.filterOffset);

  const ConvolutionAxis &axis = axes.last();
  // Taps of a row and their channels are neighbours in the input as in the
  // panel, so that they make one long loop.
  bool merged = axis.dilation == 1 && axis.inputStride == channels;
  for (const ConvolutionRun &run : axes.runs(nest.split(place.tile))) {
    TileCall call;
    call.tile.rows = run.tileRows;
    call.count = address.constant(run.count);
    call.a = address.offset(
        address.ofMemref(axes.input.memref), type,
        address.add(line.inputOffset, address.constant(axis.start(run.begin) * axis.inputStride)));
    call.aRow = address.constant(axis.stride * axis.inputStride);
    call.segments = line.segments;
    if (merged && !run.border) {
      call.depth = address.constant(axis.window * channels);
    } else {
      call.depth = address.constant(channels);
      call.segments.push_back({address.constant(axis.window),
                               address.constant(axis.dilation * axis.inputStride),
                               address.constant(axis.tapStride)});
    }
    if (run.border) {
      call.zeros = zeros;
      call.position = address.constant(axis.start(run.begin));
      call.positionRow = address.constant(axis.stride);
      call.positionStep = address.constant(axis.dilation);
      call.positionEnd = address.constant(axis.input);
    }
    nest.emitTiles(call, at, line.outer, kernel.index(run.begin), kernel.index(run.begin));
  }
}

LaunchShape DirectConvolution::build() {
  if (!axes.last().inside(0, axes.last().output)) {
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
  if (failed(checkStaticTypes(kernel)))
    return failure();
  auto conv = cast<ConvOp>(kernel.root);
  auto resultType = cast<RankedTensorType>(conv.getType());
  auto argument = dyn_cast<BlockArgument>(conv.getInput());
  auto filterArgument = dyn_cast<BlockArgument>(conv.getFilter());
  if (!conv.getPacked() || !argument || !filterArgument || conv.getWindow().empty() ||
      resultType.getNumElements() == 0 || !resultType.getElementType().isF32())
    return buildGenericConvolution(kernel);
  const Access &input = kernel.arguments[argument.getArgNumber()];
  Value filter = kernel.arguments[filterArgument.getArgNumber()].memref;
  if (input.strides.back() != SymExpr(1))
    return buildGenericConvolution(kernel);
  if (conv.isDepthwise())
    return buildDepthwise(kernel);

  auto isOne = [](int64_t size) { return size == 1; };
  auto isZero = [](int64_t size) { return size == 0; };
  if (llvm::all_of(conv.getWindow(), isOne) && llvm::all_of(conv.getPadLow(), isZero) &&
      llvm::all_of(conv.getPadHigh(), isZero)) {
    MatrixProduct product;
    product.lhs = input.memref;
    SmallVector<int64_t> strides = *asConstants(input.strides);
    product.lhsStrides = {strides.front()};
    for (auto [i, stride] : llvm::enumerate(conv.getStrides()))
      product.lhsStrides.push_back(stride * strides[i + 1]);
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
