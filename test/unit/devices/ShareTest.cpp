// Runs that the host and a device share.
#include "test/unit/devices/DeviceTest.h"

#include <random>
#include <thread>

using namespace lumen::test;

namespace {

struct DeviceShareTest : DeviceTest {};

// Schedules whose launches go to the host and to the device as it comes, over halves of slots
// that are used again and again, in place too. What is written with gaps leaves the rest.
struct MixedModel : DeviceModel {
  explicit MixedModel(unsigned seed) : DeviceModel(100), random(seed) {
    constexpr uint32_t numSlots = 4, numLaunches = 12;
    uint32_t twice = constant(2 * n * sizeof(float));
    const uint32_t begins[] = {constant(0), constant(n * sizeof(float))};
    std::vector<uint32_t> parts = {in("x")}, whole;
    for (uint32_t s = 0; s < numSlots; ++s) {
      whole.push_back(arena(twice, 0, numLaunches));
      buffers.back().has_gaps = 1;
      for (uint32_t begin : begins)
        parts.push_back(sized(part(whole.back(), begin)));
    }
    std::vector<bool> isMade(parts.size());
    isMade[0] = true;
    auto pick = [&] {
      uint32_t at;
      do
        at = random() % parts.size();
      while (!isMade[at]);
      return at;
    };
    for (uint32_t i = 0; i < numLaunches; ++i) {
      std::vector<uint32_t> from = {pick(), pick()}, buffers;
      for (uint32_t at : from)
        buffers.push_back(parts[at]);
      uint32_t to = 1 + random() % (parts.size() - 1);
      bool hasGaps = to % 2 && random() % 2; // a slot as a whole, whose first half is written
      add(buffers, hasGaps ? whole[to / 2] : parts[to]);
      rows.push_back({from, to});
      isMade[to] = true;
    }
    std::vector<uint32_t> last;
    for (uint32_t at = 0; at < parts.size(); ++at)
      if (isMade[at]) {
        last.push_back(parts[at]);
        lastRow.push_back(at);
      }
    add(last, out("y"));
  }

  std::vector<float> expected(const Values &x) const {
    std::vector<std::vector<float>> values(9);
    values[0] = x.data;
    auto sum = [&](const std::vector<uint32_t> &from) {
      std::vector<float> result(n, 1.0f);
      for (uint32_t at : from)
        for (int64_t i = 0; i < n; ++i)
          result[i] += values[at][i];
      return result;
    };
    for (const auto &[from, to] : rows)
      values[to] = sum(from);
    return sum(lastRow);
  }

private:
  void add(const std::vector<uint32_t> &from, uint32_t to) {
    sum(from, to);
    launches.back().affinity = random() % 2 ? LUMEN_ABI_HOST : LUMEN_ABI_ANY;
  }

  std::mt19937 random;
  std::vector<std::pair<std::vector<uint32_t>, uint32_t>> rows;
  std::vector<uint32_t> lastRow;
};

TEST_P(DeviceShareTest, SharesAsItComes) {
  for (bool isHidden : {false, true})
    for (unsigned seed = 0; seed < 15; ++seed) {
      Weak memory("", isHidden);
      MixedModel model(seed);
      OpenModel opened(model.finish(), name());
      ASSERT_STREQ(opened.status.message, "");
      for (int i = 1; i < 4; ++i) {
        Values x(model, i);
        lumen_value in[] = {x.value()}, out[1] = {};
        ASSERT_EQ(opened.run(in, out), "");
        std::vector<float> found(floats(out[0]), floats(out[0]) + model.n);
        ASSERT_EQ(found, model.expected(x)) << "seed " << seed << ", hidden " << isHidden;
      }
    }
}

TEST_P(DeviceShareTest, TwoContextsShare) {
  for (bool isHidden : {false, true}) {
    Weak memory("", isHidden);
    MixedModel model(7);
    OpenModel opened(model.finish(), name());
    ASSERT_STREQ(opened.status.message, "");
    auto runOften = [&] {
      lumen_context *context = nullptr;
      ASSERT_EQ(lumen_context_create(opened.model, nullptr, &context, nullptr), LUMEN_OK);
      for (int i = 1; i < 10; ++i) {
        Values x(model, i);
        lumen_value in = x.value(), out = {};
        ASSERT_EQ(lumen_run(context, &in, 1, &out, 1, nullptr), LUMEN_OK);
        ASSERT_EQ(std::vector<float>(floats(out), floats(out) + model.n), model.expected(x));
      }
      lumen_context_free(context);
    };
    std::thread other(runOften);
    runOften();
    other.join();
  }
}

// Launches in a row on one side copy nothing between them, and wait for nothing.
TEST_P(DeviceShareTest, CopiesWhatIsMissing) {
  Weak memory("", /*isHidden=*/true);
  DeviceModel model;
  uint32_t x = model.in("x"), a = model.slot(0, 9), b = model.slot(0, 9), c = model.slot(0, 9),
           y = model.out("y");
  auto onHost = [&](std::vector<uint32_t> from, uint32_t to) {
    model.sum(std::move(from), to);
    model.launches.back().affinity = LUMEN_ABI_HOST;
  };
  model.sum({x}, a); // x goes there
  model.sum({a}, b);
  onHost({a, b}, c);    // a and b come back
  onHost({a, c}, c);    // nothing
  onHost({b, c}, b);    // nothing, and b is dead there
  model.sum({a, c}, a); // c goes there
  model.sum({a, c}, y); // nothing; y comes back in the end
  OpenModel opened(model.finish(), name());
  ASSERT_STREQ(opened.status.message, "");
  Values given(model, 1);
  lumen_value in[] = {given.value()}, out[1] = {};
  ASSERT_EQ(lumen_profile_enable(opened.context, nullptr), LUMEN_OK);
  ASSERT_EQ(opened.run(in, out), "");
  uint32_t count;
  const lumen_profile_entry *entries = lumen_profile_entries(opened.context, &count);
  ASSERT_EQ(count, 9u);
  EXPECT_EQ(entries[7].total_bytes, 2 * model.n * sizeof(float));
  EXPECT_EQ(entries[8].total_bytes, 3 * model.n * sizeof(float));
  for (int i : {0, 3}) {
    auto v = static_cast<float>(i);
    float a0 = v + 1, b0 = a0 + 1, c0 = a0 + b0 + 1, c1 = a0 + c0 + 1, a1 = a0 + c1 + 1;
    EXPECT_EQ(floats(out[0])[i], a1 + c1 + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeviceShareTest, testing::ValuesIn(deviceKinds()), kindName);

} // namespace
