//===- Placement.h - which values of a schedule share memory -----*- C++ -*-===//
//
// Reshape, slice and concat need no code when their values can be parts of the
// same memory. This analysis says for each value of the schedule in which
// storage it lies, where, and with which strides; and which storages branches and
// loops hand on to each other.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_MEMORY_PLACEMENT_H
#define LUMEN_PASSES_MEMORY_PLACEMENT_H

#include "dialects/Dispatch/Dispatch.h"
#include "passes/memory/SizeBounds.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace lumen {

/// Where a value lies: elements `offset + sum(index * strides)` of a storage.
struct MemoryPlace {
  /// The value that owns the memory: a launch's result, an argument of the
  /// schedule, a constant, a concat that others are written into, a result of a
  /// branch, an argument of a loop's body, or a scan output.
  mlir::Value storage;
  SymExpr offset; ///< elements
  Sizes strides;
  /// The value is all of the storage, in row-major order.
  bool fills = false;
};

/// Strides of `to` such that it addresses the same elements as `from` with
/// `strides`, in row-major order; nothing where no strides can say that.
std::optional<Sizes> reshapeStrides(llvm::ArrayRef<SymExpr> from, llvm::ArrayRef<SymExpr> strides,
                                    llvm::ArrayRef<SymExpr> to);

/// A value that a loop carries from trip to trip, in two storages that take turns.
struct CarriedValue {
  LoopOp loop;
  unsigned index;
  mlir::Value current; ///< the body's argument; holds the result behind the loop
  mlir::Value init;    ///< the storage that becomes `current`, on entry
  mlir::Value next;    ///< what the body makes; null where the value stays as it is
};

class Placement {
public:
  /// Places every value. Where a view operation cannot share memory, `needsCopy`
  /// is called with the operand that must be copied first, and the analysis
  /// goes on as if it had been: it must return the copy.
  using CopyFn = llvm::function_ref<mlir::Value(mlir::OpOperand &)>;
  Placement(mlir::func::FuncOp main, const SizeBounds &bounds, CopyFn needsCopy);

  const MemoryPlace &operator[](mlir::Value value) const { return places.find(value)->second; }

  /// Storages of branches to the result of the branch that they become.
  const llvm::MapVector<mlir::Value, mlir::Value> &getYielded() const { return yielded; }
  llvm::ArrayRef<CarriedValue> getCarried() const { return carried; }

  /// Whether each trip writes its part of a loop's scan output at its place; else the
  /// parts are appended to each other.
  static bool isScanInPlace(mlir::Value scan, const SizeBounds &bounds);

private:
  void placeBlock(mlir::Block &block);
  void placeConcats(mlir::Block &block);
  void placeView(mlir::Operation &op);
  void placeIf(IfOp op);
  void placeLoop(LoopOp op);
  void placeScans(LoopOp op);
  void placeReturned(mlir::func::ReturnOp op);

  void placeAsStorage(mlir::Value value);
  /// Places a value at its first place; false where it has one already.
  bool place(mlir::Value value, MemoryPlace place);
  /// The value's storage, if it may be handed on by the terminator or loop behind
  /// `operand`: nothing else lies in it or takes it. Else that of a copy.
  mlir::Value claim(mlir::OpOperand &operand, mlir::Block *madeIn, bool ofLoops);
  /// Whether an operation of `block` makes the storage, and makes it in one piece.
  bool isMadeIn(mlir::Block *block, mlir::Value storage) const;
  bool diesAt(mlir::OpOperand &operand) const;
  /// Whether a kernel's result, made in `block`, may lie at another place than in a
  /// storage of its own.
  bool canMove(mlir::Value value, mlir::Block &block, const MemoryPlace &place) const;
  bool isKnownAt(const SymExpr &expr, mlir::Operation *op) const;

  const SizeBounds &bounds;
  CopyFn needsCopy;
  llvm::DenseMap<mlir::Value, MemoryPlace> places;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> valuesIn; ///< of each storage
  llvm::MapVector<mlir::Value, mlir::Value> yielded;
  llvm::SmallVector<CarriedValue> carried;
  llvm::DenseSet<mlir::Value> claimed;         ///< storages that have been handed on
  llvm::StringMap<mlir::Operation *> definers; ///< of late symbols
};

} // namespace lumen

#endif // LUMEN_PASSES_MEMORY_PLACEMENT_H
