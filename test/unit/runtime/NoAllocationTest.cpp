// A run of fixed shapes, or of shapes that came before, allocates nothing, on any
// thread.
#include "TableModel.h"

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

#if !SANITIZER_OWNS_ALLOCATOR
int64_t grid(const int64_t *sizes) { return sizes[0]; }
int copy(void *const *args, const int64_t *, int64_t begin, int64_t end, int32_t, void *) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(args[1])[i] = static_cast<const float *>(args[0])[i];
  return LUMEN_ABI_OK;
}
#endif

// Shapes that alternate are planned once each; then the arena of the largest one
// serves them all.
TEST(NoAllocationTest, SymbolicPlan) {
#if SANITIZER_OWNS_ALLOCATOR
  GTEST_SKIP() << "the sanitizer owns the allocator";
#else
  TableModel tables("chain");
  uint32_t n = tables.symbol("n"), extent = tables.valueOf(n);
  uint32_t bytes = tables.mul(extent, tables.constant(4));
  uint32_t value = tables.input("x", LUMEN_ABI_F32, {TableModel::dynamic("n", n)});
  for (uint32_t i = 0; i < 300; ++i) {
    uint32_t next = tables.arena(bytes, i, i + 1);
    tables.launch(copy, {value, next}, 1, {extent}, grid);
    value = next;
  }
  uint32_t y = tables.output("y", LUMEN_ABI_F32, {TableModel::dynamic("n", extent, extent)});
  tables.launch(copy, {value, y}, 1, {extent}, grid);
  tables.finishEntry();
  OpenModel opened(tables);
  ASSERT_NE(opened.context, nullptr) << opened.status.message;
  std::vector<float> x(1000, 1.0f);
  lumen_value out[1] = {};
  auto runAll = [&] {
    for (int64_t size = 8; size > 0; --size) {
      int64_t shape = 100 * size;
      lumen_value in[1] = {lumen_tensor_value(x.data(), LUMEN_F32, 1, &shape)};
      ASSERT_EQ(opened.run(in, out), "");
      ASSERT_EQ(static_cast<const float *>(out[0].u.tensor.data)[shape - 1], 1.0f);
    }
  };
  runAll();
  long before = allocations;
  for (int i = 0; i < 10; ++i)
    runAll();
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(opened.memory().num_plans, 8u);
#endif
}

// A loop that makes values of new sizes in the heap, stacks them and gives them out.
TEST(NoAllocationTest, HeapValues) {
#if SANITIZER_OWNS_ALLOCATOR
  GTEST_SKIP() << "the sanitizer owns the allocator";
#else
  TableModel tables("stack");
  uint32_t n = tables.symbol("n");
  uint32_t one = tables.constant(1), zero = tables.constant(0), four = tables.constant(4);
  uint32_t trips = tables.constant(100);
  uint32_t x = tables.input("x", LUMEN_ABI_F32, {TableModel::dynamic("n", n)});
  tables.finishEntry();
  uint32_t i = tables.symbol("i"), value = tables.valueOf(i), next = tables.add(value, one);
  uint32_t left = tables.sub(trips, value), bytes = tables.mul(value, four);
  uint32_t total = tables.symbol("total"), totalValue = tables.valueOf(total);
  uint32_t sum = tables.add(totalValue, value);
  uint32_t part = tables.heap(bytes), all = tables.heap(zero);
  uint32_t y = tables.output("y", LUMEN_ABI_F32, {TableModel::dynamic("total", totalValue)}, bytes);
  tables.step(LUMEN_ABI_STEP_SET, i, zero);
  tables.step(LUMEN_ABI_STEP_SET, total, zero);
  tables.step(LUMEN_ABI_STEP_ALLOC, tables.storageOf(all));
  uint32_t head = tables.step(LUMEN_ABI_STEP_EVAL, value, sum - value + 1);
  uint32_t exit = tables.step(LUMEN_ABI_STEP_BRANCH, left);
  tables.step(LUMEN_ABI_STEP_ALLOC, tables.storageOf(part));
  tables.step(LUMEN_ABI_STEP_LAUNCH, tables.launch(copy, {x, part}, 1, {value}, grid));
  tables.step(LUMEN_ABI_STEP_APPEND, tables.storageOf(all), part, bytes);
  tables.step(LUMEN_ABI_STEP_SET, total, sum);
  tables.step(LUMEN_ABI_STEP_SET, i, next);
  tables.step(LUMEN_ABI_STEP_JUMP, head);
  tables.steps[exit].b = tables.here();
  tables.step(LUMEN_ABI_STEP_MOVE, tables.storageOf(y), tables.storageOf(all));
  OpenModel opened(tables);
  ASSERT_NE(opened.context, nullptr) << opened.status.message;
  std::vector<float> data(1000, 2.0f);
  int64_t shape = 1000;
  lumen_value in[1] = {lumen_tensor_value(data.data(), LUMEN_F32, 1, &shape)}, out[1] = {};
  ASSERT_EQ(opened.run(in, out), "");
  long before = allocations;
  for (int run = 0; run < 10; ++run) {
    ASSERT_EQ(opened.run(in, out), "");
    ASSERT_EQ(out[0].u.tensor.shape[0], 4950);
    ASSERT_EQ(static_cast<const float *>(out[0].u.tensor.data)[4949], 2.0f);
  }
  EXPECT_EQ(allocations, before);
#endif
}

} // namespace
