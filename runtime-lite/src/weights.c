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

_Static_assert(sizeof(lumen_abi_weights_header) == LUMEN_ALIGNMENT,
               "the region behind the header is aligned");

/* Whether the open `file` is the one that was written for this artifact. */
static int check_file(const lumen_abi_model *abi, int file, const char *path,
                      lumen_status *status) {
  struct stat info;
  lumen_abi_weights_header header;
  if (fstat(file, &info) != 0)
    return lumen_fail(status, LUMEN_ERROR_IO, "%s: cannot read the weights file: %s", path,
                      strerror(errno));
  if (!S_ISREG(info.st_mode))
    return lumen_fail(status, LUMEN_ERROR_IO,
                      "%s: the weights file is a %s, expected a regular file", path,
                      S_ISDIR(info.st_mode)    ? "folder"
                      : S_ISFIFO(info.st_mode) ? "FIFO"
                                               : "device");
  ssize_t length = pread(file, &header, sizeof(header), 0);
  if (length < 0)
    return lumen_fail(status, LUMEN_ERROR_IO, "%s: cannot read the weights file: %s", path,
                      strerror(errno));
  if ((size_t)length < sizeof(header.magic) ||
      memcmp(header.magic, LUMEN_ABI_WEIGHTS_MAGIC, sizeof(header.magic)))
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                      "%s: is not a weights file made by lumenc", path);
  uint64_t expected = sizeof(header) + abi->weights_size;
  if ((size_t)length == sizeof(header)) {
    if (header.version != LUMEN_ABI_WEIGHTS_VERSION)
      return lumen_fail(status, LUMEN_ERROR_VERSION,
                        "%s: the weights file has version %u, expected %u", path, header.version,
                        LUMEN_ABI_WEIGHTS_VERSION);
    if (memcmp(header.id, abi->weights_id, sizeof(header.id)) || header.size != abi->weights_size)
      return lumen_fail(status, LUMEN_ERROR_VERSION,
                        "%s: holds the weights %.32s of %llu bytes, but the artifact was compiled "
                        "with %.32s of %llu bytes",
                        path, header.id, (unsigned long long)header.size, abi->weights_id,
                        (unsigned long long)abi->weights_size);
  }
  if ((uint64_t)info.st_size != expected)
    return lumen_fail(status, LUMEN_ERROR_IO, "%s: the weights file has %llu bytes, expected %llu",
                      path, (unsigned long long)info.st_size, (unsigned long long)expected);
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
  /* Without O_NONBLOCK a FIFO would wait for a writer. */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return lumen_fail(status, errno == ENOENT ? LUMEN_ERROR_NOT_FOUND : LUMEN_ERROR_IO,
                      "%s: cannot open the weights file: %s", path, strerror(errno));
  uint64_t size = sizeof(lumen_abi_weights_header) + abi->weights_size;
  void *data = MAP_FAILED;
  code = check_file(abi, file, path, status);
  if (!code && (data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0)) == MAP_FAILED)
    code = lumen_fail(status, LUMEN_ERROR_IO, "%s: cannot map the weights file: %s", path,
                      strerror(errno));
  close(file);
  if (!code) {
    model->weights = (const char *)data + sizeof(lumen_abi_weights_header);
    model->weights_mapped = size;
  }
  return code;
}

void lumen_weights_close(model *model) {
  if (model->weights_mapped)
    munmap((void *)(model->weights - sizeof(lumen_abi_weights_header)), model->weights_mapped);
  model->weights = NULL;
  model->weights_mapped = 0;
}
