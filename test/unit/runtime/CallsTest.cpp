// Strings, sequences and optionals: as inputs and outputs, and what models do with
// them. Results are those of ONNX Runtime, or of the standard where it says more.
#include "TableModel.h"

#include "lumen_calls.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

using namespace lumen::test;

namespace {

using Strings = std::vector<std::string>;

constexpr auto tensor = LUMEN_ABI_CALL_TENSOR;
constexpr auto object = LUMEN_ABI_CALL_VALUE;
constexpr auto extents = LUMEN_ABI_CALL_EXTENTS;

// The form of attributes in lumen_calls.h.
class Attributes {
public:
  Attributes &integer(int64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
    return *this;
  }
  Attributes &real(double value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
    return *this;
  }
  Attributes &string(const std::string &value) {
    integer(value.size());
    bytes += value;
    bytes.resize((bytes.size() + 7) / 8 * 8);
    return *this;
  }
  Attributes &integers(const std::vector<int64_t> &values) {
    integer(values.size());
    for (int64_t value : values)
      integer(value);
    return *this;
  }
  Attributes &reals(const std::vector<double> &values) {
    integer(values.size());
    for (double value : values)
      real(value);
    return *this;
  }
  Attributes &strings(const Strings &values) {
    integer(values.size());
    for (const std::string &value : values)
      string(value);
    return *this;
  }
  std::string bytes;
};

// Owns what a value of strings points to.
struct StringsValue {
  StringsValue(Strings texts, std::vector<int64_t> shape)
      : texts(std::move(texts)), shape(std::move(shape)) {
    for (const std::string &text : this->texts)
      rows.push_back({text.empty() ? nullptr : text.data(), text.size()});
    value.kind = LUMEN_STRINGS;
    value.u.strings = {rows.data(), static_cast<int32_t>(this->shape.size()), this->shape.data()};
  }
  Strings texts;
  std::vector<int64_t> shape;
  std::vector<lumen_string> rows;
  lumen_value value = {};
};

uint64_t elementsOf(int32_t rank, const int64_t *shape) {
  uint64_t count = 1;
  for (int32_t d = 0; d < rank; ++d)
    count *= shape[d];
  return count;
}

Strings textsOf(const lumen_value &value) {
  EXPECT_EQ(value.kind, uint32_t(LUMEN_STRINGS));
  Strings result;
  uint64_t count = elementsOf(value.u.strings.ndim, value.u.strings.shape);
  for (uint64_t i = 0; i < count; ++i)
    result.emplace_back(value.u.strings.data[i].data, value.u.strings.data[i].length);
  return result;
}

std::vector<int64_t> shapeOf(const lumen_value &value) {
  bool strings = value.kind == LUMEN_STRINGS;
  const int64_t *shape = strings ? value.u.strings.shape : value.u.tensor.shape;
  return {shape, shape + (strings ? value.u.strings.ndim : value.u.tensor.ndim)};
}

template <typename T> std::vector<T> dataOf(const lumen_value &value) {
  auto *data = static_cast<const T *>(value.u.tensor.data);
  return {data, data + elementsOf(value.u.tensor.ndim, value.u.tensor.shape)};
}

// A model of inputs, one call and its outputs.
struct CallModel : TableModel {
  CallModel() : TableModel("calls") {}

  // Inputs of any extents. `symbols` becomes the expressions of their extents.
  Arg stringsIn(const char *name, int32_t rank) {
    return {input(name, LUMEN_ABI_STRING, dims(rank)), object, LUMEN_ABI_STRING, rank};
  }
  Arg tensorIn(const char *name, lumen_abi_dtype dtype, int32_t rank) {
    std::vector<lumen_abi_dim> shape = dims(rank);
    for (const lumen_abi_dim &dim : shape)
      sizes.push_back(valueOf(dim.expr));
    return {input(name, dtype, shape), tensor, dtype, rank};
  }
  Arg valueIn(const char *name, lumen_abi_kind kind, lumen_abi_dtype dtype) {
    uint32_t buffer = input(name, dtype, {});
    inputs.back().kind = kind;
    inputs.back().rank = -1;
    return {buffer, object};
  }
  Arg valueOut(const char *name, lumen_abi_kind kind = LUMEN_ABI_TENSOR,
               lumen_abi_dtype dtype = LUMEN_ABI_STRING) {
    uint32_t buffer = output(name, dtype, {});
    outputs.back().kind = kind;
    outputs.back().rank = -1;
    return {buffer, object};
  }
  // A tensor whose extents the call says, read back into symbols by addCall().
  std::vector<Arg> tensorOut(const char *name, lumen_abi_dtype dtype, int32_t rank) {
    results.push_back({name, dtype, rank});
    std::vector<lumen_abi_dim> shape;
    for (int32_t d = 0; d < rank; ++d)
      shape.push_back(dynamic("?", LUMEN_ABI_NONE));
    uint32_t buffer = output(name, dtype, shape);
    results.back().output = outputs.size() - 1;
    results.back().extents = arena(constant(rank * 8), 0, 1000);
    return {{buffer, tensor, dtype, rank}, {results.back().extents, extents, LUMEN_ABI_I64, rank}};
  }
  void addCall(int (*function)(lumen_abi_call_frame *), std::vector<Arg> in, std::vector<Arg> out,
               const Attributes &attributes = {}) {
    if (!abi.num_entry_exprs)
      finishEntry();
    step(LUMEN_ABI_STEP_CALL, call(function, in, out, sizes, attributes.bytes));
    sizes.clear();
    for (Result &result : results)
      for (int32_t d = 0; d < result.rank; ++d) {
        uint32_t extent = symbol("extent"), value = valueOf(extent);
        buffers.push_back({storageOf(result.extents), LUMEN_ABI_NONE, uint64_t(d) * 8, 8});
        step(LUMEN_ABI_STEP_BIND, extent, buffers.size() - 1, LUMEN_ABI_I64);
        step(LUMEN_ABI_STEP_EVAL, value, 1);
        const_cast<lumen_abi_dim *>(outputs[result.output].dims)[d].expr = value;
      }
    results.clear();
  }

  std::vector<uint32_t> sizes;

private:
  struct Result {
    const char *name;
    lumen_abi_dtype dtype;
    int32_t rank;
    size_t output = 0;
    uint32_t extents = 0;
  };
  std::vector<lumen_abi_dim> dims(int32_t rank) {
    std::vector<lumen_abi_dim> result;
    for (int32_t d = 0; d < rank; ++d)
      result.push_back(dynamic("extent", symbol("extent")));
    return result;
  }
  std::vector<Result> results;
};

using Args = std::vector<TableModel::Arg>;

Args join(std::initializer_list<Args> lists) {
  Args result;
  for (const Args &list : lists)
    result.insert(result.end(), list.begin(), list.end());
  return result;
}

//===----------------------------------------------------------------------===//
// Strings
//===----------------------------------------------------------------------===//

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

std::string match(const std::string &pattern, const Strings &texts, std::vector<uint8_t> *found) {
  CallModel model;
  Args in = {model.stringsIn("x", 1)};
  Attributes attributes;
  attributes.string(pattern);
  model.addCall(lumen_call_regex_full_match, in, model.tensorOut("y", LUMEN_ABI_BOOL, 1),
                attributes);
  OpenModel opened(model);
  StringsValue x(texts, {int64_t(texts.size())});
  lumen_value inputs[1] = {x.value}, outputs[1] = {};
  std::string message = opened.run(inputs, outputs);
  if (message.empty())
    *found = dataOf<uint8_t>(outputs[0]);
  return message;
}

TEST(RegexTest, Matches) {
  struct Case {
    const char *pattern;
    Strings texts;
    std::vector<uint8_t> found;
  };
  for (const Case &test : std::initializer_list<Case>{
           {"a*", {"", "aaa", "b"}, {1, 1, 0}},
           {"(www.[\\w.-]+\\.com)", {"www.google.com", "www.bbc.co.uk"}, {1, 0}},
           {"(\\W|^)[\\w.\\-]{0,25}@(yahoo|gmail)\\.com(\\W|$)",
            {"account@gmail.com", "account@hotmail.com", "not email", "account2@yahoo.com"},
            {1, 0, 0, 1}},
           {".", {"é", "\n", "ab", "x"}, {1, 0, 0, 1}},
           {"(?i)ab", {"AB", "aB", "ac"}, {1, 1, 0}},
           {"(?i:a)b", {"Ab", "AB"}, {1, 0}},
           {"(?i)[b-d]", {"C", "e"}, {1, 0}},
           {"(?s).", {"\n"}, {1}},
           {"[^a]", {"b", "é", "a", "\n"}, {1, 1, 0, 1}},
           {"a{2,3}", {"a", "aa", "aaa", "aaaa"}, {0, 1, 1, 0}},
           {"a{2}", {"aa", "aaa"}, {1, 0}},
           {"a{2,}", {"a", "aaaaa"}, {0, 1}},
           {"\\bfoo\\b", {"foo"}, {1}},
           {"f\\Boo", {"foo"}, {1}},
           {"f\\boo", {"foo"}, {0}},
           {"[[:alpha:]]+", {"ab", "a1"}, {1, 0}},
           {"[^[:alpha:]\\d]+", {"..", "a", "1"}, {1, 0, 0}},
           {"[\\D]", {"a", "1"}, {1, 0}},
           {"a|b|", {"", "a", "c"}, {1, 1, 0}},
           {"[]a]+", {"]a"}, {1}},
           {"[^]]", {"a", "]"}, {1, 0}},
           {"[a-]+", {"a-"}, {1}},
           {"a{,2}", {"a{,2}", "a"}, {1, 0}},
           {"^a$", {"a"}, {1}},
           {"\\Aa\\z", {"a"}, {1}},
           {"(?m)^a$\n^b$", {"a\nb"}, {1}},
           {"a$\nb", {"a\nb"}, {0}},
           {"\\d+", {"12", "٣"}, {1, 0}},
           {"\\x41\\x{e9}\\t\\.\\060?", {"Aé\t.", "Aé\t.0", "a"}, {1, 1, 0}},
           {"(?P<name>a+)(?:b|c)*?", {"aabcb", "b"}, {1, 0}},
           {"(a*)*(b*)*", {"aabb", "ba"}, {1, 0}},
           {"((){1000}){1000}x", {"x"}, {1}},
           {"[à-ü]+", {"éö", "e"}, {1, 0}},
           {"", {"", "a"}, {1, 0}}}) {
    std::vector<uint8_t> found;
    EXPECT_EQ(match(test.pattern, test.texts, &found), "") << test.pattern;
    EXPECT_EQ(found, test.found) << test.pattern;
  }
}

// What is not known, or no pattern at all, is named.
TEST(RegexTest, Errors) {
  struct Case {
    const char *pattern, *error;
  };
  for (const Case &test : std::initializer_list<Case>{
           {"(a", "has a ( without )"},
           {"a)", "has a ) without ("},
           {"[a", "has a [ without ]"},
           {"[", "has a [ without ]"},
           {"*a", "has nothing to repeat before a *, + or ?"},
           {"a\\", "ends in a \\"},
           {"\\pL", "has a \\p, which is not supported"},
           {"(a)\\1", "refers back to a group, which is not supported"},
           {"(?<=a)b", "has a group with a wrong name, or looks around, which is not supported"},
           {"(?=a)b", "has a (? with an unknown flag, or looks around, which is not supported"},
           {"[b-a]", "has a range that ends before it begins"},
           {"[[:letter:]]", "has a class of an unknown name"},
           {"a{3,2}", "has a wrong number of repetitions"},
           {"a{1001}", "has a wrong number of repetitions"},
           {"\\x4", "has a wrong \\x"},
           {"\\y", "has a \\ before a letter without a meaning here"},
           {"((a{1000}){1000}){1000}", "is too long"}}) {
    std::vector<uint8_t> found;
    EXPECT_EQ(match(test.pattern, {"a"}, &found),
              std::string("calls: Call 'c': the pattern '") + test.pattern + "' " + test.error);
  }
  std::vector<uint8_t> found;
  std::string deep(5000, '(');
  EXPECT_NE(match(deep, {"a"}, &found).find("has groups too deep"), std::string::npos);
}

// The time does not explode where others backtrack.
TEST(RegexTest, Time) {
  std::vector<uint8_t> found;
  EXPECT_EQ(match("(a*)*(a|aa)*c", {std::string(20000, 'a')}, &found), "");
  EXPECT_EQ(found, std::vector<uint8_t>({0}));
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

//===----------------------------------------------------------------------===//
// Sequences and optionals
//===----------------------------------------------------------------------===//

// A sequence goes in and comes out; what comes out does not need what went in.
TEST(SequenceTest, InAndOut) {
  CallModel model;
  Args in = {model.valueIn("s", LUMEN_ABI_SEQUENCE, LUMEN_ABI_F32)};
  model.addCall(lumen_call_identity, in, {model.valueOut("y", LUMEN_ABI_SEQUENCE, LUMEN_ABI_F32)});
  OpenModel opened(model);
  ASSERT_NE(opened.context, nullptr) << opened.status.message;
  std::vector<float> data = {1, 2, 3};
  std::vector<int64_t> three = {3}, none = {0, 4};
  lumen_value items[2] = {lumen_tensor_value(data.data(), LUMEN_F32, 1, three.data()),
                          lumen_tensor_value(nullptr, LUMEN_F32, 2, none.data())};
  lumen_value inputs[1] = {}, outputs[1] = {};
  inputs[0].kind = LUMEN_SEQUENCE;
  inputs[0].u.sequence = {items, 2};
  ASSERT_EQ(opened.run(inputs, outputs), "");
  data.assign(3, 0);
  three[0] = 0;
  ASSERT_EQ(outputs[0].kind, uint32_t(LUMEN_SEQUENCE));
  ASSERT_EQ(outputs[0].u.sequence.length, 2u);
  EXPECT_EQ(dataOf<float>(outputs[0].u.sequence.items[0]), std::vector<float>({1, 2, 3}));
  EXPECT_EQ(shapeOf(outputs[0].u.sequence.items[1]), std::vector<int64_t>({0, 4}));
  inputs[0].u.sequence.length = 0;
  ASSERT_EQ(opened.run(inputs, outputs), "");
  EXPECT_EQ(outputs[0].u.sequence.length, 0u);
}

TEST(SequenceTest, EntryChecks) {
  CallModel model;
  Args in = {model.valueIn("s", LUMEN_ABI_SEQUENCE, LUMEN_ABI_F32), model.stringsIn("t", 1),
             model.valueIn("o", LUMEN_ABI_OPTIONAL, LUMEN_ABI_I64)};
  model.addCall(lumen_call_identity, {in[0]},
                {model.valueOut("y", LUMEN_ABI_SEQUENCE, LUMEN_ABI_F32)});
  OpenModel opened(model);
  int64_t shape[2] = {1, -1};
  float number = 1;
  lumen_value item = lumen_tensor_value(&number, LUMEN_F32, 1, shape), outputs[1] = {};
  StringsValue t({"x"}, {1});
  lumen_value optional = {};
  optional.kind = LUMEN_OPTIONAL;
  lumen_value inputs[3] = {{}, t.value, optional};
  inputs[0].kind = LUMEN_SEQUENCE;
  inputs[0].u.sequence = {&item, 1};
  EXPECT_EQ(opened.run(inputs, outputs), "");
  item.u.tensor.dtype = lumen_dl_dtype_of(LUMEN_F64);
  EXPECT_EQ(opened.run(inputs, outputs), "input 's', item 0: type is f64, expected f32");
  item = lumen_tensor_value(&number, LUMEN_F32, 2, shape);
  EXPECT_EQ(opened.run(inputs, outputs),
            "input 's', item 0: dimension 1 is -1, expected 0 or more");
  item = lumen_tensor_value(nullptr, LUMEN_F32, 1, shape);
  EXPECT_EQ(opened.run(inputs, outputs), "input 's', item 0: data is NULL");
  item = t.value;
  EXPECT_EQ(opened.run(inputs, outputs),
            "input 's', item 0: is a tensor of strings, expected a tensor");
  inputs[0].u.sequence = {nullptr, 3};
  EXPECT_EQ(opened.run(inputs, outputs), "input 's': has 3 items, but their array is NULL");
  inputs[0] = t.value;
  EXPECT_EQ(opened.run(inputs, outputs), "input 's': is a tensor of strings, expected a sequence");
  inputs[0] = {};
  inputs[0].kind = LUMEN_SEQUENCE;
  t.rows[0] = {nullptr, 5};
  EXPECT_EQ(opened.run(inputs, outputs), "input 't': data of string 0 is NULL");
  inputs[1].u.strings.ndim = 2;
  EXPECT_EQ(opened.run(inputs, outputs), "input 't': rank is 2, expected 1");
  t.rows[0] = {"x", 1};
  inputs[1] = t.value;
  inputs[2].u.optional.value = &inputs[1];
  EXPECT_EQ(opened.run(inputs, outputs), "input 'o': is a tensor of strings, expected a tensor");
}

// Construct, At with positions from both ends, Length.
TEST(SequenceTest, ConstructAtLength) {
  CallModel model;
  Args in = {model.tensorIn("a", LUMEN_ABI_I32, 1), model.tensorIn("b", LUMEN_ABI_I32, 1)};
  Args position = {{model.input("p", LUMEN_ABI_I64, {}), tensor, LUMEN_ABI_I64, 0}};
  uint32_t s = model.heap(LUMEN_ABI_NONE), eight = model.constant(8);
  uint32_t length = model.output("n", LUMEN_ABI_I64, {}, eight);
  Args out = model.tensorOut("y", LUMEN_ABI_I32, 1);
  model.finishEntry();
  model.step(LUMEN_ABI_STEP_CALL,
             model.call(lumen_call_sequence_construct, in, {{s, object}}, model.sizes));
  model.sizes.clear();
  model.step(LUMEN_ABI_STEP_CALL, model.call(lumen_call_sequence_length, {{s, object}},
                                             {{length, tensor, LUMEN_ABI_I64, 0}}));
  model.addCall(lumen_call_sequence_at, {{s, object}, position[0]}, out);
  OpenModel opened(model);
  ASSERT_NE(opened.context, nullptr) << opened.status.message;
  int32_t a[3] = {1, 2, 3}, b[2] = {7, 8};
  int64_t three = 3, two = 2, p = 0;
  lumen_value inputs[3] = {lumen_tensor_value(a, LUMEN_I32, 1, &three),
                           lumen_tensor_value(b, LUMEN_I32, 1, &two),
                           lumen_tensor_value(&p, LUMEN_I64, 0, nullptr)};
  lumen_value outputs[2] = {};
  for (p = -2; p < 2; ++p) {
    ASSERT_EQ(opened.run(inputs, outputs), "");
    EXPECT_EQ(dataOf<int64_t>(outputs[0]), std::vector<int64_t>({2}));
    EXPECT_EQ(dataOf<int32_t>(outputs[1]),
              p % 2 ? std::vector<int32_t>({7, 8}) : std::vector<int32_t>({1, 2, 3}));
  }
  EXPECT_EQ(opened.run(inputs, outputs), "calls: Call 'c': position is 2, the sequence has 2");
  p = -3;
  EXPECT_EQ(opened.run(inputs, outputs), "calls: Call 'c': position is -3, the sequence has 2");
}

// What a loop builds item by item: in place, and with a copy each time.
TEST(SequenceTest, InsertAndErase) {
  for (bool inPlace : {true, false}) {
    CallModel model;
    Args value = {{model.input("v", LUMEN_ABI_I64, {}), tensor, LUMEN_ABI_I64, 0}};
    Args position = {{model.input("p", LUMEN_ABI_I64, {}), tensor, LUMEN_ABI_I64, 0}};
    Args last = {{model.input("q", LUMEN_ABI_I64, {}), tensor, LUMEN_ABI_I64, 0}};
    TableModel::Arg y = model.valueOut("y", LUMEN_ABI_SEQUENCE, LUMEN_ABI_I64);
    uint32_t s = model.heap(LUMEN_ABI_NONE), t = inPlace ? s : model.heap(LUMEN_ABI_NONE);
    model.finishEntry();
    model.step(LUMEN_ABI_STEP_CALL, model.call(lumen_call_sequence_construct, {}, {{s, object}}));
    for (int i = 0; i < 40; ++i) {
      Args in = {{s, object}, value[0]};
      if (i % 2)
        in.push_back(position[0]);
      model.step(LUMEN_ABI_STEP_CALL, model.call(lumen_call_sequence_insert, in, {{t, object}}));
      if (!inPlace)
        model.step(LUMEN_ABI_STEP_SWAP, model.storageOf(s), model.storageOf(t));
    }
    model.step(LUMEN_ABI_STEP_CALL,
               model.call(lumen_call_sequence_erase, {{s, object}, last[0]}, {{t, object}}));
    model.step(LUMEN_ABI_STEP_CALL,
               model.call(lumen_call_sequence_erase, {{t, object}}, {{t, object}}));
    model.step(LUMEN_ABI_STEP_MOVE, model.storageOf(y.buffer), model.storageOf(t));
    OpenModel opened(model);
    ASSERT_NE(opened.context, nullptr) << opened.status.message;
    int64_t v = 5, p = 0, q = -1;
    lumen_value inputs[3] = {lumen_tensor_value(&v, LUMEN_I64, 0, nullptr),
                             lumen_tensor_value(&p, LUMEN_I64, 0, nullptr),
                             lumen_tensor_value(&q, LUMEN_I64, 0, nullptr)};
    lumen_value outputs[1] = {};
    uint64_t capacity = 0;
    for (int run = 0; run < 3; ++run) {
      ASSERT_EQ(opened.run(inputs, outputs), "");
      ASSERT_EQ(outputs[0].u.sequence.length, 38u);
      for (int i = 0; i < 38; ++i)
        EXPECT_EQ(dataOf<int64_t>(outputs[0].u.sequence.items[i]), std::vector<int64_t>({5}));
      if (run)
        EXPECT_EQ(opened.memory().heap_capacity, capacity);
      capacity = opened.memory().heap_capacity;
    }
    q = 40;
    EXPECT_EQ(opened.run(inputs, outputs), "calls: Call 'c': position is 40, the sequence has 40");
  }
}

TEST(SequenceTest, SplitAndConcat) {
  struct Case {
    int64_t axis, keeps;
    std::vector<int64_t> split; // one: a scalar
    std::vector<std::vector<int64_t>> shapes;
    const char *error;
  };
  for (const Case &test :
       std::initializer_list<Case>{{0, 1, {}, {{1, 3}, {1, 3}, {1, 3}, {1, 3}}, ""},
                                   {1, 0, {}, {{4}, {4}, {4}}, ""},
                                   {-1, 1, {2}, {{4, 2}, {4, 1}}, ""},
                                   {0, 0, {1, 0, 3}, {{1, 3}, {0, 3}, {3, 3}}, ""},
                                   {0, 0, {1, 2}, {}, "the splits' sum is 3, the axis has 4"},
                                   {0, 0, {1, 5}, {}, "split 1 is 5, 3 of the axis are left"},
                                   {0, 0, {0}, {}, "split is 0, expected 1 or more"},
                                   {2, 0, {}, {}, "axis is 2, the rank is 2"}}) {
    CallModel model;
    Args in = {model.tensorIn("x", LUMEN_ABI_I32, 2)};
    if (!test.split.empty())
      in.push_back(model.tensorIn("split", LUMEN_ABI_I64, test.split.size() > 1));
    TableModel::Arg y = model.valueOut("y", LUMEN_ABI_SEQUENCE, LUMEN_ABI_I32);
    bool isNew = !test.keeps && test.split.empty();
    Args whole = model.tensorOut("z", LUMEN_ABI_I32, 2);
    Attributes split, concat;
    split.integer(test.axis).integer(test.keeps);
    concat.integer(test.axis).integer(isNew);
    model.finishEntry();
    model.step(LUMEN_ABI_STEP_CALL,
               model.call(lumen_call_split_to_sequence, in, {y}, model.sizes, split.bytes));
    model.sizes.clear();
    model.addCall(lumen_call_concat_from_sequence, {y}, whole, concat);
    OpenModel opened(model);
    ASSERT_NE(opened.context, nullptr) << opened.status.message;
    std::vector<int32_t> x(12);
    for (int i = 0; i < 12; ++i)
      x[i] = 100 + i;
    int64_t shape[2] = {4, 3}, count = test.split.size();
    lumen_value inputs[2] = {
        lumen_tensor_value(x.data(), LUMEN_I32, 2, shape),
        lumen_tensor_value(test.split.data(), LUMEN_I64, test.split.size() > 1, &count)};
    lumen_value outputs[2] = {};
    lumen_status status = {};
    lumen_run(opened.context, inputs, in.size(), outputs, 2, &status);
    std::string expected = *test.error ? std::string("calls: Call 'c': ") + test.error : "";
    ASSERT_EQ(status.message, expected);
    if (*test.error)
      continue;
    ASSERT_EQ(outputs[0].u.sequence.length, test.shapes.size());
    for (size_t i = 0; i < test.shapes.size(); ++i)
      EXPECT_EQ(shapeOf(outputs[0].u.sequence.items[i]), test.shapes[i]);
    EXPECT_EQ(dataOf<int32_t>(outputs[1]), x);
    EXPECT_EQ(shapeOf(outputs[1]), std::vector<int64_t>({4, 3}));
  }
}

// Strings are split and joined by the same code.
TEST(SequenceTest, StringsInSequences) {
  CallModel model;
  Args in = {model.stringsIn("x", 1)};
  TableModel::Arg y = model.valueOut("y", LUMEN_ABI_SEQUENCE), z = model.valueOut("z");
  Attributes split, concat;
  split.integer(0).integer(1);
  concat.integer(0).integer(1);
  model.finishEntry();
  model.step(LUMEN_ABI_STEP_CALL,
             model.call(lumen_call_split_to_sequence, in, {y}, {}, split.bytes));
  model.addCall(lumen_call_concat_from_sequence, {y}, {z}, concat);
  OpenModel opened(model);
  auto x = std::make_unique<StringsValue>(Strings{"a", "", "ccc"}, std::vector<int64_t>{3});
  lumen_value inputs[1] = {x->value}, outputs[2] = {};
  ASSERT_EQ(opened.run(inputs, outputs), "");
  x.reset();
  EXPECT_EQ(textsOf(outputs[0].u.sequence.items[2]), Strings({"ccc"}));
  EXPECT_EQ(textsOf(outputs[1]), Strings({"a", "", "ccc"}));
  EXPECT_EQ(shapeOf(outputs[1]), std::vector<int64_t>({3, 1}));
  StringsValue empty({}, {0});
  inputs[0] = empty.value;
  EXPECT_EQ(opened.run(inputs, outputs),
            "calls: Call 'c': the sequence is empty, expected an item at least");
}

// Items that do not fit are named.
TEST(SequenceTest, ConcatDisagrees) {
  CallModel model;
  Args in = {model.valueIn("s", LUMEN_ABI_SEQUENCE, LUMEN_ABI_F32)};
  Attributes attributes;
  attributes.integer(0).integer(0);
  model.addCall(lumen_call_concat_from_sequence, in, model.tensorOut("y", LUMEN_ABI_F32, 2),
                attributes);
  OpenModel opened(model);
  float data[12] = {};
  int64_t shapes[2][2] = {{2, 3}, {3, 4}};
  lumen_value items[2] = {lumen_tensor_value(data, LUMEN_F32, 2, shapes[0]),
                          lumen_tensor_value(data, LUMEN_F32, 2, shapes[1])};
  lumen_value inputs[1] = {}, outputs[1] = {};
  inputs[0].kind = LUMEN_SEQUENCE;
  inputs[0].u.sequence = {items, 2};
  EXPECT_EQ(opened.run(inputs, outputs),
            "calls: Call 'c': dimension 1 of item 1 is 4, that of item 0 is 3");
  items[1].u.tensor.ndim = 1;
  EXPECT_EQ(opened.run(inputs, outputs), "calls: Call 'c': item 1 has rank 1, item 0 has rank 2");
  inputs[0].u.sequence.length = 1;
  items[0].u.tensor.ndim = 1;
  EXPECT_EQ(opened.run(inputs, outputs),
            "calls: Call 'c': a tensor of rank 1 comes out, expected rank 2");
}

TEST(OptionalTest, HasAndGet) {
  CallModel model;
  Args in = {model.valueIn("o", LUMEN_ABI_OPTIONAL, LUMEN_ABI_F32)};
  uint32_t one = model.constant(1);
  uint32_t has = model.output("has", LUMEN_ABI_BOOL, {}, one);
  TableModel::Arg y = model.valueOut("y", LUMEN_ABI_OPTIONAL, LUMEN_ABI_F32);
  Args got = model.tensorOut("got", LUMEN_ABI_F32, 1);
  model.finishEntry();
  uint32_t flag = model.symbol("has"), value = model.valueOf(flag);
  model.step(LUMEN_ABI_STEP_CALL,
             model.call(lumen_call_optional_has_element, in, {{has, tensor, LUMEN_ABI_BOOL, 0}}));
  model.step(LUMEN_ABI_STEP_BIND, flag, has, LUMEN_ABI_BOOL);
  model.step(LUMEN_ABI_STEP_EVAL, value, 1);
  model.step(LUMEN_ABI_STEP_CALL, model.call(lumen_call_identity, in, {y}));
  model.addCall(lumen_call_optional_get_element, {y}, got);
  OpenModel opened(model);
  float data[2] = {3, 4};
  int64_t shape = 2;
  lumen_value inside = lumen_tensor_value(data, LUMEN_F32, 1, &shape);
  lumen_value inputs[1] = {}, outputs[3] = {};
  inputs[0].kind = LUMEN_OPTIONAL;
  inputs[0].u.optional.value = &inside;
  ASSERT_EQ(opened.run(inputs, outputs), "");
  EXPECT_EQ(dataOf<uint8_t>(outputs[0]), std::vector<uint8_t>({1}));
  data[0] = 0;
  EXPECT_EQ(dataOf<float>(*outputs[1].u.optional.value), std::vector<float>({3, 4}));
  EXPECT_EQ(dataOf<float>(outputs[2]), std::vector<float>({3, 4}));
  inputs[0].u.optional.value = nullptr;
  EXPECT_EQ(opened.run(inputs, outputs),
            "calls: Call 'c': the optional holds nothing, expected a value");
}

// An optional of a tensor in the arena keeps its bytes.
TEST(OptionalTest, OfATensor) {
  CallModel model;
  Args in = {model.tensorIn("x", LUMEN_ABI_F32, 1)};
  TableModel::Arg y = model.valueOut("y", LUMEN_ABI_OPTIONAL, LUMEN_ABI_F32);
  TableModel::Arg none = model.valueOut("none", LUMEN_ABI_OPTIONAL, LUMEN_ABI_F32);
  model.addCall(lumen_call_optional, in, {y});
  model.addCall(lumen_call_optional, {}, {none});
  OpenModel opened(model);
  float data[2] = {3, 4};
  int64_t shape = 2;
  lumen_value inputs[1] = {lumen_tensor_value(data, LUMEN_F32, 1, &shape)}, outputs[2] = {};
  ASSERT_EQ(opened.run(inputs, outputs), "");
  data[0] = 0;
  EXPECT_EQ(dataOf<float>(*outputs[0].u.optional.value), std::vector<float>({3, 4}));
  EXPECT_EQ(outputs[1].kind, uint32_t(LUMEN_OPTIONAL));
  EXPECT_EQ(outputs[1].u.optional.value, nullptr);
}

} // namespace
