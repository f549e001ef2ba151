// Artifacts as files: found under any name, refused by name.
#include "FakeModel.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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
  EXPECT_EQ(lumen_open("/nowhere/model.so", nullptr, &model, &status), LUMEN_ERROR_IO);
  EXPECT_EQ(std::string(status.message).find("/nowhere/model.so: "), 0u) << status.message;
  EXPECT_EQ(model, nullptr);
}

TEST_F(LibraryTest, NotALibrary) {
  std::string path = folder + "/text.so";
  std::ofstream(path) << "not a library";
  EXPECT_EQ(lumen_open(path.c_str(), nullptr, &model, &status), LUMEN_ERROR_IO);
  EXPECT_EQ(std::string(status.message).find(path + ": "), 0u) << status.message;
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

// The weights file is looked for where the artifact lies, wherever that is.
TEST_F(LibraryTest, WeightsFile) {
  std::string path = place("fake-weights-file.so", "model.so"), file = folder + "/fake.weights";
  EXPECT_EQ(lumen_open(path.c_str(), nullptr, &model, &status), LUMEN_ERROR_NOT_FOUND);
  EXPECT_EQ(status.message, file + ": cannot open the weights file: No such file or directory");
  std::ofstream(file) << "short";
  EXPECT_EQ(lumen_open(path.c_str(), nullptr, &model, &status), LUMEN_ERROR_IO);
  EXPECT_EQ(status.message, file + ": the weights file has 5 bytes, expected 4000");
  std::ofstream out(file, std::ios::binary);
  for (int64_t i = 0; i < FakeModel::n; ++i) {
    float weight = FakeModel::weight(i);
    out.write(reinterpret_cast<const char *>(&weight), sizeof(weight));
  }
  out.close();
  ASSERT_EQ(lumen_open(path.c_str(), nullptr, &model, &status), LUMEN_OK) << status.message;
  expectRuns();
}

} // namespace
