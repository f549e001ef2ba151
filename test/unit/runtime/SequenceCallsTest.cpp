// Sequences and optionals: as inputs and outputs, and what models do with them. Results
// are those of ONNX Runtime, or of the standard where it says more.
#include "CallModel.h"

using namespace lumen::test;

namespace {

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
    concat.integer(test.axis).integer(isNew).integers({});
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
  concat.integer(0).integer(1).integers({});
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
  attributes.integer(0).integer(0).integers({});
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
