/* devices.c - the drivers that are linked in.
 *
 * A driver beside the CPU's is referred to weakly, so that an artifact carries
 * it only if lumenc pulled its archive member in. */
#include "driver.h"

const lumen_driver *const lumen_drivers[] = {&lumen_driver_cpu, NULL};
