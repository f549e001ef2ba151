//===- Attention.cpp - attention of heads ---------------------------------===//

#include "passes/onnx-to-lumen/Attention.h"

#include "dialects/Lumen/AttentionRows.h"
#include "passes/onnx-to-lumen/ControlFlow.h"

using namespace mlir;
using namespace lumen;

using UK = UnaryKind;
using BK = BinaryKind;
using CK = CompareKind;

//===----------------------------------------------------------------------===//
// What the operators share
//===----------------------------------------------------------------------===//

static double lowestOf(Type element) {
  const llvm::fltSemantics &semantics = cast<FloatType>(element).getFloatSemantics();
  return APFloat::getLargest(semantics, /*Negative=*/true).convertToDouble();
}

Attention::Attention(Emitter &emit, Value query, Value key, Value value)
    : emit(emit), query(query), key(key), value(value) {
  Sizes q = Emitter::shapeOf(query);
  shape = {q[0], q[1], q[2], Emitter::shapeOf(key)[2]};
}

Value Attention::multiply(Value lhs, Value rhs, bool isRhsTransposed) {
  Sizes l = Emitter::shapeOf(lhs), r = Emitter::shapeOf(rhs);
  const SymExpr &columns = r[isRhsTransposed ? 2 : 3];
  SymExpr rows = l[1] == r[1] ? l[2] : SymExpr::floorDiv(l[1], r[1]) * l[2];
  Value folded = emit.reshape(lhs, {l[0], r[1], rows, l[3]});
  RankedTensorType type =
      emit.typed({l[0], r[1], rows, columns}, Emitter::typeOf(lhs).getElementType());
  Value product = emit.create<ContractOp>(type, folded, rhs, /*transpose_lhs=*/false,
                                          isRhsTransposed, /*packed=*/false);
  return emit.reshape(product, {l[0], l[1], l[2], columns});
}

/// [batch or 1, 1, rows, keys], for what depends on batches where `batches` does.
Sizes Attention::sizesOver(Value batches, const SymExpr &rows) const {
  return {Emitter::typeOf(batches).getRank() == 0 ? SymExpr(1) : shape[0], SymExpr(1), rows,
          shape[3]};
}

/// Numbers of [batch] or a scalar, repeated.
static Value perBatch(Emitter &emit, Value numbers, Node::Shape over) {
  return Emitter::typeOf(numbers).getRank() == 0 ? emit.splat(numbers, over)
                                                 : emit.broadcastAlong(numbers, over, 0);
}

static Value indexAlong(Emitter &emit, Node::Shape over, int64_t axis) {
  return emit.iota(emit.typed(over, emit.builder.getI32Type()), axis);
}

Sizes Attention::joinShapes(Value a, Value b) const {
  Sizes joined(4, SymExpr(1));
  for (Value part : {a, b})
    if (part)
      for (auto [i, size] : llvm::enumerate(llvm::reverse(Emitter::shapeOf(part))))
        if (!isOne(size))
          joined[3 - i] = shape[3 - i];
  return joined;
}

void Attention::addBias(Value addend) {
  Sizes joined = joinShapes(addend, bias);
  addend = emit.broadcastTo(addend, joined);
  bias = bias ? emit.binary(BK::Add, emit.broadcastTo(bias, joined), addend) : addend;
}

void Attention::hideUnless(Value condition) {
  Sizes joined = joinShapes(condition, isSeen);
  condition = emit.broadcastTo(condition, joined);
  isSeen = isSeen ? emit.binary(BK::And, emit.broadcastTo(isSeen, joined), condition) : condition;
}

void Attention::hideOutside(Value first, std::optional<int64_t> left,
                            std::optional<int64_t> right) {
  // One kernel finds out by itself, and visits no key behind the last query.
  if (right == 0 && !causalFirst && isOneKernel()) {
    causalFirst = first;
    right.reset();
  }
  if (!left && !right)
    return;
  Sizes over = sizesOver(first, shape[2]);
  Value key = indexAlong(emit, over, 3);
  Value place = emit.binary(BK::Add, indexAlong(emit, over, 2), perBatch(emit, first, over));
  // A window may be wider than any place: there is no sum that it could overflow.
  Value distance = emit.binary(BK::Sub, key, place);
  auto bounded = [](int64_t window) {
    return std::min<double>(window, std::numeric_limits<int32_t>::max());
  };
  if (right)
    hideUnless(emit.compare(CK::Le, distance, bounded(*right)));
  if (left)
    hideUnless(emit.compare(CK::Ge, distance, -bounded(*left)));
}

Value Attention::isWithin(Value begin, Value end) {
  Sizes over = sizesOver(end, 1);
  Value key = indexAlong(emit, over, 3);
  Value result = emit.compare(CK::Lt, key, perBatch(emit, end, over));
  if (begin)
    result = emit.binary(BK::And, result, emit.compare(CK::Ge, key, perBatch(emit, begin, over)));
  return result;
}

Value Attention::emitBiased(double hidden) {
  Value scores = bias ? emit.binary(BK::Add, capped, emit.broadcastTo(bias, shape)) : capped;
  if (!isSeen)
    return scores;
  return emit.select(emit.broadcastTo(isSeen, shape), scores, emit.splatLike(scores, hidden));
}

bool Attention::isOneKernel() const {
  Sizes q = Emitter::shapeOf(query), v = Emitter::shapeOf(value);
  auto isKnown = [](const SymExpr &size) { return size.asConstant().value_or(0) > 0; };
  // Narrower floats are rounded between the products, and wider ones have no fast kernel.
  return Emitter::typeOf(query).getElementType().isF32() && (!softmaxType || softmaxType.isF32()) &&
         isKnown(q[1]) && isKnown(q[3]) && isKnown(v[1]) && isKnown(v[3]) &&
         paysAsOneAttention(q[2], *q[1].asConstant() / *v[1].asConstant()) && !sink &&
         !keepsScores && !changeScores && !changeProbabilities;
}

Value Attention::emitOneKernel() {
  Type element = Emitter::typeOf(query).getElementType();
  Sizes q = Emitter::shapeOf(query);
  Value mask = bias;
  if (isSeen) {
    RankedTensorType type = emit.typed(joinShapes(bias, isSeen), element);
    Value seen = bias ? emit.broadcastTo(bias, sizesOf(type)) : emit.splat(type, 0);
    mask = emit.select(emit.broadcastTo(isSeen, sizesOf(type)), seen,
                       emit.splat(type, -std::numeric_limits<double>::infinity()));
  }
  double factor = scale.value_or(1 / std::sqrt(static_cast<double>(*q[3].asConstant())));
  auto dims = emit.builder.getDenseI64ArrayAttr({0, 1, 2, 3});
  RankedTensorType type = emit.typed({q[0], q[1], q[2], Emitter::shapeOf(value)[3]}, element);
  return emit.create<AttentionOp>(type, query, key, value, mask, causalFirst, dims, dims, dims,
                                  dims, emit.builder.getF64FloatAttr(factor),
                                  emit.builder.getF64FloatAttr(softcap));
}

Value Attention::emitResult() {
  if (isOneKernel())
    return emitOneKernel();
  products = multiply(query, key, /*isRhsTransposed=*/true);
  Type element = Emitter::typeOf(products).getElementType();
  if (scale) {
    products = emit.binary(BK::Mul, products, *scale);
  } else {
    Value size = emit.size(Emitter::shapeOf(query)[3], element);
    Value factor = emit.unary(UK::Reciprocal, emit.unary(UK::Sqrt, size));
    products = emit.binary(BK::Mul, products, emit.splat(factor, shape));
  }
  capped = products;
  if (softcap != 0) {
    Value bounded = emit.unary(UK::Tanh, emit.binary(BK::Mul, products, 1 / softcap));
    capped = emit.binary(BK::Mul, bounded, softcap);
  }
  // The lowest number instead of minus infinity: a row of them alone stays defined, and is
  // cleared behind the softmax.
  if (isSeen)
    isSeen = emit.broadcastTo(isSeen, shape);
  Value scores = emitBiased(lowestOf(element));
  if (softmaxType)
    scores = emit.convert(scores, softmaxType);
  if (changeScores)
    scores = changeScores(scores);
  if (!scores)
    return {};
  if (sink) {
    Sizes column(shape);
    column.back() = 1;
    scores = emit.concat({scores, emit.broadcastAlong(sink, column, 1)}, 3);
  }
  probabilities = emit.softmax(scores, 3, /*log=*/false);
  if (sink)
    probabilities = emit.sliceAxis(probabilities, 3, 0, shape.back());
  if (changeProbabilities)
    probabilities = changeProbabilities(probabilities);
  if (!probabilities)
    return {};
  probabilities = emit.convert(probabilities, element);
  if (isSeen)
    probabilities = emit.select(isSeen, probabilities, emit.splatLike(probabilities, 0));
  return multiply(probabilities, value, /*isRhsTransposed=*/false);
}

LogicalResult lumen::checkHeads(Node &node, const SymExpr &heads, const SymExpr &keyHeads) {
  if (heads == keyHeads)
    return success();
  bool isNone = !SymExpr::differ(keyHeads, 0) && keyHeads.asConstant();
  if (!isNone && node.ensureMultiple(heads, keyHeads, "the number of heads of queries"))
    return success();
  return node.error() << "there are " << heads.str() << " heads of queries and " << keyHeads.str()
                      << " of keys, expected a multiple";
}

LogicalResult lumen::expectRank(Node &node, unsigned index, StringRef name,
                                ArrayRef<int64_t> ranks) {
  if (llvm::is_contained(ranks, node.inputRank(index)))
    return success();
  InFlightDiagnostic error = node.error() << name << " has shape "
                                          << shapeText(node.inputShape(index)) << ", expected ";
  llvm::interleave(ranks, error, " or ");
  return error << " dimensions";
}

FailureOr<Value> lumen::separateHeads(Node &node, Value x, const SymExpr &heads, StringRef what) {
  Sizes shape = Emitter::shapeOf(x);
  if (!node.ensureAtMost(1, heads, "the number of heads"))
    return node.error() << what << " has " << heads.str() << " heads, expected at least 1";
  SymExpr size = SymExpr::floorDiv(shape[2], heads);
  if (!node.ensureMultiple(shape[2], heads, ("the last dimension of " + what).str()))
    return node.error() << what << " has shape " << shapeText(shape)
                        << ", whose last dimension cannot be split into " << heads.str()
                        << " heads";
  return node.emit.reshape(x, {shape[0], shape[1], heads, size});
}

FailureOr<Value> lumen::splitHeads(Node &node, Value x, int64_t heads, StringRef what) {
  FailureOr<Value> separate = separateHeads(node, x, heads, what);
  if (failed(separate))
    return failure();
  return node.emit.transpose(*separate, {0, 2, 1, 3});
}

Value lumen::mergeHeads(Emitter &emit, Value x) {
  Sizes shape = Emitter::shapeOf(x);
  return emit.reshape(emit.transpose(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

FailureOr<Value> lumen::agree(Node &node, Value value, Node::Shape expected, StringRef what) {
  Sizes shape = Emitter::shapeOf(value);
  if (!node.ensureEqual(shape, expected, what))
    return node.error() << what << " has shape " << shapeText(shape) << ", expected "
                        << shapeText(expected);
  return node.emit.cast(value, expected);
}

FailureOr<SymExpr> lumen::appendToPast(Node &node, unsigned index, Value &key, Value &value) {
  if (bool(node.input(index)) != bool(node.input(index + 1)))
    return node.error() << "past_key and past_value are used together";
  if (!node.input(index))
    return SymExpr(0);
  if (failed(expectRank(node, index, "past_key", 4)))
    return failure();
  SymExpr past = node.inputShape(index)[2];
  auto append = [&](unsigned i, StringRef name, Value &fresh) -> LogicalResult {
    Sizes shape = Emitter::shapeOf(fresh);
    FailureOr<Value> before =
        agree(node, node.input(i), {shape[0], shape[1], past, shape[3]}, name);
    if (failed(before) || failed(node.expectSameElementType(0, i)))
      return failure();
    fresh = node.emit.concat({*before, fresh}, 2);
    return success();
  };
  if (failed(append(index, "past_key", key)) || failed(append(index + 1, "past_value", value)))
    return failure();
  return past;
}

FailureOr<Value> lumen::padMask(Node &node, Value mask, const SymExpr &keys, StringRef what) {
  Emitter &emit = node.emit;
  RankedTensorType type = Emitter::typeOf(mask);
  int64_t rank = type.getRank();
  if (rank == 0 || rank > 4)
    return node.error() << what << " has shape " << shapeText(Emitter::shapeOf(mask))
                        << ", expected one to four dimensions";
  SymExpr given = Emitter::shapeOf(mask).back();
  if (given == keys)
    return mask;
  if (!node.ensureAtMost(given, keys, ("the number of keys of " + what).str()))
    return node.error() << what << " has shape " << shapeText(Emitter::shapeOf(mask))
                        << ", but there are " << keys.str() << " keys";
  Sizes low(rank, SymExpr(0)), high = low, sizes = Emitter::shapeOf(mask);
  high.back() = SymExpr::max(keys - given, 0);
  Type element = type.getElementType();
  double hidden = element.isInteger(1) ? 0 : -std::numeric_limits<double>::infinity();
  mask = emit.pad(PadKind::Constant, mask, emit.scalar(hidden, element), low, high);
  sizes.back() = keys;
  return emit.cast(mask, sizes);
}

//===----------------------------------------------------------------------===//
// Attention of the standard
//===----------------------------------------------------------------------===//

/// Q, K or V as heads: it has them, or they are given by an attribute.
static FailureOr<Value> readHeads(Node &node, unsigned index, StringRef name, StringRef attribute) {
  if (failed(node.expectReal(index)))
    return failure();
  int64_t rank = node.inputRank(index);
  if (rank != node.inputRank(0) || (rank != 3 && rank != 4))
    return node.error() << name << " has shape " << shapeText(node.inputShape(index))
                        << ", expected three or four dimensions, the same number for Q, K and V";
  int64_t heads = node.integer(attribute, 0);
  return rank == 4 ? FailureOr<Value>(node.input(index))
                   : splitHeads(node, node.input(index), heads, name);
}

/// attn_mask, input 3: which keys are seen, or what is added to the scores.
static LogicalResult applyMask(Node &node, Attention &attention) {
  Emitter &emit = node.emit;
  bool isCondition = node.inputType(3).getElementType().isInteger(1);
  Value given = node.input(3);
  if (!isCondition)
    given = emit.convert(given, node.inputType(0).getElementType());
  FailureOr<Value> mask = padMask(node, given, attention.getShape().back(), "attn_mask");
  if (failed(mask))
    return failure();
  if (!node.ensureBroadcastTo(Emitter::shapeOf(*mask), attention.getShape()))
    return node.error() << "attn_mask of shape " << shapeText(node.inputShape(3))
                        << " cannot be broadcast to the shape " << shapeText(attention.getShape());
  if (isCondition) {
    attention.hideUnless(*mask);
    return success();
  }
  attention.addBias(*mask);
  attention.hideUnless(emit.compare(CK::Ne, *mask, -std::numeric_limits<double>::infinity()));
  return success();
}

/// Nothing for -1.
static FailureOr<std::optional<int64_t>> readWindowSize(Node &node, StringRef name) {
  int64_t size = node.integer(name, -1);
  if (size < -1 || size > std::numeric_limits<int32_t>::max())
    return node.error() << "attribute '" << name << "' is " << size << ", expected -1 to "
                        << std::numeric_limits<int32_t>::max();
  return size < 0 ? std::nullopt : std::make_optional(size);
}

/// The type that softmax_precision names; null where it is not given.
static FailureOr<Type> readSoftmaxType(Node &node) {
  if (!node.has("softmax_precision"))
    return Type();
  FailureOr<Type> type = readElementType(node, "softmax_precision", 1);
  if (failed(type) || !isa<FloatType>(*type))
    return node.error() << "attribute 'softmax_precision' is "
                        << node.integer("softmax_precision", 1) << ", expected 1, 10, 11 or 16";
  return type;
}

/// Inputs: Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen.
static LogicalResult attention(Node &node) {
  Emitter &emit = node.emit;
  FailureOr<Value> query = readHeads(node, 0, "Q", "q_num_heads");
  FailureOr<Value> key = readHeads(node, 1, "K", "kv_num_heads");
  FailureOr<Value> value = readHeads(node, 2, "V", "kv_num_heads");
  if (failed(query) || failed(key) || failed(value) || failed(node.expectSameElementType(0, 1)) ||
      failed(node.expectSameElementType(0, 2)))
    return failure();
  Sizes q = Emitter::shapeOf(*query), k = Emitter::shapeOf(*key), v = Emitter::shapeOf(*value);
  if (failed(checkHeads(node, q[1], k[1])))
    return failure();
  key = agree(node, *key, {q[0], k[1], k[2], q[3]}, "K");
  value = agree(node, *value, {q[0], k[1], k[2], v[3]}, "V");
  if (failed(key) || failed(value))
    return failure();

  if (node.input(4) && node.input(6))
    return node.error() << "nonpad_kv_seqlen is not used with past_key";
  FailureOr<SymExpr> past = appendToPast(node, 4, *key, *value);
  if (failed(past))
    return failure();

  Attention attention(emit, *query, *key, *value);
  if (node.has("scale"))
    attention.scale = node.real("scale", 0);
  attention.softcap = node.real("softcap", 0);
  FailureOr<Type> softmaxType = readSoftmaxType(node);
  if (failed(softmaxType))
    return failure();
  attention.softmaxType = *softmaxType;
  attention.keepsScores = node.hasOutput(3);
  if (node.input(3) && failed(applyMask(node, attention)))
    return failure();

  // Where the first query stands among the keys.
  Type index = emit.builder.getI32Type();
  Value first = emit.size(*past, index);
  if (node.input(6)) {
    FailureOr<Value> lengths = agree(node, node.input(6), q[0], "nonpad_kv_seqlen");
    if (failed(lengths))
      return failure();
    lengths = emit.convert(*lengths, index);
    attention.hideUnless(attention.isWithin(Value(), *lengths));
    first = emit.binary(BK::Sub, *lengths, q[2]);
  }
  FailureOr<std::optional<int64_t>> left = readWindowSize(node, "left_window_size");
  FailureOr<std::optional<int64_t>> right = readWindowSize(node, "right_window_size");
  if (failed(left) || failed(right))
    return failure();
  // A causal query sees none behind its place.
  bool isCausal = node.integer("is_causal", 0) != 0;
  attention.hideOutside(first, *left, isCausal ? std::optional<int64_t>(0) : *right);

  Value result = attention.emitResult();
  if (node.inputRank(0) == 3)
    result = mergeHeads(emit, result);
  Value scores;
  if (int64_t mode = node.integer("qk_matmul_output_mode", 0); node.hasOutput(3)) {
    if (mode < 0 || mode > 3)
      return node.error() << "attribute 'qk_matmul_output_mode' is " << mode << ", expected 0 to 3";
    scores = mode == 0   ? attention.products
             : mode == 1 ? attention.capped
             : mode == 2 ? attention.emitBiased(-std::numeric_limits<double>::infinity())
                         : attention.probabilities;
  }
  return node.yield({result, *key, *value, scores});
}

//===----------------------------------------------------------------------===//
// FlexAttention
//===----------------------------------------------------------------------===//

/// What a body makes of the scores or the probabilities; null, and an error, where it does
/// not fit them.
static Value changedBy(Node &node, Region &body, StringRef name, Value x) {
  if (body.getNumArguments() != 1) {
    node.error() << "attribute '" << name << "' takes " << body.getNumArguments()
                 << " inputs, expected 1";
    return {};
  }
  FailureOr<SmallVector<Value>> results = node.convertBody(body, x);
  if (failed(results)) {
    (void)node.fail();
    return {};
  }
  auto type = results->size() == 1 ? dyn_cast<RankedTensorType>(results->front().getType())
                                   : RankedTensorType();
  if (!type || type.getElementType() != Emitter::typeOf(x).getElementType() ||
      !node.ensureEqual(sizesOf(type), sizesOf(x), "the scores")) {
    node.error() << "attribute '" << name << "' gives "
                 << (results->empty() ? "nothing" : typeText(results->front().getType()))
                 << ", expected " << typeText(x.getType());
    return {};
  }
  return node.emit.cast(results->front(), sizesOf(x));
}

/// Inputs: Q, K, V with heads. Bodies change what is in front of the softmax and behind it.
static LogicalResult flexAttention(Node &node) {
  Emitter &emit = node.emit;
  for (unsigned i = 0; i < 3; ++i) {
    if (failed(node.expectReal(i)) || failed(node.expectSameElementType(0, i)))
      return failure();
    if (node.inputRank(i) != 4)
      return node.error() << "input " << i << " has shape " << shapeText(node.inputShape(i))
                          << ", expected four dimensions";
  }
  Sizes q = node.inputShape(0), k = node.inputShape(1), v = node.inputShape(2);
  if (failed(checkHeads(node, q[1], k[1])))
    return failure();
  FailureOr<Value> key = agree(node, node.input(1), {q[0], k[1], k[2], q[3]}, "K");
  FailureOr<Value> value = agree(node, node.input(2), {q[0], k[1], k[2], v[3]}, "V");
  FailureOr<Type> type = readSoftmaxType(node);
  if (failed(key) || failed(value) || failed(type))
    return failure();
  Attention attention(emit, node.input(0), *key, *value);
  if (node.has("scale"))
    attention.scale = node.real("scale", 0);
  bool isDouble = node.inputType(0).getElementType().isF64();
  attention.softmaxType = *type      ? *type
                          : isDouble ? Type(emit.builder.getF64Type())
                                     : Type(emit.builder.getF32Type());
  auto change = [&](StringRef name) -> std::function<Value(Value)> {
    Region *body = node.body(name);
    if (!body)
      return {};
    return [&node, body, name](Value x) { return changedBy(node, *body, name, x); };
  };
  attention.changeScores = change("score_mod");
  attention.changeProbabilities = change("prob_mod");
  Value result = attention.emitResult();
  return result ? node.yield(result) : failure();
}

//===----------------------------------------------------------------------===//
// LinearAttention
//===----------------------------------------------------------------------===//

/// A state [batch, heads, size of a key, size of a value] that each step decays, corrects
/// and adds to, and that each query multiplies. Inputs: query, key, value [batch, steps,
/// heads * size], past_state, decay, beta.
static LogicalResult linearAttention(Node &node) {
  StringRef rule = node.string("update_rule", "gated_delta");
  if (failed(readChoice(node, "update_rule", rule, {"linear", "gated", "delta", "gated_delta"})))
    return failure();
  bool isGated = rule.starts_with("gated"), isDelta = rule.ends_with("delta");
  for (auto [index, name, isNeeded] :
       {std::tuple(4u, "decay", isGated), std::tuple(5u, "beta", isDelta)})
    if (bool(node.input(index)) != isNeeded)
      return node.error() << "input '" << name << "' is " << (isNeeded ? "missing" : "given")
                          << ", but attribute 'update_rule' is '" << rule << "'";
  node.ignore("chunk_size"); // how to compute it
  for (unsigned i : {0u, 1u, 2u, 4u, 5u})
    if (node.input(i) && node.inputRank(i) != 3)
      return node.error() << "input " << i << " has shape " << shapeText(node.inputShape(i))
                          << ", expected three dimensions";
  int64_t heads = node.integer("q_num_heads", 0), keyHeads = node.integer("kv_num_heads", 0);
  Emitter &emit = node.emit;
  Type element = node.inputType(0).getElementType(), f32 = emit.builder.getF32Type();
  if (failed(node.expectReal()) || failed(node.expectSameElementType(0, 1)) ||
      failed(node.expectSameElementType(0, 2)))
    return failure();
  // By steps, and by heads of keys: [steps, batch, heads, size].
  auto bySteps = [&](unsigned index, int64_t parts, StringRef what) -> FailureOr<Value> {
    FailureOr<Value> split = splitHeads(node, emit.convert(node.input(index), f32), parts, what);
    if (failed(split))
      return failure();
    return emit.transpose(*split, {2, 0, 1, 3});
  };
  FailureOr<Value> query = bySteps(0, heads, "query"), key = bySteps(1, keyHeads, "key");
  FailureOr<Value> value = bySteps(2, keyHeads, "value");
  if (failed(query) || failed(key) || failed(value) || failed(checkHeads(node, heads, keyHeads)))
    return failure();
  Sizes q = sizesOf(*query), k = sizesOf(*key), v = sizesOf(*value);
  SymExpr steps = q[0], batch = q[1], size = q[3], width = v[3];
  key = agree(node, *key, {steps, batch, k[2], size}, "key");
  value = agree(node, *value, {steps, batch, k[2], width}, "value");
  if (failed(key) || failed(value))
    return failure();
  query = emit.reshape(*query, {steps, batch, k[2], SymExpr(heads / keyHeads), size});

  Sizes stateShape{batch, k[2], size, width};
  Type stateType = element;
  Value state = emit.splat(emit.typed(stateShape, f32), 0);
  if (node.input(3)) {
    stateType = node.inputType(3).getElementType();
    FailureOr<Value> past = agree(node, node.input(3), stateShape, "past_state");
    if (failed(past) || failed(node.expectReal(3)))
      return failure();
    state = emit.convert(*past, f32);
  }
  FailureOr<Value> decay = Value(), beta = Value();
  if (isGated) {
    decay = bySteps(4, keyHeads, "decay");
    if (failed(decay))
      return failure();
    SymExpr entries = isOne(sizeOf(*decay, 3)) ? SymExpr(1) : size;
    decay = agree(node, *decay, {steps, batch, k[2], entries}, "decay");
  }
  if (isDelta) {
    bool isShared = isOne(node.inputShape(5)[2]);
    beta = bySteps(5, isShared ? 1 : keyHeads, "beta");
    if (failed(beta))
      return failure();
    beta = agree(node, *beta, {steps, batch, isShared ? SymExpr(1) : k[2], SymExpr(1)}, "beta");
  }
  if (failed(decay) || failed(beta))
    return failure();

  auto product = [&](Value rows, Value matrices) {
    Sizes shape = sizesOf(rows);
    shape.back() = width;
    return emit.create<ContractOp>(emit.typed(shape, f32), rows, matrices,
                                   /*transpose_lhs=*/false, /*transpose_rhs=*/false,
                                   /*packed=*/false);
  };
  auto step = [&](const SymExpr &trip, ValueRange carried) -> FailureOr<SmallVector<Value>> {
    Value state = carried.front();
    auto at = [&](Value all) { return elementOf(emit, all, 0, trip); };
    Value row = at(*key), added = at(*value);
    if (isGated)
      state = emit.binary(BK::Mul, state,
                          emit.broadcast(emit.unary(UK::Exp, at(*decay)), stateShape, {0, 1, 2}));
    if (isDelta) {
      Value known = product(emit.reshape(row, {batch, k[2], SymExpr(1), size}), state);
      added = emit.binary(BK::Sub, added, emit.reshape(known, {batch, k[2], width}));
      added = emit.binary(BK::Mul, added, emit.broadcastTo(at(*beta), sizesOf(added)));
    }
    Value outer = emit.binary(BK::Mul, emit.broadcast(row, stateShape, {0, 1, 2}),
                              emit.broadcast(added, stateShape, {0, 1, 3}));
    state = emit.binary(BK::Add, state, outer);
    return SmallVector<Value>{state, product(at(*query), state)};
  };
  FailureOr<SmallVector<Value>> results = emitTrips(node, steps, state, step);
  if (failed(results))
    return failure();
  Value y = emit.transpose((*results)[1], {1, 0, 2, 3, 4});
  y = emit.reshape(y, {batch, steps, width * heads});
  double scale = node.real("scale", 0);
  if (scale != 0) {
    y = emit.binary(BK::Mul, y, scale);
  } else {
    Value root = emit.unary(UK::Sqrt, emit.size(size, f32));
    y = emit.binary(BK::Div, y, emit.splat(root, sizesOf(y)));
  }
  return node.yield({emit.convert(y, element), emit.convert(results->front(), stateType)});
}

static const OperatorRow rows[] = {
    {"Attention", 3, 7, attention, "values of the type of queries"},
    {"FlexAttention", 3, 3, flexAttention, "", 1, OperatorRow::kNewest, "ai.onnx.preview"},
    {"LinearAttention", 3, 6, linearAttention, "", 27},
};

ArrayRef<OperatorRow> lumen::attentionRows() { return rows; }
