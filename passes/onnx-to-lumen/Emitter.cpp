//===- Emitter.cpp - builds folded lumen operations -----------------------===//

#include "passes/onnx-to-lumen/Emitter.h"

using namespace mlir;
using namespace lumen;

Value Emitter::constant(TypedAttr value) { return ConstantOp::create(builder, loc, value); }

Value Emitter::splat(RankedTensorType type, double number) {
  return constant(ConstantData(type, {makeScalar(number, type.getElementType())}).toAttr());
}

Value Emitter::integers(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get(int64_t(values.size()), builder.getI64Type());
  return constant(DenseElementsAttr::get(type, values));
}

Value Emitter::unary(UnaryKind kind, Value operand) {
  RankedTensorType type = typeOf(operand);
  if (kind == UnaryKind::IsNan || kind == UnaryKind::IsInf)
    type = type.clone(builder.getI1Type());
  return create<UnaryOp>(type, kind, operand);
}

Value Emitter::binary(BinaryKind kind, Value lhs, Value rhs) {
  return create<BinaryOp>(lhs.getType(), kind, lhs, rhs);
}

Value Emitter::compare(CompareKind kind, Value lhs, Value rhs) {
  return create<CompareOp>(typeOf(lhs).clone(builder.getI1Type()), kind, lhs, rhs);
}

Value Emitter::select(Value condition, Value onTrue, Value onFalse) {
  return create<SelectOp>(onTrue.getType(), condition, onTrue, onFalse);
}

Value Emitter::convert(Value operand, Type elementType) {
  return create<ConvertOp>(typeOf(operand).clone(elementType), operand);
}

Value Emitter::iota(RankedTensorType type, int64_t axis) { return create<IotaOp>(type, axis); }

Value Emitter::broadcast(Value operand, Shape shape, ArrayRef<int64_t> dims) {
  return create<BroadcastOp>(typeOf(operand).clone(shape), operand, dims);
}

Value Emitter::broadcastTo(Value operand, Shape shape) {
  int64_t rank = typeOf(operand).getRank(), resultRank = shape.size();
  return broadcast(operand, shape,
                   llvm::to_vector(llvm::seq<int64_t>(resultRank - rank, resultRank)));
}

Value Emitter::reshape(Value operand, Shape shape) {
  return create<ReshapeOp>(typeOf(operand).clone(shape), operand);
}

Value Emitter::transpose(Value operand, ArrayRef<int64_t> perm) {
  SmallVector<int64_t> shape;
  for (int64_t dim : perm)
    shape.push_back(typeOf(operand).getDimSize(dim));
  return create<TransposeOp>(typeOf(operand).clone(shape), operand, perm);
}

Value Emitter::slice(Value operand, ArrayRef<int64_t> offsets, Shape sizes,
                     ArrayRef<int64_t> strides) {
  return create<SliceOp>(typeOf(operand).clone(sizes), operand, toSizes(offsets), strides);
}

Value Emitter::sliceAxis(Value operand, int64_t axis, int64_t offset, int64_t size) {
  SmallVector<int64_t> sizes(shapeOf(operand));
  SmallVector<int64_t> offsets(sizes.size(), 0), strides(sizes.size(), 1);
  sizes[axis] = size;
  offsets[axis] = offset;
  return slice(operand, offsets, sizes, strides);
}

Value Emitter::concat(ValueRange inputs, int64_t axis) {
  SmallVector<int64_t> shape(shapeOf(inputs.front()));
  shape[axis] = 0;
  for (Value input : inputs)
    shape[axis] += typeOf(input).getDimSize(axis);
  return create<ConcatOp>(typeOf(inputs.front()).clone(shape), inputs, axis);
}

Value Emitter::pad(PadKind kind, Value operand, Value value, ArrayRef<int64_t> low,
                   ArrayRef<int64_t> high) {
  SmallVector<int64_t> shape(shapeOf(operand));
  for (auto [size, l, h] : llvm::zip(shape, low, high))
    size += l + h;
  return create<PadOp>(typeOf(operand).clone(shape), kind, operand, value, toSizes(low), toSizes(high));
}

Value Emitter::gather(Value operand, Value indices, int64_t axis) {
  SmallVector<int64_t> shape(shapeOf(operand).take_front(axis));
  llvm::append_range(shape, shapeOf(indices));
  llvm::append_range(shape, shapeOf(operand).drop_front(axis + 1));
  return create<GatherOp>(typeOf(operand).clone(shape), operand, indices, axis);
}

Value Emitter::reduce(ReduceKind kind, Value operand, ArrayRef<int64_t> axes, bool keepDims) {
  SmallVector<int64_t> shape, keptShape;
  for (auto [i, size] : llvm::enumerate(shapeOf(operand))) {
    bool isReduced = llvm::is_contained(axes, int64_t(i));
    keptShape.push_back(isReduced ? 1 : size);
    if (!isReduced)
      shape.push_back(size);
  }
  Value result = create<ReduceOp>(typeOf(operand).clone(shape), kind, operand, axes);
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

std::optional<SmallVector<int64_t>> lumen::broadcastShapes(ArrayRef<int64_t> lhs,
                                                           ArrayRef<int64_t> rhs) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  SmallVector<int64_t> result(lhs);
  for (size_t i = 0; i < rhs.size(); ++i) {
    int64_t &size = result[result.size() - 1 - i];
    int64_t other = rhs[rhs.size() - 1 - i];
    if (size == 1)
      size = other;
    else if (other != 1 && other != size)
      return std::nullopt;
  }
  return result;
}
