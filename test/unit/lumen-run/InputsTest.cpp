// What --input and --inputs ask for.
#include "tools/lumen-run/Inputs.h"
#include "tools/lumen-run/Npy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace lumen::run;

namespace {

const lumen_dim fixedDims[] = {{2, 2, nullptr, {}}, {3, 3, nullptr, {}}};
const lumen_dim dynamicDims[] = {{-1, -1, "batch", {}}, {3, 3, nullptr, {}}};
const lumen_value_info infos[] = {{"a", LUMEN_TENSOR, LUMEN_F32, 2, 0, fixedDims},
                                  {"a=b", LUMEN_TENSOR, LUMEN_I64, 2, 0, fixedDims}};
const lumen_value_info dynamicInfo = {"d", LUMEN_TENSOR, LUMEN_F32, 2, 0, dynamicDims};

template <typename T> std::string error(llvm::Expected<T> tensors) {
  return tensors ? "no error" : toString(tensors.takeError());
}

llvm::Expected<std::vector<Value>> fromArguments(std::vector<std::string> arguments,
                                                 const lumen_value_info *inputs, uint32_t count,
                                                 uint64_t seed) {
  return makeInputs({arguments, "", {}}, inputs, count, seed);
}

// What is not named is random: never all alike, the same each time, different
// by seed and by input.
TEST(InputsTest, Random) {
  auto tensors = fromArguments({}, infos, 2, 1), again = fromArguments({}, infos, 2, 1);
  auto other = fromArguments({}, infos, 2, 2);
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
  auto tensors = fromArguments({"a=b=zeros"}, infos, 2, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ((*tensors)[1].bytes, std::vector<char>(48));
  EXPECT_NE((*tensors)[0].bytes, std::vector<char>(24));
}

TEST(InputsTest, Shapes) {
  auto tensors = fromArguments({"d=random:4x3"}, &dynamicInfo, 1, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ((*tensors)[0].shape, std::vector<int64_t>({4, 3}));
  EXPECT_EQ(error(fromArguments({}, &dynamicInfo, 1, 1)),
            "input 'd': dimension 0 ('batch') is dynamic; give its size, as in --dim \"batch=3\", "
            "or the input's shape, as in --input d=random:3x3");
  EXPECT_EQ(error(fromArguments({"d=zeros:4xx3"}, &dynamicInfo, 1, 1)),
            "--input d: '4xx3' is not a shape such as 1x3x224x224");
}

TEST(InputsTest, Dims) {
  auto dims = readDims({"batch=5", "past + seq=7"});
  ASSERT_TRUE(static_cast<bool>(dims)) << toString(dims.takeError());
  EXPECT_EQ(dims->lookup("past + seq"), 7);
  auto tensors = makeInputs({{}, "", {}, {{"batch", 5}}}, &dynamicInfo, 1, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ((*tensors)[0].shape.front(), 5);
  EXPECT_EQ(error(readDims({"batch=-1"})), "--dim batch=-1: expected NAME=SIZE, as in batch=8");
  EXPECT_EQ(error(readDims({"n=1", "n=2"})), "--dim n=2: 'n' is given twice");
}

// A dimension that is an expression follows from the symbols in it.
TEST(InputsTest, DimsOfExpressions) {
  const lumen_dim dims[] = {{-1, -1, "2*past + seq", {0, 0}}};
  const lumen_value_info info = {"mask", LUMEN_TENSOR, LUMEN_F32, 1, 0, dims};
  auto tensors = makeInputs({{}, "", {}, {{"past", 3}, {"seq", 1}}}, &info, 1, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ((*tensors)[0].shape, std::vector<int64_t>({7}));
  EXPECT_EQ(error(makeInputs({{}, "", {}, {{"past", 3}}}, &info, 1, 1)),
            "input 'mask': dimension 0 ('2*past + seq') is dynamic; give its size, as in --dim "
            "\"seq=3\", or the input's shape, as in --input mask=random:3");
}

// What one value has of a size, the others need not be told, be it in an expression; but
// what is told goes first.
TEST(InputsTest, DimsOfOtherInputs) {
  const lumen_dim mask[] = {{-1, -1, "2*past + seq", {0, 0}}}, past[] = {{-1, -1, "past", {0, 0}}},
                  both[] = {{-1, -1, "seq", {0, 0}}, {-1, -1, "past", {0, 0}}};
  const lumen_value_info inputs[] = {{"both", LUMEN_TENSOR, LUMEN_F32, 2, 0, both},
                                     {"past", LUMEN_TENSOR, LUMEN_F32, 1, 0, past},
                                     {"mask", LUMEN_TENSOR, LUMEN_F32, 1, 0, mask}};
  auto tensors = fromArguments({"past=zeros:4", "mask=random:11"}, inputs, 3, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ((*tensors)[0].shape, std::vector<int64_t>({3, 4}));
  std::vector<std::string> arguments = {"past=zeros:4"};
  tensors = makeInputs({arguments, "", {}, {{"past", 5}, {"seq", 2}}}, inputs, 3, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ((*tensors)[0].shape, std::vector<int64_t>({2, 5}));
  EXPECT_EQ((*tensors)[2].shape, std::vector<int64_t>({12}));
  // No size of seq makes 2*4 + seq as small as 7.
  EXPECT_EQ(error(fromArguments({"past=zeros:4", "mask=random:7"}, inputs, 3, 1)),
            "input 'both': dimension 0 ('seq') is dynamic; give its size, as in --dim \"seq=3\", "
            "or the input's shape, as in --input both=random:3x4");
}

TEST(InputsTest, UnknownDims) {
  EXPECT_EQ(error(makeInputs({{}, "", {}, {{"bach", 3}, {"batch", 3}}}, &dynamicInfo, 1, 1)),
            "--dim bach: the dimensions of the inputs have no such symbol, but 'batch'");
  EXPECT_EQ(error(makeInputs({{}, "", {}, {{"batch", 3}}}, infos, 2, 1)),
            "--dim batch: the dimensions of the inputs have no such symbol");
}

TEST(InputsTest, Mistakes) {
  EXPECT_EQ(error(fromArguments({"c=zeros"}, infos, 2, 1)),
            "'c' is not an input of the model, which has 'a', 'a=b'");
  EXPECT_EQ(error(fromArguments({"a"}, infos, 2, 1)), "'a': expected NAME=VALUE");
  EXPECT_EQ(error(fromArguments({"a=ones"}, infos, 2, 1)),
            "--input a: 'ones' is none of @FILE.npy, @FILE.pb, random[:SHAPE], zeros[:SHAPE]");
  EXPECT_EQ(error(fromArguments({"a=@x.txt"}, infos, 2, 1)),
            "x.txt: expected a name that ends in .npy or .pb");
  EXPECT_EQ(error(fromArguments({"a=zeros", "a=random"}, infos, 2, 1)),
            "--input a=random: input 'a' is given twice");
  const lumen_value_info strings = {"s", LUMEN_TENSOR, LUMEN_STRING, 1, 0, fixedDims};
  EXPECT_EQ(error(fromArguments({"s=@s.npy"}, &strings, 1, 1)),
            "s.npy: expected a name that ends in .json, for 's' is no tensor of numbers");
  EXPECT_EQ(error(fromArguments({"a="}, infos, 2, 1)),
            "--input a: '' is none of @FILE.npy, @FILE.pb, random[:SHAPE], zeros[:SHAPE]");
}

class FolderTest : public testing::Test {
protected:
  FolderTest() {
    folder = testing::TempDir() + "lumen-run-inputs-" + std::to_string(getpid());
    std::filesystem::create_directories(folder);
  }
  ~FolderTest() override { std::filesystem::remove_all(folder); }

  // A file of six numbers that start at `first`.
  void write(const char *name, lumen_dtype dtype, int first) {
    Tensor tensor(dtype, {2, 3});
    for (int i = 0; i < 6; ++i)
      setElement(dtype, tensor.bytes.data(), i, first + i);
    ASSERT_FALSE(static_cast<bool>(writeNpy(folder + "/" + name, tensor)));
  }
  static long double first(const Tensor &tensor) {
    return getElement(tensor.dtype, tensor.bytes.data(), 0);
  }

  std::string folder;
};

// A file goes before what is carried, and that before the command line.
TEST_F(FolderTest, Precedence) {
  write("a.npy", LUMEN_F32, 10);
  std::ofstream(folder + "/README") << "no input";
  std::vector<std::string> arguments = {"a=zeros", "a=b=zeros"};
  std::vector<std::optional<Value>> carried(2);
  auto tensors = makeInputs({arguments, folder, carried}, infos, 2, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ(first((*tensors)[0]), 10);
  EXPECT_EQ(first((*tensors)[1]), 0);
  for (int i = 0; i < 2; ++i) {
    carried[i] = Tensor(i ? LUMEN_I64 : LUMEN_F32, llvm::ArrayRef<int64_t>{2, 3});
    setElement(carried[i]->dtype, carried[i]->bytes.data(), 0, 5);
  }
  tensors = makeInputs({arguments, folder, carried}, infos, 2, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ(first((*tensors)[0]), 10);
  EXPECT_EQ(first((*tensors)[1]), 5);
}

// Slashes of a name are underscores of its file's.
TEST_F(FolderTest, Names) {
  const lumen_value_info slashes[] = {{"x/y", LUMEN_TENSOR, LUMEN_F32, 2, 0, fixedDims},
                                      {"x_y", LUMEN_TENSOR, LUMEN_F32, 2, 0, fixedDims}};
  write("x_y.npy", LUMEN_F32, 7);
  auto tensors = makeInputs({{}, folder, {}}, slashes, 1, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ(first((*tensors)[0]), 7);
  EXPECT_EQ(error(makeInputs({{}, folder, {}}, slashes, 2, 1)),
            folder + "/x_y.npy: is the name of several inputs: 'x/y' and 'x_y'; give them by "
                     "--input");
}

// The files of a data set as ONNX publishes them: by position, with what should come out.
TEST_F(FolderTest, DataSet) {
  // TensorProto: dims 2 and 3, type FLOAT, raw_data.
  std::string raw(24, '\0');
  raw[3] = 0x40; // 2.0
  std::ofstream(folder + "/input_0.pb", std::ios::binary)
      << std::string("\x08\x02\x08\x03\x10\x01\x4a\x18", 8) << raw;
  std::ofstream(folder + "/output_0.pb") << "not read";
  std::vector<std::string> arguments = {"a=b=random"};
  auto tensors = makeInputs({arguments, folder, {}}, infos, 2, 1);
  ASSERT_TRUE(static_cast<bool>(tensors)) << toString(tensors.takeError());
  EXPECT_EQ(first((*tensors)[0]), 2);
}

TEST_F(FolderTest, Mistakes) {
  EXPECT_EQ(error(makeInputs({{}, folder + "/nowhere", {}}, infos, 2, 1)),
            folder + "/nowhere: cannot be read: No such file or directory");
  write("c.npy", LUMEN_F32, 1);
  EXPECT_EQ(error(makeInputs({{}, folder, {}}, infos, 2, 1)),
            folder + "/c.npy: the model has no input 'c'");
  std::filesystem::rename(folder + "/c.npy", folder + "/a.npy");
  EXPECT_EQ(error(makeInputs({{}, folder, {}}, infos, 2, 1)),
            folder + ": has no file for input 'a=b'; give it one, or a value as in --input "
                     "a=b=random");
  std::ofstream(folder + "/a.pb") << "";
  EXPECT_EQ(error(makeInputs({{}, folder, {}}, infos, 2, 1)),
            folder + "/a.pb: input 'a' has another file, a.npy");
}

// A wrong command line is told from a file that cannot be read.
TEST(InputsTest, KindOfMistake) {
  for (auto [argument, isUsage] : {std::pair("c=zeros", true), std::pair("a=@x.txt", true),
                                   std::pair("a=@nowhere.npy", false)}) {
    auto tensors = fromArguments({argument}, infos, 2, 1);
    ASSERT_FALSE(static_cast<bool>(tensors));
    llvm::Error error = tensors.takeError();
    EXPECT_EQ(error.isA<UsageError>(), isUsage) << argument;
    consumeError(std::move(error));
  }
}

} // namespace
