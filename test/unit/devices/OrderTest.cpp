// Which commands wait for earlier ones, by what they touch.
#include "gpu_order.h"

#include <gtest/gtest.h>
#include <initializer_list>

namespace {

struct OrderTest : testing::Test {
  static gpu_access read(uint64_t at, uint64_t size) {
    return {reinterpret_cast<const void *>(at), size, false};
  }
  static gpu_access write(uint64_t at, uint64_t size) {
    return {reinterpret_cast<const void *>(at), size, true};
  }
  bool waits(std::initializer_list<gpu_access> accesses) {
    return gpu_order_add(&order, accesses.begin(), static_cast<uint32_t>(accesses.size()));
  }
  gpu_order order = {};
};

TEST_F(OrderTest, ReadsDoNotWaitForReads) {
  EXPECT_FALSE(waits({read(1000, 10)}));
  EXPECT_FALSE(waits({read(1000, 10), read(1005, 10)}));
}

TEST_F(OrderTest, WritesWaitForReads) {
  EXPECT_FALSE(waits({read(1000, 10)}));
  EXPECT_TRUE(waits({write(1009, 1)}));
}

TEST_F(OrderTest, ReadsAndWritesWaitForWrites) {
  EXPECT_FALSE(waits({write(1000, 10)}));
  EXPECT_TRUE(waits({read(995, 6)}));
  EXPECT_FALSE(waits({write(2000, 10)}));
  EXPECT_TRUE(waits({write(2000, 1)}));
}

// Side by side is apart, and so is what has no bytes.
TEST_F(OrderTest, NeighboursDoNotWait) {
  EXPECT_FALSE(waits({write(1000, 10)}));
  EXPECT_FALSE(waits({write(1010, 10), write(990, 10)}));
  EXPECT_FALSE(waits({write(1005, 0)}));
  EXPECT_FALSE(waits({write(985, 5)}));
}

// A command's own accesses are no reason, and what lies behind a barrier is forgotten.
TEST_F(OrderTest, WaitsOnce) {
  EXPECT_FALSE(waits({read(1000, 10), write(1000, 10)}));
  EXPECT_FALSE(waits({read(3000, 10)}));
  EXPECT_TRUE(waits({read(1000, 10)}));
  EXPECT_FALSE(waits({write(3000, 10)}));
  EXPECT_TRUE(waits({write(1000, 10)}));
}

TEST_F(OrderTest, WaitsWhenToldTo) {
  order.is_due = true;
  EXPECT_TRUE(waits({read(1000, 10)}));
  EXPECT_FALSE(waits({read(1000, 10)}));
}

// More than there is room for is forgotten behind a barrier.
TEST_F(OrderTest, WaitsForRoom) {
  for (uint64_t i = 0; i < gpu_most_accesses; ++i)
    EXPECT_FALSE(waits({write(1000 + 10 * i, 10)}));
  EXPECT_TRUE(waits({write(1, 1)}));
  EXPECT_FALSE(waits({read(1000, 10)}));
}

} // namespace
