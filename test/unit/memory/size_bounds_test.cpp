// A bound is never below the size, and says nothing of symbols that only the run knows.

#include "passes/memory/SizeBounds.h"

#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <random>

using namespace lumen;

namespace {

struct SizeBoundsTest : testing::Test {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  SizeBounds boundsOf(llvm::StringRef text) {
    context.loadDialect<LumenDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return SizeBounds(*module->getOps<mlir::func::FuncOp>().begin());
  }
};

SymExpr parse(llvm::StringRef text) { return *SymExpr::parse(text); }

constexpr llvm::StringLiteral kProgram = R"(
module attributes {lumen.bounds = {h = 8 : i64}} {
  func.func @main(%x: tensor<?x?xf32, #lumen.dims<["h", "w"]>>, %n: tensor<i64>, %m: tensor<i64>,
                  %c: tensor<i1>) {
    lumen.symbol "n" = %n at_most "h*w" : tensor<i64>
    lumen.symbol "free" = %m : tensor<i64>
    lumen.symbol "m" = %m at_most "n + 1" : tensor<i64>
    lumen.if %c symbols ["j", "k"] : tensor<i1> {
      lumen.yield sizes ["n", "free"]
    } else {
      lumen.yield sizes ["2*h", 1]
    }
    lumen.loop () trips "w" induction "i" symbols ["s"] init_sizes [1] : () -> () {
      lumen.yield sizes ["s + 1"]
    }
    return
  }
})";

TEST_F(SizeBoundsTest, KnowsWhatTheScheduleSays) {
  SizeBounds bounds = boundsOf(kProgram);
  auto upper = [&](llvm::StringRef text) { return bounds.upper(parse(text)); };
  EXPECT_EQ(upper("3*h + w"), parse("3*h + w"));
  EXPECT_EQ(upper("4*n + 1"), parse("4*h*w + 1"));
  EXPECT_EQ(upper("m"), parse("h*w + 1"));
  EXPECT_EQ(upper("j"), parse("max(2*h, h*w)"));
  EXPECT_EQ(upper("i*8"), parse("8*w"));
  EXPECT_EQ(upper("100 - n"), parse("100"));
  EXPECT_EQ(upper("floordiv(n, 2)"), parse("floordiv(h*w, 2)"));
  EXPECT_EQ(upper("min(free, h)"), parse("h"));
  // Nothing bounds what is read freely, its branch, and what a loop carries.
  EXPECT_FALSE(upper("free"));
  EXPECT_FALSE(upper("k"));
  EXPECT_FALSE(upper("s"));
  EXPECT_TRUE(bounds.isEntry(parse("h*w")));
  EXPECT_FALSE(bounds.isEntry(parse("n")));
  // As numbers, where the file bounds the inputs.
  EXPECT_EQ(bounds.upperNumber(parse("3*h + 1")), 25);
  EXPECT_FALSE(bounds.upperNumber(parse("n")));
}

TEST_F(SizeBoundsTest, RandomSizesStayBelow) {
  SizeBounds bounds = boundsOf(kProgram);
  std::mt19937 random(5);
  std::vector<SymExpr> pool = {parse("h"), parse("w"), parse("n"), parse("m"), parse("j")};
  int bounded = 0;
  for (int round = 0; round < 3000; ++round) {
    SymExpr a = pool[random() % 5], b = pool[random() % 5];
    SymExpr c(static_cast<int64_t>(random() % 7) - 3);
    for (int depth = 0; depth < 3; ++depth) {
      SymExpr next;
      switch (random() % 7) {
      case 0: next = a + b; break;
      case 1: next = a - b; break;
      case 2: next = a * (c + SymExpr(4)); break;
      case 3: next = SymExpr::floorDiv(a, SymExpr(1 + random() % 4)); break;
      case 4: next = SymExpr::min(a, b + c); break;
      case 5: next = SymExpr::max(a, b + c); break;
      case 6: next = SymExpr::broadcast(a, b); break;
      }
      b = a;
      a = next;
    }
    std::optional<SymExpr> bound = bounds.upper(a);
    if (!bound)
      continue;
    ++bounded;
    EXPECT_TRUE(bounds.isEntry(*bound));
    llvm::StringMap<int64_t> values;
    int64_t h = random() % 9, w = random() % 9, n = random() % (h * w + 1);
    values["h"] = h;
    values["w"] = w;
    values["n"] = n;
    values["m"] = random() % (n + 2);
    values["j"] = random() % (std::max(2 * h, h * w) + 1);
    EXPECT_LE(*a.evaluate(values), *bound->evaluate(values)) << a.str() << " and " << bound->str();
  }
  EXPECT_GT(bounded, 1000);
}

} // namespace
