//===- KernelSymbols.cpp - the symbols of a kernel ------------------------===//

#include "passes/dispatch/KernelSymbols.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

/// A name that no symbol of a schedule has; replaced before anybody sees it.
static std::string provisionalName(unsigned index) { return "%" + std::to_string(index); }
static std::string finalName(unsigned index) { return "s" + std::to_string(index); }

/// Gives each symbol of an expression that has none a name of the kernel; `onNew` is
/// told of it.
static void nameSymbols(const SymExpr &expr, llvm::StringMap<SymExpr> &renamed,
                        SmallVectorImpl<std::string> &names,
                        llvm::function_ref<void(StringRef symbol)> onNew) {
  std::set<std::string> symbols;
  expr.collectSymbols(symbols);
  for (const std::string &symbol : symbols) {
    auto [it, isNew] = renamed.try_emplace(symbol);
    if (!isNew)
      continue;
    it->second = SymExpr::symbol(finalName(names.size()));
    names.push_back(finalName(names.size()));
    onNew(symbol);
  }
}

void KernelSymbols::add(const SymExpr &expr, bool isSize) {
  if (expr.asConstant() || !expr.isValid())
    return;
  auto [it, isNew] = indexOf.try_emplace(expr.str(), entries.size());
  if (isNew)
    entries.push_back({expr, expr});
  entries[it->second].isSize |= isSize;
}

void KernelSymbols::add(RankedTensorType type) {
  for (const SymExpr &size : sizesOf(type))
    add(size, /*isSize=*/true);
}

void KernelSymbols::add(DimsAttr expressions) {
  for (const SymExpr &expr : toSizes(expressions))
    add(expr, /*isSize=*/false);
}

SymExpr KernelSymbols::representative(const SymExpr &expr) const {
  SymExpr result = expr;
  for (auto found = equals.find(result.str()); found != equals.end();
       found = equals.find(result.str()))
    result = found->second;
  return result;
}

void KernelSymbols::unify(RankedTensorType a, RankedTensorType b) {
  for (auto [sizeA, sizeB] : llvm::zip(sizesOf(a), sizesOf(b))) {
    SymExpr first = representative(sizeA), second = representative(sizeB);
    if (first == second)
      continue;
    // A number says most.
    if (second.asConstant())
      std::swap(first, second);
    equals[second.str()] = first;
  }
}

void KernelSymbols::assign() {
  for (Entry &entry : entries)
    if (entry.isSize)
      entry.kernel = representative(entry.schedule);

  // What appears as a whole only becomes one symbol. A known divisor stays outside,
  // since vector loops ask for it.
  Sizes wholes;
  for (size_t i = 0; i < entries.size(); ++i) {
    SymExpr whole = entries[i].kernel;
    if (!entries[i].isSize || whole.asConstant())
      continue;
    whole = SymExpr::floorDiv(whole, whole.knownDivisor());
    std::set<std::string> symbols;
    whole.collectSymbols(symbols);
    if (whole == SymExpr::symbol(*symbols.begin()))
      continue;
    std::string name = provisionalName(wholes.size());
    Sizes inTerms;
    for (const Entry &entry : entries)
      if (std::optional<SymExpr> expr = entry.kernel.inTermsOf(whole, name))
        inTerms.push_back(*expr);
    if (inTerms.size() != entries.size())
      continue;
    for (auto [entry, expr] : llvm::zip(entries, inTerms))
      entry.kernel = expr;
    wholes.push_back(whole);
  }

  llvm::StringMap<SymExpr> valueOf, renamed;
  for (auto [i, whole] : llvm::enumerate(wholes))
    valueOf[provisionalName(i)] = whole;
  for (const Entry &entry : entries)
    nameSymbols(entry.kernel, renamed, names, [&](StringRef symbol) {
      auto value = valueOf.find(symbol);
      values.push_back(value == valueOf.end() ? SymExpr::symbol(symbol) : value->second);
    });
  // A whole may itself hold an earlier one.
  for (SymExpr &value : values)
    for (size_t i = 0; i < wholes.size(); ++i)
      value = value.substitute(valueOf);
  for (Entry &entry : entries)
    entry.kernel = entry.kernel.substitute(renamed);
}

SymExpr KernelSymbols::rewrite(const SymExpr &expr) const {
  auto found = indexOf.find(expr.str());
  return found == indexOf.end() ? expr : entries[found->second].kernel;
}

RankedTensorType KernelSymbols::rewrite(RankedTensorType type) const {
  if (type.hasStaticShape())
    return type;
  Sizes sizes = sizesOf(type);
  for (SymExpr &size : sizes)
    size = rewrite(size);
  return tensorTypeOf(sizes, type.getElementType());
}

DimsAttr KernelSymbols::rewrite(DimsAttr expressions) const {
  Sizes sizes = toSizes(expressions);
  for (SymExpr &size : sizes)
    size = rewrite(size);
  return toAttr(expressions.getContext(), sizes);
}

SymExpr lumen::addKernelExpression(KernelOp kernel, LaunchOp launch, const SymExpr &expr) {
  if (expr.asConstant())
    return expr;
  Sizes values = launch.getSizes() ? toSizes(*launch.getSizes()) : Sizes();
  SmallVector<std::string> names;
  for (StringRef name : kernel.getSizeNames())
    names.push_back(name.str());

  llvm::StringMap<SymExpr> renamed;
  SymExpr result = expr;
  for (auto [i, value] : llvm::enumerate(values)) {
    renamed[provisionalName(i)] = SymExpr::symbol(names[i]);
    if (std::optional<SymExpr> inTerms = result.inTermsOf(value, provisionalName(i)))
      result = *inTerms;
  }
  nameSymbols(result, renamed, names,
              [&](StringRef symbol) { values.push_back(SymExpr::symbol(symbol)); });
  MLIRContext *context = kernel.getContext();
  kernel->setAttr(DispatchDialect::kSizes,
                  ArrayAttr::get(context, llvm::map_to_vector(names, [&](const std::string &name) {
                                   return Attribute(StringAttr::get(context, name));
                                 })));
  launch.setSizesAttr(toAttr(context, values));
  return result.substitute(renamed);
}
