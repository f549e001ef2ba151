//===- MachineLearning.h - what operators of ai.onnx.ml share ----*- C++ -*-===//
//
// Rows of features go in; scores come out, and with a classifier the names of classes.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_MACHINELEARNING_H
#define LUMEN_PASSES_ONNXTOLUMEN_MACHINELEARNING_H

#include "passes/onnx-to-lumen/Converter.h"

namespace lumen {

constexpr llvm::StringLiteral kMlDomain = "ai.onnx.ml";

/// The first input as `[rows, features]`: one dimension is one row, and what is no float
/// becomes f32. An error if there are more than two dimensions.
mlir::FailureOr<mlir::Value> readRows(Node &node);
/// The same as f32.
mlir::FailureOr<mlir::Value> readRowsF32(Node &node);

/// Makes sure that there are as many features as `what` says.
mlir::LogicalResult expectFeatures(Node &node, mlir::Value rows, int64_t expected,
                                   llvm::StringRef what);

/// In the order of their numbers in TreeEnsemble.
enum class PostTransform { None, Softmax, Logistic, SoftmaxZero, Probit };
mlir::FailureOr<PostTransform> readPostTransform(Node &node);

/// What becomes of `[rows, scores]`. ONNX Runtime leaves one score alone, but for Probit.
mlir::Value transformScores(Emitter &emit, mlir::Value scores, PostTransform transform);

/// The scores of two classes from the one of the second, `[rows, 1]`: as probabilities they
/// add up to 1, else to 0.
mlir::Value transformBoth(Emitter &emit, mlir::Value score, bool areProbabilities,
                          PostTransform transform);

/// The number of the first of each row's largest scores, `[rows]`.
mlir::Value bestClass(Emitter &emit, mlir::Value scores);
/// 1 where a score `[rows, 1]` is above `threshold`, else 0, `[rows]`.
mlir::Value isAbove(Emitter &emit, mlir::Value score, double threshold);

/// What a classifier calls its classes: strings or integers.
class ClassLabels {
public:
  /// `integers`: the name of the attribute that lists integers.
  static mlir::FailureOr<ClassLabels> read(Node &node, llvm::StringRef integers);

  int64_t size() const { return strings.empty() ? integers.size() : strings.size(); }
  /// The labels of classes by number, `[rows]`.
  mlir::Value of(Emitter &emit, mlir::Value numbers) const;

private:
  llvm::SmallVector<llvm::StringRef> strings; ///< the context has them
  llvm::SmallVector<int64_t> integers;
};

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_MACHINELEARNING_H
