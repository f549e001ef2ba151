//===- Axes.cpp - axes that an operand gives ------------------------------===//

#include "passes/onnx-to-lumen/Axes.h"

using namespace mlir;
using namespace lumen;

FailureOr<Axes> Axes::of(Node &node, ArrayRef<Value> given, int64_t rank) {
  if (int64_t(given.size()) > rank)
    return node.error() << given.size() << " axes are given of an input of rank " << rank;
  Axes axes(node, rank);
  for (Value number : given) {
    SymExpr axis = node.bindSigned(number), position = axis;
    if (std::optional<int64_t> constant = axis.asConstant()) {
      FailureOr<int64_t> normal = node.normalizeAxis(*constant, rank);
      if (failed(normal))
        return failure();
      position = *normal;
    } else {
      SymExpr fromEnd = SymExpr::max(SymExpr(0) - axis, 0);
      node.emit.check(CheckKind::LessEqual, axis, rank - 1, "an axis");
      node.emit.check(CheckKind::LessEqual, fromEnd, rank, "an axis that counts from the end");
      position += SymExpr::min(fromEnd, 1) * rank;
    }
    for (const SymExpr &other : axes.positions) {
      if (position == other)
        return node.error() << "axis " << axis.str() << " is given twice";
      node.emit.check(CheckKind::LessEqual, 1, SymExpr::max(position - other, other - position),
                      "the distance of two axes");
    }
    axes.positions.push_back(position);
  }
  return axes;
}

FailureOr<Axes> Axes::of(Node &node, ArrayRef<int64_t> given, int64_t rank) {
  return of(node, llvm::map_to_vector(given, [&](int64_t axis) { return node.emit.size(axis); }),
            rank);
}

Axes Axes::first(Node &node, int64_t count, int64_t rank) {
  Axes axes(node, rank);
  llvm::append_range(axes.positions, llvm::seq<int64_t>(0, count));
  return axes;
}

std::optional<SmallVector<int64_t>> Axes::constants() const {
  std::optional<SmallVector<int64_t>> sorted = asConstants(positions);
  if (sorted)
    llvm::sort(*sorted);
  return sorted;
}

bool Axes::mayContain(int64_t dim) const {
  return llvm::any_of(positions,
                      [&](const SymExpr &axis) { return axis.asConstant().value_or(dim) == dim; });
}

Value Axes::isAt(const SymExpr &place, int64_t dim) {
  return node->emit.compare(CompareKind::Eq, node->emit.size(place), double(dim));
}

Value Axes::select(int64_t dim, ArrayRef<Value> ofAxes, Value otherwise) {
  for (auto [axis, value] : llvm::zip_equal(positions, ofAxes)) {
    std::optional<SymExpr> number = Emitter::known(value);
    if (!number || number != Emitter::known(otherwise))
      otherwise = node->emit.select(isAt(axis, dim), value, otherwise);
  }
  return otherwise;
}

SymExpr Axes::select(int64_t dim, const SymExpr &ofAxis, const SymExpr &otherwise,
                     std::optional<SymExpr> atMost) {
  SmallVector<Value> sizes(size(), node->emit.size(ofAxis));
  return node->bind(select(dim, sizes, node->emit.size(otherwise)), atMost);
}

SymExpr Axes::othersBefore(int64_t dim) const {
  SymExpr count = dim;
  for (const SymExpr &axis : positions)
    count -= SymExpr::min(SymExpr::max(SymExpr(dim) - axis, 0), 1);
  return count;
}

Sizes Axes::drop(Node::Shape from) {
  Sizes sizes;
  for (int64_t i = 0, e = rank - int64_t(size()); i < e; ++i) {
    // Axes in front of the dimension have its place, too; it is the last that has.
    Value number = node->emit.size(from[i]);
    SymExpr most = from[i];
    for (int64_t dim = i + 1; dim <= i + int64_t(size()); ++dim) {
      number = node->emit.select(isAt(othersBefore(dim), i), node->emit.size(from[dim]), number);
      most = SymExpr::max(most, from[dim]);
    }
    sizes.push_back(node->bind(number, most));
  }
  return sizes;
}

Sizes Axes::around(Node::Shape from) {
  Emitter &emit = node->emit;
  Value axis = emit.size(positions.front());
  SymExpr before = 1, own = 0, behind = 1;
  for (int64_t dim = 0; dim < rank; ++dim) {
    auto sizeIf = [&](CompareKind kind) {
      Value holds = emit.compare(kind, emit.size(dim), axis);
      return node->bind(emit.select(holds, emit.size(from[dim]), emit.size(1)));
    };
    before *= sizeIf(CompareKind::Lt);
    own += select(dim, from[dim], 0);
    behind *= sizeIf(CompareKind::Gt);
  }
  return {before, own, behind};
}

Sizes Axes::insertOnes(Node::Shape from) {
  Sizes sizes;
  SmallVector<Value> ones(size(), node->emit.size(1));
  for (int64_t dim = 0; dim < rank; ++dim) {
    Value number = node->emit.size(1);
    SymExpr most = 1, place = othersBefore(dim);
    for (int64_t i = std::max<int64_t>(0, dim - size()); i <= dim && i < int64_t(from.size());
         ++i) {
      number = node->emit.select(isAt(place, i), node->emit.size(from[i]), number);
      most = SymExpr::max(most, from[i]);
    }
    sizes.push_back(node->bind(select(dim, ones, number), most));
  }
  return sizes;
}
