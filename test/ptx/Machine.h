//===- Machine.h - runs kernels of PTX on the host ---------------*- C++ -*-===//
//
// Stands in for an NVIDIA GPU where there is none. Faithful to "Parallel Thread Execution
// ISA", and strict where a GPU is lenient: what the manual leaves undefined is an error that
// names the kernel, the instruction and the thread.
//
// Lanes of a warp that are at different instructions run one after the other, the lowest
// address first, and instructions that wait for other lanes do so. Warps of a workgroup run
// in turn from barrier to barrier, workgroups in turn.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_PTX_MACHINE_H
#define LUMEN_TEST_PTX_MACHINE_H

#include "Program.h"

namespace lumen::ptx {

/// A part of the device's memory.
struct Allocation {
  uint64_t address; ///< as kernels see it
  uint64_t size;    ///< bytes
  char *data;       ///< the host's view
  std::string name; ///< for messages
};

/// The device's memory: what is not in it does not exist. Allocations do not overlap.
class Memory {
public:
  void add(Allocation allocation);
  /// False where no allocation begins at `address`.
  bool remove(uint64_t address);
  /// The allocation that has all of the bytes, or null.
  const Allocation *find(uint64_t address, uint64_t size) const;
  /// The allocation whose begin or end is nearest, or null.
  const Allocation *findNearest(uint64_t address) const;

private:
  std::vector<Allocation> allocations; ///< by address
};

/// What is looked for beside accesses outside of memory; all of it costs time.
struct Checks {
  /// Reads of shared memory that nothing wrote, and races on it between barriers.
  bool sharedMemory = true;
  /// Reads by ld.global.nc of what the same launch writes.
  bool readOnlyMemory = true;
};

struct Launch {
  const Function *entry;
  uint32_t grid[3], block[3];
  uint32_t dynamicShared; ///< bytes
  const char *parameters; ///< entry->parameterSize bytes
  Checks checks = {};
};

/// Runs all threads. Empty, or what is wrong.
std::string run(Program &program, const Launch &launch, const Memory &memory);

} // namespace lumen::ptx

#endif // LUMEN_TEST_PTX_MACHINE_H
