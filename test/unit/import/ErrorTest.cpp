//===- ErrorTest.cpp - every mistake in a model is named ------------------===//

#include "Models.h"

#include "gtest/gtest.h"

using ::onnx::AttributeProto;
using ::onnx::ModelProto;
using ::onnx::TensorProto;

namespace lumen::test {
namespace {

struct Fault {
  const char *message;
  void (*make)(ModelProto &);
};

void expectFaults(llvm::ArrayRef<Fault> faults) {
  for (const Fault &fault : faults) {
    ModelProto model = reluModel();
    fault.make(model);
    Imported imported = importModel(model);
    EXPECT_FALSE(imported.module) << fault.message;
    EXPECT_EQ(imported.messages, std::string("m.onnx: ") + fault.message + "\n");
  }
}

TEST(Error, NotAModel) {
  EXPECT_EQ(importBytes("").messages, "m.onnx: not an ONNX model: the file is empty\n");
  EXPECT_EQ(
      importBytes("#!/bin/sh\necho hello\n").messages,
      "m.onnx: not an ONNX model: byte 0: field 'domain' of ModelProto has wire type 3, expected "
      "2\n");
  EXPECT_EQ(importBytes(std::string("\x08\x08", 2)).messages,
            "m.onnx: not an ONNX model: it has no graph\n");
  Diagnostics diagnostics("no/such/file.onnx");
  mlir::MLIRContext context;
  EXPECT_FALSE(importOnnx(context, "no/such/file.onnx", {}, diagnostics));
  EXPECT_EQ(diagnostics.messages()[0].text, "No such file or directory");
  Diagnostics folder(".");
  EXPECT_FALSE(importOnnx(context, ".", {}, folder));
  EXPECT_EQ(folder.messages()[0].text, "is not a regular file");
}

TEST(Error, Model) {
  expectFaults({
      {"the model has IR version 99, expected 3 to 14",
       [](ModelProto &m) { m.set_ir_version(99); }},
      {"the model has no IR version", [](ModelProto &m) { m.clear_ir_version(); }},
      {"the model imports no operator set", [](ModelProto &m) { m.clear_opset_import(); }},
      {"the model imports operator set 'ai.onnx' twice, as 17 and 18",
       [](ModelProto &m) { m.add_opset_import()->set_version(18); }},
      {"Relu 'r': its domain 'other' is not imported",
       [](ModelProto &m) { m.mutable_graph()->mutable_node(0)->set_domain("other"); }},
  });
  ModelProto model = reluModel();
  model.mutable_opset_import(0)->set_version(6);
  EXPECT_EQ(importModel(model).messages.find(
                "m.onnx: the model imports version 6 of operator set 'ai.onnx', expected 7 to "),
            0u);
}

TEST(Error, Values) {
  expectFaults({
      {"Relu 'r': input 'q' is not produced by any earlier node, nor is it an input or initializer",
       [](ModelProto &m) { m.mutable_graph()->mutable_node(0)->set_input(0, "q"); }},
      {"Relu 'r': input 'z' is not produced by any earlier node, but by the later Neg 'n'",
       [](ModelProto &m) {
         m.mutable_graph()->mutable_node(0)->set_input(0, "z");
         addNode(m.mutable_graph(), "Neg", "n", {"x"}, {"z"});
       }},
      {"Relu 'r': input 'y' closes a cycle: Relu 'r'",
       [](ModelProto &m) { m.mutable_graph()->mutable_node(0)->set_input(0, "y"); }},
      {"Relu 'r': input 'z' closes a cycle: Relu 'r' -> Neg 'n'",
       [](ModelProto &m) {
         m.mutable_graph()->mutable_node(0)->set_input(0, "z");
         addNode(m.mutable_graph(), "Neg", "n", {"y"}, {"z"});
       }},
      {"Relu 'y': value 'y' is already made by Relu 'r'",
       [](ModelProto &m) { addNode(m.mutable_graph(), "Relu", "", {"x"}, {"y"}); }},
      {"input 'x': is declared twice",
       [](ModelProto &m) { addValue(m.mutable_graph()->add_input(), "x", 1, {}); }},
      {"input 'x': has no type",
       [](ModelProto &m) { m.mutable_graph()->mutable_input(0)->clear_type(); }},
      {"input 'x': element type 77 is not known to this version",
       [](ModelProto &m) {
         m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
             77);
       }},
      {"input 'i': dimension 1 is -5, expected a size or a symbol",
       [](ModelProto &m) {
         addValue(m.mutable_graph()->add_input(), "i", 1, {"N", "-5"});
       }},
      {"input 'i': a tensor of f32[4294967296x4294967296] is larger than memory can be",
       [](ModelProto &m) {
         addValue(m.mutable_graph()->add_input(), "i", 1, {"4294967296", "4294967296"});
       }},
      {"input 'i': has rank 65, expected at most 64",
       [](ModelProto &m) {
         addValue(m.mutable_graph()->add_input(), "i", 1, std::vector<std::string>(65, "1"));
       }},
      {"the graph has no outputs", [](ModelProto &m) { m.mutable_graph()->clear_output(); }},
      {"output 'y': is listed twice",
       [](ModelProto &m) { addValue(m.mutable_graph()->add_output(), "y", 1, {}); }},
      {"output 'q': is not made by any node",
       [](ModelProto &m) { addValue(m.mutable_graph()->add_output(), "q", 1, {}); }},
      {"an initializer has no name",
       [](ModelProto &m) { addInitializer(m.mutable_graph(), "", 7, {0}); }},
      {"initializer 'w': value 'w' is already made by initializer 'w'",
       [](ModelProto &m) {
         addInitializer(m.mutable_graph(), "w", 7, {0});
         addInitializer(m.mutable_graph(), "w", 7, {0});
       }},
      {"input 'w': is declared as f32[5], but its initializer is i64[0]",
       [](ModelProto &m) {
         addValue(m.mutable_graph()->add_input(), "w", 1, {"5"});
         addInitializer(m.mutable_graph(), "w", 7, {0});
       }},
  });
}

AttributeProto *addAttr(ModelProto &model, const char *name) {
  auto *attr = model.mutable_graph()->mutable_node(0)->add_attribute();
  attr->set_name(name);
  return attr;
}

TEST(Error, Nodes) {
  expectFaults({
      {"node 'r': has no operator",
       [](ModelProto &m) {
         m.mutable_graph()->mutable_node(0)->clear_op_type();
         m.mutable_graph()->mutable_output(0)->set_name("x");
       }},
      {"Relu 'r': an attribute has no name", [](ModelProto &m) { addAttr(m, "")->set_i(1); }},
      {"Relu 'r': attribute 'a': has no value", [](ModelProto &m) { addAttr(m, "a"); }},
      {"Relu 'r': attribute 'a': is given twice",
       [](ModelProto &m) {
         addAttr(m, "a")->set_i(1);
         addAttr(m, "a")->set_i(1);
       }},
      {"Relu 'r': attribute 'a': holds a float and an int",
       [](ModelProto &m) {
         auto *attr = addAttr(m, "a");
         attr->set_i(1);
         attr->set_f(1);
       }},
      {"Relu 'r': attribute 'a': is declared as an int, but holds floats",
       [](ModelProto &m) {
         auto *attr = addAttr(m, "a");
         attr->set_type(AttributeProto::INT);
         attr->add_floats(1);
       }},
      {"Relu 'r': attribute 'a': refers to 'b' of a function, but is not inside one",
       [](ModelProto &m) { addAttr(m, "a")->set_ref_attr_name("b"); }},
      {"Relu 'r': attribute 'a': 0 numbers in float_data, expected 1 for f32[scalar]",
       [](ModelProto &m) { addAttr(m, "a")->mutable_t()->set_data_type(1); }},
      {"Relu 'r': then_branch output 'q': is not made by any node",
       [](ModelProto &m) { addAttr(m, "then_branch")->mutable_g()->add_output()->set_name("q"); }},
      {"Relu 'r': overload 'o' of 'Relu' is not a function of the model",
       [](ModelProto &m) { m.mutable_graph()->mutable_node(0)->set_overload("o"); }},
  });
}

::onnx::FunctionProto *addFunction(ModelProto &model, const char *name) {
  auto *function = model.add_functions();
  function->set_name(name);
  function->set_domain("f");
  *function->add_opset_import() = model.opset_import(0);
  return function;
}

TEST(Error, Functions) {
  expectFaults({
      {"function 'f::A': is defined twice",
       [](ModelProto &m) {
         addFunction(m, "A");
         addFunction(m, "A");
       }},
      {"function 'f::A': calls itself through 'f::B'",
       [](ModelProto &m) {
         for (auto [name, callee] : {std::pair("A", "B"), std::pair("B", "A")}) {
           auto *node = addFunction(m, name)->add_node();
           node->set_op_type(callee);
           node->set_domain("f");
         }
       }},
      {"function 'f::A' output 'q': is not made by any node",
       [](ModelProto &m) { addFunction(m, "A")->add_output("q"); }},
      {"A 'n': has 1 inputs and 0 outputs, but function 'f::A' has 0 and 0",
       [](ModelProto &m) {
         addFunction(m, "A");
         addNode(m.mutable_graph(), "A", "n", {"x"}, {})->set_domain("f");
       }},
  });
}

TEST(Error, Bindings) {
  struct Binding {
    const char *message;
    void (*make)(ImportOptions &);
  };
  const Binding bindings[] = {
      {"--dim M=3: no input has a dimension of that name; the names are 'N'",
       [](ImportOptions &o) { o.dims["M"] = 3; }},
      {"--dim N=-3: a size cannot be negative", [](ImportOptions &o) { o.dims["N"] = -3; }},
      {"--dim M<=3: no input has a dimension of that name; the names are 'N'",
       [](ImportOptions &o) { o.bounds["M"] = 3; }},
      {"--dim N<=3: but 'N' is 4",
       [](ImportOptions &o) {
         o.bounds["N"] = 3;
         o.dims["N"] = 4;
       }},
      {"--report-dims M=3: no input has a dimension of that name; the names are 'N'",
       [](ImportOptions &o) {
         o.reportDims = {{"M", 3}, {"N", 3}};
       }},
      {"--report-dims N=4: but 'N' is at most 3",
       [](ImportOptions &o) {
         o.bounds["N"] = 3;
         o.reportDims["N"] = 4;
       }},
      {"--report-dims N=4: but 'N' is 3",
       [](ImportOptions &o) {
         o.dims["N"] = 3;
         o.reportDims["N"] = 4;
       }},
      {"--shape q=1x2: no input has that name; the inputs are 'x'",
       [](ImportOptions &o) {
         o.shapes["q"] = {1, 2};
       }},
      {"--shape x=1: has rank 1, but the input has rank 2",
       [](ImportOptions &o) { o.shapes["x"] = {1}; }},
      {"--shape x=1x5: dimension 1 is 5, but the model fixes it at 4",
       [](ImportOptions &o) {
         o.shapes["x"] = {1, 5};
       }},
      {"--shape x=1x4: dimension 0 is 1, but 'N' is already 2",
       [](ImportOptions &o) {
         o.shapes["x"] = {1, 4};
         o.dims["N"] = 2;
       }},
      {"--shape x=-1x4: sizes must not be negative, nor the tensor larger than memory",
       [](ImportOptions &o) {
         o.shapes["x"] = {-1, 4};
       }},
  };
  for (const Binding &binding : bindings) {
    ImportOptions options;
    binding.make(options);
    EXPECT_EQ(importModel(reluModel(), options).messages,
              std::string("m.onnx: ") + binding.message + "\n");
  }
}

// All errors are told at once, up to a limit; the rest is counted.
TEST(Error, AreReportedTogether) {
  ModelProto model = reluModel();
  for (int i = 0; i < 5; ++i)
    addNode(model.mutable_graph(), "Neg", "n" + std::to_string(i), {"q"}, {});
  std::string messages = importModel(model).messages;
  EXPECT_EQ(std::count(messages.begin(), messages.end(), '\n'), 5);
  for (int i = 5; i < 500; ++i)
    addNode(model.mutable_graph(), "Neg", "n" + std::to_string(i), {"q"}, {});
  messages = importModel(model).messages;
  EXPECT_LE(std::count(messages.begin(), messages.end(), '\n'), 21);
}

// A name from a file cannot forge lines.
TEST(Error, NamesAreShownOnOneLine) {
  ModelProto model = reluModel();
  model.mutable_graph()->mutable_node(0)->set_name("a\nb\x1b[31m");
  model.mutable_graph()->mutable_node(0)->set_input(0, "q");
  std::string messages = importModel(model).messages;
  EXPECT_EQ(messages.find("m.onnx: Relu 'a\\x0ab\\x1b[31m': input 'q'"), 0u);
}

} // namespace
} // namespace lumen::test
