/* places.c - see places.h. */
#include "places.h"

#include <stdlib.h>
#include <string.h>

/* ---- Spans -------------------------------------------------------------- */

/* The first one that ends behind `at`. */
static uint32_t find_span(const lumen_spans *spans, uintptr_t at) {
  uint32_t low = 0, high = spans->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (spans->items[middle].end > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static bool reserve(lumen_spans *spans, uint32_t count) {
  if (count <= spans->capacity)
    return true;
  uint32_t capacity = 2 * count + 16;
  lumen_span *items = realloc(spans->items, capacity * sizeof(*items));
  if (!items)
    return false;
  spans->items = items;
  spans->capacity = capacity;
  return true;
}

/* Puts `count` spans in the place of [first, last). */
static bool replace(lumen_spans *spans, uint32_t first, uint32_t last, const lumen_span *with,
                    uint32_t count) {
  uint32_t rest = spans->count - last, total = first + count + rest;
  if (!reserve(spans, total))
    return false;
  if (rest)
    memmove(spans->items + first + count, spans->items + last, rest * sizeof(*spans->items));
  if (count)
    memcpy(spans->items + first, with, count * sizeof(*with));
  spans->count = total;
  return true;
}

static bool add_span(lumen_spans *spans, lumen_span bytes) {
  if (bytes.begin >= bytes.end)
    return true;
  /* One that ends where this begins becomes part of it. */
  uint32_t first = find_span(spans, bytes.begin ? bytes.begin - 1 : 0), last = first;
  while (last < spans->count && spans->items[last].begin <= bytes.end) {
    const lumen_span *other = &spans->items[last++];
    bytes.begin = other->begin < bytes.begin ? other->begin : bytes.begin;
    bytes.end = other->end > bytes.end ? other->end : bytes.end;
  }
  return replace(spans, first, last, &bytes, 1);
}

static bool remove_span(lumen_spans *spans, lumen_span bytes) {
  if (bytes.begin >= bytes.end)
    return true;
  uint32_t first = find_span(spans, bytes.begin), last = first, count = 0;
  lumen_span rest[2];
  while (last < spans->count && spans->items[last].begin < bytes.end) {
    const lumen_span *other = &spans->items[last++];
    if (other->begin < bytes.begin)
      rest[count++] = (lumen_span){other->begin, bytes.begin};
    if (other->end > bytes.end)
      rest[count++] = (lumen_span){bytes.end, other->end};
  }
  return first == last || replace(spans, first, last, rest, count);
}

/* ---- Places ------------------------------------------------------------- */

static lumen_place other(lumen_place place) {
  return place == lumen_on_host ? lumen_on_device : lumen_on_host;
}

void lumen_places_free(lumen_places *places) {
  for (int p = 0; p < 2; ++p)
    free(places->stale[p].items);
}

bool lumen_places_copy(lumen_places *places, const lumen_places *from) {
  for (int p = 0; p < 2; ++p)
    if (!replace(&places->stale[p], 0, places->stale[p].count, from->stale[p].items,
                 from->stale[p].count))
      return false;
  return true;
}

bool lumen_places_missing(const lumen_places *places, lumen_place place, lumen_span bytes,
                          lumen_span *missing) {
  const lumen_spans *stale = &places->stale[place];
  uint32_t at = find_span(stale, bytes.begin);
  if (bytes.begin >= bytes.end || at == stale->count || stale->items[at].begin >= bytes.end)
    return false;
  *missing = stale->items[at];
  if (missing->begin < bytes.begin)
    missing->begin = bytes.begin;
  if (missing->end > bytes.end)
    missing->end = bytes.end;
  return true;
}

bool lumen_places_bring(lumen_places *places, lumen_place place, lumen_span bytes) {
  return remove_span(&places->stale[place], bytes);
}

bool lumen_places_write(lumen_places *places, lumen_place place, lumen_span bytes) {
  return remove_span(&places->stale[place], bytes) && add_span(&places->stale[other(place)], bytes);
}

/* Weights, and what is made of them, are in both places. */
static bool is_constant(const lumen_abi_model *abi, uint32_t buffer) {
  uint32_t region = abi->storages[abi->buffers[buffer].storage].region;
  return region == LUMEN_ABI_WEIGHTS || region == LUMEN_ABI_INIT;
}

bool lumen_is_written(const lumen_abi_model *abi, const lumen_abi_launch *launch,
                      uint32_t position) {
  uint32_t end = launch->first_arg + abi->kernels[launch->kernel].num_args;
  return position >= end - launch->num_outputs;
}

bool lumen_is_read(const lumen_abi_model *abi, const lumen_abi_launch *launch, uint32_t position) {
  const lumen_abi_buffer *buffer = &abi->buffers[abi->arg_buffers[position]];
  if (is_constant(abi, abi->arg_buffers[position]))
    return false;
  /* Where nobody says how long it is, more may lie behind it. */
  return !lumen_is_written(abi, launch, position) || buffer->has_gaps ||
         (!buffer->size && buffer->size_expr == LUMEN_ABI_NONE);
}

/* ---- Of a context ------------------------------------------------------- */

bool lumen_open_places(context *context, bool is_shared) {
  lumen_schedule *schedule = context->device_state;
  if (!is_shared)
    schedule->places = lumen_allocate(sizeof(*schedule->places));
  return is_shared || schedule->places;
}

void lumen_close_places(context *context) {
  lumen_schedule *schedule = context->device_state;
  if (schedule->places)
    lumen_places_free(schedule->places);
  free(schedule->places);
}

static int fail_memory(const context *context, lumen_status *status) {
  return lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "%s: no memory for a run",
                    context->model->abi->name);
}

/* A size that nobody knows is the largest. */
static lumen_span span_of(const void *memory, uint64_t size) {
  uintptr_t begin = (uintptr_t)memory;
  return (lumen_span){begin, size < UINTPTR_MAX - begin ? begin + size : UINTPTR_MAX};
}

int lumen_begin_places(context *context, lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  lumen_places kept = {0};
  bool has_memory = true;
  if (!schedule->places)
    return LUMEN_OK;
  for (uint32_t i = 0; context->takes_over && i < context->model->abi->num_inputs; ++i)
    for (int p = 0; p < 2; ++p) {
      lumen_span bytes = span_of(context->inputs[i], context->input_bytes[i]), missing;
      for (; has_memory && lumen_places_missing(schedule->places, p, bytes, &missing);
           bytes.begin = missing.end)
        has_memory = add_span(&kept.stale[p], missing);
    }
  has_memory = has_memory && lumen_places_copy(schedule->places, &kept);
  lumen_places_free(&kept);
  return has_memory ? LUMEN_OK : fail_memory(context, status);
}

static int write_at(context *context, lumen_place place, const void *memory, uint64_t size,
                    lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  return !schedule->places || lumen_places_write(schedule->places, place, span_of(memory, size))
             ? LUMEN_OK
             : fail_memory(context, status);
}

int lumen_bring_input(context *context, const void *memory, uint64_t size, lumen_status *status) {
  return write_at(context, lumen_on_host, memory, size, status);
}

/* Copies what `place` has not of these bytes. */
static int bring(context *context, lumen_place place, const void *memory, uint64_t size,
                 lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  lumen_places *places = schedule->places;
  lumen_span bytes = span_of(memory, size), piece;
  uint64_t copied = 0, begin = 0;
  int code = LUMEN_OK;
  while (places && !code && lumen_places_missing(places, place, bytes, &piece)) {
    if (!copied && context->profile)
      begin = lumen_now();
    copied += piece.end - piece.begin;
    code = schedule->ops->carry(context, (const void *)piece.begin, piece.end - piece.begin,
                                place == lumen_on_host, status);
    if (!code && !lumen_places_bring(places, place, piece))
      code = fail_memory(context, status);
  }
  if (code || !copied || !context->profile)
    return code;
  code = schedule->ops->wait(context, status);
  lumen_account_copy(context, place == lumen_on_host, begin, copied);
  return code;
}

int lumen_places_fetch(context *context, const void *memory, uint64_t size, lumen_status *status) {
  return bring(context, lumen_on_host, memory, size, status);
}

int lumen_places_store(context *context, const void *memory, uint64_t size, lumen_status *status) {
  return write_at(context, lumen_on_host, memory, size, status);
}

int lumen_places_transfer(context *context, void *to, const void *from, uint64_t size,
                          lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  lumen_span missing;
  if (!schedule->places ||
      !lumen_places_missing(schedule->places, lumen_on_device, span_of(from, size), &missing)) {
    int code = schedule->ops->duplicate(context, to, from, size, status);
    return code ? code : write_at(context, lumen_on_device, to, size, status);
  }
  /* The host has made some of it, and may need it again. */
  int code = bring(context, lumen_on_host, from, size, status);
  if (!code)
    code = schedule->ops->wait(context, status);
  if (code)
    return code;
  memcpy(to, from, size);
  return write_at(context, lumen_on_host, to, size, status);
}

/* Brings to `place` what a launch needs of its arguments, which it writes there. */
static int enter(context *context, lumen_place place, uint32_t index, lumen_status *status) {
  const lumen_schedule *schedule = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  const lumen_abi_launch *launch = &abi->launches[index];
  uint32_t end = launch->first_arg + abi->kernels[launch->kernel].num_args;
  void *const *args = schedule->bindings.current->args;
  int code = LUMEN_OK;
  for (int writes = 0; writes < 2 && schedule->places; ++writes)
    for (uint32_t at = launch->first_arg; at < end && !code; ++at) {
      bool is_due = writes ? lumen_is_written(abi, launch, at) : lumen_is_read(abi, launch, at);
      if (!args[at] || !is_due)
        continue;
      uint64_t size = lumen_bytes_at(&schedule->storages, abi->arg_buffers[at], args[at]);
      code = writes ? write_at(context, place, args[at], size, status)
                    : bring(context, place, args[at], size, status);
    }
  return code;
}

int lumen_enter_device(context *context, uint32_t index, lumen_status *status) {
  return enter(context, lumen_on_device, index, status);
}

int lumen_launch_on_host(context *context, const lumen_host_workers *workers, uint32_t index,
                         lumen_status *status) {
  lumen_schedule *schedule = context->device_state;
  const lumen_abi_model *abi = context->model->abi;
  const lumen_abi_launch *launch = &abi->launches[index];
  const lumen_binding *binding = schedule->bindings.current;
  int code = enter(context, lumen_on_host, index, status);
  /* What goes on may still use bytes that the launch writes. */
  if (!code && schedule->ops->is_busy(context))
    code = schedule->ops->wait(context, status);
  if (code)
    return code;
  const int64_t *sizes = binding->sizes + launch->first_size;
  schedule->ran = workers->kernels->variants[launch->kernel];
  int64_t grid = lumen_grid_of(schedule->ran, sizes);
  return lumen_host_launch(workers, launch, binding->args + launch->first_arg, sizes, grid, status);
}
