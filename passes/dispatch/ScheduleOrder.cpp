//===- ScheduleOrder.cpp - the operations of a schedule in order ----------===//

#include "passes/dispatch/ScheduleOrder.h"

#include "dialects/Lumen/Lumen.h"

using namespace mlir;
using namespace lumen;

ScheduleOrder::ScheduleOrder(func::FuncOp main) {
  for (Block &block : main.getBody())
    number(block);
}

void ScheduleOrder::number(Block &block) {
  blocks.push_back(&block);
  for (Operation &op : block) {
    unsigned position = operations.size();
    operations.push_back(&op);
    // What a kernel does inside is no part of the schedule.
    if (auto lumenOp = dyn_cast<LumenOpInterface>(op);
        !lumenOp || lumenOp.getFamily() == Family::Control)
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          number(inner);
    spans[&op] = {position, operations.size() - 1};
  }
}

unsigned ScheduleOrder::definitionOf(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    op = cast<BlockArgument>(value).getOwner()->getParentOp();
  // An argument of the schedule is there before the first operation.
  return isa<func::FuncOp>(op) ? 0 : positionOf(op);
}

unsigned ScheduleOrder::lastReadOf(Value value) const {
  unsigned last = definitionOf(value);
  for (Operation *user : value.getUsers()) {
    unsigned position = positionOf(user);
    // Every loop between the read and the definition repeats the read.
    for (Operation *op = user; op->getBlock() != value.getParentBlock();) {
      op = op->getParentOp();
      if (isa<LoopOp>(op))
        position = endOf(op);
    }
    last = std::max(last, position);
  }
  return last;
}
