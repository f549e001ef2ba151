/* vulkan.c - see vulkan.h. */
#include "vulkan.h"

#include "internal.h"

#include <dlfcn.h>
#include <sched.h>
#include <string.h>

static const char library_name[] = "libvulkan.so.1";

static atomic_flag is_busy = ATOMIC_FLAG_INIT;
static uint32_t users;
static lumen_vk shared;

static void lock(void) {
  while (atomic_flag_test_and_set(&is_busy))
    sched_yield();
}

typedef lumen_vk_function (*get_function)(VkInstance, const char *);

static int load_functions(lumen_vk *vk, get_function get, lumen_status *status) {
#define X(result, name, arguments)                                                                 \
  {                                                                                                \
    lumen_vk_function found = get(vk->instance, "vk" #name);                                       \
    memcpy(&vk->name, &found, sizeof(found));                                                      \
    if (!found)                                                                                    \
      return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s has no function vk" #name, library_name);  \
  }
  LUMEN_VK_FUNCTIONS(X)
#undef X
  return LUMEN_OK;
}

static int open_instance(lumen_vk *vk, lumen_status *status) {
  vk->library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (!vk->library)
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "there is no %s on this machine", library_name);
  get_function get = NULL;
  void *symbol = dlsym(vk->library, "vkGetInstanceProcAddr");
  memcpy(&get, &symbol, sizeof(get));
  VkResult (*create)(const VkInstanceCreateInfo *, const void *, VkInstance *) = NULL;
  lumen_vk_function function = get ? get(NULL, "vkCreateInstance") : NULL;
  memcpy(&create, &function, sizeof(create));
  if (!create)
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s has no function vkCreateInstance",
                      library_name);
  /* A loader of 1.0 does not have it, and refuses later versions. */
  VkResult (*version_of)(uint32_t *) = NULL;
  function = get(NULL, "vkEnumerateInstanceVersion");
  memcpy(&version_of, &function, sizeof(version_of));
  uint32_t version = 0;
  if (!version_of || version_of(&version) != VK_SUCCESS || version < lumen_vk_version(1, 1))
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s is of Vulkan 1.0, expected 1.1 or later",
                      library_name);
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .pEngineName = "lumen",
                                   .apiVersion = lumen_vk_version(1, 1)};
  VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                               .pApplicationInfo = &application};
  VkResult result = create(&info, NULL, &vk->instance);
  if (result != VK_SUCCESS) {
    vk->instance = NULL;
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
      return lumen_fail(status, LUMEN_ERROR_DEVICE, "there is no Vulkan driver on this machine");
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s makes no instance (%d)", library_name,
                      result);
  }
  return load_functions(vk, get, status);
}

static void close_instance(lumen_vk *vk) {
  if (vk->instance && vk->DestroyInstance)
    vk->DestroyInstance(vk->instance, NULL);
  if (vk->library)
    dlclose(vk->library);
  memset(vk, 0, sizeof(*vk));
}

const lumen_vk *lumen_vk_acquire(lumen_status *status) {
  lock();
  const lumen_vk *result = &shared;
  if (!users && open_instance(&shared, status)) {
    close_instance(&shared);
    result = NULL;
  }
  users += result != NULL;
  atomic_flag_clear(&is_busy);
  return result;
}

void lumen_vk_release(void) {
  lock();
  if (!--users)
    close_instance(&shared);
  atomic_flag_clear(&is_busy);
}
