//===- Programs.h - random schedules -----------------------------*- C++ -*-===//
#ifndef LUMEN_TEST_UNIT_SCHEDULE_PROGRAMS_H
#define LUMEN_TEST_UNIT_SCHEDULE_PROGRAMS_H

#include <string>

namespace lumen::test {

/// A module of the dispatch stage with branches, loops, views and sizes that only
/// the run knows. `@main` takes vectors of the sizes n and m, or of 8, and booleans;
/// kernels are named after what they are to `kernelResult`.
std::string randomProgram(unsigned seed);

/// The number of inputs that are vectors, and of those that are booleans.
constexpr unsigned kVectors = 3, kBooleans = 2;

} // namespace lumen::test

#endif
