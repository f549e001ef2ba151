//===- TreeForest.cpp - decision trees as lumen.trees takes them ----------===//
//
// Every comparison becomes one of a kind, so that the kernel's step is the same at every
// node: `x <= t`, or `x < t` where a forest has nothing else. What tests equality or
// membership becomes several nodes, a search among the values. Their branches end at copies
// of nodes, which share what is below them.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/TreeForest.h"

#include <deque>
#include <map>

using namespace mlir;
using namespace lumen;

using TreeNode = TreeForest::TreeNode;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult TreeForest::verify(Node &node,
                                 llvm::function_ref<std::string(int64_t)> nameOf) const {
  constexpr int64_t kMostTargets = std::numeric_limits<int32_t>::max();
  if (targets < 1 || targets > kMostTargets)
    return node.error() << "has " << targets << " targets, expected 1 to " << kMostTargets;
  if (roots.empty())
    return node.error() << "has no trees";
  if (weights.empty())
    return node.error() << "has no weights";
  // Where no node but a leaf has two parents, and no root one, what hangs at the roots are
  // trees.
  std::vector<bool> hasParent(nodes.size());
  for (auto [i, tree] : llvm::enumerate(nodes)) {
    if (tree.mode == TreeMode::Leaf)
      continue;
    if (tree.feature < 0 || tree.feature > std::numeric_limits<int32_t>::max())
      return node.error() << nameOf(i) << " has the feature " << tree.feature;
    if (tree.mode != TreeMode::Member && std::isnan(tree.value))
      return node.error() << nameOf(i) << " compares with NaN";
    for (int64_t child : {tree.onTrue, tree.onFalse}) {
      if (nodes[child].mode == TreeMode::Leaf)
        continue;
      if (hasParent[child])
        return node.error() << nameOf(child) << " has two parents";
      hasParent[child] = true;
    }
  }
  for (int64_t root : roots)
    if (hasParent[root])
      return node.error() << nameOf(root) << " is a root, but has a parent";
  for (const Weight &weight : weights) {
    if (weight.target < 0 || weight.target >= targets)
      return node.error() << nameOf(weight.leaf) << " has a weight for target " << weight.target
                          << ", expected 0 to " << targets - 1;
    if (nodes[weight.leaf].mode != TreeMode::Leaf)
      return node.error() << nameOf(weight.leaf) << " has a weight, but is no leaf";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Flattening
//===----------------------------------------------------------------------===//

namespace {

/// Writes the tables of lumen.trees. `T` is the type of what is compared.
template <typename T> class TreeTables {
public:
  explicit TreeTables(const TreeForest &forest);

  bool fits() const { return thresholds.size() < std::numeric_limits<int32_t>::max(); }

  std::vector<T> thresholds;
  std::vector<int32_t> links, leaves, roots;
  std::vector<T> weights;
  std::vector<int32_t> targets; ///< empty: a row of weights for each leaf
  bool isStrict, hasNan = false;

private:
  /// What stands at a place: a node, or a part of the search among its values, where those
  /// from `low` to `high` are left. `isLast`: x is at most the only one.
  struct Item {
    int64_t node;
    bool isSearch = false, isLast = false;
    size_t low = 0, high = 0;
  };
  /// x goes to `first` where it is at most the threshold.
  struct Split {
    T threshold;
    bool nanIsFirst;
    Item first, second;
  };

  int32_t allocate(int64_t count);
  void fill(int32_t at, const Item &item);
  Split split(const Item &item) const;
  Split search(const Item &item, const TreeNode &node) const;
  void listWeights();
  /// The largest value below; nothing is at most NaN.
  static T before(T value) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    return value == -infinity ? std::numeric_limits<T>::quiet_NaN()
                              : std::nextafter(value, -infinity);
  }

  const TreeForest &forest;
  std::vector<int32_t> below;   ///< where the branches of a node are, once they are
  std::vector<int64_t> sources; ///< the leaf that stands at a place, or -1
  std::deque<std::pair<int32_t, Item>> pending;
};

} // namespace

template <typename T>
TreeTables<T>::TreeTables(const TreeForest &forest)
    : forest(forest), below(forest.nodes.size(), -1) {
  isStrict = llvm::all_of(forest.nodes, [](const TreeNode &node) {
    return node.mode == TreeMode::Lt || node.mode == TreeMode::Gte || node.mode == TreeMode::Leaf;
  });
  // Breadth first, so that the nodes that all rows visit lie together.
  for (int64_t root : forest.roots) {
    roots.push_back(allocate(1));
    pending.push_back({roots.back(), Item{root}});
    for (; !pending.empty() && fits(); pending.pop_front())
      fill(pending.front().first, pending.front().second);
  }
  listWeights();
}

template <typename T> int32_t TreeTables<T>::allocate(int64_t count) {
  size_t first = thresholds.size();
  thresholds.resize(first + count, std::numeric_limits<T>::quiet_NaN());
  links.resize(2 * (first + count));
  sources.resize(first + count, -1);
  return first;
}

template <typename T> void TreeTables<T>::fill(int32_t at, const Item &item) {
  if (forest.nodes[item.node].mode == TreeMode::Leaf) {
    links[2 * at + 1] = at - 1;
    sources[at] = item.node;
    return;
  }
  Split where = split(item);
  int32_t next = item.isSearch ? -1 : below[item.node];
  if (next < 0) {
    next = allocate(2);
    pending.push_back({next, where.first});
    pending.push_back({next + 1, where.second});
    if (!item.isSearch)
      below[item.node] = next;
  }
  int32_t feature = forest.nodes[item.node].feature;
  thresholds[at] = where.threshold;
  links[2 * at] = where.nanIsFirst ? ~feature : feature;
  links[2 * at + 1] = next;
  hasNan |= where.nanIsFirst;
}

template <typename T> auto TreeTables<T>::split(const Item &item) const -> Split {
  const TreeNode &node = forest.nodes[item.node];
  T threshold = static_cast<T>(node.value);
  Item onTrue{node.onTrue}, onFalse{node.onFalse};
  switch (node.mode) {
  case TreeMode::Leq:
    return {threshold, node.tracksNan, onTrue, onFalse};
  case TreeMode::Lt:
    return {isStrict ? threshold : before(threshold), node.tracksNan, onTrue, onFalse};
  // What is not above is at most; but NaN is neither.
  case TreeMode::Gt:
    return {threshold, !node.tracksNan, onFalse, onTrue};
  case TreeMode::Gte:
    return {isStrict ? threshold : before(threshold), !node.tracksNan, onFalse, onTrue};
  default:
    return search(item, node);
  }
}

template <typename T>
auto TreeTables<T>::search(const Item &item, const TreeNode &node) const -> Split {
  // NaN is not equal to anything, which Neq takes for true.
  bool isNegated = node.mode == TreeMode::Neq;
  Item found{isNegated ? node.onFalse : node.onTrue},
      missed{isNegated ? node.onTrue : node.onFalse};
  bool findsNan = node.tracksNan && !isNegated;
  ArrayRef<double> values = node.mode == TreeMode::Member ? ArrayRef(node.members) : node.value;
  size_t low = item.low, high = item.isSearch ? item.high : values.size();
  if (low == high)
    return {std::numeric_limits<T>::quiet_NaN(), findsNan, found, missed};
  if (item.isLast)
    return {before(static_cast<T>(values[low])), false, missed, found};
  size_t middle = low + (high - low - 1) / 2;
  T threshold = static_cast<T>(values[middle]);
  if (high - low == 1)
    return {threshold, findsNan, {item.node, true, true, low, high}, missed};
  return {threshold,
          findsNan,
          {item.node, true, false, low, middle + 1},
          {item.node, true, false, middle + 1, high}};
}

/// What combines the weights of trees.
static ReduceKind kindOf(TreeAggregate aggregate) {
  switch (aggregate) {
  case TreeAggregate::Min:
    return ReduceKind::Min;
  case TreeAggregate::Max:
    return ReduceKind::Max;
  default:
    return ReduceKind::Sum;
  }
}

/// Of two weights for the same target at one leaf.
static double combined(ReduceKind kind, double a, double b) {
  if (kind == ReduceKind::Sum)
    return a + b;
  return kind == ReduceKind::Max ? std::max(a, b) : std::min(a, b);
}

template <typename T> void TreeTables<T>::listWeights() {
  ReduceKind kind = kindOf(forest.aggregate);
  std::vector<std::map<int64_t, double>> byLeaf(forest.nodes.size());
  for (const TreeForest::Weight &weight : forest.weights) {
    auto [entry, isNew] = byLeaf[weight.leaf].insert({weight.target, weight.value});
    if (!isNew)
      entry->second = combined(kind, entry->second, weight.value);
  }
  int64_t numLeaves = 0, listed = 0;
  for (int64_t leaf : sources)
    if (leaf >= 0) {
      ++numLeaves;
      listed += byLeaf[leaf].size();
    }
  // Rows need no numbers of targets, but something where there is no weight: a zero, if
  // they are summed up.
  int64_t inRows = numLeaves * forest.targets;
  bool areRows = listed == inRows || (kind == ReduceKind::Sum && listed * 2 >= inRows);
  for (int64_t leaf : sources) {
    leaves.push_back(areRows ? weights.size() / forest.targets : weights.size());
    if (leaf < 0)
      continue;
    if (areRows)
      weights.resize(weights.size() + forest.targets);
    for (auto [target, value] : byLeaf[leaf]) {
      if (areRows) {
        weights[weights.size() - forest.targets + target] = value;
      } else {
        weights.push_back(value);
        targets.push_back(target);
      }
    }
  }
  leaves.push_back(areRows ? weights.size() / forest.targets : weights.size());
}

//===----------------------------------------------------------------------===//
// The operation
//===----------------------------------------------------------------------===//

/// So many that the trees of each keep a thread busy for longer than it takes to wake it.
static int64_t countGroups(int64_t trees) {
  constexpr int64_t kTreesPerGroup = 256, kMostGroups = 16;
  return std::clamp<int64_t>(trees / kTreesPerGroup, 1, kMostGroups);
}

template <typename T>
static FailureOr<Value> emitTrees(Node &node, const TreeForest &forest, Value rows) {
  Emitter &emit = node.emit;
  TreeTables<T> tables(forest);
  if (!tables.fits())
    return node.error() << "has more than " << std::numeric_limits<int32_t>::max() << " nodes";
  Type i32 = emit.builder.getI32Type(), element = Emitter::typeOf(rows).getElementType();
  int64_t nodes = tables.thresholds.size(), trees = forest.roots.size();
  auto integers = [&](ArrayRef<int64_t> shape, ArrayRef<int32_t> values) {
    return makeNumbers(emit, shape, i32, values);
  };
  SmallVector<int64_t> weightShape{int64_t(tables.weights.size())};
  Value targets;
  if (tables.targets.empty())
    weightShape = {weightShape[0] / forest.targets, forest.targets};
  else
    targets = integers(weightShape, tables.targets);
  int64_t groups = countGroups(trees);
  ReduceKind kind = kindOf(forest.aggregate);
  Sizes shape{groups, sizeOf(rows, 0), forest.targets};
  Value result =
      TreesOp::create(emit.builder, node.getLoc(), emit.typed(shape, element), kind, rows,
                      makeNumbers(emit, nodes, element, ArrayRef(tables.thresholds)),
                      integers({nodes, 2}, tables.links), integers(nodes + 1, tables.leaves),
                      integers(trees, tables.roots),
                      makeNumbers(emit, weightShape, element, ArrayRef(tables.weights)), targets,
                      tables.isStrict, tables.hasNan);
  return emit.reduce(kind, result, {0}, /*keepDims=*/false);
}

FailureOr<Value> TreeForest::emit(Node &node, Value rows) const {
  Emitter &emit = node.emit;
  // The kernel reads a feature at leaves, too.
  int64_t needed = 1;
  for (const TreeNode &tree : nodes)
    if (tree.mode != TreeMode::Leaf)
      needed = std::max(needed, tree.feature + 1);
  SymExpr features = sizeOf(rows, 1);
  if (!node.ensureAtMost(needed, features, "the number of features"))
    return node.error() << "input has " << features.str() << " features, the trees ask for "
                        << needed;
  bool isDouble = Emitter::typeOf(rows).getElementType().isF64();
  FailureOr<Value> scores =
      isDouble ? emitTrees<double>(node, *this, rows) : emitTrees<float>(node, *this, rows);
  if (failed(scores) || aggregate == TreeAggregate::Sum)
    return scores;
  if (aggregate == TreeAggregate::Average)
    return emit.binary(BinaryKind::Div, *scores, double(roots.size()));
  // A target of which no leaf speaks.
  return emit.select(emit.unary(UnaryKind::IsInf, *scores), emit.splatLike(*scores, 0), *scores);
}
