/* metal.c - see metal.h. */
#include "metal.h"

#include "internal.h"

#include <dlfcn.h>
#include <sched.h>
#include <string.h>

static const char objc_library[] = "libobjc.A.dylib";
static const char metal_library[] = "/System/Library/Frameworks/Metal.framework/Metal";

static lumen_metal shared;

static int find(void *library, const char *name, const char *symbol, void *function,
                lumen_status *status) {
  void *found = library ? dlsym(library, symbol) : NULL;
  memcpy(function, &found, sizeof(found));
  if (!library)
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "there is no %s on this machine", name);
  return found ? LUMEN_OK
               : lumen_fail(status, LUMEN_ERROR_DEVICE, "%s has no function %s", name, symbol);
}

static int open_libraries(lumen_metal *metal, lumen_status *status) {
  void *objc = dlopen(objc_library, RTLD_NOW | RTLD_LOCAL);
  void *framework = dlopen(metal_library, RTLD_NOW | RTLD_LOCAL);
  /* Named from its folder, as a test has it. */
  if (!framework)
    framework = dlopen(strrchr(metal_library, '/') + 1, RTLD_NOW | RTLD_LOCAL);
  metal_selector (*name_selector)(const char *) = NULL;
  metal_id (*all_devices)(void) = NULL, (*default_device)(void) = NULL;
  int code = find(objc, objc_library, "sel_registerName", &name_selector, status);
  if (!code)
    code = find(objc, objc_library, "objc_msgSend", &metal->send, status);
  if (!code)
    code = find(objc, objc_library, "objc_getClass", &metal->get_class, status);
  if (!code)
    code = find(objc, objc_library, "objc_retain", &metal->retain, status);
  if (!code)
    code = find(objc, objc_library, "objc_autoreleasePoolPush", &metal->push_pool, status);
  if (!code)
    code = find(objc, objc_library, "objc_autoreleasePoolPop", &metal->pop_pool, status);
  if (!code)
    code = find(framework, metal_library, "MTLCreateSystemDefaultDevice", &default_device, status);
  if (!code) {
#define X(name, text) metal->name = name_selector(text);
    LUMEN_METAL_SELECTORS(X)
#undef X
    /* iOS has it since 18. */
    if (!find(framework, metal_library, "MTLCopyAllDevices", &all_devices, NULL))
      metal->devices = all_devices();
    metal->default_device = metal->devices ? NULL : default_device();
    if (!metal->devices && !metal->default_device)
      code = lumen_fail(status, LUMEN_ERROR_DEVICE, "%s tells of no devices", metal_library);
  }
  if (code && objc)
    dlclose(objc);
  if (code && framework)
    dlclose(framework);
  return code;
}

const lumen_metal *lumen_metal_open(lumen_status *status) {
  static atomic_flag is_busy = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set(&is_busy))
    sched_yield();
  if (!shared.is_open)
    shared.is_open = !open_libraries(&shared, status);
  bool is_open = shared.is_open;
  atomic_flag_clear(&is_busy);
  return is_open ? &shared : NULL;
}

metal_id metal_device_at(const lumen_metal *metal, uint32_t index) {
  if (!metal->devices)
    return index ? NULL : metal->default_device;
  if (index >= metal_number(metal, metal->devices, metal->count))
    return NULL;
  return METAL_SEND(metal, metal_id, uint64_t)(metal->devices, metal->object_at, index);
}

metal_id metal_string(const lumen_metal *metal, const char *text) {
  return METAL_SEND(metal, metal_id, const char *)(metal->get_class("NSString"), metal->string_of,
                                                   text);
}

const char *metal_reason(const lumen_metal *metal, metal_id error) {
  const char *text = NULL;
  if (error)
    text =
        METAL_SEND(metal, const char *)(metal_get(metal, error, metal->description), metal->utf8);
  return text ? text : "no reason was given";
}
