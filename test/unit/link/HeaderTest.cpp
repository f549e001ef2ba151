//===- HeaderTest.cpp - the header that comes with an artifact ------------===//

#include "compiler/link/Header.h"

#include <gtest/gtest.h>

using namespace lumen::link;

namespace {

ModelTables signature(std::vector<Value> inputs, std::vector<Value> outputs = {}) {
  ModelTables tables;
  tables.name = "net";
  tables.producer = "lumenc 0.1.0";
  tables.sourceHash = "abc";
  tables.inputs = std::move(inputs);
  tables.outputs = std::move(outputs);
  return tables;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// The signature is a comment for people and constants for programs.
TEST(Header, DescribesTheSignature) {
  std::string text = modelHeader(signature({{"data", LUMEN_ABI_TENSOR, LUMEN_ABI_F32, false,
                                             std::vector<Dim>{{1, 1, ""}, {3, 3, ""}, {4, 4, ""}}}},
                                           {{"prob", LUMEN_ABI_TENSOR, LUMEN_ABI_I64, false,
                                             std::vector<Dim>{{-1, -1, "batch"}, {10, 10, ""}}}}),
                                 "net.so");
  EXPECT_TRUE(contains(text, " *     0  data  f32  [1, 3, 4]\n")) << text;
  EXPECT_TRUE(contains(text, " *     0  prob  i64  [batch, 10]\n")) << text;
  for (const char *line :
       {"#define NET_NUM_INPUTS 1\n", "#define NET_INPUT_DATA 0\n",
        "#define NET_INPUT_DATA_DTYPE LUMEN_F32\n", "#define NET_INPUT_DATA_RANK 3\n",
        "#define NET_INPUT_DATA_SHAPE {1, 3, 4}\n", "#define NET_INPUT_DATA_BYTES 48u\n",
        "static inline lumen_value net_input_data(const float *data) {\n",
        "const lumen_module *lumen_module_net(void);\n", "#define NET_OUTPUT_PROB 0\n"})
    EXPECT_TRUE(contains(text, line)) << line << text;
  // Nothing that depends on the batch is a constant.
  EXPECT_FALSE(contains(text, "NET_OUTPUT_PROB_BYTES"));
}

// Names that are equal as identifiers, or whose constants would be, stay apart.
TEST(Header, KeepsNamesApart) {
  auto vector = [](const char *name) {
    return Value{name, LUMEN_ABI_TENSOR, LUMEN_ABI_F32, false, std::vector<Dim>{{4, 4, ""}}};
  };
  std::string text =
      modelHeader(signature({vector("a:0"), vector("a_0"), vector("b"), vector("b_rank")}), "m");
  for (const char *line : {"#define NET_INPUT_A_0 0\n", "#define NET_INPUT_A_0_2 1\n",
                           "#define NET_INPUT_B_RANK 1\n", "#define NET_INPUT_B_RANK_2 3\n"})
    EXPECT_TRUE(contains(text, line)) << line << text;
}

// A name cannot leave its comment.
TEST(Header, GuardsItsComments) {
  Value value;
  value.name = "x*/\nint evil; /*";
  std::string text = modelHeader(signature({value}), "m");
  EXPECT_TRUE(contains(text, "x* /?int evil; / *")) << text;
}

// Elements of less than a byte are packed.
TEST(Header, CountsPackedBytes) {
  std::string text = modelHeader(
      signature({{"q", LUMEN_ABI_TENSOR, LUMEN_ABI_I4, false, std::vector<Dim>{{3, 3, ""}}}}), "m");
  EXPECT_TRUE(contains(text, "#define NET_INPUT_Q_BYTES 2u\n")) << text;
}

} // namespace
