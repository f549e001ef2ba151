/* threads.h - how many threads a process should have. Apart from the executor
 * so that tests can show it other machines. */
#ifndef LUMEN_THREADS_H
#define LUMEN_THREADS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CPUs that a cgroup (v1 or v2) quota leaves, rounded up; 0: no quota.
 * `cgroup_file` is /proc/self/cgroup, `root` where the hierarchies are mounted. */
uint32_t lumen_cgroup_cpus(const char *cgroup_file, const char *root);

/* The least of affinity mask and cgroup quota, at least 1. */
uint32_t lumen_available_cpus(void);

/* Reads up to capacity - 1 bytes and terminates them. Returns the length, or -1. */
int64_t lumen_read_file(const char *path, char *buffer, uint64_t capacity);

#ifdef __cplusplus
}
#endif
#endif
