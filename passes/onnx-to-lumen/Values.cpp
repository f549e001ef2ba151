//===- Values.cpp - sequences and optionals -------------------------------===//

#include "passes/onnx-to-lumen/Values.h"

using namespace mlir;
using namespace lumen;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Elements that a sequence, an optional or a tensor of strings may have.
static Type elementTypeFor(Type element) {
  if (isa<onnx::StringType>(element))
    return lumen::StringType::get(element.getContext());
  return isScalarType(element) && !isa<IndexType>(element) ? element : Type();
}

Type lumen::objectTypeOf(Type type) {
  MLIRContext *context = type.getContext();
  // What is inside: a tensor of anything, or a sequence.
  auto inside = [](Type type) -> Type {
    auto tensor = dyn_cast<TensorType>(type);
    if (!tensor)
      return isa<onnx::SeqType>(type) ? objectTypeOf(type) : Type();
    Type element = elementTypeFor(tensor.getElementType());
    return element ? itemTypeOf(tensor.clone(element)) : Type();
  };
  if (auto sequence = dyn_cast<onnx::SeqType>(type)) {
    Type item = inside(sequence.getElementType());
    return item && !isa<SeqType>(item) ? SeqType::get(context, item) : Type();
  }
  if (auto optional = dyn_cast<onnx::OptionalType>(type)) {
    Type value = inside(optional.getElementType());
    return value ? OptionalType::get(context, value) : Type();
  }
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && isa<onnx::StringType>(tensor.getElementType()))
    return tensor.clone(elementTypeFor(tensor.getElementType()));
  return {};
}

Type lumen::itemTypeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? RankedTensorType::get(tensor.getShape(), tensor.getElementType()) : type;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Value Emitter::call(StringRef callee, ValueRange args, Type result, ArrayRef<Attribute> data) {
  return CallOp::create(builder, loc, result, callee, args,
                        data.empty() ? ArrayAttr() : builder.getArrayAttr(data), ArrayAttr())
      .getResult(0);
}

Value Node::callForItem(StringRef callee, ValueRange args, Type item, ArrayRef<Attribute> data,
                        TypeRange others, SmallVectorImpl<Value> *more) {
  SmallVector<Type> types = {item};
  OpBuilder &builder = emit.builder;
  SmallVector<StringRef> symbols;
  SmallVector<std::string> names;
  if (auto tensor = dyn_cast<RankedTensorType>(item); tensor && !tensor.hasStaticShape()) {
    Sizes sizes = sizesOf(tensor);
    for (SymExpr &size : sizes) {
      names.push_back(size.isValid() ? "" : freshSymbol(getOperator().lower()));
      if (!size.isValid())
        size = SymExpr::symbol(names.back());
    }
    symbols.append(names.begin(), names.end());
    types = {tensorTypeOf(sizes, tensor.getElementType()),
             RankedTensorType::get(tensor.getRank(), builder.getI64Type())};
  }
  unsigned firstOther = types.size();
  llvm::append_range(types, others);
  auto call = CallOp::create(builder, getLoc(), types, callee, args,
                             data.empty() ? ArrayAttr() : builder.getArrayAttr(data),
                             symbols.empty() ? ArrayAttr() : builder.getStrArrayAttr(symbols));
  if (more)
    more->append(call.result_begin() + firstOther, call.result_end());
  return call.getResult(0);
}

static FailureOr<SeqType> sequenceAt(Node &node, unsigned index) {
  if (auto type = dyn_cast<SeqType>(node.input(index).getType()))
    return type;
  return node.error() << "input " << index << " is of type "
                      << onnx::typeText(node.input(index).getType()) << ", expected a sequence";
}

/// The type of a sequence's items; an error where nothing is known of them.
static FailureOr<Type> knownItem(Node &node, Type sequence) {
  Type item = cast<SeqType>(sequence).getElementType();
  if (isa<RankedTensorType>(item))
    return item;
  if (isa<TensorType>(item))
    return node.error() << "items of the sequence have a rank that only the run knows, which is "
                           "not supported";
  return node.error() << "takes an item of a sequence that has none";
}

/// Checks a position among the items, which may be absent: one i32 or i64.
static LogicalResult expectPosition(Node &node, unsigned index) {
  if (!node.input(index))
    return success();
  auto type = dyn_cast<RankedTensorType>(node.input(index).getType());
  if (!type || (!type.getElementType().isInteger(32) && !type.getElementType().isInteger(64)))
    return node.error() << "position is of type " << onnx::typeText(node.input(index).getType())
                        << ", expected i32 or i64";
  if (!node.ensureEqual(product(sizesOf(type)), 1, "the number of elements of the position"))
    return node.error() << "position has shape " << shapeText(sizesOf(type)) << ", expected scalar";
  return success();
}

static SmallVector<Value> given(Node &node) {
  SmallVector<Value> args(node.getInputs());
  while (!args.empty() && !args.back())
    args.pop_back();
  return args;
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

static FailureOr<Type> joinItem(Node &node, Type sequence, Type item) {
  if (!isa<RankedTensorType>(item))
    return node.error() << "a value of type " << onnx::typeText(item)
                        << " is no item of a sequence, expected a tensor";
  Type joined = joinObjects(sequence, SeqType::get(item.getContext(), itemTypeOf(item)));
  if (joined)
    return joined;
  return node.error() << "an item is of type " << onnx::typeText(item) << ", the sequence of type "
                      << onnx::typeText(sequence) << "; expected the same element type";
}

static LogicalResult sequenceConstruct(Node &node) {
  Type type = SeqType::get(node.getContext(), NoneType::get(node.getContext()));
  for (Value item : node.getInputs()) {
    FailureOr<Type> joined = joinItem(node, type, item.getType());
    if (failed(joined))
      return failure();
    type = *joined;
  }
  return node.yield(node.emit.call("sequence_construct", node.getInputs(), type));
}

static LogicalResult sequenceEmpty(Node &node) {
  constexpr int64_t kString = 8;
  Type element = lumen::StringType::get(node.getContext());
  if (node.integer("dtype", 1) != kString) {
    FailureOr<Type> number = readElementType(node, "dtype", 1);
    if (failed(number))
      return failure();
    element = *number;
  }
  return node.yield(
      node.emit.call("sequence_construct", {}, SeqType::get(node.getContext(), element)));
}

FailureOr<Value> lumen::itemAt(Node &node, Value sequence, Value position) {
  FailureOr<Type> item = knownItem(node, sequence.getType());
  if (failed(item))
    return failure();
  return node.callForItem("sequence_at", {sequence, position}, *item);
}

FailureOr<Value> lumen::insertItem(Node &node, Value sequence, Value item, Value position) {
  FailureOr<Type> joined = joinItem(node, sequence.getType(), item.getType());
  if (failed(joined))
    return failure();
  SmallVector<Value> args = {sequence, item};
  if (position)
    args.push_back(position);
  return node.emit.call("sequence_insert", args, *joined);
}

Value lumen::concatItems(Node &node, Value sequence, RankedTensorType type, int64_t axis,
                         bool isNew, ArrayRef<int64_t> none) {
  Builder &builder = node.emit.builder;
  return node.callForItem("concat_from_sequence", sequence, type,
                          {builder.getI64IntegerAttr(axis), builder.getI64IntegerAttr(isNew),
                           builder.getI64ArrayAttr(none)});
}

Value lumen::sequenceLength(Emitter &emit, Value sequence) {
  return emit.call("sequence_length", sequence,
                   RankedTensorType::get({}, emit.builder.getI64Type()));
}

static LogicalResult convertSequenceAt(Node &node) {
  if (failed(sequenceAt(node, 0)) || failed(expectPosition(node, 1)))
    return failure();
  FailureOr<Value> item = itemAt(node, node.input(0), node.input(1));
  return failed(item) ? failure() : node.yield(*item);
}

static LogicalResult sequenceInsert(Node &node) {
  if (failed(sequenceAt(node, 0)) || failed(expectPosition(node, 2)))
    return failure();
  FailureOr<Value> result = insertItem(node, node.input(0), node.input(1), node.input(2));
  return failed(result) ? failure() : node.yield(*result);
}

static LogicalResult sequenceErase(Node &node) {
  FailureOr<SeqType> type = sequenceAt(node, 0);
  if (failed(type) || failed(expectPosition(node, 1)))
    return failure();
  return node.yield(node.emit.call("sequence_erase", given(node), *type));
}

static LogicalResult convertSequenceLength(Node &node) {
  if (failed(sequenceAt(node, 0)))
    return failure();
  return node.yield(sequenceLength(node.emit, node.input(0)));
}

static LogicalResult splitToSequence(Node &node) {
  auto type = dyn_cast<RankedTensorType>(node.input(0).getType());
  if (!type)
    return node.error() << "input is of type " << onnx::typeText(node.input(0).getType())
                        << ", expected a tensor";
  FailureOr<int64_t> axis = node.normalizeAxis(node.integer("axis", 0), type.getRank());
  int64_t keeps = node.integer("keepdims", 1);
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  if (!node.input(1)) {
    if (keeps)
      shape[*axis] = 1;
    else
      shape.erase(shape.begin() + *axis);
  } else {
    auto split = dyn_cast<RankedTensorType>(node.input(1).getType());
    if (!split || split.getRank() > 1 ||
        (!split.getElementType().isInteger(32) && !split.getElementType().isInteger(64)))
      return node.error() << "split is of type " << onnx::typeText(node.input(1).getType())
                          << ", expected i32 or i64, a scalar or a list";
    shape[*axis] = ShapedType::kDynamic;
  }
  Builder &builder = node.emit.builder;
  return node.yield(node.emit.call(
      "split_to_sequence", given(node),
      SeqType::get(node.getContext(), RankedTensorType::get(shape, type.getElementType())),
      {builder.getI64IntegerAttr(*axis), builder.getI64IntegerAttr(keeps)}));
}

static LogicalResult concatFromSequence(Node &node) {
  FailureOr<SeqType> type = sequenceAt(node, 0);
  if (failed(type))
    return failure();
  FailureOr<Type> known = knownItem(node, *type);
  if (failed(known))
    return failure();
  auto item = cast<RankedTensorType>(*known);
  int64_t isNew = node.integer("new_axis", 0);
  FailureOr<int64_t> axis =
      node.normalizeAxis(node.integer("axis", 0), item.getRank() + (isNew ? 1 : 0));
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(item.getShape());
  if (isNew)
    shape.insert(shape.begin() + *axis, ShapedType::kDynamic);
  else
    shape[*axis] = ShapedType::kDynamic;
  return node.yield(concatItems(
      node, node.input(0), RankedTensorType::get(shape, item.getElementType()), *axis, isNew != 0));
}

//===----------------------------------------------------------------------===//
// Optionals
//===----------------------------------------------------------------------===//

static LogicalResult optional(Node &node) {
  Attribute attr = node.attribute("type");
  if (Value value = node.input(0)) {
    if (isa<OptionalType>(value.getType()))
      return node.error() << "input is an optional already";
    return node.yield(node.emit.call(
        "optional", value, OptionalType::get(node.getContext(), itemTypeOf(value.getType()))));
  }
  auto type = dyn_cast_or_null<TypeAttr>(attr);
  Type held;
  if (type) {
    Type wrapped = onnx::OptionalType::get(node.getContext(), type.getValue());
    held = objectTypeOf(isa<onnx::OptionalType>(type.getValue()) ? type.getValue() : wrapped);
  }
  if (!held)
    return node.error() << "has neither an input nor an attribute 'type' that is supported";
  return node.yield(node.emit.call("optional", {}, held));
}

static LogicalResult optionalHasElement(Node &node) {
  auto type = RankedTensorType::get({}, node.emit.builder.getI1Type());
  if (node.input(0) && isa<OptionalType>(node.input(0).getType()))
    return node.yield(node.emit.call("optional_has_element", node.input(0), type));
  bool holds = bool(node.input(0));
  return node.yield(node.emit.constant(DenseElementsAttr::get(type, holds)));
}

static LogicalResult optionalGetElement(Node &node) {
  auto type = dyn_cast<OptionalType>(node.input(0).getType());
  if (!type)
    return node.yield(node.input(0));
  if (isa<UnrankedTensorType>(type.getElementType()))
    return node.error() << "the optional holds a tensor of a rank that only the run knows, which "
                           "is not supported";
  return node.yield(node.callForItem("optional_get_element", node.input(0), type.getElementType()));
}

static LogicalResult identity(Node &node) { return node.yield(node.input(0)); }

ArrayRef<OperatorRow> lumen::valueRows() {
  constexpr unsigned kMany = OperatorRow::kVariadic;
  static constexpr OperatorRow rows[] = {
      OperatorRow{"ConcatFromSequence", 1, 1, concatFromSequence, "items of a known rank", 11}
          .ofValues(),
      OperatorRow{"Identity", 1, 1, identity}.ofValues(),
      OperatorRow{"Optional", 0, 1, optional, "", 15}.ofValues(),
      OperatorRow{"OptionalGetElement", 1, 1, optionalGetElement, "items of a known rank", 15}
          .ofValues(),
      OperatorRow{"OptionalHasElement", 0, 1, optionalHasElement, "", 15}.ofValues(),
      OperatorRow{"SequenceAt", 2, 2, convertSequenceAt, "items of a known rank", 11}.ofValues(),
      OperatorRow{"SequenceConstruct", 1, kMany, sequenceConstruct, "", 11}.ofValues(),
      OperatorRow{"SequenceEmpty", 0, 0, sequenceEmpty, "", 11}.ofValues(),
      OperatorRow{"SequenceErase", 1, 2, sequenceErase, "", 11}.ofValues(),
      OperatorRow{"SequenceInsert", 2, 3, sequenceInsert, "", 11}.ofValues(),
      OperatorRow{"SequenceLength", 1, 1, convertSequenceLength, "", 11}.ofValues(),
      OperatorRow{"SplitToSequence", 1, 2, splitToSequence, "", 11}.ofValues(),
  };
  return rows;
}
