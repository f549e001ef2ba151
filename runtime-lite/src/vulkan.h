/* vulkan.h - the part of Vulkan 1.1 that the driver uses, and how it is loaded.
 *
 * Names and layouts are those of the Vulkan specification (sections are named after the
 * functions); test/unit/runtime/VulkanTest.cpp compares them with the system's header. The
 * runtime includes none, so that it builds without one. 64-bit machines only. */
#ifndef LUMEN_VULKAN_H
#define LUMEN_VULKAN_H

#include "lumen.h"

#include <stddef.h>

/* ---- Handles and numbers ------------------------------------------------ */

typedef struct VkInstance_T *VkInstance;
typedef struct VkPhysicalDevice_T *VkPhysicalDevice;
typedef struct VkDevice_T *VkDevice;
typedef struct VkQueue_T *VkQueue;
typedef struct VkCommandBuffer_T *VkCommandBuffer;
typedef struct VkBuffer_T *VkBuffer;
typedef struct VkDeviceMemory_T *VkDeviceMemory;
typedef struct VkShaderModule_T *VkShaderModule;
typedef struct VkPipeline_T *VkPipeline;
typedef struct VkPipelineCache_T *VkPipelineCache;
typedef struct VkPipelineLayout_T *VkPipelineLayout;
typedef struct VkDescriptorSetLayout_T *VkDescriptorSetLayout;
typedef struct VkDescriptorPool_T *VkDescriptorPool;
typedef struct VkDescriptorSet_T *VkDescriptorSet;
typedef struct VkCommandPool_T *VkCommandPool;
typedef struct VkFence_T *VkFence;

typedef int32_t VkResult;
typedef uint32_t VkFlags, VkBool32;
typedef uint64_t VkDeviceSize;

enum {
  VK_SUCCESS = 0,
  VK_NOT_READY = 1,
  VK_ERROR_OUT_OF_HOST_MEMORY = -1,
  VK_ERROR_OUT_OF_DEVICE_MEMORY = -2,
  VK_ERROR_DEVICE_LOST = -4,
  VK_ERROR_INCOMPATIBLE_DRIVER = -9,
  VK_ERROR_OUT_OF_POOL_MEMORY = -1000069000
};

enum {
  VK_STRUCTURE_TYPE_APPLICATION_INFO = 0,
  VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO = 1,
  VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO = 2,
  VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO = 3,
  VK_STRUCTURE_TYPE_SUBMIT_INFO = 4,
  VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO = 5,
  VK_STRUCTURE_TYPE_FENCE_CREATE_INFO = 8,
  VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO = 12,
  VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO = 16,
  VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO = 17,
  VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO = 18,
  VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO = 29,
  VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO = 30,
  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO = 32,
  VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO = 33,
  VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO = 34,
  VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET = 35,
  VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO = 39,
  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO = 40,
  VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO = 42,
  VK_STRUCTURE_TYPE_MEMORY_BARRIER = 46,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 = 1000059000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 = 1000059001,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2 = 1000059006,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES = 1000082000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES = 1000083000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES = 1000094000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES = 1000168000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES = 1000177000,
  VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT = 1000237000
};

enum {
  VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU = 1,
  VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU = 2,
  VK_PHYSICAL_DEVICE_TYPE_CPU = 4,
  VK_QUEUE_COMPUTE_BIT = 2,
  VK_MEMORY_HEAP_DEVICE_LOCAL_BIT = 1,
  VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT = 1,
  VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT = 2,
  VK_MEMORY_PROPERTY_HOST_COHERENT_BIT = 4,
  VK_MEMORY_PROPERTY_HOST_CACHED_BIT = 8,
  VK_BUFFER_USAGE_TRANSFER_SRC_BIT = 1,
  VK_BUFFER_USAGE_TRANSFER_DST_BIT = 2,
  VK_BUFFER_USAGE_STORAGE_BUFFER_BIT = 32,
  VK_DESCRIPTOR_TYPE_STORAGE_BUFFER = 7,
  VK_SHADER_STAGE_COMPUTE_BIT = 32,
  VK_PIPELINE_BIND_POINT_COMPUTE = 1,
  VK_PIPELINE_STAGE_HOST_BIT = 0x4000,
  VK_PIPELINE_STAGE_ALL_COMMANDS_BIT = 0x10000,
  VK_ACCESS_MEMORY_READ_BIT = 0x8000,
  VK_ACCESS_MEMORY_WRITE_BIT = 0x10000,
  VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT = 2,
  VK_SUBGROUP_FEATURE_BASIC_BIT = 1,
  VK_SUBGROUP_FEATURE_ARITHMETIC_BIT = 4,
  VK_SUBGROUP_FEATURE_SHUFFLE_BIT = 16
};

#define VK_WHOLE_SIZE (~0ull)

static inline uint32_t lumen_vk_version(uint32_t major, uint32_t minor) {
  return major << 22 | minor << 12;
}

/* ---- Structures --------------------------------------------------------- */

typedef struct VkApplicationInfo {
  int32_t sType;
  const void *pNext;
  const char *pApplicationName;
  uint32_t applicationVersion;
  const char *pEngineName;
  uint32_t engineVersion, apiVersion;
} VkApplicationInfo;

typedef struct VkInstanceCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  const VkApplicationInfo *pApplicationInfo;
  uint32_t enabledLayerCount;
  const char *const *ppEnabledLayerNames;
  uint32_t enabledExtensionCount;
  const char *const *ppEnabledExtensionNames;
} VkInstanceCreateInfo;

/* What lies between the members that are used is not named. */
typedef struct VkPhysicalDeviceLimits {
  char before0[28];
  uint32_t maxStorageBufferRange;
  char before1[44];
  uint32_t maxPerStageDescriptorStorageBuffers;
  char before2[12];
  uint32_t maxPerStageResources;
  char before3[12];
  uint32_t maxDescriptorSetStorageBuffers;
  char before4[104];
  uint32_t maxComputeSharedMemorySize;
  uint32_t maxComputeWorkGroupCount[3];
  uint32_t maxComputeWorkGroupInvocations;
  uint32_t maxComputeWorkGroupSize[3];
  char before5[80];
  VkDeviceSize minStorageBufferOffsetAlignment;
  char before6[160];
  VkDeviceSize nonCoherentAtomSize;
} VkPhysicalDeviceLimits;

typedef struct VkPhysicalDeviceProperties {
  uint32_t apiVersion, driverVersion, vendorID, deviceID;
  int32_t deviceType;
  char deviceName[256];
  uint8_t pipelineCacheUUID[16];
  VkPhysicalDeviceLimits limits;
  VkBool32 sparseProperties[5];
} VkPhysicalDeviceProperties;

typedef struct VkPhysicalDeviceProperties2 {
  int32_t sType;
  void *pNext;
  VkPhysicalDeviceProperties properties;
} VkPhysicalDeviceProperties2;

typedef struct VkPhysicalDeviceMaintenance3Properties {
  int32_t sType;
  void *pNext;
  uint32_t maxPerSetDescriptors;
  VkDeviceSize maxMemoryAllocationSize;
} VkPhysicalDeviceMaintenance3Properties;

typedef struct VkPhysicalDeviceSubgroupProperties {
  int32_t sType;
  void *pNext;
  uint32_t subgroupSize;
  VkFlags supportedStages, supportedOperations;
  VkBool32 quadOperationsInAllStages;
} VkPhysicalDeviceSubgroupProperties;

typedef struct VkPhysicalDeviceFeatures {
  VkBool32 before[39];
  VkBool32 shaderFloat64, shaderInt64, shaderInt16;
  VkBool32 behind[13];
} VkPhysicalDeviceFeatures;

typedef struct VkPhysicalDeviceFeatures2 {
  int32_t sType;
  void *pNext;
  VkPhysicalDeviceFeatures features;
} VkPhysicalDeviceFeatures2;

typedef struct VkPhysicalDevice16BitStorageFeatures {
  int32_t sType;
  void *pNext;
  VkBool32 storageBuffer16BitAccess, uniformAndStorageBuffer16BitAccess, storagePushConstant16,
      storageInputOutput16;
} VkPhysicalDevice16BitStorageFeatures;

typedef struct VkPhysicalDevice8BitStorageFeatures {
  int32_t sType;
  void *pNext;
  VkBool32 storageBuffer8BitAccess, uniformAndStorageBuffer8BitAccess, storagePushConstant8;
} VkPhysicalDevice8BitStorageFeatures;

typedef struct VkPhysicalDeviceShaderFloat16Int8Features {
  int32_t sType;
  void *pNext;
  VkBool32 shaderFloat16, shaderInt8;
} VkPhysicalDeviceShaderFloat16Int8Features;

typedef struct VkMemoryType {
  VkFlags propertyFlags;
  uint32_t heapIndex;
} VkMemoryType;

typedef struct VkMemoryHeap {
  VkDeviceSize size;
  VkFlags flags;
} VkMemoryHeap;

typedef struct VkPhysicalDeviceMemoryProperties {
  uint32_t memoryTypeCount;
  VkMemoryType memoryTypes[32];
  uint32_t memoryHeapCount;
  VkMemoryHeap memoryHeaps[16];
} VkPhysicalDeviceMemoryProperties;

typedef struct VkPhysicalDeviceMemoryProperties2 {
  int32_t sType;
  void *pNext;
  VkPhysicalDeviceMemoryProperties memoryProperties;
} VkPhysicalDeviceMemoryProperties2;

typedef struct VkPhysicalDeviceMemoryBudgetPropertiesEXT {
  int32_t sType;
  void *pNext;
  VkDeviceSize heapBudget[16], heapUsage[16];
} VkPhysicalDeviceMemoryBudgetPropertiesEXT;

typedef struct VkExtensionProperties {
  char extensionName[256];
  uint32_t specVersion;
} VkExtensionProperties;

typedef struct VkQueueFamilyProperties {
  VkFlags queueFlags;
  uint32_t queueCount, timestampValidBits;
  uint32_t minImageTransferGranularity[3];
} VkQueueFamilyProperties;

typedef struct VkDeviceQueueCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  uint32_t queueFamilyIndex, queueCount;
  const float *pQueuePriorities;
} VkDeviceQueueCreateInfo;

typedef struct VkDeviceCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  uint32_t queueCreateInfoCount;
  const VkDeviceQueueCreateInfo *pQueueCreateInfos;
  uint32_t enabledLayerCount;
  const char *const *ppEnabledLayerNames;
  uint32_t enabledExtensionCount;
  const char *const *ppEnabledExtensionNames;
  const VkPhysicalDeviceFeatures *pEnabledFeatures;
} VkDeviceCreateInfo;

typedef struct VkBufferCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  VkDeviceSize size;
  VkFlags usage;
  int32_t sharingMode;
  uint32_t queueFamilyIndexCount;
  const uint32_t *pQueueFamilyIndices;
} VkBufferCreateInfo;

typedef struct VkMemoryRequirements {
  VkDeviceSize size, alignment;
  uint32_t memoryTypeBits;
} VkMemoryRequirements;

typedef struct VkMemoryAllocateInfo {
  int32_t sType;
  const void *pNext;
  VkDeviceSize allocationSize;
  uint32_t memoryTypeIndex;
} VkMemoryAllocateInfo;

typedef struct VkShaderModuleCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  size_t codeSize;
  const uint32_t *pCode;
} VkShaderModuleCreateInfo;

typedef struct VkPipelineCacheCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  size_t initialDataSize;
  const void *pInitialData;
} VkPipelineCacheCreateInfo;

typedef struct VkPipelineShaderStageCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags, stage;
  VkShaderModule module;
  const char *pName;
  const void *pSpecializationInfo;
} VkPipelineShaderStageCreateInfo;

typedef struct VkComputePipelineCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  VkPipelineShaderStageCreateInfo stage;
  VkPipelineLayout layout;
  VkPipeline basePipelineHandle;
  int32_t basePipelineIndex;
} VkComputePipelineCreateInfo;

typedef struct VkDescriptorSetLayoutBinding {
  uint32_t binding;
  int32_t descriptorType;
  uint32_t descriptorCount;
  VkFlags stageFlags;
  const void *pImmutableSamplers;
} VkDescriptorSetLayoutBinding;

typedef struct VkDescriptorSetLayoutCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  uint32_t bindingCount;
  const VkDescriptorSetLayoutBinding *pBindings;
} VkDescriptorSetLayoutCreateInfo;

typedef struct VkPipelineLayoutCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  uint32_t setLayoutCount;
  const VkDescriptorSetLayout *pSetLayouts;
  uint32_t pushConstantRangeCount;
  const void *pPushConstantRanges;
} VkPipelineLayoutCreateInfo;

typedef struct VkDescriptorPoolSize {
  int32_t type;
  uint32_t descriptorCount;
} VkDescriptorPoolSize;

typedef struct VkDescriptorPoolCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  uint32_t maxSets, poolSizeCount;
  const VkDescriptorPoolSize *pPoolSizes;
} VkDescriptorPoolCreateInfo;

typedef struct VkDescriptorSetAllocateInfo {
  int32_t sType;
  const void *pNext;
  VkDescriptorPool descriptorPool;
  uint32_t descriptorSetCount;
  const VkDescriptorSetLayout *pSetLayouts;
} VkDescriptorSetAllocateInfo;

typedef struct VkDescriptorBufferInfo {
  VkBuffer buffer;
  VkDeviceSize offset, range;
} VkDescriptorBufferInfo;

typedef struct VkWriteDescriptorSet {
  int32_t sType;
  const void *pNext;
  VkDescriptorSet dstSet;
  uint32_t dstBinding, dstArrayElement, descriptorCount;
  int32_t descriptorType;
  const void *pImageInfo;
  const VkDescriptorBufferInfo *pBufferInfo;
  const void *pTexelBufferView;
} VkWriteDescriptorSet;

typedef struct VkCommandPoolCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  uint32_t queueFamilyIndex;
} VkCommandPoolCreateInfo;

typedef struct VkCommandBufferAllocateInfo {
  int32_t sType;
  const void *pNext;
  VkCommandPool commandPool;
  int32_t level;
  uint32_t commandBufferCount;
} VkCommandBufferAllocateInfo;

typedef struct VkCommandBufferBeginInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
  const void *pInheritanceInfo;
} VkCommandBufferBeginInfo;

typedef struct VkMemoryBarrier {
  int32_t sType;
  const void *pNext;
  VkFlags srcAccessMask, dstAccessMask;
} VkMemoryBarrier;

typedef struct VkBufferCopy {
  VkDeviceSize srcOffset, dstOffset, size;
} VkBufferCopy;

typedef struct VkSubmitInfo {
  int32_t sType;
  const void *pNext;
  uint32_t waitSemaphoreCount;
  const void *pWaitSemaphores;
  const VkFlags *pWaitDstStageMask;
  uint32_t commandBufferCount;
  const VkCommandBuffer *pCommandBuffers;
  uint32_t signalSemaphoreCount;
  const void *pSignalSemaphores;
} VkSubmitInfo;

typedef struct VkFenceCreateInfo {
  int32_t sType;
  const void *pNext;
  VkFlags flags;
} VkFenceCreateInfo;

/* ---- Functions ---------------------------------------------------------- */

typedef void (*lumen_vk_function)(void);

/* X(result, name without "vk", (arguments)): those that an instance gives. */
#define LUMEN_VK_FUNCTIONS(X)                                                                      \
  X(void, DestroyInstance, (VkInstance, const void *))                                             \
  X(VkResult, EnumeratePhysicalDevices, (VkInstance, uint32_t *, VkPhysicalDevice *))              \
  X(void, GetPhysicalDeviceProperties2, (VkPhysicalDevice, VkPhysicalDeviceProperties2 *))         \
  X(void, GetPhysicalDeviceProperties, (VkPhysicalDevice, VkPhysicalDeviceProperties *))           \
  X(void, GetPhysicalDeviceFeatures2, (VkPhysicalDevice, VkPhysicalDeviceFeatures2 *))             \
  X(void, GetPhysicalDeviceMemoryProperties2,                                                      \
    (VkPhysicalDevice, VkPhysicalDeviceMemoryProperties2 *))                                       \
  X(void, GetPhysicalDeviceQueueFamilyProperties,                                                  \
    (VkPhysicalDevice, uint32_t *, VkQueueFamilyProperties *))                                     \
  X(VkResult, EnumerateDeviceExtensionProperties,                                                  \
    (VkPhysicalDevice, const char *, uint32_t *, VkExtensionProperties *))                         \
  X(VkResult, CreateDevice,                                                                        \
    (VkPhysicalDevice, const VkDeviceCreateInfo *, const void *, VkDevice *))                      \
  X(void, DestroyDevice, (VkDevice, const void *))                                                 \
  X(void, GetDeviceQueue, (VkDevice, uint32_t, uint32_t, VkQueue *))                               \
  X(VkResult, AllocateMemory,                                                                      \
    (VkDevice, const VkMemoryAllocateInfo *, const void *, VkDeviceMemory *))                      \
  X(void, FreeMemory, (VkDevice, VkDeviceMemory, const void *))                                    \
  X(VkResult, MapMemory,                                                                           \
    (VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, VkFlags, void **))                      \
  X(VkResult, CreateBuffer, (VkDevice, const VkBufferCreateInfo *, const void *, VkBuffer *))      \
  X(void, DestroyBuffer, (VkDevice, VkBuffer, const void *))                                       \
  X(void, GetBufferMemoryRequirements, (VkDevice, VkBuffer, VkMemoryRequirements *))               \
  X(VkResult, BindBufferMemory, (VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize))                \
  X(VkResult, CreateShaderModule,                                                                  \
    (VkDevice, const VkShaderModuleCreateInfo *, const void *, VkShaderModule *))                  \
  X(void, DestroyShaderModule, (VkDevice, VkShaderModule, const void *))                           \
  X(VkResult, CreatePipelineCache,                                                                 \
    (VkDevice, const VkPipelineCacheCreateInfo *, const void *, VkPipelineCache *))                \
  X(VkResult, GetPipelineCacheData, (VkDevice, VkPipelineCache, size_t *, void *))                 \
  X(void, DestroyPipelineCache, (VkDevice, VkPipelineCache, const void *))                         \
  X(VkResult, CreateComputePipelines,                                                              \
    (VkDevice, VkPipelineCache, uint32_t, const VkComputePipelineCreateInfo *, const void *,       \
     VkPipeline *))                                                                                \
  X(void, DestroyPipeline, (VkDevice, VkPipeline, const void *))                                   \
  X(VkResult, CreatePipelineLayout,                                                                \
    (VkDevice, const VkPipelineLayoutCreateInfo *, const void *, VkPipelineLayout *))              \
  X(void, DestroyPipelineLayout, (VkDevice, VkPipelineLayout, const void *))                       \
  X(VkResult, CreateDescriptorSetLayout,                                                           \
    (VkDevice, const VkDescriptorSetLayoutCreateInfo *, const void *, VkDescriptorSetLayout *))    \
  X(void, DestroyDescriptorSetLayout, (VkDevice, VkDescriptorSetLayout, const void *))             \
  X(VkResult, CreateDescriptorPool,                                                                \
    (VkDevice, const VkDescriptorPoolCreateInfo *, const void *, VkDescriptorPool *))              \
  X(void, DestroyDescriptorPool, (VkDevice, VkDescriptorPool, const void *))                       \
  X(VkResult, ResetDescriptorPool, (VkDevice, VkDescriptorPool, VkFlags))                          \
  X(VkResult, AllocateDescriptorSets,                                                              \
    (VkDevice, const VkDescriptorSetAllocateInfo *, VkDescriptorSet *))                            \
  X(void, UpdateDescriptorSets,                                                                    \
    (VkDevice, uint32_t, const VkWriteDescriptorSet *, uint32_t, const void *))                    \
  X(VkResult, CreateCommandPool,                                                                   \
    (VkDevice, const VkCommandPoolCreateInfo *, const void *, VkCommandPool *))                    \
  X(void, DestroyCommandPool, (VkDevice, VkCommandPool, const void *))                             \
  X(VkResult, AllocateCommandBuffers,                                                              \
    (VkDevice, const VkCommandBufferAllocateInfo *, VkCommandBuffer *))                            \
  X(VkResult, BeginCommandBuffer, (VkCommandBuffer, const VkCommandBufferBeginInfo *))             \
  X(VkResult, EndCommandBuffer, (VkCommandBuffer))                                                 \
  X(VkResult, ResetCommandBuffer, (VkCommandBuffer, VkFlags))                                      \
  X(void, CmdBindPipeline, (VkCommandBuffer, int32_t, VkPipeline))                                 \
  X(void, CmdBindDescriptorSets,                                                                   \
    (VkCommandBuffer, int32_t, VkPipelineLayout, uint32_t, uint32_t, const VkDescriptorSet *,      \
     uint32_t, const uint32_t *))                                                                  \
  X(void, CmdDispatch, (VkCommandBuffer, uint32_t, uint32_t, uint32_t))                            \
  X(void, CmdPipelineBarrier,                                                                      \
    (VkCommandBuffer, VkFlags, VkFlags, VkFlags, uint32_t, const VkMemoryBarrier *, uint32_t,      \
     const void *, uint32_t, const void *))                                                        \
  X(void, CmdCopyBuffer, (VkCommandBuffer, VkBuffer, VkBuffer, uint32_t, const VkBufferCopy *))    \
  X(void, CmdFillBuffer,                                                                           \
    (VkCommandBuffer, VkBuffer, VkDeviceSize, VkDeviceSize, uint32_t))                             \
  X(VkResult, CreateFence, (VkDevice, const VkFenceCreateInfo *, const void *, VkFence *))         \
  X(void, DestroyFence, (VkDevice, VkFence, const void *))                                         \
  X(VkResult, ResetFences, (VkDevice, uint32_t, const VkFence *))                                  \
  X(VkResult, GetFenceStatus, (VkDevice, VkFence))                                                 \
  X(VkResult, WaitForFences, (VkDevice, uint32_t, const VkFence *, VkBool32, uint64_t))            \
  X(VkResult, QueueSubmit, (VkQueue, uint32_t, const VkSubmitInfo *, VkFence))

/* The library, one instance of it, and its functions. */
typedef struct lumen_vk {
  void *library;
  VkInstance instance;
#define X(result, name, arguments) result(*name) arguments;
  LUMEN_VK_FUNCTIONS(X)
#undef X
} lumen_vk;

/* One for all models of the artifact, as long as somebody has it. NULL: `status` says what
 * is missing. Thread-safe. */
const lumen_vk *lumen_vk_acquire(lumen_status *status);
void lumen_vk_release(void);

#endif
