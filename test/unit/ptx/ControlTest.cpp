//===- ControlTest.cpp - the order of instructions of the machine ---------===//

#include "PtxKernel.h"

#include "gmock/gmock.h"

using namespace lumen::ptx;
using testing::HasSubstr;

namespace {

const std::string kOwnWord = "mul.wide.u32 %d0, %t, 4;\nadd.s64 %d1, %y, %d0;\n";

TEST(PtxControl, Predicates) {
  RunKernel run;
  ASSERT_EQ(run(kOwnWord + "setp.lt.u32 %p0, %t, 10;\nmov.b32 %r0, 3;\n@%p0 mov.b32 %r0, 1;\n"
                           "@!%p0 add.s32 %r0, %r0, 1;\nst.global.b32 [%d1], %r0;\n"),
            "");
  EXPECT_EQ(run.y[9], 1u);
  EXPECT_EQ(run.y[10], 4u);
}

// A loop whose lanes leave it one by one, with a branch inside: Collatz.
TEST(PtxControl, DivergentLoop) {
  RunKernel run;
  run.threads = 50;
  ASSERT_EQ(run(kOwnWord + "add.s32 %r0, %t, 1;\nmov.b32 %r1, 0;\n"
                           "LOOP:\nsetp.eq.u32 %p0, %r0, 1;\n@%p0 bra DONE;\n"
                           "and.b32 %r2, %r0, 1;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra EVEN;\n"
                           "mad.lo.s32 %r0, %r0, 3, 1;\nbra.uni NEXT;\n"
                           "EVEN:\nshr.u32 %r0, %r0, 1;\n"
                           "NEXT:\nadd.s32 %r1, %r1, 1;\nbra.uni LOOP;\n"
                           "DONE:\nst.global.b32 [%d1], %r1;\n"),
            "");
  for (uint32_t i = 0; i < 50; ++i) {
    uint32_t steps = 0;
    for (uint32_t n = i + 1; n != 1; n = n & 1 ? 3 * n + 1 : n / 2)
      ++steps;
    EXPECT_EQ(run.y[i], steps) << i;
  }
}

TEST(PtxControl, TableOfBranches) {
  RunKernel run;
  const std::string body = "LIST: .branchtargets A, B, C;\nbrx.idx %r0, LIST;\n"
                           "A:\nmov.b32 %r1, 10;\nbra.uni END;\nB:\nmov.b32 %r1, 20;\n"
                           "bra.uni END;\nC:\nmov.b32 %r1, 30;\nEND:\nst.global.b32 [%d1], %r1;\n";
  ASSERT_EQ(run(kOwnWord + "rem.u32 %r0, %t, 3;\n" + body), "");
  EXPECT_EQ(run.y[3], 10u);
  EXPECT_EQ(run.y[4], 20u);
  EXPECT_EQ(run.y[5], 30u);
  EXPECT_THAT(run(kOwnWord + "rem.u32 %r0, %t, 4;\n" + body), HasSubstr("has no row 3"));
}

// Lanes call from two places and return to their own.
TEST(PtxControl, Functions) {
  RunKernel run;
  const std::string call = "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r0;\n"
                           "call.uni (b), f, (a);\nld.param.b32 %r1, [b];\n}\n";
  ASSERT_EQ(run(kOwnWord + "mov.b32 %r0, %t;\nsetp.lt.u32 %p0, %t, 8;\n@%p0 bra FIRST;\n" + call +
                    "bra.uni END;\nFIRST:\n" + call +
                    "add.s32 %r1, %r1, 1000;\nEND:\n"
                    "st.global.b32 [%d1], %r1;\n",
                ".func (.param .b32 result) f(.param .b32 value);\n"
                ".func (.param .b32 result) f(.param .b32 value)\n{\n.reg .b32 %r<2>;\n"
                "ld.param.b32 %r0, [value];\nmul.lo.s32 %r1, %r0, %r0;\n"
                "st.param.b32 [result], %r1;\nret;\n}\n"),
            "");
  EXPECT_EQ(run.y[7], 1049u);
  EXPECT_EQ(run.y[9], 81u);
}

TEST(PtxControl, Indices) {
  RunKernel run;
  run.groups = 3;
  ASSERT_EQ(run("mov.u32 %r0, %ctaid.x;\nmul.wide.u32 %d0, %r0, 16;\nadd.s64 %d0, %y, %d0;\n"
                "mov.u32 %r1, %ntid.x;\nmov.u32 %r2, %nctaid.x;\n"
                "st.global.v2.b32 [%d0], {%r1, %r2};\n"),
            "");
  EXPECT_EQ(run.y[8], 32u);
  EXPECT_EQ(run.y[9], 3u);
}

TEST(PtxControl, BarrierThatThreadsMiss) {
  RunKernel run;
  run.threads = 64;
  EXPECT_THAT(run("setp.lt.u32 %p0, %t, 32;\n@%p0 bra END;\nbar.sync 0;\nEND:\n"),
              HasSubstr("thread 32: the barrier waits for 64 threads, 32 have come and no more"));
  EXPECT_THAT(run("setp.eq.u32 %p0, %t, 5;\n@%p0 exit;\nbar.sync 0;\n"),
              HasSubstr("the barrier waits for 64 threads, 63 have come and no more will"));
}

TEST(PtxControl, BarrierThatIsReachedDiverged) {
  RunKernel run;
  const std::string body = "setp.lt.u32 %p0, %t, 16;\n@%p0 bra OTHER;\nSYNC 0;\nbra.uni END;\n"
                           "OTHER:\nSYNC 0;\nEND:\n";
  auto with = [&](const std::string &name) {
    std::string text = body;
    for (size_t at; (at = text.find("SYNC")) != std::string::npos;)
      text.replace(at, 4, name);
    return run(text);
  };
  EXPECT_THAT(with("bar.sync"), HasSubstr("lanes of the warp wait at another barrier"));
  EXPECT_EQ(with("barrier.sync"), "");
}

// Lanes come one after the other, by ways of different lengths.
TEST(PtxControl, BarrierThatLanesReachInTurn) {
  RunKernel run;
  EXPECT_EQ(run("setp.lt.u32 %p0, %t, 16;\n@%p0 bra LATE;\nbra.uni SYNC;\nEND:\nexit;\n"
                "SYNC:\nbar.sync 0;\nbra.uni END;\nLATE:\nmov.b32 %r0, 1;\nbra.uni SYNC;\n"),
            "");
}

// Half of the warps meet at a barrier of their own.
TEST(PtxControl, NamedBarriers) {
  RunKernel run;
  run.threads = 64;
  EXPECT_EQ(run("setp.lt.u32 %p0, %t, 32;\n@%p0 bra END;\nbar.sync 1, 32;\nEND:\nbar.sync 0;\n"),
            "");
}

TEST(PtxControl, Trap) {
  RunKernel run;
  EXPECT_THAT(run("setp.eq.u32 %p0, %t, 9;\n@%p0 trap;\n"),
              HasSubstr("thread 9: the kernel gives up"));
}

} // namespace
