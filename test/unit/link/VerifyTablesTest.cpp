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
  model.addSteps();
  EXPECT_FALSE(static_cast<bool>(verifyTables(model.tables, model.weights.size)));
}

// Each index and range that the runtime follows is checked, and named.
TEST_P(Faults, AreNamed) {
  ScaleModel model("tiny");
  model.addSteps();
  GetParam().make(model.tables);
  EXPECT_EQ(toString(verifyTables(model.tables, model.weights.size)),
            std::string("internal error: model tables: ") + GetParam().message);
}

/// Gives the first kernel a form that is data.
void addSpirv(ModelTables &tables, lumen_abi_gpu_launch launch,
              size_t launchSize = sizeof(lumen_abi_gpu_launch)) {
  Variant variant;
  variant.level = tables.levels.size();
  variant.code = {'S', 'P', 'V', '\0'};
  const char *bytes = reinterpret_cast<const char *>(&launch);
  variant.launchInfo.assign(bytes, bytes + launchSize);
  tables.levels.push_back({"vulkan1.1", LUMEN_ABI_SPIRV, 0});
  tables.kernels[0].variants.push_back(std::move(variant));
}

INSTANTIATE_TEST_SUITE_P(
    VerifyTables, Faults,
    ::testing::Values(
        Fault{[](ModelTables &t) { t.launches[0].kernel = 2; }, "launch 0 names kernel 2 of 2"},
        Fault{[](ModelTables &t) { t.launches[0].firstArg = 2; },
              "launch 0 takes arguments 2 to 5 of 4"},
        Fault{[](ModelTables &t) { t.launches[0].numSizes = 3; },
              "launch 0 takes sizes 0 to 3 of 2"},
        Fault{[](ModelTables &t) { t.launches[0].numOutputs = 4; },
              "launch 0 has 4 outputs among 3 arguments"},
        Fault{[](ModelTables &t) { t.launches[0].numOutputs = 2; },
              "launch 0 writes buffer 1, which is read-only"},
        Fault{[](ModelTables &t) { t.inits[0].kernel = 9; }, "init 0 names kernel 9 of 2"},
        Fault{[](ModelTables &t) { t.argBuffers[1] = 5; }, "argument 1 names buffer 5 of 5"},
        Fault{[](ModelTables &t) { t.storages[0].offset = 445; },
              "storage 0 spans bytes 445 to 745 of weights, which has 448"},
        Fault{[](ModelTables &t) { t.storages[1].index = 2; }, "storage 1 names input 2 of 2"},
        Fault{[](ModelTables &t) { t.storages[2].region = 6; },
              "storage 2 lies in region 6, expected at most 5"},
        Fault{[](ModelTables &t) { t.storages[4].first = 3; }, "storage 4 is live from 3 to 2"},
        Fault{[](ModelTables &t) { t.storages[4].size_expr = 3; },
              "storage 4 names entry expression 3 of 3"},
        Fault{[](ModelTables &t) { t.storages[5].size_expr = 4; },
              "storage 5 names expression 4 of 4"},
        Fault{[](ModelTables &t) { t.storages[3].size_expr = 0; },
              "storage 3 of init has a size of its own"},
        Fault{[](ModelTables &t) { t.buffers[0].offset = 299; },
              "buffer 0 spans bytes 299 to 303 of storage 0, which has 300"},
        Fault{[](ModelTables &t) { t.buffers[0].storage = 6; }, "buffer 0 names storage 6 of 6"},
        Fault{[](ModelTables &t) { t.buffers[4].offset_expr = 4; },
              "buffer 4 names expression 4 of 4"},
        Fault{[](ModelTables &t) { t.buffers[4].size_expr = 4; },
              "buffer 4 names expression 4 of 4"},
        Fault{[](ModelTables &t) { t.inputs[1].dims->front().expr = 1; },
              "dimension 0 of input 'n' names entry symbol 1 of 1"},
        Fault{[](ModelTables &t) { t.inputs[1].dims->front().boundExpr = 3; },
              "dimension 0 of input 'n' names entry expression 3 of 3"},
        Fault{[](ModelTables &t) { t.outputs[1].dims->front().expr = LUMEN_ABI_NONE; },
              "dimension 0 of output 'found' has no expression"},
        Fault{[](ModelTables &t) { t.outputs[1].dims->front().boundExpr = 3; },
              "dimension 0 of output 'found' names entry expression 3 of 3"},
        Fault{[](ModelTables &t) { t.numEntryExprs = 5; },
              "5 of 4 expressions belong to the entry"},
        Fault{[](ModelTables &t) { t.exprs[2].b = 2; },
              "expression 2 uses expression 2, expected one before it"},
        Fault{[](ModelTables &t) { t.exprs[0].a = 1; }, "expression 0 names entry symbol 1 of 1"},
        Fault{[](ModelTables &t) { t.exprs[3].op = 9; },
              "expression 3 has operation 9, expected at most 8"},
        Fault{[](ModelTables &t) { t.checks[0].b = 3; }, "check 0 names entry expression 3 of 3"},
        Fault{[](ModelTables &t) { t.checks[1].b = 4; }, "check 1 names expression 4 of 4"},
        Fault{[](ModelTables &t) { t.sizeExprs[1] = 4; }, "size 1 names expression 4 of 4"},
        Fault{[](ModelTables &t) { t.calls[0].inputs[0].buffer = 5; },
              "call 0 names buffer 5 of 5"},
        Fault{[](ModelTables &t) { t.calls[0].outputs[0].buffer = 1; },
              "call 0 writes buffer 1, which is read-only"},
        Fault{[](ModelTables &t) {
                t.calls[0].outputs[0].buffer = 4;
                t.buffers[4].storage = 4;
              },
              "call 0 has a runtime object in storage 4 of arena"},
        Fault{[](ModelTables &t) { t.calls[0].outputs[0].kind = LUMEN_ABI_CALL_EXTENTS; },
              "call 0 has extents of no output"},
        Fault{[](ModelTables &t) { t.calls[0].inputs[0].rank = 2; },
              "call 0 takes 1 sizes, its tensors have 2 extents"},
        Fault{[](ModelTables &t) { t.calls[0].function.clear(); }, "call 0 has no function"},
        Fault{[](ModelTables &t) { t.steps.clear(); }, "there are 1 calls but no steps"},
        Fault{[](ModelTables &t) { t.steps[0].a = 1; }, "step 0 names launch 1 of 1"},
        Fault{[](ModelTables &t) { t.steps[1].a = 0; }, "step 1 changes entry symbol 0"},
        Fault{[](ModelTables &t) { t.steps[1].c = LUMEN_ABI_F32; },
              "step 1 binds a symbol to type 1, expected an integer or bool"},
        Fault{[](ModelTables &t) { t.steps[2].b = 2; }, "step 2 evaluates expressions 3 to 5 of 4"},
        Fault{[](ModelTables &t) { t.steps[3].a = 1; }, "step 3 names call 1 of 1"},
        Fault{[](ModelTables &t) { t.steps[4].b = 7; }, "step 4 goes to step 7 of 6"},
        Fault{[](ModelTables &t) { t.steps[5].kind = 13; },
              "step 5 has kind 13, expected at most 12"},
        Fault{[](ModelTables &t) { t.steps[5] = {LUMEN_ABI_STEP_FREE, 4, 0, 0}; },
              "step 5 cannot do this to storage 4 of arena"},
        Fault{[](ModelTables &t) { t.steps[5] = {LUMEN_ABI_STEP_SWAP, 4, 5, 0}; },
              "step 5 swaps storage 4 of arena with storage 5 of heap"},
        Fault{[](ModelTables &t) {
                t.storages.push_back({LUMEN_ABI_ARENA, 0, 0, 0, 1, 0, 2, 0});
                t.steps[5] = {LUMEN_ABI_STEP_SWAP, 4, 6, 0};
              },
              "step 5 swaps storages 4 and 6, whose sizes differ"},
        Fault{[](ModelTables &t) { t.steps[5] = {LUMEN_ABI_STEP_APPEND, 5, 0, 4}; },
              "step 5 names expression 4 of 4"},
        Fault{[](ModelTables &t) { t.kernels[0].variants[1].level = 0; },
              "kernel 'scale_0' has a variant for level 0 after one for level 0"},
        Fault{[](ModelTables &t) { t.kernels[0].variants[1].symbol.clear(); },
              "kernel 'scale_0' has a variant for level 'x86-64-v2' without code"},
        Fault{[](ModelTables &t) { addSpirv(t, {64, 64, 0, 0, 0}, /*launchSize=*/8); },
              "kernel 'scale_0' has 8 bytes about its launch at level 'vulkan1.1', expected 24"},
        Fault{[](ModelTables &t) { addSpirv(t, {0, 64, 0, 0, 0}); },
              "kernel 'scale_0' has workgroups of 0 threads for 64 units at level 'vulkan1.1', "
              "expected at least 1 of both"},
        Fault{[](ModelTables &t) { addSpirv(t, {64, 0, 0, 0, 0}); },
              "kernel 'scale_0' has workgroups of 64 threads for 0 units at level 'vulkan1.1', "
              "expected at least 1 of both"},
        Fault{[](ModelTables &t) { t.kernels[1].variants.clear(); },
              "kernel 'start_1' has no variant"},
        Fault{[](ModelTables &t) { t.kernels[1].name = "scale_0"; },
              "two kernels are named 'scale_0'"}));

} // namespace
