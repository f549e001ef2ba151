/* weak_vulkan.h - what weak_vulkan.c has seen, for programs that it is loaded into. */
#ifndef WEAK_VULKAN_H
#define WEAK_VULKAN_H

typedef struct weak_vulkan_counts {
  int live;       /* objects that are not destroyed */
  int failed;     /* calls that ran out of memory */
  int misuses;    /* calls that Vulkan does not allow; each is told on stderr */
  int dispatches; /* recorded */
  int barriers;   /* likewise */
  int submissions, waits;
  int questions; /* whether work is done */
} weak_vulkan_counts;

/* weak_vulkan_count: since the last call, or the library was loaded, but for `live`. */
typedef void weak_vulkan_count_function(weak_vulkan_counts *counts);

#endif
