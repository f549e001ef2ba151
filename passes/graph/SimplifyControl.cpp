//===- SimplifyControl.cpp - branches, loops and symbols that are decided -===//
//
// Symbols are names that a whole function may use, so replacing one is a walk over
// the function and not a local rewrite. The pass alternates with canonicalization
// until neither finds anything, because a decided branch decides others.
//
//===----------------------------------------------------------------------===//

#include "dialects/Lumen/SizesData.h"
#include "dialects/Lumen/SymbolUses.h"
#include "passes/graph/Constants.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_SIMPLIFYCONTROL
#include "passes/graph/Passes.h.inc"
} // namespace lumen

using Substitution = llvm::StringMap<SymExpr>;

static lumen::YieldOp yieldOf(Region &region) {
  return cast<lumen::YieldOp>(region.front().getTerminator());
}

static std::optional<int64_t> getConstantTrips(LoopOp loop) {
  std::optional<SymExpr> trips = loop.getTripCount();
  return trips ? trips->asConstant() : std::nullopt;
}

/// The value under another type of the same sizes.
static Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (!isa<RankedTensorType>(type))
    return CallOp::create(builder, loc, type, "identity", value, ArrayAttr(), ArrayAttr())
        .getResult(0);
  return lumen::CastOp::create(builder, loc, type, value);
}

/// The items at the set positions.
template <typename Range> static auto kept(Range &&range, const llvm::SmallBitVector &keep) {
  SmallVector<std::decay_t<decltype(*range.begin())>> result;
  for (auto [i, item] : llvm::enumerate(range))
    if (keep.test(i))
      result.push_back(item);
  return result;
}

namespace {

class Simplification {
public:
  explicit Simplification(func::FuncOp func) : func(func), builder(func.getContext()) {}

  /// One round; true if something changed.
  bool run();

private:
  void replaceSymbols(const Substitution &values);
  bool simplify(SymbolOp op);
  bool simplify(IfOp op);
  bool simplify(LoopOp op);

  bool inlineBranch(IfOp op, Region &region);
  bool skipLoop(LoopOp op);
  // Each of these does nothing where a size would lose its meaning.
  bool inlineOnce(LoopOp op);
  bool replaceInvariants(LoopOp op);
  bool dropUnused(IfOp op);
  bool dropUnused(LoopOp op);
  bool eraseDead(LoopOp op);
  void localizeSizes(LoopOp op);

  bool eraseRepeatedChecks(Block &block, std::set<std::string> known);
  void countUses();
  bool isNamed(StringRef symbol) const { return uses.lookup(symbol) != 0; }

  func::FuncOp func;
  OpBuilder builder;
  llvm::StringMap<unsigned> uses; ///< of symbols in types and expressions
};

} // namespace

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

void Simplification::replaceSymbols(const Substitution &values) {
  if (values.empty())
    return;
  substitute(func, values);
  Block &block = func.getBody().front();
  func.setFunctionType(
      builder.getFunctionType(block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
}

void Simplification::countUses() {
  uses.clear();
  auto count = [&](const std::set<std::string> &names) {
    for (const std::string &name : names)
      ++uses[name];
  };
  func.walk([&](Operation *op) {
    std::set<std::string> names;
    for (Type type : op->getResultTypes())
      collectSymbols(type, names);
    for (Region &region : op->getRegions())
      for (Type type : region.getArgumentTypes())
        collectSymbols(type, names);
    if (auto call = dyn_cast<CallOp>(op))
      for (StringRef name : call.getDefinedSymbols())
        names.erase(name.str());
    // What a loop's symbol becomes is no use of itself.
    auto yield = dyn_cast<lumen::YieldOp>(op);
    auto loop = yield ? dyn_cast<LoopOp>(op->getParentOp()) : LoopOp();
    if (!loop) {
      visitExpressions(op, [&](const SymExpr &expr) { expr.collectSymbols(names); });
    } else {
      for (auto [symbol, next] :
           llvm::zip(loop.getSymbols().getAsValueRange<StringAttr>(), toSizes(yield.getSizes()))) {
        std::set<std::string> inNext;
        next.collectSymbols(inNext);
        inNext.erase(symbol.str());
        names.merge(inNext);
      }
    }
    count(names);
  });
}

/// The number that a symbol is given, as an expression.
static std::optional<SymExpr> getExpression(Value value) {
  std::optional<SizesData> data = SizesData::get(value);
  if (!data || data->size() != 1 || data->isReal())
    return std::nullopt;
  return data->toSizes().front();
}

bool Simplification::simplify(SymbolOp op) {
  std::optional<SymExpr> expr = getExpression(op.getValue());
  // A negative size stays, to be reported when it runs.
  if (expr && expr->isValid() && expr->asConstant().value_or(0) >= 0) {
    Substitution values;
    values[op.getName()] = *expr;
    if (!canSubstitute(func, values))
      return false;
    builder.setInsertionPoint(op);
    auto check = [&](const SymExpr &lhs, const SymExpr &rhs, StringRef what) {
      if (!(rhs - lhs).isNonNegative())
        CheckOp::create(builder, op.getLoc(), CheckKind::LessEqual,
                        builder.getStringAttr(lhs.str()), builder.getStringAttr(rhs.str()),
                        builder.getStringAttr(what));
    };
    check(0, *expr, "a size that is not negative");
    if (std::optional<SymExpr> bound = op.getBound())
      check(*expr, *bound, "a size and its bound");
    op.erase();
    replaceSymbols(values);
    return true;
  }
  return false;
}

bool Simplification::eraseRepeatedChecks(Block &block, std::set<std::string> known) {
  bool changed = false;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        changed |= eraseRepeatedChecks(inner, known);
    auto check = dyn_cast<CheckOp>(op);
    if (!check)
      continue;
    std::string text =
        (Twine(static_cast<int>(check.getKind())) + " " + check.getLhs() + " ? " + check.getRhs())
            .str();
    if (known.insert(text).second)
      continue;
    check.erase();
    changed = true;
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

bool Simplification::inlineBranch(IfOp op, Region &region) {
  lumen::YieldOp yield = yieldOf(region);
  Substitution values;
  for (auto [symbol, size] :
       llvm::zip(op.getSymbols().getAsValueRange<StringAttr>(), toSizes(yield.getSizes())))
    values[symbol] = size;
  if (!canSubstitute(func, values))
    return false;
  SmallVector<Value> yielded(yield.getValues());
  yield.erase();
  op->getBlock()->getOperations().splice(Block::iterator(op), region.front().getOperations());
  replaceSymbols(values);
  builder.setInsertionPoint(op);
  for (auto [result, value] : llvm::zip(op.getResults(), yielded))
    result.replaceAllUsesWith(castTo(builder, op.getLoc(), value, result.getType()));
  op.erase();
  return true;
}

bool Simplification::dropUnused(IfOp op) {
  llvm::SmallBitVector values(op.getNumResults()), symbols(op.getSymbols().size());
  for (OpResult result : op.getResults())
    values[result.getResultNumber()] = !result.use_empty();
  for (auto [i, symbol] : llvm::enumerate(op.getSymbols().getAsValueRange<StringAttr>()))
    symbols[i] = isNamed(symbol);
  if (values.all() && symbols.all())
    return false;
  for (Region *region : {&op.getThenRegion(), &op.getElseRegion()}) {
    lumen::YieldOp yield = yieldOf(*region);
    Sizes sizes = kept(toSizes(yield.getSizes()), symbols);
    yield.getValuesMutable().assign(kept(yield.getValues(), values));
    yield.setSizesAttr(toAttr(op.getContext(), sizes));
  }
  builder.setInsertionPoint(op);
  auto results = kept(ValueRange(op.getResults()), values);
  auto smaller =
      IfOp::create(builder, op.getLoc(), ValueRange(results).getTypes(), op.getCondition(),
                   builder.getArrayAttr(kept(op.getSymbols().getValue(), symbols)));
  smaller.getThenRegion().takeBody(op.getThenRegion());
  smaller.getElseRegion().takeBody(op.getElseRegion());
  for (auto [result, value] : llvm::zip(results, smaller.getResults()))
    result.replaceAllUsesWith(value);
  op.erase();
  return true;
}

bool Simplification::simplify(IfOp op) {
  if (std::optional<bool> condition = getConstantCondition(op.getCondition()))
    return inlineBranch(op, *condition ? op.getThenRegion() : op.getElseRegion());
  return dropUnused(op);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Gives the body its own copies of the sizes that mean its symbols.
void Simplification::localizeSizes(LoopOp op) {
  SmallVector<StringRef> defined = symbolsDefinedBy(op);
  std::set<std::string> own;
  for (StringRef name : defined)
    own.insert(name.str());
  op.getBody().walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands()) {
      auto sizes = operand.get().getDefiningOp<SizesOp>();
      if (!sizes || op->isAncestor(sizes))
        continue;
      std::set<std::string> names;
      collectSymbols(sizes, names);
      if (llvm::none_of(names, [&](const std::string &name) { return own.count(name); }))
        continue;
      OpBuilder inside(inner);
      operand.set(inside.clone(*sizes)->getResult(0));
    }
  });
}

bool Simplification::skipLoop(LoopOp op) {
  Substitution values;
  values[op.getInduction()] = 0;
  for (auto [symbol, size] :
       llvm::zip(op.getSymbols().getAsValueRange<StringAttr>(), toSizes(op.getInitSizes())))
    values[symbol] = size;
  if (!canSubstitute(func, values))
    return false;
  op.getBody().front().erase();
  op.getBody().emplaceBlock(); // verified by nobody: the op goes
  replaceSymbols(values);
  builder.setInsertionPoint(op);
  unsigned carried = op.getNumCarried();
  for (OpResult result : op.getResults()) {
    unsigned i = result.getResultNumber();
    if (i < carried) {
      result.replaceAllUsesWith(
          castTo(builder, op.getLoc(), op.getCarriedInits()[i], result.getType()));
      continue;
    }
    auto type = cast<RankedTensorType>(result.getType());
    result.replaceAllUsesWith(
        makeSplat(builder, op.getLoc(), type, builder.getZeroAttr(type.getElementType())));
  }
  op.erase();
  return true;
}

bool Simplification::inlineOnce(LoopOp op) {
  localizeSizes(op);
  Block &body = op.getBody().front();
  Substitution inside, behind;
  inside[op.getInduction()] = 0;
  for (auto [symbol, size] :
       llvm::zip(op.getSymbols().getAsValueRange<StringAttr>(), toSizes(op.getInitSizes())))
    inside[symbol] = size;
  lumen::YieldOp yield = yieldOf(op.getBody());
  behind[op.getInduction()] = 1;
  for (auto [symbol, size] :
       llvm::zip(op.getSymbols().getAsValueRange<StringAttr>(), toSizes(yield.getSizes())))
    behind[symbol] = size.substitute(inside);
  if (!canSubstitute(op, inside) || !canSubstitute(func, behind))
    return false;
  for (Operation &inner : body)
    substitute(&inner, inside);
  builder.setInsertionPoint(op);
  for (auto [argument, init] : llvm::zip(body.getArguments(), op.getCarriedInits()))
    argument.replaceAllUsesWith(
        castTo(builder, op.getLoc(), init, substitute(argument.getType(), inside)));

  SmallVector<Value> yielded(yield.getValues().drop_front(op.getConditional()));
  yield.erase();
  op->getBlock()->getOperations().splice(Block::iterator(op), body.getOperations());
  replaceSymbols(behind);
  builder.setInsertionPoint(op);
  for (auto [result, value] : llvm::zip(op.getResults(), yielded)) {
    Value last = result.getResultNumber() < op.getNumCarried()
                     ? castTo(builder, op.getLoc(), value, result.getType())
                     : Value(ReshapeOp::create(builder, op.getLoc(), result.getType(), value));
    result.replaceAllUsesWith(last);
  }
  op.erase();
  return true;
}

/// Carried values and symbols that every trip passes on as they are.
bool Simplification::replaceInvariants(LoopOp op) {
  lumen::YieldOp yield = yieldOf(op.getBody());
  Sizes inits = toSizes(op.getInitSizes()), nexts = toSizes(yield.getSizes());
  Substitution values;
  for (auto [symbol, init, next] :
       llvm::zip(op.getSymbols().getAsValueRange<StringAttr>(), inits, nexts))
    if ((next == init || next == SymExpr::symbol(symbol)) && init != SymExpr::symbol(symbol) &&
        isNamed(symbol))
      values[symbol] = init;
  if (!values.empty() && canSubstitute(func, values)) {
    replaceSymbols(values);
    return true;
  }
  bool changed = false;
  unsigned first = op.getConditional();
  for (auto [i, argument] : llvm::enumerate(op.getBody().getArguments())) {
    Value init = op.getCarriedInits()[i], next = yield.getValues()[first + i];
    Value result = op->getResult(i);
    if ((next != argument && next != init) || argument.getType() != init.getType() ||
        result.getType() != init.getType())
      continue;
    // The yield keeps the argument until the value is dropped as unused.
    auto isOther = [&, i = i](OpOperand &use) {
      return use.getOwner() != yield || use.getOperandNumber() != first + i;
    };
    changed |= !result.use_empty() || llvm::any_of(argument.getUses(), isOther);
    result.replaceAllUsesWith(init);
    argument.replaceUsesWithIf(init, isOther);
  }
  return changed;
}

/// A loop whose results and symbols nobody reads, and that checks nothing.
bool Simplification::eraseDead(LoopOp op) {
  auto hasEffect = [](Operation *inner) {
    return isa<SymbolOp, CheckOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
  };
  if (!op.use_empty() || op.getBody().walk(hasEffect).wasInterrupted())
    return false;
  std::set<std::string> named;
  func.walk<WalkOrder::PreOrder>([&](Operation *other) {
    if (other == op)
      return WalkResult::skip();
    for (Type type : other->getResultTypes())
      collectSymbols(type, named);
    visitExpressions(other, [&](const SymExpr &expr) { expr.collectSymbols(named); });
    return WalkResult::advance();
  });
  if (llvm::any_of(symbolsDefinedBy(op),
                   [&](StringRef name) { return named.count(name.str()) != 0; }))
    return false;
  op.erase();
  return true;
}

bool Simplification::dropUnused(LoopOp op) {
  lumen::YieldOp yield = yieldOf(op.getBody());
  unsigned carried = op.getNumCarried(), first = op.getConditional();
  llvm::SmallBitVector values(op.getNumResults(), true), symbols(op.getSymbols().size());
  for (OpResult result : op.getResults()) {
    unsigned i = result.getResultNumber();
    if (!result.use_empty())
      continue;
    auto isOther = [&](OpOperand &use) {
      return use.getOwner() != yield || use.getOperandNumber() != first + i;
    };
    values[i] = i < carried && llvm::any_of(op.getBody().getArgument(i).getUses(), isOther);
  }
  for (auto [i, symbol] : llvm::enumerate(op.getSymbols().getAsValueRange<StringAttr>()))
    symbols[i] = isNamed(symbol);
  // A condition that always holds ends nothing.
  bool dropsCondition = first && op.getTrips() &&
                        getConstantCondition(op.getInits().front()).value_or(false) &&
                        getConstantCondition(yield.getValues().front()).value_or(false);
  if (values.all() && symbols.all() && !dropsCondition)
    return false;

  bool conditional = first && !dropsCondition;
  SmallVector<Value> inits, yielded;
  if (conditional) {
    inits.push_back(op.getInits().front());
    yielded.push_back(yield.getValues().front());
  }
  llvm::SmallBitVector keptArguments = values;
  keptArguments.resize(carried);
  llvm::append_range(inits, kept(op.getCarriedInits(), keptArguments));
  llvm::append_range(yielded, kept(yield.getValues().drop_front(first), values));
  Sizes nexts = kept(toSizes(yield.getSizes()), symbols);
  Sizes initSizes = kept(toSizes(op.getInitSizes()), symbols);
  yield.getValuesMutable().assign(yielded);
  yield.setSizesAttr(toAttr(op.getContext(), nexts));

  builder.setInsertionPoint(op);
  auto results = kept(ValueRange(op.getResults()), values);
  auto smaller = LoopOp::create(
      builder, op.getLoc(), ValueRange(results).getTypes(), inits, op.getTripsAttr(),
      op.getInductionAttr(), builder.getArrayAttr(kept(op.getSymbols().getValue(), symbols)),
      toAttr(op.getContext(), initSizes), conditional ? builder.getUnitAttr() : UnitAttr());
  smaller.getBody().takeBody(op.getBody());
  llvm::BitVector erased(carried);
  for (unsigned i = 0; i < carried; ++i)
    erased[i] = !values.test(i);
  smaller.getBody().front().eraseArguments(erased);
  for (auto [result, value] : llvm::zip(results, smaller.getResults()))
    result.replaceAllUsesWith(value);
  op.erase();
  return true;
}

bool Simplification::simplify(LoopOp op) {
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  std::optional<bool> enters = true;
  if (op.getConditional())
    enters = getConstantCondition(op.getInits().front());
  std::optional<int64_t> trips = getConstantTrips(op);
  if ((trips && *trips <= 0) || enters == false) {
    if (llvm::all_of(op.getResultTypes(), isTensor) && skipLoop(op))
      return true;
  } else if (trips == 1 && enters == true && llvm::all_of(op.getResultTypes(), isTensor) &&
             inlineOnce(op)) {
    return true;
  }
  return eraseDead(op) || replaceInvariants(op) || dropUnused(op);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

bool Simplification::run() {
  bool changed = false;
  for (Block &block : func.getBody())
    changed |= eraseRepeatedChecks(block, {});
  // A change may erase what was found with it, so each starts a new search. The
  // innermost comes first: what encloses it is then smaller.
  auto once = [&] {
    countUses();
    SmallVector<Operation *> candidates;
    func.walk([&](Operation *op) {
      auto symbol = dyn_cast<SymbolOp>(op);
      auto call = dyn_cast<CallOp>(op);
      if (symbol && !isNamed(symbol.getName()))
        symbol.erase();
      else if (call && call->use_empty() &&
               llvm::none_of(call.getDefinedSymbols(),
                             [&](StringRef name) { return isNamed(name); }))
        call.erase();
      else if (isa<SymbolOp, IfOp, LoopOp>(op))
        candidates.push_back(op);
    });
    return llvm::any_of(candidates, [&](Operation *op) {
      if (auto symbol = dyn_cast<SymbolOp>(op))
        return simplify(symbol);
      if (auto branch = dyn_cast<IfOp>(op))
        return simplify(branch);
      return simplify(cast<LoopOp>(op));
    });
  };
  while (once())
    changed = true;
  return changed;
}

namespace {
struct SimplifyControl : lumen::impl::SimplifyControlBase<SimplifyControl> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    for (RegisteredOperationName op :
         getContext().getRegisteredOperationsByDialect(LumenDialect::getDialectNamespace()))
      op.getCanonicalizationPatterns(patterns, &getContext());
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      bool hasControl = false;
      func.walk([&](Operation *op) { hasControl |= isa<SymbolOp, CheckOp, IfOp, LoopOp>(op); });
      while (hasControl && Simplification(func).run())
        if (failed(applyPatternsGreedily(func, frozen)))
          return signalPassFailure();
    }
  }
};
} // namespace
