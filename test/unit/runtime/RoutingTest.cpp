// Which launches a device runs: as computed by hand, and as all routes side by side tell.
#include "TableModel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

extern "C" {
#include "routing.h"
}

using namespace lumen::test;

namespace {

constexpr uint64_t MB = 1000 * 1000;

// A model of launches that each make one value of others, all of the same size. Value 0 is
// the input, value i + 1 what launch i makes; the last one is the output.
class RoutingTest : public testing::Test {
protected:
  struct Launch {
    double flops;
    uint64_t bytes;
    std::vector<uint32_t> reads;
  };

  static constexpr uint64_t valueBytes = 4 * MB;

  void make(std::vector<Launch> rows) {
    launches = std::move(rows);
    tables = std::make_unique<TableModel>("routes");
    std::vector<uint32_t> buffers = {
        tables->input("x", LUMEN_ABI_F32, {TableModel::fixed(valueBytes / 4)})};
    for (size_t i = 0; i + 1 < launches.size(); ++i) {
      buffers.push_back(tables->arena(LUMEN_ABI_NONE, i, launches.size()));
      tables->storages.back().offset = i * valueBytes;
    }
    buffers.push_back(tables->output("y", LUMEN_ABI_F32, {TableModel::fixed(valueBytes / 4)}));
    for (uint32_t buffer : buffers)
      tables->buffers[buffer].size = tables->storages[tables->storageOf(buffer)].size = valueBytes;
    for (size_t i = 0; i < launches.size(); ++i) {
      const Launch &row = launches[i];
      std::vector<uint32_t> args;
      for (uint32_t value : row.reads)
        args.push_back(buffers[value]);
      args.push_back(buffers[i + 1]);
      tables->launch(nullptr, {}, 1);
      tables->kernels.back().num_args = args.size();
      tables->argBuffers.insert(tables->argBuffers.end(), args.begin(), args.end());
      tables->launches.back().flops = row.flops;
      tables->launches.back().bytes = row.bytes;
    }
    tables->finish();
    hasCode.reset(new bool[launches.size()]);
    std::fill_n(hasCode.get(), launches.size(), true);
    routing.has_code = hasCode.get();
  }

  // "HDH": host, device, host.
  std::string route() {
    lumen_status status = {};
    lumen_router router = {};
    model owner = {};
    planner plans = {};
    plan *plan = nullptr;
    owner.abi = &tables->abi;
    owner.num_output_dims = 1;
    EXPECT_EQ(lumen_planner_open(&plans, &owner, &status), LUMEN_OK) << status.message;
    EXPECT_EQ(lumen_planner_find(&plans, nullptr, &plan, &status), LUMEN_OK) << status.message;
    EXPECT_TRUE(lumen_router_open(&router, &tables->abi, &routing));
    const lumen_route *found = lumen_router_follow(&router, plan, 0);
    EXPECT_EQ(found, lumen_router_follow(&router, plan, 0));
    std::string text;
    for (size_t i = 0; i < tables->launches.size(); ++i)
      text += found->on_host[i] ? 'H' : 'D';
    EXPECT_EQ(found->num_on_device, std::count(text.begin(), text.end(), 'D'));
    lumen_router_close(&router);
    lumen_planner_close(&plans);
    return text;
  }

  // Microseconds of a route, value by value.
  double costOf(const std::string &text) const {
    double cost = routing.host.run_us;
    std::vector<std::array<bool, 2>> isAt(launches.size() + 1); // by value: host, device
    isAt[0] = {true, false};
    char before = 'H';
    auto bring = [&](uint32_t value, bool toDevice) {
      if (!isAt[value][toDevice])
        cost += routing.is_shared ? 0 : valueBytes / (routing.device.copy_gbytes * 1e3);
      isAt[value][toDevice] = true;
    };
    for (size_t i = 0; i < launches.size(); ++i) {
      bool onDevice = text[i] == 'D';
      const lumen_device_rates &rates = onDevice ? routing.device : routing.host;
      if (onDevice && before == 'H')
        cost += routing.device.run_us;
      before = text[i];
      for (uint32_t value : launches[i].reads)
        bring(value, onDevice);
      isAt[i + 1] = {!onDevice, onDevice};
      cost += rates.launch_us + launches[i].flops / (rates.gflops * 1e3) +
              launches[i].bytes / (rates.gbytes * 1e3);
    }
    bring(launches.size(), false);
    return cost;
  }

  double bestCost() const {
    double best = INFINITY;
    for (size_t bits = 0; bits < size_t(1) << launches.size(); ++bits) {
      std::string text;
      for (size_t i = 0; i < launches.size(); ++i)
        text += bits >> i & 1 ? 'D' : 'H';
      best = std::min(best, costOf(text));
    }
    return best;
  }

  std::unique_ptr<TableModel> tables;
  std::vector<Launch> launches;
  std::unique_ptr<bool[]> hasCode;
  // 10 and 1000 GFLOP/s, 10 and 1 GB/s; 400 us a copy.
  lumen_routing routing = {
      {LUMEN_LATENCY, true}, {10, 10, 1, 1, 1, 0, 1}, {1000, 1, 10, 100, 1, 0, 10}, false, nullptr};
};

// What is heavy in the middle goes to the device where that pays the copies there and back.
TEST_F(RoutingTest, AnIslandThatPays) {
  make({{0, 8 * MB, {0}}, {1e9, 8 * MB, {1}}, {0, 8 * MB, {2}}});
  EXPECT_EQ(route(), "HDH");
  EXPECT_DOUBLE_EQ(costOf("HDH"), 1 + 801 + 100 + 400 + 10 + 1000 + 8000 + 400 + 801);
  // 100 ms of the host against 9 ms and two copies of 45 ms, of 50 ms.
  routing.device.copy_gbytes = 4 / 45.0;
  EXPECT_EQ(route(), "HDH");
  routing.device.copy_gbytes = 4 / 50.0;
  EXPECT_EQ(route(), "HHH");
  // Memory that both see takes no copies.
  routing.is_shared = true;
  EXPECT_EQ(route(), "HDH");
}

TEST_F(RoutingTest, SmallStaysAndLargeGoes) {
  routing.device.gbytes = 100;
  make({{1e6, 1000, {0}}, {1e6, 1000, {1}}});
  EXPECT_EQ(route(), "HH");
  make({{1e9, 1000, {0}}, {1e9, 1000, {1}}});
  EXPECT_EQ(route(), "DD");
}

// Between two heavy launches a light one is not worth the way to the host.
TEST_F(RoutingTest, DoesNotLeaveForLittle) {
  make({{1e9, 0, {0}}, {0, 500 * 1000, {1}}, {1e9, 0, {2}}});
  EXPECT_EQ(route(), "DDD");
}

TEST_F(RoutingTest, LeavesWhatTheDeviceHasNoCodeFor) {
  make({{1e9, 0, {0}}, {0, 0, {1}}, {1e9, 0, {2}}});
  hasCode[1] = false;
  EXPECT_EQ(route(), "DHD");
  hasCode[1] = true;
  tables->launches[1].affinity = LUMEN_ABI_HOST;
  EXPECT_EQ(route(), "DHD");
  routing.choice.routes = false;
  EXPECT_EQ(route(), "DHD");
}

// Without routing a device runs all that it can.
TEST_F(RoutingTest, OnlyWhereItIsWanted) {
  make({{0, 0, {0}}, {0, 0, {1}}});
  EXPECT_EQ(route(), "HH");
  routing.choice.routes = false;
  EXPECT_EQ(route(), "DD");
}

// Costs beside the work weigh as the kind of work wants it.
TEST_F(RoutingTest, ByWorkload) {
  routing.is_shared = true;
  make({{1e6, 0, {0}}}); // 100 us and 1 us, beside 110 us of launch and wait
  EXPECT_EQ(route(), "H");
  routing.choice.workload = LUMEN_GENERAL;
  EXPECT_EQ(route(), "D");
  make({{1e5, 0, {0}}});
  EXPECT_EQ(route(), "H");
  routing.choice.workload = LUMEN_THROUGHPUT;
  EXPECT_EQ(route(), "D");
}

// In a loop what is copied in each turn costs as often.
TEST_F(RoutingTest, Loops) {
  // 100 ms and 1 ms, 8 ms and 80 ms.
  std::vector<Launch> rows = {{1e9, 0, {0}}, {0, 80 * MB, {1}}};
  auto loop = [&] {
    make(rows);
    uint32_t begin = tables->step(LUMEN_ABI_STEP_LAUNCH, 0);
    tables->step(LUMEN_ABI_STEP_LAUNCH, 1);
    tables->step(LUMEN_ABI_STEP_JUMP, begin);
    tables->finish();
  };
  loop();
  EXPECT_EQ(route(), "DH");
  // 100 ms a copy: one in each turn, or two in all.
  routing.device.copy_gbytes = 0.04;
  EXPECT_EQ(route(), "DD");
  // Done once, that does not pay.
  make(rows);
  EXPECT_EQ(route(), "HH");
}

// A step by which the host reads a value brings it there, and ends the device's part.
TEST_F(RoutingTest, Steps) {
  make({{1e9, 0, {0}}, {1e6, 0, {1}}, {1e6, 0, {2}}});
  EXPECT_EQ(route(), "DDD");
  tables->step(LUMEN_ABI_STEP_LAUNCH, 0);
  tables->step(LUMEN_ABI_STEP_LAUNCH, 1);
  tables->step(LUMEN_ABI_STEP_BIND, 0, /*buffer=*/2, LUMEN_ABI_I64);
  tables->step(LUMEN_ABI_STEP_LAUNCH, 2);
  tables->finish();
  // On the device 111 us and a copy of 400 us, on the host 101 us.
  EXPECT_EQ(route(), "DDH");
}

// Along chains the best route is found, and what is found anywhere costs what it says and no
// more than one place alone.
TEST_F(RoutingTest, AmongAllRoutes) {
  std::mt19937 random(7);
  int numMixed = 0;
  for (int turn = 0; turn < 300; ++turn) {
    bool isChain = turn % 2;
    std::vector<Launch> rows(6);
    for (uint32_t i = 0; i < rows.size(); ++i) {
      rows[i] = {std::pow(10, random() % 4 + 5.0), (random() % 20) * MB / 10, {i}};
      if (!isChain && i && random() % 2)
        rows[i].reads.push_back(random() % i);
    }
    make(rows);
    routing.device.copy_gbytes = 1 + random() % 20;
    std::string found = route();
    numMixed += found.find('H') != found.npos && found.find('D') != found.npos;
    double cost = costOf(found);
    if (isChain)
      EXPECT_NEAR(cost, bestCost(), 1e-6 * cost) << found;
    EXPECT_LE(cost, std::min(costOf("HHHHHH"), costOf("DDDDDD")) * (1 + 1e-9)) << found;
    if (found.find('D') != found.npos)
      EXPECT_NEAR(lumen_routed_speed(&tables->abi, &routing),
                  lumen_rates_speed_in(&tables->abi, cost), 1e-6);
  }
  EXPECT_GT(numMixed, 50);
}

} // namespace
