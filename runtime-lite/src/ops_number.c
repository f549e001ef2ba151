/* ops_number.c - numbers and their texts; see lumen_calls.h. */
#define _GNU_SOURCE
#include "call.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts have a point, whatever the program that the model runs in prefers. */
typedef struct c_locale {
  locale_t own, previous;
} c_locale;

static bool enter_c_locale(c_locale *locale) {
  locale->own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (locale->own)
    locale->previous = uselocale(locale->own);
  return locale->own;
}

static void leave_c_locale(c_locale *locale) {
  uselocale(locale->previous);
  freelocale(locale->own);
}

/* The text of element `index`, at most 31 characters. */
static int format_number(const lumen_tensor *numbers, uint64_t index, char text[32]) {
  const char *at = (const char *)numbers->data + numbers->byte_offset + index * 8;
  double real;
  int64_t integer;
  memcpy(&real, at, sizeof(real));
  memcpy(&integer, at, sizeof(integer));
  if (numbers->dtype.code == 0)
    return snprintf(text, 32, "%lld", (long long)integer);
  if (numbers->dtype.code == 1)
    return snprintf(text, 32, "%llu", (unsigned long long)integer);
  if (isnan(real))
    return snprintf(text, 32, "NaN");
  if (isinf(real))
    return snprintf(text, 32, real < 0 ? "-INF" : "INF");
  return snprintf(text, 32, "%.8g", real);
}

int lumen_call_bit_cast(frame *frame) {
  lumen_array from;
  void *memory;
  int code = lumen_array_of(frame, frame->inputs[0], &from);
  if (!code)
    code = lumen_return_memory(frame, 0, from.rank, from.shape, &memory);
  if (!code && from.count)
    memcpy(memory, from.data, from.count * from.element);
  return code;
}

int lumen_call_string_format(frame *frame) {
  const lumen_tensor *numbers = &frame->inputs[0]->u.tensor;
  uint64_t count = lumen_count(numbers->ndim, numbers->shape);
  lumen_value result;
  c_locale locale;
  int code = lumen_make_strings(frame, numbers->ndim, numbers->shape, &result);
  if (code)
    return code;
  if (!enter_c_locale(&locale))
    return lumen_call_fail_memory(frame);
  for (uint64_t i = 0; i < count && !code; ++i) {
    char text[32];
    uint64_t length = (uint64_t)format_number(numbers, i, text);
    char *bytes = lumen_call_memory(frame, length);
    if (bytes)
      result.u.strings.data[i] = (lumen_string){memcpy(bytes, text, length), length};
    else
      code = lumen_call_fail_memory(frame);
  }
  leave_c_locale(&locale);
  return code ? code : lumen_return(frame, 0, &result);
}

/* Reads the number that a text begins with; false: it begins with none that fits. */
static bool parse_number(const char *text, int64_t dtype, void *to) {
  char *end;
  errno = 0;
  if (dtype == LUMEN_F64) {
    double real = strtod(text, &end);
    memcpy(to, &real, sizeof(real));
    return end != text && !(errno == ERANGE && isinf(real));
  }
  uint64_t integer = dtype == LUMEN_I64 ? (uint64_t)strtoll(text, &end, 10)
                                        : (uint64_t)strtoull(text, &end, 10);
  memcpy(to, &integer, sizeof(integer));
  return end != text && errno != ERANGE;
}

int lumen_call_string_parse(frame *frame) {
  const lumen_strings *strings = &frame->inputs[0]->u.strings;
  lumen_reader attributes = lumen_attributes(frame);
  int64_t dtype = lumen_read_integer(&attributes);
  uint64_t count = lumen_count(strings->ndim, strings->shape), longest = 0;
  for (uint64_t i = 0; i < count; ++i)
    longest = strings->data[i].length > longest ? strings->data[i].length : longest;
  void *memory;
  int code = lumen_return_memory(frame, 0, strings->ndim, strings->shape, &memory);
  if (code || !count)
    return code;
  /* Texts do not end with a zero. */
  char *text = lumen_call_memory(frame, longest + 1);
  c_locale locale;
  if (!text || !enter_c_locale(&locale))
    return lumen_call_fail_memory(frame);
  for (uint64_t i = 0; i < count && !code; ++i) {
    lumen_string from = strings->data[i];
    if (from.length)
      memcpy(text, from.data, from.length);
    text[from.length] = 0;
    if (!parse_number(text, dtype, (char *)memory + i * 8))
      code = lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                             "element %llu is '%.40s', which is no number of its type",
                             (unsigned long long)i, text);
  }
  leave_c_locale(&locale);
  lumen_call_release(frame, text);
  return code;
}
