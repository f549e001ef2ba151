/* plan.c - from the inputs' extents to a plan, and the last few plans kept. */
#include "plan.h"

#include "guard.h"
#include "nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Expressions -------------------------------------------------------- */

void lumen_describe_symbols(const lumen_abi_model *abi, const int64_t *symbols, char *text,
                            uint64_t capacity) {
  uint64_t length = 0;
  *text = 0;
  for (uint32_t i = 0; i < abi->num_entry_symbols && length < capacity; ++i) {
    const char *name = abi->symbol_names[i];
    if (name)
      length += (uint64_t)snprintf(text + length, capacity - length, "%s%s is %lld",
                                   length ? ", " : " where ", name, (long long)symbols[i]);
  }
}

int lumen_fail_value(const lumen_abi_model *abi, const plan *plan, uint32_t index,
                     lumen_status *status) {
  static const char *const operators[] = {"", "", " + ", " - ", " * ", " / "};
  const lumen_abi_expr *expr = &abi->exprs[plan->causes[index] - 1];
  int64_t a = plan->values[expr->a], b = plan->values[expr->b];
  bool is_division = expr->op == LUMEN_ABI_EXPR_FLOORDIV && b == 0;
  char where[200], node[lumen_node_capacity];
  lumen_describe_symbols(abi, plan->symbols, where, sizeof(where));
  lumen_node_of_cause(abi, plan, plan->causes[index], node);
  return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "%s: %s%s: %lld%s%lld%s", abi->name, node,
                    is_division ? "a size is divided by zero"
                                : "a size leaves the range of 64 bits",
                    (long long)a, operators[expr->op], (long long)b, where);
}

/* Of operands that are defined; false: the result is not. */
static bool compute(uint32_t op, int64_t a, int64_t b, int64_t *value) {
  long long result = 0;
  bool overflow = false;
  switch ((lumen_abi_expr_op)op) {
  case LUMEN_ABI_EXPR_ADD:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case LUMEN_ABI_EXPR_SUB:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case LUMEN_ABI_EXPR_MUL:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case LUMEN_ABI_EXPR_FLOORDIV:
    overflow = b == 0 || (a == INT64_MIN && b == -1);
    if (!overflow)
      result = a / b - (a % b != 0 && (a < 0) != (b < 0));
    break;
  case LUMEN_ABI_EXPR_MIN:
    result = a < b ? a : b;
    break;
  case LUMEN_ABI_EXPR_MAX:
    result = a > b ? a : b;
    break;
  default:
    result = a == 1 ? b : a;
    break;
  }
  *value = result;
  return !overflow;
}

void lumen_evaluate(const lumen_abi_model *abi, plan *plan, uint32_t first, uint32_t count) {
  int64_t *values = plan->values;
  uint32_t *causes = plan->causes;
  for (uint32_t i = first; i < first + count; ++i) {
    const lumen_abi_expr *expr = &abi->exprs[i];
    causes[i] = 0;
    if (expr->op == LUMEN_ABI_EXPR_CONSTANT) {
      values[i] = expr->value;
    } else if (expr->op == LUMEN_ABI_EXPR_SYMBOL) {
      values[i] = plan->symbols[expr->a];
    } else {
      causes[i] = causes[expr->a] ? causes[expr->a] : causes[expr->b];
      if (!causes[i] && !compute(expr->op, values[expr->a], values[expr->b], &values[i]))
        causes[i] = i + 1;
      if (causes[i])
        values[i] = INT64_MIN;
    }
  }
}

/* What a check says of the values of its sides: its own sentence, in which {0} and {1}
 * stand for them, or what every check of its kind says of `what`. */
static void describe_check(const lumen_abi_model *abi, const lumen_abi_check *check, int64_t a,
                           int64_t b, char *text, uint64_t capacity) {
  const char *what = check->what;
  if (strstr(what, "{0}") || strstr(what, "{1}")) {
    uint64_t length = 0;
    while (*what && length < capacity) {
      bool is_a = !strncmp(what, "{0}", 3), is_value = is_a || !strncmp(what, "{1}", 3);
      length += (uint64_t)(is_value ? snprintf(text + length, capacity - length, "%lld",
                                               (long long)(is_a ? a : b))
                                    : snprintf(text + length, capacity - length, "%c", *what));
      what += is_value ? 3 : 1;
    }
    return;
  }
  if (check->kind == LUMEN_ABI_CHECK_BROADCAST) {
    snprintf(text, capacity, "%s are %lld and %lld, expected to be equal, or one of them 1", what,
             (long long)a, (long long)b);
    return;
  }
  /* Of "1 <= n" and "n <= 5" the one that is no constant is what went wrong. */
  bool is_order = check->kind == LUMEN_ABI_CHECK_LESS_EQUAL;
  bool is_least = is_order && abi->exprs[check->a].op == LUMEN_ABI_EXPR_CONSTANT;
  const char *relation = !is_order ? "" : is_least ? "at least " : "at most ";
  snprintf(text, capacity, "%s is %lld, expected %s%lld", what, (long long)(is_least ? b : a),
           relation, (long long)(is_least ? a : b));
}

int lumen_check(const lumen_abi_model *abi, const plan *plan, uint32_t index,
                lumen_status *status) {
  const lumen_abi_check *check = &abi->checks[index];
  int64_t a, b;
  int code = lumen_value_of(abi, plan, check->a, &a, status);
  if (!code)
    code = lumen_value_of(abi, plan, check->b, &b, status);
  if (code)
    return code;
  bool holds = check->kind == LUMEN_ABI_CHECK_LESS_EQUAL ? a <= b : a == b;
  if (check->kind == LUMEN_ABI_CHECK_BROADCAST)
    holds |= a == 1 || b == 1;
  if (holds)
    return LUMEN_OK;
  char said[300], where[200];
  describe_check(abi, check, a, b, said, sizeof(said));
  lumen_describe_symbols(abi, plan->symbols, where, sizeof(where));
  return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "%s: %s: %s%s", abi->name, check->node,
                    said, where);
}

/* ---- Symbols ------------------------------------------------------------ */

static int fail_symbol(const planner *planner, uint32_t symbol, uint32_t input, int32_t dim,
                       int64_t extent, lumen_status *status) {
  const lumen_abi_model *abi = planner->model->abi;
  uint32_t binder = planner->binder[symbol], at = 0;
  while (binder >= (uint32_t)(abi->inputs[at].rank > 0 ? abi->inputs[at].rank : 0)) {
    binder -= abi->inputs[at].rank > 0 ? (uint32_t)abi->inputs[at].rank : 0;
    ++at;
  }
  const char *name = abi->symbol_names[symbol];
  return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                    "input '%s': dimension %d ('%s') is %lld, expected %lld as dimension %u of "
                    "input '%s'",
                    abi->inputs[input].name, dim, name ? name : "?", (long long)extent,
                    (long long)planner->symbols[symbol], binder, abi->inputs[at].name);
}

static const int64_t *shape_of(const lumen_abi_value *info, const lumen_value *value) {
  if (info->rank <= 0 || info->kind != LUMEN_ABI_TENSOR)
    return NULL;
  return info->dtype == LUMEN_ABI_STRING ? value->u.strings.shape : value->u.tensor.shape;
}

/* The entry symbols' values in planner->symbols. One whose inputs were all left
 * out is 0. */
static int bind_symbols(planner *planner, const lumen_value *inputs, lumen_status *status) {
  const lumen_abi_model *abi = planner->model->abi;
  for (uint32_t s = 0; s < abi->num_entry_symbols; ++s) {
    planner->symbols[s] = 0;
    planner->binder[s] = LUMEN_ABI_NONE;
  }
  uint32_t position = 0;
  for (uint32_t i = 0; i < abi->num_inputs; ++i) {
    const lumen_abi_value *info = &abi->inputs[i];
    if (info->rank <= 0)
      continue;
    uint32_t first = position;
    position += (uint32_t)info->rank;
    const int64_t *shape = shape_of(info, &inputs[i]);
    if (!shape)
      continue;
    for (int32_t d = 0; d < info->rank; ++d) {
      uint32_t symbol = info->dims[d].expr;
      if (info->dims[d].extent >= 0 || symbol == LUMEN_ABI_NONE)
        continue;
      if (planner->binder[symbol] == LUMEN_ABI_NONE) {
        planner->binder[symbol] = first + (uint32_t)d;
        planner->symbols[symbol] = shape[d];
      } else if (planner->symbols[symbol] != shape[d]) {
        return fail_symbol(planner, symbol, i, d, shape[d], status);
      }
    }
  }
  return LUMEN_OK;
}

/* Extents that are expressions of what other dimensions have bound. */
static int check_extents(const lumen_abi_model *abi, const plan *plan, const lumen_value *inputs,
                         lumen_status *status) {
  for (uint32_t i = 0; i < abi->num_inputs; ++i) {
    const lumen_abi_value *info = &abi->inputs[i];
    const int64_t *shape = shape_of(info, &inputs[i]);
    for (int32_t d = 0; shape && d < info->rank; ++d) {
      const lumen_abi_dim *dim = &info->dims[d];
      if (dim->extent >= 0 || dim->bound_expr == LUMEN_ABI_NONE)
        continue;
      int64_t expected;
      int code = lumen_value_of(abi, plan, dim->bound_expr, &expected, status);
      if (code)
        return code;
      if (expected == shape[d])
        continue;
      char where[200];
      lumen_describe_symbols(abi, plan->symbols, where, sizeof(where));
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "input '%s': dimension %d ('%s') is %lld, expected %lld%s", info->name, d,
                        dim->symbol ? dim->symbol : "?", (long long)shape[d], (long long)expected,
                        where);
    }
  }
  return LUMEN_OK;
}

/* ---- Plans -------------------------------------------------------------- */

static int fail_memory(const model *model, lumen_status *status) {
  return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a plan of %u storages",
                    model->abi->name, model->abi->num_storages);
}

static int open_plan(plan *plan, const model *model, lumen_status *status) {
  const lumen_abi_model *abi = model->abi;
  /* The pieces of one allocation, those of 8 bytes first. */
  uint64_t words = (uint64_t)abi->num_symbols + abi->num_exprs + abi->num_storages +
                   model->num_output_dims + abi->num_outputs;
  int64_t *memory = lumen_allocate(words * sizeof(int64_t) + abi->num_exprs * sizeof(uint32_t) +
                                   abi->num_outputs * sizeof(bool));
  if (!memory)
    return fail_memory(model, status);
  plan->symbols = memory;
  plan->values = plan->symbols + abi->num_symbols;
  plan->offsets = (uint64_t *)(plan->values + abi->num_exprs);
  plan->output_bounds = (int64_t *)(plan->offsets + abi->num_storages);
  plan->output_bytes = (uint64_t *)(plan->output_bounds + model->num_output_dims);
  plan->causes = (uint32_t *)(plan->output_bytes + abi->num_outputs);
  plan->output_exact = (bool *)(plan->causes + abi->num_exprs);
  return LUMEN_OK;
}

int lumen_check_storage(const lumen_abi_model *abi, const plan *plan, uint32_t storage,
                        lumen_status *status) {
  uint32_t expr = abi->storages[storage].size_expr;
  if (abi->storages[storage].region != LUMEN_ABI_ARENA || expr == LUMEN_ABI_NONE)
    return LUMEN_OK;
  int64_t size;
  int code = lumen_value_of(abi, plan, expr, &size, status);
  if (code || (size >= 0 && size <= INT64_MAX - LUMEN_ALIGNMENT))
    return code;
  char where[200], node[lumen_node_capacity];
  lumen_describe_symbols(abi, plan->symbols, where, sizeof(where));
  lumen_node_of_storage(abi, storage, node);
  return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                    "%s: %san intermediate value would have %lld bytes%s", abi->name, node,
                    (long long)size, where);
}

/* Sizes of the storages in the arena, and places for them. */
static int plan_arena(planner *planner, plan *plan, lumen_status *status) {
  const lumen_abi_model *abi = planner->model->abi;
  if (!planner->model->is_symbolic) {
    plan->arena_size = abi->arena_size;
    plan->arena_lower_bound = abi->arena_lower_bound;
    for (uint32_t i = 0; i < planner->num_ranges; ++i)
      plan->offsets[planner->range_storage[i]] = planner->ranges[i].offset;
    return LUMEN_OK;
  }
  uint64_t sum = 0;
  for (uint32_t i = 0; i < planner->num_ranges; ++i) {
    lumen_range *range = &planner->ranges[i];
    uint32_t index = planner->range_storage[i];
    const lumen_abi_storage *storage = &abi->storages[index];
    /* Steps may pass by what has no size. Launches in order touch all of it. */
    int code = lumen_check_storage(abi, plan, index, abi->num_steps ? NULL : status);
    if (code && !abi->num_steps)
      return code;
    uint64_t size = range->fixed ? storage->size : (uint64_t)plan->values[storage->size_expr];
    size += abi->guard ? lumen_guard_gap : 0;
    range->size = code ? 0 : (size + LUMEN_ALIGNMENT - 1) & ~(uint64_t)(LUMEN_ALIGNMENT - 1);
    sum += range->size;
    if (sum > INT64_MAX) {
      char where[200], node[lumen_node_capacity];
      lumen_describe_symbols(abi, plan->symbols, where, sizeof(where));
      lumen_node_of_storage(abi, lumen_largest_storage(abi, plan), node);
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "%s: %sintermediate values have more bytes than memory can hold%s",
                        abi->name, node, where);
    }
  }
  lumen_pack(planner->packing, planner->ranges, &plan->arena_size, &plan->arena_lower_bound);
  for (uint32_t i = 0; i < planner->num_ranges; ++i)
    plan->offsets[planner->range_storage[i]] = planner->ranges[i].offset;
  if (plan->arena_size < abi->arena_size)
    plan->arena_size = abi->arena_size;
  return LUMEN_OK;
}

/* Extents of the outputs as far as they are known. */
static int plan_outputs(const model *model, plan *plan, lumen_status *status) {
  const lumen_abi_model *abi = model->abi;
  int64_t *extents = plan->output_bounds;
  for (uint32_t i = 0; i < abi->num_outputs; ++i) {
    const lumen_abi_value *info = &abi->outputs[i];
    int32_t rank = info->rank > 0 ? info->rank : 0;
    bool is_known = info->rank >= 0;
    plan->output_exact[i] = is_known;
    for (int32_t d = 0; d < rank; ++d) {
      const lumen_abi_dim *dim = &info->dims[d];
      int64_t extent = dim->extent >= 0 ? dim->extent : dim->bound;
      bool is_bounded = true;
      int code = LUMEN_OK;
      if (dim->extent < 0 && dim->expr < abi->num_entry_exprs) {
        code = lumen_value_of(abi, plan, dim->expr, &extent, status);
      } else if (dim->extent < 0) {
        plan->output_exact[i] = false;
        if (dim->bound_expr < abi->num_entry_exprs)
          code = lumen_value_of(abi, plan, dim->bound_expr, &extent, status);
        else if (extent < 0)
          is_bounded = is_known = false;
      }
      if (code)
        return code;
      if (extent < 0 && is_bounded)
        return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                          "output '%s': dimension %d would be %lld", info->name, d,
                          (long long)extent);
      extents[d] = extent;
    }
    plan->output_bytes[i] = UINT64_MAX;
    if (is_known && lumen_is_numbers(info)) {
      plan->output_bytes[i] = lumen_tensor_bytes(info->dtype, rank, extents);
      if (plan->output_bytes[i] > INT64_MAX)
        return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                          "output '%s': its shape has more bytes than memory can hold", info->name);
    }
    extents += rank;
  }
  return LUMEN_OK;
}

static int make_plan(planner *planner, plan *plan, const lumen_value *inputs,
                     lumen_status *status) {
  const lumen_abi_model *abi = planner->model->abi;
  if (abi->num_entry_symbols)
    memcpy(plan->symbols, planner->symbols, abi->num_entry_symbols * sizeof(int64_t));
  lumen_evaluate(abi, plan, 0, abi->num_entry_exprs);
  int code = LUMEN_OK;
  /* Without steps every run uses them all. */
  int64_t value;
  for (uint32_t i = 0; i < abi->num_entry_exprs && !abi->num_steps && !code; ++i)
    if (!abi->exprs[i].is_report)
      code = lumen_value_of(abi, plan, i, &value, status);
  if (!code && abi->num_entry_symbols)
    code = check_extents(abi, plan, inputs, status);
  for (uint32_t i = 0; i < abi->num_entry_checks && !code; ++i)
    code = lumen_check(abi, plan, i, status);
  if (!code)
    code = plan_outputs(planner->model, plan, status);
  if (!code)
    code = plan_arena(planner, plan, status);
  return code;
}

int lumen_planner_find(planner *planner, const lumen_value *inputs, plan **result,
                       lumen_status *status) {
  const lumen_abi_model *abi = planner->model->abi;
  size_t bytes = abi->num_entry_symbols * sizeof(int64_t);
  if (bytes) {
    int code = bind_symbols(planner, inputs, status);
    if (code)
      return code;
  }
  plan *oldest = planner->plans;
  for (uint32_t i = 0; i < max_plans; ++i) {
    plan *known = &planner->plans[i];
    if (known->id && (!bytes || !memcmp(known->symbols, planner->symbols, bytes))) {
      known->last_use = ++planner->num_uses;
      *result = known;
      return bytes ? check_extents(abi, known, inputs, status) : LUMEN_OK;
    }
    /* An empty one was never used. */
    if (known->last_use < oldest->last_use)
      oldest = known;
  }
  oldest->id = oldest->last_use = 0;
  int code = oldest->symbols ? LUMEN_OK : open_plan(oldest, planner->model, status);
  if (!code)
    code = make_plan(planner, oldest, inputs, status);
  if (code)
    return code;
  oldest->id = ++planner->num_plans;
  oldest->last_use = ++planner->num_uses;
  *result = oldest;
  return LUMEN_OK;
}

int lumen_planner_open(planner *planner, const model *model, lumen_status *status) {
  const lumen_abi_model *abi = model->abi;
  planner->model = model;
  uint32_t count = 0;
  for (uint32_t i = 0; i < abi->num_storages; ++i)
    count += abi->storages[i].region == LUMEN_ABI_ARENA;
  planner->symbols = lumen_allocate(abi->num_entry_symbols * sizeof(int64_t));
  planner->binder = lumen_allocate(abi->num_entry_symbols * sizeof(uint32_t));
  planner->ranges = lumen_allocate(count * sizeof(lumen_range));
  planner->range_storage = lumen_allocate(count * sizeof(uint32_t));
  if (!planner->symbols || !planner->binder || !planner->ranges || !planner->range_storage)
    return fail_memory(model, status);
  for (uint32_t i = 0; i < abi->num_storages; ++i) {
    const lumen_abi_storage *storage = &abi->storages[i];
    if (storage->region != LUMEN_ABI_ARENA)
      continue;
    planner->ranges[planner->num_ranges] =
        (lumen_range){.first = storage->first,
                      .last = storage->last,
                      .offset = storage->offset,
                      .fixed = storage->size_expr == LUMEN_ABI_NONE};
    planner->range_storage[planner->num_ranges++] = i;
  }
  planner->packing = lumen_packing_create(planner->ranges, count);
  return planner->packing ? LUMEN_OK : fail_memory(model, status);
}

void lumen_planner_close(planner *planner) {
  for (uint32_t i = 0; i < max_plans; ++i)
    free(planner->plans[i].symbols);
  free(planner->symbols);
  free(planner->binder);
  free(planner->ranges);
  free(planner->range_storage);
  lumen_packing_free(planner->packing);
}
