#include "Npy.h"

#include "Values.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <optional>

using namespace llvm;

namespace lumen::run {

namespace {

struct DescrRow {
  const char *descr;
  lumen_dtype dtype;
};

constexpr DescrRow descrs[] = {
    {"<f4", LUMEN_F32}, {"<f8", LUMEN_F64},   {"<f2", LUMEN_F16}, {"|i1", LUMEN_I8},
    {"<i2", LUMEN_I16}, {"<i4", LUMEN_I32},   {"<i8", LUMEN_I64}, {"|u1", LUMEN_U8},
    {"<u2", LUMEN_U16}, {"<u4", LUMEN_U32},   {"<u8", LUMEN_U64}, {"|b1", LUMEN_BOOL},
    {"<c8", LUMEN_C64}, {"<c16", LUMEN_C128},
};

std::optional<lumen_dtype> dtypeOf(StringRef descr) {
  for (const DescrRow &row : descrs)
    if (descr == row.descr)
      return row.dtype;
  return std::nullopt;
}

// What follows "'key': " in the header's dict.
StringRef field(StringRef header, StringRef key) {
  size_t at = header.find(("'" + key + "'").str());
  if (at == StringRef::npos)
    return {};
  return header.drop_front(at + key.size() + 2).ltrim().drop_front(1).ltrim();
}

template <typename... Args> Error fail(const Twine &path, const char *format, Args... args) {
  return createStringError(inconvertibleErrorCode(), ("%s: " + StringRef(format)).str().c_str(),
                           path.str().c_str(), args...);
}

Expected<std::vector<int64_t>> parseShape(StringRef path, StringRef text) {
  std::vector<int64_t> shape;
  if (!text.consume_front("("))
    return fail(path, "the header of the .npy file has no shape");
  text = text.take_until([](char c) { return c == ')'; });
  int64_t count = 1;
  while (!(text = text.ltrim(" ,")).empty()) {
    int64_t extent;
    if (text.consumeInteger(10, extent) || extent < 0 ||
        __builtin_mul_overflow(count, extent ? extent : 1, &count) || count > INT64_MAX / 16)
      return fail(path, "the shape in the .npy header cannot be read");
    shape.push_back(extent);
  }
  return shape;
}

// From the first index fastest to the last index fastest.
Tensor fromFortran(const Tensor &source) {
  Tensor result(source.dtype, source.shape);
  size_t rank = source.shape.size();
  size_t size = lumen_dl_dtype_of(source.dtype).bits / 8;
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (size_t d = 1; d < rank; ++d)
    stride[d] = stride[d - 1] * source.shape[d - 1];
  for (int64_t i = 0, count = source.numElements(); i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < rank; ++d)
      at += index[d] * stride[d];
    std::memcpy(&result.bytes[i * size], &source.bytes[at * size], size);
    for (size_t d = rank; d-- > 0 && ++index[d] == source.shape[d];)
      index[d] = 0;
  }
  return result;
}

} // namespace

Expected<Tensor> readNpy(StringRef path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(path, "cannot be read: %s", file.getError().message().c_str());
  StringRef bytes = (*file)->getBuffer();
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 12)
    return fail(path, "is not a .npy file");
  unsigned version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return fail(path, "is a .npy file of version %u, expected 1 to 3", version);
  size_t start = version == 1 ? 10 : 12;
  size_t length = version == 1 ? support::endian::read16le(bytes.data() + 8)
                               : support::endian::read32le(bytes.data() + 8);
  if (bytes.size() < start + length)
    return fail(path, "ends within its header");
  StringRef header = bytes.substr(start, length), data = bytes.drop_front(start + length);

  StringRef descr = field(header, "descr");
  descr.consume_front("'");
  descr = descr.take_until([](char c) { return c == '\''; });
  std::optional<lumen_dtype> dtype = dtypeOf(descr);
  if (!dtype)
    return fail(path, "has elements of type '%s', expected little-endian numbers or booleans",
                descr.str().c_str());
  auto shape = parseShape(path, field(header, "shape"));
  if (!shape)
    return shape.takeError();
  uint64_t expected = numBytes(*dtype, numElements(*shape));
  if (data.size() != expected)
    return fail(path, "has %llu bytes of data, expected %llu",
                static_cast<unsigned long long>(data.size()),
                static_cast<unsigned long long>(expected));
  Tensor tensor(*dtype, *shape);
  if (expected)
    std::memcpy(tensor.bytes.data(), data.data(), expected);
  if (field(header, "fortran_order").starts_with("True"))
    return fromFortran(tensor);
  return tensor;
}

Error writeNpy(StringRef path, TensorView tensor) {
  const char *descr = nullptr;
  for (const DescrRow &row : descrs)
    if (row.dtype == tensor.dtype)
      descr = row.descr;
  if (!descr) {
    bool isSigned = tensor.dtype == LUMEN_I4 || tensor.dtype == LUMEN_I2;
    return writeNpy(path, convert(tensor, isFloat(tensor.dtype) ? LUMEN_F32
                                          : isSigned            ? LUMEN_I8
                                                                : LUMEN_U8));
  }
  std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : tensor.shape)
    header += std::to_string(extent) + ", ";
  if (tensor.shape.size() > 1)
    header.resize(header.size() - 2);
  else if (tensor.shape.size() == 1)
    header.pop_back();
  header += "), }";
  // Data starts on a multiple of 64, the header ends with a newline.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';

  return writeFile(path, [&](raw_ostream &out) {
    char prefix[10] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0};
    support::endian::write16le(prefix + 8, static_cast<uint16_t>(header.size()));
    out.write(prefix, sizeof(prefix));
    out << header;
    out.write(tensor.data, numBytes(tensor.dtype, tensor.numElements()));
  });
}

} // namespace lumen::run
