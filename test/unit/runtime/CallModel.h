// Models of one call, and the strings, sequences and optionals that they take and give.
#ifndef LUMEN_TEST_CALLMODEL_H
#define LUMEN_TEST_CALLMODEL_H

#include "TableModel.h"

#include "lumen_calls.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace lumen::test {

using Strings = std::vector<std::string>;

constexpr auto tensor = LUMEN_ABI_CALL_TENSOR;
constexpr auto object = LUMEN_ABI_CALL_VALUE;
constexpr auto extents = LUMEN_ABI_CALL_EXTENTS;

// The form of attributes in lumen_calls.h.
class Attributes {
public:
  Attributes &integer(int64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
    return *this;
  }
  Attributes &real(double value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
    return *this;
  }
  Attributes &string(const std::string &value) {
    integer(value.size());
    bytes += value;
    bytes.resize((bytes.size() + 7) / 8 * 8);
    return *this;
  }
  Attributes &integers(const std::vector<int64_t> &values) {
    integer(values.size());
    for (int64_t value : values)
      integer(value);
    return *this;
  }
  Attributes &reals(const std::vector<double> &values) {
    integer(values.size());
    for (double value : values)
      real(value);
    return *this;
  }
  Attributes &strings(const Strings &values) {
    integer(values.size());
    for (const std::string &value : values)
      string(value);
    return *this;
  }
  std::string bytes;
};

// Owns what a value of strings points to.
struct StringsValue {
  StringsValue(Strings texts, std::vector<int64_t> shape)
      : texts(std::move(texts)), shape(std::move(shape)) {
    for (const std::string &text : this->texts)
      rows.push_back({text.empty() ? nullptr : text.data(), text.size()});
    value.kind = LUMEN_STRINGS;
    value.u.strings = {rows.data(), static_cast<int32_t>(this->shape.size()), this->shape.data()};
  }
  Strings texts;
  std::vector<int64_t> shape;
  std::vector<lumen_string> rows;
  lumen_value value = {};
};

inline uint64_t elementsOf(int32_t rank, const int64_t *shape) {
  uint64_t count = 1;
  for (int32_t d = 0; d < rank; ++d)
    count *= shape[d];
  return count;
}

inline Strings textsOf(const lumen_value &value) {
  EXPECT_EQ(value.kind, uint32_t(LUMEN_STRINGS));
  Strings result;
  uint64_t count = elementsOf(value.u.strings.ndim, value.u.strings.shape);
  for (uint64_t i = 0; i < count; ++i)
    result.emplace_back(value.u.strings.data[i].data, value.u.strings.data[i].length);
  return result;
}

inline std::vector<int64_t> shapeOf(const lumen_value &value) {
  bool strings = value.kind == LUMEN_STRINGS;
  const int64_t *shape = strings ? value.u.strings.shape : value.u.tensor.shape;
  return {shape, shape + (strings ? value.u.strings.ndim : value.u.tensor.ndim)};
}

template <typename T> std::vector<T> dataOf(const lumen_value &value) {
  auto *data = static_cast<const T *>(value.u.tensor.data);
  return {data, data + elementsOf(value.u.tensor.ndim, value.u.tensor.shape)};
}

// A model of inputs, one call and its outputs.
struct CallModel : TableModel {
  CallModel() : TableModel("calls") {}

  // Inputs of any extents. `symbols` becomes the expressions of their extents.
  Arg stringsIn(const char *name, int32_t rank) {
    return {input(name, LUMEN_ABI_STRING, dims(rank)), object, LUMEN_ABI_STRING, rank};
  }
  Arg tensorIn(const char *name, lumen_abi_dtype dtype, int32_t rank) {
    std::vector<lumen_abi_dim> shape = dims(rank);
    for (const lumen_abi_dim &dim : shape)
      sizes.push_back(valueOf(dim.expr));
    return {input(name, dtype, shape), tensor, dtype, rank};
  }
  Arg valueIn(const char *name, lumen_abi_kind kind, lumen_abi_dtype dtype) {
    uint32_t buffer = input(name, dtype, {});
    inputs.back().kind = kind;
    inputs.back().rank = -1;
    return {buffer, object};
  }
  Arg valueOut(const char *name, lumen_abi_kind kind = LUMEN_ABI_TENSOR,
               lumen_abi_dtype dtype = LUMEN_ABI_STRING) {
    uint32_t buffer = output(name, dtype, {});
    outputs.back().kind = kind;
    outputs.back().rank = -1;
    return {buffer, object};
  }
  // A tensor whose extents the call says, read back into symbols by addCall().
  std::vector<Arg> tensorOut(const char *name, lumen_abi_dtype dtype, int32_t rank) {
    results.push_back({name, dtype, rank});
    std::vector<lumen_abi_dim> shape;
    for (int32_t d = 0; d < rank; ++d)
      shape.push_back(dynamic("?", LUMEN_ABI_NONE));
    uint32_t buffer = output(name, dtype, shape);
    results.back().output = outputs.size() - 1;
    results.back().extents = arena(constant(rank * 8), 0, 1000);
    return {{buffer, tensor, dtype, rank}, {results.back().extents, extents, LUMEN_ABI_I64, rank}};
  }
  void addCall(int (*function)(lumen_abi_call_frame *), std::vector<Arg> in, std::vector<Arg> out,
               const Attributes &attributes = {}) {
    if (!abi.num_entry_exprs)
      finishEntry();
    step(LUMEN_ABI_STEP_CALL, call(function, in, out, sizes, attributes.bytes));
    sizes.clear();
    for (Result &result : results)
      for (int32_t d = 0; d < result.rank; ++d) {
        uint32_t extent = symbol("extent"), value = valueOf(extent);
        buffers.push_back(
            {storageOf(result.extents), LUMEN_ABI_NONE, uint64_t(d) * 8, 8, LUMEN_ABI_NONE, 0});
        step(LUMEN_ABI_STEP_BIND, extent, buffers.size() - 1, LUMEN_ABI_I64);
        step(LUMEN_ABI_STEP_EVAL, value, 1);
        const_cast<lumen_abi_dim *>(outputs[result.output].dims)[d].expr = value;
      }
    results.clear();
  }

  std::vector<uint32_t> sizes;

private:
  struct Result {
    const char *name;
    lumen_abi_dtype dtype;
    int32_t rank;
    size_t output = 0;
    uint32_t extents = 0;
  };
  std::vector<lumen_abi_dim> dims(int32_t rank) {
    std::vector<lumen_abi_dim> result;
    for (int32_t d = 0; d < rank; ++d)
      result.push_back(dynamic("extent", symbol("extent")));
    return result;
  }
  std::vector<Result> results;
};

using Args = std::vector<TableModel::Arg>;

inline Args join(std::initializer_list<Args> lists) {
  Args result;
  for (const Args &list : lists)
    result.insert(result.end(), list.begin(), list.end());
  return result;
}

} // namespace lumen::test

#endif // LUMEN_TEST_CALLMODEL_H
