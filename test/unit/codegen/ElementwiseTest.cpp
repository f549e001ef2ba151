//===- ElementwiseTest.cpp - elementwise and data-movement kernels --------===//

#include "KernelHarness.h"

#include "llvm/Support/FormatVariadic.h"

using namespace lumen::test;
using llvm::formatv;

namespace {

LUMEN_KERNEL_TEST(ElementwiseTest);

// Ragged sizes: less than, equal to and more than a vector of any level.
constexpr int kSizes[] = {1, 3, 7, 8, 15, 16, 17, 31, 64, 100, 5000};

TEST_P(ElementwiseTest, AddsRaggedRows) {
  for (int size : kSizes)
    check(formatv(R"(
      dispatch.kernel @k(%a: tensor<3x{0}xf32>, %b: tensor<{0}xf32>) -> tensor<3x{0}xf32> {{
        %0 = lumen.broadcast %b [1] : tensor<{0}xf32> -> tensor<3x{0}xf32>
        %1 = lumen.binary <add> %a, %0 : tensor<3x{0}xf32>
        %2 = lumen.unary <relu> %1 : tensor<3x{0}xf32> -> tensor<3x{0}xf32>
        dispatch.yield %2 : tensor<3x{0}xf32>
      })", size).str());
}

} // namespace
