/* values.c - checks at the entry of a run, so that no kernel ever sees a wrong
 * pointer, type or extent. */
#include "plan.h"

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

static uint32_t kind_of(const lumen_abi_value *info) {
  return info->kind == LUMEN_ABI_TENSOR && info->dtype == LUMEN_ABI_STRING ? LUMEN_STRINGS
                                                                           : info->kind;
}

static bool same_type(uint32_t dtype, lumen_dl_dtype type) {
  lumen_dl_dtype expected = lumen_dl_dtype_of(dtype);
  /* DLPack knew no bool before version 1: exporters used an 8-bit uint. */
  if (dtype == LUMEN_BOOL && type.code == 1 && type.bits == 8 && type.lanes == 1)
    return true;
  return expected.code == type.code && expected.bits == type.bits && expected.lanes == type.lanes;
}

static int check_dims(const lumen_abi_model *abi, const lumen_value *inputs, uint32_t index,
                      lumen_status *status) {
  const lumen_abi_value *info = &abi->inputs[index];
  const lumen_tensor *tensor = &inputs[index].u.tensor;
  if (tensor->ndim && !tensor->shape)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "input '%s': has no shape", info->name);
  for (int32_t d = 0; d < tensor->ndim; ++d) {
    int64_t extent = tensor->shape[d];
    if (extent < 0)
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "input '%s': dimension %d is %lld, expected 0 or more", info->name, d,
                        (long long)extent);
    if (info->rank < 0)
      continue;
    const lumen_abi_dim *dim = &info->dims[d];
    if (dim->extent >= 0) {
      if (extent != dim->extent)
        return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                          "input '%s': dimension %d is %lld, expected %lld", info->name, d,
                          (long long)extent, (long long)dim->extent);
      continue;
    }
    const char *symbol = dim->symbol ? dim->symbol : "?";
    if (dim->bound >= 0 && extent > dim->bound)
      return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                        "input '%s': dimension %d ('%s') is %lld, expected at most %lld",
                        info->name, d, symbol, (long long)extent, (long long)dim->bound);
  }
  return LUMEN_OK;
}

static int check_layout(const lumen_abi_value *info, const lumen_tensor *tensor,
                        lumen_status *status) {
  if (tensor->device.type != 1)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                      "input '%s': is on DLPack device type %d, expected 1 (host memory)",
                      info->name, tensor->device.type);
  bool empty = false;
  for (int32_t d = 0; d < tensor->ndim; ++d)
    empty |= tensor->shape[d] == 0;
  if (empty)
    return LUMEN_OK;
  if (lumen_tensor_bytes(info->dtype, tensor->ndim, tensor->shape) > INT64_MAX)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                      "input '%s': its shape has more bytes than memory can hold", info->name);
  if (!tensor->data)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "input '%s': data is NULL", info->name);
  if (tensor->strides) {
    int64_t expected = 1;
    for (int32_t d = tensor->ndim - 1; d >= 0; --d) {
      if (tensor->shape[d] != 1 && tensor->strides[d] != expected)
        return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                          "input '%s': stride of dimension %d is %lld, expected %lld (row-major "
                          "without gaps)",
                          info->name, d, (long long)tensor->strides[d], (long long)expected);
      expected *= tensor->shape[d];
    }
  }
  return LUMEN_OK;
}

static int check_input(const lumen_abi_model *abi, const lumen_value *inputs, uint32_t index,
                       bool with_data, lumen_status *status) {
  const lumen_abi_value *info = &abi->inputs[index];
  const lumen_value *value = &inputs[index];
  uint32_t kind = kind_of(info);
  if (value->kind != kind)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "input '%s': is a %s, expected a %s",
                      info->name, kind_name(value->kind), kind_name(kind));
  if (kind != LUMEN_TENSOR)
    return lumen_fail(status, LUMEN_ERROR_UNSUPPORTED,
                      "input '%s': a %s is not supported by this runtime", info->name,
                      kind_name(kind));
  const lumen_tensor *tensor = &value->u.tensor;
  if (info->optional && !tensor->data && !tensor->shape)
    return LUMEN_OK;
  if (!same_type(info->dtype, tensor->dtype))
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "input '%s': type is %s, expected %s",
                      info->name, dl_name(tensor->dtype), lumen_dtype_name(info->dtype));
  if (tensor->ndim < 0 || (info->rank >= 0 && tensor->ndim != info->rank))
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "input '%s': rank is %d, expected %d",
                      info->name, tensor->ndim, info->rank < 0 ? 0 : info->rank);
  int code = check_dims(abi, inputs, index, status);
  if (code || !with_data)
    return code;
  return check_layout(info, tensor, status);
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
    code = check_input(abi, inputs, i, with_data, status);
  return code;
}

int lumen_check_outputs(const context *context, const lumen_value *outputs, uint32_t count,
                        lumen_status *status) {
  const lumen_abi_model *abi = context->model->abi;
  int code = check_count("outputs", count, abi->num_outputs, outputs, status);
  if (code)
    return code;
  for (uint32_t i = 0; i < count; ++i) {
    const lumen_abi_value *info = &abi->outputs[i];
    uint32_t kind = kind_of(info);
    if (kind != LUMEN_TENSOR)
      return lumen_fail(status, LUMEN_ERROR_UNSUPPORTED,
                        "output '%s': a %s is not supported by this runtime", info->name,
                        kind_name(kind));
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
  return LUMEN_OK;
}
