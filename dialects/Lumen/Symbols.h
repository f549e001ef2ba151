//===- Symbols.h - sizes as expressions over symbols -------------*- C++ -*-===//
//
// The size of a dynamic dimension is a normalised polynomial over symbols with
// integer coefficients, so that equal sizes compare equal. What a polynomial
// cannot say (floor, ceil, min, max of polynomials) is an atom inside it.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_DIALECTS_LUMEN_SYMBOLS_H
#define LUMEN_DIALECTS_LUMEN_SYMBOLS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lumen {

enum class SymOp { Add, Sub, Mul, FloorDiv, Min, Max, Broadcast };

/// Receives an expression operation by operation; see `SymExpr::lower`. Results
/// are numbers of the sink's own.
class SymSink {
public:
  virtual ~SymSink() = default;
  virtual unsigned constant(int64_t value) = 0;
  virtual unsigned symbol(llvm::StringRef name) = 0;
  virtual unsigned apply(SymOp op, unsigned a, unsigned b) = 0;
};

/// A size expression. Value type; equality is structural on the normal form.
/// Arithmetic that leaves int64 gives an expression for which `isValid` is false, and
/// so does an atom that is too complicated.
class SymExpr {
public:
  /// How deep atoms stand in atoms, and how long the text of one is, at most. Both
  /// are far above the sizes of real models, which every pass reads again.
  static constexpr unsigned kMaxNesting = 64;
  static constexpr size_t kMaxLength = 16384;

  SymExpr() : SymExpr(0) {}
  SymExpr(int64_t constant);

  static SymExpr symbol(llvm::StringRef name);
  /// What arithmetic that leaves int64 gives.
  static SymExpr invalid();
  /// Reads what `str` prints; nothing for malformed text.
  static std::optional<SymExpr> parse(llvm::StringRef text);
  /// The same, but invalid for other text; and what was invalid keeps its reason.
  static SymExpr ofText(llvm::StringRef text);

  SymExpr operator+(const SymExpr &other) const;
  SymExpr operator-(const SymExpr &other) const;
  SymExpr operator*(const SymExpr &other) const;
  /// Exact quotients are polynomials again; others become atoms.
  static SymExpr floorDiv(const SymExpr &a, const SymExpr &b);
  static SymExpr ceilDiv(const SymExpr &a, const SymExpr &b);
  /// Where symbols are sizes, so never below 0, the smaller one is often known.
  static SymExpr min(const SymExpr &a, const SymExpr &b);
  static SymExpr max(const SymExpr &a, const SymExpr &b);
  /// The size that two dimensions broadcast to, given that they do: b where a is 1,
  /// else a.
  static SymExpr broadcast(const SymExpr &a, const SymExpr &b);

  SymExpr &operator+=(const SymExpr &other) { return *this = *this + other; }
  SymExpr &operator-=(const SymExpr &other) { return *this = *this - other; }
  SymExpr &operator*=(const SymExpr &other) { return *this = *this * other; }

  bool operator==(const SymExpr &other) const {
    return terms == other.terms && state == other.state;
  }
  bool operator!=(const SymExpr &other) const { return !(*this == other); }

  bool isValid() const { return state == State::Valid; }
  /// Whether it is the complexity of an expression that made it invalid.
  bool isTooComplicated() const { return state == State::TooComplicated; }
  std::optional<int64_t> asConstant() const;
  /// The value with every symbol replaced; nothing where a symbol is missing,
  /// a division is by zero or a result leaves int64.
  std::optional<int64_t> evaluate(const llvm::StringMap<int64_t> &values) const;
  /// Replaces the given symbols and normalises.
  SymExpr substitute(const llvm::StringMap<int64_t> &values) const;
  SymExpr substitute(const llvm::StringMap<SymExpr> &values) const;
  /// The expression over `name` instead of the symbols of `part`, where `name` has
  /// the value of `part`: 3*a + 3*b + 1 in terms of a + b is 3*name + 1. Nothing
  /// where those symbols do not vanish.
  std::optional<SymExpr> inTermsOf(const SymExpr &part, llvm::StringRef name) const {
    return inTermsOf(part, name, 0);
  }

  /// The names of all symbols, each once, sorted.
  void collectSymbols(std::set<std::string> &names) const;
  /// A number that the expression is never below, given that symbols are sizes and
  /// so never below 0; nothing where none is found.
  std::optional<int64_t> lowerBound() const;
  bool isNonNegative() const { return lowerBound().value_or(-1) >= 0; }
  bool isPositive() const { return lowerBound().value_or(-1) > 0; }
  /// Whether the two have no value in common.
  static bool differ(const SymExpr &a, const SymExpr &b) {
    return (a - b).isPositive() || (b - a).isPositive();
  }
  /// The constant c, if this is min(c, of).
  std::optional<int64_t> cappedAt(const SymExpr &of) const;
  /// The largest number that is known to divide the value; 0 for the constant 0.
  int64_t knownDivisor() const;

  /// Rebuilds the expression out of a sink's operations and returns the sink's
  /// number for it.
  unsigned lower(SymSink &sink) const;

  /// "3*seq + 1", "floordiv(h + 2, 2)", "max(a, b)"; terms in a fixed order.
  std::string str() const;

private:
  friend struct SymFactors;
  /// Factors (symbol names and printed atoms, sorted, repeated for powers) to
  /// a coefficient that is never zero. The empty product is the constant.
  using Product = std::vector<std::string>;

  std::optional<SymExpr> inTermsOf(const SymExpr &part, llvm::StringRef name,
                                   unsigned depth) const;
  enum class State : uint8_t { Overflow, Valid, TooComplicated };

  static SymExpr ofFactor(std::string text);
  /// An atom that was not there before; invalid past the limits.
  static SymExpr ofNewAtom(std::string text);
  /// What arithmetic on operands gives of which one is invalid.
  static SymExpr invalidOf(const SymExpr &a, const SymExpr &b);
  static SymExpr extreme(llvm::StringRef name, const SymExpr &a, const SymExpr &b, bool isMin);
  static SymExpr floorDivConstant(const SymExpr &a, int64_t divisor);
  /// The polynomial q with a = q*b; nothing if there is none.
  static std::optional<SymExpr> divideExactly(const SymExpr &a, const SymExpr &b);
  static std::optional<int64_t> evaluateFactor(const std::string &text,
                                               const llvm::StringMap<int64_t> &values);
  template <typename T> SymExpr substituteIn(const llvm::StringMap<T> &values) const;
  void addTerm(const Product &product, int64_t coefficient);
  const std::pair<const Product, int64_t> &leadingTerm() const;

  std::map<Product, int64_t> terms;
  State state = State::Valid;
};

} // namespace lumen

#endif // LUMEN_DIALECTS_LUMEN_SYMBOLS_H
