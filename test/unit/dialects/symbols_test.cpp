// Size expressions agree with plain arithmetic, and equal sizes have equal forms.

#include "dialects/Lumen/Symbols.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using lumen::SymExpr;

namespace {

SymExpr sym(const char *name) { return SymExpr::symbol(name); }

TEST(SymExpr, EqualSizesHaveEqualForms) {
  SymExpr h = sym("h"), w = sym("w");
  EXPECT_EQ((h + 1) * (w - 2), h * w - h * 2 + w - 2);
  EXPECT_EQ(SymExpr::floorDiv(h * 4 + 6, 2), h * 2 + 3);
  EXPECT_EQ(SymExpr::floorDiv(h + 2, 2), SymExpr::floorDiv(h, 2) + 1);
  EXPECT_EQ(SymExpr::floorDiv(h * 2 + 1, 4), SymExpr::floorDiv(h, 2));
  EXPECT_EQ(SymExpr::ceilDiv(h, 2), SymExpr::floorDiv(h + 1, 2));
  EXPECT_EQ(SymExpr::floorDiv(h * w * 6 + h * 3, h * 3), w * 2 + 1);
  EXPECT_EQ(SymExpr::floorDiv((h + 1) * (w + 3), w + 3), h + 1);
  EXPECT_EQ(SymExpr::max(h, w), SymExpr::max(w, h));
  EXPECT_EQ(SymExpr::min(h + 2, h), h);
}

TEST(SymExpr, PrintsInAFixedOrder) {
  SymExpr b = sym("batch"), s = sym("seq");
  EXPECT_EQ((SymExpr(1) + s * 3).str(), "3*seq + 1");
  EXPECT_EQ((SymExpr(4) - b * s + s * s).str(), "-batch*seq + seq*seq + 4");
  EXPECT_EQ(SymExpr::floorDiv(s + 3, 2).str(), "floordiv(seq + 1, 2) + 1");
  EXPECT_EQ(SymExpr(0).str(), "0");
  EXPECT_EQ(sym("past length").str(), "\"past length\"");
}

TEST(SymExpr, RefusesMalformedText) {
  for (const char *text : {"", "+", "a +", "a b", "floordiv(a)", "min(a, b", "(a", "a)", "\"a",
                           "9223372036854775808", "ceil(a, 2)", "<overflow>", "1a"})
    EXPECT_FALSE(SymExpr::parse(text).has_value()) << text;
  EXPECT_FALSE(SymExpr::parse(std::string(100000, '(')).has_value());
}

TEST(SymExpr, NoticesOverflow) {
  SymExpr large(int64_t(1) << 62);
  EXPECT_FALSE((large * 4).isValid());
  EXPECT_FALSE((large + large).isValid());
  EXPECT_FALSE((large + large + sym("a")).isValid());
  EXPECT_FALSE(SymExpr::floorDiv(sym("a"), 0).isValid());
  EXPECT_FALSE(SymExpr::floorDiv(SymExpr(INT64_MIN), -1).isValid());
  EXPECT_FALSE((large * sym("a")).evaluate({{"a", 4}}).has_value());
}

TEST(SymExpr, IsInvalidPastItsLimits) {
  SymExpr deep = sym("a (b");
  for (unsigned i = 0; i < SymExpr::kMaxNesting; ++i)
    deep = SymExpr::floorDiv(deep + 1, 2);
  ASSERT_TRUE(deep.isValid());
  EXPECT_EQ(SymExpr::parse(deep.str()), deep);
  EXPECT_EQ(deep.evaluate({{"a (b", 1}}), 1);
  SymExpr deeper = SymExpr::floorDiv(deep + 1, 2);
  for (const SymExpr &expr : {deeper, deeper + 1, SymExpr(2) * deeper, SymExpr::max(deeper, 0),
                              deep.substitute(llvm::StringMap<SymExpr>{{"a (b", deep}})}) {
    EXPECT_FALSE(expr.isValid());
    EXPECT_TRUE(expr.isTooComplicated());
    EXPECT_TRUE(SymExpr::ofText(expr.str()).isTooComplicated());
  }
  EXPECT_FALSE(SymExpr::ofText(SymExpr::invalid().str()).isTooComplicated());
  EXPECT_FALSE(SymExpr::parse("floordiv(" + deep.str() + " + 1, 2)").has_value());
  EXPECT_FALSE((SymExpr(INT64_MAX) + 1).isTooComplicated());
  // What doubles with each step ends before it is of any length.
  SymExpr wide = sym("a"), other = sym("b");
  for (int i = 0; i < 64 && wide.isValid(); ++i) {
    SymExpr next = SymExpr::min(wide * 2 - other, other * 3 - wide);
    other = SymExpr::max(wide - 7, other * 5 - wide * 2);
    wide = next;
  }
  EXPECT_TRUE(wide.isTooComplicated());
}

TEST(SymExpr, NeedsEverySymbol) {
  EXPECT_EQ((sym("a") * sym("b")).evaluate({{"a", 2}}), std::nullopt);
  EXPECT_EQ((sym("a") * sym("b")).substitute(llvm::StringMap<int64_t>{{"a", 2}}), sym("b") * 2);
}

/// Computes the operations that an expression is lowered to.
class EvaluatingSink : public lumen::SymSink {
public:
  explicit EvaluatingSink(const llvm::StringMap<int64_t> &values) : values(values) {}

  unsigned constant(int64_t value) override { return push(value); }
  unsigned symbol(llvm::StringRef name) override { return push(values.lookup(name)); }
  unsigned apply(lumen::SymOp op, unsigned i, unsigned j) override {
    int64_t a = numbers[i], b = numbers[j];
    switch (op) {
    case lumen::SymOp::Add:
      return push(a + b);
    case lumen::SymOp::Sub:
      return push(a - b);
    case lumen::SymOp::Mul:
      return push(a * b);
    case lumen::SymOp::FloorDiv:
      return push((a - ((a % b) + b) % b) / b);
    case lumen::SymOp::Min:
      return push(std::min(a, b));
    case lumen::SymOp::Max:
      return push(std::max(a, b));
    case lumen::SymOp::Broadcast:
      return push(a == 1 ? b : a);
    }
    return push(0);
  }

  std::vector<int64_t> numbers;

private:
  unsigned push(int64_t value) {
    numbers.push_back(value);
    return numbers.size() - 1;
  }
  const llvm::StringMap<int64_t> &values;
};

/// An expression and, beside it, its value by plain arithmetic.
struct Pair {
  SymExpr expr;
  std::optional<int64_t> value;
};

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {
    for (const char *name : {"a", "b", "c.d", "n m"})
      values[name] = int64_t(random() % 13); // sizes are never negative
  }

  Pair make(int depth) {
    unsigned choice = random() % (depth == 0 ? 2 : 9);
    if (choice == 0) {
      int64_t constant = int64_t(random() % 15) - 5;
      return {SymExpr(constant), constant};
    }
    if (choice <= 2) {
      auto it = std::next(values.begin(), random() % values.size());
      return {SymExpr::symbol(it->first()), it->second};
    }
    Pair a = make(depth - 1), b = make(depth - 1);
    auto with = [&](SymExpr expr, auto f) {
      return Pair{expr, a.value && b.value ? f(*a.value, *b.value) : std::nullopt};
    };
    using Value = std::optional<int64_t>;
    switch (choice) {
    case 3:
      return with(a.expr + b.expr, [](int64_t x, int64_t y) { return Value(x + y); });
    case 4:
      return with(a.expr - b.expr, [](int64_t x, int64_t y) { return Value(x - y); });
    case 5:
      return with(a.expr * b.expr, [](int64_t x, int64_t y) { return Value(x * y); });
    case 6:
      return with(SymExpr::floorDiv(a.expr, b.expr), [](int64_t x, int64_t y) {
        return y == 0 ? Value() : Value((x - ((x % y) + y) % y) / y);
      });
    case 7:
      return with(SymExpr::ceilDiv(a.expr, b.expr), [](int64_t x, int64_t y) {
        return y == 0 ? Value() : Value(-((-x - ((-x % y) + y) % y) / y));
      });
    default:
      if (random() % 2)
        return with(SymExpr::min(a.expr, b.expr),
                    [](int64_t x, int64_t y) { return Value(std::min(x, y)); });
      return with(SymExpr::max(a.expr, b.expr),
                  [](int64_t x, int64_t y) { return Value(std::max(x, y)); });
    }
  }

  std::mt19937 random;
  llvm::StringMap<int64_t> values;
};

TEST(SymExpr, AgreesWithPlainArithmetic) {
  int compared = 0, bounded = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Generator generator(seed);
    Pair pair = generator.make(4);
    if (!pair.value || !pair.expr.isValid())
      continue;
    ++compared;
    std::string text = pair.expr.str();
    ASSERT_EQ(pair.expr.evaluate(generator.values), pair.value) << text;
    std::optional<SymExpr> parsed = SymExpr::parse(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    ASSERT_EQ(*parsed, pair.expr) << text << " is read as " << parsed->str();
    llvm::StringMap<int64_t> some{{"a", generator.values["a"]}, {"n m", generator.values["n m"]}};
    SymExpr rest = pair.expr.substitute(some);
    if (rest.isValid()) {
      ASSERT_EQ(rest.evaluate(generator.values), pair.value) << text << " becomes " << rest.str();
    }
    if (std::optional<int64_t> bound = pair.expr.lowerBound()) {
      ++bounded;
      ASSERT_LE(*bound, *pair.value) << text;
    }
    if (int64_t divisor = pair.expr.knownDivisor()) {
      ASSERT_EQ(*pair.value % divisor, 0) << text;
    } else {
      ASSERT_EQ(*pair.value, 0) << text;
    }
    // Symbols in the place of symbols.
    llvm::StringMap<SymExpr> shifted{{"a", sym("b") + 2}, {"b", sym("a") * 2}};
    llvm::StringMap<int64_t> moved = generator.values;
    moved["a"] = generator.values["b"] + 2;
    moved["b"] = generator.values["a"] * 2;
    SymExpr other = pair.expr.substitute(shifted);
    std::optional<int64_t> expected = pair.expr.evaluate(moved);
    if (other.isValid() && expected) {
      ASSERT_EQ(other.evaluate(generator.values), expected) << text << " becomes " << other.str();
    }
    EvaluatingSink sink(generator.values);
    unsigned lowered = pair.expr.lower(sink);
    ASSERT_EQ(sink.numbers[lowered], pair.value) << text;
  }
  EXPECT_GT(compared, 3000);
  EXPECT_GT(bounded, 1000);
}

TEST(SymExpr, IsWrittenInTermsOfAPart) {
  SymExpr a = sym("a"), b = sym("b"), t = sym("t");
  EXPECT_EQ((a * 3 + b * 3 + 1).inTermsOf(a + b, "t"), t * 3 + 1);
  EXPECT_EQ((a * b * 64).inTermsOf(a * b, "t"), t * 64);
  EXPECT_EQ(((a + b) * (a + b)).inTermsOf(a + b, "t"), t * t);
  SymExpr half = SymExpr::floorDiv(a + 1, 2);
  EXPECT_EQ(SymExpr::floorDiv(half + 1, 2).inTermsOf(half, "t"), SymExpr::floorDiv(t + 1, 2));
  EXPECT_EQ((sym("c") + 1).inTermsOf(a + b, "t"), sym("c") + 1);
  // What is left over names the part's symbols.
  EXPECT_EQ((a + b * 2).inTermsOf(a + b, "t"), std::nullopt);
  EXPECT_EQ(SymExpr::max(a, b).inTermsOf(a + b, "t"), std::nullopt);
}

TEST(SymExpr, KnowsWhatIsNeverNegative) {
  SymExpr n = sym("n"), m = sym("m");
  auto half = SymExpr::floorDiv(n, 2);
  EXPECT_EQ((n - SymExpr::min(n, m)).lowerBound(), 0);
  EXPECT_EQ((SymExpr::max(n, m) - m + 3).lowerBound(), 3);
  EXPECT_EQ((n - half * 2).lowerBound(), 0);
  EXPECT_EQ((n - half).lowerBound(), 0);
  EXPECT_EQ((SymExpr::ceilDiv(n, 4) * 4 - n).lowerBound(), 0);
  EXPECT_EQ((n - m).lowerBound(), std::nullopt);
  EXPECT_EQ(SymExpr::max(n, 0), n);
  EXPECT_EQ(SymExpr::min(n + m, n), n);
  EXPECT_EQ(SymExpr::max(n, SymExpr::max(n, m)), SymExpr::max(n, m));
  EXPECT_EQ(SymExpr::min(n, SymExpr::max(n, m)), n);
  EXPECT_EQ(SymExpr::min(n, 512).cappedAt(n), 512);
  EXPECT_EQ(SymExpr::min(n, 512).cappedAt(m), std::nullopt);
  EXPECT_TRUE(SymExpr::differ(n, -1));
  EXPECT_TRUE(SymExpr::differ(n, n + 1));
  EXPECT_FALSE(SymExpr::differ(n, m));
}

TEST(SymExpr, KnowsThatWhatIsCutOffIsNoLonger) {
  SymExpr n = sym("n"), m = sym("m");
  for (const SymExpr &e : {n, n - m, SymExpr::floorDiv(n - m + 1, 2), SymExpr::max(n - m, m - 4)}) {
    SymExpr size = SymExpr::max(e, 0);
    EXPECT_EQ((size - SymExpr::max(size - 2, 0)).lowerBound(), 0) << e.str();
    EXPECT_EQ(SymExpr::min(SymExpr::max(size - 2, 0), size), SymExpr::max(e - 2, 0)) << e.str();
    EXPECT_EQ((e - SymExpr::min(e, m * 3 - 1)).lowerBound(), 0) << e.str();
  }
}

TEST(SymExpr, AddsUpWhatIsCutOff) {
  SymExpr n = sym("n");
  EXPECT_EQ(SymExpr::max(SymExpr::max(n - 1, 0) - 1, 0), SymExpr::max(n - 2, 0));
  EXPECT_EQ(SymExpr::max(SymExpr::max(n - 1, 3) + 2, 6), SymExpr::max(n + 1, 6));
  EXPECT_EQ(SymExpr::min(7, SymExpr::min(n * 2, 9) + 1), SymExpr::min(n * 2 + 1, 7));
  // Sizes that a check alone keeps from being negative.
  SymExpr size = SymExpr::min(n - 3, SymExpr::max(n - 5, 0));
  EXPECT_EQ(SymExpr::max(size - 2, 0), SymExpr::max(n - 7, 0));
  EXPECT_EQ(SymExpr::min(size, SymExpr::max(n - 7, 0)),
            SymExpr::min(n - 3, SymExpr::max(n - 7, 0)));
  // A sum that leaves int64 stays apart.
  SymExpr far = SymExpr::max(n - 4, INT64_MIN + 1) - 2;
  EXPECT_TRUE(SymExpr::max(far, -3).isValid());
}

/// The size of x[start:end] of a dimension, as slices of a known step 1 compute it.
SymExpr slice(const SymExpr &size, int64_t start, int64_t end) {
  auto place = [&](int64_t bound) {
    SymExpr position = bound < 0 ? size + bound : SymExpr(bound);
    return SymExpr::max(SymExpr::min(position, size), 0);
  };
  SymExpr distance = place(end) - (start < 0 ? place(start) : SymExpr(start));
  return SymExpr::min(SymExpr::max(distance, 0), size);
}

TEST(SymExpr, StaysSmallInChainsOfSlices) {
  SymExpr n = sym("n");
  const std::pair<int64_t, int64_t> slices[] = {{1, -1}, {2, 1000}, {0, -3}, {1, 40}};
  for (const SymExpr &first : {n, SymExpr::floorDiv(n + 1, 2), SymExpr::min(n, 50), n - 2,
                               SymExpr::floorDiv(n + 3, 4) - 1})
    for (auto [start, end] : slices) {
      SymExpr size = first;
      size_t longest = 0;
      for (int count = 1; count <= 24; ++count) {
        size = slice(size, start, end);
        longest = std::max(longest, size.str().size());
        for (int64_t value : {0, 7, 100, 2000}) {
          int64_t expected = *first.evaluate({{"n", value}});
          for (int i = 0; i < count; ++i) {
            int64_t last = std::clamp<int64_t>(end < 0 ? expected + end : end, 0,
                                               std::max<int64_t>(expected, 0));
            expected = std::max<int64_t>(last - start, 0);
          }
          if (*first.evaluate({{"n", value}}) >= 0) {
            ASSERT_EQ(size.evaluate({{"n", value}}), expected) << size.str() << " of " << value;
          }
        }
      }
      EXPECT_LE(longest, 2 * first.str().size() + 40) << size.str();
    }
}

TEST(SymExpr, StaysApartFromAPartThatHoldsIt) {
  SymExpr n = sym("n"), part = n - SymExpr::min(n, sym("m"));
  EXPECT_EQ(n.inTermsOf(part, "s"), std::nullopt);
  EXPECT_EQ((part * 2 + 1).inTermsOf(part, "s"), sym("s") * 2 + 1);
}

TEST(SymExpr, BroadcastsToTheOtherOfOne) {
  SymExpr n = sym("n"), m = sym("m"), both = SymExpr::broadcast(n, m);
  EXPECT_EQ(SymExpr::broadcast(n, 1), n);
  EXPECT_EQ(SymExpr::broadcast(4, n), SymExpr(4));
  EXPECT_EQ(SymExpr::broadcast(n, both), both);
  EXPECT_EQ(both, SymExpr::broadcast(m, n));
  EXPECT_EQ(both.evaluate({{"n", 1}, {"m", 7}}), 7);
  EXPECT_EQ(both.evaluate({{"n", 7}, {"m", 1}}), 7);
  EXPECT_EQ(both.evaluate({{"n", 0}, {"m", 1}}), 0);
  EXPECT_EQ(both.substitute(llvm::StringMap<int64_t>{{"m", 1}}), n);
  EXPECT_EQ(SymExpr::parse(both.str()), both);
}

} // namespace
