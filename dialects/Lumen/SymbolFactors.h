//===- SymbolFactors.h - the insides of size expressions ---------*- C++ -*-===//
//
// What the arithmetic of size expressions and the search for their bounds share.
// Others see expressions through Symbols.h alone.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_SYMBOLFACTORS_H
#define LUMEN_DIALECTS_LUMEN_SYMBOLFACTORS_H

#include "dialects/Lumen/Symbols.h"

namespace lumen {

enum class AtomKind { FloorDiv, Min, Max, Broadcast };

/// A factor taken apart.
struct Factor {
  std::string symbol; ///< set if it is a symbol
  AtomKind kind = AtomKind::FloorDiv;
  SymExpr lhs, rhs;
  bool isSymbol = true;
};

/// What the arithmetic sees of an expression's insides.
struct SymFactors {
  static SymExpr make(std::string text) { return SymExpr::ofFactor(std::move(text)); }
  static const std::map<std::vector<std::string>, int64_t> &terms(const SymExpr &expr) {
    return expr.terms;
  }
};

/// The parts of a factor's text. The arithmetic has printed it, so the atoms inside
/// are in normal form already.
Factor takeApart(const std::string &text);

/// Nothing where the quotient is not defined or leaves int64.
std::optional<int64_t> floorDivide(int64_t a, int64_t b);

} // namespace lumen

#endif // LUMEN_DIALECTS_LUMEN_SYMBOLFACTORS_H
