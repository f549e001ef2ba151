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

/// A constant of row-major elements, each in memory what it is in a tensor.
template <typename T>
mlir::Value makeNumbers(Emitter &emit, llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                        llvm::ArrayRef<T> values) {
  return makeConstant(emit.builder, emit.loc, mlir::RankedTensorType::get(shape, elementType),
                      [&](llvm::MutableArrayRef<char> bytes) {
                        assert(bytes.size() == values.size() * sizeof(T) && "one element each");
                        std::memcpy(bytes.data(), values.data(), bytes.size());
                      });
}

/// The same of f32 or f64 elements, which are rounded.
mlir::Value makeReals(Emitter &emit, llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                      llvm::ArrayRef<double> values);

/// The first input as `[rows, features]`: one dimension is one row, and what is no float
/// becomes f32. An error if there are more than two dimensions.
mlir::FailureOr<mlir::Value> readRows(Node &node);
/// The same as f32.
mlir::FailureOr<mlir::Value> readRowsF32(Node &node);

/// Makes sure that there are as many features as `what` says.
mlir::LogicalResult expectFeatures(Node &node, mlir::Value rows, int64_t expected,
                                   llvm::StringRef what);

/// A list attribute of floats, which may be empty.
llvm::SmallVector<double> readReals(Node &node, llvm::StringRef name);
llvm::SmallVector<int64_t> readIntegers(Node &node, llvm::StringRef name);

/// The position of `text` among `names`; an error that lists them if it is none.
mlir::FailureOr<int64_t> readChoice(Node &node, llvm::StringRef attribute, llvm::StringRef text,
                                    llvm::ArrayRef<llvm::StringRef> names);

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
  llvm::SmallVector<std::string> strings;
  llvm::SmallVector<int64_t> integers;
};

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_MACHINELEARNING_H
