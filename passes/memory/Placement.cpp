//===- Placement.cpp - which values of a schedule share memory ------------===//

#include "passes/memory/Placement.h"

using namespace mlir;
using namespace lumen;
using namespace lumen::dispatch;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool lumen::isContiguous(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  int64_t expected = 1;
  for (int64_t i = static_cast<int64_t>(shape.size()) - 1; i >= 0; --i) {
    // A dimension of 1 is never stepped over, so its stride says nothing.
    if (shape[i] != 1 && strides[i] != expected)
      return false;
    expected *= shape[i];
  }
  return true;
}

std::optional<SmallVector<int64_t>> lumen::reshapeStrides(ArrayRef<int64_t> from,
                                                          ArrayRef<int64_t> strides,
                                                          ArrayRef<int64_t> to) {
  if (isContiguous(from, strides))
    return contiguousStrides(to);
  // Both shapes are cut into the shortest groups of equal size; a group can be
  // re-divided only if its dimensions follow each other in memory.
  SmallVector<int64_t> oldShape, oldStrides, result(to.size(), 1);
  for (auto [extent, stride] : llvm::zip(from, strides))
    if (extent != 1) {
      oldShape.push_back(extent);
      oldStrides.push_back(stride);
    }
  size_t i = 0, j = 0;
  while (i < oldShape.size() && j < to.size()) {
    size_t iEnd = i + 1, jEnd = j + 1;
    int64_t oldSize = oldShape[i], newSize = to[j];
    while (oldSize != newSize) {
      if (oldSize < newSize) {
        if (iEnd == oldShape.size())
          return std::nullopt;
        oldSize *= oldShape[iEnd++];
      } else {
        if (jEnd == to.size())
          return std::nullopt;
        newSize *= to[jEnd++];
      }
    }
    for (size_t k = i; k + 1 < iEnd; ++k)
      if (oldStrides[k] != oldShape[k + 1] * oldStrides[k + 1])
        return std::nullopt;
    int64_t stride = oldStrides[iEnd - 1];
    for (size_t k = jEnd; k-- > j;) {
      result[k] = stride;
      stride *= to[k];
    }
    i = iEnd;
    j = jEnd;
  }
  return result;
}

Placement::Placement(func::FuncOp main, CopyFn needsCopy) {
  Block &block = main.getBody().front();
  placeConcats(block, needsCopy);
  placeInOrder(block, needsCopy);
  placeReturned(cast<func::ReturnOp>(block.getTerminator()), needsCopy);
}

/// Last concat first, so that a concat inside another one knows its place when
/// its own operands are placed.
void Placement::placeConcats(Block &block, CopyFn needsCopy) {
  SmallVector<ConcatOp> concats(block.getOps<ConcatOp>());
  for (ConcatOp concat : llvm::reverse(concats)) {
    RankedTensorType type = typeOf(concat);
    auto [it, isRoot] = places.try_emplace(concat.getResult());
    if (isRoot)
      it->second = {concat.getResult(), 0, contiguousStrides(type.getShape())};
    Place target = it->second;
    for (OpOperand &operand : concat->getOpOperands()) {
      Value value = operand.get();
      bool canMove = isa_and_nonnull<LaunchOp, ConcatOp>(value.getDefiningOp()) && !places.count(value);
      if (!canMove)
        value = needsCopy(operand);
      places[value] = target;
      target.offset += typeOf(value).getDimSize(concat.getAxis()) * target.strides[concat.getAxis()];
    }
  }
}

void Placement::placeInOrder(Block &block, CopyFn needsCopy) {
  auto placeAsStorage = [&](Value value) {
    places.try_emplace(value, Place{value, 0, contiguousStrides(typeOf(value).getShape())});
  };
  for (BlockArgument argument : block.getArguments())
    placeAsStorage(argument);
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (auto slice = dyn_cast<SliceOp>(op)) {
      Place place = places.find(slice.getOperand())->second;
      for (auto [i, stride] : llvm::enumerate(slice.getStrides())) {
        place.offset += (*slice.getConstantOffsets())[i] * place.strides[i];
        place.strides[i] *= stride;
      }
      places[slice.getResult()] = place;
    } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      auto strides = [&](Value from) {
        return reshapeStrides(typeOf(from).getShape(), places.find(from)->second.strides,
                              typeOf(reshape).getShape());
      };
      auto result = strides(reshape.getOperand());
      if (!result) {
        Value copy = needsCopy(reshape->getOpOperand(0));
        placeAsStorage(copy);
        result = strides(copy);
      }
      Place place = places.find(reshape.getOperand())->second;
      place.strides = *result;
      places[reshape.getResult()] = place;
    } else {
      for (Value result : op.getResults())
        placeAsStorage(result);
    }
  }
}

/// A returned value must fill a storage of its own, the caller's buffer.
void Placement::placeReturned(func::ReturnOp op, CopyFn needsCopy) {
  llvm::SmallPtrSet<void *, 8> claimed;
  for (OpOperand &operand : op->getOpOperands()) {
    const Place &place = places.find(operand.get())->second;
    RankedTensorType type = typeOf(operand.get());
    Operation *owner = place.storage.getDefiningOp();
    bool fills = isa_and_nonnull<LaunchOp, ConcatOp>(owner) && place.offset == 0 &&
                 typeOf(place.storage).getNumElements() == type.getNumElements() &&
                 isContiguous(type.getShape(), place.strides) &&
                 claimed.insert(place.storage.getAsOpaquePointer()).second;
    if (fills)
      continue;
    Value copy = needsCopy(operand);
    places[copy] = {copy, 0, contiguousStrides(type.getShape())};
    claimed.insert(copy.getAsOpaquePointer());
  }
}
