/* vulkan_cache.c - see vulkan_cache.h. */
#define _GNU_SOURCE
#include "vulkan_cache.h"

#include "cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One file for a model, the device and its driver's version. */
static bool find_file(const vk_device *device, const VkPhysicalDeviceProperties *properties,
                      char *path) {
  char id[33], name[80];
  for (int i = 0; i < 16; ++i)
    snprintf(id + 2 * i, 3, "%02x", properties->pipelineCacheUUID[i]);
  const lumen_abi_model *abi = device->base.model->abi;
  snprintf(name, sizeof(name), "%.16s-%.32s.vulkan",
           abi->source_hash ? abi->source_hash : abi->name, id);
  return lumen_cache_find(name, path);
}

void vk_cache_open(vk_device *device, const VkPhysicalDeviceProperties *properties) {
  char path[lumen_cache_path];
  void *data = NULL;
  size_t size = 0;
  int file = find_file(device, properties, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  struct stat about;
  if (file >= 0 && !fstat(file, &about) && about.st_size > 0 &&
      (data = malloc((size_t)about.st_size)))
    while (size < (size_t)about.st_size) {
      ssize_t got = read(file, (char *)data + size, (size_t)about.st_size - size);
      if (got <= 0)
        break;
      size += (size_t)got;
    }
  if (file >= 0)
    close(file);
  /* The driver checks what it gets: it has a header of its own. */
  VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                    .initialDataSize = size,
                                    .pInitialData = data};
  if (device->vk->CreatePipelineCache(device->device, &info, NULL, &device->cache) != VK_SUCCESS)
    device->cache = NULL;
  free(data);
}

void vk_cache_close(vk_device *device, const VkPhysicalDeviceProperties *properties) {
  const lumen_vk *vk = device->vk;
  char path[lumen_cache_path];
  size_t size = 0;
  struct stat about;
  if (!device->cache)
    return;
  if (find_file(device, properties, path) &&
      vk->GetPipelineCacheData(device->device, device->cache, &size, NULL) == VK_SUCCESS &&
      (stat(path, &about) || (size_t)about.st_size < size)) {
    void *data = malloc(size ? size : 1);
    if (data && vk->GetPipelineCacheData(device->device, device->cache, &size, data) == VK_SUCCESS)
      lumen_cache_write(path, data, size);
    free(data);
  }
  vk->DestroyPipelineCache(device->device, device->cache, NULL);
  device->cache = NULL;
}
