// .npy and TensorProto files, whole and broken.
#include "tools/lumen-run/Inputs.h"
#include "tools/lumen-run/Npy.h"
#include "tools/lumen-run/TensorProto.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

using namespace lumen::run;

namespace {

class FilesTest : public testing::Test {
protected:
  FilesTest() {
    folder = testing::TempDir() + "lumen-run-" + std::to_string(getpid());
    std::filesystem::create_directories(folder);
  }
  ~FilesTest() override { std::filesystem::remove_all(folder); }

  std::string write(const char *name, const std::string &bytes) {
    std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // A .npy file of version 1.
  std::string npy(const std::string &header, const std::string &data) {
    std::string bytes("\x93NUMPY\x01\x00", 8);
    bytes += static_cast<char>(header.size());
    bytes += '\0';
    return write("a.npy", bytes + header + data);
  }
  static std::string error(llvm::Expected<Tensor> tensor) {
    return tensor ? "no error" : toString(tensor.takeError());
  }
  std::vector<long double> values(llvm::Expected<Tensor> tensor) {
    if (!tensor) {
      ADD_FAILURE() << toString(tensor.takeError());
      return {};
    }
    std::vector<long double> result;
    for (int64_t i = 0; i < tensor->numElements(); ++i)
      result.push_back(getElement(tensor->dtype, tensor->bytes.data(), i));
    return result;
  }

  std::string folder;
};

using Values = std::vector<long double>;

TEST_F(FilesTest, NpyRoundTrip) {
  for (auto shape : std::vector<std::vector<int64_t>>{{}, {3}, {2, 3}, {0, 4}, {1, 2, 1, 5}})
    for (lumen_dtype dtype :
         {LUMEN_F32, LUMEN_F64, LUMEN_F16, LUMEN_I64, LUMEN_U8, LUMEN_BOOL, LUMEN_C64}) {
      Tensor tensor = randomTensor(dtype, shape, 7);
      std::string path = folder + "/t.npy";
      ASSERT_FALSE(writeNpy(path, tensor));
      llvm::Expected<Tensor> read = readNpy(path);
      ASSERT_TRUE(static_cast<bool>(read)) << toString(read.takeError());
      EXPECT_EQ(read->dtype, dtype);
      EXPECT_EQ(read->shape, shape);
      EXPECT_EQ(read->bytes, tensor.bytes);
    }
}

// NumPy has no such types; the values are what counts.
TEST_F(FilesTest, NpyOfOtherTypes) {
  std::string path = folder + "/t.npy";
  for (auto [dtype, written] : {std::pair(LUMEN_BF16, LUMEN_F32), std::pair(LUMEN_I4, LUMEN_I8),
                                std::pair(LUMEN_U2, LUMEN_U8)}) {
    Tensor tensor = randomTensor(dtype, {5}, 7);
    ASSERT_FALSE(writeNpy(path, tensor));
    llvm::Expected<Tensor> read = readNpy(path);
    ASSERT_TRUE(static_cast<bool>(read)) << toString(read.takeError());
    EXPECT_EQ(read->dtype, written);
    EXPECT_EQ(read->bytes, convert(tensor, written).bytes);
  }
}

TEST_F(FilesTest, NpyFortranOrder) {
  std::string header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
  EXPECT_EQ(values(readNpy(npy(header, std::string("\1\4\2\5\3\6", 6)))),
            Values({1, 2, 3, 4, 5, 6}));
}

TEST_F(FilesTest, BrokenNpy) {
  std::string path = folder + "/a.npy";
  EXPECT_EQ(error(readNpy(write("a.npy", "hello, this is no array"))),
            path + ": is not a .npy file");
  EXPECT_EQ(
      error(readNpy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234"))),
      path + ": has 4 bytes of data, expected 8");
  EXPECT_EQ(
      error(readNpy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "12345"))),
      path + ": has 5 bytes of data, expected 4");
  EXPECT_EQ(
      error(readNpy(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234"))),
      path + ": has elements of type '>f4', expected little-endian numbers or booleans");
  EXPECT_EQ(error(readNpy(npy("{'descr': '<f4', 'shape': (99999999999, 99999999999), }", ""))),
            path + ": the shape in the .npy header cannot be read");
  EXPECT_EQ(error(readNpy(npy("{'descr': '<f4'}", ""))),
            path + ": the header of the .npy file has no shape");
  EXPECT_EQ(error(readNpy(write("a.npy", std::string("\x93NUMPY\x01\x00\xff\x7f{}", 12)))),
            path + ": ends within its header");
}

// dims 2, 1; data_type int32; raw_data.
TEST_F(FilesTest, ProtoRawData) {
  std::string bytes("\x08\x02\x08\x01\x10\x06\x4a\x08\x05\x00\x00\x00\xff\xff\xff\xff", 16);
  EXPECT_EQ(values(readTensorProto(write("a.pb", bytes))), Values({5, -1}));
}

// float_data, packed; int64_data with a negative number; float16 as int32_data.
TEST_F(FilesTest, ProtoTypedData) {
  std::string floats("\x0a\x01\x02\x10\x01\x22\x08\x00\x00\x80\x3f\x00\x00\x00\xc0", 15);
  EXPECT_EQ(values(readTensorProto(write("a.pb", floats))), Values({1, -2}));
  std::string longs("\x08\x01\x10\x07\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 15);
  EXPECT_EQ(values(readTensorProto(write("a.pb", longs))), Values({-1}));
  std::string halves("\x08\x01\x10\x0a\x28\x80\x78", 7);
  EXPECT_EQ(values(readTensorProto(write("a.pb", halves))), Values({1}));
}

TEST_F(FilesTest, BrokenProto) {
  std::string path = folder + "/a.pb";
  EXPECT_EQ(error(readTensorProto(write("a.pb", "\x22\xff"))),
            path + ": is not an ONNX TensorProto");
  EXPECT_EQ(error(readTensorProto(write("a.pb", std::string("\x08\x02\x10\x06\x4a\x01\x05", 7)))),
            path + ": has 1 bytes of data, expected 8");
  EXPECT_EQ(error(readTensorProto(write("a.pb", "\x08\x01\x10\x08"))),
            path + ": is a tensor of strings, expected numbers or booleans");
  EXPECT_EQ(error(readTensorProto(write("a.pb", "\x08\x01\x10\x63"))),
            path + ": has elements of type 99, which is not known");
  EXPECT_EQ(error(readTensorProto(write("a.pb", "\x08\x01\x10\x01\x70\x01"))),
            path + ": has its data in another file, which is not read");
  EXPECT_EQ(error(readTensorProto(
                write("a.pb", std::string("\x08\x01\x10\x06\x22\x04\0\0\x80\x3f", 10)))),
            path + ": has 0 bytes of data, expected 4")
      << "float_data of an int32 tensor";
}

// Whatever is in a file, the readers answer: a tensor or an error.
TEST_F(FilesTest, MutatedFiles) {
  std::string proto("\x08\x02\x08\x01\x10\x06\x4a\x08\x05\x00\x00\x00\xff\xff\xff\xff", 16);
  std::string array("\x93NUMPY\x01\x00\x3b\x00", 10);
  array += "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 1), }\nabcd";
  std::mt19937 random(3);
  for (int i = 0; i < 600; ++i) {
    std::string bytes = i % 2 ? proto : array;
    for (int k = random() % 3; k >= 0; --k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(bytes.size() - (random() % 4 ? 0 : random() % bytes.size()));
    std::string path = write(i % 2 ? "a.pb" : "a.npy", bytes);
    llvm::Expected<Tensor> tensor = readTensor(path);
    if (tensor)
      EXPECT_EQ(tensor->bytes.size(), numBytes(tensor->dtype, tensor->numElements()));
    else
      EXPECT_EQ(toString(tensor.takeError()).find(path), 0u);
  }
}

} // namespace
