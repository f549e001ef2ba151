//===- Trees.cpp - ensembles of decision trees ----------------------------===//

#include "passes/onnx-to-lumen/MachineLearning.h"
#include "passes/onnx-to-lumen/TreeForest.h"

#include "llvm/Support/Format.h"

#include <cmath>
#include <map>
#include <set>

using namespace mlir;
using namespace lumen;

using BK = BinaryKind;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// The numbers of an attribute that is a tensor, of any size.
static FailureOr<std::vector<double>> readTensor(Node &node, StringRef name) {
  Attribute attr = node.attribute(name);
  if (!attr)
    return std::vector<double>();
  std::optional<ConstantData> data = ConstantData::get(attr, std::numeric_limits<int64_t>::max());
  if (!data)
    return node.error() << "attribute '" << name << "' is no tensor of numbers";
  std::vector<double> values;
  for (int64_t i = 0; i < data->size(); ++i)
    values.push_back(data->isReal() ? (*data)[i].real : double((*data)[i].integer));
  return values;
}

/// A list of floats, or the tensor that may stand in its place.
static FailureOr<std::vector<double>> readList(Node &node, StringRef name) {
  SmallVector<double> list = readReals(node, name);
  FailureOr<std::vector<double>> tensor = readTensor(node, name.str() + "_as_tensor");
  if (failed(tensor) || list.empty())
    return tensor;
  if (!tensor->empty())
    return node.error() << "has both attributes '" << name << "' and '" << name << "_as_tensor'";
  return std::vector<double>(list.begin(), list.end());
}

static LogicalResult expectLength(Node &node, StringRef name, size_t length, size_t expected) {
  if (length == expected)
    return success();
  return node.error() << "attribute '" << name << "' has " << length << " entries, expected "
                      << expected;
}

/// A list of integers with an entry for each of `count`; `isOptional`: or none.
static FailureOr<SmallVector<int64_t>> readEntries(Node &node, StringRef name, size_t count,
                                                   bool isOptional = false) {
  SmallVector<int64_t> values = readIntegers(node, name);
  if (values.empty() && isOptional)
    values.assign(count, 0);
  if (failed(expectLength(node, name, values.size(), count)))
    return failure();
  return std::move(values);
}

namespace {
/// What all forms of trees say of each node that branches.
struct Branches {
  SmallVector<int64_t> features, onTrue, onFalse, tracks;
};
} // namespace

static FailureOr<Branches> readBranches(Node &node, size_t count) {
  auto features = readEntries(node, "nodes_featureids", count);
  auto onTrue = readEntries(node, "nodes_truenodeids", count);
  auto onFalse = readEntries(node, "nodes_falsenodeids", count);
  auto tracks = readEntries(node, "nodes_missing_value_tracks_true", count, /*isOptional=*/true);
  if (failed(features) || failed(onTrue) || failed(onFalse) || failed(tracks))
    return failure();
  return Branches{std::move(*features), std::move(*onTrue), std::move(*onFalse),
                  std::move(*tracks)};
}

//===----------------------------------------------------------------------===//
// TreeEnsembleRegressor and TreeEnsembleClassifier
//===----------------------------------------------------------------------===//

/// Reads the lists of nodes, which name their trees and children by numbers of their own,
/// and the weights, whose attributes begin with `prefix`.
static FailureOr<TreeForest> readNodeLists(Node &node, const std::string &prefix, int64_t targets) {
  node.ignore("nodes_hitrates");
  node.ignore("nodes_hitrates_as_tensor");
  SmallVector<int64_t> treeIds = readIntegers(node, "nodes_treeids");
  size_t count = treeIds.size();
  auto ids = readEntries(node, "nodes_nodeids", count);
  auto branches = readBranches(node, count);
  auto values = readList(node, "nodes_values");
  auto modes = node.strings("nodes_modes").value_or(SmallVector<StringRef>());
  if (failed(ids) || failed(branches) || failed(values) ||
      failed(expectLength(node, "nodes_values", values->size(), count)) ||
      failed(expectLength(node, "nodes_modes", modes.size(), count)))
    return failure();

  auto nameOf = [&](int64_t i) {
    return ("node " + Twine((*ids)[i]) + " of tree " + Twine(treeIds[i])).str();
  };
  TreeForest forest;
  forest.targets = targets;
  forest.nodes.resize(count);
  std::map<std::pair<int64_t, int64_t>, int64_t> places; // by tree and number in it
  std::set<int64_t> known;
  for (size_t i = 0; i < count; ++i) {
    if (!places.insert({{treeIds[i], (*ids)[i]}, int64_t(i)}).second)
      return node.error() << "has " << nameOf(i) << " twice";
    // The first node of a tree is its root.
    if (known.insert(treeIds[i]).second)
      forest.roots.push_back(i);
    FailureOr<int64_t> mode = readChoice(
        node, "nodes_modes", modes[i],
        {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"});
    if (failed(mode))
      return failure();
    TreeForest::TreeNode &tree = forest.nodes[i];
    tree.mode = *mode == 6 ? TreeMode::Leaf : TreeMode(*mode);
    tree.tracksNan = branches->tracks[i] != 0;
    tree.feature = branches->features[i];
    tree.value = (*values)[i];
  }
  for (size_t i = 0; i < count; ++i) {
    TreeForest::TreeNode &tree = forest.nodes[i];
    if (tree.mode == TreeMode::Leaf)
      continue;
    auto find = [&](int64_t id) {
      auto found = places.find({treeIds[i], id});
      return found == places.end() ? -1 : found->second;
    };
    tree.onTrue = find(branches->onTrue[i]);
    tree.onFalse = find(branches->onFalse[i]);
    if (tree.onTrue < 0 || tree.onFalse < 0)
      return node.error() << nameOf(i) << " leads to node "
                          << (tree.onTrue < 0 ? branches->onTrue[i] : branches->onFalse[i])
                          << ", which is not in its tree";
  }

  SmallVector<int64_t> targetIds = readIntegers(node, prefix + "_ids");
  auto weightTrees = readEntries(node, prefix + "_treeids", targetIds.size());
  auto weightNodes = readEntries(node, prefix + "_nodeids", targetIds.size());
  auto weights = readList(node, prefix + "_weights");
  if (failed(weightTrees) || failed(weightNodes) || failed(weights) ||
      failed(expectLength(node, prefix + "_weights", weights->size(), targetIds.size())))
    return failure();
  for (auto [target, tree, id, weight] :
       llvm::zip_equal(targetIds, *weightTrees, *weightNodes, *weights)) {
    auto found = places.find({tree, id});
    if (found == places.end())
      return node.error() << "has a weight for node " << id << " of tree " << tree
                          << ", which is not there";
    forest.weights.push_back({found->second, target, weight});
  }
  if (failed(forest.verify(node, nameOf)))
    return failure();
  return forest;
}

/// One base value for each target, or none.
static FailureOr<std::vector<double>> readBase(Node &node, int64_t targets) {
  FailureOr<std::vector<double>> base = readList(node, "base_values");
  if (failed(base) || base->empty() || int64_t(base->size()) == targets)
    return base;
  return node.error() << "has " << base->size() << " base values for " << targets << " targets";
}

static Value addBase(Emitter &emit, Value scores, ArrayRef<double> base) {
  if (base.empty())
    return scores;
  Value values =
      makeReals(emit, int64_t(base.size()), Emitter::typeOf(scores).getElementType(), base);
  return emit.binary(BK::Add, scores, emit.broadcastTo(values, Emitter::shapeOf(scores)));
}

/// What the forest and the base values say of the input.
static FailureOr<Value> scoreRows(Node &node, const TreeForest &forest, ArrayRef<double> base) {
  FailureOr<Value> rows = readRows(node);
  if (failed(rows))
    return failure();
  FailureOr<Value> scores = forest.emit(node, *rows);
  if (failed(scores))
    return failure();
  return addBase(node.emit, *scores, base);
}

static LogicalResult treeEnsembleRegressor(Node &node) {
  int64_t targets = node.integer("n_targets", 1);
  FailureOr<int64_t> aggregate =
      readChoice(node, "aggregate_function", node.string("aggregate_function", "SUM"),
                 {"AVERAGE", "SUM", "MIN", "MAX"});
  FailureOr<PostTransform> transform = readPostTransform(node);
  FailureOr<TreeForest> forest = readNodeLists(node, "target", targets);
  FailureOr<std::vector<double>> base = readBase(node, targets);
  if (failed(aggregate) || failed(transform) || failed(forest) || failed(base))
    return failure();
  forest->aggregate = TreeAggregate(*aggregate);
  FailureOr<Value> scores = scoreRows(node, *forest, *base);
  if (failed(scores))
    return failure();
  Emitter &emit = node.emit;
  return node.yield(
      transformScores(emit, emit.convert(*scores, emit.builder.getF32Type()), *transform));
}

static LogicalResult treeEnsembleClassifier(Node &node) {
  FailureOr<ClassLabels> labels = ClassLabels::read(node, "classlabels_int64s");
  FailureOr<PostTransform> transform = readPostTransform(node);
  if (failed(labels) || failed(transform))
    return failure();
  if (labels->size() < 2)
    return node.error() << "has one class, expected at least two";
  FailureOr<TreeForest> forest = readNodeLists(node, "class", labels->size());
  if (failed(forest))
    return failure();
  // Where all weights are for one of two classes they decide by a threshold. Those for the
  // first one mean the second one, as ONNX Runtime and exporters have it.
  auto areAllFor = [&](int64_t target) {
    return labels->size() == 2 && llvm::all_of(forest->weights, [target](auto &weight) {
             return weight.target == target;
           });
  };
  bool isBinary = areAllFor(0), isSecond = !isBinary && areAllFor(1);
  if (isBinary)
    forest->targets = 1;
  FailureOr<std::vector<double>> base = readBase(node, forest->targets);
  if (failed(base))
    return failure();
  FailureOr<Value> scores = scoreRows(node, *forest, *base);
  if (failed(scores))
    return failure();
  Emitter &emit = node.emit;
  bool arePositive = llvm::all_of(forest->weights, [](auto &weight) { return weight.value >= 0; });
  Value best = isBinary || isSecond
                   ? isAbove(emit, emit.sliceAxis(*scores, 1, isSecond, 1), arePositive ? 0.5 : 0)
                   : bestClass(emit, *scores);
  Value result = emit.convert(*scores, emit.builder.getF32Type());
  result = isBinary ? transformBoth(emit, result, arePositive, *transform)
                    : transformScores(emit, result, *transform);
  return node.yield({labels->of(emit, best), result});
}

//===----------------------------------------------------------------------===//
// TreeEnsemble
//===----------------------------------------------------------------------===//

/// The entry of an attribute that is a number of a choice.
static FailureOr<int64_t> expectBelow(Node &node, StringRef name, double value, int64_t end) {
  if (value >= 0 && value < end && value == std::floor(value))
    return int64_t(value);
  SmallString<16> text;
  llvm::raw_svector_ostream(text) << llvm::format("%g", value);
  return node.error() << "attribute '" << name << "' has the entry " << text << ", expected 0 to "
                      << end - 1;
}

/// Lists of members in the order of the nodes that test membership, with NaN behind each.
static LogicalResult readMembers(Node &node, TreeForest &forest) {
  FailureOr<std::vector<double>> values = readTensor(node, "membership_values");
  if (failed(values))
    return failure();
  size_t next = 0;
  for (auto [i, tree] : llvm::enumerate(forest.nodes)) {
    if (tree.mode != TreeMode::Member)
      continue;
    if (next >= values->size())
      return node.error() << "attribute 'membership_values' has no list for node " << i;
    for (; next < values->size() && !std::isnan((*values)[next]); ++next)
      tree.members.push_back((*values)[next]);
    ++next;
    llvm::sort(tree.members);
    tree.members.erase(llvm::unique(tree.members), tree.members.end());
  }
  if (next < values->size())
    return node.error() << "attribute 'membership_values' has more lists than there are nodes "
                        << "that test membership";
  return success();
}

/// Nodes, and leaves behind them, each with one weight.
static FailureOr<TreeForest> readNodesAndLeaves(Node &node) {
  node.ignore("nodes_hitrates");
  size_t count = readIntegers(node, "nodes_featureids").size();
  auto branches = readBranches(node, count);
  auto trueLeafs = readEntries(node, "nodes_trueleafs", count);
  auto falseLeafs = readEntries(node, "nodes_falseleafs", count);
  auto modes = readTensor(node, "nodes_modes"), splits = readTensor(node, "nodes_splits");
  auto weights = readTensor(node, "leaf_weights");
  if (failed(branches) || failed(trueLeafs) || failed(falseLeafs) || failed(modes) ||
      failed(splits) || failed(weights) ||
      failed(expectLength(node, "nodes_modes", modes->size(), count)) ||
      failed(expectLength(node, "nodes_splits", splits->size(), count)))
    return failure();
  auto targets = readEntries(node, "leaf_targetids", weights->size());
  if (failed(targets))
    return failure();

  TreeForest forest;
  forest.targets = node.integer("n_targets", 1);
  forest.nodes.resize(count + weights->size());
  auto nameOf = [&](int64_t i) {
    return i < int64_t(count) ? ("node " + Twine(i)).str() : ("leaf " + Twine(i - count)).str();
  };
  for (size_t i = 0; i < count; ++i) {
    TreeForest::TreeNode &tree = forest.nodes[i];
    FailureOr<int64_t> mode =
        expectBelow(node, "nodes_modes", (*modes)[i], int64_t(TreeMode::Leaf));
    if (failed(mode))
      return failure();
    tree.mode = TreeMode(*mode);
    tree.tracksNan = branches->tracks[i] != 0;
    tree.feature = branches->features[i];
    tree.value = (*splits)[i];
    auto place = [&](int64_t id, bool isLeaf) {
      int64_t end = isLeaf ? weights->size() : count;
      return id < 0 || id >= end ? -1 : isLeaf ? id + int64_t(count) : id;
    };
    tree.onTrue = place(branches->onTrue[i], (*trueLeafs)[i] != 0);
    tree.onFalse = place(branches->onFalse[i], (*falseLeafs)[i] != 0);
    if (tree.onTrue < 0 || tree.onFalse < 0)
      return node.error() << nameOf(i) << " leads to number "
                          << (tree.onTrue < 0 ? branches->onTrue[i] : branches->onFalse[i])
                          << ", which is not there";
  }
  for (auto [i, weight] : llvm::enumerate(*weights))
    forest.weights.push_back({int64_t(count + i), (*targets)[i], weight});
  SmallVector<int64_t> roots = readIntegers(node, "tree_roots");
  forest.roots.assign(roots.begin(), roots.end());
  for (int64_t root : forest.roots)
    if (root < 0 || root >= int64_t(count))
      return node.error() << "attribute 'tree_roots' has the entry " << root << ", expected 0 to "
                          << int64_t(count) - 1;
  if (failed(readMembers(node, forest)) || failed(forest.verify(node, nameOf)))
    return failure();
  return forest;
}

static LogicalResult treeEnsemble(Node &node) {
  auto aggregate =
      expectBelow(node, "aggregate_function", node.integer("aggregate_function", 1), 4);
  auto transform = expectBelow(node, "post_transform", node.integer("post_transform", 0), 5);
  FailureOr<TreeForest> forest = readNodesAndLeaves(node);
  if (failed(aggregate) || failed(transform) || failed(forest) || failed(node.expectReal()))
    return failure();
  forest->aggregate = TreeAggregate(*aggregate);
  FailureOr<Value> scores = scoreRows(node, *forest, {});
  if (failed(scores))
    return failure();
  return node.yield(
      node.emit.convert(transformScores(node.emit, *scores, PostTransform(*transform)),
                        node.inputType(0).getElementType()));
}

ArrayRef<OperatorRow> lumen::treeRows() {
  constexpr int64_t kNewest = OperatorRow::kNewest;
  static constexpr OperatorRow rows[] = {
      {"TreeEnsemble", 1, 1, treeEnsemble, "", 5, kNewest, kMlDomain},
      {"TreeEnsembleClassifier", 1, 1, treeEnsembleClassifier, "", 1, kNewest, kMlDomain},
      {"TreeEnsembleRegressor", 1, 1, treeEnsembleRegressor, "", 1, kNewest, kMlDomain},
  };
  return rows;
}
