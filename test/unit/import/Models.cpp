//===- Models.cpp ---------------------------------------------------------===//

#include "Models.h"

#include "llvm/ADT/StringExtras.h"

namespace lumen::test {

::onnx::ModelProto emptyModel() {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  auto *opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(17);
  model.mutable_graph()->set_name("g");
  return model;
}

void addValue(::onnx::ValueInfoProto *value, const std::string &name, int32_t type,
              const std::vector<std::string> &dims) {
  value->set_name(name);
  auto *tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (const std::string &dim : dims) {
    auto *entry = tensor->mutable_shape()->add_dim();
    int64_t size;
    if (llvm::to_integer(dim, size, 10))
      entry->set_dim_value(size);
    else if (!dim.empty())
      entry->set_dim_param(dim);
  }
}

::onnx::NodeProto *addNode(::onnx::GraphProto *graph, const std::string &type,
                           const std::string &name, const std::vector<std::string> &inputs,
                           const std::vector<std::string> &outputs) {
  auto *node = graph->add_node();
  node->set_op_type(type);
  node->set_name(name);
  for (const std::string &input : inputs)
    node->add_input(input);
  for (const std::string &output : outputs)
    node->add_output(output);
  return node;
}

::onnx::TensorProto *addInitializer(::onnx::GraphProto *graph, const std::string &name,
                                    int32_t type, const std::vector<int64_t> &dims) {
  auto *tensor = graph->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  for (int64_t dim : dims)
    tensor->add_dims(dim);
  return tensor;
}

::onnx::ModelProto reluModel() {
  ::onnx::ModelProto model = emptyModel();
  auto *graph = model.mutable_graph();
  addValue(graph->add_input(), "x", ::onnx::TensorProto::FLOAT, {"N", "4"});
  addNode(graph, "Relu", "r", {"x"}, {"y"});
  addValue(graph->add_output(), "y", ::onnx::TensorProto::FLOAT, {"N", "4"});
  return model;
}

static ::onnx::AttributeProto *addAttr(::onnx::NodeProto *node, const std::string &name,
                                       ::onnx::AttributeProto::AttributeType type) {
  auto *attr = node->add_attribute();
  attr->set_name(name);
  attr->set_type(type);
  return attr;
}

::onnx::ModelProto richModel() {
  ::onnx::ModelProto model = reluModel();
  model.set_ir_version(10);
  auto *opset = model.add_opset_import();
  opset->set_domain("my");
  opset->set_version(1);
  auto *graph = model.mutable_graph();

  // Tensors in every form.
  std::string raw(8192, '\1');
  raw[5] = '\2';
  addInitializer(graph, "large", ::onnx::TensorProto::FLOAT, {2, 1024})->set_raw_data(raw);
  addInitializer(graph, "small", ::onnx::TensorProto::INT64, {2})->set_raw_data(raw.substr(0, 16));
  auto *typed = addInitializer(graph, "typed", ::onnx::TensorProto::FLOAT16, {3});
  for (int i = 0; i < 3; ++i)
    typed->add_int32_data(15360 + i);
  auto *strings = addInitializer(graph, "strings", ::onnx::TensorProto::STRING, {2});
  strings->add_string_data("a");
  strings->add_string_data("b");
  addInitializer(graph, "nibbles", ::onnx::TensorProto::INT4, {3})->set_raw_data("\x21\x03");
  auto *sparse = graph->add_sparse_initializer();
  sparse->add_dims(8);
  sparse->mutable_values()->set_name("sparse");
  sparse->mutable_values()->set_data_type(::onnx::TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(1);
  sparse->mutable_values()->add_float_data(1.5f);
  sparse->mutable_indices()->set_data_type(::onnx::TensorProto::INT64);
  sparse->mutable_indices()->add_dims(1);
  sparse->mutable_indices()->add_int64_data(3);

  // Attributes of every kind, and absent inputs and outputs.
  auto *node = addNode(graph, "Everything", "", {"x", "", "large", ""}, {"", "e", ""});
  node->set_domain("my");
  addAttr(node, "f", ::onnx::AttributeProto::FLOAT)->set_f(0.5f);
  addAttr(node, "i", ::onnx::AttributeProto::INT)->set_i(-3);
  addAttr(node, "s", ::onnx::AttributeProto::STRING)->set_s("same");
  auto *floats = addAttr(node, "floats", ::onnx::AttributeProto::FLOATS);
  floats->add_floats(1.0f);
  floats->add_floats(2.0f);
  addAttr(node, "ints", ::onnx::AttributeProto::INTS)->add_ints(7);
  addAttr(node, "none", ::onnx::AttributeProto::INTS);
  addAttr(node, "strs", ::onnx::AttributeProto::STRINGS)->add_strings("q");
  *addAttr(node, "t", ::onnx::AttributeProto::TENSOR)->mutable_t() = graph->initializer(1);
  *addAttr(node, "ts", ::onnx::AttributeProto::TENSORS)->add_tensors() = graph->initializer(2);
  *addAttr(node, "sp", ::onnx::AttributeProto::SPARSE_TENSOR)->mutable_sparse_tensor() = *sparse;
  auto *type = addAttr(node, "tp", ::onnx::AttributeProto::TYPE_PROTO)->mutable_tp();
  type->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);

  // A body that sees the graph around it.
  addValue(graph->add_input(), "c", ::onnx::TensorProto::BOOL, {});
  auto *branch = addNode(graph, "If", "if", {"c"}, {"z"});
  for (const char *name : {"then_branch", "else_branch"}) {
    auto *body = addAttr(branch, name, ::onnx::AttributeProto::GRAPH)->mutable_g();
    body->set_name(name);
    addNode(body, "Neg", "", {"y"}, {"inner"});
    body->add_output()->set_name("inner");
  }

  // A function with a parameter, and one that calls it.
  auto *scale = model.add_functions();
  scale->set_domain("my");
  scale->set_name("Scale");
  scale->add_input("a");
  scale->add_output("b");
  scale->add_attribute("alpha");
  *scale->add_opset_import() = model.opset_import(0);
  auto *elu = scale->add_node();
  elu->set_op_type("Elu");
  elu->add_input("a");
  elu->add_output("b");
  auto *ref = addAttr(elu, "alpha", ::onnx::AttributeProto::FLOAT);
  ref->set_ref_attr_name("alpha");
  auto *twice = model.add_functions();
  twice->set_domain("my");
  twice->set_name("Twice");
  twice->add_input("a");
  twice->add_output("b");
  *twice->add_opset_import() = model.opset_import(1);
  auto *inner = twice->add_node();
  inner->set_op_type("Scale");
  inner->set_domain("my");
  inner->add_input("a");
  inner->add_output("b");
  addAttr(inner, "alpha", ::onnx::AttributeProto::FLOAT)->set_f(2.0f);
  auto *call = addNode(graph, "Twice", "call", {"z"}, {"w"});
  call->set_domain("my");

  addValue(graph->add_value_info(), "z", ::onnx::TensorProto::FLOAT, {"N", "4"});
  addValue(graph->add_output(), "w", ::onnx::TensorProto::FLOAT, {"N", "M"});
  return model;
}

std::string Imported::text() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (module)
    module.get().print(os, mlir::OpPrintingFlags());
  return text;
}

BlobTable &Imported::blobs() const { return context->getOrLoadDialect<LumenDialect>()->getBlobs(); }

Imported importBytes(const std::string &bytes, const ImportOptions &options,
                     const std::string &path) {
  Imported result;
  result.context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics("m.onnx");
  result.module = importOnnx(*result.context, llvm::MemoryBuffer::getMemBufferCopy(bytes), path,
                             options, diagnostics);
  result.failed = diagnostics.failed();
  llvm::raw_string_ostream os(result.messages);
  diagnostics.print(os);
  return result;
}

Imported importModel(const ::onnx::ModelProto &model, const ImportOptions &options,
                     const std::string &path) {
  return importBytes(model.SerializeAsString(), options, path);
}

} // namespace lumen::test
