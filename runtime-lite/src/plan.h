/* plan.h - what a set of input shapes leads to: sizes, places in the arena,
 * extents of the outputs. */
#ifndef LUMEN_PLAN_H
#define LUMEN_PLAN_H

#include "internal.h"
#include "packing.h"

/* Shapes that a context remembers: so many may alternate without planning anew. */
enum { max_plans = 8 };

typedef struct plan {
  uint64_t id; /* 0: empty. No two plans of a planner share one. */
  uint64_t last_use;
  uint64_t arena_size, arena_lower_bound;
  int64_t *symbols;       /* values; those that are not the entry's are the run's */
  int64_t *values;        /* of expressions; likewise. INT64_MIN where there is none: see causes */
  uint64_t *offsets;      /* of storages in the arena */
  int64_t *output_bounds; /* extents of all outputs in order; -1: no bound */
  uint64_t *output_bytes; /* their memory; UINT64_MAX: only the run knows */
  uint32_t *causes;       /* by expression: 0, or one more than the one that left it undefined */
  bool *output_exact;     /* extents are no mere bounds */
} plan;

typedef struct planner {
  const model *model;
  plan plans[max_plans];
  uint64_t num_plans, num_uses; /* made and asked for so far */
  /* While a plan is made. */
  int64_t *symbols; /* of the shapes at hand */
  uint32_t *binder; /* by entry symbol: position among all inputs' dimensions, or NONE */
  lumen_packing *packing;
  lumen_range *ranges;     /* of the storages in the arena */
  uint32_t *range_storage; /* which those are */
  uint32_t num_ranges;
} planner;

/* For a planner that is zeroed. After a failure it can, and must, be closed. */
int lumen_planner_open(planner *planner, const model *model, lumen_status *status);
void lumen_planner_close(planner *planner);

/* The plan for (checked) inputs, made anew only where none is remembered. NULL
 * inputs: of a model whose plan depends on none. Valid until the next call. */
int lumen_planner_find(planner *planner, const lumen_value *inputs, plan **result,
                       lumen_status *status);

/* Expressions [first, first + count) of the plan's model, anew. One that is divided by
 * zero or leaves 64 bits is undefined, as is all that is made of it: a branch that is not
 * taken may hold it, so only its use is an error. */
void lumen_evaluate(const lumen_abi_model *abi, plan *plan, uint32_t first, uint32_t count);
/* Fails because an expression is undefined, and says why. */
int lumen_fail_value(const lumen_abi_model *abi, const plan *plan, uint32_t expr,
                     lumen_status *status);
/* The value of an expression; fails where it is undefined. */
static inline int lumen_value_of(const lumen_abi_model *abi, const plan *plan, uint32_t expr,
                                 int64_t *value, lumen_status *status) {
  *value = plan->values[expr];
  return plan->causes[expr] ? lumen_fail_value(abi, plan, expr, status) : LUMEN_OK;
}
/* Fails where the size of a storage in the arena is none. The plan counts it as nothing. */
int lumen_check_storage(const lumen_abi_model *abi, const plan *plan, uint32_t storage,
                        lumen_status *status);
/* Fails where the check does. */
int lumen_check(const lumen_abi_model *abi, const plan *plan, uint32_t index, lumen_status *status);
/* " where batch is 3, seq is 128" for the end of a message, "" without symbols. */
void lumen_describe_symbols(const lumen_abi_model *abi, const int64_t *symbols, char *text,
                            uint64_t capacity);

#endif
