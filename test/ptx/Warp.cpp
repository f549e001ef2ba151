//===- Warp.cpp - 32 lanes that execute together --------------------------===//

#include "Warp.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace lumen::ptx;

Warp::Warp(Workgroup &group, uint32_t number)
    : group(group), firstThread(number * kLanes),
      registers((group.program.registerSize + 7) / 8, 0xA5A5A5A5A5A5A5A5) {
  Program &program = group.program;
  const Launch &launch = group.launch;
  uint32_t count = std::min(kLanes, group.numThreads - firstThread);
  alive = count == kLanes ? ~0u : (1u << count) - 1;
  bases[0] = reinterpret_cast<char *>(registers.data());
  bases[1] = program.constants.data();
  copies.emplace_back();
  for (auto [special, operand] : program.specials) {
    uint32_t *values = at<uint32_t>(operand);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint32_t thread = firstThread + lane, row = thread / launch.block[0];
      const uint32_t numbers[] = {
          thread % launch.block[0],
          row % launch.block[1],
          row / launch.block[1],
          launch.block[0],
          launch.block[1],
          launch.block[2],
          group.index[0],
          group.index[1],
          group.index[2],
          launch.grid[0],
          launch.grid[1],
          launch.grid[2],
          lane,
          number,
          (group.numThreads + kLanes - 1) / kLanes,
          1u << lane,
          (1u << lane) - 1,
          (2u << lane) - 1,
          ~((1u << lane) - 1),
          ~((2u << lane) - 1),
          launch.dynamicShared,
          group.sharedSize,
      };
      values[lane] = numbers[static_cast<int>(special)];
    }
  }
  add(launch.entry->begin, alive);
}

void Warp::fail(const Instruction &instruction, uint32_t lane, const std::string &what) {
  if (hasFailed())
    return;
  const uint32_t *index = group.index;
  group.error =
      "kernel '" + group.launch.entry->name + "', line " + std::to_string(instruction.line) +
      ", '" + std::string(group.program.lineOf(instruction)) + "', workgroup (" +
      std::to_string(index[0]) + ", " + std::to_string(index[1]) + ", " + std::to_string(index[2]) +
      "), thread " + std::to_string(firstThread + lane) + ": " + what;
}

//===----------------------------------------------------------------------===//
// Order of instructions
//===----------------------------------------------------------------------===//

void Warp::add(uint32_t pc, uint32_t lanes) {
  auto at = std::find_if(fronts.begin(), fronts.end(),
                         [&](const Front &front) { return front.pc <= pc; });
  if (at != fronts.end() && at->pc == pc)
    at->lanes |= lanes;
  else
    fronts.insert(at, {pc, lanes});
}

void Warp::run() {
  while (!fronts.empty() && !hasFailed())
    runFront();
  if (hasFailed())
    return;
  for (const Front &front : waiting) {
    const Instruction &instruction = group.program.instructions[front.pc];
    if (instruction.flow == Flow::Warp)
      return fail(instruction, static_cast<uint32_t>(__builtin_ctz(front.lanes)),
                  "waits for lanes of the warp that never come");
  }
}

/// Runs the lowest front until it meets the next, splits or ends.
void Warp::runFront() {
  Front front = fronts.back();
  fronts.pop_back();
  uint32_t limit = fronts.empty() ? ~0u : fronts.back().pc;
  const Instruction *code = group.program.instructions.data();
  while (front.pc < limit) {
    const Instruction &instruction = code[front.pc];
    uint32_t lanes = front.lanes;
    if (instruction.isGuarded) {
      uint32_t guard = *at<uint32_t>(instruction.guard);
      lanes &= instruction.isGuardNegated ? ~guard : guard;
    }
    if (!lanes) {
      ++front.pc;
      continue;
    }
    if (instruction.flow == Flow::Next) {
      instruction.execute(*this, instruction, lanes);
      if (hasFailed())
        return;
      ++front.pc;
      continue;
    }
    if (instruction.flow == Flow::Branch && lanes == front.lanes) {
      front.pc = instruction.target;
      continue;
    }
    if (front.lanes != lanes)
      add(front.pc + 1, front.lanes & ~lanes);
    return leave(front.pc, lanes);
  }
  add(front.pc, front.lanes);
}

/// `lanes` execute an instruction after which they may be anywhere.
void Warp::leave(uint32_t pc, uint32_t lanes) {
  const Instruction &instruction = group.program.instructions[pc];
  // Lanes go on at the address that `next` says.
  auto scatter = [&](auto next) {
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      uint32_t lane = static_cast<uint32_t>(__builtin_ctz(rest));
      add(next(lane), 1u << lane);
    }
  };
  switch (instruction.flow) {
  case Flow::Next:
    return;
  case Flow::Branch:
    return add(instruction.target, lanes);
  case Flow::Table: {
    const uint32_t *indices = at<uint32_t>(instruction, 0);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      uint32_t lane = static_cast<uint32_t>(__builtin_ctz(rest));
      if (indices[lane] >= instruction.numTargets)
        return fail(instruction, lane,
                    "the table of branches has no row " + std::to_string(indices[lane]));
    }
    return scatter([&](uint32_t lane) {
      return group.program.branchTables[instruction.target + indices[lane]];
    });
  }
  case Flow::Call: {
    const Function &function = group.program.functions[instruction.target];
    uint32_t *returns = at<uint32_t>(function.returnTo);
    forEachLane(lanes, [&](uint32_t lane) { returns[lane] = pc + 1; });
    return add(function.begin, lanes);
  }
  case Flow::Return: {
    const uint32_t *returns = at<uint32_t>(group.program.functions[instruction.target].returnTo);
    return scatter([&](uint32_t lane) { return returns[lane]; });
  }
  case Flow::Exit:
    alive &= ~lanes;
    return;
  case Flow::Barrier:
    waiting.push_back({pc, lanes | takeWaiting(pc)});
    return;
  case Flow::Warp:
    return waitForLanes(pc, lanes);
  }
}

/// Lanes that wait at `pc`, and no longer do.
uint32_t Warp::takeWaiting(uint32_t pc) {
  auto same = std::find_if(waiting.begin(), waiting.end(),
                           [&](const Front &front) { return front.pc == pc; });
  if (same == waiting.end())
    return 0;
  uint32_t lanes = same->lanes;
  waiting.erase(same);
  return lanes;
}

void Warp::waitForLanes(uint32_t pc, uint32_t lanes) {
  const Instruction &instruction = group.program.instructions[pc];
  lanes |= takeWaiting(pc);
  // The mask is the last operand, a lane's own; without one all lanes must come.
  uint32_t wanted = ~0u;
  if (!instruction.access.isConvergent)
    wanted = at<uint32_t>(instruction, instruction.numOperands - 1)[__builtin_ctz(lanes)] & alive;
  if (uint32_t strangers = lanes & ~wanted)
    return fail(instruction, static_cast<uint32_t>(__builtin_ctz(strangers)),
                "is not among the lanes that it waits for");
  if (wanted & ~lanes & ~alive)
    return fail(instruction, static_cast<uint32_t>(__builtin_ctz(lanes)),
                "needs all lanes of the warp");
  if (wanted & ~lanes) {
    waiting.push_back({pc, lanes});
    return;
  }
  instruction.execute(*this, instruction, lanes);
  add(pc + 1, lanes);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static std::string inHex(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

static std::string describe(const Allocation &allocation) {
  return "'" + allocation.name + "', " + std::to_string(allocation.size) + " bytes at " +
         inHex(allocation.address);
}

bool GlobalState::note(uint64_t address, uint64_t size, uint8_t kind) {
  for (uint64_t i = address; i < address + size; ++i) {
    uint64_t number = i / kPage;
    if (number != lastNumber) {
      std::unique_ptr<uint8_t[]> &page = pages[number];
      if (!page)
        page = std::make_unique<uint8_t[]>(kPage);
      lastPage = page.get();
      lastNumber = number;
    }
    uint8_t &state = lastPage[i % kPage];
    state |= kind;
    if (state == (Written | ReadOnly))
      return false;
  }
  return true;
}

bool Warp::noteGlobal(const Instruction &instruction, uint32_t lane, uint64_t address,
                      const Extent &extent) {
  if (!group.launch.checks.readOnlyMemory || !(extent.isWrite || instruction.access.isReadOnly))
    return true;
  if (group.globals.note(address, extent.size,
                         extent.isWrite ? GlobalState::Written : GlobalState::ReadOnly))
    return true;
  fail(instruction, lane, "address " + inHex(address) + " is read as read-only and written");
  return false;
}

char *Warp::resolveOne(const Instruction &instruction, Space space, uint32_t lane, uint64_t address,
                       const Extent &extent) {
  if (address & (extent.alignment - 1)) {
    fail(instruction, lane,
         "address " + inHex(address) + " is no multiple of " + std::to_string(extent.alignment));
    return nullptr;
  }
  if (space == Space::Generic) {
    space = address - kSharedWindow < kWindowSize  ? Space::Shared
            : address - kLocalWindow < kWindowSize ? Space::Local
                                                   : Space::Global;
    if (space != Space::Global)
      address -= space == Space::Shared ? kSharedWindow : kLocalWindow;
  }
  if (space == Space::Global) {
    const Allocation *allocation = group.memory.find(address, extent.size);
    if (allocation) {
      lastAllocation = allocation;
      return noteGlobal(instruction, lane, address, extent)
                 ? allocation->data + (address - allocation->address)
                 : nullptr;
    }
    const std::vector<char> &variables = group.program.variables;
    uint64_t offset = address - reinterpret_cast<uint64_t>(variables.data());
    if (offset < variables.size() && extent.size <= variables.size() - offset)
      return group.program.variables.data() + offset;
    const Allocation *nearest = group.memory.findNearest(address);
    fail(instruction, lane,
         "there is no memory at " + inHex(address) + ", " + std::to_string(extent.size) +
             " bytes; the nearest is " + (nearest ? describe(*nearest) : "nowhere"));
    return nullptr;
  }
  bool isShared = space == Space::Shared;
  uint64_t limit = isShared ? group.sharedSize : group.program.localSize;
  if (address > limit || extent.size > limit - address) {
    fail(instruction, lane,
         std::string("there is no ") + (isShared ? "shared" : "local") + " memory at " +
             inHex(address) + ", " + std::to_string(extent.size) + " bytes; there are " +
             std::to_string(limit) + " bytes");
    return nullptr;
  }
  return isShared ? group.shared.data() + address
                  : group.locals.data() + limit * (firstThread + lane) + address;
}

bool Warp::resolve(const Instruction &instruction, uint32_t index, uint32_t lanes,
                   const Extent &extent, char *(&pointers)[kLanes]) {
  const Operand &place = operand(instruction, index);
  uint64_t addresses[kLanes], offset = static_cast<uint64_t>(instruction.immediate);
  if (place.width == 4) {
    const uint32_t *values = at<uint32_t>(place);
    forEachLane(lanes, [&](uint32_t lane) { addresses[lane] = values[lane] + offset; });
  } else {
    const uint64_t *values = at<uint64_t>(place);
    forEachLane(lanes, [&](uint32_t lane) { addresses[lane] = values[lane] + offset; });
  }
  // Most often all are in the allocation of the last access.
  if (instruction.access.space == Space::Global && lastAllocation) {
    uint64_t begin = lastAllocation->address, wrong = 0;
    uint64_t last = lastAllocation->size - extent.size;
    char *data = lastAllocation->data;
    if (extent.size <= lastAllocation->size) {
      forEachLane(lanes, [&](uint32_t lane) {
        wrong |= (addresses[lane] & (extent.alignment - 1)) | (addresses[lane] - begin > last);
        // Only a number while it may be wrong.
        pointers[lane] =
            reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(data) + (addresses[lane] - begin));
      });
      if (!wrong) {
        if (!group.launch.checks.readOnlyMemory ||
            !(extent.isWrite || instruction.access.isReadOnly))
          return true;
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
          uint32_t lane = static_cast<uint32_t>(__builtin_ctz(rest));
          if (!noteGlobal(instruction, lane, addresses[lane], extent))
            return false;
        }
        return true;
      }
    }
  }
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    uint32_t lane = static_cast<uint32_t>(__builtin_ctz(rest));
    pointers[lane] =
        resolveOne(instruction, instruction.access.space, lane, addresses[lane], extent);
    if (!pointers[lane])
      return false;
  }
  return true;
}

bool Warp::checkShared(const Instruction &instruction, uint32_t lane, const char *pointer,
                       uint32_t size, const char *written, bool isAtomic) {
  uint32_t granule = group.program.sharedGranule;
  auto offset = static_cast<uint32_t>(pointer - group.shared.data());
  auto thread = static_cast<uint16_t>(firstThread + lane);
  auto race = [&](const char *what, uint16_t other) {
    fail(instruction, lane,
         std::string(what) + " shared memory at " + inHex(offset) + ", which " +
             (other == SharedState::kSeveral ? "other threads use"
                                             : "thread " + std::to_string(other) + " uses") +
             " with no barrier between");
    return false;
  };
  for (uint32_t at = 0; at < size; at += granule) {
    SharedState &state = group.states[(offset + at) / granule];
    if (state.phase != group.phase) {
      state.phase = group.phase;
      state.writer = state.reader = SharedState::kNobody;
      state.wasChanged = state.wasAtomic = false;
    }
    auto isOther = [&](uint16_t user) { return user != SharedState::kNobody && user != thread; };
    if (!state.isWritten && (!written || isAtomic)) {
      fail(instruction, lane, "reads shared memory at " + inHex(offset) + " that nothing wrote");
      return false;
    }
    if (!written) {
      if (isOther(state.writer) && state.wasChanged)
        return race("reads", state.writer);
      state.reader = isOther(state.reader) ? SharedState::kSeveral : thread;
      continue;
    }
    // Writing what is there already hurts nobody.
    bool changes = !state.isWritten || std::memcmp(pointer + at, written + at, granule) != 0;
    if (changes && isOther(state.writer) && !(isAtomic && state.wasAtomic))
      return race("writes", state.writer);
    if (changes && isOther(state.reader))
      return race("writes", state.reader);
    state.writer = isOther(state.writer) ? SharedState::kSeveral : thread;
    state.wasChanged |= changes;
    state.wasAtomic = isAtomic;
    state.isWritten = true;
  }
  return true;
}
