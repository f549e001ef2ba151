//===- VerifyDispatch.cpp - what memory planning may assume ---------------===//

#include "passes/dispatch/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lumen {
#define GEN_PASS_DEF_VERIFYDISPATCH
#include "passes/dispatch/Passes.h.inc"
} // namespace lumen

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

namespace {
struct VerifyDispatchPass : lumen::impl::VerifyDispatchBase<VerifyDispatchPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main) {
      getOperation().emitError("has no function 'main'");
      return signalPassFailure();
    }
    for (Operation &op : main.getBody().front())
      if (!isa<LaunchOp, ConstantOp, ReshapeOp, SliceOp, ConcatOp, func::ReturnOp>(op)) {
        op.emitOpError("is left in the schedule");
        signalPassFailure();
      }
  }
};
} // namespace
