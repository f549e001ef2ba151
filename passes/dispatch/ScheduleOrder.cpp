//===- ScheduleOrder.cpp - the operations of a schedule in order ----------===//

#include "passes/dispatch/ScheduleOrder.h"

#include "dialects/Lumen/Lumen.h"

using namespace mlir;
using namespace lumen;

ScheduleOrder::ScheduleOrder(func::FuncOp main) {
  for (Block &block : main.getBody())
    append(block);
}

void ScheduleOrder::append(Block &block) {
  blocks.push_back(&block);
  for (Operation &op : block) {
    operations.push_back(&op);
    // What a kernel does inside is no part of the schedule.
    if (auto lumenOp = dyn_cast<LumenOpInterface>(op);
        !lumenOp || lumenOp.getFamily() == Family::Control)
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          append(inner);
  }
}
