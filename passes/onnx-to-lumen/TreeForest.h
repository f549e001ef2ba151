//===- TreeForest.h - decision trees as lumen.trees takes them ---*- C++ -*-===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_TREEFOREST_H
#define LUMEN_PASSES_ONNXTOLUMEN_TREEFOREST_H

#include "passes/onnx-to-lumen/Converter.h"

#include <vector>

namespace lumen {

/// What a node of a tree asks of a feature; in the order of their numbers in TreeEnsemble.
enum class TreeMode { Leq, Lt, Gte, Gt, Eq, Neq, Member, Leaf };

/// How the weights of a target come together; in the order of their numbers in TreeEnsemble.
enum class TreeAggregate { Average, Sum, Min, Max };

/// The trees of one operator.
struct TreeForest {
  struct TreeNode {
    TreeMode mode = TreeMode::Leaf;
    bool tracksNan = false; ///< NaN counts as true
    int64_t feature = 0;
    double value = 0;
    std::vector<double> members; ///< of Member: ascending
    int64_t onTrue = -1, onFalse = -1;
  };
  struct Weight {
    int64_t leaf, target;
    double value;
  };

  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;
  std::vector<Weight> weights;
  int64_t targets = 1;
  TreeAggregate aggregate = TreeAggregate::Sum;

  /// Checks what `emit` relies on: children that exist and make trees. `nameOf` says to the
  /// user which node a number is.
  mlir::LogicalResult verify(Node &node, llvm::function_ref<std::string(int64_t)> nameOf) const;

  /// What all trees say of `rows`, f32 or f64, `[rows, targets]` of the same type.
  mlir::FailureOr<mlir::Value> emit(Node &node, mlir::Value rows) const;
};

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_TREEFOREST_H
