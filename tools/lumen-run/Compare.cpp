#include "Compare.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <limits>

using namespace llvm;

namespace lumen::run {

namespace {

std::vector<int64_t> unflatten(int64_t index, ArrayRef<int64_t> shape) {
  std::vector<int64_t> result(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d])
    result[d] = index % shape[d];
  return result;
}

Comparison compareStrings(const Value &actual, const Value &expected) {
  Comparison result;
  result.isMeasured = false;
  result.numElements = static_cast<int64_t>(actual.strings.size());
  int64_t first = 0;
  for (int64_t i = result.numElements; i-- > 0;)
    if (actual.strings[i] != expected.strings[i]) {
      ++result.numWrong;
      first = i;
    }
  if (!result.numWrong)
    return result;
  result.worstIndex = unflatten(first, actual.shape);
  result.mismatch = std::to_string(result.numWrong) + " of " + std::to_string(result.numElements) +
                    " strings are wrong, first at " + result.worstPlace() + ": " +
                    quoted(actual.strings[first]) + ", expected " + quoted(expected.strings[first]);
  return result;
}

} // namespace

std::string Comparison::worstPlace() const {
  return "[" + join(map_range(worstIndex, [](int64_t i) { return std::to_string(i); }), ",") + "]";
}

Comparison compare(TensorView actual, TensorView expected, double rtol, double atol) {
  Comparison result;
  if (actual.shape != expected.shape) {
    result.mismatch = "shape is [" + formatShape(actual.shape) + "], expected [" +
                      formatShape(expected.shape) + "]";
    return result;
  }
  if (isFloat(actual.dtype) != isFloat(expected.dtype) ||
      isComplex(actual.dtype) != isComplex(expected.dtype)) {
    result.mismatch = "type is " + dtypeName(actual.dtype).str() + ", expected " +
                      dtypeName(expected.dtype).str();
    return result;
  }
  int64_t parts = isComplex(actual.dtype) ? 2 : 1;
  result.numElements = actual.numElements() * parts;
  constexpr long double infinity = std::numeric_limits<long double>::infinity();
  long double worst = -infinity;
  for (int64_t i = 0; i < result.numElements; ++i) {
    long double a = getElement(actual.dtype, actual.data, i);
    long double b = getElement(expected.dtype, expected.data, i);
    long double error = 0;
    if (a != b && !(std::isnan(a) && std::isnan(b)))
      error = std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : infinity;
    // Written so that a tolerance that is no number accepts nothing but equality.
    long double tolerance = atol + rtol * (std::isfinite(b) ? std::fabs(b) : 0);
    result.numWrong += error != 0 && !(error <= tolerance);
    long double beyond = error - tolerance;
    result.maxAbsError = std::max(result.maxAbsError, static_cast<double>(error));
    if (error > 0)
      result.maxRelError = std::max(
          result.maxRelError,
          static_cast<double>(b == 0 || !std::isfinite(error) ? infinity : error / std::fabs(b)));
    if (beyond > worst) {
      worst = beyond;
      result.worstIndex = {i / parts};
      result.worstActual = static_cast<double>(a);
      result.worstExpected = static_cast<double>(b);
    }
  }
  if (!result.worstIndex.empty())
    result.worstIndex = unflatten(result.worstIndex[0], actual.shape);
  return result;
}

Comparison compareValues(const Value &actual, const Value &expected, double rtol, double atol) {
  Comparison result;
  if (actual.kind != expected.kind || actual.items.size() != expected.items.size() ||
      (actual.kind == LUMEN_STRINGS && actual.shape != expected.shape)) {
    result.mismatch = "is " + describe(actual) + ", expected " + describe(expected);
    return result;
  }
  if (actual.kind == LUMEN_TENSOR)
    return compare(actual, expected, rtol, atol);
  if (actual.kind == LUMEN_STRINGS)
    return compareStrings(actual, expected);
  for (auto [i, item] : enumerate(actual.items)) {
    Comparison one = compareValues(item, expected.items[i], rtol, atol);
    if (actual.kind == LUMEN_SEQUENCE)
      one.item = "item " + std::to_string(i);
    if (!one.matches())
      return one;
    if (i == 0 || one.maxAbsError > result.maxAbsError)
      result = std::move(one);
  }
  return result;
}

} // namespace lumen::run
