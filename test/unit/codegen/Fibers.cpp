//===- Fibers.cpp - a workgroup's threads, one after the other ------------===//

#include "Fibers.h"

#include <algorithm>
#include <csetjmp>
#include <memory>
#include <ucontext.h>
#include <utility>
#include <vector>

using namespace lumen;
using namespace lumen::test;

/// Kernels keep small arrays at most.
static constexpr size_t kStackSize = 256 << 10;

namespace {

struct Fiber {
  Fiber();

  std::unique_ptr<char[]> stack{new char[kStackSize]};
  ucontext_t start;
  // Switching by contexts would be a system call each time.
  jmp_buf point;
  bool isStarted = false;
  bool isDone;
  void *barrier; ///< where it waits
};

/// The one that runs on this thread.
struct Workgroup {
  std::string run(const std::function<void()> &body);
  /// Goes on with the fiber of `thread`, up to its next barrier or its end.
  void resume();
  /// Of a fiber: goes back to who resumed it.
  void leave();

  uint32_t number = 0, thread = 0;
  const std::function<void()> *body = nullptr;
  std::string fault; ///< the first one
  jmp_buf scheduler;
  std::vector<Fiber> fibers;
};

} // namespace

static thread_local Workgroup current;

static void runBodies() {
  for (;;) {
    (*current.body)();
    current.fibers[current.thread].isDone = true;
    current.leave();
  }
}

Fiber::Fiber() {
  getcontext(&start);
  start.uc_stack.ss_sp = stack.get();
  start.uc_stack.ss_size = kStackSize;
  makecontext(&start, runBodies, 0);
}

void Workgroup::resume() {
  if (_setjmp(scheduler))
    return;
  Fiber &fiber = fibers[thread];
  if (fiber.isStarted)
    _longjmp(fiber.point, 1);
  fiber.isStarted = true;
  setcontext(&fiber.start);
}

void Workgroup::leave() {
  if (!_setjmp(fibers[thread].point))
    _longjmp(scheduler, 1);
}

std::string Workgroup::run(const std::function<void()> &what) {
  body = &what;
  for (Fiber &fiber : fibers)
    fiber.isDone = false;
  for (bool backwards = false;; backwards = !backwards) {
    for (uint32_t i = 0; i < fibers.size(); ++i) {
      thread = backwards ? fibers.size() - 1 - i : i;
      resume();
    }
    if (!fault.empty())
      return std::exchange(fault, "");
    size_t done = std::count_if(fibers.begin(), fibers.end(),
                                [](const Fiber &fiber) { return fiber.isDone; });
    if (done == fibers.size())
      return "";
    if (done != 0)
      return std::to_string(done) + " of " + std::to_string(fibers.size()) +
             " threads of workgroup " + std::to_string(number) +
             " end, the others wait at a barrier";
    if (!std::all_of(fibers.begin(), fibers.end(),
                     [&](const Fiber &fiber) { return fiber.barrier == fibers.front().barrier; }))
      return "threads of workgroup " + std::to_string(number) + " wait at different barriers";
  }
}

std::string test::runFibers(uint32_t workgroups, uint32_t threads,
                            const std::function<void()> &body) {
  // Stacks are kept for the next launch.
  if (current.fibers.size() != threads)
    current.fibers = std::vector<Fiber>(threads);
  for (current.number = 0; current.number < workgroups; ++current.number)
    if (std::string error = current.run(body); !error.empty()) {
      current.fibers.clear(); // some still wait
      return error;
    }
  return "";
}

uint32_t test::lumen_fiber_thread() { return current.thread; }
uint32_t test::lumen_fiber_workgroup() { return current.number; }

void test::lumen_fiber_fault(const char *what) {
  if (current.fault.empty())
    current.fault = "thread " + std::to_string(current.thread) + " of workgroup " +
                    std::to_string(current.number) + ": " + what;
}

void test::lumen_fiber_barrier() {
  Fiber &fiber = current.fibers[current.thread];
  fiber.barrier = __builtin_return_address(0);
  current.leave();
}
