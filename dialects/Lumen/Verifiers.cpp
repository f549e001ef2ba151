//===- Verifiers.cpp - shape and type rules of the operations -------------===//
//
// A dynamic dimension agrees with every size; where both types carry their
// expressions, equal sizes are equal types already.
//
//===----------------------------------------------------------------------===//

#include "dialects/Lumen/Lumen.h"
#include "dialects/Lumen/PackedWeights.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace lumen;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static bool agree(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

/// Compares the result's type with the one that the operation's rule gives.
static LogicalResult expectResult(Operation *op, ArrayRef<int64_t> shape, Type element) {
  RankedTensorType type = typeOf(op->getResult(0));
  bool fits = type.getRank() == int64_t(shape.size());
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = agree(type.getDimSize(i), shape[i]);
  if (!fits)
    return op->emitOpError("has a result of shape ")
           << shapeText(type.getShape()) << ", expected " << shapeText(shape);
  if (type.getElementType() != element)
    return op->emitOpError("has a result of element type ")
           << type.getElementType() << ", expected " << element;
  return success();
}

static LogicalResult expectSameElements(Operation *op, Value a, Value b) {
  Type lhs = typeOf(a).getElementType(), rhs = typeOf(b).getElementType();
  if (lhs == rhs)
    return success();
  return op->emitOpError("has operands of element types ")
         << lhs << " and " << rhs << ", expected the same";
}

static LogicalResult expectReal(Operation *op) {
  Type element = typeOf(op->getOperand(0)).getElementType();
  if (isa<FloatType>(element))
    return success();
  return op->emitOpError("has an operand of element type ")
         << element << ", expected a floating-point type";
}

static LogicalResult expectAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError("has axis ") << axis << ", which lies outside the rank " << rank;
}

/// Checks that a list attribute has one entry per dimension.
static LogicalResult expectEntries(Operation *op, StringRef name, ArrayRef<int64_t> list,
                                   int64_t count) {
  if (int64_t(list.size()) == count)
    return success();
  return op->emitOpError("has ") << list.size() << " entries in '" << name << "', expected "
                                 << count;
}

static LogicalResult expectEntries(Operation *op, StringRef name, DimsAttr list, int64_t count) {
  if (int64_t(list.getDims().size()) != count)
    return op->emitOpError("has ")
           << list.getDims().size() << " entries in '" << name << "', expected " << count;
  for (const SymExpr &size : toSizes(list))
    if (!size.isValid())
      return op->emitOpError("has an entry in '") << name << "' that is no size expression";
  return success();
}

static LogicalResult expectSize(Operation *op, StringRef name, StringRef text) {
  if (SymExpr::parse(text))
    return success();
  return op->emitOpError("has '") << text << "' as '" << name << "', expected a size expression";
}

static LogicalResult expectPositive(Operation *op, StringRef name, ArrayRef<int64_t> list) {
  for (int64_t value : list)
    if (value < 1)
      return op->emitOpError("has the entry ")
             << value << " in '" << name << "', expected at least 1";
  return success();
}

//===----------------------------------------------------------------------===//
// Constants and elementwise
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::verify() {
  RankedTensorType type = typeOf(getResult());
  if (!type.hasStaticShape())
    return emitOpError("has type ") << type << ", expected a static shape";
  auto blob = dyn_cast<lumen::BlobAttr>(getValue());
  if (!blob) {
    if (!isa<DenseElementsAttr>(getValue()))
      return emitOpError("expects dense elements or '#lumen.blob'");
    return success();
  }
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  uint64_t size = type.getNumElements() * std::max(width / 8, 1u);
  // Elements of less than a byte are packed or not, as the file has them.
  if ((width % 8 == 0 || width == 1) && blob.getSize() != size)
    return emitOpError("has a blob of ")
           << blob.getSize() << " bytes, expected " << size << " for " << type;
  return success();
}

LogicalResult UnaryOp::verify() {
  Type element = typeOf(getOperand()).getElementType();
  bool isTest = getKind() == UnaryKind::IsNan || getKind() == UnaryKind::IsInf;
  if (isTest && failed(expectReal(*this)))
    return failure();
  return expectResult(*this, typeOf(getOperand()).getShape(),
                      isTest ? IntegerType::get(getContext(), 1) : element);
}

LogicalResult BinaryOp::verify() {
  Type element = typeOf(getResult()).getElementType();
  switch (getKind()) {
  case BinaryKind::And:
  case BinaryKind::Or:
  case BinaryKind::Xor:
  case BinaryKind::ShiftLeft:
  case BinaryKind::ShiftRight:
    break;
  default:
    return success();
  }
  if (isa<IntegerType>(element))
    return success();
  return emitOpError("has operands of element type ") << element << ", expected an integer type";
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = typeOf(getOperand()), to = typeOf(getResult());
  if (failed(expectEntries(*this, "dims", getDims(), from.getRank())))
    return failure();
  int64_t last = -1;
  for (auto [i, dim] : llvm::enumerate(getDims())) {
    if (dim <= last || dim >= to.getRank())
      return emitOpError("has dimension ")
             << dim << " in 'dims', expected one from " << last + 1 << " to " << to.getRank() - 1;
    last = dim;
    if (from.getDimSize(i) != 1 && !agree(from.getDimSize(i), to.getDimSize(dim)))
      return emitOpError("repeats dimension ")
             << i << " of size " << shapeText(ArrayRef<int64_t>(from.getDimSize(i))) << " to "
             << shapeText(ArrayRef<int64_t>(to.getDimSize(dim)))
             << "; only a size of 1 is repeated";
  }
  return expectResult(*this, to.getShape(), from.getElementType());
}

LogicalResult IotaOp::verify() {
  return expectAxis(*this, getAxis(), typeOf(getResult()).getRank());
}

//===----------------------------------------------------------------------===//
// Contractions and windows
//===----------------------------------------------------------------------===//

Type lumen::productElementType(Type lhs, Type rhs) {
  auto isBytes = [](Type type) {
    return isa<IntegerType>(type) && type.getIntOrFloatBitWidth() == 8;
  };
  if (isBytes(lhs) && (isBytes(rhs) || rhs.isSignlessInteger(16)))
    return IntegerType::get(lhs.getContext(), 32);
  return lhs == rhs ? lhs : Type();
}

SmallVector<int64_t> lumen::packedPanelShape(Type element, int64_t taps, int64_t channels) {
  bool isInteger = isa<IntegerType>(element);
  int64_t rows = channels;
  if (!ShapedType::isDynamic(rows))
    rows = taps * (isInteger ? llvm::divideCeil(channels, 4) : channels);
  if (!isInteger)
    return {rows, kPanelColumns};
  return element.isInteger(16) ? SmallVector<int64_t>{rows, 2, kPanelColumns, 2}
                               : SmallVector<int64_t>{rows, kPanelColumns, 4};
}

/// Checks the operands and gives the element type of the result.
static FailureOr<Type> expectProduct(Operation *op) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (Type element = productElementType(typeOf(lhs).getElementType(), typeOf(rhs).getElementType()))
    return element;
  return expectSameElements(op, lhs, rhs);
}

static int64_t panels(int64_t columns) {
  return ShapedType::isDynamic(columns) ? columns : llvm::divideCeil(columns, kPanelColumns);
}

/// Checks a packed constant against the layout that LumenOps.td gives.
static LogicalResult expectPacked(Operation *op, Value packed, ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(packed);
  bool fits = type.getRank() == int64_t(shape.size());
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = agree(type.getDimSize(i), shape[i]);
  if (fits)
    return success();
  return op->emitOpError("has a packed operand of shape ")
         << shapeText(type.getShape()) << ", expected " << shapeText(shape);
}

LogicalResult ContractOp::verify() {
  RankedTensorType lhs = typeOf(getLhs()), rhs = typeOf(getRhs()), to = typeOf(getResult());
  FailureOr<Type> element = expectProduct(*this);
  if (failed(element))
    return failure();
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return emitOpError("has operands of shapes ")
           << shapeText(lhs.getShape()) << " and " << shapeText(rhs.getShape())
           << ", expected at least two dimensions";
  int64_t rank = lhs.getRank();
  int64_t rows = lhs.getDimSize(rank - (getTransposeLhs() ? 1 : 2));
  int64_t depth = lhs.getDimSize(rank - (getTransposeLhs() ? 2 : 1));
  SmallVector<int64_t> shape(lhs.getShape().drop_back(2));
  if (getPacked()) {
    int64_t columns = to.getShape().empty() ? 0 : to.getShape().back();
    SmallVector<int64_t> packed{panels(columns)};
    packed.append(packedPanelShape(rhs.getElementType(), 1, depth));
    if (failed(expectPacked(*this, getRhs(), packed)))
      return failure();
    shape.append({rows, columns});
    return expectResult(*this, shape, *element);
  }
  int64_t rhsRank = rhs.getRank();
  int64_t rhsDepth = rhs.getDimSize(rhsRank - (getTransposeRhs() ? 1 : 2));
  int64_t columns = rhs.getDimSize(rhsRank - (getTransposeRhs() ? 2 : 1));
  if (!agree(depth, rhsDepth))
    return emitOpError("has inner dimensions ")
           << shapeText(ArrayRef<int64_t>(depth)) << " and "
           << shapeText(ArrayRef<int64_t>(rhsDepth)) << ", expected equal ones";
  if (rhsRank > 2) {
    bool fits = rhsRank == rank;
    for (int64_t i = 0; fits && i < rank - 2; ++i)
      fits = agree(lhs.getDimSize(i), rhs.getDimSize(i));
    if (!fits)
      return emitOpError("has batch dimensions ")
             << shapeText(lhs.getShape().drop_back(2)) << " and "
             << shapeText(rhs.getShape().drop_back(2)) << ", expected equal ones";
  }
  shape.append({rows, columns});
  return expectResult(*this, shape, *element);
}

/// The number of places of a window along a padded dimension.
static int64_t outputSize(int64_t size, int64_t window, int64_t stride, int64_t dilation,
                          int64_t low, int64_t high) {
  if (ShapedType::isDynamic(size))
    return size;
  int64_t room = size + low + high - ((window - 1) * dilation + 1);
  return room < 0 ? 0 : room / stride + 1;
}

namespace {

/// The lists that `conv` and `window` share.
struct WindowLists {
  ArrayRef<int64_t> window, strides, dilations, low, high;

  LogicalResult verify(Operation *op, int64_t count) const {
    if (failed(expectEntries(op, "window", window, count)) ||
        failed(expectEntries(op, "strides", strides, count)) ||
        failed(expectEntries(op, "dilations", dilations, count)) ||
        failed(expectEntries(op, "pad_low", low, count)) ||
        failed(expectEntries(op, "pad_high", high, count)) ||
        failed(expectPositive(op, "window", window)) ||
        failed(expectPositive(op, "strides", strides)) ||
        failed(expectPositive(op, "dilations", dilations)))
      return failure();
    return success();
  }

  int64_t output(int64_t i, int64_t size) const {
    return outputSize(size, window[i], strides[i], dilations[i], low[i], high[i]);
  }
};

} // namespace

LogicalResult ConvOp::verify() {
  RankedTensorType input = typeOf(getInput()), filter = typeOf(getFilter());
  int64_t rank = input.getRank(), spatial = rank - 2;
  FailureOr<Type> element = expectProduct(*this);
  if (failed(element))
    return failure();
  if (rank < 3)
    return emitOpError("has an input of shape ")
           << shapeText(input.getShape()) << ", expected at least three dimensions";
  WindowLists lists{getWindow(), getStrides(), getDilations(), getPadLow(), getPadHigh()};
  if (failed(lists.verify(*this, spatial)))
    return failure();
  int64_t groups = getGroups(), channels = input.getDimSize(rank - 1);
  if (groups < 1 || (!ShapedType::isDynamic(channels) && channels % groups != 0))
    return emitOpError("has ") << groups << " groups for " << shapeText(ArrayRef<int64_t>(channels))
                               << " input channels, expected a divisor";
  if (typeOf(getResult()).getRank() != rank)
    return emitOpError("has a result of shape ")
           << shapeText(typeOf(getResult()).getShape()) << ", expected " << rank << " dimensions";
  int64_t outputs = getPacked() ? getOutputChannels() : filter.getShape().back();
  if (!ShapedType::isDynamic(outputs) && outputs % groups != 0)
    return emitOpError("has ") << groups << " groups for " << outputs
                               << " output channels, expected a divisor";
  int64_t depth = ShapedType::isDynamic(channels) ? channels : channels / groups;
  int64_t taps = 1;
  for (int64_t size : getWindow())
    taps *= size;
  if (getPacked()) {
    SmallVector<int64_t> packed{taps, channels};
    if (!isDepthwise()) {
      packed = {groups, panels(outputs / groups)};
      packed.append(packedPanelShape(filter.getElementType(), taps, depth));
    }
    if (failed(expectPacked(*this, getFilter(), packed)))
      return failure();
  } else {
    SmallVector<int64_t> shape(getWindow());
    shape.append({depth, outputs});
    bool fits = filter.getRank() == rank;
    for (int64_t i = 0; fits && i < rank; ++i)
      fits = agree(filter.getDimSize(i), shape[i]);
    if (!fits)
      return emitOpError("has a filter of shape ")
             << shapeText(filter.getShape()) << ", expected " << shapeText(shape);
  }
  SmallVector<int64_t> shape{input.getDimSize(0)};
  for (int64_t i = 0; i < spatial; ++i)
    shape.push_back(lists.output(i, input.getDimSize(i + 1)));
  shape.push_back(outputs);
  return expectResult(*this, shape, *element);
}

LogicalResult WindowOp::verify() {
  RankedTensorType from = typeOf(getOperand());
  WindowLists lists{getWindow(), getStrides(), getDilations(), getPadLow(), getPadHigh()};
  if (failed(lists.verify(*this, from.getRank())))
    return failure();
  if (getKind() == WindowKind::Average && failed(expectReal(*this)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < from.getRank(); ++i)
    shape.push_back(lists.output(i, from.getDimSize(i)));
  return expectResult(*this, shape, from.getElementType());
}

//===----------------------------------------------------------------------===//
// Reductions and normalisation
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  RankedTensorType from = typeOf(getOperand());
  llvm::SmallBitVector reduced(from.getRank());
  int64_t last = -1;
  for (int64_t axis : getAxes()) {
    if (axis <= last || axis >= from.getRank())
      return emitOpError("has axis ")
             << axis << ", expected one from " << last + 1 << " to " << from.getRank() - 1;
    last = axis;
    reduced.set(axis);
  }
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(from.getShape()))
    if (!reduced.test(i))
      shape.push_back(size);
  return expectResult(*this, shape, from.getElementType());
}

LogicalResult SoftmaxOp::verify() {
  if (failed(expectReal(*this)))
    return failure();
  return expectAxis(*this, getAxis(), typeOf(getOperand()).getRank());
}

LogicalResult AttentionOp::verify() {
  if (failed(expectReal(*this)))
    return failure();
  struct Part {
    StringRef name;
    Value tensor;
    ArrayRef<int64_t> dims;
    SmallVector<int64_t> shape; // logical
  } parts[] = {{"query", getQuery(), getQueryDims(), {}},
               {"key", getKey(), getKeyDims(), {}},
               {"value", getValue(), getValueDims(), {}},
               {"result", getResult(), getResultDims(), {}}};
  for (Part &part : parts) {
    if (llvm::SmallVector<int64_t> sorted = llvm::to_vector(part.dims);
        llvm::sort(sorted), !llvm::equal(sorted, llvm::seq<int64_t>(4)))
      return emitOpError("has ") << part.name << "_dims that are no permutation of 4 dimensions";
    if (typeOf(part.tensor).getRank() != 4)
      return emitOpError("has a ") << part.name << " of shape "
                                   << shapeText(typeOf(part.tensor).getShape())
                                   << ", expected 4 dimensions";
    if (failed(expectSameElements(*this, getQuery(), part.tensor)))
      return failure();
    for (int64_t dim : part.dims)
      part.shape.push_back(typeOf(part.tensor).getDimSize(dim));
  }
  auto &[query, key, value, result] = parts;
  auto expect = [&](const Part &part, ArrayRef<int64_t> expected) -> LogicalResult {
    for (auto [size, wanted] : llvm::zip_equal(part.shape, expected))
      if (!agree(size, wanted))
        return emitOpError("has a ") << part.name << " of the logical shape "
                                     << shapeText(part.shape) << ", expected "
                                     << shapeText(expected);
    return success();
  };
  const auto &q = query.shape;
  if (failed(expect(key, {q[0], key.shape[1], key.shape[2], q[3]})) ||
      failed(expect(value, {q[0], key.shape[1], key.shape[2], value.shape[3]})) ||
      failed(expect(result, {q[0], q[1], q[2], value.shape[3]})))
    return failure();
  int64_t heads = q[1], keyHeads = key.shape[1];
  if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(keyHeads) && keyHeads != heads &&
      (keyHeads == 0 || heads % keyHeads != 0))
    return emitOpError("has ") << heads << " heads of queries and " << keyHeads
                               << " of keys, expected a multiple";
  if (getMask()) {
    int64_t scores[] = {q[0], heads, q[2], key.shape[2]};
    ArrayRef<int64_t> shape = typeOf(getMask()).getShape();
    bool fits = shape.size() == 4;
    for (size_t i = 0; fits && i < 4; ++i)
      fits = shape[i] == 1 || agree(shape[i], scores[i]);
    if (!fits)
      return emitOpError("has a mask of shape ")
             << shapeText(shape) << ", expected dimensions of " << shapeText(scores) << " or 1";
    if (failed(expectSameElements(*this, getQuery(), getMask())))
      return failure();
  }
  if (getFirst()) {
    RankedTensorType first = typeOf(getFirst());
    if (first.getRank() > 1 || (first.getRank() == 1 && !agree(first.getDimSize(0), q[0])))
      return emitOpError("has a first of shape ") << shapeText(first.getShape())
                                                  << ", expected a scalar or one per batch";
  }
  return success();
}

LogicalResult NormOp::verify() {
  if (failed(expectReal(*this)))
    return failure();
  return expectAxis(*this, getAxis(), typeOf(getOperand()).getRank());
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::verify() {
  RankedTensorType from = typeOf(getOperand());
  if (failed(expectEntries(*this, "perm", getPerm(), from.getRank())))
    return failure();
  llvm::SmallBitVector seen(from.getRank());
  SmallVector<int64_t> shape;
  for (int64_t dim : getPerm()) {
    if (dim < 0 || dim >= from.getRank() || seen.test(dim))
      return emitOpError("has [") << getPerm() << "] in 'perm', expected a permutation of "
                                  << from.getRank() << " dimensions";
    seen.set(dim);
    shape.push_back(from.getDimSize(dim));
  }
  return expectResult(*this, shape, from.getElementType());
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = typeOf(getOperand()), to = typeOf(getResult());
  if (from.hasStaticShape() && to.hasStaticShape() && from.getNumElements() != to.getNumElements())
    return emitOpError("has a result of ")
           << to.getNumElements() << " elements, expected " << from.getNumElements();
  return expectResult(*this, to.getShape(), from.getElementType());
}

LogicalResult SliceOp::verify() {
  RankedTensorType from = typeOf(getOperand()), to = typeOf(getResult());
  if (to.getRank() != from.getRank())
    return emitOpError("has a result of shape ")
           << shapeText(to.getShape()) << ", expected " << from.getRank() << " dimensions";
  if (failed(expectEntries(*this, "offsets", getOffsets(), from.getRank())) ||
      failed(expectEntries(*this, "strides", getStrides(), from.getRank())))
    return failure();
  for (int64_t i = 0; i < from.getRank(); ++i) {
    int64_t size = from.getDimSize(i), count = to.getDimSize(i);
    if (getStrides()[i] == 0)
      return emitOpError("has the entry 0 in 'strides'");
    std::optional<int64_t> offset = getOffsetSizes()[i].asConstant();
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(count) || count == 0 || !offset)
      continue;
    int64_t first = *offset, last = first + (count - 1) * getStrides()[i];
    if (std::min(first, last) < 0 || std::max(first, last) >= size)
      return emitOpError("reads elements ")
             << first << " to " << last << " of dimension " << i << ", which has " << size;
  }
  return expectResult(*this, to.getShape(), from.getElementType());
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("has no inputs");
  RankedTensorType first = typeOf(getInputs().front());
  int64_t axis = getAxis(), total = 0;
  if (failed(expectAxis(*this, axis, first.getRank())))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  for (Value input : getInputs()) {
    RankedTensorType type = typeOf(input);
    if (failed(expectSameElements(*this, getInputs().front(), input)))
      return failure();
    bool fits = type.getRank() == first.getRank();
    for (int64_t i = 0; fits && i < first.getRank(); ++i)
      fits = i == axis || agree(type.getDimSize(i), first.getDimSize(i));
    if (!fits)
      return emitOpError("joins shapes ")
             << shapeText(first.getShape()) << " and " << shapeText(type.getShape())
             << ", expected equal dimensions but along " << axis;
    int64_t size = type.getDimSize(axis);
    total = ShapedType::isDynamic(size) || ShapedType::isDynamic(total) ? ShapedType::kDynamic
                                                                        : total + size;
  }
  shape[axis] = total;
  return expectResult(*this, shape, first.getElementType());
}

LogicalResult PadOp::verify() {
  RankedTensorType from = typeOf(getOperand());
  if (typeOf(getValue()).getRank() != 0)
    return emitOpError("has a value of shape ")
           << shapeText(typeOf(getValue()).getShape()) << ", expected scalar";
  if (failed(expectSameElements(*this, getOperand(), getValue())) ||
      failed(expectEntries(*this, "low", getLow(), from.getRank())) ||
      failed(expectEntries(*this, "high", getHigh(), from.getRank())))
    return failure();
  SmallVector<int64_t> shape;
  for (auto [size, low, high] : llvm::zip(sizesOf(from), getLowSizes(), getHighSizes()))
    shape.push_back((size + low + high).asConstant().value_or(ShapedType::kDynamic));
  return expectResult(*this, shape, from.getElementType());
}

LogicalResult GatherOp::verify() {
  RankedTensorType from = typeOf(getOperand()), indices = typeOf(getIndices());
  if (failed(expectAxis(*this, getAxis(), from.getRank())))
    return failure();
  if (!isa<IntegerType>(indices.getElementType()))
    return emitOpError("has indices of element type ")
           << indices.getElementType() << ", expected an integer type";
  // How many indices there are may be known to the run alone.
  RankedTensorType to = typeOf(getResult());
  bool mayReadNothing = !to.hasStaticShape() || to.getNumElements() == 0;
  if (from.getDimSize(getAxis()) == 0 && !mayReadNothing)
    return emitOpError("picks from dimension ") << getAxis() << " of size 0";
  SmallVector<int64_t> shape(from.getShape().take_front(getAxis()));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, from.getShape().drop_front(getAxis() + 1));
  return expectResult(*this, shape, from.getElementType());
}

//===----------------------------------------------------------------------===//
// Sizes that only the run knows
//===----------------------------------------------------------------------===//

LogicalResult SizesOp::verify() {
  RankedTensorType type = typeOf(getResult());
  if (!isa<IntegerType>(type.getElementType()))
    return emitOpError("has a result of element type ")
           << type.getElementType() << ", expected an integer type";
  if (type.getRank() > 1 || !type.hasStaticShape())
    return emitOpError("has a result of shape ")
           << shapeText(type.getShape()) << ", expected at most one static dimension";
  return expectEntries(*this, "sizes", getSizes(), type.getNumElements());
}

LogicalResult SymbolOp::verify() {
  RankedTensorType type = typeOf(getValue());
  if (!isa<IntegerType>(type.getElementType()) || !type.hasStaticShape() ||
      type.getNumElements() != 1)
    return emitOpError("has a value of type ") << type << ", expected one integer";
  if (getName().empty())
    return emitOpError("has no name");
  return getAtMost() ? expectSize(*this, "at_most", *getAtMost()) : success();
}

LogicalResult CheckOp::verify() {
  if (failed(expectSize(*this, "lhs", getLhs())))
    return failure();
  return expectSize(*this, "rhs", getRhs());
}

LogicalResult lumen::CastOp::verify() {
  RankedTensorType from = typeOf(getOperand());
  if (from.getRank() != typeOf(getResult()).getRank())
    return emitOpError("has a result of rank ")
           << typeOf(getResult()).getRank() << ", expected " << from.getRank();
  return expectResult(*this, from.getShape(), from.getElementType());
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Checks the terminator of a region of control flow.
static LogicalResult expectYield(Operation *op, Region &region, size_t numValues, size_t numSizes) {
  auto yield = cast<lumen::YieldOp>(region.front().getTerminator());
  if (yield.getValues().size() != numValues)
    return op->emitOpError("has a region that yields ")
           << yield.getValues().size() << " values, expected " << numValues;
  if (yield.getSizes().getDims().size() != numSizes)
    return op->emitOpError("has a region that yields ")
           << yield.getSizes().getDims().size() << " sizes, expected " << numSizes;
  return success();
}

LogicalResult IfOp::verify() {
  for (Region *region : {&getThenRegion(), &getElseRegion()})
    if (failed(expectYield(*this, *region, getNumResults(), getSymbols().size())))
      return failure();
  return success();
}

LogicalResult LoopOp::verify() {
  if (getConditional() && getInits().empty())
    return emitOpError("has no condition");
  if (getInitSizes().getDims().size() != getSymbols().size())
    return emitOpError("has ") << getInitSizes().getDims().size() << " initial sizes, expected "
                               << getSymbols().size();
  unsigned carried = getNumCarried();
  if (getBody().front().getNumArguments() != carried || getNumResults() < carried)
    return emitOpError("has ") << getBody().front().getNumArguments() << " arguments and "
                               << getNumResults() << " results, expected " << carried
                               << " carried values in both";
  if (getTrips() && failed(expectSize(*this, "trips", *getTrips())))
    return failure();
  return expectYield(*this, getBody(), getNumResults() + getConditional(), getSymbols().size());
}

LogicalResult CallOp::verify() {
  if (!getSymbols())
    return success();
  auto first = getNumResults() > 1 ? dyn_cast<RankedTensorType>(getResult(0).getType()) : nullptr;
  auto extents = first ? dyn_cast<RankedTensorType>(getResult(1).getType()) : nullptr;
  if (!first || !extents || extents.getRank() != 1 || !extents.getElementType().isInteger(64) ||
      extents.getDimSize(0) != first.getRank())
    return emitOpError("defines symbols, but its results are no tensor and the i64 of its extents");
  if (int64_t(getSymbols()->size()) != first.getRank())
    return emitOpError("has ") << getSymbols()->size() << " symbols, expected " << first.getRank();
  for (auto [name, size] : llvm::zip(getSymbols()->getAsValueRange<StringAttr>(), sizesOf(first)))
    if (!name.empty() && size.isValid() && size.asConstant())
      return emitOpError("defines '")
             << name << "' as a dimension of the fixed size " << size.str();
  return success();
}
