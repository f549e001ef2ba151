//===- Emitter.cpp - builds folded lumen operations -----------------------===//

#include "passes/onnx-to-lumen/Emitter.h"

#include "dialects/Lumen/SizesData.h"

using namespace mlir;
using namespace lumen;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

RankedTensorType Emitter::typed(Shape shape, Type elementType) {
  for (const SymExpr &size : shape)
    if (size.isValid() && !size.asConstant() && !size.isNonNegative())
      check(CheckKind::LessEqual, 0, size, "the size of a result");
  return tensorTypeOf(shape, elementType);
}

/// A check as a text. Two of the relations are symmetric.
static std::string textOf(CheckKind kind, std::string lhs, std::string rhs) {
  if (kind != CheckKind::LessEqual && rhs < lhs)
    std::swap(lhs, rhs);
  return (stringifyCheckKind(kind) + "|" + lhs + "|" + rhs).str();
}

void Emitter::noteEqual(const SymExpr &lhs, const SymExpr &rhs) {
  facts.checks.insert(textOf(CheckKind::Equal, lhs.str(), rhs.str()));
}

bool Emitter::isEqual(const SymExpr &lhs, const SymExpr &rhs) const {
  return lhs == rhs || facts.checks.contains(textOf(CheckKind::Equal, lhs.str(), rhs.str()));
}

void Emitter::check(CheckKind kind, const SymExpr &lhs, const SymExpr &rhs, StringRef what) {
  if (!lhs.isValid() || !rhs.isValid() || isEqual(lhs, rhs) ||
      (kind == CheckKind::LessEqual &&
       ((rhs - lhs).isNonNegative() ||
        (lhs == SymExpr(0) && facts.checks.contains(textOf(kind, "1", rhs.str()))))) ||
      (kind == CheckKind::Broadcast && (isOne(lhs) || isOne(rhs))))
    return;
  if (facts.checks.insert(textOf(kind, lhs.str(), rhs.str())).second)
    CheckOp::create(builder, loc, kind, lhs.str(), rhs.str(), what);
}

std::pair<Value, int64_t> Emitter::sourceOf(Value list, int64_t index) {
  if (auto concat = list.getDefiningOp<ConcatOp>())
    for (Value part : concat.getInputs()) {
      RankedTensorType type = typeOf(part);
      if (!type.hasStaticShape() || type.getRank() != 1)
        break;
      if (index < type.getDimSize(0))
        return sourceOf(part, index);
      index -= type.getDimSize(0);
    }
  if (auto reshape = list.getDefiningOp<ReshapeOp>())
    if (typeOf(reshape.getOperand()).hasStaticShape())
      return sourceOf(reshape.getOperand(), index);
  return {list, index};
}

std::optional<SymExpr> Emitter::known(Value number) {
  std::optional<SizesData> data = SizesData::get(number);
  if (!data || data->isReal() || data->size() != 1)
    return std::nullopt;
  return (*data)[0].over;
}

Value Emitter::sizes(Shape values) {
  auto type = RankedTensorType::get(int64_t(values.size()), builder.getI64Type());
  if (std::optional<SmallVector<int64_t>> constants = asConstants(values))
    return constant(DenseElementsAttr::get(type, ArrayRef<int64_t>(*constants)));
  return create<SizesOp>(type, lumen::toAttr(builder.getContext(), values));
}

Value Emitter::size(const SymExpr &value, Type elementType) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  Value number;
  if (std::optional<int64_t> fixed = value.asConstant())
    number = constant(DenseElementsAttr::get(type, ArrayRef<int64_t>(*fixed)));
  else
    number = create<SizesOp>(type, lumen::toAttr(builder.getContext(), Shape(value)));
  return convert(number, elementType);
}

//===----------------------------------------------------------------------===//
// Constants and elementwise
//===----------------------------------------------------------------------===//

Value Emitter::constant(TypedAttr value) { return ConstantOp::create(builder, loc, value); }

Value Emitter::splat(RankedTensorType type, double number) {
  Type element = type.getElementType();
  auto ofScalar = [&](RankedTensorType shaped) {
    return constant(ConstantData(shaped, {makeScalar(number, element)}).toAttr());
  };
  if (type.hasStaticShape())
    return ofScalar(type);
  return splat(ofScalar(RankedTensorType::get({}, element)), sizesOf(type));
}

Value Emitter::elementwise(ArrayRef<Value> operands, Elementwise build) {
  SmallVector<Value> inner;
  ArrayRef<int64_t> dims;
  for (Value operand : operands) {
    auto repeat = operand.getDefiningOp<BroadcastOp>();
    if (!repeat || typeOf(operand).hasStaticShape())
      return build(operands);
    if (inner.empty())
      dims = repeat.getDims();
    else if (dims != repeat.getDims() || shapeOf(inner.front()) != shapeOf(repeat.getOperand()))
      return build(operands);
    inner.push_back(repeat.getOperand());
  }
  return broadcast(build(inner), shapeOf(operands.front()), SmallVector<int64_t>(dims));
}

Value Emitter::unary(UnaryKind kind, Value operand) {
  return elementwise(operand, [&](ArrayRef<Value> x) {
    RankedTensorType type = typeOf(x[0]);
    if (kind == UnaryKind::IsNan || kind == UnaryKind::IsInf)
      type = type.clone(builder.getI1Type());
    return create<UnaryOp>(type, kind, x[0]);
  });
}

Value Emitter::unaryOfReals(UnaryKind kind, Value operand) {
  Type element = typeOf(operand).getElementType();
  if (isa<FloatType>(element))
    return unary(kind, operand);
  return convert(unary(kind, convert(operand, builder.getF64Type())), element);
}

Value Emitter::binary(BinaryKind kind, Value lhs, Value rhs) {
  return elementwise({lhs, rhs}, [&](ArrayRef<Value> x) {
    return create<BinaryOp>(x[0].getType(), kind, x[0], x[1]);
  });
}

Value Emitter::binary(BinaryKind kind, Value lhs, const SymExpr &rhs) {
  if (std::optional<int64_t> number = rhs.asConstant())
    return binary(kind, lhs, double(*number));
  return binary(kind, lhs, splat(size(rhs, typeOf(lhs).getElementType()), shapeOf(lhs)));
}

Value Emitter::compare(CompareKind kind, Value lhs, Value rhs) {
  return elementwise({lhs, rhs}, [&](ArrayRef<Value> x) {
    return create<CompareOp>(typeOf(x[0]).clone(builder.getI1Type()), kind, x[0], x[1]);
  });
}

Value Emitter::select(Value condition, Value onTrue, Value onFalse) {
  return elementwise({condition, onTrue, onFalse}, [&](ArrayRef<Value> x) {
    return create<SelectOp>(x[1].getType(), x[0], x[1], x[2]);
  });
}

Value Emitter::convert(Value operand, Type elementType) {
  return elementwise(operand, [&](ArrayRef<Value> x) {
    return create<ConvertOp>(typeOf(x[0]).clone(elementType), x[0]);
  });
}

Value Emitter::iota(RankedTensorType type, int64_t axis) { return create<IotaOp>(type, axis); }

Value Emitter::broadcast(Value operand, Shape shape, ArrayRef<int64_t> dims) {
  // Nothing is repeated along a dimension that was checked to be as large already.
  Sizes from = shapeOf(operand);
  for (auto [size, dim] : llvm::zip_equal(from, dims))
    if (isEqual(size, shape[dim]))
      size = shape[dim];
  operand = cast(operand, from);
  return create<BroadcastOp>(typed(shape, typeOf(operand).getElementType()), operand, dims);
}

Value Emitter::broadcastTo(Value operand, Shape shape) {
  int64_t rank = typeOf(operand).getRank(), resultRank = shape.size();
  return broadcast(operand, shape,
                   llvm::to_vector(llvm::seq<int64_t>(resultRank - rank, resultRank)));
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// The 0-D tensor that a tensor of dynamic size repeats, or null.
static Value repeatedScalar(Value value) {
  auto repeat = value.getDefiningOp<BroadcastOp>();
  bool isScalar = repeat && Emitter::typeOf(repeat.getOperand()).getRank() == 0;
  return isScalar ? repeat.getOperand() : Value();
}

Value Emitter::reshape(Value operand, Shape shape) {
  if (Value scalar = repeatedScalar(operand))
    return splat(scalar, shape);
  RankedTensorType type = typed(shape, typeOf(operand).getElementType());
  return create<ReshapeOp>(type, operand);
}

Value Emitter::cast(Value operand, Shape shape) {
  return create<lumen::CastOp>(typed(shape, typeOf(operand).getElementType()), operand);
}

Value Emitter::transpose(Value operand, ArrayRef<int64_t> perm) {
  Sizes from = shapeOf(operand), shape;
  for (int64_t dim : perm)
    shape.push_back(from[dim]);
  if (Value scalar = repeatedScalar(operand))
    return splat(scalar, shape);
  return create<TransposeOp>(typed(shape, typeOf(operand).getElementType()), operand, perm);
}

Value Emitter::slice(Value operand, Shape offsets, Shape sizes, ArrayRef<int64_t> strides) {
  if (Value scalar = repeatedScalar(operand))
    return splat(scalar, sizes);
  return create<SliceOp>(typed(sizes, typeOf(operand).getElementType()), operand, offsets, strides);
}

Value Emitter::sliceAxis(Value operand, int64_t axis, const SymExpr &offset, const SymExpr &size) {
  Sizes sizes = shapeOf(operand), offsets(sizes.size(), SymExpr(0));
  SmallVector<int64_t> strides(sizes.size(), 1);
  sizes[axis] = size;
  offsets[axis] = offset;
  return slice(operand, offsets, sizes, strides);
}

Value Emitter::concat(ValueRange inputs, int64_t axis) {
  Sizes shape = shapeOf(inputs.front());
  shape[axis] = 0;
  for (Value input : inputs)
    shape[axis] += sizeOf(input, axis);
  return create<ConcatOp>(typed(shape, typeOf(inputs.front()).getElementType()), inputs, axis);
}

Value Emitter::pad(PadKind kind, Value operand, Value value, Shape low, Shape high) {
  Sizes shape = shapeOf(operand);
  for (auto [size, l, h] : llvm::zip(shape, low, high))
    size += l + h;
  return create<PadOp>(typed(shape, typeOf(operand).getElementType()), kind, operand, value, low,
                       high);
}

Value Emitter::gather(Value operand, Value indices, int64_t axis) {
  Sizes from = shapeOf(operand), shape(Shape(from).take_front(axis));
  llvm::append_range(shape, shapeOf(indices));
  llvm::append_range(shape, Shape(from).drop_front(axis + 1));
  return create<GatherOp>(typed(shape, typeOf(operand).getElementType()), operand, indices, axis);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value Emitter::reduce(ReduceKind kind, Value operand, ArrayRef<int64_t> axes, bool keepDims) {
  Sizes shape, keptShape;
  for (auto [i, size] : llvm::enumerate(shapeOf(operand))) {
    bool isReduced = llvm::is_contained(axes, int64_t(i));
    keptShape.push_back(isReduced ? SymExpr(1) : size);
    if (!isReduced)
      shape.push_back(size);
  }
  RankedTensorType type = typed(shape, typeOf(operand).getElementType());
  Value result = create<ReduceOp>(type, kind, operand, axes);
  return keepDims ? reshape(result, keptShape) : result;
}

Value Emitter::softmax(Value operand, int64_t axis, bool log) {
  return create<SoftmaxOp>(operand.getType(), operand, axis, log);
}

Value Emitter::norm(NormKind kind, Value operand, int64_t axis, double epsilon) {
  return create<NormOp>(operand.getType(), kind, operand, axis, llvm::APFloat(epsilon));
}

SmallVector<int64_t> lumen::channelsLastPerm(int64_t rank) {
  SmallVector<int64_t> perm{0};
  for (int64_t i = 2; i < rank; ++i)
    perm.push_back(i);
  perm.push_back(1);
  return perm;
}

SmallVector<int64_t> lumen::channelsFirstPerm(int64_t rank) {
  SmallVector<int64_t> perm{0, rank - 1};
  for (int64_t i = 1; i + 1 < rank; ++i)
    perm.push_back(i);
  return perm;
}
