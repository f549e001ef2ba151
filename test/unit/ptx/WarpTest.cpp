//===- WarpTest.cpp - lanes that work together ----------------------------===//

#include "PtxKernel.h"

#include "gmock/gmock.h"

using namespace lumen::ptx;
using testing::HasSubstr;

namespace {

const std::string kOwnWord = "mul.wide.u32 %d0, %t, 4;\nadd.s64 %d1, %y, %d0;\n";
const std::string kStore = "st.global.b32 [%d1], %r0;\n";

TEST(PtxWarp, Shuffles) {
  RunKernel run;
  ASSERT_EQ(run(kOwnWord + "shfl.sync.bfly.b32 %r0, %t, 5, 31, -1;\n" + kStore), "");
  EXPECT_EQ(run.y[3], 6u);
  ASSERT_EQ(run(kOwnWord +
                "shfl.sync.down.b32 %r0|%p0, %t, 4, 31, -1;\n"
                "@!%p0 add.s32 %r0, %r0, 100;\n" +
                kStore),
            "");
  EXPECT_EQ(run.y[27], 31u);
  EXPECT_EQ(run.y[28], 128u);
  ASSERT_EQ(run(kOwnWord + "shfl.sync.up.b32 %r0, %t, 1, 0, -1;\n" + kStore), "");
  EXPECT_EQ(run.y[0], 0u);
  EXPECT_EQ(run.y[31], 30u);
  // Segments of 16 lanes.
  ASSERT_EQ(run(kOwnWord + "shfl.sync.idx.b32 %r0, %t, 3, 0x101f, -1;\n" + kStore), "");
  EXPECT_EQ(run.y[5], 3u);
  EXPECT_EQ(run.y[20], 19u);
}

// The sum of a warp, as kernels compute it.
TEST(PtxWarp, Reductions) {
  RunKernel run;
  std::string sum = "mov.b32 %r0, %t;\n";
  for (int distance : {16, 8, 4, 2, 1})
    sum += "shfl.sync.bfly.b32 %r1, %r0, " + std::to_string(distance) +
           ", 31, -1;\nadd.s32 %r0, %r0, %r1;\n";
  ASSERT_EQ(run(kOwnWord + sum + kStore), "");
  EXPECT_THAT(run.y, testing::Contains(31u * 16).Times(32));
  ASSERT_EQ(run(kOwnWord +
                "setp.lt.u32 %p0, %t, 8;\n"
                "@%p0 redux.sync.max.u32 %r0, %t, 0xFF;\n" +
                kStore),
            "");
  EXPECT_EQ(run.y[2], 7u);
  EXPECT_THAT(run("redux.sync.max.u32 %r0, %t, 0xFF;\n"),
              HasSubstr("thread 8: is not among the lanes that it waits for"));
}

TEST(PtxWarp, Votes) {
  RunKernel run;
  ASSERT_EQ(run(kOwnWord +
                "setp.lt.u32 %p0, %t, 4;\nvote.sync.ballot.b32 %r0, %p0, -1;\n"
                "vote.sync.any.pred %p1, %p0, -1;\n@!%p1 trap;\n"
                "vote.sync.all.pred %p2, %p0, -1;\n@%p2 trap;\n" +
                kStore),
            "");
  EXPECT_EQ(run.y[30], 15u);
  ASSERT_EQ(run(kOwnWord + "and.b32 %r1, %t, 3;\nmatch.any.sync.b32 %r0, %r1, -1;\n" + kStore), "");
  EXPECT_EQ(run.y[1], 0x22222222u);
}

// Lanes that took another way come before the others go on.
TEST(PtxWarp, LanesWaitForEachOther) {
  RunKernel run;
  ASSERT_EQ(run(kOwnWord +
                "mov.b32 %r1, 1;\nsetp.lt.u32 %p0, %t, 16;\n@%p0 bra LATE;\n"
                "bra.uni JOIN;\nLATE:\nmov.b32 %r1, 2;\nbra.uni JOIN;\nJOIN:\n"
                "shfl.sync.bfly.b32 %r0, %r1, 16, 31, -1;\n" +
                kStore),
            "");
  EXPECT_EQ(run.y[0], 1u);
  EXPECT_EQ(run.y[16], 2u);
  EXPECT_THAT(run("setp.lt.u32 %p0, %t, 16;\n@%p0 bra END;\n"
                  "shfl.sync.bfly.b32 %r0, %t, 1, 31, -1;\nbar.warp.sync -1;\nEND:\nbar.sync 0;\n"),
              HasSubstr("waits for lanes of the warp that never come"));
}

} // namespace
