/* values.c - checks at the entry of a run, so that no kernel ever sees a wrong
 * pointer, type or extent. */
#include "driver.h"
#include "plan.h"

#include <stdarg.h>
#include <stdio.h>

/* Name of a DLPack type as a caller would write it, for messages. */
static const char *dl_name(lumen_dl_dtype type) {
  for (uint32_t dtype = LUMEN_F32; dtype <= LUMEN_I2; ++dtype) {
    lumen_dl_dtype known = lumen_dl_dtype_of(dtype);
    if (known.bits && known.code == type.code && known.bits == type.bits &&
        known.lanes == type.lanes)
      return lumen_dtype_name(dtype);
  }
  return "unknown";
}

static const char *kind_name(uint32_t kind) {
  static const char *const names[] = {"tensor", "sequence", "optional", "tensor of strings"};
  return kind < 4 ? names[kind] : "value of unknown kind";
}

/* What is checked: an input, or an item of one. */
typedef struct subject {
  const lumen_abi_value *info;
  int64_t item; /* of a sequence, from 0; -1: the input itself */
} subject;

/* "input 'x': " or "input 'x', item 3: ", and the text. */
__attribute__((format(printf, 3, 4))) static int fail(lumen_status *status, subject subject,
                                                      const char *format, ...) {
  char text[400], item[32] = "";
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (subject.item >= 0)
    snprintf(item, sizeof(item), ", item %lld", (long long)subject.item);
  return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "input '%s'%s: %s", subject.info->name,
                    item, text);
}

static bool same_type(uint32_t dtype, lumen_dl_dtype type) {
  lumen_dl_dtype expected = lumen_dl_dtype_of(dtype);
  /* DLPack knew no bool before version 1: exporters used an 8-bit uint. */
  if (dtype == LUMEN_BOOL && type.code == 1 && type.bits == 8 && type.lanes == 1)
    return true;
  return expected.code == type.code && expected.bits == type.bits && expected.lanes == type.lanes;
}

static int check_shape(subject subject, int32_t rank, const int64_t *shape, lumen_status *status) {
  const lumen_abi_value *info = subject.info;
  if (rank < 0 || (info->rank >= 0 && rank != info->rank))
    return fail(status, subject, "rank is %d, expected %d", rank, info->rank < 0 ? 0 : info->rank);
  if (rank && !shape)
    return fail(status, subject, "has no shape");
  for (int32_t d = 0; d < rank; ++d) {
    int64_t extent = shape[d];
    if (extent < 0)
      return fail(status, subject, "dimension %d is %lld, expected 0 or more", d,
                  (long long)extent);
    if (info->rank < 0)
      continue;
    const lumen_abi_dim *dim = &info->dims[d];
    if (dim->extent >= 0) {
      if (extent != dim->extent)
        return fail(status, subject, "dimension %d is %lld, expected %lld", d, (long long)extent,
                    (long long)dim->extent);
      continue;
    }
    if (dim->bound >= 0 && extent > dim->bound)
      return fail(status, subject, "dimension %d ('%s') is %lld, expected at most %lld", d,
                  dim->symbol ? dim->symbol : "?", (long long)extent, (long long)dim->bound);
  }
  return LUMEN_OK;
}

static int check_layout(subject subject, const lumen_tensor *tensor, lumen_status *status) {
  if (tensor->device.type != 1)
    return fail(status, subject, "is on DLPack device type %d, expected 1 (host memory)",
                tensor->device.type);
  if (!lumen_count(tensor->ndim, tensor->shape))
    return LUMEN_OK;
  if (lumen_tensor_bytes(subject.info->dtype, tensor->ndim, tensor->shape) > INT64_MAX)
    return fail(status, subject, "its shape has more bytes than memory can hold");
  if (!tensor->data)
    return fail(status, subject, "data is NULL");
  if (tensor->strides) {
    int64_t expected = 1;
    for (int32_t d = tensor->ndim - 1; d >= 0; --d) {
      if (tensor->shape[d] != 1 && tensor->strides[d] != expected)
        return fail(status, subject,
                    "stride of dimension %d is %lld, expected %lld (row-major without gaps)", d,
                    (long long)tensor->strides[d], (long long)expected);
      expected *= tensor->shape[d];
    }
  }
  return LUMEN_OK;
}

static int check_tensor(subject subject, const lumen_tensor *tensor, bool with_data,
                        lumen_status *status) {
  if (!same_type(subject.info->dtype, tensor->dtype))
    return fail(status, subject, "type is %s, expected %s", dl_name(tensor->dtype),
                lumen_dtype_name(subject.info->dtype));
  int code = check_shape(subject, tensor->ndim, tensor->shape, status);
  return code || !with_data ? code : check_layout(subject, tensor, status);
}

static int check_strings(subject subject, const lumen_strings *strings, bool with_data,
                         lumen_status *status) {
  int code = check_shape(subject, strings->ndim, strings->shape, status);
  if (code || !with_data)
    return code;
  uint64_t count = lumen_count(strings->ndim, strings->shape);
  if (!count)
    return LUMEN_OK;
  if (count > INT64_MAX / sizeof(lumen_string))
    return fail(status, subject, "its shape has more bytes than memory can hold");
  if (!strings->data)
    return fail(status, subject, "data is NULL");
  for (uint64_t i = 0; i < count; ++i)
    if (strings->data[i].length && !strings->data[i].data)
      return fail(status, subject, "data of string %llu is NULL", (unsigned long long)i);
  return LUMEN_OK;
}

static int fail_kind(subject subject, uint32_t kind, const char *expected, lumen_status *status) {
  return fail(status, subject, "is a %s, expected a %s", kind_name(kind), expected);
}

/* A tensor of numbers or of strings. */
static int check_any_tensor(subject subject, const lumen_value *value, bool with_data,
                            lumen_status *status) {
  uint32_t kind = subject.info->dtype == LUMEN_ABI_STRING ? LUMEN_STRINGS : LUMEN_TENSOR;
  if (value->kind != kind)
    return fail_kind(subject, value->kind, kind_name(kind), status);
  return kind == LUMEN_STRINGS ? check_strings(subject, &value->u.strings, with_data, status)
                               : check_tensor(subject, &value->u.tensor, with_data, status);
}

static int check_sequence(subject subject, const lumen_sequence *sequence, bool with_data,
                          lumen_status *status) {
  if (sequence->length && !sequence->items)
    return fail(status, subject, "has %llu items, but their array is NULL",
                (unsigned long long)sequence->length);
  int code = LUMEN_OK;
  for (uint64_t i = 0; i < sequence->length && !code; ++i) {
    subject.item = (int64_t)i;
    code = check_any_tensor(subject, &sequence->items[i], with_data, status);
  }
  return code;
}

static int check_input(const lumen_abi_value *info, const lumen_value *value, bool with_data,
                       lumen_status *status) {
  subject subject = {info, -1};
  /* Zeroed: left out. */
  if (info->optional && value->kind == LUMEN_TENSOR && !value->u.tensor.data &&
      !value->u.tensor.shape)
    return LUMEN_OK;
  uint32_t kind = lumen_kind_of(info);
  if (value->kind != kind)
    return fail_kind(subject, value->kind, kind_name(kind), status);
  if (kind == LUMEN_SEQUENCE)
    return check_sequence(subject, &value->u.sequence, with_data, status);
  if (kind != LUMEN_OPTIONAL)
    return check_any_tensor(subject, value, with_data, status);
  const lumen_value *inside = value->u.optional.value;
  if (!inside)
    return LUMEN_OK;
  return inside->kind == LUMEN_SEQUENCE
             ? check_sequence(subject, &inside->u.sequence, with_data, status)
             : check_any_tensor(subject, inside, with_data, status);
}

static int check_count(const char *what, uint32_t given, uint32_t expected, const void *values,
                       lumen_status *status) {
  if (given != expected)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "%u %s given, the model has %u", given,
                      what, expected);
  if (given && !values)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "the array of %s is NULL", what);
  return LUMEN_OK;
}

int lumen_check_inputs(const lumen_abi_model *abi, const lumen_value *inputs, uint32_t count,
                       bool with_data, lumen_status *status) {
  int code = check_count("inputs", count, abi->num_inputs, inputs, status);
  for (uint32_t i = 0; !code && i < count; ++i)
    code = check_input(&abi->inputs[i], &inputs[i], with_data, status);
  return code;
}

static uint32_t owner_of(const context *context, const void *address) {
  return address ? context->device->driver->owner(context, address) : LUMEN_ABI_NONE;
}

/* As lumen_driver.owner says, of all that a value points to and a run reads. */
static uint32_t owner_of_value(const context *context, uint32_t dtype, const lumen_value *value) {
  uint32_t owner = LUMEN_ABI_NONE;
  if (value->kind == LUMEN_TENSOR) {
    const lumen_tensor *tensor = &value->u.tensor;
    if (tensor->data && lumen_tensor_bytes(dtype, tensor->ndim, tensor->shape) != 0)
      owner = owner_of(context, (char *)tensor->data + tensor->byte_offset);
    return owner == LUMEN_ABI_NONE ? owner_of(context, tensor->shape) : owner;
  }
  if (value->kind == LUMEN_STRINGS) {
    const lumen_strings *strings = &value->u.strings;
    owner = owner_of(context, strings->shape);
    uint64_t count = lumen_count(strings->ndim, strings->shape);
    if (count && owner == LUMEN_ABI_NONE)
      owner = owner_of(context, strings->data);
    for (uint64_t i = 0; i < count && owner == LUMEN_ABI_NONE; ++i)
      if (strings->data[i].length)
        owner = owner_of(context, strings->data[i].data);
    return owner;
  }
  if (value->kind == LUMEN_SEQUENCE) {
    const lumen_sequence *sequence = &value->u.sequence;
    if (sequence->length)
      owner = owner_of(context, sequence->items);
    for (uint64_t i = 0; i < sequence->length && owner == LUMEN_ABI_NONE; ++i)
      owner = owner_of_value(context, dtype, &sequence->items[i]);
    return owner;
  }
  const lumen_value *inside = value->u.optional.value;
  owner = owner_of(context, inside);
  return owner == LUMEN_ABI_NONE && inside ? owner_of_value(context, dtype, inside) : owner;
}

/* Whether an input that lies in an output of the last run can stay there. */
static bool hand_over(context *context, const lumen_value *input, uint32_t owner, bool may_move) {
  const lumen_abi_model *abi = context->model->abi;
  const lumen_tensor *tensor = &input->u.tensor;
  return owner < abi->num_outputs && input->kind == LUMEN_TENSOR &&
         context->device->driver->hand_over(
             context, owner, (const char *)tensor->data + tensor->byte_offset, may_move);
}

int lumen_take_over(context *context, const lumen_value *inputs, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  context->takes_over = false;
  /* Once all is moved, no input may lie where it was moved to. */
  for (int round = 0; round < 2; ++round)
    for (uint32_t i = 0; i < abi->num_inputs; ++i) {
      uint32_t owner = owner_of_value(context, abi->inputs[i].dtype, &inputs[i]);
      if (owner == LUMEN_ABI_NONE)
        continue;
      context->takes_over = true;
      if (hand_over(context, &inputs[i], owner, /*may_move=*/round == 0))
        continue;
      if (owner < abi->num_outputs)
        return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                          "input '%s': lies in output '%s' of the last run, copy it first",
                          abi->inputs[i].name, abi->outputs[owner].name);
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "input '%s': lies in an output of the last run, copy it first",
                        abi->inputs[i].name);
    }
  return LUMEN_OK;
}

/* Where a run writes an output into the caller's memory; NULL: nowhere, or nothing. */
static const char *brought(const context *context, const lumen_value *outputs, uint32_t index) {
  const lumen_tensor *tensor = &outputs[index].u.tensor;
  if (!lumen_is_numbers(&context->model->abi->outputs[index]) || !tensor->data ||
      tensor->data == context->handed_out[index] || !context->plan->output_bytes[index])
    return NULL;
  return (const char *)tensor->data + tensor->byte_offset;
}

/* Fails where one of the first `count` outputs shares bytes with the value at `begin`. */
static int check_overlap(const context *context, const lumen_value *outputs, uint32_t count,
                         const char *role, const char *name, const char *begin, uint64_t bytes,
                         lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  for (uint32_t i = 0; i < count; ++i) {
    const char *output = brought(context, outputs, i);
    /* An address that lies before the other wraps around to a huge distance. */
    if (output && ((uintptr_t)output - (uintptr_t)begin < bytes ||
                   (uintptr_t)begin - (uintptr_t)output < context->plan->output_bytes[i]))
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "output '%s': its memory overlaps that of %s '%s'", abi->outputs[i].name,
                        role, name);
  }
  return LUMEN_OK;
}

/* Fails where memory that the caller brings for (checked) outputs is also that of an
 * input, of another output, or of the context. */
static int check_outputs_apart(const context *context, const lumen_value *inputs,
                               const lumen_value *outputs, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  int code = LUMEN_OK;
  uint32_t num_brought = 0;
  for (uint32_t i = 0; i < abi->num_outputs && !code; ++i) {
    const char *output = brought(context, outputs, i);
    if (!output)
      continue;
    ++num_brought;
    if (owner_of(context, output) != LUMEN_ABI_NONE)
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "output '%s': lies in memory of the context", abi->outputs[i].name);
    code = check_overlap(context, outputs, i, "output", abi->outputs[i].name, output,
                         context->plan->output_bytes[i], status);
  }
  for (uint32_t i = 0; i < abi->num_inputs && num_brought && !code; ++i) {
    const lumen_tensor *tensor = &inputs[i].u.tensor;
    if (!lumen_is_numbers(&abi->inputs[i]) || !tensor->data)
      continue;
    uint64_t bytes = lumen_tensor_bytes(abi->inputs[i].dtype, tensor->ndim, tensor->shape);
    if (bytes)
      code = check_overlap(context, outputs, abi->num_outputs, "input", abi->inputs[i].name,
                           (const char *)tensor->data + tensor->byte_offset, bytes, status);
  }
  return code;
}

int lumen_check_outputs(const context *context, const lumen_value *inputs,
                        const lumen_value *outputs, uint32_t count, lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  int code = check_count("outputs", count, abi->num_outputs, outputs, status);
  if (code)
    return code;
  for (uint32_t i = 0; i < count; ++i) {
    const lumen_abi_value *info = &abi->outputs[i];
    /* What is no tensor of numbers is always the context's. */
    if (!lumen_is_numbers(info))
      continue;
    if (outputs[i].kind != LUMEN_TENSOR)
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "output '%s': is a %s, expected a tensor", info->name,
                        kind_name(outputs[i].kind));
    uint64_t bytes = context->plan->output_bytes[i];
    const lumen_tensor *tensor = &outputs[i].u.tensor;
    if (!tensor->data || tensor->data == context->handed_out[i])
      continue;
    if (tensor->device.type > 1)
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "output '%s': is on DLPack device type %d, expected 1 (host memory)",
                        info->name, tensor->device.type);
    if (bytes == UINT64_MAX)
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "output '%s': its size is known only after the run, so its memory must be "
                        "the context's (data NULL)",
                        info->name);
    if (outputs[i].capacity < bytes)
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "output '%s': capacity is %llu bytes, expected at least %llu", info->name,
                        (unsigned long long)outputs[i].capacity, (unsigned long long)bytes);
  }
  return check_outputs_apart(context, inputs, outputs, status);
}
