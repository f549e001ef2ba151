//===- FormKernels.cpp - group operations into kernels --------------------===//
//
// Groups are trees: every value inside a group has one use, inside the group,
// so a group computes exactly one value that others read, and placing it where
// its last operation stood never breaks an order.
//
//===----------------------------------------------------------------------===//

#include "passes/dispatch/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
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
  Operation *last = nullptr;        ///< the member whose result leaves the group
};

/// Recomputed inside every kernel that reads them: they cost less than a load.
bool isDuplicated(Operation *op) {
  if (isa<BroadcastOp, IotaOp>(op))
    return true;
  auto constant = dyn_cast<ConstantOp>(op);
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

/// Left in the schedule for memory planning to turn into views.
bool isViewCandidate(Operation *op) {
  if (auto slice = dyn_cast<SliceOp>(op))
    return llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride > 0; });
  return isa<ReshapeOp, ConcatOp>(op);
}

/// A window reads each element several times; only what is cheaper than a load
/// from memory may be recomputed there.
bool isCheap(Operation *op) {
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
    if (isa<ConstantOp>(op) || isDuplicated(op) || isViewCandidate(op))
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
      if (!group || group == best || !group->root || operand.getType() == Type() ||
          cast<RankedTensorType>(operand.getType()).getShape() !=
              cast<RankedTensorType>(op->getResult(0).getType()).getShape())
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

  void clone(Operation *op, IRMapping &mapping) {
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        clone(operand.getDefiningOp(), mapping);
    builder.clone(*op, mapping);
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
    materializeReturned(main);

    Block &block = main.getBody().front();
    Grouping grouping(block);
    llvm::StringMap<unsigned> counters;
    OpBuilder moduleBuilder(main);
    for (auto [last, group] : grouping.byLast()) {
      std::string stem = stemOf(*group);
      std::string name = stem + "_" + std::to_string(counters[stem]++);
      outline(*group, name, moduleBuilder);
    }
    eraseDead(block);
  }

  /// A duplicated op whose value is returned or viewed must exist in memory:
  /// give it an elementwise kernel by way of an identity conversion.
  void materializeReturned(func::FuncOp main) {
    for (Operation &op : llvm::make_early_inc_range(main.getBody().front())) {
      if (!isDuplicated(&op) || isa<ConstantOp>(op))
        continue;
      auto wantsMemory = [](OpOperand &use) {
        Operation *user = use.getOwner();
        return isViewCandidate(user) || user->hasTrait<OpTrait::IsTerminator>() || readsMemory(user);
      };
      if (llvm::none_of(op.getResult(0).getUses(), wantsMemory))
        continue;
      OpBuilder builder(&op);
      builder.setInsertionPointAfter(&op);
      auto copy = ConvertOp::create(builder, op.getLoc(), op.getResult(0).getType(), op.getResult(0));
      op.getResult(0).replaceUsesWithIf(copy.getResult(), [&](OpOperand &use) {
        return use.getOwner() != copy && wantsMemory(use);
      });
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

    Value result = group.last->getResult(0);
    auto type = FunctionType::get(&getContext(), llvm::map_to_vector(body.inputs, [](Value v) {
                                    return v.getType();
                                  }),
                                  {result.getType()});
    auto kernel = KernelOp::create(moduleBuilder, loc, name, type);
    Block &block = kernel.getBody().front();
    bodyBuilder.setInsertionPointToStart(&block);
    IRMapping mapping;
    mapping.map(ArrayRef<Value>(body.inputs.getArrayRef()), block.getArguments());
    for (Operation *member : group.members)
      body.clone(member, mapping);
    dispatch::YieldOp::create(bodyBuilder, loc, ValueRange{mapping.lookup(result)});

    OpBuilder builder(group.last);
    auto launch = LaunchOp::create(builder, loc, TypeRange{result.getType()}, name,
                                   body.inputs.getArrayRef(), ValueRange{}, Affinity::Any);
    result.replaceAllUsesWith(launch.getResult(0));
    for (Operation *member : llvm::reverse(group.members))
      member->erase();
  }

  void eraseDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && isa<LumenOpInterface>(op))
        op.erase();
  }
};

} // namespace
