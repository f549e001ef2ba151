/* cuda.c - see cuda.h. */
#include "cuda.h"

#include "internal.h"

#include <dlfcn.h>
#include <sched.h>
#include <string.h>

static int load_functions(lumen_cuda *cuda, void *library, const char *name, lumen_status *status) {
#define X(result, member, cuda_symbol, hip_symbol, arguments)                                      \
  {                                                                                                \
    const char *symbol = cuda->flavour->is_hip ? #hip_symbol : #cuda_symbol;                       \
    bool is_wanted = strcmp(symbol, "none");                                                       \
    void *found = is_wanted ? dlsym(library, symbol) : NULL;                                       \
    memcpy(&cuda->member, &found, sizeof(found));                                                  \
    if (is_wanted && !found)                                                                       \
      return lumen_fail(status, LUMEN_ERROR_DEVICE, "%s has no function %s", name, symbol);        \
  }
  LUMEN_CUDA_FUNCTIONS(X)
#undef X
  return LUMEN_OK;
}

static int open_library(lumen_cuda *cuda, lumen_status *status) {
  const lumen_cuda_flavour *flavour = cuda->flavour;
  const char *const *name = flavour->libraries;
  void *library = NULL;
  while (!library && *name)
    library = dlopen(*name++, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return lumen_fail(status, LUMEN_ERROR_DEVICE, "there is no %s on this machine",
                      flavour->libraries[0]);
  --name;
  int version = 0;
  int code = load_functions(cuda, library, *name, status);
  CUresult result = code ? CUDA_SUCCESS : cuda->Init(0);
  if (result != CUDA_SUCCESS)
    code = lumen_fail(status, LUMEN_ERROR_DEVICE, "%s cannot be used (%s)", *name,
                      lumen_cuda_error(cuda, result));
  if (!code && (cuda->DriverGetVersion(&version) || version < flavour->min_version))
    code = lumen_fail(status, LUMEN_ERROR_DEVICE, "%s is of %s %d.%d, expected %d.%d or later",
                      *name, flavour->name, version / flavour->major_unit,
                      version % flavour->major_unit / flavour->minor_unit,
                      flavour->min_version / flavour->major_unit,
                      flavour->min_version % flavour->major_unit / flavour->minor_unit);
  if (code)
    dlclose(library);
  return code;
}

bool lumen_cuda_open(lumen_cuda *cuda, lumen_status *status) {
  static atomic_flag is_busy = ATOMIC_FLAG_INIT;
  while (atomic_flag_test_and_set(&is_busy))
    sched_yield();
  if (!cuda->is_open)
    cuda->is_open = !open_library(cuda, status);
  bool is_open = cuda->is_open;
  atomic_flag_clear(&is_busy);
  return is_open;
}

const char *lumen_cuda_error(const lumen_cuda *cuda, CUresult result) {
  const char *name = NULL;
  if (cuda->NameOfError)
    name = cuda->NameOfError(result);
  else if (cuda->GetErrorName(result, &name))
    name = NULL;
  return name ? name : "an unknown error";
}
