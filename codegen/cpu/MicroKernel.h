//===- MicroKernel.h - register tiles of matrix products ---------*- C++ -*-===//
//
// Contractions and convolutions are loops around one function: it multiplies
// rows of A, read in place, by a packed panel of B and finishes a tile of the
// result in registers. Kernels share these functions by name, so that a model
// of a hundred convolutions holds a dozen of them.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_CPU_MICROKERNEL_H
#define LUMEN_CODEGEN_CPU_MICROKERNEL_H

#include "codegen/cpu/CpuKernel.h"

#include <optional>

namespace lumen::cpu {

/// Columns of a packed panel; see `lumen.contract` and `lumen.conv`.
inline constexpr int64_t kPanelColumns = 64;

/// Rows of the result by vectors of its columns, all held in registers.
struct Tile {
  int64_t rows;
  int64_t vectors;
  int64_t lanes;
  int64_t columns() const { return vectors * lanes; }
};

/// The tile that covers `rows` x `columns` (at most a panel) in the fewest cycles
/// of this level's registers, load ports and caches.
Tile chooseTile(const Capabilities &caps, mlir::Type type, int64_t rows, int64_t columns);

/// `total` rows in blocks of nearly equal size: the first `larger` blocks have
/// `rows + 1` rows, the others `rows`, so that no block is a poor remainder.
struct RowSplit {
  RowSplit(int64_t total, int64_t most)
      : blocks(llvm::divideCeil(total, most)), rows(total / blocks), larger(total % blocks) {}
  int64_t blocks, rows, larger;
};

/// Pointer and element arithmetic on i64, in which addresses are computed.
class Address {
public:
  Address(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}
  mlir::Value constant(int64_t value);
  mlir::Value fromIndex(mlir::Value index);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, int64_t rhs) { return mul(lhs, constant(rhs)); }
  /// The address `offset` elements behind `pointer`.
  mlir::Value offset(mlir::Value pointer, mlir::Type type, mlir::Value offset);
  mlir::Value offset(mlir::Value pointer, mlir::Type type, int64_t offset);
  /// The first element of a memref.
  mlir::Value ofMemref(mlir::Value memref);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// What becomes of a finished tile: the kernel's elementwise tail.
///
/// A light tail whose operands lie at constant strides from the tile is emitted
/// into the micro-kernel and works on registers; its structure is part of the
/// micro-kernel's name, its operands are arguments. Any other tail is a loop of
/// the kernel over the raw tile in scratch memory.
class Epilogue {
public:
  /// An input of a light tail, or one of its results.
  struct Operand {
    mlir::Value value;
    mlir::Value memref;
    llvm::SmallVector<int64_t> strides; ///< per dimension of the root's result
    bool columnwise() const { return strides.back() == 1; }
  };

  /// Rows of a tile run along dimensions [rowDim, rank - 1) of the root's result.
  static mlir::FailureOr<Epilogue> analyze(CpuKernel &kernel);

  /// Whether every operand advances evenly along dimensions [rowDim, rank - 1),
  /// so that they may be one dimension of rows.
  bool collapses(int64_t rowDim) const;

  bool inRegisters = false;
  llvm::SmallVector<Operand> inputs, outputs;
  std::string key; ///< the structure of a light tail, "raw" for none
};

/// The stride of dimensions [begin, end) of `shape` taken as one, or nothing
/// when there is none. Dimensions of one element fit any stride.
std::optional<int64_t> collapsedStride(llvm::ArrayRef<int64_t> shape,
                                       llvm::ArrayRef<int64_t> strides, int64_t begin, int64_t end);

/// One call of a micro-kernel: `count` tiles, one below the other. All values
/// are i64 or pointers, strides in elements.
struct TileCall {
  Tile tile;
  int64_t tailLanes = 0; ///< of the last vector, where not all are stored; else 0
  mlir::Type type;
  mlir::Value count;
  mlir::Value a, aRow;
  mlir::Value b;
  mlir::Value depth;
  /// Loops around the one over `depth`, outermost first: the taps of a window.
  struct Segment {
    mlir::Value count, a, b; ///< what a step adds to the positions in A and B
  };
  llvm::SmallVector<Segment> segments;
  /// Set where rows of the innermost segment may leave the input, along the
  /// dimension in which rows follow each other: `depth` zeros to read instead;
  /// the position of the first row at the first step, what a row and a step add
  /// to it, and the end of the input.
  mlir::Value zeros, position, positionRow, positionStep, positionEnd;
  /// Where operands and results of the epilogue start, and their row strides.
  llvm::SmallVector<mlir::Value> inputs, inputRows, outputs, outputRows;
};

/// Calls the micro-kernel, making it on first use. With `epilogue` null, or not
/// in registers, the tiles are stored as they are to `outputs[0]`.
void emitTiles(CpuKernel &kernel, const Epilogue *epilogue, const TileCall &call);

} // namespace lumen::cpu

#endif // LUMEN_CODEGEN_CPU_MICROKERNEL_H
