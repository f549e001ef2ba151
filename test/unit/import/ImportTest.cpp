//===- ImportTest.cpp - what a model becomes ------------------------------===//

#include "dialects/Onnx/Onnx.h"

#include "Models.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

namespace lumen::test {
namespace {

void expectContains(const std::string &text, std::initializer_list<const char *> parts) {
  for (const char *part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

// The module tells name, source and operator sets; the function the names and
// symbols of inputs and outputs.
TEST(Import, Signature) {
  Imported imported = importModel(reluModel());
  expectContains(
      imported.text(),
      {"lumen.name = \"g\"", "lumen.source_hash = \"", "onnx.opsets = {ai.onnx = 17 : i64}",
       "@main(%arg0: tensor<?x4xf32, #lumen.dims<[\"N\", \"4\"]>> {onnx.name = \"x\"}) -> "
       "(tensor<?x4xf32, #lumen.dims<[\"N\", \"4\"]>> {onnx.name = \"y\"})",
       "onnx.node \"Relu\"(%arg0) {}"});
}

// Everything that a file can hold is represented.
TEST(Import, RichModel) {
  Imported imported = importModel(richModel());
  ASSERT_EQ(imported.messages, "");
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*imported.module)));
  expectContains(
      imported.text(),
      {"onnx.constant #lumen.blob<0, ",
       ", 8192> : tensor<2x1024xf32>",
       "dense<[\"a\", \"b\"]> : tensor<2x!onnx.string>",
       "dense<[1, 2, 3]> : tensor<3xi4>",
       "onnx.sparse_constant <dense<1.500000e+00> : tensor<1xf32>, dense<3> : tensor<1xi64> : "
       "tensor<8xf32>>",
       "onnx.absent",
       "-> (none, !onnx.unknown)",
       "domain(\"my\")",
       "f = 5.000000e-01 : f32",
       "floats = array<f32: 1.000000e+00, 2.000000e+00>",
       "i = -3 : i64",
       "ints = array<i64: 7>",
       "none = array<i64>",
       "s = \"same\"",
       "strs = [\"q\"]",
       "tp = !onnx.seq<tensor<*xf32>>",
       "bodies [\"else_branch\", \"then_branch\"]",
       "alpha = #onnx.ref<\"alpha\">",
       "func.func private @\"my::Scale\"",
       "onnx.parameters = [\"alpha\"]",
       "onnx.call @\"my::Scale\"",
       "onnx.call @\"my::Twice\""});
}

// A node is found again by its name, or by its first output.
TEST(Import, Locations) {
  Imported imported = importModel(richModel());
  std::vector<std::string> names;
  imported.module->walk([&](onnx::NodeOp op) { names.push_back(describe(op.getLoc())); });
  EXPECT_NE(llvm::find(names, "Relu 'r'"), names.end());
  EXPECT_NE(llvm::find(names, "Everything 'e'"), names.end());
}

// A size that the user gives replaces its symbol wherever it stands.
TEST(Import, Bindings) {
  ::onnx::ModelProto model = reluModel();
  addValue(model.mutable_graph()->add_input(), "z", 1, {"N", "", "a b"});
  expectContains(
      importModel(model).text(),
      {"tensor<?x?x?xf32, #lumen.dims<[\"N\", \"z.d1\", \"\\22a b\\22\"]>> {onnx.name = \"z\"}"});

  ImportOptions options;
  options.shapes["x"] = {2, 4};
  options.dims["z.d1"] = 3;
  options.dims["a b"] = 5;
  expectContains(importModel(model, options).text(),
                 {"tensor<2x4xf32> {onnx.name = \"x\"}", "tensor<2x3x5xf32> {onnx.name = \"z\"}",
                  "tensor<2x4xf32> {onnx.name = \"y\"}"});

  // An input without a shape takes the user's.
  model.mutable_graph()->mutable_input(1)->mutable_type()->mutable_tensor_type()->clear_shape();
  ImportOptions shape;
  shape.shapes["z"] = {7, 8};
  expectContains(importModel(model, shape).text(), {"tensor<7x8xf32> {onnx.name = \"z\"}"});
  expectContains(importModel(model).text(), {"tensor<*xf32> {onnx.name = \"z\"}"});
}

// A bound of a symbol stands at the module, unless the symbol has a size.
TEST(Import, Bounds) {
  ImportOptions options;
  options.bounds["N"] = 512;
  expectContains(importModel(reluModel(), options).text(), {"lumen.bounds = {N = 512 : i64}"});
  options.dims["N"] = 12;
  EXPECT_EQ(importModel(reluModel(), options).text().find("lumen.bounds"), std::string::npos);
}

// Of -1 and "?" nothing is known, as of a dimension that says nothing: two are not equal.
TEST(Import, UnknownSizes) {
  ::onnx::ModelProto model = reluModel();
  addValue(model.mutable_graph()->add_input(), "z", 1, {"-1", "?", "?"});
  expectContains(importModel(model).text(), {R"(#lumen.dims<["z.d0", "z.d1", "z.d2"]>)"});
  ImportOptions options;
  options.shapes["z"] = {2, 3, 5};
  expectContains(importModel(model, options).text(), {"tensor<2x3x5xf32> {onnx.name = \"z\"}"});
}

// A dimension's text is an expression over the inputs' symbols, or one symbol
// whatever is in it.
TEST(Import, Expressions) {
  ::onnx::ModelProto model = reluModel();
  addValue(model.mutable_graph()->add_input(), "z", 1, {"past + N", "past", "batch-size", "2*N"});
  expectContains(importModel(model).text(),
                 {R"(#lumen.dims<["N + past", "past", "\22batch-size\22", "2*N"]>)"});

  ImportOptions options;
  options.shapes["z"] = {7, 5, 3, 4};
  expectContains(importModel(model, options).text(),
                 {"tensor<7x5x3x4xf32> {onnx.name = \"z\"}", "tensor<?x4xf32"});
  options.dims["N"] = 2;
  expectContains(importModel(model, options).text(),
                 {"tensor<7x5x3x4xf32> {onnx.name = \"z\"}", "tensor<2x4xf32>"});
  options.dims["N"] = 3;
  EXPECT_EQ(importModel(model, options).messages,
            "m.onnx: --shape z=7x5x3x4: dimension 0 is 7, but 'past + N' is already 8\n"
            "m.onnx: --shape z=7x5x3x4: dimension 3 is 4, but '2*N' is already 6\n");
}

// An initializer that is also declared as an input is a constant (IR 3 asks for
// the declaration).
TEST(Import, DeclaredInitializers) {
  ::onnx::ModelProto model = reluModel();
  addValue(model.mutable_graph()->add_input(), "w", 7, {"1"});
  addInitializer(model.mutable_graph(), "w", 7, {1})->add_int64_data(5);
  Imported imported = importModel(model);
  ASSERT_EQ(imported.messages, "");
  mlir::func::FuncOp main = imported.module->lookupSymbol<mlir::func::FuncOp>("main");
  EXPECT_EQ(main.getNumArguments(), 1u);
}

// Attributes before IR 2 have no type; writers leave out zeros.
TEST(Import, LenientAttributes) {
  ::onnx::ModelProto model = reluModel();
  auto *node = model.mutable_graph()->mutable_node(0);
  auto *untyped = node->add_attribute();
  untyped->set_name("a");
  untyped->add_ints(4);
  auto *zero = node->add_attribute();
  zero->set_name("z");
  zero->set_type(::onnx::AttributeProto::INT);
  expectContains(importModel(model).text(), {"{a = array<i64: 4>, z = 0 : i64}"});
}

// What does not change an answer is left out, training with a word about it.
TEST(Import, LeavesOut) {
  ::onnx::ModelProto model = reluModel();
  model.add_metadata_props()->set_key("k");
  model.mutable_graph()->add_quantization_annotation()->set_tensor_name("y");
  model.mutable_graph()->mutable_node(0)->add_device_configurations();
  EXPECT_EQ(importModel(model).messages, "");
  model.add_training_info();
  Imported imported = importModel(model);
  EXPECT_TRUE(imported.module);
  EXPECT_EQ(imported.messages, "m.onnx: warning: the model's training information is left out\n");
}

// The same file gives the same text.
TEST(Import, IsDeterministic) {
  EXPECT_EQ(importModel(richModel()).text(), importModel(richModel()).text());
}

} // namespace
} // namespace lumen::test
