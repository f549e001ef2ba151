/* cache.c - see cache.h. */
#define _GNU_SOURCE
#include "cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder, made if need be; false: there is none. */
static bool find_folder(char *path) {
  const char *chosen = getenv("LUMEN_CACHE"), *cache = getenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  int length;
  if (chosen)
    length = snprintf(path, lumen_cache_path, "%s", chosen);
  else if (cache && *cache)
    length = snprintf(path, lumen_cache_path, "%s/lumen", cache);
  else if (home && *home)
    length = snprintf(path, lumen_cache_path, "%s/.cache/lumen", home);
  else
    return false;
  if (length <= 0 || length >= lumen_cache_path)
    return false;
  for (char *slash = path + 1; (slash = strchr(slash, '/')); ++slash) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
  mkdir(path, 0700);
  return !access(path, W_OK);
}

bool lumen_cache_find(const char *name, char path[lumen_cache_path]) {
  if (!find_folder(path))
    return false;
  size_t length = strlen(path);
  int more = snprintf(path + length, lumen_cache_path - length, "/%s", name);
  return more > 0 && (size_t)more < lumen_cache_path - length;
}

void lumen_cache_write(const char *path, const void *data, size_t size) {
  char temporary[lumen_cache_path + 24];
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
