// Models whose shapes or schedule are made at run time.
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

using namespace lumen::test;

namespace {

// y[i] = a[i, 0] + a[i, 1] + b[i] over a batch that both inputs share, in two
// launches with an intermediate in the arena.
struct BatchModel {
  static int64_t grid(const int64_t *sizes) { return sizes[0]; }
  static void sumRows(void *const *args, const int64_t *, int64_t begin, int64_t end, int32_t,
                      void *) {
    auto *a = static_cast<const float *>(args[0]);
    auto *t = static_cast<float *>(args[1]);
    for (int64_t i = begin; i < end; ++i)
      t[i] = a[2 * i] + a[2 * i + 1];
  }
  static int plan(const int64_t *dims, lumen_abi_buffer *buffers, int64_t *sizes,
                  int64_t *outputDims, uint64_t *arenaSize, char *message, size_t capacity) {
    ++plans;
    if (dims[0] == 13) {
      snprintf(message, capacity, "batch is 13, expected luck");
      return LUMEN_ERROR_MODEL;
    }
    sizes[0] = outputDims[0] = dims[0];
    for (int i = 0; i < 4; ++i)
      buffers[i].size = dims[0] * sizeof(float) * (i == 0 ? 2 : 1);
    *arenaSize = dims[0] * sizeof(float);
    return 0;
  }
  static inline int plans = 0;

  BatchModel() {
    plans = 0;
    for (lumen_abi_variant &variant : variants)
      variant = {0, 0, nullptr, 0, grid, 0, 1, 0, nullptr};
    variants[0].code = reinterpret_cast<const void *>(sumRows);
    variants[1].code = reinterpret_cast<const void *>(FakeModel::add);
    abi.abi_version = LUMEN_ABI_VERSION;
    abi.size = sizeof(abi);
    abi.name = "batch";
    abi.num_inputs = 2;
    abi.inputs = inputs;
    abi.num_outputs = 1;
    abi.outputs = &output;
    abi.num_levels = 1;
    abi.levels = &level;
    abi.num_kernels = 2;
    abi.kernels = kernels;
    abi.num_buffers = 4;
    abi.buffers = buffers;
    abi.arg_buffers = argBuffers;
    abi.num_launches = 2;
    abi.launches = launches;
    abi.num_sizes = 1;
    abi.plan = plan;
  }
  BatchModel(const BatchModel &) = delete;

  lumen_abi_dim aDims[2] = {{-1, 100, "batch"}, {2, 2, nullptr}};
  lumen_abi_dim bDims[1] = {{-1, 100, "batch"}};
  lumen_abi_value inputs[2] = {{"a", LUMEN_ABI_TENSOR, LUMEN_ABI_F32, 2, 0, aDims},
                               {"b", LUMEN_ABI_TENSOR, LUMEN_ABI_F32, 1, 0, bDims}};
  lumen_abi_value output = {"y", LUMEN_ABI_TENSOR, LUMEN_ABI_F32, 1, 0, bDims};
  lumen_abi_level level = {lowLevel, LUMEN_ABI_CPU, 0, lowFeatures};
  lumen_abi_variant variants[2];
  lumen_abi_kernel kernels[2] = {{"sum", 2, 1, &variants[0]}, {"add", 3, 1, &variants[1]}};
  lumen_abi_buffer buffers[4] = {{LUMEN_ABI_INPUT, 0, 0, 0},
                                 {LUMEN_ABI_INPUT, 1, 0, 0},
                                 {LUMEN_ABI_ARENA, 0, 0, 0},
                                 {LUMEN_ABI_OUTPUT, 0, 0, 0}};
  uint32_t argBuffers[5] = {0, 2, 2, 1, 3};
  lumen_abi_launch launches[2] = {{0, LUMEN_ABI_ANY, 0, 0, 1, 1, "Sum", 0, 0},
                                  {1, LUMEN_ABI_ANY, 2, 0, 1, 1, "Add", 0, 0}};
  lumen_abi_model abi = {};
  lumen_module module = {&lumen_runtime_api, &abi};
};

class PlanTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(lumen_model_open(&fake.module, nullptr, &model, &status), LUMEN_OK) << status.message;
    ASSERT_EQ(lumen_context_create(model, nullptr, &context, &status), LUMEN_OK) << status.message;
  }
  void TearDown() override {
    lumen_context_free(context);
    lumen_model_free(model);
  }
  int run(int64_t batchA, int64_t batchB) {
    a.resize(2 * batchA);
    b.resize(batchB);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = i + 1;
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = 100 * (i + 1);
    shapeA[0] = batchA;
    shapeB[0] = batchB;
    inputs[0] = lumen_tensor_value(a.data(), LUMEN_F32, 2, shapeA);
    inputs[1] = lumen_tensor_value(b.data(), LUMEN_F32, 1, shapeB);
    return lumen_run(context, inputs, 2, &out, 1, &status);
  }

  BatchModel fake;
  lumen_model *model = nullptr;
  lumen_context *context = nullptr;
  lumen_status status = {};
  int64_t shapeA[2] = {0, 2}, shapeB[1] = {0};
  std::vector<float> a, b;
  lumen_value inputs[2], out = {};
};

// One context serves all shapes, and plans only when they change.
TEST_F(PlanTest, Shapes) {
  for (int64_t batch : {3, 3, 90, 90, 1, 0, 3}) {
    ASSERT_EQ(run(batch, batch), LUMEN_OK) << status.message;
    ASSERT_EQ(out.u.tensor.shape[0], batch);
    auto *y = static_cast<const float *>(out.u.tensor.data);
    for (int64_t i = 0; i < batch; ++i)
      ASSERT_EQ(y[i], a[2 * i] + a[2 * i + 1] + b[i]);
  }
  EXPECT_EQ(BatchModel::plans, 5);
}

TEST_F(PlanTest, OutputShapes) {
  ASSERT_EQ(run(4, 4), LUMEN_OK);
  shapeA[0] = shapeB[0] = 7;
  inputs[0].u.tensor.data = inputs[1].u.tensor.data = nullptr;
  lumen_shape shape;
  ASSERT_EQ(lumen_output_shapes(context, inputs, 2, &shape, 1, &status), LUMEN_OK)
      << status.message;
  EXPECT_EQ(shape.rank, 1);
  EXPECT_EQ(shape.exact, 1u);
  EXPECT_EQ(shape.dims[0], 7);
}

TEST_F(PlanTest, DisagreeingSymbol) {
  EXPECT_EQ(run(3, 4), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "input 'b': dimension 0 ('batch') is 4, expected 3 as dimension 0 "
                               "of input 'a'");
}

TEST_F(PlanTest, BeyondBound) {
  EXPECT_EQ(run(101, 101), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "input 'a': dimension 0 ('batch') is 101, expected at most 100");
}

// A failed plan leaves the context fit for the next run, also one that needs more
// memory than the run before the failure.
TEST_F(PlanTest, PlanFails) {
  ASSERT_EQ(run(3, 3), LUMEN_OK);
  EXPECT_EQ(run(13, 13), LUMEN_ERROR_MODEL);
  EXPECT_STREQ(status.message, "batch: batch is 13, expected luck");
  for (int64_t batch : {90, 3}) {
    ASSERT_EQ(run(batch, batch), LUMEN_OK);
    ASSERT_EQ(out.u.tensor.shape[0], batch);
    auto *y = static_cast<const float *>(out.u.tensor.data);
    for (int64_t i = 0; i < batch; ++i)
      ASSERT_EQ(y[i], a[2 * i] + a[2 * i + 1] + b[i]);
  }
}

TEST_F(PlanTest, CallerArena) {
  lumen_context_free(context);
  context = nullptr;
  EXPECT_EQ(lumen_arena_size(model), 0u) << "depends on the shapes";
  alignas(64) static char arena[64];
  lumen_context_options options = {};
  options.arena = arena;
  options.arena_size = sizeof(arena);
  ASSERT_EQ(lumen_context_create(model, &options, &context, &status), LUMEN_OK) << status.message;
  EXPECT_EQ(run(16, 16), LUMEN_OK) << status.message;
  EXPECT_EQ(run(17, 17), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "the arena has 64 bytes, expected at least 68 for these shapes");
}

// Positions of the positive elements of x, whose number only the run knows: a
// count in the arena, read by the schedule, then an output from the heap.
struct FindModel {
  static constexpr int64_t n = 50;

  static void count(void *const *args, const int64_t *, int64_t, int64_t, int32_t, void *) {
    auto *x = static_cast<const float *>(args[0]);
    int64_t found = 0;
    for (int64_t i = 0; i < n; ++i)
      found += x[i] > 0;
    std::memcpy(args[1], &found, sizeof(found));
  }
  static void find(void *const *args, const int64_t *, int64_t, int64_t, int32_t, void *) {
    auto *x = static_cast<const float *>(args[0]);
    auto *scratch = static_cast<int64_t *>(args[1]), *y = static_cast<int64_t *>(args[2]);
    int64_t found = 0;
    for (int64_t i = 0; i < n; ++i)
      if (x[i] > 0)
        y[found] = scratch[found] = i, ++found;
  }
  static int schedule(lumen_abi_frame *frame) {
    int64_t found;
    if (int code = frame->launch(frame, 0))
      return code;
    if (int code = frame->read_scalar(frame, 1, &found))
      return code;
    if (found == 0)
      return frame->fail(frame, LUMEN_ERROR_MODEL, "Find 'f': nothing is positive");
    if (!frame->heap_alloc(frame, 2, found * 8) || !frame->heap_alloc(frame, 3, found * 8))
      return LUMEN_ERROR_OUT_OF_MEMORY;
    if (int code = frame->set_dim(frame, 0, found))
      return code;
    return frame->launch(frame, 1);
  }

  FindModel() {
    for (lumen_abi_variant &variant : variants)
      variant = {0, 0, nullptr, 0, nullptr, 1, 1, 0, nullptr};
    variants[0].code = reinterpret_cast<const void *>(count);
    variants[1].code = reinterpret_cast<const void *>(find);
    abi.abi_version = LUMEN_ABI_VERSION;
    abi.size = sizeof(abi);
    abi.name = "find";
    abi.num_inputs = abi.num_outputs = 1;
    abi.inputs = &input;
    abi.outputs = &output;
    abi.num_levels = 1;
    abi.levels = &level;
    abi.num_kernels = 2;
    abi.kernels = kernels;
    abi.num_buffers = 4;
    abi.buffers = buffers;
    abi.arg_buffers = argBuffers;
    abi.num_launches = 2;
    abi.launches = launches;
    abi.arena_size = 64;
    abi.schedule = schedule;
  }
  FindModel(const FindModel &) = delete;

  lumen_abi_dim xDims[1] = {{n, n, nullptr}}, yDims[1] = {{-1, -1, "found"}};
  lumen_abi_value input = {"x", LUMEN_ABI_TENSOR, LUMEN_ABI_F32, 1, 0, xDims};
  lumen_abi_value output = {"y", LUMEN_ABI_TENSOR, LUMEN_ABI_I64, 1, 0, yDims};
  lumen_abi_level level = {lowLevel, LUMEN_ABI_CPU, 0, lowFeatures};
  lumen_abi_variant variants[2];
  lumen_abi_kernel kernels[2] = {{"count", 2, 1, &variants[0]}, {"find", 3, 1, &variants[1]}};
  lumen_abi_buffer buffers[4] = {{LUMEN_ABI_INPUT, 0, 0, n * 4},
                                 {LUMEN_ABI_ARENA, 0, 0, 8},
                                 {LUMEN_ABI_HEAP, 0, 0, 0},
                                 {LUMEN_ABI_OUTPUT, 0, 0, 0}};
  uint32_t argBuffers[5] = {0, 1, 0, 2, 3};
  lumen_abi_launch launches[2] = {{0, LUMEN_ABI_ANY, 0, 0, 0, 1, "Find 'f'", 0, 0},
                                  {1, LUMEN_ABI_ANY, 2, 0, 0, 2, "Find 'f'", 0, 0}};
  lumen_abi_model abi = {};
  lumen_module module = {&lumen_runtime_api, &abi};
};

class ScheduleTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(lumen_model_open(&fake.module, nullptr, &model, &status), LUMEN_OK) << status.message;
    ASSERT_EQ(lumen_context_create(model, nullptr, &context, &status), LUMEN_OK) << status.message;
    in = lumen_tensor_value(x, LUMEN_F32, 1, shape);
  }
  void TearDown() override {
    lumen_context_free(context);
    lumen_model_free(model);
  }

  FindModel fake;
  lumen_model *model = nullptr;
  lumen_context *context = nullptr;
  lumen_status status = {};
  float x[FindModel::n] = {};
  int64_t shape[1] = {FindModel::n};
  lumen_value in;
};

TEST_F(ScheduleTest, SizeOnlyTheRunKnows) {
  lumen_value out = {};
  for (int found : {1, 50, 7}) {
    for (int i = 0; i < FindModel::n; ++i)
      x[i] = i < found ? 1 : -1;
    ASSERT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_OK) << status.message;
    ASSERT_EQ(out.u.tensor.shape[0], found);
    for (int64_t i = 0; i < found; ++i)
      ASSERT_EQ(static_cast<const int64_t *>(out.u.tensor.data)[i], i);
  }
  lumen_shape shape;
  ASSERT_EQ(lumen_output_shapes(context, &in, 1, &shape, 1, &status), LUMEN_OK);
  EXPECT_EQ(shape.exact, 0u);
  EXPECT_EQ(shape.dims[0], -1);
}

TEST_F(ScheduleTest, ModelGivesUp) {
  lumen_value out = {};
  EXPECT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_ERROR_MODEL);
  EXPECT_STREQ(status.message, "find: Find 'f': nothing is positive");
}

// Nobody can say how large the caller's memory would have to be.
TEST_F(ScheduleTest, CallerCannotOwnUnbounded) {
  int64_t memory[FindModel::n];
  lumen_value out = lumen_output_buffer(memory, sizeof(memory));
  EXPECT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "output 'y': its size is known only after the run, so its memory "
                               "must be the context's (data NULL)");
}

} // namespace
