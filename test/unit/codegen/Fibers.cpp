//===- Fibers.cpp - a workgroup's threads, one after the other ------------===//

#include "Fibers.h"

#include <algorithm>
#include <memory>
#include <ucontext.h>
#include <vector>

using namespace lumen;
using namespace lumen::test;

/// Kernels keep small arrays at most.
static constexpr size_t kStackSize = 256 << 10;

namespace {

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStackSize]};
  bool isDone;
  void *barrier; ///< where it waits
};

/// The one that runs on this thread.
struct Workgroup {
  std::string run(const std::function<void()> &body);

  uint32_t number = 0, thread = 0;
  const std::function<void()> *body = nullptr;
  ucontext_t scheduler;
  std::vector<Fiber> fibers;
};

} // namespace

static thread_local Workgroup current;

static void enter() {
  (*current.body)();
  current.fibers[current.thread].isDone = true;
}

std::string Workgroup::run(const std::function<void()> &what) {
  body = &what;
  for (Fiber &fiber : fibers) {
    fiber.isDone = false;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackSize;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, enter, 0);
  }
  for (bool backwards = false;; backwards = !backwards) {
    for (uint32_t i = 0; i < fibers.size(); ++i) {
      thread = backwards ? fibers.size() - 1 - i : i;
      swapcontext(&scheduler, &fibers[thread].context);
    }
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
    if (std::string error = current.run(body); !error.empty())
      return error;
  return "";
}

uint32_t test::lumen_fiber_thread() { return current.thread; }
uint32_t test::lumen_fiber_workgroup() { return current.number; }

void test::lumen_fiber_barrier() {
  Fiber &fiber = current.fibers[current.thread];
  fiber.barrier = __builtin_return_address(0);
  swapcontext(&fiber.context, &current.scheduler);
}
