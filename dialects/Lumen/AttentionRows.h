//===- AttentionRows.h - when attention is one operation ---------*- C++ -*-===//
#ifndef LUMEN_DIALECTS_LUMEN_ATTENTIONROWS_H
#define LUMEN_DIALECTS_LUMEN_ATTENTIONROWS_H

#include "dialects/Lumen/Symbols.h"

namespace lumen {

/// Whether attention of so many rows, with so many of its heads to each head of the keys, pays
/// as one `lumen.attention`. The kernel computes rows side by side in the lanes of vectors: the
/// one row of a decoder's step would fill one of them, and two products with a softmax between
/// take half the time. Where only the run knows the rows, they may be one.
inline bool paysAsOneAttention(const SymExpr &rows, int64_t headsOfKeyHead) {
  return rows.asConstant().value_or(0) * headsOfKeyHead >= 8;
}

} // namespace lumen

#endif // LUMEN_DIALECTS_LUMEN_ATTENTIONROWS_H
