/* vulkan_cache.h - what the device's compiler made of a model's kernels, kept as cache.h
 * says. */
#ifndef LUMEN_VULKAN_CACHE_H
#define LUMEN_VULKAN_CACHE_H

#include "vulkan_device.h"

/* Makes device->cache, filled from the file if there is one. */
void vk_cache_open(vk_device *device, const VkPhysicalDeviceProperties *properties);
/* Writes the file where kernels were added, and destroys device->cache. */
void vk_cache_close(vk_device *device, const VkPhysicalDeviceProperties *properties);

#endif
