/* weak_device.h - what a library that stands before a device's driver, or in its place, has
 * seen, for programs that it is loaded into. */
#ifndef WEAK_DEVICE_H
#define WEAK_DEVICE_H

typedef struct weak_device_counts {
  int live;       /* objects that are not destroyed */
  int failed;     /* calls that ran out of memory */
  int misuses;    /* calls that the API does not allow; each is told on stderr */
  int dispatches; /* recorded */
  int barriers;   /* likewise */
  int copies;     /* likewise */
  int submissions, waits;
  int questions; /* whether work is done */
} weak_device_counts;

/* weak_device_count: since the last call, or the library was loaded, but for `live`. */
typedef void weak_device_count_function(weak_device_counts *counts);

#endif
