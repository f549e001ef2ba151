//===- ConvolutionAxes.h - the spatial dimensions of a convolution -*- C++ -*-===//
#ifndef LUMEN_CODEGEN_CPU_CONVOLUTIONAXES_H
#define LUMEN_CODEGEN_CPU_CONVOLUTIONAXES_H

#include "codegen/cpu/MicroKernel.h"

namespace lumen::cpu {

/// One spatial dimension. Strides are elements of memory.
struct ConvolutionAxis {
  SymExpr input, output;
  int64_t window, stride, dilation, padLow, padHigh;
  SymExpr inputStride;
  int64_t tapStride; ///< in the filter

  /// The input position of the first tap.
  int64_t start(int64_t at) const { return at * stride - padLow; }
  int64_t extent() const { return (window - 1) * dilation + 1; }
  /// Whether all taps lie inside the input for all output positions.
  bool inside() const;
  /// The number of first, and of last, output positions that have taps outside of
  /// the input.
  SymExpr borderLow() const;
  SymExpr borderHigh() const;
};

/// A run of equal tiles in an output row of known length. A tile at the border,
/// with taps outside the input, is a run of its own.
struct ConvolutionRun {
  int64_t begin, tileRows, count;
  bool border;
};

/// A line is an output row: all positions of the last axis.
class ConvolutionAxes {
public:
  /// `tapSize`: elements of the filter from tap to tap.
  ConvolutionAxes(ConvOp conv, const Access &input, int64_t tapSize);

  SymExpr lines() const;
  int64_t taps() const;
  int64_t rank() const { return input.type.getRank(); }
  /// Whether tiles are chosen when the code is made.
  bool hasConstantRows() const { return last().input.asConstant() && last().output.asConstant(); }
  const ConvolutionAxis &first() const { return axes.front(); }
  const ConvolutionAxis &last() const { return axes.back(); }
  llvm::SmallVector<ConvolutionRun> runs(const RowSplit &split) const;

  /// The same for blocks [first, last) of a row whose length only the run knows:
  /// calls `emit` for runs of tiles of `rows` rows, some of which may be empty.
  void emitRuns(
      CpuKernel &kernel, const RowSplit &split, mlir::Value first, mlir::Value last,
      llvm::function_ref<void(const SymExpr &rows, mlir::Value row, mlir::Value count, bool border)>
          emit) const;

  struct Line {
    llvm::SmallVector<mlir::Value> outer; ///< indices of the result before the last axis
    /// Elements (i64) to the first tap inside the input, but for the last axis.
    mlir::Value inputOffset, filterOffset;
    /// The taps inside the input of all axes but the last.
    llvm::SmallVector<TileCall::Segment> segments;
  };
  /// With `firstTap` (i64) only that tap of the first axis, which is not the last.
  Line emitLine(CpuKernel &kernel, mlir::Value line, mlir::Value firstTap = {}) const;

  const Access &input;

private:
  SymExpr batch;
  llvm::SmallVector<ConvolutionAxis> axes;
};

} // namespace lumen::cpu

#endif // LUMEN_CODEGEN_CPU_CONVOLUTIONAXES_H
