/* vulkan_cache.c - see vulkan_cache.h. */
#define _GNU_SOURCE
#include "vulkan_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { path_capacity = 512 };

/* The folder, made if need be; false: there is none. */
static bool find_folder(char *path) {
  const char *chosen = getenv("LUMEN_CACHE"), *cache = getenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  int length;
  if (chosen)
    length = snprintf(path, path_capacity, "%s", chosen);
  else if (cache && *cache)
    length = snprintf(path, path_capacity, "%s/lumen", cache);
  else if (home && *home)
    length = snprintf(path, path_capacity, "%s/.cache/lumen", home);
  else
    return false;
  if (length <= 0 || length >= path_capacity)
    return false;
  for (char *slash = path + 1; (slash = strchr(slash, '/')); ++slash) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
  mkdir(path, 0700);
  return !access(path, W_OK);
}

/* One file for a model, the device and its driver's version. */
static bool find_file(const vk_device *device, const VkPhysicalDeviceProperties *properties,
                      char *path) {
  if (!find_folder(path))
    return false;
  char id[33];
  for (int i = 0; i < 16; ++i)
    snprintf(id + 2 * i, 3, "%02x", properties->pipelineCacheUUID[i]);
  const lumen_abi_model *abi = device->model->abi;
  size_t length = strlen(path);
  int more = snprintf(path + length, path_capacity - length, "/%.16s-%.32s.vulkan",
                      abi->source_hash ? abi->source_hash : abi->name, id);
  return more > 0 && (size_t)more < path_capacity - length;
}

void vk_cache_open(vk_device *device, const VkPhysicalDeviceProperties *properties) {
  char path[path_capacity];
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

/* Whole or not at all: others may read it, or write it, at the same time. */
static void write_file(const char *path, const void *data, size_t size) {
  char temporary[path_capacity + 24];
  snprintf(temporary, sizeof(temporary), "%s.%ld", path, (long)getpid());
  int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  size_t written = 0;
  while (written < size) {
    ssize_t count = write(file, (const char *)data + written, size - written);
    if (count <= 0)
      break;
    written += (size_t)count;
  }
  close(file);
  if (written != size || rename(temporary, path))
    unlink(temporary);
}

void vk_cache_close(vk_device *device, const VkPhysicalDeviceProperties *properties) {
  const lumen_vk *vk = device->vk;
  char path[path_capacity];
  size_t size = 0;
  struct stat about;
  if (!device->cache)
    return;
  if (find_file(device, properties, path) &&
      vk->GetPipelineCacheData(device->device, device->cache, &size, NULL) == VK_SUCCESS &&
      (stat(path, &about) || (size_t)about.st_size < size)) {
    void *data = malloc(size ? size : 1);
    if (data && vk->GetPipelineCacheData(device->device, device->cache, &size, data) == VK_SUCCESS)
      write_file(path, data, size);
    free(data);
  }
  vk->DestroyPipelineCache(device->device, device->cache, NULL);
  device->cache = NULL;
}
