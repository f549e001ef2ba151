/* call.h - what an operation of ops_*.c sees of the run it is part of, and how it
 * reads attributes and makes results.
 *
 * A runtime object is a lumen_value in the context's heap, one per storage. Its
 * arrays of items, shapes and strings are its own; bytes of tensors and strings in
 * the heap are never changed and may be shared by many until the run's heap is
 * reset. Inputs of the run are borrowed: what is made from them is copied. */
#ifndef LUMEN_CALL_H
#define LUMEN_CALL_H

#include "lumen_calls.h"
#include "storages.h"

struct lumen_abi_call_frame {
  const lumen_abi_model *abi;
  const lumen_abi_call *call;
  lumen_storages *storages;
  lumen_status *status;
  const lumen_value **inputs; /* NULL: left out */
  char **outputs;             /* memory of TENSOR and EXTENTS outputs; NULL: not allocated yet */
};

typedef lumen_abi_call_frame frame;

/* "<model>: <node>: " and the text. */
int lumen_call_fail(const frame *frame, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int lumen_call_fail_memory(const frame *frame);

/* Memory until the next run; NULL: out of memory. */
void *lumen_call_memory(frame *frame, uint64_t size);
/* Gives back what only this call has needed. */
void lumen_call_release(frame *frame, void *memory);

/* ---- Attributes: see lumen_calls.h -------------------------------------- */

typedef struct lumen_reader {
  const char *at;
} lumen_reader;

lumen_reader lumen_attributes(const frame *frame);
int64_t lumen_read_integer(lumen_reader *reader);
double lumen_read_double(lumen_reader *reader);
lumen_string lumen_read_string(lumen_reader *reader);

/* ---- Values ------------------------------------------------------------- */

/* A tensor of anything as one array of elements; strings are elements of 16 bytes. */
typedef struct lumen_array {
  char *data;
  uint64_t element; /* bytes */
  int32_t rank;
  const int64_t *shape;
  uint64_t count; /* of elements */
} lumen_array;

/* Fails for elements below a byte, and for what is no tensor. */
int lumen_array_of(const frame *frame, const lumen_value *value, lumen_array *array);
/* Element `index` of a tensor of i32 or i64. */
int64_t lumen_integer_at(const lumen_value *value, uint64_t index);
/* An input that is a position in something of `length` and one beyond, negative from
 * its end; `otherwise` where it is left out. */
int lumen_position(const frame *frame, const lumen_value *value, int64_t length, int64_t beyond,
                   int64_t otherwise, int64_t *position);
bool lumen_strings_equal(lumen_string a, lumen_string b);
/* Bytes of the UTF-8 character at `at`, its code point in `point`; 0 where none begins. */
uint64_t lumen_decode(lumen_string text, uint64_t at, uint32_t *point);
/* A value that is a tensor of strings with its own arrays, not yet filled. */
int lumen_make_strings(frame *frame, int32_t rank, const int64_t *shape, lumen_value *value);
/* One of numbers likewise. `lumen_dtype`. */
int lumen_make_tensor(frame *frame, lumen_dl_dtype dtype, int32_t rank, const int64_t *shape,
                      lumen_value *value);
/* `to` becomes a value with its own arrays. Bytes outside the heap are copied; those
 * within it only with `all`. */
int lumen_copy_value(frame *frame, lumen_value *to, const lumen_value *from, bool all);
/* Whether input `index` may change under the caller's feet: a TENSOR is memory of
 * the schedule, which will be used again. */
bool lumen_is_memory(const frame *frame, uint32_t index);

/* ---- Results ------------------------------------------------------------ */

/* Output `index` (EXTENTS count) becomes the value, whose arrays it takes over. As a
 * TENSOR it is copied to the output's memory. */
int lumen_return(frame *frame, uint32_t index, const lumen_value *value);
/* Memory of a TENSOR output of that shape, to be filled. */
int lumen_return_memory(frame *frame, uint32_t index, int32_t rank, const int64_t *shape,
                        void **memory);
/* The object in an output's storage if it is also input `input`, for changes in
 * place; else NULL. */
lumen_value *lumen_in_place(frame *frame, uint32_t input, uint32_t output);

#endif
