/* host_kernels.h - a model's kernels on the CPU: all of them for the CPU's driver, and for
 * a device those that it has no code for. */
#ifndef LUMEN_HOST_KERNELS_H
#define LUMEN_HOST_KERNELS_H

#include "internal.h"

/* The chosen variants. Read-only once open. */
typedef struct lumen_host_kernels {
  const lumen_abi_model *abi;
  const lumen_abi_variant **variants; /* by kernel */
  uint64_t scratch_size;              /* per worker, a multiple of the alignment */
  uint32_t best_level;                /* most demanding level in use; num_levels: none */
} lumen_host_kernels;

/* Chooses among the levels that this CPU has and the user allows. After a failure nothing
 * is left behind. */
int lumen_host_kernels_open(lumen_host_kernels *kernels, const model *model,
                            lumen_status *status);
void lumen_host_kernels_close(lumen_host_kernels *kernels);

/* What launches run with, one at a time. */
typedef struct lumen_host_workers {
  const lumen_host_kernels *kernels;
  lumen_executor *executor;
  uint32_t count;        /* workers of the executor */
  char *scratch;         /* of all workers */
  uint64_t scratch_size; /* likewise */
} lumen_host_workers;

/* False: out of memory; closing is due all the same. */
bool lumen_host_workers_open(lumen_host_workers *workers, const lumen_host_kernels *kernels,
                             lumen_executor *executor);
void lumen_host_workers_close(lumen_host_workers *workers);

/* Runs all units of the grid on host memory. A fault of the kernel is an error that names
 * the launch's nodes. */
int lumen_host_launch(const lumen_host_workers *workers, const lumen_abi_launch *launch,
                      void *const *args, const int64_t *sizes, int64_t grid,
                      lumen_status *status);

/* LUMEN_ERROR_INVALID_ARGUMENT for a lumen_abi_fault, `about` as it says. */
int lumen_fail_fault(const lumen_abi_model *abi, const lumen_abi_launch *launch,
                     const int64_t about[2], lumen_status *status);

/* Runs the init kernels: `init` becomes what the model derives from its weights. */
int lumen_host_inits(const model *model, const lumen_host_kernels *kernels, char *init,
                     lumen_status *status);

#endif
