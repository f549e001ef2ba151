/* ops_sequence.c - sequences and optionals; see lumen_calls.h. */
#include "call.h"

#include <string.h>

int lumen_call_identity(frame *frame) {
  lumen_value copy;
  int code = lumen_copy_value(frame, &copy, frame->inputs[0], false);
  return code ? code : lumen_return(frame, 0, &copy);
}

/* The sequence in an input, empty where nothing was made there yet. */
static lumen_sequence sequence_in(const frame *frame, uint32_t input) {
  const lumen_value *value = frame->inputs[input];
  return value && value->kind == LUMEN_SEQUENCE ? value->u.sequence : (lumen_sequence){NULL, 0};
}

static lumen_value sequence_of(lumen_value *items, uint64_t length) {
  return (lumen_value){.kind = LUMEN_SEQUENCE, .u.sequence = {items, length}};
}

int lumen_call_sequence_construct(frame *frame) {
  uint32_t count = frame->call->num_inputs;
  lumen_value *items = NULL;
  if (count && !(items = lumen_call_memory(frame, count * sizeof(*items))))
    return lumen_call_fail_memory(frame);
  int code = LUMEN_OK;
  for (uint32_t i = 0; i < count && !code; ++i)
    code = lumen_copy_value(frame, &items[i], frame->inputs[i], lumen_is_memory(frame, i));
  lumen_value result = sequence_of(items, count);
  return code ? code : lumen_return(frame, 0, &result);
}

/* Into an output that may outlive the value's own place. */
static int return_copy(frame *frame, const lumen_value *value, bool all) {
  if (frame->call->args[frame->call->num_inputs].kind == LUMEN_ABI_CALL_TENSOR)
    return lumen_return(frame, 0, value);
  lumen_value copy;
  int code = lumen_copy_value(frame, &copy, value, all);
  return code ? code : lumen_return(frame, 0, &copy);
}

int lumen_call_sequence_at(frame *frame) {
  lumen_sequence sequence = sequence_in(frame, 0);
  int64_t position;
  int code = lumen_position(frame, frame->inputs[1], (int64_t)sequence.length, 0, 0, &position);
  return code ? code : return_copy(frame, &sequence.items[position], false);
}

/* Items with room for one more: the sequence's own where it is changed in place. */
static lumen_value *items_to_change(frame *frame, lumen_sequence sequence) {
  bool in_place = lumen_in_place(frame, 0, 0) != NULL;
  uint64_t bytes = (sequence.length + 1) * sizeof(lumen_value);
  if (in_place && sequence.items && lumen_heap_size(sequence.items) >= bytes)
    return sequence.items;
  lumen_value *items = lumen_call_memory(frame, in_place ? 2 * bytes : bytes);
  if (!items)
    return NULL;
  for (uint64_t i = 0; i < sequence.length; ++i) {
    if (in_place)
      items[i] = sequence.items[i];
    else if (lumen_copy_value(frame, &items[i], &sequence.items[i], false))
      return NULL;
  }
  return items;
}

int lumen_call_sequence_insert(frame *frame) {
  lumen_sequence sequence = sequence_in(frame, 0);
  int64_t length = (int64_t)sequence.length, position;
  int code = lumen_position(frame, frame->call->num_inputs > 2 ? frame->inputs[2] : NULL, length, 1,
                            length, &position);
  lumen_value inserted;
  if (!code)
    code = lumen_copy_value(frame, &inserted, frame->inputs[1], lumen_is_memory(frame, 1));
  if (code)
    return code;
  lumen_value *items = items_to_change(frame, sequence);
  if (!items)
    return lumen_call_fail_memory(frame);
  memmove(&items[position + 1], &items[position], (uint64_t)(length - position) * sizeof(*items));
  items[position] = inserted;
  lumen_value result = sequence_of(items, sequence.length + 1);
  return lumen_return(frame, 0, &result);
}

int lumen_call_sequence_erase(frame *frame) {
  lumen_sequence sequence = sequence_in(frame, 0);
  int64_t length = (int64_t)sequence.length, position;
  int code = lumen_position(frame, frame->call->num_inputs > 1 ? frame->inputs[1] : NULL, length, 0,
                            length - 1, &position);
  if (code)
    return code;
  lumen_value *items = items_to_change(frame, sequence);
  if (!items)
    return lumen_call_fail_memory(frame);
  memmove(&items[position], &items[position + 1],
          (uint64_t)(length - position - 1) * sizeof(*items));
  lumen_value result = sequence_of(items, sequence.length - 1);
  return lumen_return(frame, 0, &result);
}

int lumen_call_sequence_length(frame *frame) {
  int64_t length = (int64_t)sequence_in(frame, 0).length;
  void *memory;
  int code = lumen_return_memory(frame, 0, 0, NULL, &memory);
  if (!code)
    memcpy(memory, &length, sizeof(length));
  return code;
}

/* ---- Split and concatenation -------------------------------------------- */

/* An axis of `rank` dimensions, negative from the end. */
static int find_axis(const frame *frame, int64_t given, int32_t rank, int64_t *axis) {
  *axis = given < 0 ? given + rank : given;
  if (*axis >= 0 && *axis < rank)
    return LUMEN_OK;
  return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT, "axis is %lld, the rank is %d",
                         (long long)given, rank);
}

/* An empty tensor of the type of `like`. */
static int make_like(frame *frame, const lumen_value *like, int32_t rank, const int64_t *shape,
                     lumen_value *value) {
  return like->kind == LUMEN_STRINGS
             ? lumen_make_strings(frame, rank, shape, value)
             : lumen_make_tensor(frame, like->u.tensor.dtype, rank, shape, value);
}

/* Copies [from, from + extent) of one axis between tensors that are `before` rows of
 * `all` times `after` bytes: out of the first where `outwards`, else into it. */
static void copy_part(char *whole, char *part, uint64_t before, uint64_t all, uint64_t from,
                      uint64_t extent, uint64_t after, bool outwards) {
  uint64_t bytes = extent * after;
  for (uint64_t row = 0; row < before && bytes; ++row) {
    char *inside = whole + (row * all + from) * after;
    if (outwards)
      memcpy(part + row * bytes, inside, bytes);
    else
      memcpy(inside, part + row * bytes, bytes);
  }
}

int lumen_call_split_to_sequence(frame *frame) {
  lumen_reader attributes = lumen_attributes(frame);
  int64_t axis = lumen_read_integer(&attributes);
  bool keeps = lumen_read_integer(&attributes) != 0;
  const lumen_value *input = frame->inputs[0];
  const lumen_value *split = frame->call->num_inputs > 1 ? frame->inputs[1] : NULL;
  lumen_value owned;
  lumen_array array;
  int code = LUMEN_OK;
  /* Strings are copied by their addresses, so they must be the heap's. */
  if (input->kind == LUMEN_STRINGS) {
    code = lumen_copy_value(frame, &owned, input, false);
    input = &owned;
  }
  if (!code)
    code = lumen_array_of(frame, input, &array);
  if (!code)
    code = find_axis(frame, axis, array.rank, &axis);
  if (code)
    return code;

  int64_t extent = array.shape[axis], each = 1, sum = 0;
  uint64_t count = (uint64_t)extent;
  bool is_list = split && split->u.tensor.ndim > 0;
  if (split)
    keeps = true;
  if (is_list) {
    count = lumen_count(split->u.tensor.ndim, split->u.tensor.shape);
    for (uint64_t i = 0; i < count; ++i) {
      int64_t part = lumen_integer_at(split, i);
      if (part < 0 || __builtin_add_overflow(sum, part, &sum) || sum > extent)
        return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                               "split %llu is %lld, %lld of the axis are left",
                               (unsigned long long)i, (long long)part,
                               (long long)(extent - (sum - (part < 0 ? 0 : part))));
    }
    if (sum != extent)
      return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                             "the splits' sum is %lld, the axis has %lld", (long long)sum,
                             (long long)extent);
  } else if (split) {
    each = lumen_integer_at(split, 0);
    if (each <= 0)
      return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                             "split is %lld, expected 1 or more", (long long)each);
    count = (uint64_t)(extent / each + (extent % each != 0));
  }

  int32_t rank = array.rank;
  uint64_t before = lumen_count((int32_t)axis, array.shape);
  uint64_t after = lumen_count(rank - (int32_t)axis - 1, array.shape + axis + 1) * array.element;
  lumen_value *items = lumen_call_memory(frame, count * sizeof(*items));
  int64_t *shape = lumen_call_memory(frame, (uint64_t)rank * sizeof(*shape));
  if (!items || !shape)
    return lumen_call_fail_memory(frame);
  int64_t from = 0;
  for (uint64_t i = 0; i < count && !code; ++i) {
    int64_t part = is_list ? lumen_integer_at(split, i) : each;
    part = part < extent - from ? part : extent - from;
    int32_t part_rank = 0;
    for (int32_t d = 0; d < rank; ++d)
      if (d != axis || keeps)
        shape[part_rank++] = d == axis ? part : array.shape[d];
    code = make_like(frame, input, part_rank, shape, &items[i]);
    lumen_array piece;
    if (!code)
      code = lumen_array_of(frame, &items[i], &piece);
    if (!code)
      copy_part(array.data, piece.data, before, (uint64_t)extent, (uint64_t)from, (uint64_t)part,
                after, true);
    from += part;
  }
  lumen_call_release(frame, shape);
  lumen_value result = sequence_of(items, count);
  return code ? code : lumen_return(frame, 0, &result);
}

/* Whether item `index` fits the first one: all extents but that of `axis`. */
static int check_fit(frame *frame, lumen_sequence sequence, uint64_t index, int64_t axis,
                     bool is_new) {
  lumen_array first, other;
  int code = lumen_array_of(frame, &sequence.items[0], &first);
  if (!code)
    code = lumen_array_of(frame, &sequence.items[index], &other);
  if (code)
    return code;
  if (other.rank != first.rank)
    return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                           "item %llu has rank %d, item 0 has rank %d", (unsigned long long)index,
                           other.rank, first.rank);
  for (int32_t d = 0; d < first.rank; ++d)
    if ((is_new || d != axis) && first.shape[d] != other.shape[d])
      return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                             "dimension %d of item %llu is %lld, that of item 0 is %lld", d,
                             (unsigned long long)index, (long long)other.shape[d],
                             (long long)first.shape[d]);
  return LUMEN_OK;
}

/* What comes of no items: `attributes` are at the list of its extents. */
static int concat_none(frame *frame, lumen_reader attributes, bool to_memory) {
  int32_t rank = (int32_t)lumen_read_integer(&attributes);
  const int64_t *shape = (const int64_t *)attributes.at;
  if (!rank)
    return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                           "the sequence is empty, expected an item at least");
  void *memory;
  if (to_memory)
    return lumen_return_memory(frame, 0, rank, shape, &memory);
  lumen_value result;
  int code = lumen_make_strings(frame, rank, shape, &result);
  return code ? code : lumen_return(frame, 0, &result);
}

int lumen_call_concat_from_sequence(frame *frame) {
  lumen_reader attributes = lumen_attributes(frame);
  int64_t axis = lumen_read_integer(&attributes);
  bool is_new = lumen_read_integer(&attributes) != 0;
  bool to_memory = frame->call->args[1].kind == LUMEN_ABI_CALL_TENSOR;
  lumen_sequence sequence = sequence_in(frame, 0);
  if (!sequence.length)
    return concat_none(frame, attributes, to_memory);
  lumen_array first;
  int code = lumen_array_of(frame, &sequence.items[0], &first);
  int32_t rank = first.rank + is_new;
  if (!code)
    code = find_axis(frame, axis, rank, &axis);
  int64_t total = 0;
  for (uint64_t i = 0; i < sequence.length && !code; ++i) {
    code = check_fit(frame, sequence, i, axis, is_new);
    lumen_array item;
    if (!code)
      code = lumen_array_of(frame, &sequence.items[i], &item);
    if (!code && __builtin_add_overflow(total, is_new ? 1 : item.shape[axis], &total))
      code = lumen_call_fail_memory(frame);
  }
  if (code)
    return code;
  int64_t *shape = lumen_call_memory(frame, (uint64_t)rank * sizeof(*shape));
  if (!shape)
    return lumen_call_fail_memory(frame);
  for (int32_t d = 0, from = 0; d < rank; ++d)
    shape[d] = d == axis ? (from += !is_new, total) : first.shape[from++];
  uint64_t before = lumen_count((int32_t)axis, shape);
  uint64_t after = lumen_count(rank - (int32_t)axis - 1, shape + axis + 1) * first.element;

  lumen_value result;
  lumen_array whole = {0};
  if (to_memory) {
    void *memory;
    code = lumen_return_memory(frame, 0, rank, shape, &memory);
    whole.data = memory;
    if (!code && lumen_dl_dtype_of(frame->call->args[1].dtype).bits / 8u != first.element)
      code = lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT, "its items are no tensors of %s",
                             lumen_dtype_name(frame->call->args[1].dtype));
  } else {
    code = make_like(frame, &sequence.items[0], rank, shape, &result);
    if (!code)
      code = lumen_array_of(frame, &result, &whole);
  }
  int64_t from = 0;
  for (uint64_t i = 0; i < sequence.length && !code; ++i) {
    const lumen_value *source = &sequence.items[i];
    lumen_value owned;
    lumen_array item = {0};
    /* Strings are copied by their addresses, so they must be the heap's. */
    if (source->kind == LUMEN_STRINGS) {
      code = lumen_copy_value(frame, &owned, source, false);
      source = &owned;
    }
    if (!code)
      code = lumen_array_of(frame, source, &item);
    if (code)
      break;
    int64_t extent = is_new ? 1 : item.shape[axis];
    copy_part(whole.data, item.data, before, (uint64_t)total, (uint64_t)from, (uint64_t)extent,
              after, false);
    from += extent;
  }
  lumen_call_release(frame, shape);
  return code || to_memory ? code : lumen_return(frame, 0, &result);
}

/* ---- Optionals ---------------------------------------------------------- */

int lumen_call_optional(frame *frame) {
  const lumen_value *value = frame->call->num_inputs ? frame->inputs[0] : NULL;
  lumen_value result = {.kind = LUMEN_OPTIONAL};
  int code = LUMEN_OK;
  if (value) {
    result.u.optional.value = lumen_call_memory(frame, sizeof(lumen_value));
    if (!result.u.optional.value)
      return lumen_call_fail_memory(frame);
    code = lumen_copy_value(frame, result.u.optional.value, value, lumen_is_memory(frame, 0));
  }
  return code ? code : lumen_return(frame, 0, &result);
}

/* What an input holds; NULL: nothing. */
static const lumen_value *held_by(const frame *frame) {
  const lumen_value *value = frame->call->num_inputs ? frame->inputs[0] : NULL;
  return value && value->kind == LUMEN_OPTIONAL ? value->u.optional.value : value;
}

int lumen_call_optional_has_element(frame *frame) {
  void *memory;
  int code = lumen_return_memory(frame, 0, 0, NULL, &memory);
  if (!code)
    *(uint8_t *)memory = held_by(frame) != NULL;
  return code;
}

int lumen_call_optional_get_element(frame *frame) {
  const lumen_value *value = held_by(frame);
  if (!value)
    return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                           "the optional holds nothing, expected a value");
  return return_copy(frame, value, lumen_is_memory(frame, 0));
}
