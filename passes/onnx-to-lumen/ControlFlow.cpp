//===- ControlFlow.cpp - If, and what the conversions of bodies share -----===//
//
// A body is converted as it stands, with the values around it visible. What its
// results look like is known only afterwards: sizes that differ between branches
// become symbols of the operation.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/ControlFlow.h"

#include "dialects/Lumen/ConstantData.h"
#include "dialects/Lumen/SymbolUses.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace lumen;

StringAttr lumen::textOf(Node &node, const SymExpr &size) {
  return node.emit.builder.getStringAttr(size.str());
}

ArrayAttr lumen::namesOf(Node &node, ArrayRef<std::string> names) {
  return node.emit.builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(names));
}

FailureOr<Value> lumen::scalarOf(Node &node, Value value, StringRef what) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type ||
      !node.ensureEqual(product(sizesOf(type)), 1, ("the number of elements of " + what).str()))
    return node.error() << what << " has shape "
                        << (type ? shapeText(sizesOf(type)) : std::string("unknown"))
                        << ", expected one element";
  if (type.getRank() == 0)
    return value;
  return node.emit.reshape(node.emit.cast(value, Sizes(type.getRank(), 1)), {});
}

FailureOr<Value> lumen::conditionOf(Node &node, Value value) {
  if (!getElementTypeOrSelf(value.getType()).isInteger(1))
    return node.error() << "condition has element type " << getElementTypeOrSelf(value.getType())
                        << ", expected bool";
  return scalarOf(node, value, "condition");
}

std::set<std::string> lumen::symbolsDefinedIn(Region &region) {
  std::set<std::string> names;
  region.walk([&](Operation *op) {
    for (StringRef name : symbolsDefinedBy(op))
      names.insert(name.str());
  });
  return names;
}

bool lumen::usesAny(const SymExpr &size, const std::set<std::string> &names) {
  std::set<std::string> used;
  size.collectSymbols(used);
  return llvm::any_of(used, [&](const std::string &name) { return names.count(name) != 0; });
}

FailureOr<RankedTensorType> lumen::tensorLeaving(Node &node, Value value, unsigned index) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return type;
  return node.error() << "output " << index << " of a body has type " << value.getType()
                      << ", expected a tensor";
}

Sizes lumen::knownSizesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? sizesOf(type) : Sizes();
}

void lumen::endRegion(Node &node, Block *block, ValueRange values, ArrayRef<SymExpr> sizes) {
  OpBuilder::InsertionGuard guard(node.emit.builder);
  node.emit.builder.setInsertionPointToEnd(block);
  lumen::YieldOp::create(node.emit.builder, node.getLoc(), values,
                         toAttr(node.emit.builder.getContext(), sizes));
}

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
                  builder.getStringAttr(llvm::formatv(
                      "the condition is {{0}, which asks for the {0} branch, and that one does "
                      "not fit the model",
                      isThen ? "else" : "then")));
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
  if (std::optional<bool> known = getConstantCondition(*condition)) {
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

ArrayRef<OperatorRow> lumen::branchRows() {
  static constexpr OperatorRow rows[] = {OperatorRow{"If", 1, 1, convertIf}.ofValues()};
  return rows;
}
