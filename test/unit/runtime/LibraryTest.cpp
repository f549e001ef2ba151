// Artifacts as files: found under any name, refused by name.
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <vector>

using namespace lumen::test;
namespace fs = std::filesystem;

namespace {

class LibraryTest : public testing::Test {
protected:
  LibraryTest() {
    folder = testing::TempDir() + "lumen-library-" + std::to_string(getpid());
    fs::create_directories(folder);
  }
  ~LibraryTest() override {
    lumen_model_free(model);
    fs::remove_all(folder);
  }
  // A copy of an artifact of the build under another name.
  std::string place(const char *artifact, const char *name) {
    std::string path = folder + "/" + name;
    fs::copy_file(std::string(FAKE_ARTIFACTS) + "/" + artifact, path);
    return path;
  }
  void expectRuns() {
    lumen_context *context;
    ASSERT_EQ(lumen_context_create(model, nullptr, &context, &status), LUMEN_OK) << status.message;
    std::vector<float> x(FakeModel::n, 1.0f);
    int64_t shape[] = {FakeModel::n};
    lumen_value in = lumen_tensor_value(x.data(), LUMEN_F32, 1, shape), out = {};
    ASSERT_EQ(lumen_run(context, &in, 1, &out, 1, &status), LUMEN_OK) << status.message;
    for (int64_t i = 0; i < FakeModel::n; ++i)
      ASSERT_EQ(static_cast<const float *>(out.u.tensor.data)[i], FakeModel::expected(1, i));
    lumen_context_free(context);
  }

  std::string folder;
  lumen_model *model = nullptr;
  lumen_status status = {};
};

TEST_F(LibraryTest, RenamedFile) {
  std::string path = place("fake.so", "other.name.so.3");
  ASSERT_EQ(lumen_open(path.c_str(), nullptr, &model, &status), LUMEN_OK) << status.message;
  expectRuns();
}

// Two files of one model are two models, with a runtime each.
TEST_F(LibraryTest, TwoCopies) {
  std::string a = place("fake.so", "a.so"), b = place("fake.so", "b.so");
  ASSERT_EQ(lumen_open(a.c_str(), nullptr, &model, &status), LUMEN_OK) << status.message;
  lumen_model *second;
  ASSERT_EQ(lumen_open(b.c_str(), nullptr, &second, &status), LUMEN_OK) << status.message;
  EXPECT_NE(model->api, second->api);
  lumen_model_free(second);
  expectRuns();
}

TEST_F(LibraryTest, MissingFile) {
  EXPECT_EQ(lumen_open("/nowhere/model.so", nullptr, &model, &status), LUMEN_ERROR_NOT_FOUND);
  EXPECT_STREQ(status.message, "/nowhere/model.so: No such file or directory");
  EXPECT_EQ(model, nullptr);
}

// Such as the ONNX file, which someone may give at first.
TEST_F(LibraryTest, NotALibrary) {
  std::string path = folder + "/model.onnx";
  for (const char *text : {"no ELF file", ""}) {
    std::ofstream(path) << text;
    EXPECT_EQ(lumen_open(path.c_str(), nullptr, &model, &status), LUMEN_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(status.message, path + ": is not a model made by lumenc; compile it first, as in "
                                     "lumenc model.onnx -o model.so");
  }
}

// What the loader says begins with the path; it is told once.
TEST_F(LibraryTest, NotForThisMachine) {
  std::string path = place("fake.so", "other-class.so");
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(EI_CLASS).put('\x7f');
  EXPECT_EQ(lumen_open(path.c_str(), nullptr, &model, &status), LUMEN_ERROR_IO);
  std::string message = status.message;
  EXPECT_EQ(message.find(path + ": "), 0u) << message;
  EXPECT_EQ(message.rfind(path), 0u) << message;
}

TEST_F(LibraryTest, NotAModel) {
  std::string path = place("libother.so", "other.so");
  EXPECT_EQ(lumen_open(path.c_str(), nullptr, &model, &status), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(status.message, path + ": is not a model made by lumenc");
}

TEST_F(LibraryTest, NewerRuntime) {
  std::string path = place("fake-newer.so", "newer.so");
  EXPECT_EQ(lumen_open(path.c_str(), nullptr, &model, &status), LUMEN_ERROR_VERSION);
  EXPECT_EQ(status.message,
            path + ": was made by a newer lumenc than this program's lumen.h; rebuild the program");
}

// A file that was cut anywhere is refused before it is mapped: touching the
// missing pages would end the process.
TEST_F(LibraryTest, CutFile) {
  std::string path = place("fake.so", "cut.so");
  auto full = fs::file_size(path);
  for (auto size : {full * 3 / 4, full / 2, full / 4, decltype(full)(100), decltype(full)(10)}) {
    fs::resize_file(path, size);
    EXPECT_EQ(lumen_open(path.c_str(), nullptr, &model, &status), LUMEN_ERROR_IO) << size;
    EXPECT_EQ(std::string(status.message).find(path + ": "), 0u) << status.message;
  }
  fs::copy_file(std::string(FAKE_ARTIFACTS) + "/fake.so", path,
                fs::copy_options::overwrite_existing);
  fs::resize_file(path, full / 4);
  lumen_open(path.c_str(), nullptr, &model, &status);
  EXPECT_EQ(std::string(status.message)
                .find(path + ": is cut short: has " + std::to_string(full / 4) +
                      " bytes, expected at least "),
            0u)
      << status.message;
}

// Neither hangs, as opening a FIFO does.
TEST_F(LibraryTest, NotAFile) {
  EXPECT_EQ(lumen_open(folder.c_str(), nullptr, &model, &status), LUMEN_ERROR_IO);
  EXPECT_EQ(status.message, folder + ": is a folder, expected a file made by lumenc");
  std::string path = folder + "/fifo.so";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(lumen_open(path.c_str(), nullptr, &model, &status), LUMEN_ERROR_IO);
  EXPECT_EQ(status.message, path + ": is no regular file, expected one made by lumenc");
}

class WeightsFileTest : public LibraryTest {
protected:
  WeightsFileTest()
      : path(place("fake-weights-file.so", "model.so")), file(folder + "/fake.weights") {
    memcpy(header.magic, LUMEN_ABI_WEIGHTS_MAGIC, sizeof(header.magic));
    header.version = LUMEN_ABI_WEIGHTS_VERSION;
    header.size = FakeModel::n * sizeof(float);
    memcpy(header.id, weightsId, sizeof(header.id));
  }
  void write(uint64_t extra = 0) {
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char *>(&header), sizeof(header));
    for (int64_t i = 0; i < FakeModel::n; ++i) {
      float weight = FakeModel::weight(i);
      out.write(reinterpret_cast<const char *>(&weight), sizeof(weight));
    }
    out << std::string(extra, 'x');
  }
  int open() { return lumen_open(path.c_str(), nullptr, &model, &status); }

  lumen_abi_weights_header header = {};
  std::string path, file;
};

// The weights file is looked for where the artifact lies, wherever that is.
TEST_F(WeightsFileTest, LiesBeside) {
  EXPECT_EQ(open(), LUMEN_ERROR_NOT_FOUND);
  EXPECT_EQ(status.message, file + ": cannot open the weights file: No such file or directory");
  write();
  ASSERT_EQ(open(), LUMEN_OK) << status.message;
  expectRuns();
}

// Only the file that was written with the artifact is taken.
TEST_F(WeightsFileTest, IsTheArtifactsOwn) {
  std::ofstream(file) << "short";
  EXPECT_EQ(open(), LUMEN_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(status.message, file + ": is not a weights file made by lumenc");
  write(/*extra=*/1);
  EXPECT_EQ(open(), LUMEN_ERROR_IO);
  EXPECT_EQ(status.message, file + ": the weights file has 4065 bytes, expected 4064");
  fs::resize_file(file, 20);
  EXPECT_EQ(open(), LUMEN_ERROR_IO);
  EXPECT_EQ(status.message, file + ": the weights file has 20 bytes, expected 4064");
  header.id[0] = 'f';
  write();
  EXPECT_EQ(open(), LUMEN_ERROR_VERSION);
  EXPECT_EQ(status.message,
            file + ": holds the weights f123456789abcdef0123456789abcdef of 4000 bytes, but the "
                   "artifact was compiled with 0123456789abcdef0123456789abcdef of 4000 bytes");
  header.version = 7;
  write();
  EXPECT_EQ(open(), LUMEN_ERROR_VERSION);
  EXPECT_EQ(status.message, file + ": the weights file has version 7, expected 1");
}

TEST_F(WeightsFileTest, IsARegularFile) {
  fs::create_directory(file);
  EXPECT_EQ(open(), LUMEN_ERROR_IO);
  EXPECT_EQ(status.message, file + ": the weights file is a folder, expected a regular file");
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(open(), LUMEN_ERROR_IO);
  EXPECT_EQ(status.message, file + ": the weights file is a FIFO, expected a regular file");
}

} // namespace
