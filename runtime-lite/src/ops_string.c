/* ops_string.c - tensors of strings; see lumen_calls.h. */
#include "call.h"

#include <string.h>

static const lumen_strings *strings_in(const frame *frame, uint32_t input) {
  return &frame->inputs[input]->u.strings;
}

/* A string whose bytes outlive the run's inputs. */
static int keep(frame *frame, lumen_string from, lumen_string *to) {
  *to = from;
  if (!from.length || lumen_heap_holds(&frame->storages->heap, from.data))
    return LUMEN_OK;
  char *bytes = lumen_call_memory(frame, from.length);
  if (!bytes)
    return lumen_call_fail_memory(frame);
  memcpy(bytes, from.data, from.length);
  to->data = bytes;
  return LUMEN_OK;
}

int lumen_call_string_constant(frame *frame) {
  lumen_reader attributes = lumen_attributes(frame);
  int32_t rank = (int32_t)lumen_read_integer(&attributes);
  const int64_t *shape = (const int64_t *)attributes.at;
  attributes.at += (uint64_t)rank * sizeof(int64_t);
  lumen_value result;
  int code = lumen_make_strings(frame, rank, shape, &result);
  if (code)
    return code;
  uint64_t count = (uint64_t)lumen_read_integer(&attributes);
  for (uint64_t i = 0; i < count && !code; ++i)
    code = keep(frame, lumen_read_string(&attributes), &result.u.strings.data[i]);
  return code ? code : lumen_return(frame, 0, &result);
}

int lumen_call_string_take(frame *frame) {
  const lumen_tensor *indices = &frame->inputs[0]->u.tensor;
  uint64_t count = lumen_count(indices->ndim, indices->shape), total = 0;
  for (uint32_t i = 1; i < frame->call->num_inputs; ++i)
    total += lumen_count(strings_in(frame, i)->ndim, strings_in(frame, i)->shape);
  lumen_value result;
  int code = lumen_make_strings(frame, indices->ndim, indices->shape, &result);
  for (uint64_t i = 0; i < count && !code; ++i) {
    int64_t index = lumen_integer_at(frame->inputs[0], i);
    if (index < 0 || (uint64_t)index >= total)
      return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                             "index is %lld, there are %llu strings", (long long)index,
                             (unsigned long long)total);
    uint64_t at = (uint64_t)index;
    uint32_t input = 1;
    for (uint64_t here;; ++input, at -= here) {
      here = lumen_count(strings_in(frame, input)->ndim, strings_in(frame, input)->shape);
      if (at < here)
        break;
    }
    code = keep(frame, strings_in(frame, input)->data[at], &result.u.strings.data[i]);
  }
  return code ? code : lumen_return(frame, 0, &result);
}

/* ---- Two operands ------------------------------------------------------- */

enum { max_rank = 64 };

typedef struct pairs {
  int32_t rank;
  int64_t shape[max_rank], index[max_rank];
  uint64_t count;
} pairs;

static int broadcast(const frame *frame, pairs *pairs) {
  const lumen_strings *a = strings_in(frame, 0), *b = strings_in(frame, 1);
  pairs->rank = a->ndim > b->ndim ? a->ndim : b->ndim;
  if (pairs->rank > max_rank)
    return lumen_call_fail(frame, LUMEN_ERROR_UNSUPPORTED, "the rank is %d, expected at most %d",
                           pairs->rank, max_rank);
  for (int32_t d = 0; d < pairs->rank; ++d) {
    int32_t in_a = d - (pairs->rank - a->ndim), in_b = d - (pairs->rank - b->ndim);
    int64_t left = in_a < 0 ? 1 : a->shape[in_a], right = in_b < 0 ? 1 : b->shape[in_b];
    if (left != right && left != 1 && right != 1)
      return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                             "extents %lld and %lld of dimension %d from the end do not broadcast",
                             (long long)left, (long long)right, pairs->rank - d);
    pairs->shape[d] = left == 1 ? right : left;
    pairs->index[d] = 0;
  }
  pairs->count = lumen_count(pairs->rank, pairs->shape);
  return LUMEN_OK;
}

static lumen_string element(const pairs *pairs, const lumen_strings *strings) {
  uint64_t at = 0;
  for (int32_t d = 0; d < strings->ndim; ++d) {
    int64_t index = pairs->index[d + pairs->rank - strings->ndim];
    at = at * (uint64_t)strings->shape[d] + (strings->shape[d] == 1 ? 0 : (uint64_t)index);
  }
  return strings->data[at];
}

static void advance(pairs *pairs) {
  for (int32_t d = pairs->rank - 1; d >= 0; --d) {
    if (++pairs->index[d] < pairs->shape[d])
      return;
    pairs->index[d] = 0;
  }
}

int lumen_call_string_concat(frame *frame) {
  pairs pairs;
  lumen_value result;
  int code = broadcast(frame, &pairs);
  if (!code)
    code = lumen_make_strings(frame, pairs.rank, pairs.shape, &result);
  for (uint64_t i = 0; i < pairs.count && !code; ++i, advance(&pairs)) {
    lumen_string a = element(&pairs, strings_in(frame, 0));
    lumen_string b = element(&pairs, strings_in(frame, 1));
    char *bytes = lumen_call_memory(frame, a.length + b.length);
    if (!bytes)
      return lumen_call_fail_memory(frame);
    if (a.length)
      memcpy(bytes, a.data, a.length);
    if (b.length)
      memcpy(bytes + a.length, b.data, b.length);
    result.u.strings.data[i] = (lumen_string){bytes, a.length + b.length};
  }
  return code ? code : lumen_return(frame, 0, &result);
}

int lumen_call_string_equal(frame *frame) {
  pairs pairs;
  void *memory;
  int code = broadcast(frame, &pairs);
  if (!code)
    code = lumen_return_memory(frame, 0, pairs.rank, pairs.shape, &memory);
  for (uint64_t i = 0; i < pairs.count && !code; ++i, advance(&pairs))
    ((uint8_t *)memory)[i] = lumen_strings_equal(element(&pairs, strings_in(frame, 0)),
                                                 element(&pairs, strings_in(frame, 1)));
  return code;
}

/* ---- StringSplit -------------------------------------------------------- */

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Takes the next piece off `rest`; false: there is none. */
static bool next_piece(lumen_string *rest, lumen_string delimiter, bool is_last,
                       lumen_string *piece) {
  if (!rest->data)
    return false;
  if (!delimiter.length) {
    while (rest->length && is_space(*rest->data))
      ++rest->data, --rest->length;
    if (!rest->length)
      return false;
    uint64_t end = 0;
    while (end < rest->length && (is_last || !is_space(rest->data[end])))
      ++end;
    *piece = (lumen_string){rest->data, end};
    /* What is left over at the last split ends without white space. */
    while (is_last && piece->length && is_space(piece->data[piece->length - 1]))
      --piece->length;
    rest->data += end;
    rest->length -= end;
    return true;
  }
  *piece = *rest;
  for (uint64_t at = 0; !is_last && at + delimiter.length <= rest->length; ++at)
    if (!memcmp(rest->data + at, delimiter.data, delimiter.length)) {
      piece->length = at;
      rest->data += at + delimiter.length;
      rest->length -= at + delimiter.length;
      return true;
    }
  rest->data = NULL;
  return true;
}

/* Calls of next_piece for all of a string: writes up to `capacity` pieces, returns
 * how many there are. */
static int64_t split(lumen_string text, lumen_string delimiter, int64_t most, lumen_string *pieces,
                     int64_t capacity) {
  int64_t count = 0;
  lumen_string piece;
  /* No pieces of nothing, as in ONNX Runtime. */
  if (!text.length)
    return 0;
  while (next_piece(&text, delimiter, most >= 0 && count == most, &piece)) {
    if (count < capacity)
      pieces[count] = piece;
    ++count;
  }
  return count;
}

int lumen_call_string_split(frame *frame) {
  lumen_reader attributes = lumen_attributes(frame);
  lumen_string delimiter = lumen_read_string(&attributes);
  int64_t most = lumen_read_integer(&attributes);
  const lumen_strings *x = strings_in(frame, 0);
  uint64_t count = lumen_count(x->ndim, x->shape);
  uint32_t counts_output = frame->call->num_outputs - 1;
  int64_t widest = 0;
  for (uint64_t i = 0; i < count; ++i) {
    int64_t pieces = split(x->data[i], delimiter, most, NULL, 0);
    widest = pieces > widest ? pieces : widest;
  }
  int64_t *shape = lumen_call_memory(frame, ((uint64_t)x->ndim + 1) * sizeof(*shape));
  if (!shape)
    return lumen_call_fail_memory(frame);
  if (x->ndim)
    memcpy(shape, x->shape, (uint64_t)x->ndim * sizeof(*shape));
  shape[x->ndim] = widest;
  lumen_value result;
  void *counts;
  int code = lumen_make_strings(frame, x->ndim + 1, shape, &result);
  if (!code)
    code = lumen_return_memory(frame, counts_output, x->ndim, x->shape, &counts);
  for (uint64_t i = 0; i < count && !code; ++i) {
    lumen_string *row = result.u.strings.data + i * (uint64_t)widest;
    int64_t pieces = split(x->data[i], delimiter, most, row, widest);
    ((int64_t *)counts)[i] = pieces;
    for (int64_t p = 0; p < widest && !code; ++p)
      code = keep(frame, p < pieces ? row[p] : (lumen_string){"", 0}, &row[p]);
  }
  lumen_call_release(frame, shape);
  return code ? code : lumen_return(frame, 0, &result);
}

/* ---- StringNormalizer --------------------------------------------------- */

/* Length in bytes of the UTF-8 character there, its code point in `point`; bytes that
 * are none stand for themselves beyond all code points. */
static uint64_t decode(lumen_string text, uint64_t at, uint32_t *point) {
  uint64_t length = lumen_decode(text, at, point);
  if (length)
    return length;
  *point = 0x110000u + (unsigned char)text.data[at];
  return 1;
}

static uint64_t encode(uint32_t point, char *text) {
  if (point >= 0x110000) {
    *text = (char)(point - 0x110000);
    return 1;
  }
  if (point < 0x80) {
    text[0] = (char)point;
    return 1;
  }
  uint32_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (uint32_t i = length - 1; i > 0; --i, point >>= 6)
    text[i] = (char)(0x80 | (point & 0x3f));
  text[0] = (char)((0xf00u >> length & 0xf0) | point);
  return length;
}

/* Letters that come in pairs: the capital ones of a range and what leads to the
 * small ones; 1: even capitals before odd small ones, -1: odd before even. */
static const struct {
  uint16_t first, last;
  int16_t distance;
} cases[] = {{'A', 'Z', 32},      {0xc0, 0xd6, 32},   {0xd8, 0xde, 32},   {0x100, 0x12e, 1},
             {0x132, 0x136, 1},   {0x139, 0x147, -1}, {0x14a, 0x176, 1},  {0x178, 0x178, -121},
             {0x179, 0x17d, -1},  {0x386, 0x386, 38}, {0x388, 0x38a, 37}, {0x38c, 0x38c, 64},
             {0x38e, 0x38f, 63},  {0x391, 0x3a1, 32}, {0x3a3, 0x3ab, 32}, {0x400, 0x40f, 80},
             {0x410, 0x42f, 32},  {0x460, 0x480, 1},  {0x48a, 0x4be, 1},  {0x4d0, 0x52e, 1},
             {0x1e00, 0x1e94, 1}, {0x1ea0, 0x1efe, 1}};

static uint32_t change_case(uint32_t point, bool to_upper) {
  for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    int32_t distance = cases[i].distance;
    bool alternates = distance == 1 || distance == -1;
    if (alternates)
      distance = 1;
    uint32_t capital = to_upper ? point - (uint32_t)distance : point;
    if (capital < cases[i].first || capital > cases[i].last ||
        (alternates && (capital - cases[i].first) % 2))
      continue;
    return to_upper ? capital : point + (uint32_t)distance;
  }
  return point;
}

static int recase(frame *frame, lumen_string from, bool to_upper, lumen_string *to) {
  /* A changed letter may have one byte more or less: at most half as many more. */
  char *bytes = lumen_call_memory(frame, from.length + from.length / 2 + 4);
  if (!bytes)
    return lumen_call_fail_memory(frame);
  uint64_t length = 0;
  for (uint64_t at = 0; at < from.length;) {
    uint32_t point;
    at += decode(from, at, &point);
    length += encode(change_case(point, to_upper), bytes + length);
  }
  *to = (lumen_string){bytes, length};
  return LUMEN_OK;
}

int lumen_call_string_normalizer(frame *frame) {
  lumen_reader attributes = lumen_attributes(frame);
  int64_t change = lumen_read_integer(&attributes);
  bool is_sensitive = lumen_read_integer(&attributes) != 0;
  uint64_t num_stops = (uint64_t)lumen_read_integer(&attributes);
  const lumen_strings *x = strings_in(frame, 0);
  uint64_t count = lumen_count(x->ndim, x->shape), kept = 0;
  if (x->ndim < 1 || x->ndim > 2 || (x->ndim == 2 && x->shape[0] != 1))
    return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                           "is given a tensor of rank %d, expected [C] or [1, C]", x->ndim);
  lumen_string *stops = lumen_call_memory(frame, num_stops * sizeof(*stops));
  lumen_value result;
  int64_t shape[2] = {1, count > 0 ? (int64_t)count : 1};
  int code = stops ? lumen_make_strings(frame, x->ndim, shape + 2 - x->ndim, &result)
                   : lumen_call_fail_memory(frame);
  for (uint64_t i = 0; i < num_stops && !code; ++i) {
    stops[i] = lumen_read_string(&attributes);
    if (!is_sensitive)
      code = recase(frame, stops[i], false, &stops[i]);
  }
  for (uint64_t i = 0; i < count && !code; ++i) {
    lumen_string word = x->data[i];
    if (!is_sensitive && num_stops)
      code = recase(frame, word, false, &word);
    bool stops_here = false;
    for (uint64_t s = 0; s < num_stops && !code && !stops_here; ++s)
      stops_here = lumen_strings_equal(stops[s], word);
    if (stops_here || code)
      continue;
    lumen_string *to = &result.u.strings.data[kept++];
    code = change ? recase(frame, x->data[i], change == 2, to) : keep(frame, x->data[i], to);
  }
  if (code)
    return code;
  if (!kept)
    result.u.strings.data[kept++] = (lumen_string){"", 0};
  result.u.strings.shape[x->ndim - 1] = (int64_t)kept;
  lumen_call_release(frame, stops);
  return lumen_return(frame, 0, &result);
}
