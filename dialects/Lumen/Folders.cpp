//===- Folders.cpp - identities and constant folding ----------------------===//
//
// Sizes fold as constants do, see SizesData.h. Constants of a few thousand elements fold here, which covers the arithmetic of
// shapes and of per-channel parameters; splats fold at any size. Larger constants
// are the business of the pass fold-constants.
//
//===----------------------------------------------------------------------===//

#include "dialects/Lumen/SizesData.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lumen;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether a constant of this type may be made from `count` distinct elements.
static bool mayFold(RankedTensorType type, bool isSplat) {
  return type.hasStaticShape() && isScalarType(type.getElementType()) &&
         (isSplat || type.getNumElements() <= kMaxFoldElements);
}

static SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

/// Calls `visit` with the position in the operand of each element of `shape`, in
/// row-major order, for operands that are walked with one step per dimension.
static void walkStrided(ArrayRef<int64_t> shape, ArrayRef<int64_t> steps, int64_t start,
                        function_ref<void(int64_t)> visit) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  int64_t position = start;
  while (true) {
    visit(position);
    int64_t dim = int64_t(shape.size()) - 1;
    for (; dim >= 0; --dim) {
      position += steps[dim];
      if (++index[dim] < shape[dim])
        break;
      position -= steps[dim] * shape[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

/// The elements of `data` at the positions of `walkStrided`.
static Attribute pickStrided(const ConstantData &data, RankedTensorType type,
                             ArrayRef<int64_t> steps, int64_t start = 0) {
  SmallVector<Scalar> values;
  if (data.isSplat())
    values.push_back(data[0]);
  else
    walkStrided(type.getShape(), steps, start, [&](int64_t i) { values.push_back(data[i]); });
  return ConstantData(type, std::move(values)).toAttr();
}

/// The constant that `evaluate` gives for each element of `operands`, which have
/// the result's shape.
static OpFoldResult
foldElementwise(ArrayRef<Attribute> operands, RankedTensorType type,
                function_ref<std::optional<Scalar>(ArrayRef<Scalar>)> evaluate) {
  SmallVector<ConstantData> data;
  for (Attribute operand : operands) {
    std::optional<ConstantData> constant = ConstantData::get(operand);
    if (!constant)
      return {};
    data.push_back(std::move(*constant));
  }
  bool isSplat = llvm::all_of(data, [](const ConstantData &d) { return d.isSplat(); });
  if (!mayFold(type, isSplat))
    return {};
  int64_t count = isSplat ? 1 : type.getNumElements();
  SmallVector<Scalar> values, arguments(data.size());
  for (int64_t i = 0; i < count; ++i) {
    for (auto [argument, constant] : llvm::zip(arguments, data))
      argument = constant[i];
    std::optional<Scalar> value = evaluate(arguments);
    if (!value)
      return {};
    values.push_back(*value);
  }
  return ConstantData(type, std::move(values)).toAttr();
}

/// Whether every element of an operand, with its constant if it is one, is `number`.
static bool isAll(Value operand, Attribute attribute, double number) {
  std::optional<ConstantData> data = ConstantData::get(attribute);
  // Of a dynamic size, a splat is a repeated scalar.
  if (auto repeated = operand.getDefiningOp<BroadcastOp>(); repeated && !data)
    data = ConstantData::get(repeated.getOperand());
  return data && data->isAll(number);
}

/// What constants fold to, or else sizes.
static OpFoldResult orSizes(OpFoldResult result, Operation *op) {
  return result ? result : OpFoldResult(foldSizes(op));
}

/// The constant with another shape, whatever its size; null if it is none.
static Attribute retype(Attribute attribute, RankedTensorType type) {
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(attribute))
    return dense.reshape(type);
  if (auto blob = dyn_cast_or_null<lumen::BlobAttr>(attribute))
    return lumen::BlobAttr::get(blob.getContext(), blob.getId(), blob.getOffset(), blob.getSize(),
                                type);
  return {};
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult IotaOp::fold(FoldAdaptor) {
  RankedTensorType type = typeOf(getResult());
  if (!mayFold(type, /*isSplat=*/false))
    return {};
  SmallVector<int64_t> steps(type.getRank(), 0);
  steps[getAxis()] = 1;
  SmallVector<Scalar> values;
  walkStrided(type.getShape(), steps, 0,
              [&](int64_t i) { values.push_back(makeScalar(i, type.getElementType())); });
  return ConstantData(type, std::move(values)).toAttr();
}

/// Kinds for which f(f(x)) = f(x).
static bool isIdempotent(UnaryKind kind) {
  switch (kind) {
  case UnaryKind::Abs:
  case UnaryKind::Relu:
  case UnaryKind::Sign:
  case UnaryKind::Floor:
  case UnaryKind::Ceil:
  case UnaryKind::RoundEven:
    return true;
  default:
    return false;
  }
}

OpFoldResult UnaryOp::fold(FoldAdaptor adaptor) {
  UnaryKind kind = getKind();
  if (auto inner = getOperand().getDefiningOp<UnaryOp>(); inner && inner.getKind() == kind) {
    if (isIdempotent(kind))
      return getOperand();
    if (kind == UnaryKind::Neg || kind == UnaryKind::Not)
      return inner.getOperand();
  }
  Type element = typeOf(getOperand()).getElementType();
  return orSizes(
      foldElementwise(adaptor.getOperand(), typeOf(getResult()),
                      [&](ArrayRef<Scalar> x) { return evaluateUnary(kind, element, x[0]); }),
      *this);
}

/// The number e for which `x kind e = x`, if there is one.
static std::optional<double> rightIdentity(BinaryKind kind) {
  switch (kind) {
  case BinaryKind::Add:
  case BinaryKind::Sub:
  case BinaryKind::ShiftLeft:
  case BinaryKind::ShiftRight:
  case BinaryKind::Or:
  case BinaryKind::Xor:
    return 0;
  case BinaryKind::Mul:
  case BinaryKind::Div:
  case BinaryKind::Pow:
    return 1;
  default:
    return std::nullopt;
  }
}

static bool isCommutative(BinaryKind kind) {
  switch (kind) {
  case BinaryKind::Add:
  case BinaryKind::Mul:
  case BinaryKind::Or:
  case BinaryKind::Xor:
    return true;
  default:
    return false;
  }
}

OpFoldResult BinaryOp::fold(FoldAdaptor adaptor) {
  BinaryKind kind = getKind();
  if (std::optional<double> identity = rightIdentity(kind)) {
    if (isAll(getRhs(), adaptor.getRhs(), *identity))
      return getLhs();
    if (isCommutative(kind) && isAll(getLhs(), adaptor.getLhs(), *identity))
      return getRhs();
  }
  if (getLhs() == getRhs() && (kind == BinaryKind::Max || kind == BinaryKind::Min ||
                               kind == BinaryKind::And || kind == BinaryKind::Or))
    return getLhs();
  Type element = typeOf(getResult()).getElementType();
  return orSizes(
      foldElementwise(
          {adaptor.getLhs(), adaptor.getRhs()}, typeOf(getResult()),
          [&](ArrayRef<Scalar> x) { return evaluateBinary(kind, element, x[0], x[1]); }),
      *this);
}

OpFoldResult CompareOp::fold(FoldAdaptor adaptor) {
  Type element = typeOf(getLhs()).getElementType();
  return orSizes(foldElementwise({adaptor.getLhs(), adaptor.getRhs()}, typeOf(getResult()),
                                 [&](ArrayRef<Scalar> x) -> std::optional<Scalar> {
                                   return Scalar::ofInteger(
                                       evaluateCompare(getKind(), element, x[0], x[1]));
                                 }),
                 *this);
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse())
    return getOnTrue();
  if (isAll(getCondition(), adaptor.getCondition(), 1))
    return getOnTrue();
  if (isAll(getCondition(), adaptor.getCondition(), 0))
    return getOnFalse();
  return orSizes(
      foldElementwise(
          {adaptor.getCondition(), adaptor.getOnTrue(), adaptor.getOnFalse()}, typeOf(getResult()),
          [](ArrayRef<Scalar> x) -> std::optional<Scalar> { return x[0].integer ? x[1] : x[2]; }),
      *this);
}

OpFoldResult ConvertOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  Type from = typeOf(getOperand()).getElementType(), to = typeOf(getResult()).getElementType();
  return orSizes(foldElementwise(adaptor.getOperand(), typeOf(getResult()),
                                 [&](ArrayRef<Scalar> x) -> std::optional<Scalar> {
                                   return evaluateConvert(from, to, x[0]);
                                 }),
                 *this);
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  RankedTensorType from = typeOf(getOperand()), to = typeOf(getResult());
  if (from == to)
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<BroadcastOp>()) {
    SmallVector<int64_t> dims;
    for (int64_t dim : inner.getDims())
      dims.push_back(getDims()[dim]);
    getOperandMutable().assign(inner.getOperand());
    setDims(dims);
    return getResult();
  }
  // A repeated parameter stays small, and what reads it sees that it repeats;
  // only numbers that decide shapes are worth their elements.
  std::optional<ConstantData> data = ConstantData::get(adaptor.getOperand());
  if (data && !data->isSplat() && data->isReal() && to.hasStaticShape() &&
      to.getNumElements() != from.getNumElements())
    return {};
  return orSizes(moveElements(*this, adaptor.getOperands()), *this);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  if (getAxes().empty())
    return getOperand();
  RankedTensorType from = typeOf(getOperand()), to = typeOf(getResult());
  std::optional<ConstantData> data = ConstantData::get(adaptor.getOperand());
  if (!data)
    return foldSizes(*this);
  if (!mayFold(to, /*isSplat=*/false) || !from.hasStaticShape() ||
      from.getNumElements() > kMaxFoldElements || from.getNumElements() == 0)
    return {};
  SmallVector<int64_t> strides = stridesOf(from.getShape());
  SmallVector<int64_t> keptSteps, sizes, steps;
  for (int64_t i = 0; i < from.getRank(); ++i) {
    bool isReduced = llvm::is_contained(getAxes(), i);
    (isReduced ? steps : keptSteps).push_back(strides[i]);
    if (isReduced)
      sizes.push_back(from.getDimSize(i));
  }
  // Sums of narrow floats are rounded once, at the end.
  Type element = to.getElementType();
  Type wide = data->isReal() ? Type(Float64Type::get(getContext())) : element;
  SmallVector<Scalar> values;
  bool isDefined = true;
  walkStrided(to.getShape(), keptSteps, 0, [&](int64_t start) {
    std::optional<Scalar> total;
    walkStrided(sizes, steps, start, [&](int64_t i) {
      if (!total)
        total = (*data)[i];
      else if (isDefined)
        total = evaluateBinary(combinerOf(getKind()), wide, *total, (*data)[i]);
      isDefined &= total.has_value();
    });
    values.push_back(total ? roundToType(*total, element) : Scalar::ofInteger(0));
  });
  if (!isDefined)
    return {};
  return ConstantData(to, std::move(values)).toAttr();
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// Result dimension `i` walks the operand by `steps[i]` elements.
static Attribute pickIfConstant(Attribute operand, RankedTensorType to, ArrayRef<int64_t> steps,
                                int64_t start = 0) {
  std::optional<ConstantData> data = ConstantData::get(operand);
  return data && mayFold(to, data->isSplat()) ? pickStrided(*data, to, steps, start) : Attribute();
}

static Attribute moveBroadcast(BroadcastOp op, ArrayRef<Attribute> operands) {
  RankedTensorType from = typeOf(op.getOperand()), to = typeOf(op.getResult());
  SmallVector<int64_t> strides = stridesOf(from.getShape()), steps(to.getRank(), 0);
  for (auto [i, dim] : llvm::enumerate(op.getDims()))
    if (from.getDimSize(i) != 1)
      steps[dim] = strides[i];
  return pickIfConstant(operands[0], to, steps);
}

static Attribute moveTranspose(TransposeOp op, ArrayRef<Attribute> operands) {
  SmallVector<int64_t> strides = stridesOf(typeOf(op.getOperand()).getShape()), steps;
  for (int64_t dim : op.getPerm())
    steps.push_back(strides[dim]);
  return pickIfConstant(operands[0], typeOf(op.getResult()), steps);
}

static Attribute moveSlice(SliceOp op, ArrayRef<Attribute> operands) {
  std::optional<SmallVector<int64_t>> offsets = op.getConstantOffsets();
  if (!offsets)
    return {};
  SmallVector<int64_t> strides = stridesOf(typeOf(op.getOperand()).getShape());
  int64_t start = 0;
  for (auto [i, offset, stride] : llvm::enumerate(*offsets, op.getStrides())) {
    start += offset * strides[i];
    strides[i] *= stride;
  }
  return pickIfConstant(operands[0], typeOf(op.getResult()), strides, start);
}

static Attribute moveConcat(ConcatOp op, ArrayRef<Attribute> operands) {
  RankedTensorType to = typeOf(op.getResult());
  SmallVector<ConstantData> data;
  for (Attribute input : operands) {
    std::optional<ConstantData> constant = ConstantData::get(input);
    if (!constant || !constant->getType().hasStaticShape())
      return {};
    data.push_back(std::move(*constant));
  }
  bool isSplat = llvm::all_of(data, [&](const ConstantData &d) {
    return d.isSplat() && d[0].integer == data.front()[0].integer;
  });
  if (!mayFold(to, isSplat))
    return {};
  if (isSplat)
    return ConstantData(to, {data.front()[0]}).toAttr();
  // One run of each input per position of the dimensions before the axis.
  int64_t outer = ShapedType::getNumElements(to.getShape().take_front(op.getAxis()));
  SmallVector<Scalar> values;
  for (int64_t i = 0; i < outer; ++i)
    for (const ConstantData &input : data) {
      int64_t run = input.size() / outer;
      for (int64_t j = 0; j < run; ++j)
        values.push_back(input[i * run + j]);
    }
  return ConstantData(to, std::move(values)).toAttr();
}

static Attribute movePad(PadOp op, ArrayRef<Attribute> operands) {
  RankedTensorType from = typeOf(op.getOperand()), to = typeOf(op.getResult());
  std::optional<ConstantData> data = ConstantData::get(operands[0]);
  std::optional<ConstantData> value = ConstantData::get(operands[1]);
  std::optional<SmallVector<int64_t>> low = asConstants(op.getLowSizes());
  if (op.getKind() != PadKind::Constant || !data || !value || !low || !from.hasStaticShape() ||
      !mayFold(to, /*isSplat=*/false))
    return {};
  SmallVector<int64_t> strides = stridesOf(from.getShape()), steps = stridesOf(to.getShape());
  SmallVector<Scalar> values;
  for (int64_t i = 0; i < to.getNumElements(); ++i) {
    int64_t position = 0, rest = i;
    bool isInside = true;
    for (int64_t dim = 0; dim < to.getRank(); ++dim) {
      int64_t index = rest / steps[dim] - (*low)[dim];
      rest %= steps[dim];
      isInside &= index >= 0 && index < from.getDimSize(dim);
      position += index * strides[dim];
    }
    values.push_back(isInside ? (*data)[position] : (*value)[0]);
  }
  return ConstantData(to, std::move(values)).toAttr();
}

static Attribute moveGather(GatherOp op, ArrayRef<Attribute> operands) {
  RankedTensorType from = typeOf(op.getOperand()), to = typeOf(op.getResult());
  std::optional<ConstantData> data = ConstantData::get(operands[0]);
  if (data && data->isSplat() && mayFold(to, true))
    return ConstantData(to, {(*data)[0]}).toAttr();
  std::optional<ConstantData> indices = ConstantData::get(operands[1]);
  if (!data || !indices || !mayFold(to, false))
    return {};
  int64_t axis = op.getAxis(), size = from.getDimSize(axis);
  int64_t outer = ShapedType::getNumElements(from.getShape().take_front(axis));
  int64_t inner = ShapedType::getNumElements(from.getShape().drop_front(axis + 1));
  if (size == 0)
    return {};
  SmallVector<Scalar> values;
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < indices->size(); ++j) {
      int64_t index = (*indices)[j].integer;
      index = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
      for (int64_t k = 0; k < inner; ++k)
        values.push_back((*data)[(i * size + index) * inner + k]);
    }
  return ConstantData(to, std::move(values)).toAttr();
}

Attribute lumen::moveElements(Operation *op, ArrayRef<Attribute> operands) {
  return llvm::TypeSwitch<Operation *, Attribute>(op)
      .Case([&](BroadcastOp broadcast) { return moveBroadcast(broadcast, operands); })
      .Case([&](TransposeOp transpose) { return moveTranspose(transpose, operands); })
      .Case([&](SliceOp slice) { return moveSlice(slice, operands); })
      .Case([&](ConcatOp concat) { return moveConcat(concat, operands); })
      .Case([&](PadOp pad) { return movePad(pad, operands); })
      .Case([&](GatherOp gather) { return moveGather(gather, operands); })
      .Case([&](ReshapeOp reshape) {
        RankedTensorType to = typeOf(reshape.getResult());
        return to.hasStaticShape() ? retype(operands[0], to) : Attribute();
      })
      .Default(Attribute());
}

/// Whether a permutation keeps the order of all dimensions that are not 1.
static bool movesOnlyUnits(ArrayRef<int64_t> perm, RankedTensorType from) {
  int64_t last = -1;
  for (int64_t dim : perm) {
    if (from.getDimSize(dim) == 1)
      continue;
    if (dim < last)
      return false;
    last = dim;
  }
  return true;
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  RankedTensorType from = typeOf(getOperand()), to = typeOf(getResult());
  if (llvm::equal(getPerm(), llvm::seq<int64_t>(0, getPerm().size())))
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> perm;
    for (int64_t dim : getPerm())
      perm.push_back(inner.getPerm()[dim]);
    getOperandMutable().assign(inner.getOperand());
    setPerm(perm);
    return getResult();
  }
  if (to.hasStaticShape() && movesOnlyUnits(getPerm(), from))
    if (Attribute constant = retype(adaptor.getOperand(), to))
      return constant;
  return orSizes(moveElements(*this, adaptor.getOperands()), *this);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>()) {
    if (inner.getOperand().getType() == getType())
      return inner.getOperand();
    getOperandMutable().assign(inner.getOperand());
    return getResult();
  }
  return orSizes(moveElements(*this, adaptor.getOperands()), *this);
}

/// A slice that is one run of the operand's bytes, as a part of the same blob.
static Attribute sliceBlob(lumen::BlobAttr blob, RankedTensorType from, RankedTensorType to,
                           ArrayRef<int64_t> offsets, ArrayRef<int64_t> strides) {
  unsigned width = from.getElementType().getIntOrFloatBitWidth();
  if (!to.hasStaticShape() || (width % 8 != 0 && width != 1) || to.getNumElements() == 0)
    return {};
  uint64_t elementSize = std::max(width / 8, 1u);
  SmallVector<int64_t> steps = stridesOf(from.getShape());
  int64_t start = 0;
  bool isPartial = false; // a dimension behind this one is not taken whole
  for (int64_t i = from.getRank() - 1; i >= 0; --i) {
    if (isPartial ? to.getDimSize(i) != 1 : to.getDimSize(i) != 1 && strides[i] != 1)
      return {};
    isPartial |= to.getDimSize(i) != from.getDimSize(i);
    start += offsets[i] * steps[i];
  }
  return lumen::BlobAttr::get(blob.getContext(), blob.getId(),
                              blob.getOffset() + start * elementSize,
                              to.getNumElements() * elementSize, to);
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  RankedTensorType from = typeOf(getOperand()), to = typeOf(getResult());
  if (from == to && llvm::all_of(llvm::zip(getStrides(), sizesOf(to)), [](auto pair) {
        auto [stride, size] = pair;
        return stride == 1 || size == SymExpr(0) || isOne(size);
      }))
    return getOperand();
  if (Attribute constant = moveElements(*this, adaptor.getOperands()))
    return constant;
  std::optional<SmallVector<int64_t>> offsets = getConstantOffsets();
  if (auto blob = dyn_cast_or_null<lumen::BlobAttr>(adaptor.getOperand()); blob && offsets)
    return sliceBlob(blob, from, to, *offsets, getStrides());
  return foldSizes(*this);
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
  if (getInputs().size() == 1)
    return getInputs().front();
  return orSizes(moveElements(*this, adaptor.getOperands()), *this);
}

OpFoldResult PadOp::fold(FoldAdaptor adaptor) {
  auto isZero = [](const SymExpr &value) { return value == SymExpr(0); };
  if (llvm::all_of(getLowSizes(), isZero) && llvm::all_of(getHighSizes(), isZero))
    return getOperand();
  return foldSizes(*this);
}

OpFoldResult GatherOp::fold(FoldAdaptor adaptor) {
  return orSizes(moveElements(*this, adaptor.getOperands()), *this);
}

OpFoldResult SizesOp::fold(FoldAdaptor adaptor) {
  std::optional<SmallVector<int64_t>> constants = asConstants(getExpressions());
  if (!constants)
    return getSizesAttr();
  SmallVector<Scalar> values;
  for (int64_t constant : *constants)
    values.push_back(roundToType(Scalar::ofInteger(constant), typeOf(getResult()).getElementType()));
  return ConstantData(typeOf(getResult()), std::move(values)).toAttr();
}

OpFoldResult lumen::CastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<lumen::CastOp>())
    if (inner.getOperand().getType() == getType())
      return inner.getOperand();
  return {};
}

Operation *LumenDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                             Location loc) {
  if (auto sizes = dyn_cast<DimsAttr>(value))
    return SizesOp::create(builder, loc, type, sizes);
  auto typed = dyn_cast<TypedAttr>(value);
  if (!typed || typed.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, typed);
}
