//===- ControlFlow.cpp - If, Loop, Scan and SequenceMap -------------------===//
//
// A body is converted as it stands, with the values around it visible. What its
// results look like is known only afterwards: sizes that differ between branches,
// or from trip to trip, become symbols of the operation.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Values.h"

#include "llvm/ADT/MapVector.h"

#include <set>

using namespace mlir;
using namespace lumen;

static StringAttr textOf(Node &node, const SymExpr &size) {
  return node.emit.builder.getStringAttr(size.str());
}

static ArrayAttr namesOf(Node &node, ArrayRef<std::string> names) {
  return node.emit.builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(names));
}

/// The only element of `value` as a scalar; an error, which calls it `what`, if it
/// has more.
static FailureOr<Value> scalarOf(Node &node, Value value, StringRef what) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !node.ensureEqual(product(sizesOf(type)), 1, "elements of a scalar"))
    return node.error() << what << " has shape "
                        << (type ? shapeText(sizesOf(type)) : std::string("unknown"))
                        << ", expected one element";
  if (type.getRank() == 0)
    return value;
  SmallVector<int64_t> ones(type.getRank(), 1);
  value =
      node.emit.create<lumen::CastOp>(RankedTensorType::get(ones, type.getElementType()), value);
  return node.emit.create<ReshapeOp>(RankedTensorType::get({}, type.getElementType()), value);
}

static FailureOr<Value> conditionOf(Node &node, Value value) {
  if (!getElementTypeOrSelf(value.getType()).isInteger(1))
    return node.error() << "condition has element type " << getElementTypeOrSelf(value.getType())
                        << ", expected bool";
  return scalarOf(node, value, "condition");
}

static std::optional<bool> constantCondition(Value value) {
  std::optional<ConstantData> data = ConstantData::get(value);
  return data ? std::optional<bool>((*data)[0].integer != 0) : std::nullopt;
}

/// Symbols that are defined inside of a region, and so mean nothing outside.
static std::set<std::string> symbolsDefinedIn(Region &region) {
  std::set<std::string> names;
  auto addAll = [&](ArrayAttr list) {
    for (auto name : list.getAsRange<StringAttr>())
      names.insert(name.getValue().str());
  };
  region.walk([&](Operation *op) {
    if (auto symbol = dyn_cast<SymbolOp>(op)) {
      names.insert(symbol.getName().str());
    } else if (auto call = dyn_cast<CallOp>(op)) {
      for (StringRef name : call.getDefinedSymbols())
        names.insert(name.str());
    } else if (auto branch = dyn_cast<IfOp>(op)) {
      addAll(branch.getSymbols());
    } else if (auto loop = dyn_cast<LoopOp>(op)) {
      names.insert(loop.getInduction().str());
      addAll(loop.getSymbols());
    }
  });
  return names;
}

static bool usesAny(const SymExpr &size, const std::set<std::string> &names) {
  std::set<std::string> used;
  size.collectSymbols(used);
  return llvm::any_of(used, [&](const std::string &name) { return names.count(name) != 0; });
}

/// The type of a value that leaves a body; an error if it is no tensor of known rank.
static FailureOr<RankedTensorType> tensorLeaving(Node &node, Value value, unsigned index) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return type;
  return node.error() << "output " << index << " of a body has type " << value.getType()
                      << ", expected a tensor";
}

/// The sizes of a tensor; none of what is none.
static Sizes knownSizesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? sizesOf(type) : Sizes();
}

static void endRegion(Node &node, Block *block, ValueRange values, ArrayRef<SymExpr> sizes) {
  OpBuilder::InsertionGuard guard(node.emit.builder);
  node.emit.builder.setInsertionPointToEnd(block);
  lumen::YieldOp::create(node.emit.builder, node.getLoc(), values,
                         toAttr(node.emit.builder.getContext(), sizes));
}

namespace {

/// While it lives, what is to be said is kept instead: something is converted that
/// may turn out not to fit the model.
class Attempt {
public:
  struct Message {
    Location loc;
    DiagnosticSeverity severity;
    std::string text;
  };
  using Messages = SmallVector<Message>;

  Attempt(Node &node, Messages &messages)
      : node(node), handler(node.getLoc().getContext(), [&messages](Diagnostic &diagnostic) {
          messages.push_back(
              {diagnostic.getLocation(), diagnostic.getSeverity(), diagnostic.str()});
          return success();
        }) {
    messages.clear();
  }
  ~Attempt() { node.forgive(); }

  static void report(const Messages &messages) {
    for (const auto &[loc, severity, text] : messages)
      loc->getContext()->getDiagEngine().emit(loc, severity) << text;
  }

private:
  Node &node;
  ScopedDiagnosticHandler handler;
};

} // namespace

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

namespace {

/// A branch that has been converted, or failed to be.
struct Branch {
  std::unique_ptr<Region> region;
  bool isConverted = false;
  SmallVector<Value> results;
  std::set<std::string> symbols; ///< defined inside
  Sizes joined;                  ///< values of the symbols of the If
  Attempt::Messages messages;    ///< why it failed, or warnings

  /// Fills the region anew with what `convert` makes.
  void fill(Node &node, llvm::function_ref<FailureOr<SmallVector<Value>>()> convert) {
    Attempt attempt(node, messages);
    OpBuilder::InsertionGuard guard(node.emit.builder);
    region = std::make_unique<Region>();
    node.emit.builder.setInsertionPointToEnd(&region->emplaceBlock());
    FailureOr<SmallVector<Value>> converted = convert();
    isConverted = succeeded(converted);
    if (isConverted) {
      results = std::move(*converted);
      symbols = symbolsDefinedIn(*region);
    }
  }
};

/// Sizes of results of two branches. Those that differ become symbols; equal pairs
/// share one, so that what is equal in both branches stays equal behind them.
class Join {
public:
  Join(Node &node, Branch &first, Branch &second) : node(node), first(first), second(second) {}

  SymExpr size(const SymExpr &a, const SymExpr &b) {
    if (a == b && !usesAny(a, first.symbols))
      return a;
    std::string &name = symbols[{a.str(), b.str()}];
    if (name.empty()) {
      name = node.freshSymbol("if");
      names.push_back(name);
      first.joined.push_back(a);
      second.joined.push_back(b);
    }
    return SymExpr::symbol(name);
  }
  ArrayRef<std::string> getNames() const { return names; }

private:
  Node &node;
  Branch &first, &second;
  std::map<std::pair<std::string, std::string>, std::string> symbols;
  SmallVector<std::string> names;
};

} // namespace

/// Whether a lumen.if can join the results of two branches; else says why not.
static LogicalResult checkJoin(Node &node, Branch &first, Branch &second) {
  if (first.results.size() != second.results.size())
    return node.error() << "branches give " << first.results.size() << " and "
                        << second.results.size() << " outputs, expected the same";
  for (auto [i, a, b] : llvm::enumerate(first.results, second.results)) {
    if (joinObjects(a.getType(), b.getType()))
      continue;
    FailureOr<RankedTensorType> typeA = tensorLeaving(node, a, i),
                                typeB = tensorLeaving(node, b, i);
    if (failed(typeA) || failed(typeB))
      return failure();
    if (typeA->getElementType() != typeB->getElementType() || typeA->getRank() != typeB->getRank())
      return node.error() << "branches give output " << i << " the types "
                          << typeText(typeA->getElementType()) << " of shape "
                          << shapeText(sizesOf(*typeA)) << " and "
                          << typeText(typeB->getElementType()) << " of shape "
                          << shapeText(sizesOf(*typeB))
                          << ", expected the same element type and rank";
  }
  return success();
}

static SmallVector<Value> makeIf(Node &node, Value condition, Branch &first, Branch &second) {
  Join join(node, first, second);
  SmallVector<Type> types;
  for (auto [a, b] : llvm::zip(first.results, second.results)) {
    if (Type object = joinObjects(a.getType(), b.getType())) {
      types.push_back(object);
      continue;
    }
    Sizes sizes;
    for (auto [sizeA, sizeB] : llvm::zip(sizesOf(a), sizesOf(b)))
      sizes.push_back(join.size(sizeA, sizeB));
    types.push_back(tensorTypeOf(sizes, getElementTypeOrSelf(a.getType())));
  }
  for (Branch *branch : {&first, &second}) {
    Attempt::report(branch->messages);
    endRegion(node, &branch->region->front(), branch->results, branch->joined);
  }
  auto op = IfOp::create(node.emit.builder, node.getLoc(), types, condition,
                         namesOf(node, join.getNames()));
  op.getThenRegion().takeBody(*first.region);
  op.getElseRegion().takeBody(*second.region);
  return llvm::to_vector_of<Value>(op.getResults());
}

/// Makes the branch that could be converted part of what is around it, for the run
/// ends where the other one would be taken.
static SmallVector<Value> makeOnly(Node &node, Value condition, Branch &branch, bool isThen) {
  OpBuilder &builder = node.emit.builder;
  Attempt::report(branch.messages);
  Value number = node.emit.convert(condition, builder.getI64Type());
  std::string name = node.freshSymbol("condition");
  SymbolOp::create(builder, node.getLoc(), builder.getStringAttr(name), number,
                   builder.getStringAttr("1"));
  CheckOp::create(builder, node.getLoc(), CheckKind::Equal, textOf(node, SymExpr::symbol(name)),
                  textOf(node, isThen ? 1 : 0),
                  builder.getStringAttr("the condition, and the only value of it that fits "
                                        "the rest of the model"));
  Block &block = branch.region->front();
  builder.getInsertionBlock()->getOperations().splice(builder.getInsertionPoint(),
                                                      block.getOperations());
  return branch.results;
}

static bool canJoin(Node &node, Branch &first, Branch &second, Attempt::Messages &messages) {
  Attempt attempt(node, messages);
  return succeeded(checkJoin(node, first, second));
}

/// Branches of different ranks: exporters write torch.squeeze so, of a dimension that
/// may be 1. The rest of the graph is converted behind either; where it fits one of
/// them alone, a run must take that one.
static LogicalResult convertDivergent(Node &node, Value condition, ArrayRef<Region *> bodies,
                                      MutableArrayRef<Branch> branches) {
  for (auto [body, branch] : llvm::zip(bodies, branches))
    branch.fill(node, [&, body = body] { return node.convertInPlace(*body); });
  Branch &first = branches[0], &second = branches[1];
  if (first.isConverted && second.isConverted) {
    Attempt::Messages mismatch;
    if (canJoin(node, first, second, mismatch))
      return node.yieldGraph(makeIf(node, condition, first, second));
    Attempt::report(mismatch);
    return node.fail();
  }
  if (first.isConverted || second.isConverted) {
    bool isThen = first.isConverted;
    return node.yieldGraph(makeOnly(node, condition, isThen ? first : second, isThen));
  }
  Attempt::report(first.messages);
  Attempt::report(second.messages);
  return node.fail();
}

static LogicalResult convertIf(Node &node) {
  Region *bodies[] = {node.body("then_branch"), node.body("else_branch")};
  for (auto [body, name] : llvm::zip(bodies, ArrayRef<StringRef>{"then_branch", "else_branch"}))
    if (!body)
      return node.error() << "attribute '" << name << "' is missing";
  FailureOr<Value> condition = conditionOf(node, node.input(0));
  if (failed(condition))
    return failure();
  if (std::optional<bool> known = constantCondition(*condition)) {
    FailureOr<SmallVector<Value>> results = node.convertBody(*bodies[*known ? 0 : 1], {});
    return failed(results) ? failure() : node.yield(*results);
  }

  Branch branches[2];
  for (auto [body, branch] : llvm::zip(bodies, branches))
    branch.fill(node, [&, body = body] { return node.convertBody(*body, {}); });
  Branch &first = branches[0], &second = branches[1];
  if (first.isConverted && second.isConverted) {
    Attempt::Messages mismatch;
    if (canJoin(node, first, second, mismatch))
      return node.yield(makeIf(node, *condition, first, second));
    return convertDivergent(node, *condition, bodies, branches);
  }
  if (!first.isConverted && !second.isConverted) {
    Attempt::report(first.messages);
    Attempt::report(second.messages);
    return node.fail();
  }
  bool isThen = first.isConverted;
  const Attempt::Messages &mistakes = isThen ? second.messages : first.messages;
  InFlightDiagnostic warning = emitWarning(node.getLoc());
  warning << "a run that takes the " << (isThen ? "else" : "then")
          << " branch will fail, for it cannot be converted";
  if (!mistakes.empty())
    warning.attachNote(mistakes.front().loc) << mistakes.front().text;
  warning.report();
  return node.yield(makeOnly(node, *condition, isThen ? first : second, isThen));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

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
    if (i >= numCarried && isObject(value.getType()))
      return node.error() << "output " << i << " of the body is of type " << value.getType()
                          << ", which cannot be stacked";
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

FailureOr<SmallVector<Value>> LoopBuilder::finish(std::optional<SymExpr> trips, Value condition) {
  OpBuilder &builder = node.emit.builder;
  Block *block = &region->front();
  std::set<std::string> inner = symbolsDefinedIn(*region);
  inner.insert(induction);
  inner.insert(symbols.begin(), symbols.end());

  // A condition that is always true decides nothing; it is so from the second
  // trip on if the body says so.
  bool isConditional = yieldsCondition && constantCondition(results[0]) != true;
  if (condition && constantCondition(condition) != true)
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
                        builder.getStringAttr("sizes of a stacked output on two trips differ; "
                                              "their difference and 0"));
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
  return llvm::to_vector_of<Value>(op.getResults());
}

/// `value`, a scalar, in the shape that the body declares for its argument, which
/// may be one element in a dimension.
static Value asDeclared(Node &node, Value value, BlockArgument argument) {
  auto declared = dyn_cast<RankedTensorType>(argument.getType());
  if (!declared || declared.getRank() == 0)
    return value;
  SmallVector<int64_t> ones(declared.getRank(), 1);
  return node.emit.create<ReshapeOp>(
      RankedTensorType::get(ones, getElementTypeOrSelf(value.getType())), value);
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
    if (constantCondition(condition) == false)
      trips = std::optional<SymExpr>(SymExpr(0));
  }

  LoopBuilder loop(node, inits, /*yieldsCondition=*/true);
  auto convertTrip = [&](ValueRange carried) {
    OpBuilder &builder = node.emit.builder;
    Value trip = node.emit.create<SizesOp>(RankedTensorType::get({}, builder.getI64Type()),
                                           toAttr(builder.getContext(), {loop.trip()}));
    // A trip is made only where the condition holds.
    Value holds = node.emit.constant(
        DenseElementsAttr::get(RankedTensorType::get({}, builder.getI1Type()), true));
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

/// Element `index` of dimension `axis`, without that dimension.
static Value pick(Node &node, Value operand, int64_t axis, const SymExpr &index) {
  Sizes sizes = sizesOf(operand), offsets(sizes.size(), SymExpr(0));
  SmallVector<int64_t> strides(sizes.size(), 1);
  Type element = getElementTypeOrSelf(operand.getType());
  sizes[axis] = 1;
  offsets[axis] = index;
  Value slice = node.emit.create<SliceOp>(tensorTypeOf(sizes, element), operand, offsets, strides);
  sizes.erase(sizes.begin() + axis);
  return node.emit.create<ReshapeOp>(tensorTypeOf(sizes, element), slice);
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
  Sizes moved;
  for (int64_t dim : perm)
    moved.push_back(sizes[dim]);
  return node.emit.create<TransposeOp>(tensorTypeOf(moved, getElementTypeOrSelf(value.getType())),
                                       value, perm);
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
    if (i == 0) {
      trips = size;
    } else if (size != trips) {
      if (size.asConstant() && trips.asConstant())
        return node.error() << "scanned inputs have " << trips.str() << " and " << size.str()
                            << " elements, expected the same";
      CheckOp::create(node.emit.builder, node.getLoc(), CheckKind::Equal, textOf(node, trips),
                      textOf(node, size),
                      node.emit.builder.getStringAttr("elements of two scanned inputs"));
    }
  }

  LoopBuilder loop(node, node.getInputs().take_front(numStates), /*yieldsCondition=*/false);
  auto convertTrip = [&](ValueRange carried) {
    SmallVector<Value> arguments(carried);
    for (auto [value, axis, direction] : llvm::zip(scanned, *axes, *directions))
      arguments.push_back(
          pick(node, value, axis, direction ? trips - 1 - loop.trip() : loop.trip()));
    return node.convertBody(*body, arguments);
  };
  if (failed(loop.convert(convertTrip)))
    return failure();
  FailureOr<SmallVector<Value>> results = loop.finish(trips, Value());
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
    value = arrange(node, value, *axis, (*outputDirections)[i] != 0);
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
    return node.error() << "input 0 is of type " << first.getType() << ", expected a sequence";
  SymExpr trips = node.bind(sequenceLength(node.emit, first));
  for (Value other : node.getInputs().drop_front())
    if (isa<SeqType>(other.getType()))
      node.emit.check(CheckKind::Equal, node.bind(sequenceLength(node.emit, other)), trips,
                      "items of two sequences");

  MLIRContext *context = node.getContext();
  Type empty = SeqType::get(context, NoneType::get(context));
  SmallVector<Value> inits;
  for (unsigned i = 0; i < node.getNumOutputs(); ++i)
    inits.push_back(node.emit.call("sequence_construct", {}, empty));
  LoopBuilder loop(node, inits, /*yieldsCondition=*/false);
  auto convertTrip = [&](ValueRange carried) -> FailureOr<SmallVector<Value>> {
    Value trip = node.emit.create<SizesOp>(
        RankedTensorType::get({}, node.emit.builder.getI64Type()), toAttr(context, {loop.trip()}));
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
  if (failed(loop.convert(convertTrip)))
    return failure();
  FailureOr<SmallVector<Value>> results = loop.finish(trips, Value());
  return failed(results) ? failure() : node.yield(*results);
}

ArrayRef<OperatorRow> lumen::controlFlowRows() {
  constexpr unsigned kVariadic = OperatorRow::kVariadic;
  static constexpr OperatorRow rows[] = {
      OperatorRow{"If", 1, 1, convertIf}.ofValues(),
      OperatorRow{"Loop", 0, kVariadic, convertLoop}.ofValues(),
      {"Scan", 1, kVariadic, convertScan, "", 9},
      OperatorRow{"SequenceMap", 1, kVariadic, convertSequenceMap, "items of a known rank", 17}
          .ofValues(),
  };
  return rows;
}
