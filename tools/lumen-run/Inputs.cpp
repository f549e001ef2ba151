#include "Inputs.h"

#include "Npy.h"
#include "TensorProto.h"

#include <optional>

using namespace llvm;

namespace lumen::run {

char UsageError::ID;

namespace {

// splitmix64.
uint64_t next(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// The fixed extents, with the dynamic ones taken from "1x3x224x224".
Expected<std::vector<int64_t>> resolveShape(const lumen_value_info &info, StringRef text) {
  std::vector<int64_t> shape;
  if (!text.empty()) {
    SmallVector<StringRef> parts;
    text.split(parts, 'x');
    for (StringRef part : parts) {
      int64_t extent;
      if (part.getAsInteger(10, extent) || extent < 0)
        return usageError("--input " + Twine(info.name) + ": '" + text +
                          "' is not a shape such as 1x3x224x224");
      shape.push_back(extent);
    }
    return shape;
  }
  for (int32_t d = 0; d < info.rank; ++d) {
    if (info.dims[d].extent < 0)
      return usageError(
          "input '" + Twine(info.name) + "': dimension " + Twine(d) +
          (info.dims[d].symbol ? " ('" + Twine(info.dims[d].symbol) + "')" : Twine("")) +
          " is dynamic; give its shape, as in --input " + info.name + "=random:1x3");
    shape.push_back(info.dims[d].extent);
  }
  return shape;
}

Expected<Tensor> makeInput(const lumen_value_info &info, StringRef text, uint64_t seed) {
  auto dtype = static_cast<lumen_dtype>(info.dtype);
  if (info.kind != LUMEN_TENSOR || dtype == LUMEN_STRING)
    return usageError("input '" + Twine(info.name) + "': lumen-run gives tensors of numbers only");
  if (text.consume_front("@")) {
    Expected<Tensor> tensor = readTensor(text);
    // .npy files have no narrower float than float16.
    if (tensor && tensor->dtype == LUMEN_F32 && isFloat(dtype) && !isComplex(dtype) &&
        lumen_dl_dtype_of(dtype).bits < 32)
      return convert(*tensor, dtype);
    return tensor;
  }
  bool isRandom = text.consume_front("random");
  if (!isRandom && !text.consume_front("zeros"))
    return usageError("--input " + Twine(info.name) + ": '" + text +
                      "' is none of @FILE.npy, @FILE.pb, random[:SHAPE], zeros[:SHAPE]");
  if (!text.empty() && !text.consume_front(":"))
    return usageError("--input " + Twine(info.name) + ": expected ':' and a shape before '" + text +
                      "'");
  auto shape = resolveShape(info, text);
  if (!shape)
    return shape.takeError();
  return isRandom ? randomTensor(dtype, *shape, seed) : Tensor(dtype, *shape);
}

} // namespace

Tensor randomTensor(lumen_dtype dtype, ArrayRef<int64_t> shape, uint64_t seed) {
  Tensor tensor(dtype, shape);
  uint64_t state = seed;
  int64_t count = tensor.numElements() * (isComplex(dtype) ? 2 : 1);
  int64_t values = dtype == LUMEN_BOOL || dtype == LUMEN_I2 ? 2 : dtype == LUMEN_U2 ? 4 : 8;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = next(state);
    long double value = isFloat(dtype) ? static_cast<double>(bits >> 40) * 0x1p-23 - 1.0
                                       : static_cast<double>(bits % values);
    setElement(dtype, tensor.bytes.data(), i, value);
  }
  return tensor;
}

Expected<Tensor> readTensor(StringRef path) {
  if (path.ends_with(".npy"))
    return readNpy(path);
  if (path.ends_with(".pb"))
    return readTensorProto(path);
  return usageError(path + ": expected a name that ends in .npy or .pb");
}

Expected<uint32_t> splitName(StringRef argument, const lumen_value_info *values, uint32_t count,
                             const char *what, StringRef &rest) {
  uint32_t best = count;
  for (uint32_t i = 0; i < count; ++i) {
    StringRef name = values[i].name, tail = argument;
    if (tail.consume_front(name) && tail.consume_front("=") &&
        (best == count || name.size() > StringRef(values[best].name).size())) {
      best = i;
      rest = tail;
    }
  }
  if (best < count)
    return best;
  if (!argument.contains('='))
    return usageError("'" + argument + "': expected NAME=VALUE");
  std::string known;
  for (uint32_t i = 0; i < count; ++i)
    known += (i ? ", '" : "'") + std::string(values[i].name) + "'";
  return usageError("'" + argument.split('=').first + "' is not an " + what +
                    " of the model, which has " + known);
}

Expected<std::vector<Tensor>> makeInputs(ArrayRef<std::string> arguments,
                                         const lumen_value_info *inputs, uint32_t count,
                                         uint64_t seed) {
  std::vector<std::optional<std::string>> texts(count);
  for (const std::string &argument : arguments) {
    StringRef rest;
    Expected<uint32_t> index = splitName(argument, inputs, count, "input", rest);
    if (!index)
      return index.takeError();
    if (texts[*index])
      return usageError("--input " + argument + ": input '" + inputs[*index].name +
                        "' is given twice");
    texts[*index] = rest.str();
  }
  std::vector<Tensor> tensors;
  for (uint32_t i = 0; i < count; ++i) {
    // Inputs differ from each other, and one does not depend on the others.
    Expected<Tensor> tensor =
        makeInput(inputs[i], texts[i].value_or("random"), seed + 1000003ull * i);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

} // namespace lumen::run
