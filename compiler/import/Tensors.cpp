//===- Tensors.cpp --------------------------------------------------------===//

#include "compiler/import/Tensors.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA1.h"

#include <cstring>

using namespace mlir;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace lumen {

TensorReader::TensorReader(MLIRContext *context, StringRef modelPath, StringRef file,
                           uint64_t fileBlob, Diagnostics &diagnostics)
    : context(context), folder(path::parent_path(modelPath)), file(file), fileBlob(fileBlob),
      blobs(context->getOrLoadDialect<LumenDialect>()->getBlobs()), diagnostics(diagnostics) {
  if (folder.empty())
    folder = ".";
}

static ArrayRef<int64_t> dimsOf(const ::onnx::TensorProto &tensor) {
  static_assert(sizeof(tensor.dims().Get(0)) == sizeof(int64_t), "dims are int64");
  return {reinterpret_cast<const int64_t *>(tensor.dims().data()), size_t(tensor.dims_size())};
}

static uint64_t rawSize(int64_t count, unsigned bits) {
  return llvm::divideCeil(uint64_t(count) * bits, 8);
}

//===----------------------------------------------------------------------===//
// Where the bytes are
//===----------------------------------------------------------------------===//

namespace {
struct Form {
  TypedData data;
  const char *name;
  int64_t size;
};
} // namespace

static SmallVector<Form, 6> typedForms(const ::onnx::TensorProto &tensor) {
  return {{TypedData::Float, "float_data", tensor.float_data_size()},
          {TypedData::Int32, "int32_data", tensor.int32_data_size()},
          {TypedData::Int64, "int64_data", tensor.int64_data_size()},
          {TypedData::Double, "double_data", tensor.double_data_size()},
          {TypedData::Uint64, "uint64_data", tensor.uint64_data_size()},
          {TypedData::String, "string_data", tensor.string_data_size()}};
}

/// What does not depend on the element type.
bool TensorReader::isValid(const ::onnx::TensorProto &tensor, const std::string &what) {
  if (tensor.has_segment()) {
    diagnostics.error(what + ": is one segment of a tensor, which is not supported");
    return false;
  }
  bool isExternal = tensor.data_location() == ::onnx::TensorProto::EXTERNAL;
  SmallVector<std::string> forms;
  if (tensor.has_raw_data() || tensor.has_mapped_offset())
    forms.push_back("raw_data");
  if (tensor.has_raw_data() && tensor.has_mapped_offset())
    forms.push_back("raw_data again");
  for (const Form &form : typedForms(tensor))
    if (form.size)
      forms.push_back(form.name);
  if (isExternal)
    forms.push_back("external data");
  // An empty raw_data beside typed data is what some writers leave.
  if (forms.size() > 1 && !(tensor.has_raw_data() && tensor.raw_data().empty())) {
    diagnostics.error(what + ": has data in more than one form: " + llvm::join(forms, ", "));
    return false;
  }
  return true;
}

/// Numbers of the typed fields, in the layout of raw data.
bool TensorReader::typed(const ::onnx::TensorProto &tensor, const ElementKind &kind, int64_t count,
                         const std::string &what, std::string &storage) {
  int64_t given = 0;
  const char *expectedName = "";
  for (const Form &form : typedForms(tensor)) {
    if (form.data == kind.typedData) {
      given = form.size;
      expectedName = form.name;
    }
  }
  for (const Form &form : typedForms(tensor)) {
    if (form.size && form.data != kind.typedData) {
      diagnostics.error(what + ": holds " + form.name + ", expected " + expectedName + " for " +
                        kind.name);
      return false;
    }
  }
  // Numbers that make up the tensor: complex ones have two parts, a pair of
  // 4-bit elements shares one.
  bool isComplex =
      kind.code == ::onnx::TensorProto::COMPLEX64 || kind.code == ::onnx::TensorProto::COMPLEX128;
  int64_t expected = isComplex ? 2 * count : count;
  if (kind.bits == 2 || kind.bits == 4)
    expected = rawSize(count, kind.bits);
  if (given != expected) {
    diagnostics.error(what + ": " + Twine(given) + " numbers in " + expectedName + ", expected " +
                      Twine(expected) + " for " +
                      onnx::typeText(RankedTensorType::get(dimsOf(tensor), kind.type(context))));
    return false;
  }

  storage.reserve(rawSize(count, kind.bits));
  auto append = [&](const auto &numbers) {
    storage.append(reinterpret_cast<const char *>(numbers.data()),
                   numbers.size() * sizeof(numbers[0]));
  };
  switch (kind.typedData) {
  case TypedData::Float:
    append(tensor.float_data());
    return true;
  case TypedData::Double:
    append(tensor.double_data());
    return true;
  case TypedData::Int64:
    append(tensor.int64_data());
    return true;
  case TypedData::Uint64:
    if (kind.bits == 64) {
      append(tensor.uint64_data());
      return true;
    }
    for (uint64_t number : tensor.uint64_data()) {
      if (number > UINT32_MAX) {
        diagnostics.error(what + ": " + Twine(number) + " does not fit " + kind.name);
        return false;
      }
      auto narrow = static_cast<uint32_t>(number);
      storage.append(reinterpret_cast<const char *>(&narrow), sizeof(narrow));
    }
    return true;
  case TypedData::Int32:
    break;
  case TypedData::String:
    return false;
  }

  unsigned width = kind.bits == 6 ? 6 : std::max(kind.bits, 8u);
  uint32_t pending = 0;
  unsigned pendingBits = 0;
  for (int32_t number : tensor.int32_data()) {
    // Signed and bit-wise forms are both in use.
    if (width < 32 && (number < -(int64_t(1) << (width - 1)) || number >= int64_t(1) << width)) {
      diagnostics.error(what + ": " + Twine(number) + " does not fit " + kind.name);
      return false;
    }
    if (width != 6) {
      storage.append(reinterpret_cast<const char *>(&number), width / 8);
      continue;
    }
    pending |= uint32_t(number & 63) << pendingBits;
    for (pendingBits += 6; pendingBits >= 8; pendingBits -= 8, pending >>= 8)
      storage.push_back(char(pending));
  }
  if (pendingBits)
    storage.push_back(char(pending));
  return true;
}

std::optional<TensorBytes> TensorReader::locate(const ::onnx::TensorProto &tensor,
                                                const ElementKind &kind, int64_t count,
                                                const std::string &what, std::string &storage) {
  uint64_t expected = rawSize(count, kind.bits);
  TensorBytes result;
  if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL) {
    std::optional<TensorBytes> found = external(tensor, expected, what);
    if (!found)
      return std::nullopt;
    result = *found;
  } else if (tensor.has_mapped_offset()) {
    result = {file.substr(tensor.mapped_offset(), tensor.mapped_size()), fileBlob,
              tensor.mapped_offset()};
  } else if (tensor.has_raw_data() && !tensor.raw_data().empty()) {
    result.bytes = tensor.raw_data();
  } else {
    if (!typed(tensor, kind, count, what, storage))
      return std::nullopt;
    result.bytes = storage;
  }
  if (result.bytes.size() != expected) {
    diagnostics.error(what + ": " + Twine(result.bytes.size()) + " bytes of data, expected " +
                      Twine(expected) + " for " +
                      onnx::typeText(RankedTensorType::get(dimsOf(tensor), kind.type(context))));
    return std::nullopt;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// External data
//===----------------------------------------------------------------------===//

TensorReader::MappedFile *TensorReader::openExternal(StringRef location, const std::string &what) {
  auto known = files.find(location);
  if (known != files.end())
    return &known->second;

  auto fail = [&](const Twine &why) -> MappedFile * {
    diagnostics.error(what + ": external data '" + location + "': " + why);
    return nullptr;
  };
  if (location.empty() || location.contains('\0'))
    return fail("is not a file name");
  if (path::is_absolute(location))
    return fail("is an absolute path, which is not allowed");
  for (StringRef part : llvm::make_range(path::begin(location), path::end(location)))
    if (part == "..")
      return fail("leaves the model's folder");

  SmallString<256> full(folder), realFolder, realFile;
  path::append(full, location);
  if (std::error_code error = fs::real_path(full, realFile))
    return fail(error.message());
  if (std::error_code error = fs::real_path(folder, realFolder))
    return fail(error.message());
  StringRef inside = realFile;
  if (!inside.consume_front(realFolder) ||
      !(inside.empty() || inside.starts_with("/") || realFolder.str().ends_with("/")))
    return fail("is a link that leaves the model's folder");
  if (!fs::is_regular_file(realFile))
    return fail("is not a regular file");
  auto buffer = llvm::MemoryBuffer::getFile(realFile, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(buffer.getError().message());
  StringRef bytes = (*buffer)->getBuffer();
  uint64_t blob = blobs.add(std::move(*buffer));
  return &files.emplace(location.str(), MappedFile{blob, bytes, ""}).first->second;
}

std::optional<TensorBytes> TensorReader::external(const ::onnx::TensorProto &tensor,
                                                  uint64_t expected, const std::string &what) {
  std::string location, offsetText, lengthText, checksum;
  for (const auto &entry : tensor.external_data()) {
    // Other keys are notes of the writer's own.
    if (entry.key() == "location")
      location = entry.value();
    else if (entry.key() == "offset")
      offsetText = entry.value();
    else if (entry.key() == "length")
      lengthText = entry.value();
    else if (entry.key() == "checksum")
      checksum = entry.value();
  }
  if (location.empty()) {
    diagnostics.error(what + ": external data has no location");
    return std::nullopt;
  }
  uint64_t offset = 0, length = 0;
  if (!offsetText.empty() && !llvm::to_integer(offsetText, offset, 10)) {
    diagnostics.error(what + ": external data '" + location + "': offset '" + offsetText +
                      "' is not a number");
    return std::nullopt;
  }
  if (!lengthText.empty() && !llvm::to_integer(lengthText, length, 10)) {
    diagnostics.error(what + ": external data '" + location + "': length '" + lengthText +
                      "' is not a number");
    return std::nullopt;
  }
  MappedFile *mapped = openExternal(location, what);
  if (!mapped)
    return std::nullopt;
  if (lengthText.empty())
    length = expected;
  if (offset > mapped->bytes.size() || length > mapped->bytes.size() - offset) {
    diagnostics.error(what + ": external data '" + location + "': bytes " + Twine(offset) + " to " +
                      Twine(offset) + "+" + Twine(length) + " lie outside the file of " +
                      Twine(mapped->bytes.size()) + " bytes");
    return std::nullopt;
  }
  if (!checksum.empty()) {
    if (mapped->sha1.empty())
      mapped->sha1 = llvm::toHex(llvm::SHA1::hash(llvm::arrayRefFromStringRef(mapped->bytes)),
                                 /*LowerCase=*/true);
    if (!StringRef(checksum).equals_insensitive(mapped->sha1)) {
      diagnostics.error(what + ": external data '" + location + "': has SHA-1 " + mapped->sha1 +
                        ", expected " + checksum);
      return std::nullopt;
    }
  }
  return TensorBytes{mapped->bytes.substr(offset, length), mapped->blob, offset};
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

DenseElementsAttr TensorReader::dense(StringRef bytes, const ElementKind &kind,
                                      RankedTensorType type) {
  int64_t count = type.getNumElements();
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> values(
        llvm::map_range(bytes.take_front(count), [](char byte) { return byte != 0; }));
    return DenseElementsAttr::get(type, ArrayRef<bool>(values));
  }
  if (kind.bits >= 8)
    return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(bytes.data(), bytes.size()));
  // Dense elements have a byte each.
  SmallVector<char> unpacked;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bit = uint64_t(i) * kind.bits, at = bit / 8;
    uint32_t window = uint8_t(bytes[at]);
    if (at + 1 < bytes.size())
      window |= uint32_t(uint8_t(bytes[at + 1])) << 8;
    unpacked.push_back(char((window >> (bit % 8)) & ((1u << kind.bits) - 1)));
  }
  return DenseElementsAttr::getFromRawBuffer(type, unpacked);
}

TypedAttr TensorReader::strings(const ::onnx::TensorProto &tensor, RankedTensorType type,
                                int64_t count, const std::string &what) {
  if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL || tensor.has_mapped_offset() ||
      tensor.has_raw_data()) {
    diagnostics.error(what + ": strings must be in string_data");
    return {};
  }
  if (tensor.string_data_size() != count) {
    diagnostics.error(what + ": " + Twine(tensor.string_data_size()) +
                      " strings in string_data, expected " + Twine(count) + " for " +
                      onnx::typeText(type));
    return {};
  }
  SmallVector<StringRef> values(tensor.string_data().begin(), tensor.string_data().end());
  return cast<TypedAttr>(DenseElementsAttr::get(type, values));
}

/// Whether all elements of `width` bytes are the same.
static bool isSplat(StringRef bytes, size_t width) {
  return std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

TypedAttr TensorReader::read(const ::onnx::TensorProto &tensor, const Twine &whatTwine) {
  std::string what = whatTwine.str();
  const ElementKind *kind = findElementKind(tensor.data_type());
  if (!kind) {
    diagnostics.error(what + ": element type " + Twine(tensor.data_type()) +
                      (tensor.data_type() == 0 ? " (undefined)" : " is not known to this version"));
    return {};
  }
  ArrayRef<int64_t> dims = dimsOf(tensor);
  if (!checkRank(dims.size(), what, diagnostics))
    return {};
  std::optional<int64_t> count = countElements(dims);
  if (!count) {
    bool isNegative = llvm::any_of(dims, [](int64_t size) { return size < 0; });
    diagnostics.error(what + ": shape " + shapeText(dims) +
                      (isNegative ? " has a negative size" : " is larger than memory can be"));
    return {};
  }
  if (!isValid(tensor, what))
    return {};
  auto type = RankedTensorType::get(dims, kind->type(context));
  if (kind->typedData == TypedData::String)
    return strings(tensor, type, *count, what);

  std::string storage;
  std::optional<TensorBytes> found = locate(tensor, *kind, *count, what, storage);
  if (!found)
    return {};
  if (*count == 0 || *count <= onnx::kMaxDenseElements)
    return cast<TypedAttr>(dense(found->bytes, *kind, type));
  if (kind->bits >= 8 && isSplat(found->bytes, kind->bits / 8))
    return cast<TypedAttr>(dense(found->bytes.take_front(kind->bits / 8), *kind,
                                 RankedTensorType::get({1}, kind->type(context)))
                               .resizeSplat(type));

  // A boolean is one byte of 0 or 1 everywhere behind the importer.
  bool isBool = kind->code == ::onnx::TensorProto::BOOL;
  bool needsCopy =
      !found->blob ||
      (isBool && llvm::any_of(found->bytes, [](char byte) { return byte != 0 && byte != 1; }));
  if (needsCopy) {
    MutableArrayRef<char> data;
    uint64_t id = blobs.allocate(found->bytes.size(), data);
    llvm::copy(found->bytes, data.begin());
    if (isBool)
      for (char &byte : data)
        byte = byte != 0;
    return cast<TypedAttr>(BlobAttr::get(context, id, 0, data.size(), type));
  }
  return cast<TypedAttr>(
      BlobAttr::get(context, *found->blob, found->offset, found->bytes.size(), type));
}

onnx::SparseTensorAttr TensorReader::read(const ::onnx::SparseTensorProto &tensor,
                                          const Twine &whatTwine) {
  std::string what = whatTwine.str();
  TypedAttr values = read(tensor.values(), what + " (values)");
  TypedAttr indices = read(tensor.indices(), what + " (indices)");
  if (!values || !indices)
    return {};
  ArrayRef<int64_t> dims(reinterpret_cast<const int64_t *>(tensor.dims().data()),
                         size_t(tensor.dims_size()));
  if (!checkRank(dims.size(), what, diagnostics))
    return {};
  if (!countElements(dims)) {
    diagnostics.error(what + ": its shape has a negative size or is larger than memory can be");
    return {};
  }
  auto valuesType = cast<RankedTensorType>(values.getType());
  auto indicesType = cast<RankedTensorType>(indices.getType());
  int64_t rank = dims.size();
  bool isLinear = indicesType.getRank() == 1, isRows = indicesType.getRank() == 2;
  if (valuesType.getRank() != 1 || !indicesType.getElementType().isInteger(64) ||
      !(isLinear || (isRows && indicesType.getDimSize(1) == rank)) ||
      indicesType.getDimSize(0) != valuesType.getDimSize(0)) {
    diagnostics.error(what + ": values of shape " + shapeText(valuesType.getShape()) +
                      " and indices of shape " + shapeText(indicesType.getShape()) +
                      " do not make up a sparse tensor of " + shapeText(dims));
    return {};
  }
  return onnx::SparseTensorAttr::get(context, values, indices,
                                     RankedTensorType::get(dims, valuesType.getElementType()));
}

} // namespace lumen
