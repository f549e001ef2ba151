/* A libvulkan.so.1 before the real one, whose path WEAK_VULKAN_REAL is, that is as weak as
 * WEAK_VULKAN says: words "KEY=NUMBER".
 *   fail=N    the N-th call that can run out of memory does
 *   lost=N    the N-th submission loses the device
 *   version, queues, range, shared, descriptors, threads=N   what the device offers
 * Where the instance ends, it says what has not been destroyed. */
#define _GNU_SOURCE
#include "vulkan.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lumen_vk real;
static lumen_vk_function (*real_get)(VkInstance, const char *);
static int live, calls, submissions;

/* What WEAK_VULKAN says of `key`; `otherwise`: nothing. */
static uint32_t weakness(const char *key, uint32_t otherwise) {
  const char *all = getenv("WEAK_VULKAN"), *found = all ? strstr(all, key) : NULL;
  return found ? (uint32_t)strtoul(found + strlen(key) + 1, NULL, 10) : otherwise;
}

static int runs_out(void) {
  int is_due = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == (int)weakness("fail", 0);
  if (is_due)
    fprintf(stderr, "weak_vulkan: out of memory\n");
  return is_due;
}

/* X(name, parameters, arguments): can run out of memory, and makes nothing. */
#define FALLIBLE(X)                                                                                \
  X(MapMemory,                                                                                     \
    (VkDevice d, VkDeviceMemory m, VkDeviceSize o, VkDeviceSize s, VkFlags f, void **p),           \
    (d, m, o, s, f, p))                                                                            \
  X(BindBufferMemory, (VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize o), (d, b, m, o))    \
  X(AllocateDescriptorSets,                                                                        \
    (VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *s), (d, i, s))             \
  X(AllocateCommandBuffers,                                                                        \
    (VkDevice d, const VkCommandBufferAllocateInfo *i, VkCommandBuffer *b), (d, i, b))             \
  X(BeginCommandBuffer, (VkCommandBuffer b, const VkCommandBufferBeginInfo *i), (b, i))            \
  X(EndCommandBuffer, (VkCommandBuffer b), (b))                                                    \
  X(GetPipelineCacheData, (VkDevice d, VkPipelineCache c, size_t *n, void *p), (d, c, n, p))       \
  X(EnumeratePhysicalDevices, (VkInstance i, uint32_t *n, VkPhysicalDevice *d), (i, n, d))

/* X(name, creator, destroyer, handle, information). */
#define OBJECTS(X)                                                                                 \
  X(AllocateMemory, FreeMemory, VkDeviceMemory, VkMemoryAllocateInfo)                              \
  X(CreateBuffer, DestroyBuffer, VkBuffer, VkBufferCreateInfo)                                     \
  X(CreateShaderModule, DestroyShaderModule, VkShaderModule, VkShaderModuleCreateInfo)             \
  X(CreatePipelineCache, DestroyPipelineCache, VkPipelineCache, VkPipelineCacheCreateInfo)         \
  X(CreatePipelineLayout, DestroyPipelineLayout, VkPipelineLayout, VkPipelineLayoutCreateInfo)     \
  X(CreateDescriptorSetLayout, DestroyDescriptorSetLayout, VkDescriptorSetLayout,                  \
    VkDescriptorSetLayoutCreateInfo)                                                               \
  X(CreateDescriptorPool, DestroyDescriptorPool, VkDescriptorPool, VkDescriptorPoolCreateInfo)     \
  X(CreateCommandPool, DestroyCommandPool, VkCommandPool, VkCommandPoolCreateInfo)                 \
  X(CreateFence, DestroyFence, VkFence, VkFenceCreateInfo)

#define X(name, parameters, arguments)                                                             \
  static VkResult weak_##name parameters {                                                         \
    return runs_out() ? VK_ERROR_OUT_OF_DEVICE_MEMORY : real.name arguments;                       \
  }
FALLIBLE(X)
#undef X

static VkResult made(VkResult result) {
  if (result == VK_SUCCESS)
    __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  return result;
}

#define X(create, destroy, handle, info)                                                           \
  static VkResult weak_##create(VkDevice device, const info *about, const void *allocator,         \
                                handle *object) {                                                  \
    return runs_out() ? VK_ERROR_OUT_OF_DEVICE_MEMORY                                              \
                      : made(real.create(device, about, allocator, object));                       \
  }                                                                                                \
  static void weak_##destroy(VkDevice device, handle object, const void *allocator) {              \
    __atomic_sub_fetch(&live, object != NULL, __ATOMIC_RELAXED);                                   \
    real.destroy(device, object, allocator);                                                       \
  }
OBJECTS(X)
#undef X

static VkResult weak_CreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                            const VkComputePipelineCreateInfo *about,
                                            const void *allocator, VkPipeline *pipelines) {
  return runs_out()
             ? VK_ERROR_OUT_OF_DEVICE_MEMORY
             : made(real.CreateComputePipelines(device, cache, count, about, allocator, pipelines));
}

static void weak_DestroyPipeline(VkDevice device, VkPipeline pipeline, const void *allocator) {
  __atomic_sub_fetch(&live, pipeline != NULL, __ATOMIC_RELAXED);
  real.DestroyPipeline(device, pipeline, allocator);
}

static VkResult weak_CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *about,
                                  const void *allocator, VkDevice *device) {
  return runs_out() ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                    : made(real.CreateDevice(physical, about, allocator, device));
}

static void weak_DestroyDevice(VkDevice device, const void *allocator) {
  __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
  real.DestroyDevice(device, allocator);
}

static VkResult weak_QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits,
                                 VkFence fence) {
  if (++submissions == (int)weakness("lost", 0))
    return VK_ERROR_DEVICE_LOST;
  return runs_out() ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                    : real.QueueSubmit(queue, count, submits, fence);
}

static void weak_GetPhysicalDeviceProperties(VkPhysicalDevice physical,
                                             VkPhysicalDeviceProperties *properties) {
  real.GetPhysicalDeviceProperties(physical, properties);
  VkPhysicalDeviceLimits *limits = &properties->limits;
  properties->apiVersion = lumen_vk_version(1, weakness("version", 1));
  limits->maxStorageBufferRange = weakness("range", limits->maxStorageBufferRange);
  limits->maxComputeSharedMemorySize = weakness("shared", limits->maxComputeSharedMemorySize);
  limits->maxPerStageDescriptorStorageBuffers =
      weakness("descriptors", limits->maxPerStageDescriptorStorageBuffers);
  limits->maxComputeWorkGroupInvocations =
      weakness("threads", limits->maxComputeWorkGroupInvocations);
}

static void weak_GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice physical, uint32_t *count,
                                                        VkQueueFamilyProperties *families) {
  real.GetPhysicalDeviceQueueFamilyProperties(physical, count, families);
  *count = weakness("queues", *count);
}

static void weak_DestroyInstance(VkInstance instance, const void *allocator) {
  fprintf(stderr, "weak_vulkan: %d objects are left\n", live);
  real.DestroyInstance(instance, allocator);
}

/* Gives the real function to ours. */
lumen_vk_function vkGetInstanceProcAddr(VkInstance instance, const char *name) {
  if (!real_get) {
    void *library = dlopen(getenv("WEAK_VULKAN_REAL"), RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (!symbol)
      return NULL;
    memcpy(&real_get, &symbol, sizeof(symbol));
  }
  lumen_vk_function found = real_get(instance, name);
#define OURS(function)                                                                             \
  if (!strcmp(name, "vk" #function)) {                                                             \
    memcpy(&real.function, &found, sizeof(found));                                                 \
    return (lumen_vk_function)weak_##function;                                                     \
  }
#define X(function, parameters, arguments) OURS(function)
  FALLIBLE(X)
#undef X
#define X(create, destroy, handle, info) OURS(create) OURS(destroy)
  OBJECTS(X)
#undef X
  OURS(CreateComputePipelines)
  OURS(DestroyPipeline)
  OURS(CreateDevice)
  OURS(DestroyDevice)
  OURS(QueueSubmit)
  OURS(GetPhysicalDeviceProperties)
  OURS(GetPhysicalDeviceQueueFamilyProperties)
  OURS(DestroyInstance)
  return found;
}
