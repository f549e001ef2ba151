// The heap of a context: blocks never share bytes, memory is used again, and a
// sequence of calls that comes again needs no more of it.
#include "heap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace {

class HeapTest : public testing::Test {
protected:
  void TearDown() override { lumen_heap_free(&heap); }
  lumen_heap heap = {};
};

TEST_F(HeapTest, AlignsAndReuses) {
  void *first = lumen_heap_alloc(&heap, 1);
  void *second = lumen_heap_alloc(&heap, 100000);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second) % 64, 0u);
  EXPECT_GE(lumen_heap_size(second), 100000u);
  lumen_heap_release(&heap, second);
  EXPECT_EQ(lumen_heap_alloc(&heap, 100000), second);
  EXPECT_NE(lumen_heap_alloc(&heap, 0), nullptr);
  EXPECT_EQ(lumen_heap_alloc(&heap, UINT64_MAX), nullptr);
  lumen_heap_release(&heap, nullptr);
}

// Neighbours that are free become one block, whichever goes last.
TEST_F(HeapTest, JoinsNeighbours) {
  for (int last = 0; last < 3; ++last) {
    lumen_heap_reset(&heap);
    char *blocks[3];
    for (char *&block : blocks)
      block = static_cast<char *>(lumen_heap_alloc(&heap, 1000));
    lumen_heap_alloc(&heap, 1000);
    for (int i = 1; i <= 3; ++i)
      lumen_heap_release(&heap, blocks[(last + i) % 3]);
    EXPECT_EQ(lumen_heap_alloc(&heap, 3000), blocks[0]) << last;
  }
}

// Random calls, twice from the same start: no block changes under another's
// hands, and the second time asks the system for nothing.
TEST_F(HeapTest, RandomCalls) {
  uint64_t capacity = 0;
  for (int round = 0; round < 3; ++round) {
    lumen_heap_reset(&heap);
    EXPECT_EQ(heap.used, 0u);
    std::mt19937 random(7);
    struct Block {
      unsigned char *bytes;
      size_t size;
      unsigned char mark;
    };
    std::vector<Block> live;
    for (int i = 0; i < 20000; ++i) {
      if (live.size() > 100 || (!live.empty() && random() % 2)) {
        size_t at = random() % live.size();
        Block block = live[at];
        for (size_t k = 0; k < block.size; k += 61)
          ASSERT_EQ(block.bytes[k], block.mark);
        lumen_heap_release(&heap, block.bytes);
        live.erase(live.begin() + at);
      } else {
        size_t size = random() % (random() % 10 ? 3000 : 300000);
        auto *bytes = static_cast<unsigned char *>(lumen_heap_alloc(&heap, size));
        ASSERT_NE(bytes, nullptr);
        std::memset(bytes, i, size);
        live.push_back({bytes, size, static_cast<unsigned char>(i)});
      }
    }
    if (round)
      EXPECT_EQ(heap.capacity, capacity);
    capacity = heap.capacity;
    EXPECT_LE(heap.used, heap.high_water);
  }
}

} // namespace
