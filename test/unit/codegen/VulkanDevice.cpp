//===- VulkanDevice.cpp - runs single SPIR-V kernels for tests ------------===//

#include "VulkanDevice.h"

#include "runtime-lite/include/lumen_abi.h"

#include "gtest/gtest.h"

#include <spirv-tools/libspirv.h>
#include <vulkan/vulkan.h>

#include <cstring>

using namespace lumen;
using namespace lumen::test;
using llvm::ArrayRef;
using llvm::StringRef;

template <typename T> static T makeInfo(VkStructureType type) {
  T info{};
  info.sType = type;
  return info;
}

namespace {

struct Handles {
  VkInstance instance = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  VkCommandPool commands = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  char *mapped = nullptr;
  size_t alignment = 16;
};

struct VulkanKernel final : DeviceKernel {
  VulkanKernel(const Handles &handles, const KernelBinary &binary, const LaunchShape &shape)
      : DeviceKernel(binary, shape), handles(handles) {}
  ~VulkanKernel() override;
  llvm::MutableArrayRef<char> memory() override { return {handles.mapped, kMemory}; }
  size_t alignment() override { return handles.alignment; }
  void launch(ArrayRef<Range> bindings, size_t used, uint32_t workgroups) override;

  const Handles &handles;
  VkShaderModule shader = VK_NULL_HANDLE;
  VkDescriptorSetLayout setLayout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  VkDescriptorSet set = VK_NULL_HANDLE;
};

class VulkanDevice final : public KernelDevice {
public:
  ~VulkanDevice() override;
  bool open();

  mlir::FailureOr<CompiledKernels> compile(dispatch::KernelOp kernel) override {
    return compileForTarget("spirv", kernel);
  }
  std::unique_ptr<DeviceKernel> load(const KernelBinary &binary, const LaunchShape &shape,
                                     StringRef entry, size_t numArguments,
                                     const CodegenOptions &options) override;

private:
  Handles handles;
};

} // namespace

VulkanKernel::~VulkanKernel() {
  vkDestroyDescriptorPool(handles.device, pool, nullptr);
  vkDestroyPipeline(handles.device, pipeline, nullptr);
  vkDestroyPipelineLayout(handles.device, layout, nullptr);
  vkDestroyDescriptorSetLayout(handles.device, setLayout, nullptr);
  vkDestroyShaderModule(handles.device, shader, nullptr);
}

KernelDevice *test::vulkanDevice() {
  static VulkanDevice device;
  static const bool isOpen = device.open();
  return isOpen ? &device : nullptr;
}

VulkanDevice::~VulkanDevice() {
  Handles &h = handles;
  if (h.device) {
    vkDestroyBuffer(h.device, h.buffer, nullptr);
    vkFreeMemory(h.device, h.memory, nullptr);
    vkDestroyCommandPool(h.device, h.commands, nullptr);
    vkDestroyDevice(h.device, nullptr);
  }
  if (h.messenger)
    reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(vkGetInstanceProcAddr(
        h.instance, "vkDestroyDebugUtilsMessengerEXT"))(h.instance, h.messenger, nullptr);
  if (h.instance)
    vkDestroyInstance(h.instance, nullptr);
}

static VKAPI_ATTR VkBool32 VKAPI_CALL
reportMessage(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
              const VkDebugUtilsMessengerCallbackDataEXT *data, void *) {
  ADD_FAILURE() << "the validation layer says: " << data->pMessage;
  return VK_FALSE;
}

static bool hasLayer(const char *name) {
  uint32_t count = 0;
  vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  vkEnumerateInstanceLayerProperties(&count, layers.data());
  return llvm::any_of(layers, [&](auto &layer) { return !strcmp(layer.layerName, name); });
}

bool VulkanDevice::open() {
  Handles &h = handles;
  auto messages = makeInfo<VkDebugUtilsMessengerCreateInfoEXT>(
      VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  messages.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                             VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messages.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messages.pfnUserCallback = reportMessage;
  auto application = makeInfo<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.apiVersion = VK_API_VERSION_1_2;
  auto instance = makeInfo<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  instance.pApplicationInfo = &application;
  const char *layer = "VK_LAYER_KHRONOS_validation", *extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  if (hasLayer(layer)) {
    instance.enabledLayerCount = 1;
    instance.ppEnabledLayerNames = &layer;
    instance.enabledExtensionCount = 1;
    instance.ppEnabledExtensionNames = &extension;
  }
  if (vkCreateInstance(&instance, nullptr, &h.instance) != VK_SUCCESS)
    return false;
  if (instance.enabledLayerCount) {
    auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(h.instance, "vkCreateDebugUtilsMessengerEXT"));
    create(h.instance, &messages, nullptr, &h.messenger);
  }
  uint32_t count = 1;
  vkEnumeratePhysicalDevices(h.instance, &count, &h.physical);
  if (!count)
    return false;
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(h.physical, &properties);
  h.alignment = properties.limits.minStorageBufferOffsetAlignment;

  // All that kernels may ask for; what the device lacks makes device creation fail.
  auto features12 = makeInfo<VkPhysicalDeviceVulkan12Features>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  auto features11 = makeInfo<VkPhysicalDeviceVulkan11Features>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  auto features = makeInfo<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  features.pNext = &features11;
  features11.pNext = &features12;
  features11.storageBuffer16BitAccess = VK_TRUE;
  features12.storageBuffer8BitAccess = VK_TRUE;
  features12.shaderFloat16 = features12.shaderInt8 = VK_TRUE;
  features.features.shaderFloat64 = features.features.shaderInt64 = VK_TRUE;
  features.features.shaderInt16 = VK_TRUE;
  float priority = 1;
  auto queue = makeInfo<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto device = makeInfo<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  device.pNext = &features;
  device.queueCreateInfoCount = 1;
  device.pQueueCreateInfos = &queue;
  if (vkCreateDevice(h.physical, &device, nullptr, &h.device) != VK_SUCCESS)
    return false;
  vkGetDeviceQueue(h.device, 0, 0, &h.queue);
  auto commands = makeInfo<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  commands.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  vkCreateCommandPool(h.device, &commands, nullptr, &h.commands);

  auto buffer = makeInfo<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  buffer.size = kMemory;
  buffer.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  vkCreateBuffer(h.device, &buffer, nullptr, &h.buffer);
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(h.device, h.buffer, &needs);
  VkPhysicalDeviceMemoryProperties memories;
  vkGetPhysicalDeviceMemoryProperties(h.physical, &memories);
  VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  auto allocation = makeInfo<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  allocation.allocationSize = needs.size;
  while (!(needs.memoryTypeBits >> allocation.memoryTypeIndex & 1) ||
         (memories.memoryTypes[allocation.memoryTypeIndex].propertyFlags & wanted) != wanted)
    if (++allocation.memoryTypeIndex == memories.memoryTypeCount)
      return false;
  void *mapped;
  if (vkAllocateMemory(h.device, &allocation, nullptr, &h.memory) != VK_SUCCESS ||
      vkBindBufferMemory(h.device, h.buffer, h.memory, 0) != VK_SUCCESS ||
      vkMapMemory(h.device, h.memory, 0, VK_WHOLE_SIZE, 0, &mapped) != VK_SUCCESS)
    return false;
  h.mapped = static_cast<char *>(mapped);
  return true;
}

static bool isValid(const KernelBinary &binary) {
  spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_1);
  spv_diagnostic diagnostic = nullptr;
  spv_const_binary_t words{reinterpret_cast<const uint32_t *>(binary.code.data()),
                           binary.code.size() / sizeof(uint32_t)};
  bool valid = spvValidate(context, &words, &diagnostic) == SPV_SUCCESS;
  if (!valid)
    ADD_FAILURE() << "not valid for Vulkan 1.1: " << (diagnostic ? diagnostic->error : "");
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  return valid;
}

std::unique_ptr<DeviceKernel> VulkanDevice::load(const KernelBinary &binary,
                                                 const LaunchShape &shape, StringRef entry,
                                                 size_t numArguments, const CodegenOptions &) {
  if (!isValid(binary))
    return nullptr;
  Handles &h = handles;
  auto result = std::make_unique<VulkanKernel>(h, binary, shape);
  uint32_t numBindings =
      numArguments + 1 + (shape.scratchSize != 0) + (binary.flags & LUMEN_ABI_GPU_FAULTS);
  auto shader = makeInfo<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  shader.codeSize = binary.code.size();
  shader.pCode = reinterpret_cast<const uint32_t *>(binary.code.data());
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < numBindings; ++i)
    bindings.push_back(
        {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  auto setLayout = makeInfo<VkDescriptorSetLayoutCreateInfo>(
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  setLayout.bindingCount = bindings.size();
  setLayout.pBindings = bindings.data();
  VkDescriptorPoolSize poolSize{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, numBindings};
  auto pool = makeInfo<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  pool.maxSets = pool.poolSizeCount = 1;
  pool.pPoolSizes = &poolSize;
  vkCreateShaderModule(h.device, &shader, nullptr, &result->shader);
  vkCreateDescriptorSetLayout(h.device, &setLayout, nullptr, &result->setLayout);
  vkCreateDescriptorPool(h.device, &pool, nullptr, &result->pool);
  auto set = makeInfo<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  set.descriptorPool = result->pool;
  set.descriptorSetCount = 1;
  set.pSetLayouts = &result->setLayout;
  auto layout = makeInfo<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &result->setLayout;
  vkAllocateDescriptorSets(h.device, &set, &result->set);
  vkCreatePipelineLayout(h.device, &layout, nullptr, &result->layout);
  std::string name = entry.str();
  auto pipeline =
      makeInfo<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipeline.stage.module = result->shader;
  pipeline.stage.pName = name.c_str();
  pipeline.layout = result->layout;
  VkResult code =
      vkCreateComputePipelines(h.device, VK_NULL_HANDLE, 1, &pipeline, nullptr, &result->pipeline);
  if (code == VK_SUCCESS)
    return result;
  ADD_FAILURE() << "the device refuses the pipeline: " << code;
  return nullptr;
}

void VulkanKernel::launch(ArrayRef<Range> bindings, size_t, uint32_t workgroups) {
  const Handles &h = handles;
  std::vector<VkWriteDescriptorSet> writes;
  std::vector<VkDescriptorBufferInfo> infos;
  for (Range range : bindings)
    infos.push_back({h.buffer, range.offset, range.size});
  for (auto [i, info] : llvm::enumerate(infos)) {
    auto write = makeInfo<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
    write.dstSet = set;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &info;
    writes.push_back(write);
  }
  vkUpdateDescriptorSets(h.device, writes.size(), writes.data(), 0, nullptr);
  auto allocation =
      makeInfo<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  allocation.commandPool = h.commands;
  allocation.commandBufferCount = 1;
  VkCommandBuffer commands;
  vkAllocateCommandBuffers(h.device, &allocation, &commands);
  auto begin = makeInfo<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  vkBeginCommandBuffer(commands, &begin);
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
  vkCmdDispatch(commands, workgroups, 1, 1);
  vkEndCommandBuffer(commands);
  auto submit = makeInfo<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  EXPECT_EQ(vkQueueSubmit(h.queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
  EXPECT_EQ(vkQueueWaitIdle(h.queue), VK_SUCCESS);
  vkFreeCommandBuffers(h.device, h.commands, 1, &commands);
}
