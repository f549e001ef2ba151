#include "DeviceKind.h"

#include "SpirvKernel.h"
#include "lumen_abi.h"
#include "vulkan.h"

#include <cstring>
#include <dlfcn.h>

using namespace lumen::test;

// As an artifact does, so that the drivers are linked in.
extern "C" const char lumen_driver_metal, lumen_driver_vulkan;

const DeviceKind *DeviceKind::current = nullptr;

// ---- Vulkan ---------------------------------------------------------------

static std::string makeSpirv(const std::string &name, uint32_t numInputs, bool hasFaults) {
  SpirvKernel kernel(name, numInputs, hasFaults);
  static_assert(SpirvKernel::block == sumBlock);
  const char *bytes = reinterpret_cast<const char *>(kernel.words.data());
  return {bytes, bytes + kernel.words.size() * sizeof(uint32_t)};
}

// An instance for as long as the process lasts: drivers need not be loaded each time, and what
// they leak has their name.
static std::string keepDrivers(const DeviceKind &) {
  if (!*REAL_VULKAN)
    return "there is no libvulkan.so.1";
  setenv("WEAK_VULKAN_REAL", REAL_VULKAN, 1);
  void *symbol = dlsym(dlopen(REAL_VULKAN, RTLD_NOW | RTLD_LOCAL), "vkCreateInstance");
  VkResult (*create)(const VkInstanceCreateInfo *, const void *, VkInstance *);
  std::memcpy(&create, &symbol, sizeof(symbol));
  VkInstanceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  VkInstance instance = nullptr;
  return create(&info, nullptr, &instance) == VK_SUCCESS ? "" : "there is no Vulkan driver";
}

// ---- Metal ----------------------------------------------------------------

static std::string makeMetal(const std::string &name, uint32_t numInputs, bool hasFaults) {
  uint32_t numArgs = numInputs + 1;
  auto argument = [](uint32_t i) { return "x" + std::to_string(i); };
  std::string text = "#include <metal_stdlib>\nusing namespace metal;\nkernel void " + name + "(";
  for (uint32_t i = 0; i < numArgs + 1 + hasFaults; ++i)
    text += std::string("device ") + (i < numArgs ? "float" : "int") + " *" + argument(i) +
            " [[buffer(" + std::to_string(i) + ")]], ";
  std::string params = argument(numArgs), faults = argument(numArgs + 1);
  text += "uint thread_id [[thread_index_in_threadgroup]], "
          "uint group_id [[threadgroup_position_in_grid]]) {\n"
          "  int units = " +
          params + "[0], step = " + params +
          "[1] * 64;\n"
          "  for (int i = int(group_id) * 64 + int(thread_id); i < units; i += step) {\n"
          "    float sum = 1;\n";
  auto element = [&](uint32_t i) {
    return argument(i) + "[i + " + params + "[" + std::to_string(2 + i) + "] / 4]";
  };
  for (uint32_t i = numInputs; i-- > 0;)
    text += "    sum += " + element(i) + ";\n";
  if (hasFaults)
    text += "    if (" + element(0) + " < 0) {\n      " + faults + "[2] = i;\n      " + faults +
            "[4] = units;\n      " + faults + "[0] = 1;\n    }\n";
  text += "    " + element(numInputs) + " = sum;\n  }\n}\n";
  return text + '\0';
}

static std::string isThere(const DeviceKind &kind) {
  return *kind.library ? "" : "its stand-in was not built";
}

// ---------------------------------------------------------------------------

const std::vector<DeviceKind> &lumen::test::deviceKinds() {
  static const char *const drivers[] = {&lumen_driver_metal, &lumen_driver_vulkan};
  for (const char *driver : drivers)
    (void)*const_cast<const volatile char *>(driver);
  static const std::vector<DeviceKind> kinds = {{"vulkan", LUMEN_ABI_SPIRV, 0, WEAK_VULKAN, true,
                                                 "the device is lost", makeSpirv, keepDrivers},
                                                {"metal", LUMEN_ABI_METAL, 0, FAKE_METAL, false,
                                                 "a run failed (Metal says: the device is lost)",
                                                 makeMetal, isThere}};
  return kinds;
}
