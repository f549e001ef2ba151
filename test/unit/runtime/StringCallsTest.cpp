// What models do with tensors of strings. Results are those of ONNX Runtime, or of the
// standard where it says more.
#include "CallModel.h"

#include <cmath>

using namespace lumen::test;

namespace {

TEST(StringCallsTest, Concat) {
  CallModel model;
  Args in = {model.stringsIn("a", 2), model.stringsIn("b", 1)};
  model.addCall(lumen_call_string_concat, in, {model.valueOut("y")});
  OpenModel opened(model);
  ASSERT_NE(opened.context, nullptr) << opened.status.message;
  StringsValue a({"x", "", "long text"}, {3, 1}), b({"1", ""}, {2});
  lumen_value inputs[2] = {a.value, b.value}, outputs[1] = {};
  ASSERT_EQ(lumen_profile_enable(opened.context, nullptr), LUMEN_OK);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(opened.run(inputs, outputs), "");
    EXPECT_EQ(textsOf(outputs[0]), Strings({"x1", "x", "1", "", "long text1", "long text"}));
    EXPECT_EQ(shapeOf(outputs[0]), std::vector<int64_t>({3, 2}));
  }
  uint32_t count;
  const lumen_profile_entry *entries = lumen_profile_entries(opened.context, &count);
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(entries[0].nodes, "Call 'c'");
  EXPECT_EQ(entries[0].count, 3u);
  StringsValue three({"1", "2", "3"}, {3});
  lumen_value empty[2] = {StringsValue({}, {0, 1}).value, b.value};
  std::vector<int64_t> shape = {0, 1};
  empty[0].u.strings.shape = shape.data();
  ASSERT_EQ(opened.run(empty, outputs), "");
  EXPECT_EQ(shapeOf(outputs[0]), std::vector<int64_t>({0, 2}));
  StringsValue four({"1", "2", "3", "4"}, {2, 2});
  lumen_value disagreeing[2] = {four.value, three.value};
  EXPECT_EQ(opened.run(disagreeing, outputs),
            "calls: Call 'c': extents 2 and 3 of dimension 1 from the end do not broadcast");
}

TEST(StringCallsTest, Equal) {
  CallModel model;
  Args in = {model.stringsIn("a", 1), model.stringsIn("b", 0)};
  model.addCall(lumen_call_string_equal, in, model.tensorOut("y", LUMEN_ABI_BOOL, 1));
  OpenModel opened(model);
  StringsValue a({"x", "", "xy"}, {3}), b({"x"}, {});
  lumen_value inputs[2] = {a.value, b.value}, outputs[1] = {};
  ASSERT_EQ(opened.run(inputs, outputs), "");
  EXPECT_EQ(dataOf<uint8_t>(outputs[0]), std::vector<uint8_t>({1, 0, 0}));
  inputs[1] = StringsValue({""}, {}).value;
  lumen_string nothing = {nullptr, 0};
  inputs[1].u.strings.data = &nothing;
  ASSERT_EQ(opened.run(inputs, outputs), "");
  EXPECT_EQ(dataOf<uint8_t>(outputs[0]), std::vector<uint8_t>({0, 1, 0}));
}

// A text is read up to what is no part of a number; one that is too large is none.
TEST(StringCallsTest, Parse) {
  CallModel model;
  Attributes attributes;
  attributes.integer(LUMEN_ABI_I64);
  Args in = {model.stringsIn("x", 1)};
  model.addCall(lumen_call_string_parse, in, model.tensorOut("y", LUMEN_ABI_I64, 1), attributes);
  OpenModel opened(model);
  StringsValue good({"12", " -7 ", "3.9"}, {3}), large({"1", "9223372036854775808"}, {2});
  lumen_value inputs[1] = {good.value}, outputs[1] = {};
  ASSERT_EQ(opened.run(inputs, outputs), "");
  EXPECT_EQ(dataOf<int64_t>(outputs[0]), std::vector<int64_t>({12, -7, 3}));
  inputs[0] = large.value;
  EXPECT_NE(opened.run(inputs, outputs).find("element 1 is '9223372036854775808', which is no"),
            std::string::npos);
}

// All movement of strings is that of their positions.
TEST(StringCallsTest, TakeAndConstant) {
  CallModel model;
  Args in = {model.tensorIn("i", LUMEN_ABI_I64, 2), model.stringsIn("a", 1)};
  uint32_t constant = model.heap(LUMEN_ABI_NONE);
  Attributes attributes;
  attributes.integers({2}).strings({"zero", "a longer one"});
  model.finishEntry();
  model.step(LUMEN_ABI_STEP_CALL, model.call(lumen_call_string_constant, {}, {{constant, object}},
                                             {}, attributes.bytes));
  in.push_back({constant, object});
  model.addCall(lumen_call_string_take, in, {model.valueOut("y")});
  OpenModel opened(model);
  int64_t indices[4] = {2, 0, 3, 2}, shape[2] = {2, 2};
  StringsValue a({"p", "q"}, {2});
  lumen_value inputs[2] = {lumen_tensor_value(indices, LUMEN_I64, 2, shape), a.value};
  lumen_value outputs[1] = {};
  ASSERT_EQ(opened.run(inputs, outputs), "");
  EXPECT_EQ(textsOf(outputs[0]), Strings({"zero", "p", "a longer one", "zero"}));
  EXPECT_EQ(shapeOf(outputs[0]), std::vector<int64_t>({2, 2}));
  indices[1] = 4;
  EXPECT_EQ(opened.run(inputs, outputs), "calls: Call 'c': index is 4, there are 4 strings");
}

TEST(StringCallsTest, Split) {
  struct Case {
    const char *text, *delimiter;
    int64_t most;
    Strings pieces;
  };
  for (const Case &test :
       std::initializer_list<Case>{{"abc.com", ".", -1, {"abc", "com"}},
                                   {"o-n-n--x-", "-", -1, {"o", "n", "n", "", "x", ""}},
                                   {"  hello   world !", "", -1, {"hello", "world", "!"}},
                                   {"the quick brown fox", "", 2, {"the", "quick", "brown fox"}},
                                   {"a b c ", "", 1, {"a", "b c"}},
                                   {"  a  b c ", "", 1, {"a", "b c"}},
                                   {"  ", "", -1, {}},
                                   {"", "", -1, {}},
                                   {"", ",", -1, {}},
                                   {"a,b,c", ",", 1, {"a", "b,c"}},
                                   {"a,b", ",", 0, {"a,b"}},
                                   {"a b", "", 0, {"a b"}},
                                   {"abaaba", "aa", -1, {"ab", "ba"}},
                                   {"x\ty\nz", "", -1, {"x", "y", "z"}}}) {
    CallModel model;
    Args in = {model.stringsIn("x", 1)};
    Args pieces = {model.valueOut("y")};
    uint32_t extent = model.valueOf(0);
    Args counts = {
        {model.output("z", LUMEN_ABI_I64, {TableModel::dynamic("extent", extent, extent)}), tensor,
         LUMEN_ABI_I64, 1}};
    Attributes attributes;
    attributes.string(test.delimiter).integer(test.most);
    model.finishEntry();
    model.step(LUMEN_ABI_STEP_CALL, model.call(lumen_call_string_split, in, join({pieces, counts}),
                                               {}, attributes.bytes));
    OpenModel opened(model);
    ASSERT_NE(opened.context, nullptr) << opened.status.message;
    StringsValue x({test.text, "one"}, {2});
    lumen_value inputs[1] = {x.value}, outputs[2] = {};
    ASSERT_EQ(opened.run(inputs, outputs), "") << test.text;
    size_t width = std::max<size_t>(test.pieces.size(), 1);
    Strings expected = test.pieces;
    expected.resize(width);
    expected.push_back("one");
    expected.resize(2 * width);
    EXPECT_EQ(textsOf(outputs[0]), expected) << test.text;
    EXPECT_EQ(shapeOf(outputs[0]), std::vector<int64_t>({2, int64_t(width)}));
    EXPECT_EQ(dataOf<int64_t>(outputs[1]), std::vector<int64_t>({int64_t(test.pieces.size()), 1}));
  }
}

TEST(StringCallsTest, Normalizer) {
  struct Case {
    int64_t change, sensitive;
    Strings stops, in, out;
  };
  for (const Case &test : std::initializer_list<Case>{
           {0, 0, {}, {"aB", "Cd"}, {"aB", "Cd"}},
           {1, 1, {"monday"}, {"monday", "Tuesday", "ÉCOLE"}, {"tuesday", "école"}},
           {1, 1, {"monday"}, {"Monday"}, {"monday"}},
           {2, 0, {"monday"}, {"MONDAY", "straße école жук ÿ"}, {"STRAßE ÉCOLE ЖУК Ÿ"}},
           {2, 1, {"monday"}, {"monday", "monday"}, {""}},
           {0, 0, {"É"}, {"é", "b"}, {"b"}},
           {1, 1, {}, {"ΑΒΓ Ω \xff İ"}, {"αβγ ω \xff İ"}},
           {2, 1, {}, {}, {""}}}) {
    CallModel model;
    Args in = {model.stringsIn("x", 1)};
    Attributes attributes;
    attributes.integer(test.change).integer(test.sensitive).strings(test.stops);
    model.addCall(lumen_call_string_normalizer, in, {model.valueOut("y")}, attributes);
    OpenModel opened(model);
    StringsValue x(test.in, {int64_t(test.in.size())});
    lumen_value inputs[1] = {x.value}, outputs[1] = {};
    ASSERT_EQ(opened.run(inputs, outputs), "");
    EXPECT_EQ(textsOf(outputs[0]), test.out);
  }
}

TEST(LookupCallsTest, LabelEncoder) {
  {
    CallModel model;
    Args in = {model.stringsIn("x", 1)};
    Attributes attributes;
    attributes.integer(LUMEN_ABI_STRING).integer(LUMEN_ABI_I64).strings({"a", "b", "c"});
    attributes.integers({0, 1, 2}).integer(42);
    model.addCall(lumen_call_label_encoder, in, model.tensorOut("y", LUMEN_ABI_I64, 1), attributes);
    OpenModel opened(model);
    StringsValue x({"a", "b", "d", "c", "g"}, {5});
    lumen_value inputs[1] = {x.value}, outputs[1] = {};
    ASSERT_EQ(opened.run(inputs, outputs), "");
    EXPECT_EQ(dataOf<int64_t>(outputs[0]), std::vector<int64_t>({0, 1, 42, 2, 42}));
  }
  {
    CallModel model;
    Args in = {model.tensorIn("x", LUMEN_ABI_F32, 1)};
    Attributes attributes;
    attributes.integer(LUMEN_ABI_F32).integer(LUMEN_ABI_STRING).reals({1, NAN, 0, 1});
    attributes.strings({"one", "nan", "zero", "uno"}).string("?");
    model.addCall(lumen_call_label_encoder, in, {model.valueOut("y")}, attributes);
    OpenModel opened(model);
    float data[4] = {1, 2, NAN, -0.0f};
    int64_t shape = 4;
    lumen_value inputs[1] = {lumen_tensor_value(data, LUMEN_F32, 1, &shape)}, outputs[1] = {};
    ASSERT_EQ(opened.run(inputs, outputs), "");
    EXPECT_EQ(textsOf(outputs[0]), Strings({"one", "?", "nan", "zero"}));
  }
}

TEST(LookupCallsTest, TfIdf) {
  struct Case {
    int64_t mode, least, skip;
    bool reversed;
    std::vector<float> out;
  };
  for (bool strings : {false, true})
    for (const Case &test :
         std::initializer_list<Case>{{0, 2, 0, false, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1}},
                                     {0, 2, 5, false, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1}},
                                     {0, 1, 5, false, {0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1}},
                                     {0, 1, 0, false, {0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1}},
                                     {1, 1, 0, false, {0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 5, 0, 7}},
                                     {2, 1, 5, false, {0, 6, 0, 0, 0, 0, 0, 0, 0, 3, 0, 5, 6, 7}},
                                     {2, 1, 5, true, {0, 0, 0, 0, 0, 6, 0, 7, 6, 5, 0, 3, 0, 0}}}) {
      CallModel model;
      Args in = {strings ? model.stringsIn("x", 2) : model.tensorIn("x", LUMEN_ABI_I32, 2)};
      Attributes attributes;
      attributes.integer(test.mode).integer(test.least).integer(2).integer(test.skip);
      attributes.integers({0, 4});
      attributes.integers(test.reversed ? std::vector<int64_t>{6, 5, 4, 3, 2, 1, 0}
                                        : std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6});
      attributes.reals({1, 2, 3, 4, 5, 6, 7});
      if (strings)
        attributes.strings({"2", "3", "5", "4", "5", "6", "7", "8", "6", "7"});
      else
        attributes.integers({2, 3, 5, 4, 5, 6, 7, 8, 6, 7});
      model.addCall(lumen_call_tfidf_vectorizer, in, model.tensorOut("y", LUMEN_ABI_F32, 2),
                    attributes);
      OpenModel opened(model);
      int32_t data[12] = {1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8};
      int64_t shape[2] = {2, 6};
      Strings texts;
      for (int32_t item : data)
        texts.push_back(std::to_string(item));
      StringsValue x(texts, {2, 6});
      lumen_value inputs[1] = {strings ? x.value : lumen_tensor_value(data, LUMEN_I32, 2, shape)};
      lumen_value outputs[1] = {};
      ASSERT_EQ(opened.run(inputs, outputs), "");
      EXPECT_EQ(dataOf<float>(outputs[0]), test.out);
      EXPECT_EQ(shapeOf(outputs[0]), std::vector<int64_t>({2, 7}));
    }
}

} // namespace
