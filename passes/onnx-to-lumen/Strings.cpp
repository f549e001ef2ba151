//===- Strings.cpp - tensors of strings -----------------------------------===//
//
// Strings are computed with by the runtime alone. What only moves them is converted on
// their positions, and the runtime takes the strings at these once.
//
//===----------------------------------------------------------------------===//

#include "passes/onnx-to-lumen/Values.h"

using namespace mlir;
using namespace lumen;

using BK = BinaryKind;

static RankedTensorType stringTensor(Node::Shape shape, MLIRContext *context) {
  return tensorTypeOf(shape, lumen::StringType::get(context));
}

Value lumen::makeStrings(Emitter &emit, DenseElementsAttr value) {
  auto strings = cast<DenseStringElementsAttr>(value);
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<StringRef> texts(strings.getRawStringData());
  if (strings.isSplat())
    texts.assign(type.getNumElements(), texts.empty() ? "" : texts.front());
  return makeStrings(emit, type.getShape(), texts);
}

Value lumen::makeStrings(Emitter &emit, ArrayRef<int64_t> shape, ArrayRef<StringRef> texts) {
  OpBuilder &builder = emit.builder;
  return emit.call("string_constant", {},
                   RankedTensorType::get(shape, lumen::StringType::get(builder.getContext())),
                   {builder.getI64ArrayAttr(shape), builder.getStrArrayAttr(texts)});
}

Value lumen::takeStrings(Emitter &emit, Value positions, ValueRange strings) {
  SmallVector<Value> args = {emit.convert(positions, emit.builder.getI64Type())};
  llvm::append_range(args, strings);
  return emit.call("string_take", args,
                   stringTensor(Emitter::shapeOf(positions), emit.builder.getContext()));
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

void StringPositions::replace(MutableArrayRef<Value> inputs) {
  SymExpr begin = 0;
  for (Value &input : inputs) {
    if (!input || !isObject(input.getType()) || !isa<RankedTensorType>(input.getType()))
      continue;
    Sizes shape = Emitter::shapeOf(input);
    SymExpr count = product(shape);
    auto flat = tensorTypeOf({count}, emit.builder.getI64Type());
    Value places = emit.binary(BK::Add, emit.iota(flat, 0), begin);
    strings.push_back(input);
    input = emit.reshape(emit.convert(places, elementType()), shape);
    positions.push_back(input);
    begin += count;
  }
}

Value StringPositions::restore(Value result) {
  if (!result || positions.empty() || getElementTypeOrSelf(result.getType()) != elementType())
    return result;
  for (auto [place, value] : llvm::zip(positions, strings))
    if (place == result)
      return value;
  return takeStrings(emit, result, strings);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static LogicalResult expectStrings(Node &node, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    if (auto type = dyn_cast<RankedTensorType>(node.input(i).getType()); !type || !isObject(type))
      return node.error() << "input " << i << " is of type "
                          << onnx::typeText(node.input(i).getType())
                          << ", expected a tensor of strings";
  return success();
}

Value lumen::castText(Emitter &emit, Value operand, Type elementType) {
  Type from = getElementTypeOrSelf(operand);
  if (from == elementType)
    return operand;
  bool isParsed = isa<lumen::StringType>(from);
  Type number = isParsed ? elementType : from;
  // The runtime knows the widest type of each kind.
  bool isReal = isa<FloatType>(number);
  bool isUnsigned = number.isUnsignedInteger() || number.isInteger(1);
  Builder &builder = emit.builder;
  Type wide = isReal       ? Type(builder.getF64Type())
              : isUnsigned ? Type(builder.getIntegerType(64, /*isSigned=*/false))
                           : Type(builder.getI64Type());
  Sizes shape = Emitter::shapeOf(operand);
  if (!isParsed)
    return emit.call("string_format", emit.convert(operand, wide),
                     stringTensor(shape, builder.getContext()));
  int64_t code = isReal ? 11 : isUnsigned ? 13 : 7; // TensorProto.DataType
  Value numbers = emit.call("string_parse", operand, tensorTypeOf(shape, wide),
                            {builder.getI64IntegerAttr(code)});
  return emit.convert(numbers, elementType);
}

/// What the runtime makes of each two strings of inputs that broadcast.
static LogicalResult callForPairs(Node &node, StringRef callee, Type elementType) {
  if (failed(expectStrings(node, 2)))
    return failure();
  FailureOr<Sizes> shape = node.broadcastInputShapes();
  if (failed(shape))
    return failure();
  return node.yield(node.emit.call(callee, node.getInputs(), tensorTypeOf(*shape, elementType)));
}

static LogicalResult stringConcat(Node &node) {
  return callForPairs(node, "string_concat", lumen::StringType::get(node.getContext()));
}

static LogicalResult stringEqual(Node &node) {
  return callForPairs(node, "string_equal", node.emit.builder.getI1Type());
}

static LogicalResult stringSplit(Node &node) {
  if (failed(expectStrings(node, 1)))
    return failure();
  Builder &builder = node.emit.builder;
  std::string delimiter = node.string("delimiter", "").str();
  int64_t most = node.integer("maxsplit", -1);
  Sizes shape = node.inputShape(0);
  Type counts = tensorTypeOf(shape, builder.getI64Type());
  SmallVector<Value> more;
  shape.push_back(SymExpr::invalid());
  Value pieces = node.callForItem(
      "string_split", node.input(0), stringTensor(shape, node.getContext()),
      {builder.getStringAttr(delimiter), builder.getI64IntegerAttr(most)}, counts, &more);
  return node.yield({pieces, more.front()});
}

static LogicalResult stringNormalizer(Node &node) {
  node.ignore("locale"); // letters change their case alike in all that we know
  if (failed(expectStrings(node, 1)))
    return failure();
  Sizes shape = node.inputShape(0);
  if (shape.empty() || shape.size() > 2 ||
      (shape.size() == 2 && !node.ensureEqual(shape[0], 1, "the number of rows of words")))
    return node.error() << "input has shape " << shapeText(shape) << ", expected words or one row "
                        << "of words";
  FailureOr<int64_t> action =
      readChoice(node, "case_change_action", node.string("case_change_action", "NONE"),
                 {"NONE", "LOWER", "UPPER"});
  if (failed(action))
    return failure();
  int64_t isSensitive = node.integer("is_case_sensitive", 0);
  SmallVector<StringRef> stops = node.strings("stopwords").value_or(SmallVector<StringRef>());
  Builder &builder = node.emit.builder;
  if (shape.size() == 2)
    shape[0] = 1;
  shape.back() = SymExpr::invalid();
  return node.yield(
      node.callForItem("string_normalizer", node.input(0), stringTensor(shape, node.getContext()),
                       {builder.getI64IntegerAttr(*action), builder.getI64IntegerAttr(isSensitive),
                        builder.getStrArrayAttr(stops)}));
}

static LogicalResult regexFullMatch(Node &node) {
  if (failed(expectStrings(node, 1)))
    return failure();
  Builder &builder = node.emit.builder;
  return node.yield(node.emit.call("regex_full_match", node.input(0),
                                   tensorTypeOf(node.inputShape(0), builder.getI1Type()),
                                   {builder.getStringAttr(node.string("pattern", ""))}));
}

static LogicalResult tfidfVectorizer(Node &node) {
  auto type = dyn_cast<RankedTensorType>(node.input(0).getType());
  bool isText = type && isObject(type);
  if (!type || type.getRank() < 1 || type.getRank() > 2 ||
      (!isText && !type.getElementType().isInteger(32) && !type.getElementType().isInteger(64)))
    return node.error() << "input is of type " << onnx::typeText(node.input(0).getType())
                        << ", expected one or two dimensions of i32, i64 or strings";
  FailureOr<int64_t> mode =
      readChoice(node, "mode", node.string("mode", ""), {"TF", "IDF", "TFIDF"});
  if (failed(mode))
    return failure();
  Builder &builder = node.emit.builder;
  SmallVector<double> reals = readReals(node, "weights");
  SmallVector<int64_t> counts = readIntegers(node, "ngram_counts"),
                       indexes = readIntegers(node, "ngram_indexes"),
                       numbers = readIntegers(node, "pool_int64s");
  auto texts = node.strings("pool_strings").value_or(SmallVector<StringRef>());
  int64_t least = node.integer("min_gram_length", 1), most = node.integer("max_gram_length", 1);
  int64_t skip = node.integer("max_skip_count", 0);
  if (indexes.empty())
    return node.error() << "attribute 'ngram_indexes' is missing";
  if (least < 1 || most < least || skip < 0)
    return node.error() << "lengths of grams are " << least << " to " << most << " with " << skip
                        << " skipped at most";
  int64_t poolSize = isText ? texts.size() : numbers.size();
  if (int64_t(counts.size()) < most)
    return node.error() << "attribute 'ngram_counts' has " << counts.size() << " entries, expected "
                        << most << " at least";
  // Grams of each length lie behind each other in the pool, and each has an index.
  int64_t grams = 0;
  for (auto [i, begin] : llvm::enumerate(counts)) {
    int64_t end = i + 1 < counts.size() ? counts[i + 1] : poolSize;
    if (begin < 0 || begin > end || end > poolSize || (end - begin) % int64_t(i + 1))
      return node.error() << "attribute 'ngram_counts' has the entry " << begin << " before " << end
                          << ", expected whole grams of " << i + 1 << " in a pool of " << poolSize;
    grams += (end - begin) / int64_t(i + 1);
  }
  if (int64_t(indexes.size()) != grams || (!reals.empty() && int64_t(reals.size()) != grams))
    return node.error() << "has " << indexes.size() << " indexes and " << reals.size()
                        << " weights, expected " << grams;
  int64_t width = 0;
  for (int64_t index : indexes) {
    if (index < 0 || index > std::numeric_limits<int32_t>::max())
      return node.error() << "attribute 'ngram_indexes' has the entry " << index;
    width = std::max(width, index + 1);
  }
  Sizes shape = node.inputShape(0);
  shape.back() = width;
  SmallVector<Attribute> weights, pool;
  for (double weight : reals)
    weights.push_back(builder.getF64FloatAttr(weight));
  ArrayAttr items = isText ? builder.getStrArrayAttr(texts) : builder.getI64ArrayAttr(numbers);
  return node.yield(
      node.emit.call("tfidf_vectorizer", node.input(0), tensorTypeOf(shape, builder.getF32Type()),
                     {builder.getI64IntegerAttr(*mode), builder.getI64IntegerAttr(least),
                      builder.getI64IntegerAttr(most), builder.getI64IntegerAttr(skip),
                      builder.getI64ArrayAttr(counts), builder.getI64ArrayAttr(indexes),
                      builder.getArrayAttr(weights), items}));
}

ArrayRef<OperatorRow> lumen::stringRows() {
  static constexpr OperatorRow rows[] = {
      OperatorRow{"Equal", 2, 2, stringEqual}.ofValues(),
      OperatorRow{"RegexFullMatch", 1, 1, regexFullMatch, "without \\p, \\C and \\Q", 20}
          .ofValues(),
      OperatorRow{"StringConcat", 2, 2, stringConcat, "", 20}.ofValues(),
      OperatorRow{"StringNormalizer", 1, 1, stringNormalizer,
                  "letters of Latin, Greek and Cyrillic alphabets", 10}
          .ofValues(),
      OperatorRow{"StringSplit", 1, 1, stringSplit, "", 20}.ofValues(),
      OperatorRow{"TfIdfVectorizer", 1, 1, tfidfVectorizer, "", 9}.ofValues(),
  };
  return rows;
}
