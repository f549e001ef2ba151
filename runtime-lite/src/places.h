/* places.h - which bytes of a context are valid where, for a device with memory of its own,
 * and what is copied when the host and the device take turns. */
#ifndef LUMEN_PLACES_H
#define LUMEN_PLACES_H

#include "host_kernels.h"
#include "schedule.h"

/* Bytes [begin, end). */
typedef struct lumen_span {
  uintptr_t begin, end;
} lumen_span;

/* In order, and apart from each other. */
typedef struct lumen_spans {
  lumen_span *items;
  uint32_t count, capacity;
} lumen_spans;

typedef enum lumen_place { lumen_on_host, lumen_on_device } lumen_place;

/* By place: the bytes that the other one alone has. Zeroed: both have all. */
typedef struct lumen_places {
  lumen_spans stale[2];
} lumen_places;

void lumen_places_free(lumen_places *places);
/* Makes them what others are; false: out of memory. */
bool lumen_places_copy(lumen_places *places, const lumen_places *from);
/* The first of the bytes that `place` has not; false: it has all. */
bool lumen_places_missing(const lumen_places *places, lumen_place place, lumen_span bytes,
                          lumen_span *missing);
/* Bytes were brought to `place`, or are written there; false: out of memory. */
bool lumen_places_bring(lumen_places *places, lumen_place place, lumen_span bytes);
bool lumen_places_write(lumen_places *places, lumen_place place, lumen_span bytes);

/* Whether a launch needs what an argument holds before it: it reads it, or writes only some
 * of it. `position`: among abi->arg_buffers. */
bool lumen_is_read(const lumen_abi_model *abi, const lumen_abi_launch *launch, uint32_t position);
bool lumen_is_written(const lumen_abi_model *abi, const lumen_abi_launch *launch,
                      uint32_t position);

/* ---- Of a context ------------------------------------------------------- */

/* For a schedule that is open. `is_shared`: host and device work on the same bytes, and
 * nothing is ever copied. False: out of memory; closing is due all the same. */
bool lumen_open_places(context *context, bool is_shared);
void lumen_close_places(context *context);
/* A run begins: both places have all, but for inputs that are results of the last run, which
 * are where they were left. */
int lumen_begin_places(context *context, lumen_status *status);
/* Bytes that the host alone has: an input's. */
int lumen_bring_input(context *context, const void *memory, uint64_t size, lumen_status *status);

/* For lumen_schedule_ops. */
int lumen_places_fetch(context *context, const void *memory, uint64_t size, lumen_status *status);
int lumen_places_store(context *context, const void *memory, uint64_t size, lumen_status *status);
int lumen_places_transfer(context *context, void *to, const void *from, uint64_t size,
                          lumen_status *status);

/* Brings to the device what it needs for a launch that is bound, and is to run next. */
int lumen_enter_device(context *context, uint32_t index, lumen_status *status);
/* Runs a launch that is bound on the host. */
int lumen_launch_on_host(context *context, const lumen_host_workers *workers, uint32_t index,
                         lumen_status *status);

#endif
