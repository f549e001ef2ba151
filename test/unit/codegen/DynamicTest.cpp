//===- DynamicTest.cpp - kernels whose sizes only the run knows -----------===//
//
// One code runs at many sizes, also at 0 and 1, and equals the plain evaluation of the
// kernel at constant sizes. Relations between sizes are known here, unlike in the
// kernels that the other tests make dynamic by themselves.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include "runtime-lite/include/lumen_abi.h"
#include "llvm/Support/FormatVariadic.h"

using namespace lumen;
using namespace lumen::test;
using llvm::formatv;

namespace {

LUMEN_KERNEL_TEST(DynamicTest);

using SizeList = std::vector<std::vector<int64_t>>;

/// Random sizes of `count` symbols, none below `least`; all at the least one first.
SizeList someSizes(unsigned count, int64_t least = 0, unsigned draws = 14) {
  constexpr int64_t picks[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100};
  std::mt19937 random(count);
  SizeList result{std::vector<int64_t>(count, least), std::vector<int64_t>(count, 1)};
  while (result.size() < draws) {
    std::vector<int64_t> sizes;
    for (unsigned i = 0; i < count; ++i)
      sizes.push_back(std::max(least, picks[random() % 13]));
    result.push_back(std::move(sizes));
  }
  return result;
}

TEST_P(DynamicTest, MergesContiguousDimensions) {
  check(R"(
    !x = tensor<?x?x?xf32, #lumen.dims<["a", "b", "c"]>>
    dispatch.kernel @k(%x: !x, %y: !x) -> !x attributes {dispatch.sizes = ["a", "b", "c"]} {
      %0 = lumen.binary <add> %x, %y : !x
      %1 = lumen.unary <relu> %0 : !x -> !x
      dispatch.yield %1 : !x
    })",
        someSizes(3));
  check(R"(
    !x = tensor<?x48xf32, #lumen.dims<["a", "48"]>>
    dispatch.kernel @k(%x: !x, %y: tensor<48xf32>) -> !x attributes {dispatch.sizes = ["a"]} {
      %0 = lumen.broadcast %y [1] : tensor<48xf32> -> !x
      %1 = lumen.binary <mul> %x, %0 : !x
      dispatch.yield %1 : !x
    })",
        SizeList{{0}, {1}, {5}, {1000}});
}

// A dimension is repeated or not, as the run knows.
TEST_P(DynamicTest, RepeatsWhatIsOne) {
  const char *text = R"mlir(
    !x = tensor<?x?xf32, #lumen.dims<["a", "b"]>>
    !y = tensor<?x?xf32, #lumen.dims<["c", "d"]>>
    !r = tensor<?x?xf32, #lumen.dims<["broadcast(a, c)", "broadcast(b, d)"]>>
    dispatch.kernel @k(%x: !x, %y: !y) -> !r attributes {dispatch.sizes = ["a", "b", "c", "d"]} {
      %0 = lumen.broadcast %x [0, 1] : !x -> !r
      %1 = lumen.broadcast %y [0, 1] : !y -> !r
      %2 = lumen.binary <sub> %0, %1 : !r
      dispatch.yield %2 : !r
    })mlir";
  SizeList sizes;
  for (int64_t rows : {0, 1, 5})
    for (int64_t columns : {0, 1, 7, 40})
      for (unsigned ones = 0; ones < 16; ++ones)
        sizes.push_back({ones & 1 ? 1 : rows, ones & 2 ? 1 : columns, ones & 4 ? 1 : rows,
                         ones & 8 ? 1 : columns});
  check(text, sizes);
}

TEST_P(DynamicTest, Concatenates) {
  for (int axis : {0, 1}) {
    auto type = [&](const char *size) {
      return axis ? formatv("tensor<6x?xf32, #lumen.dims<[\"6\", \"{0}\"]>>", size).str()
                  : formatv("tensor<?x33xf32, #lumen.dims<[\"{0}\", \"33\"]>>", size).str();
    };
    check(formatv(R"(
      !a = {1}
      !b = {2}
      !c = {3}
      !r = {4}
      dispatch.kernel @k(%a: !a, %b: !b, %c: !c) -> !r attributes {{dispatch.sizes = ["a", "b"]} {{
        %n = lumen.unary <neg> %b : !b -> !b
        %0 = lumen.concat %a, %n, %c {{axis = {0} : i64} : !a, !b, !c -> !r
        %1 = lumen.unary <relu> %0 : !r -> !r
        dispatch.yield %1 : !r
      })",
                  axis, type("a"), type("b"), axis ? "tensor<6x3xf32>" : "tensor<3x33xf32>",
                  type("a + b + 3"))
              .str(),
          someSizes(2));
  }
  // Behind another movement the index is not the space's own.
  check(R"(
    !a = tensor<?x17xf32, #lumen.dims<["a", "17"]>>
    !b = tensor<?x17xf32, #lumen.dims<["b", "17"]>>
    !r = tensor<?x17xf32, #lumen.dims<["a + b", "17"]>>
    !t = tensor<17x?xf32, #lumen.dims<["17", "a + b"]>>
    dispatch.kernel @k(%a: !a, %b: !b) -> !t attributes {dispatch.sizes = ["a", "b"]} {
      %0 = lumen.concat %a, %b {axis = 0 : i64} : !a, !b -> !r
      %1 = lumen.transpose %0 [1, 0] : !r -> !t
      dispatch.yield %1 : !t
    })",
        someSizes(2));
}

TEST_P(DynamicTest, Pads) {
  check(R"(
    !x = tensor<?x?xf32, #lumen.dims<["a", "b"]>>
    !r = tensor<?x?xf32, #lumen.dims<["a + 1", "b + p + 2"]>>
    dispatch.kernel @k(%x: !x, %v: tensor<f32>) -> !r attributes {dispatch.sizes = ["a", "b", "p"]} {
      %0 = lumen.pad <constant> %x, %v [1, "p"] [0, 2] : !x, tensor<f32> -> !r
      dispatch.yield %0 : !r
    })",
        someSizes(3));
  for (const char *kind : {"edge", "reflect", "wrap"})
    check(formatv(R"(
      !x = tensor<?x?xf32, #lumen.dims<["a", "b"]>>
      !r = tensor<?x?xf32, #lumen.dims<["a + 3", "b + p"]>>
      dispatch.kernel @k(%x: !x, %v: tensor<f32>) -> !r attributes {{dispatch.sizes = ["a", "b", "p"]} {{
        %0 = lumen.pad <{0}> %x, %v [1, "p"] [2, 0] : !x, tensor<f32> -> !r
        dispatch.yield %0 : !r
      })",
                  kind)
              .str(),
          someSizes(3, /*least=*/1));
}

TEST_P(DynamicTest, SlicesAtRunTimeOffsets) {
  check(R"(
    !x = tensor<?x?xf32, #lumen.dims<["a + b", "c + 2"]>>
    !r = tensor<?x?xf32, #lumen.dims<["a", "c"]>>
    dispatch.kernel @k(%x: !x) -> !r attributes {dispatch.sizes = ["a", "b", "c"]} {
      %0 = lumen.slice %x ["b", "c + 1"] [1, -1] : !x -> !r
      dispatch.yield %0 : !r
    })",
        someSizes(3));
}

TEST_P(DynamicTest, ReshapesAndTransposes) {
  // Heads of attention.
  check(R"(
    !x = tensor<?x?x48xf32, #lumen.dims<["b", "s", "48"]>>
    !h = tensor<?x?x3x16xf32, #lumen.dims<["b", "s", "3", "16"]>>
    !t = tensor<?x3x?x16xf32, #lumen.dims<["b", "3", "s", "16"]>>
    dispatch.kernel @k(%x: !x) -> !t attributes {dispatch.sizes = ["b", "s"]} {
      %0 = lumen.reshape %x : !x -> !h
      %1 = lumen.transpose %0 [0, 2, 1, 3] : !h -> !t
      dispatch.yield %1 : !t
    })",
        someSizes(2));
  check(R"(
    !x = tensor<?x?x?xf32, #lumen.dims<["b", "m", "n"]>>
    !t = tensor<?x?x?xf32, #lumen.dims<["b", "n", "m"]>>
    dispatch.kernel @k(%x: !x) -> !t attributes {dispatch.sizes = ["b", "m", "n"]} {
      %0 = lumen.transpose %x [0, 2, 1] : !x -> !t
      dispatch.yield %0 : !t
    })",
        someSizes(3));
  // Sizes that agree as the run knows only.
  check(R"(
    !x = tensor<?x?xf32, #lumen.dims<["a", "b"]>>
    !y = tensor<?x?xf32, #lumen.dims<["c", "d"]>>
    !t = tensor<?x?xf32, #lumen.dims<["d", "c"]>>
    dispatch.kernel @k(%x: !x) -> !t attributes {dispatch.sizes = ["a", "b", "c", "d"]} {
      %n = lumen.unary <neg> %x : !x -> !x
      %0 = lumen.reshape %n : !x -> !y
      %1 = lumen.transpose %0 [1, 0] : !y -> !t
      dispatch.yield %1 : !t
    })",
        SizeList{{0, 5, 7, 0}, {6, 35, 14, 15}, {1, 64, 64, 1}, {12, 12, 9, 16}});
}

TEST_P(DynamicTest, KnowsItsSizes) {
  check(R"(
    !r = tensor<?x3xi64, #lumen.dims<["a", "3"]>>
    !c = tensor<?x3xi64, #lumen.dims<["b - 2", "3"]>>
    dispatch.kernel @k(%x: !r) -> !r attributes {dispatch.sizes = ["a", "b"]} {
      %0 = lumen.sizes ["a", "3*b + 1", 7] : tensor<3xi64>
      %1 = lumen.broadcast %0 [1] : tensor<3xi64> -> !r
      %2 = lumen.iota {axis = 0 : i64} : !r
      %3 = lumen.binary <add> %1, %2 : !r
      %4 = lumen.cast %x : !r -> !c
      %5 = lumen.unary <neg> %4 : !c -> !c
      %6 = lumen.cast %5 : !c -> !r
      %7 = lumen.binary <add> %3, %6 : !r
      dispatch.yield %7 : !r
    })",
        SizeList{{0, 2}, {1, 3}, {5, 7}, {100, 102}});
}

TEST_P(DynamicTest, Reduces) {
  for (const char *kind : {"sum", "max", "prod"})
    for (const char *axes : {"0", "1", "0, 1"}) {
      std::string result = axes[1]          ? "tensor<f32>"
                           : axes[0] == '0' ? "tensor<?xf32, #lumen.dims<[\"b\"]>>"
                                            : "tensor<?xf32, #lumen.dims<[\"a\"]>>";
      CheckOptions options;
      options.relative = options.absolute = 1e-4;
      options.fill = [](unsigned, mlir::Type, std::mt19937 &random) -> Number {
        return std::uniform_real_distribution<double>(0.99, 1.01)(random);
      };
      check(formatv(R"(
        !x = tensor<?x?xf32, #lumen.dims<["a", "b"]>>
        dispatch.kernel @k(%x: !x) -> {2} attributes {{dispatch.sizes = ["a", "b"]} {{
          %0 = lumen.reduce <{0}> %x [{1}] : !x -> {2}
          dispatch.yield %0 : {2}
        })",
                    kind, axes, result)
                .str(),
            someSizes(2), options);
    }
}

TEST_P(DynamicTest, NormalizesRows) {
  // The last ones are longer than the buffer for rows.
  SizeList sizes = someSizes(2);
  sizes.push_back({2, 20001});
  sizes.push_back({3000, 17});
  for (int axis : {0, 1})
    for (const char *log : {"", ", log"})
      check(formatv(R"(
        !x = tensor<?x?xf32, #lumen.dims<["a", "b"]>>
        dispatch.kernel @k(%x: !x, %m: !x) -> !x attributes {{dispatch.sizes = ["a", "b"]} {{
          %0 = lumen.binary <add> %x, %m : !x
          %1 = lumen.softmax %0 {{axis = {0} : i64{1}} : !x
          %2 = lumen.binary <mul> %1, %m : !x
          dispatch.yield %2 : !x
        })",
                    axis, log)
                .str(),
            sizes);
  for (int axis : {0, 1})
    for (const char *kind : {"layer", "rms"})
      check(formatv(R"(
        !x = tensor<?x?xf32, #lumen.dims<["a", "b"]>>
        dispatch.kernel @k(%x: !x) -> !x attributes {{dispatch.sizes = ["a", "b"]} {{
          %0 = lumen.norm <{1}> %x {{axis = {0} : i64, epsilon = 1.0e-5 : f64} : !x
          dispatch.yield %0 : !x
        })",
                    axis, kind)
                .str(),
            sizes);
}

TEST_P(DynamicTest, PoolsImages) {
  for (const char *kind : {"max", "average"})
    for (const char *channels : {"3", "16", "c"})
      check(formatv(R"mlir(
        !x = tensor<?x?x?x{2}xf32, #lumen.dims<["n", "h", "w", "{1}"]>>
        !r = tensor<?x?x?x{2}xf32, #lumen.dims<["n", "floordiv(h + 1, 2)", "w", "{1}"]>>
        dispatch.kernel @k(%x: !x) -> !r attributes {{dispatch.sizes = ["n", "h", "w", "c"]} {{
          %0 = lumen.window <{0}> %x {{window = array<i64: 1, 3, 3, 1>,
            strides = array<i64: 1, 2, 1, 1>, dilations = array<i64: 1, 1, 1, 1>,
            pad_low = array<i64: 0, 1, 1, 0>, pad_high = array<i64: 0, 1, 1, 0>} : !x -> !r
          dispatch.yield %0 : !r
        })mlir",
                    kind, channels, channels[0] == 'c' ? "?" : channels)
                .str(),
            SizeList{{0, 4, 4, 3}, {1, 1, 1, 1}, {2, 9, 8, 17}, {1, 0, 5, 8}, {1, 7, 20, 33}});
}

TEST_P(DynamicTest, Gathers) {
  CheckOptions options;
  options.fill = [](unsigned, mlir::Type type, std::mt19937 &random) -> Number {
    if (type.isSignlessInteger())
      return static_cast<Number>(random() % 41) - 20;
    return std::uniform_real_distribution<double>(-4, 4)(random);
  };
  for (int axis : {0, 1})
    check(formatv(R"(
      !x = tensor<?x?xf32, #lumen.dims<["a", "b"]>>
      !i = tensor<?xi64, #lumen.dims<["c"]>>
      !r = tensor<?x?xf32, #lumen.dims<[{1}]>>
      dispatch.kernel @k(%x: !x, %i: !i) -> !r attributes {{dispatch.sizes = ["a", "b", "c"]} {{
        %0 = lumen.gather %x, %i {{axis = {0} : i64} : !x, !i -> !r
        dispatch.yield %0 : !r
      })",
                  axis, axis ? "\"a\", \"c\"" : "\"c\", \"b\"")
              .str(),
          someSizes(3, /*least=*/1), options);
}

// What an index is, and what it lies outside of, is reported; every read stays inside.
TEST_P(DynamicTest, ReportsIndicesOutsideOfADimension) {
  auto run = [&](const LoadedKernel &kernel, std::vector<int64_t> indices,
                 std::vector<int64_t> sizes) {
    std::vector<float> x(13 * 40, 1), y(indices.size() * 40);
    return kernel.run({x.data(), indices.data(), y.data()}, 0, kernel.grid(sizes), sizes);
  };
  // Rows that are picked by one index each.
  auto rows = LoadedKernel::make(R"(
    dispatch.kernel @k(%x: tensor<13x40xf32>, %i: tensor<5xi64>) -> tensor<5x40xf32> {
      %0 = lumen.gather %x, %i {axis = 0 : i64} : tensor<13x40xf32>, tensor<5xi64> -> tensor<5x40xf32>
      dispatch.yield %0 : tensor<5x40xf32>
    })",
                                 GetParam());
  ASSERT_TRUE(rows);
  EXPECT_EQ(run(*rows, {0, 12, -13, 5, -1}, {}), LUMEN_ABI_OK);
  EXPECT_EQ(run(*rows, {0, 12, 13, 5, -1}, {}), LUMEN_ABI_FAULT_INDEX);
  EXPECT_EQ(rows->getFault(), (llvm::ArrayRef<int64_t>{13, 13}));
  EXPECT_EQ(run(*rows, {0, 12, 0, -14, -1}, {}), LUMEN_ABI_FAULT_INDEX);
  EXPECT_EQ(rows->getFault(), (llvm::ArrayRef<int64_t>{-14, 13}));
  EXPECT_EQ(run(*rows, {0, 12, 0, 4, -1}, {}), LUMEN_ABI_OK);

  // An index in each lane, and rows of a softmax kept where the fault is told.
  auto lanes = LoadedKernel::make(R"(
    dispatch.kernel @k(%x: tensor<?xf32, #lumen.dims<["n"]>>, %i: tensor<37xi64>) -> tensor<37xf32>
        attributes {dispatch.sizes = ["n"]} {
      %0 = lumen.gather %x, %i {axis = 0 : i64} : tensor<?xf32, #lumen.dims<["n"]>>, tensor<37xi64> -> tensor<37xf32>
      %1 = lumen.softmax %0 {axis = 0 : i64} : tensor<37xf32>
      dispatch.yield %1 : tensor<37xf32>
    })",
                                  GetParam());
  ASSERT_TRUE(lanes);
  std::vector<int64_t> indices(37, 3);
  EXPECT_EQ(run(*lanes, indices, {9}), LUMEN_ABI_OK);
  for (int64_t at : {0, 7, 36}) {
    indices.assign(37, 3);
    indices[at] = at - 100;
    EXPECT_EQ(run(*lanes, indices, {9}), LUMEN_ABI_FAULT_INDEX);
    EXPECT_EQ(lanes->getFault(), (llvm::ArrayRef<int64_t>{at - 100, 9}));
  }
  // An index that is written to.
  auto scattered = LoadedKernel::make(R"(
    !x = tensor<?xf32, #lumen.dims<["n"]>>
    dispatch.kernel @k(%x: !x, %i: tensor<37xi64>, %u: tensor<37xf32>) -> !x
        attributes {dispatch.sizes = ["n"]} {
      %0 = lumen.scatter <add> %x, %u (%i) [-1] : !x, tensor<37xf32>, (tensor<37xi64>) -> !x
      dispatch.yield %0 : !x
    })",
                                      GetParam());
  ASSERT_TRUE(scattered);
  for (int64_t size : {9, 0}) {
    std::vector<float> x(size, 1), u(37, 1), y(size);
    indices.assign(37, size / 2);
    indices[5] = -size - 1;
    EXPECT_EQ(scattered->run({x.data(), indices.data(), u.data(), y.data()}, 0,
                             std::max<int64_t>(scattered->grid({size}), 1), {size}),
              LUMEN_ABI_FAULT_INDEX);
    if (size)
      EXPECT_EQ(scattered->getFault(), (llvm::ArrayRef<int64_t>{-size - 1, size}));
  }
  // Nothing can be picked from nothing.
  indices.assign(37, 0);
  EXPECT_EQ(lanes->run({nullptr, indices.data(), std::vector<float>(37).data()}, 0,
                       lanes->grid({0}), {0}),
            LUMEN_ABI_FAULT_INDEX);
  EXPECT_EQ(lanes->getFault(), (llvm::ArrayRef<int64_t>{0, 0}));
}

} // namespace
