//===- Trees.cpp - rows that walk down decision trees ---------------------===//
//
// A walk is a chain of dependent loads, so several are taken at once: of some rows down
// one tree, or, where there are too few rows, of one row down some trees. A step has no
// branch. Trees are walked by a block of rows one after the other, such that a tree stays
// in the cache meanwhile.
//
//===----------------------------------------------------------------------===//

#include "codegen/loops/LoopEmitter.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::loops;

/// Walks at a time: their places and the addresses of their rows fill the registers.
static constexpr int64_t kWalks = 8;
/// Steps between two looks at whether all walks have ended.
static constexpr int64_t kSteps = 4;
/// Rows that a unit takes down a tree before the next one.
static constexpr int64_t kBlock = 64;

namespace {

class TreesBuilder {
public:
  explicit TreesBuilder(LoopKernel &kernel)
      : kernel(kernel), op(cast<TreesOp>(kernel.root)), input(memoryOf(kernel, op.getInput())),
        thresholds(memoryOf(kernel, op.getThresholds())), links(memoryOf(kernel, op.getLinks())),
        leaves(memoryOf(kernel, op.getLeaves())), roots(memoryOf(kernel, op.getRoots())),
        weights(memoryOf(kernel, op.getWeights())), result(kernel.results[0]) {}

  LaunchShape build();

private:
  void buildUnit(LoopEmitter &emit, Value group, Value block);
  /// From the nodes given down to leaves, each with its row.
  Values walk(LoopEmitter &emit, ArrayRef<Value> rows, ArrayRef<Value> nodes);
  Value step(LoopEmitter &emit, Value row, Value node);
  /// Combines the weights of a leaf with the results of its row.
  void take(LoopEmitter &emit, Value group, Value row, Value leaf);
  void combine(LoopEmitter &emit, Value weight, ArrayRef<Value> place);
  Value rootAt(LoopEmitter &emit, Value tree) { return emit.toIndex(emit.load(roots, {tree})); }

  LoopKernel &kernel;
  TreesOp op;
  const Access &input, &thresholds, &links, &leaves, &roots, &weights, &result;
};

} // namespace

Value TreesBuilder::step(LoopEmitter &emit, Value row, Value node) {
  Value feature = emit.load(links, {node, emit.constant(0)});
  Value next = emit.toIndex(emit.load(links, {node, emit.constant(1)}));
  Value threshold = emit.load(thresholds, {node});
  Value takesNan;
  if (op.getNan()) {
    // A complement has the sign set, and is undone by its exclusive or.
    Value sign = emit.make<arith::ShRSIOp>(
        feature, arith::ConstantOp::create(emit.builder, emit.loc,
                                           emit.builder.getIntegerAttr(feature.getType(), 31)));
    feature = emit.make<arith::XOrIOp>(feature, sign);
    takesNan = emit.make<arith::TruncIOp>(emit.builder.getI1Type(), sign);
  }
  Value x = emit.load(input, {row, emit.toIndex(feature)});
  // The other way where the comparison does not hold, also for NaN.
  Value isOther = emit.make<arith::CmpFOp>(
      op.getStrict() ? arith::CmpFPredicate::UGE : arith::CmpFPredicate::UGT, x, threshold);
  if (takesNan) {
    Value isNan = emit.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
    isOther = emit.both(isOther, emit.negate(emit.both(isNan, takesNan)));
  }
  return emit.add(next, emit.toIndex(isOther, /*isUnsigned=*/true));
}

Values TreesBuilder::walk(LoopEmitter &emit, ArrayRef<Value> rows, ArrayRef<Value> nodes) {
  return emit.repeat(nodes, [&](LoopEmitter &e, ValueRange carried) {
    Values at = llvm::to_vector_of<Value>(carried);
    for (int64_t i = 0; i < kSteps; ++i)
      for (auto [row, node] : llvm::zip(rows, at))
        node = step(e, row, node);
    // A leaf is the second of what it leads to.
    Value areLeaves = e.boolean(true);
    for (Value node : at) {
      Value link = e.toIndex(e.load(links, {node, e.constant(1)}));
      areLeaves = e.both(areLeaves, e.equal(node, e.add(link, 1)));
    }
    Values next = {e.negate(areLeaves)};
    next.append(at);
    return next;
  });
}

void TreesBuilder::combine(LoopEmitter &emit, Value weight, ArrayRef<Value> place) {
  Value old = emit.load(result, place), value;
  switch (op.getKind()) {
  case ReduceKind::Max:
    value = emit.make<arith::MaximumFOp>(old, weight);
    break;
  case ReduceKind::Min:
    value = emit.make<arith::MinimumFOp>(old, weight);
    break;
  default:
    value = emit.make<arith::AddFOp>(old, weight);
  }
  emit.store(value, result, place);
}

void TreesBuilder::take(LoopEmitter &emit, Value group, Value row, Value leaf) {
  Value begin = emit.toIndex(emit.load(leaves, {leaf}));
  if (!op.getTargets()) {
    emit.loop(emit.constant(0), emit.size(sizeOf(op.getResult(), 2)),
              [&](LoopEmitter &e, Value target) {
                combine(e, e.load(weights, {begin, target}), {group, row, target});
              });
    return;
  }
  Value end = emit.toIndex(emit.load(leaves, {emit.add(leaf, 1)}));
  emit.loop(begin, end, [&](LoopEmitter &e, Value i) {
    Value target = e.toIndex(e.load(memoryOf(kernel, op.getTargets()), {i}));
    combine(e, e.load(weights, {i}), {group, row, target});
  });
}

void TreesBuilder::buildUnit(LoopEmitter &emit, Value group, Value block) {
  Value rows = emit.size(sizeOf(op.getResult(), 1)), numRoots = emit.size(sizeOf(op.getRoots(), 0));
  Value groups = emit.size(sizeOf(op.getResult(), 0));
  Value rowBegin = emit.mul(block, emit.constant(kBlock));
  Value rowEnd = emit.min(emit.add(rowBegin, kBlock), rows);
  Value treeBegin = emit.div(emit.mul(group, numRoots), groups);
  Value treeEnd = emit.div(emit.mul(emit.add(group, 1), numRoots), groups);

  FloatType element = cast<FloatType>(result.type.getElementType());
  APFloat none = APFloat::getZero(element.getFloatSemantics());
  if (op.getKind() != ReduceKind::Sum)
    none = APFloat::getInf(element.getFloatSemantics(), op.getKind() == ReduceKind::Max);
  emit.loop(rowBegin, rowEnd, [&](LoopEmitter &e, Value row) {
    Value initial =
        arith::ConstantOp::create(e.builder, e.loc, e.builder.getFloatAttr(element, none));
    e.loop(e.constant(0), e.size(sizeOf(op.getResult(), 2)),
           [&](LoopEmitter &e, Value target) { e.store(initial, result, {group, row, target}); });
  });

  // Rows side by side, as far as they are enough.
  Value walks = emit.constant(kWalks);
  Value packs = emit.div(emit.sub(rowEnd, rowBegin), walks);
  Value packedEnd = emit.add(rowBegin, emit.mul(packs, walks));
  emit.branch(emit.less(rowBegin, packedEnd), [&](LoopEmitter &e) {
    e.loop(treeBegin, treeEnd, [&](LoopEmitter &e, Value tree) {
      Value root = rootAt(e, tree);
      e.loop(e.constant(0), packs, [&](LoopEmitter &e, Value pack) {
        Value first = e.add(rowBegin, e.mul(pack, walks));
        Values side;
        for (int64_t i = 0; i < kWalks; ++i)
          side.push_back(e.add(first, i));
        Values found = walk(e, side, Values(kWalks, root));
        for (auto [row, leaf] : llvm::zip(side, found))
          take(e, group, row, leaf);
      });
    });
  });
  // Trees side by side for each other row. Behind the last tree it is taken again, for nothing.
  emit.loop(packedEnd, rowEnd, [&](LoopEmitter &e, Value row) {
    Value treePacks = e.div(e.add(e.sub(treeEnd, treeBegin), kWalks - 1), walks);
    e.loop(e.constant(0), treePacks, [&](LoopEmitter &e, Value pack) {
      Value first = e.add(treeBegin, e.mul(pack, walks));
      Values side, nodes;
      for (int64_t i = 0; i < kWalks; ++i) {
        side.push_back(e.add(first, i));
        nodes.push_back(rootAt(e, e.min(side.back(), e.sub(treeEnd, 1))));
      }
      Values found = walk(e, Values(kWalks, row), nodes);
      for (int64_t i = 0; i < kWalks; ++i)
        e.branch(e.less(side[i], treeEnd),
                 [&](LoopEmitter &e) { take(e, group, row, found[i]); });
    });
  });
}

LaunchShape TreesBuilder::build() {
  SymExpr rows = sizeOf(op.getResult(), 1), groups = sizeOf(op.getResult(), 0);
  SymExpr blocks = SymExpr::ceilDiv(rows, kBlock);
  LoopEmitter emit(kernel);
  emit.loop(kernel.begin, kernel.end, [&](LoopEmitter &e, Value unit) {
    Values at = e.delinearize(unit, {groups, blocks});
    buildUnit(e, at[0], at[1]);
  });
  // A tree of n nodes is about log2(n) deep.
  double trees = typicalValue(sizeOf(op.getRoots(), 0));
  double nodes = typicalValue(sizeOf(op.getThresholds(), 0));
  double depth = 1 + std::log2(std::max(nodes / trees, 1.0));
  double blockRows = std::min<double>(typicalValue(rows), kBlock);
  return launchOf(groups * blocks, blockRows * trees / typicalValue(groups) * depth);
}

FailureOr<LaunchShape> loops::buildTrees(LoopKernel &kernel) { return TreesBuilder(kernel).build(); }
