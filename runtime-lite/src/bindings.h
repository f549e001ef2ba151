/* bindings.h - arguments, sizes and grids of a schedule's launches.
 *
 * Most of them follow from the shapes: they are found once per plan and kept as long as
 * the plan. A run fills in where its inputs and outputs lie; steps bring what they move
 * and sizes that they find, when the launch comes. */
#ifndef LUMEN_BINDINGS_H
#define LUMEN_BINDINGS_H

#include "plan.h"
#include "storages.h"

/* Of one plan. */
typedef struct lumen_binding {
  uint64_t plan_id;   /* 0: none */
  void **args;        /* like abi->arg_buffers */
  uint64_t *offsets;  /* of those that a run fills in: bytes from their storages' bases */
  int64_t *sizes;     /* like abi->size_exprs */
  int64_t *grids;     /* by launch */
  bool *is_undefined; /* by launch: of these shapes it cannot be, if it comes */
} lumen_binding;

typedef struct lumen_bindings {
  const lumen_abi_model *abi;
  const lumen_abi_variant *const *variants; /* by kernel */
  lumen_storages *storages;
  uint8_t *kinds; /* like abi->arg_buffers: when an argument is known */
  bool *is_late;  /* by launch: some arguments or sizes are known when it comes only */
  /* Positions of the arguments that each run fills in, and their storages. */
  uint32_t *varying, *varying_storage;
  uint32_t num_varying;
  uint32_t num_args;
  lumen_binding plans[max_plans];
  lumen_binding *current;
} lumen_bindings;

/* For one that is zeroed. False: out of memory; closing is due all the same. */
bool lumen_bindings_open(lumen_bindings *bindings, const lumen_abi_model *abi,
                         const lumen_abi_variant *const *variants, lumen_storages *storages);
void lumen_bindings_close(lumen_bindings *bindings);

/* Makes the plan in this slot of the planner the current one. The storages of its
 * arguments are in place, but for those that vary with the run. */
int lumen_bind_plan(lumen_bindings *bindings, const plan *plan, uint32_t slot,
                    lumen_status *status);
/* The storages have moved: plans are bound anew. */
void lumen_bindings_forget(lumen_bindings *bindings);
/* Inputs and outputs of a run, whose storages are in place. */
void lumen_bind_run(lumen_bindings *bindings);
/* What is still missing of a launch that comes now. */
int lumen_bind_late(lumen_bindings *bindings, const plan *plan, uint32_t launch,
                    lumen_status *status);
static inline int lumen_bind_launch(lumen_bindings *bindings, const plan *plan, uint32_t launch,
                                    lumen_status *status) {
  return bindings->is_late[launch] || bindings->current->is_undefined[launch]
             ? lumen_bind_late(bindings, plan, launch, status)
             : LUMEN_OK;
}

/* Address of a buffer; NULL where its storage is not there. */
int lumen_resolve(const lumen_storages *storages, const plan *plan, uint32_t buffer, void **address,
                  lumen_status *status);

/* Bytes of a buffer that begins at `address`: where nobody says how long it is, up to the end
 * of its storage. */
uint64_t lumen_bytes_at(const lumen_storages *storages, uint32_t buffer, const void *address);

/* Work units of a launch of these sizes. */
static inline int64_t lumen_grid_of(const lumen_abi_variant *variant, const int64_t *sizes) {
  return variant->grid_fn ? variant->grid_fn(sizes) : variant->grid;
}

/* Entries of abi->arg_buffers that `count` launches have. */
uint32_t lumen_count_args(const lumen_abi_model *abi, const lumen_abi_launch *launches,
                          uint32_t count);

#endif
