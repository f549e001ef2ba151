// What opening a model chooses, reports and refuses.
#include "FakeModel.h"
#include "cpu.h"

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

using namespace lumen::test;

namespace {

class ModelTest : public testing::Test {
protected:
  void TearDown() override { lumen_model_free(model); }
  int open(const char *level = nullptr, const char *device = nullptr) {
    lumen_model_options options = {};
    options.num_threads = 1;
    options.cpu_level = level;
    options.device = device;
    lumen_model_free(model);
    return lumen_model_open(&fake.module, &options, &model, &status);
  }

  FakeModel fake;
  lumen_model *model = nullptr;
  lumen_status status = {};
};

std::string lower(std::string text) {
  for (char &c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

TEST_F(ModelTest, Signature) {
  uint32_t count;
  const lumen_value_info *inputs = lumen_inputs(&fake.module, &count);
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(inputs[0].name, "x");
  EXPECT_EQ(inputs[0].dims[0].extent, FakeModel::n);
  EXPECT_EQ(lumen_find_input(&fake.module, "x"), 0);
  EXPECT_EQ(lumen_find_input(&fake.module, "xy"), -1);
  EXPECT_EQ(lumen_find_output(&fake.module, "y"), 0);
  EXPECT_EQ(lumen_find_output(&fake.module, ""), -1);
}

// The level that no CPU has is passed over, kernel by kernel.
TEST_F(ModelTest, Levels) {
  ASSERT_EQ(open(), LUMEN_OK) << status.message;
  lumen_model_info info;
  lumen_model_get_info(model, &info);
  EXPECT_STREQ(info.name, "fake");
  EXPECT_STREQ(info.level, lowLevel);
  EXPECT_EQ(info.num_workers, 1u);
  EXPECT_EQ(info.scratch_size, 64u);
  EXPECT_EQ(info.weights_size, sizeof(fake.weights));
  lumen_level_info level;
  ASSERT_EQ(lumen_level(model, 0, &level), LUMEN_OK);
  EXPECT_STREQ(level.name, "x86-64-v9");
  EXPECT_STREQ(level.kind, "cpu");
  EXPECT_EQ(level.available, 0u);
  EXPECT_EQ(level.num_kernels, 0u);
  EXPECT_EQ(level.num_compiled, 1u);
  ASSERT_EQ(lumen_level(model, 1, &level), LUMEN_OK);
  EXPECT_EQ(level.available, 1u);
  EXPECT_EQ(level.num_kernels, 3u);
  EXPECT_EQ(level.num_compiled, 3u);
  EXPECT_EQ(lumen_level(model, 2, &level), LUMEN_ERROR_NOT_FOUND);
}

TEST_F(ModelTest, ForcedLevel) {
  EXPECT_EQ(open(lowLevel), LUMEN_OK) << status.message;
  EXPECT_EQ(open("z80"), LUMEN_ERROR_NOT_FOUND);
  EXPECT_EQ(status.message, std::string("cpu_level is 'z80', fake has x86-64-v9, ") + lowLevel);
  EXPECT_EQ(open("x86-64-v9"), LUMEN_ERROR_DEVICE);
  EXPECT_EQ(std::string(status.message).find("cpu_level is 'x86-64-v9', this CPU offers "), 0u)
      << status.message;
  ScopedEnv level("LUMEN_CPU_LEVEL", "z80");
  EXPECT_EQ(open(), LUMEN_ERROR_NOT_FOUND);
  EXPECT_EQ(std::string(status.message).find("LUMEN_CPU_LEVEL is 'z80'"), 0u) << status.message;
  EXPECT_EQ(open(lowLevel), LUMEN_OK) << "options come before the environment";
}

#if defined(__x86_64__)
// A level holds back all above it, and one below the file's lowest is an error.
TEST_F(ModelTest, HeldBackLevel) {
  EXPECT_EQ(open("x86-64"), LUMEN_ERROR_DEVICE);
  EXPECT_STREQ(status.message, "cpu_level is 'x86-64', fake needs x86-64-v2 at least");
  uint64_t features = 0;
  ASSERT_TRUE(lumen_cpu_level_features("x86-64-v4+vnni", &features));
  EXPECT_EQ(lumen_cpu_implied(features),
            LUMEN_ABI_X86_VNNI | LUMEN_ABI_X86_V4 | LUMEN_ABI_X86_V3 | LUMEN_ABI_X86_V2);
  EXPECT_STREQ(lumen_cpu_level_name(LUMEN_ABI_X86_V3 | LUMEN_ABI_X86_V2), "x86-64-v3");
}
#endif

// A CPU below the file's lowest level gets a message, not SIGILL.
TEST_F(ModelTest, OldCpu) {
  fake.kernels[0].num_variants = 1;
  EXPECT_EQ(open(), LUMEN_ERROR_DEVICE);
  EXPECT_EQ(std::string(status.message).find("fake: needs a CPU of level x86-64-v9 at least"), 0u)
      << status.message;
}

TEST_F(ModelTest, Devices) {
  lumen_device_info device;
  ASSERT_EQ(lumen_devices(&fake.module, &device, 1), 1u);
  EXPECT_STREQ(device.kind, "cpu");
  EXPECT_GT(device.memory_total, device.memory_available);
  EXPECT_GT(device.memory_available, 0u);
  EXPECT_GT(device.score, 0);
  EXPECT_EQ(open(nullptr, "cpu"), LUMEN_OK);
  EXPECT_EQ(open(nullptr, device.name), LUMEN_OK);
  std::string part = lower(device.name).substr(1);
  EXPECT_EQ(open(nullptr, part.c_str()), LUMEN_OK) << part;
  EXPECT_EQ(open(nullptr, "auto"), LUMEN_OK);
  EXPECT_EQ(open(nullptr, "cpu:0"), LUMEN_OK);
  EXPECT_EQ(open(nullptr, "cpu:1"), LUMEN_ERROR_NOT_FOUND);
  EXPECT_EQ(open(nullptr, "abacus"), LUMEN_ERROR_NOT_FOUND);
  EXPECT_EQ(status.message, std::string("device is 'abacus', there is cpu:0 (") + device.name + ")");
  ScopedEnv environment("LUMEN_DEVICE", "abacus");
  EXPECT_EQ(open(), LUMEN_ERROR_NOT_FOUND);
  EXPECT_EQ(std::string(status.message).find("LUMEN_DEVICE is 'abacus'"), 0u);
}

// A context follows its model, and brings anew what it owned before.
TEST_F(ModelTest, SetDevice) {
  ASSERT_EQ(open(), LUMEN_OK) << status.message;
  lumen_context *context;
  ASSERT_EQ(lumen_context_create(model, nullptr, &context, &status), LUMEN_OK) << status.message;
  std::vector<float> x(FakeModel::n, 3);
  int64_t shape[] = {FakeModel::n};
  lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape), out = {};
  lumen_memory_info before, after;
  for (int i = 0; i < 100; ++i) {
    x[7] = i;
    ASSERT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_OK) << status.message;
    EXPECT_EQ(static_cast<float *>(out.u.tensor.data)[7], FakeModel::expected(i, 7));
    lumen_memory(model, i ? &after : &before);
    ASSERT_EQ(lumen_model_set_device(model, "cpu", &status), LUMEN_OK) << status.message;
  }
  EXPECT_EQ(before.used, after.used);
  EXPECT_EQ(lumen_model_set_device(model, "abacus", &status), LUMEN_ERROR_NOT_FOUND);
  EXPECT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_OK) << status.message;
  lumen_context_free(context);
}

// Where the device that is asked for is not there, the CPU is, if it may.
TEST_F(ModelTest, FallBack) {
  lumen_model_options options = {};
  options.device = "abacus";
  options.flags = LUMEN_FALL_BACK;
  ASSERT_EQ(lumen_model_open(&fake.module, &options, &model, &status), LUMEN_OK) << status.message;
  lumen_model_info info;
  lumen_model_get_info(model, &info);
  lumen_device_info device;
  lumen_devices(&fake.module, &device, 1);
  EXPECT_STREQ(info.device, device.name);
}

TEST_F(ModelTest, Versions) {
  fake.abi.abi_version = LUMEN_ABI_VERSION + 1;
  EXPECT_EQ(open(), LUMEN_ERROR_VERSION);
  EXPECT_STREQ(status.message,
               "the model was compiled for version 8 of the runtime, this is version 7");
  fake.abi.abi_version = LUMEN_ABI_VERSION;
  fake.abi.size = 8;
  EXPECT_EQ(open(), LUMEN_ERROR_VERSION);
}

TEST_F(ModelTest, BadThreadCount) {
  ScopedEnv environment("LUMEN_NUM_THREADS", "many");
  EXPECT_EQ(lumen_model_open(&fake.module, nullptr, &model, &status), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "LUMEN_NUM_THREADS is 'many', expected a number from 1 to 1024");
}

// Every byte is counted, and given back.
TEST_F(ModelTest, Memory) {
  ASSERT_EQ(open(), LUMEN_OK);
  lumen_memory_info before, during, after;
  lumen_memory(model, &before);
  EXPECT_EQ(before.used, sizeof(fake.weights) + fake.abi.init_size);
  lumen_context *context;
  ASSERT_EQ(lumen_context_create(model, nullptr, &context, &status), LUMEN_OK);
  lumen_memory(model, &during);
  EXPECT_EQ(during.used, before.used + fake.abi.arena_size + 64 + sizeof(fake.weights));
  lumen_context_free(context);
  lumen_memory(model, &after);
  EXPECT_EQ(after.used, before.used);
}

// A context keeps its model.
TEST_F(ModelTest, ContextOutlivesHandle) {
  ASSERT_EQ(open(), LUMEN_OK);
  lumen_context *context;
  ASSERT_EQ(lumen_context_create(model, nullptr, &context, &status), LUMEN_OK);
  lumen_model_free(model);
  model = nullptr;
  std::vector<float> x(FakeModel::n, 1.0f);
  int64_t shape[] = {FakeModel::n};
  lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape), out = {};
  EXPECT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_OK);
  lumen_context_free(context);
}

TEST_F(ModelTest, BadArena) {
  ASSERT_EQ(open(), LUMEN_OK);
  alignas(64) static char arena[FakeModel::n * sizeof(float) + 8];
  lumen_context *context;
  lumen_context_options options = {};
  options.arena = arena;
  options.arena_size = 100;
  EXPECT_EQ(lumen_context_create(model, &options, &context, &status), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "the arena has 100 bytes, expected at least 4000");
  options.arena = arena + 8;
  options.arena_size = sizeof(arena) - 8;
  EXPECT_EQ(lumen_context_create(model, &options, &context, &status), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(status.message).find("is not aligned to 64 bytes"), std::string::npos);
}

TEST_F(ModelTest, BadExecutor) {
  static lumen_executor none = {};
  lumen_model_options options = {};
  options.executor = &none;
  EXPECT_EQ(lumen_model_open(&fake.module, &options, &model, &status),
            LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "the executor lacks num_workers or parallel_for");
  none.num_workers = [](void *) { return 0u; };
  none.parallel_for = [](void *, uint32_t, lumen_chunk_fn, void *) {};
  EXPECT_EQ(lumen_model_open(&fake.module, &options, &model, &status),
            LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "the executor has 0 workers, expected at least 1");
}

} // namespace
