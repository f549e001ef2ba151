//===- PlanBuffers.cpp - give every value a place in memory ---------------===//

#include "passes/memory/OffsetPacking.h"
#include "passes/memory/Passes.h"
#include "passes/memory/Placement.h"
#include "passes/memory/Weights.h"

#include "llvm/ADT/MapVector.h"

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

/// Where a storage lives, and when.
struct Slot {
  MemoryRegion region = MemoryRegion::Arena;
  int64_t index = 0;  ///< of an input or output
  int64_t offset = 0; ///< bytes, in its region
  LiveRange range = {0, 0, 0};
  Value reuses; ///< storage whose slot this one takes over (in place)
};

class Planner {
public:
  Planner(ModuleOp module, func::FuncOp main)
      : module(module), main(main), symbols(module), places(main, [](OpOperand &) -> Value {
          llvm_unreachable("place-views made every view possible");
        }) {
    main.walk([&](LaunchOp launch) { launches.push_back(launch); });
    collectSlots();
    reuseInPlace();
    packArena();
    placeWeights();
  }

  void rewrite();

private:
  Block &block() { return main.getBody().front(); }
  Value storageOf(Value value) { return places[value].storage; }
  Slot &slotOf(Value storage) {
    Slot *slot = &slots.find(storage)->second;
    while (slot->reuses)
      slot = &slots.find(slot->reuses)->second;
    return *slot;
  }

  void collectSlots();
  void reuseInPlace();
  bool mayReuse(LaunchOp launch, unsigned input, int64_t step);
  void packArena();
  void placeWeights();
  Value bufferFor(OpBuilder &builder, Value value);

  ModuleOp module;
  func::FuncOp main;
  SymbolTable symbols;
  Placement places;
  SmallVector<LaunchOp> launches;
  llvm::MapVector<Value, Slot> slots; ///< by storage, in order of the schedule
  WeightTable weights;
  llvm::MapVector<std::tuple<int, int64_t, int64_t, int64_t>, Value> buffers;
};

void Planner::collectSlots() {
  for (BlockArgument argument : block().getArguments()) {
    Slot &slot = slots[argument];
    slot.region = MemoryRegion::Input;
    slot.index = argument.getArgNumber();
  }
  auto touch = [&](Value value, int64_t step) {
    Value storage = storageOf(value);
    auto [it, inserted] = slots.try_emplace(storage);
    Slot &slot = it->second;
    if (inserted) {
      slot.range = {step, step, *tensorBytes(typeOf(storage)).asConstant()};
      if (storage.getDefiningOp<ConstantOp>())
        slot.region = MemoryRegion::Weights;
    }
    slot.range.last = step;
  };
  for (auto [step, launch] : llvm::enumerate(launches)) {
    for (Value input : launch.getInputs())
      touch(input, step);
    for (Value result : launch.getResults())
      touch(result, step);
  }
  for (OpOperand &operand : block().getTerminator()->getOpOperands()) {
    Slot &slot = slots[storageOf(operand.get())];
    slot.region = MemoryRegion::Output;
    slot.index = operand.getOperandNumber();
  }
}

static bool writesOnce(Operation *root) {
  return !root || traitsOf(cast<LumenOpInterface>(root).getFamily()).writesOnce;
}

/// True if `kernel` reads its input only at the element that it writes: by
/// elementwise operations alone, behind the root if there is one. Builders load
/// what an epilogue reads when they store the result, each element once.
static bool readsWhereItWrites(KernelOp kernel, unsigned input) {
  Operation *root = kernel.getRoot();
  SmallVector<Value> reached = {kernel.getBody().getArgument(input)};
  for (size_t i = 0; i != reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        continue;
      auto op = dyn_cast<LumenOpInterface>(user);
      if (user == root || isa<BroadcastOp>(user) || !op || op.getFamily() != Family::Elementwise)
        return false;
      llvm::append_range(reached, user->getResults());
    }
  return true;
}

/// A kernel may write over an operand that dies there.
bool Planner::mayReuse(LaunchOp launch, unsigned input, int64_t step) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  Value operand = launch.getInputs()[input], result = launch.getResult(0);
  Value from = storageOf(operand), to = storageOf(result);
  if (!writesOnce(kernel.getRoot()) || from == to || to != result)
    return false;
  const Slot &source = slots.find(from)->second, &target = slots.find(to)->second;
  if (source.region != MemoryRegion::Arena || target.region != MemoryRegion::Arena || target.reuses ||
      slotOf(from).range.last != step || source.range.size != target.range.size)
    return false;
  // Nothing of the storage may be read elsewhere than where it is written: not
  // through this operand, and not through another view of the same bytes.
  auto isSafe = [&](unsigned i) {
    Value value = launch.getInputs()[i];
    const Place &place = places[value];
    return place.offset == 0 && isContiguous(typeOf(value).getShape(), place.strides) &&
           typeOf(value).getShape() == typeOf(result).getShape() &&
           elementBytes(typeOf(value).getElementType()) ==
               elementBytes(typeOf(result).getElementType()) &&
           readsWhereItWrites(kernel, i);
  };
  for (unsigned i = 0; i < launch.getInputs().size(); ++i) {
    Value storage = storageOf(launch.getInputs()[i]);
    bool isShared = i == input || &slotOf(storage) == &slotOf(from);
    if (isShared && !isSafe(i))
      return false;
  }
  return true;
}

void Planner::reuseInPlace() {
  for (auto [step, launch] : llvm::enumerate(launches)) {
    if (launch.getNumResults() != 1)
      continue;
    for (unsigned i = 0; i < launch.getInputs().size(); ++i) {
      if (!mayReuse(launch, i, step))
        continue;
      Slot &target = slots.find(launch.getResult(0))->second;
      target.reuses = storageOf(launch.getInputs()[i]);
      Slot &owner = slotOf(launch.getResult(0));
      owner.range.last = std::max(owner.range.last, target.range.last);
      break;
    }
  }
}

void Planner::packArena() {
  SmallVector<Slot *> owners;
  std::vector<LiveRange> ranges;
  int64_t unshared = 0;
  for (auto &[storage, slot] : slots) {
    if (slot.region != MemoryRegion::Arena)
      continue;
    unshared += slot.range.size;
    if (slot.reuses)
      continue;
    owners.push_back(&slot);
    ranges.push_back(slot.range);
  }
  Packing packing = packOffsets(ranges, kAlignment);
  for (auto [slot, offset] : llvm::zip(owners, packing.offsets))
    slot->offset = offset;
  Builder builder(module.getContext());
  module->setAttr("lumen.arena_size", builder.getI64IntegerAttr(packing.size));
  module->setAttr("lumen.arena_lower_bound", builder.getI64IntegerAttr(peakLiveBytes(ranges)));
  module->setAttr("lumen.bytes_without_sharing", builder.getI64IntegerAttr(unshared));
}

void Planner::placeWeights() {
  BlobTable &blobs = module.getContext()->getLoadedDialect<LumenDialect>()->getBlobs();
  for (auto &[storage, slot] : slots)
    if (slot.region == MemoryRegion::Weights)
      slot.offset = weights.place(storage.getDefiningOp<ConstantOp>().getValue(), blobs);
  module->setAttr("lumen.weights", weights.toAttribute(module.getContext()));
}

Value Planner::bufferFor(OpBuilder &builder, Value value) {
  const Place &place = places[value];
  const Slot &slot = slotOf(place.storage);
  RankedTensorType type = typeOf(value);
  int64_t bytes = elementBytes(type.getElementType());
  int64_t extent = type.getNumElements() == 0 ? 0 : 1;
  for (auto [size, stride] : llvm::zip(type.getShape(), place.strides))
    extent += (size - 1) * stride;
  int64_t size = std::max<int64_t>(extent, 0) * bytes;
  int64_t offset = slot.offset + place.offset * bytes;
  Value &buffer = buffers[{static_cast<int>(slot.region), slot.index, offset, size}];
  // Live ranges are part of the op, so buffers of two values that take turns at
  // one place stay apart only by `first`.
  if (slot.region == MemoryRegion::Arena || !buffer) {
    auto op = BufferOp::create(builder, value.getLoc(), BufferType::get(builder.getContext()),
                               slot.region, slot.index, offset, size);
    if (slot.region == MemoryRegion::Arena) {
      op->setAttr("first", builder.getI64IntegerAttr(slot.range.first));
      op->setAttr("last", builder.getI64IntegerAttr(slot.range.last));
    }
    buffer = op;
  }
  return buffer;
}

void Planner::rewrite() {
  // Buffers are named once per value, before the first launch that uses them.
  DenseMap<Value, Value> bufferOf;
  auto get = [&](OpBuilder &builder, Value value) {
    Value &buffer = bufferOf[value];
    if (!buffer)
      buffer = bufferFor(builder, value);
    return buffer;
  };
  for (LaunchOp launch : launches) {
    OpBuilder builder(launch);
    auto inputs = llvm::map_to_vector(launch.getInputs(), [&](Value v) { return get(builder, v); });
    auto outs = llvm::map_to_vector(launch.getResults(), [&](Value v) { return get(builder, v); });
    LaunchOp::create(builder, launch.getLoc(), TypeRange{}, launch.getKernel(), inputs, outs,
                     launch.getAffinity());
  }

  // The results' types and names stay as a signature.
  OpBuilder builder(main.getContext());
  SmallVector<Attribute> resultTypes, resultAttrs;
  for (auto [i, type] : llvm::enumerate(main.getResultTypes())) {
    resultTypes.push_back(TypeAttr::get(type));
    auto attrs = main.getResultAttrDict(i);
    resultAttrs.push_back(attrs ? attrs : builder.getDictionaryAttr({}));
  }
  main->setAttr("lumen.result_types", builder.getArrayAttr(resultTypes));
  main->setAttr("lumen.result_attrs", builder.getArrayAttr(resultAttrs));

  Operation *terminator = block().getTerminator();
  builder.setInsertionPoint(terminator);
  func::ReturnOp::create(builder, terminator->getLoc());
  terminator->erase();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block())))
    if (isa<LaunchOp>(op) ? op.getNumResults() != 0 : isa<LumenOpInterface>(op))
      op.erase();
  main.removeResAttrsAttr();
  main.setFunctionType(builder.getFunctionType(main.getArgumentTypes(), {}));
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
