//===- ReferenceLoops.cpp - operations that are kernels of their own ------===//

#include "ReferenceParts.h"

#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <cmath>
#include <map>
#include <numeric>

using namespace lumen;
using namespace lumen::test;
using llvm::ArrayRef;
using mlir::RankedTensorType;

static Tensor attention(AttentionOp op, ArrayRef<const Tensor *> operands) {
  const Tensor &query = *operands[0], &key = *operands[1], &value = *operands[2];
  const Tensor *mask = op.getMask() ? operands[3] : nullptr;
  const Tensor *first = op.getFirst() ? operands.back() : nullptr;
  auto place = [](ArrayRef<int64_t> logical, ArrayRef<int64_t> dims) {
    Index index(4);
    for (auto [i, dim] : llvm::enumerate(dims))
      index[dim] = logical[i];
    return index;
  };
  int64_t size = query.type.getDimSize(op.getQueryDims()[3]);
  int64_t heads = query.type.getDimSize(op.getQueryDims()[1]);
  int64_t keyHeads = key.type.getDimSize(op.getKeyDims()[1]);
  int64_t keys = key.type.getDimSize(op.getKeyDims()[2]);
  Number scale = op.getScale().convertToDouble(), softcap = op.getSoftcap().convertToDouble();
  auto weigh = [&](int64_t batch, int64_t head, int64_t keyHead, int64_t row) {
    int64_t end = keys;
    if (first) {
      Number stands = first->values[first->type.getRank() == 1 ? batch : 0];
      end = std::min<int64_t>(keys, static_cast<int64_t>(stands) + row + 1);
    }
    std::vector<Number> weights;
    Number top = -INFINITY, total = 0;
    for (int64_t j = 0; j < end; ++j) {
      Number score = 0;
      for (int64_t i = 0; i < size; ++i)
        score += at(query, place({batch, head, row, i}, op.getQueryDims())) *
                 at(key, place({batch, keyHead, j, i}, op.getKeyDims()));
      score *= scale;
      if (softcap != 0)
        score = softcap * std::tanh(score / softcap);
      if (mask) {
        Index where{batch, head, row, j};
        for (auto [position, extent] : llvm::zip_equal(where, mask->type.getShape()))
          position = std::min(position, extent - 1);
        score += at(*mask, where);
      }
      top = std::max(top, score);
      weights.push_back(score);
    }
    for (Number &weight : weights) {
      weight = top == -INFINITY ? 0 : std::exp(weight - top);
      total += weight;
    }
    for (Number &weight : weights)
      weight = total == 0 ? 0 : weight / total;
    return weights;
  };
  std::map<std::array<int64_t, 3>, std::vector<Number>> rows;
  return build(op.getResult(), [&](const Index &index) {
    int64_t logical[4];
    for (auto [i, dim] : llvm::enumerate(op.getResultDims()))
      logical[i] = index[dim];
    auto [batch, head, row, element] = logical;
    int64_t keyHead = head / (heads / keyHeads);
    auto [weights, isNew] = rows.try_emplace({batch, head, row});
    if (isNew)
      weights->second = weigh(batch, head, keyHead, row);
    Number sum = 0;
    for (auto [j, weight] : llvm::enumerate(weights->second)) {
      int64_t key = j;
      sum += weight * at(value, place({batch, keyHead, key, element}, op.getValueDims()));
    }
    return sum;
  });
}

static std::vector<Tensor> sort(SortOp op, const Tensor &x) {
  int64_t axis = op.getAxis();
  std::map<std::vector<int64_t>, std::vector<int64_t>> orders; // of each row
  auto numberAt = [&](const Index &index) {
    Index where = index;
    where[axis] = 0;
    auto [order, isNew] = orders.try_emplace({where.begin(), where.end()});
    if (isNew) {
      order->second.resize(x.type.getDimSize(axis));
      std::iota(order->second.begin(), order->second.end(), 0);
      auto key = [&](int64_t i) {
        where[axis] = i;
        return at(x, where);
      };
      // NaN is larger than every number.
      auto isLess = [](Number a, Number b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
      std::stable_sort(order->second.begin(), order->second.end(), [&](int64_t a, int64_t b) {
        return op.getDescending() ? isLess(key(b), key(a)) : isLess(key(a), key(b));
      });
    }
    return order->second[index[axis]];
  };
  Tensor values = build(op.getValues(), [&](const Index &index) {
    Index where = index;
    where[axis] = numberAt(index);
    return at(x, where);
  });
  return {values, build(op.getIndices(), numberAt)};
}

static std::vector<Tensor> recurrence(RecurrenceOp op, ArrayRef<const Tensor *> operands) {
  const Tensor &input = *operands[0];
  ArrayRef<const Tensor *> params = operands.slice(1, op.getParams().size());
  ArrayRef<const Tensor *> states = operands.slice(1 + params.size(), op.getStates().size());
  const Tensor *lengths = op.getLengths() ? operands.back() : nullptr;
  mlir::Block &cell = op.getCell().front();
  int64_t steps = input.type.getDimSize(0);
  Tensor sequence = build(op.getSequence(), [](const Index &) { return 0; });
  std::vector<Tensor> results{sequence};
  for (const Tensor *state : states)
    results.push_back(*state);
  auto sizeOfRow = [](const Tensor &tensor) { return tensor.type.getShape().back(); };
  for (int64_t row = 0; row < input.type.getDimSize(1); ++row) {
    auto rowOf = [&](Tensor &tensor, int64_t number) {
      return tensor.values.begin() + number * sizeOfRow(tensor);
    };
    int64_t length = lengths ? static_cast<int64_t>(lengths->values[row]) : steps;
    length = std::min(std::max<int64_t>(length, 0), steps);
    for (int64_t i = 0; i < length; ++i) {
      int64_t step = op.getReverse() ? length - 1 - i : i;
      std::vector<Tensor> inputs;
      auto append = [&](const Tensor &tensor, int64_t number) {
        auto begin = tensor.values.begin() + number * sizeOfRow(tensor);
        auto type = llvm::cast<RankedTensorType>(cell.getArgument(inputs.size()).getType());
        inputs.push_back({type, {begin, begin + sizeOfRow(tensor)}});
      };
      append(input, step * input.type.getDimSize(1) + row);
      for (const Tensor *parameter : params)
        inputs.push_back(*parameter);
      for (size_t j = 0; j < states.size(); ++j)
        append(results[1 + j], row);
      std::vector<Tensor> next = evaluateBody(cell, inputs);
      for (size_t j = 0; j < states.size(); ++j)
        llvm::copy(next[j].values, rowOf(results[1 + j], row));
      llvm::copy(next[0].values, rowOf(results[0], step * input.type.getDimSize(1) + row));
    }
  }
  return results;
}

static Tensor scatter(ScatterOp op, ArrayRef<const Tensor *> operands) {
  Tensor result = *operands[0];
  const Tensor &updates = *operands[1];
  forEach(updates.type.getShape(), [&](const Index &index) {
    int64_t offset = 0;
    size_t picked = 2;
    for (auto [i, dim] : llvm::enumerate(op.getDims())) {
      int64_t size = result.type.getDimSize(i), place = dim < 0 ? 0 : index[dim];
      if (dim < 0) {
        const Tensor &indices = *operands[picked++];
        place =
            static_cast<int64_t>(at(indices, ArrayRef(index).take_front(indices.type.getRank())));
        place += place < 0 ? size : 0;
      }
      offset = offset * size + place;
    }
    Number &value = result.values[offset], update = at(updates, index);
    switch (op.getKind()) {
    case ScatterKind::Set:
      value = update;
      break;
    case ScatterKind::Add:
      value += update;
      break;
    case ScatterKind::Mul:
      value *= update;
      break;
    case ScatterKind::Max:
      value = std::max(value, update);
      break;
    case ScatterKind::Min:
      value = std::min(value, update);
      break;
    }
  });
  return result;
}

static Tensor accumulate(AccumulateOp op, const Tensor &x) {
  int64_t axis = op.getAxis(), size = x.type.getDimSize(axis);
  bool isSum = op.getKind() == AccumulateKind::Add;
  return build(op.getResult(), [&](const Index &index) {
    // From the end that is walked first to this element, or to the one before it.
    int64_t last = op.getReverse() ? size - 1 - index[axis] : index[axis];
    Number carried = isSum ? 0 : 1;
    for (int64_t i = 0; i < last + !op.getExclusive(); ++i) {
      Index where = index;
      where[axis] = op.getReverse() ? size - 1 - i : i;
      carried = isSum ? carried + at(x, where) : carried * at(x, where);
    }
    return carried;
  });
}

std::vector<Tensor> test::evaluateLoops(mlir::Operation *op, ArrayRef<const Tensor *> operands) {
  using Results = std::vector<Tensor>;
  return llvm::TypeSwitch<mlir::Operation *, Results>(op)
      .Case([&](AccumulateOp op) { return Results{accumulate(op, *operands[0])}; })
      .Case([&](AttentionOp op) { return Results{attention(op, operands)}; })
      .Case([&](RecurrenceOp op) { return recurrence(op, operands); })
      .Case([&](ScatterOp op) { return Results{scatter(op, operands)}; })
      .Case([&](SortOp op) { return sort(op, *operands[0]); })
      .Default([](mlir::Operation *) { return Results(); });
}
