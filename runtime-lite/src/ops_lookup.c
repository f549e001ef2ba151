/* ops_lookup.c - LabelEncoder and TfIdfVectorizer; see lumen_calls.h. */
#include "call.h"

#include <string.h>

/* ---- Keys --------------------------------------------------------------- */

/* A key of any type: a string, or 64 bits that are equal where the keys are. */
typedef struct key {
  lumen_string text; /* data NULL: a number */
  uint64_t bits;
} key;

static key number_key(uint64_t bits) { return (key){{NULL, 0}, bits}; }

static key string_key(lumen_string text) {
  return (key){{text.data ? text.data : "", text.length}, 0};
}

/* All NaN are one, and so are the zeros. */
static key real_key(double value) {
  uint64_t bits;
  if (value == 0)
    value = 0;
  if (value != value)
    return number_key(UINT64_MAX);
  memcpy(&bits, &value, sizeof(bits));
  return number_key(bits);
}

static bool keys_equal(const key *a, const key *b) {
  if (!a->text.data || !b->text.data)
    return a->text.data == b->text.data && a->bits == b->bits;
  return lumen_strings_equal(a->text, b->text);
}

static uint64_t mix(uint64_t hash, uint64_t bits) {
  hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

static uint64_t hash_key(uint64_t hash, const key *key) {
  if (!key->text.data)
    return mix(hash, key->bits);
  for (uint64_t i = 0; i < key->text.length; ++i)
    hash = mix(hash, (unsigned char)key->text.data[i]);
  return mix(hash, key->text.length);
}

/* From runs of keys to their numbers. */
typedef struct table {
  const key *keys;
  uint32_t *slots; /* number + 1 of a run; 0: empty */
  uint64_t mask;
} table;

static int make_table(frame *frame, uint64_t num_runs, table *table) {
  uint64_t size = 16;
  while (size < 2 * num_runs)
    size *= 2;
  table->mask = size - 1;
  table->slots = lumen_call_memory(frame, size * sizeof(uint32_t));
  if (!table->slots)
    return lumen_call_fail_memory(frame);
  memset(table->slots, 0, size * sizeof(uint32_t));
  return LUMEN_OK;
}

static uint64_t hash_run(const key *keys, uint64_t length, uint64_t stride) {
  uint64_t hash = length;
  for (uint64_t i = 0; i < length; ++i)
    hash = hash_key(hash, &keys[i * stride]);
  return hash;
}

/* The slot of a run of `length` keys `stride` apart; run r of the table begins at key
 * first[r], or r where that is NULL, and has `lengths`[r], or 1. */
static uint32_t *find_run(const table *table, const key *keys, uint64_t length, uint64_t stride,
                          const uint64_t *first, const uint64_t *lengths) {
  for (uint64_t at = hash_run(keys, length, stride) & table->mask;; at = (at + 1) & table->mask) {
    uint32_t *slot = &table->slots[at];
    if (!*slot)
      return slot;
    uint64_t run = *slot - 1, begin = first ? first[run] : run;
    if ((lengths ? lengths[run] : 1) != length)
      continue;
    bool equal = true;
    for (uint64_t i = 0; i < length && equal; ++i)
      equal = keys_equal(&table->keys[begin + i], &keys[i * stride]);
    if (equal)
      return slot;
  }
}

static bool is_real(uint32_t dtype) { return dtype == LUMEN_ABI_F32 || dtype == LUMEN_ABI_F64; }

/* Key of element `index`. */
static key element_key(const lumen_value *value, uint32_t dtype, uint64_t index) {
  if (value->kind == LUMEN_STRINGS)
    return string_key(value->u.strings.data[index]);
  const char *data = (const char *)value->u.tensor.data + value->u.tensor.byte_offset;
  if (dtype == LUMEN_ABI_F32) {
    float narrow;
    memcpy(&narrow, data + index * sizeof(narrow), sizeof(narrow));
    return real_key(narrow);
  }
  if (dtype == LUMEN_ABI_F64) {
    double wide;
    memcpy(&wide, data + index * sizeof(wide), sizeof(wide));
    return real_key(wide);
  }
  if (dtype == LUMEN_ABI_I16) {
    int16_t narrow;
    memcpy(&narrow, data + index * sizeof(narrow), sizeof(narrow));
    return number_key((uint64_t)(int64_t)narrow);
  }
  return number_key((uint64_t)lumen_integer_at(value, index));
}

static void shape_of(const lumen_value *value, int32_t *rank, const int64_t **shape) {
  bool is_strings = value->kind == LUMEN_STRINGS;
  *rank = is_strings ? value->u.strings.ndim : value->u.tensor.ndim;
  *shape = is_strings ? value->u.strings.shape : value->u.tensor.shape;
}

/* ---- LabelEncoder ------------------------------------------------------- */

/* Skips one item of a list of `dtype`. */
static void skip(lumen_reader *reader, uint32_t dtype) {
  if (dtype == LUMEN_ABI_STRING)
    (void)lumen_read_string(reader);
  else
    (void)lumen_read_integer(reader);
}

static void write_number(char *to, uint32_t dtype, lumen_reader from) {
  double real = is_real(dtype) ? lumen_read_double(&from) : 0;
  int64_t integer = is_real(dtype) ? 0 : lumen_read_integer(&from);
  float narrow_real = (float)real;
  int32_t i32 = (int32_t)integer;
  int16_t i16 = (int16_t)integer;
  if (dtype == LUMEN_ABI_F64)
    memcpy(to, &real, sizeof(real));
  else if (dtype == LUMEN_ABI_F32)
    memcpy(to, &narrow_real, sizeof(narrow_real));
  else if (dtype == LUMEN_ABI_I16)
    memcpy(to, &i16, sizeof(i16));
  else if (dtype == LUMEN_ABI_I32)
    memcpy(to, &i32, sizeof(i32));
  else
    memcpy(to, &integer, sizeof(integer));
}

int lumen_call_label_encoder(frame *frame) {
  lumen_reader attributes = lumen_attributes(frame);
  uint32_t key_type = (uint32_t)lumen_read_integer(&attributes);
  uint32_t value_type = (uint32_t)lumen_read_integer(&attributes);
  uint64_t num_keys = (uint64_t)lumen_read_integer(&attributes);
  key *keys = lumen_call_memory(frame, num_keys * sizeof(*keys));
  lumen_reader *values = lumen_call_memory(frame, (num_keys + 1) * sizeof(*values));
  table table = {.keys = keys};
  int code = keys && values ? make_table(frame, num_keys, &table) : lumen_call_fail_memory(frame);
  for (uint64_t i = 0; i < num_keys && !code; ++i) {
    if (key_type == LUMEN_ABI_STRING)
      keys[i] = string_key(lumen_read_string(&attributes));
    else if (is_real(key_type))
      keys[i] = real_key(lumen_read_double(&attributes));
    else
      keys[i] = number_key((uint64_t)lumen_read_integer(&attributes));
    uint32_t *slot = find_run(&table, &keys[i], 1, 1, NULL, NULL);
    if (!*slot) /* the first of equal keys counts */
      *slot = (uint32_t)i + 1;
  }
  if (code)
    return code;
  (void)lumen_read_integer(&attributes); /* as many values */
  for (uint64_t i = 0; i <= num_keys; ++i) {
    values[i] = attributes;
    skip(&attributes, value_type);
  }

  const lumen_value *x = frame->inputs[0];
  int32_t rank;
  const int64_t *shape;
  shape_of(x, &rank, &shape);
  lumen_value result;
  void *memory = NULL;
  bool to_strings = value_type == LUMEN_ABI_STRING;
  code = to_strings ? lumen_make_strings(frame, rank, shape, &result)
                    : lumen_return_memory(frame, 0, rank, shape, &memory);
  uint64_t size = lumen_dl_dtype_of(value_type).bits / 8u, count = lumen_count(rank, shape);
  for (uint64_t i = 0; i < count && !code; ++i) {
    key wanted = element_key(x, key_type, i);
    uint32_t found = *find_run(&table, &wanted, 1, 1, NULL, NULL);
    lumen_reader value = values[found ? found - 1 : num_keys];
    if (to_strings) {
      /* Attributes live as long as the model, outputs until the next run. */
      result.u.strings.data[i] = lumen_read_string(&value);
    } else {
      write_number((char *)memory + i * size, value_type, value);
    }
  }
  lumen_call_release(frame, table.slots);
  lumen_call_release(frame, values);
  lumen_call_release(frame, keys);
  return code || !to_strings ? code : lumen_return(frame, 0, &result);
}

/* ---- TfIdfVectorizer ---------------------------------------------------- */

typedef struct integers {
  lumen_reader reader; /* of the first */
  uint64_t count;
} integers;

static integers read_integers(lumen_reader *reader) {
  uint64_t count = (uint64_t)lumen_read_integer(reader);
  integers list = {*reader, count};
  reader->at += count * sizeof(int64_t);
  return list;
}

static int64_t integer(integers list, uint64_t index) {
  list.reader.at += index * sizeof(int64_t);
  return lumen_read_integer(&list.reader);
}

static double real(integers list, uint64_t index) {
  list.reader.at += index * sizeof(double);
  return lumen_read_double(&list.reader);
}

/* How often a row of `length` keys holds each n-gram of the pool. */
static void count_grams(const key *row, int64_t length, int64_t min_gram, int64_t max_gram,
                        int64_t max_skip, const table *table, const uint64_t *first,
                        const uint64_t *lengths, uint64_t *found_counts) {
  for (int64_t gram = min_gram; gram <= max_gram; ++gram)
    /* Single items have no distance. */
    for (int64_t skip = 1; skip <= (gram == 1 ? 1 : max_skip + 1); ++skip)
      for (int64_t start = 0; start + (gram - 1) * skip < length; ++start) {
        uint32_t found =
            *find_run(table, &row[start], (uint64_t)gram, (uint64_t)skip, first, lengths);
        if (found)
          ++found_counts[found - 1];
      }
}

int lumen_call_tfidf_vectorizer(frame *frame) {
  lumen_reader attributes = lumen_attributes(frame);
  int64_t mode = lumen_read_integer(&attributes), min_gram = lumen_read_integer(&attributes);
  int64_t max_gram = lumen_read_integer(&attributes), max_skip = lumen_read_integer(&attributes);
  integers counts = read_integers(&attributes), indexes = read_integers(&attributes);
  integers weights = read_integers(&attributes);
  uint64_t pool_size = (uint64_t)lumen_read_integer(&attributes);
  const lumen_value *x = frame->inputs[0];
  int32_t rank;
  const int64_t *shape;
  shape_of(x, &rank, &shape);
  if (rank < 1 || rank > 2)
    return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                           "is given a tensor of rank %d, expected 1 or 2", rank);
  int64_t rows = rank == 2 ? shape[0] : 1, length = shape[rank - 1];
  uint32_t key_type = x->kind == LUMEN_STRINGS ? LUMEN_ABI_STRING : frame->call->args[0].dtype;

  uint64_t num_grams = indexes.count;
  key *pool = lumen_call_memory(frame, pool_size * sizeof(*pool));
  key *row = lumen_call_memory(frame, (uint64_t)length * sizeof(*row));
  uint64_t *first = lumen_call_memory(frame, num_grams * sizeof(*first));
  uint64_t *lengths = lumen_call_memory(frame, num_grams * sizeof(*lengths));
  uint64_t *found = lumen_call_memory(frame, num_grams * sizeof(*found));
  table table = {.keys = pool};
  int code = pool && row && first && lengths && found ? make_table(frame, num_grams, &table)
                                                      : lumen_call_fail_memory(frame);
  if (code)
    return code;
  for (uint64_t i = 0; i < pool_size; ++i)
    pool[i] = key_type == LUMEN_ABI_STRING ? string_key(lumen_read_string(&attributes))
                                           : number_key((uint64_t)lumen_read_integer(&attributes));
  /* Run by run: those of one item, then of two, and so on. */
  uint64_t gram = 0, most = 0;
  for (uint64_t n = 0; n < counts.count; ++n) {
    uint64_t at = (uint64_t)integer(counts, n);
    uint64_t end = n + 1 < counts.count ? (uint64_t)integer(counts, n + 1) : pool_size;
    for (; at + n + 1 <= end && gram < num_grams; at += n + 1, ++gram) {
      first[gram] = at;
      lengths[gram] = n + 1;
      uint32_t *slot = find_run(&table, &pool[at], n + 1, 1, first, lengths);
      if (!*slot)
        *slot = (uint32_t)gram + 1;
    }
  }
  num_grams = gram;
  for (uint64_t i = 0; i < num_grams; ++i)
    most = (uint64_t)integer(indexes, i) > most ? (uint64_t)integer(indexes, i) : most;

  int64_t columns = (int64_t)most + 1, result_shape[2] = {rows, columns};
  void *memory;
  code = lumen_return_memory(frame, 0, rank, result_shape + 2 - rank, &memory);
  for (int64_t r = 0; r < rows && !code; ++r) {
    float *output = (float *)memory + r * columns;
    memset(output, 0, (uint64_t)columns * sizeof(*output));
    for (int64_t i = 0; i < length; ++i)
      row[i] = element_key(x, key_type, (uint64_t)(r * length + i));
    memset(found, 0, num_grams * sizeof(*found));
    count_grams(row, length, min_gram, max_gram, max_skip, &table, first, lengths, found);
    for (uint64_t i = 0; i < num_grams; ++i) {
      float weight = mode != 0 && weights.count ? (float)real(weights, i) : 1.0f;
      float *column = &output[integer(indexes, i)];
      if (found[i] && mode == 1)
        *column = weight;
      else
        *column += (float)found[i] * weight;
    }
  }
  lumen_call_release(frame, table.slots);
  lumen_call_release(frame, found);
  lumen_call_release(frame, lengths);
  lumen_call_release(frame, first);
  lumen_call_release(frame, row);
  lumen_call_release(frame, pool);
  return code;
}
