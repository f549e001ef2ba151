//===- LoopsTest.cpp - operations that are kernels of their own -----------===//

#include "KernelHarness.h"

#include "llvm/Support/FormatVariadic.h"

using namespace lumen;
using namespace lumen::test;
using llvm::formatv;

namespace {

LUMEN_KERNEL_TEST(SortTest);

std::string sortText(const char *type, int rows, int length, int wanted, bool descending) {
  return formatv(R"(
    dispatch.kernel @k(%x: tensor<{1}x{2}x{0}>) -> (tensor<{1}x{3}x{0}>, tensor<{1}x{3}xi64>) {{
      %0, %1 = lumen.sort %x {{axis = 1 : i64{4}} : tensor<{1}x{2}x{0}>
        -> tensor<{1}x{3}x{0}>, tensor<{1}x{3}xi64>
      dispatch.yield %0, %1 : tensor<{1}x{3}x{0}>, tensor<{1}x{3}xi64>
    })",
                 type, rows, length, wanted, descending ? ", descending" : "")
      .str();
}

/// Few different values, some of them NaN: equal ones keep their order.
CheckOptions manyTies() {
  CheckOptions options;
  options.fill = [](unsigned, mlir::Type element, std::mt19937 &random) -> Number {
    if (llvm::isa<mlir::FloatType>(element) && random() % 16 == 0)
      return NAN;
    if (element.isInteger(1))
      return random() % 2;
    return static_cast<int>(random() % 20) - (element.isUnsignedInteger() ? 0 : 10);
  };
  return options;
}

TEST_P(SortTest, OrdersRows) {
  for (int length : {1, 2, 16, 17, 100, 1000, 2048})
    for (bool descending : {false, true}) {
      check(sortText("f32", 3, length, length, descending), manyTies());
      check(sortText("f32", 3, length, std::min(length, 5), descending));
    }
}

TEST_P(SortTest, OrdersAllTypes) {
  for (const char *type : {"i1", "ui8", "i8", "i32", "i64", "f16", "f64"})
    check(sortText(type, 5, 300, 40, /*descending=*/true), manyTies());
}

// More than a workgroup holds: what is wanted waits for what follows, or elements are ranked. No
// more rows, since Mesa's devices in software end the loops of a thread at 65535 iterations.
TEST_P(SortTest, FindsTheFirstOfLongRows) {
  for (int wanted : {1, 300, 1024, 1100, 2049})
    check(sortText("f32", 1, 2049, wanted, /*descending=*/true), manyTies());
}

TEST_P(SortTest, OrdersAcrossRows) {
  check(R"(
    dispatch.kernel @k(%x: tensor<2x70x5xf32>) -> (tensor<2x9x5xf32>, tensor<2x9x5xi64>) {
      %0, %1 = lumen.sort %x {axis = 1 : i64} : tensor<2x70x5xf32>
        -> tensor<2x9x5xf32>, tensor<2x9x5xi64>
      dispatch.yield %0, %1 : tensor<2x9x5xf32>, tensor<2x9x5xi64>
    })",
        manyTies());
}

TEST_P(SortTest, TakesSizesAsTheyCome) {
  check(R"(
    !x = tensor<?x?xf32, #lumen.dims<["r", "n"]>>
    !v = tensor<?x?xf32, #lumen.dims<["r", "k"]>>
    !i = tensor<?x?xi64, #lumen.dims<["r", "k"]>>
    dispatch.kernel @k(%x: !x) -> (!v, !i) attributes {dispatch.sizes = ["r", "n", "k"]} {
      %0, %1 = lumen.sort %x {axis = 1 : i64, descending} : !x -> !v, !i
      dispatch.yield %0, %1 : !v, !i
    })",
        std::vector<std::vector<int64_t>>{
            {3, 7, 7}, {2, 3000, 20}, {1, 2100, 2090}, {2, 50, 0}, {0, 5, 5}},
        manyTies());
}

LUMEN_KERNEL_TEST(RecurrenceTest);

/// A cell with two states and a product of a product: all that cells have.
std::string cellText(int steps, int rows, int size, const char *flags) {
  int panels = (size + 63) / 64, widePanels = (2 * size + 63) / 64;
  bool hasLengths = llvm::StringRef(flags).contains("lengths");
  return formatv(R"(
    !x = tensor<{0}x{1}x{5}xf32>
    !s = tensor<{0}x{1}x{2}xf32>
    !h = tensor<{1}x{2}xf32>
    !r = tensor<{4}x{2}x64xf32>
    !q = tensor<{3}x{2}x64xf32>
    dispatch.kernel @k(%x: !x, %r: !r, %q: !q, %h0: !h, %c0: !h{6}) -> (!s, !h, !h) {{
      %y, %h, %c = lumen.recurrence %x params(%r, %q) states(%h0, %c0){7}
          : !x, (!r, !q), (!h, !h){8} -> !s, !h, !h {{
      ^bb0(%a: tensor<{5}xf32>, %p: !r, %w: !q, %b: tensor<{2}xf32>, %d: tensor<{2}xf32>):
        %0 = lumen.reshape %b : tensor<{2}xf32> -> tensor<1x{2}xf32>
        %1 = lumen.contract %0, %p packed : tensor<1x{2}xf32>, !r -> tensor<1x{5}xf32>
        %2 = lumen.reshape %1 : tensor<1x{5}xf32> -> tensor<{5}xf32>
        %3 = lumen.binary <add> %a, %2 : tensor<{5}xf32>
        %4 = lumen.slice %3 [0] [1] : tensor<{5}xf32> -> tensor<{2}xf32>
        %5 = lumen.slice %3 [{2}] [1] : tensor<{5}xf32> -> tensor<{2}xf32>
        %6 = lumen.unary <tanh> %4 : tensor<{2}xf32> -> tensor<{2}xf32>
        %7 = lumen.binary <mul> %6, %d : tensor<{2}xf32>
        %8 = lumen.reshape %7 : tensor<{2}xf32> -> tensor<1x{2}xf32>
        %9 = lumen.contract %8, %w packed : tensor<1x{2}xf32>, !q -> tensor<1x{2}xf32>
        %10 = lumen.reshape %9 : tensor<1x{2}xf32> -> tensor<{2}xf32>
        %11 = lumen.binary <add> %10, %5 : tensor<{2}xf32>
        %12 = lumen.unary <tanh> %11 : tensor<{2}xf32> -> tensor<{2}xf32>
        %13 = lumen.binary <sub> %12, %b : tensor<{2}xf32>
        lumen.yield %13, %12 sizes [] : tensor<{2}xf32>, tensor<{2}xf32>
      }
      dispatch.yield %y, %h, %c : !s, !h, !h
    })",
                 steps, rows, size, panels, widePanels, 2 * size,
                 hasLengths ? formatv(", %l: tensor<{0}xi32>", rows).str() : "", flags,
                 hasLengths ? formatv(", tensor<{0}xi32>", rows).str() : "")
      .str();
}

CheckOptions cellOptions() {
  CheckOptions options;
  options.relative = options.absolute = 1e-4;
  options.fill = [](unsigned input, mlir::Type element, std::mt19937 &random) -> Number {
    if (element.isInteger())
      return static_cast<int>(random() % 9) - 1;
    double most = input == 1 || input == 2 ? 0.2 : 1; // products stay small
    return std::uniform_real_distribution<double>(-most, most)(random);
  };
  options.alsoDynamic = false; // sizes of cells are constant
  return options;
}

TEST_P(RecurrenceTest, CarriesStatesFromStepToStep) {
  for (int size : {3, 16, 70, 128})
    check(cellText(5, 3, size, ""), cellOptions());
}

TEST_P(RecurrenceTest, RunsBackwardsAndEndsEarly) {
  check(cellText(7, 3, 20, " reverse"), cellOptions());
  check(cellText(7, 5, 20, " lengths %l"), cellOptions());
  check(cellText(7, 5, 20, " lengths %l reverse"), cellOptions());
}

// States and products that exceed the memory of a workgroup.
TEST_P(RecurrenceTest, CarriesLongStates) {
  if (GetParam() == "vulkan1.1")
    GTEST_SKIP() << "Mesa's devices in software end the loops of a thread at 65535 iterations";
  check(cellText(2, 2, 700, ""), cellOptions());
}

LUMEN_KERNEL_TEST(ScatterTest);

/// Indices of `extent` places, some of them counted from the end.
CheckOptions indices(int extent) {
  CheckOptions options;
  options.fill = [extent](unsigned, mlir::Type element, std::mt19937 &random) -> Number {
    if (element.isInteger(64))
      return static_cast<int>(random() % (2 * extent)) - extent;
    return static_cast<int>(random() % 7) - 3;
  };
  options.alsoDynamic = false; // a size could become one that indices exceed
  return options;
}

// Several updates meet in one place, and take effect in their order.
TEST_P(ScatterTest, ChangesWhatIndicesPick) {
  for (const char *kind : {"set", "add", "mul", "max", "min"}) {
    check(formatv(R"(
      dispatch.kernel @k(%x: tensor<9x5xf32>, %u: tensor<20x5xf32>, %i: tensor<20xi64>)
          -> tensor<9x5xf32> {{
        %0 = lumen.scatter <{0}> %x, %u (%i) [-1, 1]
          : tensor<9x5xf32>, tensor<20x5xf32>, (tensor<20xi64>) -> tensor<9x5xf32>
        dispatch.yield %0 : tensor<9x5xf32>
      })",
                  kind)
              .str(),
          indices(9));
    check(formatv(R"(
      dispatch.kernel @k(%x: tensor<7x7xi32>, %u: tensor<60xi32>, %i: tensor<60xi64>,
          %j: tensor<60xi64>) -> tensor<7x7xi32> {{
        %0 = lumen.scatter <{0}> %x, %u (%i, %j) [-1, -1]
          : tensor<7x7xi32>, tensor<60xi32>, (tensor<60xi64>, tensor<60xi64>) -> tensor<7x7xi32>
        dispatch.yield %0 : tensor<7x7xi32>
      })",
                  kind)
              .str(),
          indices(7));
  }
}

// Updates cover a part of what they walk along.
TEST_P(ScatterTest, LeavesWhatUpdatesDoNotCover) {
  check(R"(
    dispatch.kernel @k(%x: tensor<6x10x4xf32>, %u: tensor<5x3x2xf32>, %i: tensor<5x3x2xi64>)
        -> tensor<6x10x4xf32> {
      %0 = lumen.scatter <add> %x, %u (%i) [0, -1, 2]
        : tensor<6x10x4xf32>, tensor<5x3x2xf32>, (tensor<5x3x2xi64>) -> tensor<6x10x4xf32>
      dispatch.yield %0 : tensor<6x10x4xf32>
    })",
        indices(10));
}

// More places than units: each unit owns several.
TEST_P(ScatterTest, ChangesManyPlaces) {
  check(R"(
    dispatch.kernel @k(%x: tensor<50000xf32>, %u: tensor<40xf32>, %i: tensor<40xi64>)
        -> tensor<50000xf32> {
      %0 = lumen.scatter <set> %x, %u (%i) [-1]
        : tensor<50000xf32>, tensor<40xf32>, (tensor<40xi64>) -> tensor<50000xf32>
      dispatch.yield %0 : tensor<50000xf32>
    })",
        indices(50000));
}

LUMEN_KERNEL_TEST(AccumulateTest);

TEST_P(AccumulateTest, CarriesAlongRows) {
  CheckOptions options;
  options.relative = options.absolute = 1e-3;
  for (const char *type : {"f32", "i64"})
    for (const char *flags : {"", ", exclusive", ", exclusive, reverse"})
      for (const char *shape : {"3x7", "2x1025"})
        check(formatv(R"(
          dispatch.kernel @k(%x: tensor<{1}x{0}>) -> tensor<{1}x{0}> {{
            %0 = lumen.accumulate <add> %x {{axis = 1 : i64{2}} : tensor<{1}x{0}>
            dispatch.yield %0 : tensor<{1}x{0}>
          })",
                      type, shape, flags)
                  .str(),
              options);
}

LUMEN_KERNEL_TEST(NonzeroTest);

// What stands behind the count is unspecified, so that it cannot be compared as a whole.
TEST_P(NonzeroTest, FindsWhatIsTrue) {
  for (int64_t size : {1, 100, 256, 1000, 5000}) {
    auto loaded = LoadedKernel::make(formatv(R"(
      dispatch.kernel @k(%x: tensor<{0}xi1>) -> (tensor<{0}xi64>, tensor<i64>) {{
        %0, %1 = lumen.nonzero %x : tensor<{0}xi1> -> tensor<{0}xi64>, tensor<i64>
        dispatch.yield %0, %1 : tensor<{0}xi64>, tensor<i64>
      })",
                                             size)
                                         .str(),
                                     GetParam());
    ASSERT_TRUE(loaded);
    std::mt19937 random(size);
    std::vector<char> flags(size);
    std::vector<int64_t> places(size), expected;
    for (int64_t i = 0; i < size; ++i)
      if ((flags[i] = random() % 3 == 0))
        expected.push_back(i);
    int64_t count = -1;
    ASSERT_EQ(loaded->run({flags.data(), places.data(), &count}, 0, loaded->grid()), 0);
    ASSERT_EQ(count, static_cast<int64_t>(expected.size()));
    places.resize(count);
    EXPECT_EQ(places, expected);
  }
}

} // namespace
