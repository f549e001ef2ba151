/* call.c - see call.h. */
#include "call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int lumen_call_fail(const frame *frame, int code, const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return lumen_fail(frame->status, code, "%s: %s: %s", frame->abi->name, frame->call->node, text);
}

int lumen_call_fail_memory(const frame *frame) {
  return lumen_call_fail(frame, LUMEN_ERROR_OUT_OF_MEMORY, "no memory for its result");
}

void *lumen_call_memory(frame *frame, uint64_t size) {
  return lumen_heap_alloc(&frame->storages->heap, size);
}

void lumen_call_release(frame *frame, void *memory) {
  lumen_heap_release(&frame->storages->heap, memory);
}

/* ---- Attributes --------------------------------------------------------- */

lumen_reader lumen_attributes(const frame *frame) { return (lumen_reader){frame->call->data}; }

int64_t lumen_read_integer(lumen_reader *reader) {
  int64_t value;
  memcpy(&value, reader->at, sizeof(value));
  reader->at += sizeof(value);
  return value;
}

double lumen_read_double(lumen_reader *reader) {
  double value;
  memcpy(&value, reader->at, sizeof(value));
  reader->at += sizeof(value);
  return value;
}

lumen_string lumen_read_string(lumen_reader *reader) {
  uint64_t length = (uint64_t)lumen_read_integer(reader);
  lumen_string text = {reader->at, length};
  reader->at += (length + 7) & ~(uint64_t)7;
  return text;
}

/* ---- Values ------------------------------------------------------------- */

int lumen_array_of(const frame *frame, const lumen_value *value, lumen_array *array) {
  *array = (lumen_array){0};
  if (value->kind == LUMEN_STRINGS) {
    const lumen_strings *strings = &value->u.strings;
    *array = (lumen_array){(char *)strings->data, sizeof(lumen_string), strings->ndim,
                           strings->shape, lumen_count(strings->ndim, strings->shape)};
    return LUMEN_OK;
  }
  const lumen_tensor *tensor = &value->u.tensor;
  if (value->kind != LUMEN_TENSOR || tensor->dtype.bits % 8)
    return lumen_call_fail(frame, LUMEN_ERROR_UNSUPPORTED,
                           value->kind == LUMEN_TENSOR
                               ? "elements of less than a byte are not supported"
                               : "is given a value that is no tensor");
  *array = (lumen_array){(char *)tensor->data + tensor->byte_offset, tensor->dtype.bits / 8u,
                         tensor->ndim, tensor->shape, lumen_count(tensor->ndim, tensor->shape)};
  return LUMEN_OK;
}

int64_t lumen_integer_at(const lumen_value *value, uint64_t index) {
  const lumen_tensor *tensor = &value->u.tensor;
  const char *data = (const char *)tensor->data + tensor->byte_offset;
  if (tensor->dtype.bits == 32) {
    int32_t narrow;
    memcpy(&narrow, data + index * sizeof(narrow), sizeof(narrow));
    return narrow;
  }
  int64_t wide;
  memcpy(&wide, data + index * sizeof(wide), sizeof(wide));
  return wide;
}

int lumen_position(const frame *frame, const lumen_value *value, int64_t length, int64_t beyond,
                   int64_t otherwise, int64_t *position) {
  int64_t given = value ? lumen_integer_at(value, 0) : otherwise;
  *position = given < 0 ? given + length : given;
  if (*position >= 0 && *position < length + beyond)
    return LUMEN_OK;
  return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                         "position is %lld, the sequence has %lld", (long long)given,
                         (long long)length);
}

bool lumen_strings_equal(lumen_string a, lumen_string b) {
  return a.length == b.length && (!a.length || !memcmp(a.data, b.data, a.length));
}

uint64_t lumen_decode(lumen_string text, uint64_t at, uint32_t *point) {
  const unsigned char *byte = (const unsigned char *)text.data + at;
  uint32_t length = byte[0] < 0x80   ? 1
                    : byte[0] < 0xc2 ? 0
                    : byte[0] < 0xe0 ? 2
                    : byte[0] < 0xf0 ? 3
                    : byte[0] < 0xf5 ? 4
                                     : 0;
  if (length > text.length - at)
    return 0;
  *point = length <= 1 ? byte[0] : byte[0] & (0x7fu >> length);
  for (uint32_t i = 1; i < length; ++i) {
    if ((byte[i] & 0xc0) != 0x80)
      return 0;
    *point = *point << 6 | (byte[i] & 0x3f);
  }
  return length;
}

static int copy_shape(frame *frame, int32_t rank, const int64_t *shape, int64_t **copy) {
  *copy = lumen_call_memory(frame, (uint64_t)rank * sizeof(int64_t));
  if (!*copy)
    return lumen_call_fail_memory(frame);
  if (rank)
    memcpy(*copy, shape, (uint64_t)rank * sizeof(int64_t));
  return LUMEN_OK;
}

int lumen_make_strings(frame *frame, int32_t rank, const int64_t *shape, lumen_value *value) {
  *value = (lumen_value){.kind = LUMEN_STRINGS};
  lumen_strings *strings = &value->u.strings;
  uint64_t count = lumen_count(rank, shape), bytes;
  if (__builtin_mul_overflow(count, sizeof(lumen_string), &bytes))
    return lumen_call_fail_memory(frame);
  strings->ndim = rank;
  strings->data = lumen_call_memory(frame, bytes);
  return strings->data ? copy_shape(frame, rank, shape, &strings->shape)
                       : lumen_call_fail_memory(frame);
}

int lumen_make_tensor(frame *frame, lumen_dl_dtype dtype, int32_t rank, const int64_t *shape,
                      lumen_value *value) {
  *value = (lumen_value){.kind = LUMEN_TENSOR};
  lumen_tensor *tensor = &value->u.tensor;
  uint64_t bytes;
  if (__builtin_mul_overflow(lumen_count(rank, shape), (uint64_t)dtype.bits, &bytes))
    return lumen_call_fail_memory(frame);
  tensor->device.type = 1;
  tensor->ndim = rank;
  tensor->dtype = dtype;
  tensor->data = lumen_call_memory(frame, bytes / 8 + (bytes % 8 != 0));
  return tensor->data ? copy_shape(frame, rank, shape, &tensor->shape)
                      : lumen_call_fail_memory(frame);
}

static int copy_tensor(frame *frame, lumen_value *to, const lumen_tensor *from, bool all) {
  const char *data = (const char *)from->data + from->byte_offset;
  if (!all && from->data && lumen_heap_holds(&frame->storages->heap, from->data)) {
    *to = (lumen_value){.kind = LUMEN_TENSOR, .u.tensor = *from};
    return copy_shape(frame, from->ndim, from->shape, &to->u.tensor.shape);
  }
  int code = lumen_make_tensor(frame, from->dtype, from->ndim, from->shape, to);
  uint64_t bits = lumen_count(from->ndim, from->shape) * from->dtype.bits;
  if (!code && bits)
    memcpy(to->u.tensor.data, data, bits / 8 + (bits % 8 != 0));
  return code;
}

static int copy_strings(frame *frame, lumen_value *to, const lumen_strings *from, bool all) {
  int code = lumen_make_strings(frame, from->ndim, from->shape, to);
  uint64_t count = lumen_count(from->ndim, from->shape);
  for (uint64_t i = 0; i < count && !code; ++i) {
    lumen_string text = from->data[i];
    if (text.length && (all || !lumen_heap_holds(&frame->storages->heap, text.data))) {
      char *bytes = lumen_call_memory(frame, text.length);
      if (!bytes)
        return lumen_call_fail_memory(frame);
      memcpy(bytes, text.data, text.length);
      text.data = bytes;
    }
    to->u.strings.data[i] = text;
  }
  return code;
}

int lumen_copy_value(frame *frame, lumen_value *to, const lumen_value *from, bool all) {
  if (from->kind == LUMEN_TENSOR)
    return copy_tensor(frame, to, &from->u.tensor, all);
  if (from->kind == LUMEN_STRINGS)
    return copy_strings(frame, to, &from->u.strings, all);
  bool is_sequence = from->kind == LUMEN_SEQUENCE;
  const lumen_value *items = is_sequence ? from->u.sequence.items : from->u.optional.value;
  uint64_t count = is_sequence ? from->u.sequence.length : items != NULL;
  lumen_value *copies = NULL;
  if (count && !(copies = lumen_call_memory(frame, count * sizeof(*copies))))
    return lumen_call_fail_memory(frame);
  int code = LUMEN_OK;
  /* Sequences do not hold sequences, so this ends. */
  for (uint64_t i = 0; i < count && !code; ++i)
    code = lumen_copy_value(frame, &copies[i], &items[i], all);
  *to = (lumen_value){.kind = from->kind};
  if (is_sequence)
    to->u.sequence = (lumen_sequence){copies, count};
  else
    to->u.optional.value = copies;
  return code;
}

bool lumen_is_memory(const frame *frame, uint32_t index) {
  return frame->call->args[index].kind == LUMEN_ABI_CALL_TENSOR;
}

/* ---- Results ------------------------------------------------------------ */

static const lumen_abi_call_arg *output_of(const frame *frame, uint32_t index) {
  return &frame->call->args[frame->call->num_inputs + index];
}

/* Fills the EXTENTS behind an output, if there are. */
static int return_extents(frame *frame, uint32_t index, int32_t rank, const int64_t *shape) {
  if (index + 1 >= frame->call->num_outputs ||
      output_of(frame, index + 1)->kind != LUMEN_ABI_CALL_EXTENTS)
    return LUMEN_OK;
  int32_t expected = output_of(frame, index + 1)->rank;
  if (rank != expected)
    return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                           "a tensor of rank %d comes out, expected rank %d", rank, expected);
  if (rank)
    memcpy(frame->outputs[index + 1], shape, (uint64_t)rank * sizeof(int64_t));
  return LUMEN_OK;
}

int lumen_return_memory(frame *frame, uint32_t index, int32_t rank, const int64_t *shape,
                        void **memory) {
  const lumen_abi_call_arg *output = output_of(frame, index);
  if (rank != output->rank)
    return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                           "a tensor of rank %d comes out, expected rank %d", rank, output->rank);
  uint64_t bytes = lumen_tensor_bytes(output->dtype, rank, shape);
  const lumen_abi_buffer *buffer = &frame->abi->buffers[output->buffer];
  uint32_t storage = buffer->storage;
  if (bytes > INT64_MAX)
    return lumen_call_fail_memory(frame);
  bool is_own = frame->abi->storages[storage].region == LUMEN_ABI_HEAP || !frame->outputs[index];
  if (is_own) {
    int code = lumen_storage_alloc(frame->storages, storage, bytes, frame->status);
    if (code)
      return code;
    frame->outputs[index] = frame->storages->bases[storage];
  } else {
    uint64_t space = frame->storages->space[storage];
    uint64_t before = (uint64_t)(frame->outputs[index] - frame->storages->bases[storage]);
    if (bytes > space - before)
      return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                             "its result has %llu bytes, expected at most %llu",
                             (unsigned long long)bytes, (unsigned long long)(space - before));
  }
  *memory = frame->outputs[index];
  return return_extents(frame, index, rank, shape);
}

int lumen_return(frame *frame, uint32_t index, const lumen_value *value) {
  const lumen_abi_call_arg *output = output_of(frame, index);
  if (output->kind == LUMEN_ABI_CALL_TENSOR) {
    const lumen_tensor *tensor = &value->u.tensor;
    lumen_dl_dtype expected = lumen_dl_dtype_of(output->dtype);
    if (value->kind != LUMEN_TENSOR || tensor->dtype.bits != expected.bits ||
        (tensor->dtype.code != expected.code && output->dtype != LUMEN_ABI_BOOL))
      return lumen_call_fail(frame, LUMEN_ERROR_INVALID_ARGUMENT,
                             "a value that is no tensor of %s comes out",
                             lumen_dtype_name(output->dtype));
    void *memory;
    int code = lumen_return_memory(frame, index, tensor->ndim, tensor->shape, &memory);
    uint64_t bytes = lumen_tensor_bytes(output->dtype, tensor->ndim, tensor->shape);
    if (!code && bytes)
      memcpy(memory, (const char *)tensor->data + tensor->byte_offset, bytes);
    return code;
  }
  uint32_t storage = frame->abi->buffers[output->buffer].storage;
  lumen_value **base = (lumen_value **)&frame->storages->bases[storage];
  lumen_value *object = *base;
  if (object && object != value && object->kind == LUMEN_SEQUENCE) {
    /* The last iteration's: nobody else has its array. */
    if (object->u.sequence.items != value->u.sequence.items)
      lumen_call_release(frame, object->u.sequence.items);
  } else if (!object) {
    object = lumen_call_memory(frame, sizeof(*object));
    if (!object)
      return lumen_call_fail_memory(frame);
  }
  *object = *value;
  *base = object;
  frame->storages->space[storage] = frame->storages->used[storage] = sizeof(*object);
  if (value->kind == LUMEN_STRINGS)
    return return_extents(frame, index, value->u.strings.ndim, value->u.strings.shape);
  if (value->kind == LUMEN_TENSOR)
    return return_extents(frame, index, value->u.tensor.ndim, value->u.tensor.shape);
  return LUMEN_OK;
}

lumen_value *lumen_in_place(frame *frame, uint32_t input, uint32_t output) {
  uint32_t from = frame->call->args[input].buffer, to = output_of(frame, output)->buffer;
  const lumen_abi_buffer *buffers = frame->abi->buffers;
  if (from == LUMEN_ABI_NONE || buffers[from].storage != buffers[to].storage)
    return NULL;
  return (lumen_value *)frame->storages->bases[buffers[to].storage];
}
