//===- Fibers.h - a workgroup's threads, one after the other -----*- C++ -*-===//
//
// Runs the code of a kernel on the thread that asks for it: each thread of a workgroup is a
// fiber that runs until a barrier. So runs are the same every time, and a barrier that not
// all threads come to is seen.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_UNIT_CODEGEN_FIBERS_H
#define LUMEN_TEST_UNIT_CODEGEN_FIBERS_H

#include <cstdint>
#include <functional>
#include <string>

namespace lumen::test {

/// Runs `body` for each thread of each workgroup. Returns what the kernel did wrong; empty:
/// nothing. Threads run forwards up to one barrier and backwards up to the next, so that a
/// kernel that lacks a barrier is wrong in one of both.
std::string runFibers(uint32_t workgroups, uint32_t threads, const std::function<void()> &body);

// For the body, wherever it was compiled.
extern "C" {
uint32_t lumen_fiber_thread(void);    ///< of the workgroup
uint32_t lumen_fiber_workgroup(void); ///< which this is
void lumen_fiber_barrier(void);
void lumen_fiber_fault(const char *what); ///< what this thread did wrong
}

} // namespace lumen::test

#endif // LUMEN_TEST_UNIT_CODEGEN_FIBERS_H
