//===- Slots.h - where and when storages live --------------------*- C++ -*-===//
//
// One slot per storage of the schedule, or one for several that take turns: the
// bytes, the region, and between which times they hold a value. Liveness goes
// through branches and loops.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_MEMORY_SLOTS_H
#define LUMEN_PASSES_MEMORY_SLOTS_H

#include "passes/memory/Placement.h"

namespace lumen {

/// Numbers what the schedule does, in the order of the text: a time for each launch
/// and each size that is read from memory, and for the begin and end of branches and
/// loops; see DispatchOps.td. The two branches of an `if` follow each other.
class Timeline {
public:
  explicit Timeline(mlir::func::FuncOp main) { number(main.getBody().front()); }

  /// When an operation reads its operands; the end of a region for its terminator.
  int64_t timeOf(mlir::Operation *op) const { return times.lookup(op); }

private:
  void number(mlir::Block &block);

  llvm::DenseMap<mlir::Operation *, int64_t> times;
  int64_t next = 0;
};

/// Where a storage lies, and when.
struct Slot {
  dispatch::MemoryRegion region = dispatch::MemoryRegion::Arena;
  int64_t index = 0;                    ///< of an input or output
  SymExpr bytes;                        ///< of what it holds
  SymExpr bound;                        ///< of the arena: over entry symbols, never less
  int64_t first = 0, last = 0;          ///< times
  int64_t offset = 0;                   ///< bytes in its region, where that is known
  mlir::Value reuses;                   ///< storage whose slot this one takes over
  mlir::Block *block = nullptr;         ///< where it is made
  std::vector<mlir::Operation *> users; ///< operations that read or write it
  bool isSwapped = false;               ///< its memory and that of another slot take turns
  bool isGrown = false;                 ///< a loop appends to it
  bool isTaken = false;                 ///< its memory moves to another slot in the end

  /// Whether its memory is taken from the heap.
  bool isAllocated() const { return region == dispatch::MemoryRegion::Heap || isOwned; }
  bool isOwned = false; ///< an output without a bound, whose memory is the context's
};

class Slots {
public:
  Slots(mlir::ModuleOp module, mlir::func::FuncOp main, const SizeBounds &bounds,
        const Placement &places);

  using Map = llvm::MapVector<mlir::Value, Slot>;
  /// By storage, in order of the schedule. Those that reuse another one included.
  Map &all() { return slots; }
  /// The slot that a storage's bytes belong to.
  Slot &operator[](mlir::Value storage);
  Slot &slotOf(mlir::Value value) { return (*this)[places[value].storage]; }

private:
  void collect(mlir::Block &block);
  void collectIf(IfOp op);
  void collectLoop(LoopOp op);
  Slot &make(mlir::Value storage, mlir::Block *block, int64_t first, int64_t last);
  void touch(mlir::Value value, mlir::Operation *op);
  void markOutputs();
  void chooseRegions();
  void joinRegions();
  void join(mlir::Value storage, mlir::Value owner);
  void reuseInPlace();
  bool mayReuse(dispatch::LaunchOp launch, unsigned input);
  bool mayChange(CallOp call);
  bool diesAt(mlir::Value storage, mlir::Operation *launch);
  void alignSwapped();

  mlir::func::FuncOp main;
  mlir::SymbolTable symbols;
  const SizeBounds &bounds;
  const Placement &places;
  Timeline timeline;
  llvm::SmallVector<dispatch::LaunchOp> launches;
  llvm::SmallVector<CallOp> calls;
  Map slots;
  /// When a loop's body reads a carried value for the last time in a trip.
  llvm::DenseMap<mlir::Value, int64_t> lastInBody;
};

} // namespace lumen

#endif // LUMEN_PASSES_MEMORY_SLOTS_H
