//===- Symbols.cpp - arithmetic of size expressions -----------------------===//

#include "dialects/Lumen/SymbolFactors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace lumen;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Text of factors
//===----------------------------------------------------------------------===//

// A factor is a symbol or an atom, `floordiv(a, b)`, `min(a, b)`, `max(a, b)`,
// `broadcast(a, b)`, and is held as its text. Names that read like anything else are quoted.

static constexpr StringRef kTooComplicated = "<too complicated>";

static bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
static bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; }

static std::string quoteName(StringRef name) {
  if (!name.empty() && isNameStart(name.front()) && llvm::all_of(name, isNamePart))
    return name.str();
  std::string text = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\')
      text += '\\';
    text += c;
  }
  return text + "\"";
}

static SymExpr applyAtom(AtomKind kind, const SymExpr &a, const SymExpr &b) {
  switch (kind) {
  case AtomKind::FloorDiv:
    return SymExpr::floorDiv(a, b);
  case AtomKind::Min:
    return SymExpr::min(a, b);
  case AtomKind::Max:
    return SymExpr::max(a, b);
  case AtomKind::Broadcast:
    return SymExpr::broadcast(a, b);
  }
  llvm_unreachable("all kinds return");
}

namespace {

/// Recursive descent over what `str` prints; depth is bounded.
class Parser {
public:
  /// `make` turns the text and the parts of an atom into an expression.
  using MakeAtom = llvm::function_ref<SymExpr(StringRef, const Factor &)>;
  Parser(StringRef text, MakeAtom make) : rest(text), make(make) {}

  std::optional<SymExpr> parseAll() {
    std::optional<SymExpr> result = parseSum();
    skipSpace();
    if (!result || !rest.empty() || !result->isValid())
      return std::nullopt;
    return result;
  }

  /// A factor that is not a number.
  std::optional<Factor> parseFactor() {
    skipSpace();
    Factor factor;
    if (rest.consume_front("\"")) {
      while (!rest.empty() && rest.front() != '"') {
        rest.consume_front("\\");
        if (rest.empty())
          return std::nullopt;
        factor.symbol += rest.front();
        rest = rest.drop_front();
      }
      if (!rest.consume_front("\""))
        return std::nullopt;
      return factor;
    }
    if (rest.empty() || !isNameStart(rest.front()))
      return std::nullopt;
    StringRef name = rest.take_while(isNamePart);
    rest = rest.drop_front(name.size());
    if (!rest.starts_with("(")) {
      factor.symbol = name.str();
      return factor;
    }
    factor.isSymbol = false;
    if (name == "floordiv")
      factor.kind = AtomKind::FloorDiv;
    else if (name == "min")
      factor.kind = AtomKind::Min;
    else if (name == "max")
      factor.kind = AtomKind::Max;
    else if (name == "broadcast")
      factor.kind = AtomKind::Broadcast;
    else
      return std::nullopt;
    std::optional<SymExpr> lhs, rhs;
    if (!consume("(") || !(lhs = parseSum()) || !consume(",") || !(rhs = parseSum()) ||
        !consume(")"))
      return std::nullopt;
    factor.lhs = *lhs;
    factor.rhs = *rhs;
    return factor;
  }

private:
  /// Above the nesting of what `str` prints, with room for parentheses around sums.
  static constexpr unsigned kMaxDepth = 2 * SymExpr::kMaxNesting;

  void skipSpace() { rest = rest.ltrim(' '); }

  bool consume(StringRef token) {
    skipSpace();
    return rest.consume_front(token);
  }

  std::optional<SymExpr> parseSum() {
    if (++depth > kMaxDepth)
      return std::nullopt;
    std::optional<SymExpr> sum = SymExpr(0);
    bool isNegative = consume("-");
    while (sum) {
      std::optional<SymExpr> term = parseTerm();
      if (!term)
        return std::nullopt;
      sum = isNegative ? *sum - *term : *sum + *term;
      if (consume("+"))
        isNegative = false;
      else if (consume("-"))
        isNegative = true;
      else
        break;
    }
    --depth;
    return sum;
  }

  std::optional<SymExpr> parseTerm() {
    std::optional<SymExpr> product = parsePrimary();
    while (product && consume("*")) {
      std::optional<SymExpr> next = parsePrimary();
      if (!next)
        return std::nullopt;
      product = *product * *next;
    }
    return product;
  }

  std::optional<SymExpr> parsePrimary() {
    skipSpace();
    if (!rest.empty() && llvm::isDigit(rest.front())) {
      int64_t value;
      StringRef digits = rest.take_while(llvm::isDigit);
      rest = rest.drop_front(digits.size());
      if (digits.getAsInteger(10, value))
        return std::nullopt;
      return SymExpr(value);
    }
    if (rest.starts_with("(")) {
      consume("(");
      std::optional<SymExpr> inner = parseSum();
      return inner && consume(")") ? inner : std::nullopt;
    }
    StringRef start = rest;
    std::optional<Factor> factor = parseFactor();
    if (!factor)
      return std::nullopt;
    if (factor->isSymbol)
      return SymExpr::symbol(factor->symbol);
    return make(start.drop_back(rest.size()), *factor);
  }

  StringRef rest;
  MakeAtom make;
  unsigned depth = 0;
};

} // namespace

std::optional<SymExpr> SymExpr::parse(StringRef text) {
  auto simplify = [](StringRef, const Factor &atom) {
    return applyAtom(atom.kind, atom.lhs, atom.rhs);
  };
  thread_local TextMemo<std::optional<SymExpr>> memo;
  if (std::optional<std::optional<SymExpr>> known = memo.find(text))
    return *known;
  return memo.remember(text, Parser(text, simplify).parseAll());
}

SymExpr SymExpr::ofText(StringRef text) {
  SymExpr result = parse(text).value_or(invalid());
  if (text == kTooComplicated)
    result.state = State::TooComplicated;
  return result;
}

FactorRef lumen::takeApart(const std::string &text) {
  thread_local TextMemo<FactorRef> memo;
  if (std::optional<FactorRef> known = memo.find(text))
    return *known;
  auto keep = [](StringRef atom, const Factor &) { return SymFactors::make(atom.str()); };
  std::optional<Factor> factor = Parser(text, keep).parseFactor();
  // A part that reads as nothing must not become a size.
  if (!factor)
    llvm::report_fatal_error("a size has the part '" + StringRef(text) + "', which no size prints");
  return memo.remember(text, std::make_shared<Factor>(std::move(*factor)));
}

/// The only factor of an expression that is an atom and nothing else; else null.
static FactorRef asAtom(const SymExpr &expr) {
  const auto &terms = SymFactors::terms(expr);
  if (!expr.isValid() || terms.size() != 1 || terms.begin()->second != 1 ||
      terms.begin()->first.size() != 1)
    return nullptr;
  FactorRef factor = takeApart(terms.begin()->first.front());
  return factor->isSymbol ? nullptr : factor;
}

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

SymExpr::SymExpr(int64_t constant) {
  if (constant != 0)
    terms[{}] = constant;
}

SymExpr SymExpr::symbol(StringRef name) { return ofFactor(quoteName(name)); }

SymExpr SymExpr::ofFactor(std::string text) {
  SymExpr result;
  result.terms[{std::move(text)}] = 1;
  return result;
}

SymExpr SymExpr::invalid() {
  SymExpr result;
  result.state = State::Overflow;
  return result;
}

SymExpr SymExpr::invalidOf(const SymExpr &a, const SymExpr &b) {
  SymExpr result = invalid();
  if (a.isTooComplicated() || b.isTooComplicated())
    result.state = State::TooComplicated;
  return result;
}

/// How deep atoms stand in an atom of this text; parentheses in quoted names are none.
static unsigned nestingOf(StringRef text) {
  unsigned depth = 0, deepest = 0;
  bool isQuoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (isQuoted && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      isQuoted = !isQuoted;
    else if (!isQuoted && text[i] == '(')
      deepest = std::max(deepest, ++depth);
    else if (!isQuoted && text[i] == ')')
      --depth;
  }
  return deepest;
}

SymExpr SymExpr::ofNewAtom(std::string text) {
  if (text.size() <= kMaxLength && nestingOf(text) <= kMaxNesting)
    return ofFactor(std::move(text));
  SymExpr result;
  result.state = State::TooComplicated;
  return result;
}

void SymExpr::addTerm(const Product &product, int64_t coefficient) {
  int64_t &sum = terms[product];
  if (llvm::AddOverflow(sum, coefficient, sum)) {
    *this = invalid();
    return;
  }
  if (sum == 0)
    terms.erase(product);
}

SymExpr SymExpr::operator+(const SymExpr &other) const {
  if (!isValid() || !other.isValid())
    return invalidOf(*this, other);
  SymExpr result = *this;
  for (const auto &[product, coefficient] : other.terms) {
    result.addTerm(product, coefficient);
    if (!result.isValid())
      break;
  }
  return result;
}

SymExpr SymExpr::operator-(const SymExpr &other) const { return *this + other * SymExpr(-1); }

SymExpr SymExpr::operator*(const SymExpr &other) const {
  if (!isValid() || !other.isValid())
    return invalidOf(*this, other);
  SymExpr result;
  for (const auto &[a, ca] : terms)
    for (const auto &[b, cb] : other.terms) {
      Product product;
      std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(product));
      int64_t coefficient;
      if (llvm::MulOverflow(ca, cb, coefficient))
        return invalid();
      result.addTerm(product, coefficient);
      if (!result.isValid())
        return result;
    }
  return result;
}

std::optional<int64_t> SymExpr::asConstant() const {
  if (!isValid() || terms.size() > 1)
    return std::nullopt;
  if (terms.empty())
    return 0;
  if (!terms.begin()->first.empty())
    return std::nullopt;
  return terms.begin()->second;
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

std::optional<int64_t> lumen::floorDivide(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))
    return std::nullopt;
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

/// Higher degree first, then by names: an order that multiplication keeps, so
/// that long division ends.
static bool isLeading(const std::vector<std::string> &a, const std::vector<std::string> &b) {
  return a.size() != b.size() ? a.size() > b.size() : a < b;
}

using Term = std::pair<const std::vector<std::string>, int64_t>;

/// The order of the text: leading terms first.
static std::vector<const Term *> inOrder(const std::map<std::vector<std::string>, int64_t> &terms) {
  std::vector<const Term *> order;
  for (const Term &term : terms)
    order.push_back(&term);
  llvm::sort(order, [](const Term *a, const Term *b) { return isLeading(a->first, b->first); });
  return order;
}

auto SymExpr::leadingTerm() const -> const std::pair<const Product, int64_t> & {
  return *std::min_element(terms.begin(), terms.end(), [](const auto &a, const auto &b) {
    return isLeading(a.first, b.first);
  });
}

std::optional<SymExpr> SymExpr::divideExactly(const SymExpr &a, const SymExpr &b) {
  if (b.terms.empty())
    return std::nullopt;
  SymExpr quotient, rest = a;
  const auto &[divisor, divisorCoefficient] = b.leadingTerm();
  // Each step removes the leading term, but may add smaller ones; sizes of real
  // models have few, and longer divisions stay atoms.
  for (int step = 0; step < 32 && rest.isValid(); ++step) {
    if (rest.terms.empty())
      return quotient;
    const auto &[product, coefficient] = rest.leadingTerm();
    if (!std::includes(product.begin(), product.end(), divisor.begin(), divisor.end()) ||
        (divisorCoefficient == -1 ? coefficient == std::numeric_limits<int64_t>::min()
                                  : coefficient % divisorCoefficient != 0))
      return std::nullopt;
    SymExpr term;
    Product difference;
    std::set_difference(product.begin(), product.end(), divisor.begin(), divisor.end(),
                        std::back_inserter(difference));
    term.terms[difference] = coefficient / divisorCoefficient;
    quotient = quotient + term;
    rest = rest - term * b;
  }
  return std::nullopt;
}

/// floor(a / d) for d > 1: whole multiples of d leave the floor, which brings
/// every coefficient inside it to [0, d); then a common factor is cancelled.
SymExpr SymExpr::floorDivConstant(const SymExpr &a, int64_t d) {
  SymExpr whole, rest;
  int64_t common = d;
  for (const auto &[product, coefficient] : a.terms) {
    int64_t quotient = *floorDivide(coefficient, d), remainder = coefficient - quotient * d;
    if (quotient != 0)
      whole.terms[product] = quotient;
    if (remainder == 0)
      continue;
    rest.terms[product] = remainder;
    if (!product.empty())
      common = std::gcd(common, remainder);
  }
  // floor((g*x + c) / (g*e)) = floor((x + floor(c/g)) / e)
  SymExpr reduced;
  for (const auto &[product, coefficient] : rest.terms)
    if (coefficient / common != 0)
      reduced.terms[product] = coefficient / common;
  d /= common;
  if (std::optional<int64_t> constant = reduced.asConstant())
    return whole + SymExpr(*floorDivide(*constant, d));
  if (d == 1)
    return whole + reduced;
  return whole + ofNewAtom("floordiv(" + reduced.str() + ", " + std::to_string(d) + ")");
}

SymExpr SymExpr::floorDiv(const SymExpr &a, const SymExpr &b) {
  if (!a.isValid() || !b.isValid())
    return invalidOf(a, b);
  if (std::optional<int64_t> divisor = b.asConstant()) {
    if (*divisor == 0)
      return invalid();
    if (std::optional<int64_t> value = a.asConstant()) {
      std::optional<int64_t> quotient = floorDivide(*value, *divisor);
      return quotient ? SymExpr(*quotient) : invalid();
    }
    if (*divisor < 0) {
      SymExpr negatedA = SymExpr(0) - a, negatedB = SymExpr(0) - b;
      return negatedB.isValid() ? floorDiv(negatedA, negatedB) : invalid();
    }
    return *divisor == 1 ? a : floorDivConstant(a, *divisor);
  }
  if (std::optional<SymExpr> quotient = divideExactly(a, b))
    return *quotient;
  return ofNewAtom("floordiv(" + a.str() + ", " + b.str() + ")");
}

SymExpr SymExpr::ceilDiv(const SymExpr &a, const SymExpr &b) {
  // The form that the arithmetic of windows has, so that both meet.
  if (std::optional<int64_t> divisor = b.asConstant(); divisor && *divisor > 0)
    return floorDiv(a + SymExpr(*divisor - 1), b);
  return SymExpr(0) - floorDiv(SymExpr(0) - a, b);
}

//===----------------------------------------------------------------------===//
// Minimum and maximum
//===----------------------------------------------------------------------===//

/// An expression that is an atom of two operands plus a constant.
static FactorRef asShiftedAtom(const SymExpr &expr, SymExpr &offset) {
  const auto &terms = SymFactors::terms(expr);
  auto constant = terms.find({});
  offset = SymExpr(constant == terms.end() ? 0 : constant->second);
  return asAtom(expr - offset);
}

/// The smaller or the larger one, if it is known which that is.
static std::optional<SymExpr> knownExtreme(const SymExpr &a, const SymExpr &b, bool isMin) {
  if ((a - b).isNonNegative())
    return isMin ? b : a;
  if ((b - a).isNonNegative())
    return isMin ? a : b;
  return std::nullopt;
}

/// max(a, max(x, y) + k), where a and x + k compare, is the maximum of the larger one
/// and y + k; max(c, min(x, y) + k) is the smaller one of max(c, x + k) and
/// max(c, y + k), where these compare. So what is cut off a size again and again adds
/// up. The same holds for min; nothing for other expressions.
static std::optional<SymExpr> mergeExtremes(const SymExpr &a, const SymExpr &b, bool isMin) {
  SymExpr offset;
  FactorRef atom = asShiftedAtom(b, offset);
  if (!atom || (atom->kind != AtomKind::Min && atom->kind != AtomKind::Max))
    return std::nullopt;
  AtomKind kind = isMin ? AtomKind::Min : AtomKind::Max;
  SymExpr x = atom->lhs + offset, y = atom->rhs + offset;
  std::optional<SymExpr> merged;
  if (atom->kind == kind) {
    if (std::optional<SymExpr> known = knownExtreme(a, x, isMin))
      merged = applyAtom(kind, *known, y);
    else if ((known = knownExtreme(a, y, isMin)))
      merged = applyAtom(kind, *known, x);
  } else if (a.asConstant()) {
    merged = knownExtreme(applyAtom(kind, a, x), applyAtom(kind, a, y), !isMin);
  }
  return merged && merged->isValid() ? merged : std::nullopt;
}

SymExpr SymExpr::extreme(StringRef name, const SymExpr &a, const SymExpr &b, bool isMin) {
  if (!a.isValid() || !b.isValid())
    return invalidOf(a, b);
  std::string first = a.str(), second = b.str();
  if (second < first)
    return extreme(name, b, a, isMin);
  if (std::optional<SymExpr> known = knownExtreme(a, b, isMin))
    return *known;
  if (std::optional<SymExpr> merged = mergeExtremes(a, b, isMin))
    return *merged;
  if (std::optional<SymExpr> merged = mergeExtremes(b, a, isMin))
    return *merged;
  return ofNewAtom((name + "(" + first + ", " + second + ")").str());
}

SymExpr SymExpr::min(const SymExpr &a, const SymExpr &b) { return extreme("min", a, b, true); }
SymExpr SymExpr::max(const SymExpr &a, const SymExpr &b) { return extreme("max", a, b, false); }

SymExpr SymExpr::broadcast(const SymExpr &a, const SymExpr &b) {
  if (!a.isValid() || !b.isValid())
    return invalidOf(a, b);
  if (a == b)
    return a;
  // A constant other than 1 decides: the other one is 1 or equal to it.
  for (const SymExpr *expr : {&a, &b})
    if (std::optional<int64_t> constant = expr->asConstant()) {
      const SymExpr &other = expr == &a ? b : a;
      return *constant == 1 ? other : *expr;
    }
  // What a size was broadcast to before, it fits again.
  for (const SymExpr *expr : {&a, &b})
    if (FactorRef atom = asAtom(*expr); atom && atom->kind == AtomKind::Broadcast)
      if (const SymExpr &other = expr == &a ? b : a; atom->lhs == other || atom->rhs == other)
        return *expr;
  std::string first = a.str(), second = b.str();
  if (second < first)
    std::swap(first, second);
  return ofNewAtom("broadcast(" + first + ", " + second + ")");
}

//===----------------------------------------------------------------------===//
// Values and text
//===----------------------------------------------------------------------===//

std::optional<int64_t> SymExpr::evaluate(const llvm::StringMap<int64_t> &values) const {
  if (!isValid())
    return std::nullopt;
  int64_t sum = 0;
  for (const auto &[product, coefficient] : terms) {
    int64_t term = coefficient;
    for (const std::string &text : product) {
      std::optional<int64_t> value = evaluateFactor(text, values);
      if (!value || llvm::MulOverflow(term, *value, term))
        return std::nullopt;
    }
    if (llvm::AddOverflow(sum, term, sum))
      return std::nullopt;
  }
  return sum;
}

std::optional<int64_t> SymExpr::evaluateFactor(const std::string &text,
                                               const llvm::StringMap<int64_t> &values) {
  FactorRef factor = takeApart(text);
  if (factor->isSymbol) {
    auto found = values.find(factor->symbol);
    return found == values.end() ? std::nullopt : std::optional<int64_t>(found->second);
  }
  std::optional<int64_t> a = factor->lhs.evaluate(values), b = factor->rhs.evaluate(values);
  if (!a || !b)
    return std::nullopt;
  switch (factor->kind) {
  case AtomKind::FloorDiv:
    return floorDivide(*a, *b);
  case AtomKind::Min:
    return std::min(*a, *b);
  case AtomKind::Max:
    return std::max(*a, *b);
  case AtomKind::Broadcast:
    return *a == 1 ? *b : *a;
  }
  return std::nullopt;
}

template <typename T> SymExpr SymExpr::substituteIn(const llvm::StringMap<T> &values) const {
  if (!isValid())
    return *this;
  SymExpr sum;
  for (const auto &[product, coefficient] : terms) {
    SymExpr term(coefficient);
    for (const std::string &text : product) {
      FactorRef factor = takeApart(text);
      if (factor->isSymbol) {
        auto found = values.find(factor->symbol);
        term = term * (found == values.end() ? ofFactor(text) : SymExpr(found->second));
        continue;
      }
      term = term * applyAtom(factor->kind, factor->lhs.substituteIn(values),
                              factor->rhs.substituteIn(values));
    }
    sum = sum + term;
  }
  return sum;
}

SymExpr SymExpr::substitute(const llvm::StringMap<int64_t> &values) const {
  return substituteIn(values);
}
SymExpr SymExpr::substitute(const llvm::StringMap<SymExpr> &values) const {
  return substituteIn(values);
}

std::optional<SymExpr> SymExpr::inTermsOf(const SymExpr &part, StringRef name,
                                          unsigned depth) const {
  // n in terms of n - min(n, m) has the minimum in it, and so n again.
  constexpr unsigned kMaxDepth = 8;
  if (depth > kMaxDepth)
    return std::nullopt;
  std::set<std::string> own, gone, shared;
  collectSymbols(own);
  part.collectSymbols(gone);
  std::set_intersection(own.begin(), own.end(), gone.begin(), gone.end(),
                        std::inserter(shared, shared.end()));
  if (shared.empty())
    return *this;
  // Division with remainder; a part that is one factor is found in any place.
  const auto &[divisor, divisorCoefficient] = part.leadingTerm();
  SymExpr quotient, remainder, rest = *this;
  for (int step = 0; step < 64 && rest.isValid() && !rest.terms.empty(); ++step) {
    auto [product, coefficient] = rest.leadingTerm();
    SymExpr term;
    bool isMultiple = divisorCoefficient == -1 ? coefficient != std::numeric_limits<int64_t>::min()
                                               : coefficient % divisorCoefficient == 0;
    if (isMultiple &&
        std::includes(product.begin(), product.end(), divisor.begin(), divisor.end())) {
      Product difference;
      std::set_difference(product.begin(), product.end(), divisor.begin(), divisor.end(),
                          std::back_inserter(difference));
      term.terms[difference] = coefficient / divisorCoefficient;
      quotient = quotient + term;
      rest = rest - term * part;
    } else {
      term.terms[product] = coefficient;
      remainder = remainder + term;
      rest = rest - term;
    }
  }
  if (!rest.isValid() || !rest.terms.empty())
    return std::nullopt;
  SymExpr result;
  for (const auto &[product, coefficient] : remainder.terms) {
    SymExpr term(coefficient);
    for (const std::string &text : product) {
      FactorRef factor = takeApart(text);
      if (factor->isSymbol) {
        if (gone.count(factor->symbol))
          return std::nullopt;
        term = term * ofFactor(text);
        continue;
      }
      std::optional<SymExpr> lhs = factor->lhs.inTermsOf(part, name, depth + 1);
      std::optional<SymExpr> rhs = factor->rhs.inTermsOf(part, name, depth + 1);
      if (!lhs || !rhs)
        return std::nullopt;
      term = term * applyAtom(factor->kind, *lhs, *rhs);
    }
    result = result + term;
  }
  std::optional<SymExpr> factor = quotient.inTermsOf(part, name, depth + 1);
  if (!factor)
    return std::nullopt;
  result = result + *factor * symbol(name);
  return result.isValid() ? std::optional<SymExpr>(result) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// What is known of an expression
//===----------------------------------------------------------------------===//

void SymExpr::collectSymbols(std::set<std::string> &names) const {
  for (const auto &[product, coefficient] : terms)
    for (const std::string &text : product) {
      FactorRef factor = takeApart(text);
      if (factor->isSymbol) {
        names.insert(factor->symbol);
        continue;
      }
      factor->lhs.collectSymbols(names);
      factor->rhs.collectSymbols(names);
    }
}

std::optional<int64_t> SymExpr::cappedAt(const SymExpr &of) const {
  FactorRef atom = asAtom(*this);
  if (!atom || atom->kind != AtomKind::Min)
    return std::nullopt;
  return atom->lhs == of   ? atom->rhs.asConstant()
         : atom->rhs == of ? atom->lhs.asConstant()
                           : std::nullopt;
}

int64_t SymExpr::knownDivisor() const {
  int64_t divisor = 0;
  for (const auto &[product, coefficient] : terms)
    divisor = std::gcd(divisor, coefficient);
  return isValid() ? divisor : 1;
}

unsigned SymExpr::lower(SymSink &sink) const {
  assert(isValid() && "an expression without value cannot be lowered");
  std::optional<unsigned> sum;
  for (const auto *term : inOrder(terms)) {
    std::optional<unsigned> value;
    for (const std::string &text : term->first) {
      FactorRef factor = takeApart(text);
      unsigned next;
      if (factor->isSymbol) {
        next = sink.symbol(factor->symbol);
      } else {
        unsigned a = factor->lhs.lower(sink), b = factor->rhs.lower(sink);
        SymOp op = factor->kind == AtomKind::FloorDiv ? SymOp::FloorDiv
                   : factor->kind == AtomKind::Min    ? SymOp::Min
                   : factor->kind == AtomKind::Max    ? SymOp::Max
                                                      : SymOp::Broadcast;
        next = sink.apply(op, a, b);
      }
      value = value ? sink.apply(SymOp::Mul, *value, next) : next;
    }
    int64_t coefficient = term->second;
    // The difference reads better than a product with -1, and costs less.
    bool isSubtracted =
        sum && coefficient < 0 && coefficient != std::numeric_limits<int64_t>::min();
    if (isSubtracted)
      coefficient = -coefficient;
    if (!value)
      value = sink.constant(coefficient);
    else if (coefficient != 1)
      value = sink.apply(SymOp::Mul, *value, sink.constant(coefficient));
    sum = sum ? sink.apply(isSubtracted ? SymOp::Sub : SymOp::Add, *sum, *value) : value;
  }
  return sum ? *sum : sink.constant(0);
}

std::string SymExpr::str() const {
  if (!isValid())
    return isTooComplicated() ? kTooComplicated.str() : "<overflow>";
  if (terms.empty())
    return "0";
  auto order = inOrder(terms);
  std::string text;
  for (const auto *term : order) {
    bool isNegative = term->second < 0;
    if (term != order.front())
      text += isNegative ? " - " : " + ";
    else if (isNegative)
      text += "-";
    uint64_t magnitude = isNegative ? -uint64_t(term->second) : uint64_t(term->second);
    if (magnitude != 1 || term->first.empty())
      text += std::to_string(magnitude) + (term->first.empty() ? "" : "*");
    text += llvm::join(term->first, "*");
  }
  return text;
}
