//===- Slots.cpp - where and when storages live ---------------------------===//

#include "passes/memory/Slots.h"

#include "dialects/Dispatch/InPlace.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Bytes that the schedule plans; the runtime's objects bring their own.
static SymExpr bytesOf(Value value) {
  return isObject(value.getType()) ? SymExpr(0) : tensorBytes(typeOf(value));
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

void Timeline::number(Block &block) {
  for (Operation &op : block) {
    if (isa<LaunchOp, SymbolOp>(op)) {
      times[&op] = next++;
    } else if (auto call = dyn_cast<lumen::CallOp>(op)) {
      times[&op] = next;
      next += 1 + call.getDefinedSymbols().size(); // each is read from the extents
    } else if (auto branch = dyn_cast<lumen::IfOp>(op)) {
      times[&op] = next;
      next += 2; // the condition is read, and the branch begins
      number(branch.getThenRegion().front());
      number(branch.getElseRegion().front());
    } else if (auto loop = dyn_cast<lumen::LoopOp>(op)) {
      times[&op] = next;
      next += 1 + loop.getConditional();
      number(loop.getBody().front());
    } else if (isa<lumen::YieldOp>(op)) {
      auto loop = dyn_cast<lumen::LoopOp>(op.getParentOp());
      next += loop && loop.getConditional();
      times[&op] = next++;
    }
  }
}

static Operation *endOf(lumen::LoopOp loop) { return loop.getBody().front().getTerminator(); }

//===----------------------------------------------------------------------===//
// Live ranges
//===----------------------------------------------------------------------===//

Slots::Slots(ModuleOp module, func::FuncOp main, const SizeBounds &bounds, const Placement &places)
    : main(main), symbols(module), bounds(bounds), places(places), timeline(main) {
  Block &block = main.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    Slot &slot = make(argument, &block, 0, 0);
    slot.region = MemoryRegion::Input;
    slot.index = argument.getArgNumber();
  }
  collect(block);
  markOutputs();
  chooseRegions();
  joinRegions();
  reuseInPlace();
  alignSwapped();
}

Slot &Slots::operator[](Value storage) {
  Slot *slot = &slots.find(storage)->second;
  while (slot->reuses)
    slot = &slots.find(slot->reuses)->second;
  return *slot;
}

Slot &Slots::make(Value storage, Block *block, int64_t first, int64_t last) {
  auto [at, isNew] = slots.try_emplace(storage);
  Slot &slot = at->second;
  if (isNew) {
    slot.bytes = bytesOf(storage);
    slot.block = block;
    slot.first = first;
    slot.last = last;
  }
  return slot;
}

/// A read or write by `op`. Inside a loop that the storage outlives it happens
/// again in the next trip, so it counts for the loop's end.
void Slots::touch(Value value, Operation *op) {
  Value storage = places[value].storage;
  int64_t time = timeline.timeOf(op);
  Slot &slot = make(storage, storage.getParentBlock(), time, time);
  if (storage.getDefiningOp<ConstantOp>())
    slot.region = MemoryRegion::Weights;
  for (Operation *at = op; at->getBlock() != slot.block; at = at->getParentOp()) {
    if (at->getBlock() == storage.getParentBlock()) // inside the loop that carries it
      lastInBody[storage] = std::max(lastInBody.lookup(storage), time);
    if (auto loop = dyn_cast<lumen::LoopOp>(at->getParentOp()))
      time = timeline.timeOf(endOf(loop));
  }
  slot.last = std::max(slot.last, time);
  slot.users.push_back(op);
}

void Slots::collect(Block &block) {
  for (Operation &op : block) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      launches.push_back(launch);
      for (Value input : launch.getInputs())
        touch(input, &op);
      for (Value result : launch.getResults())
        touch(result, &op);
    } else if (auto call = dyn_cast<lumen::CallOp>(op)) {
      calls.push_back(call);
      for (Value operand : op.getOperands())
        touch(operand, &op);
      for (Value result : op.getResults())
        touch(result, &op);
      if (int64_t binds = call.getDefinedSymbols().size())
        (*this)[call.getResult(1)].last = timeline.timeOf(call) + binds;
    } else if (auto branch = dyn_cast<lumen::IfOp>(op)) {
      collectIf(branch);
    } else if (auto loop = dyn_cast<lumen::LoopOp>(op)) {
      collectLoop(loop);
    } else if (isa<SymbolOp, lumen::YieldOp>(op)) {
      for (Value operand : op.getOperands())
        touch(operand, &op);
    }
  }
}

void Slots::collectIf(lumen::IfOp op) {
  touch(op.getCondition(), op);
  collect(op.getThenRegion().front());
  // What a branch writes as a result lives on; what is written begins to live when
  // the storages of the branches join.
  int64_t first = timeline.timeOf(op.getThenRegion().front().getTerminator());
  for (Value result : op.getResults())
    make(result, op->getBlock(), first, first).users.push_back(op);
  collect(op.getElseRegion().front());
  int64_t last = timeline.timeOf(op.getElseRegion().front().getTerminator());
  for (Value result : op.getResults())
    (*this)[result].last = last;
}

void Slots::collectLoop(lumen::LoopOp op) {
  int64_t first = timeline.timeOf(op), last = timeline.timeOf(endOf(op));
  for (Value init : op.getInits())
    touch(init, op);
  for (const CarriedValue &row : places.getCarried())
    if (row.loop == op)
      make(row.current, op->getBlock(), first, last).users.push_back(op);
  for (Value result : op.getResults().drop_front(op.getNumCarried())) {
    bool inPlace = Placement::isScanInPlace(result, bounds);
    Slot &slot = make(result, op->getBlock(), first, last);
    slot.users.push_back(op);
    slot.isGrown = !inPlace;
    // Space for as many trips as there may be.
    Sizes part(ArrayRef(sizesOf(result)).drop_front());
    slot.bytes = inPlace ? *op.getTripCount() * product(part) *
                               SymExpr(elementBytes(typeOf(result).getElementType()))
                         : SymExpr(0);
  }
  collect(op.getBody().front());
}

void Slots::markOutputs() {
  for (OpOperand &operand : main.getBody().front().getTerminator()->getOpOperands()) {
    Slot &slot = slots.find(places[operand.get()].storage)->second;
    slot.region = MemoryRegion::Output;
    slot.index = operand.getOperandNumber();
    slot.isOwned = isObject(operand.get().getType()) || !bounds.upper(bytesOf(operand.get()));
  }
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Bytes with a bound that the inputs' shapes decide are planned ahead; others come
/// from the heap.
void Slots::chooseRegions() {
  for (auto &[storage, slot] : slots) {
    if (slot.region != MemoryRegion::Arena)
      continue;
    std::optional<SymExpr> bound = bounds.upper(slot.bytes);
    if (bound && !slot.isGrown && !isObject(storage.getType()))
      slot.bound = *bound;
    else
      slot.region = MemoryRegion::Heap;
  }
  // What takes turns lies in one region.
  for (bool changed = true; changed;) {
    changed = false;
    for (const CarriedValue &row : places.getCarried()) {
      SmallVector<Value> storages = {row.current, row.init};
      if (row.next)
        storages.push_back(row.next);
      bool anyHeap = llvm::any_of(storages, [&](Value storage) {
        return slots.find(storage)->second.region == MemoryRegion::Heap;
      });
      for (Value storage : storages) {
        Slot &slot = slots.find(storage)->second;
        if (anyHeap && slot.region != MemoryRegion::Heap) {
          slot.region = MemoryRegion::Heap;
          changed = true;
        }
      }
    }
  }
}

void Slots::join(Value storage, Value owner) {
  Slot &slot = slots.find(storage)->second, &root = (*this)[owner];
  slot.reuses = owner;
  root.first = std::min(root.first, slot.first);
  root.last = std::max(root.last, slot.last);
  root.bound = SymExpr::max(root.bound, slot.bound);
  root.users.insert(root.users.end(), slot.users.begin(), slot.users.end());
}

/// Storages that branches and loops hand on become one slot, where memory does not
/// move.
void Slots::joinRegions() {
  // The result of an outer branch may itself be handed on.
  auto top = [&](Value result) {
    while (true) {
      auto outer = places.getYielded().find(result);
      if (outer == places.getYielded().end())
        return result;
      result = outer->second;
    }
  };
  for (auto [storage, result] : places.getYielded()) {
    Slot &slot = slots.find(storage)->second;
    if (slots.find(top(result))->second.isAllocated()) {
      slot.region = MemoryRegion::Heap;
      slot.isTaken = true;
    }
  }
  for (auto [storage, result] : places.getYielded())
    if (!slots.find(storage)->second.isTaken)
      join(storage, result);
  for (const CarriedValue &row : places.getCarried())
    join(row.current, row.init);
}

//===----------------------------------------------------------------------===//
// In-place results
//===----------------------------------------------------------------------===//

/// True if nothing reads a storage after `launch`; for the result of a loop's body,
/// nothing in this trip.
bool Slots::diesAt(Value storage, Operation *launch) {
  int64_t time = timeline.timeOf(launch);
  for (const CarriedValue &row : places.getCarried())
    if (row.current == storage && row.next == places[launch->getResult(0)].storage)
      return launch->getBlock() == storage.getParentBlock() && lastInBody.lookup(storage) == time;
  return (*this)[storage].last == time;
}

/// A kernel may write over an operand that dies there.
bool Slots::mayReuse(LaunchOp launch, unsigned input) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  Value operand = launch.getInputs()[input], result = launch.getResult(0);
  Value from = places[operand].storage, to = places[result].storage;
  if (from == to || to != result)
    return false;
  const Slot &source = (*this)[from], &target = slots.find(to)->second;
  bool inArena = source.region == MemoryRegion::Arena && target.region == MemoryRegion::Arena &&
                 source.bound == target.bound;
  // Memory of the heap is taken and given back in one block.
  bool inHeap = source.region == MemoryRegion::Heap && target.region == MemoryRegion::Heap &&
                source.block == target.block;
  if ((!inArena && !inHeap) || target.reuses ||
      tensorBytes(typeOf(operand)) != tensorBytes(typeOf(result)) || !diesAt(from, launch))
    return false;
  // Nothing of the storage may be read elsewhere than where it is written: not
  // through this operand, and not through another view of the same bytes.
  auto isSafe = [&](unsigned i) {
    Value value = launch.getInputs()[i];
    const MemoryPlace &place = places[value];
    return place.offset == SymExpr(0) && isContiguous(sizesOf(value), place.strides) &&
           sizesOf(value) == sizesOf(result) &&
           elementBytes(typeOf(value).getElementType()) ==
               elementBytes(typeOf(result).getElementType()) &&
           mayOverwrite(kernel, i);
  };
  for (unsigned i = 0; i < launch.getInputs().size(); ++i) {
    Value storage = places[launch.getInputs()[i]].storage;
    bool isShared = i == input || &(*this)[storage] == &source;
    if (isShared && !isSafe(i))
      return false;
  }
  return true;
}

/// A call that changes a sequence may do it in place where nobody reads it afterwards,
/// so that its cost does not grow with the sequence.
bool Slots::mayChange(lumen::CallOp call) {
  if (call.getCallee() != "sequence_insert" && call.getCallee() != "sequence_erase")
    return false;
  Value from = places[call.getArgs()[0]].storage, to = call.getResult(0);
  const Slot &source = (*this)[from], &target = slots.find(to)->second;
  bool isOnlyReader = llvm::count_if(call.getArgs(), [&](Value argument) {
                        return &(*this)[places[argument].storage] == &source;
                      }) == 1;
  bool isCarriedOn = llvm::any_of(places.getCarried(), [&](const CarriedValue &row) {
    return row.current == from && row.next == to;
  });
  return isOnlyReader && places[to].storage == to && !target.reuses &&
         source.region == MemoryRegion::Heap && target.region == MemoryRegion::Heap &&
         (isCarriedOn || source.block == target.block) && diesAt(from, call);
}

void Slots::reuseInPlace() {
  for (lumen::CallOp call : calls)
    if (mayChange(call))
      join(call.getResult(0), places[call.getArgs()[0]].storage);
  for (LaunchOp launch : launches) {
    if (launch.getNumResults() != 1)
      continue;
    for (unsigned i = 0; i < launch.getInputs().size(); ++i) {
      if (!mayReuse(launch, i))
        continue;
      join(launch.getResult(0), places[launch.getInputs()[i]].storage);
      break;
    }
  }
}

/// Slots whose memory takes turns are live together: each may hold what any of them
/// holds, and their places are exchanged for as long as the run lasts.
void Slots::alignSwapped() {
  llvm::EquivalenceClasses<Slot *> groups;
  SmallVector<Slot *> order;
  for (const CarriedValue &row : places.getCarried()) {
    if (!row.next)
      continue;
    Slot *current = &(*this)[row.current], *next = &(*this)[row.next];
    if (current == next)
      continue;
    if (current->region == MemoryRegion::Heap) {
      slots.find(row.next)->second.isTaken = true;
      next->isTaken = true;
      continue;
    }
    groups.unionSets(current, next);
    order.append({current, next});
  }
  for (Slot *slot : order) {
    slot->isSwapped = true;
    Slot *leader = groups.getLeaderValue(slot);
    leader->first = std::min(leader->first, slot->first);
    leader->last = std::max(leader->last, slot->last);
    leader->bound = SymExpr::max(leader->bound, slot->bound);
  }
  for (Slot *slot : order) {
    const Slot *leader = groups.getLeaderValue(slot);
    slot->first = leader->first;
    slot->last = leader->last;
    slot->bound = leader->bound;
  }
}
