//===- FiberTest.cpp - what running on fibers can tell --------------------===//
//
// Kernels that are wrong on purpose.
//
//===----------------------------------------------------------------------===//

#include "FiberDevice.h"

#include "gtest/gtest-spi.h"

using namespace lumen;
using namespace lumen::test;
using llvm::StringRef;

namespace {

/// Runs a kernel of some threads that gives each its number, and whose body gets the address
/// of its word and what is bound behind all words.
class FiberTest : public ::testing::Test {
protected:
  std::vector<int32_t> run(StringRef body, uint32_t threads = 4) {
    KernelBinary binary;
    binary.block = threads;
    llvm::raw_svector_ostream(binary.code) << R"(
      declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
      declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
      declare float @llvm.nvvm.rcp.approx.ftz.f(float)
      @shared = internal addrspace(3) global [64 x i32] undef, align 16
      define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %words) {
        %at = getelementptr i32, ptr addrspace(1) %words, i32 2
        %bytes = load i32, ptr addrspace(1) %at
        %y = getelementptr i8, ptr addrspace(1) %0, i32 %bytes
        %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
        %mine = getelementptr i32, ptr addrspace(1) %y, i32 %thread
        %slot = getelementptr i32, ptr addrspace(3) @shared, i32 %thread
    )" << body << "\n}\n";
    std::vector<int32_t> y(threads);
    auto kernel = ptxFiberDevice()->load(binary, LaunchShape(), "k", 1);
    if (kernel)
      kernel->run(1, {{reinterpret_cast<char *>(y.data()), y.size() * 4, 4, true}}, {}, random);
    return y;
  }

  std::mt19937 random;
};

const StringRef kReverse = R"(
  store i32 %thread, ptr addrspace(3) %slot
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %other = sub i32 3, %thread
  %there = getelementptr i32, ptr addrspace(3) @shared, i32 %other
  %value = load i32, ptr addrspace(3) %there
  store i32 %value, ptr addrspace(1) %mine
  ret void)";

TEST_F(FiberTest, RunsThreadsThatWaitForEachOther) {
  EXPECT_EQ(run(kReverse), (std::vector<int32_t>{3, 2, 1, 0}));
}

TEST_F(FiberTest, TellsAMissingBarrier) {
  std::string text = kReverse.str();
  const StringRef barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
  text.erase(text.find(barrier), barrier.size());
  // Shared memory is zero at first.
  EXPECT_EQ(run(text), (std::vector<int32_t>{0, 0, 1, 0}));
}

TEST_F(FiberTest, TellsBarriersThatNotAllThreadsReach) {
  EXPECT_NONFATAL_FAILURE(run(R"(
      %first = icmp eq i32 %thread, 0
      br i1 %first, label %end, label %wait
    wait:
      call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
      br label %end
    end:
      ret void)"),
                          "1 of 4 threads of workgroup 0 end, the others wait at a barrier");
  EXPECT_NONFATAL_FAILURE(run(R"(
      %first = icmp eq i32 %thread, 0
      br i1 %first, label %here, label %there
    here:
      call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
      store i32 1, ptr addrspace(1) %mine
      ret void
    there:
      call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
      store i32 2, ptr addrspace(1) %mine
      ret void)"),
                          "wait at different barriers");
}

TEST_F(FiberTest, NamesIntrinsicsThatItDoesNotKnow) {
  EXPECT_NONFATAL_FAILURE(run("%r = call float @llvm.nvvm.rcp.approx.ftz.f(float 1.0)\n ret void"),
                          "fibers do not know @llvm.nvvm.rcp.approx.ftz.f");
}

TEST_F(FiberTest, SeesAccessesOutsideOfBuffers) {
  const StringRef beyond = R"(
    %far = getelementptr i32, ptr addrspace(1) %mine, i32 4
    store i32 1, ptr addrspace(1) %far
    ret void)";
  if (fibersAreSanitized())
    EXPECT_DEATH(run(beyond), "use-after-poison");
  else
    EXPECT_NONFATAL_FAILURE(run(beyond), "wrote behind its argument 0");
}

} // namespace
