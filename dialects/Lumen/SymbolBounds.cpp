//===- SymbolBounds.cpp - what size expressions are never below -----------===//

#include "dialects/Lumen/SymbolFactors.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace lumen;

namespace {

/// Looks for a number that an expression is never below.
class LowerBound {
public:
  using Bound = std::optional<int64_t>;

  Bound of(const SymExpr &expr) {
    if (!expr.isValid())
      return std::nullopt;
    if (std::optional<int64_t> constant = expr.asConstant())
      return constant;
    // What is found depends on the steps that are left, too.
    thread_local TextMemo<Bound> memo[kMaxDepth + 1];
    std::string text = expr.str();
    if (std::optional<Bound> known = memo[depth].find(text))
      return *known;
    Bound bound = ofTerms(expr);
    if (!bound && depth < kMaxDepth)
      bound = ofBounds(expr);
    return memo[depth].remember(text, bound);
  }

private:
  /// Each step may replace an atom in two ways.
  static constexpr unsigned kMaxDepth = 4;

  /// The sum of the terms' own bounds.
  Bound ofTerms(const SymExpr &expr) {
    int64_t sum = 0;
    for (const auto &[product, coefficient] : SymFactors::terms(expr)) {
      int64_t bound = coefficient;
      // Where a factor may be negative, nothing is known of the product.
      if (!product.empty() && coefficient < 0)
        return std::nullopt;
      for (const std::string &text : product) {
        Bound factor = ofFactor(text);
        if (factor && *factor < 0 && product.size() == 1) {
          if (llvm::MulOverflow(bound, *factor, bound))
            return std::nullopt;
          continue;
        }
        if (!factor || *factor < 0 || llvm::MulOverflow(bound, *factor, bound))
          return std::nullopt;
      }
      if (llvm::AddOverflow(sum, bound, sum))
        return std::nullopt;
    }
    return sum;
  }

  Bound ofFactor(const std::string &text) {
    FactorRef factor = takeApart(text);
    if (factor->isSymbol)
      return 0;
    Bound a = of(factor->lhs), b = of(factor->rhs);
    switch (factor->kind) {
    case AtomKind::FloorDiv: {
      std::optional<int64_t> divisor = factor->rhs.asConstant();
      if (a && divisor && *divisor > 0)
        return floorDivide(*a, *divisor);
      return a && b && *a >= 0 && *b >= 0 ? Bound(0) : std::nullopt;
    }
    case AtomKind::Max:
      return a && b ? std::max(*a, *b) : a ? a : b;
    case AtomKind::Min:
    case AtomKind::Broadcast:
      return a && b ? Bound(std::min(*a, *b)) : std::nullopt;
    }
    return std::nullopt;
  }

  /// Puts bounds of an atom in its place, so that terms may cancel: in
  /// n - min(n, m) the minimum is at most n. The first atom may be the wrong one, so
  /// a negative bound does not end the search.
  Bound ofBounds(const SymExpr &expr) {
    Bound best;
    for (const auto &[product, coefficient] : SymFactors::terms(expr)) {
      SymExpr factor(coefficient), rest = expr;
      FactorRef atom;
      bool isScaled = true; // by what is never negative
      for (const std::string &text : product) {
        FactorRef next = takeApart(text);
        if (!atom && !next->isSymbol) {
          atom = next;
          continue;
        }
        factor *= SymFactors::make(text);
        Bound bound = ofFactor(text);
        isScaled &= bound && *bound >= 0;
      }
      if (!atom || !isScaled)
        continue;
      SymExpr term(coefficient);
      for (const std::string &text : product)
        term *= SymFactors::make(text);
      rest -= term;
      ++depth;
      Bound bound = ofAtom(rest, factor, *atom, coefficient < 0);
      --depth;
      if (bound && (!best || *bound > *best))
        best = bound;
      if (best && *best >= 0)
        break;
    }
    return best;
  }

  /// The bound of `rest + factor * atom`, where the factor is of one sign.
  Bound ofAtom(const SymExpr &rest, const SymExpr &factor, const Factor &atom, bool isNegative) {
    auto with = [&](const SymExpr &value) { return of(rest + factor * value); };
    switch (atom.kind) {
    case AtomKind::FloorDiv: {
      std::optional<int64_t> divisor = atom.rhs.asConstant();
      if (!divisor || *divisor < 1)
        return std::nullopt;
      // floor(a/d) is at most a/d, and at least (a - d + 1)/d.
      SymExpr scaled = SymExpr::floorDiv(factor, *divisor);
      if (scaled * SymExpr(*divisor) == factor)
        return of(rest + scaled * (isNegative ? atom.lhs : atom.lhs - SymExpr(*divisor - 1)));
      return isNegative && of(atom.lhs).value_or(-1) >= 0 ? with(atom.lhs) : std::nullopt;
    }
    case AtomKind::Min:
    case AtomKind::Max: {
      Bound a = with(atom.lhs), b = with(atom.rhs);
      // Any of the two bounds the atom from one side, both only from the other.
      if ((atom.kind == AtomKind::Min) == isNegative)
        return a && b ? std::max(*a, *b) : a ? a : b;
      return a && b ? Bound(std::min(*a, *b)) : std::nullopt;
    }
    case AtomKind::Broadcast: {
      Bound a = with(atom.lhs), b = with(atom.rhs);
      return a && b ? Bound(std::min(*a, *b)) : std::nullopt;
    }
    }
    return std::nullopt;
  }

  unsigned depth = 0;
};

} // namespace

std::optional<int64_t> SymExpr::lowerBound() const { return LowerBound().of(*this); }
