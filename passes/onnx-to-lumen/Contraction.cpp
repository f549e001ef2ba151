//===- Contraction.cpp - MatMul and Gemm ----------------------------------===//

#include "passes/onnx-to-lumen/Converter.h"

using namespace mlir;
using namespace lumen;

/// `[B..., M, K] x [B..., K, N]`, where batch dimensions broadcast.
static LogicalResult matMul(Node &node) {
  if (failed(node.expectSameElementType(0, 1)))
    return failure();
  Emitter &emit = node.emit;
  Value lhs = node.input(0), rhs = node.input(1);
  if (node.inputType(0).getRank() == 0 || node.inputType(1).getRank() == 0)
    return node.error() << "inputs have shapes " << shapeText(node.inputShape(0)) << " and "
                        << shapeText(node.inputShape(1)) << ", expected at least one dimension";
  bool isLhsVector = node.inputType(0).getRank() == 1;
  bool isRhsVector = node.inputType(1).getRank() == 1;
  if (isLhsVector)
    lhs = emit.reshape(lhs, {SymExpr(1), node.inputShape(0)[0]});
  if (isRhsVector)
    rhs = emit.reshape(rhs, {node.inputShape(1)[0], SymExpr(1)});
  Sizes lhsShape = Emitter::shapeOf(lhs), rhsShape = Emitter::shapeOf(rhs);
  Node::Shape lhsMatrix = Node::Shape(lhsShape).take_back(2);
  Node::Shape rhsMatrix = Node::Shape(rhsShape).take_back(2);
  SymExpr rows = lhsMatrix[0], depth = lhsMatrix[1], columns = rhsMatrix[1];
  if (!node.ensureEqual(depth, rhsMatrix[0], "inner dimensions"))
    return node.error() << "inputs of shapes " << shapeText(node.inputShape(0)) << " and "
                        << shapeText(node.inputShape(1)) << " have inner dimensions " << depth.str()
                        << " and " << rhsMatrix[0].str() << ", expected equal ones";
  std::optional<Sizes> batch =
      node.broadcast(Node::Shape(lhsShape).drop_back(2), Node::Shape(rhsShape).drop_back(2));
  if (!batch)
    return node.error() << "inputs of shapes " << shapeText(node.inputShape(0)) << " and "
                        << shapeText(node.inputShape(1))
                        << " have batch dimensions that cannot be broadcast together";
  auto withBatch = [&](const SymExpr &a, const SymExpr &b) {
    Sizes shape(*batch);
    shape.append({a, b});
    return shape;
  };
  Sizes shape = withBatch(rows, columns);
  if (failed(node.checkSize(shape)) || failed(node.checkSize(withBatch(rows, depth))) ||
      failed(node.checkSize(withBatch(depth, columns))))
    return failure();
  depth = Emitter::simpler(depth, rhsMatrix[0]);
  Sizes lhsSizes = lhsShape, rhsSizes = rhsShape;
  lhsSizes.back() = rhsSizes[rhsSizes.size() - 2] = depth;
  lhs = emit.cast(lhs, lhsSizes);
  rhs = emit.cast(rhs, rhsSizes);
  lhs = emit.broadcastTo(lhs, withBatch(rows, depth));
  // A matrix is shared by all batches.
  if (rhsShape.size() > 2)
    rhs = emit.broadcastTo(rhs, withBatch(depth, columns));
  Value result =
      emit.create<ContractOp>(emit.typed(shape, node.inputType(0).getElementType()), lhs, rhs,
                              /*transpose_lhs=*/false, /*transpose_rhs=*/false, /*packed=*/false);
  if (isRhsVector)
    shape.pop_back();
  if (isLhsVector)
    shape.erase(isRhsVector ? shape.end() - 1 : shape.end() - 2);
  return node.yield(emit.reshape(result, shape));
}

/// alpha * A' * B' + beta * C
static LogicalResult gemm(Node &node) {
  double alpha = node.real("alpha", 1.0), beta = node.real("beta", 1.0);
  bool isLhsTransposed = node.integer("transA", 0) != 0;
  bool isRhsTransposed = node.integer("transB", 0) != 0;
  if (failed(node.expectSameElementType(0, 1)))
    return failure();
  if (!isa<FloatType>(node.inputType(0).getElementType()) && (alpha != 1 || beta != 1))
    return node.error() << "attributes 'alpha' and 'beta' are " << alpha << " and " << beta
                        << ", expected 1 for integers";
  Sizes a = node.inputShape(0), b = node.inputShape(1);
  if (a.size() != 2 || b.size() != 2)
    return node.error() << "inputs have shapes " << shapeText(a) << " and " << shapeText(b)
                        << ", expected two dimensions";
  if (!node.ensureEqual(a[!isLhsTransposed], b[isRhsTransposed], "inner dimensions"))
    return node.error() << "inputs of shapes " << shapeText(a) << " and " << shapeText(b)
                        << " have inner dimensions " << a[!isLhsTransposed].str() << " and "
                        << b[isRhsTransposed].str() << ", expected equal ones";
  Emitter &emit = node.emit;
  Sizes shape{a[isLhsTransposed], b[!isRhsTransposed]}, lhsSizes = a, rhsSizes = b;
  lhsSizes[!isLhsTransposed] = rhsSizes[isRhsTransposed] =
      Emitter::simpler(a[!isLhsTransposed], b[isRhsTransposed]);
  if (failed(node.checkSize(shape)))
    return failure();
  Value result = emit.create<ContractOp>(
      emit.typed(shape, node.inputType(0).getElementType()), emit.cast(node.input(0), lhsSizes),
      emit.cast(node.input(1), rhsSizes), isLhsTransposed, isRhsTransposed, /*packed=*/false);
  result = emit.binary(BinaryKind::Mul, result, alpha);
  if (Value bias = node.input(2)) {
    Sizes biasShape = node.inputShape(2);
    if (failed(node.expectSameElementType(0, 2)))
      return failure();
    if (!node.ensureBroadcastTo(biasShape, shape))
      return node.error() << "bias of shape " << shapeText(biasShape)
                          << " cannot be broadcast to the result's shape " << shapeText(shape);
    bias = emit.binary(BinaryKind::Mul, bias, beta);
    result = emit.binary(BinaryKind::Add, result, emit.broadcastTo(bias, shape));
  }
  return node.yield(result);
}

static const OperatorRow rows[] = {
    {"Gemm", 2, 3, gemm},
    {"MatMul", 2, 2, matMul},
};

ArrayRef<OperatorRow> lumen::contractionRows() { return rows; }
