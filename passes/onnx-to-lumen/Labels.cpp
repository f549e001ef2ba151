//===- Labels.cpp - categories and the names of classes -------------------===//

#include "passes/onnx-to-lumen/MachineLearning.h"
#include "passes/onnx-to-lumen/Values.h"

using namespace mlir;
using namespace lumen;

namespace {

/// Keys or values, or the only default, of a LabelEncoder.
struct Labels {
  Type element;
  SmallVector<Attribute> items;
};

} // namespace

static Labels textLabels(Node &node, StringRef attribute) {
  Labels labels{lumen::StringType::get(node.getContext()), {}};
  for (StringRef text : node.strings(attribute).value_or(SmallVector<StringRef>()))
    labels.items.push_back(node.emit.builder.getStringAttr(text));
  return labels;
}

template <typename Range> static Labels numberLabels(Node &node, Range &&numbers) {
  Labels labels{node.emit.builder.getI64Type(), {}};
  for (int64_t number : numbers)
    labels.items.push_back(node.emit.builder.getI64IntegerAttr(number));
  return labels;
}

/// From a tensor among the attributes; nothing where it has a type that no label has.
static std::optional<Labels> labelsOf(Builder &builder, Attribute attr) {
  Labels labels;
  if (auto strings = dyn_cast<DenseStringElementsAttr>(attr)) {
    labels.element = lumen::StringType::get(builder.getContext());
    int64_t count = cast<ShapedType>(strings.getType()).getNumElements();
    for (int64_t i = 0; i < count; ++i)
      labels.items.push_back(
          builder.getStringAttr(strings.getRawStringData()[strings.isSplat() ? 0 : size_t(i)]));
    return labels;
  }
  std::optional<ConstantData> data = ConstantData::get(attr, std::numeric_limits<int64_t>::max());
  if (!data)
    return std::nullopt;
  labels.element = data->getElementType();
  bool isReal = labels.element.isF32() || labels.element.isF64();
  if (!isReal && !labels.element.isSignlessInteger(16) && !labels.element.isSignlessInteger(32) &&
      !labels.element.isSignlessInteger(64))
    return std::nullopt;
  for (int64_t i = 0; i < data->size(); ++i)
    labels.items.push_back(isReal ? Attribute(builder.getF64FloatAttr((*data)[i].real))
                                  : Attribute(builder.getI64IntegerAttr((*data)[i].integer)));
  return labels;
}

/// `role`: "keys" or "values".
static FailureOr<Labels> readLabels(Node &node, StringRef role) {
  Builder &builder = node.emit.builder;
  SmallVector<Labels> found;
  std::string name = role.str() + "_tensor";
  if (Attribute attr = node.attribute(name)) {
    std::optional<Labels> labels = labelsOf(builder, attr);
    if (!labels)
      return node.error() << "attribute '" << name << "' has a type that is not supported";
    found.push_back(std::move(*labels));
  }
  if (Labels labels = textLabels(node, role.str() + "_strings"); !labels.items.empty())
    found.push_back(std::move(labels));
  if (Labels labels = numberLabels(node, readIntegers(node, role.str() + "_int64s"));
      !labels.items.empty())
    found.push_back(std::move(labels));
  if (auto numbers = node.reals(role.str() + "_floats"); numbers && !numbers->empty()) {
    Labels labels{builder.getF32Type(), {}};
    for (double number : *numbers)
      labels.items.push_back(builder.getF64FloatAttr(number));
    found.push_back(std::move(labels));
  }
  if (found.size() == 1)
    return std::move(found.front());
  return node.error() << "has " << found.size() << " lists of " << role << ", expected one";
}

static int64_t labelCode(Type element) {
  // Codes of TensorProto.DataType.
  if (isa<lumen::StringType>(element))
    return 8;
  if (element.isF32())
    return 1;
  if (element.isF64())
    return 11;
  return element.isInteger(16) ? 5 : element.isInteger(32) ? 6 : 7;
}

/// The values of the keys that the elements of `x` are; `otherwise` where one is no key.
static FailureOr<Value> encode(Node &node, Value x, const Labels &keys, const Labels &values,
                               Attribute otherwise) {
  if (keys.items.size() != values.items.size())
    return node.error() << "has " << keys.items.size() << " keys and " << values.items.size()
                        << " values, expected the same";
  auto type = dyn_cast<RankedTensorType>(x.getType());
  if (!type || type.getElementType() != keys.element)
    return node.error() << "input is of type " << onnx::typeText(x.getType()) << ", the keys are "
                        << typeText(keys.element);
  Builder &builder = node.emit.builder;
  return node.emit.call("label_encoder", x, tensorTypeOf(sizesOf(type), values.element),
                        {builder.getI64IntegerAttr(labelCode(keys.element)),
                         builder.getI64IntegerAttr(labelCode(values.element)),
                         builder.getArrayAttr(keys.items), builder.getArrayAttr(values.items),
                         otherwise});
}

static LogicalResult labelEncoder(Node &node) {
  Builder &builder = node.emit.builder;
  FailureOr<Labels> keys = readLabels(node, "keys"), values = readLabels(node, "values");
  if (failed(keys) || failed(values))
    return failure();
  StringRef text = node.string("default_string", "_Unused");
  int64_t integer = node.integer("default_int64", -1);
  double real = node.real("default_float", -0.0);
  // For values of other types these say nothing: there it is for a tensor to.
  Attribute otherwise;
  if (isa<lumen::StringType>(values->element))
    otherwise = builder.getStringAttr(text);
  else if (isa<FloatType>(values->element))
    otherwise = builder.getF64FloatAttr(values->element.isF32() ? real : -0.0);
  else
    otherwise = builder.getI64IntegerAttr(values->element.isInteger(64) ? integer : -1);
  if (Attribute attr = node.attribute("default_tensor")) {
    std::optional<Labels> given = labelsOf(builder, attr);
    if (!given || given->items.size() != 1 || given->element != values->element)
      return node.error() << "attribute 'default_tensor' is not one " << typeText(values->element);
    otherwise = given->items.front();
  }
  FailureOr<Value> result = encode(node, node.input(0), *keys, *values, otherwise);
  if (failed(result))
    return failure();
  return node.yield(*result);
}

/// Strings and their numbers, in the direction that the input asks for.
static LogicalResult mapStrings(Node &node, const Labels &strings, const Labels &numbers) {
  Builder &builder = node.emit.builder;
  Attribute text = builder.getStringAttr(node.string("default_string", "_Unused"));
  Attribute number = builder.getI64IntegerAttr(node.integer("default_int64", -1));
  bool isText = isObject(node.input(0).getType());
  FailureOr<Value> result = isText ? encode(node, node.input(0), strings, numbers, number)
                                   : encode(node, node.input(0), numbers, strings, text);
  if (failed(result))
    return failure();
  return node.yield(*result);
}

/// LabelEncoder of the first version: strings are numbered in their order.
static LogicalResult classEncoder(Node &node) {
  Labels strings = textLabels(node, "classes_strings");
  return mapStrings(node, strings, numberLabels(node, llvm::seq<int64_t>(0, strings.items.size())));
}

static LogicalResult categoryMapper(Node &node) {
  return mapStrings(node, textLabels(node, "cats_strings"),
                    numberLabels(node, readIntegers(node, "cats_int64s")));
}

static LogicalResult oneHotEncoder(Node &node) {
  Emitter &emit = node.emit;
  auto type = dyn_cast<RankedTensorType>(node.input(0).getType());
  if (!type)
    return node.error() << "input is of type " << onnx::typeText(node.input(0).getType())
                        << ", expected a tensor";
  Labels strings = textLabels(node, "cats_strings");
  SmallVector<int64_t> numbers = readIntegers(node, "cats_int64s");
  if (strings.items.empty() == numbers.empty())
    return node.error() << "has " << strings.items.size() << " categories that are strings and "
                        << numbers.size() << " that are integers, expected one kind";
  if (isObject(type) == strings.items.empty())
    return node.error() << "input is of type " << onnx::typeText(type)
                        << ", but the categories are "
                        << (strings.items.empty() ? "integers" : "strings");
  bool isZero = node.integer("zeros", 1) != 0;
  int64_t count = std::max(strings.items.size(), numbers.size());
  llvm::SmallDenseSet<Attribute> seen;
  for (Attribute item : strings.items.empty() ? numberLabels(node, numbers).items : strings.items)
    if (!seen.insert(item).second)
      return node.error() << "has the category " << item << " twice";

  Type i64 = emit.builder.getI64Type();
  Value x, categories;
  if (numbers.empty()) {
    // A string becomes its category's number first.
    FailureOr<Value> codes =
        encode(node, node.input(0), strings, numberLabels(node, llvm::seq<int64_t>(0, count)),
               emit.builder.getI64IntegerAttr(-1));
    if (failed(codes))
      return failure();
    x = *codes;
    categories = emit.iota(RankedTensorType::get(count, i64), 0);
  } else {
    x = emit.convert(node.input(0), i64);
    categories = makeNumbers(emit, count, i64, ArrayRef(numbers));
  }
  Sizes shape = Emitter::shapeOf(x), column = shape;
  column.push_back(1);
  shape.push_back(count);
  Value isIt = emit.compare(CompareKind::Eq, emit.broadcastTo(emit.reshape(x, column), shape),
                            emit.broadcastAlong(categories, shape, shape.size() - 1));
  Value result = emit.convert(isIt, emit.builder.getF32Type());
  if (!isZero) {
    Value found = emit.convert(isIt, i64);
    Value sum =
        emit.reduce(ReduceKind::Sum, found, llvm::to_vector(llvm::seq<int64_t>(0, shape.size())),
                    /*keepDims=*/false);
    SymExpr known = node.bind(sum, product(shape));
    emit.check(CheckKind::Equal, known, product(column),
               "the number of elements of known categories");
  }
  return node.yield(result);
}

ArrayRef<OperatorRow> lumen::labelRows() {
  constexpr int64_t kNewest = OperatorRow::kNewest;
  static constexpr OperatorRow rows[] = {
      OperatorRow{"CategoryMapper", 1, 1, categoryMapper, "", 1, kNewest, kMlDomain}.ofValues(),
      OperatorRow{"LabelEncoder", 1, 1, classEncoder, "", 1, 1, kMlDomain}.ofValues(),
      OperatorRow{"LabelEncoder", 1, 1, labelEncoder, "", 2, kNewest, kMlDomain}.ofValues(),
      OperatorRow{"OneHotEncoder", 1, 1, oneHotEncoder, "", 1, kNewest, kMlDomain}.ofValues(),
  };
  return rows;
}
