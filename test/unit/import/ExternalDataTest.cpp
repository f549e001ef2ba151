//===- ExternalDataTest.cpp - weights in files of their own ---------------===//

#include "dialects/Onnx/Onnx.h"

#include "Models.h"

#include "gtest/gtest.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <unistd.h>

namespace lumen::test {
namespace {

/// A folder with the model's folder and a file beside it.
class ExternalData : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("lumen-external", root));
    folder = path("model");
    ASSERT_FALSE(llvm::sys::fs::create_directory(folder));
    data.assign(8192, 0);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = char(i % 253);
    write("model/w.bin");
    write("secret.bin");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root); }

  std::string path(llvm::StringRef name) const { return (root + "/" + name).str(); }

  void write(llvm::StringRef name) const {
    std::error_code error;
    llvm::raw_fd_ostream os(path(name), error);
    os << data;
  }

  using Entries = std::vector<std::pair<std::string, std::string>>;

  Imported load(const Entries &entries, int64_t count = 1200) const {
    ::onnx::ModelProto model = reluModel();
    auto *tensor = addInitializer(model.mutable_graph(), "w", 1, {count});
    tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
    for (const auto &[key, value] : entries) {
      auto *entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return importModel(model, {}, folder + "/m.onnx");
  }

  void expectFault(const Entries &entries, const std::string &message) const {
    Imported imported = load(entries);
    EXPECT_FALSE(imported.module);
    EXPECT_EQ(imported.messages, "m.onnx: initializer 'w': " + message + "\n");
  }

  llvm::SmallString<128> root;
  std::string folder, data;
};

// A tensor is the named part of the mapped file.
TEST_F(ExternalData, IsMapped) {
  Imported imported = load({{"location", "w.bin"}, {"offset", "64"}, {"length", "4800"}});
  ASSERT_EQ(imported.messages, "");
  imported.module->walk([&](onnx::ConstantOp op) {
    auto blob = mlir::dyn_cast<BlobAttr>(op.getValue());
    ASSERT_TRUE(blob);
    EXPECT_EQ(blob.getOffset(), 64u);
    llvm::ArrayRef<char> bytes = imported.blobs().bytes(blob);
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), data.substr(64, 4800));
  });
  EXPECT_EQ(load({{"location", "w.bin"}}, 4).messages, "");
}

TEST_F(ExternalData, ChecksRanges) {
  expectFault({{"location", "w.bin"}, {"offset", "8000"}, {"length", "4800"}},
              "external data 'w.bin': bytes 8000 to 8000+4800 lie outside the file of 8192 bytes");
  expectFault({{"location", "w.bin"}, {"offset", "18446744073709551615"}, {"length", "4800"}},
              "external data 'w.bin': bytes 18446744073709551615 to 18446744073709551615+4800 lie "
              "outside the file of 8192 bytes");
  expectFault({{"location", "w.bin"}, {"offset", "-1"}},
              "external data 'w.bin': offset '-1' is not a number");
  expectFault({{"location", "w.bin"}, {"length", "4k"}},
              "external data 'w.bin': length '4k' is not a number");
  expectFault({{"location", "w.bin"}, {"length", "100"}},
              "100 bytes of data, expected 4800 for f32[1200]");
}

// Nothing outside the model's folder is read.
TEST_F(ExternalData, StaysInTheFolder) {
  expectFault({}, "external data has no location");
  expectFault({{"location", "none.bin"}}, "external data 'none.bin': No such file or directory");
  expectFault({{"location", path("secret.bin")}}, "external data '" + path("secret.bin") +
                                                      "': is an absolute path, which is not "
                                                      "allowed");
  expectFault({{"location", "../secret.bin"}},
              "external data '../secret.bin': leaves the model's folder");
  ASSERT_EQ(symlink(path("secret.bin").c_str(), path("model/link.bin").c_str()), 0);
  expectFault({{"location", "link.bin"}},
              "external data 'link.bin': is a link that leaves the model's folder");
  ASSERT_EQ(symlink("w.bin", path("model/inside.bin").c_str()), 0);
  EXPECT_EQ(load({{"location", "inside.bin"}}).messages, "");
  expectFault({{"location", "."}}, "external data '.': is not a regular file");
}

TEST_F(ExternalData, ChecksTheChecksum) {
  std::string wrong(40, '0');
  Imported imported = load({{"location", "w.bin"}, {"checksum", wrong}});
  size_t at = imported.messages.find("has SHA-1 ");
  ASSERT_NE(at, std::string::npos);
  std::string right = imported.messages.substr(at + 10, 40);
  EXPECT_EQ(load({{"location", "w.bin"}, {"checksum", right}}).messages, "");
}

} // namespace
} // namespace lumen::test
