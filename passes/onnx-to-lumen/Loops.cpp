//===- Loops.cpp - Loop, Scan and SequenceMap -----------------------------===//
//
// Sizes of carried values that change from trip to trip become symbols of the loop.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/ControlFlow.h"
#include "passes/onnx-to-lumen/Values.h"

#include "dialects/Lumen/ConstantData.h"

using namespace mlir;
using namespace lumen;

namespace {

/// A loop in the making. ONNX tells neither which sizes change from trip to trip
/// nor how, so the body is converted under the assumption that none does; each
/// conversion that refutes it gives sizes symbols of their own, until one holds.
class LoopBuilder {
public:
  LoopBuilder(Node &node, ValueRange inits, bool yieldsCondition)
      : node(node), inits(inits), yieldsCondition(yieldsCondition),
        induction(node.freshSymbol("trip")) {}

  SymExpr trip() const { return SymExpr::symbol(induction); }

  /// Converts the body, given the carried values; gives its outputs.
  using ConvertBody = llvm::function_ref<FailureOr<SmallVector<Value>>(ValueRange)>;
  LogicalResult convert(ConvertBody body);

  /// Finishes the loop: `trips` is its limit, `condition` what the first trip needs;
  /// either may be absent. Results: carried values, then stacked outputs.
  FailureOr<SmallVector<Value>> finish(std::optional<SymExpr> trips, Value condition);

private:
  LogicalResult tryConvert(ConvertBody body);
  LogicalResult checkCarried();
  /// Gives sizes that change symbols; true if there were any.
  bool generalize(bool all);
  /// Makes the loop carry sequences of the strings that are to be stacked; true for each
  /// stacked output that is one.
  SmallVector<bool> carryStrings();
  ValueRange carriedResults() { return ValueRange(results).slice(yieldsCondition, inits.size()); }

  Node &node;
  SmallVector<Value> inits;
  bool yieldsCondition;
  std::string induction;
  /// Per carried value and dimension, the size in the body.
  SmallVector<Sizes> carried;
  SmallVector<Type> types; ///< of carried values that are no tensors, likewise
  SmallVector<std::string> symbols;
  Sizes initSizes; ///< of the symbols
  std::unique_ptr<Region> region;
  SmallVector<Value> results;
};

} // namespace

LogicalResult LoopBuilder::convert(ConvertBody body) {
  for (Value init : inits) {
    carried.push_back(knownSizesOf(init));
    types.push_back(init.getType());
  }
  // A size turns into a symbol once, so the rounds end.
  bool isGeneral = false;
  Attempt::Messages messages;
  while (true) {
    LogicalResult converted = failure();
    {
      // An assumption that does not hold can look like a mistake of the model.
      Attempt attempt(node, messages);
      converted = tryConvert(body);
    }
    if (succeeded(converted)) {
      if (generalize(/*all=*/false))
        continue;
      Attempt::report(messages);
      return success();
    }
    if (!isGeneral && generalize(/*all=*/true)) {
      isGeneral = true;
      continue;
    }
    Attempt::report(messages);
    return node.fail();
  }
}

LogicalResult LoopBuilder::tryConvert(ConvertBody body) {
  results.clear();
  region = std::make_unique<Region>();
  Block *block = &region->emplaceBlock();
  for (auto [type, sizes] : llvm::zip(types, carried))
    block->addArgument(
        isa<RankedTensorType>(type) ? Type(tensorTypeOf(sizes, getElementTypeOrSelf(type))) : type,
        node.getLoc());
  OpBuilder::InsertionGuard guard(node.emit.builder);
  node.emit.builder.setInsertionPointToEnd(block);
  FailureOr<SmallVector<Value>> converted = body(block->getArguments());
  if (failed(converted))
    return failure();
  results = std::move(*converted);
  return checkCarried();
}

LogicalResult LoopBuilder::checkCarried() {
  if (results.size() < inits.size() + yieldsCondition)
    return node.error() << "body gives " << results.size() << " outputs, expected at least "
                        << inits.size() + yieldsCondition;
  if (yieldsCondition) {
    FailureOr<Value> condition = conditionOf(node, results[0]);
    if (failed(condition))
      return failure();
    results[0] = *condition;
  }
  size_t numCarried = yieldsCondition + inits.size();
  for (auto [i, value] : llvm::enumerate(results)) {
    if (i >= numCarried && !isa<RankedTensorType>(value.getType()))
      return node.error() << "output " << i << " of the body is of type "
                          << onnx::typeText(value.getType()) << ", which cannot be stacked";
    if (!isObject(value.getType()) && failed(tensorLeaving(node, value, i)))
      return failure();
  }
  for (auto [i, init, value] : llvm::enumerate(inits, carriedResults())) {
    bool isTensor = isa<RankedTensorType>(init.getType());
    if (!isTensor && joinObjects(types[i], value.getType()))
      continue;
    if (!isTensor || !isa<RankedTensorType>(value.getType()))
      return node.error() << "carried value " << i << " begins as " << typeText(init.getType())
                          << " and becomes " << typeText(value.getType());
    auto before = cast<RankedTensorType>(init.getType());
    auto after = cast<RankedTensorType>(value.getType());
    if (before.getElementType() != after.getElementType() || before.getRank() != after.getRank())
      return node.error() << "carried value " << i << " begins as "
                          << typeText(before.getElementType()) << " of shape "
                          << shapeText(sizesOf(before)) << " and becomes "
                          << typeText(after.getElementType()) << " of shape "
                          << shapeText(sizesOf(after))
                          << ", expected the same element type and rank";
  }
  return success();
}

bool LoopBuilder::generalize(bool all) {
  std::set<std::string> own(symbols.begin(), symbols.end());
  std::set<std::string> inner = all ? std::set<std::string>() : symbolsDefinedIn(*region);
  inner.insert(induction);
  // Sizes that begin and go on as the same expressions stay equal.
  std::map<std::pair<std::string, std::string>, std::string> shared;
  bool isChanged = false;
  for (auto [i, sizes] : llvm::enumerate(carried)) {
    if (!all && !isa<RankedTensorType>(types[i])) {
      Type joined = joinObjects(types[i], carriedResults()[i].getType());
      isChanged |= joined != types[i];
      types[i] = joined;
    }
    Sizes after = all ? sizes : knownSizesOf(carriedResults()[i]);
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      bool isOwn = usesAny(size, own);
      if (isOwn || (!all && size == after[dim] && !usesAny(after[dim], inner)))
        continue;
      SymExpr init = sizeOf(inits[i], dim);
      std::string &name = all ? shared[{std::to_string(i), std::to_string(dim)}]
                              : shared[{init.str(), after[dim].str()}];
      if (name.empty()) {
        name = node.freshSymbol("carried");
        symbols.push_back(name);
        initSizes.push_back(init);
      }
      size = SymExpr::symbol(name);
      isChanged = true;
    }
  }
  if (isChanged || all)
    return isChanged;
  // Where one symbol stands for two sizes, they must go on as equals.
  std::map<std::string, SymExpr> next;
  for (auto [i, sizes] : llvm::enumerate(carried))
    for (auto [size, after] : llvm::zip(sizes, knownSizesOf(carriedResults()[i]))) {
      if (!usesAny(size, own))
        continue;
      auto [it, isFirst] = next.try_emplace(size.str(), after);
      if (isFirst || it->second == after)
        continue;
      symbols.push_back(node.freshSymbol("carried"));
      initSizes.push_back(initSizes[llvm::find(symbols, size.str()) - symbols.begin()]);
      size = SymExpr::symbol(symbols.back());
      isChanged = true;
    }
  return isChanged;
}

SmallVector<bool> LoopBuilder::carryStrings() {
  OpBuilder &builder = node.emit.builder;
  Block *block = &region->front();
  SmallVector<bool> areStrings;
  SmallVector<Value> stacked(ArrayRef(results).drop_front(yieldsCondition + inits.size()));
  results.truncate(results.size() - stacked.size());
  SmallVector<Value> others;
  for (Value value : stacked) {
    areStrings.push_back(isObject(value.getType()));
    if (!areStrings.back()) {
      others.push_back(value);
      continue;
    }
    Type type = SeqType::get(node.getContext(), itemTypeOf(value.getType()));
    inits.push_back(node.emit.call("sequence_construct", {}, type));
    carried.emplace_back();
    types.push_back(type);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    Value before = block->addArgument(type, node.getLoc());
    results.push_back(node.emit.call("sequence_insert", {before, value}, type));
  }
  llvm::append_range(results, others);
  return areStrings;
}

/// The items of a sequence of strings along a new first dimension.
static Value stackStrings(Node &node, Value sequence) {
  auto item = cast<RankedTensorType>(cast<SeqType>(sequence.getType()).getElementType());
  SmallVector<int64_t> shape{ShapedType::kDynamic}, none{0};
  for (int64_t size : item.getShape()) {
    shape.push_back(size);
    none.push_back(ShapedType::isDynamic(size) ? 0 : size);
  }
  return concatItems(node, sequence, RankedTensorType::get(shape, item.getElementType()),
                     /*axis=*/0, /*isNew=*/true, none);
}

FailureOr<SmallVector<Value>> LoopBuilder::finish(std::optional<SymExpr> trips, Value condition) {
  OpBuilder &builder = node.emit.builder;
  Block *block = &region->front();
  size_t numInits = inits.size();
  SmallVector<bool> areStrings = carryStrings();
  std::set<std::string> inner = symbolsDefinedIn(*region);
  inner.insert(induction);
  inner.insert(symbols.begin(), symbols.end());

  // A condition that is always true decides nothing; it is so from the second
  // trip on if the body says so.
  bool isConditional = yieldsCondition && getConstantCondition(results[0]) != true;
  if (condition && getConstantCondition(condition) != true)
    isConditional = true;
  if (isConditional && !condition)
    condition = node.emit.constant(
        DenseElementsAttr::get(RankedTensorType::get({}, builder.getI1Type()), true));

  Sizes nextSizes(symbols.size());
  for (auto [i, sizes] : llvm::enumerate(carried))
    for (auto [size, after] : llvm::zip(sizes, knownSizesOf(carriedResults()[i])))
      if (auto found = llvm::find(symbols, size.str()); found != symbols.end())
        nextSizes[found - symbols.begin()] = after;

  SymExpr count = trips && !isConditional ? *trips : trip();
  SmallVector<Type> types;
  for (Value argument : block->getArguments())
    types.push_back(argument.getType());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    for (Value value : ArrayRef(results).drop_front(yieldsCondition + inits.size())) {
      Sizes sizes = {count};
      for (const SymExpr &size : sizesOf(value)) {
        if (!usesAny(size, inner)) {
          sizes.push_back(size);
          continue;
        }
        // Known when a trip was made; all trips must agree.
        std::string name = node.freshSymbol("stacked");
        SymExpr before = SymExpr::symbol(name);
        CheckOp::create(builder, node.getLoc(), CheckKind::Equal,
                        textOf(node, (before - size) * SymExpr::min(trip(), 1)), textOf(node, 0),
                        builder.getStringAttr("sizes of a stacked output on two trips differ "
                                              "by {0}"));
        symbols.push_back(name);
        initSizes.push_back(0);
        nextSizes.push_back(size);
        sizes.push_back(before);
      }
      types.push_back(tensorTypeOf(sizes, getElementTypeOrSelf(value.getType())));
    }
    if (!trips) {
      builder.setInsertionPointToStart(block);
      CheckOp::create(builder, node.getLoc(), CheckKind::LessEqual, textOf(node, trip()),
                      textOf(node, std::numeric_limits<int32_t>::max() - 1),
                      builder.getStringAttr("the number of trips of a loop without limit"));
    }
  }

  SmallVector<Value> operands;
  if (isConditional)
    operands.push_back(condition);
  llvm::append_range(operands, inits);
  SmallVector<Value> yielded(results);
  if (yieldsCondition && !isConditional)
    yielded.erase(yielded.begin());
  if (!yieldsCondition && isConditional)
    return node.error() << "has a condition, but a body that yields none";
  endRegion(node, block, yielded, nextSizes);
  auto op = LoopOp::create(
      builder, node.getLoc(), types, operands, trips ? textOf(node, *trips) : StringAttr(),
      builder.getStringAttr(induction), namesOf(node, symbols),
      toAttr(builder.getContext(), initSizes), isConditional ? builder.getUnitAttr() : UnitAttr());
  op.getBody().takeBody(*region);
  SmallVector<Value> values(op.getResults().take_front(numInits));
  ValueRange sequences = op.getResults().slice(numInits, inits.size() - numInits);
  ValueRange others = op.getResults().drop_front(inits.size());
  for (bool isString : areStrings) {
    ValueRange &from = isString ? sequences : others;
    values.push_back(isString ? stackStrings(node, from.front()) : from.front());
    from = from.drop_front();
  }
  return values;
}

FailureOr<SmallVector<Value>> lumen::emitTrips(Node &node, const SymExpr &trips, ValueRange inits,
                                               TripBody body) {
  LoopBuilder loop(node, inits, /*yieldsCondition=*/false);
  LogicalResult converted = loop.convert([&](ValueRange carried) {
    // What holds in a trip does not behind the loop.
    SizeFacts outside = node.emit.facts;
    FailureOr<SmallVector<Value>> results = body(loop.trip(), carried);
    node.emit.facts = std::move(outside);
    return results;
  });
  if (failed(converted))
    return failure();
  return loop.finish(trips, Value());
}

/// `value`, a scalar, in the shape that the body declares for its argument, which
/// may be one element in a dimension.
static Value asDeclared(Node &node, Value value, BlockArgument argument) {
  auto declared = dyn_cast<RankedTensorType>(argument.getType());
  if (!declared || declared.getRank() == 0)
    return value;
  return node.emit.reshape(value, Sizes(declared.getRank(), 1));
}

/// The number of trips that a Loop's first input allows; nothing: any number.
static FailureOr<std::optional<SymExpr>> tripLimit(Node &node) {
  // What exporters write for "no limit" is the largest number.
  constexpr int64_t kUnlimited = int64_t(1) << 62;
  Value limit = node.input(0);
  if (!limit)
    return std::optional<SymExpr>();
  if (!isa<IntegerType>(getElementTypeOrSelf(limit.getType())))
    return node.error() << "limit of trips has element type "
                        << getElementTypeOrSelf(limit.getType()) << ", expected an integer type";
  FailureOr<Value> scalar = scalarOf(node, limit, "limit of trips");
  if (failed(scalar))
    return failure();
  if (std::optional<ConstantData> data = ConstantData::get(*scalar)) {
    int64_t count = (*data)[0].integer;
    return count >= kUnlimited ? std::optional<SymExpr>() : SymExpr(std::max<int64_t>(count, 0));
  }
  return std::optional<SymExpr>(node.bind(node.emit.binary(BinaryKind::Max, *scalar, 0.0)));
}

static LogicalResult convertLoop(Node &node) {
  Region *body = node.body("body");
  if (!body)
    return node.error() << "attribute 'body' is missing";
  unsigned numCarried = std::max(node.getNumInputs(), 2u) - 2;
  if (body->getNumArguments() != numCarried + 2)
    return node.error() << "body takes " << body->getNumArguments() << " inputs, expected "
                        << numCarried + 2;
  SmallVector<Value> inits;
  for (unsigned i = 0; i < numCarried; ++i) {
    if (!node.input(i + 2))
      return node.error() << "input " << i + 2 << " is missing";
    inits.push_back(node.input(i + 2));
  }
  FailureOr<std::optional<SymExpr>> trips = tripLimit(node);
  if (failed(trips))
    return failure();
  Value condition = node.input(1);
  if (condition) {
    FailureOr<Value> scalar = conditionOf(node, condition);
    if (failed(scalar))
      return failure();
    condition = *scalar;
    if (getConstantCondition(condition) == false)
      trips = std::optional<SymExpr>(SymExpr(0));
  }

  LoopBuilder loop(node, inits, /*yieldsCondition=*/true);
  auto convertTrip = [&](ValueRange carried) {
    Value trip = node.emit.size(loop.trip());
    // A trip is made only where the condition holds.
    Value holds = node.emit.constant(
        DenseElementsAttr::get(RankedTensorType::get({}, node.emit.builder.getI1Type()), true));
    SmallVector<Value> arguments = {asDeclared(node, trip, body->getArgument(0)),
                                    asDeclared(node, holds, body->getArgument(1))};
    llvm::append_range(arguments, carried);
    return node.convertBody(*body, arguments);
  };
  if (failed(loop.convert(convertTrip)))
    return failure();
  FailureOr<SmallVector<Value>> results = loop.finish(*trips, condition);
  return failed(results) ? failure() : node.yield(*results);
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

/// `count` entries of an attribute, 0 where it is absent.
static FailureOr<SmallVector<int64_t>> readList(Node &node, StringRef name, size_t count) {
  std::optional<SmallVector<int64_t>> list = node.integers(name);
  if (!list)
    return SmallVector<int64_t>(count, 0);
  if (list->size() != count)
    return node.error() << "attribute '" << name << "' has " << list->size()
                        << " entries, expected " << count;
  return std::move(*list);
}

static FailureOr<SmallVector<int64_t>> readDirections(Node &node, StringRef name, size_t count) {
  FailureOr<SmallVector<int64_t>> list = readList(node, name, count);
  if (succeeded(list))
    for (int64_t direction : *list)
      if (direction != 0 && direction != 1)
        return node.error() << "attribute '" << name << "' has the entry " << direction
                            << ", expected 0 or 1";
  return list;
}

Value lumen::elementOf(Emitter &emit, Value operand, int64_t axis, const SymExpr &index) {
  Sizes sizes = sizesOf(operand);
  sizes.erase(sizes.begin() + axis);
  return emit.reshape(emit.sliceAxis(operand, axis, index, 1), sizes);
}

/// A stacked output in the direction and with the axis that the node asks for.
static Value arrange(Node &node, Value value, int64_t axis, bool isReversed) {
  Sizes sizes = sizesOf(value);
  if (isReversed) {
    Sizes offsets(sizes.size(), SymExpr(0));
    SmallVector<int64_t> strides(sizes.size(), 1);
    offsets[0] = sizes[0] - 1;
    strides[0] = -1;
    value = node.emit.create<SliceOp>(value.getType(), value, offsets, strides);
  }
  if (axis == 0)
    return value;
  SmallVector<int64_t> perm;
  for (int64_t dim = 1; dim < static_cast<int64_t>(sizes.size()); ++dim)
    perm.push_back(dim);
  perm.insert(perm.begin() + axis, 0);
  return node.emit.transpose(value, perm);
}

static LogicalResult convertScan(Node &node) {
  Region *body = node.body("body");
  if (!body)
    return node.error() << "attribute 'body' is missing";
  int64_t numInputs = node.getNumInputs(), numScanned = node.integer("num_scan_inputs", 0);
  if (numScanned < 1 || numScanned > numInputs)
    return node.error() << "attribute 'num_scan_inputs' is " << numScanned << ", expected 1 to "
                        << numInputs;
  int64_t numStates = numInputs - numScanned;
  if (body->getNumArguments() != numInputs)
    return node.error() << "body takes " << body->getNumArguments() << " inputs, expected "
                        << numInputs;
  int64_t numStacked = static_cast<int64_t>(node.getNumOutputs()) - numStates;
  if (numStacked < 0)
    return node.error() << "has " << node.getNumOutputs() << " outputs, expected at least "
                        << numStates;
  auto axes = readList(node, "scan_input_axes", numScanned);
  auto directions = readDirections(node, "scan_input_directions", numScanned);
  auto outputAxes = readList(node, "scan_output_axes", numStacked);
  auto outputDirections = readDirections(node, "scan_output_directions", numStacked);
  if (failed(axes) || failed(directions) || failed(outputAxes) || failed(outputDirections))
    return failure();

  SymExpr trips;
  ArrayRef<Value> scanned = node.getInputs().drop_front(numStates);
  for (auto [i, value] : llvm::enumerate(scanned)) {
    FailureOr<int64_t> axis =
        node.normalizeAxis((*axes)[i], cast<RankedTensorType>(value.getType()).getRank());
    if (failed(axis))
      return failure();
    (*axes)[i] = *axis;
    SymExpr size = sizeOf(value, *axis);
    if (i == 0)
      trips = size;
    else if (!node.ensureEqual(size, trips,
                               ("the number of elements of scanned input " + Twine(i)).str()))
      return node.error() << "scanned inputs have " << trips.str() << " and " << size.str()
                          << " elements, expected the same";
  }

  auto convertTrip = [&](const SymExpr &trip, ValueRange carried) {
    SmallVector<Value> arguments(carried);
    for (auto [value, axis, direction] : llvm::zip(scanned, *axes, *directions))
      arguments.push_back(elementOf(node.emit, value, axis, direction ? trips - 1 - trip : trip));
    return node.convertBody(*body, arguments);
  };
  FailureOr<SmallVector<Value>> results =
      emitTrips(node, trips, node.getInputs().take_front(numStates), convertTrip);
  if (failed(results))
    return failure();
  if (static_cast<int64_t>(results->size()) != numStates + numStacked)
    return node.error() << "body gives " << results->size() << " outputs, expected "
                        << numStates + numStacked;
  for (int64_t i = 0; i < numStacked; ++i) {
    Value &value = (*results)[numStates + i];
    FailureOr<int64_t> axis =
        node.normalizeAxis((*outputAxes)[i], cast<RankedTensorType>(value.getType()).getRank());
    if (failed(axis))
      return failure();
    bool isReversed = (*outputDirections)[i] != 0;
    if (isObject(value.getType()) && (*axis != 0 || isReversed))
      return node.error() << "stacks strings along axis " << *axis
                          << (isReversed ? " backwards" : "")
                          << ", which is supported forwards along axis 0";
    value = arrange(node, value, *axis, isReversed);
  }
  return node.yield(*results);
}

//===----------------------------------------------------------------------===//
// SequenceMap
//===----------------------------------------------------------------------===//

/// A loop over the first sequence that carries the sequences of its outputs.
static LogicalResult convertSequenceMap(Node &node) {
  Region *body = node.body("body");
  if (!body)
    return node.error() << "attribute 'body' is missing";
  if (body->getNumArguments() != node.getNumInputs())
    return node.error() << "body takes " << body->getNumArguments() << " inputs, expected "
                        << node.getNumInputs();
  Value first = node.input(0);
  if (!isa<SeqType>(first.getType()))
    return node.error() << "input 0 is of type " << onnx::typeText(first.getType())
                        << ", expected a sequence";
  SymExpr trips = node.bind(sequenceLength(node.emit, first));
  for (Value other : node.getInputs().drop_front())
    if (isa<SeqType>(other.getType()))
      node.emit.check(CheckKind::Equal, node.bind(sequenceLength(node.emit, other)), trips,
                      "the number of items of a sequence");

  Type empty = SeqType::get(node.getContext(), NoneType::get(node.getContext()));
  SmallVector<Value> inits;
  for (unsigned i = 0; i < node.getNumOutputs(); ++i)
    inits.push_back(node.emit.call("sequence_construct", {}, empty));
  auto convertTrip = [&](const SymExpr &number,
                         ValueRange carried) -> FailureOr<SmallVector<Value>> {
    Value trip = node.emit.size(number);
    SmallVector<Value> arguments;
    for (Value input : node.getInputs()) {
      FailureOr<Value> item = input;
      if (isa<SeqType>(input.getType()))
        item = itemAt(node, input, trip);
      if (failed(item))
        return failure();
      arguments.push_back(*item);
    }
    FailureOr<SmallVector<Value>> items = node.convertBody(*body, arguments);
    if (failed(items))
      return failure();
    if (items->size() != carried.size())
      return node.error() << "body gives " << items->size() << " outputs, expected "
                          << carried.size();
    SmallVector<Value> sequences;
    for (auto [sequence, item] : llvm::zip(carried, *items)) {
      FailureOr<Value> longer = insertItem(node, sequence, item);
      if (failed(longer))
        return failure();
      sequences.push_back(*longer);
    }
    return sequences;
  };
  FailureOr<SmallVector<Value>> results = emitTrips(node, trips, inits, convertTrip);
  return failed(results) ? failure() : node.yield(*results);
}

ArrayRef<OperatorRow> lumen::loopRows() {
  constexpr unsigned kVariadic = OperatorRow::kVariadic;
  static constexpr OperatorRow rows[] = {
      OperatorRow{"Loop", 0, kVariadic, convertLoop}.ofValues(),
      {"Scan", 1, kVariadic, convertScan, "", 9},
      OperatorRow{"SequenceMap", 1, kVariadic, convertSequenceMap, "items of a known rank", 17}
          .ofValues(),
  };
  return rows;
}
