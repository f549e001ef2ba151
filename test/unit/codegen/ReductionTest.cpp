//===- ReductionTest.cpp - reductions, softmax, norms and windows ---------===//

#include "KernelHarness.h"

#include "llvm/Support/FormatVariadic.h"

using namespace lumen;
using namespace lumen::test;
using llvm::formatv;

namespace {

LUMEN_KERNEL_TEST(ReductionTest);

// Ragged sizes: less than, equal to and more than a vector of any level.
constexpr int kSizes[] = {1, 3, 7, 8, 15, 16, 17, 31, 64, 100, 300};

TEST_P(ReductionTest, SumsInnerRows) {
  for (int size : kSizes)
    check(formatv(R"(
      dispatch.kernel @k(%x: tensor<5x{0}xf32>) -> tensor<5xf32> {{
        %0 = lumen.reduce <sum> %x [1] : tensor<5x{0}xf32> -> tensor<5xf32>
        dispatch.yield %0 : tensor<5xf32>
      })",
                  size)
              .str());
}

TEST_P(ReductionTest, AveragesSpatialDimensionsOfImages) {
  for (int channels : kSizes)
    check(formatv(R"(
      dispatch.kernel @k(%x: tensor<2x7x7x{0}xf32>) -> tensor<2x{0}xf32> {{
        %0 = lumen.reduce <sum> %x [1, 2] : tensor<2x7x7x{0}xf32> -> tensor<2x{0}xf32>
        %c = lumen.constant dense<0.020408163> : tensor<2x{0}xf32>
        %1 = lumen.binary <mul> %0, %c : tensor<2x{0}xf32>
        dispatch.yield %1 : tensor<2x{0}xf32>
      })",
                  channels)
              .str());
}

TEST_P(ReductionTest, CombinesEveryKindAndType) {
  for (const char *kind : {"sum", "max", "min", "prod"})
    for (const char *type : {"f32", "f64", "f16", "bf16", "i8", "i32", "i64", "ui8", "ui64"})
      for (const char *axes : {"0", "1", "2", "0, 2", "0, 1, 2"}) {
        std::string result = axes[1] == 0                  ? (axes[0] == '0'   ? "11x37x"
                                                              : axes[0] == '1' ? "3x37x"
                                                                               : "3x11x")
                             : std::string(axes) == "0, 2" ? "11x"
                                                           : "";
        bool isFloat = type[0] == 'f' || type[0] == 'b';
        CheckOptions options;
        options.relative = options.absolute = type[1] == '1' || type[0] == 'b' ? 0.02 : 1e-4;
        options.fill = [&](unsigned, mlir::Type, std::mt19937 &random) -> Number {
          if (isFloat)
            return std::uniform_real_distribution<double>(0.9, 1.1)(random);
          return random() % 100;
        };
        check(formatv(R"(
          dispatch.kernel @k(%x: tensor<3x11x37x{1}>) -> tensor<{3}{1}> {{
            %0 = lumen.reduce <{0}> %x [{2}] : tensor<3x11x37x{1}> -> tensor<{3}{1}>
            dispatch.yield %0 : tensor<{3}{1}>
          })",
                      kind, type, axes, result)
                  .str(),
              options);
      }
}

TEST_P(ReductionTest, PullsPrologueAndEpilogue) {
  for (const char *axis : {"0", "1"})
    check(formatv(R"(
      dispatch.kernel @k(%x: tensor<65x65xf32>, %b: tensor<65xf32>) -> tensor<65xf32> {{
        %0 = lumen.broadcast %b [1] : tensor<65xf32> -> tensor<65x65xf32>
        %1 = lumen.binary <sub> %x, %0 : tensor<65x65xf32>
        %2 = lumen.binary <mul> %1, %1 : tensor<65x65xf32>
        %3 = lumen.reduce <sum> %2 [{0}] : tensor<65x65xf32> -> tensor<65xf32>
        %4 = lumen.unary <sqrt> %3 : tensor<65xf32> -> tensor<65xf32>
        %5 = lumen.binary <add> %4, %b : tensor<65xf32>
        dispatch.yield %5 : tensor<65xf32>
      })",
                  axis)
              .str());
}

TEST_P(ReductionTest, RespectsStrides) {
  check(R"(
    dispatch.kernel @k(%x: tensor<3x5x19xf32> {dispatch.strides = #lumen.dims<["160", "24", "1"]>})
        -> (tensor<3x19xf32> {dispatch.strides = #lumen.dims<["40", "2"]>}) {
      %0 = lumen.reduce <max> %x [1] : tensor<3x5x19xf32> -> tensor<3x19xf32>
      dispatch.yield %0 : tensor<3x19xf32>
    })");
}

LUMEN_KERNEL_TEST(NormalizationTest);

TEST_P(NormalizationTest, SoftmaxOverEveryAxis) {
  for (int size : kSizes)
    for (int axis : {0, 1, 2})
      for (const char *log : {"", ", log"}) {
        std::string type = axis == 0   ? formatv("{0}x3x5", size).str()
                           : axis == 1 ? formatv("3x{0}x17", size).str()
                                       : formatv("2x5x{0}", size).str();
        check(formatv(R"(
          dispatch.kernel @k(%x: tensor<{0}xf32>) -> tensor<{0}xf32> {{
            %0 = lumen.softmax %x {{axis = {1} : i64{2}} : tensor<{0}xf32>
            dispatch.yield %0 : tensor<{0}xf32>
          })",
                      type, axis, log)
                  .str());
      }
}

TEST_P(NormalizationTest, SoftmaxWithNeighbours) {
  for (const char *type : {"f32", "f64", "f16"}) {
    CheckOptions options;
    if (type[1] == '1')
      options.relative = options.absolute = 4e-3;
    check(formatv(R"(
      dispatch.kernel @k(%x: tensor<2x3x33x{0}>, %m: tensor<33x{0}>) -> tensor<2x3x33x{0}> {{
        %s = lumen.constant dense<0.125> : tensor<2x3x33x{0}>
        %0 = lumen.binary <mul> %x, %s : tensor<2x3x33x{0}>
        %1 = lumen.broadcast %m [2] : tensor<33x{0}> -> tensor<2x3x33x{0}>
        %2 = lumen.binary <add> %0, %1 : tensor<2x3x33x{0}>
        %3 = lumen.softmax %2 {{axis = 2 : i64} : tensor<2x3x33x{0}>
        %4 = lumen.binary <mul> %3, %1 : tensor<2x3x33x{0}>
        dispatch.yield %4 : tensor<2x3x33x{0}>
      })",
                  type)
              .str(),
          options);
  }
}

TEST_P(NormalizationTest, NormsOverTrailingDimensions) {
  for (int size : kSizes)
    for (int axis : {1, 2})
      for (const char *kind : {"layer", "rms"})
        check(formatv(R"(
          dispatch.kernel @k(%x: tensor<2x3x{0}xf32>, %s: tensor<{0}xf32>) -> tensor<2x3x{0}xf32> {{
            %0 = lumen.norm <{1}> %x {{axis = {2} : i64, epsilon = 1.0e-5 : f64} : tensor<2x3x{0}xf32>
            %1 = lumen.broadcast %s [2] : tensor<{0}xf32> -> tensor<2x3x{0}xf32>
            %2 = lumen.binary <mul> %0, %1 : tensor<2x3x{0}xf32>
            dispatch.yield %2 : tensor<2x3x{0}xf32>
          })",
                      size, kind, axis)
                  .str());
}

LUMEN_KERNEL_TEST(WindowTest);

TEST_P(WindowTest, PoolsImages) {
  struct Row {
    const char *strides, *dilations, *low, *high, *result;
  };
  // 3x3 windows on 9x8 images; the last ones reach behind the image (ceil mode).
  for (Row row : {Row{"1, 1, 1, 1", "1, 1, 1, 1", "0, 0, 0, 0", "0, 0, 0, 0", "7x6"},
                  Row{"1, 2, 2, 1", "1, 1, 1, 1", "0, 1, 1, 0", "0, 1, 1, 0", "5x4"},
                  Row{"1, 2, 3, 1", "1, 2, 1, 1", "0, 1, 0, 0", "0, 2, 1, 0", "4x3"},
                  Row{"1, 1, 1, 1", "1, 1, 3, 1", "0, 1, 2, 0", "0, 1, 2, 0", "9x6"}})
    for (int channels : kSizes)
      for (const char *kind : {"max", "sum", "average"})
        for (const char *count : {"", ", count_include_pad"})
          check(formatv(R"(
            dispatch.kernel @k(%x: tensor<2x9x8x{0}xf32>) -> tensor<2x{1}x{0}xf32> {{
              %0 = lumen.window <{2}> %x {{window = array<i64: 1, 3, 3, 1>,
                strides = array<i64: {3}>, dilations = array<i64: {4}>,
                pad_low = array<i64: {5}>, pad_high = array<i64: {6}>{7}}
                : tensor<2x9x8x{0}xf32> -> tensor<2x{1}x{0}xf32>
              dispatch.yield %0 : tensor<2x{1}x{0}xf32>
            })",
                        channels, row.result, kind, row.strides, row.dilations, row.low, row.high,
                        count)
                    .str());
}

TEST_P(WindowTest, SlidesOverChannels) {
  for (int channels : kSizes)
    for (const char *kind : {"sum", "average", "max"})
      check(formatv(R"(
        dispatch.kernel @k(%x: tensor<1x3x4x{0}xf32>) -> tensor<1x3x4x{0}xf32> {{
          %0 = lumen.binary <mul> %x, %x : tensor<1x3x4x{0}xf32>
          %1 = lumen.window <{1}> %0 {{window = array<i64: 1, 1, 1, 5>, strides = array<i64: 1, 1, 1, 1>,
            dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 2>,
            pad_high = array<i64: 0, 0, 0, 2>} : tensor<1x3x4x{0}xf32> -> tensor<1x3x4x{0}xf32>
          %2 = lumen.binary <add> %1, %x : tensor<1x3x4x{0}xf32>
          dispatch.yield %2 : tensor<1x3x4x{0}xf32>
        })",
                    channels, kind)
                .str());
}

TEST_P(WindowTest, SlidesOverStridedRows) {
  for (const char *kind : {"sum", "average", "max"})
    check(formatv(R"(
      dispatch.kernel @k(%x: tensor<3x40xf32>) -> tensor<3x20xf32> {{
        %0 = lumen.window <{0}> %x {{window = array<i64: 1, 3>, strides = array<i64: 1, 2>,
          dilations = array<i64: 1, 2>, pad_low = array<i64: 0, 1>, pad_high = array<i64: 0, 2>}
          : tensor<3x40xf32> -> tensor<3x20xf32>
        dispatch.yield %0 : tensor<3x20xf32>
      })",
                  kind)
              .str());
}

// Unit dimensions behind the image leave its rows to the vectors.
TEST_P(WindowTest, PoolsImagesOfOneChannel) {
  struct Row {
    const char *type, *image, *result, *window, *ones, *pads;
  };
  for (Row row : {Row{"f32", "1x64x96x1", "1x64x96x1", "1, 3, 3, 1", "1, 1, 1, 1", "0, 1, 1, 0"},
                  Row{"f32", "4x20x70x1", "4x18x68x1", "1, 3, 3, 1", "1, 1, 1, 1", "0, 0, 0, 0"},
                  Row{"f32", "1x300x1", "1x300x1", "1, 5, 1", "1, 1, 1", "0, 2, 0"},
                  Row{"ui8", "1x40x200x1", "1x40x200x1", "1, 3, 3, 1", "1, 1, 1, 1", "0, 1, 1, 0"}})
    for (const char *kind : {"max", "sum", "average"}) {
      if (row.type[0] == 'u' && llvm::StringRef(kind) != "max")
        continue;
      check(formatv(R"(
        dispatch.kernel @k(%x: tensor<{1}x{0}>) -> tensor<{2}x{0}> {{
          %0 = lumen.window <{3}> %x {{window = array<i64: {4}>, strides = array<i64: {5}>,
            dilations = array<i64: {5}>, pad_low = array<i64: {6}>, pad_high = array<i64: {6}>}
            : tensor<{1}x{0}> -> tensor<{2}x{0}>
          dispatch.yield %0 : tensor<{2}x{0}>
        })",
                    row.type, row.image, row.result, kind, row.window, row.ones, row.pads)
                .str());
    }
}

TEST_P(WindowTest, PoolsIntegers) {
  for (const char *type : {"i8", "ui8", "i32"})
    check(formatv(R"(
      dispatch.kernel @k(%x: tensor<1x6x6x40x{0}>) -> tensor<1x3x3x40x{0}> {{
        %0 = lumen.window <max> %x {{window = array<i64: 1, 2, 2, 1>, strides = array<i64: 1, 2, 2, 1>,
          dilations = array<i64: 1, 1, 1, 1>, pad_low = array<i64: 0, 0, 0, 0>,
          pad_high = array<i64: 0, 0, 0, 0>} : tensor<1x6x6x40x{0}> -> tensor<1x3x3x40x{0}>
        dispatch.yield %0 : tensor<1x3x3x40x{0}>
      })",
                  type)
              .str());
}

} // namespace
