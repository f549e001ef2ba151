//===- Attention.h - what every form of attention computes -------*- C++ -*-===//
//
// Who computes which scores is up to a builder; which keys a query sees, and what becomes of
// a product of both in front of the softmax, is said here.
//
//===----------------------------------------------------------------------===//
#ifndef LUMEN_CODEGEN_LOOPS_ATTENTION_H
#define LUMEN_CODEGEN_LOOPS_ATTENTION_H

#include "codegen/loops/LoopEmitter.h"

namespace lumen::loops {

struct AttentionRules {
  AttentionRules(LoopKernel &kernel, AttentionOp op);

  AttentionOp op;
  const Access &query, &key, &value, &result;
  const Access *mask = nullptr, *first = nullptr; ///< null: none
  mlir::Type type;                                ///< in registers
  SymExpr batch, heads, rows, keys, keyHeads;
  SymExpr size, valueSize; ///< of a key, and of a value

  mlir::Value number(LoopEmitter &emit, double value) const;
  static mlir::Value isMore(LoopEmitter &emit, mlir::Value a, mlir::Value b);
  /// The indices of a tensor that lies as `dims` say.
  static Values physical(llvm::ArrayRef<mlir::Value> logical, llvm::ArrayRef<int64_t> dims);

  /// How many keys, from the first, a row of the query sees.
  mlir::Value countSeen(LoopEmitter &emit, mlir::Value batch, mlir::Value row) const;
  /// The score that a product of query and key makes at (batch, head, row, key).
  mlir::Value score(LoopEmitter &emit, mlir::Value product, llvm::ArrayRef<mlir::Value> at) const;
  /// What scores are lowered by in front of the exponential, if `top` is the largest.
  mlir::Value shiftOf(LoopEmitter &emit, mlir::Value top) const;
  /// What weighted sums are multiplied by, if `total` is the sum of the weights.
  mlir::Value factorOf(LoopEmitter &emit, mlir::Value total) const;
};

} // namespace lumen::loops

#endif // LUMEN_CODEGEN_LOOPS_ATTENTION_H
