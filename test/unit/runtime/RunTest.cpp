// What a run computes, where it puts it, and what it costs.
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
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

// Each launch is counted, timed and described; enabling starts again.
TEST_F(RunTest, Profile) {
  open();
  uint32_t count = 1;
  EXPECT_EQ(lumen_profile_entries(context, &count), nullptr);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(lumen_profile_enable(context, &status), LUMEN_OK);
  lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape), out = {};
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_OK);
  const lumen_profile_entry *entries = lumen_profile_entries(context, &count);
  ASSERT_EQ(count, 2u);
  EXPECT_STREQ(entries[0].kernel, "scale");
  EXPECT_STREQ(entries[0].nodes, "Mul 'mul'");
  EXPECT_STREQ(entries[0].level, lowLevel);
  EXPECT_STREQ(entries[1].kernel, "add");
  EXPECT_EQ(entries[1].total_flops, 3000u);
  EXPECT_EQ(entries[0].count, 3u);
  EXPECT_GE(entries[0].total_ns, 3 * entries[0].min_ns);
  ASSERT_EQ(lumen_profile_enable(context, &status), LUMEN_OK);
  EXPECT_EQ(entries[0].count, 0u);
}

// On the CPU a run has ended when starting it returns, well or not.
TEST_F(RunTest, AsynchronousRuns) {
  open();
  lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape), out = {};
  ASSERT_EQ(lumen_run_async(context, &in, 1, &out, 1, &status), LUMEN_OK);
  EXPECT_EQ(lumen_is_done(context), 1);
  EXPECT_EQ(static_cast<float *>(out.u.tensor.data)[5], FakeModel::expected(x[5], 5));
  EXPECT_EQ(lumen_synchronize(context, &status), LUMEN_OK);
  EXPECT_EQ(lumen_run_async(context, &in, 0, &out, 1, &status), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(lumen_synchronize(context, &status), LUMEN_OK);
}

// An executor of the application's own, backwards and with other workers.
TEST_F(RunTest, ApplicationExecutor) {
  static int jobs;
  jobs = 0;
  static lumen_executor own = {nullptr, [](void *) { return 3u; },
                               [](void *, uint32_t chunks, lumen_chunk_fn fn, void *arg) {
                                 ++jobs;
                                 while (chunks-- > 0)
                                   fn(arg, chunks, chunks % 3);
                               },
                               nullptr};
  lumen_model_options options = {};
  options.executor = &own;
  open(options);
  EXPECT_EQ(lumen_model_executor(model), &own);
  lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape), out = {};
  ASSERT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_OK);
  expectResult(out.u.tensor.data);
  EXPECT_EQ(jobs, 3) << "one init and two launches";
}

// Contexts of one model, and of two on one executor, run at the same time.
TEST_F(RunTest, Concurrent) {
  open();
  FakeModel other;
  lumen_model_options options = {};
  options.executor = lumen_model_executor(model);
  lumen_model *second;
  ASSERT_EQ(lumen_model_open(&other.module, &options, &second, &status), LUMEN_OK);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      lumen_context *own;
      if (lumen_context_create(i % 2 ? model : second, nullptr, &own, nullptr)) {
        ++wrong;
        return;
      }
      std::vector<float> mine(x);
      for (float &value : mine)
        value += i;
      lumen_value in = lumen_tensor_value(mine.data(), LUMEN_F32, 1, shape), out = {};
      for (int run = 0; run < 200; ++run) {
        wrong += lumen_run(own, &in, 1, &out, 1, nullptr) != LUMEN_OK;
        auto *y = static_cast<const float *>(out.u.tensor.data);
        for (int64_t k = 0; k < FakeModel::n; ++k)
          wrong += y[k] != FakeModel::expected(mine[k], k);
      }
      lumen_context_free(own);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  lumen_model_free(second);
}

// Of several faults the first of the grid is told, in whatever order chunks run.
TEST_F(RunTest, FirstFault) {
  static lumen_executor backwards = {nullptr, [](void *) { return 4u; },
                                     [](void *, uint32_t chunks, lumen_chunk_fn fn, void *arg) {
                                       for (uint32_t i = chunks; i > 0; --i)
                                         fn(arg, i - 1, 0);
                                     },
                                     nullptr};
  auto fault = [](void *const *, const int64_t *, int64_t begin, int64_t end, int32_t,
                  void *scratch) -> int {
    for (int64_t i = begin; i < end; ++i)
      if (i >= 300 && i % 100 == 0) {
        int64_t about[2] = {i, 7};
        std::memcpy(scratch, about, sizeof(about));
        return LUMEN_ABI_FAULT_INDEX;
      }
    return LUMEN_ABI_OK;
  };
  lumen_model_options options = {};
  options.executor = &backwards;
  for (lumen_abi_variant &variant : fake.variants)
    if (variant.code == reinterpret_cast<const void *>(&FakeModel::scale)) {
      variant.code = reinterpret_cast<const void *>(+fault);
      variant.grain = 1;
    }
  open(options);
  lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape), out = {};
  EXPECT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(status.message).find("index 300 lies outside a dimension of 7"),
            std::string::npos)
      << status.message;
}

// A launch of many units is cut so that chunks divide by the workers and no
// chunk is below the grain.
TEST_F(RunTest, Chunks) {
  static std::vector<uint32_t> jobs;
  static lumen_executor own = {nullptr, [](void *) { return 4u; },
                               [](void *, uint32_t chunks, lumen_chunk_fn fn, void *arg) {
                                 jobs.push_back(chunks);
                                 for (uint32_t i = 0; i < chunks; ++i)
                                   fn(arg, i, 0);
                               },
                               nullptr};
  lumen_model_options options = {};
  options.executor = &own;
  open(options);
  auto chunksFor = [&](int64_t grain) {
    fake.variants[1].grain = fake.variants[2].grain = grain;
    jobs.clear();
    lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape), out = {};
    EXPECT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_OK);
    expectResult(out.u.tensor.data);
    return jobs;
  };
  EXPECT_EQ(chunksFor(1), std::vector<uint32_t>({16, 16}));
  EXPECT_EQ(chunksFor(100), std::vector<uint32_t>({8, 8}));
  EXPECT_EQ(chunksFor(400), std::vector<uint32_t>({2, 2}));
  EXPECT_EQ(chunksFor(501), std::vector<uint32_t>()) << "inline, the pool is not asked";
}

} // namespace
