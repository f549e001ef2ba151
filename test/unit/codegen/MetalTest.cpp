//===- MetalTest.cpp - what running the text of Metal kernels can tell ----===//
//
// Kernels that are wrong on purpose.
//
//===----------------------------------------------------------------------===//

#include "MetalDevice.h"

#include "gtest/gtest-spi.h"

using namespace lumen;
using namespace lumen::test;
using llvm::StringRef;

namespace {

/// Runs a kernel of four threads, whose body gets one integer `*x` and gives one for each
/// thread: `y[thread_id]`.
class MetalTest : public ::testing::Test {
protected:
  std::vector<int32_t> run(StringRef body) {
    KernelBinary binary;
    binary.block = 4;
    llvm::raw_svector_ostream(binary.code) << R"(#include <metal_stdlib>
using namespace metal;
kernel void k(device int *b0 [[buffer(0)]], device int *b1 [[buffer(1)]],
              device int *b2 [[buffer(2)]], uint thread_id [[thread_index_in_threadgroup]],
              uint group_id [[threadgroup_position_in_grid]]) {
  device int *x = b0 + b2[2] / 4, *y = b1 + b2[3] / 4;
)" << body << "\n}\n" << '\0';
    int32_t x = 20;
    std::vector<int32_t> y(4);
    auto kernel = metalDevice()->load(binary, LaunchShape(), "k", 2);
    if (kernel)
      kernel->run(1,
                  {{reinterpret_cast<char *>(&x), 4, 4, false},
                   {reinterpret_cast<char *>(y.data()), 16, 4, true}},
                  {}, random);
    return y;
  }

  std::mt19937 random;
};

TEST_F(MetalTest, RunsThreadsThatWaitForEachOther) {
  EXPECT_EQ(run(R"(threadgroup int shared[4];
                   shared[thread_id] = *x + thread_id;
                   threadgroup_barrier(mem_flags::mem_threadgroup);
                   y[thread_id] = shared[3 - thread_id];)"),
            (std::vector<int32_t>{23, 22, 21, 20}));
}

TEST_F(MetalTest, TellsAddressSpacesApart) {
  EXPECT_NONFATAL_FAILURE(run("threadgroup int shared[4]; device int *other = shared;"),
                          "cannot initialize");
  EXPECT_NONFATAL_FAILURE(run("int own[4]; y = own;"), "incompatible type");
}

TEST_F(MetalTest, RefusesWhatMetalLacks) {
  EXPECT_NONFATAL_FAILURE(run("y[thread_id] = erf(*x);"), "undeclared identifier 'erf'");
}

TEST_F(MetalTest, TellsOperationsThatAreUndefined) {
  EXPECT_NONFATAL_FAILURE(run("y[thread_id] = 2147483647 + *x;"),
                          "thread 0 of workgroup 0: add_overflow");
  EXPECT_NONFATAL_FAILURE(run("y[thread_id] = 1 << (*x + 20);"), "shift_out_of_bounds");
  EXPECT_NONFATAL_FAILURE(run("y[thread_id] = int(float(*x) * 1e10f);"), "float_cast_overflow");
  EXPECT_NONFATAL_FAILURE(run("threadgroup int shared[4]; y[thread_id] = shared[*x - 14];"),
                          "out_of_bounds");
}

TEST_F(MetalTest, TellsBarriersThatNotAllThreadsReach) {
  EXPECT_NONFATAL_FAILURE(
      run("if (thread_id != 0) threadgroup_barrier(mem_flags::mem_threadgroup);"),
      "1 of 4 threads of workgroup 0 end, the others wait at a barrier");
}

TEST_F(MetalTest, SeesAccessesOutsideOfBuffers) {
  EXPECT_NONFATAL_FAILURE(run("y[4] = 1;"), "wrote behind its argument 1");
  EXPECT_NONFATAL_FAILURE(run("*x = 1;"), "wrote to its argument 0");
}

} // namespace
