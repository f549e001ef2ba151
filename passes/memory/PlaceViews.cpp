//===- PlaceViews.cpp - turn reshape, slice and concat into views ---------===//

#include "passes/dispatch/KernelSymbols.h"
#include "passes/memory/Passes.h"
#include "passes/memory/Placement.h"

namespace lumen {
#define GEN_PASS_DEF_PLACEVIEWS
#include "passes/memory/Passes.h.inc"
} // namespace lumen

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

namespace {
struct PlaceViewsPass : lumen::impl::PlaceViewsBase<PlaceViewsPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main)
      return signalPassFailure();
    unsigned copies = 0;
    SizeBounds bounds(main);
    Placement places(main, bounds, [&](OpOperand &operand) {
      return insertCopy(operand, main, "copy_" + std::to_string(copies++));
    });
    SymbolTable symbols(getOperation());
    main.walk([&](LaunchOp launch) {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      auto setStrides = [&](Value value, auto set) {
        Sizes strides = places[value].strides;
        if (isContiguous(sizesOf(value), strides))
          return;
        for (SymExpr &stride : strides)
          stride = addKernelExpression(kernel, launch, stride);
        set(StringAttr::get(&getContext(), DispatchDialect::kStrides),
            toAttr(&getContext(), strides));
      };
      for (auto [i, value] : llvm::enumerate(launch.getInputs()))
        setStrides(value, [&, i = i](StringAttr name, Attribute strides) {
          kernel.setArgAttr(i, name, strides);
        });
      for (auto [i, value] : llvm::enumerate(launch.getResults()))
        setStrides(value, [&, i = i](StringAttr name, Attribute strides) {
          kernel.setResultAttr(i, name, strides);
        });
    });
  }

  /// A kernel that yields its argument, launched right before the operand's user.
  Value insertCopy(OpOperand &operand, func::FuncOp main, StringRef name) {
    Operation *user = operand.getOwner();
    Location loc = user->getLoc();
    if (Operation *producer = operand.get().getDefiningOp();
        producer && user->hasTrait<OpTrait::IsTerminator>())
      loc = producer->getLoc();
    OpBuilder builder(main);
    if (isObject(operand.get().getType())) {
      builder.setInsertionPoint(user);
      auto call = lumen::CallOp::create(builder, loc, operand.get().getType(), "identity",
                                        operand.get(), ArrayAttr(), ArrayAttr());
      operand.set(call.getResult(0));
      return call.getResult(0);
    }
    auto type = cast<RankedTensorType>(operand.get().getType());
    KernelSymbols symbols;
    symbols.add(type);
    symbols.assign();
    Type kernelType = symbols.rewrite(type);
    auto kernel =
        KernelOp::create(builder, loc, name, builder.getFunctionType({kernelType}, {kernelType}));
    builder.setInsertionPointToEnd(&kernel.getBody().front());
    dispatch::YieldOp::create(builder, loc, ValueRange{kernel.getBody().getArgument(0)});
    builder.setInsertionPoint(user);
    DimsAttr sizes;
    if (!symbols.getNames().empty()) {
      SmallVector<StringRef> names(symbols.getNames().begin(), symbols.getNames().end());
      kernel->setAttr(DispatchDialect::kSizes, builder.getStrArrayAttr(names));
      sizes = toAttr(&getContext(), symbols.getValues());
    }
    auto launch = LaunchOp::create(builder, loc, TypeRange{type}, name, ValueRange{operand.get()},
                                   ValueRange{}, Affinity::Any, sizes);
    operand.set(launch.getResult(0));
    return launch.getResult(0);
  }
};
} // namespace
