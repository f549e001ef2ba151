//===- Cooperation.cpp - instructions that lanes execute together ---------===//
//
// PTX ISA, "Parallel Synchronization and Communication Instructions" and "shfl.sync".
//
//===----------------------------------------------------------------------===//

#include "Instructions.h"

#include <algorithm>

using namespace lumen::ptx;

namespace {

enum class Shuffle { Up, Down, Butterfly, Index };

/// Operands: result, whether the source is in range, value, lane or distance, clamp and
/// segments, members.
template <Shuffle Mode> void shuffle(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  uint32_t *result = warp.at<uint32_t>(instruction, 0);
  const uint32_t *values = warp.at<uint32_t>(instruction, 2);
  const uint32_t *others = warp.at<uint32_t>(instruction, 3);
  const uint32_t *clamps = warp.at<uint32_t>(instruction, 4);
  uint32_t results[kLanes], inRange = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    uint32_t other = others[lane] & 31, clamp = clamps[lane] & 31;
    uint32_t segments = clamps[lane] >> 8 & 31;
    uint32_t last = (lane & segments) | (clamp & ~segments), first = lane & segments;
    int32_t source = Mode == Shuffle::Up     ? static_cast<int32_t>(lane - other)
                     : Mode == Shuffle::Down ? static_cast<int32_t>(lane + other)
                     : Mode == Shuffle::Butterfly
                         ? static_cast<int32_t>(lane ^ other)
                         : static_cast<int32_t>(first | (other & ~segments));
    bool isIn = Mode == Shuffle::Up ? source >= static_cast<int32_t>(last)
                                    : source <= static_cast<int32_t>(last);
    if (!isIn)
      source = static_cast<int32_t>(lane);
    inRange |= static_cast<uint32_t>(isIn) << lane;
    // "If the source lane is inactive, the result is undetermined."
    results[lane] = lanes >> source & 1 ? values[source] : 0xA5A5A5A5;
  }
  forEachLane(lanes, [&](uint32_t lane) { result[lane] = results[lane]; });
  warp.setPredicate(instruction, 1, inRange, lanes);
}

enum class Vote { All, Any, Uniform };

template <Vote Mode> void vote(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  uint32_t yes = warp.predicate(instruction, 1) & lanes;
  bool result = Mode == Vote::All   ? yes == lanes
                : Mode == Vote::Any ? yes != 0
                                    : yes == lanes || yes == 0;
  warp.setPredicate(instruction, 0, result ? ~0u : 0, lanes);
}

void ballot(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  uint32_t *result = warp.at<uint32_t>(instruction, 0);
  uint32_t yes = warp.predicate(instruction, 1) & lanes;
  forEachLane(lanes, [&](uint32_t lane) { result[lane] = yes; });
}

void activeMask(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  uint32_t *result = warp.at<uint32_t>(instruction, 0);
  forEachLane(lanes, [&](uint32_t lane) { result[lane] = lanes; });
}

template <typename T> T add(T a, T b) {
  return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
template <typename T> T least(T a, T b) { return std::min(a, b); }
template <typename T> T most(T a, T b) { return std::max(a, b); }
uint32_t bitAnd(uint32_t a, uint32_t b) { return a & b; }
uint32_t bitOr(uint32_t a, uint32_t b) { return a | b; }
uint32_t bitXor(uint32_t a, uint32_t b) { return a ^ b; }

template <typename T, T (*Combine)(T, T)>
void reduce(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  T *result = warp.at<T>(instruction, 0);
  const T *values = warp.at<T>(instruction, 1);
  T all = values[__builtin_ctz(lanes)];
  for (uint32_t rest = lanes & (lanes - 1); rest; rest &= rest - 1)
    all = Combine(all, values[__builtin_ctz(rest)]);
  forEachLane(lanes, [&](uint32_t lane) { result[lane] = all; });
}

template <typename T, bool WantsAll>
void match(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  uint32_t *result = warp.at<uint32_t>(instruction, 0);
  uint32_t index = WantsAll ? 2 : 1, equal[kLanes] = {};
  const T *values = warp.at<T>(instruction, index);
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
    for (uint32_t others = lanes; others; others &= others - 1) {
      auto other = static_cast<uint32_t>(__builtin_ctz(others));
      equal[lane] |= static_cast<uint32_t>(values[lane] == values[other]) << other;
    }
  }
  bool areAllEqual = equal[__builtin_ctz(lanes)] == lanes;
  forEachLane(lanes,
              [&](uint32_t lane) { result[lane] = WantsAll && !areAllEqual ? 0 : equal[lane]; });
  if (WantsAll)
    warp.setPredicate(instruction, 1, areAllEqual ? ~0u : 0, lanes);
}

/// One lane of those that are there.
void elect(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  uint32_t *result = warp.at<uint32_t>(instruction, 0);
  auto leader = static_cast<uint32_t>(__builtin_ctz(lanes));
  forEachLane(lanes, [&](uint32_t lane) { result[lane] = leader; });
  warp.setPredicate(instruction, 1, 1u << leader, lanes);
}

/// Orders the accesses of its lanes. Those of other warps are taken as ordered too: fewer
/// races are seen than there may be.
void synchronizeWarp(Warp &warp, const Instruction &, uint32_t) { ++warp.group.phase; }

void trap(Warp &warp, const Instruction &instruction, uint32_t lanes) {
  warp.fail(instruction, static_cast<uint32_t>(__builtin_ctz(lanes)), "the kernel gives up");
}

bool decodeBarrier(Statement &statement, Instruction &instruction) {
  const std::vector<Argument> &arguments = statement.arguments;
  statement.take("cta");
  bool isOld = statement.take("bar"), isNew = statement.take("barrier");
  instruction.access.isConvergent = statement.take("aligned") || isOld;
  if (!(isOld || isNew) || !statement.take("sync") || !statement.parts.empty())
    return statement.fail("unknown instruction");
  if (arguments.empty() || arguments.size() > 2)
    return statement.fail("has another number of operands");
  instruction.flow = Flow::Barrier;
  for (const Argument &argument : arguments)
    if (!statement.add(argument, 4, instruction))
      return false;
  return true;
}

template <typename T> void addReductions(Table &table, const std::string &type) {
  auto name = [&](const char *operation) {
    return "redux.sync." + std::string(operation) + "." + type;
  };
  table.add(name("add"), {reduce<T, add<T>>, "www", Flow::Warp});
  table.add(name("min"), {reduce<T, least<T>>, "www", Flow::Warp});
  table.add(name("max"), {reduce<T, most<T>>, "www", Flow::Warp});
}

} // namespace

void lumen::ptx::addWarpRows(Table &table) {
  table.addFamily("bar", decodeBarrier);
  table.addFamily("barrier", decodeBarrier);
  table.add("bar.warp.sync", {synchronizeWarp, "w", Flow::Warp});
  table.add("trap", {trap, ""});
  table.add("activemask.b32", {activeMask, "w"});
  table.add("shfl.sync.up.b32", {shuffle<Shuffle::Up>, "w|pwwww", Flow::Warp});
  table.add("shfl.sync.down.b32", {shuffle<Shuffle::Down>, "w|pwwww", Flow::Warp});
  table.add("shfl.sync.bfly.b32", {shuffle<Shuffle::Butterfly>, "w|pwwww", Flow::Warp});
  table.add("shfl.sync.idx.b32", {shuffle<Shuffle::Index>, "w|pwwww", Flow::Warp});
  table.add("vote.sync.all.pred", {vote<Vote::All>, "ppw", Flow::Warp});
  table.add("vote.sync.any.pred", {vote<Vote::Any>, "ppw", Flow::Warp});
  table.add("vote.sync.uni.pred", {vote<Vote::Uniform>, "ppw", Flow::Warp});
  table.add("vote.sync.ballot.b32", {ballot, "wpw", Flow::Warp});
  table.add("match.any.sync.b32", {match<uint32_t, false>, "www", Flow::Warp});
  table.add("match.any.sync.b64", {match<uint64_t, false>, "wdw", Flow::Warp});
  table.add("match.all.sync.b32", {match<uint32_t, true>, "w|pww", Flow::Warp});
  table.add("match.all.sync.b64", {match<uint64_t, true>, "w|pdw", Flow::Warp});
  table.add("elect.sync", {elect, "w|pw", Flow::Warp});
  addReductions<int32_t>(table, "s32");
  addReductions<uint32_t>(table, "u32");
  table.add("redux.sync.and.b32", {reduce<uint32_t, bitAnd>, "www", Flow::Warp});
  table.add("redux.sync.or.b32", {reduce<uint32_t, bitOr>, "www", Flow::Warp});
  table.add("redux.sync.xor.b32", {reduce<uint32_t, bitXor>, "www", Flow::Warp});
}
