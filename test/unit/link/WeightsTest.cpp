//===- WeightsTest.cpp - more constants than fit a 32-bit offset ----------===//

#include "test/unit/link/Models.h"

#include <gtest/gtest.h>

#include <cstring>
#include <dlfcn.h>

using namespace llvm;
using namespace lumen::link;
using namespace lumen::link::test;

namespace {

/// Constants that span `size` bytes with a mark at either end. The rest is a hole
/// of the file, so the test needs no disk to speak of.
ScaleModel sparseModel(uint64_t size) {
  ScaleModel model("large");
  ArrayRef<char> bytes = model.constants;
  model.weights.size = size;
  model.weights.pieces = {{0, bytes.take_front(4)}, {size - 100, bytes.take_back(100)}};
  return model;
}

class LargeWeights : public ::testing::TestWithParam<uint64_t> {};

// An artifact past 2 and 4 GiB links, loads and finds its last byte.
TEST_P(LargeWeights, LinkAndLoad) {
  Folder folder;
  ScaleModel model = sparseModel(GetParam());
  LinkOptions options;
  options.output = folder.file("large.so");
  Error error = model.link(options);
  ASSERT_FALSE(static_cast<bool>(error)) << toString(std::move(error));
  void *library = dlopen(options.output.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  struct EntryPoint {
    const void *api;
    const lumen_abi_model *model;
  };
  auto entry = reinterpret_cast<const EntryPoint *(*)()>(dlsym(library, "lumen_module_large"));
  ASSERT_NE(entry, nullptr);
  const lumen_abi_model &loaded = *entry()->model;
  ASSERT_EQ(loaded.weights_size, GetParam());
  const char *weights = static_cast<const char *>(*loaded.weights);
  EXPECT_EQ(memcmp(weights, model.constants.data(), 4), 0);
  EXPECT_EQ(weights[GetParam() / 2], 0);
  EXPECT_EQ(memcmp(weights + GetParam() - 100, model.constants.data() + 200, 100), 0);
  dlclose(library);
}

INSTANTIATE_TEST_SUITE_P(Sizes, LargeWeights,
                         ::testing::Values(uint64_t(5) << 29, uint64_t(9) << 29));

} // namespace
