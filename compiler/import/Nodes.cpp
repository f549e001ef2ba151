//===- Nodes.cpp - nodes and their attributes -----------------------------===//

#include "compiler/import/Graph.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using google::protobuf::RepeatedPtrField;
using ::onnx::AttributeProto;
using ::onnx::NodeProto;

namespace lumen {

std::string nodeLabel(const NodeProto &node) {
  std::string name = node.name();
  for (const std::string &output : node.output())
    if (name.empty())
      name = output;
  return node.op_type() + " '" + name + "'";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

namespace {
/// One row per content field of AttributeProto.
struct Content {
  AttributeProto::AttributeType type;
  const char *name;
  bool (*isPresent)(const AttributeProto &);
};
} // namespace

#define LUMEN_SINGLE(type, name, field)                                                            \
  {                                                                                                \
    AttributeProto::type, name, [](const AttributeProto &attr) { return attr.has_##field(); }      \
  }
#define LUMEN_LIST(type, name, field)                                                              \
  {                                                                                                \
    AttributeProto::type, name, [](const AttributeProto &attr) { return attr.field##_size() > 0; } \
  }
static const Content kContents[] = {
    LUMEN_SINGLE(FLOAT, "a float", f),
    LUMEN_SINGLE(INT, "an int", i),
    LUMEN_SINGLE(STRING, "a string", s),
    LUMEN_SINGLE(TENSOR, "a tensor", t),
    LUMEN_SINGLE(GRAPH, "a graph", g),
    LUMEN_SINGLE(SPARSE_TENSOR, "a sparse tensor", sparse_tensor),
    LUMEN_SINGLE(TYPE_PROTO, "a type", tp),
    LUMEN_LIST(FLOATS, "floats", floats),
    LUMEN_LIST(INTS, "ints", ints),
    LUMEN_LIST(STRINGS, "strings", strings),
    LUMEN_LIST(TENSORS, "tensors", tensors),
    LUMEN_LIST(GRAPHS, "graphs", graphs),
    LUMEN_LIST(SPARSE_TENSORS, "sparse tensors", sparse_tensors),
    LUMEN_LIST(TYPE_PROTOS, "types", type_protos),
};
#undef LUMEN_SINGLE
#undef LUMEN_LIST

bool hasValue(const AttributeProto &attr) {
  return llvm::any_of(kContents, [&](const Content &content) { return content.isPresent(attr); });
}

/// The type of an attribute's value, checked against what is there.
static AttributeProto::AttributeType
checkedType(const AttributeProto &attr, const std::string &what, Diagnostics &diagnostics) {
  const Content *declared = nullptr, *present = nullptr;
  for (const Content &content : kContents) {
    if (content.type == attr.type())
      declared = &content;
    if (!content.isPresent(attr))
      continue;
    if (present) {
      diagnostics.error(what + ": holds " + present->name + " and " + content.name);
      return AttributeProto::UNDEFINED;
    }
    present = &content;
  }
  // Files before IR 2 do not declare a type.
  if (!declared && !present) {
    diagnostics.error(what + ": has no value");
    return AttributeProto::UNDEFINED;
  }
  if (!declared)
    return present->type;
  // Some writers leave zeros and empty lists out.
  if (present && present != declared) {
    diagnostics.error(what + ": is declared as " + declared->name + ", but holds " + present->name);
    return AttributeProto::UNDEFINED;
  }
  return declared->type;
}

/// All of `elements` converted by `convert`; null when one of them fails.
template <typename Elements, typename Convert>
static Attribute arrayOf(MLIRContext *context, const Elements &elements, Convert convert) {
  SmallVector<Attribute> attrs;
  for (const auto &element : elements) {
    Attribute attr = convert(element);
    if (!attr)
      return {};
    attrs.push_back(attr);
  }
  return ArrayAttr::get(context, attrs);
}

Attribute GraphBuilder::attribute(const AttributeProto &attr, const std::string &what) {
  auto tensor = [&](const ::onnx::TensorProto &proto) -> Attribute {
    return tensors.read(proto, what);
  };
  auto sparse = [&](const ::onnx::SparseTensorProto &proto) -> Attribute {
    return tensors.read(proto, what);
  };
  auto type = [&](const ::onnx::TypeProto &proto) -> Attribute {
    Type type = types.type(proto, what);
    return type ? TypeAttr::get(type) : Attribute();
  };
  switch (checkedType(attr, what, diagnostics)) {
  case AttributeProto::FLOAT:
    return builder.getF32FloatAttr(attr.f());
  case AttributeProto::INT:
    return builder.getI64IntegerAttr(attr.i());
  case AttributeProto::STRING:
    return builder.getStringAttr(attr.s());
  case AttributeProto::TENSOR:
    return tensor(attr.t());
  case AttributeProto::SPARSE_TENSOR:
    return sparse(attr.sparse_tensor());
  case AttributeProto::TYPE_PROTO:
    return type(attr.tp());
  case AttributeProto::FLOATS:
    return builder.getDenseF32ArrayAttr(llvm::to_vector(attr.floats()));
  case AttributeProto::INTS:
    return builder.getDenseI64ArrayAttr(
        SmallVector<int64_t>(attr.ints().begin(), attr.ints().end()));
  case AttributeProto::STRINGS:
    return arrayOf(context, attr.strings(),
                   [&](const std::string &text) { return builder.getStringAttr(text); });
  case AttributeProto::TENSORS:
    return arrayOf(context, attr.tensors(), tensor);
  case AttributeProto::SPARSE_TENSORS:
    return arrayOf(context, attr.sparse_tensors(), sparse);
  case AttributeProto::TYPE_PROTOS:
    return arrayOf(context, attr.type_protos(), type);
  case AttributeProto::GRAPH:
  case AttributeProto::GRAPHS:
    diagnostics.error(what + ": a graph is not possible here");
    return {};
  case AttributeProto::UNDEFINED:
    break;
  }
  return {};
}

DictionaryAttr GraphBuilder::attributes(const RepeatedPtrField<AttributeProto> &attrs,
                                        const std::string &what,
                                        SmallVectorImpl<const AttributeProto *> *graphs) {
  NamedAttrList list;
  llvm::StringSet<> seen;
  for (const AttributeProto &attr : attrs) {
    std::string attrWhat = what + ": attribute '" + attr.name() + "'";
    if (attr.name().empty()) {
      diagnostics.error(what + ": an attribute has no name");
      continue;
    }
    if (!seen.insert(attr.name()).second) {
      diagnostics.error(attrWhat + ": is given twice");
      continue;
    }
    if (!attr.ref_attr_name().empty()) {
      if (!inFunction)
        diagnostics.error(attrWhat + ": refers to '" + attr.ref_attr_name() +
                          "' of a function, but is not inside one");
      else if (attr.type() == AttributeProto::GRAPH || attr.type() == AttributeProto::GRAPHS)
        diagnostics.error(attrWhat + ": graphs as parameters of functions are not supported");
      else
        list.append(attr.name(),
                    onnx::RefAttr::get(context, builder.getStringAttr(attr.ref_attr_name())));
      continue;
    }
    if (graphs && (attr.has_g() || attr.graphs_size())) {
      if (checkedType(attr, attrWhat, diagnostics) != AttributeProto::UNDEFINED)
        graphs->push_back(&attr);
      continue;
    }
    if (Attribute value = attribute(attr, attrWhat))
      list.append(attr.name(), value);
  }
  return list.getDictionary(context);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Value GraphBuilder::absent() {
  if (!absentValue) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    absentValue = onnx::AbsentOp::create(builder, builder.getUnknownLoc(), builder.getNoneType());
  }
  return absentValue;
}

/// Says why no value of that name can be seen: it comes later, comes from the
/// node itself in a circle, or does not exist.
void GraphBuilder::reportMissing(const NodeProto &node, int index, StringRef name,
                                 const Scope &scope) {
  std::string what = nodeLabel(node) + ": input '" + name.str() + "'";
  const Nodes &nodes = *scope.nodes;
  // Errors are few, so the table is made for each.
  llvm::StringMap<int> makers;
  for (auto [i, other] : llvm::enumerate(nodes))
    for (const std::string &output : other.output())
      if (!output.empty())
        makers.try_emplace(output, i);
  auto it = makers.find(name);
  if (it == makers.end()) {
    diagnostics.error(what + " is not produced by any earlier node, nor is it an input or "
                             "initializer");
    return;
  }

  // A way from the maker back to this node closes a circle.
  SmallVector<int> stack{it->second};
  std::vector<int> next(nodes.size(), -1);
  std::vector<bool> seen(nodes.size());
  seen[it->second] = true;
  while (!stack.empty()) {
    int at = stack.pop_back_val();
    if (at == index) {
      std::string circle = nodeLabel(node);
      for (int i = index, shown = 0; i != it->second && shown < 8; ++shown) {
        i = next[i];
        circle += " -> " + nodeLabel(nodes[i]);
      }
      diagnostics.error(what + " closes a cycle: " + circle);
      return;
    }
    for (const std::string &from : nodes[at].input()) {
      auto maker = makers.find(from);
      if (maker != makers.end() && !seen[maker->second]) {
        seen[maker->second] = true;
        next[maker->second] = at;
        stack.push_back(maker->second);
      }
    }
  }
  diagnostics.error(what + " is not produced by any earlier node, but by the later " +
                    nodeLabel(nodes[it->second]));
}

Value GraphBuilder::input(const NodeProto &node, int index, StringRef name, const Scope &scope) {
  if (name.empty())
    return absent();
  Value value = scope.find(name);
  if (value)
    return value;
  // The search for the reason takes time.
  if (!diagnostics.full())
    reportMissing(node, index, name, scope);
  return absent();
}

void GraphBuilder::buildNode(const NodeProto &node, int index, Scope &scope) {
  std::string what = nodeLabel(node);
  Location loc = named(what);
  if (node.op_type().empty()) {
    diagnostics.error("node '" + node.name() + "': has no operator");
    return;
  }
  StringRef domain = normalizedDomain(node.domain());
  std::string callee = functionSymbol(node.domain(), node.op_type(), node.overload());
  bool isCall = functions.contains(callee);
  if (!isCall && !node.overload().empty())
    diagnostics.error(what + ": overload '" + node.overload() + "' of '" + node.op_type() +
                      "' is not a function of the model");
  if (!isCall && !domains->contains(domain) && !domains->empty())
    diagnostics.error(what + ": its domain '" + (domain.empty() ? "ai.onnx" : domain.str()) +
                      "' is not imported");

  SmallVector<Value> inputs;
  for (const std::string &name : node.input())
    inputs.push_back(input(node, index, name, scope));
  for (int i = node.input_size() - 1; i >= 0 && node.input(i).empty(); --i)
    inputs.pop_back();

  SmallVector<Type> outputs;
  for (const std::string &name : node.output()) {
    auto hint = scope.hints.find(name);
    outputs.push_back(name.empty()                ? builder.getNoneType()
                      : hint != scope.hints.end() ? hint->second
                                                  : unknown());
  }
  while (!outputs.empty() && isa<NoneType>(outputs.back()))
    outputs.pop_back();

  SmallVector<const AttributeProto *> graphs;
  DictionaryAttr attrs = attributes(node.attribute(), what, &graphs);
  Operation *op;
  if (isCall) {
    const ::onnx::FunctionProto &function = *functions.lookup(callee);
    if (int(inputs.size()) > function.input_size() || int(outputs.size()) > function.output_size())
      diagnostics.error(what + ": has " + Twine(inputs.size()) + " inputs and " +
                        Twine(outputs.size()) + " outputs, but function '" + callee + "' has " +
                        Twine(function.input_size()) + " and " + Twine(function.output_size()));
    for (const AttributeProto *graph : graphs)
      diagnostics.error(what + ": attribute '" + graph->name() +
                        "': graphs as parameters of functions are not supported");
    op = onnx::CallOp::create(builder, loc, outputs, callee, attrs, inputs);
  } else {
    // Bodies come in the order of their names, as attributes do.
    llvm::sort(graphs, [](auto *a, auto *b) { return a->name() < b->name(); });
    SmallVector<StringRef> bodyNames;
    SmallVector<const ::onnx::GraphProto *> bodies;
    for (const AttributeProto *attr : graphs) {
      if (attr->has_g())
        bodies.push_back(&attr->g());
      for (const ::onnx::GraphProto &graph : attr->graphs())
        bodies.push_back(&graph);
      bodyNames.resize(bodies.size(), attr->name());
    }
    auto nodeOp = onnx::NodeOp::create(builder, loc, outputs, node.op_type(), domain, inputs, attrs,
                                       bodyNames);
    for (auto [graph, name, region] : llvm::zip(bodies, bodyNames, nodeOp.getBodies()))
      buildBody(*graph, region, scope, what + ": " + name.str());
    op = nodeOp;
  }
  for (auto [name, value] : llvm::zip(node.output(), op->getResults()))
    if (!name.empty())
      define(name, value, what, scope);
}

void GraphBuilder::buildNodes(const Nodes &nodes, Scope &scope) {
  for (auto [i, node] : llvm::enumerate(nodes)) {
    // The module is thrown away; what follows would only be counted.
    if (diagnostics.full())
      return;
    buildNode(node, i, scope);
  }
}

} // namespace lumen
