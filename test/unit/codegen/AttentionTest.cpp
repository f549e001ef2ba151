//===- AttentionTest.cpp - attention of all forms -------------------------===//

#include "KernelHarness.h"

#include "llvm/Support/FormatVariadic.h"

using namespace lumen;
using namespace lumen::test;
using llvm::formatv;

namespace {

LUMEN_KERNEL_TEST(AttentionTest);

/// Of queries [batch, rows, heads, size], keys [batch, heads, keys, size] and values
/// [batch, keys, heads, size].
struct Case {
  int batch, heads, keyHeads, rows, keys, size, valueSize;
  const char *mask = nullptr;  ///< its shape
  const char *first = nullptr; ///< its shape, and x where there is one
  double softcap = 0;
  const char *element = "f32";

  std::string text() const {
    std::string arguments, operands;
    if (mask) {
      arguments += formatv(", %m: tensor<{0}x{1}>", mask, element).str();
      operands += formatv(" mask(%m : tensor<{0}x{1}>)", mask, element).str();
    }
    if (first) {
      arguments += formatv(", %f: tensor<{0}i32>", first).str();
      operands += formatv(" first(%f : tensor<{0}i32>)", first).str();
    }
    return formatv(R"(
      !q = tensor<{0}x{3}x{1}x{5}x{10}>
      !k = tensor<{0}x{2}x{4}x{5}x{10}>
      !v = tensor<{0}x{4}x{2}x{6}x{10}>
      !r = tensor<{0}x{3}x{1}x{6}x{10}>
      dispatch.kernel @k(%q: !q, %k: !k, %v: !v{7}) -> !r {{
        %0 = lumen.attention %q [0, 2, 1, 3], %k [0, 1, 2, 3], %v [0, 2, 1, 3]{8} to [0, 2, 1, 3]
          {{scale = 0.125 : f64, softcap = {9} : f64} : !q, !k, !v -> !r
        dispatch.yield %0 : !r
      })",
                   batch, heads, keyHeads, rows, keys, size, valueSize, arguments, operands,
                   formatv("{0:f1}", softcap).str(), element)
        .str();
  }
};

CheckOptions options() {
  CheckOptions options;
  options.relative = options.absolute = 1e-4;
  options.alsoDynamic = false; // a mask of one row has one row, whatever the run brings
  // Where queries stand is an integer; some of them see nothing.
  options.fill = [](unsigned, mlir::Type element, std::mt19937 &random) -> Number {
    if (element.isInteger())
      return static_cast<int>(random() % 12) - 4;
    return std::uniform_real_distribution<double>(-4, 4)(random);
  };
  return options;
}

TEST_P(AttentionTest, ComparesRowsWithKeys) {
  for (Case each : {Case{1, 2, 2, 40, 70, 64, 64}, Case{2, 3, 3, 5, 33, 16, 24},
                    Case{1, 1, 1, 100, 17, 128, 128}, Case{1, 2, 1, 9, 1, 3, 5},
                    Case{1, 1, 1, 33, 50, 300, 200}})
    check(each.text(), options());
}

TEST_P(AttentionTest, SharesKeysAmongHeads) {
  for (Case each : {Case{2, 6, 2, 7, 40, 16, 16}, Case{1, 8, 1, 1, 300, 64, 64}})
    check(each.text(), options());
}

TEST_P(AttentionTest, WritesWordByWord) {
  for (Case each : {Case{1, 4, 4, 1, 500, 64, 64}, Case{2, 3, 3, 2, 129, 40, 72},
                    Case{1, 2, 2, 1, 9, 128, 128, nullptr, ""}})
    check(each.text(), options());
}

TEST_P(AttentionTest, HidesKeysBehindTheirQueries) {
  for (Case each :
       {Case{2, 2, 2, 40, 44, 32, 32, nullptr, ""}, Case{3, 4, 2, 20, 20, 16, 16, nullptr, "3x"}})
    check(each.text(), options());
}

TEST_P(AttentionTest, AddsMasks) {
  for (const char *mask : {"2x4x9x30", "1x1x9x30", "2x1x1x30", "1x4x9x1"})
    check(Case{2, 4, 2, 9, 30, 16, 16, mask}.text(), options());
  // What is hidden is minus infinity, some rows of it as a whole.
  CheckOptions hidden = options();
  hidden.fill = [](unsigned input, mlir::Type element, std::mt19937 &random) -> Number {
    if (input == 3)
      return random() % 4 ? -INFINITY : 0;
    return std::uniform_real_distribution<double>(-4, 4)(random);
  };
  check(Case{1, 2, 2, 70, 9, 16, 16, "1x2x70x9"}.text(), hidden);
}

TEST_P(AttentionTest, BoundsScores) {
  check(Case{1, 2, 2, 9, 30, 16, 16, nullptr, nullptr, 1.5}.text(), options());
}

// Sizes that only the run knows.
TEST_P(AttentionTest, TakesRowsAndKeysAsTheyCome) {
  check(
      R"(
    !q = tensor<?x4x?x32xf32, #lumen.dims<["b", "4", "s", "32"]>>
    !k = tensor<?x2x?x32xf32, #lumen.dims<["b", "2", "t", "32"]>>
    dispatch.kernel @k(%q: !q, %k: !k, %v: !k, %f: tensor<i32>) -> !q
        attributes {dispatch.sizes = ["b", "s", "t"]} {
      %0 = lumen.attention %q [0, 1, 2, 3], %k [0, 1, 2, 3], %v [0, 1, 2, 3] first(%f : tensor<i32>)
        to [0, 1, 2, 3] {scale = 0.25 : f64} : !q, !k, !k -> !q
      dispatch.yield %0 : !q
    })",
      std::vector<std::vector<int64_t>>{{1, 1, 1}, {2, 40, 45}, {1, 3, 200}, {0, 5, 5}, {1, 5, 0}},
      options());
}

// What is as long as only the run knows.
TEST_P(AttentionTest, TakesSizesAsTheyCome) {
  check(R"(
    !q = tensor<1x1x?x?xf32, #lumen.dims<["1", "1", "h", "n"]>>
    !k = tensor<1x?x90x?xf32, #lumen.dims<["1", "h", "90", "n"]>>
    dispatch.kernel @k(%q: !q, %k: !k) -> !q attributes {dispatch.sizes = ["h", "n"]} {
      %0 = lumen.attention %q [0, 2, 1, 3], %k [0, 1, 2, 3], %k [0, 1, 2, 3] to [0, 2, 1, 3]
        {scale = 0.25 : f64} : !q, !k, !k -> !q
      dispatch.yield %0 : !q
    })",
        std::vector<std::vector<int64_t>>{{1, 16}, {4, 64}, {3, 5}}, options());
}

} // namespace
