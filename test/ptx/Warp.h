//===- Warp.h - 32 lanes that execute together -------------------*- C++ -*-===//
//
// What the instructions work on.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_TEST_PTX_WARP_H
#define LUMEN_TEST_PTX_WARP_H

#include "Machine.h"

#include <deque>
#include <unordered_map>

namespace lumen::ptx {

/// Calls `body` for each of `lanes`, which must not depend on each other.
template <typename Body> inline void forEachLane(uint32_t lanes, Body body) {
  if (lanes == ~0u) {
#pragma clang loop vectorize(assume_safety)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      body(lane);
    return;
  }
  for (; lanes; lanes &= lanes - 1)
    body(static_cast<uint32_t>(__builtin_ctz(lanes)));
}

/// What happened to a granule of shared memory since the last barrier.
struct SharedState {
  static constexpr uint16_t kNobody = 0xFFFF, kSeveral = 0xFFFE;
  uint32_t phase = 0; ///< that readers and writer are of
  uint16_t writer = kNobody, reader = kNobody;
  bool isWritten = false; ///< by anybody since the workgroup began
  bool wasChanged = false, wasAtomic = false;
};

/// What a launch did to global memory, a byte for each byte of a page.
class GlobalState {
public:
  enum : uint8_t { Written = 1, ReadOnly = 2 };
  /// Notes an access; false: memory was read as read-only and written.
  bool note(uint64_t address, uint64_t size, uint8_t kind);

private:
  static constexpr uint64_t kPage = 4096;
  std::unordered_map<uint64_t, std::unique_ptr<uint8_t[]>> pages;
  uint64_t lastNumber = ~0ull;
  uint8_t *lastPage = nullptr;
};

/// A workgroup and the memory of its threads.
struct Workgroup {
  Workgroup(Program &program, const Launch &launch, const Memory &memory, GlobalState &globals)
      : program(program), launch(launch), memory(memory), globals(globals) {}

  Program &program;
  const Launch &launch;
  const Memory &memory;
  GlobalState &globals;
  uint32_t index[3] = {};
  uint32_t numThreads = 0;
  uint32_t sharedSize = 0; ///< bytes
  std::vector<char> shared;
  std::vector<SharedState> states; ///< of granules of shared memory
  uint32_t phase = 1;              ///< barriers that were passed
  std::vector<char> locals;        ///< localSize bytes of each thread
  std::string error;               ///< the first; nothing goes on after it
};

/// cp.async that was not waited for: it takes place when it is.
struct AsyncCopy {
  const Instruction *instruction;
  uint32_t lanes;
  uint64_t to[kLanes], from[kLanes];
  uint32_t size, readSize[kLanes];
};

class Warp {
public:
  Warp(Workgroup &group, uint32_t number);

  /// Runs until all lanes wait for the workgroup or are done.
  void run();
  bool isDone() const { return alive == 0; }

  //===--- For instructions ------------------------------------------------===//

  const Operand &operand(const Instruction &instruction, uint32_t index) const {
    return group.program.operands[instruction.firstOperand + index];
  }
  template <typename T> T *at(const Operand &operand) const {
    return reinterpret_cast<T *>(bases[operand.isConstant] + operand.offset);
  }
  template <typename T> T *at(const Instruction &instruction, uint32_t index) const {
    return at<T>(operand(instruction, index));
  }
  uint32_t predicate(const Instruction &instruction, uint32_t index) const {
    return *at<uint32_t>(instruction, index);
  }
  void setPredicate(const Instruction &instruction, uint32_t index, uint32_t value,
                    uint32_t lanes) const {
    uint32_t &word = *at<uint32_t>(instruction, index);
    word = (word & ~lanes) | (value & lanes);
  }

  /// An access of each lane.
  struct Extent {
    uint32_t size;      ///< bytes
    uint32_t alignment; ///< of the address, bytes
    bool isWrite;
    Extent(uint32_t size, bool isWrite) : size(size), alignment(size), isWrite(isWrite) {}
    Extent(uint32_t size, uint32_t alignment, bool isWrite)
        : size(size), alignment(alignment), isWrite(isWrite) {}
  };
  /// The host's view of the addresses in operand `index`. False: there is an error.
  bool resolve(const Instruction &instruction, uint32_t index, uint32_t lanes, const Extent &extent,
               char *(&pointers)[kLanes]);
  /// The same of one lane and one address; null: there is an error.
  char *resolveOne(const Instruction &instruction, Space space, uint32_t lane, uint64_t address,
                   const Extent &extent);
  /// Reports races; called for an access in shared memory before it takes place. `written`:
  /// what is written, or null.
  bool checkShared(const Instruction &instruction, uint32_t lane, const char *pointer,
                   uint32_t size, const char *written, bool isAtomic = false);
  bool isShared(const char *pointer) const {
    return pointer >= group.shared.data() && pointer < group.shared.data() + group.shared.size();
  }

  void fail(const Instruction &instruction, uint32_t lane, const std::string &what);
  bool hasFailed() const { return !group.error.empty(); }

  Workgroup &group;
  uint32_t firstThread;
  uint32_t alive; ///< lanes that have not exited
  /// Those of one commit_group each; the last is open.
  std::deque<std::vector<AsyncCopy>> copies;

private:
  friend class Scheduler;
  /// Lanes at one instruction.
  struct Front {
    uint32_t pc, lanes;
  };

  void runFront();
  void add(uint32_t pc, uint32_t lanes);
  void leave(uint32_t pc, uint32_t lanes);
  void waitForLanes(uint32_t pc, uint32_t lanes);
  uint32_t takeWaiting(uint32_t pc);
  bool noteGlobal(const Instruction &instruction, uint32_t lane, uint64_t address,
                  const Extent &extent);

  char *bases[2]; ///< of registers and constants
  std::vector<uint64_t> registers;
  std::vector<Front> fronts;  ///< that can run, the lowest last
  std::vector<Front> waiting; ///< for other lanes or warps
  const Allocation *lastAllocation = nullptr;
};

/// Generic addresses of memory that is not global, and its sizes.
constexpr uint64_t kSharedWindow = 0x7A00'0000'0000'0000, kLocalWindow = 0x7B00'0000'0000'0000;
constexpr uint64_t kWindowSize = 1ull << 32;

} // namespace lumen::ptx

#endif // LUMEN_TEST_PTX_WARP_H
