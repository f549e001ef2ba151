// How far an output is from what was expected.
#ifndef LUMEN_RUN_COMPARE_H
#define LUMEN_RUN_COMPARE_H

#include "Elements.h"

namespace lumen::run {

struct Comparison {
  // What does not fit before any element is compared: "shape is 1x2, expected
  // 2x1". Empty if nothing.
  std::string mismatch;
  int64_t numElements = 0;
  int64_t numWrong = 0; // |actual - expected| > atol + rtol * |expected|
  double maxAbsError = 0, maxRelError = 0;
  // The element furthest beyond its tolerance (or nearest to it).
  std::vector<int64_t> worstIndex;
  double worstActual = 0, worstExpected = 0;

  bool matches() const { return mismatch.empty() && numWrong == 0; }
};

// NaN equals NaN, and infinities equal themselves.
Comparison compare(TensorView actual, TensorView expected, double rtol, double atol);

} // namespace lumen::run

#endif
