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
    main.walk([&](Operation *op) {
      auto lumenOp = dyn_cast<LumenOpInterface>(op);
      if (lumenOp && lumenOp.getFamily() == Family::Control)
        return;
      if (isa<LaunchOp, ConstantOp, ReshapeOp, SliceOp, ConcatOp, lumen::CastOp, func::FuncOp,
              func::ReturnOp>(op))
        return;
      op->emitOpError("is left in the schedule");
      signalPassFailure();
    });
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (failed(verifySizes(kernel)))
        signalPassFailure();
  }

  /// A kernel knows no symbols but its own.
  static LogicalResult verifySizes(KernelOp kernel) {
    std::set<std::string> own;
    for (StringRef name : kernel.getSizeNames())
      own.insert(name.str());
    std::string unknown;
    auto note = [&](ArrayRef<SymExpr> sizes) {
      std::set<std::string> symbols;
      for (const SymExpr &size : sizes)
        size.collectSymbols(symbols);
      for (const std::string &symbol : symbols)
        if (!own.count(symbol))
          unknown = symbol;
    };
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
      note(sizesOf(cast<RankedTensorType>(type)));
      note(kernel.getArgumentStrides(i));
    }
    for (unsigned i = 0; i < kernel.getResultTypes().size(); ++i)
      note(kernel.getResultStrides(i));
    for (Operation &op : kernel.getBody().front()) {
      for (Value result : op.getResults())
        note(sizesOf(result));
      for (NamedAttribute attr : op.getAttrs())
        if (auto expressions = dyn_cast<DimsAttr>(attr.getValue()))
          note(toSizes(expressions));
    }
    if (unknown.empty())
      return success();
    return kernel.emitOpError("names '") << unknown << "', which is none of its sizes";
  }
};
} // namespace
