#include "TensorProto.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

using namespace llvm;

namespace lumen::run {

namespace {

// Fields of TensorProto.
enum Field : uint32_t {
  Dims = 1,
  DataType = 2,
  FloatData = 4,
  Int32Data = 5,
  StringData = 6,
  Int64Data = 7,
  RawData = 9,
  DoubleData = 10,
  Uint64Data = 11,
  ExternalData = 13,
  DataLocation = 14
};

enum WireType : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

Error fail(StringRef path, const Twine &message) {
  return createStringError(inconvertibleErrorCode(), "%s: %s", path.str().c_str(),
                           message.str().c_str());
}

bool readVarint(StringRef &bytes, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    auto byte = static_cast<uint8_t>(bytes.front());
    bytes = bytes.drop_front();
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return false;
}

// What was found in the file, before it is known which type it has.
struct Fields {
  std::vector<int64_t> dims;
  uint64_t dataType = 0;
  StringRef rawData;
  bool hasRawData = false, isExternal = false;
  std::vector<char> floats, doubles; // as they are in the file
  std::vector<uint64_t> integers;
};

// One number, or several in a packed field.
bool readNumbers(uint32_t wire, StringRef bytes, uint64_t value, std::vector<uint64_t> &numbers) {
  if (wire == Varint) {
    numbers.push_back(value);
    return true;
  }
  while (!bytes.empty()) {
    if (wire != Bytes || !readVarint(bytes, value))
      return false;
    numbers.push_back(value);
  }
  return true;
}

bool readField(uint32_t field, uint32_t wire, StringRef bytes, uint64_t value, Fields &fields) {
  switch (field) {
  case Dims: {
    std::vector<uint64_t> numbers;
    if (!readNumbers(wire, bytes, value, numbers))
      return false;
    fields.dims.insert(fields.dims.end(), numbers.begin(), numbers.end());
    return true;
  }
  case DataType:
    fields.dataType = value;
    return wire == Varint;
  case Int32Data:
  case Int64Data:
  case Uint64Data:
    return readNumbers(wire, bytes, value, fields.integers);
  case FloatData:
    fields.floats.insert(fields.floats.end(), bytes.begin(), bytes.end());
    return wire == Bytes || wire == Fixed32;
  case DoubleData:
    fields.doubles.insert(fields.doubles.end(), bytes.begin(), bytes.end());
    return wire == Bytes || wire == Fixed64;
  case RawData:
    fields.rawData = bytes;
    fields.hasRawData = true;
    return wire == Bytes;
  case ExternalData:
    fields.isExternal = true;
    return true;
  case DataLocation:
    fields.isExternal |= value == 1;
    return true;
  default: // names, documentation, metadata
    return true;
  }
}

bool readFields(StringRef bytes, Fields &fields) {
  while (!bytes.empty()) {
    uint64_t key, value = 0;
    if (!readVarint(bytes, key))
      return false;
    uint32_t wire = key & 7;
    size_t length = 0;
    if (wire == Varint || wire == Bytes) {
      if (!readVarint(bytes, value))
        return false;
      length = wire == Bytes ? value : 0;
    } else if (wire == Fixed32 || wire == Fixed64) {
      length = wire == Fixed32 ? 4 : 8;
    } else {
      return false;
    }
    if (length > bytes.size() ||
        !readField(static_cast<uint32_t>(key >> 3), wire, bytes.take_front(length), value, fields))
      return false;
    bytes = bytes.drop_front(length);
  }
  return true;
}

// The typed fields hold small types as wider integers.
void copyIntegers(const Fields &fields, Tensor &tensor) {
  unsigned bits = lumen_dl_dtype_of(tensor.dtype).bits;
  for (size_t i = 0; i < fields.integers.size(); ++i) {
    uint64_t value = fields.integers[i];
    // Below 8 bits each number is a byte of packed elements already; floats are
    // given by their bits.
    std::memcpy(&tensor.bytes[i * std::max(bits / 8, 1u)], &value, std::max(bits / 8, 1u));
  }
}

} // namespace

Expected<Tensor> readTensorProto(StringRef path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(path, "cannot be read: " + file.getError().message());
  Fields fields;
  if (!readFields((*file)->getBuffer(), fields))
    return fail(path, "is not an ONNX TensorProto");
  if (fields.isExternal)
    return fail(path, "has its data in another file, which is not read");
  auto dtype = static_cast<lumen_dtype>(fields.dataType);
  unsigned bits = lumen_dl_dtype_of(fields.dataType).bits;
  if (fields.dataType == LUMEN_STRING)
    return fail(path, "is a tensor of strings, expected numbers or booleans");
  if (!bits)
    return fail(path, "has elements of type " + Twine(fields.dataType) + ", which is not known");
  int64_t count = 1;
  for (int64_t extent : fields.dims)
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > INT64_MAX / 16)
      return fail(path, "has a shape that no memory holds");

  uint64_t expected = numBytes(dtype, count), found = fields.rawData.size();
  // Each type has one typed field; 16-bit floats and smaller are among the integers.
  const std::vector<char> none;
  const std::vector<char> &floats = dtype == LUMEN_F32 || dtype == LUMEN_C64    ? fields.floats
                                    : dtype == LUMEN_F64 || dtype == LUMEN_C128 ? fields.doubles
                                                                                : none;
  bool isWideFloat = bits >= 32 && isFloat(dtype);
  if (!fields.hasRawData)
    found = isWideFloat ? floats.size() : fields.integers.size() * std::max(bits / 8, 1u);
  if (found != expected)
    return fail(path, "has " + Twine(found) + " bytes of data, expected " + Twine(expected));
  Tensor tensor(dtype, fields.dims);
  if (fields.hasRawData)
    std::copy(fields.rawData.begin(), fields.rawData.end(), tensor.bytes.begin());
  else if (isWideFloat)
    tensor.bytes = floats;
  else
    copyIntegers(fields, tensor);
  return tensor;
}

} // namespace lumen::run
