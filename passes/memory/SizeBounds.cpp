//===- SizeBounds.cpp - how large a size can become -----------------------===//

#include "passes/memory/SizeBounds.h"

using namespace mlir;
using namespace lumen;

namespace {

/// Between which expressions a value lies; either may be unknown.
struct Interval {
  std::optional<SymExpr> low, high;

  bool isExact() const { return low && high && *low == *high; }
  bool isNonNegative() const { return low && low->isNonNegative(); }
};

/// Computes with ranges instead of values.
class RangeSink : public SymSink {
public:
  using UpperFn = llvm::function_ref<std::optional<SymExpr>(StringRef)>;
  explicit RangeSink(UpperFn upperOfSymbol) : upperOfSymbol(upperOfSymbol) {}

  unsigned constant(int64_t value) override { return add({SymExpr(value), SymExpr(value)}); }

  unsigned symbol(StringRef name) override {
    SymExpr symbol = SymExpr::symbol(name);
    std::optional<SymExpr> upper = upperOfSymbol(name);
    bool isItself = upper && *upper == symbol;
    return add({isItself ? symbol : SymExpr(0), upper});
  }

  unsigned apply(SymOp op, unsigned lhs, unsigned rhs) override {
    return add(combine(op, ranges[lhs], ranges[rhs]));
  }

  const Interval &operator[](unsigned index) const { return ranges[index]; }

private:
  unsigned add(Interval range) {
    for (std::optional<SymExpr> *end : {&range.low, &range.high})
      if (*end && !(*end)->isValid())
        end->reset();
    ranges.push_back(std::move(range));
    return ranges.size() - 1;
  }

  static Interval combine(SymOp op, const Interval &a, const Interval &b);

  UpperFn upperOfSymbol;
  std::vector<Interval> ranges;
};

} // namespace

/// f(a, b) where both are known.
template <typename Fn>
static std::optional<SymExpr> both(const std::optional<SymExpr> &a, const std::optional<SymExpr> &b,
                                   Fn f) {
  return a && b ? std::optional<SymExpr>(f(*a, *b)) : std::nullopt;
}

/// f(a, b) where both are known, else the one that is.
template <typename Fn>
static std::optional<SymExpr> either(const std::optional<SymExpr> &a,
                                     const std::optional<SymExpr> &b, Fn f) {
  return a && b ? std::optional<SymExpr>(f(*a, *b)) : a ? a : b;
}

Interval RangeSink::combine(SymOp op, const Interval &a, const Interval &b) {
  auto plus = [](const SymExpr &x, const SymExpr &y) { return x + y; };
  auto minus = [](const SymExpr &x, const SymExpr &y) { return x - y; };
  auto times = [](const SymExpr &x, const SymExpr &y) { return x * y; };
  switch (op) {
  case SymOp::Add:
    return {both(a.low, b.low, plus), both(a.high, b.high, plus)};
  case SymOp::Sub:
    return {both(a.low, b.high, minus), both(a.high, b.low, minus)};
  case SymOp::Mul: {
    if ((a.isExact() && b.isExact()) || (a.isNonNegative() && b.isNonNegative()))
      return {both(a.low, b.low, times), both(a.high, b.high, times)};
    for (auto [factor, other] : {std::pair(&a, &b), std::pair(&b, &a)})
      if (factor->isExact() && factor->low->asConstant().value_or(1) < 0)
        return {both(other->high, factor->low, times), both(other->low, factor->low, times)};
    return {};
  }
  case SymOp::FloorDiv: {
    if (a.isExact() && b.isExact())
      return {both(a.low, b.low, SymExpr::floorDiv), both(a.high, b.high, SymExpr::floorDiv)};
    if (b.isExact() && b.low->lowerBound().value_or(0) > 0)
      return {both(a.low, b.low, SymExpr::floorDiv), both(a.high, b.low, SymExpr::floorDiv)};
    // A divisor of 0 ends the run.
    if (a.isNonNegative() && b.isNonNegative())
      return {SymExpr(0), a.high};
    return {};
  }
  case SymOp::Min: {
    std::optional<SymExpr> high = either(a.high, b.high, SymExpr::min);
    // "To the end" is a large number in ONNX: no bound that memory could be planned for.
    constexpr int64_t kLargestCap = 1 << 20;
    if ((!a.high || !b.high) && high && high->asConstant().value_or(0) > kLargestCap)
      high.reset();
    return {both(a.low, b.low, SymExpr::min), high};
  }
  case SymOp::Max:
    return {either(a.low, b.low, SymExpr::max), both(a.high, b.high, SymExpr::max)};
  case SymOp::Broadcast:
    if (a.isExact() && b.isExact())
      return {both(a.low, b.low, SymExpr::broadcast), both(a.low, b.low, SymExpr::broadcast)};
    return {both(a.low, b.low, SymExpr::min), both(a.high, b.high, SymExpr::max)};
  }
  llvm_unreachable("all operations return");
}

SizeBounds::SizeBounds(func::FuncOp main) {
  auto bounds = main->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>("lumen.bounds");
  for (Type type : main.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      std::set<std::string> names;
      for (const SymExpr &size : sizesOf(tensor))
        size.collectSymbols(names);
      for (const std::string &name : names) {
        auto bound = bounds ? bounds.getAs<IntegerAttr>(name) : nullptr;
        entry[name] = bound ? bound.getInt() : -1;
      }
    }
  main.walk([&](Operation *op) {
    if (auto symbol = dyn_cast<SymbolOp>(op)) {
      Sizes &candidates = late[symbol.getName()];
      if (std::optional<SymExpr> bound = symbol.getBound())
        candidates.push_back(*bound);
    } else if (auto branch = dyn_cast<IfOp>(op)) {
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
        auto yield = cast<lumen::YieldOp>(region->front().getTerminator());
        for (auto [name, size] : llvm::zip(branch.getSymbols().getAsValueRange<StringAttr>(),
                                           toSizes(yield.getSizes())))
          late[name].push_back(size);
      }
    } else if (auto loop = dyn_cast<LoopOp>(op)) {
      Sizes &candidates = late[loop.getInduction()];
      if (std::optional<SymExpr> trips = loop.getTripCount())
        candidates.push_back(*trips);
      for (StringRef name : loop.getSymbols().getAsValueRange<StringAttr>())
        late.try_emplace(name);
    }
  });
}

bool SizeBounds::isEntry(const SymExpr &size) const {
  std::set<std::string> names;
  size.collectSymbols(names);
  return llvm::all_of(names, [&](const std::string &name) { return entry.contains(name); });
}

std::optional<SymExpr> SizeBounds::upperOf(const SymExpr &size, UpperFn upperOfSymbol) const {
  if (!size.isValid())
    return std::nullopt;
  RangeSink sink(upperOfSymbol);
  return sink[size.lower(sink)].high;
}

std::optional<SymExpr> SizeBounds::upperOfLate(StringRef name) const {
  auto found = late.find(name);
  if (found == late.end() || found->second.empty() || !open.insert(name).second)
    return std::nullopt;
  std::optional<SymExpr> result;
  for (const SymExpr &candidate : found->second) {
    std::optional<SymExpr> bound = upper(candidate);
    if (!bound) {
      result.reset();
      break;
    }
    result = result ? SymExpr::max(*result, *bound) : *bound;
  }
  open.erase(name);
  return result;
}

std::optional<SymExpr> SizeBounds::upper(const SymExpr &size) const {
  if (size.isValid() && isEntry(size))
    return size;
  return upperOf(size, [&](StringRef name) -> std::optional<SymExpr> {
    return entry.contains(name) ? SymExpr::symbol(name) : upperOfLate(name);
  });
}

std::optional<int64_t> SizeBounds::upperNumber(const SymExpr &size) const {
  std::optional<SymExpr> bound = upper(size);
  if (!bound)
    return std::nullopt;
  auto number = upperOf(*bound, [&](StringRef name) -> std::optional<SymExpr> {
    int64_t value = entry.lookup(name);
    return value < 0 ? std::nullopt : std::optional<SymExpr>(value);
  });
  return number ? number->asConstant() : std::nullopt;
}
