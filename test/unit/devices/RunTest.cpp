// Runs on devices, which may be weak in many ways.
#include "test/unit/devices/DeviceTest.h"

#include <thread>

using namespace lumen::test;

namespace {

struct DeviceRunTest : DeviceTest {};

// Of one kind only, whose limits can be chosen.
struct VulkanRunTest : DeviceRunTest {};

// y = x + (x + 1) + 1, through the arena.
struct TwoLaunches : DeviceModel {
  explicit TwoLaunches(bool hasFaults = false) {
    uint32_t x = in("x"), t = slot(0, 1), y = out("y");
    first = &sum({x}, t, hasFaults);
    second = &sum({x, t}, y);
  }
  static float expected(float x) { return x + (x + 1) + 1; }
  lumen_abi_variant *first, *second;
};

// "" where they are what TwoLaunches makes of x.
std::string compare(const float *y, const Values &x) {
  for (size_t i = 0; i < x.data.size(); ++i)
    if (y[i] != TwoLaunches::expected(x.data[i]))
      return "element " + std::to_string(i) + " is " + std::to_string(y[i]);
  return "";
}

// Runs it once with other values than before; the error's text, or that a result is wrong.
std::string runTwo(OpenModel &opened, const DeviceModel &model, float scale) {
  Values x(model, scale);
  lumen_value in[] = {x.value()}, out[1] = {};
  std::string error = opened.run(in, out);
  return error.empty() ? compare(floats(out[0]), x) : error;
}

std::vector<lumen_profile_entry> profileOf(OpenModel &opened, const DeviceModel &model) {
  EXPECT_EQ(lumen_profile_enable(opened.context, nullptr), LUMEN_OK);
  EXPECT_EQ(runTwo(opened, model, 1), "");
  uint32_t count;
  const lumen_profile_entry *entries = lumen_profile_entries(opened.context, &count);
  return {entries, entries + count};
}

TEST_P(DeviceRunTest, RunsAgain) {
  TwoLaunches model;
  OpenModel opened(model.finish(), name());
  ASSERT_STREQ(opened.status.message, "");
  for (int i = 1; i < 5; ++i)
    EXPECT_EQ(runTwo(opened, model, i), "");
  // What was recorded is submitted again.
  weak_device_counts seen = counts();
  EXPECT_EQ(seen.dispatches, kind().isRecorded ? 2 : 8);
  EXPECT_EQ(seen.submissions, 4);
}

// A run that fails at any of its calls leaves the context ready for the next.
TEST_P(DeviceRunTest, RunsAfterFailures) {
  for (bool isHidden : {false, true}) {
    int failures = 0;
    for (int at = 1, failed = 1; failed; ++at) {
      Weak weak("fail=" + std::to_string(at), isHidden);
      TwoLaunches model;
      OpenModel opened(model.finish(), name());
      std::string errors;
      for (int i = 1; i < 4 && opened.context; ++i) {
        std::string error = runTwo(opened, model, i);
        EXPECT_TRUE(error.empty() || errors.empty()) << at << ": " << errors << ", " << error;
        errors += error;
      }
      failures += !errors.empty();
      weak_device_counts seen = counts();
      EXPECT_EQ(seen.misuses, 0) << at;
      failed = seen.failed;
    }
    EXPECT_GE(failures, 3);
  }
}

// As many bindings as the device has, and no more.
TEST_P(VulkanRunTest, ManyBindings) {
  for (bool isEnough : {true, false}) {
    Weak weak(isEnough ? "descriptors=30" : "descriptors=29");
    DeviceModel model;
    std::vector<uint32_t> inputs(28, model.in("x"));
    uint32_t y = model.out("y");
    model.sum(inputs, y);
    OpenModel opened(model.finish(), name());
    if (!isEnough) {
      EXPECT_STRNE(opened.status.message, "");
      continue;
    }
    ASSERT_STREQ(opened.status.message, "");
    Values x(model, 1);
    lumen_value in[] = {x.value()}, out[1] = {};
    ASSERT_EQ(opened.run(in, out), "");
    EXPECT_EQ(floats(out[0])[7], 28 * 7 + 1);
    EXPECT_EQ(counts().dispatches, 1);
  }
}

// Two numbers for what the device cannot know in 32 bits: such a launch goes to the CPU when
// it comes, and the profile says so, each time.
TEST_P(DeviceRunTest, TellsWhereLaunchesRan) {
  TwoLaunches model;
  model.second->grid = int64_t(1) << 40;
  OpenModel opened(model.finish(), name());
  ASSERT_STREQ(opened.status.message, "");
  auto entries = profileOf(opened, model);
  EXPECT_STREQ(entries[0].level, deviceLevel);
  EXPECT_EQ(entries[0].count, 1u);
  EXPECT_EQ(entries[0].host_count, 0u);
  EXPECT_STREQ(entries[1].level, lowLevel);
  EXPECT_EQ(entries[1].count, 1u);
  EXPECT_EQ(entries[1].host_count, 1u);
}

// Scratch memory that is more than a kernel can reach.
TEST_P(VulkanRunTest, ScratchWithinTheRange) {
  Weak weak("range=100000");
  for (uint64_t size : {64, 99968, 100032}) {
    TwoLaunches model;
    model.first->scratch_size = size;
    OpenModel opened(model.finish(), name());
    ASSERT_STREQ(opened.status.message, "");
    EXPECT_EQ(profileOf(opened, model)[0].host_count, size > 100000);
  }
}

// Launches that touch different memory need not wait for each other; those that read or
// write what an earlier one has written, or write what it has read, do.
TEST_P(DeviceRunTest, WaitsWhereItMust) {
  DeviceModel model;
  uint32_t x = model.in("x"), a = model.slot(0, 5), b = model.slot(0, 5), y = model.out("y");
  model.sum({x}, a);       // the first of a batch waits for what was before
  model.sum({x}, b);       // for none
  model.sum({a, x}, y);    // for the first
  model.sum({b}, b);       // for none since then
  model.sum({x, y}, a);    // for the third
  model.sum({a, b, y}, y); // for the one before
  OpenModel opened(model.finish(), name());
  ASSERT_STREQ(opened.status.message, "");
  Values given(model, 1);
  lumen_value in[] = {given.value()}, out[1] = {};
  (void)counts();
  ASSERT_EQ(opened.run(in, out), "");
  weak_device_counts seen = counts();
  EXPECT_EQ(seen.dispatches, 6);
  // The last one is before the host looks.
  EXPECT_EQ(seen.barriers, kind().isRecorded ? 5 : 0);
  for (int i : {0, 3}) {
    auto v = static_cast<float>(i);
    float a0 = v + 1, b0 = v + 2, y0 = a0 + v + 1, a1 = v + y0 + 1;
    EXPECT_EQ(floats(out[0])[i], a1 + b0 + y0 + 1);
  }
}

// Constants lie in as many blocks as the device wants, each whole in one; what needs one that
// is larger than a block may be runs on the CPU. Memory that the host does not see is filled
// from its own copy, and never read back.
TEST_P(VulkanRunTest, WeightsInSeveralBlocks) {
  constexpr uint64_t n = 300000, bytes = n * sizeof(float), next = bytes + 64 - bytes % 64;
  std::vector<float> weights(3 * next / sizeof(float));
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<float>(i * sizeof(float) / next + i % 50);
  for (bool isHidden : {false, true})
    for (bool hasRoom : {true, false}) {
      // Two constants in a block.
      Weak weak("allocation=5000000", isHidden);
      DeviceModel model(n);
      const void *pointer = weights.data();
      model.abi.weights = &pointer;
      model.abi.weights_size = 3 * next;
      uint32_t x = model.in("x"), t = model.slot(0, 1), y = model.out("y"), w[3];
      for (uint64_t i = 0; i < 3; ++i)
        w[i] = model.weights(i * next, bytes);
      if (!hasRoom)
        model.storages.back().size = 5000001;
      model.sum({x, w[0], w[1]}, t);
      model.sum({t, w[2]}, y);
      OpenModel opened(model.finish(), name());
      ASSERT_STREQ(opened.status.message, "");
      EXPECT_EQ(lumen_profile_enable(opened.context, nullptr), LUMEN_OK);
      Values given(model, 1);
      lumen_value in[] = {given.value()}, out[1] = {};
      ASSERT_EQ(opened.run(in, out), "");
      for (uint64_t i = 0; i < n; i += 1001) {
        float wanted = given.data[i] + 2;
        for (int k = 0; k < 3; ++k)
          wanted += weights[(k * next) / sizeof(float) + i];
        ASSERT_EQ(floats(out[0])[i], wanted) << i;
      }
      uint32_t count;
      const lumen_profile_entry *entries = lumen_profile_entries(opened.context, &count);
      EXPECT_EQ(entries[0].host_count, 0u);
      EXPECT_EQ(entries[1].host_count, hasRoom ? 0u : 1u);
    }
}

// A device may have the extension of small numbers without all that it is about.
TEST_P(VulkanRunTest, AsksForExtensionsByName) {
  Weak weak("int8=0");
  TwoLaunches model;
  OpenModel opened(model.finish(), name());
  EXPECT_EQ(runTwo(opened, model, 1), "");
}

// What the device computes is there once it has been waited for, in the context's memory or
// the caller's; inputs may change at once.
TEST_P(DeviceRunTest, RunsGoOn) {
  for (bool isHidden : {false, true}) {
    Weak weak("busy=2", isHidden);
    (void)counts();
    TwoLaunches model;
    OpenModel opened(model.finish(), name());
    ASSERT_STREQ(opened.status.message, "");
    EXPECT_EQ(lumen_is_done(opened.context), 1);
    Values y(model);
    for (int i = 1; i < 5; ++i) {
      Values x(model, i), given(model, i);
      lumen_value in[] = {given.value()}, out[1] = {};
      if (i % 2)
        out[0] = lumen_output_buffer(y.data.data(), y.data.size() * sizeof(float));
      ASSERT_EQ(opened.start(in, out), "");
      std::fill(given.data.begin(), given.data.end(), -1.0f);
      if (i == 1) {
        EXPECT_EQ(lumen_is_done(opened.context), 0);
        EXPECT_EQ(lumen_is_done(opened.context), 0);
        lumen_is_done(opened.context);
        EXPECT_EQ(counts().questions, 3);
      }
      ASSERT_EQ(opened.synchronize(), "");
      EXPECT_EQ(lumen_is_done(opened.context), 1);
      EXPECT_EQ(compare(floats(out[0]), x), "");
      EXPECT_EQ(floats(out[0]) == y.data.data(), i % 2 == 1);
    }
    // One that nobody has waited for.
    Values x(model, 7);
    lumen_value in[] = {x.value()}, out[1] = {};
    EXPECT_EQ(opened.start(in, out), "");
    EXPECT_EQ(runTwo(opened, model, 8), "");
    EXPECT_EQ(opened.start(in, out), "");
  }
}

// State goes from run to run in memory of the device: nothing but the other input is copied,
// until a result is wanted.
TEST_P(DeviceRunTest, StateStaysOnTheDevice) {
  for (bool isHidden : {false, true}) {
    Weak weak("", isHidden);
    DeviceModel model;
    uint32_t x = model.in("x"), before = model.in("before"), after = model.out("after");
    uint32_t twice = model.out("twice");
    model.sum({x, before}, after);
    model.sum({after, after}, twice);
    OpenModel opened(model.finish(), name());
    ASSERT_STREQ(opened.status.message, "");
    Values given(model, 1), state(model, 10);
    lumen_value in[] = {given.value(), state.value()}, out[2] = {};
    float expected = 10 * 7;
    for (int i = 0; i < 6; ++i) {
      bool isWanted = i == 3 || i == 5;
      for (lumen_value &value : out)
        value.flags = isWanted ? 0 : LUMEN_STAY;
      (void)counts();
      ASSERT_EQ(opened.start(in, out), "") << i;
      ASSERT_EQ(opened.synchronize(), "") << i;
      int inputs = i ? 1 : 2, outputs = isWanted ? 2 : 0;
      bool isApart = kind().isApart;
      EXPECT_EQ(counts().copies, isHidden || isApart ? inputs + outputs + isApart : 0) << i;
      expected += 7 + 1;
      if (isWanted) {
        EXPECT_EQ(floats(out[0])[7], expected);
        EXPECT_EQ(floats(out[1])[7], 2 * expected + 1);
      }
      in[1] = out[0];
    }
    // It does not go to another device.
    ASSERT_EQ(lumen_model_set_device(opened.model, "cpu", nullptr), LUMEN_OK);
    EXPECT_EQ(opened.run(in, out), "an input lies in an output of the last run, copy it first: "
                                   "the model has been moved to another device");
  }
}

// What the CPU has to run finds the state too, and leaves it where the device finds it.
TEST_P(DeviceRunTest, StateOfBoth) {
  for (bool isHidden : {false, true})
    for (int where : {0, 1, 2}) {
      Weak weak("", isHidden);
      DeviceModel model;
      uint32_t x = model.in("x"), before = model.in("before"), t = model.slot(0, 1);
      uint32_t after = model.out("after");
      int64_t &first = model.sum({x, before}, t).grid, &second = model.sum({t, x}, after).grid;
      // No device can know such a number of units.
      if (where)
        (where == 1 ? first : second) = int64_t(1) << 40;
      OpenModel opened(model.finish(), name());
      Values given(model, 1), state(model, 10);
      lumen_value in[] = {given.value(), state.value()}, out[1] = {};
      for (int i = 0; i < 4; ++i) {
        out[0].flags = i == 3 ? 0 : LUMEN_STAY;
        ASSERT_EQ(opened.run(in, out), "");
        in[1] = out[0];
      }
      EXPECT_EQ(floats(out[0])[7], 10 * 7 + 4 * (2 * 7 + 2)) << where;
    }
}

// A fault of a kernel is told when the run is waited for, or else by the next one.
TEST_P(DeviceRunTest, TellsFaultsAfterwards) {
  TwoLaunches model(/*hasFaults=*/true);
  OpenModel opened(model.finish(), name());
  ASSERT_STREQ(opened.status.message, "");
  Values x(model, 1);
  x.data[7] = -1;
  lumen_value in[] = {x.value()}, out[1] = {};
  const char *error = "made: Node 'n': index 7 lies outside a dimension of 1000";
  EXPECT_EQ(opened.start(in, out), "");
  EXPECT_EQ(opened.synchronize(), error);
  EXPECT_EQ(opened.synchronize(), "");
  EXPECT_EQ(opened.start(in, out), "");
  EXPECT_EQ(runTwo(opened, model, 1), error);
  EXPECT_EQ(runTwo(opened, model, 1), "");
  EXPECT_EQ(opened.run(in, out), error);
}

// A device that is lost on the way, which the next run does not need any more.
TEST_P(DeviceRunTest, FallsBackAfterwards) {
  TwoLaunches model;
  OpenModel opened(model.finish(), name(), LUMEN_FALL_BACK);
  Weak weak("wait=1");
  (void)counts();
  Values x(model, 1);
  lumen_value in[] = {x.value()}, out[1] = {};
  EXPECT_EQ(opened.start(in, out), "");
  EXPECT_EQ(opened.synchronize(), std::string("made: ") + kind().lost);
  EXPECT_EQ(runTwo(opened, model, 2), "");
  EXPECT_EQ(counts().submissions, 1);
}

// Runs in a context of its own, time and again.
void runOften(lumen_model *model, const DeviceModel &tables, bool isAsync) {
  lumen_status status = {};
  lumen_context *context = nullptr;
  ASSERT_EQ(lumen_context_create(model, nullptr, &context, &status), LUMEN_OK) << status.message;
  lumen_value out = {};
  for (int i = 1; i <= 30; ++i) {
    Values x(tables, i);
    lumen_value in = x.value();
    auto run = isAsync ? lumen_run_async : lumen_run;
    ASSERT_EQ(run(context, &in, 1, &out, 1, &status), LUMEN_OK) << status.message;
    ASSERT_EQ(lumen_synchronize(context, &status), LUMEN_OK) << status.message;
    ASSERT_EQ(compare(floats(out), x), "");
  }
  lumen_context_free(context);
}

TEST_P(DeviceRunTest, TwoContextsOnOneDevice) {
  TwoLaunches model;
  OpenModel opened(model.finish(), name());
  ASSERT_STREQ(opened.status.message, "");
  std::thread other(runOften, opened.model, std::ref(model), true);
  runOften(opened.model, model, false);
  other.join();
}

TEST_P(DeviceRunTest, TwoModelsOnTwoDevices) {
  TwoLaunches first, second;
  OpenModel device(first.finish(), name()), cpu(second.finish(), "cpu");
  ASSERT_STREQ(device.status.message, "");
  std::thread other(runOften, device.model, std::ref(first), true);
  runOften(cpu.model, second, true);
  other.join();
}

// A model moves while one of its contexts runs.
TEST_P(DeviceRunTest, MovesDuringRuns) {
  TwoLaunches model;
  OpenModel opened(model.finish(), name());
  ASSERT_STREQ(opened.status.message, "");
  std::thread other(runOften, opened.model, std::ref(model), true);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(lumen_model_set_device(opened.model, i % 2 ? name() : "cpu", &opened.status),
              LUMEN_OK)
        << opened.status.message;
  other.join();
}

INSTANTIATE_TEST_SUITE_P(All, DeviceRunTest, testing::ValuesIn(deviceKinds()), kindName);
INSTANTIATE_TEST_SUITE_P(All, VulkanRunTest, testing::Values(deviceKinds().front()), kindName);

} // namespace
