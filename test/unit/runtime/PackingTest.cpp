// Places in the arena for live ranges whose sizes the run knows.
#include "packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

namespace {

// A chain of launches with some longer edges, as in networks.
std::vector<lumen_range> network(uint32_t count, uint32_t longest, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<lumen_range> ranges(count);
  for (uint32_t i = 0; i < count; ++i)
    ranges[i] = {i,
                 i + 1 + static_cast<uint32_t>(random() % 8 ? 0 : random() % longest),
                 64 * (random() % 1000),
                 0,
                 0,
                 0};
  return ranges;
}

struct Result {
  uint64_t size, bound;
};

Result pack(std::vector<lumen_range> &ranges) {
  lumen_packing *packing = lumen_packing_create(ranges.data(), ranges.size());
  Result result;
  lumen_pack(packing, ranges.data(), &result.size, &result.bound);
  lumen_packing_free(packing);
  return result;
}

void expectValid(const std::vector<lumen_range> &ranges, const Result &result) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    const lumen_range &a = ranges[i];
    ASSERT_EQ(a.offset % 64, 0u);
    ASSERT_LE(a.offset + a.size, result.size);
    for (size_t k = 0; k < i; ++k) {
      const lumen_range &b = ranges[k];
      bool together = a.first <= b.last && b.first <= a.last && a.size && b.size;
      bool apart = a.offset + a.size <= b.offset || b.offset + b.size <= a.offset;
      ASSERT_TRUE(!together || apart || (a.fixed && b.fixed)) << i << " and " << k;
    }
  }
}

// No two that live at a time share bytes, and the bound is the peak, however many
// overlap.
TEST(PackingTest, RandomRanges) {
  for (uint32_t seed = 0; seed < 60; ++seed)
    for (uint32_t longest : {1u, 5u, 400u}) {
      std::vector<lumen_range> ranges = network(seed * 7, longest, seed);
      Result result = pack(ranges);
      expectValid(ranges, result);
      uint64_t peak = 0;
      for (uint32_t step = 0; step < 2000; ++step) {
        uint64_t live = 0;
        for (const lumen_range &range : ranges)
          live += range.first <= step && step <= range.last ? range.size : 0;
        peak = std::max(peak, live);
      }
      ASSERT_EQ(result.bound, peak);
      ASSERT_GE(result.size, peak);
    }
}

// Ranges with a place keep it, and nothing is put over them.
TEST(PackingTest, FixedRanges) {
  std::vector<lumen_range> ranges = {
      {0, 9, 640, 128, 1, 0}, {0, 3, 128, 0, 0, 0}, {2, 5, 64, 0, 0, 0}};
  Result result = pack(ranges);
  EXPECT_EQ(ranges[0].offset, 128u);
  expectValid(ranges, result);
  EXPECT_EQ(result.size, 832u);
}

// What a network needs is within a few percent of what it cannot do without.
TEST(PackingTest, NearTheBound) {
  uint64_t sizes = 0, bounds = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::vector<lumen_range> ranges = network(300, 30, seed);
    Result result = pack(ranges);
    sizes += result.size;
    bounds += result.bound;
  }
  EXPECT_LE(sizes, bounds + bounds / 20);
}

// Ranges that no order of the greedy kind packs well: those of a bidirectional LSTM for
// a batch of 4 and a sequence of 17.
TEST(PackingTest, Mends) {
  const uint32_t rows[][3] = {{0, 5, 2752}, {1, 3, 3072}, {2, 3, 13056}, {3, 7, 3264}, {3, 10, 192},
                              {3, 13, 192}, {4, 6, 3072}, {5, 6, 13056}, {6, 8, 3264}, {6, 11, 192},
                              {6, 14, 192}, {7, 9, 6528}, {10, 12, 384}, {13, 15, 384}};
  std::vector<lumen_range> ranges;
  for (auto [first, last, size] : rows)
    ranges.push_back({first, last, size, 0, 0, 0});
  Result result = pack(ranges);
  expectValid(ranges, result);
  EXPECT_EQ(result.bound, 23424u);
  EXPECT_LE(result.size, result.bound + result.bound / 32);
}

// Thousands of storages are planned in a time that a caller does not notice; the
// limit is generous, for machines under load.
TEST(PackingTest, Time) {
  for (uint32_t count : {300u, 10000u})
    for (uint32_t longest : {30u, 3000u}) {
      std::vector<lumen_range> ranges = network(count, longest, 1);
      auto begin = std::chrono::steady_clock::now();
      Result result = pack(ranges);
      auto spent = std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::steady_clock::now() - begin)
                       .count();
      RecordProperty("us_" + std::to_string(count) + "_" + std::to_string(longest),
                     std::to_string(spent));
      printf("%u ranges of up to %u steps: %lld us, %.1f%% above the bound\n", count, longest,
             static_cast<long long>(spent), 100.0 * result.size / result.bound - 100.0);
      EXPECT_LT(spent, 20'000'000);
    }
}

} // namespace
