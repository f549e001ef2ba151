//===- MemoryTest.cpp - accesses of the machine ---------------------------===//

#include "PtxKernel.h"

#include "gmock/gmock.h"

using namespace lumen::ptx;
using testing::HasSubstr;

namespace {

// Each thread has the address of its own words in %d1 (x) and %d2 (y).
const std::string kOwnWords = "mul.wide.u32 %d0, %t, 4;\nadd.s64 %d1, %x, %d0;\n"
                              "add.s64 %d2, %y, %d0;\n";
const std::string kShared = ".shared .align 16 .b8 s[256];\n";
// The address of the thread's own word of shared memory in %d3, of its neighbour's in %d4.
const std::string kSharedWords = kOwnWords + "mov.b64 %d3, s;\nadd.s64 %d3, %d3, %d0;\n"
                                             "xor.b64 %d4, %d3, 4;\n";

TEST(PtxMemory, ElementsAreExtended) {
  RunKernel run;
  run.threads = 1;
  run.x[0] = 0x8081FF7F;
  ASSERT_EQ(run("ld.global.s8 %r0, [%x+1];\nst.global.b32 [%y], %r0;\n"
                "ld.global.u8 %r1, [%x+1];\nst.global.b32 [%y+4], %r1;\n"
                "ld.global.s16 %d0, [%x+2];\nst.global.b64 [%y+8], %d0;\n"
                "ld.global.b8 %h0, [%x];\nst.global.b8 [%y+16], %h0;\n"),
            "");
  EXPECT_EQ(run.y[0], 0xFFFFFFFFu);
  EXPECT_EQ(run.y[1], 0xFFu);
  EXPECT_EQ(run.y[2], 0xFFFF8081u);
  EXPECT_EQ(run.y[3], 0xFFFFFFFFu);
  EXPECT_EQ(run.y[4], 0x7Fu);
}

TEST(PtxMemory, Vectors) {
  RunKernel run;
  run.threads = 1;
  run.x = {1, 2, 3, 4};
  ASSERT_EQ(run("ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%x];\n"
                "st.global.v4.b32 [%y], {%r3, 9, %r1, 0f3F800000};\n"
                "ld.global.v2.b64 {%d0, _}, [%x];\nst.global.b64 [%y+16], %d0;\n"),
            "");
  EXPECT_THAT(run.y, testing::Contains(9u));
  EXPECT_EQ(run.y[0], 4u);
  EXPECT_EQ(run.y[3], 0x3F800000u);
  EXPECT_EQ(run.y[5], 2u);
}

TEST(PtxMemory, RegistersOfParts) {
  RunKernel run;
  run.threads = 1;
  run.x = {0x11112222, 0x33334444};
  ASSERT_EQ(run("ld.global.b64 %d0, [%x];\nmov.b64 {%r0, %r1}, %d0;\n"
                "mov.b32 {_, %h1}, %r1;\nmov.b32 %r2, {%h1, 7};\nmov.b64 %d1, {%r2, %r0};\n"
                "st.global.b64 [%y], %d1;\n"),
            "");
  EXPECT_EQ(run.y[0], 0x00073333u);
  EXPECT_EQ(run.y[1], 0x11112222u);
}

TEST(PtxMemory, NoMemory) {
  RunKernel run;
  EXPECT_THAT(run(kOwnWords + "ld.global.b32 %r0, [%d1+1000];\n"),
              HasSubstr("kernel 'k', line 20, 'ld.global.b32 %r0, [%d1+1000]', workgroup (0, 0, "
                        "0), thread 0: there is no memory at 0x103e8, 4 bytes; the nearest is "
                        "'x', 256 bytes at 0x10000"));
  // The last thread is the first to be wrong.
  EXPECT_THAT(run(kOwnWords + "st.global.b32 [%d2+132], %t;\n"), HasSubstr("thread 31: there is"));
  EXPECT_THAT(run("ld.global.b32 %r0, [%x-4];\n"), HasSubstr("there is no memory at 0xfffc"));
  EXPECT_THAT(run("mov.b64 %d0, s;\nld.shared.b32 %r0, [%d0+256];\n", kShared),
              HasSubstr("there is no shared memory at 0x100, 4 bytes; there are 256 bytes"));
  EXPECT_THAT(run(".local .align 4 .b8 l[16];\nmov.b64 %d0, l;\nst.local.b32 [%d0+16], %t;\n"),
              HasSubstr("there is no local memory"));
}

TEST(PtxMemory, Misaligned) {
  RunKernel run;
  EXPECT_THAT(run("ld.global.b32 %r0, [%x+2];\n"),
              HasSubstr("address 0x10002 is no multiple of 4"));
  EXPECT_THAT(run("ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%x+8];\n"),
              HasSubstr("is no multiple of 16"));
  EXPECT_THAT(run("mov.b64 %d0, s;\nst.shared.b64 [%d0+4], %x;\n", kShared),
              HasSubstr("is no multiple of 8"));
}

// The code generator widens loads over what may not be there.
TEST(PtxMemory, ElementsThatNothingReads) {
  RunKernel run;
  run.threads = 1;
  run.x.resize(7);
  EXPECT_EQ(run("ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%x+16];\n"), "");
  EXPECT_THAT(run("ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%x+16];\nst.global.b32 [%y], %r3;\n"),
              HasSubstr("there is no memory at 0x10010, 16 bytes"));
  EXPECT_EQ(run("mov.b64 %d3, s;\nst.shared.b32 [%d3+4], 5;\n"
                "ld.shared.v4.b32 {_, %r1, _, %r3}, [%d3];\nst.global.b32 [%y], %r1;\n",
                kShared),
            "");
}

TEST(PtxMemory, ReadOnlyMemoryThatIsWritten) {
  RunKernel run;
  EXPECT_EQ(run(kOwnWords + "ld.global.nc.b32 %r0, [%d1];\nst.global.b32 [%d2], %r0;\n"), "");
  EXPECT_THAT(run(kOwnWords + "ld.global.nc.b32 %r0, [%d1];\nst.global.b32 [%d1], %r0;\n"),
              HasSubstr("is read as read-only and written"));
  run.checks.readOnlyMemory = false;
  EXPECT_EQ(run(kOwnWords + "ld.global.nc.b32 %r0, [%d1];\nst.global.b32 [%d1], %r0;\n"), "");
}

TEST(PtxMemory, SharedMemoryOfOtherThreads) {
  RunKernel run;
  run.threads = 64;
  ASSERT_EQ(run(kSharedWords + "st.shared.b32 [%d3], %t;\nbar.sync 0;\nld.shared.b32 %r0, [%d4];\n"
                               "st.global.b32 [%d2], %r0;\n",
                kShared),
            "");
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(run.y[i], i ^ 1);
}

TEST(PtxMemory, Races) {
  RunKernel run;
  EXPECT_THAT(
      run(kSharedWords + "st.shared.b32 [%d3], %t;\nld.shared.b32 %r0, [%d4];\n", kShared),
      HasSubstr("thread 0: reads shared memory at 0x4, which thread 1 uses with no barrier"));
  EXPECT_THAT(run(kSharedWords + "st.shared.b32 [%d3], %t;\nbar.sync 0;\n"
                                 "ld.shared.b32 %r0, [%d4];\nst.shared.b32 [%d3], 77;\n",
                  kShared),
              HasSubstr("writes shared memory at 0x0, which thread 1 uses"));
  EXPECT_THAT(run("mov.b64 %d3, s;\nst.shared.b32 [%d3], %t;\n", kShared),
              HasSubstr("thread 1: writes shared memory"));
  // All write the same.
  EXPECT_EQ(run("mov.b64 %d3, s;\nst.shared.b32 [%d3], 5;\nbar.sync 0;\nld.shared.b32 %r0, "
                "[%d3];\n",
                kShared),
            "");
  // Bytes of a word are not a word.
  EXPECT_EQ(run("mov.b64 %d3, s;\ncvt.u64.u32 %d0, %t;\nadd.s64 %d3, %d3, %d0;\n"
                "st.shared.b8 [%d3], %t;\n",
                kShared),
            "");
  run.checks.sharedMemory = false;
  EXPECT_EQ(run("mov.b64 %d3, s;\nst.shared.b32 [%d3], %t;\n", kShared), "");
}

TEST(PtxMemory, SharedMemoryThatNothingWrote) {
  RunKernel run;
  EXPECT_THAT(run("mov.b64 %d3, s;\nld.shared.b32 %r0, [%d3];\n", kShared),
              HasSubstr("reads shared memory at 0x0 that nothing wrote"));
}

TEST(PtxMemory, DynamicSharedMemory) {
  RunKernel run;
  const std::string body = "mov.b64 %d3, s;\nst.shared.b32 [%d3+16], 5;\n";
  EXPECT_THAT(run(body, ".extern .shared .align 16 .b8 s[];\n"), HasSubstr("there are 0 bytes"));
  run.dynamicShared = 32;
  EXPECT_EQ(run(body, ".extern .shared .align 16 .b8 s[];\n"), "");
}

TEST(PtxMemory, GenericAddresses) {
  RunKernel run;
  ASSERT_EQ(run(kSharedWords + ".local .align 4 .b8 l[4];\ncvta.shared.u64 %d5, %d3;\n"
                               "st.b32 [%d5], %t;\nld.shared.b32 %r0, [%d3];\n"
                               "mov.b64 %d6, l;\ncvta.local.u64 %d6, %d6;\nst.b32 [%d6], %r0;\n"
                               "ld.b32 %r1, [%d6];\nst.b32 [%d2], %r1;\n"
                               "isspacep.shared %p0, %d5;\n@!%p0 trap;\n",
                kShared),
            "");
  EXPECT_EQ(run.y[31], 31u);
}

TEST(PtxMemory, Variables) {
  RunKernel run;
  ASSERT_EQ(run(kOwnWords + "and.b64 %d0, %d0, 12;\nmov.b64 %d3, v;\nadd.s64 %d3, %d3, %d0;\n"
                            "ld.global.nc.b32 %r0, [%d3];\nst.global.b32 [%d2], %r0;\n"
                            "ld.const.b8 %h0, [c+1];\nst.global.b8 [%y+131], %h0;\n",
                ".global .align 4 .b32 v[4] = {5, -6, 7};\n.const .align 1 .b8 c[2] = {1, 2};\n"),
            "");
  EXPECT_EQ(run.y[0], 5u);
  EXPECT_EQ(run.y[1], uint32_t(-6));
  EXPECT_EQ(run.y[3], 0u);
  EXPECT_EQ(run.y[32] >> 24, 2u);
}

TEST(PtxMemory, Atomics) {
  RunKernel run;
  run.threads = 64;
  run.x[1] = 0xFFFFFFFF;
  ASSERT_EQ(
      run("atom.global.add.u32 %r0, [%x], 2;\nred.global.min.u32 [%x+4], %t;\n"
          "red.relaxed.gpu.global.max.s32 [%x+8], %t;\nred.global.or.b32 [%x+12], %t;\n"
          "atom.global.exch.b32 %r1, [%x+16], %t;\natom.global.cas.b32 %r2, [%x+20], %t, 99;\n"
          "cvt.rn.f32.u32 %r3, %t;\nred.global.add.f32 [%x+24], %r3;\n"
          "atom.global.inc.u32 %r4, [%x+28], 4;\n"),
      "");
  EXPECT_EQ(run.x[0], 128u);
  EXPECT_EQ(run.x[1], 0u);
  EXPECT_EQ(run.x[2], 63u);
  EXPECT_EQ(run.x[3], 63u);
  EXPECT_EQ(run.x[4], 63u);
  EXPECT_EQ(run.x[5], 99u);
  EXPECT_EQ(bitsAs<float>(run.x[6]), 63 * 32);
  EXPECT_EQ(run.x[7], 64u % 5);
  // Atomics do not race with each other.
  EXPECT_EQ(run("mov.b64 %d3, s;\nst.shared.b32 [%d3], 0;\nbar.sync 0;\n"
                "atom.shared.add.u32 %r0, [%d3], %t;\nbar.sync 0;\nld.shared.b32 %r1, [%d3];\n"
                "st.global.b32 [%y], %r1;\n",
                kShared),
            "");
  EXPECT_EQ(run.y[0], 63u * 32);
}

// What was not waited for is not there yet.
TEST(PtxMemory, AsynchronousCopies) {
  RunKernel run;
  for (uint32_t i = 0; i < 64; ++i)
    run.x[i] = i + 1;
  const std::string copy = kSharedWords + "cp.async.ca.shared.global [%d3], [%d1+4], 4;\n"
                                          "cp.async.commit_group;\n";
  const std::string read = "ld.shared.b32 %r0, [%d3];\nst.global.b32 [%d2], %r0;\n";
  ASSERT_EQ(run(copy + "cp.async.wait_group 0;\n" + read, kShared), "");
  EXPECT_EQ(run.y[7], 9u);
  EXPECT_THAT(run(copy + "cp.async.wait_group 1;\n" + read, kShared),
              HasSubstr("that nothing wrote"));
  ASSERT_EQ(run(kSharedWords +
                    "cp.async.ca.shared.global [%d3], [%d1], 4, 0;\n"
                    "cp.async.wait_all;\n" +
                    read,
                kShared),
            "");
  EXPECT_EQ(run.y[7], 0u);
}

} // namespace
