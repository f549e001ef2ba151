// How far an output is from what was expected.
#ifndef LUMEN_RUN_COMPARE_H
#define LUMEN_RUN_COMPARE_H

#include "Values.h"

namespace lumen::run {

struct Comparison {
  // What does not fit before any element is compared: "shape is 1x2, expected
  // 2x1". Empty if nothing.
  std::string mismatch;
  std::string item;       // "item 2", of a sequence the one that this is about; else empty
  bool isMeasured = true; // false of strings, which have no errors to measure
  int64_t numElements = 0;
  int64_t numWrong = 0; // |actual - expected| > atol + rtol * |expected|
  double maxAbsError = 0, maxRelError = 0;
  // The element furthest beyond its tolerance (or nearest to it).
  std::vector<int64_t> worstIndex;
  double worstActual = 0, worstExpected = 0;

  std::string worstPlace() const; // "[0,2]"
  bool matches() const { return mismatch.empty() && numWrong == 0; }
};

// NaN equals NaN, and infinities equal themselves.
Comparison compare(TensorView actual, TensorView expected, double rtol, double atol);
// The same of values of any kind. Strings are to be equal; of a sequence it is about the
// first item that does not match, or the one that is furthest off.
Comparison compareValues(const Value &actual, const Value &expected, double rtol, double atol);

} // namespace lumen::run

#endif
