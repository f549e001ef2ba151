// Which bytes are where: as one flag for each byte and place would say.
#include <gtest/gtest.h>

#include <array>
#include <random>

extern "C" {
#include "places.h"
}

namespace {

constexpr uintptr_t size = 200;

class PlacesTest : public testing::Test {
protected:
  ~PlacesTest() override { lumen_places_free(&places); }

  // All bytes that a place misses, by the pieces that it tells.
  std::array<bool, size> missing(lumen_place place) {
    std::array<bool, size> result = {};
    lumen_span rest = {0, size}, piece;
    uintptr_t last = 0;
    while (lumen_places_missing(&places, place, rest, &piece)) {
      EXPECT_LT(piece.begin, piece.end);
      EXPECT_GE(piece.begin, last);
      for (uintptr_t at = piece.begin; at < piece.end; ++at)
        result[at] = true;
      rest.begin = last = piece.end;
    }
    return result;
  }

  lumen_places places = {};
};

TEST_F(PlacesTest, AreThoseOfEachByte) {
  std::mt19937 random(1);
  std::array<bool, size> stale[2] = {};
  for (int turn = 0; turn < 5000; ++turn) {
    auto place = static_cast<lumen_place>(random() % 2);
    uintptr_t begin = random() % size;
    lumen_span bytes = {begin, begin + random() % std::min<uintptr_t>(size - begin, 30)};
    bool writes = random() % 3;
    ASSERT_TRUE(writes ? lumen_places_write(&places, place, bytes)
                       : lumen_places_bring(&places, place, bytes));
    for (uintptr_t at = bytes.begin; at < bytes.end; ++at) {
      stale[place][at] = false;
      if (writes)
        stale[1 - place][at] = true;
    }
    ASSERT_EQ(missing(lumen_on_host), stale[lumen_on_host]) << "turn " << turn;
    ASSERT_EQ(missing(lumen_on_device), stale[lumen_on_device]) << "turn " << turn;
    // Neighbours are one.
    for (const lumen_spans &spans : places.stale)
      for (uint32_t i = 1; i < spans.count; ++i)
        ASSERT_LT(spans.items[i - 1].end, spans.items[i].begin);
  }
}

TEST_F(PlacesTest, CopyIsEqualAndApart) {
  lumen_places copy = {};
  ASSERT_TRUE(lumen_places_write(&places, lumen_on_host, {10, 20}));
  ASSERT_TRUE(lumen_places_copy(&copy, &places));
  ASSERT_TRUE(lumen_places_write(&places, lumen_on_device, {0, size}));
  lumen_span piece;
  EXPECT_FALSE(lumen_places_missing(&copy, lumen_on_host, {0, size}, &piece));
  ASSERT_TRUE(lumen_places_missing(&copy, lumen_on_device, {12, 15}, &piece));
  EXPECT_EQ(piece.begin, 12u);
  EXPECT_EQ(piece.end, 15u);
  lumen_places_free(&copy);
}

} // namespace
