// Tests on a Vulkan device that is as weak as WEAK_VULKAN says; see weak_vulkan.c.
#ifndef LUMEN_TEST_WEAKVULKAN_H
#define LUMEN_TEST_WEAKVULKAN_H

#include "test/driver/Inputs/weak_vulkan.h"
#include "test/unit/vulkan/VulkanModel.h"

#include "vulkan.h"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>

// As an artifact does, so that the driver is linked in.
extern "C" const char lumen_driver_vulkan;

namespace lumen::test {

struct WeakVulkan : testing::Test {
  void SetUp() override {
    (void)*const_cast<const volatile char *>(&lumen_driver_vulkan);
    if (!*REAL_VULKAN)
      GTEST_SKIP() << "there is no libvulkan.so.1";
    // The runtime finds it by its name, as it is there already: before the real one, which
    // stays once it is there.
    static void *library = dlopen(WEAK_VULKAN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    void *symbol = dlsym(library, "weak_vulkan_count");
    std::memcpy(&count, &symbol, sizeof(symbol));
    static VkInstance instance = keepDrivers();
    if (!instance)
      GTEST_SKIP() << "there is no Vulkan driver";
    (void)counts();
  }
  void TearDown() override {
    weak_vulkan_counts left = counts();
    EXPECT_EQ(left.live, 0);
    EXPECT_EQ(left.misuses, 0);
  }
  // An instance for as long as the process lasts: drivers need not be loaded each time, and
  // what they leak has their name.
  static VkInstance keepDrivers() {
    void *symbol = dlsym(dlopen(REAL_VULKAN, RTLD_NOW | RTLD_LOCAL), "vkCreateInstance");
    VkResult (*create)(const VkInstanceCreateInfo *, const void *, VkInstance *);
    std::memcpy(&create, &symbol, sizeof(symbol));
    VkInstanceCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    VkInstance instance = nullptr;
    return create(&info, nullptr, &instance) == VK_SUCCESS ? instance : nullptr;
  }
  // Since the last call.
  weak_vulkan_counts counts() {
    weak_vulkan_counts result = {};
    if (count)
      count(&result);
    return result;
  }

  ScopedEnv real{"WEAK_VULKAN_REAL", REAL_VULKAN};
  ScopedEnv noCache{"LUMEN_CACHE", ""};
  weak_vulkan_count_function *count = nullptr;
};

} // namespace lumen::test

#endif
