//===- FusedAttention.cpp - attention in the forms of ONNX Runtime --------===//
//
// They hold what a transformer has around its attention: the projection, biases, rotary
// positions, padding and the cache of keys and values.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Attention.h"
#include "passes/onnx-to-lumen/Quantization.h"

using namespace mlir;
using namespace lumen;

using BK = BinaryKind;
using CK = CompareKind;

//===----------------------------------------------------------------------===//
// What the operators share
//===----------------------------------------------------------------------===//

/// The scale, where one is given: 0 means none.
static void readScale(Node &node, Attention &attention) {
  if (double scale = node.real("scale", 0); scale != 0)
    attention.scale = scale;
}

static LogicalResult rejectInputs(Node &node, unsigned first) {
  for (unsigned i = first; i < node.getNumInputs(); ++i)
    if (node.input(i))
      return node.error() << "input " << i << " is not supported";
  return success();
}

/// Input `index` marks keys that are padding: by the length of each sequence, by the end and the
/// begin of each, by 0 for each key or by 0 for each query and key. The scores of such keys get
/// mask_filter_value added.
static LogicalResult applyPadding(Node &node, unsigned index, StringRef name,
                                  Attention &attention) {
  Emitter &emit = node.emit;
  double filter = node.real("mask_filter_value", -10000.0f);
  Value mask = node.input(index);
  if (!mask)
    return success();
  const Sizes &scores = attention.getShape();
  const SymExpr &batch = scores[0], &rows = scores[2], &keys = scores[3];
  Sizes given = node.inputShape(index);
  Value isKept;
  if (given.size() == 1) {
    Value numbers = emit.convert(mask, emit.builder.getI32Type());
    bool hasBegin = given.front() == batch * 2 && given.front() != batch;
    FailureOr<Value> listed = agree(node, numbers, hasBegin ? batch * 2 : batch, name);
    if (failed(listed))
      return failure();
    isKept = hasBegin ? attention.isWithin(emit.sliceAxis(*listed, 0, batch, batch),
                                           emit.sliceAxis(*listed, 0, 0, batch))
                      : attention.isWithin(Value(), *listed);
  } else if (given.size() == 2 || given.size() == 3) {
    bool isPerRow = given.size() == 3;
    FailureOr<Value> listed =
        agree(node, mask, isPerRow ? Sizes{batch, rows, keys} : Sizes{batch, keys}, name);
    if (failed(listed))
      return failure();
    isKept = emit.reshape(emit.compare(CK::Ne, *listed, 0.0),
                          {batch, SymExpr(1), isPerRow ? rows : SymExpr(1), keys});
  } else {
    return node.error() << name << " has shape " << shapeText(given)
                        << ", expected one to three dimensions";
  }
  RankedTensorType type = Emitter::typeOf(isKept).clone(attention.getElementType());
  attention.addBias(emit.select(isKept, emit.splat(type, 0), emit.splat(type, filter)));
  return success();
}

/// Input `index` is added to the scores. It may leave out the last keys, if those are hidden.
static LogicalResult applyBias(Node &node, int index, Attention &attention) {
  if (!node.input(index))
    return success();
  FailureOr<Value> bias =
      padMask(node, node.input(index), attention.getShape().back(), "attention_bias");
  if (failed(bias) || failed(node.expectSameElementType(0, index)))
    return failure();
  if (!node.ensureBroadcastTo(Emitter::shapeOf(*bias), attention.getShape()))
    return node.error() << "attention_bias of shape " << shapeText(node.inputShape(index))
                        << " cannot be broadcast to the shape " << shapeText(attention.getShape());
  attention.addBias(*bias);
  return success();
}

/// The result, heads side by side, with the padding that input `padding` says and the bias of
/// input `bias`. A query may see only what came before it, of which `past` are in the cache.
static FailureOr<Value> attend(Node &node, Attention &attention, unsigned padding,
                               StringRef paddingName, int bias, const SymExpr &past) {
  readScale(node, attention);
  if (failed(applyPadding(node, padding, paddingName, attention)) ||
      failed(applyBias(node, bias, attention)))
    return failure();
  if (node.integer("unidirectional", 0) != 0)
    attention.hideOutside(node.emit.size(past, node.emit.builder.getI32Type()), std::nullopt, 0);
  return mergeHeads(node.emit, attention.emitResult());
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The hidden sizes of Q, K and V in `width` columns: given, or thirds.
static FailureOr<Sizes> readHiddenSizes(Node &node, const SymExpr &width, int64_t heads) {
  Sizes sizes(3, SymExpr::floorDiv(width, 3));
  if (auto given = node.integers("qkv_hidden_sizes"); given && !given->empty()) {
    if (given->size() != 3 || (*given)[0] != (*given)[1] ||
        llvm::any_of(*given, [&](int64_t size) { return size < 1 || size % heads != 0; }))
      return node.error() << "attribute 'qkv_hidden_sizes' is " << shapeText(*given)
                          << ", expected three multiples of " << heads
                          << ", of which the first two are equal";
    sizes.assign(given->begin(), given->end());
  }
  if (!node.ensureEqual(width, sizes[0] + sizes[1] + sizes[2],
                        "the number of columns of the weights"))
    return node.error() << "weights have " << width.str() << " columns, expected "
                        << (sizes[0] + sizes[1] + sizes[2]).str();
  return sizes;
}

/// Inputs of an attention behind its projection; -1 stands for one that there is none of.
struct ProjectedInputs {
  int mask, past, bias;
};

/// Attributes that both forms with a projection of their own have, and no more than the
/// inputs that are known.
static FailureOr<int64_t> checkProjected(Node &node, unsigned numInputs) {
  FailureOr<int64_t> heads = node.count("num_heads", 0);
  if (failed(heads) || failed(expectRank(node, 0, "input", 3)) ||
      failed(expectRank(node, 1, "weights", 2)) || failed(rejectInputs(node, numInputs)))
    return failure();
  for (StringRef name : {"do_rotary", "past_present_share_buffer"})
    if (node.integer(name, 0) != 0)
      return node.error() << "attribute '" << name << "' is 1, expected 0";
  node.ignore("rotary_embedding_dim");
  return heads;
}

/// Attention of queries, keys and values side by side, which the projection has made.
static LogicalResult attendProjected(Node &node, Value projected, ArrayRef<SymExpr> widths,
                                     int64_t heads, const ProjectedInputs &inputs) {
  Emitter &emit = node.emit;
  SmallVector<Value> parts;
  SymExpr offset = 0;
  for (const SymExpr &width : widths) {
    FailureOr<Value> part =
        splitHeads(node, emit.sliceAxis(projected, 2, offset, width), heads, "projection");
    if (failed(part))
      return failure();
    parts.push_back(*part);
    offset += width;
  }
  SymExpr past = 0;
  if (Value given = node.input(inputs.past)) {
    Sizes key = Emitter::shapeOf(parts[1]);
    Type real = Emitter::typeOf(projected).getElementType(),
         type = node.inputType(inputs.past).getElementType();
    if (type != real)
      return node.error() << "past has element type " << type << ", expected " << real;
    if (failed(expectRank(node, inputs.past, "past", 5)))
      return failure();
    past = node.inputShape(inputs.past)[3];
    FailureOr<Value> cache = agree(node, given, {SymExpr(2), key[0], key[1], past, key[3]}, "past");
    if (failed(cache))
      return failure();
    for (int64_t i : {0, 1}) {
      Value half = emit.reshape(emit.sliceAxis(*cache, 0, i, 1), {key[0], key[1], past, key[3]});
      FailureOr<Value> fresh = agree(node, parts[1 + i], key, "value");
      if (failed(fresh))
        return failure();
      parts[1 + i] = emit.concat({half, *fresh}, 2);
    }
  }
  Attention attention(emit, parts[0], parts[1], parts[2]);
  FailureOr<Value> result = attend(node, attention, inputs.mask, "mask_index", inputs.bias, past);
  if (failed(result))
    return failure();
  Value present;
  if (node.hasOutput(1)) {
    Sizes half = Emitter::shapeOf(parts[1]);
    half.insert(half.begin(), SymExpr(1));
    FailureOr<Value> value = agree(node, parts[2], Node::Shape(half).drop_front(), "value");
    if (failed(value))
      return failure();
    present = emit.concat({emit.reshape(parts[1], half), emit.reshape(*value, half)}, 0);
  }
  return node.yield({*result, present});
}

/// Inputs: X, weights and bias of the projection, mask, past, bias of the scores.
static LogicalResult fusedAttention(Node &node) {
  Emitter &emit = node.emit;
  FailureOr<int64_t> heads = checkProjected(node, 6);
  if (failed(heads) || failed(node.expectReal()) || failed(node.expectSameElementType(0, 1)))
    return failure();
  Sizes x = node.inputShape(0), weights = node.inputShape(1);
  FailureOr<Sizes> widths = readHiddenSizes(node, weights[1], *heads);
  FailureOr<Value> matrix = agree(node, node.input(1), {x[2], weights[1]}, "weights");
  if (failed(widths) || failed(matrix))
    return failure();
  Value product = emit.create<ContractOp>(
      emit.typed({x[0], x[1], weights[1]}, node.inputType(0).getElementType()), node.input(0),
      *matrix, /*transpose_lhs=*/false,
      /*transpose_rhs=*/false, /*packed=*/false);
  FailureOr<Value> projected = addLastBias(node, product, 2);
  if (failed(projected))
    return failure();
  return attendProjected(node, *projected, *widths, *heads, {3, 4, 5});
}

/// Inputs: X, weights and bias of the projection, scales of X and weights, mask, zero points of
/// X and weights, past.
static LogicalResult quantizedAttention(Node &node) {
  FailureOr<int64_t> heads = checkProjected(node, 9);
  if (failed(heads))
    return failure();
  FailureOr<Sizes> widths = readHiddenSizes(node, node.inputShape(1)[1], *heads);
  FailureOr<Value> product =
      failed(widths) ? FailureOr<Value>(failure()) : emitScaledProduct(node, {0, 3, 6}, {1, 4, 7});
  FailureOr<Value> projected = failed(product) ? product : addLastBias(node, *product, 2);
  if (failed(projected))
    return failure();
  return attendProjected(node, *projected, *widths, *heads, {5, 8, -1});
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// Part `part` of [batch, rows, heads, parts, size] as [batch, heads, rows, size].
static Value unpackHeads(Emitter &emit, Value packed, int64_t part) {
  Sizes shape = Emitter::shapeOf(packed);
  shape.erase(shape.begin() + 3);
  return emit.transpose(emit.reshape(emit.sliceAxis(packed, 3, part, 1), shape), {0, 2, 1, 3});
}

/// Inputs 0 to 2, which may be packed, and their biases, input 3: Q, K and V by heads.
static FailureOr<SmallVector<Value>> readQueryKeyValue(Node &node, int64_t heads) {
  Emitter &emit = node.emit;
  SmallVector<Value> parts;
  auto packed = [&](unsigned index, StringRef name, int64_t count) -> LogicalResult {
    Sizes shape = node.inputShape(index);
    FailureOr<Value> whole =
        agree(node, node.input(index),
              {shape[0], shape[1], SymExpr(heads), SymExpr(count), shape[4]}, name);
    if (failed(whole))
      return failure();
    for (int64_t i = 0; i < count; ++i)
      parts.push_back(unpackHeads(emit, *whole, i));
    return success();
  };
  if (node.inputRank(0) == 5) {
    if (node.input(1) || node.input(2) || node.input(3))
      return node.error() << "key, value and bias are not used with a packed query";
    if (failed(packed(0, "query", 3)))
      return failure();
    return parts;
  }
  SymExpr offset = 0;
  auto split = [&](unsigned index, StringRef name) -> LogicalResult {
    Value x = node.input(index);
    if (Value bias = node.input(3)) {
      SymExpr width = node.inputShape(index)[2];
      if (failed(node.expectSameElementType(0, 3)) || failed(expectRank(node, 3, "bias", 1)))
        return failure();
      if (!node.ensureAtMost(offset + width, node.inputShape(3)[0],
                             "bias has {1} elements, expected at least {0}"))
        return node.error() << "bias has " << node.inputShape(3)[0].str()
                            << " elements, expected at least " << (offset + width).str();
      Value part = emit.sliceAxis(bias, 0, offset, width);
      x = emit.binary(BK::Add, x, emit.broadcastAlong(part, node.inputShape(index), 2));
      offset += width;
    }
    FailureOr<Value> part = splitHeads(node, x, heads, name);
    if (failed(part))
      return failure();
    parts.push_back(*part);
    return success();
  };
  if (failed(expectRank(node, 0, "query", 3)) || failed(split(0, "query")))
    return failure();
  if (!node.input(1))
    return node.error() << "key is missing";
  int64_t rank = node.inputRank(1);
  if (!node.input(2)) {
    if (node.input(3))
      return node.error() << "a bias is not used with a packed key";
    if (failed(expectRank(node, 1, "key", 5)) || failed(packed(1, "key", 2)))
      return failure();
    return parts;
  }
  if (rank == 4) {
    // Keys and values of an encoder, by heads already.
    if (failed(expectRank(node, 2, "value", 4)))
      return failure();
    parts.append({node.input(1), node.input(2)});
    return parts;
  }
  if (failed(expectRank(node, 1, "key", 3)) || failed(expectRank(node, 2, "value", 3)) ||
      failed(split(1, "key")) || failed(split(2, "value")))
    return failure();
  return parts;
}

/// Inputs: Q, K, V, bias of those, padding of the keys, bias of the scores, past keys and values.
static LogicalResult multiHeadAttention(Node &node) {
  Emitter &emit = node.emit;
  FailureOr<int64_t> heads = node.count("num_heads", 0);
  if (failed(heads) || failed(node.expectReal()) || failed(rejectInputs(node, 8)))
    return failure();
  for (unsigned i : {1, 2})
    if (node.input(i) && failed(node.expectSameElementType(0, i)))
      return failure();
  FailureOr<SmallVector<Value>> parts = readQueryKeyValue(node, *heads);
  if (failed(parts))
    return failure();
  Sizes q = Emitter::shapeOf((*parts)[0]), k = Emitter::shapeOf((*parts)[1]),
        v = Emitter::shapeOf((*parts)[2]);
  FailureOr<Value> key = agree(node, (*parts)[1], {q[0], q[1], k[2], q[3]}, "key");
  FailureOr<Value> value = agree(node, (*parts)[2], {q[0], q[1], k[2], v[3]}, "value");
  if (failed(key) || failed(value))
    return failure();
  FailureOr<SymExpr> past = appendToPast(node, 6, *key, *value);
  if (failed(past))
    return failure();
  Attention attention(emit, (*parts)[0], *key, *value);
  attention.keepsScores = node.hasOutput(3);
  FailureOr<Value> result = attend(node, attention, 4, "key_padding_mask", 5, *past);
  if (failed(result))
    return failure();
  return node.yield({*result, *key, *value, attention.probabilities});
}

//===----------------------------------------------------------------------===//
// GroupQueryAttention
//===----------------------------------------------------------------------===//

/// A cache of `count` rows: below `filled`, an i32 tensor of [batch], those of `past`, then the
/// fresh ones, then zeros.
static Value appendRows(Emitter &emit, Value past, Value fresh, Value filled,
                        const SymExpr &count) {
  Sizes shape = Emitter::shapeOf(fresh), low(4, SymExpr(0)), high = low;
  SymExpr rows = shape[2];
  // There is always a row to pick from.
  high[2] = SymExpr::max(SymExpr(1) - rows, 0);
  Value zero = emit.scalar(0, Emitter::typeOf(fresh).getElementType());
  fresh = emit.pad(PadKind::Constant, fresh, zero, low, high);
  shape[2] = count;
  RankedTensorType type = emit.typed(shape, Emitter::typeOf(fresh).getElementType());
  // The place of each row among the fresh ones.
  Node::Shape rowShape = Node::Shape(shape).drop_back();
  Value place = emit.binary(BK::Sub, emit.iota(emit.typed(rowShape, emit.builder.getI32Type()), 2),
                            emit.broadcastAlong(filled, rowShape, 0));
  Value last = emit.splat(emit.size(rows - 1, emit.builder.getI32Type()), rowShape);
  Value index = emit.binary(BK::Max, emit.binary(BK::Min, place, last), 0.0);
  Value picked =
      emit.create<PickOp>(type, fresh, ValueRange(index), ArrayRef<int64_t>{0, 1, -1, 3});
  auto alongRows = [&](Value condition) { return emit.broadcast(condition, shape, {0, 1, 2}); };
  Value result =
      emit.select(alongRows(emit.compare(CK::Le, place, last)), picked, emit.splat(type, 0));
  if (!past)
    return result;
  high[2] = SymExpr::max(count - Emitter::shapeOf(past)[2], 0);
  Value wide = emit.pad(PadKind::Constant, past, zero, low, high);
  return emit.select(alongRows(emit.compare(CK::Lt, place, 0.0)), emit.cast(wide, shape), result);
}

/// Inputs: Q, K, V, past keys and values, the last place of each sequence, how many places there
/// are, caches of angles, positions, bias of the scores, sinks.
static LogicalResult groupQueryAttention(Node &node) {
  Emitter &emit = node.emit;
  FailureOr<int64_t> heads = node.count("num_heads", 0);
  FailureOr<int64_t> keyHeads = node.count("kv_num_heads", 0);
  for (unsigned required : {5, 6})
    if (!node.input(required))
      return node.error() << "input " << required << " is missing";
  if (failed(heads) || failed(keyHeads) || failed(checkHeads(node, *heads, *keyHeads)) ||
      failed(node.expectReal()) || failed(expectRank(node, 0, "query", 3)) ||
      failed(rejectInputs(node, 12)))
    return failure();
  if (node.integer("sliding_window_cache", 0) != 0)
    return node.error() << "attribute 'sliding_window_cache' is 1, expected 0";
  for (StringRef name : {"k_quant_type", "v_quant_type"})
    if (StringRef type = node.string(name, "NONE"); type != "NONE")
      return node.error() << "attribute '" << name << "' is '" << type << "', expected NONE";
  // Of norms and caches that are not given.
  for (StringRef name :
       {"k_norm_epsilon", "q_norm_epsilon", "qk_norm_epsilon", "kv_cache_bit_width"})
    node.ignore(name);

  // The new tokens as [batch, rows, heads, size].
  Sizes x = node.inputShape(0);
  SymExpr size = SymExpr::floorDiv(x[2], node.input(1) ? *heads : *heads + 2 * *keyHeads);
  SmallVector<Value> parts;
  if (bool(node.input(1)) != bool(node.input(2)))
    return node.error() << "key and value are used together";
  constexpr StringLiteral names[] = {"query", "key", "value"};
  for (unsigned i : {0, 1, 2}) {
    int64_t count = i == 0 ? *heads : *keyHeads;
    Value part = node.input(i);
    if (!node.input(1)) {
      int64_t before = i == 0 ? 0 : *heads + (i == 2 ? *keyHeads : 0);
      part = emit.sliceAxis(node.input(0), 2, size * before, size * count);
    } else if (failed(node.expectSameElementType(0, i))) {
      return failure();
    }
    FailureOr<Value> whole = agree(node, part, {x[0], x[1], size * count}, names[i]);
    if (failed(whole))
      return failure();
    parts.push_back(emit.reshape(*whole, {x[0], x[1], SymExpr(count), size}));
  }

  // How many rows of the cache each sequence has filled. A prompt has filled none, though it may
  // be shorter than the longest of its batch.
  Type indexType = emit.builder.getI32Type();
  FailureOr<Value> last = agree(node, node.input(5), x[0], "seqlens_k");
  FailureOr<Sizes> total = node.sizeOperand(6, "total_sequence_length");
  if (failed(last) || failed(total))
    return failure();
  if (total->size() != 1)
    return node.error() << "total_sequence_length has " << total->size() << " elements, expected 1";
  last = emit.convert(*last, indexType);
  Value filled = emit.binary(BK::Max, emit.binary(BK::Sub, *last, x[1] - 1), 0.0);

  if (node.integer("do_rotary", 0) != 0) {
    if (!node.input(7) || !node.input(8))
      return node.error() << "cos_cache and sin_cache are missing";
    if (failed(expectRank(node, 7, "cos_cache", 2)) || failed(node.expectSameElementType(0, 7)) ||
        failed(node.expectSameElementType(0, 8)))
      return failure();
    FailureOr<Value> sines = agree(node, node.input(8), node.inputShape(7), "sin_cache");
    Sizes rows{x[0], x[1]};
    Value index = emit.iota(emit.typed(rows, indexType), 1);
    Value positions = emit.binary(BK::Add, index, emit.broadcastAlong(filled, rows, 0));
    if (node.input(9)) {
      FailureOr<Value> given = agree(node, node.input(9), rows, "position_ids");
      if (failed(given))
        return failure();
      // A prompt counts from the first of them on.
      Value listed = emit.convert(*given, indexType);
      Value first = emit.reshape(emit.slice(listed, {0, 0}, {1, 1}, {1, 1}), {});
      Value counted = emit.binary(BK::Add, index, emit.splat(first, rows));
      Value isPrompt = emit.compare(CK::Eq, emit.size(total->front()), emit.size(x[1]));
      positions = emit.select(emit.splat(isPrompt, rows), counted, listed);
    }
    if (failed(sines))
      return failure();
    bool isInterleaved = node.integer("rotary_interleaved", 0) != 0;
    for (Value &part : MutableArrayRef(parts).take_front(2)) {
      FailureOr<Value> turned = rotate(node, part, emit.gather(node.input(7), positions, 0),
                                       emit.gather(*sines, positions, 0), isInterleaved,
                                       /*isRowsFirst=*/true);
      if (failed(turned))
        return failure();
      part = *turned;
    }
  } else {
    node.ignore("rotary_interleaved");
  }

  if (bool(node.input(3)) != bool(node.input(4)))
    return node.error() << "past_key and past_value are used together";
  for (unsigned i : {3, 4})
    if (node.input(i) &&
        (failed(expectRank(node, i, "past", 4)) || failed(node.expectSameElementType(0, i))))
      return failure();
  SymExpr past = node.input(3) ? node.inputShape(3)[2] : SymExpr(0);
  SymExpr count = SymExpr::max(total->front(), past);
  SmallVector<Value> caches;
  for (unsigned i : {1, 2}) {
    Value cache;
    if (node.input(2 + i)) {
      FailureOr<Value> given =
          agree(node, node.input(2 + i), {x[0], SymExpr(*keyHeads), past, size},
                i == 1 ? "past_key" : "past_value");
      if (failed(given))
        return failure();
      cache = *given;
    }
    Value fresh = emit.transpose(parts[i], {0, 2, 1, 3});
    caches.push_back(appendRows(emit, cache, fresh, filled, count));
  }

  Attention attention(emit, emit.transpose(parts[0], {0, 2, 1, 3}), caches[0], caches[1]);
  readScale(node, attention);
  attention.softcap = node.real("softcap", 0);
  if (node.input(11)) {
    FailureOr<Value> sink = agree(node, node.input(11), SymExpr(*heads), "head_sink");
    if (failed(sink) || failed(node.expectSameElementType(0, 11)))
      return failure();
    attention.sink = *sink;
  } else if (node.integer("smooth_softmax", 0) == 1) {
    attention.sink =
        emit.splat(RankedTensorType::get({*heads}, node.inputType(0).getElementType()), 0);
  }
  int64_t shown = node.integer("qk_output", 0);
  attention.keepsScores = shown != 0;
  if (failed(applyBias(node, 10, attention)))
    return failure();
  int64_t window = node.integer("local_window_size", -1);
  if (node.integer("causal", 1) != 0) {
    // The query's own place is one of the window's.
    attention.hideOutside(filled, window > 0 ? std::optional<int64_t>(window - 1) : std::nullopt,
                          0);
  } else {
    if (window > 0)
      return node.error() << "attribute 'local_window_size' is " << window
                          << ", expected -1 where 'causal' is 0";
    attention.hideUnless(attention.isWithin(Value(), emit.binary(BK::Add, *last, 1.0)));
  }
  node.ignore("smooth_softmax");
  Value result = mergeHeads(emit, attention.emitResult());
  Value scores = shown == 1   ? attention.emitBiased(0)
                 : shown == 2 ? attention.probabilities
                              : Value();
  if (scores)
    scores = emit.sliceAxis(scores, 3, 0, total->front());
  return node.yield({result, caches[0], caches[1], scores});
}

static const OperatorRow rows[] = {
    OperatorRow{"Attention", 2, 7, fusedAttention,
                "masks of up to three dimensions, no rotary positions, no shared buffers"}
        .ofMicrosoft(),
    OperatorRow{"GroupQueryAttention", 1, 17, groupQueryAttention,
                "caches of floats, without sliding; no norms of heads"}
        .ofMicrosoft(),
    OperatorRow{"QAttention", 5, 9, quantizedAttention, "no rotary positions, no shared buffers"}
        .ofMicrosoft(),
    OperatorRow{"MultiHeadAttention", 1, 10, multiHeadAttention, "no shared buffers"}.ofMicrosoft(),
};

ArrayRef<OperatorRow> lumen::fusedAttentionRows() { return rows; }
