// Tests on devices that are as weak as WEAK_DEVICE says.
#ifndef LUMEN_TEST_DEVICETEST_H
#define LUMEN_TEST_DEVICETEST_H

#include "test/unit/devices/DeviceModel.h"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <map>

namespace lumen::test {

struct DeviceTest : testing::TestWithParam<DeviceKind> {
  void SetUp() override {
    DeviceKind::current = &GetParam();
    // The runtime finds it by its name, as it is there already: before the real one, which
    // stays once it is there.
    static std::map<std::string, std::pair<void *, std::string>> libraries;
    auto [entry, isNew] = libraries.try_emplace(kind().name);
    auto &[library, missing] = entry->second;
    if (isNew) {
      library = *kind().library ? dlopen(kind().library, RTLD_NOW | RTLD_LOCAL) : nullptr;
      ASSERT_TRUE(library || !*kind().library) << dlerror();
      missing = kind().prepare(kind());
    }
    if (!missing.empty())
      GTEST_SKIP() << missing;
    void *symbol = dlsym(library, "weak_device_count");
    std::memcpy(&count, &symbol, sizeof(symbol));
    (void)counts();
  }
  void TearDown() override {
    weak_device_counts left = counts();
    EXPECT_EQ(left.live, 0);
    EXPECT_EQ(left.misuses, 0);
  }
  static const DeviceKind &kind() { return GetParam(); }
  static const char *name() { return GetParam().name; }
  // Since the last call.
  weak_device_counts counts() {
    weak_device_counts result = {};
    if (count)
      count(&result);
    return result;
  }
  ScopedEnv noCache{"LUMEN_CACHE", ""};
  weak_device_count_function *count = nullptr;
};

// A device of few means, whose memory the host sees or does not.
struct Weak {
  explicit Weak(const std::string &words, bool isHidden = false)
      : words("WEAK_DEVICE", (words + " unified=" + (isHidden ? "0" : "1")).c_str()),
        staging("LUMEN_VULKAN_STAGING", isHidden ? "1" : "0") {}
  ScopedEnv words, staging;
};

// For test names.
inline std::string kindName(const testing::TestParamInfo<DeviceKind> &info) {
  return info.param.name;
}

} // namespace lumen::test

#endif
