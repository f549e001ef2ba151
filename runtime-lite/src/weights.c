/* weights.c - constants inside the artifact, or in a file beside it. */
#define _GNU_SOURCE
#include "internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The weights file lies where the artifact lies, wherever both were moved. */
static int weights_path(const lumen_abi_model *abi, char *path, size_t capacity,
                        lumen_status *status) {
  Dl_info info;
  if (!dladdr(abi, &info) || !info.dli_fname)
    return lumen_fail(status, LUMEN_ERROR_IO, "%s: cannot tell the folder of its weights file '%s'",
                      abi->name, abi->weights_file);
  const char *slash = strrchr(info.dli_fname, '/');
  int folder = slash ? (int)(slash - info.dli_fname + 1) : 0;
  if ((size_t)snprintf(path, capacity, "%.*s%s", folder, info.dli_fname, abi->weights_file) >=
      capacity)
    return lumen_fail(status, LUMEN_ERROR_IO, "%s: the path of its weights file '%s' is too long",
                      abi->name, abi->weights_file);
  return LUMEN_OK;
}

int lumen_weights_open(model *model, lumen_status *status) {
  const lumen_abi_model *abi = model->abi;
  if (abi->weights) {
    model->weights = *abi->weights;
    return LUMEN_OK;
  }
  if (!abi->weights_file || !abi->weights_size)
    return LUMEN_OK;
  char path[4096];
  int code = weights_path(abi, path, sizeof(path), status);
  if (code)
    return code;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return lumen_fail(status, errno == ENOENT ? LUMEN_ERROR_NOT_FOUND : LUMEN_ERROR_IO,
                      "%s: cannot open the weights file: %s", path, strerror(errno));
  struct stat info;
  void *data = MAP_FAILED;
  if (fstat(file, &info) != 0)
    code = lumen_fail(status, LUMEN_ERROR_IO, "%s: cannot read the weights file: %s", path,
                      strerror(errno));
  else if ((uint64_t)info.st_size != abi->weights_size)
    code =
        lumen_fail(status, LUMEN_ERROR_IO, "%s: the weights file has %llu bytes, expected %llu",
                   path, (unsigned long long)info.st_size, (unsigned long long)abi->weights_size);
  else if ((data = mmap(NULL, abi->weights_size, PROT_READ, MAP_PRIVATE, file, 0)) == MAP_FAILED)
    code = lumen_fail(status, LUMEN_ERROR_IO, "%s: cannot map the weights file: %s", path,
                      strerror(errno));
  close(file);
  if (!code) {
    model->weights = data;
    model->weights_mapped = abi->weights_size;
  }
  return code;
}

void lumen_weights_close(model *model) {
  if (model->weights_mapped)
    munmap((void *)model->weights, model->weights_mapped);
  model->weights = NULL;
  model->weights_mapped = 0;
}
