//===- DeviceTest.cpp - what the second witness can tell ------------------===//
//
// Kernels that are wrong on purpose. Vulkan devices in software drop accesses outside of
// what is bound; here they are seen.
//
//===----------------------------------------------------------------------===//

#include "KernelHarness.h"
#include "OpenClDevice.h"

#include "gtest/gtest-spi.h"

using namespace lumen;
using namespace lumen::test;
using llvm::StringRef;

namespace {

class DeviceTest : public ::testing::Test {
protected:
  void SetUp() override {
    device = openClDevice();
    if (!device)
      GTEST_SKIP() << "this machine cannot run OpenCL";
  }

  /// Runs a kernel of one thread that takes one integer and gives one.
  int32_t runOne(StringRef body) {
    KernelBinary binary;
    llvm::raw_svector_ostream(binary.code)
        << "__kernel void k(__global int *b0, __global int *b1, __global int *b2) {\n"
           "  __global int *x = b0 + b2[2] / 4, *y = b1 + b2[3] / 4;\n  "
        << body << "\n}\n";
    auto kernel = device->load(binary, LaunchShape(), "k", 2);
    int32_t x = 20, y = 0;
    if (kernel)
      kernel->run(1, {bytesOf(&x, 1, false), bytesOf(&y, 1, true)}, {}, random);
    return y;
  }

  template <typename T> static DeviceBuffer bytesOf(T *data, size_t count, bool isResult) {
    return {reinterpret_cast<char *>(data), count * sizeof(T), sizeof(T), isResult};
  }

  KernelDevice *device = nullptr;
  std::mt19937 random;
};

TEST_F(DeviceTest, SeesAccessesOutsideOfBuffers) {
  EXPECT_EQ(runOne("y[0] = x[0] + 1;"), 21);
  EXPECT_NONFATAL_FAILURE(runOne("y[1] = 1;"), "wrote behind its argument 1");
  EXPECT_NONFATAL_FAILURE(runOne("y[-1] = 1;"), "wrote before its argument 1");
  EXPECT_NONFATAL_FAILURE(runOne("x[0] = 1;"), "wrote to its argument 0");
  // What a test would not expect.
  EXPECT_EQ(runOne("y[0] = x[1];"), static_cast<int32_t>(0xA5A5A5A5));
}

TEST_F(DeviceTest, SaysWhatItCannotCompile) {
  EXPECT_NONFATAL_FAILURE(runOne("y[0] = unknown;"), "undeclared identifier");
}

// The sum of a row passes through shared memory, in a tree.
TEST_F(DeviceTest, TellsAMissingBarrier) {
  auto loaded = LoadedKernel::make(R"(
    dispatch.kernel @k(%x: tensor<1x1000xf32>) -> tensor<1xf32> {
      %0 = lumen.reduce <sum> %x [1] : tensor<1x1000xf32> -> tensor<1xf32>
      dispatch.yield %0 : tensor<1xf32>
    })",
                                   "opencl");
  ASSERT_NE(loaded, nullptr);
  auto compiled = device->compile(loaded->getKernel());
  ASSERT_TRUE(mlir::succeeded(compiled));
  KernelBinary &binary = compiled->binaries.front();
  auto sumOf = [&](float value) {
    std::vector<float> x(1000, value);
    float y = 0;
    CodegenOptions options;
    options.optLevel = 0;
    auto kernel = device->load(binary, compiled->shapes.front(), "k", 2, options);
    kernel->run(1, {bytesOf(x.data(), x.size(), false), bytesOf(&y, 1, true)}, {}, random);
    return y;
  };
  EXPECT_EQ(sumOf(1), 1000);

  std::string text(binary.code.data(), binary.code.size());
  const std::string barrier = "barrier(CLK_LOCAL_MEM_FENCE);";
  for (size_t at; (at = text.find(barrier)) != std::string::npos;)
    text.erase(at, barrier.size());
  binary.code.assign(text.begin(), text.end());
  // Shared memory may still hold what the first run left there.
  EXPECT_NE(sumOf(2), 2000);
}

} // namespace
