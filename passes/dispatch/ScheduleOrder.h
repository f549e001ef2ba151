//===- ScheduleOrder.h - the operations of a schedule in order ---*- C++ -*-===//
//
// A schedule is a tree of blocks: a branch or loop holds blocks of its own. This
// is the one place that says in which order its operations stand and how long a
// value is needed.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_DISPATCH_SCHEDULEORDER_H
#define LUMEN_PASSES_DISPATCH_SCHEDULEORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace lumen {

/// Numbers the operations of a function: a branch or loop comes before what its
/// regions hold, and that before what follows it. A loop's number stands for its
/// entry, its end for what happens behind the last trip. Not kept up to date when
/// operations are added.
class ScheduleOrder {
public:
  explicit ScheduleOrder(mlir::func::FuncOp main);

  /// Every block, each before those inside it, in the order of the operations.
  llvm::ArrayRef<mlir::Block *> getBlocks() const { return blocks; }
  llvm::ArrayRef<mlir::Operation *> getOperations() const { return operations; }

  unsigned positionOf(mlir::Operation *op) const { return spans.lookup(op).first; }
  /// The position of the last operation inside `op`; its own where it has no regions.
  unsigned endOf(mlir::Operation *op) const { return spans.lookup(op).second; }

  /// Where a value comes into being: its operation, or the one that holds the block
  /// whose argument it is.
  unsigned definitionOf(mlir::Value value) const;
  /// The last position that reads a value. A read inside a loop of a value from
  /// outside happens again in the next trip, so it counts as the loop's end. The
  /// definition where nothing reads it.
  unsigned lastReadOf(mlir::Value value) const;

private:
  void number(mlir::Block &block);

  llvm::SmallVector<mlir::Block *> blocks;
  llvm::SmallVector<mlir::Operation *> operations;
  llvm::DenseMap<mlir::Operation *, std::pair<unsigned, unsigned>> spans;
};

} // namespace lumen

#endif // LUMEN_PASSES_DISPATCH_SCHEDULEORDER_H
