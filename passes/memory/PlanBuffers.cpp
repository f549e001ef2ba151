//===- PlanBuffers.cpp - give every value a place in memory ---------------===//

#include "dialects/Lumen/SymbolUses.h"
#include "passes/memory/OffsetPacking.h"
#include "passes/memory/Passes.h"
#include "passes/memory/Slots.h"
#include "passes/memory/Weights.h"

namespace lumen {
#define GEN_PASS_DEF_PLANBUFFERS
#define GEN_PASS_DEF_VERIFYNOTENSORS
#include "passes/memory/Passes.h.inc"
} // namespace lumen

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

namespace {

// Cache lines do not straddle buffers, and vector loads of a whole row stay
// aligned: LUMEN_ALIGNMENT of the runtime's contract.
constexpr int64_t kAlignment = 64;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

class Planner {
public:
  Planner(ModuleOp module, func::FuncOp main)
      : module(module), main(main), bounds(main),
        places(
            main, bounds,
            [](OpOperand &) -> Value { llvm_unreachable("place-views made every view possible"); }),
        slots(module, main, bounds, places) {
    packArena();
    placeWeights();
    nameSymbols();
    planHeap();
  }

  void rewrite();

private:
  void packArena();
  void placeWeights();
  void nameSymbols();
  void planHeap();

  Value storageFor(const Slot &slot);
  Value storageOf(Value storage) { return storageFor(slots[storage]); }
  Value bufferFor(Value value);
  OpBuilder at(Block *block);
  std::string freshSymbol(StringRef role);

  void rewriteBlock(Block &from, Block &to);
  void rewriteLaunch(LaunchOp op, OpBuilder &builder);
  void rewriteCall(lumen::CallOp op, OpBuilder &builder);
  void rewriteSymbol(SymbolOp op, OpBuilder &builder);
  void rewriteIf(lumen::IfOp op, OpBuilder &builder);
  void rewriteLoop(lumen::LoopOp op, OpBuilder &builder);
  void finishLoop(lumen::LoopOp op, OpBuilder &builder, StringRef condition);
  void keepSignature();

  ModuleOp module;
  func::FuncOp main;
  SizeBounds bounds;
  Placement places;
  Slots slots;
  WeightTable weights;
  int64_t arenaSize = 0;
  bool isStatic = true; ///< offsets in the arena are known
  llvm::StringSet<> symbolNames;

  /// Slots of the heap, by the operation before or behind which they begin and end.
  DenseMap<Operation *, SmallVector<const Slot *>> allocBefore, freeAfter;

  // The rewritten schedule: a block's copy, and what is being made at its end.
  DenseMap<Block *, std::pair<Block *, Operation *>> copies;
  Operation *lastStorage = nullptr;
  DenseMap<const Slot *, Value> storageOps;
  Value arena;
  llvm::SmallDenseMap<int64_t, Value> weightStorages; ///< by offset; empty ones: -1
  DenseMap<Value, Value> bufferOf;
  llvm::StringMap<Value> sharedBuffers;
};

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

void Planner::packArena() {
  SmallVector<Slot *> owners;
  std::vector<LiveRange> ranges;
  int64_t unshared = 0;
  for (auto &[storage, slot] : slots.all()) {
    if (slot.region != MemoryRegion::Arena)
      continue;
    std::optional<int64_t> bytes = slot.bound.asConstant();
    isStatic &= bytes.has_value();
    unshared += bytes.value_or(0);
    if (slot.reuses)
      continue;
    owners.push_back(&slot);
    ranges.push_back({slot.first, slot.last, bytes.value_or(0)});
  }
  // The runtime packs what depends on the inputs' shapes.
  if (!isStatic)
    return;
  Packing packing = packOffsets(ranges, kAlignment);
  for (auto [slot, offset] : llvm::zip(owners, packing.offsets))
    slot->offset = offset;
  arenaSize = packing.size;
  Builder builder(module.getContext());
  module->setAttr("lumen.arena_size", builder.getI64IntegerAttr(packing.size));
  module->setAttr("lumen.arena_lower_bound", builder.getI64IntegerAttr(peakLiveBytes(ranges)));
  module->setAttr("lumen.bytes_without_sharing", builder.getI64IntegerAttr(unshared));
}

void Planner::placeWeights() {
  BlobTable &blobs = module.getContext()->getLoadedDialect<LumenDialect>()->getBlobs();
  for (auto &[storage, slot] : slots.all())
    if (slot.region == MemoryRegion::Weights)
      slot.offset = weights.place(storage.getDefiningOp<ConstantOp>().getValue(), blobs);
  module->setAttr("lumen.weights", weights.toAttribute(module.getContext()));
}

/// Collects the names of all symbols, so that new ones differ.
void Planner::nameSymbols() {
  std::set<std::string> names;
  for (Type type : main.getArgumentTypes())
    collectSymbols(type, names);
  for (const std::string &name : names)
    symbolNames.insert(name);
  main.walk([&](Operation *op) { symbolNames.insert_range(symbolsDefinedBy(op)); });
}

std::string Planner::freshSymbol(StringRef role) {
  for (unsigned i = 0;; ++i) {
    std::string name = (role + "$" + Twine(i)).str();
    if (symbolNames.insert(name).second)
      return name;
  }
}

/// Memory of the heap is taken before the first writer and given back behind the last
/// reader, in the block that made the storage.
void Planner::planHeap() {
  for (auto &[storage, slot] : slots.all()) {
    if (!slot.isAllocated() || slot.reuses)
      continue;
    Operation *first = nullptr, *last = nullptr;
    for (Operation *user : slot.users) {
      user = slot.block->findAncestorOpInBlock(*user);
      if (!first || user->isBeforeInBlock(first))
        first = user;
      if (!last || last->isBeforeInBlock(user))
        last = user;
    }
    // The branches of an `if` bring the memory of its results, and a call takes its own.
    if (!isa_and_nonnull<lumen::IfOp, lumen::CallOp>(storage.getDefiningOp()) &&
        !isObject(storage.getType()))
      allocBefore[first].push_back(&slot);
    if (slot.region == MemoryRegion::Heap && !slot.isTaken)
      freeAfter[last].push_back(&slot);
  }
}

//===----------------------------------------------------------------------===//
// Storages and buffers
//===----------------------------------------------------------------------===//

/// The end of a block's copy, before what is being made there.
OpBuilder Planner::at(Block *block) {
  auto [copy, current] = copies.lookup(block);
  return current ? OpBuilder(current) : OpBuilder::atBlockEnd(copy);
}

Value Planner::storageFor(const Slot &slot) {
  bool isPacked = slot.region == MemoryRegion::Arena && isStatic && !slot.isSwapped;
  // A constant has a storage of its own: devices whose allocations are limited put them into
  // several.
  bool isConstant = slot.region == MemoryRegion::Weights;
  // What is empty lies where another begins.
  int64_t place = slot.bytes == SymExpr(0) ? -1 : slot.offset;
  Value &storage = isPacked ? arena : isConstant ? weightStorages[place] : storageOps[&slot];
  if (storage)
    return storage;
  Block *top = copies.lookup(&main.getBody().front()).first;
  OpBuilder builder = OpBuilder::atBlockBegin(top);
  if (lastStorage)
    builder.setInsertionPointAfter(lastStorage);
  SymExpr size = isPacked                             ? SymExpr(arenaSize)
                 : slot.region == MemoryRegion::Arena ? slot.bound
                 : slot.isAllocated() ? slot.bytes
                                      : bounds.upper(slot.bytes).value_or(slot.bytes);
  auto op = StorageOp::create(builder, main.getLoc(), StorageType::get(builder.getContext()),
                              slot.region, slot.index, size.str(),
                              /*offset=*/isConstant ? slot.offset : 0,
                              /*first=*/IntegerAttr(), /*last=*/IntegerAttr());
  if (slot.region == MemoryRegion::Arena && !isPacked) {
    if (isStatic)
      op.setOffset(slot.offset);
    op.setFirst(slot.first);
    op.setLast(slot.last);
  }
  lastStorage = op;
  return storage = op;
}

/// Buffers are named once per value, in the block of its storage, before the first
/// operation that uses them.
Value Planner::bufferFor(Value value) {
  Value &buffer = bufferOf[value];
  if (buffer)
    return buffer;
  const MemoryPlace &place = places[value];
  const Slot &slot = slots[place.storage];
  Value storage = storageFor(slot);
  bool isPacked = storage == arena;
  bool isElements = !isObject(value.getType());
  SymExpr bytes = isElements ? elementBytes(typeOf(value).getElementType()) : 0;
  Sizes sizes = isElements ? sizesOf(value) : Sizes();
  SymExpr size(0);
  if (isElements && llvm::none_of(sizes, [](const SymExpr &s) { return s == SymExpr(0); })) {
    // From the first element to the last one.
    SymExpr extent(1);
    for (auto [dim, stride] : llvm::zip(sizes, place.strides))
      extent += (dim - SymExpr(1)) * stride;
    bool isBackwards = extent.asConstant().value_or(0) < 0;
    size = isContiguous(sizes, place.strides) ? tensorBytes(typeOf(value))
           : isBackwards                      ? SymExpr(0)
                                              : extent * bytes;
  }
  // A part of nothing may lie behind the end of it.
  SymExpr offset = size == SymExpr(0) ? SymExpr(0) : place.offset * bytes;
  if (isPacked)
    offset += SymExpr(slot.offset);
  // Inputs and constants are the same everywhere. Live ranges are part of a buffer of
  // the arena, so buffers of two values that take turns at one place stay apart.
  bool isReadOnly = slot.region == MemoryRegion::Input || slot.region == MemoryRegion::Weights;
  Value own, *shared = &own;
  if (isReadOnly || slot.region == MemoryRegion::Output) {
    int64_t number = slot.region == MemoryRegion::Weights ? slot.offset : slot.index;
    shared = &sharedBuffers[std::to_string(static_cast<int>(slot.region)) + ":" +
                            std::to_string(number) + ":" + offset.str() + ":" + size.str()];
  }
  if (!*shared) {
    OpBuilder builder = at(isReadOnly ? &main.getBody().front() : slot.block);
    auto op = BufferOp::create(builder, value.getLoc(), storage, offset, size);
    if (isPacked) {
      op.setFirst(slot.first);
      op.setLast(slot.last);
    }
    *shared = op;
  }
  return buffer = *shared;
}

//===----------------------------------------------------------------------===//
// The schedule over buffers
//===----------------------------------------------------------------------===//

void Planner::rewriteLaunch(LaunchOp op, OpBuilder &builder) {
  auto inputs = llvm::map_to_vector(op.getInputs(), [&](Value v) { return bufferFor(v); });
  auto outs = llvm::map_to_vector(op.getResults(), [&](Value v) { return bufferFor(v); });
  LaunchOp::create(builder, op.getLoc(), TypeRange{}, op.getKernel(), inputs, outs,
                   op.getAffinity(), op.getSizesAttr());
}

void Planner::rewriteCall(lumen::CallOp op, OpBuilder &builder) {
  auto inputs = llvm::map_to_vector(op.getArgs(), [&](Value v) { return bufferFor(v); });
  auto outs = llvm::map_to_vector(op.getResults(), [&](Value v) { return bufferFor(v); });
  SmallVector<Type> types(op.getArgs().getTypes());
  llvm::append_range(types, op.getResultTypes());
  dispatch::CallOp::create(builder, op.getLoc(), op.getCallee(), inputs, outs,
                           builder.getTypeArrayAttr(types), op.getDataAttr(),
                           op.getSymbols().has_value());
  if (!op.getSymbols())
    return;
  Value extents = op.getResult(1);
  const MemoryPlace &place = places[extents];
  const Slot &slot = slots[place.storage];
  auto all = bufferFor(extents).getDefiningOp<BufferOp>();
  for (auto [i, name] : llvm::enumerate(op.getSymbols()->getAsValueRange<StringAttr>())) {
    if (name.empty())
      continue;
    constexpr int64_t kBytes = 8;
    OpBuilder buffers = at(slot.block);
    auto one = BufferOp::create(buffers, op.getLoc(), all.getStorage(),
                                all.getOffsetBytes() + SymExpr(int64_t(i) * kBytes), kBytes);
    one.setFirstAttr(all.getFirstAttr());
    one.setLastAttr(all.getLastAttr());
    BindOp::create(builder, op.getLoc(), name, one, builder.getI64Type());
  }
}

void Planner::rewriteSymbol(SymbolOp op, OpBuilder &builder) {
  BindOp::create(builder, op.getLoc(), op.getName(), bufferFor(op.getValue()),
                 typeOf(op.getValue()).getElementType());
  if (std::optional<StringRef> bound = op.getAtMost())
    CheckOp::create(builder, op.getLoc(), CheckKind::LessEqual, SymExpr::symbol(op.getName()).str(),
                    *bound, "a computed size");
}

void Planner::rewriteIf(lumen::IfOp op, OpBuilder &builder) {
  std::string condition = freshSymbol("if");
  BindOp::create(builder, op.getLoc(), condition, bufferFor(op.getCondition()),
                 builder.getI1Type());
  auto branch = BranchOp::create(builder, op.getLoc(), condition, op.getSymbols());
  copies[op->getBlock()].second = branch;
  Region *to[] = {&branch.getThenRegion(), &branch.getElseRegion()};
  for (auto [i, from] : llvm::enumerate(op->getRegions())) {
    to[i]->emplaceBlock();
    rewriteBlock(from.front(), to[i]->front());
    OpBuilder end = OpBuilder::atBlockEnd(&to[i]->front());
    auto yield = cast<lumen::YieldOp>(from.front().getTerminator());
    for (auto [value, result] : llvm::zip(yield.getValues(), op.getResults()))
      if (slots.all().find(places[value].storage)->second.isTaken)
        MoveOp::create(end, yield.getLoc(), storageOf(places[value].storage),
                       storageOf(places[result].storage));
    for (const Slot *slot : freeAfter.lookup(yield))
      FreeOp::create(end, yield.getLoc(), storageFor(*slot));
    EndOp::create(end, yield.getLoc(), yield.getSizes());
  }
  copies[op->getBlock()].second = nullptr;
}

void Planner::rewriteLoop(lumen::LoopOp op, OpBuilder &builder) {
  std::string condition;
  if (op.getConditional()) {
    condition = freshSymbol("while");
    BindOp::create(builder, op.getLoc(), condition, bufferFor(op.getInits().front()),
                   builder.getI1Type());
  }
  auto repeat =
      RepeatOp::create(builder, op.getLoc(), op.getTripsAttr(),
                       condition.empty() ? StringAttr() : builder.getStringAttr(condition),
                       op.getInductionAttr(), op.getSymbols(), op.getInitSizes());
  copies[op->getBlock()].second = repeat;
  Block &body = repeat.getBody().emplaceBlock();
  rewriteBlock(op.getBody().front(), body);
  OpBuilder end = OpBuilder::atBlockEnd(&body);
  finishLoop(op, end, condition);
  copies[op->getBlock()].second = nullptr;
}

/// What happens at the end of a trip, after all that is read of it was read.
void Planner::finishLoop(lumen::LoopOp op, OpBuilder &builder, StringRef condition) {
  auto yield = cast<lumen::YieldOp>(op.getBody().front().getTerminator());
  if (op.getConditional())
    BindOp::create(builder, yield.getLoc(), condition, bufferFor(yield.getValues().front()),
                   builder.getI1Type());
  unsigned numCarried = op.getNumCarried();
  for (auto [value, result] :
       llvm::zip(yield.getValues().drop_front(op.getConditional() + numCarried),
                 op.getResults().drop_front(numCarried)))
    if (slots.slotOf(result).isGrown)
      AppendOp::create(builder, yield.getLoc(), bufferFor(value),
                       storageOf(places[result].storage));
  for (const CarriedValue &row : places.getCarried()) {
    if (row.loop != op || !row.next || &slots[row.next] == &slots[row.current])
      continue;
    Value next = storageOf(row.next), current = storageOf(row.current);
    if (slots[row.current].region == MemoryRegion::Heap)
      MoveOp::create(builder, yield.getLoc(), next, current);
    else
      SwapOp::create(builder, yield.getLoc(), current, next);
  }
  for (const Slot *slot : freeAfter.lookup(yield))
    FreeOp::create(builder, yield.getLoc(), storageFor(*slot));
  EndOp::create(builder, yield.getLoc(), yield.getSizes());
}

void Planner::rewriteBlock(Block &from, Block &to) {
  copies[&from] = {&to, nullptr};
  for (Operation &op : from.without_terminator()) {
    OpBuilder builder = OpBuilder::atBlockEnd(&to);
    for (const Slot *slot : allocBefore.lookup(&op))
      AllocOp::create(builder, op.getLoc(), storageFor(*slot));
    if (auto launch = dyn_cast<LaunchOp>(op))
      rewriteLaunch(launch, builder);
    else if (auto call = dyn_cast<lumen::CallOp>(op))
      rewriteCall(call, builder);
    else if (auto symbol = dyn_cast<SymbolOp>(op))
      rewriteSymbol(symbol, builder);
    else if (auto branch = dyn_cast<lumen::IfOp>(op))
      rewriteIf(branch, builder);
    else if (auto loop = dyn_cast<lumen::LoopOp>(op))
      rewriteLoop(loop, builder);
    else if (isa<CheckOp>(op))
      builder.clone(op);
    for (const Slot *slot : freeAfter.lookup(&op))
      FreeOp::create(builder, op.getLoc(), storageFor(*slot));
  }
}

/// The results' types and names stay as a signature.
void Planner::keepSignature() {
  Builder builder(main.getContext());
  SmallVector<Attribute> types, attrs, resultBounds;
  for (auto [i, type] : llvm::enumerate(main.getResultTypes())) {
    types.push_back(TypeAttr::get(type));
    auto dictionary = main.getResultAttrDict(i);
    attrs.push_back(dictionary ? dictionary : builder.getDictionaryAttr({}));
    SmallVector<Attribute> dims;
    auto tensor = dyn_cast<RankedTensorType>(type);
    for (const SymExpr &size : tensor ? sizesOf(tensor) : Sizes()) {
      std::optional<SymExpr> bound = bounds.upper(size);
      dims.push_back(bound ? Attribute(builder.getStringAttr(bound->str()))
                           : builder.getUnitAttr());
    }
    resultBounds.push_back(builder.getArrayAttr(dims));
  }
  main->setAttr("lumen.result_types", builder.getArrayAttr(types));
  main->setAttr("lumen.result_attrs", builder.getArrayAttr(attrs));
  bool isDynamic = llvm::any_of(main.getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && !tensor.hasStaticShape();
  });
  if (isDynamic)
    main->setAttr("lumen.result_bounds", builder.getArrayAttr(resultBounds));
  main.removeResAttrsAttr();
}

void Planner::rewrite() {
  Block &block = main.getBody().front();
  Block &copy = main.getBody().emplaceBlock();
  rewriteBlock(block, copy);
  OpBuilder builder = OpBuilder::atBlockEnd(&copy);
  func::ReturnOp::create(builder, block.getTerminator()->getLoc());
  keepSignature();
  main.setFunctionType(builder.getFunctionType(main.getArgumentTypes(), {}));
  for (BlockArgument argument : block.getArguments())
    copy.addArgument(argument.getType(), argument.getLoc());
  block.dropAllReferences();
  block.erase();
}

struct PlanBuffersPass : lumen::impl::PlanBuffersBase<PlanBuffersPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main)
      return signalPassFailure();
    Planner(getOperation(), main).rewrite();
  }
};

struct VerifyNoTensorsPass : lumen::impl::VerifyNoTensorsBase<VerifyNoTensorsPass> {
  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      if (launch.getNumResults() == 0 &&
          llvm::all_of(launch.getInputs(), [](Value v) { return isa<BufferType>(v.getType()); }))
        return;
      launch.emitOpError("works on tensors after memory planning");
      signalPassFailure();
    });
  }
};

} // namespace
