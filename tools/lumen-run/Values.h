// Values of every kind that a model takes and gives, and their files.
#ifndef LUMEN_RUN_VALUES_H
#define LUMEN_RUN_VALUES_H

#include "Elements.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace lumen::run {

// A value that owns all that it holds. As a tensor of numbers it is its base.
struct Value : Tensor {
  uint32_t kind = LUMEN_TENSOR;     // lumen_kind
  std::vector<std::string> strings; // of a tensor of strings; `shape` is its shape
  std::vector<Value> items;         // of a sequence; what an optional holds: one, or none

  Value() = default;
  Value(Tensor tensor) : Tensor(std::move(tensor)) {}

  // For the API, with pointers into this value, which must not change while they
  // are used.
  lumen_value view();

private:
  std::vector<lumen_string> texts;
  std::vector<lumen_value> views;
};

// Whether it is a tensor of numbers, of which files are .npy and .pb.
inline bool isNumbers(const lumen_value_info &info) {
  return info.kind == LUMEN_TENSOR && info.dtype != LUMEN_STRING;
}

// A copy of what a run has given.
Value copyOf(const lumen_value &value, uint32_t dtype);

// Files of other values are JSON. A tensor is {"type": "f32", "dims": [2], "data": [1, 2]},
// where the data of strings are strings and what JSON has no number for is "nan", "inf"
// or "-inf"; a sequence is an array of tensors; an optional is null or what it holds.
llvm::Expected<Value> readJson(llvm::StringRef path, const lumen_value_info &info);
llvm::Error writeJson(llvm::StringRef path, const lumen_value &value, uint32_t dtype);

// Writes what `write` prints; an error names the file.
llvm::Error writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

// JSON knows no infinities: they are "inf" and "-inf", and NaN is "nan".
llvm::json::Value numberJson(double value);

// As JSON writes it; what is no UTF-8 is replaced.
std::string quoted(llvm::StringRef text);

// "string[3]", "sequence of 2", "optional without a value".
std::string describe(const Value &value);

} // namespace lumen::run

#endif
