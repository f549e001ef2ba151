//===- ScheduleOrder.h - the operations of a schedule in order ---*- C++ -*-===//
//
// A schedule is a tree of blocks: a branch or loop holds blocks of its own. Its
// blocks and operations are listed here in the order in which they stand. How long
// a value is needed is for the memory plan to say (passes/memory/Slots.h).
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_DISPATCH_SCHEDULEORDER_H
#define LUMEN_PASSES_DISPATCH_SCHEDULEORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lumen {

/// Lists the operations of a function: a branch or loop comes before what its
/// regions hold, and that before what follows it. Not kept up to date when
/// operations are added.
class ScheduleOrder {
public:
  explicit ScheduleOrder(mlir::func::FuncOp main);

  /// Every block, each before those inside it, in the order of the operations.
  llvm::ArrayRef<mlir::Block *> getBlocks() const { return blocks; }
  llvm::ArrayRef<mlir::Operation *> getOperations() const { return operations; }

private:
  void append(mlir::Block &block);

  llvm::SmallVector<mlir::Block *> blocks;
  llvm::SmallVector<mlir::Operation *> operations;
};

} // namespace lumen

#endif // LUMEN_PASSES_DISPATCH_SCHEDULEORDER_H
