#include "Compare.h"

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

} // namespace

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

} // namespace lumen::run
