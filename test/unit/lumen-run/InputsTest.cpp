// What --input asks for.
#include "tools/lumen-run/Inputs.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace lumen::run;

namespace {

const lumen_dim fixedDims[] = {{2, 2, nullptr}, {3, 3, nullptr}};
const lumen_dim dynamicDims[] = {{-1, -1, "batch"}, {3, 3, nullptr}};
const lumen_value_info infos[] = {{"a", LUMEN_TENSOR, LUMEN_F32, 2, 0, fixedDims},
                                  {"a=b", LUMEN_TENSOR, LUMEN_I64, 2, 0, fixedDims}};
const lumen_value_info dynamicInfo = {"d", LUMEN_TENSOR, LUMEN_F32, 2, 0, dynamicDims};

std::string error(llvm::Expected<std::vector<Tensor>> tensors) {
  return tensors ? "no error" : toString(tensors.takeError());
}

// What is not named is random: never all alike, the same each time, different
// by seed and by input.
TEST(InputsTest, Random) {
  auto tensors = makeInputs({}, infos, 2, 1), again = makeInputs({}, infos, 2, 1);
  auto other = makeInputs({}, infos, 2, 2);
  ASSERT_TRUE(tensors && again && other);
  EXPECT_EQ((*tensors)[0].bytes, (*again)[0].bytes);
  EXPECT_NE((*tensors)[0].bytes, (*other)[0].bytes);
  bool different = false;
  for (int i = 0; i < 6; ++i) {
    long double value = getElement(LUMEN_F32, (*tensors)[0].bytes.data(), i);
    EXPECT_GE(value, -1);
    EXPECT_LT(value, 1);
    different |= value != getElement(LUMEN_F32, (*tensors)[0].bytes.data(), 0);
    long double integer = getElement(LUMEN_I64, (*tensors)[1].bytes.data(), i);
    EXPECT_GE(integer, 0);
    EXPECT_LE(integer, 7);
  }
  EXPECT_TRUE(different);
}

TEST(InputsTest, NamesWithEquals) {
  auto tensors = makeInputs({"a=b=zeros"}, infos, 2, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ((*tensors)[1].bytes, std::vector<char>(48));
  EXPECT_NE((*tensors)[0].bytes, std::vector<char>(24));
}

TEST(InputsTest, Shapes) {
  auto tensors = makeInputs({"d=random:4x3"}, &dynamicInfo, 1, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ((*tensors)[0].shape, std::vector<int64_t>({4, 3}));
  EXPECT_EQ(error(makeInputs({}, &dynamicInfo, 1, 1)),
            "input 'd': dimension 0 ('batch') is dynamic; give its shape, as in --input "
            "d=random:1x3");
  EXPECT_EQ(error(makeInputs({"d=zeros:4xx3"}, &dynamicInfo, 1, 1)),
            "--input d: '4xx3' is not a shape such as 1x3x224x224");
}

TEST(InputsTest, Mistakes) {
  EXPECT_EQ(error(makeInputs({"c=zeros"}, infos, 2, 1)),
            "'c' is not an input of the model, which has 'a', 'a=b'");
  EXPECT_EQ(error(makeInputs({"a"}, infos, 2, 1)), "'a': expected NAME=VALUE");
  EXPECT_EQ(error(makeInputs({"a=ones"}, infos, 2, 1)),
            "--input a: 'ones' is none of @FILE.npy, @FILE.pb, random[:SHAPE], zeros[:SHAPE]");
  EXPECT_EQ(error(makeInputs({"a=@x.txt"}, infos, 2, 1)),
            "x.txt: expected a name that ends in .npy or .pb");
  EXPECT_EQ(error(makeInputs({"a=zeros", "a=random"}, infos, 2, 1)),
            "--input a=random: input 'a' is given twice");
  EXPECT_EQ(error(makeInputs({"a="}, infos, 2, 1)),
            "--input a: '' is none of @FILE.npy, @FILE.pb, random[:SHAPE], zeros[:SHAPE]");
}

// A wrong command line is told from a file that cannot be read.
TEST(InputsTest, KindOfMistake) {
  for (auto [argument, isUsage] : {std::pair("c=zeros", true), std::pair("a=@x.txt", true),
                                   std::pair("a=@nowhere.npy", false)}) {
    auto tensors = makeInputs({argument}, infos, 2, 1);
    ASSERT_FALSE(static_cast<bool>(tensors));
    llvm::Error error = tensors.takeError();
    EXPECT_EQ(error.isA<UsageError>(), isUsage) << argument;
    consumeError(std::move(error));
  }
}

} // namespace
