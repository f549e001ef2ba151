// What a guarded model leaves its kernels to touch.
#include "TableModel.h"

#include "guard.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

using namespace lumen::test;

namespace {

// A sanitizer that remembers what it was told, the latest last.
struct Told {
  const char *begin;
  uint64_t size;
  bool isHidden;
};
std::vector<Told> told;
bool isThere;

bool isHidden(const void *address) {
  for (auto it = told.rbegin(); it != told.rend(); ++it)
    if (static_cast<uint64_t>(static_cast<const char *>(address) - it->begin) < it->size)
      return it->isHidden;
  return false;
}

constexpr lumen_guard guard = {
    [] { return isThere; },
    [](void *memory, uint64_t size) {
      told.push_back({static_cast<const char *>(memory), size, true});
    },
    [](void *memory, uint64_t size) {
      told.push_back({static_cast<const char *>(memory), size, false});
    }};

// t = a, then y = t; u lies in the arena beside t. Kernels look around themselves.
struct GuardedModel : TableModel {
  static constexpr int64_t n = 16; // t ends where a slot of the arena may begin

  struct Seen {
    bool own, behindOwn, scratch;
  };
  static inline std::vector<Seen> seen;

  static int copy(void *const *args, const int64_t *, int64_t, int64_t, int32_t, void *scratch) {
    auto *from = static_cast<const float *>(args[0]);
    auto *to = static_cast<float *>(args[1]);
    std::memcpy(to, from, n * sizeof(float));
    const float *inArena = seen.empty() ? to : from;
    seen.push_back({isHidden(inArena) || isHidden(inArena + n - 1), isHidden(inArena + n),
                    isHidden(scratch)});
    return LUMEN_ABI_OK;
  }
  static void extents(const int64_t *sizes, int64_t *extents) {
    extents[0] = extents[1] = extents[2] = sizes[0] * 4;
  }

  GuardedModel() : TableModel("guarded") {
    uint32_t batch = symbol("batch");
    uint32_t extent = valueOf(batch), bytes = mul(extent, constant(4));
    uint32_t a = input("a", LUMEN_ABI_F32, {dynamic("batch", batch)});
    uint32_t y = output("y", LUMEN_ABI_F32, {dynamic("batch", extent, extent)});
    uint32_t t = arena(bytes, 0, 1), u = arena(bytes, 0, 1);
    launch(copy, {a, t, u}, 2, {extent});
    launch(copy, {t, y, u}, 2, {extent});
    finishEntry();
    GuardedModel::guard(&::guard, extents);
    told.clear();
    seen.clear();
    isThere = true;
  }
};

// While a kernel runs, all memory of the context is hidden but its arguments, and what
// follows a value is never another one.
TEST(GuardTest, HidesAllButArguments) {
  GuardedModel model;
  OpenModel opened(model);
  ASSERT_NE(opened.context, nullptr) << opened.status.message;
  std::vector<float> a(GuardedModel::n, 3.5f);
  int64_t shape[] = {GuardedModel::n};
  lumen_value in[] = {lumen_tensor_value(a.data(), LUMEN_F32, 1, shape)}, out[1] = {};
  ASSERT_EQ(opened.run(in, out), "");
  ASSERT_EQ(GuardedModel::seen.size(), 2u);
  for (const GuardedModel::Seen &seen : GuardedModel::seen) {
    EXPECT_FALSE(seen.own);
    EXPECT_TRUE(seen.behindOwn);
    EXPECT_TRUE(seen.scratch); // no kernel asked for any
  }
  // The caller reads results as ever.
  auto *y = static_cast<const float *>(out[0].u.tensor.data);
  EXPECT_FALSE(isHidden(y));
  EXPECT_EQ(y[GuardedModel::n - 1], 3.5f);
}

// Without the sanitizer a kernel would jump to nowhere.
TEST(GuardTest, NeedsTheSanitizer) {
  GuardedModel model;
  isThere = false;
  OpenModel opened(model);
  EXPECT_EQ(opened.context, nullptr);
  EXPECT_STREQ(opened.status.message,
               "guarded: compiled with --sanitize=address, but the process has no "
               "AddressSanitizer: link its runtime into the program, or preload it");
}

} // namespace
