/* threads.c - affinity mask and cgroup limits. */
#define _GNU_SOURCE
#include "threads.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t lumen_read_file(const char *path, char *buffer, uint64_t capacity) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return -1;
  uint64_t length = 0;
  ssize_t count;
  while (length + 1 < capacity && (count = read(file, buffer + length, capacity - 1 - length)) > 0)
    length += (uint64_t)count;
  close(file);
  buffer[length] = 0;
  return (int64_t)length;
}

static uint32_t cpus_of_quota(long long quota, long long period) {
  if (quota <= 0 || period <= 0)
    return 0;
  return (uint32_t)((quota + period - 1) / period);
}

/* Quota of one folder of a hierarchy; 0: none. */
static uint32_t folder_cpus(const char *folder, int version) {
  char path[768], text[64];
  if (version == 2) {
    snprintf(path, sizeof(path), "%s/cpu.max", folder); /* "max 100000" or "150000 100000" */
    if (lumen_read_file(path, text, sizeof(text)) <= 0)
      return 0;
    char *end;
    long long quota = strtoll(text, &end, 10);
    return end == text ? 0 : cpus_of_quota(quota, strtoll(end, NULL, 10));
  }
  snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", folder);
  if (lumen_read_file(path, text, sizeof(text)) <= 0)
    return 0;
  long long quota = strtoll(text, NULL, 10);
  snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", folder);
  if (lumen_read_file(path, text, sizeof(text)) <= 0)
    return 0;
  return cpus_of_quota(quota, strtoll(text, NULL, 10));
}

/* The least quota from the process's group up to the root: a limit binds all
 * groups below it. In a container whose group is not visible, the root's holds. */
static uint32_t hierarchy_cpus(const char *mount, const char *group, int version) {
  char folder[640];
  if ((size_t)snprintf(folder, sizeof(folder), "%s%s", mount, group) >= sizeof(folder))
    return 0;
  size_t root_length = strlen(mount);
  uint32_t least = 0;
  for (;;) {
    uint32_t cpus = folder_cpus(folder, version);
    if (cpus && (!least || cpus < least))
      least = cpus;
    size_t length = strlen(folder);
    if (length <= root_length)
      return least;
    while (length > root_length && folder[length] != '/')
      --length;
    folder[length] = 0;
  }
}

/* Whether "cpu" is among the comma-separated controllers. */
static int has_cpu(const char *controllers) {
  for (const char *at = controllers; (at = strstr(at, "cpu")); at += 3)
    if ((at == controllers || at[-1] == ',') && (at[3] == 0 || at[3] == ','))
      return 1;
  return 0;
}

uint32_t lumen_cgroup_cpus(const char *cgroup_file, const char *root) {
  char text[4096], mount[320];
  if (lumen_read_file(cgroup_file, text, sizeof(text)) <= 0)
    return 0;
  uint32_t least = 0;
  /* Lines are "id:controllers:group"; version 2 has no controllers. */
  for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
       line = strtok_r(NULL, "\n", &save)) {
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
      continue;
    *group++ = 0;
    ++controllers;
    int version = *controllers ? 1 : 2;
    if (version == 1 && !has_cpu(controllers))
      continue;
    if (version == 1)
      snprintf(mount, sizeof(mount), "%s/cpu", root);
    else
      snprintf(mount, sizeof(mount), "%s", root);
    uint32_t cpus = hierarchy_cpus(mount, group, version);
    if (cpus && (!least || cpus < least))
      least = cpus;
  }
  return least;
}

uint32_t lumen_available_cpus(void) {
  /* The kernel refuses a mask shorter than its own; 8192 CPUs is its limit. */
  unsigned long mask[8192 / (8 * sizeof(unsigned long))];
  uint32_t cpus = 0;
  memset(mask, 0, sizeof(mask));
  if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)mask) == 0)
    for (size_t i = 0; i < sizeof(mask) / sizeof(mask[0]); ++i)
      cpus += (uint32_t)__builtin_popcountl(mask[i]);
  uint32_t quota = lumen_cgroup_cpus("/proc/self/cgroup", "/sys/fs/cgroup");
  if (quota && (!cpus || quota < cpus))
    cpus = quota;
  return cpus ? cpus : 1;
}
