//===- Recurrence.h - a cell along a sequence --------------------*- C++ -*-===//
//
// One row from step to step, whoever computes it: a thread of a CPU by vectors, or a
// workgroup of a GPU that shares the elements of states and the columns of products.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_LOOPS_RECURRENCE_H
#define LUMEN_CODEGEN_LOOPS_RECURRENCE_H

#include "codegen/loops/LoopEmitter.h"

namespace lumen::loops {

class CellEmitter {
public:
  CellEmitter(LoopKernel &kernel, RecurrenceOp op);
  virtual ~CellEmitter() = default;

  /// Makes room for states and products; before any loop.
  void allocate();
  uint64_t scratchSize() const { return scratch; }
  /// One row from its first to its last step.
  void emitRow(LoopEmitter &emit, mlir::Value row);

protected:
  using VectorBody = llvm::function_ref<void(LoopEmitter &, const Position &)>;

  /// Memory of the row at hand.
  virtual mlir::Value makeMemory(int64_t elements);
  /// Positions of a tensor of `rank` dimensions along its last one, of `size`.
  virtual void forEachVector(LoopEmitter &emit, int64_t rank, int64_t size, VectorBody body);
  /// Multiplies `lhs`, which lies in memory, by all panels of `rhs`.
  virtual void multiply(LoopEmitter &emit, const Access &lhs, const Access &rhs,
                        const Access &result);
  /// Element `k` of what is multiplied.
  static mlir::Value loadFactor(LoopEmitter &emit, const Access &lhs, mlir::Value k);
  /// Where what was written is read at other positions next.
  virtual void synchronize(LoopEmitter &) {}

  LoopKernel &kernel;
  RecurrenceOp op;
  mlir::Block &cell;
  mlir::Type element;
  int64_t lanes;
  Expression expression; ///< of the cell

private:
  Access makeBuffer(llvm::ArrayRef<int64_t> shape, int64_t elements);
  void emitProduct(LoopEmitter &emit, ContractOp product);
  void emitStep(LoopEmitter &emit, mlir::Value row, mlir::Value step);

  mlir::Block::BlockArgListType stateArguments() {
    return cell.getArguments().drop_front(1 + op.getParams().size());
  }
  int64_t sizeOfState(unsigned i) {
    return llvm::cast<mlir::RankedTensorType>(stateArguments()[i].getType()).getDimSize(0);
  }

  llvm::SmallVector<Access> states;
  llvm::DenseMap<mlir::Operation *, Access> operands, products; ///< of contractions
  uint64_t scratch = 0;
};

} // namespace lumen::loops

#endif // LUMEN_CODEGEN_LOOPS_RECURRENCE_H
