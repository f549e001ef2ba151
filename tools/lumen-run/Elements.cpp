#include "Elements.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>

using namespace llvm;

namespace lumen::run {

namespace {

struct TypeRow {
  const char *name;
  // Of the types that the host has no arithmetic for.
  const fltSemantics &(*semantics)() = nullptr;
};

const TypeRow &row(uint32_t dtype) {
  static const TypeRow rows[] = {{"unknown"},
                                 {"f32"},
                                 {"u8"},
                                 {"i8"},
                                 {"u16"},
                                 {"i16"},
                                 {"i32"},
                                 {"i64"},
                                 {"string"},
                                 {"bool"},
                                 {"f16", APFloat::IEEEhalf},
                                 {"f64"},
                                 {"u32"},
                                 {"u64"},
                                 {"c64"},
                                 {"c128"},
                                 {"bf16", APFloat::BFloat},
                                 {"f8e4m3fn", APFloat::Float8E4M3FN},
                                 {"f8e4m3fnuz", APFloat::Float8E4M3FNUZ},
                                 {"f8e5m2", APFloat::Float8E5M2},
                                 {"f8e5m2fnuz", APFloat::Float8E5M2FNUZ},
                                 {"u4"},
                                 {"i4"},
                                 {"f4e2m1", APFloat::Float4E2M1FN},
                                 {"f8e8m0", APFloat::Float8E8M0FNU},
                                 {"u2"},
                                 {"i2"}};
  return rows[dtype < std::size(rows) ? dtype : 0];
}

template <typename T> T load(const char *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void store(char *data, int64_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

unsigned bitsOf(uint32_t dtype) { return lumen_dl_dtype_of(dtype).bits; }

// The raw bits of one element of at most 16, packed from the low end.
uint32_t loadBits(const char *data, int64_t index, unsigned bits) {
  if (bits == 16)
    return load<uint16_t>(data, index);
  int64_t perByte = 8 / bits;
  uint8_t byte = load<uint8_t>(data, index / perByte);
  return (byte >> (index % perByte * bits)) & ((1u << bits) - 1);
}

void storeBits(char *data, int64_t index, unsigned bits, uint32_t value) {
  if (bits == 16)
    return store<uint16_t>(data, index, static_cast<uint16_t>(value));
  int64_t perByte = 8 / bits;
  unsigned shift = index % perByte * bits, mask = ((1u << bits) - 1) << shift;
  uint8_t byte = load<uint8_t>(data, index / perByte);
  store<uint8_t>(data, index / perByte,
                 static_cast<uint8_t>((byte & ~mask) | ((value << shift) & mask)));
}

} // namespace

int64_t numElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

uint64_t numBytes(lumen_dtype dtype, int64_t count) {
  return (static_cast<uint64_t>(count) * bitsOf(dtype) + 7) / 8;
}

Tensor::Tensor(lumen_dtype dtype, ArrayRef<int64_t> shape)
    : dtype(dtype), shape(shape.vec()), bytes(numBytes(dtype, lumen::run::numElements(shape))) {}

int64_t Tensor::numElements() const { return lumen::run::numElements(shape); }
int64_t TensorView::numElements() const { return lumen::run::numElements(shape); }

StringRef dtypeName(uint32_t dtype) { return row(dtype).name; }

bool isFloat(uint32_t dtype) {
  return dtype == LUMEN_F32 || dtype == LUMEN_F64 || isComplex(dtype) || row(dtype).semantics;
}

bool isComplex(uint32_t dtype) { return dtype == LUMEN_C64 || dtype == LUMEN_C128; }

long double getElement(lumen_dtype dtype, const char *data, int64_t index) {
  switch (dtype) {
  case LUMEN_F32:
  case LUMEN_C64:
    return load<float>(data, index);
  case LUMEN_F64:
  case LUMEN_C128:
    return load<double>(data, index);
  case LUMEN_I8:
    return load<int8_t>(data, index);
  case LUMEN_I16:
    return load<int16_t>(data, index);
  case LUMEN_I32:
    return load<int32_t>(data, index);
  case LUMEN_I64:
    return load<int64_t>(data, index);
  case LUMEN_U8:
    return load<uint8_t>(data, index);
  case LUMEN_BOOL:
    return load<uint8_t>(data, index) != 0;
  case LUMEN_U16:
    return load<uint16_t>(data, index);
  case LUMEN_U32:
    return load<uint32_t>(data, index);
  case LUMEN_U64:
    return load<uint64_t>(data, index);
  default:
    break;
  }
  unsigned bits = bitsOf(dtype);
  uint32_t raw = loadBits(data, index, bits);
  if (auto *semantics = row(dtype).semantics) {
    APFloat value(semantics(), APInt(bits, raw));
    // LLVM makes infinity of the NaN of f8E8M0, which has no bits of a fraction.
    if (value.isNaN())
      return std::numeric_limits<double>::quiet_NaN();
    bool lossy;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    return value.convertToDouble();
  }
  bool negative = (dtype == LUMEN_I4 || dtype == LUMEN_I2) && raw >> (bits - 1);
  return negative ? static_cast<int64_t>(raw) - (1 << bits) : raw;
}

void setElement(lumen_dtype dtype, char *data, int64_t index, long double value) {
  switch (dtype) {
  case LUMEN_F32:
  case LUMEN_C64:
    return store(data, index, static_cast<float>(value));
  case LUMEN_F64:
  case LUMEN_C128:
    return store(data, index, static_cast<double>(value));
  case LUMEN_U64:
    return store(data, index,
                 value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                           : static_cast<uint64_t>(value));
  default:
    break;
  }
  unsigned bits = bitsOf(dtype);
  if (auto *semantics = row(dtype).semantics) {
    APFloat narrow(static_cast<double>(value));
    bool lossy;
    narrow.convert(semantics(), APFloat::rmNearestTiesToEven, &lossy);
    return storeBits(data, index, bits,
                     static_cast<uint32_t>(narrow.bitcastToAPInt().getZExtValue()));
  }
  auto integer = static_cast<int64_t>(value);
  if (dtype == LUMEN_BOOL)
    return store<uint8_t>(data, index, value != 0);
  if (bits == 64)
    return store(data, index, integer);
  if (bits == 32)
    return store(data, index, static_cast<int32_t>(integer));
  storeBits(data, index, bits, static_cast<uint32_t>(integer));
}

Tensor convert(TensorView tensor, lumen_dtype dtype) {
  Tensor result(dtype, tensor.shape);
  int64_t count = tensor.numElements() * (isComplex(dtype) ? 2 : 1);
  for (int64_t i = 0; i < count; ++i)
    setElement(dtype, result.bytes.data(), i, getElement(tensor.dtype, tensor.data, i));
  return result;
}

std::string formatShape(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

} // namespace lumen::run
