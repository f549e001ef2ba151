// What a run computes, where it puts it, and what it costs.
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

using namespace lumen::test;

namespace {

class RunTest : public testing::Test {
protected:
  void open(lumen_model_options options = {}) {
    if (!options.num_threads && !options.executor)
      options.num_threads = 2;
    ASSERT_EQ(lumen_model_open(&fake.module, &options, &model, &status), LUMEN_OK)
        << status.message;
    ASSERT_EQ(lumen_context_create(model, nullptr, &context, &status), LUMEN_OK) << status.message;
  }
  void SetUp() override { std::iota(x.begin(), x.end(), -100.0f); }
  void TearDown() override {
    lumen_context_free(context);
    lumen_model_free(model);
  }
  void expectResult(const void *data) {
    const auto *y = static_cast<const float *>(data);
    for (int64_t i = 0; i < FakeModel::n; ++i)
      ASSERT_EQ(y[i], FakeModel::expected(x[i], i)) << "at " << i;
  }

  FakeModel fake;
  lumen_model *model = nullptr;
  lumen_context *context = nullptr;
  lumen_status status = {};
  int64_t shape[1] = {FakeModel::n};
  std::vector<float> x = std::vector<float>(FakeModel::n);
};

// An output without data is the context's, described in full, and may be passed
// again as it is.
TEST_F(RunTest, ContextOwnsOutput) {
  open();
  lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape), out = {};
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_OK) << status.message;
    EXPECT_EQ(out.u.tensor.ndim, 1);
    EXPECT_EQ(out.u.tensor.shape[0], FakeModel::n);
    EXPECT_EQ(out.u.tensor.dtype.bits, 32);
    EXPECT_EQ(out.u.tensor.device.type, 1);
    expectResult(out.u.tensor.data);
    x[0] += 1;
  }
}

// The caller's memory serves at any alignment.
TEST_F(RunTest, CallerOwnsOutput) {
  open();
  std::vector<char> memory(FakeModel::n * sizeof(float) + 8);
  float *unaligned = reinterpret_cast<float *>(memory.data()) + 1;
  lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape);
  lumen_value out = lumen_output_buffer(unaligned, FakeModel::n * sizeof(float));
  ASSERT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_OK) << status.message;
  EXPECT_EQ(out.u.tensor.data, unaligned);
  expectResult(unaligned);
}

// The context computes in an arena that the caller brings.
TEST_F(RunTest, CallerArena) {
  open();
  lumen_context_free(context);
  ASSERT_EQ(lumen_arena_size(model), FakeModel::n * sizeof(float));
  alignas(64) static char arena[FakeModel::n * sizeof(float)];
  std::memset(arena, 0, sizeof(arena));
  lumen_context_options options = {};
  options.arena = arena;
  options.arena_size = sizeof(arena);
  ASSERT_EQ(lumen_context_create(model, &options, &context, &status), LUMEN_OK) << status.message;
  lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape), out = {};
  ASSERT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_OK) << status.message;
  expectResult(out.u.tensor.data);
  float t;
  std::memcpy(&t, arena, sizeof(t));
  EXPECT_EQ(t, x[0] * FakeModel::weight(0));
}

} // namespace
