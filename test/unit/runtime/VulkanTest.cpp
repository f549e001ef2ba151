// The runtime's own declarations of Vulkan are those of the system's header.
#include "vulkan.h"

#include "ForeignHeader.h"

#include <gtest/gtest.h>

#if __has_include(<vulkan/vulkan_core.h>)
#include <cstdint>

// The header includes these, and they have no place in a namespace.
#include <stddef.h>
#include <stdint.h>

constexpr uint64_t ownWholeSize = VK_WHOLE_SIZE;
#undef VK_WHOLE_SIZE
#define VK_NO_PROTOTYPES
// The same names twice: those of the header live in a namespace.
namespace header {
#include <vulkan/vulkan_core.h>
} // namespace header

namespace {

using lumen::test::signature;

// Calls `each` with the type and each of up to ten members.
#define EACH_1(each, type, member) each(type, member)
#define EACH_2(each, type, member, ...) each(type, member) EACH_1(each, type, __VA_ARGS__)
#define EACH_3(each, type, member, ...) each(type, member) EACH_2(each, type, __VA_ARGS__)
#define EACH_4(each, type, member, ...) each(type, member) EACH_3(each, type, __VA_ARGS__)
#define EACH_5(each, type, member, ...) each(type, member) EACH_4(each, type, __VA_ARGS__)
#define EACH_6(each, type, member, ...) each(type, member) EACH_5(each, type, __VA_ARGS__)
#define EACH_7(each, type, member, ...) each(type, member) EACH_6(each, type, __VA_ARGS__)
#define EACH_8(each, type, member, ...) each(type, member) EACH_7(each, type, __VA_ARGS__)
#define EACH_9(each, type, member, ...) each(type, member) EACH_8(each, type, __VA_ARGS__)
#define EACH_10(each, type, member, ...) each(type, member) EACH_9(each, type, __VA_ARGS__)
#define PICK(a, b, c, d, e, f, g, h, i, j, name, ...) name
#define EACH(each, type, ...)                                                                      \
  PICK(__VA_ARGS__, EACH_10, EACH_9, EACH_8, EACH_7, EACH_6, EACH_5, EACH_4, EACH_3, EACH_2,       \
       EACH_1, )(each, type, __VA_ARGS__)

#define MEMBER(type, member)                                                                       \
  EXPECT_EQ(offsetof(::type, member), offsetof(header::type, member)) << #type "::" #member;       \
  EXPECT_EQ(sizeof(::type::member), sizeof(header::type::member)) << #type "::" #member;
#define LAYOUT(type, ...)                                                                          \
  EXPECT_EQ(sizeof(::type), sizeof(header::type)) << #type;                                        \
  EACH(MEMBER, type, __VA_ARGS__)
#define NUMBER(name) EXPECT_EQ(int64_t{::name}, int64_t{header::name}) << #name

TEST(VulkanTest, HasTheHeadersNumbers) {
  EXPECT_EQ(ownWholeSize, VK_WHOLE_SIZE);
  EXPECT_EQ(lumen_vk_version(1, 1), VK_API_VERSION_1_1);
  NUMBER(VK_SUCCESS);
  NUMBER(VK_NOT_READY);
  NUMBER(VK_ERROR_OUT_OF_HOST_MEMORY);
  NUMBER(VK_ERROR_OUT_OF_DEVICE_MEMORY);
  NUMBER(VK_ERROR_DEVICE_LOST);
  NUMBER(VK_ERROR_INCOMPATIBLE_DRIVER);
  NUMBER(VK_ERROR_OUT_OF_POOL_MEMORY);
  NUMBER(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  NUMBER(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  NUMBER(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
  NUMBER(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  NUMBER(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  NUMBER(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  NUMBER(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  NUMBER(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  NUMBER(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2);
  NUMBER(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  NUMBER(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  NUMBER(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  NUMBER(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  NUMBER(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
  NUMBER(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
  NUMBER(VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU);
  NUMBER(VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
  NUMBER(VK_PHYSICAL_DEVICE_TYPE_CPU);
  NUMBER(VK_QUEUE_COMPUTE_BIT);
  NUMBER(VK_MEMORY_HEAP_DEVICE_LOCAL_BIT);
  NUMBER(VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  NUMBER(VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
  NUMBER(VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  NUMBER(VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  NUMBER(VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
  NUMBER(VK_BUFFER_USAGE_TRANSFER_DST_BIT);
  NUMBER(VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
  NUMBER(VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
  NUMBER(VK_SHADER_STAGE_COMPUTE_BIT);
  NUMBER(VK_PIPELINE_BIND_POINT_COMPUTE);
  NUMBER(VK_PIPELINE_STAGE_HOST_BIT);
  NUMBER(VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
  NUMBER(VK_ACCESS_MEMORY_READ_BIT);
  NUMBER(VK_ACCESS_MEMORY_WRITE_BIT);
  NUMBER(VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT);
  NUMBER(VK_SUBGROUP_FEATURE_BASIC_BIT);
  NUMBER(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT);
  NUMBER(VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
}

TEST(VulkanTest, HasTheHeadersLayouts) {
  LAYOUT(VkApplicationInfo, sType, pNext, pApplicationName, applicationVersion, pEngineName,
         engineVersion, apiVersion);
  LAYOUT(VkInstanceCreateInfo, sType, pNext, flags, pApplicationInfo, enabledLayerCount,
         ppEnabledLayerNames, enabledExtensionCount, ppEnabledExtensionNames);
  LAYOUT(VkPhysicalDeviceLimits, maxStorageBufferRange, maxPerStageDescriptorStorageBuffers,
         maxDescriptorSetStorageBuffers, maxComputeSharedMemorySize, maxComputeWorkGroupCount,
         maxComputeWorkGroupInvocations, maxComputeWorkGroupSize, minStorageBufferOffsetAlignment,
         nonCoherentAtomSize);
  LAYOUT(VkPhysicalDeviceProperties, apiVersion, driverVersion, vendorID, deviceID, deviceType,
         deviceName, pipelineCacheUUID, limits, sparseProperties);
  LAYOUT(VkPhysicalDeviceProperties2, sType, pNext, properties);
  LAYOUT(VkPhysicalDeviceMaintenance3Properties, sType, pNext, maxPerSetDescriptors,
         maxMemoryAllocationSize);
  LAYOUT(VkPhysicalDeviceSubgroupProperties, sType, pNext, subgroupSize, supportedStages,
         supportedOperations, quadOperationsInAllStages);
  LAYOUT(VkPhysicalDeviceFeatures, shaderFloat64, shaderInt64, shaderInt16);
  LAYOUT(VkPhysicalDeviceFeatures2, sType, pNext, features);
  LAYOUT(VkPhysicalDevice16BitStorageFeatures, sType, pNext, storageBuffer16BitAccess,
         uniformAndStorageBuffer16BitAccess, storagePushConstant16, storageInputOutput16);
  LAYOUT(VkPhysicalDevice8BitStorageFeatures, sType, pNext, storageBuffer8BitAccess,
         uniformAndStorageBuffer8BitAccess, storagePushConstant8);
  LAYOUT(VkPhysicalDeviceShaderFloat16Int8Features, sType, pNext, shaderFloat16, shaderInt8);
  LAYOUT(VkMemoryType, propertyFlags, heapIndex);
  LAYOUT(VkMemoryHeap, size, flags);
  LAYOUT(VkPhysicalDeviceMemoryProperties, memoryTypeCount, memoryTypes, memoryHeapCount,
         memoryHeaps);
  LAYOUT(VkPhysicalDeviceMemoryProperties2, sType, pNext, memoryProperties);
  LAYOUT(VkPhysicalDeviceMemoryBudgetPropertiesEXT, sType, pNext, heapBudget, heapUsage);
  LAYOUT(VkExtensionProperties, extensionName, specVersion);
  LAYOUT(VkQueueFamilyProperties, queueFlags, queueCount, timestampValidBits,
         minImageTransferGranularity);
  LAYOUT(VkDeviceQueueCreateInfo, sType, pNext, flags, queueFamilyIndex, queueCount,
         pQueuePriorities);
  LAYOUT(VkDeviceCreateInfo, sType, pNext, flags, queueCreateInfoCount, pQueueCreateInfos,
         enabledLayerCount, ppEnabledLayerNames, enabledExtensionCount, ppEnabledExtensionNames,
         pEnabledFeatures);
  LAYOUT(VkBufferCreateInfo, sType, pNext, flags, size, usage, sharingMode, queueFamilyIndexCount,
         pQueueFamilyIndices);
  LAYOUT(VkMemoryRequirements, size, alignment, memoryTypeBits);
  LAYOUT(VkMemoryAllocateInfo, sType, pNext, allocationSize, memoryTypeIndex);
  LAYOUT(VkShaderModuleCreateInfo, sType, pNext, flags, codeSize, pCode);
  LAYOUT(VkPipelineCacheCreateInfo, sType, pNext, flags, initialDataSize, pInitialData);
  LAYOUT(VkPipelineShaderStageCreateInfo, sType, pNext, flags, stage, module, pName,
         pSpecializationInfo);
  LAYOUT(VkComputePipelineCreateInfo, sType, pNext, flags, stage, layout, basePipelineHandle,
         basePipelineIndex);
  LAYOUT(VkDescriptorSetLayoutBinding, binding, descriptorType, descriptorCount, stageFlags,
         pImmutableSamplers);
  LAYOUT(VkDescriptorSetLayoutCreateInfo, sType, pNext, flags, bindingCount, pBindings);
  LAYOUT(VkPipelineLayoutCreateInfo, sType, pNext, flags, setLayoutCount, pSetLayouts,
         pushConstantRangeCount, pPushConstantRanges);
  LAYOUT(VkDescriptorPoolSize, type, descriptorCount);
  LAYOUT(VkDescriptorPoolCreateInfo, sType, pNext, flags, maxSets, poolSizeCount, pPoolSizes);
  LAYOUT(VkDescriptorSetAllocateInfo, sType, pNext, descriptorPool, descriptorSetCount,
         pSetLayouts);
  LAYOUT(VkDescriptorBufferInfo, buffer, offset, range);
  LAYOUT(VkWriteDescriptorSet, sType, pNext, dstSet, dstBinding, dstArrayElement, descriptorCount,
         descriptorType, pImageInfo, pBufferInfo, pTexelBufferView);
  LAYOUT(VkCommandPoolCreateInfo, sType, pNext, flags, queueFamilyIndex);
  LAYOUT(VkCommandBufferAllocateInfo, sType, pNext, commandPool, level, commandBufferCount);
  LAYOUT(VkCommandBufferBeginInfo, sType, pNext, flags, pInheritanceInfo);
  LAYOUT(VkMemoryBarrier, sType, pNext, srcAccessMask, dstAccessMask);
  LAYOUT(VkBufferCopy, srcOffset, dstOffset, size);
  LAYOUT(VkSubmitInfo, sType, pNext, waitSemaphoreCount, pWaitSemaphores, pWaitDstStageMask,
         commandBufferCount, pCommandBuffers, signalSemaphoreCount, pSignalSemaphores);
  LAYOUT(VkFenceCreateInfo, sType, pNext, flags);
}

TEST(VulkanTest, HasTheHeadersFunctions) {
#define X(result, name, arguments)                                                                 \
  EXPECT_EQ(signature(decltype(lumen_vk::name){}), signature(header::PFN_vk##name{})) << #name;
  LUMEN_VK_FUNCTIONS(X)
#undef X
}

} // namespace
#else
TEST(VulkanTest, HasTheHeadersNumbers) { GTEST_SKIP() << "there is no vulkan/vulkan_core.h"; }
#endif
