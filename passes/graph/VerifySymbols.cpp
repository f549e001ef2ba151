//===- VerifySymbols.cpp - what later stages may assume of sizes ----------===//

#include "dialects/Lumen/SymbolUses.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_VERIFYSYMBOLS
#include "passes/graph/Passes.h.inc"
} // namespace lumen

namespace {

using Names = std::set<std::string>;

struct VerifySymbols : lumen::impl::VerifySymbolsBase<VerifySymbols> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      defined.clear();
      Names scope;
      for (Type type : func.getArgumentTypes()) {
        checkDims(func, type);
        collectSymbols(type, scope);
      }
      defined = scope;
      for (Block &block : func.getBody())
        visit(block, scope);
    }
  }

private:
  void visit(Block &block, Names scope) {
    for (Operation &op : block) {
      // Folders keep these anywhere; they mean the symbols of their use.
      if (isa<SizesOp>(op))
        continue;
      for (Value operand : op.getOperands())
        if (auto sizes = operand.getDefiningOp<SizesOp>())
          visitExpressions(sizes, [&](const SymExpr &expr) { check(&op, expr, scope); });
      visitExpressions(&op, [&](const SymExpr &expr) { check(&op, expr, scope); });

      Names inner = scope;
      for (StringRef name : symbolsDefinedBy(&op)) {
        if (!defined.insert(name.str()).second)
          fail(&op) << "defines the symbol '" << name << "', which has a definition already";
        scope.insert(name.str());
        if (isa<LoopOp>(op))
          inner.insert(name.str());
      }
      for (Region &region : op.getRegions())
        for (Block &body : region) {
          for (Type type : body.getArgumentTypes())
            check(&op, type, inner);
          visit(body, inner);
        }
      for (Type type : op.getResultTypes())
        check(&op, type, scope);
    }
  }

  InFlightDiagnostic fail(Operation *op) {
    signalPassFailure();
    return op->emitOpError();
  }

  bool checkDims(Operation *op, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return true;
    for (auto [dim, size] : llvm::enumerate(sizesOf(tensor)))
      if (!size.isValid()) {
        fail(op) << "has a dimension " << dim << " without a size in " << tensor;
        return false;
      }
    return true;
  }

  void check(Operation *op, Type type, const Names &scope) {
    if (!checkDims(op, type))
      return;
    Names names;
    collectSymbols(type, names);
    check(op, names, scope);
  }

  void check(Operation *op, const SymExpr &expr, const Names &scope) {
    Names names;
    expr.collectSymbols(names);
    check(op, names, scope);
  }

  void check(Operation *op, const Names &names, const Names &scope) {
    for (const std::string &name : names)
      if (!scope.count(name))
        fail(op) << "names the symbol '" << name << "', which has no value here";
  }

  Names defined; ///< in the whole function
};

} // namespace
