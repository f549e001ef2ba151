// Control flow and values whose size only the run knows.
#include "TableModel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

using namespace lumen::test;

namespace {

// Kernels of integers, whose sizes say how many.

int copy(void *const *args, const int64_t *sizes, int64_t, int64_t, int32_t, void *) {
  if (sizes[0])
    std::memcpy(args[1], args[0], sizes[0] * sizeof(int64_t));
  return LUMEN_ABI_OK;
}
int addOne(void *const *args, const int64_t *sizes, int64_t, int64_t, int32_t, void *) {
  auto *x = static_cast<const int64_t *>(args[0]);
  auto *y = static_cast<int64_t *>(args[1]);
  for (int64_t i = 0; i < sizes[0]; ++i)
    y[i] = x[i] + 1;
  return LUMEN_ABI_OK;
}
int isBelow(void *const *args, const int64_t *, int64_t, int64_t, int32_t, void *) {
  int64_t x, limit;
  std::memcpy(&x, args[0], sizeof(x));
  std::memcpy(&limit, args[1], sizeof(limit));
  *static_cast<uint8_t *>(args[2]) = x < limit;
  return LUMEN_ABI_OK;
}
int set(void *const *args, const int64_t *sizes, int64_t, int64_t, int32_t, void *) {
  std::memcpy(args[0], &sizes[0], sizeof(int64_t));
  return LUMEN_ABI_OK;
}

// Positions of the positive elements of x: counted into the arena, read by the
// steps, then written to an output of just that size.
struct FindModel : TableModel {
  static constexpr int64_t n = 50;

  static int count(void *const *args, const int64_t *, int64_t, int64_t, int32_t, void *) {
    auto *x = static_cast<const float *>(args[0]);
    int64_t found = 0;
    for (int64_t i = 0; i < n; ++i)
      found += x[i] > 0;
    std::memcpy(args[1], &found, sizeof(found));
    return LUMEN_ABI_OK;
  }
  static int find(void *const *args, const int64_t *, int64_t, int64_t, int32_t, void *) {
    auto *x = static_cast<const float *>(args[0]);
    auto *scratch = static_cast<int64_t *>(args[1]), *y = static_cast<int64_t *>(args[2]);
    int64_t found = 0;
    for (int64_t i = 0; i < n; ++i)
      if (x[i] > 0)
        y[found] = scratch[found] = i, ++found;
    return LUMEN_ABI_OK;
  }

  explicit FindModel(bool bounded) : TableModel("find") {
    uint32_t eight = constant(8), most = constant(40);
    finishEntry();
    uint32_t found = symbol("found"), extent = valueOf(found), bytes = mul(extent, eight);
    uint32_t x = input("x", LUMEN_ABI_F32, {fixed(n)});
    uint32_t y = output("y", LUMEN_ABI_I64,
                        {dynamic("found", extent, bounded ? most : LUMEN_ABI_NONE)}, bytes);
    uint32_t counted = arena(eight, 0, 1), scratch = heap(bytes);
    step(LUMEN_ABI_STEP_LAUNCH, launch(count, {x, counted}, 1));
    step(LUMEN_ABI_STEP_BIND, found, counted, LUMEN_ABI_I64);
    step(LUMEN_ABI_STEP_EVAL, extent, 2);
    uint32_t thirty = constant(30);
    step(LUMEN_ABI_STEP_EVAL, thirty, 1);
    step(LUMEN_ABI_STEP_CHECK, check(LUMEN_ABI_CHECK_LESS_EQUAL, extent, bounded ? extent : thirty,
                                     "Find 'f'", "the number of matches"));
    step(LUMEN_ABI_STEP_ALLOC, storageOf(scratch));
    step(LUMEN_ABI_STEP_ALLOC, storageOf(y));
    step(LUMEN_ABI_STEP_LAUNCH, launch(find, {x, scratch, y}, 2));
    step(LUMEN_ABI_STEP_FREE, storageOf(scratch));
    step(LUMEN_ABI_STEP_FREE, storageOf(scratch));
  }

  std::string find(OpenModel &opened, int found, lumen_value &out) {
    float x[n];
    for (int i = 0; i < n; ++i)
      x[i] = i < found ? 1 : -1;
    int64_t shape[1] = {n};
    lumen_value inputs[1] = {lumen_tensor_value(x, LUMEN_F32, 1, shape)}, outputs[1] = {out};
    std::string message = opened.run(inputs, outputs);
    out = outputs[0];
    return message;
  }
};

void expectPositions(const lumen_value &out, int64_t found) {
  ASSERT_EQ(out.u.tensor.shape[0], found);
  for (int64_t i = 0; i < found; ++i)
    ASSERT_EQ(static_cast<const int64_t *>(out.u.tensor.data)[i], i);
}

TEST(FindTest, SizeOnlyTheRunKnows) {
  FindModel fake(/*bounded=*/false);
  OpenModel opened(fake);
  ASSERT_NE(opened.context, nullptr) << opened.status.message;
  lumen_value out = {};
  for (int found : {1, 30, 7, 0}) {
    ASSERT_EQ(fake.find(opened, found, out), "");
    expectPositions(out, found);
  }
  EXPECT_GT(opened.memory().heap_high_water, 480u);
  int64_t shape[1] = {FindModel::n};
  lumen_value in = lumen_tensor_value(nullptr, LUMEN_F32, 1, shape);
  lumen_shape shapes;
  ASSERT_EQ(lumen_output_shapes(opened.context, &in, 1, &shapes, 1, nullptr), LUMEN_OK);
  EXPECT_EQ(shapes.exact, 0u);
  EXPECT_EQ(shapes.dims[0], -1);
}

TEST(FindTest, CheckInTheRun) {
  FindModel fake(/*bounded=*/false);
  OpenModel opened(fake);
  lumen_value out = {};
  EXPECT_EQ(fake.find(opened, 31, out),
            "find: Find 'f': the number of matches is 31, expected at most 30");
  EXPECT_EQ(opened.status.code, LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fake.find(opened, 3, out), "");
  expectPositions(out, 3);
}

// Nobody can say how large the caller's memory would have to be.
TEST(FindTest, CallerCannotOwnUnbounded) {
  FindModel fake(/*bounded=*/false);
  OpenModel opened(fake);
  int64_t memory[FindModel::n];
  lumen_value out = lumen_output_buffer(memory, sizeof(memory));
  EXPECT_EQ(fake.find(opened, 3, out), "output 'y': its size is known only after the run, so its "
                                       "memory must be the context's (data NULL)");
}

// A result in the heap is gone when the next run begins.
TEST(FindTest, OutputAsInput) {
  FindModel fake(/*bounded=*/false);
  OpenModel opened(fake);
  lumen_value out = {};
  ASSERT_EQ(fake.find(opened, 30, out), "");
  int64_t shape[1] = {FindModel::n};
  auto *y = static_cast<int64_t *>(out.u.tensor.data);
  lumen_value inputs[1] = {lumen_tensor_value(y, LUMEN_F32, 1, shape)}, outputs[1] = {};
  EXPECT_EQ(opened.run(inputs, outputs),
            "input 'x': lies in output 'y' of the last run, copy it first");
  inputs[0].u.tensor.data = y + 1;
  EXPECT_EQ(opened.run(inputs, outputs),
            "input 'x': lies in an output of the last run, copy it first");
  EXPECT_EQ(fake.find(opened, 7, out), "");
  expectPositions(out, 7);
}

// With a bound the caller's memory serves, and no run writes beyond it.
TEST(FindTest, Bounded) {
  FindModel fake(/*bounded=*/true);
  OpenModel opened(fake);
  int64_t memory[40];
  lumen_value out = lumen_output_buffer(memory, sizeof(memory)), owned = {};
  for (int found : {3, 40}) {
    ASSERT_EQ(fake.find(opened, found, out), "");
    EXPECT_EQ(out.u.tensor.data, memory);
    expectPositions(out, found);
    ASSERT_EQ(fake.find(opened, found, owned), "");
    expectPositions(owned, found);
  }
  EXPECT_EQ(fake.find(opened, 41, out), "output 'y': has 328 bytes, expected at most 320");
  EXPECT_EQ(opened.status.code, LUMEN_ERROR_MODEL);
  out = lumen_output_buffer(memory, 319);
  EXPECT_EQ(fake.find(opened, 3, out), "output 'y': capacity is 319 bytes, expected at least 320");
}

// Loop of at most `trips` iterations over a carried vector of `n`, to which each
// adds 1 until its first element reaches `limit`; the vectors of all iterations
// are stacked. Carried values lie in the arena and swap.
struct LoopModel : TableModel {
  LoopModel() : TableModel("loop") {
    uint32_t nSymbol = symbol("n");
    n = valueOf(nSymbol);
    one = constant(1);
    eight = constant(8);
    uint32_t bytes = mul(n, eight), zero = constant(0);
    uint32_t x = input("x", LUMEN_ABI_I64, {dynamic("n", nSymbol)});
    trips = input("trips", LUMEN_ABI_I64, {});
    uint32_t limit = input("limit", LUMEN_ABI_I64, {});
    last = output("last", LUMEN_ABI_I64, {dynamic("n", n, n)}, bytes);
    a = arena(bytes, 0, 100);
    b = arena(bytes, 0, 100);
    condition = arena(one, 0, 100);
    finishEntry();
    uint32_t most = symbol("trip count"), mostValue = valueOf(most);
    uint32_t i = symbol("i"), iValue = valueOf(i), next = add(iValue, one);
    uint32_t go = symbol("condition"), goValue = valueOf(go), left = sub(mostValue, iValue);
    uint32_t all = mul(iValue, bytes);
    all_ = output("all", LUMEN_ABI_I64, {dynamic("i", iValue), dynamic("n", n, n)}, all);
    scanned = heap(zero);

    step(LUMEN_ABI_STEP_BIND, most, trips, LUMEN_ABI_I64);
    step(LUMEN_ABI_STEP_EVAL, mostValue, 1);
    step(LUMEN_ABI_STEP_SET, i, zero);
    step(LUMEN_ABI_STEP_ALLOC, storageOf(scanned));
    step(LUMEN_ABI_STEP_LAUNCH, launch(copy, {x, a}, 1, {n}));
    uint32_t head = step(LUMEN_ABI_STEP_EVAL, iValue, 5);
    uint32_t toEnd = step(LUMEN_ABI_STEP_BRANCH, left, 0);
    step(LUMEN_ABI_STEP_LAUNCH, launch(isBelow, {a, limit, condition}, 1));
    step(LUMEN_ABI_STEP_BIND, go, condition, LUMEN_ABI_BOOL);
    step(LUMEN_ABI_STEP_EVAL, goValue, 1);
    uint32_t exit = step(LUMEN_ABI_STEP_BRANCH, goValue, 0);
    step(LUMEN_ABI_STEP_LAUNCH, launch(addOne, {a, b}, 1, {n}));
    step(LUMEN_ABI_STEP_APPEND, storageOf(scanned), b, bytes);
    step(LUMEN_ABI_STEP_SWAP, storageOf(a), storageOf(b));
    step(LUMEN_ABI_STEP_SET, i, next);
    step(LUMEN_ABI_STEP_JUMP, head);
    steps[toEnd].b = steps[exit].b = here();
    step(LUMEN_ABI_STEP_EVAL, all, 1);
    step(LUMEN_ABI_STEP_LAUNCH, launch(copy, {a, last}, 1, {n}));
    step(LUMEN_ABI_STEP_MOVE, storageOf(all_), storageOf(scanned));
  }
  uint32_t n, one, eight, trips, last, all_, a, b, condition, scanned;
};

struct LoopRun {
  std::string run(OpenModel &opened, int64_t n, int64_t trips, int64_t limit) {
    x.resize(n);
    for (int64_t i = 0; i < n; ++i)
      x[i] = 10 * i;
    shape = n;
    lumen_value inputs[3] = {lumen_tensor_value(x.data(), LUMEN_I64, 1, &shape),
                             lumen_tensor_value(&trips, LUMEN_I64, 0, nullptr),
                             lumen_tensor_value(&limit, LUMEN_I64, 0, nullptr)};
    return opened.run(inputs, outputs);
  }
  void expect(OpenModel &opened, int64_t n, int64_t trips, int64_t limit, int64_t made) {
    ASSERT_EQ(run(opened, n, trips, limit), "");
    ASSERT_EQ(outputs[0].u.tensor.shape[0], n);
    auto *last = static_cast<const int64_t *>(outputs[0].u.tensor.data);
    for (int64_t k = 0; k < n; ++k)
      ASSERT_EQ(last[k], x[k] + made);
    ASSERT_EQ(outputs[1].u.tensor.shape[0], made);
    ASSERT_EQ(outputs[1].u.tensor.shape[1], n);
    auto *all = static_cast<const int64_t *>(outputs[1].u.tensor.data);
    for (int64_t i = 0; i < made; ++i)
      for (int64_t k = 0; k < n; ++k)
        ASSERT_EQ(all[i * n + k], x[k] + i + 1);
  }
  std::vector<int64_t> x;
  int64_t shape = 0;
  lumen_value outputs[2] = {};
};

TEST(LoopTest, CarriesAndStacks) {
  LoopModel fake;
  OpenModel opened(fake);
  ASSERT_NE(opened.context, nullptr) << opened.status.message;
  LoopRun run;
  for (int64_t n : {1, 5, 200, 3}) {
    run.expect(opened, n, 6, 1000, 6);
    run.expect(opened, n, 7, 1000, 7);
    run.expect(opened, n, 1000, 3, 3); // ends early
    run.expect(opened, n, 0, 1000, 0); // never begins
    run.expect(opened, n, 10, -1, 0);
    run.expect(opened, n, 300, 1000, 300);
  }
  EXPECT_GE(opened.memory().heap_high_water, 300u * 200 * 8);
  EXPECT_EQ(opened.memory().num_plans, 4u);
}

TEST(LoopTest, NegativeTripCount) {
  LoopModel fake;
  OpenModel opened(fake);
  LoopRun run;
  EXPECT_EQ(run.run(opened, 3, -4, 10),
            "loop: trip count is -4, expected a size of 0 or more");
  run.expect(opened, 3, 4, 10, 4);
}

// A loop without an end is ended, and the context goes on.
TEST(LoopTest, Limit) {
  LoopModel fake;
  lumen_context_options options = {};
  options.max_iterations = 50;
  OpenModel opened(fake, options);
  LoopRun run;
  run.expect(opened, 3, 50, 1000, 50);
  EXPECT_EQ(run.run(opened, 3, 51, 1000), "loop: its loops have not ended after 50 iterations, the "
                                          "limit of this context (max_iterations); "
                                          "the last was at Node 'n'");
  EXPECT_EQ(opened.status.code, LUMEN_ERROR_MODEL);
  run.expect(opened, 3, 7, 1000, 7);
}

// If: one of two branches gives the value.
TEST(StepsTest, Branch) {
  TableModel model("if");
  uint32_t eight = model.constant(8), one = model.constant(1), two = model.constant(2);
  model.finishEntry();
  uint32_t condition = model.input("c", LUMEN_ABI_BOOL, {});
  uint32_t y = model.output("y", LUMEN_ABI_I64, {}, eight);
  uint32_t c = model.symbol("c"), value = model.valueOf(c);
  model.step(LUMEN_ABI_STEP_BIND, c, condition, LUMEN_ABI_BOOL);
  model.step(LUMEN_ABI_STEP_EVAL, value, 1);
  uint32_t branch = model.step(LUMEN_ABI_STEP_BRANCH, value);
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(set, {y}, 1, {one}));
  uint32_t jump = model.step(LUMEN_ABI_STEP_JUMP);
  model.steps[branch].b = model.here();
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(set, {y}, 1, {two}));
  model.steps[jump].a = model.here();
  OpenModel opened(model);
  for (uint8_t flag : {0, 1, 7}) {
    lumen_value inputs[1] = {lumen_tensor_value(&flag, LUMEN_BOOL, 0, nullptr)}, outputs[1] = {};
    ASSERT_EQ(opened.run(inputs, outputs), "");
    EXPECT_EQ(*static_cast<int64_t *>(outputs[0].u.tensor.data), flag ? 1 : 2);
  }
}

// Each type of integer is read as it is.
TEST(StepsTest, Bind) {
  struct Case {
    lumen_abi_dtype type;
    uint64_t bits;
    const char *error;
  };
  const char *negative = "bind: s is -1, expected a size of 0 or more";
  for (const Case &test : std::initializer_list<Case>{
           {LUMEN_ABI_I8, 0x7f, ""},
           {LUMEN_ABI_I8, 0xff, negative},
           {LUMEN_ABI_U8, 0xff, ""},
           {LUMEN_ABI_I16, 0x1234, ""},
           {LUMEN_ABI_I16, 0xffff, negative},
           {LUMEN_ABI_U16, 0xffff, ""},
           {LUMEN_ABI_I32, 0x12345678, ""},
           {LUMEN_ABI_I32, 0xffffffff, negative},
           {LUMEN_ABI_U32, 0xffffffff, ""},
           {LUMEN_ABI_I64, INT64_MAX, ""},
           {LUMEN_ABI_I64, UINT64_MAX, negative},
           {LUMEN_ABI_U64, INT64_MAX, ""},
           {LUMEN_ABI_U64, UINT64_MAX,
            "bind: s is 18446744073709551615, expected a size of at most "
            "9223372036854775807"}}) {
    TableModel model("bind");
    uint32_t eight = model.constant(8);
    model.finishEntry();
    uint32_t x = model.input("x", test.type, {});
    uint32_t y = model.output("y", LUMEN_ABI_I64, {}, eight);
    uint32_t s = model.symbol("s"), value = model.valueOf(s);
    model.step(LUMEN_ABI_STEP_BIND, s, x, test.type);
    model.step(LUMEN_ABI_STEP_EVAL, value, 1);
    model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(set, {y}, 1, {value}));
    OpenModel opened(model);
    lumen_value inputs[1] = {
        lumen_tensor_value(&test.bits, static_cast<lumen_dtype>(test.type), 0, nullptr)};
    lumen_value outputs[1] = {};
    ASSERT_EQ(opened.run(inputs, outputs), test.error);
    if (!*test.error)
      EXPECT_EQ(*static_cast<uint64_t *>(outputs[0].u.tensor.data), test.bits);
  }
}

// A slice begins where only the run knows, and never outside its value.
TEST(StepsTest, Offset) {
  TableModel model("slice");
  uint32_t eight = model.constant(8), size = model.constant(80), ten = model.constant(10);
  uint32_t zero = model.constant(0);
  model.finishEntry();
  uint32_t x = model.input("x", LUMEN_ABI_I64, {TableModel::fixed(10)});
  uint32_t at = model.input("at", LUMEN_ABI_I64, {});
  uint32_t y = model.output("y", LUMEN_ABI_I64, {}, eight);
  uint32_t s = model.symbol("s"), value = model.valueOf(s);
  uint32_t offset = model.mul(value, eight), back = model.sub(zero, offset),
           one = model.constant(1);
  uint32_t t = model.arena(size, 0, 9);
  model.step(LUMEN_ABI_STEP_BIND, s, at, LUMEN_ABI_I64);
  model.step(LUMEN_ABI_STEP_EVAL, value, 4);
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(copy, {x, t}, 1, {ten}));
  uint32_t part = model.part(t, offset);
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(copy, {part, y}, 1, {one}));
  OpenModel opened(model);
  int64_t data[10], shape = 10, position = 0;
  for (int i = 0; i < 10; ++i)
    data[i] = 100 + i;
  lumen_value inputs[2] = {lumen_tensor_value(data, LUMEN_I64, 1, &shape),
                           lumen_tensor_value(&position, LUMEN_I64, 0, nullptr)};
  lumen_value outputs[1] = {};
  for (position = 0; position < 10; ++position) {
    ASSERT_EQ(opened.run(inputs, outputs), "");
    EXPECT_EQ(*static_cast<int64_t *>(outputs[0].u.tensor.data), 100 + position);
  }
  position = 11;
  EXPECT_EQ(opened.run(inputs, outputs),
            "slice: Node 'n': a part of a value would begin at byte 88 of 80");
  model.buffers[part].offset_expr = back;
  EXPECT_EQ(opened.run(inputs, outputs),
            "slice: Node 'n': a part of a value would begin at byte -88 of 80");
}

// y = 1, or in the branch that `c` takes what a size makes of it, with a and b the
// extents of x. Computing an undefined size is no error, using it is.
struct UndefinedTest : testing::Test {
  UndefinedTest() {
    for (const char *name : {"a", "b"})
      extents.push_back(model.valueOf(model.symbol(name)));
    x = model.input("x", LUMEN_ABI_I64, {TableModel::dynamic("a", 0), TableModel::dynamic("b", 1)});
    condition = model.input("c", LUMEN_ABI_BOOL, {});
    eight = model.constant(8);
    one = model.constant(1);
    y = model.output("y", LUMEN_ABI_I64, {}, eight);
    quotient = model.div(extents[0], extents[1]);
    moreThanQuotient = model.add(quotient, one);
    difference = model.sub(extents[0], extents[1]);
  }
  // Before the steps: ends the entry, and goes past what follows unless c.
  void beginBranch() {
    model.finishEntry();
    uint32_t c = model.symbol("c"), value = model.valueOf(c);
    model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(set, {y}, 1, {one}));
    model.step(LUMEN_ABI_STEP_BIND, c, condition, LUMEN_ABI_BOOL);
    model.step(LUMEN_ABI_STEP_EVAL, value, 1);
    branch = model.step(LUMEN_ABI_STEP_BRANCH, value);
  }
  // The error of a run with these extents, where it is no wrong result.
  std::string run(OpenModel &opened, int64_t a, int64_t b, bool taken) {
    std::vector<int64_t> data(a * b + 1, 7);
    int64_t shape[2] = {a, b};
    uint8_t flag = taken;
    lumen_value inputs[2] = {lumen_tensor_value(data.data(), LUMEN_I64, 2, shape),
                             lumen_tensor_value(&flag, LUMEN_BOOL, 0, nullptr)};
    lumen_value outputs[1] = {};
    std::string message = opened.run(inputs, outputs);
    if (message.empty() && !taken)
      EXPECT_EQ(*static_cast<int64_t *>(outputs[0].u.tensor.data), 1);
    return message;
  }
  // The branch not taken runs, taken it fails; other extents and later runs are fine.
  void expectUsedOnly(const std::string &error, int64_t a = 6, int64_t b = 0) {
    model.steps[branch].b = model.here();
    OpenModel opened(model);
    ASSERT_NE(opened.context, nullptr) << opened.status.message;
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(run(opened, a, b, false), "");
      EXPECT_EQ(run(opened, a, b, true), error);
      EXPECT_EQ(opened.status.code, LUMEN_ERROR_INVALID_ARGUMENT);
      EXPECT_EQ(run(opened, 2, 1, false), "");
      EXPECT_EQ(run(opened, 2, 1, true), "");
    }
  }
  static int nothing(void *const *, const int64_t *, int64_t, int64_t, int32_t, void *) {
    return LUMEN_ABI_OK;
  }
  static int callNothing(lumen_abi_call_frame *) { return LUMEN_OK; }

  // Of the node, where one needs the size, and else of nothing.
  static std::string divided(const std::string &node = "") {
    return "undefined: " + node + "a size is divided by zero: 6 / 0 where a is 6, b is 0";
  }
  TableModel model{"undefined"};
  std::vector<uint32_t> extents;
  uint32_t x, condition, eight, one, y, quotient, moreThanQuotient, difference, branch;
};

TEST_F(UndefinedTest, Check) {
  beginBranch();
  model.step(LUMEN_ABI_STEP_CHECK, model.check(LUMEN_ABI_CHECK_LESS_EQUAL, one, moreThanQuotient,
                                               "Reshape 'r'", "the size"));
  expectUsedOnly(divided("Reshape 'r': "));
}

TEST_F(UndefinedTest, LaunchSize) {
  beginBranch();
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(nothing, {y}, 1, {one, moreThanQuotient}));
  expectUsedOnly(divided("Node 'n': "));
}

TEST_F(UndefinedTest, Set) {
  beginBranch();
  model.step(LUMEN_ABI_STEP_SET, model.symbol("s"), moreThanQuotient);
  expectUsedOnly(divided());
}

TEST_F(UndefinedTest, Branch) {
  beginBranch();
  uint32_t inner = model.step(LUMEN_ABI_STEP_BRANCH, moreThanQuotient);
  model.steps[inner].b = model.here();
  expectUsedOnly(divided());
}

TEST_F(UndefinedTest, Alloc) {
  beginBranch();
  model.step(LUMEN_ABI_STEP_ALLOC, model.storageOf(model.heap(moreThanQuotient)));
  expectUsedOnly(divided());
}

TEST_F(UndefinedTest, Append) {
  uint32_t zero = model.constant(0);
  beginBranch();
  uint32_t stack = model.heap(zero);
  model.step(LUMEN_ABI_STEP_ALLOC, model.storageOf(stack));
  model.step(LUMEN_ABI_STEP_APPEND, model.storageOf(stack), y, moreThanQuotient);
  expectUsedOnly(divided());
}

TEST_F(UndefinedTest, Offset) {
  uint32_t size = model.constant(64);
  uint32_t t = model.arena(size, 0, 9);
  beginBranch();
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(nothing, {model.part(t, quotient), y}, 1));
  expectUsedOnly(divided("Node 'n': "));
}

// Parts of what every run brings anew are found for each run.
TEST_F(UndefinedTest, OffsetInInput) {
  beginBranch();
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(nothing, {model.part(x, difference), y}, 1));
  expectUsedOnly("undefined: Node 'n': a part of a value would begin at byte -3 of "
                 "18446744073709551615",
                 2, 5);
}

TEST_F(UndefinedTest, CallSize) {
  beginBranch();
  model.step(LUMEN_ABI_STEP_CALL,
             model.call(callNothing, {{y, LUMEN_ABI_CALL_TENSOR, LUMEN_ABI_I64, 1}}, {},
                        {moreThanQuotient}));
  expectUsedOnly(divided("Call 'c': "));
}

TEST_F(UndefinedTest, Storage) {
  uint32_t t = model.arena(moreThanQuotient, 0, 9);
  beginBranch();
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(nothing, {t, y}, 1));
  expectUsedOnly(divided("Node 'n': "));
}

TEST_F(UndefinedTest, NegativeStorage) {
  uint32_t t = model.arena(difference, 0, 9);
  beginBranch();
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(nothing, {t, y}, 1));
  expectUsedOnly(
      "undefined: Node 'n': an intermediate value would have -3 bytes where a is 2, b is 5", 2, 5);
}

TEST_F(UndefinedTest, Bind) {
  uint32_t size = model.constant(64);
  uint32_t t = model.arena(size, 0, 9), u = model.arena(quotient, 0, 9);
  beginBranch();
  uint32_t s = model.symbol("s");
  model.step(LUMEN_ABI_STEP_BIND, s, model.part(t, quotient), LUMEN_ABI_BOOL);
  model.step(LUMEN_ABI_STEP_BIND, s, u, LUMEN_ABI_BOOL);
  expectUsedOnly(divided());
}

TEST_F(UndefinedTest, Overflow) {
  uint32_t most = model.constant(INT64_MAX), sum = model.add(most, difference);
  uint32_t product = model.mul(sum, quotient);
  beginBranch();
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(nothing, {y}, 1, {sum}));
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(nothing, {y}, 1, {product}));
  model.steps[branch].b = model.here();
  OpenModel opened(model);
  EXPECT_EQ(run(opened, 6, 0, false), "");
  EXPECT_EQ(run(opened, 6, 0, true), "undefined: Node 'n': a size leaves the range of 64 bits: "
                                     "9223372036854775807 + 6 where a is 6, b is 0");
  // The first cause is told, not what came of it.
  EXPECT_EQ(run(opened, 0, 0, false), "");
  EXPECT_EQ(run(opened, 0, 0, true),
            "undefined: Node 'n': a size is divided by zero: 0 / 0 where a is 0, b is 0");
}

// What a model assumes at its entry it uses, as it does the extents of its outputs.
TEST_F(UndefinedTest, EntryCheck) {
  model.check(LUMEN_ABI_CHECK_LESS_EQUAL, one, moreThanQuotient, "Reshape 'r'", "the size");
  beginBranch();
  model.steps[branch].b = model.here();
  OpenModel opened(model);
  EXPECT_EQ(run(opened, 6, 0, false), divided("Reshape 'r': "));
  EXPECT_EQ(run(opened, 6, 2, false), "");
}

TEST_F(UndefinedTest, OutputExtent) {
  model.outputs.clear();
  model.storages.pop_back();
  model.buffers.pop_back();
  y = model.output("y", LUMEN_ABI_I64, {TableModel::dynamic("a / b", quotient, quotient)});
  beginBranch();
  model.steps[branch].b = model.here();
  OpenModel opened(model);
  EXPECT_EQ(run(opened, 6, 0, false), divided("output 'y': "));
  EXPECT_EQ(run(opened, 6, 2, false), "");
}

// The sizes of a loop are evaluated once more than it has iterations: reshapes by
// n - i, which is 0 in the end.
TEST(StepsTest, UndefinedBehindTheLastIteration) {
  TableModel model("loop");
  uint32_t n = model.valueOf(model.symbol("n")), one = model.constant(1);
  uint32_t eight = model.constant(8), zero = model.constant(0), most = model.constant(60);
  uint32_t x = model.input("x", LUMEN_ABI_I64, {TableModel::dynamic("n", 0)});
  uint32_t y = model.output("y", LUMEN_ABI_I64, {}, eight);
  model.finishEntry();
  uint32_t i = model.symbol("i"), iValue = model.valueOf(i), next = model.add(iValue, one);
  uint32_t left = model.sub(n, iValue), rows = model.div(most, left);
  model.step(LUMEN_ABI_STEP_SET, i, zero);
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(set, {y}, 1, {zero}));
  uint32_t head = model.step(LUMEN_ABI_STEP_EVAL, iValue, 4);
  uint32_t exit = model.step(LUMEN_ABI_STEP_BRANCH, left);
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(set, {y}, 1, {rows}));
  model.step(LUMEN_ABI_STEP_SET, i, next);
  model.step(LUMEN_ABI_STEP_JUMP, head);
  model.steps[exit].b = model.here();
  (void)x;
  OpenModel opened(model);
  for (int64_t trips : {3, 0, 1}) {
    int64_t data[3] = {};
    lumen_value inputs[1] = {lumen_tensor_value(data, LUMEN_I64, 1, &trips)}, outputs[1] = {};
    ASSERT_EQ(opened.run(inputs, outputs), "");
    EXPECT_EQ(*static_cast<int64_t *>(outputs[0].u.tensor.data), trips ? 60 : 0);
  }
}

// A value that is made anew in each iteration does not add up.
TEST(StepsTest, ReusesTheHeap) {
  TableModel model("grow");
  uint32_t one = model.constant(1), zero = model.constant(0), most = model.constant(100);
  uint32_t bytes = model.constant(10000), eight = model.constant(8);
  model.finishEntry();
  uint32_t y = model.output("y", LUMEN_ABI_I64, {}, eight);
  uint32_t i = model.symbol("i"), value = model.valueOf(i), next = model.add(value, one);
  uint32_t left = model.sub(most, value), size = model.mul(value, bytes);
  uint32_t a = model.heap(size), b = model.heap(eight);
  model.step(LUMEN_ABI_STEP_SET, i, zero);
  uint32_t head = model.step(LUMEN_ABI_STEP_EVAL, value, 4);
  uint32_t exit = model.step(LUMEN_ABI_STEP_BRANCH, left);
  model.step(LUMEN_ABI_STEP_ALLOC, model.storageOf(a));
  model.step(LUMEN_ABI_STEP_ALLOC, model.storageOf(b));
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(set, {b}, 1, {value}));
  model.step(LUMEN_ABI_STEP_FREE, model.storageOf(a));
  model.step(LUMEN_ABI_STEP_SWAP, model.storageOf(a), model.storageOf(b));
  model.step(LUMEN_ABI_STEP_SET, i, next);
  model.step(LUMEN_ABI_STEP_JUMP, head);
  model.steps[exit].b = model.here();
  model.step(LUMEN_ABI_STEP_LAUNCH, model.launch(copy, {a, y}, 1, {one}));
  OpenModel opened(model);
  lumen_value outputs[1] = {};
  for (int run = 0; run < 3; ++run) {
    ASSERT_EQ(lumen_run(opened.context, nullptr, 0, outputs, 1, &opened.status), LUMEN_OK)
        << opened.status.message;
    EXPECT_EQ(*static_cast<int64_t *>(outputs[0].u.tensor.data), 99);
  }
  EXPECT_LT(opened.memory().heap_high_water, 2'000'000u);
}

// Launches of loops count in the profile each time.
TEST(StepsTest, Profile) {
  LoopModel fake;
  OpenModel opened(fake);
  ASSERT_EQ(lumen_profile_enable(opened.context, nullptr), LUMEN_OK);
  LoopRun run;
  run.expect(opened, 3, 6, 1000, 6);
  run.expect(opened, 3, 2, 1000, 2);
  uint32_t count;
  const lumen_profile_entry *entries = lumen_profile_entries(opened.context, &count);
  ASSERT_EQ(count, 4u);
  EXPECT_EQ(entries[0].count, 2u);
  EXPECT_EQ(entries[2].count, 8u);
  EXPECT_GE(entries[2].total_ns, 8 * entries[2].min_ns);
}

} // namespace
