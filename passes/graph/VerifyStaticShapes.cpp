//===- VerifyStaticShapes.cpp - what kernels may assume -------------------===//

#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_VERIFYSTATICSHAPES
#include "passes/graph/Passes.h.inc"
} // namespace lumen

namespace {
struct VerifyStaticShapes : lumen::impl::VerifyStaticShapesBase<VerifyStaticShapes> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      for (BlockArgument argument : func.getArguments()) {
        auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "onnx.name");
        check(func, argument,
              "input '" + (name ? name.str() : std::to_string(argument.getArgNumber())) + "'");
      }
      func.walk([&](Operation *op) {
        for (Value result : op->getResults())
          check(op, result, "result");
      });
    }
  }

  void check(Operation *op, Value value, const Twine &what) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.hasStaticShape())
      return;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (!type.isDynamicDim(dim))
        continue;
      InFlightDiagnostic error = op->emitError();
      error << what << ": dimension " << dim;
      if (auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding()))
        error << " ('" << dims.getDims()[dim].getValue() << "')";
      error << " is dynamic, expected a size: give it one with --dim or --shape";
      signalPassFailure();
    }
  }
};
} // namespace
