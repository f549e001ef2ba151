//===- VerifyLoops.cpp - shape and type rules of picks and of LumenLoops.td ===//

#include "dialects/Lumen/Lumen.h"

using namespace mlir;
using namespace lumen;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static bool agree(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

/// Checks a value's shape; a dynamic size agrees with every size.
static LogicalResult expectShape(Operation *op, StringRef what, Value value,
                                 ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> actual = typeOf(value).getShape();
  bool fits = actual.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = agree(actual[i], shape[i]);
  if (fits)
    return success();
  return op->emitOpError("has ") << what << " of shape " << shapeText(actual) << ", expected "
                                 << shapeText(shape);
}

static LogicalResult expectElement(Operation *op, StringRef what, Value value, Type element) {
  if (typeOf(value).getElementType() == element)
    return success();
  return op->emitOpError("has ") << what << " of element type " << typeOf(value).getElementType()
                                 << ", expected " << element;
}

static LogicalResult expectAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError("has axis ") << axis << ", which lies outside the rank " << rank;
}

static LogicalResult expectScalar(Operation *op, StringRef what, Value value, Type element) {
  if (failed(expectShape(op, what, value, {})))
    return failure();
  return expectElement(op, what, value, element);
}

/// The places of an indexed tensor: what `pick` and `scatter` share. `walked` is the
/// tensor that walks along the indices.
static LogicalResult verifyIndexing(Operation *op, Value indexed, Value walked,
                                    OperandRange indices, ArrayRef<int64_t> dims) {
  RankedTensorType inner = typeOf(indexed), outer = typeOf(walked);
  if (failed(expectElement(op, "elements", walked, inner.getElementType())))
    return failure();
  if (int64_t(dims.size()) != inner.getRank())
    return op->emitOpError("has ")
           << dims.size() << " entries in 'dims', expected " << inner.getRank();
  size_t picked = 0;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim == -1) {
      ++picked;
      continue;
    }
    if (failed(expectAxis(op, dim, outer.getRank())))
      return failure();
    int64_t size = inner.getDimSize(i), steps = outer.getDimSize(dim);
    if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(steps) && steps > size)
      return op->emitOpError("walks ")
             << steps << " steps along dimension " << i << " of size " << size;
  }
  if (picked != indices.size())
    return op->emitOpError("has ")
           << indices.size() << " index tensors, but " << picked << " entries of -1 in 'dims'";
  for (Value index : indices) {
    RankedTensorType type = typeOf(index);
    if (!isa<IntegerType>(type.getElementType()))
      return op->emitOpError("has indices of element type ")
             << type.getElementType() << ", expected an integer type";
    if (type.getRank() > outer.getRank())
      return op->emitOpError("has indices of shape ")
             << shapeText(type.getShape()) << ", expected the beginning of "
             << shapeText(outer.getShape());
    if (failed(expectShape(op, "indices", index, outer.getShape().take_front(type.getRank()))))
      return failure();
  }
  return success();
}

LogicalResult PickOp::verify() {
  return verifyIndexing(*this, getOperand(), getResult(), getIndices(), getDims());
}

LogicalResult ScatterOp::verify() {
  return verifyIndexing(*this, getOperand(), getUpdates(), getIndices(), getDims());
}

LogicalResult SortOp::verify() {
  RankedTensorType from = typeOf(getOperand()), to = typeOf(getValues());
  if (failed(expectAxis(*this, getAxis(), from.getRank())) ||
      failed(expectElement(*this, "values", getValues(), from.getElementType())))
    return failure();
  SmallVector<int64_t> shape(from.getShape());
  if (to.getRank() == from.getRank())
    shape[getAxis()] = to.getDimSize(getAxis());
  if (failed(expectShape(*this, "values", getValues(), shape)))
    return failure();
  if (!agree(shape[getAxis()], from.getDimSize(getAxis())) &&
      shape[getAxis()] > from.getDimSize(getAxis()))
    return emitOpError("takes ") << shape[getAxis()] << " elements of dimension " << getAxis()
                                 << " of size " << from.getDimSize(getAxis());
  return expectShape(*this, "indices", getIndices(), to.getShape());
}

LogicalResult NonzeroOp::verify() {
  RankedTensorType from = typeOf(getOperand());
  if (from.getRank() != 1)
    return emitOpError("has an operand of shape ")
           << shapeText(from.getShape()) << ", expected one dimension";
  if (failed(expectShape(*this, "indices", getIndices(), from.getShape())))
    return failure();
  return expectShape(*this, "a count", getCount(), {});
}

LogicalResult UniqueOp::verify() {
  RankedTensorType from = typeOf(getOperand());
  if (from.getRank() != 2)
    return emitOpError("has an operand of shape ")
           << shapeText(from.getShape()) << ", expected two dimensions";
  for (Value result : getResults().drop_back())
    if (failed(expectShape(*this, "a result", result, from.getShape().take_front(1))))
      return failure();
  return expectShape(*this, "a count", getCount(), {});
}

LogicalResult NmsOp::verify() {
  RankedTensorType boxes = typeOf(getBoxes());
  if (boxes.getRank() != 3)
    return emitOpError("has boxes of shape ")
           << shapeText(boxes.getShape()) << ", expected three dimensions";
  Builder builder(getContext());
  int64_t n = boxes.getDimSize(1);
  constexpr int64_t any = ShapedType::kDynamic;
  if (failed(expectShape(*this, "boxes", getBoxes(), {any, any, 4})) ||
      failed(expectShape(*this, "scores", getScores(), {boxes.getDimSize(0), any, n})) ||
      failed(expectScalar(*this, "a limit", getMaxBoxes(), builder.getI64Type())) ||
      failed(expectScalar(*this, "a threshold", getIouThreshold(), builder.getF32Type())) ||
      failed(expectScalar(*this, "a threshold", getScoreThreshold(), builder.getF32Type())) ||
      failed(expectShape(*this, "a selection", getSelected(), {any, 3})) ||
      failed(expectShape(*this, "an order", getOrder(), {n})))
    return failure();
  return expectShape(*this, "a count", getCount(), {});
}

LogicalResult AccumulateOp::verify() {
  if (typeOf(getOperand()).getElementType().isInteger(1))
    return emitOpError("has an operand of element type i1, expected numbers");
  return expectAxis(*this, getAxis(), typeOf(getOperand()).getRank());
}

LogicalResult TreesOp::verify() {
  RankedTensorType input = typeOf(getInput()), result = typeOf(getResult());
  if (input.getRank() != 2 || result.getRank() != 3)
    return emitOpError("has an input of shape ")
           << shapeText(input.getShape()) << " and a result of shape "
           << shapeText(result.getShape()) << ", expected two and three dimensions";
  if (getKind() == ReduceKind::Prod)
    return emitOpError("has the kind prod, expected sum, max or min");
  constexpr int64_t any = ShapedType::kDynamic;
  int64_t nodes = typeOf(getThresholds()).getNumElements();
  if (failed(expectShape(*this, "thresholds", getThresholds(), {nodes})) ||
      failed(expectElement(*this, "thresholds", getThresholds(), input.getElementType())) ||
      failed(expectShape(*this, "links", getLinks(), {nodes, 2})) ||
      failed(expectShape(*this, "leaves", getLeaves(), {nodes + 1})) ||
      failed(expectShape(*this, "roots", getRoots(), {any})) ||
      failed(
          expectElement(*this, "a result", getResult(), typeOf(getWeights()).getElementType())) ||
      failed(expectShape(*this, "a result", getResult(), {any, input.getDimSize(0), any})))
    return failure();
  if (Value targets = getTargets())
    return expectShape(*this, "targets", targets, {typeOf(getWeights()).getDimSize(0)});
  return expectShape(*this, "weights", getWeights(), {any, result.getDimSize(2)});
}

LogicalResult RecurrenceOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (input.getRank() != 3)
    return emitOpError("has an input of shape ")
           << shapeText(input.getShape()) << ", expected three dimensions";
  if (getStates().empty())
    return emitOpError("has no states");
  if (getLast().size() != getStates().size())
    return emitOpError("has ") << getStates().size() << " states, but " << getLast().size()
                               << " last ones";
  int64_t rows = input.getDimSize(1);
  for (auto [state, last] : llvm::zip(getStates(), getLast())) {
    int64_t size = typeOf(state).getRank() == 2 ? typeOf(state).getDimSize(1) : 0;
    if (failed(expectShape(*this, "a state", state, {rows, size})) ||
        failed(expectShape(*this, "a last state", last, {rows, size})))
      return failure();
  }
  if (failed(expectShape(*this, "a sequence", getSequence(),
                         {input.getDimSize(0), rows, typeOf(getStates().front()).getDimSize(1)})))
    return failure();
  if (getLengths() && failed(expectShape(*this, "lengths", getLengths(), {rows})))
    return failure();

  // The cell's arguments are one row of the operands, parameters whole.
  Block &cell = getCell().front();
  if (cell.getNumArguments() != 1 + getParams().size() + getStates().size())
    return emitOpError("has a cell of ") << cell.getNumArguments() << " arguments, expected "
                                         << 1 + getParams().size() + getStates().size();
  auto expectRow = [&](BlockArgument argument, Value operand, unsigned dropped) {
    if (failed(expectElement(*this, "an argument", argument, typeOf(operand).getElementType())))
      return failure();
    return expectShape(*this, "an argument", argument,
                       typeOf(operand).getShape().drop_front(dropped));
  };
  if (failed(expectRow(cell.getArgument(0), getInput(), 2)))
    return failure();
  for (auto [argument, param] : llvm::zip(cell.getArguments().drop_front(1), getParams()))
    if (failed(expectRow(argument, param, 0)))
      return failure();
  auto yield = cast<YieldOp>(cell.getTerminator());
  if (yield.getValues().size() != getStates().size())
    return emitOpError("has a cell that yields ")
           << yield.getValues().size() << " values, expected " << getStates().size();
  for (auto [argument, state, next] :
       llvm::zip(cell.getArguments().drop_front(1 + getParams().size()), getStates(),
                 yield.getValues())) {
    if (failed(expectRow(argument, state, 1)))
      return failure();
    if (next.getType() != argument.getType())
      return emitOpError("has a cell that yields ")
             << next.getType() << ", expected " << argument.getType();
  }
  for (Operation &op : cell.without_terminator())
    if (!isa<UnaryOp, BinaryOp, CompareOp, SelectOp, ConvertOp, BroadcastOp, ConstantOp, SliceOp,
             ReshapeOp, ContractOp>(op))
      return emitOpError("has ") << op.getName() << " in its cell, expected elementwise operations,"
                                 << " slices and products";
  return success();
}
