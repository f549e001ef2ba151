// Offsets never overlap in space and time, and reach the lower bound where they can.

#include "passes/memory/OffsetPacking.h"

#include <gtest/gtest.h>

#include <random>

using namespace lumen;

namespace {

void expectValid(const std::vector<LiveRange> &ranges, const Packing &packing, int64_t alignment) {
  ASSERT_EQ(packing.offsets.size(), ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(packing.offsets[i] % alignment, 0);
    EXPECT_LE(packing.offsets[i] + ranges[i].size, packing.size);
    for (size_t j = 0; j < i; ++j) {
      bool inTime = ranges[i].first <= ranges[j].last && ranges[j].first <= ranges[i].last;
      bool inSpace = packing.offsets[i] < packing.offsets[j] + ranges[j].size &&
                     packing.offsets[j] < packing.offsets[i] + ranges[i].size;
      EXPECT_FALSE(inTime && inSpace) << "ranges " << i << " and " << j;
    }
  }
}

TEST(OffsetPacking, ChainNeedsTwoBuffers) {
  std::vector<LiveRange> ranges;
  for (int64_t i = 0; i < 20; ++i)
    ranges.push_back({i, i + 1, 4096});
  Packing packing = packOffsets(ranges, 64);
  expectValid(ranges, packing, 64);
  EXPECT_EQ(packing.size, 2 * 4096);
  EXPECT_EQ(peakLiveBytes(ranges), 2 * 4096);
}

TEST(OffsetPacking, NothingToPack) {
  Packing packing = packOffsets({}, 64);
  EXPECT_EQ(packing.size, 0);
  EXPECT_TRUE(packing.offsets.empty());
  EXPECT_EQ(peakLiveBytes({}), 0);
}

TEST(OffsetPacking, RandomRangesNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<LiveRange> ranges(random() % 60 + 1);
    for (LiveRange &range : ranges) {
      range.first = random() % 40;
      range.last = range.first + random() % 8;
      range.size = random() % 5000; // zero and unaligned sizes too
    }
    Packing packing = packOffsets(ranges, 64);
    expectValid(ranges, packing, 64);
    EXPECT_GE(packing.size, peakLiveBytes(ranges));
  }
}

} // namespace
