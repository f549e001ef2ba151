//===- Attention.h - what the operators of attention share -------*- C++ -*-===//
//
// Each operator splits its inputs into heads and says who sees whom; the products
// and the softmax between them are the same for all.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_PASSES_ONNXTOLUMEN_ATTENTION_H
#define LUMEN_PASSES_ONNXTOLUMEN_ATTENTION_H

#include "passes/onnx-to-lumen/Converter.h"

namespace lumen {

/// softmax(softcap(scale * Q K') + bias) V over the keys that each query sees.
class Attention {
public:
  /// `query` is [batch, heads, rows, size]; `key` [batch, keyHeads, keys, size] and `value`
  /// likewise, each head of which serves heads / keyHeads of the query's in a row. Their
  /// sizes agree.
  Attention(Emitter &emit, mlir::Value query, mlir::Value key, mlir::Value value);

  std::optional<double> scale; ///< 1 / sqrt(size) where it is not given
  double softcap = 0;     ///< bounds the scores by `softcap * tanh(score / softcap)` unless it is 0
  mlir::Type softmaxType; ///< in which the softmax is computed; null for that of the scores
  /// [heads]: a score in each softmax that belongs to no key; null for none.
  mlir::Value sink;

  /// Whether the scores or the probabilities are asked for, so that they must be in memory.
  bool keepsScores = false;

  /// Change the scores in front of the softmax and the probabilities behind it, both in the
  /// type of the softmax; empty where nothing does. Give null where they cannot.
  std::function<mlir::Value(mlir::Value)> changeScores, changeProbabilities;

  /// [batch, heads, rows, keys], the shape of the scores.
  const Sizes &getShape() const { return shape; }
  /// Of query, key and value.
  mlir::Type getElementType() const { return Emitter::typeOf(query).getElementType(); }

  /// Adds to the scores what can be broadcast to their shape, which the caller has checked.
  void addBias(mlir::Value addend);
  /// Hides the keys for which a condition, which can be broadcast to the shape of the
  /// scores, is false. A query that sees none gets zeros.
  void hideUnless(mlir::Value condition);
  /// Hides keys by their places: a query of row i stands at `first` + i. `first` is an i32
  /// tensor of [batch] or a scalar. Sees `left` keys before it and `right` behind it, all where
  /// that is nothing.
  void hideOutside(mlir::Value first, std::optional<int64_t> left, std::optional<int64_t> right);
  /// Whether a key comes before `end` and not before `begin`, if that is given; both are i32
  /// tensors of [batch].
  mlir::Value isWithin(mlir::Value begin, mlir::Value end);

  /// [batch, heads, rows, size of a value]; null where a change failed.
  mlir::Value emitResult();

  // What some operators give besides, once the result is emitted, in the shape of the scores.
  mlir::Value products;      ///< scale * Q K'
  mlir::Value capped;        ///< the same behind the softcap
  mlir::Value probabilities; ///< behind the softmax
  /// `capped` with the bias, and `hidden` where a key is.
  mlir::Value emitBiased(double hidden);

private:
  /// Consecutive heads that share keys are more rows of one product.
  mlir::Value multiply(mlir::Value lhs, mlir::Value rhs, bool isRhsTransposed);
  Sizes sizesOver(mlir::Value batches, const SymExpr &rows) const;
  /// The smallest shape that holds both: most masks are the same for all heads.
  Sizes joinShapes(mlir::Value a, mlir::Value b) const;
  bool isOneKernel() const;
  mlir::Value emitOneKernel();

  Emitter &emit;
  mlir::Value query, key, value;
  Sizes shape;
  // Four dimensions each, which are those of the scores or 1.
  mlir::Value bias, isSeen;
  /// Where the first query stands that sees no key behind its place; see `hideOutside`.
  mlir::Value causalFirst;
};

/// Whether each head of keys can serve as many heads of queries.
mlir::LogicalResult checkHeads(Node &node, const SymExpr &heads, const SymExpr &keyHeads);

/// An error unless the input has as many dimensions as one of `ranks` says.
mlir::LogicalResult expectRank(Node &node, unsigned index, llvm::StringRef name,
                               llvm::ArrayRef<int64_t> ranks);

/// [batch, rows, heads * size] as [batch, rows, heads, size].
mlir::FailureOr<mlir::Value> separateHeads(Node &node, mlir::Value x, const SymExpr &heads,
                                           llvm::StringRef what);
/// The same as [batch, heads, rows, size].
mlir::FailureOr<mlir::Value> splitHeads(Node &node, mlir::Value x, int64_t heads,
                                        llvm::StringRef what);
/// [batch, heads, rows, size] as [batch, rows, heads * size].
mlir::Value mergeHeads(Emitter &emit, mlir::Value x);

/// A value whose sizes are to be `expected`; an error that names it as `what` where they never
/// are.
mlir::FailureOr<mlir::Value> agree(Node &node, mlir::Value value, Node::Shape expected,
                                   llvm::StringRef what);

/// Puts the rows of inputs `index` and `index + 1`, past_key and past_value, in front of those of
/// `key` and `value`, if they are given. Gives how many there are.
mlir::FailureOr<SymExpr> appendToPast(Node &node, unsigned index, mlir::Value &key,
                                      mlir::Value &value);

/// A mask or a bias of one to four dimensions whose last one has `keys` entries: where it is
/// shorter, the rest is hidden.
mlir::FailureOr<mlir::Value> padMask(Node &node, mlir::Value mask, const SymExpr &keys,
                                     llvm::StringRef what);

/// Turns each pair of elements of the first 2 * n of the last dimension by an angle. `x` is
/// [batch, heads, rows, size], or with `isRowsFirst` [batch, rows, heads, size]; `cosine` and
/// `sine` are [batch or 1, rows, n]. A pair is neighbours where `isInterleaved`, else elements
/// i and i + n.
mlir::FailureOr<mlir::Value> rotate(Node &node, mlir::Value x, mlir::Value cosine, mlir::Value sine,
                                    bool isInterleaved, bool isRowsFirst);

} // namespace lumen

#endif // LUMEN_PASSES_ONNXTOLUMEN_ATTENTION_H
