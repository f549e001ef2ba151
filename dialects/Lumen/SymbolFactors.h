//===- SymbolFactors.h - the insides of size expressions ---------*- C++ -*-===//
//
// What the arithmetic of size expressions and the search for their bounds share.
// Others see expressions through Symbols.h alone.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_SYMBOLFACTORS_H
#define LUMEN_DIALECTS_LUMEN_SYMBOLFACTORS_H

#include "dialects/Lumen/Symbols.h"

#include <memory>

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

/// What was found for a text before. The same atoms are asked about over and over,
/// and each question goes through all that is nested in them. A memo belongs to one
/// thread, and only saves time: what it forgets is found again.
template <typename T> class TextMemo {
public:
  std::optional<T> find(llvm::StringRef text) const {
    auto found = known.find(text);
    return found == known.end() ? std::nullopt : std::optional<T>(found->second);
  }
  T remember(llvm::StringRef text, T value) {
    bytes += text.size();
    if (bytes > kMostBytes) {
      known.clear();
      bytes = text.size();
    }
    known.try_emplace(text, value);
    return value;
  }

private:
  static constexpr size_t kMostBytes = size_t(1) << 20;
  llvm::StringMap<T> known;
  size_t bytes = 0;
};

/// The parts of a factor's text. The arithmetic has printed it, so the atoms inside
/// are in normal form already.
using FactorRef = std::shared_ptr<const Factor>;
FactorRef takeApart(const std::string &text);

/// Nothing where the quotient is not defined or leaves int64.
std::optional<int64_t> floorDivide(int64_t a, int64_t b);

} // namespace lumen

#endif // LUMEN_DIALECTS_LUMEN_SYMBOLFACTORS_H
