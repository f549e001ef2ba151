//===- VerifyTablesTest.cpp - wrong tables never reach the runtime --------===//

#include "compiler/link/VerifyTables.h"
#include "test/unit/link/Models.h"

#include <gtest/gtest.h>

using namespace llvm;
using namespace lumen::link;
using namespace lumen::link::test;

namespace {

struct Fault {
  void (*make)(ModelTables &);
  const char *message;
};

class Faults : public ::testing::TestWithParam<Fault> {};

TEST(VerifyTables, AcceptsGoodOnes) {
  ScaleModel model("tiny");
  EXPECT_FALSE(static_cast<bool>(verifyTables(model.tables, model.weights.size)));
}

// Each index and range that the runtime follows is checked, and named.
TEST_P(Faults, AreNamed) {
  ScaleModel model("tiny");
  GetParam().make(model.tables);
  EXPECT_EQ(toString(verifyTables(model.tables, model.weights.size)),
            std::string("internal error: model tables: ") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    VerifyTables, Faults,
    ::testing::Values(
        Fault{[](ModelTables &t) { t.launches[0].kernel = 2; }, "launch 0 names kernel 2 of 2"},
        Fault{[](ModelTables &t) { t.launches[0].firstArg = 2; },
              "launch 0 takes arguments 2 to 5 of 4"},
        Fault{[](ModelTables &t) { t.launches[0].numSizes = 1; },
              "launch 0 takes sizes 0 to 1 of 0"},
        Fault{[](ModelTables &t) { t.launches[0].numOutputs = 4; },
              "launch 0 has 4 outputs among 3 arguments"},
        Fault{[](ModelTables &t) { t.launches[0].numOutputs = 2; },
              "launch 0 writes buffer 1, which is read-only"},
        Fault{[](ModelTables &t) { t.inits[0].kernel = 9; }, "init 0 names kernel 9 of 2"},
        Fault{[](ModelTables &t) { t.argBuffers[1] = 4; }, "argument 1 names buffer 4 of 4"},
        Fault{[](ModelTables &t) { t.buffers[0].offset = 445; },
              "buffer 0 spans bytes 445 to 449 of weights, which has 448"},
        Fault{[](ModelTables &t) { t.buffers[1].index = 1; }, "buffer 1 names input 1 of 1"},
        Fault{[](ModelTables &t) { t.buffers[2].region = 6; },
              "buffer 2 lies in region 6, expected at most 5"},
        Fault{[](ModelTables &t) { t.kernels[0].variants[1].level = 0; },
              "kernel 'scale_0' has a variant for level 0 after one for level 0"},
        Fault{[](ModelTables &t) { t.kernels[0].variants[1].symbol.clear(); },
              "kernel 'scale_0' has a variant for level 'x86-64-v2' without code"},
        Fault{[](ModelTables &t) { t.kernels[1].variants.clear(); },
              "kernel 'start_1' has no variant"},
        Fault{[](ModelTables &t) { t.kernels[1].name = "scale_0"; },
              "two kernels are named 'scale_0'"}));

} // namespace
