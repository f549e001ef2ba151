//===- SymbolUses.cpp - where operations name symbols ---------------------===//

#include "dialects/Lumen/SymbolUses.h"

#include "dialects/Lumen/Lumen.h"

using namespace mlir;
using namespace lumen;

/// Attributes that hold one expression as text.
static SmallVector<StringRef> expressionTexts(Operation *op) {
  if (isa<SymbolOp>(op))
    return {"at_most"};
  if (isa<CheckOp>(op))
    return {"lhs", "rhs"};
  if (isa<LoopOp>(op))
    return {"trips"};
  return {};
}

void lumen::visitExpressions(Operation *op, llvm::function_ref<void(const SymExpr &)> visit) {
  for (NamedAttribute attr : op->getAttrs())
    if (auto expressions = dyn_cast<DimsAttr>(attr.getValue()))
      for (const SymExpr &expr : toSizes(expressions))
        visit(expr);
  for (StringRef name : expressionTexts(op))
    if (auto text = op->getAttrOfType<StringAttr>(name))
      visit(toSize(text.getValue()));
}

void lumen::collectSymbols(Type type, std::set<std::string> &names) {
  if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getEncoding())
    for (const SymExpr &size : sizesOf(tensor))
      size.collectSymbols(names);
}

void lumen::collectSymbols(Operation *op, std::set<std::string> &names) {
  op->walk([&](Operation *inner) {
    visitExpressions(inner, [&](const SymExpr &expr) { expr.collectSymbols(names); });
    for (Type type : inner->getResultTypes())
      collectSymbols(type, names);
    for (Region &region : inner->getRegions())
      for (Type type : region.getArgumentTypes())
        collectSymbols(type, names);
  });
}

SmallVector<StringRef> lumen::symbolsDefinedBy(Operation *op) {
  SmallVector<StringRef> names;
  if (auto symbol = dyn_cast<SymbolOp>(op))
    names.push_back(symbol.getName());
  if (auto call = dyn_cast<CallOp>(op))
    return call.getDefinedSymbols();
  ArrayAttr symbols;
  if (auto branch = dyn_cast<IfOp>(op)) {
    symbols = branch.getSymbols();
  } else if (auto loop = dyn_cast<LoopOp>(op)) {
    names.push_back(loop.getInduction());
    symbols = loop.getSymbols();
  }
  if (symbols)
    llvm::append_range(names, symbols.getAsValueRange<StringAttr>());
  return names;
}

Type lumen::substitute(Type type, const llvm::StringMap<SymExpr> &values) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getEncoding())
    return type;
  Sizes sizes = sizesOf(tensor);
  for (SymExpr &size : sizes)
    size = size.substitute(values);
  return tensorTypeOf(sizes, tensor.getElementType());
}

bool lumen::canSubstitute(Operation *op, const llvm::StringMap<SymExpr> &values) {
  auto isSize = [&](const SymExpr &size) {
    return !size.isValid() || size.substitute(values).isValid();
  };
  auto areSizes = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || !tensor.getEncoding() || llvm::all_of(sizesOf(tensor), isSize);
  };
  return !op->walk([&](Operation *inner) {
              bool holds = llvm::all_of(inner->getResultTypes(), areSizes);
              visitExpressions(inner, [&](const SymExpr &size) { holds &= isSize(size); });
              for (Region &region : inner->getRegions())
                holds &= llvm::all_of(region.getArgumentTypes(), areSizes);
              return holds ? WalkResult::advance() : WalkResult::interrupt();
            }).wasInterrupted();
}

void lumen::substitute(Operation *op, const llvm::StringMap<SymExpr> &values) {
  op->walk([&](Operation *inner) {
    for (NamedAttribute attr : llvm::to_vector(inner->getAttrs())) {
      auto expressions = dyn_cast<DimsAttr>(attr.getValue());
      if (!expressions)
        continue;
      Sizes sizes = toSizes(expressions);
      for (SymExpr &size : sizes)
        size = size.substitute(values);
      inner->setAttr(attr.getName(), toAttr(op->getContext(), sizes));
    }
    for (StringRef name : expressionTexts(inner))
      if (auto text = inner->getAttrOfType<StringAttr>(name))
        if (std::optional<SymExpr> expr = SymExpr::parse(text.getValue()))
          inner->setAttr(name, StringAttr::get(op->getContext(), expr->substitute(values).str()));
    for (Value result : inner->getResults())
      result.setType(substitute(result.getType(), values));
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(substitute(argument.getType(), values));
  });
}
