/* driver.h - what the runtime asks of a kind of device. One driver_<kind>.c per
 * kind; the rest of the runtime knows no kind by name but the CPU's.
 *
 * A driver is an archive member: devices.c refers to all but the CPU's by weak
 * symbols, and lumenc pulls in those that the artifact has kernels for. */
#ifndef LUMEN_DRIVER_H
#define LUMEN_DRIVER_H

#include "internal.h"

struct lumen_driver {
  const char *kind;        /* "cpu" */
  lumen_abi_target target; /* whose kernels its devices run */

  /* Keeps what the next three need and takes time to make, until let_go; false: there is
   * nothing to keep, and to let go. Both NULL: there never is. */
  bool (*hold)(void);
  void (*let_go)(void);

  /* Writes up to `capacity` devices, kind, name and memory, and returns how many
   * there are; 0 where the machine or the system's driver is missing. */
  uint32_t (*enumerate)(lumen_device_info *devices, uint32_t capacity);

  /* Expected speed of the model there, comparable between drivers. 0: it cannot
   * run; then `reason` says why. */
  double (*score)(const lumen_abi_model *abi, const lumen_device_info *info,
                  const lumen_choice *choice, lumen_status *reason);

  /* Chooses variants and runs the model's init kernels. Fills
   * device->state. After a failure nothing is left behind. */
  int (*open)(device *device, lumen_status *status);
  void (*close)(device *device);

  /* Whether this machine can run a level of the target. NULL: where it has a device that
   * can run the model. */
  bool (*offers)(const lumen_abi_model *abi, uint32_t level);

  /* Which variants the open model uses: `level` and `scratch_size` of the info, and that
   * of one kernel. */
  void (*describe)(const device *device, lumen_model_info *info);
  const lumen_abi_variant *(*variant)(const device *device, uint32_t kernel);

  /* Memory and state of one context, whose plan is known but where it is NULL. */
  int (*context_open)(context *context, lumen_status *status);
  void (*context_close)(context *context);
  /* All but what the plan says. */
  void (*context_memory)(const context *context, lumen_context_memory_info *info);

  /* The output whose memory, the context's own, holds the address; LUMEN_ABI_NONE: no
   * memory of results does. num_outputs: part of a result of some other kind. */
  uint32_t (*owner)(const context *context, const void *address);
  /* Where the address lies in the memory that is meant for the next result of that output,
   * lets it go elsewhere, if it may. True: the next run writes nothing there. */
  bool (*hand_over)(context *context, uint32_t output, const void *address, bool may_move);

  /* Runs the schedule by context->plan, with context->inputs and ->outputs (NULL
   * outputs are placed, and the pointers written). The device may still be at it when this
   * returns, but then the host has no more to do for it. */
  int (*run)(context *context, lumen_status *status);
  /* Waits for a run that began well, and brings its results where the pointers say; is due
   * before anything else happens to the context but for its plan. NULL: nothing is left. */
  int (*finish)(context *context, lumen_status *status);
  bool (*is_done)(const context *context); /* that would not wait; NULL with `finish` */

  /* What lumen_benchmark runs there; NULL: the CPU's code. */
  const struct lumen_benchmark_code *benchmark;
};

/* Those that are linked in, the CPU's first; NULL in the place of one that is not. */
enum { lumen_num_drivers = 5 };
extern const lumen_driver *const lumen_drivers[lumen_num_drivers];

extern const lumen_driver lumen_driver_cpu;

/* driver_cpu.c: how fast the host is. */
void lumen_host_rates(lumen_device_rates *rates);

/* devices.c: the driver for levels of a lumen_abi_target; NULL where none is linked in. */
const lumen_driver *lumen_driver_of_target(uint32_t target);
/* Whether this machine can run a level of the driver's target. */
bool lumen_driver_offers(const lumen_driver *driver, const lumen_abi_model *abi, uint32_t level);

#endif
