#include "Inputs.h"

#include "Npy.h"
#include "TensorProto.h"
#include "dialects/Lumen/Symbols.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <memory>
#include <new>

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

// The size of a dimension, where it is fixed, named, or follows from what is named.
std::optional<int64_t> sizeOf(const lumen_dim &dim, const StringMap<int64_t> &dims) {
  if (dim.extent >= 0)
    return dim.extent;
  if (!dim.symbol)
    return std::nullopt;
  if (auto given = dims.find(dim.symbol); given != dims.end())
    return given->second;
  std::optional<SymExpr> size = SymExpr::parse(dim.symbol);
  return size ? size->evaluate(dims) : std::nullopt;
}

// What to name so that `sizeOf` knows the size.
std::string missingSymbol(const lumen_dim &dim, const StringMap<int64_t> &dims) {
  if (!dim.symbol)
    return "NAME";
  std::set<std::string> symbols;
  if (std::optional<SymExpr> size = SymExpr::parse(dim.symbol))
    size->collectSymbols(symbols);
  auto missing =
      llvm::find_if(symbols, [&](const std::string &name) { return !dims.contains(name); });
  return missing == symbols.end() ? dim.symbol : *missing;
}

// Every symbol of the inputs, and every text of a dimension: what a size can be given for.
std::set<std::string> nameableDims(const lumen_value_info *inputs, uint32_t count) {
  std::set<std::string> names;
  for (uint32_t i = 0; i < count; ++i)
    for (int32_t d = 0; d < inputs[i].rank; ++d) {
      const lumen_dim &dim = inputs[i].dims[d];
      if (dim.extent >= 0 || !dim.symbol)
        continue;
      names.insert(dim.symbol);
      if (std::optional<SymExpr> size = SymExpr::parse(dim.symbol))
        size->collectSymbols(names);
    }
  return names;
}

Error checkDims(const StringMap<int64_t> &dims, const lumen_value_info *inputs, uint32_t count) {
  std::set<std::string> known = nameableDims(inputs, count), unknown;
  for (StringRef name : dims.keys())
    if (!known.count(name.str()))
      unknown.insert(name.str());
  if (unknown.empty())
    return Error::success();
  std::string others = known.empty() ? "" : ", but '" + join(known, "', '") + "'";
  return usageError("--dim " + *unknown.begin() +
                    ": the dimensions of the inputs have no such symbol" + others);
}

// Notes the sizes of symbols that follow from the extent of a dimension. What is known
// already stays: where it does not fit, the model itself says so.
void learnDim(const lumen_dim &dim, int64_t extent, StringMap<int64_t> &dims) {
  if (dim.extent >= 0 || !dim.symbol)
    return;
  dims.try_emplace(dim.symbol, extent);
  std::set<std::string> symbols;
  std::optional<SymExpr> size = SymExpr::parse(dim.symbol);
  if (!size)
    return;
  size->collectSymbols(symbols);
  for (StringRef known : dims.keys())
    symbols.erase(known.str());
  if (symbols.size() != 1)
    return;
  // With one symbol left the size is a line through its values at 0 and 1.
  const std::string &symbol = *symbols.begin();
  auto at = [&](int64_t value) {
    StringMap<int64_t> values = dims;
    values[symbol] = value;
    return size->evaluate(values);
  };
  std::optional<int64_t> zero = at(0), one = at(1);
  if (!zero || !one || *zero == *one)
    return;
  int64_t value = (extent - *zero) / (*one - *zero);
  if (value >= 0 && at(value) == extent)
    dims[symbol] = value;
}

void learnDims(const lumen_value_info &info, ArrayRef<int64_t> shape, StringMap<int64_t> &dims) {
  if (info.rank == static_cast<int64_t>(shape.size()))
    for (auto [d, extent] : enumerate(shape))
      learnDim(info.dims[d], extent, dims);
}

// "2x3x32": the extents that are known, 3 for the others.
std::string exampleShape(const lumen_value_info &info, const StringMap<int64_t> &dims) {
  std::vector<int64_t> shape;
  for (int32_t d = 0; d < info.rank; ++d)
    shape.push_back(sizeOf(info.dims[d], dims).value_or(3));
  return formatShape(shape);
}

// The fixed extents, with the dynamic ones taken from "1x3x224x224", else from the
// sizes of their symbols.
Expected<std::vector<int64_t>> resolveShape(const lumen_value_info &info, StringRef text,
                                            const StringMap<int64_t> &dims) {
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
    std::optional<int64_t> size = sizeOf(info.dims[d], dims);
    if (!size) {
      std::string symbol = missingSymbol(info.dims[d], dims);
      return usageError(
          "input '" + Twine(info.name) + "': dimension " + Twine(d) +
          (info.dims[d].symbol ? " ('" + Twine(info.dims[d].symbol) + "')" : Twine("")) +
          " is dynamic; give its size, as in --dim \"" + symbol +
          "=3\", or the input's shape, as in --input " + info.name +
          "=random:" + exampleShape(info, dims));
    }
    shape.push_back(*size);
  }
  return shape;
}

// Whether a tensor can be had. Where it cannot, making it would end the program.
bool fitsMemory(lumen_dtype dtype, ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (MulOverflow(count, extent, count) || count > INT64_MAX / 128)
      return false;
  return std::unique_ptr<char[]>(new (std::nothrow) char[numBytes(dtype, count)]) != nullptr;
}

Expected<Value> makeInput(const lumen_value_info &info, StringRef text, uint64_t seed,
                          const StringMap<int64_t> &dims) {
  auto dtype = static_cast<lumen_dtype>(info.dtype);
  if (!isNumbers(info)) {
    if (text.consume_front("@"))
      return readValue(text, info);
    return usageError("input '" + Twine(info.name) +
                      "': is no tensor of numbers; give it a file, as in --input " + info.name +
                      "=@FILE.json");
  }
  if (text.consume_front("@")) {
    Expected<Tensor> tensor = readTensor(text);
    // .npy files have no narrower float than float16.
    if (tensor && tensor->dtype == LUMEN_F32 && isFloat(dtype) && !isComplex(dtype) &&
        lumen_dl_dtype_of(dtype).bits < 32)
      return Value(convert(*tensor, dtype));
    if (!tensor)
      return tensor.takeError();
    return Value(std::move(*tensor));
  }
  bool isRandom = text.consume_front("random");
  if (!isRandom && !text.consume_front("zeros"))
    return usageError("--input " + Twine(info.name) + ": '" + text +
                      "' is none of @FILE.npy, @FILE.pb, random[:SHAPE], zeros[:SHAPE]");
  if (!text.empty() && !text.consume_front(":"))
    return usageError("--input " + Twine(info.name) + ": expected ':' and a shape before '" + text +
                      "'");
  auto shape = resolveShape(info, text, dims);
  if (!shape)
    return shape.takeError();
  if (!fitsMemory(dtype, *shape))
    return createStringError("input '" + Twine(info.name) + "': no memory for a tensor of [" +
                             formatShape(*shape) + "]");
  return Value(isRandom ? randomTensor(dtype, *shape, seed) : Tensor(dtype, *shape));
}

// The files of a folder by input. One that has no input is a mistake in its name,
// but for the outputs of a data set as ONNX publishes them.
Expected<std::vector<std::string>> filesByInput(StringRef folder, const lumen_value_info *inputs,
                                                uint32_t count) {
  std::vector<std::string> paths, result(count);
  std::error_code error;
  for (sys::fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    paths.push_back(it->path());
  if (error)
    return createStringError(error, "%s: cannot be read: %s", folder.str().c_str(),
                             error.message().c_str());
  llvm::sort(paths); // so that of several mistakes always the same one is told
  for (const std::string &path : paths) {
    StringRef file = sys::path::filename(path), stem = sys::path::stem(path), end = file;
    if (!end.consume_front(stem) || !is_contained({".npy", ".pb", ".json"}, end))
      continue;
    SmallVector<uint32_t> matches;
    for (uint32_t i = 0; i < count; ++i)
      if (fileStem(inputs[i].name) == stem)
        matches.push_back(i);
    StringRef number = stem;
    uint32_t position;
    bool isDataSet = end == ".pb";
    if (isDataSet && matches.empty() && number.consume_front("input_") &&
        !number.getAsInteger(10, position) && position < count)
      matches.push_back(position);
    if (matches.empty() && isDataSet && stem.starts_with("output_"))
      continue;
    if (matches.empty())
      return usageError(path + ": the model has no input '" + stem + "'");
    if (matches.size() > 1)
      return usageError(path + ": is the name of several inputs: '" + inputs[matches[0]].name +
                        "' and '" + inputs[matches[1]].name + "'; give them by --input");
    std::string &slot = result[matches.front()];
    if (!slot.empty())
      return usageError(path + ": input '" + inputs[matches.front()].name + "' has another file, " +
                        sys::path::filename(slot));
    slot = path;
  }
  return result;
}

std::string listNames(const lumen_value_info *values, uint32_t count) {
  std::string known;
  for (uint32_t i = 0; i < count; ++i)
    known += (i ? ", '" : "'") + std::string(values[i].name) + "'";
  return known;
}

Error unknownName(StringRef name, const lumen_value_info *values, uint32_t count,
                  const char *what) {
  return usageError("'" + name + "' is not an " + what + " of the model, which has " +
                    listNames(values, count));
}

} // namespace

Expected<StringMap<int64_t>> readDims(ArrayRef<std::string> arguments) {
  StringMap<int64_t> dims;
  for (StringRef argument : arguments) {
    auto [name, number] = argument.rsplit('=');
    int64_t size;
    if (name.empty() || number.getAsInteger(10, size) || size < 0)
      return usageError("--dim " + argument + ": expected NAME=SIZE, as in batch=8");
    if (!dims.try_emplace(name, size).second)
      return usageError("--dim " + argument + ": '" + name + "' is given twice");
  }
  return dims;
}

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

Expected<Value> readValue(StringRef path, const lumen_value_info &info) {
  if (isNumbers(info))
    return readTensor(path);
  if (path.ends_with(".json"))
    return readJson(path, info);
  return usageError(path + ": expected a name that ends in .json, for '" + info.name +
                    "' is no tensor of numbers");
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
  return unknownName(argument.split('=').first, values, count, what);
}

Expected<uint32_t> findName(StringRef name, const lumen_value_info *values, uint32_t count,
                            const char *what) {
  for (uint32_t i = 0; i < count; ++i)
    if (name == values[i].name)
      return i;
  return unknownName(name, values, count, what);
}

std::string fileStem(StringRef name) {
  std::string result = name.str();
  for (char &c : result)
    if (c == '/' || c == '\0')
      c = '_';
  return result;
}

Expected<std::vector<Value>> makeInputs(InputSources sources, const lumen_value_info *inputs,
                                        uint32_t count, uint64_t seed) {
  std::vector<std::string> files(count);
  if (!sources.folder.empty()) {
    auto found = filesByInput(sources.folder, inputs, count);
    if (!found)
      return found.takeError();
    files = std::move(*found);
  }
  std::vector<std::optional<std::string>> texts(count);
  for (const std::string &argument : sources.arguments) {
    StringRef rest;
    Expected<uint32_t> index = splitName(argument, inputs, count, "input", rest);
    if (!index)
      return index.takeError();
    if (texts[*index])
      return usageError("--input " + argument + ": input '" + inputs[*index].name +
                        "' is given twice");
    texts[*index] = rest.str();
  }
  if (Error error = checkDims(sources.dims, inputs, count))
    return std::move(error);
  auto isCarried = [&](uint32_t i) {
    return files[i].empty() && !sources.carried.empty() && sources.carried[i];
  };
  for (uint32_t i = 0; i < count; ++i) {
    if (!files[i].empty())
      texts[i] = "@" + files[i];
    else if (!texts[i] && !sources.folder.empty() && !isCarried(i))
      return usageError(sources.folder + ": has no file for input '" + inputs[i].name +
                        "'; give it one, or a value as in --input " + inputs[i].name + "=random");
  }
  std::vector<Value> values(count);
  // Values that bring their shapes come first: others may take sizes from them.
  auto makeThose = [&](bool withShape) -> Error {
    for (uint32_t i = 0; i < count; ++i) {
      StringRef text = texts[i] ? StringRef(*texts[i]) : "random";
      bool bringsShape = isCarried(i) || text.starts_with("@") || text.contains(':');
      if (bringsShape != withShape)
        continue;
      // Inputs differ from each other, and one does not depend on the others.
      Expected<Value> value = isCarried(i)
                                  ? std::move(*sources.carried[i])
                                  : makeInput(inputs[i], text, seed + 1000003ull * i, sources.dims);
      if (!value)
        return value.takeError();
      values[i] = std::move(*value);
      if (withShape)
        learnDims(inputs[i], values[i].shape, sources.dims);
    }
    return Error::success();
  };
  for (bool withShape : {true, false})
    if (Error error = makeThose(withShape))
      return std::move(error);
  return values;
}

} // namespace lumen::run
