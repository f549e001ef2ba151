//===- VerifyNoOnnx.cpp - what the stages after conversion may assume -----===//

#include "passes/onnx-to-lumen/Passes.h"

using namespace mlir;

namespace lumen {
#define GEN_PASS_DEF_VERIFYNOONNX
#include "passes/onnx-to-lumen/Passes.h.inc"
} // namespace lumen

namespace {

struct VerifyNoOnnx : lumen::impl::VerifyNoOnnxBase<VerifyNoOnnx> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      if (isa_and_nonnull<lumen::onnx::OnnxDialect>(op->getDialect())) {
        op->emitOpError("is left after the conversion to lumen");
        signalPassFailure();
      }
    });
  }
};

} // namespace
