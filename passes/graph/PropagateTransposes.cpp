//===- PropagateTransposes.cpp - transposes as facts about values ---------===//
//
// One walk in program order. `Layout` says how a value of the input program is
// kept; an operation either works on what is kept (and renames its axes) or asks
// for another permutation, which makes a transpose once per value and
// permutation. So the walk ends after one step per operation, and a transpose is
// made only where an operation asks for it.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/Constants.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_PROPAGATETRANSPOSES
#include "passes/graph/Passes.h.inc"
} // namespace lumen

using Permutation = SmallVector<int64_t, 6>;

static Permutation identity(int64_t rank) {
  return llvm::to_vector<6>(llvm::seq<int64_t>(0, rank));
}

static bool isIdentity(ArrayRef<int64_t> perm) {
  return llvm::all_of(llvm::enumerate(perm),
                      [](auto it) { return static_cast<int64_t>(it.index()) == it.value(); });
}

static Permutation inverse(ArrayRef<int64_t> perm) {
  Permutation result(perm.size());
  for (auto [i, dim] : llvm::enumerate(perm))
    result[dim] = i;
  return result;
}

/// `result[i] = items[perm[i]]`: what a transpose does to a list about dimensions.
static Permutation select(ArrayRef<int64_t> items, ArrayRef<int64_t> perm) {
  Permutation result;
  for (int64_t dim : perm)
    result.push_back(items[dim]);
  return result;
}

static RankedTensorType transposed(RankedTensorType type, ArrayRef<int64_t> perm) {
  Attribute encoding = type.getEncoding();
  if (auto dims = dyn_cast_or_null<DimsAttr>(encoding)) {
    SmallVector<StringAttr> names;
    for (int64_t dim : perm)
      names.push_back(dims.getDims()[dim]);
    encoding = DimsAttr::get(type.getContext(), names);
  }
  return RankedTensorType::get(select(type.getShape(), perm), type.getElementType(), encoding);
}

/// True when no two dimensions larger than one change their order.
static bool movesUnitDimsOnly(ArrayRef<int64_t> shape, ArrayRef<int64_t> perm) {
  int64_t last = -1;
  for (int64_t dim : perm) {
    if (shape[dim] == 1)
      continue;
    if (dim < last)
      return false;
    last = dim;
  }
  return true;
}

namespace {

/// The value of the input program is `transpose(value, perm)`.
struct Layout {
  Value value;
  Permutation perm;
};

/// A flattened image whose columns lie in another order than in the input
/// program: dimensions `sizes` of the image, flattened in order `order`.
struct Flattening {
  Permutation sizes, order;
};

class Propagation {
public:
  explicit Propagation(MLIRContext *context) : builder(context) {}
  /// Visits a block, and the blocks inside it where their operation stands.
  void run(Block &block);

private:
  Layout getLayout(Value value) const;
  RankedTensorType getOriginalType(Value value) const;
  void setLayout(Value original, Value value, ArrayRef<int64_t> perm) {
    layouts[original] = {value, Permutation(perm)};
  }

  /// `transpose(value, perm)` of a value of the output program.
  Value getTransposed(Value value, ArrayRef<int64_t> perm);
  Value makeTransposed(Value value, ArrayRef<int64_t> perm);
  /// The value `v` for which `original` is `transpose(v, perm)`.
  Value getKept(Value original, ArrayRef<int64_t> perm);
  Value getIdentity(Value original) {
    return getKept(original, identity(getOriginalType(original).getRank()));
  }

  /// The permutation that most elements of the operands have already, and results have in
  /// the end.
  Permutation choosePermutation(Operation *op) const;

  void visit(Operation *op);
  void visitRefusing(Operation *op);
  void visitSameShape(Operation *op);
  void visitTranspose(TransposeOp op);
  void visitBroadcast(BroadcastOp op);
  void visitReshape(ReshapeOp op);
  void visitReduce(ReduceOp op);
  void visitGather(GatherOp op);
  void visitNorm(NormOp op);
  void visitContract(ContractOp op);

  /// Writes `perm`'s view of the op's results: sets operands and result types.
  void update(Operation *op, ArrayRef<int64_t> perm, unsigned permutedOperands);

  OpBuilder builder;
  DenseMap<Value, Layout> layouts;
  DenseMap<Value, SmallVector<std::pair<Permutation, Value>, 1>> transposes;
  DenseMap<Value, Flattening> flattenings;
};

} // namespace

Layout Propagation::getLayout(Value value) const {
  auto it = layouts.find(value);
  if (it != layouts.end())
    return it->second;
  return {value, identity(cast<RankedTensorType>(value.getType()).getRank())};
}

RankedTensorType Propagation::getOriginalType(Value value) const {
  Layout layout = getLayout(value);
  return transposed(cast<RankedTensorType>(layout.value.getType()), layout.perm);
}

//===----------------------------------------------------------------------===//
// Making permuted values
//===----------------------------------------------------------------------===//

Value Propagation::getTransposed(Value value, ArrayRef<int64_t> perm) {
  if (isIdentity(perm))
    return value;
  for (auto &[known, result] : transposes[value])
    if (ArrayRef<int64_t>(known) == perm)
      return result;
  Value result = makeTransposed(value, perm);
  transposes[value].push_back({Permutation(perm), result});
  transposes[result].push_back({inverse(perm), value});
  return result;
}

/// Values that take any permutation without a transpose.
static bool isFree(Value value) {
  return isa_and_nonnull<ConstantOp, IotaOp, BroadcastOp>(value.getDefiningOp());
}

/// True for an elementwise chain from an input that nothing else reads, such as
/// the normalisation of an image. Behind the transpose it joins that one's
/// kernel, before it it would be a kernel of its own.
static bool isPreprocessing(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<UnaryOp, BinaryOp, CompareOp, SelectOp, ConvertOp>(op) || !value.hasOneUse())
      return false;
    Value next;
    for (Value operand : op->getOperands()) {
      if (isFree(operand))
        continue;
      if (next && next != operand)
        return false;
      next = operand;
    }
    if (!next)
      return false;
    value = next;
  }
  return true;
}

Value Propagation::makeTransposed(Value value, ArrayRef<int64_t> perm) {
  auto type = cast<RankedTensorType>(value.getType());
  RankedTensorType result = transposed(type, perm);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(value);
  Location loc = value.getLoc();

  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    // Where each dimension of the operand goes; they must stay in order.
    Permutation places = inverse(perm), order = identity(broadcast.getDims().size()), dims;
    for (int64_t dim : broadcast.getDims())
      dims.push_back(places[dim]);
    llvm::sort(order, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
    Value operand = getTransposed(broadcast.getOperand(), order);
    return BroadcastOp::create(builder, loc, result, operand, select(dims, order));
  }
  if (auto iota = value.getDefiningOp<IotaOp>())
    return IotaOp::create(builder, loc, result, inverse(perm)[iota.getAxis()]);
  if (value.getDefiningOp() && isPreprocessing(value)) {
    SmallVector<Value> operands;
    for (Value operand : value.getDefiningOp()->getOperands())
      operands.push_back(getTransposed(operand, perm));
    Operation *moved = builder.clone(*value.getDefiningOp());
    moved->setOperands(operands);
    moved->getResult(0).setType(result);
    return moved->getResult(0);
  }
  if (movesUnitDimsOnly(type.getShape(), perm))
    return builder.createOrFold<ReshapeOp>(loc, result, value);
  return builder.createOrFold<TransposeOp>(loc, result, value, perm);
}

Value Propagation::getKept(Value original, ArrayRef<int64_t> perm) {
  Layout layout = getLayout(original);
  Permutation undo = inverse(perm);
  return getTransposed(layout.value, select(layout.perm, undo));
}

/// What decides between permutations: a dynamic size counts as a usual one.
static int64_t estimateElements(RankedTensorType type) {
  int64_t count = 1;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(count, ShapedType::isDynamic(size) ? 64 : size, count))
      return std::numeric_limits<int32_t>::max();
  return count;
}

Permutation Propagation::choosePermutation(Operation *op) const {
  SmallVector<std::pair<Permutation, int64_t>> votes;
  auto add = [&](const Permutation &perm, Value value) {
    int64_t weight = estimateElements(cast<RankedTensorType>(value.getType()));
    auto *vote = llvm::find_if(votes, [&](auto &v) { return v.first == perm; });
    if (vote == votes.end())
      votes.push_back({perm, weight});
    else
      vote->second += weight;
  };
  for (bool admitFree : {false, true}) {
    for (Value operand : op->getOperands()) {
      Layout layout = getLayout(operand);
      if (!isFree(layout.value) || admitFree)
        add(layout.perm, layout.value);
    }
    if (!votes.empty())
      break;
  }
  // A cache that grows: the part that is new, which is permuted, is moved, rather than
  // the old one, to it and back.
  for (Value result : op->getResults())
    if (llvm::any_of(result.getUsers(),
                     [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); }))
      add(identity(cast<RankedTensorType>(result.getType()).getRank()), result);
  // With equal weights, what is permuted already stays so: its neighbours are.
  auto *best = votes.begin();
  for (auto &vote : votes)
    if (vote.second > best->second ||
        (vote.second == best->second && isIdentity(best->first) && !isIdentity(vote.first)))
      best = &vote;
  return best->first;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void Propagation::update(Operation *op, ArrayRef<int64_t> perm, unsigned permutedOperands) {
  for (OpOperand &operand : op->getOpOperands())
    operand.set(operand.getOperandNumber() < permutedOperands ? getKept(operand.get(), perm)
                                                              : getIdentity(operand.get()));
  Permutation undo = inverse(perm);
  for (OpResult result : op->getResults()) {
    result.setType(transposed(cast<RankedTensorType>(result.getType()), undo));
    setLayout(result, result, perm);
  }
}

/// Takes the list of an attribute from the order of the original dimensions to
/// that of the kept ones.
static void permuteAttribute(Operation *op, StringRef name, ArrayRef<int64_t> perm) {
  auto select = [&](auto values) {
    decltype(values) result;
    for (int64_t dim : inverse(perm))
      result.push_back(values[dim]);
    return result;
  };
  MLIRContext *context = op->getContext();
  if (auto sizes = op->getAttrOfType<DimsAttr>(name))
    op->setAttr(name, toAttr(context, select(toSizes(sizes))));
  else
    op->setAttr(name, DenseI64ArrayAttr::get(context, select(llvm::to_vector(
                          op->getAttrOfType<DenseI64ArrayAttr>(name).asArrayRef()))));
}

static void permuteAxis(Operation *op, StringRef name, ArrayRef<int64_t> perm) {
  auto axis = op->getAttrOfType<IntegerAttr>(name);
  op->setAttr(name, IntegerAttr::get(axis.getType(), perm[axis.getInt()]));
}

void Propagation::visitRefusing(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      operand.set(getIdentity(operand.get()));
}

void Propagation::visitSameShape(Operation *op) {
  update(op, choosePermutation(op), op->getNumOperands());
}

void Propagation::visitTranspose(TransposeOp op) {
  Layout layout = getLayout(op.getOperand());
  setLayout(op, layout.value, select(layout.perm, op.getPerm()));
}

void Propagation::visitBroadcast(BroadcastOp op) {
  // The operand's kept dimensions take, in their order, the places that its
  // original ones have in the result.
  Layout layout = getLayout(op.getOperand());
  auto type = cast<RankedTensorType>(op.getType());
  Permutation perm = identity(type.getRank());
  for (auto [i, dim] : llvm::enumerate(op.getDims()))
    perm[dim] = op.getDims()[layout.perm[i]];
  op.getOperandMutable().set(layout.value);
  op.getResult().setType(transposed(type, inverse(perm)));
  setLayout(op, op, perm);
}

void Propagation::visitReduce(ReduceOp op) {
  Layout layout = getLayout(op.getOperand());
  Permutation axes, kept;
  for (auto [i, dim] : llvm::enumerate(layout.perm)) {
    if (llvm::is_contained(op.getAxes(), static_cast<int64_t>(i)))
      axes.push_back(dim);
    else
      kept.push_back(dim);
  }
  llvm::sort(axes);
  Permutation perm;
  for (int64_t dim : kept)
    perm.push_back(llvm::count_if(kept, [&](int64_t other) { return other < dim; }));
  op.getOperandMutable().set(layout.value);
  op.setAxes(axes);
  op.getResult().setType(transposed(cast<RankedTensorType>(op.getType()), inverse(perm)));
  setLayout(op, op, perm);
}

void Propagation::visitGather(GatherOp op) {
  // Indices keep their order and stand where the axis stood.
  Layout layout = getLayout(op.getOperand());
  int64_t extra = getOriginalType(op.getIndices()).getRank() - 1;
  int64_t axis = op.getAxis(), keptAxis = layout.perm[axis];
  Permutation perm;
  for (auto [i, dim] : llvm::enumerate(layout.perm)) {
    if (static_cast<int64_t>(i) == axis) {
      for (int64_t j = 0; j <= extra; ++j)
        perm.push_back(keptAxis + j);
      continue;
    }
    perm.push_back(dim > keptAxis ? dim + extra : dim);
  }
  op.getOperandMutable().set(layout.value);
  op.getIndicesMutable().set(getIdentity(op.getIndices()));
  op.setAxis(keptAxis);
  op.getResult().setType(transposed(cast<RankedTensorType>(op.getType()), inverse(perm)));
  setLayout(op, op, perm);
}

void Propagation::visitNorm(NormOp op) {
  // The order among the normalised dimensions does not matter, but they must be
  // the last ones.
  Layout layout = getLayout(op.getOperand());
  int64_t axis = op.getAxis();
  for (auto [i, dim] : llvm::enumerate(layout.perm))
    if ((static_cast<int64_t>(i) >= axis) != (dim >= axis))
      return visitRefusing(op);
  update(op, layout.perm, 1);
}

void Propagation::visitContract(ContractOp op) {
  auto flattening = flattenings.find(op.getLhs());
  if (flattening != flattenings.end()) {
    // Reorder the rows of the constant instead of the columns of the image.
    auto [sizes, order] = flattening->second;
    Value rhs = getIdentity(op.getRhs());
    auto type = cast<RankedTensorType>(rhs.getType());
    int64_t n = type.getDimSize(op.getTransposeRhs() ? 0 : 1);
    SmallVector<int64_t> shape(sizes);
    Permutation perm = order;
    if (op.getTransposeRhs()) {
      shape.insert(shape.begin(), n);
      for (int64_t &dim : perm)
        ++dim;
      perm.insert(perm.begin(), 0);
    } else {
      shape.push_back(n);
      perm.push_back(order.size());
    }
    builder.setInsertionPoint(op);
    auto image = RankedTensorType::get(shape, type.getElementType());
    Value rows = builder.createOrFold<ReshapeOp>(op.getLoc(), image, rhs);
    rows = builder.createOrFold<TransposeOp>(op.getLoc(), transposed(image, perm), rows, perm);
    op.getRhsMutable().set(builder.createOrFold<ReshapeOp>(op.getLoc(), type, rows));
    op.getLhsMutable().set(getIdentity(op.getLhs()));
    return;
  }
  op.getLhsMutable().set(getIdentity(op.getLhs()));
  // Keep the last dimension contiguous: a swap of the last two is only a flag.
  Layout rhs = getLayout(op.getRhs());
  int64_t rank = rhs.perm.size();
  Permutation wanted = identity(rank);
  if (!op.getPacked() && rhs.perm[rank - 2] == rank - 1) {
    std::swap(wanted[rank - 2], wanted[rank - 1]);
    op.setTransposeRhs(!op.getTransposeRhs());
  }
  op.getRhsMutable().set(getKept(op.getRhs(), wanted));
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

void Propagation::visitReshape(ReshapeOp op) {
  Layout layout = getLayout(op.getOperand());
  RankedTensorType from = getOriginalType(op.getOperand());
  auto to = cast<RankedTensorType>(op.getType());
  auto kept = cast<RankedTensorType>(layout.value.getType());
  builder.setInsertionPoint(op);
  if (isIdentity(layout.perm) || movesUnitDimsOnly(kept.getShape(), layout.perm)) {
    op.getOperandMutable().set(layout.value);
    return;
  }
  auto isEmpty = [](int64_t size) { return size == 0; };
  std::optional<SmallVector<DimGroup>> groups = reshapeGroups(sizesOf(from), sizesOf(to));
  if (!groups || groups->empty() || llvm::any_of(from.getShape(), isEmpty) ||
      llvm::any_of(to.getShape(), isEmpty))
    return visitRefusing(op);

  // The groups in the order of the kept dimensions, if each lies together there.
  SmallVector<DimGroup *> order;
  Permutation arranged; // kept dimensions with each group in its original order
  SmallVector<int64_t> owner(kept.getRank(), -1);
  for (auto [g, group] : llvm::enumerate(*groups))
    for (int64_t dim : group.from)
      owner[layout.perm[dim]] = g;
  Permutation next(groups->size(), 0);
  for (int64_t dim = 0, current = -1; dim < kept.getRank(); ++dim) {
    if (owner[dim] < 0) {
      arranged.push_back(dim);
      continue;
    }
    DimGroup &group = (*groups)[owner[dim]];
    int64_t &place = next[owner[dim]];
    if (owner[dim] != current) {
      if (place != 0)
        return visitRefusing(op);
      current = owner[dim];
      order.push_back(&group);
    }
    arranged.push_back(layout.perm[group.from[place++]]);
  }

  Flattening flattening;
  if (!isIdentity(arranged)) {
    // A flattened image in front of fully connected layers: leave the columns
    // as they are and let the constant matrices follow.
    auto feedsMatrices = [&] {
      return llvm::all_of(op->getUses(), [](OpOperand &use) {
        auto contract = dyn_cast<ContractOp>(use.getOwner());
        return contract && use.getOperandNumber() == 0 && !contract.getTransposeLhs() &&
               !contract.getPacked() &&
               cast<RankedTensorType>(contract.getRhs().getType()).getRank() == 2 &&
               viewConstant(contract.getRhs());
      });
    };
    DimGroup &last = groups->back();
    bool othersInOrder =
        llvm::none_of(last.from, [&](int64_t dim) { return from.isDynamicDim(dim); });
    for (auto [i, dim] : llvm::enumerate(arranged))
      othersInOrder &=
          dim == static_cast<int64_t>(i) || owner[i] == static_cast<int64_t>(groups->size()) - 1;
    if (othersInOrder && order.back() == &last && last.to.size() == 1 &&
        last.to[0] == to.getRank() - 1 && feedsMatrices()) {
      SmallVector<int64_t> dims = last.from;
      llvm::sort(dims, [&](int64_t a, int64_t b) { return layout.perm[a] < layout.perm[b]; });
      for (int64_t dim : last.from)
        flattening.sizes.push_back(from.getDimSize(dim));
      for (int64_t dim : dims)
        flattening.order.push_back(llvm::find(last.from, dim) - last.from.begin());
    } else {
      layout.value = getTransposed(layout.value, arranged);
    }
  }

  // The result's dimensions in the order of the groups; a unit dimension follows
  // the one before it.
  Permutation places; // kept result dimension to original
  for (int64_t dim = 0; dim < to.getRank() && to.getDimSize(dim) == 1; ++dim)
    places.push_back(dim);
  for (DimGroup *group : order)
    for (int64_t dim : group->to) {
      places.push_back(dim);
      while (++dim < to.getRank() && to.getDimSize(dim) == 1)
        places.push_back(dim);
    }
  Value result =
      ReshapeOp::create(builder, op.getLoc(), transposed(to, places), layout.value).getResult();
  setLayout(op, result, inverse(places));
  if (!flattening.sizes.empty())
    flattenings[op] = std::move(flattening);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void Propagation::visit(Operation *op) {
  auto renameLists = [&](std::initializer_list<StringRef> names) {
    Permutation perm = getLayout(op->getOperand(0)).perm;
    for (StringRef name : names)
      permuteAttribute(op, name, perm);
    update(op, perm, 1);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<ConstantOp, IotaOp>([](auto) {})
      .Case<UnaryOp, BinaryOp, CompareOp, SelectOp, ConvertOp>(
          [&](auto elementwise) { visitSameShape(elementwise); })
      .Case<TransposeOp>([&](auto transpose) { visitTranspose(transpose); })
      .Case<BroadcastOp>([&](auto broadcast) { visitBroadcast(broadcast); })
      .Case<ReshapeOp>([&](auto reshape) { visitReshape(reshape); })
      .Case<ReduceOp>([&](auto reduce) { visitReduce(reduce); })
      .Case<GatherOp>([&](auto gather) { visitGather(gather); })
      .Case<NormOp>([&](auto norm) { visitNorm(norm); })
      .Case<ContractOp>([&](auto contract) { visitContract(contract); })
      .Case<lumen::CastOp>([&](auto) { renameLists({}); })
      .Case<SliceOp>([&](auto) { renameLists({"offsets", "strides"}); })
      .Case<PadOp>([&](auto) { renameLists({"low", "high"}); })
      .Case<WindowOp>(
          [&](auto) { renameLists({"window", "strides", "dilations", "pad_low", "pad_high"}); })
      .Case<ConcatOp, SoftmaxOp>([&](auto) {
        Permutation perm = choosePermutation(op);
        permuteAxis(op, "axis", perm);
        update(op, perm, op->getNumOperands());
      })
      .Default([&](Operation *other) { visitRefusing(other); });
}

void Propagation::run(Block &block) {
  SmallVector<Operation *> original;
  for (Operation &op : block)
    original.push_back(&op);
  for (Operation *op : original) {
    visit(op);
    // What is inside sees the layouts of what stands before. The cell of a recurrence
    // sees nothing, and has the form that its builder reads.
    if (op->hasTrait<OpTrait::IsIsolatedFromAbove>())
      continue;
    for (Region &region : op->getRegions())
      for (Block &inner : region)
        run(inner);
  }
}

namespace {
struct PropagateTransposes : lumen::impl::PropagateTransposesBase<PropagateTransposes> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      for (Block &block : func.getBody())
        Propagation(&getContext()).run(block);
      eraseDeadOperations(func);
    }
  }
};
} // namespace
