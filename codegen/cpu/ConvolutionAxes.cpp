//===- ConvolutionAxes.cpp - the spatial dimensions of a convolution ------===//

#include "codegen/cpu/ConvolutionAxes.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::cpu;

ConvolutionAxes::ConvolutionAxes(ConvOp conv, const Access &input, int64_t tapSize)
    : input(input), batch(sizesOf(input.type).front()) {
  Sizes from = sizesOf(input.type), to = sizesOf(conv.getResult());
  for (size_t i = 0; i < conv.getWindow().size(); ++i)
    axes.push_back({from[i + 1], to[i + 1], conv.getWindow()[i], conv.getStrides()[i],
                    conv.getDilations()[i], conv.getPadLow()[i], conv.getPadHigh()[i],
                    input.strides[i + 1], 0});
  for (ConvolutionAxis &axis : llvm::reverse(axes)) {
    axis.tapStride = tapSize;
    tapSize *= axis.window;
  }
}

SymExpr ConvolutionAxes::lines() const {
  SymExpr lines = batch;
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

SymExpr ConvolutionAxis::borderLow() const {
  return padLow <= 0 ? 0 : SymExpr::min(llvm::divideCeil(padLow, stride), output);
}

SymExpr ConvolutionAxis::borderHigh() const {
  if (padHigh <= 0)
    return 0;
  // Positions below this one end inside of the input.
  SymExpr inner = SymExpr::floorDiv(input - extent() + padLow, stride) + 1;
  SymExpr count = SymExpr::max(output - inner, 0);
  return count == SymExpr(0) ? count : SymExpr::min(count, output);
}

bool ConvolutionAxis::inside() const {
  return borderLow() == SymExpr(0) && borderHigh() == SymExpr(0);
}

SmallVector<ConvolutionRun> ConvolutionAxes::runs(const RowSplit &split) const {
  SmallVector<ConvolutionRun> runs;
  int64_t begin = 0, low = *last().borderLow().asConstant(),
          high = *last().output.asConstant() - *last().borderHigh().asConstant();
  for (int64_t block = 0; block < *split.blocks.asConstant(); ++block) {
    int64_t rows = *split.rows.asConstant() + (block < *split.larger.asConstant());
    bool border = begin < low || begin + rows > high;
    if (!runs.empty() && runs.back().tileRows == rows && !runs.back().border && !border)
      ++runs.back().count;
    else
      runs.push_back({begin, rows, 1, border});
    begin += rows;
  }
  return runs;
}

void ConvolutionAxes::emitRuns(
    CpuKernel &kernel, const RowSplit &split, Value first, Value last,
    llvm::function_ref<void(const SymExpr &, Value, Value, bool)> emit) const {
  // Blocks at the lower border, inside and at the upper border. A block too many at
  // a border does no harm.
  SymExpr shortest = SymExpr::max(split.rows, 1);
  auto borderBlocks = [&](const SymExpr &positions) {
    return SymExpr::min(ceilQuotient(positions, shortest), split.blocks);
  };
  SymExpr low = this->last().borderLow(), high = this->last().borderHigh();
  Value lowEnd = first, highBegin = last;
  if (low != SymExpr(0))
    lowEnd = minIndex(kernel, maxIndex(kernel, kernel.value(borderBlocks(low)), first), last);
  if (high != SymExpr(0))
    highBegin = minIndex(
        kernel, maxIndex(kernel, kernel.value(split.blocks - borderBlocks(high)), lowEnd), last);

  Value larger = kernel.value(split.larger);
  auto emitBlocks = [&](Value first, Value last, bool border) {
    auto emitEqual = [&](Value first, Value last, const SymExpr &rows, Value row) {
      emit(rows, row, maxIndex(kernel, subIndex(kernel, last, first), kernel.index(0)), border);
    };
    emitEqual(first, minIndex(kernel, last, larger), split.rows + 1,
              mulIndex(kernel, first, split.rows + 1));
    Value behind = maxIndex(kernel, first, larger);
    emitEqual(behind, last, split.rows,
              addIndex(kernel, mulIndex(kernel, behind, split.rows), larger));
  };
  if (low != SymExpr(0))
    emitBlocks(first, lowEnd, true);
  emitBlocks(lowEnd, highBegin, false);
  if (high != SymExpr(0))
    emitBlocks(highBegin, last, true);
}

ConvolutionAxes::Line ConvolutionAxes::emitLine(CpuKernel &kernel, Value line,
                                                Value firstTap) const {
  Address address(kernel.builder, kernel.loc);
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc;
  Sizes sizes{batch};
  for (const ConvolutionAxis &axis : ArrayRef(axes).drop_back())
    sizes.push_back(axis.output);
  Line result;
  result.outer = delinearize(kernel, line, sizes);
  result.inputOffset =
      address.mul(address.fromIndex(result.outer[0]), address.size(kernel, input.strides[0]));
  result.filterOffset = address.constant(0);
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    const ConvolutionAxis &axis = axes[i];
    Value start = address.add(address.mul(address.fromIndex(result.outer[i + 1]), axis.stride),
                              address.constant(-axis.padLow));
    Value first = address.constant(0), count = address.constant(axis.window);
    if (!axis.inside()) {
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
          tapsBelow(arith::SubIOp::create(builder, loc, address.size(kernel, axis.input), start));
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
    Value inputStride = address.size(kernel, axis.inputStride);
    result.inputOffset = address.add(result.inputOffset, address.mul(position, inputStride));
    result.filterOffset = address.add(result.filterOffset, address.mul(first, axis.tapStride));
    if (axis.window > 1 || !axis.inside())
      result.segments.push_back({count, address.size(kernel, axis.inputStride * axis.dilation),
                                 address.constant(axis.tapStride)});
  }
  return result;
}
