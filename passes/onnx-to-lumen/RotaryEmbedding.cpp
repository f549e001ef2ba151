//===- RotaryEmbedding.cpp - rotary positions -----------------------------===//

#include "passes/onnx-to-lumen/Attention.h"

using namespace mlir;
using namespace lumen;

static constexpr StringLiteral kRotated("twice the number of columns of cos_cache");

using BK = BinaryKind;

FailureOr<Value> lumen::rotate(Node &node, Value x, Value cosine, Value sine, bool isInterleaved,
                               bool isRowsFirst) {
  Emitter &emit = node.emit;
  Sizes shape = Emitter::shapeOf(x), angles = Emitter::shapeOf(cosine);
  SymExpr count = angles.back(), rest = shape[3] - count * 2;
  if (!node.ensureAtMost(count * 2, shape[3],
                         "{0} elements of a head are rotated, expected at most {1}"))
    return node.error() << "cos_cache has " << count.str() << " columns, expected at most half of "
                        << shape[3].str();
  Sizes half(shape);
  half[3] = count;
  // The first of a pair is element i, or 2 * i.
  auto pick = [&](const SymExpr &offset) {
    Sizes offsets(4, SymExpr(0));
    offsets[3] = offset;
    return emit.slice(x, offsets, half, {1, 1, 1, isInterleaved ? 2 : 1});
  };
  Value a = pick(0), b = pick(isInterleaved ? SymExpr(1) : count);
  Sizes expected{shape[0], shape[isRowsFirst ? 1 : 2], count};
  auto repeat = [&](Value angle) -> FailureOr<Value> {
    if (!node.ensureBroadcastTo(Emitter::shapeOf(angle), expected))
      return node.error() << "angles of shape " << shapeText(Emitter::shapeOf(angle))
                          << " cannot be broadcast to the shape " << shapeText(expected);
    return emit.broadcast(emit.broadcastTo(angle, expected), half, {0, isRowsFirst ? 1 : 2, 3});
  };
  FailureOr<Value> c = repeat(cosine), s = repeat(sine);
  if (failed(c) || failed(s))
    return failure();
  auto mul = [&](Value lhs, Value rhs) { return emit.binary(BK::Mul, lhs, rhs); };
  Value real = emit.binary(BK::Sub, mul(*c, a), mul(*s, b));
  Value imaginary = emit.binary(BK::Add, mul(*s, a), mul(*c, b));
  Value turned;
  if (isInterleaved) {
    Sizes column(half), flat(half);
    column.push_back(1);
    flat[3] = count * 2;
    turned = emit.concat({emit.reshape(real, column), emit.reshape(imaginary, column)}, 4);
    turned = emit.reshape(turned, flat);
  } else {
    turned = emit.concat({real, imaginary}, 3);
  }
  if (rest != SymExpr(0))
    turned = emit.concat({turned, emit.sliceAxis(x, 3, count * 2, SymExpr::max(rest, 0))}, 3);
  return emit.cast(turned, shape);
}

/// What of a node's head is turned: rotary_embedding_dim, if that is given, has to be twice the
/// columns of the caches.
static LogicalResult checkCaches(Node &node, unsigned cosine, unsigned sine) {
  Sizes shape = node.inputShape(cosine);
  if (failed(node.expectReal()) || failed(node.expectSameElementType(0, cosine)) ||
      failed(node.expectSameElementType(0, sine)))
    return failure();
  if (!node.ensureEqual(node.inputShape(sine), shape, "sin_cache"))
    return node.error() << "cos_cache and sin_cache have shapes " << shapeText(shape) << " and "
                        << shapeText(node.inputShape(sine)) << ", expected equal ones";
  int64_t turned = node.integer("rotary_embedding_dim", 0);
  if (turned != 0 && (turned < 0 || !node.ensureEqual(shape.back() * 2, turned, kRotated)))
    return node.error() << "attribute 'rotary_embedding_dim' is " << turned
                        << ", expected twice the " << shape.back().str() << " columns of cos_cache";
  return success();
}

/// Turns the heads of input 0, which are a dimension of it or `heads` of its last one.
static LogicalResult rotateInput(Node &node, Value cosine, Value sine, const SymExpr &heads) {
  Emitter &emit = node.emit;
  Sizes shape = node.inputShape(0);
  bool isFlat = shape.size() == 3, isInterleaved = node.integer("interleaved", 0) != 0;
  Value x = node.input(0);
  if (isFlat) {
    FailureOr<Value> separate = separateHeads(node, x, heads, "input");
    if (failed(separate))
      return failure();
    x = *separate;
  }
  if (node.has("rotary_embedding_dim") && node.integer("rotary_embedding_dim", 0) == 0 &&
      !node.ensureEqual(Emitter::shapeOf(cosine).back() * 2, Emitter::shapeOf(x).back(), kRotated))
    return node.error() << "cos_cache has " << Emitter::shapeOf(cosine).back().str()
                        << " columns, expected half of " << Emitter::shapeOf(x).back().str();
  FailureOr<Value> turned = rotate(node, x, cosine, sine, isInterleaved, /*isRowsFirst=*/isFlat);
  return failed(turned) ? failure() : node.yield(emit.reshape(*turned, shape));
}

/// Inputs: X, cos_cache, sin_cache, position_ids, which pick rows of the caches.
static LogicalResult rotaryEmbedding(Node &node) {
  Value cosine = node.input(1), sine = node.input(2);
  if (failed(expectRank(node, 0, "input", {3, 4})) ||
      failed(expectRank(node, 1, "cos_cache", {node.input(3) ? 2 : 3})) ||
      failed(checkCaches(node, 1, 2)))
    return failure();
  if (Value positions = node.input(3)) {
    if (failed(expectRank(node, 3, "position_ids", {2})))
      return failure();
    cosine = node.emit.gather(cosine, positions, 0);
    sine = node.emit.gather(sine, positions, 0);
  }
  return rotateInput(node, cosine, sine, node.integer("num_heads", 0));
}

/// Inputs: X, position_ids, cos_cache, sin_cache. One position is that of the first row.
static LogicalResult fusedRotaryEmbedding(Node &node) {
  Emitter &emit = node.emit;
  if (failed(expectRank(node, 0, "input", {3, 4})) ||
      failed(expectRank(node, 2, "cos_cache", {2})) || failed(checkCaches(node, 2, 3)))
    return failure();
  if (node.integer("is_packed_batching", 0) != 0)
    return node.error() << "attribute 'is_packed_batching' is 1, expected 0";
  if (double scale = node.real("scale", 1); scale != 1)
    return node.error() << "attribute 'scale' is " << scale << ", expected 1";
  Value positions = node.input(1);
  Sizes shape = node.inputShape(0);
  SymExpr count = shape[shape.size() - 2];
  if (node.inputRank(1) == 1) {
    FailureOr<Value> first = agree(node, positions, SymExpr(1), "position_ids");
    if (failed(first))
      return failure();
    Sizes row{SymExpr(1), count};
    Value index = emit.iota(emit.typed(row, node.inputType(1).getElementType()), 1);
    positions = emit.binary(BK::Add, index, emit.splat(emit.reshape(*first, {}), row));
  } else if (failed(expectRank(node, 1, "position_ids", {2}))) {
    return failure();
  }
  // Without num_heads the caches say how large a head is.
  SymExpr heads = node.integer("num_heads", 0);
  if (shape.size() == 3 && heads == SymExpr(0))
    heads = SymExpr::floorDiv(shape[2], node.inputShape(2)[1] * 2);
  return rotateInput(node, emit.gather(node.input(2), positions, 0),
                     emit.gather(node.input(3), positions, 0), heads);
}

static const OperatorRow rows[] = {
    {"RotaryEmbedding", 3, 4, rotaryEmbedding},
    OperatorRow{"RotaryEmbedding", 4, 4, fusedRotaryEmbedding, "scale 1, not packed"}.ofMicrosoft(),
};

ArrayRef<OperatorRow> lumen::rotaryRows() { return rows; }
