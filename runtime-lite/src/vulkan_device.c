/* vulkan_device.c - see vulkan_device.h. */
#define _GNU_SOURCE
#include "vulkan_device.h"

#include "vulkan_cache.h"
#include "vulkan_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_physical = 16 };

/* ---- What there is ------------------------------------------------------ */

uint32_t vk_count(const lumen_vk *vk) {
  VkPhysicalDevice found[max_physical];
  uint32_t count = max_physical;
  return vk->EnumeratePhysicalDevices(vk->instance, &count, found) < 0 ? 0 : count;
}

static bool has_extension(const lumen_vk *vk, VkPhysicalDevice physical, const char *name) {
  uint32_t count = 0;
  bool found = false;
  vk->EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
  VkExtensionProperties *all = calloc(count ? count : 1, sizeof(*all));
  if (all && vk->EnumerateDeviceExtensionProperties(physical, NULL, &count, all) >= 0)
    for (uint32_t i = 0; i < count; ++i)
      found |= !strcmp(all[i].extensionName, name);
  free(all);
  return found;
}

/* Bytes of the heaps that are the device's own. */
static void measure_memory(const lumen_vk *vk, VkPhysicalDevice physical, lumen_device_info *info) {
  bool has_budget = has_extension(vk, physical, "VK_EXT_memory_budget");
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
      .pNext = has_budget ? &budget : NULL};
  vk->GetPhysicalDeviceMemoryProperties2(physical, &memory);
  for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap *heap = &memory.memoryProperties.memoryHeaps[i];
    if (!(heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT))
      continue;
    uint64_t left = has_budget && budget.heapBudget[i] > budget.heapUsage[i]
                        ? budget.heapBudget[i] - budget.heapUsage[i]
                    : has_budget ? 0
                                 : heap->size;
    info->memory_total += heap->size;
    info->memory_available += left;
  }
}

bool vk_find(const lumen_vk *vk, uint32_t index, VkPhysicalDevice *physical,
             lumen_device_info *info) {
  VkPhysicalDevice found[max_physical];
  uint32_t count = max_physical;
  if (vk->EnumeratePhysicalDevices(vk->instance, &count, found) < 0 || index >= count)
    return false;
  *physical = found[index];
  if (!info)
    return true;
  VkPhysicalDeviceProperties properties;
  vk->GetPhysicalDeviceProperties(*physical, &properties);
  memset(info, 0, sizeof(*info));
  strcpy(info->kind, "vulkan");
  snprintf(info->name, sizeof(info->name), "%s", properties.deviceName);
  if (properties.apiVersion >= lumen_vk_version(1, 1))
    measure_memory(vk, *physical, info);
  return true;
}

/* LUMEN_ABI_GPU_* bits of what kernels may ask for, and the structures that ask for it, with
 * the extensions that these belong to. */
typedef struct features {
  VkPhysicalDeviceFeatures2 base;
  VkPhysicalDevice16BitStorageFeatures storage16;
  VkPhysicalDevice8BitStorageFeatures storage8;
  VkPhysicalDeviceShaderFloat16Int8Features narrow;
  const char *extensions[2];
  uint32_t num_extensions;
  uint64_t bits;
  uint64_t max_allocation; /* bytes */
} features;

static void find_features(const lumen_vk *vk, VkPhysicalDevice physical, features *found) {
  static const char storage8[] = "VK_KHR_8bit_storage", narrow[] = "VK_KHR_shader_float16_int8";
  *found = (features){
      .base = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &found->storage16, {0}},
      .storage16 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES},
      .storage8 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES},
      .narrow = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES}};
  void **last = &found->storage16.pNext;
  if (has_extension(vk, physical, storage8)) {
    *last = &found->storage8;
    last = &found->storage8.pNext;
    found->extensions[found->num_extensions++] = storage8;
  }
  if (has_extension(vk, physical, narrow)) {
    *last = &found->narrow;
    found->extensions[found->num_extensions++] = narrow;
  }
  vk->GetPhysicalDeviceFeatures2(physical, &found->base);
  VkPhysicalDeviceMaintenance3Properties sizes = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties groups = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, .pNext = &sizes};
  VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                            .pNext = &groups};
  vk->GetPhysicalDeviceProperties2(physical, &properties);
  found->max_allocation = sizes.maxMemoryAllocationSize;
  const VkFlags operations = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT |
                             VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  if (found->storage8.storageBuffer8BitAccess && found->narrow.shaderInt8)
    found->bits |= LUMEN_ABI_GPU_INT8;
  if (found->storage16.storageBuffer16BitAccess && found->base.features.shaderInt16)
    found->bits |= LUMEN_ABI_GPU_INT16;
  if (found->base.features.shaderInt64)
    found->bits |= LUMEN_ABI_GPU_INT64;
  if (found->storage16.storageBuffer16BitAccess && found->narrow.shaderFloat16)
    found->bits |= LUMEN_ABI_GPU_FLOAT16;
  if (found->base.features.shaderFloat64)
    found->bits |= LUMEN_ABI_GPU_FLOAT64;
  if (groups.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT &&
      (groups.supportedOperations & operations) == operations)
    found->bits |= LUMEN_ABI_GPU_SUBGROUPS;
  /* No more than that is asked for when the device is opened. */
  VkPhysicalDeviceFeatures asked = {.shaderFloat64 = found->base.features.shaderFloat64,
                                    .shaderInt64 = found->base.features.shaderInt64,
                                    .shaderInt16 = found->base.features.shaderInt16};
  found->base.features = asked;
  found->storage16 = (VkPhysicalDevice16BitStorageFeatures){
      .sType = found->storage16.sType,
      .pNext = found->storage16.pNext,
      .storageBuffer16BitAccess = found->storage16.storageBuffer16BitAccess};
  found->storage8 = (VkPhysicalDevice8BitStorageFeatures){
      .sType = found->storage8.sType,
      .pNext = found->storage8.pNext,
      .storageBuffer8BitAccess = found->storage8.storageBuffer8BitAccess};
}

static bool find_queue_family(const lumen_vk *vk, VkPhysicalDevice physical, uint32_t *family) {
  VkQueueFamilyProperties families[32];
  uint32_t count = 32;
  vk->GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
  for (*family = 0; *family < count; ++*family)
    if (families[*family].queueFlags & VK_QUEUE_COMPUTE_BIT && families[*family].queueCount)
      return true;
  return false;
}

/* ---- What it can take --------------------------------------------------- */

static const VkFlags mapped =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

/* A type of memory with all of `wanted`, and of those one with as much of `liked` as can
 * be; false: none. */
static bool find_memory_type(const VkPhysicalDeviceMemoryProperties *memory, VkFlags wanted,
                             VkFlags liked, uint32_t *type) {
  int best = -1;
  for (uint32_t i = 0; i < memory->memoryTypeCount; ++i) {
    VkFlags flags = memory->memoryTypes[i].propertyFlags;
    int points = __builtin_popcount(flags & liked);
    if ((flags & wanted) == wanted && points > best) {
      best = points;
      *type = i;
    }
  }
  return best >= 0;
}

/* Memory of the device that the host works on as on its own: what it cannot cache it reads
 * at a crawl. */
static bool find_mapped_memory(const lumen_vk *vk, VkPhysicalDevice physical, uint32_t *type) {
  VkPhysicalDeviceMemoryProperties2 memory = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  vk->GetPhysicalDeviceMemoryProperties2(physical, &memory);
  /* LUMEN_VULKAN_STAGING=1 takes the road of devices whose memory the host does not see. */
  const char *staging = getenv("LUMEN_VULKAN_STAGING");
  return !(staging && !strcmp(staging, "1")) &&
         find_memory_type(&memory.memoryProperties,
                          mapped | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                              VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                          0, type);
}

/* As far as nothing was measured. In software it is slower than the code for this CPU. */
static lumen_device_rates guess_rates(const VkPhysicalDeviceProperties *properties) {
  switch (properties->deviceType) {
  case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    return (lumen_device_rates){8000, 300, 5, 30, 0, 0, 12};
  case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
    return (lumen_device_rates){500, 40, 10, 50, 0, 0, 20};
  case VK_PHYSICAL_DEVICE_TYPE_CPU:
    return (lumen_device_rates){2, 2, 40, 100, 0, 0, 10};
  default:
    return (lumen_device_rates){100, 20, 20, 60, 0, 0, 10};
  }
}

static void take_limits(const VkPhysicalDeviceProperties *properties, const features *found,
                        gpu_limits *limits) {
  const VkPhysicalDeviceLimits *all = &properties->limits;
  *limits = (gpu_limits){.features = found->bits,
                         .max_block = all->maxComputeWorkGroupInvocations,
                         .max_shared = all->maxComputeSharedMemorySize,
                         .max_bindings = all->maxPerStageDescriptorStorageBuffers,
                         .max_workgroups = all->maxComputeWorkGroupCount[0],
                         .max_range = all->maxStorageBufferRange,
                         .max_allocation = found->max_allocation,
                         .alignment = all->minStorageBufferOffsetAlignment};
  if (limits->max_block > all->maxComputeWorkGroupSize[0])
    limits->max_block = all->maxComputeWorkGroupSize[0];
  if (limits->max_bindings > all->maxDescriptorSetStorageBuffers)
    limits->max_bindings = all->maxDescriptorSetStorageBuffers;
  if (limits->max_bindings > all->maxPerStageResources)
    limits->max_bindings = all->maxPerStageResources;
  if (limits->alignment < LUMEN_ALIGNMENT)
    limits->alignment = LUMEN_ALIGNMENT;
}

int vk_measure(const lumen_vk *vk, uint32_t index, const char *name, gpu_limits *limits,
               lumen_device_rates *rates, lumen_status *status) {
  VkPhysicalDevice physical;
  VkPhysicalDeviceProperties properties;
  uint32_t family;
  if (!vk_find(vk, index, &physical, NULL))
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: the device is gone", name);
  vk->GetPhysicalDeviceProperties(physical, &properties);
  if (properties.apiVersion < lumen_vk_version(1, 1))
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: %s is of Vulkan 1.0, expected 1.1 or later",
                      name, properties.deviceName);
  if (!find_queue_family(vk, physical, &family))
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: %s has no queue for compute work", name,
                      properties.deviceName);
  features found;
  find_features(vk, physical, &found);
  take_limits(&properties, &found, limits);
  uint32_t type;
  limits->is_mapped = find_mapped_memory(vk, physical, &type);
  *rates = guess_rates(&properties);
  return LUMEN_OK;
}

/* ---- Memory ------------------------------------------------------------- */

static int choose_memory(vk_device *device, lumen_status *status) {
  VkPhysicalDeviceMemoryProperties2 memory = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  device->vk->GetPhysicalDeviceMemoryProperties2(device->physical, &memory);
  const VkPhysicalDeviceMemoryProperties *types = &memory.memoryProperties;
  device->base.limits.is_mapped =
      find_mapped_memory(device->vk, device->physical, &device->memory_types[gpu_of_device]);
  if (!find_memory_type(types, mapped, VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                        &device->memory_types[gpu_of_host]) ||
      (!device->base.limits.is_mapped &&
       !find_memory_type(types, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0,
                         &device->memory_types[gpu_of_device])))
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: the device has no memory of use",
                      device->base.model->abi->name);
  return LUMEN_OK;
}

static bool open_memory(const gpu_device *base, uint64_t size, bool is_host, gpu_memory *memory) {
  const vk_device *device = (const vk_device *)base;
  const lumen_vk *vk = device->vk;
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                             .size = size,
                             .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                      VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkBuffer buffer;
  if (vk->CreateBuffer(device->device, &info, NULL, &buffer) != VK_SUCCESS)
    return false;
  memory->buffer = buffer;
  VkMemoryRequirements needs;
  vk->GetBufferMemoryRequirements(device->device, buffer, &needs);
  uint32_t type = device->memory_types[is_host ? gpu_of_host : gpu_of_device];
  VkMemoryAllocateInfo allocation = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .allocationSize = needs.size,
                                     .memoryTypeIndex = type};
  VkDeviceMemory made;
  if (!(needs.memoryTypeBits >> type & 1) ||
      vk->AllocateMemory(device->device, &allocation, NULL, &made) != VK_SUCCESS)
    return false;
  memory->memory = made;
  if (vk->BindBufferMemory(device->device, buffer, made, 0) != VK_SUCCESS)
    return false;
  void *address = NULL;
  if ((is_host || base->limits.is_mapped) &&
      vk->MapMemory(device->device, made, 0, VK_WHOLE_SIZE, 0, &address) != VK_SUCCESS)
    return false;
  memory->address = address;
  return true;
}

static void close_memory(const gpu_device *base, gpu_memory *memory) {
  const vk_device *device = (const vk_device *)base;
  if (memory->buffer)
    device->vk->DestroyBuffer(device->device, memory->buffer, NULL);
  if (memory->memory)
    device->vk->FreeMemory(device->device, memory->memory, NULL);
}

/* ---- Opening ------------------------------------------------------------ */

int vk_fail(const vk_device *device, VkResult result, const char *what, lumen_status *status) {
  const char *name = device->base.model->abi->name;
  if (result == VK_ERROR_DEVICE_LOST)
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: the device is lost", name);
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
    return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: %s: no memory", name, what);
  if (result == VK_SUCCESS)
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: %s", name, what);
  return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s: %s (Vulkan says %d)", name, what, result);
}

static int open_logical(vk_device *device, lumen_status *status) {
  const lumen_vk *vk = device->vk;
  features found;
  find_features(vk, device->physical, &found);
  if (!find_queue_family(vk, device->physical, &device->queue_family))
    return vk_fail(device, VK_SUCCESS, "the device has no queue for compute work", status);
  VkPhysicalDeviceProperties properties;
  vk->GetPhysicalDeviceProperties(device->physical, &properties);
  take_limits(&properties, &found, &device->base.limits);
  device->base.routing.device = guess_rates(&properties);

  float priority = 1;
  VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                   .queueFamilyIndex = device->queue_family,
                                   .queueCount = 1,
                                   .pQueuePriorities = &priority};
  VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                             .pNext = &found.base,
                             .queueCreateInfoCount = 1,
                             .pQueueCreateInfos = &queue,
                             .enabledExtensionCount = found.num_extensions,
                             .ppEnabledExtensionNames = found.extensions};
  VkResult result = vk->CreateDevice(device->physical, &info, NULL, &device->device);
  if (result != VK_SUCCESS) {
    device->device = NULL;
    return vk_fail(device, result, "the device cannot be opened", status);
  }
  vk->GetDeviceQueue(device->device, device->queue_family, 0, &device->queue);
  return LUMEN_OK;
}

static int load_kernel(vk_device *device, uint32_t index, lumen_status *status) {
  const lumen_vk *vk = device->vk;
  const lumen_abi_kernel *info = &device->base.model->abi->kernels[index];
  gpu_kernel *kernel = &device->base.kernels[index];
  vk_pipeline *made = &device->pipelines[index];
  VkDescriptorSetLayoutBinding *bindings = calloc(kernel->num_bindings, sizeof(*bindings));
  if (!bindings)
    return vk_fail(device, VK_ERROR_OUT_OF_HOST_MEMORY, info->name, status);
  for (uint32_t i = 0; i < kernel->num_bindings; ++i)
    bindings[i] =
        (VkDescriptorSetLayoutBinding){.binding = i,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .descriptorCount = 1,
                                       .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  VkDescriptorSetLayoutCreateInfo sets = {.sType =
                                              VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                          .bindingCount = kernel->num_bindings,
                                          .pBindings = bindings};
  VkResult result = vk->CreateDescriptorSetLayout(device->device, &sets, NULL, &made->set_layout);
  free(bindings);
  VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &made->set_layout};
  if (result == VK_SUCCESS)
    result = vk->CreatePipelineLayout(device->device, &layout, NULL, &made->layout);
  VkShaderModuleCreateInfo shader = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = kernel->variant->code_size,
                                     .pCode = kernel->variant->code};
  VkShaderModule module = NULL;
  if (result == VK_SUCCESS)
    result = vk->CreateShaderModule(device->device, &shader, NULL, &module);
  VkComputePipelineCreateInfo pipeline = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = info->name},
      .layout = made->layout};
  if (result == VK_SUCCESS)
    result = vk->CreateComputePipelines(device->device, device->cache, 1, &pipeline, NULL,
                                        &made->pipeline);
  if (module)
    vk->DestroyShaderModule(device->device, module, NULL);
  kernel->is_loaded = result == VK_SUCCESS;
  if (kernel->is_loaded)
    return LUMEN_OK;
  made->pipeline = NULL;
  if (result == VK_ERROR_DEVICE_LOST || result == VK_ERROR_OUT_OF_HOST_MEMORY ||
      result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
    return vk_fail(device, result, info->name, status);
  return LUMEN_OK; /* refused by the device's compiler: the host runs it */
}

static int load_kernels(gpu_device *base, lumen_status *status) {
  vk_device *device = (vk_device *)base;
  const lumen_abi_model *abi = base->model->abi;
  VkPhysicalDeviceProperties properties;
  device->vk->GetPhysicalDeviceProperties(device->physical, &properties);
  device->pipelines = calloc(abi->num_kernels + 1, sizeof(*device->pipelines));
  if (!device->pipelines)
    return gpu_fail_memory(base, "kernels", status);
  vk_cache_open(device, &properties);
  int code = LUMEN_OK;
  for (uint32_t k = 0; k < abi->num_kernels && !code; ++k)
    if (base->kernels[k].variant)
      code = load_kernel(device, k, status);
  vk_cache_close(device, &properties);
  return code;
}

static int open_device(gpu_device *base, uint32_t index, lumen_status *status) {
  vk_device *device = (vk_device *)base;
  device->vk = lumen_vk_acquire(status);
  if (!device->vk)
    return LUMEN_ERROR_DEVICE;
  if (!vk_find(device->vk, index, &device->physical, NULL))
    return vk_fail(device, VK_SUCCESS, "the device is gone", status);
  int code = open_logical(device, status);
  return code ? code : choose_memory(device, status);
}

static void close_device(gpu_device *base) {
  vk_device *device = (vk_device *)base;
  const lumen_vk *vk = device->vk;
  for (uint32_t k = 0; device->pipelines && k < base->model->abi->num_kernels; ++k) {
    const vk_pipeline *made = &device->pipelines[k];
    if (made->pipeline)
      vk->DestroyPipeline(device->device, made->pipeline, NULL);
    if (made->layout)
      vk->DestroyPipelineLayout(device->device, made->layout, NULL);
    if (made->set_layout)
      vk->DestroyDescriptorSetLayout(device->device, made->set_layout, NULL);
  }
  free(device->pipelines);
  if (device->device)
    vk->DestroyDevice(device->device, NULL);
  if (vk)
    lumen_vk_release();
}

const gpu_api vk_api = {.target = LUMEN_ABI_SPIRV,
                        .device_size = sizeof(vk_device),
                        .context_size = sizeof(vk_context),
                        .parameters = gpu_of_host,
                        .open = open_device,
                        .close = close_device,
                        .load = load_kernels,
                        .memory_open = open_memory,
                        .memory_close = close_memory,
                        .upload = vk_upload,
                        .stream_open = vk_stream_open,
                        .stream_close = vk_stream_close,
                        .begin = vk_begin,
                        .clear = vk_clear,
                        .copy = vk_copy,
                        .dispatch = vk_dispatch,
                        .barrier = vk_barrier,
                        .end = vk_end,
                        .submit = vk_start,
                        .wait = vk_wait,
                        .is_done = vk_is_done};
