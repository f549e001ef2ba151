// Tensors in memory, and their elements as numbers.
#ifndef LUMEN_RUN_ELEMENTS_H
#define LUMEN_RUN_ELEMENTS_H

#include "lumen.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace lumen::run {

// A dense, row-major tensor that owns its bytes.
struct Tensor {
  lumen_dtype dtype = LUMEN_F32;
  std::vector<int64_t> shape;
  std::vector<char> bytes;

  Tensor() = default;
  // Zeroed.
  Tensor(lumen_dtype dtype, llvm::ArrayRef<int64_t> shape);
  int64_t numElements() const;
};

// Of bytes that belong to somebody else.
struct TensorView {
  lumen_dtype dtype;
  llvm::ArrayRef<int64_t> shape;
  const char *data;

  TensorView(lumen_dtype dtype, llvm::ArrayRef<int64_t> shape, const void *data)
      : dtype(dtype), shape(shape), data(static_cast<const char *>(data)) {}
  TensorView(const Tensor &tensor)
      : dtype(tensor.dtype), shape(tensor.shape), data(tensor.bytes.data()) {}
  int64_t numElements() const;
};

int64_t numElements(llvm::ArrayRef<int64_t> shape);
// Bytes of `count` elements; types of less than a byte are packed.
uint64_t numBytes(lumen_dtype dtype, int64_t count);

// "f32", "i64", ...
llvm::StringRef dtypeName(uint32_t dtype);
bool isFloat(uint32_t dtype);
bool isComplex(uint32_t dtype);

// Elements as numbers: exact for every type but 64-bit integers on machines
// whose long double is a double. A complex number is two elements.
long double getElement(lumen_dtype dtype, const char *data, int64_t index);
// Rounds to the nearest value; integers are cut to their width.
void setElement(lumen_dtype dtype, char *data, int64_t index, long double value);

// The same values in another type.
Tensor convert(TensorView tensor, lumen_dtype dtype);

// "1x3x224x224", "" for a scalar.
std::string formatShape(llvm::ArrayRef<int64_t> shape);

} // namespace lumen::run

#endif
