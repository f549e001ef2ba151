#include "DeviceKind.h"

#include "SpirvKernel.h"
#include "lumen_abi.h"
#include "vulkan.h"

#include <cstring>
#include <dlfcn.h>

using namespace lumen::test;

// As an artifact does, so that the drivers are linked in.
extern "C" const char lumen_driver_cuda, lumen_driver_metal, lumen_driver_vulkan;

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

// ---- CUDA -----------------------------------------------------------------

static std::string makePtx(const std::string &name, uint32_t numInputs, bool hasFaults) {
  uint32_t numArgs = numInputs + 1;
  std::string text = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry " + name + "(";
  for (uint32_t i = 0; i < numArgs + 1 + hasFaults; ++i)
    text += (i ? ",\n.param .u64 x" : "\n.param .u64 x") + std::to_string(i);
  auto address = [&](uint32_t i) {
    return "ld.param.b64 %d1, [x" + std::to_string(i) + "];\nld.global.b32 %r5, [%d0+" +
           std::to_string(4 * (2 + i)) +
           "];\ncvt.u64.u32 %d2, %r5;\nadd.s64 %d1, %d1, %d2;\n"
           "mul.wide.s32 %d2, %r4, 4;\nadd.s64 %d1, %d1, %d2;\n";
  };
  text += ")\n.reqntid 64, 1, 1\n{\n.reg .pred %p<2>;\n.reg .b32 %r<9>;\n.reg .b64 %d<3>;\n"
          "ld.param.b64 %d0, [x" +
          std::to_string(numArgs) +
          "];\nld.global.b32 %r0, [%d0];\nld.global.b32 %r1, [%d0+4];\nshl.b32 %r1, %r1, 6;\n"
          "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r2, 64, %r3;\n"
          "NEXT:\nsetp.ge.s32 %p0, %r4, %r0;\n@%p0 bra END;\nmov.b32 %r6, 0f3F800000;\n";
  for (uint32_t i = numInputs; i-- > 0;)
    text += address(i) + "ld.global.b32 %r7, [%d1];\nadd.rn.f32 %r6, %r6, %r7;\n";
  if (hasFaults)
    text += "ld.param.b64 %d1, [x" + std::to_string(numArgs + 1) +
            "];\nsetp.lt.f32 %p1, %r7, 0f00000000;\n@%p1 st.global.b32 [%d1+8], %r4;\n"
            "@%p1 st.global.b32 [%d1+16], %r0;\n@%p1 st.global.b32 [%d1], 1;\n";
  text += address(numInputs) + "st.global.b32 [%d1], %r6;\nadd.s32 %r4, %r4, %r1;\n"
                               "bra.uni NEXT;\nEND:\nret;\n}\n";
  return text + '\0';
}

// ---------------------------------------------------------------------------

const std::vector<DeviceKind> &lumen::test::deviceKinds() {
  static const char *const drivers[] = {&lumen_driver_cuda, &lumen_driver_metal,
                                        &lumen_driver_vulkan};
  for (const char *driver : drivers)
    (void)*const_cast<const volatile char *>(driver);
  static const std::vector<DeviceKind> kinds = {
      {"vulkan", LUMEN_ABI_SPIRV, 0, WEAK_VULKAN, true, false, "the device is lost", makeSpirv,
       keepDrivers},
      {"metal", LUMEN_ABI_METAL, 0, FAKE_METAL, false, false,
       "a run failed (Metal says: the device is lost)", makeMetal, isThere},
      {"cuda", LUMEN_ABI_PTX, 75, FAKE_CUDA, false, true,
       "a run failed (CUDA says CUDA_ERROR_LAUNCH_FAILED)", makePtx, isThere}};
  return kinds;
}
