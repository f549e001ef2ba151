//===- Graph.cpp - graphs and functions -----------------------------------===//

#include "compiler/import/Graph.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using google::protobuf::RepeatedPtrField;
using ::onnx::ValueInfoProto;

namespace lumen {

//===----------------------------------------------------------------------===//
// Operator sets
//===----------------------------------------------------------------------===//

StringRef normalizedDomain(StringRef domain) { return domain == "ai.onnx" ? "" : domain; }

/// The default domain needs a name where an empty key is not possible.
static StringRef shownDomain(StringRef domain) { return domain.empty() ? "ai.onnx" : domain; }

llvm::StringMap<int64_t> readOpsets(const RepeatedPtrField<::onnx::OperatorSetIdProto> &opsets,
                                    const Twine &what, Diagnostics &diagnostics) {
  // What this version reads; of other domains every version.
  struct Range {
    StringRef domain;
    int64_t oldest, newest;
  };
  static const Range ranges[] = {{"", 7, LUMEN_NEWEST_OPSET},
                                 {"ai.onnx.ml", 1, LUMEN_NEWEST_ML_OPSET}};

  llvm::StringMap<int64_t> result;
  for (const auto &opset : opsets) {
    StringRef domain = normalizedDomain(opset.domain());
    int64_t version = opset.version();
    const auto *range = llvm::find_if(ranges, [&](auto &range) { return range.domain == domain; });
    int64_t oldest = range == std::end(ranges) ? 1 : range->oldest;
    int64_t newest = range == std::end(ranges) ? INT64_MAX : range->newest;
    if (version < oldest || version > newest) {
      StringRef advice;
      if (domain.empty() && version < oldest)
        advice = "; convert it with onnx.version_converter";
      diagnostics.error(what + "imports version " + Twine(version) + " of operator set '" +
                        shownDomain(domain) + "', expected " + Twine(oldest) +
                        (newest == INT64_MAX ? Twine(" or more") : " to " + Twine(newest)) +
                        advice);
    }
    auto [it, isNew] = result.try_emplace(domain, version);
    if (!isNew && it->second != version)
      diagnostics.error(what + "imports operator set '" + shownDomain(domain) + "' twice, as " +
                        Twine(it->second) + " and " + Twine(version));
  }
  return result;
}

DictionaryAttr opsetsAttr(MLIRContext *context, const llvm::StringMap<int64_t> &opsets) {
  Builder builder(context);
  SmallVector<NamedAttribute> entries;
  for (const auto &opset : opsets)
    entries.push_back(
        builder.getNamedAttr(shownDomain(opset.first()), builder.getI64IntegerAttr(opset.second)));
  return builder.getDictionaryAttr(entries);
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

GraphBuilder::GraphBuilder(ModuleOp module, const ::onnx::ModelProto &model, Symbols &symbols,
                           TensorReader &tensors, Diagnostics &diagnostics)
    : module(module), model(model), symbols(symbols), tensors(tensors), diagnostics(diagnostics),
      context(module.getContext()), types(context, symbols, diagnostics), builder(context) {
  modelDomains = readOpsets(model.opset_import(), "the model ", diagnostics);
  if (model.opset_import().empty())
    diagnostics.error("the model imports no operator set");
  module->setAttr(onnx::OnnxDialect::getOpsetsAttrName(), opsetsAttr(context, modelDomains));
}

Value GraphBuilder::Scope::find(StringRef name) const {
  for (const Scope *scope = this; scope; scope = scope->outer) {
    auto it = scope->values.find(name);
    if (it != scope->values.end())
      return it->second;
  }
  return {};
}

Location GraphBuilder::named(const Twine &name) {
  return NameLoc::get(StringAttr::get(context, name));
}

bool GraphBuilder::define(StringRef name, Value value, const std::string &maker, Scope &scope) {
  auto [it, isNew] = scope.makers.try_emplace(name, maker);
  if (isNew)
    scope.values[name] = value;
  else
    diagnostics.error(maker + ": value '" + name + "' is already made by " + it->second);
  return isNew;
}

void GraphBuilder::readHints(const RepeatedPtrField<ValueInfoProto> &values, Scope &scope) {
  for (const ValueInfoProto &value : values)
    if (!value.name().empty())
      scope.hints.try_emplace(value.name(), types.hint(value));
}

Value GraphBuilder::output(StringRef name, Scope &scope, const Twine &what) {
  Value value = scope.find(name);
  if (value)
    return value;
  diagnostics.error(what + ": is not made by any node");
  return absent();
}

void GraphBuilder::buildInitializers(const ::onnx::GraphProto &graph, Scope &scope) {
  for (const ::onnx::TensorProto &tensor : graph.initializer()) {
    if (diagnostics.full())
      return;
    std::string what = "initializer '" + tensor.name() + "'";
    if (tensor.name().empty()) {
      diagnostics.error("an initializer has no name");
      continue;
    }
    TypedAttr value = tensors.read(tensor, what);
    if (!value)
      define(tensor.name(), absent(), what, scope);
    else
      define(tensor.name(), onnx::ConstantOp::create(builder, named(what), value), what, scope);
  }
  for (const ::onnx::SparseTensorProto &tensor : graph.sparse_initializer()) {
    std::string what = "sparse initializer '" + tensor.values().name() + "'";
    if (tensor.values().name().empty()) {
      diagnostics.error("a sparse initializer has no name");
      continue;
    }
    onnx::SparseTensorAttr value = tensors.read(tensor, what);
    if (!value) {
      define(tensor.values().name(), absent(), what, scope);
      continue;
    }
    auto type = onnx::SparseType::get(context, value.getDenseType());
    define(tensor.values().name(),
           onnx::SparseConstantOp::create(builder, named(what), type, value), what, scope);
  }
}

//===----------------------------------------------------------------------===//
// The main graph
//===----------------------------------------------------------------------===//

/// An input with an initializer has a default that a caller could replace; we
/// take it as the constant that it is in practice (required before IR 4).
void GraphBuilder::checkDeclaredInitializer(const ValueInfoProto &input, Scope &scope) {
  if (input.type().value_case() == ::onnx::TypeProto::VALUE_NOT_SET)
    return;
  std::string what = "input '" + input.name() + "'";
  auto declared = dyn_cast_or_null<RankedTensorType>(types.signature(input, what));
  auto actual = dyn_cast<RankedTensorType>(scope.find(input.name()).getType());
  if (!declared || !actual)
    return;
  if (declared.getElementType() != actual.getElementType() ||
      failed(verifyCompatibleShape(declared.getShape(), actual.getShape()))) {
    diagnostics.error(what + ": is declared as " + onnx::typeText(declared) +
                      ", but its initializer is " + onnx::typeText(actual));
  }
}

void GraphBuilder::buildMain(const ImportOptions &options) {
  const ::onnx::GraphProto &graph = model.graph();
  domains = &modelDomains;
  inFunction = false;
  absentValue = {};

  llvm::StringSet<> initialized;
  for (const auto &tensor : graph.initializer())
    initialized.insert(tensor.name());
  for (const auto &tensor : graph.sparse_initializer())
    initialized.insert(tensor.values().name());

  SmallVector<const ValueInfoProto *> inputs;
  llvm::StringSet<> seen;
  for (const ValueInfoProto &input : graph.input()) {
    if (input.name().empty())
      diagnostics.error("a graph input has no name");
    else if (!seen.insert(input.name()).second)
      diagnostics.error("input '" + input.name() + "': is declared twice");
    else if (!initialized.contains(input.name()))
      inputs.push_back(&input);
  }
  symbols.bind(inputs, options, diagnostics);

  SmallVector<Type> inputTypes, outputTypes;
  for (const ValueInfoProto *input : inputs) {
    Type type = types.signature(*input, "input '" + input->name() + "'");
    inputTypes.push_back(type ? type : unknown());
  }
  if (graph.output().empty())
    diagnostics.error("the graph has no outputs");
  seen.clear();
  for (const ValueInfoProto &output : graph.output()) {
    std::string what = "output '" + output.name() + "'";
    if (!seen.insert(output.name()).second)
      diagnostics.error(what + ": is listed twice");
    // Inference finds the type of an output where the file has none.
    Type type = output.type().value_case() == ::onnx::TypeProto::VALUE_NOT_SET
                    ? unknown()
                    : types.signature(output, what);
    outputTypes.push_back(type ? type : unknown());
  }

  builder.setInsertionPointToEnd(module.getBody());
  // What is said about the whole graph needs no name beside the file's.
  auto main = func::FuncOp::create(builder, builder.getUnknownLoc(), "main",
                                   builder.getFunctionType(inputTypes, outputTypes));
  entry = main.addEntryBlock();
  builder.setInsertionPointToStart(entry);

  Scope scope(nullptr);
  scope.nodes = &graph.node();
  StringRef nameAttr = onnx::OnnxDialect::getNameAttrName();
  for (auto [i, input] : llvm::enumerate(inputs)) {
    std::string what = "input '" + input->name() + "'";
    main.setArgAttr(i, nameAttr, builder.getStringAttr(input->name()));
    main.getArgument(i).setLoc(named(what));
    define(input->name(), main.getArgument(i), what, scope);
  }
  for (auto [i, output] : llvm::enumerate(graph.output()))
    main.setResultAttr(i, nameAttr, builder.getStringAttr(output.name()));

  buildInitializers(graph, scope);
  for (const ValueInfoProto &input : graph.input())
    if (initialized.contains(input.name()) && scope.find(input.name()))
      checkDeclaredInitializer(input, scope);
  readHints(graph.value_info(), scope);
  readHints(graph.output(), scope);
  buildNodes(graph.node(), scope);
  if (diagnostics.full())
    return;
  SmallVector<Value> outputs;
  for (const ValueInfoProto &value : graph.output())
    outputs.push_back(output(value.name(), scope, "output '" + value.name() + "'"));
  onnx::ReturnOp::create(builder, main.getLoc(), outputs);
}

//===----------------------------------------------------------------------===//
// Bodies of nodes
//===----------------------------------------------------------------------===//

void GraphBuilder::buildBody(const ::onnx::GraphProto &graph, Region &region, const Scope &outer,
                             const std::string &what) {
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&region);
  Scope scope(&outer);
  scope.nodes = &graph.node();
  for (const ValueInfoProto &input : graph.input()) {
    std::string maker = what + " input '" + input.name() + "'";
    Value argument = block->addArgument(types.hint(input), named("input '" + input.name() + "'"));
    if (input.name().empty())
      diagnostics.error(what + ": an input has no name");
    else
      define(input.name(), argument, maker, scope);
  }
  buildInitializers(graph, scope);
  readHints(graph.value_info(), scope);
  readHints(graph.output(), scope);
  buildNodes(graph.node(), scope);
  SmallVector<Value> outputs;
  for (const ValueInfoProto &value : graph.output())
    outputs.push_back(output(value.name(), scope, what + " output '" + value.name() + "'"));
  onnx::ReturnOp::create(builder, named(what), outputs);
}

//===----------------------------------------------------------------------===//
// Functions of the model
//===----------------------------------------------------------------------===//

std::string functionSymbol(StringRef domain, StringRef name, StringRef overload) {
  std::string symbol = (shownDomain(normalizedDomain(domain)) + "::" + name).str();
  if (!overload.empty())
    symbol += ("::" + overload).str();
  return symbol;
}

static std::string symbolOf(const ::onnx::FunctionProto &function) {
  return functionSymbol(function.domain(), function.name(), function.overload());
}

/// Calls `visit` on every node, those of graphs in attributes included.
static void walkNodes(const Nodes &nodes,
                      llvm::function_ref<void(const ::onnx::NodeProto &)> visit) {
  for (const ::onnx::NodeProto &node : nodes) {
    visit(node);
    for (const ::onnx::AttributeProto &attr : node.attribute()) {
      if (attr.has_g())
        walkNodes(attr.g().node(), visit);
      for (const ::onnx::GraphProto &graph : attr.graphs())
        walkNodes(graph.node(), visit);
    }
  }
}

void GraphBuilder::indexFunctions() {
  for (const ::onnx::FunctionProto &function : model.functions()) {
    if (function.name().empty())
      diagnostics.error("a function has no name");
    else if (!functions.try_emplace(symbolOf(function), &function).second)
      diagnostics.error("function '" + symbolOf(function) + "': is defined twice");
  }
}

/// A function must not call itself, nor through others.
void GraphBuilder::reportFunctionCycles() {
  // Depth first with an explicit stack; a function is done, open or new.
  enum class State { New, Open, Done };
  llvm::StringMap<State> states;
  llvm::StringMap<std::vector<std::string>> calls;
  for (const ::onnx::FunctionProto &function : model.functions()) {
    std::vector<std::string> &callees = calls[symbolOf(function)];
    walkNodes(function.node(), [&](const ::onnx::NodeProto &node) {
      std::string callee = functionSymbol(node.domain(), node.op_type(), node.overload());
      if (functions.contains(callee))
        callees.push_back(std::move(callee));
    });
  }
  for (const ::onnx::FunctionProto &function : model.functions()) {
    std::vector<std::pair<std::string, size_t>> stack{{symbolOf(function), 0}};
    if (states.lookup(stack.back().first) != State::New)
      continue;
    states[stack.back().first] = State::Open;
    while (!stack.empty()) {
      std::vector<std::string> &callees = calls[stack.back().first];
      if (stack.back().second == callees.size()) {
        states[stack.back().first] = State::Done;
        stack.pop_back();
        continue;
      }
      const std::string &callee = callees[stack.back().second++];
      State state = states.lookup(callee);
      if (state == State::Open) {
        diagnostics.error("function '" + callee + "': calls itself" +
                          (stack.back().first == callee ? std::string()
                                                        : " through '" + stack.back().first + "'"));
      } else if (state == State::New) {
        states[callee] = State::Open;
        stack.push_back({callee, 0});
      }
    }
  }
}

void GraphBuilder::buildFunction(const ::onnx::FunctionProto &function) {
  std::string symbol = symbolOf(function), what = "function '" + symbol + "'";
  Domains ownDomains = readOpsets(function.opset_import(), what + ": ", diagnostics);
  domains = &ownDomains;
  inFunction = true;
  absentValue = {};

  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> inputs(function.input_size(), unknown());
  SmallVector<Type> outputs(function.output_size(), unknown());
  auto op =
      func::FuncOp::create(builder, named(what), symbol, builder.getFunctionType(inputs, outputs));
  op.setPrivate();
  SmallVector<StringRef> parameters(function.attribute().begin(), function.attribute().end());
  RepeatedPtrField<::onnx::AttributeProto> defaults;
  for (const ::onnx::AttributeProto &attr : function.attribute_proto()) {
    // Declared with its type, but without a default.
    if (hasValue(attr))
      *defaults.Add() = attr;
    else
      parameters.push_back(attr.name());
  }
  op->setAttr(onnx::OnnxDialect::getParametersAttrName(), builder.getStrArrayAttr(parameters));
  op->setAttr(onnx::OnnxDialect::getDefaultsAttrName(),
              attributes(defaults, what, /*graphs=*/nullptr));
  op->setAttr(onnx::OnnxDialect::getOpsetsAttrName(), opsetsAttr(context, ownDomains));

  entry = op.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Scope scope(nullptr);
  scope.nodes = &function.node();
  for (auto [i, name] : llvm::enumerate(function.input()))
    define(name, op.getArgument(i), what + " input '" + name + "'", scope);
  readHints(function.value_info(), scope);
  buildNodes(function.node(), scope);
  SmallVector<Value> results;
  for (const std::string &name : function.output())
    results.push_back(output(name, scope, what + " output '" + name + "'"));
  onnx::ReturnOp::create(builder, op.getLoc(), results);
}

void GraphBuilder::buildFunctions() {
  indexFunctions();
  reportFunctionCycles();
  llvm::StringSet<> built;
  for (const ::onnx::FunctionProto &function : model.functions())
    if (!function.name().empty() && built.insert(symbolOf(function)).second && !diagnostics.full())
      buildFunction(function);
}

} // namespace lumen
