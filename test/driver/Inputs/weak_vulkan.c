/* A libvulkan.so.1 before the real one, whose path WEAK_VULKAN_REAL is, that is as weak as
 * WEAK_DEVICE says: words "KEY=NUMBER".
 *   fail=N    the N-th call that can run out of memory does
 *   lost=N    the N-th submission loses the device
 *   wait=N    the N-th wait for a submission does
 *   busy=N    work is not done when it is asked for the first N times
 *   version, queues, range, allocation, shared, descriptors, threads=N   what the device
 *             offers
 *   int8=0    it has the extension of small numbers, but no arithmetic on bytes
 * It looks for calls that Vulkan does not allow, where the validation layer is too slow or
 * the real device offers too much; and where the instance ends, it says what has not been
 * destroyed, and what was recorded. */
#define _GNU_SOURCE
#include "weak_device.h"

#include "vulkan.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lumen_vk real;
static lumen_vk_function (*real_get)(VkInstance, const char *);
static weak_device_counts seen;
static int calls;

static int add(int *count, int more) { return __atomic_add_fetch(count, more, __ATOMIC_RELAXED); }

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void weak_device_count(weak_device_counts *counts) {
  *counts = seen;
  seen = (weak_device_counts){.live = seen.live};
  calls = 0;
}

static void tell_misuse(const char *what) {
  add(&seen.misuses, 1);
  fprintf(stderr, "weak_vulkan: misuse: %s\n", what);
}

/* What WEAK_DEVICE says of `key`; `otherwise`: nothing. */
static uint32_t weakness(const char *key, uint32_t otherwise) {
  const char *all = getenv("WEAK_DEVICE"), *found = all ? strstr(all, key) : NULL;
  return found ? (uint32_t)strtoul(found + strlen(key) + 1, NULL, 10) : otherwise;
}

static int runs_out(void) {
  int is_due = add(&calls, 1) == (int)weakness("fail", 0);
  if (is_due) {
    add(&seen.failed, 1);
    fprintf(stderr, "weak_vulkan: out of memory\n");
  }
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
  X(GetPipelineCacheData, (VkDevice d, VkPipelineCache c, size_t *n, void *p), (d, c, n, p))       \
  X(EnumeratePhysicalDevices, (VkInstance i, uint32_t *n, VkPhysicalDevice *d), (i, n, d))

/* X(name, creator, destroyer, handle, information). */
#define OBJECTS(X)                                                                                 \
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
    add(&seen.live, 1);
  return result;
}

#define X(create, destroy, handle, info)                                                           \
  static VkResult weak_##create(VkDevice device, const info *about, const void *allocator,         \
                                handle *object) {                                                  \
    return runs_out() ? VK_ERROR_OUT_OF_DEVICE_MEMORY                                              \
                      : made(real.create(device, about, allocator, object));                       \
  }                                                                                                \
  static void weak_##destroy(VkDevice device, handle object, const void *allocator) {              \
    add(&seen.live, -(object != NULL));                                                            \
    real.destroy(device, object, allocator);                                                       \
  }
OBJECTS(X)
#undef X

static VkResult weak_AllocateMemory(VkDevice device, const VkMemoryAllocateInfo *about,
                                    const void *allocator, VkDeviceMemory *memory) {
  if (about->allocationSize > weakness("allocation", UINT32_MAX))
    tell_misuse("an allocation is larger than the device offers");
  return runs_out() ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                    : made(real.AllocateMemory(device, about, allocator, memory));
}

static void weak_FreeMemory(VkDevice device, VkDeviceMemory memory, const void *allocator) {
  add(&seen.live, -(memory != NULL));
  real.FreeMemory(device, memory, allocator);
}

static VkResult weak_CreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                            const VkComputePipelineCreateInfo *about,
                                            const void *allocator, VkPipeline *pipelines) {
  return runs_out()
             ? VK_ERROR_OUT_OF_DEVICE_MEMORY
             : made(real.CreateComputePipelines(device, cache, count, about, allocator, pipelines));
}

static void weak_DestroyPipeline(VkDevice device, VkPipeline pipeline, const void *allocator) {
  add(&seen.live, -(pipeline != NULL));
  real.DestroyPipeline(device, pipeline, allocator);
}

/* A device of 1.1 knows these structures by their extensions alone. */
static void check_structures(const VkDeviceCreateInfo *about) {
  const struct {
    int32_t type;
    const char *extension;
  } known[] = {{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, "VK_KHR_8bit_storage"},
               {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
                "VK_KHR_shader_float16_int8"}};
  for (const VkPhysicalDeviceFeatures2 *at = about->pNext; at; at = at->pNext)
    for (int k = 0; k < 2; ++k) {
      int is_on = at->sType != known[k].type;
      for (uint32_t i = 0; i < about->enabledExtensionCount; ++i)
        is_on |= !strcmp(about->ppEnabledExtensionNames[i], known[k].extension);
      if (!is_on)
        tell_misuse("a structure without its extension");
    }
}

static VkResult weak_CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *about,
                                  const void *allocator, VkDevice *device) {
  check_structures(about);
  return runs_out() ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                    : made(real.CreateDevice(physical, about, allocator, device));
}

static void weak_DestroyDevice(VkDevice device, const void *allocator) {
  add(&seen.live, -1);
  real.DestroyDevice(device, allocator);
}

static VkResult weak_QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits,
                                 VkFence fence) {
  if (add(&seen.submissions, 1) == (int)weakness("lost", 0))
    return VK_ERROR_DEVICE_LOST;
  return runs_out() ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                    : real.QueueSubmit(queue, count, submits, fence);
}

/* Command buffers that are being recorded. */
enum { max_recording = 64 };
static VkCommandBuffer recording[max_recording];

/* Puts `to` where `from` is among them; 0: it is not there. */
static int exchange(VkCommandBuffer from, VkCommandBuffer to) {
  for (int i = 0; i < max_recording; ++i) {
    VkCommandBuffer expected = from;
    if (__atomic_compare_exchange_n(&recording[i], &expected, to, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
      return 1;
  }
  return 0;
}

static VkResult weak_BeginCommandBuffer(VkCommandBuffer commands,
                                        const VkCommandBufferBeginInfo *about) {
  if (exchange(commands, commands))
    tell_misuse("a command buffer is begun that is being recorded");
  if (runs_out())
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  exchange(NULL, commands);
  return real.BeginCommandBuffer(commands, about);
}

static VkResult weak_EndCommandBuffer(VkCommandBuffer commands) {
  if (!exchange(commands, NULL))
    tell_misuse("a command buffer is ended that is not being recorded");
  VkResult result = real.EndCommandBuffer(commands);
  return runs_out() ? VK_ERROR_OUT_OF_DEVICE_MEMORY : result;
}

static VkResult weak_ResetCommandBuffer(VkCommandBuffer commands, VkFlags flags) {
  exchange(commands, NULL);
  return real.ResetCommandBuffer(commands, flags);
}

static void weak_CmdDispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  add(&seen.dispatches, 1);
  real.CmdDispatch(commands, x, y, z);
}

static void weak_CmdCopyBuffer(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count,
                               const VkBufferCopy *copies) {
  add(&seen.copies, 1);
  real.CmdCopyBuffer(commands, from, to, count, copies);
}

static void weak_CmdPipelineBarrier(VkCommandBuffer commands, VkFlags from, VkFlags to,
                                    VkFlags flags, uint32_t count, const VkMemoryBarrier *barriers,
                                    uint32_t num_buffers, const void *buffers, uint32_t num_images,
                                    const void *images) {
  add(&seen.barriers, 1);
  real.CmdPipelineBarrier(commands, from, to, flags, count, barriers, num_buffers, buffers,
                          num_images, images);
}

static void weak_GetPhysicalDeviceFeatures2(VkPhysicalDevice physical,
                                            VkPhysicalDeviceFeatures2 *features) {
  real.GetPhysicalDeviceFeatures2(physical, features);
  for (VkPhysicalDeviceFeatures2 *at = features; at; at = at->pNext)
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES) {
      VkPhysicalDeviceShaderFloat16Int8Features *narrow = (void *)at;
      narrow->shaderInt8 = weakness("int8", narrow->shaderInt8);
      narrow->shaderFloat16 = weakness("int8", narrow->shaderFloat16);
    }
}

static VkResult weak_WaitForFences(VkDevice device, uint32_t count, const VkFence *fences,
                                   VkBool32 all, uint64_t timeout) {
  VkResult result = real.WaitForFences(device, count, fences, all, timeout);
  return add(&seen.waits, 1) == (int)weakness("wait", 0) ? VK_ERROR_DEVICE_LOST : result;
}

static VkResult weak_GetFenceStatus(VkDevice device, VkFence fence) {
  return add(&seen.questions, 1) <= (int)weakness("busy", 0) ? VK_NOT_READY
                                                             : real.GetFenceStatus(device, fence);
}

static void weak_GetPhysicalDeviceProperties2(VkPhysicalDevice physical,
                                              VkPhysicalDeviceProperties2 *properties) {
  real.GetPhysicalDeviceProperties2(physical, properties);
  for (VkPhysicalDeviceProperties2 *at = properties; at; at = at->pNext)
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES) {
      VkPhysicalDeviceMaintenance3Properties *sizes = (void *)at;
      if (weakness("allocation", 0))
        sizes->maxMemoryAllocationSize = weakness("allocation", 0);
    }
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
  fprintf(stderr, "weak_vulkan: %d objects are left; %d dispatches and %d barriers\n", seen.live,
          seen.dispatches, seen.barriers);
  real.DestroyInstance(instance, allocator);
}

/* Gives the real function to ours. */
EXPORTED lumen_vk_function vkGetInstanceProcAddr(VkInstance instance, const char *name) {
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
  OURS(AllocateMemory)
  OURS(FreeMemory)
  OURS(GetPhysicalDeviceProperties2)
  OURS(CreateComputePipelines)
  OURS(DestroyPipeline)
  OURS(CreateDevice)
  OURS(DestroyDevice)
  OURS(QueueSubmit)
  OURS(WaitForFences)
  OURS(GetFenceStatus)
  OURS(BeginCommandBuffer)
  OURS(EndCommandBuffer)
  OURS(ResetCommandBuffer)
  OURS(CmdDispatch)
  OURS(CmdCopyBuffer)
  OURS(CmdPipelineBarrier)
  OURS(GetPhysicalDeviceFeatures2)
  OURS(GetPhysicalDeviceProperties)
  OURS(GetPhysicalDeviceQueueFamilyProperties)
  OURS(DestroyInstance)
  return found;
}
