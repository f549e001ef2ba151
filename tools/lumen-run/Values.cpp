#include "Values.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace llvm;

namespace lumen::run {

lumen_value Value::view() {
  lumen_value value = {};
  value.kind = kind;
  views.clear();
  for (Value &item : items)
    views.push_back(item.view());
  switch (kind) {
  case LUMEN_STRINGS:
    texts.clear();
    for (const std::string &text : strings)
      texts.push_back({text.data(), text.size()});
    value.u.strings = {texts.data(), static_cast<int32_t>(shape.size()), shape.data()};
    return value;
  case LUMEN_SEQUENCE:
    value.u.sequence = {views.data(), views.size()};
    return value;
  case LUMEN_OPTIONAL:
    value.u.optional.value = views.empty() ? nullptr : views.data();
    return value;
  default:
    return lumen_tensor_value(bytes.data(), dtype, static_cast<int32_t>(shape.size()),
                              shape.data());
  }
}

Value copyOf(const lumen_value &value, uint32_t dtype) {
  Value copy;
  copy.kind = value.kind;
  copy.dtype = static_cast<lumen_dtype>(dtype);
  switch (value.kind) {
  case LUMEN_STRINGS: {
    const lumen_strings &strings = value.u.strings;
    copy.shape.assign(strings.shape, strings.shape + strings.ndim);
    int64_t count = numElements(copy.shape);
    for (int64_t i = 0; i < count; ++i)
      copy.strings.emplace_back(strings.data[i].data, strings.data[i].length);
    return copy;
  }
  case LUMEN_SEQUENCE:
    for (uint64_t i = 0; i < value.u.sequence.length; ++i)
      copy.items.push_back(copyOf(value.u.sequence.items[i], dtype));
    return copy;
  case LUMEN_OPTIONAL:
    if (value.u.optional.value)
      copy.items.push_back(copyOf(*value.u.optional.value, dtype));
    return copy;
  default: {
    const lumen_tensor &tensor = value.u.tensor;
    copy.shape.assign(tensor.shape, tensor.shape + std::max(tensor.ndim, 0));
    copy.bytes.resize(numBytes(copy.dtype, numElements(copy.shape)));
    if (!copy.bytes.empty())
      std::memcpy(copy.bytes.data(), static_cast<const char *>(tensor.data) + tensor.byte_offset,
                  copy.bytes.size());
    return copy;
  }
  }
}

namespace {

Error formatError(StringRef path, const Twine &message) {
  return createStringError(inconvertibleErrorCode(), path + ": " + message);
}

Expected<long double> readNumber(StringRef path, const json::Value &value) {
  if (auto integer = value.getAsInteger())
    return *integer;
  if (auto integer = value.getAsUINT64())
    return *integer;
  if (auto real = value.getAsNumber())
    return *real;
  if (auto boolean = value.getAsBoolean())
    return *boolean;
  if (auto text = value.getAsString()) {
    if (*text == "nan")
      return std::numeric_limits<long double>::quiet_NaN();
    if (*text == "inf" || *text == "-inf")
      return (*text == "inf" ? 1 : -1) * std::numeric_limits<long double>::infinity();
  }
  return formatError(path, "an element is no number");
}

Expected<Value> readTensorJson(StringRef path, const json::Value &json, uint32_t dtype) {
  const json::Object *object = json.getAsObject();
  const json::Array *dims = object ? object->getArray("dims") : nullptr;
  const json::Array *data = object ? object->getArray("data") : nullptr;
  if (!dims || !data)
    return formatError(path, "expected a tensor with \"dims\" and \"data\"");
  if (auto type = object->getString("type"); type && *type != dtypeName(dtype))
    return formatError(path, "a tensor has type " + *type + ", expected " + dtypeName(dtype));
  Value value;
  value.dtype = static_cast<lumen_dtype>(dtype);
  for (const json::Value &dim : *dims) {
    auto extent = dim.getAsInteger();
    if (!extent || *extent < 0)
      return formatError(path, "a dimension is no number of 0 or more");
    value.shape.push_back(*extent);
  }
  int64_t count = numElements(value.shape);
  if (static_cast<int64_t>(data->size()) != count)
    return formatError(path, "a tensor has " + Twine(data->size()) + " elements, its dims have " +
                                 Twine(count));
  if (dtype == LUMEN_STRING) {
    value.kind = LUMEN_STRINGS;
    for (const json::Value &element : *data) {
      auto text = element.getAsString();
      if (!text)
        return formatError(path, "an element is no string");
      value.strings.push_back(text->str());
    }
    return value;
  }
  value.bytes.resize(numBytes(value.dtype, count));
  for (int64_t i = 0; i < count; ++i) {
    Expected<long double> number = readNumber(path, (*data)[i]);
    if (!number)
      return number.takeError();
    setElement(value.dtype, value.bytes.data(), i, *number);
  }
  return value;
}

Expected<Value> readValue(StringRef path, const json::Value &json, uint32_t dtype, uint32_t kind) {
  if (kind == LUMEN_OPTIONAL) {
    Value value;
    value.kind = kind;
    if (json.kind() == json::Value::Null)
      return value;
    Expected<Value> inside =
        readValue(path, json, dtype, json.getAsArray() ? LUMEN_SEQUENCE : LUMEN_TENSOR);
    if (!inside)
      return inside.takeError();
    value.items.push_back(std::move(*inside));
    return value;
  }
  if (kind != LUMEN_SEQUENCE)
    return readTensorJson(path, json, dtype);
  const json::Array *items = json.getAsArray();
  if (!items)
    return formatError(path, "expected an array of tensors");
  Value value;
  value.kind = kind;
  for (const json::Value &item : *items) {
    Expected<Value> read = readTensorJson(path, item, dtype);
    if (!read)
      return read.takeError();
    value.items.push_back(std::move(*read));
  }
  return value;
}

json::Value elementJson(const Value &tensor, int64_t index) {
  if (tensor.kind == LUMEN_STRINGS) {
    const std::string &text = tensor.strings[index];
    return json::isUTF8(text) ? text : json::fixUTF8(text);
  }
  long double number = getElement(tensor.dtype, tensor.bytes.data(), index);
  if (isFloat(tensor.dtype))
    return numberJson(static_cast<double>(number));
  if (tensor.dtype == LUMEN_U64)
    return static_cast<uint64_t>(number);
  return static_cast<int64_t>(number);
}

json::Value toJson(const Value &value) {
  if (value.kind == LUMEN_OPTIONAL)
    return value.items.empty() ? json::Value(nullptr) : toJson(value.items.front());
  json::Array data;
  if (value.kind == LUMEN_SEQUENCE) {
    for (const Value &item : value.items)
      data.push_back(toJson(item));
    return data;
  }
  int64_t count = numElements(value.shape) * (isComplex(value.dtype) ? 2 : 1);
  for (int64_t i = 0; i < count; ++i)
    data.push_back(elementJson(value, i));
  return json::Object{{"type", dtypeName(value.dtype)},
                      {"dims", json::Array(value.shape)},
                      {"data", std::move(data)}};
}

} // namespace

Expected<Value> readJson(StringRef path, const lumen_value_info &info) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(buffer.getError(), "%s: cannot be read: %s", path.str().c_str(),
                             buffer.getError().message().c_str());
  Expected<json::Value> parsed = json::parse((*buffer)->getBuffer());
  if (!parsed)
    return formatError(path, toString(parsed.takeError()));
  return readValue(path, *parsed, info.dtype, info.kind);
}

Error writeJson(StringRef path, const lumen_value &value, uint32_t dtype) {
  return writeFile(path, [&](raw_ostream &out) { out << toJson(copyOf(value, dtype)) << '\n'; });
}

Error writeFile(StringRef path, function_ref<void(raw_ostream &)> write) {
  std::error_code error;
  raw_fd_ostream out(path, error);
  if (!error) {
    write(out);
    out.close();
    error = out.error();
    out.clear_error();
  }
  return error ? formatError(path, "cannot be written: " + error.message()) : Error::success();
}

json::Value numberJson(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::string quoted(StringRef text) {
  std::string result;
  raw_string_ostream(result) << json::Value(json::fixUTF8(text));
  return result;
}

std::string describe(const Value &value) {
  if (value.kind == LUMEN_SEQUENCE)
    return "sequence of " + utostr(value.items.size());
  if (value.kind == LUMEN_OPTIONAL)
    return value.items.empty() ? "optional without a value"
                               : "optional " + describe(value.items.front());
  return dtypeName(value.dtype).str() + "[" + formatShape(value.shape) + "]";
}

} // namespace lumen::run
