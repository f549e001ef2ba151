// A run of fixed shapes allocates nothing, on any thread.
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

using namespace lumen::test;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZER_OWNS_ALLOCATOR 1
#else
#define SANITIZER_OWNS_ALLOCATOR 0

static std::atomic<long> allocations;

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_memalign(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
}
#endif

namespace {

TEST(NoAllocationTest, Run) {
#if SANITIZER_OWNS_ALLOCATOR
  GTEST_SKIP() << "the sanitizer owns the allocator";
#else
  FakeModel fake;
  lumen_model *model;
  lumen_context *context;
  lumen_model_options options = {};
  options.num_threads = 2;
  ASSERT_EQ(lumen_model_open(&fake.module, &options, &model, nullptr), LUMEN_OK);
  ASSERT_EQ(lumen_context_create(model, nullptr, &context, nullptr), LUMEN_OK);
  std::vector<float> x(FakeModel::n, 1.0f), y(FakeModel::n);
  int64_t shape[] = {FakeModel::n};
  lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape);
  lumen_value owned = {}, own = lumen_output_buffer(y.data(), y.size() * sizeof(float));
  long before = allocations;
  ASSERT_GT(before, 0) << "the counter works";
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(lumen_run(context, &in, 1, &owned, 1, nullptr), LUMEN_OK);
    ASSERT_EQ(lumen_run(context, &in, 1, &own, 1, nullptr), LUMEN_OK);
  }
  EXPECT_EQ(allocations, before);
  lumen_context_free(context);
  lumen_model_free(model);
#endif
}

} // namespace
