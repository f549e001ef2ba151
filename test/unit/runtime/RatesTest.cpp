// What is known of devices' speed, and what that means for a model.
#include "TableModel.h"

#include "benchmark.h"
#include "rates.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace lumen::test;

namespace {

// A folder of its own, which nothing has been kept in.
class RatesTest : public testing::Test {
protected:
  RatesTest() { std::filesystem::remove_all(folder); }
  ~RatesTest() override { std::filesystem::remove_all(folder); }

  static lumen_device_rates find(const char *kind, const char *name) {
    lumen_device_rates rates = guess;
    lumen_rates_find(kind, name, &rates);
    return rates;
  }

  static constexpr lumen_device_rates guess = {1, 2, 3, 4, 0, 0, 5};
  std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                 ("lumen-rates-" + std::to_string(getpid()));
  ScopedEnv cache{"LUMEN_CACHE", folder.c_str()};
};

TEST_F(RatesTest, AreKept) {
  lumen_device_rates rates = {800, 90, 0.5, 20, 1, 0, 12};
  EXPECT_EQ(find("vulkan", "A/B (c)").gflops, guess.gflops);
  lumen_rates_keep("vulkan", "A/B (c)", &rates);
  lumen_device_rates found = find("vulkan", "A/B (c)");
  EXPECT_EQ(found.gflops, 800);
  EXPECT_EQ(found.gbytes, 90);
  EXPECT_EQ(found.launch_us, 0.5);
  EXPECT_EQ(found.run_us, 20);
  EXPECT_EQ(found.copy_gbytes, 12);
  EXPECT_EQ(found.is_measured, 1u);
  // Another device's guesses stay.
  EXPECT_EQ(find("vulkan", "A/B (d)").is_measured, 0u);
  EXPECT_EQ(find("cuda", "A/B (c)").is_measured, 0u);
}

TEST_F(RatesTest, OfABrokenFileAreGuesses) {
  lumen_device_rates rates = {800, 90, 0.5, 20, 1, 0, 12};
  lumen_rates_keep("cpu", "X", &rates);
  for (const char *text : {"", "800", "800 90 1 20", "800 90 nan 20 5", "800 90 -1 20 5", "v w x y z"}) {
    for (const auto &file : std::filesystem::directory_iterator(folder))
      std::ofstream(file.path(), std::ios::trunc) << text;
    EXPECT_EQ(find("cpu", "X").gflops, guess.gflops) << text;
  }
}

// A device with much more power wins where there is work for it, and loses where a run is
// many small launches.
TEST_F(RatesTest, SpeedOfAModel) {
  TableModel tables("speed");
  for (int i = 0; i < 100; ++i)
    tables.launch(nullptr, {}, 0);
  tables.finish();
  lumen_device_rates cpu = {100, 20, 1, 1, 0, 0, 1}, gpu = {8000, 300, 10, 50, 0, 0, 1};
  auto ratio = [&](uint64_t flops) {
    for (lumen_abi_launch &launch : tables.launches)
      launch.flops = flops;
    return lumen_rates_speed(&gpu, LUMEN_GENERAL, &tables.abi) /
           lumen_rates_speed(&cpu, LUMEN_GENERAL, &tables.abi);
  };
  EXPECT_LT(ratio(1000), 0.2);
  EXPECT_GT(ratio(1000 * 1000 * 1000), 20);
}

// For throughput a device has to have room for weights and four arenas; launches and waits
// count half in general.
TEST_F(RatesTest, Workloads) {
  TableModel tables("many");
  tables.launch(nullptr, {}, 0);
  tables.finish();
  tables.abi.weights_size = 600;
  tables.abi.arena_size = 100;
  EXPECT_EQ(lumen_fitting_part(&tables.abi, LUMEN_THROUGHPUT, 1000), 1);
  EXPECT_EQ(lumen_fitting_part(&tables.abi, LUMEN_THROUGHPUT, 250), 0.25);
  EXPECT_EQ(lumen_fitting_part(&tables.abi, LUMEN_LATENCY, 250), 1);
  lumen_device_rates rates = {1, 1, 8, 100, 0, 0, 1};
  EXPECT_EQ(lumen_launch_time(&rates, LUMEN_LATENCY, 2000, 3000), 8 + 2 + 3);
  EXPECT_EQ(lumen_launch_time(&rates, LUMEN_GENERAL, 2000, 3000), 4 + 2 + 3);
  EXPECT_EQ(lumen_launch_time(&rates, LUMEN_THROUGHPUT, 2000, 3000), 2 + 3);
  EXPECT_EQ(lumen_launch_time(&rates, LUMEN_THROUGHPUT, -1, 0), 1e4);
}

TEST_F(RatesTest, Measured) {
  lumen_device_rates rates;
  lumen_status status = {};
  ASSERT_EQ(lumen_benchmark_measure(&lumen_runtime_api, "cpu", &rates, &status), LUMEN_OK)
      << status.message;
  EXPECT_GT(rates.gflops, 0.1);
  EXPECT_GT(rates.gbytes, 0.1);
  EXPECT_LT(rates.launch_us, 1e4);
  FakeModel fake;
  lumen_device_info device;
  lumen_devices(&fake.module, &device, 1);
  EXPECT_EQ(find("cpu", device.name).is_measured, 1u);
  EXPECT_EQ(lumen_benchmark_measure(&lumen_runtime_api, "abacus", &rates, &status),
            LUMEN_ERROR_NOT_FOUND);
  // An artifact with code for the CPU alone carries nothing to measure with.
  EXPECT_EQ(lumen_benchmark(&fake.module, "cpu", &rates, &status), LUMEN_ERROR_UNSUPPORTED);
}

} // namespace
