//===- Machine.cpp - runs kernels of PTX on the host ----------------------===//

#include "Machine.h"

#include "Warp.h"

#include <algorithm>

using namespace lumen::ptx;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static bool startsLater(uint64_t address, const Allocation &allocation) {
  return address < allocation.address;
}

void Memory::add(Allocation allocation) {
  auto at =
      std::upper_bound(allocations.begin(), allocations.end(), allocation.address, startsLater);
  allocations.insert(at, std::move(allocation));
}

bool Memory::remove(uint64_t address) {
  auto at = std::find_if(allocations.begin(), allocations.end(),
                         [&](const Allocation &each) { return each.address == address; });
  if (at == allocations.end())
    return false;
  allocations.erase(at);
  return true;
}

const Allocation *Memory::find(uint64_t address, uint64_t size) const {
  auto next = std::upper_bound(allocations.begin(), allocations.end(), address, startsLater);
  if (next == allocations.begin())
    return nullptr;
  const Allocation &found = *--next;
  uint64_t offset = address - found.address;
  return size <= found.size && offset <= found.size - size ? &found : nullptr;
}

const Allocation *Memory::findNearest(uint64_t address) const {
  auto next = std::upper_bound(allocations.begin(), allocations.end(), address, startsLater);
  if (next == allocations.begin())
    return next == allocations.end() ? nullptr : &*next;
  auto before = next - 1;
  uint64_t end = before->address + before->size;
  bool isInside = address < end;
  return next == allocations.end() || isInside || address - end < next->address - address ? &*before
                                                                                          : &*next;
}

//===----------------------------------------------------------------------===//
// Workgroups
//===----------------------------------------------------------------------===//

namespace lumen::ptx {

/// Runs the warps of a workgroup.
class Scheduler {
public:
  explicit Scheduler(Workgroup &group) : group(group) {
    for (uint32_t first = 0, number = 0; first < group.numThreads; first += kLanes, ++number)
      warps.emplace_back(group, number);
  }

  void run() {
    do {
      for (Warp &warp : warps) {
        warp.run();
        if (!group.error.empty())
          return;
      }
    } while (passBarrier());
  }

private:
  /// What a front that waits for other warps waits for; PTX ISA, "barrier".
  struct Wait {
    uint32_t barrier, numThreads;
  };
  Wait waitOf(const Warp &warp, const Warp::Front &front) const {
    const Instruction &instruction = group.program.instructions[front.pc];
    uint32_t lane = static_cast<uint32_t>(__builtin_ctz(front.lanes));
    uint32_t count = instruction.numOperands > 1 ? warp.at<uint32_t>(instruction, 1)[lane] : 0;
    return {warp.at<uint32_t>(instruction, 0)[lane], count ? count : group.numThreads};
  }

  /// Lets threads go on whose barrier is complete. False: all are done, or there is an error.
  bool passBarrier() {
    bool isWaiting = false, hasPassed = false;
    for (Warp &warp : warps)
      for (const Warp::Front &front : std::vector<Warp::Front>(warp.waiting)) {
        Wait wait = waitOf(warp, front);
        isWaiting = true;
        if (arrived(wait.barrier) < wait.numThreads)
          continue;
        if (!isConverged(warp, front))
          return false;
        release(wait.barrier);
        hasPassed = true;
      }
    if (isWaiting && !hasPassed)
      failToPass();
    return hasPassed;
  }

  uint32_t arrived(uint32_t barrier) const {
    uint32_t result = 0;
    for (const Warp &warp : warps)
      for (const Warp::Front &front : warp.waiting)
        if (waitOf(warp, front).barrier == barrier)
          result += static_cast<uint32_t>(__builtin_popcount(front.lanes));
    return result;
  }

  /// "For .aligned, all threads in the warp must execute the same barrier instruction."
  bool isConverged(Warp &warp, const Warp::Front &front) {
    const Instruction &instruction = group.program.instructions[front.pc];
    bool isAligned = instruction.access.isConvergent;
    if (!isAligned || front.lanes == warp.alive)
      return true;
    warp.fail(instruction, static_cast<uint32_t>(__builtin_ctz(front.lanes)),
              "lanes of the warp wait at another barrier");
    return false;
  }

  void release(uint32_t barrier) {
    ++group.phase;
    for (Warp &warp : warps) {
      std::vector<Warp::Front> others;
      for (const Warp::Front &front : warp.waiting)
        if (waitOf(warp, front).barrier == barrier)
          warp.add(front.pc + 1, front.lanes);
        else
          others.push_back(front);
      warp.waiting = std::move(others);
    }
  }

  void failToPass() {
    for (Warp &warp : warps) {
      if (warp.waiting.empty())
        continue;
      const Warp::Front &front = warp.waiting.front();
      Wait wait = waitOf(warp, front);
      warp.fail(group.program.instructions[front.pc],
                static_cast<uint32_t>(__builtin_ctz(front.lanes)),
                "the barrier waits for " + std::to_string(wait.numThreads) + " threads, " +
                    std::to_string(arrived(wait.barrier)) + " have come and no more will");
      return;
    }
  }

  Workgroup &group;
  std::deque<Warp> warps;
};

} // namespace lumen::ptx

/// What the launch asks for that the kernel cannot be launched with.
static std::string checkLaunch(const Program &program, const Launch &launch) {
  const Function &entry = *launch.entry;
  uint64_t numThreads = 1;
  auto failed = [&](const std::string &what) { return "kernel '" + entry.name + "': " + what; };
  for (int i = 0; i < 3; ++i) {
    uint32_t most = entry.maxThreads[i], given = launch.block[i];
    if (!launch.grid[i] || !given)
      return failed("the launch has no threads");
    if (most && (given > most || (entry.areThreadsRequired && given != most)))
      return failed("the launch has " + std::to_string(given) + " threads, the kernel is for " +
                    std::to_string(most));
    numThreads *= given;
  }
  if (numThreads > 1024)
    return failed("the launch has " + std::to_string(numThreads) + " threads, at most 1024 fit");
  uint64_t shared = uint64_t{program.sharedSize} + launch.dynamicShared;
  if (shared > 227 << 10)
    return failed("the launch needs " + std::to_string(shared) + " bytes of shared memory");
  return "";
}

std::string lumen::ptx::run(Program &program, const Launch &launch, const Memory &memory) {
  std::string error = checkLaunch(program, launch);
  if (!error.empty())
    return error;
  GlobalState globals;
  uint32_t numThreads = launch.block[0] * launch.block[1] * launch.block[2];
  uint32_t index[3];
  for (index[2] = 0; index[2] < launch.grid[2]; ++index[2])
    for (index[1] = 0; index[1] < launch.grid[1]; ++index[1])
      for (index[0] = 0; index[0] < launch.grid[0]; ++index[0]) {
        Workgroup group(program, launch, memory, globals);
        std::copy(std::begin(index), std::end(index), group.index);
        group.numThreads = numThreads;
        group.sharedSize = program.sharedSize + launch.dynamicShared;
        // What nothing wrote is no zero by chance.
        group.shared.assign(group.sharedSize, '\xA5');
        if (launch.checks.sharedMemory)
          group.states.resize((group.sharedSize + program.sharedGranule - 1) /
                              program.sharedGranule);
        group.locals.assign(size_t{program.localSize} * numThreads, '\xA5');
        Scheduler(group).run();
        if (!group.error.empty())
          return group.error;
      }
  return "";
}
