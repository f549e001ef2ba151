//===- Placement.cpp - which values of a schedule share memory ------------===//

#include "passes/memory/Placement.h"

#include "dialects/Lumen/SymbolUses.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

std::optional<Sizes> lumen::reshapeStrides(ArrayRef<SymExpr> from, ArrayRef<SymExpr> strides,
                                           ArrayRef<SymExpr> to) {
  if (isContiguous(from, strides))
    return contiguousStrides(to);
  std::optional<SmallVector<DimGroup>> groups = reshapeGroups(from, to);
  if (!groups)
    return std::nullopt;
  Sizes result(to.size(), SymExpr(1));
  for (const DimGroup &group : *groups) {
    // A group can be re-divided only if its dimensions follow each other in memory.
    for (auto [outer, inner] :
         llvm::zip(ArrayRef(group.from).drop_back(), ArrayRef(group.from).drop_front()))
      if (strides[outer] != from[inner] * strides[inner])
        return std::nullopt;
    SymExpr stride = strides[group.from.back()];
    for (int64_t dim : llvm::reverse(group.to)) {
      result[dim] = stride;
      stride *= to[dim];
    }
  }
  return result;
}

bool Placement::isScanInPlace(Value scan, const SizeBounds &bounds) {
  auto loop = scan.getDefiningOp<LoopOp>();
  if (!loop.getTrips())
    return false;
  // Where parts lie must not depend on what the loop changes.
  SmallVector<StringRef> changed = symbolsDefinedBy(loop);
  std::set<std::string> names;
  product(ArrayRef(sizesOf(scan)).drop_front()).collectSymbols(names);
  for (const std::string &name : names)
    if (llvm::is_contained(changed, name))
      return false;
  // Space for every trip is wasted where most are never made: exporters write a
  // limit that means "as long as the condition holds". No trips need no place.
  constexpr int64_t kMostReserved = 1 << 16;
  SymExpr trips = *loop.getTripCount();
  std::optional<int64_t> constant = trips.asConstant();
  if (constant && *constant <= 0)
    return false;
  if (!loop.getConditional())
    return true;
  return constant ? *constant <= kMostReserved : bounds.isEntry(trips);
}

Placement::Placement(func::FuncOp main, const SizeBounds &bounds, CopyFn needsCopy)
    : bounds(bounds), needsCopy(needsCopy) {
  main.walk([&](Operation *op) {
    for (StringRef name : symbolsDefinedBy(op))
      definers[name] = op;
  });
  Block &block = main.getBody().front();
  for (BlockArgument argument : block.getArguments())
    placeAsStorage(argument);
  placeBlock(block);
  placeReturned(cast<func::ReturnOp>(block.getTerminator()));
}

bool Placement::place(Value value, MemoryPlace place) {
  Value storage = place.storage;
  bool isNew = places.try_emplace(value, std::move(place)).second;
  if (isNew)
    valuesIn[storage].push_back(value);
  return isNew;
}

void Placement::placeAsStorage(Value value) {
  if (isObject(value.getType())) {
    place(value, {value, 0, {}, /*fills=*/true});
    return;
  }
  place(value, {value, 0, contiguousStrides(sizesOf(value)), /*fills=*/true});
}

void Placement::placeBlock(Block &block) {
  placeConcats(block);
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (isa<SliceOp, ReshapeOp, lumen::CastOp>(op))
      placeView(op);
    else if (auto branch = dyn_cast<IfOp>(op))
      placeIf(branch);
    else if (auto loop = dyn_cast<LoopOp>(op))
      placeLoop(loop);
    else
      for (Value result : op.getResults())
        placeAsStorage(result);
  }
}

bool Placement::isKnownAt(const SymExpr &expr, Operation *op) const {
  std::set<std::string> names;
  expr.collectSymbols(names);
  return llvm::all_of(names, [&](const std::string &name) {
    auto found = definers.find(name);
    if (found == definers.end()) // of the entry
      return true;
    Operation *definer = found->second;
    Operation *at = definer->getBlock()->findAncestorOpInBlock(*op);
    return at && (at == definer ? isa<LoopOp>(definer) && at != op : definer->isBeforeInBlock(at));
  });
}

bool Placement::canMove(Value value, Block &block, const MemoryPlace &place) const {
  // What another block makes is there before this one's storage is.
  Operation *producer = value.getDefiningOp();
  if (!isa_and_nonnull<LaunchOp, ConcatOp>(producer) || producer->getBlock() != &block ||
      places.count(value))
    return false;
  // So is what is made before the run knows where.
  SymExpr bytes = product(sizesOf(place.storage));
  return isKnownAt(place.offset, producer) &&
         llvm::all_of(place.strides,
                      [&](const SymExpr &stride) { return isKnownAt(stride, producer); }) &&
         (bounds.upper(bytes) || isKnownAt(bytes, producer));
}

/// Last concat first, so that a concat inside another one knows its place when
/// its own operands are placed.
void Placement::placeConcats(Block &block) {
  SmallVector<ConcatOp> concats(block.getOps<ConcatOp>());
  for (ConcatOp concat : llvm::reverse(concats)) {
    placeAsStorage(concat.getResult());
    MemoryPlace target = places.find(concat.getResult())->second;
    target.fills = false;
    for (OpOperand &operand : concat->getOpOperands()) {
      Value value = operand.get();
      if (!canMove(value, block, target))
        value = needsCopy(operand);
      place(value, target);
      target.offset += sizeOf(value, concat.getAxis()) * target.strides[concat.getAxis()];
    }
  }
}

void Placement::placeView(Operation &op) {
  MemoryPlace result = places.find(op.getOperand(0))->second;
  if (isObject(op.getOperand(0).getType())) { // a cast: nothing else views one
    place(op.getResult(0), std::move(result));
    return;
  }
  Sizes from = sizesOf(op.getOperand(0)), to = sizesOf(op.getResult(0));
  if (auto slice = dyn_cast<SliceOp>(op)) {
    for (auto [offset, step, stride] :
         llvm::zip(slice.getOffsetSizes(), slice.getStrides(), result.strides)) {
      result.offset += offset * stride;
      stride *= SymExpr(step);
    }
    result.fills &= from == to && result.offset == SymExpr(0) && isContiguous(to, result.strides);
  } else if (isa<lumen::CastOp>(op)) {
    // The same sizes, but strides read best in the names that the type uses.
    if (isContiguous(from, result.strides))
      result.strides = contiguousStrides(to);
  } else {
    std::optional<Sizes> strides = reshapeStrides(from, result.strides, to);
    if (!strides) {
      Value copy = needsCopy(op.getOpOperand(0));
      placeAsStorage(copy);
      result = places.find(copy)->second;
      strides = contiguousStrides(to);
    }
    result.strides = *strides;
  }
  place(op.getResult(0), std::move(result));
}

//===----------------------------------------------------------------------===//
// Storages that are handed on
//===----------------------------------------------------------------------===//

/// The operation that makes a storage, as its block sees it.
static Operation *makerOf(Value storage) {
  if (auto argument = dyn_cast<BlockArgument>(storage))
    return argument.getOwner()->getParentOp();
  return storage.getDefiningOp();
}

static bool isCarried(Value storage) {
  return isa<BlockArgument>(storage) && isa<LoopOp>(makerOf(storage));
}

/// True if no trip changes what a loop carries behind this operand.
static bool isPassedThrough(OpOperand &init) {
  auto loop = dyn_cast<lumen::LoopOp>(init.getOwner());
  if (!loop || init.getOperandNumber() < loop.getConditional())
    return false;
  Block &body = loop.getBody().front();
  return body.getTerminator()->getOperand(init.getOperandNumber()) ==
         body.getArgument(init.getOperandNumber() - loop.getConditional());
}

/// True if nothing reads what lies in the operand's storage behind its user, nor
/// inside it. Another operand of the user gets a copy, since one took the storage,
/// unless it stays where it is.
bool Placement::diesAt(OpOperand &operand) const {
  Operation *here = operand.getOwner();
  for (Value value : valuesIn.find(places.find(operand.get())->second.storage)->second)
    for (OpOperand &use : value.getUses()) {
      if (use.getOwner() == here) {
        if (&use != &operand && isPassedThrough(use))
          return false;
        continue;
      }
      Operation *user = here->getBlock()->findAncestorOpInBlock(*use.getOwner());
      if (!user || user == here || !user->isBeforeInBlock(here))
        return false;
    }
  return true;
}

bool Placement::isMadeIn(Block *block, Value storage) const {
  Operation *maker = makerOf(storage);
  if (!maker || maker->getBlock() != block ||
      !isa<LaunchOp, lumen::CallOp, ConcatOp, IfOp, LoopOp>(maker))
    return false;
  // Parts that a loop appends have a storage that grows.
  return !isa<LoopOp>(maker) || isCarried(storage) || isScanInPlace(storage, bounds);
}

Value Placement::claim(OpOperand &operand, Block *madeIn, bool ofLoops) {
  const MemoryPlace &place = places.find(operand.get())->second;
  bool isFresh =
      isMadeIn(madeIn, place.storage) && (ofLoops || !isa<LoopOp>(makerOf(place.storage)));
  if (isFresh && place.fills && diesAt(operand) && claimed.insert(place.storage).second)
    return place.storage;
  Value copy = needsCopy(operand);
  placeAsStorage(copy);
  claimed.insert(copy);
  return copy;
}

void Placement::placeIf(IfOp op) {
  for (Value result : op.getResults())
    placeAsStorage(result);
  for (Region *region : {&op.getThenRegion(), &op.getElseRegion()}) {
    Block &block = region->front();
    placeBlock(block);
    for (auto [operand, result] :
         llvm::zip(block.getTerminator()->getOpOperands(), op.getResults()))
      yielded[claim(operand, &block, /*ofLoops=*/false)] = result;
  }
}

/// The part of a scan output that a trip makes is written where it belongs.
void Placement::placeScans(LoopOp op) {
  Block &block = op.getBody().front();
  unsigned numCarried = op.getNumCarried();
  for (auto [i, result] : llvm::enumerate(op.getResults().drop_front(numCarried))) {
    if (!isScanInPlace(result, bounds))
      continue;
    OpOperand &operand = block.getTerminator()->getOpOperand(op.getConditional() + numCarried + i);
    Sizes part(ArrayRef(sizesOf(result)).drop_front());
    MemoryPlace target{result, SymExpr::symbol(op.getInduction()) * product(part),
                       contiguousStrides(part), /*fills=*/false};
    place(canMove(operand.get(), block, target) ? operand.get() : needsCopy(operand), target);
  }
}

void Placement::placeLoop(LoopOp op) {
  Block &block = op.getBody().front();
  unsigned first = op.getConditional(), numCarried = op.getNumCarried();
  for (unsigned i = 0; i < numCarried; ++i) {
    Value argument = block.getArgument(i), result = op.getResult(i);
    // What no trip changes stays where it is.
    if (isPassedThrough(op->getOpOperand(first + i))) {
      MemoryPlace init = places.find(op.getOperand(first + i))->second;
      place(argument, init);
      place(result, init);
      continue;
    }
    Value init = claim(op->getOpOperand(first + i), op->getBlock(), /*ofLoops=*/true);
    placeAsStorage(argument);
    carried.push_back({op, i, argument, init, Value()});
    MemoryPlace last = places.find(argument)->second;
    if (!isObject(result.getType()))
      last.strides = contiguousStrides(sizesOf(result));
    place(result, std::move(last));
  }
  for (Value result : op.getResults().drop_front(numCarried))
    placeAsStorage(result);
  placeScans(op);
  placeBlock(block);
  auto operands = block.getTerminator()->getOpOperands().drop_front(first);
  for (auto &row : carried) {
    if (row.loop != op)
      continue;
    OpOperand &operand = operands[row.index];
    const MemoryPlace &place = places.find(operand.get())->second;
    if (place.storage != row.current || !place.fills)
      row.next = claim(operand, &block, /*ofLoops=*/true);
  }
  // Bytes are appended in one piece.
  for (auto [operand, result] : llvm::zip(operands, op.getResults())) {
    if (result.getResultNumber() < numCarried || isScanInPlace(result, bounds))
      continue;
    const MemoryPlace &place = places.find(operand.get())->second;
    if (!isContiguous(sizesOf(operand.get()), place.strides))
      placeAsStorage(needsCopy(operand));
  }
}

/// A returned value must fill a storage of its own, the caller's buffer, which has
/// room for the value's upper bound.
void Placement::placeReturned(func::ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    MemoryPlace place = places.find(operand.get())->second;
    bool isFresh = isMadeIn(op->getBlock(), place.storage) && !isCarried(place.storage);
    auto fillsToBound = [&] {
      std::optional<SymExpr> bound = bounds.upper(product(sizesOf(operand.get())));
      return place.offset == SymExpr(0) && bound && *bound == product(sizesOf(place.storage)) &&
             isContiguous(sizesOf(operand.get()), place.strides);
    };
    if (isFresh && (place.fills || fillsToBound()) && claimed.insert(place.storage).second)
      continue;
    Value copy = needsCopy(operand);
    placeAsStorage(copy);
    claimed.insert(copy);
  }
}
