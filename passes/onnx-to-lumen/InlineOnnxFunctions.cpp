//===- InlineOnnxFunctions.cpp - the bodies of the model's functions ------===//

#include "passes/onnx-to-lumen/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

namespace lumen {
#define GEN_PASS_DEF_INLINEONNXFUNCTIONS
#include "passes/onnx-to-lumen/Passes.h.inc"
} // namespace lumen

using namespace mlir;
using namespace lumen;
using namespace lumen::onnx;

namespace {

/// "Mul 'y'" of a call "Scale 'node_3'" is "Mul 'y' in Scale 'node_3'".
Location within(Location inner, Location call) {
  auto innerName = inner->findInstanceOf<NameLoc>(), callName = call->findInstanceOf<NameLoc>();
  if (!innerName || !callName)
    return call;
  return NameLoc::get(StringAttr::get(inner.getContext(), innerName.getName().getValue() + " in " +
                                                              callName.getName().getValue()));
}

class Inliner {
public:
  Inliner(ModuleOp module, uint64_t limit) : module(module), symbols(module), limit(limit) {}

  LogicalResult run(func::FuncOp main);

private:
  LogicalResult checkNesting(func::FuncOp function, unsigned level);
  uint64_t sizeOf(func::FuncOp function);
  void inlineCall(lumen::onnx::CallOp call);
  void adapt(Operation *op, func::FuncOp callee, lumen::onnx::CallOp call);
  DictionaryAttr resolve(DictionaryAttr attrs, func::FuncOp callee, lumen::onnx::CallOp call);

  ModuleOp module;
  SymbolTable symbols;
  uint64_t limit;
  DenseMap<Operation *, uint64_t> sizes;
  DenseMap<Operation *, unsigned> heights; ///< how deep the functions below nest
  DenseSet<Operation *> open;              ///< on the way to the one being checked
};

/// Fails for a function that reaches itself or nests too deep, so that what
/// follows may recurse. `level` is the number of functions around it.
LogicalResult Inliner::checkNesting(func::FuncOp function, unsigned level) {
  constexpr unsigned kMaxNesting = 64;
  auto known = heights.find(function);
  unsigned height = known == heights.end() ? 0 : known->second;
  if (level + height > kMaxNesting)
    return function.emitError("is one of more than ") << kMaxNesting << " functions in each other";
  if (known != heights.end())
    return success();
  if (!open.insert(function).second)
    return function.emitError("calls itself, directly or through others");
  WalkResult result = function->walk([&](lumen::onnx::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (failed(checkNesting(callee, level + 1)))
      return WalkResult::interrupt();
    height = std::max(height, heights.lookup(callee) + 1);
    return WalkResult::advance();
  });
  open.erase(function);
  heights[function] = height;
  return failure(result.wasInterrupted());
}

/// The number of operations that a function becomes; saturating.
uint64_t Inliner::sizeOf(func::FuncOp function) {
  auto known = sizes.find(function);
  if (known != sizes.end())
    return known->second;
  uint64_t size = 0;
  function->walk([&](Operation *inner) {
    ++size;
    if (auto call = dyn_cast<lumen::onnx::CallOp>(inner))
      size = llvm::SaturatingAdd(size, sizeOf(symbols.lookup<func::FuncOp>(call.getCallee())));
  });
  return sizes[function] = size;
}

DictionaryAttr Inliner::resolve(DictionaryAttr attrs, func::FuncOp callee, lumen::onnx::CallOp call) {
  auto defaults = callee->getAttrOfType<DictionaryAttr>(OnnxDialect::getDefaultsAttrName());
  NamedAttrList list;
  for (NamedAttribute attr : attrs) {
    Attribute value = attr.getValue();
    if (auto ref = dyn_cast<RefAttr>(value)) {
      value = call.getAttrs().get(ref.getName());
      if (!value && defaults)
        value = defaults.get(ref.getName());
    }
    if (value)
      list.append(attr.getName(), value);
  }
  return list.getDictionary(call.getContext());
}

/// Makes a copied operation one of the calling graph.
void Inliner::adapt(Operation *op, func::FuncOp callee, lumen::onnx::CallOp call) {
  op->setLoc(within(op->getLoc(), call.getLoc()));
  if (auto inner = dyn_cast<lumen::onnx::CallOp>(op)) {
    inner.setAttrsAttr(resolve(inner.getAttrs(), callee, call));
    return;
  }
  auto node = dyn_cast<NodeOp>(op);
  if (!node)
    return;
  node.setAttrsAttr(resolve(node.getAttrs(), callee, call));
  auto versionIn = [&](Operation *scope) {
    auto opsets = scope->getAttrOfType<DictionaryAttr>(OnnxDialect::getOpsetsAttrName());
    StringRef domain = node.getOpDomain().empty() ? "ai.onnx" : node.getOpDomain();
    return opsets ? opsets.getAs<IntegerAttr>(domain) : IntegerAttr();
  };
  IntegerAttr version = versionIn(callee);
  if (version && version != versionIn(module))
    node.setVersionAttr(version);
}

void Inliner::inlineCall(lumen::onnx::CallOp call) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  OpBuilder builder(call);
  IRMapping mapping;
  for (BlockArgument argument : callee.getArguments()) {
    unsigned index = argument.getArgNumber();
    Value input = index < call.getInputs().size()
                      ? call.getInputs()[index]
                      : AbsentOp::create(builder, call.getLoc(), builder.getNoneType());
    mapping.map(argument, input);
  }
  Block &body = callee.front();
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    copy->walk([&](Operation *inner) { adapt(inner, callee, call); });
  }
  for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call.erase();
}

LogicalResult Inliner::run(func::FuncOp main) {
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(checkNesting(function, 0)))
      return failure();
  if (uint64_t size = sizeOf(main); size > limit)
    return main.emitError("becomes more than ")
           << limit << " operations when the model's functions are put in";
  // Copies hold calls again; the order of the list makes no difference.
  while (true) {
    SmallVector<lumen::onnx::CallOp> calls;
    main->walk([&](lumen::onnx::CallOp call) { calls.push_back(call); });
    if (calls.empty())
      break;
    for (lumen::onnx::CallOp call : calls)
      inlineCall(call);
  }
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function != main)
      function.erase();
  return success();
}

struct InlineOnnxFunctionsPass : lumen::impl::InlineOnnxFunctionsBase<InlineOnnxFunctionsPass> {
  using InlineOnnxFunctionsBase::InlineOnnxFunctionsBase;

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main) {
      getOperation().emitError("has no function 'main'");
      return signalPassFailure();
    }
    if (failed(Inliner(getOperation(), limit).run(main)))
      signalPassFailure();
  }
};

} // namespace
