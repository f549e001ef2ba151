/* vulkan_cache.h - what the device's compiler made of a model's kernels, kept in a file for
 * the next process: $XDG_CACHE_HOME/lumen or ~/.cache/lumen. LUMEN_CACHE names another
 * folder; empty, nothing is kept. Failures only cost time. */
#ifndef LUMEN_VULKAN_CACHE_H
#define LUMEN_VULKAN_CACHE_H

#include "vulkan_device.h"

/* Makes device->cache, filled from the file if there is one. */
void vk_cache_open(vk_device *device, const VkPhysicalDeviceProperties *properties);
/* Writes the file where kernels were added, and destroys device->cache. */
void vk_cache_close(vk_device *device, const VkPhysicalDeviceProperties *properties);

#endif
