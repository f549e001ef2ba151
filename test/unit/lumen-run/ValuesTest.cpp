// Strings, sequences and optionals in files and as the API's values.
#include "tools/lumen-run/Values.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace lumen::run;

namespace {

lumen_value_info infoOf(uint32_t kind, uint32_t dtype) {
  return {"x", kind, dtype, -1, 0, nullptr};
}

class ValuesTest : public testing::Test {
protected:
  void SetUp() override {
    path = testing::TempDir() + "/values-" + std::to_string(getpid()) + ".json";
  }
  void TearDown() override { std::filesystem::remove(path); }

  llvm::Expected<Value> read(const std::string &text, const lumen_value_info &info) {
    std::ofstream(path) << text;
    return readJson(path, info);
  }
  std::string error(const std::string &text, const lumen_value_info &info) {
    llvm::Expected<Value> value = read(text, info);
    return value ? "no error" : toString(value.takeError());
  }
  // What is written of the value that a text is read as.
  std::string again(const std::string &text, const lumen_value_info &info) {
    llvm::Expected<Value> value = read(text, info);
    if (!value)
      return toString(value.takeError());
    if (llvm::Error failure = writeJson(path, value->view(), info.dtype))
      return toString(std::move(failure));
    std::stringstream written;
    written << std::ifstream(path).rdbuf();
    return written.str();
  }

  std::string path;
};

// What is read is written in the same form.
TEST_F(ValuesTest, RoundTrip) {
  EXPECT_EQ(
      again(R"({"dims": [2, 1], "data": ["a", "\u00e4"]})", infoOf(LUMEN_TENSOR, LUMEN_STRING)),
      "{\"data\":[\"a\",\"\xc3\xa4\"],\"dims\":[2,1],\"type\":\"string\"}\n");
  EXPECT_EQ(again(R"([{"dims": [2], "data": [1.5, "inf"]}, {"dims": [0], "data": []}])",
                  infoOf(LUMEN_SEQUENCE, LUMEN_F32)),
            "[{\"data\":[1.5,\"inf\"],\"dims\":[2],\"type\":\"f32\"},"
            "{\"data\":[],\"dims\":[0],\"type\":\"f32\"}]\n");
  EXPECT_EQ(again("null", infoOf(LUMEN_OPTIONAL, LUMEN_I64)), "null\n");
  EXPECT_EQ(
      again(R"({"type": "i64", "dims": [], "data": [-7]})", infoOf(LUMEN_OPTIONAL, LUMEN_I64)),
      "{\"data\":[-7],\"dims\":[],\"type\":\"i64\"}\n");
  EXPECT_EQ(again("[]", infoOf(LUMEN_OPTIONAL, LUMEN_F32)), "[]\n");
}

// Errors name the file and what was expected.
TEST_F(ValuesTest, Errors) {
  lumen_value_info strings = infoOf(LUMEN_TENSOR, LUMEN_STRING);
  EXPECT_EQ(error("[]", strings), path + ": expected a tensor with \"dims\" and \"data\"");
  EXPECT_EQ(error(R"({"dims": [2], "data": ["a"]})", strings),
            path + ": a tensor has 1 elements, its dims have 2");
  EXPECT_EQ(error(R"({"dims": [1], "data": [1]})", strings), path + ": an element is no string");
  EXPECT_EQ(
      error(R"({"type": "f32", "dims": [1], "data": [1]})", infoOf(LUMEN_OPTIONAL, LUMEN_I64)),
      path + ": a tensor has type f32, expected i64");
  EXPECT_EQ(error("{}", infoOf(LUMEN_SEQUENCE, LUMEN_F32)),
            path + ": expected an array of tensors");
}

} // namespace
