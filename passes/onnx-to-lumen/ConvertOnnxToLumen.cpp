//===- ConvertOnnxToLumen.cpp - one walk over the graph -------------------===//

#include "passes/onnx-to-lumen/OnnxToLumen.h"
#include "passes/onnx-to-lumen/Passes.h"
#include "passes/onnx-to-lumen/Schema.h"
#include "passes/onnx-to-lumen/Values.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <set>

using namespace mlir;
using namespace lumen;

namespace lumen {
#define GEN_PASS_DEF_CONVERTONNXTOLUMEN
#include "passes/onnx-to-lumen/Passes.h.inc"
} // namespace lumen

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
struct RowFamily {
  StringLiteral lowering; ///< how its operators are computed, for the documentation
  ArrayRef<OperatorRow> rows;
};
} // namespace

static SmallVector<RowFamily> families() {
  return {
      {"decomposed", attentionRows()},
      {"control flow", branchRows()},
      {"contraction", contractionRows()},
      {"convolution", convolutionRows()},
      {"contraction", einsumRows()},
      {"elementwise", elementwiseRows()},
      {"decomposed", featureRows()},
      {"decomposed", fusedAttentionRows()},
      {"loops", indexingRows()},
      {"runtime", labelRows()},
      {"contraction", linearModelRows()},
      {"control flow", loopRows()},
      {"movement", movementRows()},
      {"norm", normalizationRows()},
      {"window", poolingRows()},
      {"elementwise", randomRows()},
      {"loops", recurrenceRows()},
      {"elementwise", quantizationRows()},
      {"decomposed", quantizedOperatorRows()},
      {"contraction", quantizedProductRows()},
      {"reduction", reductionRows()},
      {"lookups", resizeRows()},
      {"decomposed", rotaryRows()},
      {"lookups", samplingRows()},
      {"loops", selectionRows()},
      {"movement", shapingRows()},
      {"decomposed", signalRows()},
      {"runtime", stringRows()},
      {"decomposed", trainingRows()},
      {"loops", treeRows()},
      {"runtime", valueRows()},
  };
}

static std::string keyOf(StringRef domain, StringRef name) { return (domain + "::" + name).str(); }

const OperatorRow *lumen::findOperator(StringRef domain, StringRef name, int64_t opset,
                                       bool values) {
  using Table = llvm::StringMap<SmallVector<const OperatorRow *, 1>>;
  static const Table table = [] {
    Table result;
    for (const RowFamily &family : families())
      for (const OperatorRow &row : family.rows)
        result[keyOf(row.domain, row.name)].push_back(&row);
    return result;
  }();
  auto found = table.find(keyOf(domain, name));
  if (found == table.end())
    return nullptr;
  const OperatorRow *other = nullptr;
  for (const OperatorRow *row : found->second) {
    if (row->since > opset || opset > row->until)
      continue;
    if (values == (row->operands == OperatorRow::Values))
      return row;
    other = row;
  }
  return other;
}

std::vector<SupportedOperator> lumen::getSupportedOperators() {
  std::vector<SupportedOperator> result;
  // An operator on numbers and strings has two rows, but is one.
  auto isListed = [&](const OperatorRow &row, int64_t since) {
    return llvm::any_of(result, [&](const SupportedOperator &other) {
      return row.operands == OperatorRow::Values && other.domain == row.domain &&
             other.name == row.name && other.since == since;
    });
  };
  for (const RowFamily &family : families())
    for (const OperatorRow &row : family.rows) {
      int64_t since = std::max(row.since, firstVersionOf(row.domain, row.name, row.since));
      if (!isListed(row, since))
        result.push_back({row.domain, row.name, since, row.until, family.lowering,
                          elementTypesOf(row.domain, row.name, row.until), row.note});
    }
  llvm::sort(result, [](const SupportedOperator &a, const SupportedOperator &b) {
    return std::tie(a.domain, a.name, a.since) < std::tie(b.domain, b.name, b.since);
  });
  return result;
}

//===----------------------------------------------------------------------===//
// One node
//===----------------------------------------------------------------------===//

namespace lumen {

/// Checks what a converter need not: the number of inputs, the types, and
/// afterwards that nothing of the node was overlooked.
class NodeRunner {
public:
  /// Outputs of the whole graph, where the node has converted all that is behind it.
  static std::optional<SmallVector<Value>> graphOutputs(Node &node) {
    return std::move(node.graphOutputs);
  }

  static FailureOr<SmallVector<Value>> run(const OperatorRow &row, Node &node) {
    if (failed(checkInputs(row, node)) || failed(row.convert(node)) || node.failed ||
        failed(checkComplete(node)))
      return failure();
    for (Value result : node.results)
      if (auto type = result ? dyn_cast<RankedTensorType>(result.getType()) : RankedTensorType();
          type && failed(node.checkSize(sizesOf(type))))
        return failure();
    return std::move(node.results);
  }

private:
  static LogicalResult checkInputs(const OperatorRow &row, Node &node) {
    unsigned count = node.getNumInputs();
    if (count < row.minInputs || (row.maxInputs != OperatorRow::kVariadic && count > row.maxInputs))
      return node.error() << "has " << count << " inputs, expected "
                          << (count < row.minInputs ? "at least " : "at most ")
                          << (count < row.minInputs ? row.minInputs : row.maxInputs);
    bool isVariadic = row.maxInputs == OperatorRow::kVariadic;
    for (unsigned i = 0; i < count; ++i) {
      if (!node.input(i)) {
        if (i < row.minInputs || (isVariadic && row.minInputs > 0))
          return node.error() << "input " << i << " is missing";
        continue;
      }
      if (row.operands == OperatorRow::Values)
        continue;
      Type type = node.input(i).getType();
      if (!isa<RankedTensorType>(type))
        return node.error() << "input " << i << " is of type " << onnx::typeText(type)
                            << ", which is not supported";
      Type element = getElementTypeOrSelf(type);
      if (!isScalarType(element) || isa<IndexType>(element))
        return node.error() << "input " << i << " has element type " << element
                            << ", which is not supported";
    }
    return success();
  }

  static LogicalResult checkComplete(Node &node) {
    for (NamedAttribute attr : node.op.getAttrs())
      if (!node.read.contains(attr.getName()))
        return node.error() << "attribute '" << attr.getName().getValue() << "' is not supported";
    for (auto name : node.op.getBodyNames().getAsRange<StringAttr>())
      if (!node.read.contains(name.getValue()))
        return node.error() << "attribute '" << name.getValue() << "' is not supported";
    for (unsigned i = 0; i < node.getNumOutputs() && !node.graphOutputs; ++i)
      if (node.hasOutput(i) && (i >= node.results.size() || !node.results[i]))
        return node.error() << "output " << i << " is not supported";
    return success();
  }
};

} // namespace lumen

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

namespace {

class GraphConverter : public GraphContext {
public:
  GraphConverter(ModuleOp module, func::FuncOp function)
      : module(module), function(function), builder(module.getContext()) {}

  LogicalResult run();

  FailureOr<SmallVector<Value>> convertBody(Region &body, ValueRange arguments) override;
  FailureOr<SmallVector<Value>> convertInPlace(onnx::NodeOp op, Region &body) override;
  std::string freshSymbol(StringRef stem) override;

private:
  LogicalResult checkArguments();
  void nameDimensions();
  void checkBounds();
  Value knownElement(Value value);
  /// Converts from `begin` to the end of its block; gives the block's outputs, of
  /// which those that could not be converted are null.
  SmallVector<Value> convertFrom(Block &block, Block::iterator begin);
  FailureOr<SmallVector<Value>> convertWhole(Block &block, Block::iterator begin);
  void convert(Operation &op);
  void convertNode(onnx::NodeOp op);
  void noteUnsupported(Operation *op, StringRef domain, StringRef name);
  void reportUnsupported();
  LogicalResult finish(onnx::ReturnOp op, ValueRange outputs);
  void checkDeclaredType(unsigned index, Type declared, RankedTensorType actual);
  int64_t opsetOf(StringRef domain);

  ModuleOp module;
  func::FuncOp function;
  OpBuilder builder;
  /// Converted values; null where a node could not be converted.
  DenseMap<Value, Value> values;
  struct Unsupported {
    int64_t count = 0;
    std::string first;
  };
  llvm::MapVector<std::string, Unsupported, llvm::StringMap<unsigned>> unsupported;
  llvm::SmallPtrSet<Operation *, 8> noted; ///< of the unsupported ones
  std::set<std::string> entrySymbols;      ///< of the model's inputs
  llvm::StringMap<unsigned> numSymbols;    ///< made so far, by stem
  /// Set when a node has converted all that is behind it.
  std::optional<SmallVector<Value>> graphOutputs;
  bool hasErrors = false;
  unsigned numInPlace = 0; ///< bodies converted in place around the present node
  unsigned numTried = 0;   ///< bodies converted in place so far
};

} // namespace

/// The name that the file gives to an argument or result.
static StringRef nameOf(DictionaryAttr attrs) {
  auto name = attrs ? attrs.getAs<StringAttr>(onnx::OnnxDialect::getNameAttrName()) : StringAttr();
  return name ? name.getValue() : "";
}

LogicalResult GraphConverter::checkArguments() {
  bool isValid = true;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    StringRef name = nameOf(function.getArgAttrDict(i));
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && !isa<IndexType>(tensor.getElementType()) && isScalarType(tensor.getElementType()))
      continue;
    if (Type object = objectTypeOf(type)) {
      function.getArgument(i).setType(object);
      continue;
    }
    isValid = false;
    if (isa<UnrankedTensorType>(type))
      emitError(function.getLoc()) << "input '" << name << "' has no shape; give it one with "
                                   << "--shape " << name << "=...";
    else
      emitError(function.getLoc()) << "input '" << name << "' has the type " << onnx::typeText(type)
                                   << ", which is not supported";
  }
  return success(isValid);
}

/// Gives each dynamic dimension of the inputs an expression, where the file names
/// none a symbol of its own.
void GraphConverter::nameDimensions() {
  SmallVector<std::pair<BlockArgument, unsigned>> unnamed;
  for (BlockArgument argument : function.getArguments()) {
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    for (auto [i, size] : llvm::enumerate(tensor ? sizesOf(tensor) : Sizes())) {
      if (size.isValid())
        size.collectSymbols(entrySymbols);
      else
        unnamed.push_back({argument, i});
    }
  }
  for (auto [argument, dim] : unnamed) {
    StringRef input = nameOf(function.getArgAttrDict(argument.getArgNumber()));
    std::string name = (input + ".d" + Twine(dim)).str();
    entrySymbols.insert(name);
    Sizes sizes = sizesOf(argument);
    sizes[dim] = SymExpr::symbol(name);
    argument.setType(tensorTypeOf(sizes, Emitter::typeOf(argument).getElementType()));
  }
}

/// Compares symbols with the bounds that the user gave.
void GraphConverter::checkBounds() {
  auto bounds = module->getAttrOfType<DictionaryAttr>("lumen.bounds");
  Emitter emit(builder, function.getLoc(), facts);
  for (NamedAttribute bound : bounds ? bounds.getValue() : ArrayRef<NamedAttribute>())
    emit.check(CheckKind::LessEqual, SymExpr::symbol(bound.getName().getValue()),
               cast<IntegerAttr>(bound.getValue()).getInt(),
               ("'" + bound.getName().getValue() + "'").str());
}

int64_t GraphConverter::opsetOf(StringRef domain) {
  auto opsets = module->getAttrOfType<DictionaryAttr>(onnx::OnnxDialect::getOpsetsAttrName());
  auto version =
      opsets ? opsets.getAs<IntegerAttr>(domain.empty() ? "ai.onnx" : domain) : IntegerAttr();
  return version ? version.getInt() : OperatorRow::kNewest;
}

void GraphConverter::noteUnsupported(Operation *op, StringRef domain, StringRef name) {
  for (Value result : op->getResults())
    values[result] = Value();
  // A body may be converted several times.
  if (!noted.insert(op).second)
    return;
  Unsupported &entry = unsupported[domain.empty() ? name.str() : keyOf(domain, name)];
  // A node's location reads "Conv 'stem/conv1'"; the operator is said already.
  if (++entry.count == 1)
    if (auto loc = op->getLoc()->findInstanceOf<NameLoc>()) {
      StringRef text = loc.getName();
      text.consume_front(name);
      entry.first = text.trim();
    }
}

/// What can be done instead of using an operator that is not supported; empty if nothing is
/// known.
static StringRef adviceFor(StringRef key) {
  return llvm::StringSwitch<StringRef>(key)
      .Case("ai.onnx.ml::ZipMap",
            "maps are not supported; export the classifier without ZipMap, with skl2onnx by "
            "options={'zipmap': False}: its scores are a tensor then")
      .Cases({"ai.onnx.ml::CastMap", "ai.onnx.ml::DictVectorizer"},
             "maps are not supported; give the model a tensor of features")
      .Case("ImageDecoder", "files of images are decoded by the application; give the model pixels")
      .Case("ai.onnx.preview.training::Gradient",
            "models are compiled for inference; export gradients as operators")
      .Default("");
}

void GraphConverter::reportUnsupported() {
  if (unsupported.empty())
    return;
  hasErrors = true;
  InFlightDiagnostic diagnostic = emitError(module.getLoc());
  diagnostic << unsupported.size() << (unsupported.size() == 1 ? " operator is" : " operators are")
             << " not supported: ";
  llvm::interleave(
      unsupported,
      [&](const auto &pair) {
        diagnostic << "'" << pair.first << "' (" << pair.second.count
                   << (pair.second.count == 1 ? " node" : " nodes");
        if (!pair.second.first.empty())
          diagnostic << (pair.second.count == 1 ? " " : ", first ") << pair.second.first;
        diagnostic << ")";
      },
      [&] { diagnostic << ", "; });
  for (auto &[key, entry] : unsupported)
    if (StringRef advice = adviceFor(key); !advice.empty())
      diagnostic.attachNote(module.getLoc()) << advice;
}

/// The value, or the symbol that stands for its only element: arithmetic with it folds.
Value GraphConverter::knownElement(Value value) {
  auto type = value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
  if (!type || !type.hasStaticShape() || type.getNumElements() != 1)
    return value;
  auto bound = facts.bound.find(facts.elements.lookup(Emitter::sourceOf(value, 0)));
  if (bound == facts.bound.end())
    return value;
  return SizesOp::create(builder, value.getLoc(), type,
                         lumen::toAttr(builder.getContext(), ArrayRef<SymExpr>(bound->second)));
}

void GraphConverter::convertNode(onnx::NodeOp op) {
  int64_t opset = op.getVersion().value_or(opsetOf(op.getOpDomain()));
  bool hasValues = llvm::any_of(op.getInputs(), [&](Value input) {
    Value value = values.lookup(input);
    return value && isObject(value.getType());
  });
  const OperatorRow *row = findOperator(op.getOpDomain(), op.getOpType(), opset, hasValues);
  if (!row)
    return noteUnsupported(op, op.getOpDomain(), op.getOpType());

  SmallVector<Value> inputs;
  bool isKnown = true;
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    Value input = op.getInput(i);
    inputs.push_back(input ? knownElement(values.lookup(input)) : Value());
    isKnown &= !input || inputs.back();
  }
  // What follows from an error is not another one.
  if (isKnown && failed(checkSchema(op, opset, inputs))) {
    hasErrors = true;
    isKnown = false;
  }
  while (!inputs.empty() && !inputs.back() && !op.getInput(inputs.size() - 1))
    inputs.pop_back();

  FailureOr<SmallVector<Value>> results = failure();
  if (isKnown) {
    Emitter emit(builder, op.getLoc(), facts);
    StringPositions positions(emit);
    if (row->operands == OperatorRow::Moved)
      positions.replace(inputs);
    Node node(op, inputs, opset, builder, *this);
    results = NodeRunner::run(*row, node);
    if (row->operands == OperatorRow::Moved && succeeded(results))
      for (Value &result : *results)
        result = positions.restore(result);
    hasErrors |= failed(results);
    if (succeeded(results))
      graphOutputs = NodeRunner::graphOutputs(node);
  }
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    values[result] = succeeded(results) && i < results->size() ? (*results)[i] : Value();
}

SmallVector<Value> GraphConverter::convertFrom(Block &block, Block::iterator begin) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::make_range(begin, block.getTerminator()->getIterator()))) {
    if (isa<onnx::OnnxDialect>(op.getDialect()))
      convert(op);
    if (graphOutputs)
      return *std::exchange(graphOutputs, std::nullopt);
    // A branch that does not fit says so early, before others double the work.
    if (numInPlace > 0 && hasErrors)
      return {};
  }
  SmallVector<Value> outputs;
  for (Value output : cast<onnx::ReturnOp>(block.getTerminator()).getOutputs())
    outputs.push_back(values.lookup(output));
  return outputs;
}

FailureOr<SmallVector<Value>> GraphConverter::convertWhole(Block &block, Block::iterator begin) {
  // The node fails if its body does; until then nothing is lost.
  bool hadErrors = std::exchange(hasErrors, false);
  SmallVector<Value> outputs = convertFrom(block, begin);
  if (std::exchange(hasErrors, hadErrors) || llvm::is_contained(outputs, Value()))
    return failure();
  return outputs;
}

FailureOr<SmallVector<Value>> GraphConverter::convertBody(Region &body, ValueRange arguments) {
  Block &block = body.front();
  assert(block.getNumArguments() == arguments.size() && "the converter has counted");
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = value;
  SizeFacts outside = facts;
  FailureOr<SmallVector<Value>> outputs = convertWhole(block, block.begin());
  facts = std::move(outside);
  return outputs;
}

FailureOr<SmallVector<Value>> GraphConverter::convertInPlace(onnx::NodeOp op, Region &body) {
  // Branches that both fit double what is behind them.
  constexpr unsigned kMaxTried = 256;
  auto areTooMany = [&] { return numTried > kMaxTried; };
  if (!areTooMany())
    ++numTried;
  if (areTooMany())
    return failure();
  ++numInPlace;
  SizeFacts outside = facts;
  FailureOr<SmallVector<Value>> outputs = convertWhole(body.front(), body.front().begin());
  if (succeeded(outputs)) {
    for (auto [result, value] : llvm::zip(op.getResults(), *outputs))
      values[result] = value;
    outputs = convertWhole(*op->getBlock(), std::next(op->getIterator()));
  }
  facts = std::move(outside);
  --numInPlace;
  if (!areTooMany())
    return outputs;
  // A way that was not tried is none that does not fit: all around it fails.
  if (numInPlace == 0)
    emitError(op.getLoc()) << "and others behind it have branches of different ranks; more than "
                           << kMaxTried << " ways through them are not supported";
  return failure();
}

std::string GraphConverter::freshSymbol(StringRef stem) {
  std::string name;
  do
    name = (stem + "$" + llvm::Twine(numSymbols[stem]++)).str();
  while (entrySymbols.count(name));
  return name;
}

void GraphConverter::convert(Operation &op) {
  if (auto node = dyn_cast<onnx::NodeOp>(op))
    return convertNode(node);
  if (auto constant = dyn_cast<onnx::ConstantOp>(op)) {
    if (auto strings = dyn_cast<DenseStringElementsAttr>(constant.getValue())) {
      Emitter emit(builder, op.getLoc(), facts);
      values[constant.getResult()] = makeStrings(emit, strings);
      return;
    }
    values[constant.getResult()] =
        lumen::ConstantOp::create(builder, op.getLoc(), constant.getValue());
    return;
  }
  if (auto call = dyn_cast<onnx::CallOp>(op))
    return noteUnsupported(&op, "", call.getCallee());
  if (auto sparse = dyn_cast<onnx::SparseConstantOp>(op)) {
    Emitter emit(builder, op.getLoc(), facts);
    values[sparse.getResult()] = makeDense(emit, sparse.getValue());
  }
}

/// The file's own idea of an output is a hint: it is not needed, but if it is
/// wrong, one of the two programs that made the file misunderstood the other.
void GraphConverter::checkDeclaredType(unsigned index, Type declared, RankedTensorType actual) {
  auto tensor = dyn_cast<TensorType>(declared);
  if (!tensor)
    return;
  if (isa<onnx::StringType>(tensor.getElementType()))
    tensor = tensor.clone(lumen::StringType::get(tensor.getContext()));
  bool agrees = tensor.getElementType() == actual.getElementType();
  if (auto ranked = dyn_cast<RankedTensorType>(tensor)) {
    agrees &= ranked.getRank() == actual.getRank();
    // Inside a dynamic dimension, the file's names are not ours.
    for (auto [a, b] : llvm::zip(ranked.getShape(), actual.getShape()))
      agrees &= ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
  }
  if (!agrees)
    emitWarning(function.getLoc())
        << "output '" << nameOf(function.getResultAttrDict(index)) << "' is "
        << onnx::typeText(actual) << ", but the model declares " << onnx::typeText(tensor);
}

static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isa<onnx::OnnxDialect>(op.getDialect()) || isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDead(inner);
  }
}

LogicalResult GraphConverter::finish(onnx::ReturnOp op, ValueRange outputs) {
  SmallVector<Type> types;
  for (auto [i, output, value] : llvm::enumerate(op.getOutputs(), outputs)) {
    if (!value)
      return emitError(function.getLoc())
             << "output '" << nameOf(function.getResultAttrDict(i)) << "' is of type "
             << onnx::typeText(output.getType()) << ", which is not supported";
    if (auto tensor = dyn_cast<RankedTensorType>(value.getType()))
      checkDeclaredType(i, function.getResultTypes()[i], tensor);
    types.push_back(value.getType());
  }
  builder.setInsertionPoint(op);
  func::ReturnOp::create(builder, op.getLoc(), outputs);
  function.setType(builder.getFunctionType(op->getBlock()->getArgumentTypes(), types));

  // Backwards, an operation is dead once its readers are gone: onnx nodes all
  // are, lumen operations where only a folded chain read them.
  eraseDead(*op->getBlock());
  for (Operation &other : llvm::make_early_inc_range(*module.getBody()))
    if (&other != function)
      other.erase();
  module->removeAttr(onnx::OnnxDialect::getOpsetsAttrName());
  return success();
}

LogicalResult GraphConverter::run() {
  if (failed(checkArguments()))
    return failure();
  Block &body = function.getBody().front();
  nameDimensions();
  for (Value argument : body.getArguments())
    values[argument] = argument;
  // Before the nodes, which are erased at the end.
  builder.setInsertionPointToStart(&body);
  checkBounds();
  SmallVector<Value> outputs = convertFrom(body, body.begin());
  reportUnsupported();
  if (hasErrors)
    return failure();
  return finish(cast<onnx::ReturnOp>(body.getTerminator()), outputs);
}

namespace {

struct ConvertOnnxToLumen : lumen::impl::ConvertOnnxToLumenBase<ConvertOnnxToLumen> {
  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!function || function.isExternal()) {
      getOperation().emitError("has no graph '@main'");
      return signalPassFailure();
    }
    if (failed(GraphConverter(getOperation(), function).run()))
      signalPassFailure();
  }
};

} // namespace
