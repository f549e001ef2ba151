//===- ConvolutionAxes.cpp - the spatial dimensions of a convolution ------===//

#include "codegen/cpu/ConvolutionAxes.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

ConvolutionAxes::ConvolutionAxes(ConvOp conv, const Access &input, int64_t tapSize)
    : input(input), batch(input.type.getShape().front()) {
  auto shape = cast<RankedTensorType>(conv.getType()).getShape();
  for (size_t i = 0; i < conv.getWindow().size(); ++i)
    axes.push_back({input.type.getShape()[i + 1], shape[i + 1], conv.getWindow()[i],
                    conv.getStrides()[i], conv.getDilations()[i], conv.getPadLow()[i],
                    *input.strides[i + 1].asConstant(), 0});
  for (ConvolutionAxis &axis : llvm::reverse(axes)) {
    axis.tapStride = tapSize;
    tapSize *= axis.window;
  }
}

int64_t ConvolutionAxes::lines() const {
  int64_t lines = batch;
  for (const ConvolutionAxis &axis : ArrayRef(axes).drop_back())
    lines *= axis.output;
  return lines;
}

int64_t ConvolutionAxes::taps() const {
  int64_t taps = 1;
  for (const ConvolutionAxis &axis : axes)
    taps *= axis.window;
  return taps;
}

SmallVector<ConvolutionRun> ConvolutionAxes::runs(const RowSplit &split) const {
  SmallVector<ConvolutionRun> runs;
  int64_t begin = 0;
  for (int64_t block = 0; block < split.blocks; ++block) {
    int64_t rows = split.rows + (block < split.larger);
    bool border = !last().inside(begin, begin + rows);
    if (!runs.empty() && runs.back().tileRows == rows && !runs.back().border && !border)
      ++runs.back().count;
    else
      runs.push_back({begin, rows, 1, border});
    begin += rows;
  }
  return runs;
}

ConvolutionAxes::Line ConvolutionAxes::emitLine(CpuKernel &kernel, Value line,
                                                Value firstTap) const {
  Address address(kernel.builder, kernel.loc);
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  SmallVector<int64_t> shape{batch};
  for (const ConvolutionAxis &axis : ArrayRef(axes).drop_back())
    shape.push_back(axis.output);
  Line result;
  result.outer = delinearize(kernel, line, shape);
  result.inputOffset = address.mul(address.fromIndex(result.outer[0]), *input.strides[0].asConstant());
  result.filterOffset = address.constant(0);
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    const ConvolutionAxis &axis = axes[i];
    Value start = address.add(address.mul(address.fromIndex(result.outer[i + 1]), axis.stride),
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
      first = tapsBelow(arith::SubIOp::create(builder, loc, address.constant(0), start));
      Value end =
          tapsBelow(arith::SubIOp::create(builder, loc, address.constant(axis.input), start));
      count = arith::SubIOp::create(builder, loc, arith::MaxSIOp::create(builder, loc, end, first),
                                    first);
    }
    if (i == 0 && firstTap) {
      // Unsigned: a tap before the first one is far behind the last.
      Value inside =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                arith::SubIOp::create(builder, loc, firstTap, first), count);
      count = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), inside);
      first = firstTap;
    }
    Value position = address.add(start, address.mul(first, axis.dilation));
    result.inputOffset = address.add(result.inputOffset, address.mul(position, axis.inputStride));
    result.filterOffset = address.add(result.filterOffset, address.mul(first, axis.tapStride));
    if (axis.window > 1 || !axis.inside(0, axis.output))
      result.segments.push_back({count, address.constant(axis.dilation * axis.inputStride),
                                 address.constant(axis.tapStride)});
  }
  return result;
}
