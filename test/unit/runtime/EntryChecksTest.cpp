// A caller's mistake is one message that names the value, what it is and what
// it should be.
#include "TableModel.h"

#include <gtest/gtest.h>

#include <vector>

using namespace lumen::test;

namespace {

class EntryChecksTest : public testing::Test {
protected:
  void SetUp() override {
    lumen_model_options options = {};
    options.num_threads = 1;
    ASSERT_EQ(lumen_model_open(&fake.module, &options, &model, nullptr), LUMEN_OK);
    ASSERT_EQ(lumen_context_create(model, nullptr, &context, nullptr), LUMEN_OK);
    in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape);
  }
  void TearDown() override {
    lumen_context_free(context);
    lumen_model_free(model);
  }
  std::string run(int expected = LUMEN_ERROR_INVALID_ARGUMENT) {
    lumen_status status = {};
    EXPECT_EQ(lumen_run(context, &in, 1, &out, 1, &status), expected);
    EXPECT_EQ(status.code, expected);
    return status.message;
  }

  FakeModel fake;
  lumen_model *model = nullptr;
  lumen_context *context = nullptr;
  int64_t shape[4] = {FakeModel::n, 1, 1, 1};
  std::vector<float> x = std::vector<float>(FakeModel::n);
  lumen_value in = {}, out = {};
};

TEST_F(EntryChecksTest, Type) {
  in.u.tensor.dtype = lumen_dl_dtype_of(LUMEN_F64);
  EXPECT_EQ(run(), "input 'x': type is f64, expected f32");
}

TEST_F(EntryChecksTest, Rank) {
  in.u.tensor.ndim = 4;
  EXPECT_EQ(run(), "input 'x': rank is 4, expected 1");
}

TEST_F(EntryChecksTest, Dimension) {
  shape[0] = 4;
  EXPECT_EQ(run(), "input 'x': dimension 0 is 4, expected 1000");
}

TEST_F(EntryChecksTest, NegativeDimension) {
  shape[0] = -4;
  EXPECT_EQ(run(), "input 'x': dimension 0 is -4, expected 0 or more");
}

TEST_F(EntryChecksTest, NoShape) {
  in.u.tensor.shape = nullptr;
  EXPECT_EQ(run(), "input 'x': has no shape");
}

TEST_F(EntryChecksTest, NoData) {
  in.u.tensor.data = nullptr;
  EXPECT_EQ(run(), "input 'x': data is NULL");
}

TEST_F(EntryChecksTest, Strides) {
  int64_t strides[] = {2};
  in.u.tensor.strides = strides;
  EXPECT_EQ(run(), "input 'x': stride of dimension 0 is 2, expected 1 (row-major without gaps)");
  strides[0] = 1;
  EXPECT_EQ(run(LUMEN_OK), "");
}

TEST_F(EntryChecksTest, Device) {
  in.u.tensor.device.type = 2;
  EXPECT_EQ(run(), "input 'x': is on DLPack device type 2, expected 1 (host memory)");
}

TEST_F(EntryChecksTest, Kind) {
  in.kind = LUMEN_SEQUENCE;
  EXPECT_EQ(run(), "input 'x': is a sequence, expected a tensor");
}

// Kernels read inputs while they write outputs.
TEST_F(EntryChecksTest, OutputOverInput) {
  std::vector<float> both(2 * FakeModel::n);
  in = lumen_tensor_value(both.data(), LUMEN_F32, 1, shape);
  for (int64_t offset : {int64_t(0), FakeModel::n - 1}) {
    out = lumen_output_buffer(both.data() + offset, 4000);
    EXPECT_EQ(run(), "output 'y': its memory overlaps that of input 'x'") << offset;
  }
  in.u.tensor.data = both.data() + FakeModel::n - 1;
  out = lumen_output_buffer(both.data(), 4000);
  EXPECT_EQ(run(), "output 'y': its memory overlaps that of input 'x'");
  in.u.tensor.data = both.data() + FakeModel::n;
  out = lumen_output_buffer(both.data(), 4000);
  EXPECT_EQ(run(LUMEN_OK), "");
}

// Two outputs have memory of their own each.
TEST(OutputsTest, Overlap) {
  TableModel model("twins");
  for (const char *name : {"y", "z"})
    model.output(name, LUMEN_ABI_F32, {TableModel::fixed(4)});
  model.finishEntry();
  OpenModel opened(model);
  ASSERT_NE(opened.context, nullptr) << opened.status.message;
  float memory[8];
  lumen_status status = {};
  for (int distance : {0, 3, 4}) {
    lumen_value outputs[] = {lumen_output_buffer(memory + distance, 16),
                             lumen_output_buffer(memory, 16)};
    EXPECT_EQ(lumen_run(opened.context, nullptr, 0, outputs, 2, &status),
              distance < 4 ? LUMEN_ERROR_INVALID_ARGUMENT : LUMEN_OK)
        << distance;
    EXPECT_STREQ(status.message, "output 'y': its memory overlaps that of output 'z'");
  }
}

// What the context has placed is no memory of the caller's, wherever in it.
TEST_F(EntryChecksTest, OutputInTheContexts) {
  EXPECT_EQ(run(LUMEN_OK), "");
  out = lumen_output_buffer(static_cast<float *>(out.u.tensor.data) + 1, 4000);
  EXPECT_EQ(run(), "output 'y': lies in memory of the context");
}

TEST_F(EntryChecksTest, Capacity) {
  out = lumen_output_buffer(x.data(), 12);
  EXPECT_EQ(run(), "output 'y': capacity is 12 bytes, expected at least 4000");
}

TEST_F(EntryChecksTest, Counts) {
  lumen_status status = {};
  EXPECT_EQ(lumen_run(context, &in, 0, &out, 1, &status), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "0 inputs given, the model has 1");
  EXPECT_EQ(lumen_run(context, &in, 1, &out, 2, &status), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "2 outputs given, the model has 1");
  EXPECT_EQ(lumen_run(context, nullptr, 1, &out, 1, &status), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(status.message, "the array of inputs is NULL");
}

// A status is not needed.
TEST_F(EntryChecksTest, NoStatus) {
  shape[0] = 4;
  EXPECT_EQ(lumen_run(context, &in, 1, &out, 1, nullptr), LUMEN_ERROR_INVALID_ARGUMENT);
}

} // namespace
