// Shapes that the run knows: symbols, checks, plans and the arena.
#include "TableModel.h"

#include <gtest/gtest.h>

#include <vector>

using namespace lumen::test;

namespace {

// y[i] = a[i, 0] + a[i, 1] + b[i] over a batch that both inputs share, in two
// launches with an intermediate in the arena, and a bound of 100.
struct BatchModel : TableModel {
  static int64_t grid(const int64_t *sizes) { return sizes[0]; }
  static int sumRows(void *const *args, const int64_t *, int64_t begin, int64_t end, int32_t,
                     void *) {
    auto *a = static_cast<const float *>(args[0]);
    auto *t = static_cast<float *>(args[1]);
    for (int64_t i = begin; i < end; ++i)
      t[i] = a[2 * i] + a[2 * i + 1];
    return LUMEN_ABI_OK;
  }

  explicit BatchModel(int64_t bound = 100) : TableModel("batch") {
    uint32_t batch = symbol("batch");
    extent = valueOf(batch);
    bytes = mul(extent, constant(4));
    uint32_t a =
        input("a", LUMEN_ABI_F32, {dynamic("batch", batch, LUMEN_ABI_NONE, bound), fixed(2)});
    uint32_t b = input("b", LUMEN_ABI_F32, {dynamic("batch", batch, LUMEN_ABI_NONE, bound)});
    uint32_t y = output("y", LUMEN_ABI_F32, {dynamic("batch", extent, extent)});
    uint32_t t = arena(bytes, 0, 1);
    launch(sumRows, {a, t}, 1, {extent}, grid);
    launch(FakeModel::add, {t, b, y}, 1, {extent}, grid);
    finishEntry();
  }
  uint32_t extent, bytes;
};

class PlanTest : public testing::Test {
protected:
  void open(lumen_context_options options = {}) {
    opened.reset(new OpenModel(fake, options));
    ASSERT_NE(opened->context, nullptr) << opened->status.message;
  }
  void setShapes(int64_t batchA, int64_t batchB) {
    shapeA[0] = batchA;
    shapeB[0] = batchB;
    inputs[0] = lumen_tensor_value(a.data(), LUMEN_F32, 2, shapeA);
    inputs[1] = lumen_tensor_value(b.data(), LUMEN_F32, 1, shapeB);
  }
  std::string run(int64_t batchA, int64_t batchB) {
    a.resize(2 * batchA);
    b.resize(batchB);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = i + 1;
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = 100 * (i + 1);
    setShapes(batchA, batchB);
    return opened->run(inputs, outputs);
  }
  void expectRun(int64_t batch) {
    ASSERT_EQ(run(batch, batch), "");
    ASSERT_EQ(outputs[0].u.tensor.shape[0], batch);
    auto *y = static_cast<const float *>(outputs[0].u.tensor.data);
    for (int64_t i = 0; i < batch; ++i)
      ASSERT_EQ(y[i], a[2 * i] + a[2 * i + 1] + b[i]);
  }

  BatchModel fake;
  std::unique_ptr<OpenModel> opened;
  int64_t shapeA[2] = {0, 2}, shapeB[1] = {0};
  std::vector<float> a, b;
  lumen_value inputs[2], outputs[1] = {};
};

// One context serves all shapes, and plans a shape once while it is among the
// last eight.
TEST_F(PlanTest, Shapes) {
  open();
  for (int64_t batch : {3, 3, 90, 90, 1, 0, 3})
    expectRun(batch);
  EXPECT_EQ(opened->memory().num_plans, 4u);
  for (int round = 0; round < 3; ++round)
    for (int64_t batch = 1; batch <= 8; ++batch)
      expectRun(batch);
  EXPECT_EQ(opened->memory().num_plans, 10u) << "1 and 3 were known";
  // The one not used for the longest time goes.
  expectRun(9);
  expectRun(8);
  EXPECT_EQ(opened->memory().num_plans, 11u);
  expectRun(1);
  EXPECT_EQ(opened->memory().num_plans, 12u);
}

TEST_F(PlanTest, OutputShapes) {
  open();
  expectRun(4);
  setShapes(7, 7);
  inputs[0].u.tensor.data = inputs[1].u.tensor.data = nullptr;
  lumen_shape shape;
  ASSERT_EQ(lumen_output_shapes(opened->context, inputs, 2, &shape, 1, &opened->status), LUMEN_OK);
  EXPECT_EQ(shape.rank, 1);
  EXPECT_EQ(shape.exact, 1u);
  EXPECT_EQ(shape.dims[0], 7);
}

TEST_F(PlanTest, DisagreeingSymbol) {
  open();
  EXPECT_EQ(run(3, 4), "input 'b': dimension 0 ('batch') is 4, expected 3 as dimension 0 of "
                       "input 'a'");
  EXPECT_EQ(opened->status.code, LUMEN_ERROR_INVALID_ARGUMENT);
}

// A dimension that follows from others is checked, whether their plan is new or not.
TEST(ExtentsTest, FollowFromOthers) {
  TableModel model("cache");
  uint32_t past = model.symbol("past"), seq = model.symbol("seq");
  uint32_t sum = model.add(model.valueOf(past), model.valueOf(seq));
  model.input("mask", LUMEN_ABI_F32, {TableModel::dynamic("past + seq", LUMEN_ABI_NONE, sum)});
  model.input("k", LUMEN_ABI_F32,
              {TableModel::dynamic("past", past), TableModel::dynamic("seq", seq)});
  model.finishEntry();
  OpenModel opened(model);
  std::vector<float> data(100);
  int64_t mask = 7, shape[2] = {3, 4};
  lumen_value inputs[2] = {lumen_tensor_value(data.data(), LUMEN_F32, 1, &mask),
                           lumen_tensor_value(data.data(), LUMEN_F32, 2, shape)};
  auto run = [&] {
    opened.status = {};
    lumen_run(opened.context, inputs, 2, nullptr, 0, &opened.status);
    return std::string(opened.status.message);
  };
  const char *error = "input 'mask': dimension 0 ('past + seq') is 8, expected 7 where past is 3, "
                      "seq is 4";
  mask = 8;
  EXPECT_EQ(run(), error);
  mask = 7;
  EXPECT_EQ(run(), "");
  mask = 8;
  EXPECT_EQ(run(), error);
  shape[0] = 4;
  EXPECT_EQ(run(), "");
}

// What an input leaves out, another may bind; what all leave out is 0.
TEST_F(PlanTest, LeftOut) {
  fake.inputs[0].optional = 1;
  fake.launches.erase(fake.launches.begin());
  open();
  b = {1, 2};
  setShapes(0, 2);
  inputs[0] = {};
  EXPECT_EQ(opened->run(inputs, outputs), "");
  EXPECT_EQ(outputs[0].u.tensor.shape[0], 2);
}

TEST_F(PlanTest, BeyondBound) {
  open();
  EXPECT_EQ(run(101, 101), "input 'a': dimension 0 ('batch') is 101, expected at most 100");
}

// A failed plan leaves the context fit for the next run, also one that needs more
// memory than the run before the failure.
TEST_F(PlanTest, EntryChecks) {
  fake.check(LUMEN_ABI_CHECK_LESS_EQUAL, fake.extent, fake.bytes, "Pool 'p'", "sizes");
  uint32_t twelve = fake.constant(12), one = fake.constant(1);
  uint32_t rest = fake.sub(fake.extent, fake.mul(fake.div(fake.extent, twelve), twelve));
  fake.check(LUMEN_ABI_CHECK_BROADCAST, rest, one, "Add 'add'", "extents");
  uint32_t limit = fake.constant(60);
  fake.check(LUMEN_ABI_CHECK_LESS_EQUAL, fake.extent, limit, "Slice 's'", "the length");
  uint32_t fifty = fake.constant(50);
  fake.check(LUMEN_ABI_CHECK_EQUAL, fake.expr(LUMEN_ABI_EXPR_MAX, fake.extent, fifty), fifty,
             "Reshape 'r'", "the number of elements");
  fake.finishEntry();
  open();
  expectRun(3);
  EXPECT_EQ(run(61, 61),
            "batch: Slice 's': the length is 61, expected at most 60 where batch is 61");
  EXPECT_EQ(run(51, 51),
            "batch: Reshape 'r': the number of elements is 51, expected 50 where batch is 51");
  EXPECT_EQ(opened->status.code, LUMEN_ERROR_INVALID_ARGUMENT);
  expectRun(50);
  expectRun(3);
}

// The caller's arena serves the shapes that fit, and its size can be asked for.
TEST_F(PlanTest, CallerArena) {
  alignas(64) static char arena[128];
  lumen_context_options options = {};
  options.arena = arena;
  options.arena_size = 64;
  open(options);
  EXPECT_EQ(lumen_arena_size(opened->model), 0u) << "depends on the shapes";
  expectRun(16);
  EXPECT_EQ(run(17, 17), "the arena has 64 bytes, expected at least 128 for these shapes");
  uint64_t size = 0;
  inputs[0].u.tensor.data = nullptr;
  ASSERT_EQ(lumen_arena_size_for(opened->model, inputs, 2, &size, &opened->status), LUMEN_OK);
  EXPECT_EQ(size, 128u);
  EXPECT_EQ(lumen_arena_size_for(opened->model, inputs, 1, &size, &opened->status),
            LUMEN_ERROR_INVALID_ARGUMENT);
  expectRun(3);
  EXPECT_EQ(opened->memory().arena_capacity, 64u);
}

// Results go from run to run, also parts of them: the next ones are written elsewhere.
TEST_F(PlanTest, OutputAsInput) {
  open();
  expectRun(90);
  void *places[2] = {outputs[0].u.tensor.data, nullptr};
  for (int64_t batch : {90, 3, 3, 2}) {
    setShapes(batch, batch);
    int64_t from = batch == 2; // the last ones of three
    auto *y = static_cast<float *>(outputs[0].u.tensor.data) + from;
    std::vector<float> expected(batch);
    for (int64_t i = 0; i < batch; ++i)
      expected[i] = a[2 * i] + a[2 * i + 1] + y[i];
    inputs[1].u.tensor.data = y;
    ASSERT_EQ(opened->run(inputs, outputs), "");
    auto *result = static_cast<float *>(outputs[0].u.tensor.data);
    EXPECT_EQ(std::vector<float>(result, result + batch), expected);
    if (!places[1])
      places[1] = result;
    EXPECT_TRUE(result == places[0] || result == places[1]) << "there are two pieces of memory";
  }
  // The one that comes after both would lie in one of them.
  setShapes(2, 2);
  inputs[0].u.tensor.data = places[0];
  inputs[1].u.tensor.data = places[1];
  EXPECT_EQ(opened->run(inputs, outputs).substr(11),
            "lies in output 'y' of the last run, copy it first");
  EXPECT_EQ(opened->status.code, LUMEN_ERROR_INVALID_ARGUMENT);
  inputs[0].u.tensor.data = a.data();
  expectRun(3);
}

// What the caller brings for an output may be an input of the next run.
TEST_F(PlanTest, CallersOutputAsInput) {
  open();
  std::vector<float> memory(90);
  outputs[0] = lumen_output_buffer(memory.data(), memory.size() * sizeof(float));
  expectRun(3);
  setShapes(3, 3);
  std::vector<float> expected(3);
  for (int i = 0; i < 3; ++i)
    expected[i] = a[2 * i] + a[2 * i + 1] + memory[i];
  inputs[1].u.tensor.data = memory.data();
  outputs[0] = {};
  ASSERT_EQ(opened->run(inputs, outputs), "");
  auto *result = static_cast<float *>(outputs[0].u.tensor.data);
  EXPECT_EQ(std::vector<float>(result, result + 3), expected);
  // Nothing lies in nothing.
  setShapes(0, 0);
  inputs[1].u.tensor.data = result;
  EXPECT_EQ(opened->run(inputs, outputs), "");
}

// An address that the context has given back is no longer its own.
TEST_F(PlanTest, FreedOutput) {
  open();
  expectRun(3);
  void *freed = outputs[0].u.tensor.data;
  outputs[0] = {};
  expectRun(90);
  outputs[0] = lumen_output_buffer(freed, 0);
  EXPECT_EQ(run(3, 3), "output 'y': capacity is 0 bytes, expected at least 12");
  // One that is passed on as it was stays the context's, wherever it goes.
  outputs[0] = {};
  for (int64_t batch : {3, 95, 3, 100, 4})
    expectRun(batch);
}

TEST_F(PlanTest, Memory) {
  open();
  lumen_memory_info before, after;
  lumen_memory(opened->model, &before);
  expectRun(90);
  expectRun(3);
  lumen_context_memory_info info = opened->memory();
  EXPECT_EQ(info.arena_size, 64u);
  EXPECT_EQ(info.arena_lower_bound, 64u);
  EXPECT_EQ(info.arena_capacity, 384u);
  EXPECT_EQ(info.output_capacity, 360u);
  EXPECT_EQ(info.heap_capacity, 0u);
  lumen_memory(opened->model, &after);
  EXPECT_EQ(after.used, before.used + 384 + 360);
}

// No memory is held for outputs that the caller has always brought.
TEST_F(PlanTest, MemoryOfTheCaller) {
  open();
  std::vector<float> memory(90);
  outputs[0] = lumen_output_buffer(memory.data(), memory.size() * sizeof(float));
  expectRun(90);
  EXPECT_EQ(opened->memory().output_capacity, 0u);
  outputs[0] = {};
  expectRun(3);
  EXPECT_EQ(opened->memory().output_capacity, 12u);
}

// Extents that no memory holds are an error of their own, wherever they show.
struct HugeTest : testing::Test {
  HugeTest() {
    for (const char *name : {"n", "m"}) {
      uint32_t symbol = model.symbol(name);
      x.push_back(model.input(name, LUMEN_ABI_U8, {TableModel::dynamic(name, symbol)}));
      extents.push_back(model.valueOf(symbol));
    }
    product = model.mul(extents[0], extents[1]);
  }
  static int nothing(void *const *, const int64_t *, int64_t, int64_t, int32_t, void *) {
    return LUMEN_ABI_OK;
  }
  // Only the shapes are looked at.
  std::string shapes(int64_t n, int64_t m) {
    model.finishEntry();
    OpenModel opened(model);
    EXPECT_NE(opened.context, nullptr) << opened.status.message;
    lumen_value inputs[2] = {lumen_tensor_value(nullptr, LUMEN_U8, 1, &n),
                             lumen_tensor_value(nullptr, LUMEN_U8, 1, &m)};
    lumen_shape shape[1];
    lumen_output_shapes(opened.context, inputs, 2, shape, model.outputs.size(), &opened.status);
    return opened.status.message;
  }
  // A run on memory that is not read.
  std::string run(int64_t n, int64_t m) {
    model.finishEntry();
    OpenModel opened(model);
    char byte = 0;
    lumen_value inputs[2] = {lumen_tensor_value(&byte, LUMEN_U8, 1, &n),
                             lumen_tensor_value(&byte, LUMEN_U8, 1, &m)};
    lumen_value outputs[1] = {};
    EXPECT_NE(lumen_run(opened.context, inputs, 2, outputs, model.outputs.size(), &opened.status),
              LUMEN_OK);
    return opened.status.message;
  }
  static constexpr int64_t huge = int64_t(1) << 40;

  TableModel model{"huge"};
  std::vector<uint32_t> x, extents;
  uint32_t product;
};

TEST_F(HugeTest, Overflow) {
  EXPECT_EQ(shapes(huge, huge),
            "huge: a size leaves the range of 64 bits: 1099511627776 * 1099511627776 where n is "
            "1099511627776, m is 1099511627776");
}

TEST_F(HugeTest, OtherOverflows) {
  int64_t most = INT64_MAX;
  uint32_t limit = model.constant(most), minusOne = model.constant(-1);
  model.expr(LUMEN_ABI_EXPR_MAX, model.sub(minusOne, limit), minusOne);
  model.add(limit, extents[1]);
  EXPECT_EQ(shapes(3, 0), "") << "at the edge, but inside";
  EXPECT_EQ(shapes(3, 1), "huge: a size leaves the range of 64 bits: 9223372036854775807 + 1 "
                          "where n is 3, m is 1");
  uint32_t least = model.sub(minusOne, limit);
  model.div(least, model.sub(extents[1], model.constant(1)));
  EXPECT_EQ(shapes(3, 0), "huge: a size leaves the range of 64 bits: -9223372036854775808 / -1 "
                          "where n is 3, m is 0");
}

TEST_F(HugeTest, DivisionByZero) {
  model.div(extents[0], extents[1]);
  EXPECT_EQ(shapes(6, 0), "huge: a size is divided by zero: 6 / 0 where n is 6, m is 0");
}

// Division is towards minus infinity, as in ONNX's shape arithmetic on sizes.
TEST_F(HugeTest, FloorDivision) {
  uint32_t minusSeven = model.constant(-7), two = model.constant(2);
  uint32_t quotient = model.div(minusSeven, two);
  uint32_t minusFour = model.constant(-4);
  model.check(LUMEN_ABI_CHECK_EQUAL, quotient, minusFour, "Div 'd'", "results");
  uint32_t one = model.constant(1);
  uint32_t broadcast = model.expr(LUMEN_ABI_EXPR_BROADCAST, one, two);
  model.check(LUMEN_ABI_CHECK_EQUAL, broadcast, two, "Add 'a'", "results");
  uint32_t kept = model.expr(LUMEN_ABI_EXPR_BROADCAST, two, one);
  model.check(LUMEN_ABI_CHECK_EQUAL, kept, two, "Add 'a'", "results");
  uint32_t smaller = model.expr(LUMEN_ABI_EXPR_MIN, minusSeven, two);
  model.check(LUMEN_ABI_CHECK_EQUAL, smaller, minusSeven, "Min 'm'", "results");
  EXPECT_EQ(shapes(1, 1), "");
}

TEST_F(HugeTest, Arena) {
  uint32_t t = model.arena(product, 0, 0);
  model.launch(nothing, {x[0], t}, 1);
  EXPECT_EQ(run(huge, 1 << 12), "huge: Node 'n': no memory for an arena of 4503599627370496 bytes");
}

TEST_F(HugeTest, ArenaBeyondAddresses) {
  uint32_t t = model.arena(product, 0, 0), u = model.arena(product, 0, 0),
           v = model.arena(product, 0, 0);
  model.launch(nothing, {t, u, v}, 1);
  EXPECT_EQ(shapes(huge, 1 << 22),
            "huge: Node 'n': intermediate values have more bytes than memory "
            "can hold where n is 1099511627776, m is 4194304");
}

TEST_F(HugeTest, NegativeSize) {
  uint32_t size = model.sub(extents[0], extents[1]);
  model.launch(nothing, {model.arena(size, 0, 0)}, 1);
  EXPECT_EQ(shapes(2, 5),
            "huge: Node 'n': an intermediate value would have -3 bytes where n is 2, m is 5");
}

TEST_F(HugeTest, Output) {
  uint32_t y = model.output("y", LUMEN_ABI_F32,
                            {TableModel::dynamic("n", extents[0], extents[0]),
                             TableModel::dynamic("m", extents[1], extents[1])});
  model.launch(nothing, {x[0], y}, 1);
  EXPECT_EQ(shapes(huge, 1 << 22), "output 'y': its shape has more bytes than memory can hold");
  EXPECT_EQ(run(huge, 1 << 12), "output 'y': no memory for its 18014398509481984 bytes");
  EXPECT_EQ(shapes(huge, 0), "");
}

TEST_F(HugeTest, NegativeOutput) {
  uint32_t rest = model.sub(extents[0], extents[1]);
  model.output("y", LUMEN_ABI_F32, {TableModel::dynamic("rest", rest, rest)});
  EXPECT_EQ(shapes(2, 5), "output 'y': dimension 0 would be -3");
}

} // namespace
