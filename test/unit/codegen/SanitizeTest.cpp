//===- SanitizeTest.cpp - kernels that AddressSanitizer watches -----------===//
//
// Of use where the process has the sanitizer: in its preset, or preloaded, as
// test/codegen/cpu/sanitize.test does.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"

#include "codegen/cpu/CpuTarget.h"

#include <dlfcn.h>

using namespace lumen::test;

namespace {

class SanitizeTest : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!dlsym(RTLD_DEFAULT, "__asan_poison_memory_region"))
      GTEST_SKIP() << "this process has no AddressSanitizer";
    if (!lumen::cpu::hostSupports(GetParam()))
      GTEST_SKIP() << "this machine cannot run " << GetParam();
    lumen::CodegenOptions options;
    options.sanitizeAddress = true;
    loaded = LoadedKernel::make(R"(
      dispatch.kernel @k(%x: tensor<100xf32>) -> tensor<100xf32> {
        %0 = lumen.unary <relu> %x : tensor<100xf32> -> tensor<100xf32>
        dispatch.yield %0 : tensor<100xf32>
      })",
                                GetParam(), options);
    ASSERT_NE(loaded, nullptr);
  }
  void run(size_t sizeX, size_t sizeY) {
    std::vector<float> x(sizeX, 1), y(sizeY);
    loaded->run({x.data(), y.data()}, 0, loaded->grid());
  }

  std::unique_ptr<LoadedKernel> loaded;
};

INSTANTIATE_TEST_SUITE_P(Levels, SanitizeTest, ::testing::ValuesIn(allLevels()), levelTestName);

// A kernel that was made for one element more than there is.
TEST_P(SanitizeTest, TellsOneElementTooMany) {
  run(100, 100);
  EXPECT_DEATH(run(99, 100), "heap-buffer-overflow");
  EXPECT_DEATH(run(100, 99), "heap-buffer-overflow");
}

} // namespace
