//===- FormKernels.cpp - group operations into kernels --------------------===//
//
// Groups are trees: every value inside a group has one use, inside the group,
// so only its last operation makes values that others read, and placing it where
// that stood never breaks an order. A group lies in one block; what it reads from
// outer blocks it takes as arguments.
//
//===----------------------------------------------------------------------===//

#include "passes/dispatch/KernelSymbols.h"
#include "passes/dispatch/Passes.h"
#include "passes/dispatch/ScheduleOrder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace lumen {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/dispatch/Passes.h.inc"
} // namespace lumen

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

namespace {

/// A kernel in the making.
struct Group {
  SmallVector<Operation *> members; ///< in the order they were added
  Operation *root = nullptr;        ///< null: elementwise only
  Operation *last = nullptr;        ///< the member whose results leave the group
};

/// Recomputed inside every kernel that reads them: they cost less than a load.
bool isDuplicated(Operation *op) {
  if (isa<BroadcastOp, IotaOp, SizesOp>(op))
    return true;
  auto constant = dyn_cast<ConstantOp>(op);
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

/// Left in the schedule for memory planning to turn into views.
bool isViewCandidate(Operation *op) {
  if (auto slice = dyn_cast<SliceOp>(op))
    return llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride > 0; });
  return isa<ReshapeOp, ConcatOp, lumen::CastOp>(op);
}

/// A window reads each element several times; only what is cheaper than a load
/// from memory may be recomputed there.
bool isCheap(Operation *op) {
  if (isa<lumen::CastOp>(op))
    return true;
  if (auto unary = dyn_cast<UnaryOp>(op))
    return llvm::is_contained({UnaryKind::Abs, UnaryKind::Neg, UnaryKind::Relu}, unary.getKind());
  if (auto binary = dyn_cast<BinaryOp>(op))
    return llvm::is_contained({BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Max,
                               BinaryKind::Min},
                              binary.getKind()) &&
           isa<FloatType>(getElementTypeOrSelf(binary.getType()));
  return false;
}

Family familyOf(Operation *op) { return cast<LumenOpInterface>(op).getFamily(); }

const FamilyTraits &traitsOf(Operation *op) { return lumen::traitsOf(familyOf(op)); }

bool sameSizes(Value a, Value b) {
  auto lhs = cast<RankedTensorType>(a.getType()), rhs = cast<RankedTensorType>(b.getType());
  return lhs.getShape() == rhs.getShape() && lhs.getEncoding() == rhs.getEncoding();
}

bool readsMemory(Operation *op) { return traitsOf(op).reads == OperandReads::Many; }

/// Whether elementwise producers may join the kernel of this root.
bool takesPrologue(Operation *root, const Group &producer) {
  switch (traitsOf(root).reads) {
  case OperandReads::Once:
    return true;
  case OperandReads::Several:
    return producer.members.size() <= 2 && llvm::all_of(producer.members, isCheap);
  case OperandReads::Many:
    return false;
  }
  llvm_unreachable("all cases return");
}

class Grouping {
public:
  explicit Grouping(Block &block) {
    for (Operation &op : block.without_terminator())
      visit(&op);
  }

  /// Groups whose last member is the key, by position in the block.
  llvm::MapVector<Operation *, Group *> byLast() {
    llvm::MapVector<Operation *, Group *> result;
    for (auto &group : groups)
      if (group->last)
        result[group->last] = group.get();
    return result;
  }

private:
  void visit(Operation *op) {
    if (auto cast = dyn_cast<lumen::CastOp>(op))
      return joinCast(cast);
    if (isa<ConstantOp>(op) || isDuplicated(op) || isViewCandidate(op) ||
        familyOf(op) == Family::Control)
      return;
    Group *group = nullptr;
    if (familyOf(op) == Family::Elementwise)
      group = joinProducer(op);
    if (!group) {
      groups.push_back(std::make_unique<Group>());
      group = groups.back().get();
      if (familyOf(op) != Family::Elementwise)
        group->root = op;
    }
    for (Value operand : op->getOperands())
      absorbProducers(operand, op, *group);
    group->members.push_back(op);
    group->last = op;
    groupOf[op] = group;
  }

  /// What a kernel computes may leave it under other sizes; any other cast is a view.
  void joinCast(lumen::CastOp op) {
    Group *group = soleProducer(op.getOperand(), op);
    if (!group || group->last->getNumResults() != 1)
      return;
    group->members.push_back(op);
    group->last = op;
    groupOf[op] = group;
  }

  /// The group behind `value`, if `value` has no other reader than `user` and
  /// is the value that leaves that group.
  Group *soleProducer(Value value, Operation *user) {
    Operation *producer = value.getDefiningOp();
    Group *group = producer ? groupOf.lookup(producer) : nullptr;
    if (!group || group->last != producer)
      return nullptr;
    bool onlyUser = llvm::all_of(value.getUsers(), [&](Operation *other) { return other == user; });
    return onlyUser ? group : nullptr;
  }

  /// The kernel that an elementwise op becomes the epilogue of: among the
  /// producers of its operands the last one with a root.
  Group *joinProducer(Operation *op) {
    Group *best = nullptr;
    for (Value operand : op->getOperands()) {
      Group *group = soleProducer(operand, op);
      if (!group || group == best || !group->root || !traitsOf(group->root).takesEpilogue ||
          !sameSizes(operand, op->getResult(0)))
        continue;
      if (!best || best->last->isBeforeInBlock(group->last))
        best = group;
    }
    return best;
  }

  /// Merges the elementwise group behind `value`, if only `user` reads it.
  void absorbProducers(Value value, Operation *user, Group &into) {
    Group *producer = soleProducer(value, user);
    if (!producer || producer == &into || producer->root)
      return;
    // A root's own operand is a prologue; an epilogue's operand has the result's
    // position and costs nothing extra.
    if (user == into.root && !takesPrologue(user, *producer))
      return;
    for (Operation *member : producer->members) {
      into.members.push_back(member);
      groupOf[member] = &into;
    }
    *producer = Group();
  }

  std::vector<std::unique_ptr<Group>> groups;
  DenseMap<Operation *, Group *> groupOf;
};

/// Clones `value`'s producers that are recomputed in each kernel, down to values
/// that are in the kernel already or become arguments.
class KernelBody {
public:
  KernelBody(OpBuilder &builder, ArrayRef<Operation *> members)
      : builder(builder), members(members.begin(), members.end()) {}

  /// Values that the kernel reads, in the order of first use.
  void collectInputs(Operation *op) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && members.contains(producer))
        continue;
      if (producer && isDuplicated(producer) && !readsMemory(op))
        collectInputs(producer);
      else
        inputs.insert(operand);
    }
  }

  /// Notes the sizes of a member and of what is recomputed for it.
  void collectSizes(Operation *op, KernelSymbols &symbols) {
    for (Value operand : op->getOperands())
      if (!inputs.contains(operand) && !members.contains(operand.getDefiningOp()))
        collectSizes(operand.getDefiningOp(), symbols);
    for (NamedAttribute attr : op->getAttrs())
      if (auto expressions = dyn_cast<DimsAttr>(attr.getValue()))
        symbols.add(expressions);
    for (Value result : op->getResults())
      symbols.add(cast<RankedTensorType>(result.getType()));
    if (auto cast = dyn_cast<lumen::CastOp>(op))
      symbols.unify(cast.getOperand().getType(), cast.getType());
  }

  void clone(Operation *op, const KernelSymbols &symbols, IRMapping &mapping) {
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        clone(operand.getDefiningOp(), symbols, mapping);
    // Equal sizes are one expression inside, so nothing is left to cast.
    if (auto cast = dyn_cast<lumen::CastOp>(op))
      return mapping.map(cast.getResult(), mapping.lookup(cast.getOperand()));
    Operation *copy = builder.clone(*op, mapping);
    for (NamedAttribute attr : op->getAttrs())
      if (auto expressions = dyn_cast<DimsAttr>(attr.getValue()))
        copy->setAttr(attr.getName(), symbols.rewrite(expressions));
    for (Value result : copy->getResults())
      result.setType(symbols.rewrite(cast<RankedTensorType>(result.getType())));
  }

  llvm::SetVector<Value> inputs;

private:
  OpBuilder &builder;
  llvm::SmallPtrSet<Operation *, 8> members;
};

/// What a kernel is called, so that a profile can be read.
std::string stemOf(const Group &group) {
  if (group.root)
    return group.root->getName().stripDialect().str();
  return "map";
}

struct FormKernelsPass : lumen::impl::FormKernelsBase<FormKernelsPass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main)
      return signalPassFailure();
    materialize(main);

    ScheduleOrder order(main);
    llvm::StringMap<unsigned> counters;
    OpBuilder moduleBuilder(main);
    for (Block *block : order.getBlocks()) {
      Grouping grouping(*block);
      for (auto [last, group] : grouping.byLast()) {
        std::string stem = stemOf(*group);
        std::string name = stem + "_" + std::to_string(counters[stem]++);
        outline(*group, name, moduleBuilder);
      }
    }
    for (Block *block : llvm::reverse(order.getBlocks()))
      eraseDead(*block);
  }

  /// A duplicated op whose value is returned, viewed or streamed must exist in
  /// memory: give it an elementwise kernel by way of an identity conversion. That
  /// of `lumen.sizes` stands at the use, since it means what its symbols are there.
  void materialize(func::FuncOp main) {
    ScheduleOrder order(main);
    DenseMap<std::pair<Operation *, Block *>, Value> copies;
    for (Operation *user : order.getOperations()) {
      if (!isViewCandidate(user) && !user->hasTrait<OpTrait::IsTerminator>() && !readsMemory(user))
        continue;
      for (OpOperand &operand : user->getOpOperands()) {
        Operation *op = operand.get().getDefiningOp();
        if (!op || !isDuplicated(op) || isa<ConstantOp>(op))
          continue;
        bool isAtUse = isa<SizesOp>(op);
        Value &copy = copies[{op, isAtUse ? user->getBlock() : op->getBlock()}];
        if (!copy) {
          OpBuilder builder(user);
          if (!isAtUse)
            builder.setInsertionPointAfter(op);
          copy = ConvertOp::create(builder, op->getLoc(), operand.get().getType(), operand.get());
        }
        operand.set(copy);
      }
    }
  }

  void outline(Group &group, StringRef name, OpBuilder &moduleBuilder) {
    llvm::sort(group.members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    SmallVector<Location> locs;
    for (Operation *member : group.members)
      locs.push_back(member->getLoc());
    Location loc = FusedLoc::get(&getContext(), locs);

    OpBuilder bodyBuilder(&getContext());
    KernelBody body(bodyBuilder, group.members);
    for (Operation *member : group.members)
      body.collectInputs(member);
    KernelSymbols symbols;
    for (Value input : body.inputs)
      symbols.add(cast<RankedTensorType>(input.getType()));
    for (Operation *member : group.members)
      body.collectSizes(member, symbols);
    symbols.assign();

    auto typesOf = [&](ValueRange range) {
      return llvm::map_to_vector(range, [&](Value value) -> Type {
        return symbols.rewrite(cast<RankedTensorType>(value.getType()));
      });
    };
    ResultRange results = group.last->getResults();
    ArrayRef<Value> inputs = body.inputs.getArrayRef();
    auto kernel = KernelOp::create(
        moduleBuilder, loc, name,
        FunctionType::get(&getContext(), typesOf(inputs), typesOf(results)));
    Block &block = kernel.getBody().front();
    bodyBuilder.setInsertionPointToStart(&block);
    IRMapping mapping;
    mapping.map(inputs, block.getArguments());
    for (Operation *member : group.members)
      body.clone(member, symbols, mapping);
    dispatch::YieldOp::create(
        bodyBuilder, loc, llvm::map_to_vector(results, [&](Value v) { return mapping.lookup(v); }));

    OpBuilder builder(group.last);
    DimsAttr sizes;
    if (!symbols.getNames().empty()) {
      kernel->setAttr(DispatchDialect::kSizes,
                      builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(symbols.getNames())));
      sizes = toAttr(&getContext(), symbols.getValues());
    }
    auto launch = LaunchOp::create(builder, loc, results.getTypes(), name, inputs, ValueRange{},
                                   Affinity::Any, sizes);
    group.last->replaceAllUsesWith(launch);
    for (Operation *member : llvm::reverse(group.members))
      member->erase();
  }

  void eraseDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace
