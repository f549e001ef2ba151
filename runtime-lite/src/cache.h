/* cache.h - what was found out about this machine, kept in files for the next process:
 * $XDG_CACHE_HOME/lumen or ~/.cache/lumen. LUMEN_CACHE names another folder; empty, nothing
 * is kept. Failures only cost time. */
#ifndef LUMEN_CACHE_H
#define LUMEN_CACHE_H

#include <stdbool.h>
#include <stddef.h>

enum { lumen_cache_path = 512 };

/* Writes the path of a file of that name in the folder, which is made if need be; false:
 * there is none. */
bool lumen_cache_find(const char *name, char path[lumen_cache_path]);
/* Whole or not at all: others may read the file, or write it, at the same time. */
void lumen_cache_write(const char *path, const void *data, size_t size);

#endif
